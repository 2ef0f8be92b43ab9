"""Contexts and queries from a file, read strictly."""

import json

import numpy as np
import pytest

from constructions.errors import FileFormatError, InputError
from constructions.named.context_arrays import read_contexts


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8, np.uint16, np.int64])
def test_numbers_are_read_as_what_they_are(tmp_path, dtype):
    np.savez(
        tmp_path / "a.npz", contexts=np.arange(12).reshape(2, 2, 3).astype(dtype), queries=np.eye(2, 3, dtype=dtype)
    )
    contexts, queries = read_contexts(tmp_path / "a.npz")
    assert contexts.dtype == queries.dtype == np.float64
    assert contexts.tolist() == np.arange(12.0).reshape(2, 2, 3).tolist() and queries.tolist() == np.eye(2, 3).tolist()


@pytest.mark.parametrize("value", [np.longdouble(1), 1j, "1", np.int64(2**53 + 1)])
def test_types_that_float64_does_not_hold_are_refused(tmp_path, value):
    np.savez(tmp_path / "a.npz", contexts=np.full((1, 1), value), queries=np.ones((1, 1)))
    with pytest.raises(InputError, match="contexts"):
        read_contexts(tmp_path / "a.npz")


def test_objects_and_single_arrays_are_no_data(tmp_path):
    np.savez(tmp_path / "a.npz", contexts=np.array([None], dtype=object), queries=np.ones((1, 1)))
    with pytest.raises(FileFormatError):
        read_contexts(tmp_path / "a.npz")
    np.save(tmp_path / "b.npy", np.ones(3))
    with pytest.raises(FileFormatError, match="single array"):
        read_contexts(tmp_path / "b.npy")


def test_empty_queries_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", contexts=np.ones((1, 2)), queries=np.ones((0, 2)))
    with pytest.raises(InputError, match="queries has shape"):
        read_contexts(tmp_path / "a.npz")


def test_lists_of_json_are_the_same_arrays(tmp_path):
    contexts, queries = [[0.1, 2, -3e-5]], [[1, 0, 0.25], [2, 1, 0]]
    (tmp_path / "a.json").write_text(json.dumps({"contexts": contexts, "queries": queries}))
    found = read_contexts(tmp_path / "a.json")
    assert [each.tolist() for each in found] == [[contexts], queries]


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("[", FileFormatError, "not readable JSON"),
        ("[1]", FileFormatError, "not a JSON object"),
        ('{"contexts": [[1]]}', FileFormatError, "expected contexts and queries"),
        (
            '{"contexts": [[1], [1, 2]], "queries": [[1]]}',
            InputError,
            r"^contexts\[1\] is a list of length 2, expected a list of length 1, as contexts\[0\] is$",
        ),
        (
            '{"contexts": [[1, [2]]], "queries": [[1]]}',
            InputError,
            r"^contexts\[0\]\[1\] is a list of length 1",
        ),
        (
            '{"contexts": [[1]], "queries": [[1], 2]}',
            InputError,
            r"^queries\[1\] is not a list, expected a list",
        ),
        ('{"contexts": [["a"]], "queries": [[1]]}', InputError, "contexts has dtype"),
        ('{"contexts": [[true]], "queries": [[1]]}', InputError, "contexts has dtype"),
        ('{"contexts": [[NaN]], "queries": [[1]]}', InputError, "contexts has the entry nan"),
        ('{"contexts": [[1, 2]], "queries": [[1]]}', InputError, "contexts has shape"),
    ],
)
def test_json_of_anything_else_is_refused(content, error, message, tmp_path):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(error, match=message):
        read_contexts(tmp_path / "a.json")
