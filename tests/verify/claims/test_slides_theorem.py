"""The audit of the theorem of the slides confirms its verdict, and does not without one of its certificates."""

from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from tests.verify.claims.conftest import Spoil
from verify.capacity.divergence_floor import DivergenceFloor
from verify.claims import slides_theorem as audit
from verify.claims.audit import audit_claims
from verify.claims.theorems import ONE_HEAD_DIVERGENCE
from verify.verdict import Verdict


def test_the_verdict_is_confirmed() -> None:
    [found] = audit_claims(["slides.theorem"])
    assert found.confirmed
    summary = found.summary()
    assert summary["verdict"] == "slip"
    assert summary["certified"][0] == "at least 56.4888 nats, for these weights"
    assert summary["certified"][1].startswith(
        "at least 0.3185 nats, and one head comes near it, for all weights of the"
    )


@pytest.mark.slow
def test_the_verdict_is_confirmed_at_full_length() -> None:
    [found] = audit_claims(["slides.theorem"], full=True)
    assert found.confirmed


@pytest.mark.parametrize("factor", [0.0, 0.99, 1.01])
def test_a_floor_that_is_empty_or_false_confirms_nothing(spoil: Spoil, factor: float) -> None:
    honest = ONE_HEAD_DIVERGENCE.judge

    def scaled(**given: Any) -> DivergenceFloor:
        found = honest(**given)
        return replace(found, lower=factor * found.lower)

    spoil(ONE_HEAD_DIVERGENCE, scaled)
    assert audit._too_few_modules().verdict is Verdict.REFUTED


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
    pieces = list(islice(audit.evidence(full=False), 4))
    assert pieces[3].verdict is not Verdict.PROVED
    front_ends = audit.matched_front_ends
    monkeypatch.setattr(audit, "matched_front_ends", lambda **sizes: front_ends(**{**sizes, "heads": 3}))
    assert audit._constant_of_the_sizes(kept=3).verdict is not Verdict.PROVED
