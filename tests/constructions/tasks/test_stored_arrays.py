"""A file of arrays has one meaning, and a hash that no other file has."""

import io
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from constructions.errors import FileFormatError
from constructions.tasks.stored_arrays import arrays_sha256, read_stored_arrays, save_arrays

NUMBERS = arrays.arrays(st.sampled_from(["<f8", "<i8"]), arrays.array_shapes(min_dims=0, max_dims=3, min_side=0))


@given(st.dictionaries(st.sampled_from("abc"), NUMBERS, min_size=1))
def test_what_was_written_is_read_and_equal_arrays_give_equal_bytes(tmp_path_factory, given_arrays):
    folder = tmp_path_factory.mktemp("arrays")
    for name in ("first", "again"):
        save_arrays(folder / name, given_arrays)
    assert (folder / "first").read_bytes() == (folder / "again").read_bytes()
    read = read_stored_arrays(folder / "first")
    assert list(read) == list(given_arrays)
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


def _archive(data, *, compression=zipfile.ZIP_STORED, comment=b""):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        archive.writestr("a.npy", data)
        archive.comment = comment
    return buffer.getvalue()


def _npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


GOOD = _npy(np.arange(3.0))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "member"),
        (_archive(GOOD, compression=zipfile.ZIP_DEFLATED), "compressed"),
        (_archive(GOOD, comment=b"more"), "goes on"),
        (b"0" + _archive(GOOD), "member"),
        (_archive(GOOD[:-8]), "bytes"),
        (_archive(GOOD + b"0" * 8), "bytes"),
        (_archive(_npy(np.arange(3.0, dtype=">f8"))), "stored as"),
        (_archive(_npy(np.arange(3, dtype=np.int32))), "stored as"),
        (_archive(_npy(np.asfortranarray(np.ones((2, 3))))), "C order"),
        (_archive(_npy(np.array(["a"])).replace(b"a\0\0\0", b"\0\xd8\0\0")), "characters"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path, data, reason):
    path = tmp_path / "task.npz"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=reason):
        read_stored_arrays(path)
