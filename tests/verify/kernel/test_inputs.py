"""Inputs of a domain are judged as by rational arithmetic, however many are looked at together."""

from types import SimpleNamespace

import numpy as np

from constructions.model.blocks import FeedForward
from constructions.model.model import Model
from constructions.tasks.rule import rule_task
from tests.verify.kernel.test_rule import written
from tests.verify.kernel.test_walk import kernel_model
from verify.kernel import inputs
from verify.kernel import rule as rules
from verify.kernel.evaluation import Evaluation


def test_inputs_are_counted_and_a_long_count_is_told(tmp_path, monkeypatch) -> None:
    model = kernel_model(Model(blocks=(), W_U=np.eye(4), W_E=np.eye(4), W_pos=np.zeros((4, 4))))
    rule, told = written(tmp_path, rule_task("max", d_vocab=4, n_ctx=4)), list[str]()
    for together in (2**16, 100):
        monkeypatch.setattr(rules, "_TOGETHER", together)
        counts = inputs.count_inputs(Evaluation(model, rule, [], told.append), rule, range(256))
        assert counts == (sum((k + 1) ** 3 for k in range(4)), 256 - 100)
    assert inputs.count_inputs(Evaluation(model, rule, []), rule, [0, 5, 255]) == (3, 0) and not told
    seconds = iter([0.0, 60.0])
    monkeypatch.setattr(inputs, "time", SimpleNamespace(process_time=lambda: next(seconds)))
    inputs.count_inputs(Evaluation(model, rule, [], told.append), rule, range(256))
    assert told == ["about 3 minutes more"]


def test_a_tie_that_balls_do_not_see_counts_as_neither(tmp_path) -> None:
    smooth = FeedForward(np.ones((2, 1)), np.ones((1, 2)), activation="gelu")
    model = Model(blocks=(smooth,), W_U=np.ones((2, 2)), W_E=np.eye(2), W_pos=np.zeros((1, 2)))
    rule = written(tmp_path, rule_task("max", d_vocab=2, n_ctx=1))
    assert inputs.count_inputs(Evaluation(kernel_model(model), rule, []), rule, range(2)) == (0, 0)
