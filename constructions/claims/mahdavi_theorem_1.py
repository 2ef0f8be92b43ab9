r"""Theorem 1 of Mahdavi et al.: as many labels as independent mixed inputs, if values and outputs are wide enough.

Page: docs/claims/saturated_heads.md
"""

import numpy as np

from constructions.arrays import Float64Array
from constructions.claims.claim import Claim, Hypothesis
from constructions.claims.mahdavi_proposition_1 import uniform_examples
from constructions.errors import InputError
from constructions.models.construction import Construction
from constructions.models.model import Model
from constructions.models.vector_attention import outputs as layer_outputs
from constructions.saturated.layer_readout import layer_with_read_out
from constructions.saturated.random_heads import random_heads
from constructions.saturated.saturated_heads import saturated_heads
from constructions.saturated.single_direction_heads import single_direction_heads
from constructions.tasks.vectors import VectorTask

_DRAWS = 6
_APART = 1000  # between the seeds of two draws, so that neighbouring seeds do not share them
_CLOSE = 1e-9  # of a label: then the weights are kept


def labelled(
    contexts: Float64Array, queries: Float64Array, *, outputs: int = 1, classes: int = 0, seed: int = 0
) -> VectorTask:
    """Random labels for given examples: numbers uniform in [0, 1], or classes.

    Args:
        contexts: `[T, n, d]` or `[1, n, d]`.
        queries: `[T, d]`.
        outputs: Numbers per example.
        classes: Number of classes; 0 for numbers.
        seed: Of the labels.

    Returns:
        The task.

    Raises:
        InputError: An argument out of range.

    Example:
        >>> labelled(np.eye(2)[None], np.eye(2), classes=3).labels.sum(axis=1).tolist()
        [1.0, 1.0]
    """
    if outputs < 1 or classes < 0 or classes == 1:
        raise InputError(f"outputs = {outputs} and classes = {classes}, expected outputs >= 1 and classes 0 or >= 2")
    rng = np.random.default_rng([seed, 5])
    if classes:
        return VectorTask(
            contexts, queries, np.eye(classes)[rng.integers(classes, size=len(queries))], "classification"
        )
    return VectorTask(contexts, queries, rng.uniform(size=(len(queries), outputs)))


def build(
    *,
    heads: int,
    tokens: int,
    width: int,
    head_width: int,
    examples: int,
    shared: int,
    outputs: int = 1,
    classes: int = 0,
    seed: int = 0,
) -> Construction[VectorTask]:
    r"""A layer with the labels of uniform random examples: Theorem 1.

    Contexts that differ get random heads. A shared context gets saturated heads if $T \le H (r - 1) + 1$; else, with
    $d_h = 1$ the heads of Theorem Z1, and with $d_h \ge 2$ random ones, which have almost surely the same rank and
    better condition. Where float64 misses a label, heads are drawn again, and at last those of Theorem Z1 are taken.

    Args:
        heads: H.
        tokens: n.
        width: d.
        head_width: $d_h$.
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

    Source: Mahdavi, Liao, Thrampoulidis (2024), Theorem 1, repaired.

    Example:
        >>> build(heads=4, tokens=4, width=8, head_width=4, examples=0, shared=1).summary
        '13 = H (n - 1) + 1 labels of 1 number on a shared context: H = 4, n = 4, d = 8, d_h = 4'
    """
    if shared not in (0, 1):
        raise InputError(f"shared = {shared}, expected 0 or 1")
    count = examples or heads * (tokens - 1) + 1
    contexts, queries = uniform_examples(examples=count, tokens=tokens, width=width, shared=bool(shared), seed=seed)
    task = labelled(contexts, queries, outputs=outputs, classes=classes, seed=seed)
    columns = min(classes - 1, 2) if classes else outputs
    fitting = saturated_heads if count <= heads * (min(tokens, head_width) - 1) + 1 else single_direction_heads
    layers: list[tuple[float, Model]] = []
    for draw in range(_DRAWS):
        if shared and (draw == _DRAWS - 1 or fitting is saturated_heads or head_width == 1):
            found = fitting(contexts, queries, n_heads=heads, d_head=head_width, seed=seed + draw)
            maps = found.W_Q, found.W_K
        else:
            maps = random_heads(
                contexts,
                queries,
                n_heads=heads,
                d_head=head_width,
                deviation=30.0 if head_width == 2 else 10.0,
                seed=seed + draw * _APART,
            )
        layer = layer_with_read_out(task, *maps, d_value=columns, d_inner=columns)
        layers.append((_missed(layer, task), layer))
        if layers[-1][0] <= _CLOSE:
            break
    layer = min(layers, key=lambda made: made[0])[1]
    what = f"of {classes} classes" if classes else f"of {outputs} number{'s' * (outputs > 1)}"
    where = "a shared context" if shared else "contexts that differ"
    full = " = H (n - 1) + 1" if count == heads * (tokens - 1) + 1 else ""
    summary = f"{count}{full} labels {what} on {where}: H = {heads}, n = {tokens}, d = {width}, d_h = {head_width}"
    return Construction(task=task, model=layer, summary=summary)


