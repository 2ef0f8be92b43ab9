"""Evidence on contextual mappings: least distances of the outputs of all sequences, beside what is printed.

Page: docs/claims/contextual_mapping.md
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np
from flint import arb, ctx, fmpq

from constructions.claims.kajitsuka_sato_2024_separation import CLAIM, rank_one_head
from constructions.claims.madden_2024_lower import positional_attention
from constructions.claims.zhang_2017_theorem import exact
from constructions.models.model import Model
from verify.claims.comparison import Comparison
from verify.claims.evidence import Evidence, Means, Method
from verify.claims.formula import evaluated, stated
from verify.claims.quantifier import Quantifier
from verify.forward.in_rationals import exact_network_logits, exact_outputs
from verify.verdict import decided

_SIZES = ((3, 2), (4, 2), (5, 3), (6, 3))  # V, n
_SIZES_FULL = ((7, 4), (8, 3), (9, 4))


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify distinct outputs on all sequences of some sizes, and how small the printed separation is.

    Args:
        full: More tokens.

    Yields:
        Evidence.
    """
    for tokens, length in _SIZES + (_SIZES_FULL if full else ()):
        yield _distinct(tokens, length)
    yield _void()
    yield _integers()


def _pi() -> arb:
    with ctx.workprec(256):
        return arb.pi()


def least_distance(values: list[fmpq]) -> fmpq:
    """Of two of the numbers; 0 if two are equal or there is one."""
    ordered = sorted(values)
    return min((b - a for a, b in pairwise(ordered)), default=fmpq(0))


def _distinct(tokens: int, length: int) -> Evidence:
    head, sequences = rank_one_head(tokens=tokens, length=length)
    outputs = [row[-1] for row in exact_outputs(head, sequences).tolist()]
    gap = least_distance(outputs)
    kinds = {(row[-1], frozenset(row)) for row in sequences.tolist()}
    complete = len(kinds) == len(sequences) == tokens * comb(tokens - 1, length - 1)
    unrepeated = all(len(everything) == length for _, everything in kinds)
    ranks = [maps[0].rank() for maps in (head.W_Q, head.W_K, head.W_V)]
    scalars = sorted(int(row[0].p) for row in head.W_E.tolist()) == list(range(1, tokens + 1))
    sizes = {"V": tokens, "n": length, "d": 1, "e": 1, "r": 1, "R": tokens, "pi": _pi()}
    printed = stated(CLAIM, "printed", **sizes)
    return Evidence(
        "known",
        f"the {len(sequences)} pairs of a last token and {length - 1} others out of the numbers 1 .. {tokens}, one "
        "head of width 1 whose weights are 1, scores in units of ln 2",
        "outputs that differ by more than the separation",
        f"they differ by {float(gap.p) / float(gap.q):.1e} at least",
        Method("exact rationals; the separation in balls", Means.EXACT, Means.BALLS),
        decided(complete and unrepeated and ranks == [1, 1, 1] and scalars and gap > 0),
        quantifier=Quantifier.EVERY,
        compared=(Comparison(gap, ">", printed), Comparison(printed, ">", 0)),
    )


def _void() -> Evidence:
    """The logarithm of the separation: its last factor alone, the others being below 1."""
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
        ),
    )


def _integers() -> Evidence:
    rng = np.random.default_rng(0)
    contexts = np.unique(rng.integers(0, 50, (64, 8)), axis=0)
    W_E, W_pos, head, _ = positional_attention(contexts, 50, width=1)
    outputs = exact_network_logits(Model((head,), W_U=exact([[1]]), W_E=W_E, W_pos=W_pos), contexts).entries()
    repeated = sum(len(set(row)) < len(row) for row in contexts.tolist())
    whole = all(output.q == 1 for output in outputs)
    bits = max(int(output.p) for output in outputs).bit_length()
    return Evidence(
        "known",
        f"{len(contexts)} random contexts of 8 tokens out of 50, {repeated} of them with a repeated token: one head "
        "by position",
        "distinct integers",
        f"{len(set(map(str, outputs)))} distinct outputs, integers of {bits} bits" if whole else "no integers",
        Method("exact rationals", Means.EXACT),
        decided(whole and repeated > 0),
        quantifier=Quantifier.SAMPLED,
        compared=(
            Comparison(least_distance(outputs), ">=", stated(CLAIM, "integers")),
            Comparison(least_distance(outputs), "<", stated(CLAIM, "integers").value + 4),
        ),
    )
