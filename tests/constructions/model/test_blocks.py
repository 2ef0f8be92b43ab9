"""The records of the blocks: shapes, options, copies."""

import numpy as np
import pytest
from flint import fmpq

from constructions.errors import InputError
from constructions.model.blocks import Attention, FeedForward, Normalization, frozen, tensor_fields

ONE = np.ones
ATTENTION = {"W_Q": ONE((2, 4, 3)), "W_K": ONE((2, 4, 3)), "W_V": ONE((2, 4, 1)), "W_O": ONE((2, 1, 4))}
NEURONS = {"W_in": ONE((4, 5)), "W_out": ONE((5, 4))}


def test_sizes_and_parameters_are_those_of_the_tensors():
    norm = Normalization("layer", w=ONE(4), b=ONE(4))
    block = Attention(**ATTENTION, b_Q=ONE((2, 3)), b_K=ONE((2, 3)), b_V=ONE((2, 1)), b_O=ONE(4), norm=norm)
    assert (block.n_heads, block.d_model, block.d_qk, block.d_head, block.d_out) == (2, 4, 3, 1, 4)
    assert block.parameters == 2 * 4 * 3 * 2 + 2 * 4 * 2 + 2 * 3 * 2 + 2 + 4 + 8
    neurons = FeedForward(**NEURONS, b_in=ONE(5), b_out=ONE(4))
    assert (neurons.d_model, neurons.d_mlp, neurons.d_out, neurons.parameters) == (4, 5, 4, 49)
    assert [name for name, _ in tensor_fields(neurons)] == ["W_in", "W_out", "b_in", "b_out"]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"W_K": ONE((2, 4, 2))}, "W_K"),
        ({"W_V": ONE((3, 4, 1))}, "W_V"),
        ({"W_O": ONE((2, 1, 5))}, "d_out = 5"),
        ({"b_Q": ONE(3)}, "b_Q"),
        ({"b_O": ONE(5)}, "b_O"),
        ({"skip": 1}, "skip"),
        ({"attends": "first"}, "attends"),
        ({"queries": "own"}, "queries"),
        ({"score_root": 0}, "score_root"),
        ({"score_root": 2.0}, "score_root"),
        ({"score_root": True}, "score_root"),
        ({"queries": "task"}, "queries of the task"),
        ({"norm": Normalization("rms", w=ONE(3))}, "norm"),
        ({"W_Q": ONE((2, 4, 3), dtype=np.float32)}, "float64"),
        ({"W_Q": np.full((2, 4, 3), np.nan)}, "W_Q"),
        ({"W_Q": ONE((2, 4, 0)), "W_K": ONE((2, 4, 0))}, "d_qk"),
    ],
)
def test_an_attention_that_makes_no_sense_is_refused_by_name(change, name):
    with pytest.raises(InputError, match=name):
        Attention(**{**ATTENTION, **change})


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"W_out": ONE((4, 4))}, "W_out"),
        ({"W_out": ONE((5, 3))}, "d_out = 3"),
        ({"b_in": ONE(4)}, "b_in"),
        ({"activation": "tanh"}, "activation"),
        ({"skip": None}, "skip"),
    ],
)
def test_neurons_that_make_no_sense_are_refused_by_name(change, name):
    with pytest.raises(InputError, match=name):
        FeedForward(**{**NEURONS, **change})


@pytest.mark.parametrize(
    "fields",
    [{"kind": "batch"}, {"b": ONE(3)}, {"epsilon": 0.0}, {"epsilon": 1}, {"epsilon": float("nan")}, {"w": ONE((4, 1))}],
)
def test_a_normalization_that_makes_no_sense_is_refused(fields):
    with pytest.raises(InputError):
        Normalization(**{"kind": "layer", "w": ONE(4), **fields})


def test_tensors_are_copies_that_cannot_be_written():
    tensors = {name: tensor.copy() for name, tensor in NEURONS.items()}
    block = FeedForward(**tensors)
    tensors["W_in"][0, 0] = 7.0
    assert block.W_in[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        block.W_in[0, 0] = 7.0


def test_rationals_stay_rationals_and_floats_among_them_are_refused():
    exact = frozen("W", np.array([[fmpq(1, 3), 2]], dtype=object), 2)
    assert exact.tolist() == [[fmpq(1, 3), fmpq(2)]]
    with pytest.raises(InputError, match="fmpq"):
        frozen("W", np.array([[fmpq(1, 3), 0.5]], dtype=object), 2)
    with pytest.raises(InputError, match="masked"):
        frozen("W", np.ma.array([[1.0]], mask=[[True]]), 2)


def test_the_options_say_what_a_block_computes_beside_its_tensors():
    norm = Normalization("rms", w=ONE(4), epsilon=2.0**-10)
    assert FeedForward(**NEURONS, activation="silu", norm=norm).options() == {
        "kind": "feed-forward",
        "skip": True,
        "activation": "silu",
        "norm": {"kind": "rms", "epsilon": (2.0**-10).hex()},
    }
