"""What is written as code makes the same values again, to the last bit."""

import subprocess
import sys
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from flint import fmpq, fmpq_mat, fmpz
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing import as_code, dana_instances, mahdavi_instances, sizes, tasks
from byheart.testing.strategies import front_ends, hostile_matrices, models, near_singular, transformers
from verify.verdict import Verdict


class Pair(NamedTuple):
    left: int
    right: float


def made_by(code):
    namespace = {}
    exec(code, namespace)
    return namespace


def same(left, right):
    """Whether two values are equal, of one type, and floats bit for bit."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray):
        if left.dtype == object:
            return left.shape == right.shape and all(map(same, left.ravel().tolist(), right.ravel().tolist()))
        return (left.dtype, left.shape, left.tobytes()) == (right.dtype, right.shape, right.tobytes())
    if is_dataclass(left):
        return all(same(getattr(left, field.name), getattr(right, field.name)) for field in fields(left))
    if isinstance(left, tuple | list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float):
        return left.hex() == right.hex()
    return left == right


SIZED = sizes(min_n_heads=1)


@given(
    value=st.one_of(
        SIZED,
        dana_instances(),
        mahdavi_instances(),
        models(),
        models(hostile=True),
        models(rational=True),
        SIZED.flatmap(lambda size: transformers(size=size, hostile=True)),
        SIZED.flatmap(lambda size: front_ends(size=size)),
        tasks(d_vocab=3, n_ctx=2),
        tasks(d_vocab=3, n_ctx=2, target="distributions", answers=2),
        hostile_matrices(rows=2, columns=3),
        near_singular(rows=3),
        st.floats(),
        st.lists(st.fractions()),
    )
)
def test_what_the_strategies_draw_is_made_again(value):
    assert same(made_by(as_code(value=value))["value"], value)


@pytest.mark.parametrize(
    "value",
    [
        np.zeros((2, 0)),
        np.array(3.0),
        np.array([[True, False]]),
        np.array([0.1, np.inf, -0.0, 5e-324], dtype=np.float32),
        np.array([fmpq(1, 3), Fraction(2, 7), 2**70], dtype=object),
        np.float64(0.1),
        np.float32(-np.inf),
        np.int64(-3),
        np.bool(True),
        fmpq(-5, 7),
        fmpz(2**80),
        fmpq_mat(2, 1, [fmpq(1, 2), 3]),
        Pair(1, float("inf")),
        Verdict.UNDECIDED,
        (1,),
        (),
        [],
        set(),
        {1, 2},
        frozenset({3}),
        {"a": [None, Fraction(-1, 3)], (1, 2): -0.0},
        "two\nlines",
    ],
    ids=repr,
)
def test_values_of_every_kind_are_made_again(value):
    assert same(made_by(as_code(value=value))["value"], value)


def test_nan_is_made_again():
    assert np.isnan(made_by(as_code(value=[float("nan"), np.array([np.nan])]))["value"][1]).all()


def test_the_code_needs_nothing_but_itself():
    code = as_code(matrix=np.array([[0.1]]), ratio=Fraction(1, 3))
    subprocess.run([sys.executable, "-c", f"{code}\nassert matrix[0, 0] + ratio > 0.4"], check=True)


def test_no_line_of_small_parts_is_too_long_to_read():
    code = as_code(matrix=np.arange(60.0).reshape(6, 10), names=["a" * 20] * 12)
    assert max(map(len, code.splitlines())) < 110
