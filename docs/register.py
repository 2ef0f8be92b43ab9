"""What the site says of each claim: its record in the register and on its chapter, and its row among the errors.

Nothing of it is in git: building the site runs the audit of each claim up to the piece that shows its verdict. What
GitHub shows of the claims that do not hold, a row each in docs/errors.md, is written by

    python docs/register.py
"""

import csv
import importlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [path for path in (str(DOCS), str(ROOT)) if path not in sys.path]

from sphinx.application import Sphinx  # noqa: E402

from byheart.experiments.figures import FIGURES  # noqa: E402
from byheart.report.formulas import with_formulas  # noqa: E402
from constructions.named.names import leading_from  # noqa: E402
from verify.theorems.claim import Claim  # noqa: E402
from verify.theorems.claims import REGISTER, claim, module_of  # noqa: E402
from verify.theorems.evidence import Evidence  # noqa: E402

SHOWN = {
    "holds": ("claim", "An instance"),
    "slip": ("constant", "Counterexample to what is printed"),
    "hypothesis": ("without", "Counterexample without the hypothesis"),
    "false": ("counterexample", "Counterexample"),
    "invalid-proof": ("step", "Counterexample to a step of the proof"),
    "redundant": ("needless", "An instance"),
    "answered": ("answer", "An instance of the answer"),
    "measured": ("measurement", "What is proved beside it"),
    "not-judged": ("part", "What is judged of it"),
    "not-legible": ("ours", "An instance of the theorem that is proved beside it"),
    "open": ("known", "What is known"),
}
"""For each verdict the kind of evidence that shows it first, and what that is called on a page."""

WORDS = {
    "holds": "true as printed",
    "slip": "true after a correction of constants, signs, dimensions or a word",
    "hypothesis": "true under a hypothesis that the source does not state",
    "false": "a statement, refuted in the reading that its record names",
    "invalid-proof": "neither proved nor refuted; a step of the printed proof is refuted",
    "redundant": "true, and not needed",
    "answered": "a question of the source that has an answer",
    "measured": "a measurement of the source, which nothing here proves or refutes",
    "not-judged": "not read, or too little said; a part alone is judged here",
    "not-legible": "without its formulas in the copy at hand; what is true is proved beside it",
    "open": "not decided",
}
ERRORS = ("false", "invalid-proof", "hypothesis", "slip")
TABLES = "## "
"""What the tables of docs/errors.md begin with."""

SOURCES = {
    "dana": "Dana, Pydi and Chevaleyre (2024)",
    "slides": "The slides of June 2024",
    "mahdavi": "Mahdavi, Liao and Thrampoulidis (2024)",
}


def sources() -> dict[str, str]:
    """Return what each source is called, by the first part of the ids of its claims, in the order of the register."""
    found = dict(SOURCES)
    for id in REGISTER:
        found.setdefault(id.split(".")[0], re.sub(r"(?<=\)).*", "", claim(id).source))
    return found


def plain(text: str) -> str:
    """Return a text of the register with its formulas set, written so that Markdown leaves its words as they are."""
    shown = with_formulas(text).replace("&#x27;", "'").replace("&quot;", '"')
    return re.sub(r"([\\`*|~$]|\](?=\()|(?<!\w)_|_(?!\w))", r"\\\1", shown)


