"""Tables that lie beside the pages as CSV, which GitHub shows as tables, are set on the page of the site."""

import csv
import re
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parent


def table(path: Path) -> str:
    """A CSV file as a table of Markdown."""
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = [[cell.replace("|", r"\|") for cell in row] for row in csv.reader(file)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def read_page(app: Sphinx, name: str, source: list[str]) -> None:
    """The page with each line that is nothing but a link to a CSV file replaced by its table."""
    folder = (DOCS / name).parent
    source[0] = re.sub(
        r"^\[[^\]]*\]\(([\w./]+\.csv)\)$", lambda found: table(folder / found[1]), source[0], flags=re.MULTILINE
    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", read_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
