"""The audit certifies what it says, and nothing that is not so."""

from verify.claims import dana_constant_of_the_tail as audit
from verify.verdict import Verdict


def test_dependent_features_prove_nothing(monkeypatch):
    honest = audit.exact_outputs
    monkeypatch.setattr(audit, "exact_outputs", lambda *given: 0 * honest(*given))
    assert audit._large(2).verdict is Verdict.REFUTED
