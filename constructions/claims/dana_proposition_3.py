"""Proposition 3 of Dana et al.: two dimensions are enough for one next token per context.

Page: docs/claims/lookup_in_two_dimensions.md
"""

from constructions.claims.claim import Claim, Hypothesis
from constructions.memories.memory import build_memory
from constructions.models.construction import Construction
from constructions.tasks.arrays import enumerated_task
from constructions.tasks.task import Task


def build(*, tokens: int, length: int, n_heads: int, d_head: int, seed: int) -> Construction[Task]:
    """A memory of one random label per context in two dimensions, on the circle if there are more than four labels.

    Args:
        tokens: Size of the vocabulary N.
        length: Length of the contexts S; all $N^S$ are memorized.
        n_heads: Number of heads H.
        d_head: Width of a head, 1 or 2.
        seed: Seed of the labels and of the weights.

    Returns:
        The network, d = 2, and its task.

    Raises:
        CapacityError: Too few heads.

    Source: Dana, Pydi, Chevaleyre (2024), Proposition 3.

    Example:
        >>> build(tokens=3, length=2, n_heads=5, d_head=2, seed=0).summary
        '9 labels in d = 2: N = 3, S = 2, H = 5, d_h = 2'
    """
    task = enumerated_task(tokens, length, seed=seed)
    network = build_memory(task, d_model=2, d_head=d_head, n_heads=n_heads, seed=seed).model
    summary = f"{task.n_contexts} labels in d = 2: N = {tokens}, S = {length}, H = {n_heads}, d_h = {d_head}"
    return Construction(task, network, summary)


CLAIM = Claim(
    id="dana.proposition-3",
    title="Two dimensions hold any number of labels",
    source="Dana, Pydi, Chevaleyre (2024), Proposition 3",
    printed="If every context has one next token, then d_KL(pi, L(N, S, d)) = 0 for d >= 2.",
    judgement="holds",
    truth=(
        "On the circle of N >= 3 tokens, with m = 1 - cos(2 pi / N) and x = exp(-lambda m), the divergence is the "
        "same for all labels and lies between log(1 + 2x) and 2x / (1 - x); lambda = log(1 + 2 / eta) / m gives eta "
        "nats. On the parabola (2j, -j^2) all leads are integers. d >= 2 is needed for three labels: for d = 1 the "
        "infimum is sum_i rho_(i) log ceil(i / 2), rho_(1) >= rho_(2) >= .. being the probabilities of the labels. "
        "Rounded to p bits, the circle keeps all its winners for N <= about 3.7 2^(p/2), and for no N >= about 6.3 "
        "2^(p/2)."
    ),
    page="docs/claims/lookup_in_two_dimensions.md",
    hypotheses=(
        Hypothesis("N >= 1 and S >= 1", lambda tokens, length, **_: tokens >= 1 and length >= 1),
        Hypothesis(
            "S >= 2 or N <= 2: the heads tell more contexts apart",
            lambda tokens, length, **_: length >= 2 or tokens <= 2,
        ),
        Hypothesis("H >= 1", lambda n_heads, **_: n_heads >= 1),
        Hypothesis("1 <= d_h <= 2", lambda d_head, **_: 1 <= d_head <= 2),
        Hypothesis("seed >= 0", lambda seed, **_: seed >= 0),
    ),
    parameters={"tokens": 6, "length": 2, "n_heads": 18, "d_head": 2, "seed": 0},
    build=build,
)
