"""Rounding to the types of files: once, to nearest, and refused beyond the range."""

import tracemalloc

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from byheart.hosts.number_types import DTYPES, read_tensors, rounded_to, stored_bytes, write_tensors
from constructions.errors import FileFormatError, InputError

finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-3e38, max_value=3e38)


def bfloat16s():
    """All numbers of the type, positive ones first, as float64."""
    bits = np.arange(0x7F80, dtype="<u4") << 16
    return bits.view("<f4").astype(np.float64)


@given(st.lists(finite, min_size=1, max_size=20))
def test_bfloat16_is_the_nearest_of_all_its_numbers(values):
    numbers, given_values = bfloat16s(), np.array(values)
    found = rounded_to("A", given_values, "bfloat16")
    for value, rounded in zip(given_values, found, strict=True):
        place = int(np.searchsorted(numbers, abs(value)))
        near = numbers[max(place - 1, 0) : place + 1]
        distances = np.abs(near - abs(value))
        assert abs(rounded) in near and abs(abs(rounded) - abs(value)) == distances.min()
        if len(near) == 2 and distances[0] == distances[1]:
            assert int(np.float32(abs(rounded)).view("<u4") >> 16) % 2 == 0


def test_a_value_just_above_the_middle_is_not_rounded_twice():
    above = 1.0 + 2.0**-8 + 2.0**-40  # float32 would make it the middle, and the middle goes to the even 1
    assert rounded_to("A", np.array([above]), "bfloat16").item() == 1.0 + 2.0**-7


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_rounded_array_is_a_fixed_point_and_survives_a_file(dtype, tmp_path):
    values = np.random.default_rng(0).standard_normal((3, 4)) * 2.0 ** np.arange(-12, 0).reshape(3, 4)
    rounded = rounded_to("A", values, dtype)
    assert np.array_equal(rounded, rounded_to("A", rounded, dtype))
    assert (dtype == "float64") == np.array_equal(rounded, values)
    write_tensors(tmp_path / "a", {"A": rounded, "B": rounded[0]}, dtype=dtype, metadata={"format": "pt"})
    tensors, texts = read_tensors(tmp_path / "a")
    assert texts == {"format": "pt"} and set(tensors) == {"A", "B"}
    assert np.array_equal(tensors["A"], rounded) and np.array_equal(tensors["B"], rounded[0])
    with safetensors.safe_open(tmp_path / "a", framework="np") as file:
        assert set(file.keys()) == {"A", "B"} and file.metadata() == texts


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_the_library_reads_the_same_numbers(dtype, tmp_path):
    values = rounded_to("A", np.random.default_rng(0).standard_normal((2, 5)), dtype)
    write_tensors(tmp_path / "a", {"A": values}, dtype=dtype, metadata={})
    found = safetensors.numpy.load_file(tmp_path / "a")["A"]
    assert found.dtype == dtype and np.array_equal(found, values)


def test_torch_reads_the_same_numbers_of_bfloat16(tmp_path):
    torch = pytest.importorskip("torch")
    load_file = pytest.importorskip("safetensors.torch").load_file
    values = rounded_to("A", np.random.default_rng(0).standard_normal((2, 5)), "bfloat16")
    write_tensors(tmp_path / "a", {"A": values}, dtype="bfloat16", metadata={})
    found = load_file(tmp_path / "a")["A"]
    assert found.dtype == torch.bfloat16 and np.array_equal(found.double().numpy(), values)


@pytest.mark.parametrize(("dtype", "value"), [("float32", 1e39), ("float16", 65520.0), ("bfloat16", 3.4e38)])
def test_what_is_beyond_the_range_is_refused(dtype, value):
    with pytest.raises(InputError, match=rf"W_U has the entry .* at \(1,\), beyond the range of {dtype}"):
        rounded_to("W_U", np.array([0.0, value]), dtype)


def test_bytes_are_little_endian():
    assert stored_bytes(np.array([1.0]), "float16") == b"\x00\x3c"
    assert stored_bytes(np.array([1.0]), "bfloat16") == b"\x80\x3f"


def test_other_types_of_tensors_are_refused(tmp_path):
    safetensors.numpy.save_file({"A": np.arange(3)}, tmp_path / "a")
    with pytest.raises(FileFormatError, match="A has the type I64, expected one of F64, F32, F16, BF16"):
        read_tensors(tmp_path / "a")


def test_a_truncated_file_is_refused(tmp_path):
    safetensors.numpy.save_file({"A": np.ones(3)}, tmp_path / "a")
    (tmp_path / "a").write_bytes((tmp_path / "a").read_bytes()[:-1])
    with pytest.raises(FileFormatError, match="is not a readable file of safetensors"):
        read_tensors(tmp_path / "a")


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_a_file_is_written_one_tensor_after_the_other(dtype, tmp_path):
    tensors = {f"A{i}": np.full((64, 1024), float(i)) for i in range(32)}
    tracemalloc.start()
    write_tensors(tmp_path / "a", tensors, dtype=dtype, metadata={})
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 4 * tensors["A0"].nbytes < (tmp_path / "a").stat().st_size
