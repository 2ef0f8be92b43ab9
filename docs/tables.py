"""Tables that lie beside the pages as CSV, which GitHub shows as tables, and the memories as `byheart memories` lists
them, are set on the page of the site.
"""

import csv
import re
from pathlib import Path

from sphinx.application import Sphinx

from constructions.menu import MEMORIES

DOCS = Path(__file__).parent
PLACE = "<!-- the table of `byheart memories` -->"


def rows_of(table: list[list[str]]) -> str:
    """Return a table of Markdown; its first row is the head."""
    head, *rows = table
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def table(path: Path) -> str:
    """Return a CSV file as a table of Markdown."""
    with path.open(encoding="utf-8", newline="") as file:
        return rows_of([[cell.replace("|", r"\|") for cell in row] for row in csv.reader(file)])


def memories() -> str:
    """Return what each memory needs and costs, as a table of Markdown."""
    rows = [[f"[`{one.name}`]({one.page.removeprefix('docs/')})", one.needs, one.cost] for one in MEMORIES]
    return rows_of([["memory", "needs", "parameters"], *rows])


def read_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Put tables in the place of `PLACE`, and of each line that is nothing but a link to a CSV file."""
    folder = (DOCS / name).parent
    source[0] = source[0].replace(PLACE, memories())
    source[0] = re.sub(
        r"^\[[^\]]*\]\(([\w./]+\.csv)\)$", lambda found: table(folder / found[1]), source[0], flags=re.MULTILINE
    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", read_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
