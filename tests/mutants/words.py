"""Mutants of the memories of words and of their judge in integers."""

from tests.mutants import Mutant


def packed(original: str, mutated: str, why: str) -> Mutant:
    file, tests = "packed_words", "tests/constructions/bigrams/test_packed_words.py"
    return Mutant(f"constructions/bigrams/{file}.py", original, mutated, tests, why)


def keyed(original: str, mutated: str, why: str) -> Mutant:
    file, tests = "keyed_words", "tests/constructions/memories/test_keyed_words.py"
    return Mutant(f"constructions/memories/{file}.py", original, mutated, tests, why)


def judge(original: str, mutated: str, why: str) -> Mutant:
    file, tests = "integer_neurons", "tests/verify/memories/test_integer_neurons.py"
    return Mutant(f"verify/memories/{file}.py", original, mutated, tests, why)


MUTANTS = [
    packed("(SIGNIFICAND[dtype] - 1) // bits", "SIGNIFICAND[dtype] // bits", "the sum of two words is forgotten"),
    packed("b_in = base * np.array([place, place, place - 1.0,", "b_in = base * np.array([place, place, place,",
           "a digit is chosen at two places"),
    packed("np.full(task.n_answers, -1.0)", "np.full(task.n_answers, 0.0)", "what is never a label is not behind"),
    keyed("apart, {_KEY: 1}], [1, 0, -1, 0]", "apart, {_KEY: 1}], [1, 0, 0, 0]", "keys that are near are hits"),
    keyed("[-base, 0, 0]", "[0, 0, 0]", "every digit is chosen"),
    keyed("unit = 1 << max(0, n.bit_length() - bits)", "unit = 1", "nothing is rounded"),
    keyed("binary=True, seed=seed", "seed=seed", "weights of positions are no powers of two"),
    judge("if entry != 0:", "if entry > 0:", "entries below 0 are left out"),
    judge("np.where(labels == token, least - 1, column)", "np.where(labels == token, least - 10**9, least)",
          "the other logits are taken for the least one"),
    judge("if x.q != 1:", "if False:", "what is no integer is cut off"),
    judge("if block.skip else written", "if False else written", "skip connections are left out"),
    judge("np.maximum(column, 0)", "column", "neurons are never off"),
]  # fmt: skip
