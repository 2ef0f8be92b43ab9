"""Words of bits are certified to hold their labels, and not with a bit that is lost."""

from dataclasses import replace

import numpy as np
import pytest

from constructions.claims.vardi_2022_sqrt import CLAIM
from verify.claims import vardi_2022_sqrt as audit
from verify.claims.audit import Audit
from verify.verdict import Verdict


def test_the_verdict_is_confirmed():
    assert Audit(CLAIM, tuple(audit.evidence(full=False)), 0.0).confirmed


@pytest.mark.slow
def test_the_verdict_is_confirmed_at_full_length():
    assert Audit(CLAIM, tuple(audit.evidence(full=True)), 0.0).confirmed


@pytest.mark.parametrize("place", [1, 7, 9, -2, -1])
@pytest.mark.parametrize("tensor", ["b_in", "W_out"])
def test_a_block_with_one_entry_changed_is_refuted(monkeypatch, place, tensor):
    original = audit.word_network

    def spoiled(*given, **options):
        model = original(*given, **options)
        blocks = list(model.blocks)
        changed = getattr(blocks[place], tensor).copy()
        changed.flat[int(np.flatnonzero(changed)[0])] *= 3
        blocks[place] = replace(blocks[place], **{tensor: changed})
        return replace(model, blocks=tuple(blocks))

    assert audit._held(16, 2, 4, 2).verdict is Verdict.PROVED
    monkeypatch.setattr(audit, "word_network", spoiled)
    assert audit._held(16, 2, 4, 2).verdict is Verdict.REFUTED


def test_longer_words_have_another_number_of_entries(monkeypatch):
    original = audit.word_network
    monkeypatch.setattr(audit, "word_network", lambda *given, items: original(*given, items=items + 1))
    assert audit._held(16, 2, 4, 2).verdict is Verdict.REFUTED


def test_words_that_are_not_the_best_are_above_the_bound(monkeypatch):
    original = audit.word_network
    monkeypatch.setattr(audit, "word_network", lambda *given, items: original(*given, items=1))
    assert audit._grows((16, 144)).verdict is Verdict.REFUTED


def test_weights_that_are_not_rounded_lose_nothing(monkeypatch):
    assert audit._rounded(64, 4).verdict is Verdict.PROVED
    monkeypatch.setattr(audit, "rounded_integers", lambda model, bits: model)
    assert audit._rounded(64, 4).verdict is Verdict.REFUTED
    assert audit._rounded(64, 2).verdict is Verdict.PROVED
