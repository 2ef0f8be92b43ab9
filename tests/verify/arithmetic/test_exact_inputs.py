"""What float64 would change is never taken for what it becomes."""

from collections import deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import fmpq, fmpz
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from verify.arithmetic.elementary import exp, log, log1p
from verify.arithmetic.enclosure import Enclosure, enclosure, largest, matmul, maximum, sqrt
from verify.arithmetic.exact_inputs import as_float64, exact_array, nearest
from verify.arithmetic.sums import lower_sum, total, upper_sum

LARGE = 2**53 + 1
FRAME = type(
    "Frame", (), {"__array__": lambda self, dtype=None, copy=None: np.array([LARGE, 0.5], dtype=dtype or "f8")}
)
# Numbers that float64 does not hold, in every disguise in which NumPy would round them in silence or refuse them.
NOT_HELD: dict[str, Callable[[], Any]] = {
    "integers": lambda: np.array([LARGE]),
    "negative integers": lambda: np.array([-LARGE]),
    "the largest integer": lambda: np.array([2**63 - 1]),
    "unsigned integers": lambda: np.array([2**64 - 1], dtype=np.uint64),
    "an integer": lambda: LARGE,
    "an integer of NumPy": lambda: np.int64(LARGE),
    "an integer beside a float": lambda: [LARGE, 0.5],
    "a negative integer beside a float": lambda: [[0.5], [-LARGE]],
    "an integer in a tuple": lambda: ((LARGE, 0.5),),
    "an integer in a deque": lambda: deque([LARGE, 0.5]),
    "unsigned and signed integers": lambda: [np.uint64(2**63 + 1), np.int64(-1)],
    "arrays of unsigned and signed integers": lambda: [np.array([2**63 + 1], dtype="u8"), np.array([-1])],
    "arrays of integers and floats": lambda: [np.array([LARGE]), np.array([0.5])],
    "an array of no dimension beside a float": lambda: [np.array(LARGE), 0.5],
    "half precision beside an integer": lambda: [np.float16(0.5), LARGE],
    "an integer, a float and a boolean": lambda: [True, LARGE, 0.5],
    "what is beyond the range": lambda: [10**400, 0.5],
    "a fraction": lambda: Fraction(1, 3),
    "fractions": lambda: [Fraction(1, 3), 1],
    "what FLINT holds": lambda: [fmpz(LARGE), fmpq(1, 2)],
    "an array of objects": lambda: np.array([LARGE, 0.5], dtype=object),
    "what is an array when asked": FRAME,
    "extended precision beside a float": lambda: [np.longdouble(LARGE) / 7, 0.5],
    "extended precision among objects": lambda: np.array([np.longdouble(1) / 3], dtype=object),
}
NOT_NUMBERS: dict[str, Callable[[], Any]] = {
    "complex": lambda: np.array([1j]),
    "text": lambda: np.array(["1"]),
    "text beside a number": lambda: ["1", 2],
    "bytes": lambda: b"1",
    "extended precision": lambda: np.longdouble(1),
    "decimals": lambda: [Decimal("0.5")],
    "nothing": lambda: [None, 1.0],
    "a ragged list": lambda: [[1.0], [1.0, 2.0]],
    "dates": lambda: np.array(["2000-01-01"], dtype="M8[D]"),
    "records": lambda: np.array([(1.0, 2.0)], dtype=[("x", "f8"), ("y", "f8")]),
    "NaN beside a large integer": lambda: [LARGE, float("nan")],
    "a set": lambda: {1.0, 2.0},
}
MASKED: dict[str, Callable[[], Any]] = {
    "an array": lambda: HIDDEN,
    "integers": lambda: HIDDEN.astype(np.int64),
    "a list": lambda: [HIDDEN, HIDDEN],
    "a list in a tuple": lambda: ([1.0, 2.0], (HIDDEN,)),
    "a deque": lambda: deque([HIDDEN, HIDDEN]),
}
HIDDEN = np.ma.masked_array([1.0, 2.0], mask=[False, True])
READERS: dict[str, Callable[[Any], Any]] = {
    "the midpoint": Enclosure,
    "exactly": Enclosure.exact,
    "the radius": lambda x: Enclosure(np.zeros(2), x),
    "the lower end": lambda x: Enclosure.between(x, np.inf),
    "the upper end": lambda x: Enclosure.between(-np.inf, x),
    "+": lambda x: Enclosure(1.0) + x,
    "-": lambda x: x - Enclosure(1.0) if isinstance(x, list) else Enclosure(1.0) - x,
    "*": lambda x: Enclosure(1.0) * x,
    "/": lambda x: Enclosure(1.0) / x,
    "@": lambda x: Enclosure(np.ones((1, 2))) @ x,
    "matmul": lambda x: matmul([[1.0]], x),
    "exp": exp,
    "log": log,
    "log1p": log1p,
    "sqrt": sqrt,
    "maximum": lambda x: maximum(1.0, x),
    "largest": lambda x: largest(x, 0),
    "total": total,
    "upper_sum": upper_sum,
    "lower_sum": lower_sum,
    "enclosure": enclosure,
}


