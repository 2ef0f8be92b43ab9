"""The upper bound of Madden et al.: k parameters reach arbitrary distributions on about k / (N - 1) contexts at most.

Page: docs/claims/knots.md
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from constructions.model.blocks import FeedForward
from constructions.model.model import Model
from constructions.saturated_layers.relu_barrier import moment_curve
from verify.theorems.claim import Claim
from verify.theorems.claims.madden_2024_lower import CLAIM as LOWER
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, stated
from verify.theorems.evidence.theorems import INTERPOLATED_DISTRIBUTIONS
from verify.theorems.saturated_layers.activation_patterns import relu_barrier
from verify.verdict import decided, proved

CLAIM = Claim(
    id="madden-2024.upper",
    title="How many arbitrary distributions so many parameters reach at most",
    source="Madden, Fox, Thrampoulidis (2024), upper bounds",
    kind="statement",
    printed=(
        "A model with k parameters interpolates arbitrary next-token distributions on [[printed: k / (N - 1)]] "
        "contexts at most, up to a constant factor, in a vocabulary of N tokens."
    ),
    judgement="not-judged",
    truth=(
        "Not judged: the paper was not read. Proved here: without any factor, for exact distributions: a model with "
        "k entries whose logits depend on them in a locally Lipschitz way reaches all distributions on "
        "[[most: floor(k / (N - 1))]] contexts at most, and almost no distributions on more. ReLU neurons lose a "
        "number each: m of them on R^d reach no more than [[neurons: m (d + 1) + 1]] log-odds of tokens, of their "
        "[[numbers: m (d + 2) + 1]] parameters. About labels it says nothing."
    ),
    reconstructed="the constants: the paper was at hand in its abstract only",
    page="docs/claims/knots.md",
)

_SHAPES = ((2, 3, 8), (4, 3, 32), (8, 4, 64))  # N, S, T


_NEURONS = ((1, 1), (2, 1), (1, 2), (3, 1))  # d, m


_NEURONS_FULL = ((2, 2), (4, 1))


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_vocab, n_ctx, facts in _SHAPES:
        yield _count(LOWER.construct(d_vocab=d_vocab, n_ctx=n_ctx, facts=facts).model, facts)
    for width, neurons in _NEURONS + (_NEURONS_FULL if full else ()):
        yield _out_of_reach(width=width, neurons=neurons)


def _count(model: Model, facts: int) -> Evidence:
    most = INTERPOLATED_DISTRIBUTIONS.at(model=model)
    neurons = sum(block.d_mlp for block in model.blocks if isinstance(block, FeedForward))
    entries = sum(int(np.prod(tensor.shape)) for tensor in model.tensors().values())
    return Evidence(
        "part",
        f"a head and {neurons} neurons, N = {model.d_vocab_out}, with {entries} entries: contexts on "
        f"which arbitrary distributions are reached; the shape is that of a memory of {facts} distributions",
        f"{stated(CLAIM, 'most', k=entries, N=model.d_vocab_out)} contexts at most",
        f"{most.value} contexts at most",
        Method("a locally Lipschitz map raises no dimension; the entries are counted", Means.EXACT),
        proved(facts <= most.value),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(facts, "<=", most),
            Comparison(most, "=", stated(CLAIM, "most", k=entries, N=model.d_vocab_out)),
            Comparison(most, "<=", stated(CLAIM, "printed", k=entries, N=model.d_vocab_out)),
            Comparison(most.value + 1, ">", stated(CLAIM, "printed", k=entries, N=model.d_vocab_out)),
        ),
    )


def _out_of_reach(*, width: int, neurons: int) -> Evidence:
    """Log-odds of two tokens on one context more than there are dimensions, by all activation patterns."""
    count = neurons * (width + 1) + 2
    points = moment_curve(count, width)
    log_odds = np.random.default_rng([width, neurons]).integers(0, 100, count)
    barrier = relu_barrier(points, log_odds, neurons=neurons)
    numbers = neurons * width + neurons + neurons + 1  # W_in, b_in, W_out, b_out
    return Evidence(
        "part",
        f"m = {neurons} ReLU neurons on the codes of {count} contexts in R^{width}, distributions of two tokens with "
        f"integer log-odds: {barrier.combinations} combinations of activation patterns",
        f"{stated(CLAIM, 'neurons', m=neurons, d=width)} contexts at most, of {numbers} parameters",
        f"log-odds outside of all {barrier.combinations} subspaces, of dimension {barrier.largest_dimension} at most"
        if barrier.outside
        else "log-odds inside one of the subspaces",
        Method("all activation patterns, exact ranks", Means.EXACT),
        decided(barrier.outside),
        {"codes": points.tolist(), "log_odds": log_odds.tolist()},
        compared=(
            Comparison(count - 1, "=", stated(CLAIM, "neurons", m=neurons, d=width)),
            Comparison(numbers, "=", stated(CLAIM, "numbers", m=neurons, d=width)),
            Comparison(barrier.largest_dimension, "<=", stated(CLAIM, "neurons", m=neurons, d=width)),
            Comparison(Fraction(count - 1), "<=", stated(CLAIM, "most", k=numbers, N=2)),
        ),
    )
