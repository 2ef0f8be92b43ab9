"""Mutants of the linear system of labels: a bound or a code is off."""

from tests.mutants import Mutant


def system(original: str, mutated: str, why: str) -> Mutant:
    file, tests = (
        "constructions/memories/heads/label_system.py",
        "tests/constructions/memories/heads/test_label_system.py",
    )
    return Mutant(file, original, mutated, tests, why)


MUTANTS = [
    system("best >= _ENOUGH", "best >= -100.0", "weights that do not hold the task count"),
    system("W_U[0] = -1.0", "W_U[0] = 0.0", "tokens that are never answers are not behind"),
    system("W_U[0, answers] += code.columns[0]", "pass", "labels on a line have no shifts"),
    system(
        "return inverse if inverse.condition <= _WORST else None",
        "return inverse",
        "systems that mean nothing are solved",
    ),
    system("along[1] += _AWAY / max(1.0, reach)", "pass", "a number is seen through nothing"),
    system("outputs[at_label] = -np.inf", "outputs[:, 0] = -np.inf", "a label is its own rival"),
]
