"""Bound the divergence of all sequence encoders of rank 1 from below: a line orders the tokens in one way.

Page: docs/claims/sequence_encoder.md
"""

from collections.abc import Sequence
from itertools import pairwise, permutations
from typing import Any

from flint import arb, ctx, fmpq

from constructions.errors import InputError
from constructions.model.exact_network import as_rationals
from verify.linear_algebra.norms import float_below

Distribution = list[fmpq]

_BITS = 128
_MOST_TOKENS = 8  # of which all orders are enumerated


def ordering_floor(distributions: Any, *, prior: Sequence[Any] | None = None) -> float:
    r"""Bound the mean divergence of every sequence encoder of rank 1 from below, by the order of its tokens, in nats.

    The logits of rank 1 are $E_t w$, so every softmax falls or rises along one order of the tokens. For a distribution
    $\pi$ let the partial sums of $\bar\pi$ be the least concave sequence above those of $\pi$: means over pools of
    neighbours, which fall, and no partial sum of $\bar\pi - \pi$ is negative. So
    $\langle \bar\pi - \pi, \log q \rangle \ge 0$ for every $q$ that falls along the order, and
    $\mathrm{KL}(\pi \| q) \ge H(\bar\pi) - H(\pi)$. The bound is the least over all orders of the mean over the
    contexts of the smaller one of both directions.

    Why it is rigorous: the distributions, the pools and the partial sums are rational and checked, the entropies are
        balls, and
    all orders are enumerated.

    Args:
        distributions: `[T, N]`, integers, fractions or floats at least 0, N at most 8; the distribution is the row
            divided by its exact sum.
        prior: Weights of the contexts, likewise, divided by their sum; equal by default.

    Returns:
        The bound, rounded down; 0 where nothing was proved.

    Raises:
        InputError: Arguments of wrong shapes or ranges, or more than 8 tokens.

    Source: Ayer, Brunk, Ewing, Reid and Silverman (1955), for the pools.

    Example:
        >>> 0.02616 < ordering_floor([[6, 3, 1], [6, 1, 3]]) < 0.02617  # half of .3 log 1.5 + .1 log .5
        True
    """
    table = as_rationals(distributions).tolist()
    sums = [sum(row, fmpq(0)) for row in table]
    if not table or any(not entry >= 0 for row in table for entry in row) or any(not total > 0 for total in sums):
        raise InputError("distributions", "has a negative entry or a row of zeros", "rows that can be normalized")
    if not 1 <= len(table[0]) <= _MOST_TOKENS:
        raise InputError("distributions", f"has {len(table[0])} tokens", f"1 to {_MOST_TOKENS}")
    weights = [fmpq(1)] * len(table) if prior is None else as_rationals([list(prior)]).entries()
    if len(weights) != len(table) or any(not weight >= 0 for weight in weights) or not any(weights):
        raise InputError("prior", f"is {prior}", f"{len(table)} weights of at least 0, not all 0")
    normalized = [[entry / total for entry in row] for row, total in zip(table, sums, strict=True)]
    with ctx.workprec(_BITS):
        least: arb | None = None
        for order in permutations(range(len(table[0]))):
            if order[0] > order[-1]:
                continue  # the reversed order is the same line
            bound = arb(0)
            for distribution, weight in zip(normalized, weights, strict=True):
                along = [distribution[token] for token in order]
                bound += arb(weight) * _gain(along).min(_gain(along[::-1]))
            least = bound if least is None else least.min(bound)
        return 0.0 if least is None else float_below(least / arb(sum(weights, fmpq(0))))


def _gain(distribution: Distribution) -> arb:
    """Return H(pooled) - H(distribution) for a distribution along which the softmax falls; 0 if the pools are none."""
    pooled = _pooled(distribution)
    partial, sums = fmpq(0), []
    for before, after in zip(distribution, pooled, strict=True):
        partial += after - before
        sums.append(partial)
    falls = all(left >= right for left, right in pairwise(pooled))
    # <pooled - distribution, x> = sum of partial sums times (x_k - x_(k+1)), and x = log q falls.
    if not falls or partial != 0 or any(entry < 0 for entry in sums):
        return arb(0)
    return _entropy(pooled) - _entropy(distribution)


def _pooled(distribution: Distribution) -> Distribution:
    """Return means over pools of neighbours that fall along the order: pool adjacent violators."""
    pools: list[list[fmpq]] = []  # sum and number of each
    for entry in distribution:
        pools.append([entry, fmpq(1)])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] < pools[-1][0] * pools[-2][1]:
            mass, count = pools.pop()
            pools[-1] = [pools[-1][0] + mass, pools[-1][1] + count]
    return [mass / count for mass, count in pools for _ in range(int(count.p))]


def _entropy(distribution: Distribution) -> arb:
    """Return Shannon's entropy of a rational distribution, in nats."""
    balls = [arb(entry) for entry in distribution if entry != 0]
    return -sum((ball * ball.log() for ball in balls), arb(0))
