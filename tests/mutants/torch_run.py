"""Mutants of the bound on rounding, the run in torch, and the page: each would let something false pass."""

from tests.mutants import of

module = of("verify/torch/module.py", "tests/verify/torch/test_module.py")
format_rows = of(
    "verify/runs/format_rows.py", "tests/verify/runs/test_format_rows.py tests/verify/runs/test_rounding.py"
)
row_balls = of("verify/forward/rows/row_balls.py", "tests/verify/runs/test_rounding.py")
computed = of("verify/divergence/computed.py", "tests/verify/divergence/test_computed.py")
run = of("verify/torch/run.py", "tests/verify/torch/test_run.py")
computed_by_run = of("verify/divergence/computed.py", "tests/verify/torch/test_run.py")
device = of("verify/torch/device.py", "tests/verify/torch/test_device.py")
decimals = of("verify/arithmetic/decimals.py", "tests/verify/arithmetic/test_decimals.py")
chart = of("byheart/report/chart.py", "tests/byheart/report/test_chart.py")
document = of("byheart/report/document.py", "tests/byheart/report/test_document.py")
compiled = of("verify/torch/compiled.py", "tests/verify/torch/test_compiled.py")
record = of("byheart/device_runs/record.py", "tests/byheart/device_runs/test_record.py")
page = of("byheart/report/page.py", "tests/byheart/report/test_page.py")
audit = of("verify/theorems/audit.py", "tests/verify/theorems/test_audit.py")
audit_page = of("byheart/theorems/audit_page.py", "tests/byheart/theorems/test_audit_page.py")