def _missed(layer: Model, task: VectorTask) -> float:
    """The largest error of a label in float64; for classes 0 if every class is in front, else 1."""
    found = layer_outputs(layer, task)
    if task.kind == "classification":
        return float((found.argmax(axis=1) != task.classes).any())
    return float(np.abs(found - task.labels).max())


def narrow_values() -> VectorTask:
    r"""Two examples with the labels (1, 0) and (0, 1): more than one head with $d_v = 1$ can hold.

    n = 2, d = 3, the context and the queries are unit vectors. With H = 1 and $d_h = 2$, T = 2 = H (r - 1) + 1.

    Source: counterexample to Mahdavi, Liao, Thrampoulidis (2024), Theorem 1.

    Example:
        >>> narrow_values().labels.tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    return VectorTask(np.eye(3)[None, :2], np.eye(3)[:2], np.eye(2))


CLAIM = Claim(
    id="mahdavi.theorem-1",
    title="H (min(n, d_h) - 1) + 1 labels are memorized",
    source="Mahdavi, Liao, Thrampoulidis (2024), Theorem 1",
    printed=(
        "Under Assumptions 1 and 2, with n < d and r = min(n, d_h), a layer of H heads memorizes any labels in "
        "R^d_out of any T <= [[printed: H (r - 1) + 1]] examples."
    ),
    judgement="hypothesis",
    truth=(
        "True if d_out <= min(d_v, d_o), also for n = d, and then for all T <= [[sharper: H (n - 1) + 1]] whatever "
        "d_h >= 1 is. Without that condition outputs have rank at most min(H d_v, d_o): false for one head with d_v "
        "= 1 and the two labels (1, 0), (0, 1). Classes need min(d_v, d_o) >= 2 only, however many there are."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/saturated_heads.md",
    hypotheses=(
        Hypothesis(
            "H, n, d, d_h >= 1",
            lambda heads, tokens, width, head_width, **_: min(heads, tokens, width, head_width) >= 1,
        ),
        Hypothesis("n <= d", lambda tokens, width, **_: tokens <= width),
        Hypothesis(
            "T <= H (n - 1) + 1",
            lambda heads, tokens, examples, **_: 0 <= examples <= heads * (tokens - 1) + 1,
        ),
        Hypothesis("d_out >= 1", lambda outputs, **_: outputs >= 1),
        Hypothesis("classes is 0 or at least 2", lambda classes, **_: classes >= 0 and classes != 1),
        Hypothesis("shared is 0 or 1", lambda shared, **_: shared in (0, 1)),
        Hypothesis("seed >= 0", lambda seed, **_: seed >= 0),
    ),
    parameters={
        "heads": 20,
        "tokens": 32,
        "width": 64,
        "head_width": 32,
        "examples": 0,
        "shared": 1,
        "outputs": 1,
        "classes": 0,
        "seed": 0,
    },
    build=build,
)
