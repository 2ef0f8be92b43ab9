"""Build layers that memorize random labels of uniform random examples, from sizes and a seed.

Page: docs/claims/saturated_heads.md
"""

import numpy as np

from constructions.errors import InputError
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.model.vector_attention import outputs as layer_outputs
from constructions.saturated_layers.layer_readout import layer_with_read_out
from constructions.saturated_layers.random_heads import random_heads
from constructions.saturated_layers.saturated_heads import saturated_heads
from constructions.saturated_layers.single_direction_heads import single_direction_heads
from constructions.saturated_layers.uniform_examples import labelled, uniform_examples
from constructions.tasks.vectors import VectorTask

_DRAWS = 6
_APART = 1000  # between the seeds of two draws, so that neighbouring seeds do not share them
_CLOSE = 1e-9  # of a label: then the weights are kept


def uniform_memory(
    *,
    n_heads: int,
    n_ctx: int,
    d_model: int,
    d_head: int,
    examples: int,
    shared: int,
    outputs: int = 1,
    classes: int = 0,
    seed: int = 0,
) -> Construction[VectorTask]:
    r"""Return a layer with the labels of uniform random examples: Theorem 1.

    Contexts that differ get random heads. A shared context gets saturated heads if $T \le H (r - 1) + 1$; else, with
    $d_h = 1$ the heads of Theorem Z1, and with $d_h \ge 2$ random ones, which have almost surely the same rank and
    better condition. Where float64 misses a label, heads are drawn again, and at last those of Theorem Z1 are taken.

    Args:
        n_heads: H.
        n_ctx: n.
        d_model: d.
        d_head: $d_h$.
        examples: T; 0 for $H (n - 1) + 1$.
        shared: 1 if all examples have one context, else 0.
        outputs: Numbers per example, $d_{out} = d_v = d_o$.
        classes: Number of classes; 0 for numbers. Classes need $d_v = d_o = 2$ only.
        seed: Of examples, labels and heads.

    Returns:
        The weights, and the examples with their labels.

    Raises:
        InputError: An argument out of range.
        HypothesisError: Mixed inputs that are dependent in floating point.

    Source: Theorem Z1, beside Mahdavi, Liao, Thrampoulidis (2024), Theorem 1, as reconstructed.

    Example:
        >>> uniform_memory(n_heads=4, n_ctx=4, d_model=8, d_head=4, examples=0, shared=1).summary
        '13 = H (n - 1) + 1 labels of 1 number on a shared context: H = 4, n = 4, d = 8, d_h = 4'
    """
    if shared not in (0, 1):
        raise InputError("shared", f"= {shared}", "0 or 1")
    count = examples or n_heads * (n_ctx - 1) + 1
    contexts, queries = uniform_examples(examples=count, n_ctx=n_ctx, d_model=d_model, shared=bool(shared), seed=seed)
    task = labelled(contexts, queries, outputs=outputs, classes=classes, seed=seed)
    columns = min(classes - 1, 2) if classes else outputs
    fitting = saturated_heads if count <= n_heads * (min(n_ctx, d_head) - 1) + 1 else single_direction_heads
    layers: list[tuple[float, Model]] = []
    for draw in range(_DRAWS):
        if shared and (draw == _DRAWS - 1 or fitting is saturated_heads or d_head == 1):
            heads = fitting(contexts, queries, n_heads=n_heads, d_head=d_head, seed=seed + draw)
            maps = heads.W_Q, heads.W_K
        else:
            maps = random_heads(
                contexts,
                queries,
                n_heads=n_heads,
                d_head=d_head,
                deviation=30.0 if d_head == 2 else 10.0,
                seed=seed + draw * _APART,
            )
        layer = layer_with_read_out(task, *maps, d_value=columns, d_inner=columns)
        layers.append((_missed(layer, task), layer))
        if layers[-1][0] <= _CLOSE:
            break
    layer = min(layers, key=lambda made: made[0])[1]
    what = f"of {classes} classes" if classes else f"of {outputs} number{'s' * (outputs > 1)}"
    where = "a shared context" if shared else "contexts that differ"
    full = " = H (n - 1) + 1" if count == n_heads * (n_ctx - 1) + 1 else ""
    summary = f"{count}{full} labels {what} on {where}: H = {n_heads}, n = {n_ctx}, d = {d_model}, d_h = {d_head}"
    return Construction(task=task, model=layer, summary=summary)


