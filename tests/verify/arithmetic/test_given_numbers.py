"""What float64 would change is never taken for what it becomes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from constructions.errors import InputError
from verify.arithmetic.elementary import exp
from verify.arithmetic.enclosure import Enclosure, matmul
from verify.arithmetic.products import upper_product
from verify.arithmetic.residuals import residual


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**63 - 1])
def test_integers_that_float64_would_round_are_refused(value: int) -> None:
    with pytest.raises(InputError, match=r"integers beyond 2\*\*53"):
        Enclosure.exact(np.array([value]))


@pytest.mark.parametrize("value", [np.array([1j]), np.array([2**70], dtype=object), np.array(["1"]), np.longdouble(1)])
def test_types_that_float64_does_not_hold_are_refused(value: np.ndarray) -> None:
    with pytest.raises(InputError, match="has dtype"):
        Enclosure.exact(value)


HIDDEN = np.ma.masked_array([1.0, 2.0], mask=[False, True])


@pytest.mark.parametrize("value", [HIDDEN, HIDDEN.astype(np.int64), [HIDDEN, HIDDEN], ([1.0, 2.0], (HIDDEN,))])
def test_masked_arrays_are_refused_wherever_numbers_are_read(value: Any) -> None:
    readers: list[Callable[[], Any]] = [
        lambda: Enclosure(value),
        lambda: Enclosure(np.zeros(2), value),
        lambda: Enclosure(np.zeros(2)) + value,
        lambda: Enclosure.between(value, np.full(2, 9.0)),
        lambda: Enclosure.between(np.zeros(2), value),
        lambda: matmul(value, np.ones((2, 1))),
        lambda: exp(value),
        lambda: upper_product(value, np.ones((2, 1))),
        lambda: residual(np.ones((1, 2)), value, np.ones((1, 1))),
    ]
    for read in readers:
        with pytest.raises(InputError, match="is a masked array or holds one"):
            read()


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", ">f8", ">i4"])
def test_every_exactly_held_type_is_accepted(dtype: str) -> None:
    x = Enclosure.exact(np.array([0, 1, 1], dtype=dtype))
    assert x.midpoint.dtype == np.float64
    assert x.midpoint.dtype.isnative
    assert x.midpoint.tolist() == [0.0, 1.0, 1.0]
