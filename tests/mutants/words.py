"""Mutants of the memories of words and of their judge in integers."""

from tests.mutants import Mutant


def packed(original: str, mutated: str, why: str) -> Mutant:
    file, tests = "packed_words", "tests/constructions/memories/bigrams/test_packed_words.py"
    return Mutant(f"constructions/memories/bigrams/{file}.py", original, mutated, tests, why)


def keyed(original: str, mutated: str, why: str) -> Mutant:
    file, tests = "keyed_words", "tests/constructions/memories/test_keyed_words.py"
    return Mutant(f"constructions/memories/{file}.py", original, mutated, tests, why)


def judge(original: str, mutated: str, why: str) -> Mutant:
    file, tests = "integer_neurons", "tests/verify/theorems/memories/test_integer_neurons.py"
    return Mutant(f"verify/theorems/memories/{file}.py", original, mutated, tests, why)


def probes(file: str, original: str, mutated: str, why: str) -> Mutant:
    room = {"exact_steps": "model", "one_hot_distributions": "memories"}.get(file, "memories/probes")
    return Mutant(
        f"constructions/{room}/{file}.py", original, mutated, f"tests/constructions/{room}/test_{file}.py", why
    )


MUTANTS = [
    packed("of_digit, steps)", "of_digit)", "steep steps need no bits"),
    probes("probe_memory", "4.0 * _SHARP * stride, -_SHARP]]", "4.0 * _SHARP * stride + 2.0 * _SHARP, -_SHARP]]",
           "heads read between two positions"),
    probes("probe_memory", "W_O[0, 0, 0] = 2.0 if three else", "W_O[0, 0, 0] = 3.0 if three else",
           "one of three probes counts twice"),
    probes("probe_memory", "for k in halvings(plan.probes)]", "for k in halvings(plan.probes - 1)]",
           "the sum is not taken to its residue"),
    probes("probe_memory", "_through(wide, _NUMBER, plan.modulus * (", "_through(wide, _NUMBER, (",
           "other cells of the row are not silenced"),
    probes("probe_memory", "top * np.eye(size)", "np.eye(size)", "the wanted word is silenced with the others"),
    probes("probe_memory", "_through(behind, m + 1, plan.modulus * (", "_through(behind, m + 1, (",
           "other labels of the word are not silenced"),
    probes("probe_memory", "plan.modulus**m - 1.0", "plan.modulus**m - 2.0", "a full word is not silenced"),
    probes("probe_memory", "_SPARE = 3 ", "_SPARE = 2 ", "words are longer by a bit than sums have room for"),
    probes("probe_memory", "1 << i % bits)", "1 << i)", "a bit of a word is not that of its label"),
    probes("probe_memory", "plan.modulus**m <= _SUMMED", "plan.modulus**m <= _SUMMED**2",
           "words of float64 are too long for the proof in real arithmetic"),
    probes("probe_memory", "silence = float(-(-most // 4) + 1)", "silence = 1.0", "a probe takes other sums too"),
    probes("probe_memory", "np.full(outputs, -1.0)", "np.full(outputs, 1.0)", "what is never a label is not behind"),
    probes("probe_memory", "plan.segment * (numbers[:, -1:] % plan.segments", "plan.segment * (numbers[:, -1:] % 2",
           "the table is solved for other segments"),
    probes("one_hot_distributions", "= 2.0 * positions, -1.0", "= 2.0 * positions + 1.0, -1.0",
           "a head reads two positions"),
    probes("one_hot_distributions", "b_in=1.0 - 2.0", "b_in=3.0 - 2.0", "neurons of neighbours are on"),
    probes("one_hot_distributions", "2 * n_ctx * count * base**2 + 1 <= 1", "base <= 1", "sums of digits are too long"),
    probes("one_hot_distributions", "- logarithms[:, -1:]", "", "the last answer has another logit"),
    probes("sparse_sums", "<< i\n", "<< 0\n", "the lifting adds at the lowest bit"),
    probes("sparse_sums", "if degrees[cell] != 1:", "if False:", "an equation waits for a cell that it has no more"),
    probes("window_hash", "grown[stride:] += weights @ map_", "grown[stride:] += weights", "the maps are left out"),
    probes("exact_steps", "b_in[:2] = 1.5 - 2.0 * step.threshold, 0.5", "b_in[:2] = 1.0 - 2.0 * step.threshold, 0.0",
           "integers are at kinks"),
    probes("exact_steps", "read[pending, last.column] = -float(last.threshold)", "read[pending, last.column] = 0.0",
           "what a step found is not taken away"),
    packed("terms << (m * bits) <= 1 << precision", "terms << (m * bits) <= 64 << precision", "words are too long"),
    packed("top / 2.0 * signs.T", "top / 8.0 * signs.T", "words of other groups are not silenced"),
    packed("-gain * above, -gain * above, -above", "-gain * above, -gain * above, 0.0", "a bit is not taken away"),
    packed("-float(kinds**2) - 1.0", "float(kinds**2)", "what is never a label is not behind"),
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
