"""The order of the pages, read off the index: chapters and manual in the sidebar, and the number above each title.

    python docs/contents.py

numbers the chapters of the index anew.
"""

import re
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parent


@dataclass(frozen=True)
class Entry:
    """A page in the order of the index; a chapter has a number, a page of the manual has none."""

    part: str
    number: int | None
    title: str
    page: str


def entries(index: str) -> list[Entry]:
    """Return the pages in the lists of the index, under the headings of their parts."""
    found, part = [], ""
    for line in index.splitlines():
        if heading := re.match(r"#{2,3} (.+)", line):
            part = heading.group(1)
        elif item := re.match(r"(?:(\d+)\.|-) \[([^\]]+)\]\(([\w/]+\.md)\)", line):
            number, title, page = item.groups()
            found.append(Entry(part, int(number) if number else None, title, page))
    return found


def numbered(index: str) -> str:
    """Return the index with its chapters numbered through."""
    numbers = count(1)
    return re.sub(r"^\d+\. (?=\[)", lambda _: f"{next(numbers)}. ", index, flags=re.MULTILINE)


def sidebar(index: str) -> str:
    """Return the directives that put the pages in this order."""
    order = entries(index)
    parts = dict.fromkeys(entry.part for entry in order)
    lines = []
    for part in parts:
        lines += ["", "```{toctree}", ":hidden:", f":caption: {part}", ""]
        for entry in order:
            if entry.part == part:
                number = f"{entry.number} " if entry.number is not None else ""
                lines.append(f"{number}{entry.title} <{entry.page.removesuffix('.md')}>")
        lines.append("```")
    return "\n".join(lines) + "\n"


LETTERS = re.compile(r"^> \*\*Letters of this chapter\*\*\n(?:>.*\n)+", re.MULTILINE)
"""The box of letters at the head of a chapter, which GitHub shows as a quotation."""


def letters(box: re.Match[str]) -> str:
    """Return the box of letters as a box of the site, which stands on the right where there is room."""
    return "```{container} letters\n" + re.sub(r"^> ?", "", box[0], flags=re.MULTILINE) + "```\n"


def read_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Change a page to what the site has: the index with its order, the others with their number and their letters."""
    source[0] = LETTERS.sub(letters, source[0])
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    if name == "index":
        source[0] += sidebar(index)
        return
    for entry in entries(index):
        if entry.page == f"{name}.md" and entry.number is not None:
            title, rest = source[0].split("\n", 1)
            source[0] = f'{title}\n\n<p class="chapter">Chapter {entry.number} · {entry.part}</p>\n{rest}'


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", read_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def main() -> None:
    path = DOCS / "index.md"
    path.write_text(numbered(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
