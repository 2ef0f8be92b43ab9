from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from constructions.model.appended_neurons import editable, without_neurons
from constructions.model.blocks import FeedForward, Normalization
from constructions.model.model import Model
from tests.edited_models import TOKENS, edited
from verify import enclose_logits
from verify.edits.certificate import CAP
from verify.edits.judge import _leaked, bounded_by_leak, caps, judge_kept, reading_model
from verify.edits.leak import leak
from verify.forward.in_balls import logits_in_balls
from verify.provers.edit import whole_domain


@pytest.mark.parametrize("trigger", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("activation", ["silu", "gelu", "relu"])
def test_the_bound_holds_where_neurons_leak_so_much_that_it_can_be_seen(activation: Any, trigger: float) -> None:
    done = edited(activation=activation)
    block = editable(done.model).neurons
    W_in, b_in = block.W_in.copy(), np.array(block.b_in)
    W_in[:, -5:] *= trigger / 40.0
    b_in[-5:] *= trigger / 40.0
    weak = replace(block, W_in=W_in, b_in=b_in)
    model = replace(done.model, blocks=(*done.model.blocks[:-2], weak, done.model.blocks[-1]))
    kept = judge_kept(done.original, model, 5, done.edit.kept)
    one, two = (enclose_logits(each, done.edit.kept).midpoint for each in (done.original, model))
    found = np.abs(one - two).max(axis=1)
    assert (found <= kept.moved * (1 + 1e-6) + 1e-9).all()
    assert (one.argmax(axis=1) == two.argmax(axis=1))[kept.same].all()
    if activation == "silu" and trigger == 0.5:
        assert found.max() > 1e-3  # so the comparison above compares something


@pytest.mark.parametrize(
    ("epsilon", "size", "written"),
    [(1e-12, 1e-20, 1e-18), (1e-300, 1e-25, 1e-18), (1e30, 1e20, 1e-25), (1.0, 1.0, 1e-38)],
)
def test_a_move_that_float64_cannot_hold_is_not_taken_for_none_or_for_less(
    epsilon: float, size: float, written: float
) -> None:
    norm, final = (Normalization("rms", w=np.ones(1), epsilon=e) for e in (1e-5, epsilon))
    shift = np.array([-36.2])
    neuron = FeedForward(np.ones((1, 1)), np.full((1, 1), written), b_in=shift, activation="gelu", norm=norm)
    maps = {"W_U": size * np.array([[1.0, -1.0]]), "W_E": np.array([[-1e-3], [1e-9]]), "W_pos": np.zeros((1, 1))}
    model, contexts = Model(blocks=(neuron, final), **maps), np.array([[0], [1]])
    original = without_neurons(model, 1)
    kept = judge_kept(original, model, 1, contexts)
    after, before = (logits_in_balls(each, contexts, 2000).tolist() for each in (model, original))
    with ctx.workprec(2000):
        for bound, one, two in zip(kept.moved, after, before, strict=True):
            assert all(0 < abs(x - y) <= arb(float(bound)) for x, y in zip(one, two, strict=True))


def test_outside_of_the_caps_contexts_of_any_length_move_by_no_more() -> None:
    done = edited(activation="silu")
    reader, outside = reading_model(done.model, 5), done.certificate.values["outside"]
    for length in (1, 2, 4):
        contexts = whole_domain(TOKENS, length, np.zeros((0, 1), dtype=np.int64))[:200]
        off = (enclose_logits(reader, contexts).upper() <= -CAP).all(axis=1)
        assert off.any()
        one, two = (enclose_logits(model, contexts[off]) for model in (done.original, done.model))
        assert (np.abs(one.midpoint - two.midpoint) - one.radius - two.radius).max() <= outside


def test_caps_reach_as_far_as_their_radius() -> None:
    done = edited()
    found = caps(done.model, 5, threshold=CAP)
    block = editable(done.model).neurons
    assert block.norm is not None and block.b_in is not None
    normals = (block.norm.w[:, None] * block.W_in[:, -5:]).T
    rng, d = np.random.default_rng(0), block.d_model
    for j, normal in enumerate(normals):
        rows = normal / np.linalg.norm(normal) + 0.3 * rng.random((500, 1)) * rng.normal(size=(500, d))
        rows *= np.sqrt(d) / np.linalg.norm(rows, axis=1, keepdims=True)
        shift = block.b_in[block.d_mlp - 5 + j] + (
            0 if block.norm.b is None else block.norm.b @ block.W_in[:, block.d_mlp - 5 + j]
        )
        inside = rows @ normal + shift > -CAP
        far = np.linalg.norm(rows - np.sqrt(d) * normal / np.linalg.norm(normal), axis=1)
        assert inside.any() and (far[inside] <= found.radii[j]).all()


@pytest.mark.parametrize("activation", ["silu", "gelu"])
def test_a_bound_knows_what_neurons_read_what_they_write_and_how_much_a_lead_must_be(activation: Any) -> None:
    done = edited(activation=activation)
    block = editable(done.model).neurons
    W_in, b_in, W_out = block.W_in.copy(), np.array(block.b_in), block.W_out.copy()
    W_in[:, -5:] *= 0.1
    b_in[-5:] *= 0.1
    W_out[-5:] *= 40.0  # longer than 1
    loud = replace(block, W_in=W_in, b_in=b_in, W_out=W_out)
    model = replace(done.model, blocks=(*done.model.blocks[:-2], loud, done.model.blocks[-1]))
    kept = judge_kept(done.original, model, 5, done.edit.kept)
    one, two = (enclose_logits(each, done.edit.kept) for each in (done.original, model))
    assert (np.abs(one.midpoint - two.midpoint).max(axis=1) <= kept.moved * (1 + 1e-6) + 1e-9).all()
    two_best = np.sort(one.midpoint, axis=1)[:, -2:]
    lead = two_best[:, 1] - two_best[:, 0]
    _, by_leak, moved = bounded_by_leak(done.original, model, 5, done.edit.kept)
    assert (lead[by_leak] > 2.0 * moved[by_leak] * (1 - 1e-6)).all()
    assert not by_leak.all() and not (by_leak & ~kept.same).any()
    finite, answers = np.isfinite(moved), [each.midpoint.argmax(axis=1) for each in (one, two)]
    assert (kept.same == (answers[0] == answers[1]))[finite].all()
    assert (kept.changed == (answers[0] != answers[1]))[finite].all() and not (kept.same & kept.changed).any()


@pytest.mark.parametrize("bits", [3, 8, 24])
def test_an_original_whose_weights_were_rounded_is_compared_as_it_was(bits: int) -> None:
    """Both models are evaluated: what is said is true of the original, not of its rounded copy."""
    done = edited(activation="silu")
    given = done.original.with_each(lambda _, x: x * (1.0 + 2.0**-bits * np.cos(np.arange(x.size)).reshape(x.shape)))
    kept = judge_kept(given, done.model, 5, done.edit.kept)
    one, two = (enclose_logits(each, done.edit.kept, precision=500).midpoint for each in (given, done.model))
    moves, answers = np.abs(one - two).max(axis=1), (one.argmax(axis=1), two.argmax(axis=1))
    assert (moves <= kept.moved).all() and kept.moved.max() <= moves.max() * (1.0 + 2.0**-9)
    assert (kept.answer == answers[0]).all()
    assert (kept.same == (answers[0] == answers[1])).all() and (kept.changed == ~kept.same).all()
    assert kept.changed.any() == (bits < 24)


@pytest.mark.parametrize("activation", ["relu", "silu", "gelu"])
def test_what_the_stream_moves_by_is_the_sum_over_all_neurons(activation: Any) -> None:
    above, writes = np.array([[-5.0, -6.0, -20.0], [-30.0, -2.0, -40.0]]), np.array([3.0, 7.0, 1e4])
    exact = (leak(activation, -above) * writes).sum(axis=1)
    found = _leaked(activation, above, writes)
    assert (exact <= found).all()
    assert (found == 0.0).all() if activation == "relu" else (found > 0.0).all()


def test_two_models_of_which_one_is_hardly_known_are_apart_by_no_more_than_is_said() -> None:
    done = edited(activation="relu")
    final = replace(done.model.blocks[-1], b=None)
    assert isinstance(final, Normalization)
    many = (
        1e11 * (1.0 / final.w)[:, None] * np.ones(TOKENS)
    )  # normalized rows sum to 0, so that exactly nothing is added
    model = replace(done.model, blocks=(*done.model.blocks[:-1], final), W_U=done.model.W_U + many)
    original = without_neurons(replace(model, W_U=0.0 * many), 5)
    contexts = done.edit.kept[::5]
    kept = judge_kept(original, model, 5, contexts)
    exact = enclose_logits(model, contexts, precision=800)
    rough = enclose_logits(model, contexts)
    truth = np.abs(exact.midpoint).max(axis=1)
    assert (np.abs(rough.midpoint).max(axis=1) < truth - 1e-6).any()  # the middles of float64 alone are not enough
    assert (truth <= kept.moved).all()


def test_answers_that_neither_model_decides_are_not_the_same() -> None:
    done = edited(activation="relu")
    original, model = (replace(each, W_U=0.0 * each.W_U) for each in (done.original, done.model))
    kept = judge_kept(original, model, 5, done.edit.kept[:2])
    rounded = judge_kept(replace(original, W_E=2.0 * original.W_E), model, 5, done.edit.kept[:2])
    for each in (kept, rounded):
        assert (each.answer < 0).all() and not each.same.any() and not each.changed.any()
