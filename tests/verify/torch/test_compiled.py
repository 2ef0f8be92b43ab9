"""Compiled replicas: the same outputs up to rounding, and nothing of the compiler is left behind."""

import logging

import pytest
import torch

from constructions.memories.knots import knots_memory
from constructions.tasks.arrays import enumerated_task
from verify.torch.compiled import compiled
from verify.torch.module import Replica
from verify.torch.run import run

TASK = enumerated_task(9, 2, seed=1)
MODEL = knots_memory(TASK).model


@pytest.mark.parametrize("backend", ["eager", pytest.param("inductor", marks=pytest.mark.slow)])
def test_it_is_within_bound_in_every_batch_size(backend: str) -> None:
    with compiled(Replica.from_model(MODEL), backend=backend) as module:
        for batch in (1, 7, 64, 81):
            result = run(MODEL, TASK, replica=module, batch=batch)
            assert result.within_bound and result.memorized == 81


def test_another_model_that_is_compiled_leaves_the_bound() -> None:
    other = knots_memory(enumerated_task(9, 2, seed=2)).model
    with compiled(Replica.from_model(other), backend="eager") as module:
        assert run(MODEL, TASK, replica=module).within_bound is False


def test_a_compiler_that_gives_up_is_an_error_and_not_a_run_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verify.torch.compiled._RECOMPILATIONS", 1)
    with (
        pytest.raises(torch._dynamo.exc.FailOnRecompileLimitHit),  # pyright: ignore[reportAttributeAccessIssue]
        compiled(Replica.from_model(MODEL), backend="eager") as module,
    ):
        for batch in (1, 7):
            run(MODEL, TASK, replica=module, batch=batch)


def test_levels_of_loggers_come_back() -> None:
    before = logging.getLogger("torch._dynamo").level
    with compiled(Replica.from_model(MODEL), backend="eager"):
        assert logging.getLogger("torch._dynamo").level == logging.ERROR
    assert logging.getLogger("torch._dynamo").level == before
