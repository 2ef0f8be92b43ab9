"""Words of bits are certified to hold their labels, and not with a bit that is lost."""

from dataclasses import replace

import numpy as np
import pytest

from constructions.memories.keyed_words import fewest_entries
from verify.theorems.claims import vardi_2022_sqrt as audit
from verify.verdict import Verdict


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

    assert audit._memorized(16, 2, 4, 2).verdict is Verdict.PROVED
    monkeypatch.setattr(audit, "word_network", spoiled)
    assert audit._memorized(16, 2, 4, 2).verdict is Verdict.REFUTED


def test_longer_words_have_another_number_of_entries(monkeypatch):
    original = audit.word_network
    monkeypatch.setattr(audit, "word_network", lambda *given, items: original(*given, items=items + 1))
    assert audit._memorized(16, 2, 4, 2).verdict is Verdict.REFUTED


def test_words_that_are_not_the_best_are_above_the_bound(monkeypatch):
    original = audit.word_network
    monkeypatch.setattr(audit, "word_network", lambda *given, items: original(*given, items=1))
    assert audit._grows((16, 144)).verdict is Verdict.REFUTED


def test_weights_that_are_not_rounded_lose_nothing(monkeypatch):
    assert audit._rounded(64, 4).verdict is Verdict.PROVED
    monkeypatch.setattr(audit, "rounded_integers", lambda model, bits: model)
    assert audit._rounded(64, 4).verdict is Verdict.REFUTED
    assert audit._rounded(64, 2).verdict is Verdict.PROVED


def test_the_best_number_of_items_is_not_far_from_any_other():
    for count in (1, 10, 1000):

        def entries(m, count=count):
            return 6 * (-(-count // m) - 1) + m * (8 * 16 + 21)

        assert entries(fewest_entries(count, 16)) <= min(entries(m) for m in range(1, count + 1)) + 8 * 16 + 21
