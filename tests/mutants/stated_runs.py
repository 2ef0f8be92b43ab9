"""Mutants of the statements about runs and texts: a proof that is not asked for, a rounding that is not counted."""

from tests.mutants import of

INDEPENDENT = "tests/verify/independent/test_run_forward.py"
CHECK = "tests/verify/independent/test_run_check.py"
STATED = "tests/verify/provers/test_runs.py"
forward = of("verify/independent/run_forward.py", INDEPENDENT)
second = of("verify/independent/run_check.py", CHECK)
stated = of("verify/provers/runs.py", STATED)
held = of("verify/runs/held_runs.py", "tests/verify/runs/test_held_runs.py")
certificate = of("verify/certificates/certificate.py", "tests/verify/certificates/test_certificate.py " + STATED)
measured = of("byheart/measured.py", "tests/falsify/test_made_files.py tests/byheart/test_measured.py")
text_by_stated = of("verify/provers/text.py", STATED)

MUTANTS = [
    held("if hypotheses != OF_BOUNDS:", "if True:", "sums are exact without H5"),
    held("if hypotheses != OF_EXACT_SUMS and", "if", "roundings are bounded without H3 and H4"),
    held("held[part.facts] &= found", "held[part.facts] |= found", "one token of an answer is enough"),
    stated("if (false := np.flatnonzero(named & lost)).size:", "if (false := np.zeros(0)).size:", "nothing is false"),
    stated("if (missing := np.flatnonzero(named & ~held)).size:", "if (missing := np.zeros(0)).size:", "all is held"),
    text_by_stated("if task.windows is None or task.contradicted:", "if task.windows is None:", "a fork is said"),
    text_by_stated("if known.verdict is not Verdict.PROVED:", "if False:", "a text rests on nothing"),
    stated('"hypotheses": statement.named["hypotheses"],', '"hypotheses": ALL,', "what is not named is used"),
    certificate('if not texts or criterion.asked != "held" or', "if not texts or", "the line of another question"),
    forward(
        "return low is None or (low >= forward.least and forward.is_whole(largest, sums.scale, low))",
        "return True",
        "no sum is rounded",
    ),
    forward("whole and forward.absorbs(drift, self.terms, low)", "whole", "sums swallow whatever factors are off by"),
    forward(
        "gap = ((lead << UNIT) >> scale) // root - 2 * error",
        "gap = ((lead << UNIT) >> scale) // root",
        "scores are exact",
    ),
    forward("return gap >= _GAP << UNIT and", "return gap >= 1 << UNIT and", "a lead of one is enough"),
    forward("moved / least + arb((max(value.radii[r][j] for r in seen), -UNIT))", "moved / least", "values are exact"),
    forward("if not ahead > moved + 1 + rest[label] + rest[other]:", "if not ahead > 0:", "the exact lead is enough"),
    forward("        forward.require_small(over_unit(largest, sums.scale))\n", "", "sums do not overflow"),
    forward("        forward.require_small(total)\n        lows", "        lows", "scores do not overflow"),
    second('if own != list(statement.named["texts"]):', "if False:", "another text"),
    second("if values != dict(statement.values):", "if False:", "other numbers of a text"),
    second("    if lost:\n", "    if False:\n", "nothing is false"),
    measured("{*proved_figures(certificate), *_NEVER} & set(figures)", "set()", "a maker says what is proved"),
    measured('.read_bytes() != text.encode("utf-8")', '.read_bytes() == b""', "no byte is compared"),
]
