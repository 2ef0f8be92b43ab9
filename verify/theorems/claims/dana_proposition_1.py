"""Proposition 1 of Dana et al.: no transformer beats the best encoder, as long as its logits are those of an encoder.

Page: docs/claims/sequence_encoder.md
"""

from collections.abc import Iterator

import numpy as np
from flint import arb, arb_mat, ctx

from constructions.encoders.other_readouts import BiasedEncoder, CappedEncoder, biased_encoder, capped_encoder
from constructions.heads_of_theorem_1.random.distributions import low_rank_distributions_memory
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from verify.arithmetic.decimals import number
from verify.arithmetic.enclosure import Enclosure, matmul
from verify.linear_algebra.norms import float_above, float_below
from verify.theorems.claim import Claim
from verify.theorems.encoders.encoder_ceiling import mean_divergence, network_divergence
from verify.theorems.encoders.encoder_floor import encoder_floor
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, failed, met, stated
from verify.theorems.evidence.encoder_bracket import bracketed
from verify.theorems.evidence.theorems import ENCODER_DIVERGENCE, ORDER_OF_TOKENS
from verify.verdict import Verdict, decided, proved

CLAIM = Claim(
    id="dana.proposition-1",
    title="No transformer beats the best encoder",
    source="Dana, Pydi, Chevaleyre (2024), Proposition 1",
    kind="statement",
    quotation=(
        r"Proposition 1. Let $\mathcal{T}$ be any Transformer with embedding dimension d, dictionary size N and "
        r"context window S, and π be any distribution, we have $$d_{KL}(\pi, \mathcal{T}) \ge d_{KL}(\pi, "
        r"\mathcal{L}(N, S, d)).$$"
    ),
    printed=(
        "For any transformer T of embedding dimension d and any pi: [[printed: d_KL(pi, T) >= d_KL(pi, L(N, S, d))]]."
    ),
    reading=(
        r'A Transformer is what section 2 calls one: its output "goes through an unembedding matrix $W_U \in '
        r'\mathbb{R}^{N,d}$ to obtain logits", so that logits are linear in the stream and without a bias. Of models '
        r"with an output bias or a soft-cap, which have other readouts, it is not true."
    ),
    judgement="holds",
    truth=(
        "It holds, for any model whose logits are a matrix times a vector of d dimensions. Outside of that "
        "definition it can fail: with an output bias, where only L(N, S, [[more: d + 1]]) bounds the divergence, and "
        "with a soft-cap of the logits. For the distributions ([[first: 6]], [[second: 3]], [[third: 1]]) / [[all: "
        "10]] and the same with the last exchanged, equally likely, the divergence is [[biased: 0]] with a bias, and "
        "at least [[least: 0.02988]] for every encoder without, with [[line: d = 1]]."
    ),
    page="docs/claims/sequence_encoder.md",
)

_BITS = 128
_PARTS = ("first", "second", "third")
_OF_T, _OF_L = "d_KL(pi, T)", "d_KL(pi, L(N, S, d))"


_FLOATS = "float64 with proved error bounds"


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _with_bias(biased_encoder())
    yield _with_cap(capped_encoder())
    yield bracketed("claim")
    yield _networks_stay_above(40 if full else 5)
    yield _a_bias_is_one_dimension(30 if full else 8)


def _with_bias(given: BiasedEncoder) -> Evidence:
    exact = given.squares() == tuple(
        tuple(mass * mass for mass in distribution) for distribution in given.distributions
    )
    tenths = [[10 * mass for mass in distribution] for distribution in given.distributions]
    distributions = [[int(part) for part in distribution] for distribution in tenths]
    d_model = 1
    spectral, ordered = (
        ENCODER_DIVERGENCE.at("lower", distributions=distributions, d_model=d_model),
        ORDER_OF_TOKENS.at(distributions=distributions),
    )
    return Evidence(
        "boundary",
        f"N = 3, d = 1, two contexts with the distributions {distributions} / 10, equally likely: "
        "with an output bias one "
        "dimension is exact, without it rank 1 is not",
        "KL(pi, T) >= inf over L(3, S, 1)",
        "KL = 0 exactly with a bias; without one KL >= "
        f"{number(spectral.value, digits=6, bound='lower')} (singular values) and >= "
        f"{number(ordered.value, digits=6, bound='lower')} (orders of the tokens)",
        Method(
            f"squares of powers of e as fractions; {_FLOATS}; balls of {_BITS} bits over all orders",
            Means.EXACT,
            Means.BALLS,
            Means.ENCLOSURES,
        ),
        decided(exact and distributions == tenths),
        {
            "distributions": [[str(mass) for mass in distribution] for distribution in given.distributions],
            "W": list(given.W),
        },
        quantifier=Quantifier.ALL_ENCODERS,
        compared=(
            Comparison(spectral, "begins with", stated(CLAIM, "least")),
            Comparison(ordered, ">", 0),
            *(Comparison(part, "=", stated(CLAIM, name)) for part, name in zip(distributions[0], _PARTS, strict=True)),
            *(
                Comparison(distributions[1][j], "=", stated(CLAIM, name))
                for j, name in zip((0, 2, 1), _PARTS, strict=True)
            ),
            Comparison(sum(distributions[0]), "=", stated(CLAIM, "all")),
            Comparison(0 if exact else 1, "=", stated(CLAIM, "biased")),
            *met(CLAIM, "line", d=d_model),
            *failed(CLAIM, "printed", **{_OF_T: 0, _OF_L: spectral.value}),
        ),
    )


