"""The line *Used by* at the end of each chapter of the core path: the pages whose proofs use the chapter.

    python docs/used_by.py

writes these lines, from the links in the line *Uses* and in the proofs of all pages.
"""

import os
import re
from pathlib import Path

from contents import DOCS, Entry, entries

PROOFS = re.compile(r"^\*Uses\* .*$|^## (?:Derivation|Proof)$.*?(?=^## )", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"\n\*\*Used by\*\* .*\n\Z")
NONE = "no other proof"
DEFINITIONS = "conventions.md"  # a chapter without a proof, whose letters all others use


def used_pages(page: str) -> set[str]:
    """Return the pages to which the proofs of a page lead."""
    folder = (DOCS / page).parent
    proofs = "\n".join(PROOFS.findall((DOCS / page).read_text(encoding="utf-8")))
    links = re.findall(r"\]\(([\w./]+\.md)", proofs)
    return {folder.joinpath(link).resolve().relative_to(DOCS.resolve()).as_posix() for link in links} - {page}


def line(chapter: Entry, pages: list[Entry]) -> str:
    """Return the line of a chapter, as the end of its page."""
    folder = Path(chapter.page).parent
    users = [page for page in pages if chapter.page in used_pages(page.page)]
    named = [f"[{user.title}]({os.path.relpath(user.page, folder)})" for user in users]
    return f"\n**Used by** {', '.join(named) or NONE}.\n"


def chapters() -> list[tuple[Path, str, str]]:
    """Return the file of each chapter that has proofs, its text, and its text with the line as it should be."""
    pages = entries((DOCS / "index.md").read_text(encoding="utf-8"))
    found = []
    for entry in pages:
        if entry.part == "The core path" and entry.page != DEFINITIONS:
            path = DOCS / entry.page
            text = path.read_text(encoding="utf-8")
            found.append((path, text, LINE.sub("", text).rstrip("\n") + "\n" + line(entry, pages)))
    return found


def main() -> None:
    for path, _, wanted in chapters():
        path.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()
