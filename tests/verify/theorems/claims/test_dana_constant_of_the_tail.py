"""The audit certifies what it says, and nothing that is not so."""

from verify.theorems.claims import dana_constant_of_the_tail as audit
from verify.verdict import Verdict


def test_dependent_features_prove_nothing(changed):
    changed(audit, "exact_outputs", lambda found: 0 * found)
    assert audit._large(2).verdict is Verdict.REFUTED
