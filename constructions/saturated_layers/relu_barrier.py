r"""Examples that no small two-layer ReLU network memorizes, and that attention does.

Page: docs/claims/relu_barrier.md
"""

import numpy as np

from constructions.errors import InputError
from constructions.model.construction import Construction
from constructions.numeric.arrays import Int64Array
from constructions.saturated_layers.layer_readout import layer_with_read_out
from constructions.saturated_layers.single_direction_heads import single_direction_heads
from constructions.tasks.vectors import VectorTask


def fewest_examples(*, d_model: int, neurons: int, outputs: int = 1) -> int:
    """Return the least T with $T d_{out} > m (d + d_{out}) + d_{out}$, above which almost all labels cannot be
    memorized.

    Args:
        d_model: d, the dimension of the queries; contexts are the same for all examples.
        neurons: m.
        outputs: d_out.

    Returns:
        T; for one output $m (d + 1) + 2$.

    Raises:
        InputError: A number out of range.

    Source: beside Mahdavi, Liao, Thrampoulidis (2024), Proposition 3, as reconstructed.

    Example:
        >>> fewest_examples(d_model=3, neurons=1), fewest_examples(d_model=3, neurons=1, outputs=2)
        (6, 4)
    """
    if d_model < 1 or neurons < 0 or outputs < 1:
        raise InputError("d_model", f"= {d_model}, neurons = {neurons}, outputs = {outputs}", "positive numbers")
    return (neurons * (d_model + outputs) + outputs) // outputs + 1


def moment_curve(count: int, d_model: int) -> Int64Array:
    r"""Return the points $(t, t^2, \dots, t^d)$ for t = 1 .. T: any d + 1 are affinely independent, any d are
    independent.

    Args:
        count: T.
        d_model: d.

    Returns:
        `[T, d]`.

    Raises:
        InputError: A number below 1, or powers of 2^63 and more.

    Example:
        >>> moment_curve(3, 2).tolist()
        [[1, 1], [2, 4], [3, 9]]
    """
    if count < 1 or d_model < 1 or count**d_model >= 2**63:
        raise InputError("count", f"= {count}, d_model = {d_model}", "at least 1 and powers below 2^63")
    return np.arange(1, count + 1, dtype=np.int64)[:, None] ** np.arange(1, d_model + 1)


def barrier_task(*, d_model: int, neurons: int, n_ctx: int = 2, seed: int = 0) -> VectorTask:
    r"""Return the fewest examples that m neurons cannot memorize, with one context of unit vectors and random integer
    labels.

    The queries are on the moment curve, so that any $n \le d$ of them are independent; the context is the first n unit
    vectors. Assumptions 1 and 2 hold.

    Args:
        d_model: d.
        neurons: m, of the network that shall fail.
        n_ctx: n, at most d.
        seed: Seed of the labels, integers from 0 to 99.

    Returns:
        The examples, exact in float64.

    Raises:
        InputError: A number out of range.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Proposition 3.

    Example:
        >>> task = barrier_task(d_model=3, neurons=1)
        >>> task.n_examples, task.n_ctx, task.shared
        (6, 2, True)
    """
    if not 1 <= n_ctx <= d_model:
        raise InputError("n_ctx", f"= {n_ctx}, d_model = {d_model}", "1 <= n <= d")
    count = fewest_examples(d_model=d_model, neurons=neurons)
    queries = moment_curve(count, d_model)
    if queries.max() >= 2**53:
        raise InputError(f"{count} examples with d", f"= {d_model} have queries that float64 does not hold")
    labels = np.random.default_rng([seed, 12]).integers(0, 100, (count, 1))
    return VectorTask(np.eye(n_ctx, d_model)[None], queries.astype(np.float64), labels.astype(np.float64))


def barrier_memory(*, d_model: int, neurons: int, n_ctx: int, seed: int = 0) -> Construction[VectorTask]:
    r"""Memorize, with heads of width one, labels that m ReLU neurons cannot memorize.

    Args:
        d_model: d.
        neurons: m, of the network that fails.
        n_ctx: n.
        seed: Of labels and heads.

    Returns:
        The weights, and the examples: $T = m (d + 1) + 2$, with as few heads as $T \le H (n - 1) + 1$ allows.

    Raises:
        InputError: An argument out of range.
        HypothesisError: Mixed inputs that are dependent in floating point.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 4.3.

    Example:
        >>> barrier_memory(d_model=3, neurons=1, n_ctx=2).summary
        '6 labels that 1 ReLU neuron cannot hold, in attention with H = 5, d_h = 1, n = 2, d = 3'
    """
    task = barrier_task(d_model=d_model, neurons=neurons, n_ctx=n_ctx, seed=seed)
    n_heads = -(-(task.n_examples - 1) // (n_ctx - 1))
    maps = single_direction_heads(task.contexts, task.queries, n_heads=n_heads, seed=seed)
    layer = layer_with_read_out(task, maps.W_Q, maps.W_K, d_value=1, d_inner=1)
    what = f"{neurons} ReLU neuron{'s' * (neurons != 1)} cannot hold"
    summary = (
        f"{task.n_examples} labels that {what}, in attention with H = {n_heads}, d_h = 1, n = {n_ctx}, d = {d_model}"
    )
    return Construction(task=task, model=layer, summary=summary)
