"""Rounding a model rounds every tensor of every block, once, and nothing else."""

import numpy as np
import pytest

from constructions.errors import InputError
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from constructions.model.precision import rounded_model


def model_of_everything() -> Model:
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape)

    attention = Attention(
        *(drawn(2, 3, 2) for _ in range(3)),
        drawn(2, 2, 3),
        b_Q=drawn(2, 2),
        b_K=drawn(2, 2),
        b_V=drawn(2, 2),
        b_O=drawn(3),
        norm=Normalization("layer", w=drawn(3), b=drawn(3)),
        score_root=2,
    )
    neurons = FeedForward(drawn(3, 4), drawn(4, 3), b_in=drawn(4), b_out=drawn(3), activation="gelu")
    return Model(
        blocks=(attention, neurons, Normalization("rms", w=drawn(3))),
        W_U=drawn(3, 5),
        b_U=drawn(5),
        W_E=drawn(5, 3),
        W_pos=drawn(2, 3),
    )


def test_every_tensor_is_rounded_to_nearest_and_the_options_stay() -> None:
    model = model_of_everything()
    rounded = rounded_model(model, "float32")
    assert rounded.options() == model.options()
    assert rounded.tensors().keys() == model.tensors().keys()
    for name, tensor in model.tensors().items():
        assert (rounded.tensors()[name] == tensor.astype(np.float32)).all(), name
        assert (rounded.tensors()[name] != tensor).any(), name


def test_float64_changes_nothing() -> None:
    model = model_of_everything()
    assert rounded_model(model, "float64").sha256() == model.sha256()


def test_what_float32_cannot_hold_is_refused() -> None:
    one = np.ones((1, 1))
    with pytest.raises(InputError, match="W_U has the entry inf"):
        rounded_model(Model(blocks=(), W_U=1e300 * one, W_E=one, W_pos=one), "float32")
    with pytest.raises(InputError, match="W_U has the entry inf"):
        rounded_model(Model(blocks=(), W_U=65520.0 * one, W_E=one, W_pos=one), "float16")
    with pytest.raises(InputError, match="dtype = 'int8', expected one of float16, bfloat16, float32, float64"):
        rounded_model(Model(blocks=(), W_U=one, W_E=one, W_pos=one), "int8")  # pyright: ignore[reportArgumentType]


def test_types_of_16_bits_keep_multiples_of_their_least_normal_number() -> None:
    given = np.array([[1.0 + 2.0**-9, 65519.0, 2.0**-14 * 0.6, 2.0**-13 * 1.3]])
    model = Model(blocks=(), W_U=given, W_E=np.ones((1, 1)), W_pos=np.ones((1, 1)))
    assert rounded_model(model, "float16").W_U.tolist() == [[1.0 + 2.0**-9, 65504.0, 2.0**-14, 3 * 2.0**-14]]
    assert rounded_model(model, "bfloat16").W_U[0, :2].tolist() == [1.0, 65536.0]
