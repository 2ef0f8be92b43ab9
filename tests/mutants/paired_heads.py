"""Mutants of the memory of paired heads and of its linear system: a derivative, a pair or a code that is off."""

from tests.mutants import Mutant


def paired(original: str, mutated: str, why: str) -> Mutant:
    file, tests = "constructions/heads/paired_heads.py", "tests/constructions/heads/test_paired_heads.py"
    return Mutant(file, original, mutated, tests, why)


def system(original: str, mutated: str, why: str) -> Mutant:
    file, tests = "constructions/heads/label_system.py", "tests/constructions/heads/test_label_system.py"
    return Mutant(file, original, mutated, tests, why)


MUTANTS = [
    paired("(values - (shares * values).sum(axis=1, keepdims=True))", "values", "shares that move do not sum to 1"),
    paired("middle - step / 2 * change]", "middle - step * change]", "a pair is not symmetric"),
    paired("* output,", "* along,", "what heads write does not move the number by itself"),
    paired("best >= ENOUGH", "best >= -100.0", "weights that do not hold the task count"),
    system("W_U[0] = -1.0", "W_U[0] = 0.0", "tokens that are never answers are not behind"),
    system("W_U[0, answers] += code.columns[0]", "pass", "labels on a line have no shifts"),
    system("if not inverse.condition <= _WORST:", "if False:", "systems that mean nothing are solved"),
    system("along[1] += _AWAY / max(1.0, reach)", "pass", "a number is seen through nothing"),
    system("found[at_label] = -np.inf", "found[:, 0] = -np.inf", "a label is its own rival"),
]