def _with_cap(given: CappedEncoder) -> Evidence:
    with ctx.workprec(_BITS):
        logits = [[(arb(w) * arb(x)).tanh() for w in given.W] for x in given.stream]
        differences = arb_mat([[z - row[0] for z in row[1:]] for row in logits])
        determinant = differences.det()
        powers = [[z.exp() for z in row] for row in logits]
        distributions = [[power / sum(row, arb(0)) for power in row] for row in powers]
        lower = np.array([[float_below(mass) for mass in distribution] for distribution in distributions])
        upper = np.array([[float_above(mass) for mass in distribution] for distribution in distributions])
        apart = bool(determinant < 0) or bool(determinant > 0)
        size = float_below(abs(determinant))
    floor = ENCODER_DIVERGENCE.at("lower", distributions=Enclosure.between(lower, upper), d_model=1)
    return Evidence(
        "boundary",
        f"N = 3, d = 1, logits tanh(w_j x_t) with w = {given.W}, x = {given.stream}, and the distributions that are "
        "their softmax: the capped model is exact by definition, but the differences of its logits span two dimensions",
        "KL(pi, T) >= inf over L(3, S, 1)",
        f"KL = 0; |det| >= {number(size, digits=6, bound='lower')} > 0; KL >= "
        f"{number(floor.value, digits=4, bound='lower')}",
        Method(f"balls of {_BITS} bits; {_FLOATS}", Means.BALLS, Means.ENCLOSURES),
        proved(apart),
        {"W": list(given.W), "stream": list(given.stream)},
        quantifier=Quantifier.ALL_ENCODERS,
        compared=(Comparison(floor, ">", 0),),
    )


def _networks_stay_above(count: int) -> Evidence:
    verdicts: list[Verdict] = []
    shares: list[float] = []
    floors: list[Comparison] = []
    for seed in range(count):
        rng = np.random.default_rng((seed, 1))
        d_vocab = int(rng.integers(4, 8))
        d_model = int(rng.integers(2, d_vocab - 1))
        construction = low_rank_distributions_memory(d_vocab=d_vocab, n_ctx=2, d_model=d_model, d_head=2, seed=seed)
        task = construction.task
        distributions = np.zeros((0, 0)) if task.distributions is None else task.distributions
        applied = ENCODER_DIVERGENCE.at("lower", distributions=distributions, d_model=d_model, prior=task.prior)
        floor = applied.value
        floors.append(Comparison(applied, ">", 0))
        floors += met(CLAIM, "printed", **{_OF_T: network_divergence(construction.model, task)[0], _OF_L: floor})
        for network in (construction.model, _random_network(rng, d_vocab=d_vocab, n_ctx=2, d_model=d_model, n_heads=2)):
            lower, upper = network_divergence(network, task)
            # `lower` may be 0 only where the enclosure is wide; then the comparison proves nothing.
            verdicts.append(proved(0.0 < floor <= lower <= upper))
            shares.append(floor / upper)
    return Evidence(
        "claim",
        f"{2 * count} networks with a linear unembedding and d < N - 1, N <= 7, half of them random, half built to "
        "hold the best encoder: none has a smaller divergence than the bound of rank d",
        "KL(pi, T) >= inf over L(N, S, d)",
        f"KL >= bound > 0 in all; the bound is up to {max(shares):.2f} of the divergence",
        Method(_FLOATS, Means.ENCLOSURES),
        Verdict.all_of(verdicts),
        quantifier=Quantifier.ALL_ENCODERS,
        compared=tuple(floors),
    )


def _a_bias_is_one_dimension(count: int) -> Evidence:
    verdicts, compared = [], []
    for seed in range(count):
        rng = np.random.default_rng((seed, 2))
        d_vocab = int(rng.integers(4, 7))
        rank = int(rng.integers(1, d_vocab - 2))
        distributions = np.exp(rng.normal(size=(2 * d_vocab, d_vocab)) * 0.5)
        E, W, bias = rng.normal(size=(2 * d_vocab, rank)), rng.normal(size=(d_vocab, rank)), rng.normal(size=d_vocab)
        lower, _ = mean_divergence(matmul(E, np.ascontiguousarray(W.T)) + bias, distributions)
        verdicts.append(proved(0.0 < encoder_floor(distributions, rank + 1).lower <= lower))
        # With a coordinate that is 1 the bias is one more row of weights.
        beside = np.column_stack([E, np.ones(2 * d_vocab)])
        compared.append(Comparison(beside.shape[1], "=", stated(CLAIM, "more", d=rank)))
    return Evidence(
        "boundary",
        f"{count} encoders of rank d <= N - 3 with an output bias, N <= 6: their divergence is at least the bound for "
        "rank d + 1 without one",
        "KL >= inf over L(N, S, d + 1)",
        "KL >= bound > 0 in all",
        Method(_FLOATS, Means.ENCLOSURES),
        Verdict.all_of(verdicts),
        compared=tuple(compared),
    )


def _random_network(rng: np.random.Generator, *, d_vocab: int, n_ctx: int, d_model: int, n_heads: int) -> Model:
    maps, back = (n_heads, d_model, 1), (n_heads, 1, d_model)
    shapes = (d_vocab, d_model), (n_ctx, d_model), maps, maps, maps, back, (d_model, d_vocab)
    return dana_network(*(rng.normal(size=shape) for shape in shapes))
