from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byheart.editing import edit_model
from byheart.terminal.edit_report import check_edit_by_kernel
from constructions.errors import FileFormatError, HypothesisError, InputError
from constructions.model.appended_neurons import editable
from tests.edited_models import LENGTH, TOKENS, edited
from verify import Verdict, decide_argmax, enclose_logits
from verify.provers.edit import Edit, certify_edit, check_edit, prove_edit, save_edit, whole_domain

KINDS = [("relu", "layer"), ("gelu-tanh", "layer"), ("gelu", "rms"), ("silu", "layer"), ("silu", "rms")]


@pytest.mark.parametrize(("activation", "kind"), KINDS)
def test_what_is_proved_of_an_edit_is_true_of_both_models(activation: Any, kind: Any) -> None:
    done = edited(activation=activation, kind=kind, flat=1, zero_gain=kind == "layer")
    assert done.certificate.verdict is Verdict.PROVED and done.certificate.headline().startswith(
        "EDITED, PROVED: 4 of 4"
    )
    before, after = done.original, done.model
    assert (decide_argmax(after, done.edit.contexts[1:]).place == done.edit.answers[1:]).all()
    flat = enclose_logits(after, done.edit.contexts[:1])
    assert flat.upper().max() - flat.lower().min() <= done.certificate.values["spread"]
    assert (decide_argmax(before, done.edit.kept).place == decide_argmax(after, done.edit.kept).place).all()
    kept = done.edit.kept[::9]
    one, two = (enclose_logits(model, kept, precision=1500) for model in (before, after))
    assert (np.abs(one.midpoint - two.midpoint) - one.radius - two.radius <= done.certificate.values["moved"]).all()


HARD = [
    {"gated": True, "activation": "silu", "kind": "rms", "flat": 1},
    {"gated": True, "activation": "silu", "kind": "rms", "layer": 0},
    {"layer": 0},
    {"layer": 0, "activation": "relu"},
    {"parallel": True, "activation": "gelu"},
]