def skip_connection_memory(
    *, n_heads: int, n_ctx: int, d_model: int, d_head: int, outputs: int, shared: int, seed: int = 0
) -> Construction[VectorTask]:
    r"""Return a layer whose outputs, plus $e\, W_D$ from the skip connection, are the labels of random examples.

    The layer holds the labels less the first $d_{out}$ entries of the query, $d_o = d$, and $W_D$ is the identity above
    zeros. The task of the construction has these shifted labels; those of the examples are
    `task.labels + task.queries @ layer.W_U`.

    Args:
        n_heads: H.
        n_ctx: n.
        d_model: $d = d_o$.
        d_head: $d_h$.
        outputs: $d_{out} = d_v$.
        shared: 1 if all examples have one context, else 0.
        seed: Of examples, labels and heads.

    Returns:
        The weights, and the examples with shifted labels: $T = H (\min(n, d_h) - 1) + 1$.

    Raises:
        InputError: An argument out of range.
        HypothesisError: Mixed inputs that are dependent in floating point.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Appendix C.

    Example:
        >>> made = skip_connection_memory(n_heads=4, n_ctx=4, d_model=8, d_head=4, outputs=2, shared=1)
        >>> made.model.attention.d_out, made.model.W_U[:3].tolist()
        (8, [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    """
    count = n_heads * (min(n_ctx, d_head) - 1) + 1
    contexts, queries = uniform_examples(examples=count, n_ctx=n_ctx, d_model=d_model, shared=bool(shared), seed=seed)
    labels = labelled(contexts, queries, outputs=outputs, seed=seed).labels
    shifted = VectorTask(contexts, queries, labels - queries[:, :outputs])
    if shared:
        heads = saturated_heads(contexts, queries, n_heads=n_heads, d_head=d_head, seed=seed)
        maps = heads.W_Q, heads.W_K
    else:
        maps = random_heads(contexts, queries, n_heads=n_heads, d_head=d_head, seed=seed)
    layer = layer_with_read_out(shifted, *maps, d_value=outputs, d_inner=d_model)
    where = "a shared context" if shared else "contexts that differ"
    return Construction(
        task=shifted,
        model=layer,
        summary=(
            f"{count} labels of {outputs} number{'s' * (outputs > 1)}, less what the skip connection adds, on {where}: "
            f"H = {n_heads}, n = {n_ctx}, d = d_o = {d_model}, d_h = {d_head}"
        ),
    )


def shared_context_memory(
    *, n_heads: int, n_ctx: int, d_model: int, d_head: int, seed: int = 0
) -> Construction[VectorTask]:
    """Return a layer that attains the bound: $H (n - 1) + 1$ examples with one context, independent after mixing.

    Args:
        n_heads: H.
        n_ctx: n.
        d_model: d.
        d_head: $d_h$.
        seed: Of examples, labels and heads.

    Returns:
        The weights, and the examples with random labels that they hold.

    Raises:
        InputError: An argument out of range.
        HypothesisError: Mixed inputs that are dependent in floating point.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Proposition 2.

    Example:
        >>> shared_context_memory(n_heads=4, n_ctx=4, d_model=8, d_head=4).task.n_examples
        13
    """
    return uniform_memory(
        n_heads=n_heads, n_ctx=n_ctx, d_model=d_model, d_head=d_head, examples=0, shared=1, outputs=1, seed=seed
    )


def _missed(layer: Model, task: VectorTask) -> float:
    """Return the largest float64 error of a label; for classes 0 if every class has the largest output, else 1."""
    outputs = layer_outputs(layer, task)
    if task.kind == "classification":
        return float((outputs.argmax(axis=1) != task.classes).any())
    return float(np.abs(outputs - task.labels).max())
