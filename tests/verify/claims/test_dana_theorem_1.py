"""The audit of Theorem 1 confirms its verdict, and does not if a certificate fails or a construction is spoilt."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from constructions.claims import dana_theorem_1 as theorem_1
from constructions.errors import InputError
from constructions.models.shapes import dana_network, dana_tensors
from tests.verify.claims.conftest import Spoil
from verify.capacity.divergence_floor import DivergenceFloor
from verify.claims import dana_theorem_1 as audit
from verify.claims import exclusive_or
from verify.claims.audit import audit_claims
from verify.claims.theorem import Theorem
from verify.claims.theorems import COLLINEAR_DIVERGENCE, ONE_HEAD_DIVERGENCE
from verify.verdict import Verdict


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "_EXACT", ((2, 2, 2, 1, 0),))
    monkeypatch.setattr(audit, "_ROUNDED", ((4, 2, 4, 4, 0),))


def verdicts() -> Iterator[tuple[str, Verdict]]:
    return ((piece.statement, piece.verdict) for piece in audit.evidence(full=False))


def test_the_verdict_is_confirmed() -> None:
    [found] = audit_claims(["dana.theorem-1"])
    assert found.confirmed
    summary = found.summary()
    assert summary["verdict"] == "false"
    assert {piece.role for piece in found.evidence} == {"counterexample", "repair", "reached", "boundary"}
    certified = " ".join(summary["certified"])
    assert "mean divergence >= 0.3185728231 nats" in certified
    assert "mean divergence >= 0.16112" in certified
    assert any("T = 1024" in promised for promised in summary["promised"])


@pytest.mark.slow
def test_the_verdict_is_confirmed_at_full_length() -> None:
    [found] = audit_claims(["dana.theorem-1"], full=True)
    assert found.confirmed


@pytest.mark.parametrize("theorem", [ONE_HEAD_DIVERGENCE, COLLINEAR_DIVERGENCE])
@pytest.mark.parametrize("factor", [0.0, 0.99, 1.01])
def test_a_floor_that_is_empty_or_false_confirms_nothing(theorem: Theorem, factor: float, spoil: Spoil) -> None:
    honest = theorem.judge

    def scaled(**given: Any) -> DivergenceFloor:
        found = honest(**given)
        return replace(found, lower=factor * found.lower)

    spoil(theorem, scaled)
    pieces = audit._exclusive_or(Fraction(99, 100), length=3)
    if theorem is COLLINEAR_DIVERGENCE:
        pieces = audit._line(Fraction(9, 10), pieces=96)
    assert any(piece.verdict is not Verdict.PROVED for piece in pieces)


def test_laws_that_are_not_opposed_confirm_nothing(monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    contexts = exclusive_or.exclusive_or_contexts()[[0, 2, 1, 3]]
    monkeypatch.setattr(exclusive_or, "exclusive_or_contexts", lambda _=3: contexts)
    assert dict(verdicts())[next(iter(dict(verdicts())))] is not Verdict.PROVED


def test_weights_that_stay_away_from_the_floor_do_not_show_that_it_is_sharp(
    monkeypatch: pytest.MonkeyPatch, small: None
) -> None:
    optimum = exclusive_or.exclusive_or_optimum
    monkeypatch.setattr(exclusive_or, "exclusive_or_optimum", lambda logit, **_: optimum(logit, size=1000.0))
    found = [verdict for statement, verdict in verdicts() if "sharp" in statement]
    assert found == [Verdict.REFUTED, Verdict.PROVED]


def test_a_wrong_target_is_refuted(monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    memory = audit.exact_memory

    def spoilt(**sizes: int) -> Any:
        made = memory(**sizes)
        return replace(made, targets=made.targets * 2)

    monkeypatch.setattr(audit, "exact_memory", spoilt)
    assert [verdict for statement, verdict in verdicts() if "rational network" in statement] == [Verdict.REFUTED]


def test_one_changed_weight_is_noticed(monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    build = audit.build_memory

    def spoilt(*arguments: Any, **options: Any) -> Any:
        built = build(*arguments, **options)
        W_O = built.model.W_O.copy()
        W_O[0, 0, 0] += 1e-3 * np.abs(W_O).max()
        return replace(built, model=dana_network(**{**dana_tensors(built.model), "W_O": W_O}))

    monkeypatch.setattr(audit, "build_memory", spoilt)
    assert [verdict for statement, verdict in verdicts() if "XOR with" in statement] == [Verdict.UNDECIDED]


def test_more_heads_than_the_paper_counts_confirm_nothing(monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    count = theorem_1.paper_heads
    monkeypatch.setattr(theorem_1, "paper_heads", lambda *sizes: count(*sizes) + 1)  # the audit counts itself
    found = dict(verdicts())
    larger = [verdict for statement, verdict in found.items() if "rational network" in statement or "laws" in statement]
    assert larger.count(Verdict.REFUTED) == 2
    build = audit.build_memory
    monkeypatch.setattr(audit, "build_memory", lambda task, **sizes: build(task, **{**sizes, "n_heads": 3}))
    assert audit._one_head_more().verdict is Verdict.REFUTED


def test_fewer_contexts_than_there_should_be_confirm_nothing(monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    contexts, task = theorem_1._contexts, theorem_1._task
    monkeypatch.setattr(theorem_1, "_contexts", lambda *_: contexts(2, 2, 3, 0))
    monkeypatch.setattr(theorem_1, "_task", lambda *_: task(4, 2, 13, 0))
    assert audit._exact(*audit._EXACT[0]).verdict is Verdict.REFUTED
    monkeypatch.setattr(theorem_1, "paper_heads", lambda *_: 3)  # as many as for all contexts
    assert audit._rounded(*audit._ROUNDED[0]).verdict is Verdict.REFUTED


def test_equal_contexts_are_no_counterexample(monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    contexts = exclusive_or.exclusive_or_contexts()[[0, 1, 0, 1]]
    monkeypatch.setattr(exclusive_or, "exclusive_or_contexts", lambda _=3: contexts)
    with pytest.raises(InputError, match="equal rows"):
        next(audit.evidence(full=False))


def test_printed_bounds_are_rounded_outward() -> None:
    third = 1 / 3
    assert float(audit.decimal_below(third, 10)) < third < float(audit.decimal_above(third, 10))
    assert audit.decimal_below(2 / 3, 10) == "0.6666666666" and audit.decimal_above(third, 10) == "0.3333333334"
