"""Kinds are the finest partition that keeps a relation's objects together; no subject has two facts in one digit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from constructions.memories.object_words.kinds import Kinds, Slots, on_a_line, shared_digits


def random_objects(seed: int, subjects: int, sizes: list[int], holes: float) -> np.ndarray:
    """A table whose i-th relation has the i-th range of so many objects; every object occurs."""
    rng = np.random.default_rng(seed)
    first = np.cumsum([0, *sizes[:-1]])
    table = np.stack([first[i] + rng.integers(0, size, subjects) for i, size in enumerate(sizes)], axis=1)
    table[rng.random(table.shape) < holes] = -1
    table[0] = first  # no relation is without a fact
    kept = np.unique(table[table >= 0])
    return np.where(table >= 0, np.searchsorted(kept, table), -1)


def test_relations_that_share_an_object_have_objects_of_one_kind() -> None:
    table = np.array([[0, 3, 5, 1], [2, 4, 3, 1]])  # objects 0 and 2; 3 and 4; 3 and 5; 1
    kinds = Kinds.of(table, 6)
    assert kinds.of_relation.tolist() == [0, 2, 2, 1]
    assert kinds.of_object.tolist() == [0, 1, 0, 2, 2, 2]
    assert kinds.number.tolist() == [0, 0, 1, 0, 1, 2]
    assert kinds.sizes.tolist() == [2, 1, 3] and kinds.bits.tolist() == [2, 2, 3]


@given(st.integers(0, 2**32), st.lists(st.integers(1, 9), min_size=1, max_size=6), st.sampled_from([0.0, 0.6]))
def test_relations_with_objects_of_their_own_have_a_kind_each(seed: int, sizes: list[int], holes: float) -> None:
    table = random_objects(seed, 12, sizes, holes)
    kinds = Kinds.of(table, int(table.max()) + 1)
    assert len(kinds.sizes) == len(sizes) == len(set(kinds.of_relation))
    assert (2**kinds.bits >= kinds.sizes + 2).all() and kinds.lead > 0.0


@given(st.integers(0, 2**32), st.integers(1, 9), st.sampled_from([0.0, 0.5, 0.8]))
def test_no_subject_has_two_relations_of_one_digit(seed: int, relations: int, holes: float) -> None:
    table = random_objects(seed, 12, [3] * relations, holes)
    bits = np.random.default_rng(seed).integers(2, 4, relations)
    digit = shared_digits(table, bits)
    for place in range(int(digit.max()) + 1):
        own = digit == place
        assert len(set(bits[own])) == 1
        assert ((table[1:, own] >= 0).sum(axis=1) <= 1).all() or own.sum() == 1


@given(st.lists(st.integers(2, 9), min_size=1, max_size=20), st.integers(9, 24))
def test_digits_of_a_word_lie_one_above_the_other_and_in_its_room(bits: list[int], room: int) -> None:
    each = np.array(bits)
    slots = Slots.of(each, np.arange(len(each)), room)
    assert slots.top <= room and slots.words <= len(each)
    for word in range(slots.words):
        own = np.flatnonzero(slots.word == word)
        own = own[np.argsort(slots.place[own])]
        assert slots.place[own].tolist() == list(range(len(own)))
        assert slots.below[own].tolist() == [0, *np.cumsum(each[own])[:-1].tolist()]


@given(st.lists(st.integers(1, 300), min_size=1, max_size=6))
def test_on_a_line_the_middles_of_two_kinds_are_as_far_apart_as_the_wider_cells(sizes: list[int]) -> None:
    table = np.full((max(sizes), len(sizes)), -1)
    for i, size in enumerate(sizes):
        table[:size, i] = sum(sizes[:i]) + np.arange(size)
    kinds = Kinds.of(table, sum(sizes))
    shift = on_a_line(kinds)
    middles = np.concatenate([kinds.middles(i) + shift[i] for i in range(len(kinds.sizes))])
    cells = np.concatenate([np.full(size, kinds.cell[i]) for i, size in enumerate(kinds.sizes)])
    order = np.argsort(middles)
    assert (np.diff(middles[order]) >= np.maximum(cells[order][1:], cells[order][:-1])).all()
    assert shift.min() == 0.0 and (shift == np.round(shift)).all()
