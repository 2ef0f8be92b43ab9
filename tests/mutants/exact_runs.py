"""Mutants of the judges of runs without rounding: each claims what some run, or real arithmetic, does not keep."""

from tests.mutants import Mutant, of

TESTS = "tests/verify/runs/test_in_runs.py tests/verify/runs/test_in_reals.py tests/verify/runs/test_integer_rows.py"


runs = of("verify/runs/exact_runs.py", "tests/verify/runs/test_exact_runs.py tests/verify/torch/test_run.py")
terms = of("verify/runs/terms.py", "tests/verify/runs/test_terms.py " + TESTS)
in_runs = of("verify/runs/in_runs.py", TESTS)
in_reals = of("verify/runs/in_reals.py", TESTS)
rows = of("verify/runs/integer_rows.py", TESTS)


def boxes(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("verify/runs/boxes.py", original, mutated, "tests/verify/runs/test_boxes.py " + TESTS, why)


device = of("verify/torch/device.py", "tests/verify/torch/test_device.py")

MUTANTS = [
    device(
        "is_exact[name] = is_exact.get(name, True) and bool(",
        "is_exact[name] = bool(True or ",
        "every device rounds nothing",
    ),
    device("powers[0] == 1.0 and", "powers[0] <= 1.0 and", "exp(0) may be less than 1"),
    device("(weights == 1.0 / count).sum() == count and", "", "equal scores may have any weights"),
    runs("task.modes(rows)) > 0.0", "task.modes(rows)) > -1.0", "what may lose is proved to win"),
    runs("values[rows])) + reachable.radius)", "values[rows])))", "values that may be missed are proved to be met"),
    runs(
        "        memorized &= (quadratic", "        _ = (quadratic", "the divergence of distributions is not looked at"
    ),
    runs(
        "quadratic_divergence_bound(reachable, distributions)",
        "quadratic_divergence_bound(Enclosure(reachable.midpoint), distributions)",
        "the divergence is that of the midpoints",
    ),
    runs(
        "divergence_within(reachable, distributions)",
        "divergence_within(Enclosure(reachable.midpoint), distributions)",
        "what rounding adds to the divergence is forgotten",
    ),
    rows("np.bincount(cells[:, asks].ravel()", "np.bincount(cells[:, asks[:1]].ravel()", "one query stands for all"),
    in_runs(
        "if ((query.size() == 0.0) | (key.size() == 0.0)).all():",
        "if ((query.value == 0.0).all(axis=0) | (key.size() == 0.0)).all():",
        "scores that may not be 0 in some run are 0",
    ),
    in_runs(
        "if ((query.size() == 0.0) | (key.size() == 0.0)).all():",
        "if not ((query.size() > 0.0) & (key.size() > 0.0)).any():",
        "scores of which nothing is known are 0",
    ),
    in_runs("_is_fourth_power_of_two(score_root) and terms.doubt", "terms.doubt", "a division rounds nothing"),
    in_runs("root) and terms.doubt == 0.0 and", "root) and", "scores of what is not known are exact"),
    in_runs("_in_range(terms.unit / root", "_in_range(terms.unit", "a factor that is divided is never flushed"),
    in_runs("self.smallest * (terms.factors + 1.0)", "self.smallest", "a factor that is flushed is lost sight of"),
    in_runs(
        "exact = good & self._absorbs(unit, drift, count)",
        "exact = good",
        "distances are absorbed whatever they are",
    ),
    in_runs("(sizes + np.abs(value)) / (2.0 * unit)", "np.abs(value) / unit", "only the whole sum has to fit"),
    in_runs("(sizes + np.abs(value)) / (2.0 * unit)", "sizes / (2.0 * unit)", "half of all terms has to fit"),
    in_runs("exact[:, j] = fit &", "exact[:, j] = True |", "a row that needs too many bits is exact"),
    in_runs("two = np.maximum(terms.factors, ", "two = (", "two products have to fit in their difference alone"),
    in_runs(
        "count = self.terms.count + np.count_nonzero(self.matrix[_is_dust(self.x)], axis=0)",
        "count = self.terms.count + 0",
        "dust adds up exactly",
    ),
    in_runs("else count + _is_dust(self.skip)", "else count", "a skip row of dust is added exactly"),
    in_runs("terms.count <= 2) & (need", "terms.count <= 3) & (need", "three terms are judged by their sum"),
    in_runs(
        "is_two = (terms != 0.0).sum(axis=1) <= 2",
        "is_two = np.ones(len(terms), dtype=bool)",
        "many terms are judged by their sum",
    ),
    in_runs(
        "np.maximum(products.max(axis=1, initial=0.0), np.abs(value) / unit)",
        "np.abs(value) / unit",
        "products need not fit",
    ),
    terms(
        "total = top @ np.abs(matrix)", "total = 0.0 * (top @ np.abs(matrix))", "the sizes of products are not added"
    ),
    terms("for more in (shift, skip):", "for more in (shift,):", "the skip row is no term"),
    in_runs(
        "sums.value[rows, j] + (rounded + 2.0 * away + underflown) <= 0.0",
        "sums.value[rows, j] <= 0.0",
        "any negative sum is silent",
    ),
    in_runs("exact &= need <= self.most\n            self._note(need)", "self._note(need)", "any average is exact"),
    in_runs(
        "unit = units(x.value) / count", "unit = units(x.value) * count", "an average is a multiple of what is averaged"
    ),
    in_runs(
        "(furthest(x, reads) + dust) *", "(furthest(x, reads) + 0.0 * dust) *", "rows below the top one weigh nothing"
    ),
    in_runs("lead = (gap - 2.0 * error) * (1.0 - 4.0 * self.unit) >= GAP", "lead = gap > 0.0", "any top score is hard"),
    in_runs("(exact & is_power_of_two)", "exact", "a third is exact"),
    in_runs(
        "inside &= (size <= self.largest)",
        "inside |= (size <= self.largest)",
        "any weight is in the format",
    ),
    in_runs("fits = self._fits(sums.matrix) &", "fits =", "weights are rounded by nobody"),
    in_reals(
        "np.where(whole, 0.0, 2.0 * UNIT", "np.where(whole, 0.0, 0.0 * UNIT", "averages of real numbers are exact"
    ),
    in_reals("kink = ~(np.abs(before) > away)", "kink = np.zeros_like(before, dtype=bool)", "distances pass no kink"),
    in_reals("fires, size = before > away", "fires, size = before > np.inf", "distances pass no neuron that fires"),
    in_reals("slope[0, layer.skip == i] = 1.0", "slope[0, layer.skip == i] = 0.0", "distances pass no skip connection"),
    in_reals(
        "off = off + x_off[:, i : i + 1] * self", "off = off + 0.0 * self", "distances pass no neurons row by row"
    ),
    in_reals("off += x_off[0, i] * self", "off += 0.0 * self", "distances pass no neurons"),
    in_reals(
        "self._slope(i, patterns, layer, own).max(axis=0)", "self._slope(i, patterns, layer, own).min(axis=0)", "least"
    ),
    in_reals(
        "if (on := kink.any(axis=1)).any():", "if (on := kink.any(axis=1)).all() and False:", "no kink is common to all"
    ),
    in_runs(
        "& (need <= self.most)).all():\n            return None", ").all():\n            return None", "groups fit"
    ),
    in_runs("if hidden.off.any():\n                return None", "pass", "groups are exact whatever they read"),
    in_runs("and np.isfinite(x.off).all():  #", "and True:  #", "infinity times 0 is passed over by a skip connection"),
    rows(" and not self._is_whole(step.place)\n        if apart", "\n        if apart", "groups pass over an overflow"),
    in_runs("return drift + 2.0 * self.smallest", "return drift + 0.0 * self.smallest", "weights are never flushed"),
    in_reals("& (terms.unit >= FLOOR)\n", "\n", "no product underflows"),
    boxes("np.where(np.isnan(sizes), np.inf, sizes)", "sizes", "what is no number is small"),
    boxes("np.expm1(count * self.unit / (1.0 - self.unit))", "0.0", "sums are not rounded"),
    boxes("return 2.0 * self.least * (size", "return 0.0 * self.least * (size", "no weight is flushed in a box"),
    boxes("return np.where(exact, 0.0, rounded)", "return np.where(exact | (total == 0), 0.0, rounded)", "none vanish"),
    rows("distinct(self.which, kinds[self.contexts])", "distinct(self.which, 0 * self.which)", "labels are all alike"),
    rows("alike = bool((places == places[:1]).all())", "alike = True", "all positions are alike"),
    in_reals(
        "tail = 0.0 if (count == length).all()", "tail = 0.0 if (count <= length).all()", "real heads read one row"
    ),
    in_reals("tail = 0.0 if (count == length).all()", "tail = 0.0 if (count == length).any()", "one context is all"),
    in_runs("return 0.0 if (count == length).all()", "return 0.0 if (count == length).any()", "one run speaks for all"),
    in_reals("moved += 5.0 * error", "moved += 0.0 * error", "scores that differ weigh the same"),
    rows(
        "if not why and boxes is not None and boxes.first_overflow <= _last_attention(model):",
        "if False:",
        "overflows are not looked for",
    ),
    rows('why = next((f"{name} overflows" for name in large), "")', "pass", "weights may overflow"),
    rows("result = Rows(result.value, result.off + unknown[:, None])", "pass", "an undecided head is passed over"),
    rows(
        "gaps.append(top[..., 0] - np.where(read, -np.inf, scores).max(axis=2))",
        "gaps.append(top[..., 0] + 1e3)",
        "gaps are not measured",
    ),
    rows(
        "        if extra := _beyond(block, _BLOCK):",
        '        if extra := "":',
        "options that nobody knows are passed over",
    ),
    rows(
        "np.where(known, logits.off, np.inf)",
        "np.where(known, logits.off, 0.0)",
        "nothing known is all known",
    ),
    rows("scores = np.where(allowed, scores, -np.inf)", "pass", "a causal head reads what comes later"),
    boxes(
        "return self._wider(ends, error, unit)\n\n    def attention",
        "return self._wider(ends, 0.0 * error, unit)\n\n    def attention",
        "rounding leaves the box",
    ),
    boxes(
        "ends = ends[0] + part[0], ends[1] + part[1]\n        # What",
        "pass\n        # What",
        "neurons of their own direction are forgotten",
    ),
]
