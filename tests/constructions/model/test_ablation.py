"""Models without one part: what is set to 0, and that the rest stays as it is."""

import numpy as np
import pytest

from constructions.errors import InputError
from constructions.model.ablation import Part, parts, without
from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from verify.forward.in_balls import logits_in_balls


def model_of_two_kinds():
    rng = np.random.default_rng(0)
    attention = Attention(*(rng.normal(size=shape) for shape in ((2, 3, 1), (2, 3, 1), (2, 3, 2), (2, 2, 3))))
    neurons = FeedForward(rng.normal(size=(3, 4)), rng.normal(size=(4, 3)), b_in=np.array([0.0, 1.0, 2.0, 3.0]))
    return Model(
        blocks=(attention, neurons), W_U=rng.normal(size=(3, 5)), W_E=rng.normal(size=(4, 3)), W_pos=np.zeros((2, 3))
    )


def test_heads_and_neurons_are_named_and_write_nothing_once_they_are_gone():
    model = model_of_two_kinds()
    found = list(parts(model))
    assert list(map(str, found)) == [
        *(f"head {h} of blocks.0.attn" for h in range(2)),
        *(f"neuron {j} of blocks.0.mlp" for j in range(4)),
    ]
    for part in found:
        left = without(model, part)
        for name, tensor in model.tensors().items():
            changed = left.tensors()[name]
            if name != part.tensor:
                assert np.array_equal(changed, tensor)
                continue
            assert not changed[part.place].any()
            rest = np.arange(len(tensor)) != part.place[0]
            assert np.array_equal(changed[rest], tensor[rest])


def test_a_model_without_its_neurons_is_that_of_its_attention():
    model = model_of_two_kinds()
    left = model
    for part in parts(model):
        if part.kind == "neuron":
            left = without(left, part)
    alone = Model(blocks=model.blocks[:1], W_U=model.W_U, W_E=model.W_E, W_pos=model.W_pos)
    contexts = np.array([[0, 1], [3, 2]])
    pairs = zip(
        logits_in_balls(left, contexts, 128).entries(), logits_in_balls(alone, contexts, 128).entries(), strict=True
    )
    assert all(abs(a - b) < 1e-30 for a, b in pairs)


def test_every_entry_that_is_not_0_is_a_part():
    model = model_of_two_kinds()
    found = list(parts(model, entries=True))
    assert len(found) == sum(np.count_nonzero(tensor) for tensor in model.tensors().values()) < model.parameters
    part = found[-1]
    assert str(part) == "unembed.W_U[2, 4]" and without(model, part).W_U[2, 4] == 0.0 != model.W_U[2, 4]


@pytest.mark.parametrize(
    "part",
    [
        Part("head", "blocks.0.attn.W_O", (2,)),
        Part("head", "blocks.1.attn.W_O", (0,)),
        Part("neuron", "blocks.0.mlp.W_out", (-1,)),
        Part("entry", "unembed.W_U", (0, 0, 0)),
    ],
)
def test_a_part_that_is_not_there_is_refused(part):
    with pytest.raises(InputError, match="which the model has not"):
        without(model_of_two_kinds(), part)
