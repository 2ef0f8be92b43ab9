"""Mutants of rows with ellipsoids: each rounding, each remainder and each direction, dropped."""

from tests.mutants import Mutant, of

ROWS = "verify/forward/rows/row_ellipsoids.py"
OF_ROWS = "tests/verify/forward/rows/test_row_ellipsoids.py"
OF_RUNS = "tests/verify/runs/test_every_run.py"


def rows(original: str, mutated: str, why: str) -> Mutant:
    return Mutant(ROWS, original, mutated, f"{OF_ROWS} {OF_RUNS}", why)


def ellipsoids(original: str, mutated: str, why: str) -> Mutant:
    tests = f"tests/verify/forward/rows/test_ellipsoids.py {OF_ROWS} {OF_RUNS}"
    return Mutant("verify/forward/rows/ellipsoids.py", original, mutated, tests, why)


STARTS = "tests/falsify/test_start_values.py"
started, balls = of(ROWS, STARTS), of("verify/forward/rows/row_balls.py", STARTS)
KERNELS = "tests/falsify/test_real_kernels.py"
divided, divided_balls = of(ROWS, KERNELS), of("verify/forward/rows/row_balls.py", KERNELS)
divided_boxes = of("verify/runs/boxes.py", KERNELS)
runs = of("verify/runs/every_run.py", OF_RUNS)
judged = of("verify/torch/run.py", OF_RUNS)

