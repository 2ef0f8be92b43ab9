"""Attacks on what is said of kept contexts: a new neuron moves every logit by little more than half of a lead."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byheart.terminal.edit_report import check_edit_by_kernel
from constructions.errors import FileFormatError, TamperedError
from constructions.model.appended_neurons import Appended, with_neurons
from constructions.model.blocks import FeedForward, Normalization
from constructions.model.model import Model
from verify import Verdict, decide_argmax, enclose_logits
from verify.provers.edit import Edit, certify_edit, check_edit, save_edit

CONTEXTS = np.array([[0], [1]])
EDIT = Edit(CONTEXTS[:1], np.array([1]), CONTEXTS[1:])


def original(lead: float) -> Model:
    """Two tokens on two axes; the logits are plus and minus the first coordinate, behind a denominator of about 1."""
    norm = Normalization("rms", w=np.ones(2), epsilon=1e-12)
    still = FeedForward(np.zeros((2, 1)), np.zeros((1, 2)), b_in=np.zeros(1), norm=norm)
    rows = np.array([[0.0, 1.0], [lead / 2.0, 0.0]])
    final = Normalization("rms", w=np.ones(2), epsilon=1.0)
    return Model(blocks=(still, final), W_U=np.array([[1.0, -1.0], [0.0, 0.0]]), W_E=rows, W_pos=np.zeros((1, 2)))


def with_neuron(model: Model, move: float, shift: float) -> Model:
    """A neuron that lowers the first coordinate: at the edited token, and at the kept one if the shift is 0."""
    reads = np.array([[1.0], [3.0]]) / np.sqrt(2.0)
    return with_neurons(model, Appended(reads, np.array([shift]), np.array([[-move, 0.0]])))


@pytest.mark.parametrize("check", [check_edit, check_edit_by_kernel])
@pytest.mark.parametrize("share", [0.51, 0.6, 0.9])
def test_two_logits_may_move_towards_each_other(tmp_path: Path, check: Callable[[Path], Any], share: float) -> None:
    lead = 1e-3
    before = original(lead)
    tame, bad = (with_neuron(before, share * lead, shift) for shift in (-2.0, 0.0))
    certificate, _ = certify_edit(tame, EDIT)
    assert decide_argmax(before, CONTEXTS[1:]).place == 0 and decide_argmax(bad, CONTEXTS).place.tolist() == [1, 1]
    moves = enclose_logits(bad, CONTEXTS[1:]) - enclose_logits(before, CONTEXTS[1:])
    moved = 1.001 * float(moves.magnitude().max())
    assert moved < lead
    for model, values in ((tame, {}), (bad, {"moved": moved})):
        said = replace(certificate, edited=model.sha256(), values={**certificate.values, **values})
        folder = tmp_path / str(len(values))
        folder.mkdir()
        save_edit(folder, model, EDIT, said)
        try:
            believed = check(folder).verdict is Verdict.PROVED
        except (FileFormatError, TamperedError):
            believed = False
        assert believed is (model is tame)


@pytest.mark.parametrize("check", [check_edit, check_edit_by_kernel])
@pytest.mark.parametrize("place", [0, 1])
def test_a_tie_is_no_answer(tmp_path: Path, check: Callable[[Path], Any], place: int) -> None:
    """Both logits of the edited context are 0, or of the kept one, and the certificate says that one of them leads."""
    leads = original(1e-3)
    rows = np.array([[-1e-3, 1.0], [1e-3, 2.0]])
    rows[place, 0] = 0.0
    neuron = Appended(np.zeros((2, 1)), -np.ones(1), np.zeros((1, 2)))  # it never fires
    honest = replace(leads, W_E=np.array([[-1e-3, 1.0], [1e-3, 2.0]]))
    certificate, _ = certify_edit(with_neurons(honest, neuron), EDIT)
    tied = with_neurons(replace(leads, W_E=rows), neuron)
    hashes = {"original": replace(leads, W_E=rows).sha256(), "edited": tied.sha256()}
    save_edit(tmp_path, tied, EDIT, replace(certificate, **hashes))
    try:
        assert check(tmp_path).verdict is not Verdict.PROVED
    except (FileFormatError, TamperedError):
        pass
    save_edit(tmp_path, with_neurons(honest, neuron), EDIT, certificate)
    assert check(tmp_path).verdict is Verdict.PROVED
