"""Contexts with labels at random."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from constructions.named.context_rows import ContextRows
from constructions.named.labelled_contexts import labelled, part_of, random_contexts, require_distinct


@given(st.integers(1, 4), st.integers(1, 3), st.data())
def test_drawn_contexts_are_distinct_and_as_many_as_asked(d_vocab, n_ctx, data):
    count = data.draw(st.integers(0, d_vocab**n_ctx))
    found = random_contexts(d_vocab=d_vocab, n_ctx=n_ctx, n_contexts=count, seed=1)
    assert len(found.tokens) == (count or d_vocab**n_ctx) and len(found.vocabulary) == d_vocab
    require_distinct(found, theorem="")


def test_contexts_are_drawn_where_all_are_too_many():
    assert random_contexts(d_vocab=1000, n_ctx=5, n_contexts=30, seed=0).tokens.shape == (30, 5)


@pytest.mark.parametrize("sizes", [dict(n_contexts=9), dict(n_contexts=-1), dict(d_vocab=0), dict(seed=-1)])
def test_more_contexts_than_there_are_and_sizes_out_of_range_are_refused(sizes):
    with pytest.raises(InputError):
        random_contexts(**{"d_vocab": 2, "n_ctx": 3, "n_contexts": 0, "seed": 0, **sizes})


def test_equal_contexts_are_named_with_the_hypothesis():
    rows = ContextRows(np.array([[0, 1], [1, 1], [0, 1]]), ("a", "b"))
    with pytest.raises(
        HypothesisError, match="Lemma 2 needs pairwise distinct contexts, but rows 1 and 3 are both 'a b'"
    ):
        labelled(rows, theorem="Lemma 2", seed=0)


@given(st.integers(1, 20), st.integers(0, 9))
def test_no_label_is_more_frequent_than_another_by_two(kinds, seed):
    rows = random_contexts(d_vocab=3, n_ctx=2, n_contexts=0, seed=0)
    task = labelled(rows, theorem="", seed=seed, kinds=kinds)
    counts = np.bincount(task.labels, minlength=kinds)
    assert counts.max() - counts.min() <= 1 and task.apart == (kinds > 3)


def test_a_part_keeps_labels_and_vocabularies():
    task = labelled(random_contexts(d_vocab=2, n_ctx=3, n_contexts=0, seed=0), theorem="", seed=0, kinds=5)
    part = part_of(task, np.array([1, 4, 6]))
    assert (part.contexts == task.contexts[[1, 4, 6]]).all() and (part.labels == task.labels[[1, 4, 6]]).all()
    assert part.answers == task.answers
