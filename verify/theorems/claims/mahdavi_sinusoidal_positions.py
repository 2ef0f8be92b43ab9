r"""Section 4.4 of Mahdavi et al.: whether sinusoidal positions make the tokens of a context independent.

Page: docs/claims/assumptions.md
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from flint import fmpq_mat

from constructions.model.exact_network import as_rationals
from constructions.saturated_layers.sinusoidal_positions import sinusoidal_positions
from verify.arithmetic.enclosure import Enclosure
from verify.linear_algebra.norms import float_above, frobenius
from verify.linear_algebra.row_rank import certify_full_row_rank
from verify.linear_algebra.singular_values import enclose_singular_values
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, failed, met
from verify.theorems.evidence.theorems import ROOM_FOR_TOKENS
from verify.theorems.saturated_layers.sinusoidal_positions import enclosed_positions
from verify.verdict import Verdict, decided, proved

CLAIM = Claim(
    id="mahdavi.sinusoidal-positions",
    title="Sinusoidal positions and Assumption 2",
    source="Mahdavi, Liao, Thrampoulidis (2024), section 4.4",
    kind="remark",
    quotation=(
        "A widely used positional encoding method utilizes sinusoidal positional encodings [...] "
        "Consequently, the positional encoding matrix is inherently full rank. In view of the positional encoding "
        "equations [...] this characteristic extends to the context matrix [lost], establishing the validity "
        "of Asm. 2."
    ),
    printed=(
        "The matrix of sinusoidal positions is inherently of full rank. This extends to the contexts of embedded "
        "tokens plus positions, and establishes Assumption 2."
    ),
    reading=(
        'Assumption 2 in the words of the introduction, "our second assumption needs context vectors of each example '
        'to be linearly independent", and of typical embeddings, almost all of them, as section 4 has it: "we '
        'demonstrate that Assumption 2 typically holds in practice due to positional encoding". Of some it is not so.'
    ),
    judgement="holds",
    truth=(
        "It holds: the positions have rank n for [[short: n <= d]], d even. It extends to the contexts if the embedded "
        "tokens are shorter than the least singular value of the positions over sqrt n; and for almost all embeddings, "
        "not for all: tokens embedded as the positions of each other make equal rows."
    ),
    page="docs/claims/assumptions.md",
)

_LOST = ((2, 2), (2, 8), (4, 8), (16, 32))  # n, d


_KEPT = ((2, 2), (4, 4), (4, 8), (8, 16))


_CLOSE = 2.0**-40


def evidence(*, full: bool) -> Iterator[Evidence]:
    for count, d_model in _LOST:
        yield _exchanged(count, d_model)
    for count, d_model in _KEPT + (((6, 6), (10, 20)) if full else ()):
        yield _short_tokens(count, d_model)
    yield _all_short(4, 8)


def _exchanged(count: int, d_model: int) -> Evidence:
    """Token a at the first place is embedded as the second position, and token b there as the first."""
    positions = sinusoidal_positions(count, d_model)
    tokens = np.zeros_like(positions)
    tokens[:2] = positions[[1, 0]]
    exact: fmpq_mat = as_rationals(tokens) + as_rationals(positions)
    rows = exact.tolist()
    near = float(abs(Enclosure.exact(positions) - enclosed_positions(count, d_model)).upper().max())
    return Evidence(
        "boundary",
        f"n = {count} sinusoidal positions in R^{d_model}; the first two tokens are embedded as the second and the "
        "first "
        "position, the others as 0",
        f"a context of a rank below {count}",
        f"two equal rows: rank {exact.rank()}",
        Method(
            "exact sums of the float64 positions, which are the sines and cosines up to 2^-40; the sum of two numbers "
            "is the same in both orders",
            Means.EXACT,
            Means.BALLS,
        ),
        Verdict.all_of([decided(rows[0] == rows[1]), proved(near < _CLOSE)]),
        compared=(Comparison(exact.rank(), "<", count),),
    )


def _short_tokens(count: int, d_model: int) -> Evidence:
    """Three quarters of the room: the contexts keep their rank by Weyl's inequality."""
    room = ROOM_FOR_TOKENS.at(count=count, d_model=d_model)
    directions = np.random.default_rng([count, d_model]).standard_normal((count, d_model))
    tokens = 0.75 * room.value * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    longest = max(float_above(frobenius(token[None])) for token in tokens)
    certificate = certify_full_row_rank(Enclosure.exact(tokens) + enclosed_positions(count, d_model))
    least = float(enclose_singular_values(enclosed_positions(count, d_model)).upper().min())
    return Evidence(
        "claim",
        f"n = {count} sinusoidal positions in R^{d_model}, tokens drawn at random of a length below the room",
        f"a context of rank {count}",
        f"rank {count}; the longest token has {longest:.3g}, the room is {room.value:.3g}",
        Method(certificate.method, Means.ENCLOSURES, Means.BALLS),
        proved(certificate.verdict is Verdict.PROVED),
        compared=(
            Comparison(longest, "<", room),
            Comparison(room, ">", 0),
            Comparison(Fraction(room.value) ** 2 * count, "<=", Fraction(least) ** 2),
            *met(CLAIM, "short", n=count, d=d_model),
        ),
    )


def _all_short(count: int, d_model: int) -> Evidence:
    """No token at all: positions alone have rank n, so the determinants do not vanish for almost all embeddings."""
    certificate = certify_full_row_rank(enclosed_positions(count, d_model))
    beyond = as_rationals(sinusoidal_positions(d_model + 1, d_model)).rank()
    return Evidence(
        "claim",
        f"n = {count} sinusoidal positions in R^{d_model}, and n = {d_model + 1} of them",
        f"rank {count}; with n > d Assumption 2 cannot hold",
        f"rank {count}, and rank {beyond} of {d_model + 1}",
        Method(certificate.method, Means.ENCLOSURES, Means.BALLS),
        Verdict.all_of([proved(certificate.verdict is Verdict.PROVED), decided(beyond <= d_model)]),
        compared=(
            Comparison(ROOM_FOR_TOKENS.at(count=count, d_model=d_model), ">", 0),
            *failed(CLAIM, "short", n=d_model + 1, d=d_model),
        ),
    )
