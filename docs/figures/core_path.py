"""Which chapter of the core path rests on which: read off the index, and off the proofs of each chapter.

    python docs/figures/core_path.py

writes the drawing beside this file. The colour of a chapter is the gravest verdict on the printed claims that it is
about, as the register has it.
"""

import sys

import figure_program

from byheart.report import drawing as draw
from verify.theorems.claims import REGISTER, claim

DOCS = figure_program.ROOT / "docs"
sys.path.insert(0, str(DOCS))

from contents import Entry, entries  # noqa: E402  (docs is no package)
from used_by import used_pages  # noqa: E402

HEIGHT, TOP, SIZE = 28, 70, 14
NAMES, WIDTH = 150, 680  # where the titles begin, and the width of the drawing
# From the gravest verdict on: a chapter has the colour of the first of these that one of its claims has.
COLOURS = {
    "false": ("second", "a printed claim is false"),
    "hypothesis": ("fourth", "a printed claim needs a hypothesis"),
    "holds": ("third", "the printed claims that are judged hold"),
}
OTHER = ("ink", "no printed claim that is judged")


def core_path() -> list[Entry]:
    """Return the chapters of the core path, in their order."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    return [entry for entry in entries(index) if entry.part == "The core path"]


def colour(page: str) -> str:
    """Return the colour of the gravest verdict on the claims of a page."""
    verdicts = {claim(id).judgement for id in REGISTER if claim(id).page == f"docs/{page}"}
    return next((name for verdict, (name, _) in COLOURS.items() if verdict in verdicts), OTHER[0])


def drawing() -> str:
    chapters = core_path()
    heights = {entry.page: TOP + HEIGHT * (place + 0.5) for place, entry in enumerate(chapters)}
    arcs, names = [], []
    for entry in chapters:
        y = heights[entry.page]
        for page in sorted(used_pages(entry.page)):
            if page in heights:
                arcs.append(arc(heights[page], y))
        title = draw.words(NAMES + 14, y + 5, f"{entry.number}  {entry.title}", "", "start", SIZE)
        names += [
            draw.dot(NAMES, y, f"on-{colour(entry.page)}", 6),
            draw.linked(entry.page.replace(".md", ".html"), title),
        ]
    legend = []
    for place, (kind, meaning) in enumerate([*COLOURS.values(), OTHER]):
        x, y = 8 + 370 * (place % 2), 16 + 24 * (place // 2)
        legend += [draw.dot(x, y, f"on-{kind}", 6), draw.words(x + 14, y + 5, meaning, "", "start", SIZE)]
    title = (
        "The chapters of the core path in a column, each with a dot whose colour says what became of the printed "
        "claims. An arc on the left joins a chapter with an earlier one that its proofs use."
    )
    return draw.figure(title, WIDTH, TOP + HEIGHT * len(chapters) + 8, [*legend, *arcs, *names])


def arc(earlier: float, later: float) -> str:
    """Draw a bow on the left of the names, the wider the farther the two chapters are apart."""
    out = NAMES - 10 - 0.62 * (later - earlier)
    start, end = f"{draw.number(NAMES - 9)} {draw.number(earlier)}", f"{draw.number(NAMES - 9)} {draw.number(later)}"
    bow = f"C{draw.number(out)} {draw.number(earlier)} {draw.number(out)} {draw.number(later)}"
    return f'<path d="M{start} {bow} {end}" class="thin first"/>'


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
