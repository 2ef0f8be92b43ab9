"""Mutants of rows with ellipsoids: each rounding, each remainder and each direction, dropped."""

from tests.mutants import Mutant, of

ROWS = "verify/forward/row_ellipsoids.py"
OF_ROWS = "tests/verify/forward/test_row_ellipsoids.py"
OF_RUNS = "tests/verify/runs/test_every_run.py"


def rows(original: str, mutated: str, why: str) -> Mutant:
    return Mutant(ROWS, original, mutated, f"{OF_ROWS} {OF_RUNS}", why)


STARTS = "tests/falsify/test_start_values.py"
started, balls = of(ROWS, STARTS), of("verify/forward/row_balls.py", STARTS)
KERNELS = "tests/falsify/test_real_kernels.py"
divided, divided_balls = of(ROWS, KERNELS), of("verify/forward/row_balls.py", KERNELS)
divided_boxes = of("verify/runs/boxes.py", KERNELS)
runs = of("verify/runs/every_run.py", OF_RUNS)
judged = of("verify/torch/run.py", OF_RUNS)

MUTANTS = [
    rows("* (nodes + 3.0 * sizes)", "* (3.0 * sizes)", "the nodes of a sum are exact"),
    rows("0.5 * (sizes + total) if", "0.25 * sizes if", "partial sums are half as large"),
    started("self._raised(rows.rest + row_norms(off))), sum", "self._raised(rows.rest)), sum", "W_O is added up first"),
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
    rows("/ least + curved", "/ least", "a normalization is linear"),
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
        "self._raised(rest), self._raised(entries + off))\n\n    def activated",
        "self._raised(rest), self._raised(entries))\n\n    def activated",
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
    rows("(x.rest / ball * (x.rest / total) + slack)", "(0.0 * ball + slack)", "a new ellipsoid forgets the rest"),
    rows(
        "shares = 1.0 / np.sqrt(sizes) / np.sqrt(total)[:, None]",
        "shares = 1.0 / total[:, None]",
        "blocks add up like one",
    ),
    rows(
        "np.where(known, 0.0, np.inf), np.arange(count), self._age",
        "np.zeros(count), np.arange(count), self._age",
        "what is not known is exact",
    ),
    rows("self.elsewhere.floor * row_norms(x.value)[:, None]", "0.0", "no weight is taken for 0"),
    rows("+ q_whole * k.whole\n", "\n", "scores are linear"),
    rows("asks * k.rest + q_rest * has", "asks * k.rest", "scores forget the rest of what asks"),
    rows("0.4 / c * off * off", "0.0 * off", "a cap of scores is linear"),
    rows("(second + rounded) * apart", "rounded * apart", "an exponential is linear"),
    rows("(second + rounded) * apart", "second * apart", "scores and exponentials are exact"),
    rows("+ first * whole + v.rest", "+ v.rest", "weights and values do not move together"),
    rows("+ first * whole + v.rest", "+ first * whole", "values have no rest"),
    rows("beyond + change * quotient +", "beyond +", "the sum of the weights is linear"),
    rows("np.where(doubt < 400.0, 2.0**-280, np.inf)", "2.0**-280", "a score below the lowest is known"),
    rows("own = own + np.where(itself, others, 0.0).sum(axis=1)", "own = own + 0.0", "the row that asks is not read"),
    rows(
        "rest = np.fmin(x.rest * norms.plain[0], by_head) + row_norms(off)",
        "rest = row_norms(off)",
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
    runs("            if not arithmetic.fits:\n                continue\n", "", "an overflow is passed over"),
    runs(
        "place[some], lead[some]", "place[start : start + step], lead[start : start + step]", "contexts change places"
    ),
    runs("proved = least > 0.0", "proved = least > -1e-3", "a tie has one place"),
    runs(".place == labels", ".place >= 0", "any one answer is the right one"),
    judged("left = np.flatnonzero(~proved)", "left = np.flatnonzero(proved)", "what is left open is not asked"),
]
