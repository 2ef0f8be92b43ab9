"""Conversions change no output: exactly, in rational numbers."""

from dataclasses import replace

import numpy as np
import pytest
from flint import fmpq
from hypothesis import assume, given
from hypothesis import strategies as st

from byheart.hosts.conversion import (
    direction,
    exact_head_width,
    in_equal_layers,
    rounded_model,
    scales_exactly,
    with_residual_stream,
    with_score_root,
    without_output_shift,
)
from byheart.hosts.exported import transformer_bridge, transformer_lens
from byheart.testing.strategies import inputs, models
from constructions.errors import InputError
from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from tests.exports import MODELS, attention, neurons, norm, of_tokens
from verify.forward.in_rationals import exact_network_logits
from verify.forward.logits import enclose_logits
from verify.runs.exact_runs import exact_runs

EQUAL = [name for name, model in MODELS.items() if model.reads_tokens]


def of_tokens_only(data):
    model = data.draw(models(rational=True))
    assume(model.reads_tokens)
    return model, data.draw(inputs(model=model))


@given(st.data())
def test_a_residual_stream_changes_nothing(data):
    model, contexts = of_tokens_only(data)
    extra = data.draw(st.integers(0, 2))
    wide = with_residual_stream(model, extra=extra)
    assert all(block.skip for block in wide.blocks)
    assert wide.d_model == model.d_model + extra + sum(b.d_out for b in model.blocks if not b.skip)
    assert exact_network_logits(wide, contexts) == exact_network_logits(model, contexts)


@given(st.data())
def test_a_shift_goes_into_one_coordinate(data):
    model, contexts = of_tokens_only(data)
    plain = without_output_shift(model)
    assert plain.b_U is None
    assert exact_network_logits(plain, contexts) == exact_network_logits(model, contexts)


@given(st.data())
def test_equal_layers_compute_the_same(data):
    model, contexts = of_tokens_only(data)
    model = with_residual_stream(model)
    assume(len({block.activation for block in model.blocks if isinstance(block, FeedForward)}) <= 1)
    try:
        equal = in_equal_layers(model)
    except InputError as error:
        assert "the attention blocks look" in str(error)
        return
    kinds = [type(block) for block in equal.blocks]
    assert kinds == ([Attention, FeedForward] if FeedForward in kinds else [Attention]) * kinds.count(Attention)
    assert len({(b.W_Q.shape, b.W_V.shape) for b in equal.blocks if isinstance(b, Attention)}) == 1
    assert len({b.attends for b in equal.blocks if isinstance(b, Attention)}) == 1
    assert exact_network_logits(equal, contexts) == exact_network_logits(model, contexts)


@pytest.mark.parametrize("name", EQUAL)
def test_equal_layers_of_any_model_enclose_the_same_outputs(name):
    contexts = np.array([[0, 1, 2, 3], [6, 5, 4, 3], [2, 2, 2, 2]])
    try:
        equal = in_equal_layers(without_output_shift(with_residual_stream(MODELS[name])))
    except InputError:
        assert name in ("two activations", "a normalization here and there")
        return
    old, new = (enclose_logits(model, contexts, precision=200) for model in (MODELS[name], equal))
    assert (np.abs(old.midpoint - new.midpoint) <= old.radius + new.radius).all()
    assert new.radius.max() < 1e-14


@pytest.mark.parametrize(("old", "new", "factor"), [(1, 64, 8.0), (64, 1, 0.125), (12, 48, 2.0), (9, 9, 1.0)])
def test_a_power_of_two_scales_exactly(old, new, factor):
    model = of_tokens(attention(score_root=old, shifts=True))
    scaled = with_score_root(model, new)
    assert scales_exactly(model, new)
    assert np.array_equal(scaled.W_Q, model.W_Q * factor) and scaled.attention.score_root == new
    assert np.array_equal(scaled.attention.b_Q, model.attention.b_Q * factor)


@pytest.mark.parametrize(("old", "new"), [(1, 2), (1, 9), (3, 1), (2, 4)])
def test_other_factors_do_not(old, new):
    model = of_tokens(attention(score_root=old))
    assert not scales_exactly(model, new)
    old_outputs, new_outputs = (
        enclose_logits(m, np.array([[0, 1, 2, 3]]), precision=200).midpoint
        for m in (model, with_score_root(model, new))
    )
    assert np.abs(old_outputs - new_outputs).max() < 1e-13


