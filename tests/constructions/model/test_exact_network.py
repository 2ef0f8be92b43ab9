"""Rational weights: shapes, roundings, and the conversion of numbers."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import fmpq, fmpq_mat, fmpz
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.exact_network import (
    ExactFrontEnd,
    as_floats,
    as_rationals,
    exact_front_end,
    exact_network,
    rounded,
)
from constructions.model.model import Model
from tests.constructions.rational_front_ends import Network, rational_networks


def matrix(rows: int, columns: int) -> fmpq_mat:
    return fmpq_mat(rows, columns, list(range(1, rows * columns + 1)))


def parts(**changes: object) -> dict:
    heads = {"W_Q": (matrix(2, 1),) * 2, "W_K": (matrix(2, 1),) * 2, "W_V": (matrix(2, 2),) * 2}
    return {"W_E": matrix(3, 2), "W_pos": matrix(4, 2), **heads, **changes}


def test_a_front_end_knows_its_sizes() -> None:
    front_end = ExactFrontEnd(**parts())
    sizes = front_end.d_vocab, front_end.n_ctx, front_end.d_model, front_end.n_heads, front_end.d_head
    assert sizes == (3, 4, 2, 2, 2)


def test_without_heads_there_is_no_width_of_a_head() -> None:
    front_end = ExactFrontEnd(**parts(W_Q=(), W_K=(), W_V=()))
    assert (front_end.n_heads, front_end.d_head) == (0, 0)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"W_E": fmpq_mat(0, 2)}, "W_E"),
        ({"W_E": fmpq_mat(2, 0)}, "W_E"),
        ({"W_pos": matrix(4, 3)}, "W_pos"),
        ({"W_pos": fmpq_mat(0, 2)}, "W_pos"),
        ({"W_Q": (matrix(2, 1),)}, "W_Q"),
        ({"W_Q": (matrix(2, 1), matrix(3, 1))}, r"W_Q\[1\]"),
        ({"W_Q": (matrix(2, 1), matrix(2, 2)), "W_K": (matrix(2, 1), matrix(2, 2))}, r"W_Q\[1\]"),
        ({"W_K": (matrix(2, 1), matrix(2, 2))}, r"W_K\[1\]"),
        ({"W_V": (matrix(2, 2), matrix(1, 2))}, r"W_V\[1\]"),
        ({"W_V": (matrix(2, 2), matrix(2, 1))}, r"W_V\[1\]"),
    ],
)
def test_a_front_end_names_the_matrix_that_does_not_fit(changes: dict, named: str) -> None:
    with pytest.raises(InputError, match=named):
        ExactFrontEnd(**parts(**changes))


@pytest.mark.parametrize(
    ("outputs", "unembedding", "named"),
    [
        ((matrix(2, 2),), matrix(2, 3), "W_O has 1 heads, expected 2"),
        ((matrix(2, 2), matrix(2, 1)), matrix(2, 3), r"W_O\[1\]"),
        ((matrix(2, 2), matrix(2, 2)), matrix(3, 3), "W_U"),
    ],
)
def test_a_network_names_the_matrix_that_does_not_fit(outputs: tuple, unembedding: fmpq_mat, named: str) -> None:
    with pytest.raises(InputError, match=named):
        exact_network(ExactFrontEnd(**parts()), outputs, unembedding)


@given(rational_networks())
def test_rounding_keeps_every_entry_to_its_last_bit(network: Network) -> None:
    floats, front_end = rounded(network.model), network.front_end
    unit = Fraction(1, 2**53)
    pairs = [(floats.W_E, front_end.W_E), (floats.W_pos, front_end.W_pos), (floats.W_U, network.W_U)]
    for name in ("W_K", "W_V"):
        pairs += zip(getattr(floats, name), getattr(front_end, name), strict=False)
    pairs += zip(floats.W_O, network.W_O, strict=False)
    for tensor, exact in pairs:
        for value, entry in zip(tensor.flat, exact.entries(), strict=True):
            truth = Fraction(int(entry.p), int(entry.q))
            assert abs(Fraction(float(value)) - truth) <= unit * abs(truth)
    for tensor, exact in zip(floats.W_Q, front_end.W_Q, strict=False):
        for value, entry in zip(tensor.flat, exact.entries(), strict=True):
            assert math.isclose(value, int(entry.p) / int(entry.q) * 0.6931471805599453, rel_tol=2.0**-51)
    assert floats.n_heads == max(1, front_end.n_heads)


def test_a_network_without_heads_is_rounded_to_one_with_a_silent_head() -> None:
    network = rounded(exact_network(ExactFrontEnd(**parts(W_Q=(), W_K=(), W_V=())), (), matrix(2, 3)))
    assert network.n_heads == 1
    assert not any(tensor.any() for tensor in (network.W_Q, network.W_K, network.W_V, network.W_O))


@given(rational_networks(n_heads=(1, 2)))
def test_the_front_end_of_a_network_is_the_given_one(network: Network) -> None:
    found = exact_front_end(network.model)
    for name in ("W_E", "W_pos", "W_Q", "W_K", "W_V"):
        assert getattr(found, name) == getattr(network.front_end, name)


def test_of_other_models_there_is_no_front_end() -> None:
    one = np.array([[[fmpq(1)]]])

    def model(**options: Any) -> Model:
        return Model((Attention(one, one, one, one, **options),), W_U=one[0], W_E=one[0], W_pos=one[0])

    assert exact_front_end(model()).n_heads == 1
    for other in (model(b_V=one[0]), model(skip=False), replace(model(), blocks=())):
        with pytest.raises(InputError, match="expected those of a network of one attention"):
            exact_front_end(other)
    with pytest.raises(InputError, match="float64 tensors, expected rationals"):
        exact_front_end(rounded(model()))


def test_a_weight_beyond_float64_is_refused() -> None:
    with pytest.raises(InputError, match="beyond the range of float64"):
        as_floats(fmpq_mat(1, 1, [fmpz(10) ** 400]))


def test_a_quotient_of_huge_integers_is_rounded_once() -> None:
    third = as_floats(fmpq_mat(1, 1, [fmpq(10**400 + 1, 3 * 10**400)]))
    assert third[0, 0] == 1 / 3


@given(st.lists(st.tuples(st.fractions(), st.floats(allow_nan=False, allow_infinity=False)), min_size=1))
def test_numbers_become_the_rationals_that_they_are(rows: list) -> None:
    entries = as_rationals(rows).entries()
    expected = [Fraction(value) for row in rows for value in row]
    assert [Fraction(int(entry.p), int(entry.q)) for entry in entries] == expected


def test_integers_of_every_kind_are_read() -> None:
    kinds = [[np.int64(3), fmpz(3), 3, fmpq(3), Fraction(3), 3.0]]
    assert as_rationals(kinds) == fmpq_mat(1, 6, [3] * 6)
    assert as_rationals(np.array([[0.5]], dtype=np.float32)) == fmpq_mat(1, 1, [fmpq(1, 2)])


@pytest.mark.parametrize(
    "values",
    [[], 5, [1, 2], [[1], [1, 2]], [[math.nan]], [[math.inf]], [["x"]], [[[1]]], np.ones(3), np.ones((1, 1, 1))],
)
def test_what_is_no_matrix_of_finite_numbers_is_refused(values: object) -> None:
    with pytest.raises(InputError):
        as_rationals(values)


def test_a_model_is_rounded_entry_by_entry_with_the_logarithm_in_queries_and_their_shifts() -> None:
    third = np.array([[[fmpq(1, 3)]]])
    shifts = {name: third[0] for name in ("b_Q", "b_K", "b_V")}
    norm = Normalization("rms", third[0, 0], third[0, 0])
    blocks = (
        Attention(third, third, third, third, **shifts, b_O=third[0, 0], norm=norm, attends="causal", score_root=2),
        FeedForward(third[0], third[0], third[0, 0], third[0, 0], activation="gelu", norm=norm, skip=False),
        norm,
    )
    model = Model(blocks=blocks, W_U=third[0], b_U=third[0, 0], W_E=third[0], W_pos=third[0])
    floats = rounded(model)
    assert floats.options() == model.options() and not floats.is_rational
    assert list(floats.tensors()) == list(model.tensors())
    for name, tensor in floats.tensors().items():
        scores = name.endswith(("W_Q", "b_Q"))
        assert tensor.ravel().tolist() == [1 / 3 * math.log(2.0) if scores else 1 / 3], name


def test_what_is_rounded_already_or_beyond_float64_is_not_rounded() -> None:
    one = np.array([[fmpq(1)]])
    with pytest.raises(InputError, match="float64 tensors, expected rationals"):
        rounded(Model(blocks=(), W_U=np.eye(1), W_E=np.eye(1), W_pos=np.eye(1)))
    with pytest.raises(InputError, match="beyond the range of float64"):
        rounded(Model(blocks=(), W_U=one * fmpq(10) ** 400, W_E=one, W_pos=one))
