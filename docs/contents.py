"""The order of the pages, read off the index: chapters and manual in the sidebar, the way on at the foot of each page.

    python docs/contents.py

writes the foot of every page anew. The site does without it, since the theme has links to the next and the previous
page; there the number of a chapter stands above its title instead.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parent
FOOT = re.compile(r"\n+---\n\n(?:Chapter|Manual)[^\n]*\n\Z")


@dataclass(frozen=True)
class Entry:
    """A page in the order of the index; a chapter has a number, a page of the manual has none."""

    part: str
    number: int | None
    title: str
    page: str


def entries(index: str) -> list[Entry]:
    """The pages in the lists of the index, under the headings of their parts."""
    found, part = [], ""
    for line in index.splitlines():
        if heading := re.match(r"#{2,3} (.+)", line):
            part = heading.group(1)
        elif item := re.match(r"(?:(\d+)\.|-) \[([^\]]+)\]\(([\w/]+\.md)\)", line):
            number, title, page = item.groups()
            found.append(Entry(part, int(number) if number else None, title, page))
    return found


def foot(index: str, page: str) -> str:
    """The last line of a page on GitHub: which chapter it is, and the ones before and after it."""
    order = entries(index)
    (place,) = [place for place, entry in enumerate(order) if entry.page == page]

    def link(entry: Entry) -> str:
        return f"[{entry.title}]({os.path.relpath(entry.page, Path(page).parent)})"

    contents = os.path.relpath("index.md", Path(page).parent)
    last = sum(entry.number is not None for entry in order)
    number = order[place].number
    parts = ["Manual" if number is None else f"Chapter {number} of {last}", f"[contents]({contents})"]
    parts += [f"before: {link(entry)}" for entry in order[:place][-1:]]
    parts += [f"next: {link(entry)}" for entry in order[place + 1 :][:1]]
    return "\n---\n\n" + " · ".join(parts) + "\n"


def with_foot(index: str, page: str, text: str) -> str:
    return FOOT.sub("", text.rstrip("\n") + "\n").rstrip("\n") + "\n" + foot(index, page)


def sidebar(index: str) -> str:
    """The directives that put the pages in this order."""
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


def read_page(app: Sphinx, name: str, source: list[str]) -> None:
    """The page as the site has it: the index with its order, the others without their foot and with their number."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    if name == "index":
        source[0] += sidebar(index)
        return
    source[0] = FOOT.sub("\n", source[0])
    for entry in entries(index):
        if entry.page == f"{name}.md" and entry.number is not None:
            title, rest = source[0].split("\n", 1)
            source[0] = f'{title}\n\n<p class="chapter">Chapter {entry.number} · {entry.part}</p>\n{rest}'


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", read_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def main() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    for entry in entries(index):
        path = DOCS / entry.page
        path.write_text(with_foot(index, entry.page, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
