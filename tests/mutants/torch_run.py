"""Mutants of the bound on rounding, the run in torch, and the page: each would let something false pass."""

from tests.mutants import Mutant


def rounding(original: str, mutated: str, why: str) -> Mutant:
    tests = "tests/verify/replica/test_rounding.py tests/verify/replica/test_rounding.py"
    return Mutant("verify/replica/single_attention.py", original, mutated, tests, why)


def elsewhere(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("verify/forward/row_balls.py", original, mutated, "tests/verify/replica/test_rounding.py", why)


def in_format(original: str, mutated: str, why: str) -> Mutant:
    tests = "tests/verify/replica/test_format_rows.py tests/verify/replica/test_rounding.py"
    return Mutant("verify/replica/format_rows.py", original, mutated, tests, why)


def replica(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("verify/replica/module.py", original, mutated, "tests/verify/replica/test_module.py", why)


def run(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("verify/replica/run.py", original, mutated, "tests/verify/replica/test_run.py", why)


def computed(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("verify/divergence/computed.py", original, mutated, "tests/verify/replica/test_run.py", why)


def device(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("verify/replica/device.py", original, mutated, "tests/verify/replica/test_device.py", why)


def chart(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("byheart/report/chart.py", original, mutated, "tests/byheart/report/test_chart.py", why)


def document(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("byheart/report/document.py", original, mutated, "tests/byheart/report/test_document.py", why)


def report(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("byheart/report/page.py", original, mutated, "tests/byheart/report/test_page.py", why)


def audit_page(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("byheart/report/audit_page.py", original, mutated, "tests/byheart/report/test_audit_page.py", why)


MUTANTS = [
    # Idle heads.
    replica(
        'tensors["pos_embed.W_pos"][pairs % length]',
        'tensors["pos_embed.W_pos"][-1 - pairs % length]',
        "positions are counted from the end",
    ),
    replica(
        "last, asked = torch.unique(where[:, -1], return_inverse=True)",
        "last, asked = torch.unique(where[:, 0], return_inverse=True)",
        "the first position asks",
    ),
    replica(
        "(where[:, None] * heads + torch.arange(heads, device=where.device)[:, None])",
        "(where[:, None] * heads + 0 * torch.arange(heads, device=where.device)[:, None])",
        "all heads read the values of the first",
    ),
    replica(
        "y = rows[where[:, -1]] + y",
        "y = y",
        "no skip connection",
    ),
    replica(
        "alike = not torch.is_grad_enabled() and all(",
        "alike = all(",
        "gradients reach the values of the first head alone",
    ),
    replica(
        "all(bool((own[name] == own[name][:1]).all()) for name in maps)",
        "all(bool((own[name] == own[name][:1]).all()) for name in maps[:1])",
        "the shifts of the values are those of the first head",
    ),
    replica(
        "alike = not torch.is_grad_enabled() and all(",
        "alike = not torch.is_grad_enabled() and any(",
        "heads of which one map is the same have the same values",
    ),
    replica(
        "y[torch.argsort(order)]",
        "y[order]",
        "contexts are not put back in their order",
    ),
    replica(
        "asked[:, None] * distinct + where, table",
        "asked[:, None] * length + where, table",
        "scores of another query are looked up",
    ),
    replica(
        "query, asked = query[:, lowest : highest + 1], asked - lowest",
        "query, asked = query[:, lowest : highest + 1], asked - asked[0]",
        "the first query of a part is taken for the lowest",
    ),
    replica(
        "if torch.equal(where, in_order):",
        "if True:",
        "contexts are taken for the rows as they lie",
    ),
    replica(
        "return x[:, first : first + where.numel()].unflatten",
        "return x[:, : where.numel()].unflatten",
        "every part reads the first contexts",
    ),
    replica(
        "torch.exp(scores - scores.amax(dim=dim, keepdim=True))",
        "torch.exp(scores)",
        "the maximum is not subtracted",
    ),
    replica(
        "        with full_precision(), torch.autocast(inputs.device.type, enabled=False):",
        "        with full_precision():",
        "autocasting changes the type",
    ),
    replica(
        "        torch.set_float32_matmul_precision(older)\n",
        "        pass\n",
        "a setting of torch is left changed",
    ),
    replica(
        "            backend.fp32_precision = precision\n",
        "            pass\n",
        "a setting of torch is left changed",
    ),
    replica(
        '    torch.set_float32_matmul_precision("highest")\n',
        "",
        "the older setting of torch is left as it is",
    ),
    replica(
        "if lowest < 0 or highest",
        "if highest",
        "negative tokens count from the end",
    ),
    replica(
        '    if option["attends"] == "causal":\n        later',
        "    if False:\n        later",
        "later positions are read",
    ),
    replica(
        '+ float.fromhex(option["epsilon"])',
        "",
        "a normalization forgets epsilon",
    ),
    in_format(
        "return growth(self.unit, terms + 1)",
        "return growth(2.0**-53, terms + 1)",
        "products in the format round as those of float64",
    ),
    in_format("conversion=growth(self.unit, 1)", "conversion=0.0", "vectors are converted without error"),
    in_format("largest=number_format.largest / 8.0", "largest=1e300", "nothing overflows a format"),
    in_format("square=16.0 * smallest", "square=0.0", "squares never underflow"),
    in_format("floor=2.0**22 * smallest / u + 2.0**-400", "floor=2.0**-400", "nothing underflows in a format"),
    in_format("self.unit = u + UNIT", "self.unit = u / 64.0", "a format rounds less than it does"),
    elsewhere(
        "            slipped = self._raised(np.minimum(slipped + relative * most, furthest))\n",
        "            slipped = np.zeros(size.shape)\n",
        "a normalization elsewhere rounds nothing",
    ),
    elsewhere(
        "            radius = radius + growth(numbers.unit, 2 * length + 8) * largest\n",
        "            radius = radius\n",
        "averages elsewhere round nothing",
    ),
    Mutant(
        "verify/divergence/computed.py",
        " > 0.0) & np.isfinite(logits).all(axis=1)",
        " > 0.0)",
        "tests/verify/divergence/test_computed.py",
        "a context with an infinite logit is right",
    ),
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
    run(
        "self.violated |= not",
        "self.violated = not",
        "only the last batch is judged",
    ),
    run(
        "        if self.violated:\n            within = False\n",
        "        if self.violated and (largest is None or math.isfinite(largest)):\n            within = False\n",
        "an infinite limit hides a violation",
    ),
    run(
        "        elif math.isfinite(largest):",
        "        elif True:",
        "an infinite limit is kept by anything",
    ),
    run(
        "errors = np.where(np.isfinite(outputs), np.abs(outputs - midpoint), math.inf)",
        "errors = np.nan_to_num(np.abs(outputs - midpoint), nan=0.0, posinf=0.0)",
        "a NaN is no error",
    ),
    computed(
        "result = np.full(len(logits), math.inf)",
        "result = np.zeros(len(logits))",
        "a NaN has divergence 0",
    ),
    computed(
        "laws = laws / laws.sum(axis=1, keepdims=True)",
        "laws = laws * 1.0",
        "laws are not normalized",
    ),
    computed(
        "return np.where(np.abs(x) < 0.01, series, np.expm1(x) - x)",
        "return np.expm1(x) - x",
        "a tiny divergence is lost to cancellation",
    ),
    computed(
        "return np.where(np.abs(gap).max(axis=1) < 1.0, small, large)",
        "return large",
        "a tiny divergence is lost to cancellation",
    ),
    computed(
        "others[places, labels] = -np.inf",
        "pass",
        "the label is counted among the others",
    ),
    run(
        "        if start != expected or",
        "        if",
        "chunks may come in any order",
    ),
    run(
        "    if expected != count:",
        "    if expected > count:",
        "contexts may be left out",
    ),
    run(
        "            require_arithmetic(device, _JUDGED[dtype])\n",
        "",
        "a judged device is not probed",
    ),
    computed(
        "gap -= (laws * gap).sum(axis=1, keepdims=True)",
        "gap -= gap.mean(axis=1, keepdims=True)",
        "the mean is not the one under the law",
    ),
    device(
        "(rows @ columns, in_batch, bag_sums",
        "(rows @ columns, bag_sums",
        "products in batches are not probed",
    ),
    device(
        "right[np.ix_(large, np.arange(_OUTER) % 2 == 0)] = 0.0",
        "pass",
        "emulation in fixed point passes the probe",
    ),
    device(
        "    left[: _OUTER // 2][~kept] = 0.0\n",
        "",
        "16 significant bits pass the probe",
    ),
    device(
        "(inverse - n) <= n * int(size)",
        "(inverse - n) <= 2 * n * int(size)",
        "twice the bound passes the probe",
    ),
    device(
        "arb(2.0 * number_format.unit_roundoff * ulps)",
        "arb(4.0 * number_format.unit_roundoff * ulps)",
        "twice the assumed error of a function passes the probe",
    ),
    Mutant(
        "verify/arithmetic/decimals.py",
        '{"upper": ROUND_CEILING, "lower": ROUND_FLOOR}',
        '{"upper": ROUND_FLOOR, "lower": ROUND_CEILING}',
        "tests/verify/arithmetic/test_decimals.py",
        "upper bounds are rounded down",
    ),
    chart(
        "low, high = min(low, 0.0),",
        "low, high = low,",
        "a linear axis does not begin at zero",
    ),
    document(
        "return html.escape(",
        "return str(",
        "texts are not escaped",
    ),
    report(
        'shown = badge(verdict) if verdict else ""',
        'shown = badge("PROVED", verdict) if verdict else ""',
        "every verdict looks proved",
    ),
    document(
        'get(verdict, "undecided")',
        'get(verdict, "proved")',
        "an unknown verdict looks proved",
    ),
    audit_page(
        '"confirmed") if confirmed == asked',
        '"confirmed") if confirmed == len(summaries)',
        "an interrupted audit looks confirmed",
    ),
    audit_page(
        'if summary["confirmed"]:\n        return badge',
        "if True:\n        return badge",
        "every claim looks confirmed",
    ),
    audit_page(
        "{badge(piece['verdict'])} ",
        "{badge('PROVED')} ",
        "every piece of evidence looks proved",
    ),
    audit_page(
        'data[:_LONGEST_DATA]} … cut; --json has all"',
        'data[:_LONGEST_DATA]}"',
        "an instance is cut without a word",
    ),
    report(
        "f\"≤ {number(float(value), digits=digits, bound='upper')}\"",
        'f"≤ {number(float(value), digits=digits)}"',
        "an upper bound is rounded to nearest",
    ),
    report(
        "math.floor(10000.0",
        "round(10000.0",
        "nearly all is shown as all",
    ),
    report(
        "if 0.0 < probability < 5e-5:",
        "if False:",
        "a small probability is shown as none",
    ),
    report(
        '    if run.within_bound is None:\n        return "not judged"\n',
        "",
        "what was not judged failed",
    ),
    report(
        "law = None if task.laws is None else task.laws[row] / task.laws[row].sum()",
        "law = None if task.laws is None else task.laws[0] / task.laws[0].sum()",
        "every context is shown the law of the first",
    ),
    report(
        "if character.isprintable():",
        "if True:",
        "control characters are written as they are",
    ),
    run(
        "surely_held(Enclosure(midpoint, up(limits))",
        "surely_held(Enclosure(midpoint, 0.0 * limits)",
        "what runs is exact",
    ),
    run(
        "proved = np.concatenate(self.proved) if judged else None",
        "proved = np.concatenate(self.proved)",
        "no bound proves that none is held",
    ),
    run("bool((proved & ~right).any())", "bool((proved & right).all())", "a run that breaks every hypothesis passes"),
    run(
        "proved = self.without_rounding[rows].copy()",
        "proved = np.zeros(stop - start, dtype=bool)",
        "runs without rounding prove nothing",
    ),
]
