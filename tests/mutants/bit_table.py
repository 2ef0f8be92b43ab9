"""Mutants of the table of bits: contexts that are confused, rows or columns that are not silenced, long sums."""

from tests.mutants import Mutant


def table(original: str, mutated: str, why: str) -> Mutant:
    tests = "tests/constructions/probes/test_bit_table.py"
    return Mutant("constructions/probes/bit_table.py", original, mutated, tests, why)


MUTANTS = [
    table("if not _confused(_distinct(bits[:, rest])[1], labels):", "if True:", "bits that are needed are dropped"),
    table("1.0 - len(cells.rows)", "2.0 - len(cells.rows)", "a row whose bit differs is read"),
    table("np.repeat(top * columns.T", "np.repeat(0.5 * top * columns.T", "a column whose bit differs is read"),
    table("if 3 * digits * (base // 2) ** 2 <= 1 << precision)", "if base)", "logits need more bits than there are"),
    table("if (2 * own + 1) * max(1, base - 1) <= 1 << precision:", "if True:", "a column is silenced by a long sum"),
    table("_SHARP = 256.0", "_SHARP = 16.0", "other positions weigh something"),
    table(
        "b_U[answers] = 2.0 * (numbers - middle).T, -(", "b_U[answers] = 2.0 * (numbers - middle).T, (", "no parabola"
    ),
    Mutant(
        "verify/runs/exact_sums.py",
        "fit = (own <= self.most) & (sizes <= most)",
        "fit = own <= self.most",
        "tests/verify/runs/test_exact_sums.py",
        "what overflows is exact",
    ),
    Mutant(
        "verify/runs/exact_sums.py",
        "& (terms.total <= most)",
        "",
        "tests/verify/runs/test_exact_sums.py",
        "sums that overflow together are exact",
    ),
    Mutant(
        "constructions/models/precision.py",
        "found = np.rint(rounded(tensor, dtype) / least) * least",
        "found = rounded(tensor, dtype)",
        "tests/constructions/models/test_precision.py",
        "numbers keep bits that no run has to keep",
    ),
]
