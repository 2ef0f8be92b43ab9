"""The files as the independent checker reads them: the same as numpy and safetensors do."""

import numpy as np
import pytest

from constructions.errors import FileFormatError
from constructions.tensor_file import save_tensors
from tests.memories import memory, random_task
from verify.independent.plain.plain_arrays import read_safetensors
from verify.independent.plain.plain_model import PlainModel
from verify.independent.plain.plain_task import PlainTask


@pytest.mark.parametrize("target", ["laws", "labels"])
def test_task_and_network_are_read_and_hashed_alike(tmp_path, target):
    task = random_task(target=target)
    network = memory(task)
    task.save(tmp_path / "task.safetensors")
    network.save(tmp_path / "model.safetensors")
    plain_task, plain_network = (
        PlainTask.read(tmp_path / "task.safetensors"),
        PlainModel.read(tmp_path / "model.safetensors"),
    )
    assert plain_task.sha256 == task.sha256() and plain_network.sha256 == network.sha256()
    for name in ("d_model", "d_vocab", "n_ctx", "d_vocab_out", "parameters"):
        assert getattr(plain_network, name) == getattr(network, name)
    modes = task.modes()
    assert all(plain_task.modes(i) == set(np.flatnonzero(modes[i]).tolist()) for i in range(task.n_contexts))


def test_tensors_are_those_that_safetensors_wrote(tmp_path):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([-1, 2]), "c": np.array([3, -4], np.int32)}
    arrays |= {"d": np.array(0.5), "e": np.zeros((0, 3))}
    save_tensors(tmp_path / "x", arrays, metadata={})
    _, plain = read_safetensors(tmp_path / "x", ("F64", "I64", "I32"))
    assert {name: (found.shape, list(found.values)) for name, found in plain.items()} == {
        name: (array.shape, array.ravel().tolist()) for name, array in arrays.items()
    }
    assert [list(plain["a"].row(i)) for i in range(2)] == arrays["a"].tolist()
    with pytest.raises(FileFormatError, match="F64"):
        read_safetensors(tmp_path / "x")


def test_whatever_goes_wrong_while_a_file_is_read_is_a_wrong_file(tmp_path, monkeypatch):
    random_task().save(tmp_path / "task.safetensors")
    memory(random_task()).save(tmp_path / "model.safetensors")
    for error in (MemoryError(), RecursionError(), SystemError("no"), ZeroDivisionError()):

        def fail(*_, error=error):
            raise error

        monkeypatch.setattr("verify.independent.plain.plain_arrays._entries", fail)
        for read, name in ((PlainTask.read, "task.safetensors"), (PlainModel.read, "model.safetensors")):
            with pytest.raises(FileFormatError, match=type(error).__name__):
                read(tmp_path / name)
