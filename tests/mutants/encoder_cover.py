"""Mutants of the covers of all directions: a cone that is lost, a vertex or a context that does not count."""

from tests.mutants import of

cover_floor = of("verify/encoders/cover_floor.py", "tests/verify/encoders/test_cover_floor.py")
ball_cover = of("verify/encoders/ball_cover.py", "tests/verify/encoders/test_ball_cover.py")

MUTANTS = [
    cover_floor("range(1, 2 ** (tokens - 1)):", "range(2, 2 ** (tokens - 1)):", "a partition is lost"),
    cover_floor("halves[0][i] = halves[1][j] = middle", "halves[0][i] = halves[1][i] = middle", "half a cone is lost"),
    cover_floor("left += halves[::-1]", "left += halves[:1]", "one half of a cone is lost"),
    cover_floor("float(gains.lower().min())", "float(gains.lower().max())", "the best vertex counts"),
    cover_floor("2 * (paths", "1 * (paths", "the boxes are from -1 to 0 only"),
    cover_floor("combinations(range(tokens - 1), size)", "combinations(range(tokens - 2), size)", "charts are lost"),
    cover_floor("list(itertools.permutations(range(size * rank)))", "[range(size * rank)]", "one simplex of each box"),
    cover_floor("cones[..., -1] = -cones.sum(axis=3)", "cones[..., -1] = 0", "directions whose sum is not 0"),
    ball_cover("cut = next(given, None)", "cut = next(given, (-1, -1))", "cuts that end early"),
    ball_cover("if factor <= 0:", "if False:", "negative factors of the vertices"),
    ball_cover(
        "_moved(law, scaled[j], step[i], scaled[i], step[j])",
        "_moved(law, scaled[i], step[i], scaled[j], step[j])",
        "every move at its own vertex",
    ),
    ball_cover("fmpq(0)) * _HALF for", "fmpq(0)) for", "both halves of a move count in full"),
    cover_floor(
        "moves[:, :, i] + scaled[:, i, np.newaxis] * moves[:, :, j]",
        "moves[:, :, j] + scaled[:, i, np.newaxis] * moves[:, :, i]",
        "every move at its own vertex",
    ),
    cover_floor(
        "combinations_with_replacement(range(leaves.shape[1]), 2)",
        "combinations(range(leaves.shape[1]), 2)",
        "no vertices",
    ),
    cover_floor(
        "in itertools.combinations_with_replacement(range(leaves.shape[1]), 2):",
        "in [(i, i) for i in range(leaves.shape[1])]:",
        "no pairs",
    ),
    ball_cover(
        "in combinations_with_replacement(range(len(leaf)), 2):", "in [(i, i) for i in range(len(leaf))]:", "no pairs"
    ),
    cover_floor("total(steps, 2) * 0.5 + exact", "total(steps, 2) + exact", "both halves of a move count in full"),
    ball_cover("worst = worst.min(gain)", "worst = gain", "the last vertex counts"),
    ball_cover("if next(given, None) is not None:", "if False:", "cuts that go on"),
    ball_cover("for gone in (i, j):", "for gone in (i, i):", "half a cone is lost"),
    ball_cover("arb(share) * (", "arb(share) * 2 * (", "the prior counts twice"),
    cover_floor("* share, 1)", "* share * 2.0, 1)", "the prior counts twice"),
    cover_floor("    if left:\n", "    if False:\n", "cones without a leaf"),
]
