r"""Kajitsuka and Sato (2024): one head of rank one tells sequences apart, by a separation that is printed.

Page: docs/claims/contextual_mapping.md
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np
from flint import arb, ctx, fmpq

from constructions.model.model import Model
from constructions.rational.interpolating_network import exact
from constructions.rational.positional_attention import positional_attention
from constructions.rational.rank_one_head import rank_one_head
from verify.forward.in_rationals import exact_network_logits, exact_outputs
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, evaluated, met, stated
from verify.verdict import decided

CLAIM = Claim(
    id="kajitsuka-sato-2024.separation",
    title="One head of rank one tells sequences apart",
    source="Kajitsuka, Sato (2024), contextual mapping",
    kind="statement",
    printed=(
        "For sequences of n tokens without repetition, out of V vectors in R^d with norms from r to R and dis"
        "tances "
        "of e at least, a softmax head with weights of rank one is a contextual mapping with the separation "
        "[[printed: 2 (log n)^2 e^2 r exp(-(V + 1)^4 (2 log n + 3) pi d R^2 / (4 e r)) / (R^2 (V + 1)^4 (2 lo"
        "g n + 3) pi d)]]."
    ),
    judgement="not-judged",
    truth=(
        "Not proved here. Of the sizes that are looked at all sequences have distinct outputs, by far more than the "
        "separation: that has [[digits: 3 * 10^9]] zeros behind the point for [[tokens: V = 50]], [[length: n = 8]], "
        "[[width: d = 2]], [[norm: R = 1]] and [[apart: e = r = 1/10]], and tells nothing about numbers that are "
        "stored. A head that looks at positions alone has integers as outputs: [[integers: 1]] is the least distance "
        "of them, for any distinct contexts, repeated tokens or not."
    ),
    reconstructed="the formula of the separation, from memory: the paper was at hand in its abstract only",
    page="docs/claims/contextual_mapping.md",
)

_SIZES = ((3, 2), (4, 2), (5, 3), (6, 3))  # V, n


_SIZES_FULL = ((7, 4), (8, 3), (9, 4))


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_vocab, n_ctx in _SIZES + (_SIZES_FULL if full else ()):
        yield _distinct(d_vocab, n_ctx)
    yield _void()
    yield _integers()


def _pi() -> arb:
    with ctx.workprec(256):
        return arb.pi()


def least_distance(values: list[fmpq]) -> fmpq:
    """Return the least distance of two of the numbers; 0 if two are equal or there is only one."""
    ordered = sorted(values)
    return min((b - a for a, b in pairwise(ordered)), default=fmpq(0))


def _distinct(d_vocab: int, n_ctx: int) -> Evidence:
    head, sequences = rank_one_head(d_vocab=d_vocab, n_ctx=n_ctx)
    outputs = [row[-1] for row in exact_outputs(head, sequences).tolist()]
    gap = least_distance(outputs)
    kinds = {(row[-1], frozenset(row)) for row in sequences.tolist()}
    complete = len(kinds) == len(sequences) == d_vocab * comb(d_vocab - 1, n_ctx - 1)
    unrepeated = all(len(everything) == n_ctx for _, everything in kinds)
    ranks = [maps[0].rank() for maps in (head.W_Q, head.W_K, head.W_V)]
    scalars = sorted(int(row[0].p) for row in head.W_E.tolist()) == list(range(1, d_vocab + 1))
    sizes = {"V": d_vocab, "n": n_ctx, "d": 1, "e": 1, "r": 1, "R": d_vocab, "pi": _pi()}
    printed = stated(CLAIM, "printed", **sizes)
    return Evidence(
        "part",
        f"the {len(sequences)} pairs of a last token and {n_ctx - 1} others out of the numbers 1 .. {d_vocab}, one "
        "head of width 1 whose weights are 1, scores in units of ln 2",
        "outputs that differ by more than the separation",
        f"they differ by {float(gap.p) / float(gap.q):.1e} at least",
        Method("exact rationals; the separation in balls", Means.EXACT, Means.BALLS),
        decided(complete and unrepeated and ranks == [1, 1, 1] and scalars and gap > 0),
        quantifier=Quantifier.EVERY,
        compared=(
            Comparison(gap, ">", printed),
            Comparison(printed, ">", 0),
            Comparison(_separation(d_vocab, n_ctx), "agrees with", printed),
        ),
    )


def _separation(d_vocab: int, n_ctx: int) -> arb:
    """Return the separation for the numbers 1 .. V in one dimension, e = r = 1 and R = V, with reordered operations."""
    with ctx.workprec(256):
        logarithm = arb(n_ctx).log()
        size = arb(d_vocab + 1) ** 4 * (2 * logarithm + 3) * arb.pi() * d_vocab**2
        return 2 * logarithm**2 * (-size / 4).exp() / size


def _void() -> Evidence:
    """Return an upper bound of the logarithm of the separation: its last factor, because the others are below 1."""
    sizes = {"V": 50, "n": 8, "d": 2, "e": Fraction(1, 10), "r": Fraction(1, 10), "R": 1, "pi": _pi()}
    digits = evaluated("(V + 1)^4 (2 log n + 3) pi d R^2 / (4 e r log 10)", **sizes)
    others = evaluated("2 (log n)^2 e^2 r / (R^2 (V + 1)^4 (2 log n + 3) pi d)", **sizes)
    return Evidence(
        "boundary",
        "V = 50, n = 8, d = 2, norms from 1/10 to 1, distances of 1/10: the number of zeros behind the point of the "
        "separation",
        f"more than {stated(CLAIM, 'digits')}",
        f"at least {float(digits.lower()):.2e}" if isinstance(digits, arb) else f"at least {digits}",
        Method("balls", Means.BALLS),
        compared=(
            Comparison(digits, ">", stated(CLAIM, "digits")),
            Comparison(evaluated("5 x / 6", x=digits), "<", stated(CLAIM, "digits")),
            Comparison(others, "<", 1),
            *met(CLAIM, "tokens", "length", "width", "norm", "apart", **sizes),
        ),
    )


def _integers() -> Evidence:
    rng = np.random.default_rng(0)
    contexts = np.unique(rng.integers(0, 50, (64, 8)), axis=0)
    W_E, W_pos, head, _ = positional_attention(contexts, 50, d_model=1)
    outputs = exact_network_logits(Model((head,), W_U=exact([[1]]), W_E=W_E, W_pos=W_pos), contexts).entries()
    repeated = sum(len(set(row)) < len(row) for row in contexts.tolist())
    whole = all(output.q == 1 for output in outputs)
    bits = max(int(output.p) for output in outputs).bit_length()
    return Evidence(
        "part",
        f"{len(contexts)} random contexts of 8 tokens out of 50, {repeated} of them with a repeated token: one head "
        "by position",
        "distinct integers",
        f"{len(set(map(str, outputs)))} distinct outputs, integers of {bits} bits" if whole else "no integers",
        Method("exact rationals", Means.EXACT),
        decided(whole and repeated > 0),
        quantifier=Quantifier.SAMPLED,
        compared=(Comparison(least_distance(outputs), "=", stated(CLAIM, "integers")),),
    )
