"""What heads in the place of the skip connection do to the logits: the formula against logits in balls."""

import numpy as np
import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.testing.strategies import sizes, transformers
from constructions.attention.skip_connection_head import skip_connection_head, two_head_skip_connection
from constructions.errors import InputError
from constructions.model.blocks import Attention
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.tasks.arrays import all_contexts
from verify.forward.in_balls import logits_in_balls
from verify.theorems.memories.skip_connection_error import enclose_skip_error, largest_skip_error

SIZES = sizes(max_d_vocab=3, max_n_ctx=3, max_d_model=3, max_n_heads=2, min_n_heads=1)
CASES = SIZES.flatmap(lambda size: transformers(size=size))


def difference(found, contexts, bits):
    with ctx.workprec(bits):
        return logits_in_balls(found.model, contexts, bits) - logits_in_balls(found.network, contexts, bits)


@given(CASES, st.floats(0.01, 60) | st.sampled_from([300.0]), st.booleans())
@settings(max_examples=12)
def test_the_logits_differ_by_what_the_formula_says(network, sharpness, one_head):
    found = (skip_connection_head if one_head else two_head_skip_connection)(network, sharpness=sharpness)
    contexts = all_contexts(network.d_vocab, network.n_ctx)
    error, bound = enclose_skip_error(network, found.model, contexts), largest_skip_error(network, found.model)
    exact = difference(found, contexts, 400 + int(3 * sharpness))
    assert np.isfinite(error.radius).all()
    for middle, radius, ball in zip(error.midpoint.ravel(), error.radius.ravel(), exact.entries(), strict=True):
        assert ball.rad() < 1e-25 * max(bound, 1e-300) + 1e-60
        assert not abs(ball - float(middle)) > float(radius)
        assert not abs(ball) > bound  # of all contexts, and reached by one
    largest = max(float(abs(ball).upper()) for ball in exact.entries())
    assert bound <= largest * (1 + 2.0**-40) + 2.0**-100  # balls of 128 bits and more


def test_one_head_copies_up_to_the_power_of_its_sharpness():
    rng = np.random.default_rng(0)
    network = random_network(rng)
    bounds = [largest_skip_error(network, skip_connection_head(network, sharpness=x).model) for x in (20.0, 40.0, 80.0)]
    assert bounds[0] < 1e-6
    assert bounds[1] / bounds[0] == pytest.approx(np.exp(-20.0), rel=1e-6)
    assert bounds[2] / bounds[1] == pytest.approx(np.exp(-40.0), rel=1e-6)


def test_two_heads_need_not_be_steep():
    network = random_network(np.random.default_rng(1))
    for sharpness in (0.1, None, 3.0):
        assert largest_skip_error(network, two_head_skip_connection(network, sharpness=sharpness).model) < 1e-12


def random_network(rng):
    return dana_network(
        W_E=rng.normal(size=(4, 5)), W_pos=rng.normal(size=(6, 5)), W_Q=rng.normal(size=(3, 5, 2)),
        W_K=rng.normal(size=(3, 5, 2)), W_V=rng.normal(size=(3, 5, 2)), W_O=rng.normal(size=(3, 2, 5)),
        W_U=rng.normal(size=(5, 4)),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_run_in_torch_is_within_the_error_and_its_rounding(dtype):
    torch = pytest.importorskip("torch")
    from verify.runs.formats import FORMATS
    from verify.runs.rounding import rounding_bound
    from verify.torch.module import Replica

    network = random_network(np.random.default_rng(2))
    contexts = all_contexts(4, 6)[::37]
    found = skip_connection_head(network, sharpness=60.0)
    wanted = logits_in_balls(network, contexts, 200)
    allowed = rounding_bound(found.model, contexts, number_format=FORMATS[dtype]) + largest_skip_error(
        network, found.model
    )
    with torch.no_grad():
        outputs = (
            Replica.from_model(found.model, dtype=getattr(torch, dtype))(torch.as_tensor(contexts)).double().numpy()
        )
    for row, balls, most in zip(outputs.tolist(), wanted.tolist(), allowed.tolist(), strict=True):
        for output, ball in zip(row, balls, strict=True):
            assert abs(ball - output) <= most


def test_a_model_that_is_not_the_network_without_its_skip_connection_is_refused():
    """The formula is about the tensors that are there: each change that it does not speak of is named."""
    network = random_network(np.random.default_rng(3))
    model = skip_connection_head(network, sharpness=40.0).model
    block = model.attention
    changes = {
        "W_E": {"W_E": bumped(model.W_E, (0, 0))},
        "W_pos": {"W_pos": bumped(model.W_pos, (2, -1))},
        "W_U": {"W_U": bumped(model.W_U, (0, 0))},
        "W_Q": {"W_Q": bumped(block.W_Q, (-1, 0, 0))},
        "W_K": {"W_K": bumped(block.W_K, (0, 0, 0))},
        "W_V": {"W_V": bumped(block.W_V, (-1, -1, 0))},
        "W_O": {"W_O": bumped(block.W_O, (0, 0, 0))},
    }
    for name, change in changes.items():
        heads = {key: change.get(key, getattr(block, key)) for key in ("W_Q", "W_K", "W_V", "W_O")}
        outside = {key: change.get(key, getattr(model, key)) for key in ("W_E", "W_pos", "W_U")}
        changed = Model((Attention(**heads, skip=False),), **outside)
        with pytest.raises(InputError, match=name):
            largest_skip_error(network, changed)
    with pytest.raises(InputError, match="skip"):
        largest_skip_error(network, network)


def test_other_values_of_the_copying_heads_are_what_the_formula_speaks_of():
    network = random_network(np.random.default_rng(4))
    model = skip_connection_head(network, sharpness=40.0).model
    block, contexts = model.attention, all_contexts(4, 6)[::601]
    heads = {key: getattr(block, key) for key in ("W_Q", "W_K", "W_V")}
    changed = Model(
        (Attention(**heads, W_O=bumped(block.W_O, (-1, 0, 0)), skip=False),),
        model.W_U,
        W_E=model.W_E,
        W_pos=model.W_pos,
    )
    error = enclose_skip_error(network, changed, contexts)
    with ctx.workprec(300):
        exact = logits_in_balls(changed, contexts, 300) - logits_in_balls(network, contexts, 300)
    assert largest_skip_error(network, changed) > 0.1
    for middle, radius, ball in zip(error.midpoint.ravel(), error.radius.ravel(), exact.entries(), strict=True):
        assert not abs(ball - float(middle)) > float(radius)


def bumped(tensor, place):
    changed = tensor.copy()
    changed[place] += 1.0
    return changed
