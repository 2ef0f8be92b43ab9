"""Mutants of the covers of all directions: a cone that is lost, a vertex or a context that does not count."""

from tests.mutants import Mutant


def covered(original: str, mutated: str, why: str) -> Mutant:
    tests = "tests/verify/encoders/test_cover_floor.py"
    return Mutant("verify/encoders/cover_floor.py", original, mutated, tests, why)


MUTANTS = [
    covered("range(1, 2 ** (tokens - 1)):", "range(2, 2 ** (tokens - 1)):", "a partition is lost"),
    covered("halves[0][i] = halves[1][j] = middle", "halves[0][i] = halves[1][i] = middle", "half a cone is lost"),
    covered("left += halves[::-1]", "left += halves[:1]", "one half of a cone is lost"),
    covered("float(gains.lower().min())", "float(gains.lower().max())", "the best vertex counts"),
    covered("* share, 2)", "* share * 2.0, 2)", "the prior counts twice"),
    covered("    if left:\n", "    if False:\n", "cones without a leaf"),
]
