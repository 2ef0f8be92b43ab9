"""The independent reader of rules: what the other one writes, and nothing that the other one refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import ByheartError, FileFormatError
from constructions.tasks.rule import RuleTask, rule_task
from tests import task_files
from verify.domains.sample import drawn, most_wrong
from verify.independent.plain.plain_rule import PlainRule, drawn_numbers, leaves_at_most
from verify.independent.plain.plain_rule import most_wrong as most_wrong_in_integers

TASKS = [
    rule_task("max", d_vocab=3, n_ctx=2),
    rule_task("min", d_vocab=1, n_ctx=1),
    rule_task("first", d_vocab=2, n_ctx=3, before=[5]),
    rule_task("last", d_vocab=2, n_ctx=3, after=[5]),
    rule_task("sum", d_vocab=4, n_ctx=2, after=[4], modulus=3),
    rule_task(lambda inputs: inputs[:, 0] ^ inputs[:, 1], d_vocab=2, n_ctx=2, before=[3]),
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.origin)
def test_a_rule_is_read_with_its_hash_and_sizes(task, tmp_path):
    task.save(tmp_path / "task.safetensors")
    found = PlainRule.read(tmp_path / "task.safetensors")
    assert found.sha256 == task.sha256() and found.origin == task.origin
    assert found.sizes() == {
        "contexts": task.n_contexts, "context_length": task.n_ctx, "all_contexts": task.n_contexts
    }  # fmt: skip
    assert found.tokens == [each.tolist() for each in task.tokens]
    assert found.steps == [each.tolist() for each in task.steps]


@pytest.mark.parametrize(
    "change",
    [
        {"rule": "min"},
        {"rule": "sum mod 3"},
        {"rule": "sum mod 03"},
        {"rule": "sum mod -3"},
        {"rule": "median"},
        {"rule": ["max"]},
        {"rule": 1},
        {"reads": np.array([0])},
        {"reads": np.array([0, 0, 1])},
        {"reads": np.array([[0, 1]])},
        {"answers": np.array([0, 1])},
        {"answers": np.array([0, 1, -2])},
        {"answers": np.array([0.0, 1.0, 2.0])},
        {"tokens_0": np.array([0, 2, 1])},
        {"tokens_0": np.array([-1, 0, 1])},
        {"tokens_2": np.array([0])},
        {"steps_1": np.zeros((3, 3), dtype=np.int64)},
        {"steps_1": np.full((3, 3), 7)},
        {"steps_1": np.arange(9).reshape(3, 3)[:2]},
        {"labels": np.array([0])},
    ],
)
def test_both_readers_refuse_the_same_files(change, tmp_path):
    task_files.write(
        tmp_path / "task.safetensors", {**task_files.parts(rule_task("max", d_vocab=3, n_ctx=2)), **change}, task="rule"
    )
    with pytest.raises(ByheartError):
        RuleTask.load(tmp_path / "task.safetensors")
    with pytest.raises(FileFormatError):
        PlainRule.read(tmp_path / "task.safetensors")


@given(st.integers(1, 2**63), st.integers(1, 50), st.text("ab é", max_size=3))
def test_both_readers_draw_the_same_distinct_inputs(size, count, seed):
    found = drawn("a" * 64, "b" * 64, size, count, seed)
    assert found == drawn_numbers(["a" * 64, "b" * 64, count, seed], size)
    assert len(set(found)) == len(found) == min(size, count) and 0 <= found[0] and found[-1] < size


@given(st.integers(1, 600), st.data())
def test_the_least_bound_is_true_and_no_smaller_one(size, data):
    count = data.draw(st.integers(1, size))
    missed = data.draw(st.one_of(st.just(0), st.integers(0, count)))
    most = most_wrong(size, count, missed)
    assert leaves_at_most(size, count, missed, most) and most_wrong_in_integers(size, count, missed) == most
    assert most == missed or not leaves_at_most(size, count, missed, most - 1)
