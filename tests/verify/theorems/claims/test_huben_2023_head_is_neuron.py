"""Heads are certified to be neurons; other heads, and masks that leak more, are not."""

from dataclasses import replace

import pytest

from verify.theorems.claims import huben_2023_head_is_neuron as audit
from verify.verdict import Verdict


def spoil(monkeypatch, name, change):
    original = getattr(audit, name)
    monkeypatch.setattr(audit, name, lambda *args, **options: change(original(*args, **options)))


def with_tensor(model, tensor, change):
    head = model.blocks[0]
    return replace(model, blocks=(replace(head, **{tensor: change(getattr(head, tensor).copy())}),))


@pytest.mark.parametrize("tensor", ["W_Q", "W_K", "W_V", "W_O"])
def test_a_head_with_other_weights_is_no_neuron(monkeypatch, tensor):
    spoil(monkeypatch, "neurons_as_heads", lambda model: with_tensor(model, tensor, lambda maps: 2 * maps))
    assert audit._exact_unit(12, 3, 6, same=True).verdict is Verdict.REFUTED
    assert audit._silu(5, 2, 3).verdict is Verdict.UNDECIDED


def test_a_null_token_with_a_value_is_noticed(monkeypatch):
    def loud(model):
        W_E = model.W_E.copy()
        W_E[0, 0] += 1
        return replace(model, W_E=W_E)

    spoil(monkeypatch, "neurons_as_heads", loud)
    assert audit._exact_unit(12, 3, 6, same=True).verdict is Verdict.REFUTED
    assert audit._silu(5, 2, 3).verdict is Verdict.UNDECIDED


def test_a_mask_that_is_too_weak_is_refuted(monkeypatch):
    original = audit.masked_neuron
    monkeypatch.setattr(audit, "masked_neuron", lambda *args, mask, **sizes: original(*args, mask=mask - 2, **sizes))
    assert audit._mask(5, (6, 12)).verdict is Verdict.REFUTED
