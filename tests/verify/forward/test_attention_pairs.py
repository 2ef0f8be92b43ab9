"""Which rows an attention reads, against a list of all pairs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from constructions.model.blocks import Attention
from verify.forward.attention_pairs import distinct_pairs, only_last_is_read, pairs_of

ONE = np.ones((1, 1, 1))
TOKENS = st.integers(1, 4).flatmap(
    lambda length: st.lists(st.tuples(*[st.integers(0, 3)] * length), min_size=1, max_size=6)
)


def found_pairs(pairs):
    """Of each pair what asks, and what is read."""
    contexts, positions = np.divmod(pairs.kept, pairs.asking.shape[1])
    return [
        (int(pairs.asking[c, i]), tuple(pairs.read[c, pairs.allowed[i]].tolist()))
        for c, i in zip(contexts, positions, strict=True)
    ]


@given(TOKENS, st.sampled_from(["last", "causal", "all"]), st.booleans())
def test_each_position_reads_what_its_mask_lets_it_and_no_pair_occurs_twice(tokens, attends, only_last):
    cells = distinct_pairs(np.array(tokens))[2]
    pairs = pairs_of(Attention(ONE, ONE, ONE, ONE, attends=attends), cells, only_last=only_last)
    found = found_pairs(pairs)
    assert len(set(found)) == len(found) == len(pairs.asked) and [row for row, _ in found] == pairs.asked.tolist()
    for context, own in zip(cells.tolist(), pairs.cells.tolist(), strict=True):
        positions = [len(context) - 1] if only_last or attends == "last" else range(len(context))
        visible = [tuple(context[: i + 1] if attends == "causal" else context) for i in positions]
        assert [found[pair] for pair in own] == list(zip([context[i] for i in positions], visible, strict=True))


@given(TOKENS)
def test_what_a_causal_attention_leaves_depends_on_the_beginning_alone_however_often_it_is_asked(tokens):
    causal = Attention(ONE, ONE, ONE, ONE, attends="causal")
    once = pairs_of(causal, distinct_pairs(np.array(tokens))[2], only_last=False)
    twice = pairs_of(causal, once.cells, only_last=False)
    prefixes = {tuple(context[: i + 1]) for context in tokens for i in range(len(context))}
    assert len(once.kept) == len(twice.kept) == len(prefixes)


def test_the_end_of_a_context_is_taken_for_no_row():
    block = Attention(ONE, ONE, ONE, ONE, attends="causal")
    pairs = pairs_of(block, np.array([[0, 2], [1, -1], [1, 2]]), only_last=False)
    assert pairs.cells.tolist() == [[0, 2], [1, -1], [1, 3]]
    assert pairs.asked.tolist() == [0, 1, 2, 2]


@given(TOKENS, st.integers(0, 3))
def test_each_example_of_a_task_asks_once(tokens, first):
    cells = np.array(tokens)
    pairs = pairs_of(Attention(ONE, ONE, ONE, ONE, queries="task", skip=False), cells, only_last=True, first=first)
    assert found_pairs(pairs) == [(first + t, tuple(cell)) for t, cell in enumerate(tokens)]
    assert pairs.cells.tolist() == [[t] for t in range(len(cells))]


@given(TOKENS)
def test_the_distinct_pairs_are_those_of_the_contexts(contexts):
    positions, tokens, cells = distinct_pairs(np.array(contexts))
    assert len(set(zip(positions.tolist(), tokens.tolist(), strict=True))) == len(positions)
    assert tokens[cells].tolist() == [list(context) for context in contexts]
    assert (positions[cells] == np.arange(cells.shape[1])).all()


def test_no_contexts_have_no_pairs():
    cells = distinct_pairs(np.zeros((0, 3), dtype=np.int64))[2]
    for attends in ("last", "causal", "all"):
        assert not len(pairs_of(Attention(ONE, ONE, ONE, ONE, attends=attends), cells, only_last=False).kept)


def test_only_the_last_row_counts_after_the_last_attention():
    attention = Attention(ONE, ONE, ONE, ONE)
    blocks = ["a", attention, "b", attention, "c"]
    assert [only_last_is_read(blocks, i) for i in range(-1, 5)] == [False] * 4 + [True] * 2
