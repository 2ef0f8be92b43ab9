import inspect

import pytest

from verify.forward.arithmetic import Arithmetic, Numbers
from verify.forward.in_balls import InBalls
from verify.forward.in_double_double import InDoubleDouble
from verify.forward.in_float64 import InFloat64
from verify.forward.in_rationals import InRationals
from verify.forward.rows.row_balls import InRowBalls
from verify.forward.rows.row_ellipsoids import InRowEllipsoids


def operations(protocol: type) -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(value)
        for name, value in vars(protocol).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }


@pytest.mark.parametrize("arithmetic", [InRowBalls, InRowEllipsoids, InBalls, InRationals])
def test_every_arithmetic_has_every_operation_of_a_block(arithmetic: type) -> None:
    needed = operations(Arithmetic)
    assert len(needed) > 15
    for name, signature in needed.items():
        own = inspect.signature(getattr(arithmetic, name))
        assert len(own.parameters) == len(signature.parameters), name


@pytest.mark.parametrize("numbers", [InFloat64, InDoubleDouble])
def test_every_format_has_every_operation_of_numbers(numbers: type) -> None:
    needed = operations(Numbers)
    assert "linear" in needed
    assert [name for name in needed if not callable(getattr(numbers, name, None))] == []
