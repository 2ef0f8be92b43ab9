"""The files as the independent checker reads them: the same as numpy and safetensors do."""

import io

import numpy as np
import pytest

from constructions.errors import FileFormatError
from tests.memories import memory, random_task
from verify.independent.plain_arrays import _ARRAY_HEADER, _written, read_npz
from verify.independent.plain_model import PlainModel
from verify.independent.plain_task import PlainTask


@pytest.mark.parametrize("target", ["laws", "labels"])
def test_task_and_network_are_read_and_hashed_alike(tmp_path, target):
    task = random_task(target=target)
    network = memory(task)
    task.save(tmp_path / "task.npz")
    network.save(tmp_path / "model.safetensors")
    plain_task, plain_network = PlainTask.read(tmp_path / "task.npz"), PlainModel.read(tmp_path / "model.safetensors")
    assert plain_task.sha256 == task.sha256() and plain_network.sha256 == network.sha256()
    for name in ("d_model", "d_vocab", "n_ctx", "d_vocab_out", "parameters"):
        assert getattr(plain_network, name) == getattr(network, name)
    modes = task.modes()
    assert all(plain_task.modes(i) == set(np.flatnonzero(modes[i]).tolist()) for i in range(task.n_contexts))


def test_arrays_are_those_that_numpy_wrote(tmp_path):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([-1, 2]), "c": np.array(["é", "zz"])}
    np.savez(tmp_path / "x.npz", **arrays)
    plain = read_npz(tmp_path / "x.npz")
    assert set(plain) == set(arrays)
    assert [list(plain["a"].row(i)) for i in range(2)] == arrays["a"].tolist()


@pytest.mark.parametrize("array", [np.zeros(3, dtype=">f8"), np.zeros(2, dtype=np.float32), np.zeros((2, 2))])
def test_other_types_are_refused_where_numpy_would_convert_them(tmp_path, array):
    np.savez(tmp_path / "x.npz", a=array if array.flags.c_contiguous and array.ndim == 1 else np.asfortranarray(array))
    with pytest.raises(FileFormatError, match=r"x\.npz"):
        read_npz(tmp_path / "x.npz")


@pytest.mark.parametrize("shape", [(), (1,), (0,), (0, 3), (10**6,), (2, 3, 4), (10**9, 0), (1,) * 30])
@pytest.mark.parametrize("kind", ["<i4", "<i8", "<f8", "<U1", "<U123"])
def test_the_header_of_an_array_is_the_one_that_numpy_writes(kind, shape):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": kind, "fortran_order": False, "shape": shape})
    header = buffer.getvalue()[10:]
    assert _written(kind, shape) == header
    assert _ARRAY_HEADER.fullmatch(header)


def test_whatever_goes_wrong_while_a_file_is_read_is_a_wrong_file(tmp_path, monkeypatch):
    random_task().save(tmp_path / "task.npz")
    memory(random_task()).save(tmp_path / "model.safetensors")
    for error in (MemoryError(), RecursionError(), SystemError("no"), ZeroDivisionError()):

        def fail(*_, error=error):
            raise error

        monkeypatch.setattr("verify.independent.plain_arrays._entries", fail)
        for read, name in ((PlainTask.read, "task.npz"), (PlainModel.read, "model.safetensors")):
            with pytest.raises(FileFormatError, match=type(error).__name__):
                read(tmp_path / name)
