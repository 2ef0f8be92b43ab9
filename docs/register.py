"""The register: what docs/register.md says of each claim and of each theorem in Coq, and each chapter of its claims.

    python docs/register.py

writes the parts of docs/register.md between its markers, from the records of the claims, the first piece of evidence
for each verdict, the trained figures, and the formal library. The site copies the record of a claim to its chapter.
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

from coq_theorems import CoqTheorem, files, library  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402

from byheart.report.formulas import with_formulas  # noqa: E402
from constructions.named.names import leading_from  # noqa: E402
from experiments.figures import FIGURES  # noqa: E402
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
    "not-judged": "not read, or stated too briefly; only a part is judged here",
    "not-legible": "without its formulas in the copy at hand; what is true is proved beside it",
    "open": "not decided",
}
ERRORS = ("false", "invalid-proof", "hypothesis", "slip")
PAGE = DOCS / "register.md"
PART = re.compile(r"(?<=<!-- generated: )(\w+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)
"""A part of the page that is written here: its name, and what stands between the markers."""

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


def on_github(formula: str) -> str:
    """Return a formula in TeX, written so that a reader who takes the text for Markdown first leaves it as it is."""
    for printed, written in (("\\{", r"\lbrace "), ("\\}", r"\rbrace "), ("\\,", r"\thinspace "), ("*", r"\ast ")):
        formula = formula.replace(printed, written)
    return re.sub(r"(?<!\w)_", "_ ", formula)


def quoted(text: str) -> str:
    """Words of a source with its formulas in TeX, displays within the line, and other signs as they are."""
    parts = re.split(r"(\$[^$]+\$)", text.replace("$$", "$"))
    return "".join(
        on_github(part) if part.startswith("$") else re.sub(r"([\\`*|_{}<>\[\]])", r"\\\1", part) for part in parts
    )


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


def checked_by_a_machine(id: str) -> list[CoqTheorem]:
    """Return the theorems in Coq that answer a claim."""
    return [theorem for theorem in library() if id in theorem.claims]


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
    ]
    if found := checked_by_a_machine(record.id):
        lines.append(f"- **In Coq**: {', '.join(f'[`{one.name}`](#{anchor(one.file)})' for one in found)}")
    lines.append(f"- **Chapter**: [{plain(title(record.page))}]({record.page[5:]})")
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


def wrong_as_printed() -> str:
    """Return the table of the claims that do not hold, a row each, and what was not read."""
    text = []
    for name, ids in in_sources(wrong()):
        text += [
            f"### Not as printed: {name}",
            "",
            "| claim | verdict | what is wrong | chapter |",
            "|---|---|---|---|",
        ]
        for id in ids:
            record = claim(id)
            said = f", a {record.kind}" * (record.kind != "statement")
            printed = f"[{plain(place(record))}](#{anchor(id)}){said}: {plain(record.title)}"
            chapter = f"[{plain(title(record.page))}]({record.page[5:]}#erratum)"
            text.append(f"| {printed} | {record.judgement} | {plain(record.wrong)} | {chapter} |")
        text.append("")
    return "\n".join([*text, *not_legible()])


def not_legible() -> list[str]:
    """Return what was not read, and where the theorems are that are proved beside it."""
    text = []
    for name, ids in in_sources(unread()):
        text += [f"### Not legible: {name}", ""]
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


def records() -> str:
    """Return the record of each claim."""
    text: list[str] = []
    for name, ids in in_sources(REGISTER):
        text += [f"## {name}", ""]
        for id in ids:
            text += [f"### {id}", "", entry(id)]
    return "\n".join(text) + "\n"


def figures() -> str:
    """Return the sentences about figures, with the verdicts of the trained models."""
    with (DOCS / "measured" / "findings.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    text: list[str] = []
    for name, each in groupby(rows, key=lambda row: row["figure"]):
        text += [f"### figure {name}", ""]
        for row in each:
            found = f"Found, for {row['speaks for']}: {plain(row['found'])}."
            text.append(f"- *{row['verdict']}*: {plain(row['sentence'])}. {found}")
        with (DOCS / "trained" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            full = {row["key"] for row in csv.DictReader(file)} == {point.key for point in FIGURES[name].full()}
        again = f"byheart experiment {name}"
        text += [f"- **Again**: `{again} --check --out docs/trained`; trained anew: `{again}{' --full' * full}`", ""]
    return "\n".join(text) + "\n"


def coq_words(text: str) -> str:
    """Return the words of a comment in Coq as Markdown: what stands in brackets is code, a page of the book a link."""
    pieces = re.split(r"(\[[^\]]*\]|\bdocs/[\w/.]+\.md)", text)
    for place, piece in enumerate(pieces):
        if piece.startswith("docs/"):
            pieces[place] = f"[{plain(title(piece))}]({piece[5:]})"
        elif piece.startswith("["):
            pieces[place] = f"`{piece[1:-1]}`".replace("|", r"\|")
        else:
            pieces[place] = plain(piece)
    return "".join(pieces)


def coq_answers(theorem: CoqTheorem) -> str:
    """Return what a theorem in Coq answers, with a link to the record of each claim."""
    shown = coq_words(theorem.answers)
    for id in theorem.claims:
        shown = re.sub(rf"(?<![\w.-]){re.escape(id)}(?![\w-])", f"[{id}](#{anchor(id)})", shown)
    return shown


def coq() -> str:
    """Return the theorems of the formal library, a table for each file that has some."""
    text = []
    for file, words in files().items():
        if theorems := [one for one in library() if one.file == file]:
            text += [f"### {file}", "", coq_words(words), "", "| theorem | says | answers |", "|---|---|---|"]
            text += [f"| `{one.place}` | {coq_words(one.says)} | {coq_answers(one)} |" for one in theorems]
            text.append("")
    return "\n".join(text) + "\n"


def page() -> str:
    """Return docs/register.md with its parts written anew."""
    parts = {
        "counts": lambda: counts() + "\n",
        "wrong": wrong_as_printed,
        "records": records,
        "figures": figures,
        "coq": coq,
    }
    return PART.sub(
        lambda found: f"{found[1]}{found[2]}\n{parts[found[1]]().strip()}\n\n", PAGE.read_text(encoding="utf-8")
    )


@cache
def written_records() -> dict[str, str]:
    """Return the records that the page holds, by claim."""
    found = re.findall(
        r"^### (\S+\.\S+)\n\n(\*\*.*?)\n(?=\n#|\n<!-- end -->)",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    return dict(found)


def records_of_a_chapter(page: str) -> str:
    """Return the records of the claims that a chapter proves or refutes, as the site shows them below its title."""
    mine = [id for id in REGISTER if claim(id).page == f"docs/{page}"]
    folder = (DOCS / page).parent

    def from_there(link: re.Match[str]) -> str:
        file, _, heading = link[1].partition("#")
        return f"]({os.path.relpath(DOCS / (file or PAGE.name), folder)}{f'#{heading}' * bool(heading)})"

    gravest = next((id for id in mine if claim(id).judgement in ERRORS), None)
    blocks = []
    for id in mine:
        record, text = claim(id), re.sub(r"\]\(([^):\s]+)\)", from_there, written_records()[id])
        opened = " open" * (id == gravest and len(mine) < 4)
        blocks.append(
            f'<details class="record {record.judgement}"{opened}>\n<summary><code>{id}</code> '
            f"<strong>{record.judgement}</strong> {with_formulas(record.title)}</summary>\n\n{text}\n\n</details>\n"
        )
    return "\n".join(blocks)


def read_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Put the records of its claims below the title of a chapter."""
    if name.startswith("claims/") and (shown := records_of_a_chapter(f"{name}.md")):
        first, rest = re.split(r"\n(?=## )", source[0], maxsplit=1)
        source[0] = f"{first}\n\n{shown}\n{rest}"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", read_page, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
