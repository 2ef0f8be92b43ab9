from pathlib import Path

import numpy as np
import pytest

from constructions.errors import FileFormatError
from constructions.tasks.rule import RuleTask, rule_task
from constructions.tasks.stored import read_stored
from constructions.tasks.table import table_task
from constructions.tasks.task import Task


def test_a_task_is_read_back_with_its_hash_and_its_bytes(tmp_path: Path) -> None:
    task, again = table_task("a,b,x\nb,a,y\n", target="labels"), tmp_path / "again.safetensors"
    task.save(tmp_path / "task.safetensors")
    found = Task.load(tmp_path / "task.safetensors")
    found.save(again)
    assert found.sha256() == task.sha256() and again.read_bytes() == (tmp_path / "task.safetensors").read_bytes()
    kind, words, arrays = read_stored(again)
    assert kind == "tokens" and "version" not in words and all(array.dtype.itemsize == 8 for array in arrays.values())


def test_another_kind_of_task_is_refused_by_name(tmp_path: Path) -> None:
    rule_task("max", d_vocab=3, n_ctx=2).save(tmp_path / "task")
    assert isinstance(RuleTask.load(tmp_path / "task"), RuleTask)
    with pytest.raises(FileFormatError, match="a task of rule, expected one of tokens"):
        Task.load(tmp_path / "task")


def test_a_file_of_another_version_or_of_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "task"
    table_task("a,x\nb,y\n", target="labels").save(path)
    data = path.read_bytes()
    spoilt = data.replace(b'\\"version\\":4', b'\\"version\\":2')
    assert spoilt != data
    path.write_bytes(spoilt)
    with pytest.raises(FileFormatError, match="version 2, expected"):
        Task.load(path)
    np.savez(tmp_path / "old.npz", contexts=np.zeros((1, 1)))
    with pytest.raises(FileFormatError):
        Task.load(tmp_path / "old.npz")
