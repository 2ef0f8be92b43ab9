"""What the register says of each claim, as pages: all of it, what does not hold as printed, a record on each chapter.

    python docs/register.py

runs the audit of each claim up to the piece that shows its verdict, and writes docs/register.md and docs/errors.md, and
beside the records what a list says of them. The site puts the records of a chapter below its title.
"""

import importlib
import os
import re
import sys
import textwrap
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [path for path in (str(DOCS), str(ROOT)) if path not in sys.path]

from sphinx.application import Sphinx  # noqa: E402

from byheart.report.formulas import with_formulas  # noqa: E402
from verify.claim import Claim  # noqa: E402
from verify.claims import REGISTER, claim, module_of  # noqa: E402
from verify.evidence import Evidence  # noqa: E402

SHOWN = {
    "holds": ("claim", "An instance"),
    "slip": ("constant", "Counterexample to what is printed"),
    "hypothesis": ("without", "Counterexample without the hypothesis"),
    "false": ("counterexample", "Counterexample"),
    "invalid-proof": ("step", "Counterexample to a step of the proof"),
    "redundant": ("needless", "An instance"),
    "answered": ("answer", "An instance of the answer"),
    "measured": ("measurement", "Of weights that are built here"),
    "not-judged": ("part", "What is judged of it"),
    "open": ("known", "What is known"),
}
"""For each verdict the kind of evidence that shows it first, and what that is called on a page."""

WORDS = {
    "holds": "true as printed",
    "slip": "true after a correction of constants, signs or dimensions",
    "hypothesis": "true under a hypothesis that the source does not state",
    "false": "refuted as printed",
    "invalid-proof": "neither proved nor refuted; a step of the printed proof is refuted",
    "redundant": "true, and not needed",
    "answered": "a question of the source that has an answer",
    "measured": "an observation, which nothing here proves",
    "not-judged": "a theorem of its source, of which a part alone is judged here",
    "open": "not decided",
}
ERRORS = ("false", "invalid-proof", "hypothesis", "slip")
SOURCES = {
    "dana": "Dana, Pydi and Chevaleyre (2024)",
    "slides": "The slides of June 2024",
    "mahdavi": "Mahdavi, Liao and Thrampoulidis (2024)",
}
FIGURE = (
    "The claims of the register in a column, with lines to the proofs in Coq on the left and to the theorems on the "
    "right that decide them; the records below say the same in words."
)
RECORD = re.compile(r"^### ([\w.-]+)\n(.*?)(?=^#{2,3} |\Z)", re.MULTILINE | re.DOTALL)


def sources() -> dict[str, str]:
    """What each source is called, by the first part of the ids of its claims, in the order of the register."""
    found = dict(SOURCES)
    for id in REGISTER:
        found.setdefault(id.split(".")[0], re.sub(r"(?<=\)).*", "", claim(id).source))
    return found


def plain(text: str) -> str:
    """A text of the register with its formulas set, written so that Markdown leaves its words as they are."""
    shown = with_formulas(text).replace("&#x27;", "'").replace("&quot;", '"')
    return re.sub(r"([\\`*|~$]|\](?=\()|(?<!\w)_|_(?!\w))", r"\\\1", shown)


