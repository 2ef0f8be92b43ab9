"""Mutants of the covers of all directions: a cone that is lost, a vertex or a context that does not count."""

from tests.mutants import of

cover_floor = of("verify/theorems/encoders/cover_floor.py", "tests/verify/theorems/encoders/test_cover_floor.py")
ball_cover = of("verify/theorems/encoders/ball_cover.py", "tests/verify/theorems/encoders/test_ball_cover.py")

MUTANTS = [
    cover_floor("range(1, 2 ** (tokens - 1)):", "range(2, 2 ** (tokens - 1)):", "a partition is lost"),
    cover_floor("halves[0][i] = halves[1][j] = a", "halves[0][i] = halves[1][i] = a", "half a cone is lost"),
    cover_floor("left += halves[::-1]", "left += halves[:1]", "one half of a cone is lost"),
    cover_floor("float(gains.lower().min())", "float(gains.lower().max())", "the best vertex counts"),
    cover_floor("2 * (paths", "1 * (paths", "the boxes are from -1 to 0 only"),
    cover_floor("combinations(range(tokens - 1), size)", "combinations(range(tokens - 2), size)", "charts are lost"),
    cover_floor("list(itertools.permutations(range(size * rank)))", "[range(size * rank)]", "one simplex of each box"),
    cover_floor("cones[..., -1] = -cones.sum(axis=3)", "cones[..., -1] = 0", "directions whose sum is not 0"),
    ball_cover("cut = next(remaining_cuts, None)", "cut = next(remaining_cuts, (-1, -1, 0, 0))", "cuts that end early"),
    cover_floor("i != j and a > 0 and b > 0", "i != j", "a cut outside of the edge"),
    cover_floor("a * int(np.abs(cone[i]).max()) +", "int(np.abs(cone[i]).max()) +", "vertices that overflow"),
    cover_floor("+ exact\n            if not", "+ exact * 1.01\n            if not", "distributions that are none"),
    cover_floor("by_weights = np.einsum", "by_weights = 0.0 * np.einsum", "vertices are weighed by no curvature"),
    cover_floor(
        "2 ** np.maximum(np.stack([power, -power], axis=1), 0)",
        "2 ** np.maximum(np.stack([power, -power], axis=1), 0) ** 0",
        "cuts at the sum",
    ),
    ball_cover("or a <= 0 or b <= 0:", "or a == b == 0:", "a cut outside of the edge"),
    cover_floor('!= "i":', '== "u":', "factors that are no integers"),
    ball_cover("if factor <= 0:", "if False:", "negative factors of the vertices"),
    ball_cover("[a * x + b * y for", "[a * x + y for", "a cut elsewhere"),
    ball_cover("worst = worst.min(gain)", "worst = gain", "the last vertex counts"),
    ball_cover("if next(remaining_cuts, None) is not None:", "if False:", "cuts that go on"),
    ball_cover("for gone in (i, j):", "for gone in (i, i):", "half a cone is lost"),
    ball_cover("arb(share) * (", "arb(share) * 2 * (", "the prior counts twice"),
    cover_floor("* share, 1)", "* share * 2.0, 1)", "the prior counts twice"),
    cover_floor("if i != j and cover.moves.shape == common:", "if i != j:", "own moves, judged at the vertices only"),
    cover_floor("if self.own:\n            lost", "if True:\n            lost", "the longest edge is cut"),
    cover_floor("1.0 / parts.sum(axis=1)", "1.0 / parts.max(axis=1)", "a middle is no mean of the ends"),
    cover_floor("if self.own:\n            lost", "if False:\n            lost", "own moves hide the longest edge"),
    ball_cover("if i != j and len(given_steps[0]) == 1:", "if i != j:", "own moves, judged at the vertices only"),
    ball_cover(
        "(context_steps[j % len(context_steps)], scaled[i])",
        "(context_steps[j % len(context_steps)], scaled[j])",
        "pairs of a vertex with itself",
    ),
    cover_floor("    if left:\n", "    if False:\n", "cones without a leaf"),
]
