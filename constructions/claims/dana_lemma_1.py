"""Lemma 1 of Dana et al.: under full support there is a best encoder; and a memory that holds the best one found.

Page: docs/claims/sequence_encoder.md
"""

import numpy as np

from constructions.arrays import Float64Array
from constructions.capacity.head_counts import fewest_heads
from constructions.claims.claim import Claim, Hypothesis
from constructions.memories.memory import build_memory, default_heads
from constructions.models.attention import logits
from constructions.models.construction import Construction
from constructions.models.model import Model
from constructions.tasks.arrays import enumerated_task
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Task

_OWN_SHARE = 0.6  # of each law at its mode


def laws_with_a_mode(rows: int, tokens: int, *, seed: int = 0) -> Float64Array:
    """Random laws with more than half of their mass at a random token, so that an encoder that misses it pays for it.

    Args:
        rows: Number of laws, T.
        tokens: Number of tokens, N.
        seed: Seed of what is drawn.

    Returns:
        Positive laws, `[T, N]`.

    Example:
        >>> laws = laws_with_a_mode(3, 4)
        >>> laws.shape, bool((laws.max(axis=1) > 0.6).all())
        ((3, 4), True)
    """
    rng = np.random.default_rng(seed)
    masses = rng.standard_exponential((rows, tokens)) + 0.25
    laws = (1.0 - _OWN_SHARE) * masses / masses.sum(axis=1, keepdims=True)
    laws[np.arange(rows), rng.integers(0, tokens, rows)] += _OWN_SHARE
    return laws / laws.sum(axis=1, keepdims=True)


def build(*, tokens: int, length: int, width: int, head_width: int, seed: int) -> Construction[Task]:
    r"""Weights that hold the best encoder of rank d that is found, for random laws after all $N^S$ contexts.

    Args:
        tokens: N.
        length: S.
        width: d.
        head_width: $d_h \le d$.
        seed: Of the laws, the search and the weights.

    Returns:
        The weights, and the laws that they hold as well as was found.

    Raises:
        InputError: An argument out of range.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 1.

    Example:
        >>> build(tokens=4, length=2, width=2, head_width=2, seed=0).summary[:60]
        'laws over N = 4 tokens after 16 contexts, by an encoder of r'
    """
    task = enumerated_task(
        tokens, length, target="laws", laws=laws_with_a_mode(tokens**length, tokens, seed=seed), seed=seed
    )
    alone = fewest_heads(task.contexts, d_model=width, d_head=head_width, with_skip=False).sufficient
    heads = default_heads(alone, task.n_contexts, head_width, "none")
    built = build_memory(task, d_model=width, d_head=head_width, n_heads=heads, seed=seed)
    return Construction(
        task,
        built.model,
        f"laws over N = {tokens} tokens after {task.n_contexts} contexts, by an encoder of rank d = {width} in {heads} "
        f"heads of width {head_width}",
        Criterion.at_most(_reached(built.model, task)),
    )


def _reached(network: Model, task: Task) -> float:
    """The mean divergence of what was built, a little more than it is in float64: what is asked of the weights."""
    assert task.laws is not None
    stream = logits(network, task.contexts)
    stream -= stream.max(axis=1, keepdims=True)
    predicted = stream - np.log(np.exp(stream).sum(axis=1, keepdims=True))
    return float((task.laws * (np.log(task.laws) - predicted)).sum(axis=1).mean() * (1.0 + 2.0**-20) + 2.0**-40)


CLAIM = Claim(
    id="dana.lemma-1",
    title="The best encoder exists under full support",
    source="Dana, Pydi, Chevaleyre (2024), Lemma 1",
    printed="Under Assumption 2 (full support) some f in L(N, S, d) attains d_KL(pi, f) = d_KL(pi, L(N, S, d)).",
    judgement="holds",
    truth=(
        "True: centred logits of divergence at most U are bounded by 2 max (U / rho_t + H(pi_t)) / pi_tj, and the "
        "matrices of rank at most d are closed. The centring has to be the uniform one. Without full support it fails "
        "for N = 2, d = 1, pi_t = (1, 0): the infimum 0 is not attained. The best encoder that is found is bracketed: "
        "no encoder is better than the sharpened Theorem L allows."
    ),
    page="docs/claims/sequence_encoder.md",
    hypotheses=(
        Hypothesis(
            "sizes of at least 1 and a seed of at least 0",
            lambda tokens, length, width, head_width, seed, **_: (
                min(tokens, length, width, head_width) >= 1 and seed >= 0
            ),
        ),
        Hypothesis(
            "S >= 2 or N <= d (features of rank N)", lambda tokens, length, width, **_: length >= 2 or tokens <= width
        ),
        Hypothesis("d_h <= d", lambda width, head_width, **_: head_width <= width),
    ),
    parameters={"tokens": 4, "length": 2, "width": 2, "head_width": 2, "seed": 0},
    build=build,
)
