"""Mutants of the covers of all directions: a cone that is lost, a vertex or a context that does not count."""

from tests.mutants import Mutant


def covered(original: str, mutated: str, why: str) -> Mutant:
    tests = "tests/verify/encoders/test_cover_floor.py"
    return Mutant("verify/encoders/cover_floor.py", original, mutated, tests, why)


def second(original: str, mutated: str, why: str) -> Mutant:
    tests = "tests/verify/encoders/test_ball_cover.py"
    return Mutant("verify/encoders/ball_cover.py", original, mutated, tests, why)


MUTANTS = [
    covered("range(1, 2 ** (tokens - 1)):", "range(2, 2 ** (tokens - 1)):", "a partition is lost"),
    covered("halves[0][i] = halves[1][j] = middle", "halves[0][i] = halves[1][i] = middle", "half a cone is lost"),
    covered("left += halves[::-1]", "left += halves[:1]", "one half of a cone is lost"),
    covered("float(gains.lower().min())", "float(gains.lower().max())", "the best vertex counts"),
    covered("2 * (paths", "1 * (paths", "the boxes are from -1 to 0 only"),
    covered("combinations(range(tokens - 1), size)", "combinations(range(tokens - 2), size)", "charts are lost"),
    covered("list(itertools.permutations(range(size * rank)))", "[range(size * rank)]", "one simplex of each box"),
    covered("cones[..., -1] = -cones.sum(axis=3)", "cones[..., -1] = 0", "directions whose sum is not 0"),
    second("cut = next(given, None)", "cut = next(given, (-1, -1))", "cuts that end early"),
    second("if factor <= 0:", "if False:", "negative factors of the vertices"),
    second(
        "_moved(law, scaled[j], step[i], scaled[i], step[j])",
        "_moved(law, scaled[i], step[i], scaled[j], step[j])",
        "every move at its own vertex",
    ),
    second("fmpq(0)) * _HALF for", "fmpq(0)) for", "both halves of a move count in full"),
    covered(
        "moves[:, :, i] + scaled[:, i, np.newaxis] * moves[:, :, j]",
        "moves[:, :, j] + scaled[:, i, np.newaxis] * moves[:, :, i]",
        "every move at its own vertex",
    ),
    covered(
        "combinations_with_replacement(range(leaves.shape[1]), 2)",
        "combinations(range(leaves.shape[1]), 2)",
        "no vertices",
    ),
    covered(
        "in itertools.combinations_with_replacement(range(leaves.shape[1]), 2):",
        "in [(i, i) for i in range(leaves.shape[1])]:",
        "no pairs",
    ),
    second(
        "in combinations_with_replacement(range(len(leaf)), 2):", "in [(i, i) for i in range(len(leaf))]:", "no pairs"
    ),
    covered("total(steps, 2) * 0.5 + exact", "total(steps, 2) + exact", "both halves of a move count in full"),
    second("worst = worst.min(gain)", "worst = gain", "the last vertex counts"),
    second("if next(given, None) is not None:", "if False:", "cuts that go on"),
    second("for gone in (i, j):", "for gone in (i, i):", "half a cone is lost"),
    second("arb(share) * (", "arb(share) * 2 * (", "the prior counts twice"),
    covered("* share, 1)", "* share * 2.0, 1)", "the prior counts twice"),
    covered("    if left:\n", "    if False:\n", "cones without a leaf"),
]