MUTANTS = [
    rows("* (nodes + 3.0 * sizes)", "* (3.0 * sizes)", "the nodes of a sum are exact"),
    rows("0.5 * (sizes + total) if", "0.25 * sizes if", "partial sums are half as large"),
    started("self._raised(rows.rest + off)), sum", "self._raised(rows.rest)), sum", "W_O is added up first"),
    started(
        "parts = rows.sum or self._one(rows), others.sum or", "parts = self._one(rows),", "no skip row starts a sum"
    ),
    balls(
        "whole, rounded = self._together(rows.sum or self._one(rows), others.sum or",
        "whole, rounded = self._together(self._one(rows),",
        "no skip row starts a sum, in balls",
    ),
    balls(
        "rounded = self.numbers.inner(both.terms) * both.sizes",
        "rounded = self.numbers.inner(2) * both.sizes",
        "what is joined is added once",
    ),
    divided("0.25 * length * largest", "largest", "an average is never a sum that is divided at its end"),
    divided_balls(
        "            return 0.0\n        self._require_small(0.25 * length * largest)",
        "            return 0.0\n        self._require_small(largest)",
        "an average is never a sum that is divided at its end, in balls",
    ),
    divided_balls(
        "value.size + value.radius\n        self._require_small(0.25 * length * largest)",
        "value.size + value.radius\n        self._require_small(largest)",
        "nor is that of heads that ask nothing",
    ),
    divided_boxes("0.25 * length * sizes[head]", "sizes[head]", "nor is one in a box"),
    rows("sizes + np.abs(b), terms + 1", "sizes, terms", "the shift is no term of the sum"),
    rows("rest = rows.rest * norms.plain[0] + row_norms(off)", "rest = row_norms(off)", "a map forgets the rest"),
    rows("rest = rows.rest[:, None] * norms.plain + row_norms(off)", "rest = row_norms(off)", "heads forget the rest"),
    rows("itself = 0.5 * turn * turn /", "itself = 0.0 * turn /", "a normalization is linear along the row"),
    rows("reach * turn * (pulled + 0.5 * turn * turn)", "0.0 * turn", "a normalization is linear across the row"),
    rows("frobenius_norms(along[:, :, None, None], rows.width)[:, 0] / least", "0.0 * turn", "no row is pulled"),
    rows("* (1.0 - pulled)) + root_off", "* (1.0 - pulled))", "the root of a normalization is exact"),
    rows("growth(unit, 5) * length", "0.0 * length", "what is behind a root is exact"),
    rows(
        "slipped = (rows.rest + centring", "slipped = (0.0 * rows.rest + centring", "a normalization forgets the rest"
    ),
    rows("linear - along[:, :, None] * y[:, None]", "linear", "a normalization does not divide by another root"),
    rows("& (turn < 0.25)", "& (turn < 1e9)", "a row near to 0 is normalized as if it were known"),
    rows("(linear - along", "(rows.linear - along", "a normalization does not centre what is moved"),
    rows("doubt * off + 0.5 * curved * off * off + units", "doubt * off + units", "an activation is linear"),
    rows("np.minimum(SLOPES[activation][1], tail)", "0.0 * tail", "an activation is linear far from 0"),
    rows("far * (2.0 + far) ** 4 * np.exp(-far)", "np.exp(-far)", "an activation is flatter than it is"),
    rows("entries = np.abs(slope) * (x.beyond() + fine[:, None])", "entries = 0.0 * slope", "neurons forget the rest"),
    rows("each = rows.rest[:, None] * row_norms(W.T) + off", "each = off", "the entries of a map forget the rest"),
    rows(
        "self._raised(rest), self._raised(entries + off))\n\n    def activate",
        "self._raised(rest), self._raised(entries))\n\n    def activate",
        "entries do not curve",
    ),
    rows("np.where(inside | outside, 0.0, 0.5 * off)", "np.zeros(off.shape)", "a kink has a slope"),
    rows("off = near * far + growth", "off = growth", "a product of entries is linear"),
    rows("rest = tall * others.rest + wide * rows.rest", "rest = tall * others.rest", "a product forgets a rest"),
    rows(
        "np.abs(a) * others.beyond() + np.abs(b) * rows.beyond()", "np.abs(a) * others.beyond()", "entries forget one"
    ),
    rows("rows.age == others.age >= 0 and", "", "rows of any age share symbols"),
    rows(" and np.array_equal(rows.own, others.own)", "", "rows share the symbols of others"),
    rows("[in_blocks_of(width, x.linear, x.width) for x in", "[x.linear for x in", "all blocks are equally wide"),
    rows("(x.linear, x.width), x.about()]", "(x.linear, x.width)]", "a new ellipsoid forgets the rest"),
    rows("linear, rest = every.generators()", "linear, rest = every.generators()[0], 0.0 * x.rest", "all is known"),
    rows("Ellipsoids.sums([others.ellipsoids, rounded])", "others.ellipsoids", "a sum rounds nothing"),
    rows(
        "Ellipsoids.sums([Ellipsoids.of_segments(rows.each, W), rounded])",
        "rounded",
        "a map forgets what is beyond its neurons",
    ),
    rows("Ellipsoids.sums([*of_heads, rounded])", "rounded", "W_O forgets what is beyond the heads"),
    rows("[rows.ellipsoids, rounded]", "[rows.ellipsoids]", "a shift is exact"),
    rows("np.fmin(lost, y.rest)", "np.zeros(len(lost))", "a row near to 0 is known behind a normalization"),
    rows("linear = np.concatenate([linear, of_gaps], axis=1)", "pass", "heads forget the errors of their weights"),
    ellipsoids(
        "shares = 1.0 / np.sqrt(sizes) / np.sqrt(total)[:, None]",
        "shares = 1.0 / total[:, None]",
        "blocks add up like one",
    ),
    ellipsoids("np.sqrt(sizes / total[..., None])", "sizes / total[..., None]", "segments add up like one"),
    ellipsoids("np.where(known, 0.0, np.inf)", "np.zeros(known.shape)", "what is not known is exact"),
    ellipsoids("return gram + max(2.0**-36, ", "return gram + 0.0 * max(2.0**-36, ", "Gram matrices are exact"),
    ellipsoids("(gram, gram)", "(gram, gram) / 4.0", "a fourth power is smaller"),
    ellipsoids("+ 2.0**-36) ** 0.25", ") ** 0.5", "a square root is a fourth one"),
    ellipsoids("(row_norms(W.reshape(-1)) + _LEAST)", "row_norms(W.reshape(-1)) / 2.0", "images are half as large"),
    rows("self.elsewhere.floor * row_norms(x.value)[:, None]", "0.0", "no weight is taken for 0"),
    rows("+ q_whole * k.whole\n", "\n", "scores are linear"),
    rows("asks * k.rest + q_rest * has", "asks * k.rest", "scores forget the rest of what asks"),
    rows(
        "np.where(doubt < 400.0, 2", "np.where(known + rounded < 400.0, 2", "only its own score makes a row weigh more"
    ),
    rows("_averaged(shares, known) * largest", "0.0", "what moves all scores alike is exact"),
    rows("0.4 / c * off * off", "0.0 * off", "a cap of scores is linear"),
    rows("(second + rounded + first * quotient", "(rounded + first * quotient", "an exponential is linear"),
    rows("(second + rounded + first * quotient", "(second + first * quotient", "scores and exponentials are exact"),
    rows("first * whole + v.rest + (1.0", "v.rest + (1.0", "weights and values do not move together"),
    rows("first * whole + v.rest + (1.0", "first * whole + (1.0", "values have no rest"),
    rows("missing / np.where(linear_holds", "0.0 / np.where(linear_holds", "the sum of the weights is linear"),
    rows("_averaged(shares, second + rounded + _FINE * known)", "_averaged(shares, rounded)", "weights add up to 1"),
    rows("shares)[..., None]\n    keys", "shares)[..., None] * 1.5\n    keys", "scores lose more than their average"),
    rows("- 2.0 * shares) * keys + (shares", "- 2.0 * shares) * keys + 0.0 * (shares", "keys move one score each"),
    rows("np.where(doubt < 400.0, 2.0**-280, np.inf)", "2.0**-280", "a score below the lowest is known"),
    rows("own = own + np.where(itself, others, 0.0).sum(axis=1)", "own = own + 0.0", "the row that asks is not read"),
    rows(
        "self._raised(np.fmin(x.rest * norms.plain[0], by_head) + rounded)",
        "self._raised(rounded)",
        "W_O forgets rests",
    ),
    rows("apart[part] += off[part] +", "apart[part] +=", "the other output does not round"),
    rows("- W).transpose(0, 2, 1))", "+ 0.0 * W).transpose(0, 2, 1))", "a difference has the rest of one output"),
    rows(
        "heads.rest + self.balls.turn_rounding() * sizes",
        "self.balls.turn_rounding() * sizes",
        "a turn forgets the rest",
    ),
    runs(") * (1.0 - 2.0**-40) - apart", ") * (1.0 - 2.0**-40) - 0.0 * apart", "every run is that of float64"),
    runs("(least > 0.0) & arithmetic.fits", "least > 0.0", "an overflow is passed over"),
    runs(
        "place[some], lead[some]", "place[start : start + step], lead[start : start + step]", "contexts change places"
    ),
    runs("proved = (least > 0.0)", "proved = (least > -1e-3)", "a tie has one place"),
    runs(".place == labels", ".place >= 0", "any one answer is the right one"),
    judged("left = np.flatnonzero(~proved)", "left = np.flatnonzero(proved)", "what is left open is not asked"),
]
