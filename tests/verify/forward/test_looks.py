"""Which rows an attention reads, against a list of all pairs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from constructions.models.blocks import Attention
from verify.forward.looks import distinct_pairs, looks_of, only_last_is_read

ONE = np.ones((1, 1, 1))
ROWS = st.integers(1, 4).flatmap(lambda length: st.lists(st.tuples(*[st.integers(0, 3)] * length), max_size=5))


@given(ROWS, st.sampled_from(["last", "causal", "all"]), st.booleans())
def test_each_position_reads_what_its_mask_lets_it_and_no_look_occurs_twice(cells, attends, only_last):
    looks = looks_of(Attention(ONE, ONE, ONE, ONE, attends=attends), cells, only_last=only_last)
    read = {look: rows for rows, numbers in looks.groups.items() for look in numbers}
    assert sorted(read) == list(range(len(looks.queries)))
    assert len(set(zip(looks.queries, map(read.get, range(len(read))), strict=True))) == len(looks.queries)
    for context, found in zip(cells, looks.cells, strict=True):
        length = len(context)
        positions = [length - 1] if only_last or attends == "last" else range(length)
        assert [looks.queries[look] for look in found] == [context[i] for i in positions]
        visible = [context[: i + 1] if attends == "causal" else context for i in positions]
        assert [read[look] for look in found] == visible


@given(ROWS)
def test_each_example_of_a_task_asks_once(cells):
    looks = looks_of(Attention(ONE, ONE, ONE, ONE, queries="task", skip=False), cells, only_last=True)
    assert looks.queries == list(range(len(cells)))
    assert looks.cells == [(t,) for t in range(len(cells))]
    assert {look: rows for rows, numbers in looks.groups.items() for look in numbers} == dict(enumerate(cells))


@given(ROWS.filter(len))
def test_the_distinct_pairs_are_those_of_the_contexts(contexts):
    positions, tokens, cells = distinct_pairs(np.array(contexts))
    assert len(set(zip(positions.tolist(), tokens.tolist(), strict=True))) == len(positions)
    assert [tuple(tokens[list(cell)]) for cell in cells] == contexts
    assert all(positions[list(cell)].tolist() == list(range(len(cell))) for cell in cells)


def test_only_the_last_row_counts_after_the_last_attention():
    attention = Attention(ONE, ONE, ONE, ONE)
    assert [only_last_is_read(["a", attention, "b", attention, "c"], i) for i in range(-1, 5)] == [
        False,
        False,
        False,
        False,
        True,
        True,
    ]