def test_underflow_is_not_exact():
    model = of_tokens(attention())
    block = model.attention
    for entry, root in ((2.0**-1074, 4), (2.0**-1065, 4**10)):
        small = replace(model, blocks=(replace(block, W_Q=np.full_like(block.W_Q, entry), score_root=root),))
        assert not scales_exactly(small, 1)


@pytest.mark.parametrize(
    ("root", "least", "width"), [(1, 1, 1), (1, 2, 4), (1, 17, 64), (64, 64, 64), (64, 3, 4), (48, 20, 48), (48, 5, 12)]
)
def test_the_exact_width_is_the_least_one(root, least, width):
    model = of_tokens(attention(score_root=root))
    assert exact_head_width(model, least) == width
    assert scales_exactly(model, width)


@pytest.mark.parametrize(
    ("root", "least", "most", "width"),
    [(1, 1, 99, 1), (1, 2, 99, 16), (1, 2, 15, 4), (1, 17, 256, 256), (4, 5, 99, 16), (64, 3, 99, 16), (48, 5, 99, 12)],
)
def test_a_wider_head_is_one_of_which_the_fourth_root_is_exact_too(root, least, most, width):
    block = attention(score_root=root)
    model = of_tokens(replace(block, **{name: np.round(9.0 * getattr(block, name)) for name in ("W_Q", "W_K")}))
    assert exact_head_width(model, least, most=most) == width
    assert scales_exactly(model, width)
    assert exact_head_width(of_tokens(block), least, most=most) == exact_head_width(model, least)


@pytest.mark.parametrize("host", [transformer_bridge.HOST, transformer_lens.HOST], ids=lambda host: host.name)
def test_what_a_host_gets_keeps_the_proof_of_every_run_of_equal_scores(host):
    """A head of width 2 whose two top scores are equal, and not 0, among four."""
    rows, maps = np.array([[4.0, 1.0], [4.0, 3.0], [-4.0, 5.0]]), np.array([[[4.0, 0.0], [0.0, 0.0]]])
    values, neurons = np.array([[[0.0, 0.0], [0.0, 1.0]]]), FeedForward(np.eye(2), np.eye(2), activation="relu")
    block = Attention(maps, maps, values, np.eye(2)[None], attends="last")
    model = Model((block, neurons), np.array([[0.0, 0.0], [1.0, -1.0]]), W_E=rows, W_pos=np.zeros((4, 2)))
    contexts, labels = np.array([[2, 2, 0, 1], [2, 1, 2, 0]]), np.array([0, 0])
    for each in (model, host.convert(model)):
        runs = exact_runs(each, contexts, labels)
        assert runs.memorized.all() and runs.reason == ""


def test_rounding_changes_every_tensor_and_its_place():
    model = MODELS["layer normalization as in GPT-2"]
    rounded = rounded_model(model, "bfloat16")
    assert rounded.options() == model.options()
    for (name, old), (other, new) in zip(model.tensors().items(), rounded.tensors().items(), strict=True):
        assert name == other and not np.array_equal(old, new)
        assert (np.abs(new - old) <= 2.0**-8 * np.abs(old)).all()
    assert rounded_model(model, "float64").sha256() == model.sha256()


def test_what_looks_in_several_ways_is_refused():
    with pytest.raises(InputError, match=r"the attention blocks look \['last', 'last'\]"):
        direction(of_tokens(attention(), attention()))
    with pytest.raises(InputError, match="expected 'causal' or 'all' for all of them but the last one"):
        direction(of_tokens(attention(attends="causal"), attention(attends="all"), attention()))


def test_a_normalization_beside_a_missing_skip_connection_is_refused():
    with pytest.raises(InputError, match="1 blocks without a skip connection"):
        with_residual_stream(of_tokens(attention(skip=False), norm()))
    with pytest.raises(InputError, match="a stream that has to be wider"):
        without_output_shift(of_tokens(attention(), norm(), shift=True))


def test_a_model_of_vectors_is_refused():
    with pytest.raises(InputError, match="reads vectors"):
        with_residual_stream(MODELS["layer of values"])


def test_heads_that_are_too_narrow_are_refused():
    with pytest.raises(InputError, match="d_head = 2, expected at least 3"):
        in_equal_layers(of_tokens(attention()), d_head=2)


def test_a_rational_model_stays_rational():
    one = np.array([[fmpq(1, 3)]], dtype=object)
    block = FeedForward(one, one, skip=False)
    wide = in_equal_layers(with_residual_stream(Model(blocks=(block,), W_U=one, W_E=one, W_pos=one)))
    assert wide.is_rational and isinstance(neurons(), FeedForward)
