"""The judge in integers agrees with the one in rationals, and refuses what it cannot judge."""

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.memories.keyed_words import keyed_words_memory
from constructions.memories.knots import knots_memory
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from constructions.tasks.arrays import array_task, enumerated_task
from verify.forward.in_rationals import exact_network_logits
from verify.theorems.memories.integer_neurons import integer_margins


def integers(data: st.DataObject, *shape: int) -> np.ndarray:
    size = int(np.prod(shape))
    drawn = data.draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size))
    return np.array(drawn, dtype=object).reshape(shape)


def model_of(data: st.DataObject, *, neurons: int, skip: bool, shifted: bool) -> Model:
    """Any integers: without attention by score, two positions of the weight 1/2, and an output that is doubled."""
    nothing = np.full((1, 2, 1), 0, dtype=object)
    attention = Attention(
        W_Q=nothing, W_K=nothing, W_V=integers(data, 1, 2, 2), W_O=2 * integers(data, 1, 2, 2), skip=skip
    )
    shift = integers(data, neurons) if shifted else None
    block = FeedForward(integers(data, 2, neurons), integers(data, neurons, 2), b_in=shift, skip=skip)
    last = FeedForward(integers(data, 2, 3), integers(data, 3, 4), b_out=integers(data, 4), skip=False)
    return Model(
        blocks=(attention, block, last),
        W_U=integers(data, 4, 3),
        b_U=integers(data, 3) if shifted else None,
        W_E=integers(data, 3, 2),
        W_pos=integers(data, 2, 2),
    )


@given(st.integers(0, 4), st.booleans(), st.booleans(), st.data())
def test_the_margins_are_those_of_rational_arithmetic(
    neurons: int, skip: bool, shifted: bool, data: st.DataObject
) -> None:
    task = enumerated_task(3, 2, seed=data.draw(st.integers(0, 100)))
    model = model_of(data, neurons=neurons, skip=skip, shifted=shifted)
    exact = exact_network_logits(model, task.contexts).tolist()
    for margin, row, label in zip(integer_margins(model, task), exact, task.labels, strict=True):
        assert margin == row[label] - max(x for j, x in enumerate(row) if j != label)


def test_what_is_not_of_integers_is_refused() -> None:
    task = enumerated_task(2, 2, labels=np.array([0, 1, 1, 0]))
    model = keyed_words_memory(task).model
    with pytest.raises(InputError, match="expected a rational attention and ReLU neurons"):
        integer_margins(knots_memory(task).model, task)
    ends = {"W_U": model.W_U, "b_U": model.b_U, "W_E": model.W_E, "W_pos": model.W_pos}
    halves = np.array([[fmpq(1, 2), fmpq(0)], [fmpq(1), fmpq(0)]])
    with pytest.raises(InputError, match="the stream after the attention has the number"):
        integer_margins(Model(blocks=model.blocks, **(ends | {"W_E": halves})), task)
    with pytest.raises(InputError, match="a tensor has the number 2/3"):
        integer_margins(Model(blocks=model.blocks, **(ends | {"W_U": model.W_U * fmpq(1, 3)})), task)
    with pytest.raises(InputError, match=r"a shift has the number -?1/3"):
        integer_margins(Model(blocks=model.blocks, **(ends | {"b_U": model.b_U * fmpq(1, 3)})), task)
    norm = Normalization("layer", w=np.array([fmpq(1)] * 6))
    with pytest.raises(InputError, match="block 1 has the options"):
        integer_margins(Model(blocks=(model.blocks[0], norm), **ends), task)
    with pytest.raises(InputError, match="block 1 has the options"):
        smooth = FeedForward(np.full((6, 1), 0, dtype=object), np.full((1, 6), 0, dtype=object), activation="silu")
        integer_margins(Model(blocks=(model.blocks[0], smooth), **ends), task)


def test_tasks_of_distributions_and_of_one_token_are_refused() -> None:
    task = enumerated_task(2, 2, labels=np.array([0, 1, 1, 0]))
    model = keyed_words_memory(task).model
    with pytest.raises(InputError, match="expected labels"):
        integer_margins(model, enumerated_task(2, 2, target="distributions"))
    single = array_task(np.array([[0]]), next_tokens=np.array([0]), vocabulary=1, target="labels")
    with pytest.raises(InputError, match="expected labels"):
        integer_margins(keyed_words_memory(single).model, single)


def test_a_tie_has_the_margin_0_and_a_wrong_label_a_negative_one() -> None:
    task = enumerated_task(2, 2, labels=np.array([0, 1, 1, 0]))
    other = enumerated_task(2, 2, labels=np.array([0, 1, 1, 1]))
    model = keyed_words_memory(task).model
    assert integer_margins(model, other).tolist() == [1, 1, 1, -1]
    flat = Model(blocks=model.blocks, W_U=model.W_U * 0, W_E=model.W_E, W_pos=model.W_pos)
    assert integer_margins(flat, task).tolist() == [0, 0, 0, 0]
