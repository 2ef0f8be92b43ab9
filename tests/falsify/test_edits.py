"""Attacks on the certificates of edits: each makes the files say something false, with all hashes in order."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byheart.cli.main import main
from byheart.editing import Edited, edit
from byheart.terminal.edit_report import check_edit_by_kernel
from constructions.errors import FileFormatError, HypothesisError, InputError, TamperedError
from constructions.model.appended_neurons import Appended, editable, with_neurons, without_neurons
from constructions.model.blocks import FeedForward, Normalization
from constructions.model.model import Model
from tests.edited_hosts import LENGTH as PAIR
from tests.edited_hosts import answer, facts, gpt2
from tests.edited_models import edited
from verify import Verdict
from verify.edits.certificate import CAP, EditCertificate
from verify.edits.judge import caps, preactivations
from verify.forward.in_balls import logits_in_balls
from verify.provers.edit import Edit, certify_edit, check_edit, save_edit


def is_believed(folder: Path, model: Model, edit: Edit, certificate: EditCertificate, **changes: Any) -> bool:
    """Whether a reader proves what is stored, with counts and hashes that fit."""
    counts = {"kept": len(edit.kept), "same": len(edit.kept)}
    values = {
        **certificate.values,
        **counts,
        **{name: changes.pop(name) for name in list(changes) if name not in ("layer",)},
    }
    layer = changes.get("layer", certificate.layer)
    original = without_neurons(model, len(edit.answers), layer=layer, everywhere=certificate.everywhere)
    hashes = {"original": original.sha256(), "edited": model.sha256(), "edit": edit.asked().sha256()}
    save_edit(folder, model, edit, replace(certificate, **hashes, layer=layer, values=values))
    found = []
    for check in (check_edit, check_edit_by_kernel):
        try:
            found.append(check(folder).verdict is Verdict.PROVED)
        except (FileFormatError, TamperedError):
            found.append(False)
    return any(found)


def few(done: Edited, kept: int = 12) -> Edit:
    """What was asked, with some of the kept contexts alone."""
    return replace(done.edit, kept=done.edit.kept[:: len(done.edit.kept) // kept], domain=None)


def changed(done: Edited, *, layer: int | None = None, **parts: np.ndarray) -> Model:
    """The edited model with other neurons in the place of its new ones."""
    site = editable(done.model, layer)
    block = site.neurons
    own = {name: getattr(block, name).copy() for name in parts}
    for name, part in parts.items():
        own[name][..., -5:] = part
    blocks = list(done.model.blocks)
    blocks[site.place] = replace(block, **own)
    return replace(done.model, blocks=tuple(blocks))


def last_neurons(done: Edited) -> tuple[np.ndarray, np.ndarray]:
    block = editable(done.model).neurons
    assert block.b_in is not None
    return block.W_in[:, -5:], block.b_in[-5:]


def test_a_gap_that_was_halved_is_noticed_where_a_neuron_fires(tmp_path: Path) -> None:
    done = edited(activation="silu")
    asked, (weights, shifts) = few(done), last_neurons(done)
    [(_, reads)] = preactivations(done.model, 5, asked.kept)
    lift = np.zeros(5)
    lift[2] = 1.0 - reads.midpoint[:, 2].max()  # the third neuron fires at its nearest kept context
    assert is_believed(tmp_path, done.model, asked, done.certificate)
    assert not is_believed(tmp_path, changed(done, b_in=shifts + lift), asked, done.certificate, moved=1e-3)
    weak = changed(done, W_in=0.02 * weights, b_in=0.02 * shifts)
    assert not is_believed(tmp_path, weak, asked, done.certificate)


@pytest.mark.parametrize("activation", ["silu", "gelu", "relu"])
def test_rows_at_the_rim_of_a_cap_move_by_no_more_than_is_said_of_those_outside(activation: Any) -> None:
    """A model whose rows are its tokens: some stand at the rim of the cap of the one neuron, on either side."""
    d, rng = 8, np.random.default_rng(0)
    norm, final = Normalization("rms", w=np.ones(d), epsilon=1e-12), Normalization("rms", w=np.ones(d), epsilon=4.0)
    normal = rng.normal(size=d)
    normal *= np.sqrt(d) / np.linalg.norm(normal)
    across = rng.normal(size=(9, d))
    across -= (across @ normal / d)[:, None] * normal
    across *= np.sqrt(d) / np.linalg.norm(across, axis=1, keepdims=True)
    scale = 30.0
    cosines = (-CAP + np.array([-1e-1, -1e-3, -1e-6, -1e-9, 0.0, 1e-9, 1e-6, 1e-3, 5.0])) / (scale * d)
    rows = cosines[:, None] * normal + np.sqrt(1.0 - cosines**2)[:, None] * across
    own = FeedForward(np.zeros((d, 1)), np.zeros((1, d)), b_in=np.zeros(1), activation=activation, norm=norm)
    model = Model(blocks=(own, final), W_U=rng.normal(size=(d, 4)), W_E=rows, W_pos=np.zeros((1, d)))
    neuron = Appended(scale * normal[:, None], np.zeros(1), rng.normal(size=(1, d)))
    changed = with_neurons(model, neuron)
    contexts = np.arange(9)[:, None]
    bound = caps(changed, 1, threshold=CAP).moved
    [(_, reads)] = preactivations(changed, 1, contexts)
    one, two = (logits_in_balls(each, contexts, 600).tolist() for each in (model, changed))
    moves = [max(abs(x - y).lower() for x, y in zip(a, b, strict=True)) for a, b in zip(one, two, strict=True)]
    outside = reads.upper()[:, 0] <= -CAP
    assert 3 <= outside.sum() <= 6
    assert not any(move > bound for move, is_out in zip(moves, outside, strict=True) if is_out)
    if activation == "silu":
        assert float(moves[-1]) > bound  # inside, so that the bound says something
    far = np.linalg.norm(rows - normal, axis=1)
    assert (far[~outside] <= caps(changed, 1, threshold=CAP).radii[0]).all()


@pytest.mark.parametrize("activation", ["silu", "relu"])
def test_an_earlier_layer_that_moves_what_is_kept_is_not_believed(tmp_path: Path, activation: Any) -> None:
    done = edited(layer=0, activation=activation)
    asked = few(done, 4)
    assert is_believed(tmp_path, done.model, asked, done.certificate)
    if activation == "silu":
        for claimed in ({"moved": 0.0}, {"moved": 1e-300}, {"outside": 1e-3}):
            assert not is_believed(tmp_path, done.model, asked, done.certificate, **claimed)
    longer = np.append(done.edit.contexts[0], 3)[None]  # begins with an edited context: the neuron fires in it
    for moved in (0.0, 1e-6):
        edit = replace(asked, kept=longer)
        assert not is_believed(tmp_path, done.model, edit, done.certificate, moved=moved)


def test_neurons_of_one_layer_are_not_certified_as_those_of_another() -> None:
    done = edited(everywhere=True)
    with pytest.raises(InputError, match="not zeros"):
        certify_edit(done.model, done.edit, layer=0, everywhere=True)


def test_a_kept_context_beside_an_edited_one_whose_neuron_was_widened_is_named() -> None:
    done = edited()
    weights, shifts = last_neurons(done)
    model = changed(done, W_in=weights, b_in=shifts + 79.0)
    with pytest.raises(HypothesisError, match="may fire at"):
        certify_edit(model, done.edit)


def test_a_model_that_is_edited_twice_keeps_the_first_edit_or_the_second_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    source = gpt2(tmp_path / "m")
    first, second = facts([[1, 2]], [3]), facts([[4, 5]], [2])
    once = edit(source, first, keep_domain=PAIR, out=tmp_path / "once")
    twice = edit(tmp_path / "once", second, keep_domain=PAIR, out=tmp_path / "twice")
    assert twice.certificate.original == once.certificate.edited
    assert answer(twice.model, [1, 2]) == 3 and answer(twice.model, [4, 5]) == 2
    for name in ("once", "twice"):
        assert main(["check", str(tmp_path / name)]) == 0
    capsys.readouterr()
    for file in (tmp_path / "once" / "proof").iterdir():  # the proof of the first in the folder of the second
        (tmp_path / "twice" / "proof" / file.name).write_bytes(file.read_bytes())
    assert main(["check", str(tmp_path / "twice")]) == 1
    assert "holds another model than the one that is proved" in capsys.readouterr().err
    over = edit(tmp_path / "once", facts([[1, 2]], [5]), keep_domain=PAIR)  # the same context again
    assert over.certificate.verdict is Verdict.PROVED and answer(over.model, [1, 2]) == 5
    with pytest.raises(ValueError, match="which an edit is to change"):
        edit(tmp_path / "once", facts([[1, 2]], [5]), keep=first)


def test_what_is_kept_is_what_the_contexts_say(tmp_path: Path) -> None:
    done = edited()
    asked = few(done, 3)
    assert is_believed(tmp_path, done.model, asked, done.certificate)
    for counts in ({"kept": 211, "same": 211}, {"kept": 2, "same": 2}):
        assert not is_believed(tmp_path, done.model, asked, done.certificate, **counts)
