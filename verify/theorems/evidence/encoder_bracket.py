"""Bound the best encoder from both sides: a found encoder is so close to the lower bound that the two check each other.

Page: docs/claims/sequence_encoder.md
"""

from fractions import Fraction

import numpy as np

from constructions.encoders.sequence_encoder import best_encoder
from verify.arithmetic.decimals import number
from verify.theorems.encoders.encoder_ceiling import encoder_divergence
from verify.theorems.evidence.comparison import Comparison
from verify.theorems.evidence.evidence import Evidence, Means, Method, Role
from verify.theorems.evidence.quantifier import Quantifier
from verify.theorems.evidence.theorems import ENCODER_DIVERGENCE

_SIZES = ((3, 2, 1), (4, 6, 2))  # N, T, d
_SPREAD = 0.01  # of the logarithms: for nearly uniform distributions both sides are of second order, and nearly equal
_SHARE = Fraction(9, 10)


def bracketed(role: Role) -> Evidence:
    """Certify that the least divergence of encoders is met from below by the theorem and from above by a search.

    Args:
        role: The role of the evidence.

    Returns:
        Of each instance: the bound is no larger than what an encoder has, and at least nine tenths of it. A bound that
        is too large by a ninth, or a search that misses, confirms nothing.
    """
    compared, shown = [], []
    for tokens, rows, rank in _SIZES:
        distributions = np.exp(_SPREAD * np.random.default_rng(rank).standard_normal((rows, tokens)))
        encoder = best_encoder(distributions, rank, starts=4)
        reached = encoder_divergence(encoder.E[:, :rank], encoder.W[:, :rank], distributions)[1]
        floor = ENCODER_DIVERGENCE.at("lower", distributions=distributions, d_model=rank)
        compared += [
            Comparison(floor, "<=", reached),
            Comparison(floor, ">=", _SHARE * Fraction(reached) if np.isfinite(reached) else float("inf")),
        ]
        shown.append(f"[{number(floor.value, digits=4, bound='lower')}, {number(reached, digits=4, bound='upper')}]")
    return Evidence(
        role,
        f"nearly uniform distributions, (N, T, d) = {', '.join(map(str, _SIZES))}: the bound from below, and an "
        f"encoder of this rank within a factor {_SHARE} of it",
        f"infimum between the bound and the encoder, bound >= {_SHARE} of the encoder's divergence",
        f"infimum in {', '.join(shown)} nats",
        Method("singular values, divergences", Means.ENCLOSURES),
        quantifier=Quantifier.ALL_ENCODERS,
        compared=tuple(compared),
    )
