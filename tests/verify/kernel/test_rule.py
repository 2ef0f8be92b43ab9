"""Rules are read as they were written, and nothing that is not a rule, or the automaton of another one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from constructions.tasks.rule import RuleTask, rule_task
from tests import task_files
from verify.kernel.rule import Rule
from verify.kernel.task import read_task
from verify.kernel.verdicts import BadInputError

TASKS = [
    rule_task("max", d_vocab=3, n_ctx=2),
    rule_task("min", d_vocab=1, n_ctx=1),
    rule_task("first", d_vocab=2, n_ctx=3, before=[5]),
    rule_task("last", d_vocab=2, n_ctx=3, after=[5, 6, 7, 8, 9]),
    rule_task("sum", d_vocab=4, n_ctx=2, after=[4], modulus=3),
    rule_task(lambda inputs: inputs[:, 0] ^ inputs[:, 1], d_vocab=2, n_ctx=2, before=[3]),
]


def written(folder: Path, task: RuleTask, **change: Any) -> Any:
    task_files.write(folder / "task.safetensors", {**task_files.parts(task), **change}, task="rule")
    return read_task(folder)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.origin)
def test_a_rule_is_read_as_it_was_written(task: RuleTask, tmp_path: Path) -> None:
    found = written(tmp_path, task)
    assert isinstance(found, Rule)
    assert (found.sha256, found.origin, found.size) == (task.sha256(), task.origin, task.n_contexts)
    assert found.most_frequent == task.guess_right
    part = found.part(range(found.size))
    assert len(set(part.contexts)) == found.size
    assert list(part.labels) == task.labels_of(np.array(part.contexts)).tolist()
    assert [context for each in found.parts() for context in each.contexts] == part.contexts


CHANGES: list[dict[str, Any]] = [
    *({"rule": name} for name in ("min", "sum mod 3", "sum mod 03", "sum mod -3", "sum mod 0", "median", "")),
    *({"rule": name} for name in (["max"], 1, f"sum mod 1{'0' * 5000}")),
    {"reads": np.array([0])},
    {"reads": np.array([0, 0, 1])},
    {"reads": np.array([[0, 1]])},
    {"answers": np.array([0, 1])},
    {"answers": np.array([0, 1, -2])},
    {"answers": np.array([0.0, 1.0, 2.0])},
    {"tokens_0": np.array([0, 2, 1])},
    {"tokens_0": np.array([-1, 0, 1])},
    {"tokens_0": np.array([0, 1, 2**31])},
    {"tokens_2": np.array([0])},
    {"steps_1": np.zeros((3, 3), dtype=np.int64)},
    {"steps_1": np.full((3, 3), 7)},
    {"steps_1": np.arange(9).reshape(3, 3)[:2]},
    {"steps_1": np.array([[0, 1], [1, 2], [2, 2]])},
    {"labels": np.array([0])},
]


@pytest.mark.parametrize("change", CHANGES, ids=[str(list(change)) + str(i) for i, change in enumerate(CHANGES)])
def test_what_is_no_rule_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(BadInputError):
        written(tmp_path, TASKS[0], **change)


def test_a_domain_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="2\\^63"):
        parts = task_files.parts(rule_task("max", d_vocab=2, n_ctx=62))
        last = {"tokens_62": parts["tokens_61"], "steps_62": parts["steps_61"], "reads": np.arange(63)}
        task_files.write(tmp_path / "task.safetensors", {**parts, **last}, task="rule")
        read_task(tmp_path)
