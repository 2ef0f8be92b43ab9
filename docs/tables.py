"""The catalogue of the memories, and the tables that lie beside the pages as CSV.

    python docs/tables.py

writes the catalogue in docs/memories.md, from what the menu says of each memory and from the line *Memory* of its
chapter, which names the statements that prove it. A line that is only a link to a CSV file becomes a table of the site.
"""

import csv
import re
from pathlib import Path

from sphinx.application import Sphinx

from constructions.memories.memory import Memory
from constructions.menu import MEMORIES

DOCS = Path(__file__).parent
PAGE = DOCS / "memories.md"
CATALOGUE = re.compile(r"(?<=<!-- generated: catalogue -->\n).*?(?=<!-- end -->)", re.DOTALL)


def rows_of(table: list[list[str]]) -> str:
    """Return a table of Markdown; its first row is the head."""
    head, *rows = table
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def table(path: Path) -> str:
    """Return a CSV file as a table of Markdown."""
    with path.open(encoding="utf-8", newline="") as file:
        return rows_of([[cell.replace("|", r"\|") for cell in row] for row in csv.reader(file)])


def proof_of(memory: type[Memory] | Memory) -> str:
    """Return what the chapter of a memory names as its proof, e.g. ``"Theorem K4"``."""
    text = (DOCS.parent / memory.page).read_text(encoding="utf-8")
    (said,) = re.findall(rf"^(?:- )?\*Memory\* `{re.escape(memory.name)}`: (.*)\.$", text, re.MULTILINE)
    return re.sub(r"\]\(#", f"]({memory.page.removeprefix('docs/')}#", said)


def catalogue() -> str:
    """Return what each memory needs, costs and rests on, as a table of Markdown."""
    rows = [["memory", "needs", "parameters", "exact in", "layers", "chapter", "proof"]]
    for one in MEMORIES:
        page = one.page.removeprefix("docs/")
        chapter = (DOCS / page).read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")
        layers = "attention" if one.attention_only else "attention and neurons"
        rows.append(
            [f"`{one.name}`", one.needs, one.cost, ", ".join(one.exact), layers, f"[{chapter}]({page})", proof_of(one)]
        )
    return rows_of(rows)


def page() -> str:
    """Return docs/memories.md with its catalogue written anew."""
    return CATALOGUE.sub(lambda _: f"\n{catalogue()}\n\n", PAGE.read_text(encoding="utf-8"))


def read_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Put a table in the place of each line that is nothing but a link to a CSV file."""
    folder = (DOCS / name).parent
    source[0] = re.sub(
        r"^\[[^\]]*\]\(([\w./]+\.csv)\)$", lambda found: table(folder / found[1]), source[0], flags=re.MULTILINE
    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", read_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
