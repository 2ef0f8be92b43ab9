"""Exclusive or under one head: a lower bound of the divergence for all weights, and weights as close to it as required.

Page: docs/claims/theorem_1.md
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from constructions.encoders.one_head_optimum import exclusive_or_contexts, exclusive_or_optimum
from constructions.model.model import Model
from verify.arithmetic.rounding import up
from verify.divergence.kullback_leibler import divergence, mean_upper_bound
from verify.forward.logits import enclose_logits
from verify.theorems.evidence.comparison import Comparison
from verify.theorems.evidence.theorem import Applied
from verify.theorems.evidence.theorems import ONE_HEAD_DIVERGENCE

CLOSE = Fraction(1, 10**5)
"""How near weights have to come to the bound, nats: a bound that is too large by more is refuted by them."""


def exclusive_or_distributions(p: Fraction, *, n_ctx: int = 3) -> tuple[Any, list[list[Fraction]]]:
    """Return the four contexts of the exclusive or, with the distribution (p, 1 - p) after two of them and its mirror
    after the others.

    Args:
        p: Probability of the more likely token.
        n_ctx: Tokens in a context.

    Returns:
        Contexts `[4, n_ctx]`, and the distributions.
    """
    return exclusive_or_contexts(n_ctx), [[p, 1 - p]] * 2 + [[1 - p, p]] * 2


def exclusive_or_floor(p: Fraction, *, n_ctx: int = 3) -> Applied:
    """Return a lower bound of the divergence of one head, for all weights."""
    contexts, distributions = exclusive_or_distributions(p, n_ctx=n_ctx)
    return ONE_HEAD_DIVERGENCE.at("lower", contexts=contexts, distributions=distributions)


def exclusive_or_is_met(p: Fraction) -> tuple[Comparison, Comparison]:
    """State that weights of one head come within `CLOSE` of the bound, from above.

    Args:
        p: Probability of the more likely token, a decimal fraction.

    Returns:
        The bound is no larger than their divergence, and smaller by less than `CLOSE`.
    """
    contexts, distributions = exclusive_or_distributions(p)
    network = exclusive_or_optimum(math.log(float(p / (1 - p))), size=2.0**40)
    return is_met(exclusive_or_floor(p), network, contexts, distributions)


def is_met(
    floor: Applied, network: Model, contexts: Any, distributions: list[list[Fraction]]
) -> tuple[Comparison, Comparison]:
    """State that a lower bound is at most the mean divergence of a network, and nearly equal to it.

    Args:
        floor: The bound, nats.
        network: One layer.
        contexts: Token ids, `[T, S]`.
        distributions: What each context is followed by, `[T, N]`.
    """
    denominator = int(np.lcm.reduce([entry.denominator for distribution in distributions for entry in distribution]))
    weights = np.array([[float(entry * denominator) for entry in distribution] for distribution in distributions])
    reached = mean_upper_bound(up(divergence(enclose_logits(network, contexts), weights).upper()))
    near = Fraction(reached) - CLOSE if math.isfinite(reached) else math.inf
    return Comparison(floor, "<=", reached), Comparison(floor, ">", near)
