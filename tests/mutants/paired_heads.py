"""Mutants of the memory of paired heads: a derivative, a pair or a code that is off."""

from tests.mutants import Mutant


def paired(original: str, mutated: str, why: str) -> Mutant:
    file, tests = "constructions/heads/paired_heads.py", "tests/constructions/heads/test_paired_heads.py"
    return Mutant(file, original, mutated, tests, why)


MUTANTS = [
    paired("(values - (shares * values).sum(axis=1, keepdims=True))", "values", "shares that move do not sum to 1"),
    paired("middle - step / 2 * change]", "middle - step * change]", "a pair is not symmetric"),
    paired("* output,", "* along,", "what heads write does not move the number by itself"),
    paired("W_U[0] = -1.0", "W_U[0] = 0.0", "tokens that are never answers are not behind"),
    paired("best >= _ENOUGH", "best >= -100.0", "weights that do not hold the task count"),
]
