"""Mutants of the memory of clustered heads and of its linear system: a derivative, a bound or a code is off."""

from tests.mutants import Mutant


def clustered(original: str, mutated: str, why: str) -> Mutant:
    file, tests = "constructions/heads/clustered_heads.py", "tests/constructions/heads/test_clustered_heads.py"
    return Mutant(file, original, mutated, tests, why)


def system(original: str, mutated: str, why: str) -> Mutant:
    file, tests = "constructions/heads/label_system.py", "tests/constructions/heads/test_label_system.py"
    return Mutant(file, original, mutated, tests, why)


MUTANTS = [
    clustered("(read - (shares * read).sum(axis=1, keepdims=True))", "read", "shares that move do not sum to 1"),
    clustered("v - v.mean(axis=1, keepdims=True)", "v", "the heads of a cluster do not cancel"),
    clustered("base.v + step / copies * rest", "base.v + step * rest", "values move too far"),
    clustered("np.broadcast_to(output / step,", "np.broadcast_to(output,", "heads write the step, not the derivative"),
    clustered("numbers + inverse.solve(missed[:, None])[:, 0]", "numbers", "what is missed is not corrected"),
    clustered("< least / 2", "< 1e9 * least", "corrections that make it worse are kept"),
    clustered("- r * math.comb(different, 2)", "", "antisymmetric combinations count as directions"),
    clustered("- (p - r) * math.comb(inside, 2)", "", "nor those that live on the keys"),
    clustered(
        "min(rank, p, q), min(copies - 1, q)", "min(rank, p, q), copies - 1", "more copies than values tell apart"
    ),
    clustered(
        "for count, p, q in _parts(task, shape.d_model)",
        "for count, p, q in [*_parts(task, shape.d_model)][-1:]",
        "one frequent last token is not looked at",
    ),
    system("best >= _ENOUGH", "best >= -100.0", "weights that do not hold the task count"),
    system("W_U[0] = -1.0", "W_U[0] = 0.0", "tokens that are never answers are not behind"),
    system("W_U[0, answers] += code.columns[0]", "pass", "labels on a line have no shifts"),
    system(
        "return inverse if inverse.condition <= _WORST else None",
        "return inverse",
        "systems that mean nothing are solved",
    ),
    system("along[1] += _AWAY / max(1.0, reach)", "pass", "a number is seen through nothing"),
    system("found[at_label] = -np.inf", "found[:, 0] = -np.inf", "a label is its own rival"),
]
