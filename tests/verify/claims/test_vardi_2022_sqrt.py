"""Words of bits are certified to hold their labels, and not with a bit that is lost."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.claims.vardi_2022_sqrt import CLAIM, best_items, in_float64, word_blocks, word_network
from constructions.errors import HypothesisError, InputError
from verify.claims import vardi_2022_sqrt as audit
from verify.claims.audit import Audit
from verify.claims.words import judge_words
from verify.verdict import Verdict


def test_the_verdict_is_confirmed():
    assert Audit(CLAIM, tuple(audit.evidence(full=False)), 0.0).confirmed


@pytest.mark.slow
def test_the_verdict_is_confirmed_at_full_length():
    assert Audit(CLAIM, tuple(audit.evidence(full=True)), 0.0).confirmed


@given(st.sets(st.integers(-40, 40), min_size=1, max_size=7), st.integers(1, 4), st.data())
def test_any_labels_of_any_codes_are_held_by_words_of_any_length(codes, items, data):
    points = np.array(sorted(codes))[:, None]
    labels = np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(points), max_size=len(points))))
    found = judge_words(word_network(points, labels, items=items), np.arange(len(points))[:, None], labels)
    assert found.held == found.count == len(points)


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
    monkeypatch.setattr(audit, "in_float64", lambda model: model)
    assert audit._rounded(64, 4).verdict is Verdict.REFUTED
    assert audit._rounded(64, 2).verdict is Verdict.PROVED


def test_rounding_to_float64_changes_long_words_and_no_short_ones():
    points, labels = audit.drawn(64, 3, 50)
    for items, same in ((2, True), (4, False)):
        model = word_network(points, labels, items=items)
        looked_up = model.blocks[1].W_out, in_float64(model).blocks[1].W_out
        assert bool((looked_up[0] == looked_up[1]).all()) is same


def test_codes_that_are_equal_and_numbers_that_do_not_fit_are_refused():
    with pytest.raises(HypothesisError, match="distinct codes"):
        word_blocks([3, 3], [0, 1])
    with pytest.raises(HypothesisError, match="distinct points"):
        word_network(np.array([[1], [1]]), np.array([0, 1]))
    for codes, labels, items in (([], [], None), ([1], [0, 1], None), ([-1], [0], None), ([1], [0], 0)):
        with pytest.raises(InputError, match="expected T >= 1 of each"):
            word_blocks(codes, labels, items=items)
    with pytest.raises(InputError, match=r"expected \[n, d\]"):
        word_network(np.array([[1.0]]), np.array([0]))


def test_the_best_number_of_items_is_not_far_from_any_other():
    for count in (1, 10, 1000):

        def entries(m, count=count):
            return 6 * (-(-count // m) - 1) + m * (8 * 16 + 21)

        assert entries(best_items(count, 10, 6)) <= min(entries(m) for m in range(1, count + 1)) + 8 * 16 + 21
