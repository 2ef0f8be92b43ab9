import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.reciting import whole_text
from constructions.errors import InputError
from constructions.tasks.recitation import (
    encoded,
    forking_places,
    is_byte,
    least_context,
    parts_within,
    recited_texts,
)
from constructions.tasks.table import table_task


def by_hand(tokens: list[int]) -> int:
    for n_ctx in range(1, len(tokens)):
        follows: dict[tuple[int, ...], set[int]] = {}
        for start in range(len(tokens) - n_ctx):
            follows.setdefault(tuple(tokens[start : start + n_ctx]), set()).add(tokens[start + n_ctx])
        if all(len(each) == 1 for each in follows.values()):
            return n_ctx
    raise AssertionError("the longest window has one successor")


@given(st.lists(st.integers(0, 3), min_size=2, max_size=40))
def test_it_is_the_least_length_of_which_windows_determine_what_follows(tokens: list[int]) -> None:
    assert least_context(np.array(tokens)) == by_hand(tokens)


@pytest.mark.parametrize("repeat", [1, 2, 7, 8, 9, 31, 64, 100])
def test_a_repeat_that_goes_on_in_two_ways_needs_one_token_more(repeat: int) -> None:
    part = np.arange(repeat)
    tokens = np.concatenate([part, [500], part, [501], [502]])
    assert least_context(tokens) == repeat + 1


def test_equal_tokens_need_one_and_a_token_alone_is_no_text() -> None:
    assert least_context(np.zeros(50, dtype=np.int64)) == 1
    with pytest.raises(InputError):
        least_context(np.array([1]))


@given(st.lists(st.integers(0, 2), min_size=3, max_size=40))
def test_the_places_named_have_equal_windows_and_go_on_otherwise(tokens: list[int]) -> None:
    array = np.array(tokens)
    n_ctx = least_context(array) - 1
    if n_ctx < 1:
        return
    found = forking_places(array, n_ctx)
    ends = range(n_ctx, len(tokens))
    pairs = [
        (i, j)
        for i in ends
        for j in ends
        if i < j and tokens[i - n_ctx : i] == tokens[j - n_ctx : j] and tokens[i] != tokens[j]
    ]
    assert found in pairs


@given(st.lists(st.integers(0, 1), min_size=1, max_size=40), st.integers(1, 6))
def test_windows_of_each_part_tell_what_follows(tokens: list[int], n_ctx: int) -> None:
    ends = parts_within(np.array(tokens), n_ctx)
    assert ends == sorted(set(ends)) and ends[-1] == len(tokens)
    for start, stop in zip([0, *ends], ends, strict=False):
        assert by_hand([*tokens[start:stop], 2]) <= n_ctx


def test_a_text_that_needs_no_cut_is_one_part() -> None:
    assert parts_within(np.arange(30), 1) == [30]
    assert len(parts_within(np.tile(np.arange(30), 2), 5)) == 2


def test_a_part_goes_on_until_a_window_stands_in_it_again() -> None:
    assert parts_within(np.zeros(200_000, dtype=int), 50) == list(range(50, 200_001, 50))
    passage = np.arange(400)
    assert parts_within(np.concatenate([passage, passage[:150], 400 + passage]), 5) == [404, 950]


@pytest.mark.parametrize(
    ("texts", "unit", "said"),
    [
        ("aäb\r\n", "char", [("", "aäb\r\n".encode(), 5)]),
        ("so much, so", "word", [("", b"so much, so", 11)]),
        (b"a\xff\xfe", "byte", [("", b"a\xff\xfe", None)]),
        ({"rose": "ab", "tiger": "ba"}, "char", [("rose", b"ab", 2), ("tiger", b"ba", 2)]),
        ({"1/2": "ab", "2/2": "cd"}, "char", [("", b"abcd", 4)]),  # the parts of one
    ],
)
def test_the_texts_are_what_was_given(texts, unit, said):
    found = recited_texts(whole_text(texts, unit))
    assert [(each.title, each.data, each.characters) for each in found] == said


def test_a_task_of_no_text_has_none():
    with pytest.raises(InputError, match="whole texts"):
        recited_texts(table_task("a,b\n", target="labels"))


def test_only_small_hexadecimal_digits_name_a_byte():
    assert [is_byte(each) for each in ("\\x0a", "\\x0A", "\\x0", "\\x0ab")] == [True, False, False, False]
    assert encoded(("\\x0a", "\\x0A")) == b"\n\\x0A"
