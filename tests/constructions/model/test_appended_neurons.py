from dataclasses import replace

import numpy as np
import pytest

from constructions.errors import InputError
from constructions.model.appended_neurons import Appended, editable, with_neurons, without_neurons
from constructions.model.blocks import FeedForward
from tests.edited_models import edited, small_model


def test_neurons_of_zeros_in_the_other_layers_do_nothing_and_come_off_again() -> None:
    done = edited(everywhere=True)
    assert all(block.d_mlp == 21 for block in done.model.blocks if isinstance(block, FeedForward))
    assert without_neurons(done.model, 5, everywhere=True).sha256() == done.original.sha256()
    with pytest.raises(InputError, match="not zeros"):
        without_neurons(small_model(), 2, everywhere=True)
    first, rest = done.model.blocks[1], done.model.blocks[2:]
    assert isinstance(first, FeedForward)
    for name, spoilt in (("W_in", first.W_in), ("W_out", first.W_out), ("b_in", first.b_in)):
        assert spoilt is not None
        more = spoilt.copy()
        more[(slice(None), -1) if name == "W_in" else -1] = 1.0
        blocks = (done.model.blocks[0], replace(first, **{name: more}), *rest)
        with pytest.raises(InputError, match="not zeros"):
            without_neurons(replace(done.model, blocks=blocks), 5, everywhere=True)
    with pytest.raises(InputError, match="expected from 1"):
        without_neurons(small_model(), 0)


def test_models_that_cannot_be_edited_are_refused() -> None:
    model = small_model()
    neurons, final = editable(model).neurons, model.blocks[-1]
    zeros = Appended(np.zeros((12, 1)), np.zeros(1), np.zeros((1, 12)))
    for blocks in (
        model.blocks[:-1],
        (*model.blocks[:-2], replace(neurons, norm=None), final),
        (*model.blocks[:-2], replace(neurons, b_in=None), final),
        (*model.blocks[:-2], replace(neurons, skip=False), final),
    ):
        with pytest.raises(InputError):
            with_neurons(replace(model, blocks=blocks), zeros)
