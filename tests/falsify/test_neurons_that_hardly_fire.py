"""Attacks on a layer of which nothing is said to move: a neuron fires there by less than a ball knows."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from byheart.terminal.edit_report import check_edit_by_kernel
from constructions.errors import FileFormatError, TamperedError
from constructions.model.appended_neurons import Appended, with_neurons
from constructions.model.blocks import FeedForward, Normalization
from constructions.model.model import Model
from verify import Verdict, decide_argmax
from verify.provers.edit import Edit, certify_edit, check_edit, save_edit

TINY = 2.0**-200


def original(factor: float) -> Model:
    """Two layers of idle neurons; the first entry of the kept token is a multiple of the second, its third is tiny."""
    rows = np.array([[0.0, 0.0, 1.0, 1.0], [factor, 1.0, TINY, 1.0]])
    norm, final = Normalization("rms", w=np.ones(4)), Normalization("rms", w=np.ones(4))
    still = FeedForward(np.zeros((4, 1)), np.zeros((1, 4)), b_in=np.zeros(1), norm=norm)
    W_U = np.random.default_rng(0).normal(size=(4, 3))
    return Model(blocks=(still, still, final), W_U=W_U, W_E=rows, W_pos=np.zeros((1, 4)))


@pytest.mark.parametrize("layer", [0, None])
def test_a_neuron_that_fires_by_nearly_nothing_moves_what_is_kept(tmp_path: Path, layer: int | None) -> None:
    """It reads the first entry less its multiple of the second, which is 0, and the third; balls know no sign of it."""
    kept = np.array([[1]])
    for place, factor in enumerate((3.0, 5.0, 7.0, 11.0, 13.0, 19.0)):
        before = original(factor)
        reads, writes = np.array([[1.0], [-factor], [1.0], [0.0]]), np.array([[0.0, 0.0, 0.0, 1.0]])
        tame, bad = (with_neurons(before, Appended(reads, np.array([b]), writes), layer=layer) for b in (-0.5, 0.0))
        edit = Edit(np.array([[0]]), decide_argmax(tame, np.array([[0]])).place, kept)
        certificate, _ = certify_edit(tame, edit, layer=layer)
        assert certificate.values["moved"] == 0.0
        for name, model in (("tame", tame), ("bad", bad)):
            folder = tmp_path / f"{name}{place}"
            folder.mkdir()
            save_edit(folder, model, edit, replace(certificate, edited=model.sha256()))
            for check in (check_edit, check_edit_by_kernel):
                try:
                    proved = check(folder).verdict is Verdict.PROVED
                except (FileFormatError, TamperedError):
                    proved = False
                assert proved is (model is tame)
