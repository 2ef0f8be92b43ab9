r"""Theorem 2 of Dana et al.: laws that are nearly a look-up table, through an unembedding of nearly orthogonal vectors.

Page: docs/claims/theorem_2.md
"""

import numpy as np

from constructions.claims.claim import Claim, Hypothesis
from constructions.encoders.low_entropy_encoder import missing_mass, strength
from constructions.memories.low_entropy_memory import low_entropy_memory
from constructions.models.construction import Construction
from constructions.tasks.arrays import all_contexts, array_task
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Task
from constructions.unembeddings.unembedding import best
from constructions.unembeddings.unembedding_families import families

_ROUNDING = 1e-9  # nats; more than the rounding of the weights to float64, and of the promise, costs


def build(
    *, tokens: int, length: int, contexts: int, noise: int, d_model: int, d_head: int, seed: int
) -> Construction[Task]:
    r"""A transformer that holds noisy look-ups, with fewer dimensions than the laws have.

    Args:
        tokens: Size of the vocabulary N.
        length: Length of the contexts S.
        contexts: How many contexts are held, T, drawn at random.
        noise: The laws leave $\varepsilon = 1 / \mathrm{noise}$ to the tokens that are not looked up, at random.
        d_model: d; the unembedding is the best of the families with proved margins.
        d_head: Width of a head.
        seed: Seed of the contexts, the laws and the weights.

    Returns:
        The network, its laws as the task, and the bound (N1) of the mean divergence as what is asked.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Theorem 2.

    Example:
        >>> build(tokens=9, length=2, contexts=10, noise=50, d_model=8, d_head=2, seed=0).summary
        '10 laws over 9 tokens in d = 8 dimensions, 1/50 of each beside its token: simplex, kappa = 1'
    """
    generator = np.random.default_rng((23, seed))
    everything = all_contexts(tokens, length)
    chosen = everything[np.sort(generator.permutation(len(everything))[:contexts])]
    labels = generator.integers(0, tokens, contexts)
    others = generator.exponential(size=(contexts, tokens)) + 0.1
    others[np.arange(contexts), labels] = 0.0
    laws = others / others.sum(axis=1, keepdims=True) / noise
    laws[np.arange(contexts), labels] = 1.0 - 1.0 / noise
    task = array_task(chosen, laws=laws, vocabulary=tokens)
    unembedding = best(tokens, d_model)
    network = low_entropy_memory(task, unembedding, d_head=d_head, seed=seed)
    summary = (
        f"{contexts} laws over {tokens} tokens in d = {d_model} dimensions, 1/{noise} of each beside its token: "
        f"{unembedding.family}, kappa = {unembedding.kappa}"
    )
    missing, kappa = missing_mass(laws, labels), float(unembedding.kappa)
    lead = strength(missing, least=1.0, kappa=kappa, n_tokens=tokens)
    promised = np.log1p((tokens - 1) * np.exp(-lead)) + kappa * missing * lead + (laws * np.log(laws)).sum(axis=1)
    return Construction(task, network, summary, Criterion.at_most(float(promised.mean()) + _ROUNDING))


def _held(tokens: int, noise: int, d_model: int, **_: object) -> bool:
    found = families(tokens, d_model) if tokens >= 2 and d_model >= 1 else []
    return bool(found) and noise * (tokens - 1) > found[0].kappa * tokens


CLAIM = Claim(
    id="dana.theorem-2",
    title="Laws that are nearly a look-up table",
    source="Dana, Pydi, Chevaleyre (2024), Theorem 2",
    printed=(
        "Some W has |W W' - I| <= C = [[constant: sqrt(32 log(N + 1) / d)]], and with E = lambda w_g, lambda the "
        "solution of equation (6), d_KL <= E[(1 - p_g) log((N - 1) / (e^H - 1)) "
        "[[printed: (1 + 2C + C t) / (1 - 2C)]]], t = d_TV."
    ),
    judgement="hypothesis",
    truth=(
        "For C < 1/2, even without d_TV; for C > 1/2 the right-hand side is negative. Sharper, for any "
        "vectors and encoders with leads in [a, kappa a], a > 0: d_KL <= E[h_b(s) + s log(N - 1) - H], s = kappa "
        "(1 - p_g) <= (N - 1)/N, with lambda = (1/a) log((N - 1)(1 - s)/s); which is at most "
        "E[kappa (1 - p_g) log((N - 1) / (e^H - 1))]."
    ),
    page="docs/claims/theorem_2.md",
    hypotheses=(
        Hypothesis("N >= 2 and S >= 2", lambda tokens, length, **_: tokens >= 2 and length >= 2),
        Hypothesis(
            "1 <= T <= N^S <= 2^22",
            lambda tokens, length, contexts, **_: 1 <= contexts <= tokens**length <= 2**22,
        ),
        Hypothesis("1 <= d_h <= d", lambda d_model, d_head, **_: 1 <= d_head <= d_model),
        Hypothesis("a family that holds N tokens in d dimensions, and kappa / noise < (N - 1) / N", _held),
        Hypothesis("noise >= 3: each token is the mode of its law", lambda noise, **_: noise >= 3),
        Hypothesis("seed >= 0", lambda seed, **_: seed >= 0),
    ),
    parameters={"tokens": 24, "length": 2, "contexts": 64, "noise": 100, "d_model": 16, "d_head": 4, "seed": 0},
    build=build,
)
