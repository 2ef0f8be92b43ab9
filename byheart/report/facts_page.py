"""The page of facts of which it is proved whether a model holds them: the margins of all of them in one picture.

Page: docs/hosts.md
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from byheart.report.chart import nice_step
from byheart.report.document import badge, claims, document, escaped, files, grouped, section
from byheart.report.drawing import Axes, box, figure, part_of_page, ticks, words
from byheart.result import Field, html_cards
from verify.arithmetic.decimals import number

_MEASURED = (
    "<p>Nobody proves again what stands below: these bounds were proved when the page was made, and lie in "
    "<code>measured.json</code>. <code>byheart check</code> proves again which facts are memorized and how many are "
    "not, "
    "and sees to it that this page says what that file says.</p>"
)
_LEFT, _TOP, _WIDTH, _HEIGHT = 64.0, 58.0, 600.0, 260.0
_MOST_BARS = 1200  # half a pixel each
_WIDEST, _LEAST_HEIGHT = 24.0, 1.5  # pixels; a bar of no height has no colour
_MOST_NAMED, _MOST_LETTERS = 5, 160
_WRONG, _OPEN, _FLIPS, _RIGHT = "proved wrong", "undecided", "may flip", "proved right"
_COLOURS = {_WRONG: "second", _OPEN: "fourth", _FLIPS: "first", _RIGHT: "third"}  # from left to right


class Margin(NamedTuple):
    """The logit of the right token minus the largest other one; of several tokens the least of theirs.

    Args:
        lower: At least so much; minus infinity where nothing is known.
        upper: At most so much; infinity where nothing is known.
    """

    lower: float
    upper: float


@dataclass(frozen=True)
class FactsDetails:
    """What the page shows beside the facts.

    Args:
        verdict: The answer to the question.
        headline: That of the certificate.
        statements: What the certificate states, each proved, with who can check it.
        memorized: The places of the facts that it says are memorized.
        wrong: How many it says are not memorized.
        runs: Of the number format whose every run was asked about its name, and the facts memorized there; none where
            no such thing was asked.
        margins: Of each fact.
        parameters: How many the model has.
        digests: SHA-256 of each file by its name.
        provenance: Names and versions of what made the files.
    """

    verdict: str
    headline: str
    statements: Sequence[tuple[str, str]]
    memorized: set[int]
    wrong: int
    runs: tuple[str, set[int]] | None
    margins: Sequence[Margin]
    parameters: int
    digests: Mapping[str, str]
    provenance: Mapping[str, str]


class _Bar(NamedTuple):
    """Facts of one kind that stand beside each other when sorted, and bounds that hold for all of them."""

    kind: str
    facts: list[int]
    lower: float
    upper: float


def facts_page(rows: Sequence[Sequence[str]], details: FactsDetails) -> str:
    """Return a whole HTML document; equal input gives equal text.

    Args:
        rows: Each fact as a person reads it, its answer last.
        details: What is shown beside them.

    Raises:
        ValueError: The margins are not those of the facts that are memorized, or of as many that are not.

    Example:
        >>> details = FactsDetails("REFUTED", "NOT MEMORIZED", [], {0}, 1, None, [Margin(2.0, 2.1), Margin(-1.0, -0.9)],
        ...                        9, {}, {})
        >>> page = facts_page([["Peru", "Lima"], ["Chile", "Lima"]], details)
        >>> page.count("<title>Peru → Lima: proved right, margin ≥ 2<"), page.count("proved wrong, margin ≤ −0.9<")
        (1, 1)
    """
    sorted_facts = _sorted_facts(rows, details)
    size = len(rows)
    open_facts = size - len(details.memorized) - details.wrong
    fields = [
        Field("", size, "facts", note=f"asked of {grouped(details.parameters)} parameters"),
        Field("", len(details.memorized), "proved right", note="in real arithmetic"),
        Field("", details.wrong, "proved wrong", note="in real arithmetic"),
        Field("", open_facts, "undecided", note="neither is proved"),
    ]
    if details.runs is not None:
        dtype, memorized = details.runs
        fields.append(Field("", len(memorized), f"right in every {dtype} run", note="in any order of summation"))
    head = (
        f"<header><p class='brand'>byheart</p><h1>What the model knows {badge(details.verdict)}</h1>"
        f"<p>{escaped(details.headline)}.</p>{html_cards(fields)}</header>"
    )
    sections = [
        section("What is proved", claims(details.statements)),
        section(
            "The margins of all facts", _picture(rows, details, sorted_facts) + _table(rows, details, sorted_facts)
        ),
        section("Files, and how to check them again", files(details.digests, details.provenance, "weights and facts")),
    ]
    return document("byheart: what the model knows", f"{head}\n{''.join(sections)}")


def _sorted_facts(rows: Sequence[Sequence[str]], details: FactsDetails) -> dict[str, list[int]]:
    """Return the facts of each kind, the least margin first.

    The certificate names the facts that are memorized, in real arithmetic and in every run; which of the others are
    wrong follows from their margins, and the certificate says how many.
    """
    if not len(rows) == len(details.margins) > 0:
        raise ValueError(f"there are {len(details.margins)} margins of {len(rows)} facts")
    found: dict[str, list[int]] = {kind: [] for kind in _COLOURS}
    for fact, (lower, upper) in enumerate(details.margins):
        if not lower <= upper or lower == math.inf or upper == -math.inf:
            raise ValueError(f"the margin of fact {fact} lies between {lower} and {upper}")
        if (lower > 0.0) != (fact in details.memorized):
            raise ValueError(f"the margin of fact {fact} is at least {lower}, and the certificate says otherwise")
        if fact not in details.memorized:
            found[_WRONG if upper <= 0.0 else _OPEN].append(fact)
        elif details.runs is not None and fact not in details.runs[1]:
            found[_FLIPS].append(fact)
        else:
            found[_RIGHT].append(fact)
    if len(found[_WRONG]) != details.wrong:
        raise ValueError(f"{len(found[_WRONG])} margins are negative, and the certificate says {details.wrong}")
    for kind, facts in found.items():
        facts.sort(key=lambda fact, end=int(kind == _WRONG): (details.margins[fact][end], fact))
    return found


def _picture(rows: Sequence[Sequence[str]], details: FactsDetails, sorted_facts: Mapping[str, list[int]]) -> str:
    together = -(-len(rows) // _MOST_BARS)
    bars = _bars(details.margins, sorted_facts, together)
    ends = [0.0] + [_height(bar) for bar in bars if bar.kind != _OPEN]
    low, high = min(ends), max(ends)
    if low == high:
        low, high = -1.0, 1.0
    step = nice_step(high - low)
    places = [step * place for place in range(math.ceil(low / step), math.floor(high / step) + 1)]
    axes = Axes(_LEFT, _TOP, _WIDTH, _HEIGHT, (0.0, _WIDTH), (low, high))
    parts = _legend(details, sorted_facts)
    parts += axes.scales({}, ticks(*places), "facts, each kind by its margin", "margin, logits", 13)
    width = min(_WIDEST, _WIDTH / len(bars))
    for place, bar in enumerate(bars):
        bottom, top = (bar.lower, bar.upper) if bar.kind == _OPEN else sorted((0.0, _height(bar)))
        left, above = axes.at(place * width, min(top, high))
        below = axes.at(0.0, max(bottom, low))[1]
        if below - above < _LEAST_HEIGHT:
            above, below = (above, above + _LEAST_HEIGHT) if bar.kind == _WRONG else (below - _LEAST_HEIGHT, below)
        gap = 0.15 * width if len(bars) <= 200 else 0.0
        style = f"on-{_COLOURS[bar.kind]}"
        parts.append(box(left, above, width - gap, below - above, style, 0, _title(rows, details, bar)))
    drawing = part_of_page(figure("The margins of all facts", _LEFT + _WIDTH + 16, _TOP + _HEIGHT + 56, parts))
    each = "A bar for each fact" if together == 1 else f"A bar for up to {together} facts of one kind and like margins"
    flips = ""
    if details.runs is not None:
        flips = (
            f" A fact that may flip in {escaped(details.runs[0])} is right in real arithmetic, and not proved to be "
            f"right in every {escaped(details.runs[0])} run; nobody says that a run has it wrong."
        )
    return (
        f"{_MEASURED}<p>{each}: by how many logits the right token is ahead of all others (up), at least, or behind "
        "another one (down), at least; of an answer of several tokens, the token where this is least. What is "
        f"undecided lies between its bounds, cut off at the frame.{flips}</p><figure>{drawing}</figure>"
    )


def _bars(margins: Sequence[Margin], sorted_facts: Mapping[str, list[int]], together: int) -> list[_Bar]:
    bars = []
    for kind, facts in sorted_facts.items():
        for start in range(0, len(facts), together):
            some = facts[start : start + together]
            lower, upper = min(margins[fact].lower for fact in some), max(margins[fact].upper for fact in some)
            bars.append(_Bar(kind, some, lower, upper))
    return bars


def _height(bar: _Bar) -> float:
    """How far from zero the margins of decided facts are at least."""
    return bar.upper if bar.kind == _WRONG else bar.lower


def _legend(details: FactsDetails, sorted_facts: Mapping[str, list[int]]) -> list[str]:
    parts, left = [], 8.0
    for kind, facts in sorted_facts.items():
        if facts:
            text = f"{_kind(kind, details)}: {grouped(len(facts))}"
            parts += [box(left, 8, 14, 14, f"on-{_COLOURS[kind]}", 2), words(left + 20, 20, text, "", "start", 13)]
            left += 44 + 7 * len(text)
    return parts


def _title(rows: Sequence[Sequence[str]], details: FactsDetails, bar: _Bar) -> str:
    """Return what a bar says when it is pointed at."""
    first, *others = bar.facts
    more = f" and {len(others)} more" if others else ""
    return f"{_text(rows[first])}{more}: {_kind(bar.kind, details)}, margin {_bounds(bar.kind, bar.lower, bar.upper)}"


def _table(rows: Sequence[Sequence[str]], details: FactsDetails, sorted_facts: Mapping[str, list[int]]) -> str:
    """Of each kind the facts with the least and with the largest margins."""
    lines = []
    for kind, facts in sorted_facts.items():
        left_out = len(facts) - 2 * _MOST_NAMED
        named = facts if left_out <= 0 else facts[:_MOST_NAMED] + facts[-_MOST_NAMED:]
        for place, fact in enumerate(named):
            if left_out > 0 and place == _MOST_NAMED:
                lines.append(f"<tr><td></td><td class='quiet'>{grouped(left_out)} between them</td><td></td></tr>")
            bound = _bounds(kind, *details.margins[fact])
            text = escaped(_text(rows[fact]))
            lines.append(f"<tr><td>{escaped(_kind(kind, details))}</td><td>{text}</td><td>{bound}</td></tr>")
    return (
        "<h3>The least and the largest margins of each kind</h3><div class='scroll'><table class='figures'><thead><tr>"
        f"<th>in real arithmetic</th><th>fact</th><th>margin</th></tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _bounds(kind: str, lower: float, upper: float) -> str:
    """Return what is known of a margin, rounded so that it stays true."""
    below, above = number(lower, digits=4, bound="lower"), number(upper, digits=4, bound="upper")
    if kind == _OPEN:
        return f"{below} to {above}"
    return f"≤ {above}" if kind == _WRONG else f"≥ {below}"


def _kind(kind: str, details: FactsDetails) -> str:
    return f"right, may flip in {details.runs[0]}" if kind == _FLIPS and details.runs is not None else kind


def _text(row: Sequence[str]) -> str:
    """Return a fact in a line, of a long prompt its end."""
    *context, answer = row
    said = " ".join(context)
    said = said if len(said) <= _MOST_LETTERS else f"…{said[-_MOST_LETTERS:]}"
    return f"{said} → {answer if len(answer) <= _MOST_LETTERS else answer[:_MOST_LETTERS] + '…'}"
