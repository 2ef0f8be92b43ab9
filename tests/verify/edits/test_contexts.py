"""Contexts of several lengths: in one array, and evaluated as each is by itself."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.edited_models import LENGTH, TOKENS, small_model
from verify import decide_argmax, enclose_logits
from verify.edits.contexts import about, by_length, decide_answers, in_one_array, lengths_of, rising, token_lists

ROWS = st.lists(st.lists(st.integers(0, TOKENS - 1), min_size=1, max_size=LENGTH), max_size=6)


@given(ROWS)
def test_contexts_come_back_as_they_were(rows: list[list[int]]) -> None:
    contexts = in_one_array(rows)
    assert token_lists(contexts) == rows and lengths_of(contexts).tolist() == list(map(len, rows))
    parts = by_length(contexts)
    found = [each for places, part in parts for each in zip(places.tolist(), part.tolist(), strict=True)]
    assert dict(found) == dict(enumerate(rows))
    assert all((part >= 0).all() for _, part in parts)


def test_each_is_evaluated_as_by_itself() -> None:
    model = small_model(3)
    contexts = in_one_array([[1, 2, 3], [4], [0, 5], [5], [2, 2, 1]])
    answers = decide_answers(model, contexts)
    for place, row in enumerate(token_lists(contexts)):
        alone = np.array([row])
        assert answers[place] == decide_argmax(model, alone).place[0] >= 0
        assert np.allclose(about(model, contexts)[place], enclose_logits(model, alone).midpoint[0])


def test_what_is_closed_in_one_precision_is_not_seen_in_the_next() -> None:
    model = small_model(3)
    contexts, is_open = in_one_array([[1, 2, 3], [4], [0, 5], [5]]), np.array([True, True, True, False])
    seen = dict[str, list[int]]()
    for precision, rows, logits in rising(model, contexts, is_open):
        seen.setdefault(precision, []).extend(rows.tolist())
        assert np.allclose(np.diff(logits.midpoint), np.diff(about(model, contexts[rows])))
        if precision == "float64":
            is_open[1] = False
    assert {precision: set(rows) for precision, rows in seen.items()} == {
        "float64": {0, 1, 2},
        "double-double": {0, 2},
        "balls": {0, 2},
    }


def test_a_tie_has_no_answer() -> None:
    model = small_model(3)
    tied = replace(model, W_U=np.repeat(model.W_U[:, :1], TOKENS, axis=1))
    assert decide_answers(tied, in_one_array([[1], [2, 3]])).tolist() == [-1, -1]
