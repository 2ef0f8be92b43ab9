"""The page of an audit says what the audit said, of every claim, and nothing looks better than it is."""

import html
import re
from typing import Any

import pytest

from byheart.report.formulas import with_formulas
from byheart.theorems.audit_page import audit_html, write_audit
from tests.byheart.report.test_page import HOSTILE, Page
from verify.theorems.audit import Audit, audit_summaries
from verify.theorems.claim import Claim
from verify.theorems.claims import claims
from verify.theorems.evidence import Evidence, Means, Method
from verify.verdict import Verdict

ONE = [Claim("source.lemma", "words", "Source", "printed", "holds", "true", "docs/audit.md")]


def summary(
    verdict: Verdict = Verdict.PROVED, text: str = "words", data: dict[str, Any] | None = None
) -> dict[str, Any]:
    claim = Claim("source.lemma", text, "Source", f"printed {text}", "holds", f"true {text}", "docs/audit.md")
    piece = Evidence("claim", text, text, text, Method(text, Means.EXACT), verdict, data=data or {})
    return Audit(claim, (piece,), seconds=0.25).summary()


@pytest.mark.parametrize(
    ("verdict", "kinds"),
    [
        (Verdict.PROVED, ["proved", "proved", "proved", "proved"]),
        (Verdict.UNDECIDED, ["undecided", "undecided", "undecided", "undecided"]),
        (Verdict.REFUTED, ["refuted", "refuted", "refuted", "refuted"]),
    ],
)
def test_a_verdict_looks_like_what_it_is(verdict: Verdict, kinds: list[str]) -> None:
    """In the head, in the list of claims, in the record, and at the piece of evidence."""
    page = Page(audit_html([summary(verdict)], ONE))
    shown = [
        attributes["class"] for tag, attributes in page.tags if (attributes.get("class") or "").startswith("verdict ")
    ]
    assert shown == [f"verdict {kind}" for kind in kinds]
    assert ("1 of 1 verdict" in page.text) is (verdict is Verdict.PROVED)


@pytest.mark.parametrize(("verdict", "word"), [(Verdict.PROVED, "confirmed"), (Verdict.UNDECIDED, "not confirmed")])
def test_what_an_earlier_run_has_found_says_so(verdict: Verdict, word: str) -> None:
    taken = {**summary(verdict), "earlier": True, "seconds": 90.0}
    page = Page(audit_html([taken], ONE))
    assert page.text.count(f"{word} by an earlier run") == 2 and "taken over from an earlier run" in page.text
    assert re.search(r"time\s*0 s", page.text)


def test_an_interrupted_audit_is_not_confirmed() -> None:
    page = Page(audit_html([summary()], ONE * 3))
    assert "1 of 3 verdicts" in page.text and "Interrupted after 1 of 3 claims" in page.text
    assert "not finished, confirmed" in page.text
    assert "0 of 3 verdicts" in Page(audit_html([], ONE * 3)).text


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_claim_says_stays_a_text(text: str) -> None:
    page = Page(audit_html([summary(text=text, data={"what": text})], ONE))
    assert not page.names() & {"script", "img", "link", "iframe"} and f"printed {text}" in page.text


def test_a_long_instance_is_cut_and_says_so() -> None:
    short, long = (audit_html([summary(data={"contexts": [0] * count})], ONE) for count in (10, 10_000))
    assert "cut; --json has all" not in short and "cut; --json has all" in long and len(long) < len(short) + 2000


def test_an_index_is_set_as_one_and_a_name_is_not() -> None:
    page = audit_html([summary(text="min(T_0, H d_h) of max_loss, x_S < y")], ONE)
    assert "min(T<sub>0</sub>, H d<sub>h</sub>) of max_loss, x<sub>S</sub> &lt; y" in page


def bare(text: str) -> str:
    """A text as its page has it, indices and exponents in the line."""
    return html.unescape(re.sub(r"<[^>]*>", "", with_formulas(html.unescape(text))))


def test_the_page_of_a_claim_of_the_register_has_all_of_its_evidence(tmp_path) -> None:
    [found] = audit_summaries(["mahdavi.one-token"])
    write_audit(tmp_path / "audit.html", [found], ONE)
    page = Page((tmp_path / "audit.html").read_text(encoding="utf-8"))
    assert page.texts("details") == 1 + sum(bool(piece["data"]) for piece in found["evidence"])
    for piece in found["evidence"]:
        for text in ("statement", "promised", "certified", "speaks_of", "method"):
            assert bare(piece[text]) in bare(page.text)
        assert all(bare(one["relation"]) in bare(page.text) for one in piece["compared"])
    assert ("details", {"id": "mahdavi.one-token"}) in page.tags and ("a", {"href": "#mahdavi.one-token"}) in page.tags
    assert not page.names() & {"script", "img", "link", "iframe", "form", "object", "base"}


def test_a_claim_that_nobody_judges_does_not_look_confirmed() -> None:
    [found] = audit_summaries(["cabannes-2024.scaling"])
    page = Page(audit_html([found], claims([found["id"]])))
    assert page.text.count("no verdict") >= 3 and "what is said beside it was proved again" in page.text
    shown = [each["class"] for _, each in page.tags if (each.get("class") or "").startswith("verdict ")]
    assert shown[:3] == ["verdict undecided"] * 3
