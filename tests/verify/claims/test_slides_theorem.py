"""The audit of the theorem of the slides confirms its verdict, and does not without one of its certificates."""

from itertools import islice

import pytest

from verify.capacity.divergence_floor import DivergenceFloor
from verify.claims import slides_theorem as audit
from verify.claims.audit import audit_claims
from verify.verdict import Verdict


def test_the_verdict_is_confirmed() -> None:
    [found] = audit_claims(["slides.theorem"])
    assert found.confirmed
    summary = found.summary()
    assert summary["verdict"] == "slip"
    assert summary["certified"][:2] == ["at least 56.4888 nats", "at least 0.3185 nats for all weights"]


@pytest.mark.slow
def test_the_verdict_is_confirmed_at_full_length() -> None:
    [found] = audit_claims(["slides.theorem"], full=True)
    assert found.confirmed


def test_a_floor_that_is_not_proved_confirms_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    floor = DivergenceFloor(0.0, Verdict.UNDECIDED, (), 1)
    monkeypatch.setattr(audit, "one_head_divergence_floor", lambda *_: floor)
    evidence = audit.evidence(full=False)
    assert [next(evidence).verdict, next(evidence).verdict] == [Verdict.PROVED, Verdict.UNDECIDED]


def test_the_modules_are_as_many_as_on_the_slides(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    original = audit.random_instance
    monkeypatch.setattr(
        audit, "random_instance", lambda seed, modules: asked.append(modules) or original(0, modules=True)
    )
    monkeypatch.setattr(audit, "_SIZES", ((3, 2, 3, 6),))
    assert all(piece.verdict is Verdict.PROVED for piece in audit.evidence(full=False))
    assert asked == [True] * 60


def test_transformers_with_other_modules_confirm_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    original = audit.random_instance
    monkeypatch.setattr(audit, "random_instance", lambda seed, modules: original(seed))
    pieces = list(islice(audit.evidence(full=False), 3))
    assert pieces[2].verdict is Verdict.UNDECIDED
    front_ends = audit.matched_front_ends
    monkeypatch.setattr(audit, "matched_front_ends", lambda **sizes: front_ends(**{**sizes, "heads": 3}))
    assert audit._constant_of_the_sizes(kept=3).verdict is Verdict.UNDECIDED