def paragraph(text: str) -> list[str]:
    """An empty line, and the lines of a paragraph."""
    return ["", *textwrap.wrap(" ".join(text.split()), 118, break_long_words=False, break_on_hyphens=False)]


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def title(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")


def place(record: Claim) -> str:
    """Where in its source a claim is printed."""
    return re.sub(r"^.*?2024\)?, (?:slides, )?", "", record.source)


def shown_piece(record: Claim) -> Evidence:
    """The first piece of evidence of the kind that the verdict is named for, computed now."""
    module = importlib.import_module(module_of(record.id))
    return next(piece for piece in module.evidence(full=False) if piece.role == SHOWN[record.judgement][0])


def checked_by_a_machine(id: str) -> list[str]:
    """The theorems in Coq that answer a claim, as docs/formal.md lists them."""
    rows = re.findall(
        r"^\| `(formal/\w+\.v:\w+)` \|(.*)$", (DOCS / "formal.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    return [theorem for theorem, rest in rows if f"`{id}`" in rest]


def entry(record: Claim, piece: Evidence) -> str:
    """All that is said of a claim, with links to where it is proved, built, judged and tested."""
    theorems = dict.fromkeys(applied.theorem for applied in piece.theorems)
    by = " and ".join(f"[{plain(one.name)}]({one.page[5:]}#{anchor(one.heading)})" for one in theorems)
    speaks = f"for {piece.quantifier.value}" + f", by {by}" * bool(by)
    reconstructed = f"; *reconstructed*: {plain(record.reconstructed)}" * bool(record.reconstructed)
    lines = [
        f"**{plain(record.title)}.** {plain(record.source)}.",
        "",
        f"- **Printed**: {plain(record.printed)}",
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
        names = ", ".join(f"`{theorem.partition(':')[2]}`" for theorem in found)
        lines[-1] += f"; [in Coq](formal.md): {names}"
    built = record.build is not None
    code = [
        f"[record{', weights' * built} and evidence](../verify/claims/{record.module}.py)",
        "[its test](../tests/contract/test_claims.py)",
    ]
    if (ROOT / (own := f"tests/verify/claims/test_{record.module}.py")).exists():
        code[-1] = f"[its test](../{own})"
    lines += [f"- **Code**: {', '.join(code)}", f"- **Again**: `byheart audit {record.id}`"]
    if built:
        given = " ".join(f"{name}={value}" for name, value in record.parameters.items())
        lines[-1] += f", and `byheart build {record.id} --param {given} --out out/claim`"
    return "\n".join(lines) + "\n"


def register_page(records: dict[str, str]) -> str:
    """Every claim of the register; `records` has the text of each."""
    words = [claim(id).judgement for id in REGISTER]
    counts = ", ".join(f"{words.count(word)} *{word}*" for word in WORDS if word in words)
    text = ["# The register of claims"]
    text += paragraph(f"""
        The {len(REGISTER)} claims of the sources, each with what is printed, the verdict, what is true, and
        the first piece of the evidence for the verdict; `byheart audit` certifies all of the evidence again
        ([what its words mean](audit.md)). Of the claims, {counts}. [What does not hold as printed](errors.md)
        is one table.
    """)
    text += paragraph("This page is written by `python docs/register.py`, and a test computes every piece again.")
    text += ["", "## What rests on what"]
    text += paragraph("""
        Each claim with its verdict. On the right the theorems that decide claims, for all weights of a shape
        or for all encoders where the line is blue; a line says that the evidence rests on the theorem. On the
        left the proofs in Coq. The colour of a claim is the strongest way in which it is decided: [by a proof
        that a machine has checked](formal.md), at least of what decides it; by a theorem that speaks for all
        weights; by a proof on its page, with the statement certified on instances; or not.
    """)
    text += ["", f"![{FIGURE}](figures/statements.svg)"]
    for source, name in sources().items():
        text += ["", f"## {name}"]
        for id in REGISTER:
            if id.startswith(f"{source}."):
                text += ["", f"### {id}", "", records[id].rstrip("\n")]
    return "\n".join(text) + "\n"


def errors_page(pieces: dict[str, Evidence]) -> str:
    """The claims that do not hold as printed, with a counterexample each."""
    text = ["# What does not hold as printed"]
    text += paragraph(f"""
        Of the {len(REGISTER)} claims of the sources that are in [the register](register.md), {len(pieces)} do
        not hold as they are printed, in one of four ways: *slip*, a constant, a sign or a dimension is to be
        corrected; *hypothesis*, a condition is needed that the source does not state; *invalid-proof*, a step
        does not follow, and the statement may be true; *false*, the statement fails, and something else is
        true. Each row is an instance that anybody can compute again: what is promised there as printed, and
        what is certified. The link leads to the words of the statement, what is true instead, and the proof.
    """)
    text += paragraph("""
        A verdict is about the version that the record names (arXiv 2411.10115, the slides of June 2024, the
        paper at ICLR). Claims marked † were read in a copy without its inline formulas: the verdict is about
        our reconstruction, and the paper itself may say it right. Whoever finds a verdict unfair should look
        at the instance first: `byheart audit ID`, with the ID that the link of the row leads to
        (`dana.lemma-2`), computes it again, and the chapter of the claim says how the printed words were read.
        The letters are in [chapter 2](conventions.md#letters-and-units); in KL(π, T) the T is the transformer.
        Lemma 2, Theorem 1, both corollaries and section 6 of Dana et al. fail on the same four contexts, which
        take [two minutes](exclusive_or.md).
    """)
    for source, title_ in sources().items():
        if not any(id.startswith(f"{source}.") for id in pieces):
            continue
        text += [
            "",
            f"## {title_}",
            "",
            "| claim | verdict | instance | promised | certified |",
            "|---|---|---|---|---|",
        ]
        for id, piece in pieces.items():
            record = claim(id)
            if id.startswith(f"{source}."):
                name = f"[{plain(place(record))}](register.md#{anchor(id)}): {plain(record.title)}"
                cells = [name + " †" * bool(record.reconstructed), record.judgement]
                cells += [plain(words) for words in (piece.statement.rstrip("."), piece.promised, piece.certified)]
                text.append(f"| {' | '.join(cells)} |")
    return "\n".join(text) + "\n"


def records_of_a_chapter(page: str) -> str:
    """The records of the claims that a chapter proves or refutes, as the site shows them below its title."""
    found = dict(RECORD.findall((DOCS / "register.md").read_text(encoding="utf-8")))
    mine = [id for id in REGISTER if claim(id).page == f"docs/{page}"]
    folder = (DOCS / page).parent

    def from_there(link: re.Match[str]) -> str:
        return f"]({os.path.relpath(DOCS / link[1], folder)}"

    blocks = []
    for number, id in enumerate(mine):
        record, text = claim(id), re.sub(r"\]\(([^)#:]+)", from_there, found[id].strip())
        opened = " open" * (number == 0 and len(mine) < 4)
        blocks.append(
            f'<details class="record {record.judgement}"{opened}>\n<summary><code>{id}</code> '
            f"<strong>{record.judgement}</strong> {with_formulas(record.title)}</summary>\n\n{text}\n\n</details>\n"
        )
    return "\n".join(blocks)


def read_page(app: Sphinx, name: str, source: list[str]) -> None:
    if name.startswith("claims/") and (records := records_of_a_chapter(f"{name}.md")):
        first, rest = re.split(r"\n(?=## )", source[0], maxsplit=1)
        source[0] = f"{first}\n\n{records}\n{rest}"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", read_page, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def main() -> None:
    pieces = {id: shown_piece(claim(id)) for id in REGISTER}
    records = {id: entry(claim(id), piece) for id, piece in pieces.items()}
    errors = {id: piece for id, piece in pieces.items() if claim(id).judgement in ERRORS}
    for page, text in (("register.md", register_page(records)), ("errors.md", errors_page(errors))):
        (DOCS / page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
