"""Of weights that were built a proof for every run decides, and where there is none one run."""

from dataclasses import replace

import pytest

from byheart.choice import trial as tried
from byheart.choice.trial import trial
from constructions.memories.memory import Limits
from constructions.menu import BY_NAME
from constructions.tasks.arrays import enumerated_task


def test_a_memory_whose_runs_are_exact_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tried, "runs_in_torch", lambda *_, **__: pytest.fail("it was run"))
    built = BY_NAME["packed-words"].build(enumerated_task(4, 2), Limits())
    assert trial(built, "float32", 1e-3) == (None, "", True)


def test_what_one_run_does_not_hold_is_refused() -> None:
    pytest.importorskip("torch")
    built = BY_NAME["knots"].build(enumerated_task(4, 2, seed=1), Limits())
    assert trial(built, "float32", 1e-3).refused == ""
    lost = replace(built, model=replace(built.model, W_U=0.0 * built.model.W_U))
    assert "run in float32 it holds" in trial(lost, "float32", 1e-3).refused


def test_without_torch_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("byheart.choice.trial.find_spec", lambda _: None)
    built = BY_NAME["knots"].build(enumerated_task(4, 2, seed=1), Limits())
    lost = replace(built, model=replace(built.model, W_U=0.0 * built.model.W_U))
    assert trial(lost, "float32", 1e-3) == (None, "", False)
