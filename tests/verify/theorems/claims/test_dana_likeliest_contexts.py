"""The audit certifies what it says, and nothing that is not so."""

from fractions import Fraction

from verify.theorems.claims import dana_likeliest_contexts as audit
from verify.verdict import Verdict


def test_where_both_readings_agree_there_is_no_counterexample():
    assert audit._printed(2, 2, Fraction(1, 4)).verdict is Verdict.PROVED
    assert audit._printed(2, 2, Fraction(1, 3)).verdict is Verdict.REFUTED
    assert audit._printed(2, 2, Fraction(0)).verdict is not Verdict.PROVED