def quoted(text: str) -> str:
    """Words of a source with its formulas in TeX, displays within the line, and other signs as they are."""
    parts = re.split(r"(\$[^$]+\$)", text.replace("$$", "$"))
    return "".join(part if part.startswith("$") else re.sub(r"([\\`*|_{}<>\[\]])", r"\\\1", part) for part in parts)


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def title(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")


def place(record: Claim) -> str:
    """Where in its source a claim is printed."""
    return re.sub(r"^.*?2024\)?, (?:slides, )?", "", record.source)


@cache
def shown_piece(id: str) -> Evidence:
    """Return the first piece of evidence of the kind that the verdict is named for, computed now."""
    record, module = claim(id), importlib.import_module(module_of(id))
    return next(piece for piece in module.evidence(full=False) if piece.role == SHOWN[record.judgement][0])


def checked_by_a_machine(id: str) -> list[str]:
    """Return the theorems in Coq that answer a claim, as docs/formal.md lists them."""
    rows = re.findall(r"^\| (`formal/[^|]*)\|(.*)$", (DOCS / "formal.md").read_text(encoding="utf-8"), re.MULTILINE)
    return [theorem for names, rest in rows if f"`{id}`" in rest for theorem in re.findall(r"`(.+?)`", names)]


@cache
def entry(id: str) -> str:
    """All that is said of a claim, with links to where it is proved, built, judged and tested."""
    record, piece = claim(id), shown_piece(id)
    theorems = dict.fromkeys(applied.theorem for applied in piece.theorems)
    by = " and ".join(f"[{plain(one.name)}]({one.page[5:]}#{anchor(one.heading)})" for one in theorems)
    speaks = f"for {piece.quantifier.value}" + f", by {by}" * bool(by)
    reconstructed = f"; *not at hand*: {plain(record.reconstructed)}" * bool(record.reconstructed)
    said = f", a {record.kind}" * (record.kind not in ("statement", "own"))
    lines = [f"**{plain(record.title)}.** {plain(record.source)}{said}.", ""]
    if record.quotation:
        lines.append(f"- **In its words**: {quoted(record.quotation)}")
    lines.append(f"- **Printed**{', reconstructed' * bool(record.reconstructed)}: {plain(record.printed)}")
    if record.reading:
        lines.append(f"- **Read so**: {quoted(record.reading)}")
    lines += [
        f"- **Verdict**: *{record.judgement}*, {WORDS[record.judgement]}{reconstructed}.",
        f"- **True**: {plain(record.truth)}",
    ]
    if record.hypotheses:
        of = " of the weights that are built" * (record.build is not None)
        lines.append(f"- **Hypotheses{of}**: {'; '.join(plain(one.statement) for one in record.hypotheses)}.")
    lines += [
        f"- **{SHOWN[record.judgement][1]}** ({piece.verdict.value}, {speaks}): {plain(piece.statement).rstrip('.')}. "
        f"Promised: {plain(piece.promised)}. Certified: **{plain(piece.certified)}**.",
        f"- **Proof**: [{plain(title(record.page))}]({record.page[5:]})",
    ]
    if found := checked_by_a_machine(record.id):
        theorems = ", ".join(f"`{theorem.partition(':')[2]}`" for theorem in found)
        lines[-1] += f"; [in Coq](formal.md): {theorems}"
    built = record.build is not None
    code = [
        f"[record{', weights' * built} and evidence](../verify/theorems/claims/{record.module}.py)",
        "[its test](../tests/contract/test_claims.py)",
    ]
    if (ROOT / (own := f"tests/verify/theorems/claims/test_{record.module}.py")).exists():
        code[-1] = f"[its test](../{own})"
    lines += [f"- **Code**: {', '.join(code)}", f"- **Again**: `byheart audit {record.id}`"]
    if (named := leading_from(record.id)) is not None:
        lines[-1] += f", and `byheart build {named.name} --out out/claim`"
    elif built:
        given = " ".join(f"{name}={value}" for name, value in record.parameters.items())
        lines[-1] += f", and `byheart build {record.id} --param {given} --out out/claim`"
    return "\n".join(lines) + "\n"


def in_sources(ids: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield what each source of the claims is called, and its claims, in the order of the register."""
    for source, name in sources().items():
        if mine := [id for id in ids if id.startswith(f"{source}.")]:
            yield name, mine


def wrong() -> list[str]:
    """Return the claims that do not hold as printed."""
    return [id for id in REGISTER if claim(id).judgement in ERRORS]


def unread() -> list[str]:
    """Return the claims whose formulas the copy at hand has lost."""
    return [id for id in REGISTER if claim(id).judgement == "not-legible"]


def printed(id: str, page: str) -> str:
    """Where a claim is printed, with a link, and what it is there if it is no statement."""
    record = claim(id)
    return f"[{plain(place(record))}]({page})" + f", a {record.kind}" * (record.kind != "statement")


def row(id: str, page: str) -> str:
    """Return the first cells of the row of a claim that does not hold: where it is printed, the verdict, what
    is wrong.
    """
    record = claim(id)
    return f"| {printed(id, page)}: {plain(record.title)} | {record.judgement} | {plain(record.wrong)} |"


def short_tables() -> str:
    """Return what does not hold as printed, and where its counterexample is: the rows that are in git."""
    text = []
    for name, ids in in_sources(wrong()):
        text += [f"## {name}", "", "| claim | verdict | what is wrong | certify it again |", "|---|---|---|---|"]
        text += [f"{row(id, f'{claim(id).page[5:]}#erratum')} `byheart audit {id}` |" for id in ids]
        text.append("")
    return "\n".join([*text, *not_legible()])


def not_legible() -> list[str]:
    """Return what was not read, and where the theorems are that are proved beside it."""
    text = []
    for name, ids in in_sources(unread()):
        text += [f"## Not legible: {name}", ""]
        text += [
            "These claims are not judged, because our copy lacks their formulas. "
            "The links lead to what is proved here on the same subjects:",
            "",
        ]
        text += ["; ".join(f"[{plain(place(claim(id)))}]({claim(id).page[5:]}#statement)" for id in ids) + ".", ""]
    return text


def counts(ids: Iterable[str] = REGISTER) -> str:
    """How many claims have which verdict, in words."""
    words = [claim(id).judgement for id in ids]
    return f"{len(words)} claims: {', '.join(f'{words.count(word)} *{word}*' for word in WORDS if word in words)}."


def tables() -> str:
    """Return what does not hold as printed, with a counterexample each: the rows of the site."""
    text = []
    for name, ids in in_sources(wrong()):
        text += [f"## {name}", "", "| claim | verdict | what is wrong | instance | promised | certified |"]
        text += ["|---|---|---|---|---|---|"]
        for id in ids:
            piece = shown_piece(id)
            cells = (piece.statement.rstrip("."), piece.promised, piece.certified)
            text.append(f"{row(id, f'register.md#{anchor(id)}')} {' | '.join(map(plain, cells))} |")
        text.append("")
    return "\n".join([*text, *not_legible()])


def records() -> str:
    """How many claims have which verdict, and the record of each."""
    text = [counts()]
    for name, ids in in_sources(REGISTER):
        text += ["", f"## {name}"]
        for id in ids:
            text += ["", f"### {id}", "", entry(id).rstrip("\n")]
    return "\n".join(text) + "\n"


def figures() -> str:
    """Return the sentences about figures that trained models decide, for those runs alone."""
    with (DOCS / "measured" / "findings.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    text = ["", "## What is said of the figures", ""]
    text += ["A verdict speaks of the runs that it names ([each proved, of trained weights](experiments.md)).", ""]
    text += [
        "Those of parity and depth, of the stored numbers and of mahdavi.5 are ours.",
        "",
    ]
    for name, each in groupby(rows, key=lambda row: row["figure"]):
        text += [f"### figure {name}", ""]
        for row in each:
            found = f"Found, for {row['speaks for']}: {plain(row['found'])}."
            text.append(f"- *{row['verdict']}*: {plain(row['sentence'])}. {found}")
        with (DOCS / "trained" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            full = {row["key"] for row in csv.DictReader(file)} == {point.key for point in FIGURES[name].full()}
        again = f"byheart experiment {name}"
        text += [f"- **Again**: `{again} --check --out docs/trained`; trained anew: `{again}{' --full' * full}`", ""]
    return "\n".join(text)


def records_of_a_chapter(page: str) -> str:
    """Return the records of the claims that a chapter proves or refutes, as the site shows them below its title."""
    mine = [id for id in REGISTER if claim(id).page == f"docs/{page}"]
    folder = (DOCS / page).parent

    def from_there(link: re.Match[str]) -> str:
        return f"]({os.path.relpath(DOCS / link[1], folder)}"

    blocks = []
    for number, id in enumerate(mine):
        record, text = claim(id), re.sub(r"\]\(([^)#:]+)", from_there, entry(id).strip())
        opened = " open" * (number == 0 and len(mine) < 4)
        blocks.append(
            f'<details class="record {record.judgement}"{opened}>\n<summary><code>{id}</code> '
            f"<strong>{record.judgement}</strong> {with_formulas(record.title)}</summary>\n\n{text}\n\n</details>\n"
        )
    return "\n".join(blocks)


def read_page(app: Sphinx, name: str, source: list[str]) -> None:
    if name == "register":
        source[0] += f"\n{records()}{figures()}"
    elif name == "errors":
        source[0] = f"{source[0].partition(TABLES)[0]}{tables()}"
    elif name.startswith("claims/") and (shown := records_of_a_chapter(f"{name}.md")):
        first, rest = re.split(r"\n(?=## )", source[0], maxsplit=1)
        source[0] = f"{first}\n\n{shown}\n{rest}"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", read_page, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def main() -> None:
    path = DOCS / "errors.md"
    first = path.read_text(encoding="utf-8").partition(TABLES)[0]
    first = re.sub(r"^\d+ claims: .*$", lambda _: counts(), first, flags=re.MULTILINE)
    path.write_text(first + short_tables(), encoding="utf-8")


if __name__ == "__main__":
    main()