MUTANTS = [
    # Idle heads.
    module(
        'tensors["pos_embed.W_pos"][pairs % length]',
        'tensors["pos_embed.W_pos"][-1 - pairs % length]',
        "positions are counted from the end",
    ),
    module(
        "last, query_of = torch.unique(where[:, -1], return_inverse=True)",
        "last, query_of = torch.unique(where[:, 0], return_inverse=True)",
        "the first position asks",
    ),
    module(
        "(where[:, None] * heads + torch.arange(heads, device=where.device)[:, None])",
        "(where[:, None] * heads + 0 * torch.arange(heads, device=where.device)[:, None])",
        "all heads read the values of the first",
    ),
    module("y = rows[where[:, -1]] + y", "y = y", "no skip connection"),
    module(
        "alike = not torch.is_grad_enabled() and all(",
        "alike = all(",
        "gradients reach the values of the first head alone",
    ),
    module(
        "all(bool((own[name] == own[name][:1]).all()) for name in maps)",
        "all(bool((own[name] == own[name][:1]).all()) for name in maps[:1])",
        "the shifts of the values are those of the first head",
    ),
    module(
        "alike = not torch.is_grad_enabled() and all(",
        "alike = not torch.is_grad_enabled() and any(",
        "heads of which one map is the same have the same values",
    ),
    module("y[torch.argsort(order)]", "y[order]", "contexts are not put back in their order"),
    module(
        "asked[:, None] * distinct + where, table",
        "asked[:, None] * length + where, table",
        "scores of another query are looked up",
    ),
    module(
        "query, asked = query[:, lowest : highest + 1], asked - lowest",
        "query, asked = query[:, lowest : highest + 1], asked - asked[0]",
        "the first query of a part is taken for the lowest",
    ),
    module("if torch.equal(where, in_order):", "if True:", "contexts are taken for the rows as they lie"),
    module(
        "return x[:, first : first + where.numel()].unflatten",
        "return x[:, : where.numel()].unflatten",
        "every part reads the first contexts",
    ),
    module(
        "torch.exp(scores - scores.amax(dim=dim, keepdim=True))", "torch.exp(scores)", "the maximum is not subtracted"
    ),
    module(
        "        with full_precision(), torch.autocast(inputs.device.type, enabled=False):",
        "        with full_precision():",
        "autocasting changes the type",
    ),
    module(
        "        torch.set_float32_matmul_precision(older)\n", "        pass\n", "a setting of torch is left changed"
    ),
    module(
        "            backend.fp32_precision = precision\n", "            pass\n", "a setting of torch is left changed"
    ),
    module('    torch.set_float32_matmul_precision("highest")\n', "", "the older setting of torch is left as it is"),
    module("if lowest < 0 or highest", "if highest", "negative tokens count from the end"),
    module(
        '    if option["attends"] == "causal":\n        later',
        "    if False:\n        later",
        "later positions are read",
    ),
    module('+ float.fromhex(option["epsilon"])', "", "a normalization forgets epsilon"),
    format_rows(
        "return growth(self.unit, terms + 1)",
        "return growth(2.0**-53, terms + 1)",
        "products in the format round as those of float64",
    ),
    format_rows("conversion=growth(self.unit, 1)", "conversion=0.0", "vectors are converted without error"),
    format_rows("largest=number_format.largest / 8.0", "largest=1e300", "nothing overflows a format"),
    format_rows("square=16.0 * smallest", "square=0.0", "squares never underflow"),
    format_rows("floor=2.0**22 * smallest / u + 2.0**-400", "floor=2.0**-400", "nothing underflows in a format"),
    format_rows("self.unit = u + UNIT", "self.unit = u / 64.0", "a format rounds less than it does"),
    row_balls(
        "            slipped = self._raised(np.minimum(slipped + relative * most, furthest))\n",
        "            slipped = np.zeros(size.shape)\n",
        "a normalization elsewhere rounds nothing",
    ),
    row_balls(
        "            radius = radius + self.mean_rounding(length, largest)\n",
        "            radius = radius\n",
        "averages elsewhere round nothing",
    ),
    computed(" > 0.0) & np.isfinite(logits).all(axis=1)", " > 0.0)", "a context with an infinite logit is right"),
    run(
        "np.all(up(errors[judged]) <= down(limits[judged]))",
        "np.all(up(errors[judged]) <= 2.0 * down(limits[judged]))",
        "twice the bound is within the bound",
    ),
    run(
        "limits = radius + self.rounding[start:stop, np.newaxis]",
        "limits = self.rounding[start:stop, np.newaxis] + 0.0 * radius",
        "the certified radius is forgotten",
    ),
    run(
        "limits = radius + self.rounding[start:stop, np.newaxis]",
        "limits = radius + 0.0 * self.rounding[start:stop, np.newaxis]",
        "the rounding bound is forgotten",
    ),
    run("self.violated |= not", "self.violated = not", "only the last batch is judged"),
    run(
        "        if self.violated:\n            within = False\n",
        "        if self.violated and (largest is None or math.isfinite(largest)):\n            within = False\n",
        "an infinite limit hides a violation",
    ),
    run("        elif math.isfinite(largest):", "        elif True:", "an infinite limit is kept by anything"),
    run(
        "errors = np.where(np.isfinite(outputs), np.abs(outputs - midpoint), math.inf)",
        "errors = np.nan_to_num(np.abs(outputs - midpoint), nan=0.0, posinf=0.0)",
        "a NaN is no error",
    ),
    computed_by_run(
        "result = np.full(len(logits), math.inf)", "result = np.zeros(len(logits))", "a NaN has divergence 0"
    ),
    computed_by_run(
        "distributions = distributions / distributions.sum(axis=1, keepdims=True)",
        "distributions = distributions * 1.0",
        "distributions are not normalized",
    ),
    computed_by_run(
        "return np.where(np.abs(x) < 0.01, series, np.expm1(x) - x)",
        "return np.expm1(x) - x",
        "a tiny divergence is lost to cancellation",
    ),
    computed_by_run(
        "return np.where(np.abs(gap).max(axis=1) < 1.0, small, large)",
        "return large",
        "a tiny divergence is lost to cancellation",
    ),
    computed_by_run("others[places, labels] = -np.inf", "pass", "the label is counted among the others"),
    run("        if start != expected or", "        if", "chunks may come in any order"),
    run("    if expected != count:", "    if expected > count:", "contexts may be left out"),
    run("            require_arithmetic(device, JUDGED[dtype])\n", "", "a judged device is not probed"),
    computed_by_run(
        "gap -= (distributions * gap).sum(axis=1, keepdims=True)",
        "gap -= gap.mean(axis=1, keepdims=True)",
        "the mean is not the one under the distribution",
    ),
    device('and override != "0"', 'and override == "on"', "products in TF32 are taken for those of float32"),
    device(
        'torch.backends.cuda.matmul.fp32_precision = "tf32"',
        'torch.backends.cuda.matmul.fp32_precision = "ieee"',
        "TF32 is never switched on where it is to be refused",
    ),
    run(
        "        self.replica = replica\n",
        "        self.replica = Replica.from_model(model)\n",
        "the wrong module is run",
    ),
    compiled(
        '"fail_on_recompile_limit_hit": True',
        '"fail_on_recompile_limit_hit": False',
        "what is not compiled is said to be",
    ),
    record("if not all(row[", "if any(row[", "runs outside of what is proved are no answer"),
    record("result.right[result.proved].all()", "result.proved.any()", "a lost fact that every run holds is not seen"),
    record("and self.finished and", "and", "a record that was interrupted is a yes"),
    device("(rows @ columns, in_batch, bag_sums", "(rows @ columns, bag_sums", "products in batches are not probed"),
    device(
        "right[np.ix_(large, np.arange(_OUTER) % 2 == 0)] = 0.0", "pass", "emulation in fixed point passes the probe"
    ),
    device("    left[: _OUTER // 2][~kept] = 0.0\n", "", "16 significant bits pass the probe"),
    device("(inverse - n) <= n * int(size)", "(inverse - n) <= 2 * n * int(size)", "twice the bound passes the probe"),
    device(
        "arb(2.0 * number_format.unit_roundoff * ulps)",
        "arb(4.0 * number_format.unit_roundoff * ulps)",
        "twice the assumed error of a function passes the probe",
    ),
    decimals(
        '{"upper": ROUND_CEILING, "lower": ROUND_FLOOR}',
        '{"upper": ROUND_FLOOR, "lower": ROUND_CEILING}',
        "upper bounds are rounded down",
    ),
    chart("low, high = min(low, 0.0),", "low, high = low,", "a linear axis does not begin at zero"),
    document("return html.escape(", "return str(", "texts are not escaped"),
    page(
        'shown = badge(verdict) if verdict else ""',
        'shown = badge("PROVED", verdict) if verdict else ""',
        "every verdict looks proved",
    ),
    document('get(verdict, "undecided")', 'get(verdict, "proved")', "an unknown verdict looks proved"),
    audit_page(
        "audit_outcome(summaries, asked)", "audit_outcome(summaries, [])", "an interrupted audit looks confirmed"
    ),
    audit_page('if summary["proved_again"]:', "if True:", "every claim looks confirmed"),
    audit_page('if summary["confirmed"] is None', "if False", "a claim without a verdict looks confirmed"),
    audit("len(summaries) < len(asked)", "False", "an interrupted audit is confirmed"),
    audit("elif not verdicts:", "elif False:", "what nobody judged is confirmed"),
    audit(
        'not all(summary["proved_again"] for summary in summaries)', "False", "what is said beside a claim is believed"
    ),
    audit("bool(NEEDED[judgement] & DECIDING)", "bool(NEEDED[judgement])", "an open question is a verdict"),
    audit_page("{badge(piece['verdict'])} ", "{badge('PROVED')} ", "every piece of evidence looks proved"),
    audit_page(
        'data[:_LONGEST_DATA]} … cut; --json has all"', 'data[:_LONGEST_DATA]}"', "an instance is cut without a word"
    ),
    page(
        "f\"≤ {number(float(value), digits=digits, bound='upper')}\"",
        'f"≤ {number(float(value), digits=digits)}"',
        "an upper bound is rounded to nearest",
    ),
    page("math.floor(10000.0", "round(10000.0", "nearly all is shown as all"),
    page("if 0.0 < probability < 5e-5:", "if False:", "a small probability is shown as none"),
    page('    if run.within_bound is None:\n        return "not judged"\n', "", "what was not judged failed"),
    page(
        "distribution = None if task.distributions is None else "
        "task.distributions[row] / task.distributions[row].sum()",
        "distribution = None if task.distributions is None else task.distributions[0] / task.distributions[0].sum()",
        "every context is shown the distribution of the first",
    ),
    page("if character.isprintable():", "if True:", "control characters are written as they are"),
    run(
        "surely_memorized(Enclosure(midpoint, up(limits))",
        "surely_memorized(Enclosure(midpoint, 0.0 * limits)",
        "what runs is exact",
    ),
    run(
        "proved = np.concatenate(self.proved) if judged else None",
        "proved = np.concatenate(self.proved)",
        "no bound proves that none is memorized",
    ),
    run("bool((proved & ~right).any())", "bool((proved & right).all())", "a run that breaks every hypothesis passes"),
    run(
        "proved = self.without_rounding[rows].copy()",
        "proved = np.zeros(stop - start, dtype=bool)",
        "runs without rounding prove nothing",
    ),
]
