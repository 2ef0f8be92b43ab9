"""Mutants of the table of bits: contexts that are confused, rows or columns that are not silenced, long sums."""

from tests.mutants import of

bit_table = of("constructions/memories/probes/bit_table.py", "tests/constructions/memories/probes/test_bit_table.py")
in_runs = of("verify/runs/in_runs.py", "tests/verify/runs/test_in_runs.py")
precision = of("constructions/model/precision.py", "tests/constructions/model/test_precision.py")

MUTANTS = [
    bit_table("if not _confused(_distinct(bits[:, rest])[1], labels):", "if True:", "bits that are needed are dropped"),
    bit_table("1.0 - len(cells.rows)", "2.0 - len(cells.rows)", "a row whose bit differs is read"),
    bit_table("np.repeat(top * columns.T", "np.repeat(0.5 * top * columns.T", "a column whose bit differs is read"),
    bit_table(
        "if 3 * digits * (base // 2) ** 2 <= 1 << precision)", "if base)", "logits need more bits than there are"
    ),
    bit_table(
        "if (2 * column_bits + 1) * max(1, base - 1) <= 1 << precision:",
        "if True:",
        "a column is silenced by a long sum",
    ),
    bit_table("_SHARP = 256.0", "_SHARP = 16.0", "other positions weigh something"),
    bit_table(
        "b_U[answers] = 2.0 * (numbers - middle).T, -(", "b_U[answers] = 2.0 * (numbers - middle).T, (", "no parabola"
    ),
    in_runs(
        "fit = (own <= self.most) & (total[:, j] <= self.largest)", "fit = own <= self.most", "what overflows is exact"
    ),
    in_runs("& (terms.total <= self.largest)", "", "sums that overflow together are exact"),
    precision(
        "nearest = np.rint(rounded(tensor, dtype) / least) * least",
        "nearest = rounded(tensor, dtype)",
        "numbers keep bits that no run has to keep",
    ),
]
