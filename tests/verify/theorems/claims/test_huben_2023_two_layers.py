"""Two layers of attention are certified to hold their contexts, and not with a spoiled head."""

from dataclasses import replace

import numpy as np
import pytest

from constructions.rational.two_layers import two_layers
from constructions.tasks.arrays import all_contexts
from verify.theorems.claims import huben_2023_two_layers as audit
from verify.theorems.claims.huben_2023_two_layers import CLAIM
from verify.verdict import Verdict

XOR = all_contexts(2, 2), np.array([0, 1, 1, 0])


@pytest.mark.parametrize(("layer", "tensor"), [(0, "W_O"), (0, "W_V"), (1, "W_K"), (1, "W_V"), (1, "W_O")])
def test_a_layer_with_other_weights_is_refuted(layer, tensor):
    model = two_layers(*XOR, d_vocab=2)
    assert audit._exactly("XOR", model, *XOR).verdict is Verdict.PROVED
    blocks = list(model.blocks)
    blocks[layer] = replace(blocks[layer], **{tensor: -getattr(blocks[layer], tensor)})
    assert audit._exactly("XOR", replace(model, blocks=tuple(blocks)), *XOR).verdict is Verdict.REFUTED


def test_other_labels_are_refuted():
    model = two_layers(*XOR, d_vocab=2)
    assert audit._exactly("XOR", model, XOR[0], 1 - XOR[1]).verdict is Verdict.REFUTED


def test_a_wider_stream_is_not_what_the_claim_says():
    model = two_layers(*XOR, d_vocab=2)
    wide = np.concatenate([model.W_E, 0 * model.W_E[:, :1]], axis=1)
    assert {one.verdict for one in audit._sizes(model)} == {Verdict.PROVED}
    assert audit.Comparison(wide.shape[1], "=", audit.stated(CLAIM, "width")).verdict is Verdict.REFUTED


def test_rounded_weights_that_miss_a_label_are_not_confirmed(monkeypatch):
    made = CLAIM.construct(facts=8)
    task = replace(made.task)
    gates = made.model.blocks[1]
    spoiled = replace(made.model, blocks=(made.model.blocks[0], replace(gates, W_O=-gates.W_O)))
    monkeypatch.setattr(type(CLAIM), "construct", lambda _, **__: replace(made, task=task, model=spoiled))
    assert audit._rounded(facts=8).verdict is not Verdict.PROVED
