"""The page of weights that follow a rule with a state: what is proved, and by how much each token leads.

Page: docs/folds.md
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from byheart.report.chart import nice_step
from byheart.report.document import badge, claims, document, escaped, files, section
from byheart.report.drawing import Axes, box, dot, figure, part_of_page, ticks, words
from byheart.result import Field, html_cards
from constructions.folds.fold import OWN, Fold
from constructions.folds.typed import input_in_words, typed_choices
from constructions.model.entries import Entries
from verify.arithmetic.decimals import number

_MEASURED = (
    "<p>Nobody proves again what stands below: it was found when this was made, and lies in "
    "<code>measured.json</code>. <code>byheart check</code> only sees to it that this page says what that file "
    "says.</p>"
)
_LANE, _LEFT, _WIDTH = 26.0, 60.0, 560.0


class Lead(NamedTuple):
    """By how much one token of the answer leads, in logits.

    Args:
        lower: At least so much on all inputs; none where nothing is proved.
        found: At most so much on the input below.
        prompt: Its tokens.
    """

    lower: float | None
    found: float
    prompt: Sequence[int]


@dataclass(frozen=True)
class FoldDetails:
    """What the page shows beside the rule.

    Args:
        verdict: The answer to the question.
        headline: That of the certificate.
        statements: What the certificate states, each proved, with who can check it.
        leads: Of each token of the answer, in the order in which it is said; empty where an input is wrong.
        wrong: An input that is answered wrongly, as the figures have it; none where none was found.
        digests: SHA-256 of each file by its name.
        provenance: Names and versions of what made the files.
    """

    verdict: str
    headline: str
    statements: Sequence[tuple[str, str]]
    leads: Sequence[Lead]
    wrong: Mapping[str, Any] | None
    digests: Mapping[str, str]
    provenance: Mapping[str, str]


def fold_page(fold: Fold, entries: Entries, details: FoldDetails) -> str:
    """Return a whole HTML document; equal input gives equal text.

    Args:
        fold: The rule.
        entries: What the weights store.
        details: What is shown beside it.

    Raises:
        InputError: A prompt that is none of the rule.

    Example:
        >>> from constructions.folds.fold import addition
        >>> leads = [Lead(0.9, 1.0, [1, 0, 1, 0]), Lead(0.8, 0.9, [0, 0, 1, 0])]
        >>> details = FoldDetails("PROVED", "MEMORIZED", [], leads, None, {}, {})
        >>> page = fold_page(addition(1, base=2), Entries(9, 8, 7, 6), details)
        >>> page.count("<rect"), "1 + 1" in page
        (2, True)
    """
    name = "a rule of one's own" if fold.name == OWN else fold.name
    sections = [
        section("What is proved", claims(details.statements)),
        section("An input that is answered wrongly", "" if details.wrong is None else _wrong(fold, details.wrong)),
        section("By how much each token leads", _leads(fold, details.leads) if details.leads else ""),
        section("How it is read", _layout(fold)),
        section("Files, and how to check them again", files(details.digests, details.provenance, "weights and rule")),
    ]
    fields = [
        Field("", fold.inputs, "inputs", note="all of them, none by itself"),
        Field("", len(fold.answer), "tokens of an answer", note=f"after a prompt of {fold.length}"),
        Field("", entries.stored, "entries", note=entries.words()),
    ]
    head = (
        f"<header><p class='brand'>byheart</p><h1>{escaped(name[0].upper() + name[1:])} {badge(details.verdict)}</h1>"
        f"<p>{escaped(details.headline)}.</p>{html_cards(fields)}</header>"
    )
    return document(f"byheart: {name}", f"{head}\n{''.join(sections)}")


def _wrong(fold: Fold, wrong: Mapping[str, Any]) -> str:
    prompt, answer, decoded = (" ".join(map(str, wrong[name])) for name in ("prompt", "answer", "decoded"))
    rows = [
        ("input", _input(fold, wrong["prompt"])),
        ("its tokens", prompt),
        ("the rule says", answer),
        ("the model says", decoded or "what is too close to tell"),
    ]
    if wrong["host"] is not None:
        rows.append((f"{wrong['host']} says", " ".join(map(str, wrong["host_decoded"]))))
    body = "".join(f"<tr><th>{escaped(name)}</th><td>{escaped(str(value))}</td></tr>" for name, value in rows)
    return f"{_MEASURED}<table class='digests'><tbody>{body}</tbody></table>"


def _leads(fold: Fold, leads: Sequence[Lead]) -> str:
    if len(leads) != len(fold.answer):
        raise ValueError(f"there are {len(leads)} leads for {len(fold.answer)} tokens")
    most = max(each.found for each in leads)
    if not 0.0 < most < math.inf:
        raise ValueError(f"the largest lead is {most}")
    height, step = _LANE * len(leads), nice_step(most)
    axes = Axes(_LEFT, 30.0, _WIDTH, height, (0.0, most), (0.0, 1.0))
    parts = axes.scales(
        ticks(*(step * place for place in range(int(most / step) + 1))), {}, "lead of the right token, logits", "", 13
    )
    for lane, (each, stage) in enumerate(zip(leads, fold.answer, strict=True)):
        y = 30.0 + _LANE * (lane + 0.5)
        parts.append(words(_LEFT - 10, y + 5, f"s{stage}", anchor="end", size=13))
        if each.lower is not None:
            title = f"at least {_below(each.lower)}, proved"
            parts.append(box(_LEFT, y - 7, axes.at(each.lower, 0.0)[0] - _LEFT, 14, "on-first", 2, title))
        parts.append(dot(axes.at(each.found, 0.0)[0], y, "on-second", 4))
    drawing = part_of_page(figure("By how much each token leads", 680, height + 90, parts))
    rows = "".join(
        f"<tr><td>s{stage}</td><td>{'–' if each.lower is None else '≥ ' + _below(each.lower)}</td>"
        f"<td>≤ {number(each.found, digits=4, bound='upper')}</td><td>{escaped(_input(fold, each.prompt))}</td></tr>"
        for each, stage in zip(leads, fold.answer, strict=True)
    )
    return (
        f"{_MEASURED}<p>The bar: on every input the logit of the right token is larger than all others by at least so "
        "much, after the right tokens before it, in real arithmetic. The dot: on the input named below it is larger by "
        f"no more.</p><figure>{drawing}</figure><div class='scroll'><table class='figures'><thead><tr><th>token</th>"
        "<th>on all inputs</th><th>on the closest one found</th><th>which is</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _layout(fold: Fold) -> str:
    return (
        f"<p><code>{escaped(fold.layout)}</code></p><p>There <code>a3</code> and <code>b3</code> are the first and the "
        "second token that stage 3 of the rule reads, <code>s3</code> is the token that it says, and tokens in "
        "brackets are the same in all prompts.</p>"
    )


def _input(fold: Fold, prompt: Sequence[int]) -> str:
    return input_in_words(fold, typed_choices(fold, " ".join(map(str, prompt))))


def _below(value: float) -> str:
    return number(value, digits=4, bound="lower")
