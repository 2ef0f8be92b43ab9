"""Files of tensors: one form, and everything else is refused."""

import json

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from constructions.errors import FileFormatError
from constructions.formats.files import canonical_json
from constructions.formats.tensor_file import arrays_sha256, load_tensors, save_tensors, tensor_bytes

METADATA = {"version": 1}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.safetensors"
    save_tensors(path, {"A": np.arange(6.0).reshape(2, 3), "B": np.ones(2)}, metadata=METADATA)
    return path


def load(path):
    metadata, tensors = load_tensors(path)
    assert metadata == METADATA
    return tensors


def test_tensors_come_back_as_they_were(path):
    tensors = load(path)
    assert tensors["A"].tolist() == [[0, 1, 2], [3, 4, 5]] and tensors["B"].tolist() == [1, 1]


def test_equal_tensors_give_equal_bytes(path, tmp_path):
    again = tmp_path / "b.safetensors"
    save_tensors(again, load(path), metadata=METADATA)
    assert again.read_bytes() == path.read_bytes()


def test_a_file_has_the_bytes_that_are_told_without_one_and_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    tensors = {"A": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "b": np.ones(0)}
    save_tensors(tmp_path / "a.safetensors", tensors, metadata=METADATA)
    assert (tmp_path / "a.safetensors").read_bytes() == tensor_bytes(tensors, metadata=METADATA)

    def full(*_, **__):
        raise safetensors.SafetensorError("no space left on device")

    monkeypatch.setattr("safetensors.numpy.save_file", full)
    with pytest.raises(OSError, match="no space left"):
        save_tensors(tmp_path / "b.safetensors", tensors, metadata=METADATA)
    assert [each.name for each in tmp_path.iterdir()] == ["a.safetensors"]


@pytest.mark.parametrize("metadata", [None, {"byheart": '{"version": 1}'}, {"byheart": "{}", "more": ""}, {"pt": "1"}])
def test_metadata_that_are_not_one_canonical_text_are_refused(path, metadata):
    path.write_bytes(safetensors.numpy.save({"A": np.ones(2)}, metadata=metadata))
    with pytest.raises(FileFormatError, match="metadata"):
        load(path)


def test_another_dtype_is_refused(path):
    tensors = {"A": np.ones(2, dtype=np.float32), "B": np.ones(2)}
    path.write_bytes(safetensors.numpy.save(tensors, metadata={"byheart": canonical_json(METADATA)}))
    with pytest.raises(FileFormatError, match="F64"):
        load(path)


def test_every_truncation_is_refused(path):
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(FileFormatError):
            load(path)


def test_missing_files_and_folders_are_refused(tmp_path):
    for place in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(FileFormatError):
            load(place)


def with_header(path, change):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    text = change(data[8 : 8 + size].decode())
    path.write_bytes(len(text).to_bytes(8, "little") + text.encode() + data[8 + size :])


def test_a_repeated_name_is_refused(path):
    with_header(path, lambda text: text.rstrip()[:-1] + ',"B":' + json.dumps(json.loads(text)["B"]) + "}")
    with pytest.raises(FileFormatError, match="repeats"):
        load(path)


def test_an_unknown_field_is_refused(path):
    def change(text):
        header = json.loads(text)
        header["B"]["more"] = 1
        return json.dumps(header)

    with_header(path, change)
    with pytest.raises(FileFormatError):
        load(path)


NUMBERS = arrays.arrays(st.sampled_from(["<f8", "<i8", "<i4"]), arrays.array_shapes(min_dims=0, max_dims=3, min_side=0))


@given(st.dictionaries(st.sampled_from("abc"), NUMBERS, min_size=1))
def test_arrays_of_any_shape_come_back_as_they_were(tmp_path_factory, given_arrays):
    path = tmp_path_factory.mktemp("arrays") / "a"
    save_tensors(path, given_arrays, metadata=METADATA)
    _, read = load_tensors(path, dtypes=("F64", "I64", "I32"))
    assert set(read) == set(given_arrays)
    for name, array in given_arrays.items():
        assert read[name].dtype == array.dtype and read[name].shape == array.shape
        assert read[name].tobytes() == array.tobytes()


def test_the_hash_depends_on_head_names_shapes_and_entries():
    one = np.arange(4.0)
    cases = [
        ([], {"a": one}),
        ([0], {"a": one}),
        ([], {"b": one}),
        ([], {"a": one.reshape(2, 2)}),
        ([], {"a": one[:3]}),
        ([], {"a": one, "b": one}),
        ([], {"a": -one}),
    ]
    assert len({arrays_sha256(head, given_arrays) for head, given_arrays in cases}) == len(cases)
    assert arrays_sha256([], {"a": one}) == arrays_sha256([], {"a": one.astype(">f8")})