# Where NumPy's longest float is float64 itself, float64 holds it.
if np.dtype(np.longdouble).itemsize == 8:
    for kind in ("extended precision beside a float", "extended precision among objects"):
        del NOT_HELD[kind]
    del NOT_NUMBERS["extended precision"]


@pytest.mark.parametrize("reader", READERS)
def test_a_number_that_float64_would_round_is_refused_wherever_numbers_are_read(reader: str) -> None:
    for made in NOT_HELD.values():
        with pytest.raises(InputError, match=r"has the entry .*expected numbers that float64 holds exactly"):
            READERS[reader](made())


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_real_number_is_refused_wherever_numbers_are_read(reader: str) -> None:
    for made in NOT_NUMBERS.values():
        with pytest.raises(
            InputError, match=r"has dtype|is not a rectangular array|expected a finite real number|is a "
        ):
            READERS[reader](made())


@pytest.mark.parametrize("reader", READERS)
def test_masked_arrays_are_refused_wherever_numbers_are_read(reader: str) -> None:
    for made in MASKED.values():
        with pytest.raises(InputError, match="is a masked array or holds one"):
            READERS[reader](made())


def test_what_float64_holds_is_read_exactly_in_every_disguise() -> None:
    for x, expected in (
        ([2**53, 0.5], [2.0**53, 0.5]),
        ([2**60, 0.5], [2.0**60, 0.5]),
        (np.array([2**60, -(2**63)]), [2.0**60, -(2.0**63)]),
        (np.array([2**63, 1], dtype=np.uint64), [2.0**63, 1.0]),
        ([Fraction(3, 8), fmpq(1, 4), fmpz(2) ** 70, True], [0.375, 0.25, 2.0**70, 1.0]),
        (np.array([1, 0.5, np.float32(0.1), np.bool_(True)], dtype=object), [1.0, 0.5, float(np.float32(0.1)), 1.0]),
        ([np.longdouble(0.5), 1], [0.5, 1.0]),
        ([np.float16(0.1), 2049], [float(np.float16(0.1)), 2049.0]),
        ([np.float32(0.1), np.int32(2**24 + 1)], [float(np.float32(0.1)), 2.0**24 + 1]),
        ([np.array(0.5), 1.0], [0.5, 1.0]),
        (range(3), [0.0, 1.0, 2.0]),
        (deque([1, 0.5]), [1.0, 0.5]),
        (np.array([[1, 2]]).view(type("Subclass", (np.ndarray,), {})), [[1.0, 2.0]]),
        (-0.0, -0.0),
    ):
        found = Enclosure(x)
        assert found.midpoint.tolist() == expected
        assert np.signbit(found.midpoint).tolist() == np.signbit(expected).tolist()
        assert found.is_exact()


def test_infinities_and_nan_are_no_information_beside_small_integers() -> None:
    assert Enclosure([1, float("nan"), float("inf")]).radius.tolist() == [0.0, np.inf, np.inf]


def test_an_array_of_float64_is_not_copied() -> None:
    x = np.ones(3)
    assert np.shares_memory(as_float64(x, "x"), x)


@pytest.mark.parametrize(
    ("number", "said"),
    [(LARGE, "x has the entry 9007199254740993, "), (10**400, "x has the entry of 1329 bits over 1, ")],
)
def test_the_error_names_the_argument_and_the_number(number: int, said: str) -> None:
    with pytest.raises(InputError, match=said):
        as_float64([0.5, number], "x")


NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.integers(2**53 - 3, 2**53 + 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.fractions(),
    st.booleans(),
    st.floats(width=16, allow_nan=False, allow_infinity=False).map(np.float16),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(np.float32),
    st.integers(-(2**63), 2**63 - 1).map(np.int64),
    st.integers(0, 2**64 - 1).map(np.uint64),
)


def exactly(number: Any) -> Fraction:
    return Fraction(*number.as_integer_ratio()) if isinstance(number, float | np.floating) else Fraction(int(number))


@given(st.lists(NUMBERS, min_size=1, max_size=5))
def test_lists_of_any_numbers_are_kept_exactly_or_refused(x: list[Any]) -> None:
    exact = [v if isinstance(v, Fraction) else exactly(v) for v in x]
    assert [Fraction(v) for v in exact_array(x, "x").tolist()] == exact
    middle, radius = nearest(np.array(exact, dtype=object))
    assert all(
        r == np.inf or abs(Fraction(m) - v) <= Fraction(r)
        for m, r, v in zip(middle.tolist(), radius.tolist(), exact, strict=True)
    )
    try:
        found = as_float64(x, "x")
    except InputError:
        assert radius.any()
    else:
        assert not radius.any()
        assert [Fraction(v) for v in found.tolist()] == exact


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", ">f8", ">i4"])
def test_every_exactly_memorized_type_is_accepted(dtype: str) -> None:
    x = Enclosure.exact(np.array([0, 1, 1], dtype=dtype))
    assert x.midpoint.dtype == np.float64
    assert x.midpoint.dtype.isnative
    assert x.midpoint.tolist() == [0.0, 1.0, 1.0]
