"""A typed context is cut into the tokens that it was made of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from constructions.tasks.cells import line_of_cells
from constructions.tasks.table import facts_task, table_task
from constructions.tasks.task import windows_task
from constructions.tasks.text import text_task
from constructions.tasks.vocabulary import (
    OTHER,
    WORDS,
    byte_name,
    cut_of,
    echoed,
    is_of_rows,
    names_answers,
    numbers_of,
    tokens_of,
    typed,
    typed_example,
    unread,
    visible,
)
from constructions.tasks.windows import END, Windows


@pytest.mark.parametrize(
    ("vocabulary", "unit", "separator"),
    [
        (("a", "b", "<other>"), "char", ""),
        (("a", "\\x0a"), "byte", ""),
        (("the", "cat", "."), "word", ","),
        (("the", "cat", ","), "word", ";"),
        (("New York", "USA"), "cell", ","),
        (("Korea, South", "Seoul"), "cell", ";"),
        (("a,b;c|d\te\nf", "g"), "cell", ""),
        (("é", "\\x0a"), "cell", ","),
    ],
)
def test_how_a_text_is_cut_follows_from_the_vocabulary(vocabulary, unit, separator):
    found = cut_of(vocabulary)
    assert (found.unit, found.separator) == (unit, separator)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=4, max_size=60), st.integers(1, 3))
def test_what_is_typed_for_a_context_of_a_text_is_that_context(text, n_ctx):
    for task in (
        text_task(text, context=n_ctx, vocabulary=200),
        text_task(text.encode(), unit="byte", context=n_ctx),
        text_task(text, context=n_ctx, vocabulary=2),
    ):
        for i in range(task.n_contexts):
            line = typed(task, i)
            assert line is None or tokens_of(line, task) == task.contexts[i].tolist()


CELLS = st.text(st.characters(codec="utf-8", categories=["L", "N", "Zs"]), min_size=1, max_size=9).map(str.strip)


@given(st.lists(st.tuples(CELLS.filter(bool), CELLS.filter(bool), CELLS.filter(bool)), min_size=1, max_size=6))
def test_what_is_typed_for_a_context_of_a_table_is_that_context(rows):
    task = facts_task(list(dict.fromkeys(rows)), target="distributions")
    for i in range(task.n_contexts):
        line = typed(task, i)
        assert line is not None
        found = np.array(tokens_of(line, task))
        one_character = not task.apart and cut_of(task.vocabulary).unit == "char"
        assert (found == task.contexts[i]).all() or one_character


def test_the_end_of_a_long_text_counts_and_an_unknown_token_is_the_other_one():
    task = text_task("abcabdabcabd", context=2, vocabulary=3)
    assert task.vocabulary[-1] == "<other>"
    assert tokens_of("xxxab", task) == [0, 1] and tokens_of("az", task) == [0, 2]


def test_what_is_no_context_is_refused():
    task = table_task("France,capital,Paris\nKorea South,capital,Seoul\n")
    for text, reason in (
        ("France", "has 1 token, expected 2 tokens with ',' between them, as in 'France, capital'$"),
        ("France, capital, Paris", "has 3 tokens, expected 2"),
        ("Frence, capital", "did you mean 'France'"),
        ("zzz, capital", "no token 'zzz'$"),
        ("Paris, capital", "no token 'Paris': it is answered and never read$"),
    ):
        with pytest.raises(InputError, match=reason):
            tokens_of(text, task)
    with pytest.raises(InputError, match="expected 1 token"):
        numbers_of([], text_task("abab", context=1))


def test_cells_of_one_character_are_typed_like_other_cells():
    task = table_task("a,r,yes\nb,r,no\n")
    for text in ("a, r", "a,r", "a r"):
        assert tokens_of(text, task) == [0, 1]
    assert typed(task, 1) == "b, r"
    commas = table_task('"a,b",r,"no; never"\n')
    assert typed(commas, 0) == "a,b; r" and tokens_of("a,b; r", commas) == [0, 1]
    assert unread("a, b, r", task) == 0
    with pytest.raises(InputError, match="has 3 tokens, expected 2"):
        tokens_of("a, b, r", task)


def test_a_cell_that_is_called_other_stands_for_no_other_cell():
    task = table_task("<other>,r,yes\nb,r,no\n")
    assert tokens_of("<other>, r", task) == [0, 1]
    with pytest.raises(InputError, match="no token 'zzz'"):
        tokens_of("zzz, r", task)


def test_an_example_is_one_that_can_be_typed():
    everything = table_task('"a,b;c|d\te\nf",g,1\nh,i,2\n')
    assert typed(everything, 0) is None and typed_example(everything) is None
    escapes = table_task("\x1b[31m,1\nb\0,2\n-h,3\nred,4\n")
    assert typed_example(escapes) == "red"


def test_facts_are_echoed_with_what_a_reader_would_not_see():
    rows = [("France", "Paris"), ("Peru", "Lima"), (" Chile ", "Santiago"), ("Japan", "Tokyo"), ("Spain", "Madrid")]
    assert echoed(facts_task(rows)) == "France -> Paris; Peru -> Lima; ' Chile ' -> Santiago and 2 more facts"
    votes = facts_task([("x", "a", "51"), ("x", "b", "50"), ("y", "b", "1")], weights=True)
    assert echoed(votes).endswith("50 of 102 observations contradict what is asked")
    accents = facts_task([("caf\u00e9", "one"), ("cafe\u0301", "two")])
    assert echoed(accents).endswith("two tokens: U+0063 U+0061 U+0066 U+00E9 and U+0063 U+0061 U+0066 U+0065 U+0301")
    assert "U+" not in echoed(facts_task(rows))


@given(cells=st.lists(st.text("ab,;|\t ", min_size=1).filter(str.strip), min_size=2, max_size=3))
def test_a_row_with_any_separators_in_its_cells_is_echoed_in_a_line_that_can_be_asked(cells):
    row = ["x,y;z|t\tu", *(cell.strip() for cell in cells)]
    task = facts_task([(*row, "answer")])
    assert echoed(task) == f"{line_of_cells([visible(cell) for cell in row])} -> answer"
    assert tokens_of(line_of_cells(row), task) == task.contexts[0].tolist()
    with pytest.raises(
        InputError, match=r"has 9 tokens, expected \d tokens with commas between them, and quotes around one"
    ):
        tokens_of(", ".join(["x"] * 9), task)


def test_a_title_may_hold_what_stands_behind_titles():
    windows = Windows(np.array([0, 1, 2, 1, 0, 2]), np.array([3, 4]), 2, 2)
    task = windows_task(windows, vocabulary=("x", "y", END, "<a>", "<a: b>"))
    typed_as = {"a: b: yx": [4, 0], "a: xy": [3, 1], "a": [3, 3]}
    assert {text: tokens_of(text, task) for text in typed_as} == typed_as
    assert unread("a: b: yx", task) == 1
    with pytest.raises(InputError, match="begins with 'b'"):
        tokens_of("b: x", task)


@pytest.mark.parametrize("letter", ["x", "\x00", "é"])
def test_facts_of_any_length_are_echoed_in_a_line_that_can_be_read(letter):
    long = letter * 1_000_000
    said = echoed(table_task(f"{long},a\nb,{long}\n"))
    assert len(said) < 1000 and said.count("(1,000,000 characters)") == 2


@pytest.mark.parametrize("text", ["0 1 1", "0, 1, 1", "0,1,1", "0;1;1", "011", " 0  1 1 "])
def test_a_context_of_digits_is_typed_with_blanks_or_commas(text):
    assert tokens_of(text, table_task("0,1,1,0\n1,1,1,1\n")) == [0, 1, 1]


@pytest.mark.parametrize(("text", "message"), [("0 1 2", "no token '2'"), ("0 1", "has 2 tokens, expected 3")])
def test_a_wrong_context_with_blanks_is_refused_by_its_token_or_length(text, message):
    with pytest.raises(InputError, match=message):
        tokens_of(text, table_task("0,1,1,0\n1,1,1,1\n"))


def test_rows_are_told_from_texts_and_single_bytes():
    assert is_of_rows(table_task("0,1\n1,0\n")) and not is_of_rows(text_task("to be or not to be"))
    assert names_answers(table_task("a b,c d\n", target="labels"))
    assert not names_answers(table_task("\\x0a,a\na,\\x0a\n"))


def test_bytes_have_names_of_their_own() -> None:
    names = [byte_name(value) for value in range(256)]
    assert len(set(names)) == 256 and OTHER not in names
    assert names[ord("a")] == "a" and names[10] == r"\x0a" and names[92] == r"\x5c"


def test_a_text_is_cut_into_words_and_single_other_characters() -> None:
    assert WORDS.findall("so much, so") == ["so", "much", ",", "so"]
