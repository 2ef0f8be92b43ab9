"""What pages have in common: they escape what they are given, and a verdict has its colour and no other."""

import re

import pytest

from byheart.report.document import badge, document, escaped, section
from byheart.report.drawing import STYLE
from tests.byheart.report.test_page import HOSTILE, Page


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_stays_a_text(text: str) -> None:
    assert Page(f"<p>{escaped(text)}</p>").text == text
    page = Page(document(text, badge("PROVED", text)))
    assert not page.names() & {"script", "img", "link", "iframe"} and page.text.count(text) >= 2


def test_half_of_a_surrogate_pair_is_spelled_out() -> None:
    assert escaped("a\ud800") == "a\\ud800"
    document("\udfff", "").encode("utf-8")


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [("PROVED", "proved"), ("REFUTED", "refuted"), ("UNDECIDED", "undecided"), ("what nobody knows", "undecided")],
)
def test_a_verdict_has_its_colour(verdict: str, kind: str) -> None:
    assert badge(verdict) == f'<span class="verdict {kind}">{verdict}</span>'


def test_a_section_of_nothing_is_nothing() -> None:
    assert section("title", "") == "" and "<h2>title</h2>body" in section("title", "body")


def test_the_style_has_the_dark_on_screens_only_and_asks_for_nothing() -> None:
    page = document("", "")
    assert "@media screen and (prefers-color-scheme:dark)" in page and "@media print" in page
    assert not re.search(r"url\(|@import|https?:", page)
    page, drawings = page.replace(STYLE, ""), STYLE
    named = set(re.findall(r"var\((--\w+)", page)) - {"--w"}  # an element has --w itself
    light, dark = (set(re.findall(r"(--\w+):", part)) for part in re.findall(r":root\{([^}]*)\}", page))
    assert set(re.findall(r"var\((--\w+)", drawings)) == set(re.findall(r"(--\w+):", drawings))
    assert named <= light and dark < light