@pytest.mark.parametrize("options", HARD)
def test_what_is_proved_of_gates_and_of_earlier_layers_is_true_of_both_models(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    done = edited(**options)
    assert done.certificate.verdict is Verdict.PROVED
    before, after, flat = done.original, done.model, options.get("flat", 0)
    assert (decide_argmax(after, done.edit.contexts[flat:]).place == done.edit.answers[flat:]).all()
    assert (decide_argmax(before, done.edit.kept).place == decide_argmax(after, done.edit.kept).place).all()
    one, two = (enclose_logits(model, done.edit.kept[::9], precision=1500) for model in (before, after))
    assert (np.abs(one.midpoint - two.midpoint) - one.radius - two.radius <= done.certificate.values["moved"]).all()
    save_edit(tmp_path, after, done.edit, done.certificate)
    for report in (check_edit(tmp_path), check_edit_by_kernel(tmp_path)):
        assert report.verdict is Verdict.PROVED
    claims = "layer" not in options or options.get("activation") == "relu"
    assert ("outside" in done.certificate.values) == claims


@pytest.mark.parametrize("activation", ["relu", "gelu-tanh"])
def test_neurons_of_an_earlier_layer_that_fire_at_the_beginning_of_a_kept_context_are_seen(activation: Any) -> None:
    done = edited(layer=0, activation=activation)
    prefix = done.edit.contexts[0]
    longer = np.concatenate([np.repeat(prefix[None], TOKENS, axis=0), np.arange(TOKENS)[:, None]], axis=1)
    found = prove_edit(done.original, done.model, Edit(done.edit.contexts, done.edit.answers, longer), layer=0)
    one, two = (enclose_logits(model, longer).midpoint for model in (done.original, done.model))
    moves = np.abs(one - two).max(axis=1)
    assert moves.max() > 0.1 and (found.kept.moved >= moves).all()
    with pytest.raises(HypothesisError, match="begin with an edited one"):
        edit_model(done.original, done.edit.contexts, done.edit.answers, longer[:1], layer=0)
    last = edit_model(done.original, done.edit.contexts, done.edit.answers, longer)
    assert last.certificate.verdict is Verdict.PROVED  # the last layer does not care what goes on behind a prefix


def test_gates_whose_other_factor_is_not_one_are_refused(tmp_path: Path) -> None:
    done = edited(gated=True, activation="silu")
    block = editable(done.model).neurons
    assert block.b_in is not None
    twice, reads = block.b_in.copy(), block.W_in.copy()
    twice[-1], reads[0, -2] = 2.0, 1e-9
    for spoilt in (replace(block, b_in=twice), replace(block, W_in=reads)):
        model = replace(done.model, blocks=(*done.model.blocks[:-2], spoilt, done.model.blocks[-1]))
        with pytest.raises(InputError, match="with a factor of 1"):
            certify_edit(model, done.edit)
        save_edit(tmp_path, model, done.edit, replace(done.certificate, edited=model.sha256()))
        for check in (check_edit, check_edit_by_kernel):
            with pytest.raises(FileFormatError, match=r"factor of 1|block of neurons that no edit has"):
                check(tmp_path)


def test_a_layer_that_there_is_not_and_the_uniform_distribution_in_an_earlier_one_are_refused() -> None:
    for layer, flat, said in ((2, 0, "layer = 2"), (-1, 0, "layer = -1"), (0, 1, "uniform distribution")):
        with pytest.raises(InputError, match=said):
            edited(layer=layer, flat=flat)
    assert edited(layer=1).certificate.layer is None


def test_a_kept_context_in_a_cap_is_named_and_not_certified() -> None:
    done = edited()
    contexts, answers, kept = done.edit.contexts[1:], done.edit.answers[1:], done.edit.contexts[:1]
    block = editable(done.model).neurons
    assert block.b_in is not None
    order = [*range(16), *range(17, 21), 16]  # the neuron of the first edit is one of the model's own now
    mixed = replace(block, W_in=block.W_in[:, order], b_in=block.b_in[order], W_out=block.W_out[order])
    model = replace(done.model, blocks=(*done.model.blocks[:-2], mixed, done.model.blocks[-1]))
    with pytest.raises(HypothesisError, match="may fire at"):
        certify_edit(model, Edit(contexts, answers, kept))


def test_contexts_that_are_named_twice_are_refused() -> None:
    done = edited()
    contexts, answers, kept = done.edit.contexts, done.edit.answers, done.edit.kept
    for edit, said in (
        (Edit(contexts[[0, 0, 1, 2, 3]], answers, kept), "edited 2 times"),
        (Edit(contexts, answers, kept[[0, 0]]), "kept 2 times"),
        (Edit(contexts, answers, contexts[:1]), "both edited and kept"),
    ):
        with pytest.raises(InputError, match=said):
            certify_edit(done.model, edit)


def test_an_edit_of_an_edited_model_is_proved_of_both(tmp_path: Path) -> None:
    first = edited()
    numbers = np.array([7, 11])
    contexts = np.stack(np.unravel_index(numbers, (TOKENS,) * LENGTH), axis=1)

    second = edit_model(first.model, contexts, np.array([0, 1]), whole_domain(TOKENS, LENGTH, contexts), domain=LENGTH)
    assert second.certificate.verdict is Verdict.PROVED and second.certificate.original == first.certificate.edited
    left = [place for place, row in enumerate(first.edit.contexts.tolist()) if row not in contexts.tolist()]
    assert (decide_argmax(second.model, first.edit.contexts[left]).place == first.edit.answers[left]).all()


def test_an_answer_that_is_wrong_is_not_counted() -> None:
    done = edited()
    wrong = Edit(done.edit.contexts, (done.edit.answers + 1) % TOKENS, done.edit.kept[:3])
    assert prove_edit(done.original, done.model, wrong).values["memorized"] == 0


def test_neurons_that_leak_more_than_the_last_normalization_bounds_are_refused() -> None:
    done = edited(activation="silu")
    final = replace(done.model.blocks[-1], epsilon=1e-40)
    model = replace(done.model, blocks=(*done.model.blocks[:-1], final))
    with pytest.raises(HypothesisError, match="'outside' is infinite"):
        certify_edit(model, Edit(done.edit.contexts, done.edit.answers, done.edit.kept[:0]))
