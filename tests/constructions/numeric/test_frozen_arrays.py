import numpy as np
import pytest

from constructions.errors import InputError
from constructions.numeric.frozen_arrays import frozen_copy, frozen_float64


def test_a_frozen_copy_is_in_c_order_and_neither_it_nor_its_source_changes_the_other():
    array = np.arange(6).reshape(2, 3).T
    copy = frozen_copy(array, np.float64)
    array[0, 0] = 9
    assert copy.flags.c_contiguous and copy.dtype == np.float64 and copy[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        copy[0, 0] = 1.0


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones(2, dtype=np.float32), "W_U has dtype float32, expected float64"),
        (np.array([[0.0, 1.0], [np.inf, np.nan]]), r"W_U has the entry inf at \(1, 0\), expected finite numbers"),
        (np.array([-np.inf]), r"W_U has the entry -inf at \(0,\), expected finite numbers"),
    ],
)
def test_what_is_no_array_of_finite_float64_is_refused(array, message):
    with pytest.raises(InputError, match=message):
        frozen_float64("W_U", array)


def test_finite_float64_is_kept_as_it_is():
    array = np.array([-0.0, 5e-324, np.finfo(np.float64).max])
    assert frozen_float64("W_U", array).tobytes() == array.tobytes()


def test_what_nobody_can_write_to_is_shared_and_anything_else_is_copied(tmp_path):
    frozen = frozen_copy(np.arange(6.0).reshape(2, 3))
    assert frozen_float64("W_U", frozen) is frozen and np.shares_memory(frozen_float64("W_U", frozen[1:]), frozen)
    seen = np.arange(6.0)
    view = seen[:3]
    view.setflags(write=False)
    np.save(tmp_path / "a.npy", seen)
    for array in (seen, view, frozen.T, np.load(tmp_path / "a.npy", mmap_mode="r")):
        kept = frozen_float64("W_U", array)
        assert not np.shares_memory(kept, array) and np.array_equal(kept, array) and not kept.flags.writeable
