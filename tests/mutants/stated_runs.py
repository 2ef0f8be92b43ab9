"""Mutants of the statements about runs and texts: a proof that is not asked for, a rounding that is not counted."""

from tests.mutants import of

STATED = "tests/verify/provers/test_runs.py"
stated = of("verify/provers/runs.py", STATED)
memorized = of("verify/runs/memorized_runs.py", "tests/verify/runs/test_memorized_runs.py")
certificate = of("verify/certificates/certificate.py", "tests/verify/certificates/test_certificate.py " + STATED)
measured = of("byheart/measured.py", "tests/falsify/test_made_files.py tests/byheart/test_measured.py")
facts_page = of("byheart/report/facts_page.py", "tests/byheart/report/test_facts_page.py")
text_by_stated = of("verify/provers/text.py", STATED)

MUTANTS = [
    memorized("if hypotheses != OF_BOUNDS:", "if True:", "sums are exact without H5"),
    memorized("if hypotheses != OF_EXACT_SUMS and", "if", "roundings are bounded without H3 and H4"),
    memorized(
        "memorized[part.facts] &= of_part", "memorized[part.facts] |= of_part", "one token of an answer is enough"
    ),
    stated("if (false := np.flatnonzero(named & lost)).size:", "if (false := np.zeros(0)).size:", "nothing is false"),
    stated(
        "if (missing := np.flatnonzero(named & ~memorized)).size:",
        "if (missing := np.zeros(0)).size:",
        "all is memorized",
    ),
    text_by_stated("if task.windows is None or task.contradicted:", "if task.windows is None:", "a fork is said"),
    text_by_stated("if known.verdict is not Verdict.PROVED:", "if False:", "a text rests on nothing"),
    stated('"hypotheses": statement.named["hypotheses"],', '"hypotheses": ALL,', "what is not named is used"),
    certificate('if criterion.asked == "memorized" and found', "if found", "the line of another question"),
    measured("{*proved_figures(certificate), *_NEVER} & set(figures)", "set()", "a maker says what is proved"),
    facts_page("if (lower > 0.0) != (fact in details.memorized):", "if False:", "a page contradicts the certificate"),
    facts_page("if len(found[_WRONG]) != details.wrong:", "if False:", "a page says more wrong than is proved"),
    facts_page("fact not in details.runs[1]", "False", "no fact may flip"),
    facts_page("-(-len(rows) // _MOST_BARS)", "1", "a bar for each of many facts"),
    measured('.read_bytes() != text.encode("utf-8")', '.read_bytes() == b""', "no byte is compared"),
]
