"""The audit of the theorem of the slides confirms its verdict, and does not without one of its certificates."""

from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from tests.verify.conftest import Spoil
from verify.provers.memorization import certify_memorization
from verify.theorems.capacity.divergence_floor import DivergenceFloor
from verify.theorems.claims import claim
from verify.theorems.claims import slides_theorem as audit
from verify.theorems.evidence.theorems import ONE_HEAD_DIVERGENCE
from verify.verdict import Verdict


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
    pieces = list(islice(audit.evidence(full=False), 3))
    assert pieces[2].verdict is not Verdict.PROVED
    front_ends = audit.matched_front_ends
    monkeypatch.setattr(audit, "matched_front_ends", lambda **sizes: front_ends(**{**sizes, "n_heads": 3}))
    assert audit._constant_of_the_sizes(kept=3).verdict is not Verdict.PROVED


SLIDES = claim("slides.theorem")


@pytest.mark.parametrize(
    "parameters",
    [{}, {"kept": 4}, {"d_vocab": 3, "kept": 8}, {"d_vocab": 2, "n_ctx": 3, "kept": 7}, {"d_vocab": 3, "n_ctx": 3}],
)
def test_so_many_modules_hold_so_many_contexts(parameters: dict[str, int]) -> None:
    made = SLIDES.construct(**parameters)
    tokens, kept = (parameters.get(name, SLIDES.parameters[name]) for name in ("d_vocab", "kept"))
    assert made.model.n_heads == -(-kept // tokens) and made.model.d_head == made.model.d_model == tokens
    assert made.task.n_contexts == kept
    assert certify_memorization(made.model, made.task).certificate.verdict is Verdict.PROVED
