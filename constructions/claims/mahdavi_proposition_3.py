r"""Proposition 3 of Mahdavi et al.: a two-layer ReLU network memorizes about as many labels as it has parameters.

Page: docs/claims/relu_barrier.md
"""

from constructions.claims.claim import Claim, Hypothesis
from constructions.models.construction import Construction
from constructions.saturated.layer_readout import layer_with_read_out
from constructions.saturated.relu_barrier import barrier_task
from constructions.saturated.single_direction_heads import single_direction_heads
from constructions.tasks.vectors import VectorTask


def build(*, width: int, neurons: int, tokens: int, seed: int = 0) -> Construction[VectorTask]:
    r"""Attention with heads of width one that holds labels which m ReLU neurons cannot hold.

    Args:
        width: d.
        neurons: m, of the network that fails.
        tokens: n.
        seed: Of labels and heads.

    Returns:
        The weights, and the examples: $T = m (d + 1) + 2$, with as few heads as $T \le H (n - 1) + 1$ allows.

    Raises:
        InputError: An argument out of range.
        HypothesisError: Mixed inputs that are dependent in floating point.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 4.3.

    Example:
        >>> build(width=3, neurons=1, tokens=2).summary
        '6 labels that 1 ReLU neuron cannot hold, in attention with H = 5, d_h = 1, n = 2, d = 3'
    """
    task = barrier_task(width=width, neurons=neurons, tokens=tokens, seed=seed)
    heads = -(-(task.n_examples - 1) // (tokens - 1))
    maps = single_direction_heads(task.contexts, task.queries, n_heads=heads, seed=seed)
    layer = layer_with_read_out(task, maps.W_Q, maps.W_K, d_value=1, d_inner=1)
    what = f"{neurons} ReLU neuron{'s' * (neurons != 1)} cannot hold"
    summary = f"{task.n_examples} labels that {what}, in attention with H = {heads}, d_h = 1, n = {tokens}, d = {width}"
    return Construction(task=task, model=layer, summary=summary)


CLAIM = Claim(
    id="mahdavi.proposition-3",
    title="Two-layer ReLU networks memorize no more",
    source="Mahdavi, Liao, Thrampoulidis (2024), Proposition 3",
    printed=(
        "For T > [[printed: (m (d + 1 + d_out) + d_out) / d_out]] there are T examples with Assumptions 1 and 2, and "
        "labels that no ReLU network with one hidden layer of m neurons memorizes."
    ),
    judgement="holds",
    truth=(
        "It holds, and with [[numerator: m (d + d_out) + d_out]] in the numerator: for d_out = 1 from T = "
        "[[one_output: m (d + 1) + 2]] examples with one context, almost all labels are out of reach, and which is "
        "decided exactly. If m < d_out, T = m + 2 is enough. From the other side, for odd m any labels of "
        "T = [[within: (d + 1) (m + 1) / 2]] points in general position are outputs of m neurons."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/relu_barrier.md",
    hypotheses=(
        Hypothesis("m >= 1", lambda neurons, **_: neurons >= 1),
        Hypothesis("2 <= n < d", lambda tokens, width, **_: 2 <= tokens < width),
        Hypothesis("seed >= 0", lambda seed, **_: seed >= 0),
    ),
    parameters={"width": 3, "neurons": 1, "tokens": 2, "seed": 0},
    build=build,
)
