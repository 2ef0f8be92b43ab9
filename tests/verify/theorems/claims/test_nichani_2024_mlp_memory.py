"""Counts of neurons are those of the layer that is described, and other layers are noticed."""

from dataclasses import replace

import numpy as np
import pytest

from verify.theorems.claims import nichani_2024_mlp_memory as audit
from verify.verdict import Verdict

SMALL = {"neurons": 128, "degree": 2, "activation": "polynomial", "draws": 1, "all_stored": True}


def test_fewer_neurons_do_not_store_them():
    assert audit._neurons("quadratic", **SMALL).verdict is Verdict.PROVED
    assert audit._neurons("quadratic", **{**SMALL, "neurons": 16}).verdict is Verdict.REFUTED
    assert audit._neurons("quadratic", **{**SMALL, "degree": 1}).verdict is Verdict.REFUTED


def test_what_is_stored_is_not_called_missed():
    assert audit._neurons("quadratic", **{**SMALL, "all_stored": False}).verdict is Verdict.REFUTED


def test_a_matrix_that_stores_all_is_not_called_short(monkeypatch):
    assert audit._matrix(1).verdict is Verdict.PROVED
    original = audit.random_associations
    monkeypatch.setattr(audit, "random_associations", lambda width, count, **seed: original(128, count, **seed))
    assert audit._matrix(1).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    "change",
    [
        lambda made, g: (replace(made, memory=2 * made.memory), g),
        lambda made, g: (replace(made, inputs=made.inputs + 1), g),
        lambda made, g: (replace(made, labels=np.zeros_like(made.labels)), g),
        lambda made, g: (replace(made, outputs=2 * made.outputs), g),
        lambda made, g: (made, g + 1),
    ],
)
def test_another_layer_is_refuted(changed, change):
    changed(audit, "neuron_memory", lambda found: change(*found))
    assert audit._neurons("quadratic", **SMALL).verdict is Verdict.REFUTED
