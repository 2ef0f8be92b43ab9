"""The audit of the parameter count confirms its verdict, and does not if a count or a network is spoilt."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from constructions.model.model import Model
from tests.memories import changed
from tests.verify.conftest import Change
from verify.certificates.parameter_count import shared_attention_parameters
from verify.provers.memorization import certify_memorization
from verify.theorems.claims import claim
from verify.theorems.claims import dana_theorem_1_parameters as audit
from verify.verdict import Verdict

ID = "dana.theorem-1-parameters"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "_SIZES", ((3, 2, 3, 2),))


def verdicts() -> list[Verdict]:
    return [piece.verdict for piece in audit.evidence(full=False)]


def test_a_wrong_count_is_refuted(changed: Change, small: None) -> None:
    changed(audit, "stored_parameters", lambda found: found + 1)
    assert verdicts()[:3] == [Verdict.REFUTED] * 3


def test_a_wrong_formula_is_refuted(changed: Change, small: None) -> None:
    changed(audit, "shared_count", lambda found: found - 1)
    assert verdicts()[1:3] == [Verdict.PROVED, Verdict.REFUTED]


def test_networks_that_do_not_hold_the_distributions_confirm_nothing(
    monkeypatch: pytest.MonkeyPatch, small: None
) -> None:
    memories = audit.matched_memories

    def spoilt(network: Model) -> Model:
        return changed(network, W_V=np.zeros_like(network.W_V))

    def all_spoilt(**sizes: int) -> Any:
        task, generic, shared = memories(**sizes)
        return task, spoilt(generic), spoilt(shared)

    monkeypatch.setattr(audit, "matched_memories", all_spoilt)
    assert Verdict.PROVED not in verdicts()[1:3]


def test_front_ends_of_different_rank_are_noticed(monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    matched = audit.matched_front_ends

    def one_head_less(**sizes: int) -> Any:
        generic, shared = matched(**sizes)
        return generic, replace(shared, W_Q=shared.W_Q[:-1], W_K=shared.W_K[:-1], W_V=shared.W_V[:-1])

    monkeypatch.setattr(audit, "matched_front_ends", one_head_less)
    assert verdicts()[-1] is Verdict.REFUTED


def test_pairs_that_are_equal_or_differ_elsewhere_confirm_nothing(
    monkeypatch: pytest.MonkeyPatch, changed: Change, small: None
) -> None:
    matched = audit.matched_front_ends
    changed(audit, "matched_front_ends", lambda found: (found[0],) * 2)
    assert audit._same_rank(20).verdict is Verdict.REFUTED

    def moved(**sizes: int) -> Any:
        generic, shared = matched(**sizes)
        return generic, replace(shared, W_V=tuple(2 * values for values in shared.W_V))

    monkeypatch.setattr(audit, "matched_front_ends", moved)
    assert audit._same_rank(20).verdict is Verdict.REFUTED


PARAMETERS = claim("dana.theorem-1-parameters")


@pytest.mark.parametrize(
    "given", [{}, {"d_vocab": 3, "d_model": 3}, {"d_model": 3, "seed": 2}, {"d_vocab": 5, "d_model": 5}]
)
def test_shared_attention_holds_all_contexts(given: dict[str, int]) -> None:
    made = PARAMETERS.construct(**given)
    assert made.task.n_contexts == made.task.n_all == made.task.d_vocab**made.task.n_ctx
    assert certify_memorization(made.model, made.task).certificate.verdict is Verdict.PROVED
    assert f"{shared_attention_parameters(made.model)} chosen" in made.summary
