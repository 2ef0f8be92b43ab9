"""Mutants of sums modulo M, of distributions of low rank, and of the bound within a distance."""

from tests.mutants import Mutant, of


def memory(file: str, original: str, mutated: str, why: str) -> Mutant:
    room = "memories/affine" if file.startswith("affine") else "memories"
    tests = f"tests/constructions/{room}/test_{file}.py"
    if file == "affine_rule":
        tests += f" tests/constructions/{room}/test_affine_memory.py"
    return Mutant(f"constructions/{room}/{file}.py", original, mutated, tests, why)


divergence = of("verify/divergence/kullback_leibler.py", "tests/verify/divergence/test_kullback_leibler.py")

MUTANTS = [
    memory("affine_rule", "if form[size - 1][size - 1] != modulus:", "if False:", "equations without a solution"),
    memory("affine_rule", "% modulus // int(form[i][i])", "% modulus", "a divisor of M is not divided by"),
    memory("affine_rule", "np.where(pure, order, 0).argmax()", "order.argmax()", "the summands meet"),
    memory("affine_rule", "absorbs &= answers == zero", "pass", "tokens absorb into another answer"),
    memory("affine_memory", "np.array([1.0, 0.0]) - (lowest + take)", "np.array([2.0, 1.0]) - (lowest + take)",
           "a step takes one too early"),
    memory("affine_memory", "height += apart * slope", "height += apart",
           "what offsets add is forgotten"),
    memory("affine_memory", "constant = rule.answers[task.labels[one]] * times - sums[one]", "constant = 0",
           "the rule's constant is left out"),
    memory("affine_memory", "wanted[exceptions, 0] -= 1 + np.arange(len(exceptions))", "wanted[exceptions, 0] -= 1",
           "two answers that no sum is share a number"),
    memory("affine_memory", "wanted[rule.zero], aimed[rule.zero] = lowest + moduli, lowest + cap",
           "wanted[rule.zero], aimed[rule.zero] = lowest + moduli, lowest + moduli",
           "the steps take what an exception to 0 was aimed at"),
    memory("affine_memory", "neurons.append((0, 1.0, 1.0 - apart * high, width + g, 1.0))",
           "neurons.append((0, 1.0, -float(apart * high), width + g, 1.0))", "a head reads one position too many"),
    memory("affine_memory", "4.0 * x.T, -2.0", "4.0 * x.T, -1.0", "exceptions are on elsewhere"),
    memory("low_rank_distributions", "importance *= np.sqrt", "importance += 0.0 * np.sqrt",
           "the worst distributions count no more"),
    memory("low_rank_distributions", "off * np.sqrt(2.0 * divergence) + off * off / 2.0", "-divergence / 2.0",
           "half of the divergence is taken for all"),
    divergence("off * np.sqrt(2.0 * least) + 0.5 * off * off", "off * np.sqrt(least)", "Pinsker without its factor"),
    divergence("np.isfinite(off + least)", "np.isfinite(off)", "no distance from nothing is not a number"),
]  # fmt: skip
