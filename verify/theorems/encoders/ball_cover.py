r"""Covers of all directions, read a second time: cones from their definition in fractions, entropies in balls.

Page: docs/claims/encoder_covers.md
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, combinations_with_replacement, permutations

from flint import arb, ctx, fmpq

from constructions.errors import InputError

Matrix = list[list[int]]
Cone = list[Matrix]


def cover_floor_in_balls(
    distributions: Sequence[Sequence[float]],
    prior: Sequence[float],
    d_model: int,
    cuts: Sequence[tuple[int, int, int, int]],
    scales: Sequence[Sequence[float]],
    moves: Sequence[Sequence[Sequence[Sequence[float]]]],
    *,
    bits: int = 64,
) -> arb:
    r"""Return the least, over leaves and $i \le j$, of the mean gain of entropy by $\frac12 (\mu_{t,i} M_j + \mu_{t,j}
    M_i)$.

    Args:
        distributions: Positive weights of T distributions over N tokens; every float is taken exactly.
        prior: Positive weights of the contexts.
        d_model: The rank d of the encoders, in 1 .. N - 2.
        cuts: (i, j, a, b) for every cone that is cut at $a v_i + b v_j$, (-1, -1, 0, 0) for every leaf, in preorder.
        scales: Positive factors of the vertices of every leaf.
        moves: $\mu_{t,i}$, with $N - 1 - d$ entries, for every leaf and context, and for every vertex, or one for all:
            then $i = j$ is enough.
        bits: Bits of the balls.

    Returns:
        A ball; its lower end bounds the divergence of every encoder of rank d.

    Raises:
        InputError: Cuts that do not cover everything, or moves and scales that are not moves to distributions.

    Example:
        >>> distributions = [[6, 3, 1], [6, 1, 3]]
        >>> moves = [[[[-0.1]], [[-0.1]]], [[[0.0]], [[0.1]]], [[[-0.1]], [[0.0]]]]  # of three cones
        >>> floor = cover_floor_in_balls(distributions, [1, 1], 1, [(-1, -1, 0, 0)] * 3, [[1, 1]] * 3, moves)
        >>> 0.0261 < float(floor) < 0.0524
        True
    """
    exact = [
        [x / sum(distribution, fmpq(0)) for x in distribution]
        for distribution in (list(map(_exact, distribution)) for distribution in distributions)
    ]
    priors = list(map(_exact, prior))
    shares = [x / sum(priors, fmpq(0)) for x in priors]
    if min(map(min, exact)) <= 0 or min(shares) <= 0 or len(shares) != len(exact):
        raise InputError("distributions", "are not positive, one for each entry of the prior")
    before, ctx.prec = ctx.prec, bits
    try:
        still = [_entropy(distribution) for distribution in exact]
        worst = arb("inf")
        leaves = list(_leaves(len(exact[0]), d_model, list(cuts)))
        if not len(leaves) == len(scales) == len(moves):
            raise InputError("scales", f"of {len(scales)} leaves and moves of {len(moves)}, expected {len(leaves)}")
        for leaf, factors, steps in zip(leaves, scales, moves, strict=True):
            scaled = [_scaled(matrix, _exact(factor)) for matrix, factor in zip(leaf, factors, strict=True)]
            given_steps = [[list(map(_exact, step)) for step in of_context] for of_context in steps]
            if len(given_steps) != len(exact) or {len(context_steps) for context_steps in given_steps} not in (
                {1},
                {len(scaled)},
            ):
                raise InputError("moves", "are not one for every context, or one for each of its vertices")
            for i, j in combinations_with_replacement(range(len(scaled)), 2):
                if i != j and len(given_steps[0]) == 1:
                    continue
                gain = arb(0)
                for distribution, share, here, context_steps in zip(exact, shares, still, given_steps, strict=True):
                    products = [
                        (context_steps[i % len(context_steps)], scaled[j]),
                        (context_steps[j % len(context_steps)], scaled[i]),
                    ]
                    gain += arb(share) * (_entropy(_moved(distribution, products)) - here)
                worst = worst.min(gain)
        return worst
    finally:
        ctx.prec = before


def _scaled(matrix: Matrix, factor: fmpq) -> list[list[fmpq]]:
    if factor <= 0:
        raise InputError("scales", f"has the factor {factor}", "positive ones")
    return [[factor * x for x in row] for row in matrix]


def _moved(distribution: list[fmpq], products: list[tuple[list[fmpq], list[list[fmpq]]]]) -> list[fmpq]:
    """Return the distribution, moved by the mean of products of steps and matrices."""
    rows = [pair for step, matrix in products for pair in zip(step, matrix, strict=True)]
    moved = [p + sum((x * row[j] for x, row in rows), fmpq(0)) / len(products) for j, p in enumerate(distribution)]
    if min(moved) <= 0 or sum(moved) != 1:
        raise InputError("moves", "lead to what is not a distribution")
    return moved


def _exact(x: float) -> fmpq:
    return fmpq(*x.as_integer_ratio())


def _entropy(distribution: list[fmpq]) -> arb:
    return -sum((p * p.log() for p in map(arb, distribution)), arb(0))


def _leaves(tokens: int, rank: int, cuts: list[tuple[int, int, int, int]]) -> Iterator[Cone]:
    """Yield every cone of the cover, recursing into the halves of each cut."""
    remaining_cuts = iter(cuts)

    def inside(cone: Cone) -> Iterator[Cone]:
        cut = next(remaining_cuts, None)
        if cut is None:
            raise InputError("cuts", "end before all directions are covered")
        i, j, a, b = cut
        if (i, j) == (-1, -1):
            yield cone
            return
        if i == j or not (0 <= i < len(cone) and 0 <= j < len(cone)) or a <= 0 or b <= 0:
            raise InputError("cuts", f"has {cut}", f"two of {len(cone)} vertices and positive factors")
        middle = [[a * x + b * y for x, y in zip(*rows, strict=True)] for rows in zip(cone[i], cone[j], strict=True)]
        for gone in (i, j):
            yield from inside([middle if place == gone else vertex for place, vertex in enumerate(cone)])

    for root in _roots(tokens, rank):
        yield from inside(root)
    if next(remaining_cuts, None) is not None:
        raise InputError("cuts", "go on when all directions are covered")


def _roots(tokens: int, rank: int) -> Iterator[Cone]:
    if not 1 <= rank <= tokens - 2:
        raise InputError("d_model", f"= {rank}", f"1 .. N - 2 = {tokens - 2}")
    yield from (_staircases(tokens) if rank == tokens - 2 else _boxes(tokens, rank))


def _staircases(tokens: int) -> Iterator[Cone]:
    """Yield the parts I by the number of which they are the binary digits, the staircases by the places of the steps in
    I.
    """
    for number in range(1, 2 ** (tokens - 1)):
        inside = [j for j in range(tokens) if number & 2**j]
        outside = [j for j in range(tokens) if not number & 2**j]
        for steps in combinations(range(tokens - 2), len(inside) - 1):
            cone = []
            for n in range(tokens - 1):
                up = sum(step < n for step in steps)  # steps along the inside before place n
                i, o = inside[up], outside[n - up]
                cone.append([[(j == i) - (j == o) for j in range(tokens)]])
            yield cone


def _boxes(tokens: int, rank: int) -> Iterator[Cone]:
    """Yield the boxes by the columns of the unit matrix, then by the order in which the entries of X go from -1 to
    1.
    """
    size = tokens - 1 - rank
    for unit in combinations(range(tokens - 1), size):
        for order in permutations(range(size * rank)):
            cone = []
            for done in range(size * rank + 1):
                entries = iter(1 if place in order[:done] else -1 for place in range(size * rank))
                rows = [{j: next(entries) for j in range(tokens - 1) if j not in unit} for _ in range(size)]
                full = [
                    [row[j] if j in row else int(unit[a] == j) for j in range(tokens - 1)] for a, row in enumerate(rows)
                ]
                cone.append([[*row, -sum(row)] for row in full])
            yield cone
