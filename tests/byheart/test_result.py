"""A result is shown by one renderer each for a screen, JSON, a page and a card."""

import json

import pytest

from byheart.result import Field, Result, Section, html_cards, json_text, markdown, screen
from verify.verdict import Verdict

PARTS = [{"part": f"p{n}", "fate": "lost"} for n in range(22)]
FIELDS = (
    Field("heads", 1234567, "heads of the layer", "head"),
    Field("margin_lower", 0.123456, "least margin", "nats", "at least"),
    Field("loss_upper", 0.123456, "largest loss", "nats", "at most"),
    Field("unknown", None, "what nobody knows"),
    Field("hidden", "a hash", "the hash", shown=False),
    Field("", "only here", "what JSON lacks", note="A <b> note."),
    Field(
        "parts", [{"part": f"p{n}", "fate": "lost"} for n in range(22)], "parts", columns={"part": "part", "fate": "is"}
    ),
)
SECTIONS = (Section("Figures", FIELDS),)
RESULT = Result("YES: it is so", Verdict.PROVED, SECTIONS, ("Read as a table.",), ("byheart check x",))


def test_the_screen_begins_with_the_headline_and_ends_with_what_comes_next():
    lines = screen(RESULT).splitlines()
    assert lines[:2] == ["YES: it is so", "Read as a table."] and lines[-1] == "Next: byheart check x"
    assert screen(RESULT, quiet=True) == "YES: it is so\n"


def test_bounds_are_rounded_so_that_they_stay_true_and_large_numbers_have_separators():
    shown = " ".join(screen(RESULT).split())
    assert "heads of the layer 1,234,567 heads" in shown
    assert "least margin at least 0.1234 nats" in shown and "largest loss at most 0.1235 nats" in shown
    assert "nobody" not in shown and "hash" not in shown and "what JSON lacks only here" in shown


def test_long_tables_are_cut_unless_all_is_asked_for():
    few, whole = screen(RESULT), screen(RESULT, verbose=True)
    assert "p19" in few and "p20" not in few and "and 2 more" in few
    assert "p21" in whole and "more" not in whole


@pytest.mark.parametrize("width", [30, 80, 200])
def test_no_line_of_figures_is_wider_than_the_screen(width):
    long = Field("a", "word " * 40, "a label of many words that is longer than a narrow screen")
    text = screen(Result("H", None, (Section("S", (long,)),)), width=width)
    assert max(map(len, text.splitlines())) <= max(width, 45)


def test_json_has_every_field_with_a_name_and_its_value_as_it_is():
    data = json.loads(json_text(RESULT))
    assert list(data)[:2] == ["headline", "verdict"] and data["margin_lower"] == 0.123456
    assert data["unknown"] is None and data["hidden"] == "a hash" and "" not in data
    assert len(data["parts"]) == 22
    assert "verdict" not in Result("2 things").json()


def test_pages_and_cards_show_the_same_words():
    cards, card = html_cards(FIELDS), markdown(RESULT)
    for words in ("heads of the layer", "least margin", "1,234,567 heads", "at least 0.1234 nats"):
        assert words in cards and words in card
    assert "&lt;b&gt;" in cards and "<b>" not in cards


@pytest.mark.parametrize(
    ("value", "direction", "words"),
    [
        ([2, 2], "between", "exactly 2 heads"),
        ([2, 3], "between", "between 2 and 3 heads"),
        (True, "", "yes"),
        (1, "at least", "at least 1 head"),
        (["a", "b"], "", "a; b"),
        ({"a": 1}, "", "a 1"),
    ],
)
def test_values_are_said_in_words(value, direction, words):
    assert Field("x", value, "x", "head", direction).text() == words


def test_a_result_is_shown_in_python_by_its_headline_and_a_few_figures():
    assert repr(RESULT).startswith("YES: it is so; heads of the layer: 1,234,567 heads") and len(repr(RESULT)) < 200
    assert RESULT["heads"] == 1234567
    with pytest.raises(KeyError):
        RESULT["nothing"]
