r"""Section 4 of Dana et al.: how many of the likeliest contexts carry all of the probability but epsilon.

Page: docs/claims/theorem_1_tail.md
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from verify.theorems.capacity.likeliest_contexts import likeliest_contexts
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, failed, met, stated
from verify.verdict import decided, proved

CLAIM = Claim(
    id="dana.likeliest-contexts",
    title="The number T_epsilon of the likeliest contexts",
    source="Dana, Pydi, Chevaleyre (2024), section 4",
    kind="statement",
    quotation=(
        r"Define T_{ε} as the smallest number of token sequences whose cumulative probability is greater than "
        r"$1-\varepsilon$. We have $T_{\varepsilon} \leq \lceil (1-\varepsilon)N^S \rceil$, the upper bound being "
        r"attained when the probability distribution over token sequences is uniform. This notation is consistent "
        r"with T_0 defined earlier, the number of non-zero probability sentences."
    ),
    printed=(
        "T_epsilon is the smallest number of contexts whose cumulative probability is greater than "
        "[[mass: 1 - epsilon]]. T_epsilon is at most [[printed: ceil((1 - epsilon) N^S)]], with equality for the "
        "uniform distribution; T_0 is the number of contexts of positive probability."
    ),
    reading="'Greater than' as it is written; with 'at least' all of it is right.",
    judgement="slip",
    truth=(
        "With 'at least' in place of 'greater' it is so: T_epsilon is at most [[attained: ceil((1 - epsilon) N^S)]] "
        "for every distribution, with equality for the uniform one, and T_0 is the number of contexts of positive "
        "probability. With 'greater' T_0 does not exist, and for [[share: 0 < epsilon <= 1]] the bound, with equality "
        "for the uniform distribution again, is [[strict: floor((1 - epsilon) N^S) + 1]], which is more where "
        "[[mean: (1 - epsilon) N^S]] is an integer."
    ),
    wrong="'greater' should read 'at least'",
    page="docs/claims/theorem_1_tail.md",
)

_SIZES = ((2, 1), (2, 2), (3, 2), (2, 5), (5, 3))  # N, S


_METHOD = "sums of the largest integers"


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _printed(2, 2, Fraction(1, 4))
    yield _at_zero()
    for d_vocab, n_ctx in _SIZES:
        yield _uniform(d_vocab, n_ctx)
    yield _any_distribution(400 if full else 100)


def _sizes(d_vocab: int, n_ctx: int, epsilon: Fraction) -> dict[str, Fraction | int]:
    return {"N": d_vocab, "S": n_ctx, "epsilon": epsilon}


def _printed(d_vocab: int, n_ctx: int, epsilon: Fraction) -> Evidence:
    uniform = [1] * d_vocab**n_ctx
    count = likeliest_contexts(uniform, epsilon, strictly=True)
    sizes = _sizes(d_vocab, n_ctx, epsilon)
    return Evidence(
        "constant",
        f"N = {d_vocab}, S = {n_ctx}, the uniform distribution and epsilon = {epsilon}: so many contexts carry more "
        "than 1 - epsilon",
        f"T_epsilon <= {stated(CLAIM, 'printed', **sizes)}",
        f"T_epsilon = {count}",
        Method(_METHOD, Means.EXACT),
        proved(count is not None),
        compared=(
            Comparison(count or 0, ">", stated(CLAIM, "printed", **sizes)),
            Comparison((count or 0) - 1, "=", stated(CLAIM, "printed", **sizes)),
            Comparison(count or 0, "=", stated(CLAIM, "strict", **sizes)),
            # So many of the equally likely contexts carry more, and one fewer just as much: an integer.
            Comparison(Fraction((count or 1) - 1, len(uniform)), "=", stated(CLAIM, "mass", **sizes)),
            Comparison((count or 1) - 1, "=", stated(CLAIM, "mean", **sizes)),
            *met(CLAIM, "share", **sizes),
        ),
    )


def _at_zero() -> Evidence:
    """No sum of probabilities is greater than 1."""
    weights = [3, 0, 1, 2, 0]
    count, support = likeliest_contexts(weights, 0, strictly=True), likeliest_contexts(weights, 0)
    return Evidence(
        "constant",
        f"Probabilities proportional to {', '.join(map(str, weights))} and epsilon = 0: no number of contexts carries "
        "more than 1",
        "T_0 is the number of contexts of positive probability",
        f"no number with 'greater', {support} with 'at least'",
        Method(_METHOD, Means.EXACT),
        decided(count is None),
        compared=(
            *failed(CLAIM, "share", epsilon=0),
            Comparison(support or 0, "=", sum(weight > 0 for weight in weights)),
        ),
    )


def _uniform(d_vocab: int, n_ctx: int) -> Evidence:
    uniform, count = [1] * d_vocab**n_ctx, d_vocab**n_ctx
    grid = [Fraction(k, 2 * count) for k in range(2 * count + 1)]
    compared = []
    for epsilon in grid:
        sizes = _sizes(d_vocab, n_ctx, epsilon)
        least, more = likeliest_contexts(uniform, epsilon), likeliest_contexts(uniform, epsilon, strictly=True)
        compared.append(Comparison(-1 if least is None else least, "=", stated(CLAIM, "attained", **sizes)))
        if epsilon > 0:
            compared.append(Comparison(-1 if more is None else more, "=", stated(CLAIM, "strict", **sizes)))
            compared += met(CLAIM, "share", epsilon=epsilon) if epsilon in (grid[1], grid[-1]) else ()
    return Evidence(
        "reached",
        f"N = {d_vocab}, S = {n_ctx}, the uniform distribution, {len(grid)} values of epsilon from 0 to 1",
        "both bounds are reached",
        f"reached {len(compared)} times",
        Method(_METHOD, Means.EXACT),
        proved(len(compared) == 4 * count + 3),
        compared=tuple(compared),
    )


def _any_distribution(draws: int) -> Evidence:
    generator = np.random.default_rng(20)
    compared = []
    for _ in range(draws):
        d_vocab, n_ctx = int(generator.integers(2, 4)), int(generator.integers(1, 4))
        weights = (generator.integers(0, 20, d_vocab**n_ctx) ** generator.integers(1, 4)).tolist()
        weights[0] += 1
        epsilon = Fraction(int(generator.integers(1, 41)), 40)
        sizes = _sizes(d_vocab, n_ctx, epsilon)
        for strictly, name in ((False, "attained"), (True, "strict")):
            count = likeliest_contexts(weights, epsilon, strictly=strictly)
            compared.append(Comparison(10**9 if count is None else count, "<=", stated(CLAIM, name, **sizes)))
    return Evidence(
        "repair",
        f"{draws} random distributions of 2 to 27 contexts",
        "T_epsilon is no more than the bound, in both readings",
        f"no more in {len(compared)} cases",
        Method(_METHOD, Means.EXACT),
        proved(len(compared) == 2 * draws),
        compared=tuple(compared),
    )
