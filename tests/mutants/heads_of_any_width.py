"""Mutants of what is beyond H heads: a hypothesis of a relation dropped, a product or an error not counted."""

from tests.mutants import Mutant, of

SEARCH = "tests/constructions/attention/capacity/test_forbidden_labelling.py"
HEADS = "tests/constructions/memories/heads/test_counting_heads.py"
TABLES = "tests/constructions/memories/heads/test_bit_table_heads.py"


judged = of("verify/theorems/capacity/sign_relation.py", "tests/verify/theorems/capacity/test_sign_relation.py")


def related(original: str, mutated: str, why: str) -> Mutant:
    room = "tests/verify/theorems/capacity"
    tests = f"tests/verify/ranks/test_linear_relations.py {room}/test_parity.py {SEARCH}"
    return Mutant("verify/ranks/linear_relations.py", original, mutated, tests, why)


counted = of("verify/theorems/capacity/parity.py", "tests/verify/theorems/capacity/test_parity.py")
searched = of("constructions/attention/capacity/forbidden_labelling.py", SEARCH)
built = of("constructions/memories/heads/counting_heads.py", HEADS)
found = of("constructions/memories/heads/bit_table_heads.py", TABLES)
sized = of("verify/theorems/capacity/layer_dimension.py", "tests/verify/theorems/capacity/test_layer_dimension.py")

MUTANTS = [
    judged("row[label] != 0 or min(row) < 0", "row[label] != 0", "negative multipliers"),
    judged("if some and all(", "if all(", "multipliers that are all 0"),
    judged("key = (context[-1], i, product)", "key = (0, i, product)", "two last tokens are mixed"),
    judged("key = (context[-1], i, product)", "key = (context[-1], 0, product)", "the labels are mixed"),
    judged("coefficients[label] = sum(row)", "coefficients[label] = max(row)", "of many multipliers one counts"),
    related("range(min(n_heads, len(pairs)) + 1)", "range(min(n_heads, len(pairs)))", "one head is forgotten"),
    related("combinations(pairs, factors)", "combinations(pairs[1:], factors)", "one position is forgotten"),
    counted("for k in (1, 2))", "for k in (2, 2))", "the larger half has as few errors as the smaller one"),
    counted("(bits - n_heads - k) // 2 + 1", "(bits - n_heads - k) // 2 + 2", "one more binomial"),
    counted("comb(bits - 1, i)", "comb(bits, i)", "a bit too many"),
    counted("arb(2) ** (1 - bits)", "arb(2) ** (2 - bits)", "a pair counts twice"),
    counted("-arb(q) * arb(q).log()", "arb(q) * arb(q).log()", "entropy with the wrong sign"),
    searched(
        "while len(rows) >= 2 ** (best.n_heads + 2)", "while len(rows) >= 2 ** (best.n_heads + 3)", "ends too early"
    ),
    searched("x = x - steps.min() * slope", "x = x + steps.min() * slope", "the walk leaves the solutions"),
    searched("(np.arange(len(x)) != steps.argmin())", "(np.arange(len(x)) != steps.argmax())", "another is dropped"),
    searched("if len(chosen) * len(tokens) > most", "if False", "no program is too large"),
    built("fmpq(2 * m + 1, 2) for m", "fmpq(2 * m + 3, 2) for m", "roots one level too far"),
    built("sign = 1 if labels[n] == 0 else -1", "sign = 1", "the labels are exchanged"),
    built("first = (bits - changes) // 2", "first = 0", "the right levels are the rarest"),
    found("rise / (weight * (fmpq(2) ** slope - 1))", "rise / (weight * fmpq(2) ** slope)", "values of other slopes"),
    found("left = constant - sum", "left = constant + sum", "the last position adds what it has to take away"),
    found("(2**shifted).sum(axis=2)", "(2**shifted).max(axis=2)", "other denominators"),
    sized("r, e = min(d_qk, d, N), min(d_head, d, N - 1)", "r, e = min(d_qk, N), min(d_head, N - 1)", "idle gauges"),
    sized("(H * H if e == N - 1 else H)", "H", "heads do not mix"),
    sized("if n_ctx == 2 and r == N and H <= N * N:", "if n_ctx == 2 and r == N:", "dependent tables"),
    sized("H * e * min(d, N - 1) - H", "H * e * min(d, N - 1) - 2 * H", "gauges count twice"),
    sized("(n_ctx - 1) * min(d, of_others)", "n_ctx * min(d, of_others)", "a position too many"),
    sized("by_input[:, :, -1] += W_U.T", "pass", "no skip connection in the Jacobian"),
    sized("    if d == 1:\n        by_pair", "    if False:\n        by_pair", "scores of numbers have no relation"),
    sized("bilinear)[:, None, None] % PRIME", "written)[:, None, None] % PRIME", "keys move as values do"),
]
