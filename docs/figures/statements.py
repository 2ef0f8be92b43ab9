"""Which theorem decides which claim: read off the register, the evidence for each claim, and the proofs in Coq.

    python docs/figures/statements.py

writes the drawing beside this file. A line from a theorem on the right to a claim says that the evidence for the claim
rests on it: the module of the evidence uses it. A line from the left says that a file of proofs in Coq answers the
claim, as the comments in the file say.
"""

import importlib
import re

import figure_program

from byheart.report import drawing as draw
from docs.coq_theorems import library
from verify.theorems.claims import REGISTER, claim, module_of
from verify.theorems.evidence import UNIVERSAL, Theorem, theorems

HEIGHT, TOP, SIZE = 22, 92, 12
LEFT, CLAIMS, RIGHT = 0, 215, 560
WIDTH = 850
STATES = {
    "third": "answered in Coq",
    "first": "proved, by a theorem about all weights or encoders",
    "fourth": "proved on its page, certified on instances",
    "second": "open, not judged, not legible, or measured",
}


def theorems_of(id: str) -> list[Theorem]:
    """Return the theorems that the evidence for a claim uses: those of its module, and of what it takes from
    beside it.
    """
    modules = [vars(importlib.import_module(module_of(id)))]
    judging = [one for one in modules[0].values() if callable(one) and getattr(one, "__name__", "") != "build"]
    beside = {str(getattr(one, "__module__", "")) for one in judging}
    modules += [
        vars(importlib.import_module(name))
        for name in beside
        if name.startswith(("verify.theorems.claims.", "verify.theorems.evidence."))
    ]
    used = [one for names in modules for one in names.values() if isinstance(one, Theorem)]
    return [one for one in vars(theorems).values() if isinstance(one, Theorem) and one in used]


def proofs() -> dict[str, list[str]]:
    """Return the claims that each file of proofs in Coq answers."""
    found: dict[str, list[str]] = {}
    for theorem in library():
        for id in theorem.claims:
            if id not in found.setdefault(theorem.file, []):
                found[theorem.file].append(id)
    return found


def state(id: str) -> str:
    """Return the colour of a claim: the strongest way in which it is decided."""
    if claim(id).judgement in ("open", "not-judged", "not-legible", "measured"):
        return "second"
    if any(id in answered for answered in proofs().values()):
        return "third"
    return "first" if any(one.over in UNIVERSAL for one in theorems_of(id)) else "fourth"


def address(page: str, heading: str = "") -> str:
    """Where a page is in the site, from the page that shows the drawing."""
    anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    return re.sub(r"^docs/(.*)\.md$", r"\1.html", page) + f"#{anchor}" * bool(heading)


def spread(count: int) -> list[float]:
    """Places for the entries of a column, over the height of the claims."""
    whole = HEIGHT * len(REGISTER)
    return [TOP + whole * (place + 0.5) / count for place in range(count)]


def middle(ids: list[str]) -> float:
    return sum(REGISTER.index(id) for id in ids) / len(ids)


def drawing() -> str:
    rows = {id: TOP + HEIGHT * (place + 0.5) for place, id in enumerate(REGISTER)}
    used: dict[Theorem, list[str]] = {}
    for id in REGISTER:
        for one in theorems_of(id):
            used.setdefault(one, []).append(id)
    right = sorted(used, key=lambda one: middle(used[one]))
    left = sorted(proofs().items(), key=lambda item: middle(item[1]))
    lines, names = [], []
    for (file, ids), y in zip(left, spread(len(left)), strict=True):
        names.append(
            draw.linked(address("docs/register.md", file), draw.words(LEFT, y + 5, file, "letters", "start", SIZE))
        )
        lines += [draw.curve((LEFT + 158, y), (CLAIMS - 10, rows[id]), "thin third") for id in ids]
    for one, y in zip(right, spread(len(right)), strict=True):
        place = address(one.page, one.heading)
        names.append(draw.linked(place, draw.words(RIGHT + 8, y + 5, one.name, "", "start", SIZE)))
        kind = "thin first" if one.over in UNIVERSAL else "thin fourth"
        lines += [draw.curve((CLAIMS + 262, rows[id]), (RIGHT, y), kind) for id in used[one]]
    for id, y in rows.items():
        colour = state(id)
        names.append(draw.dot(CLAIMS, y, f"on-{colour}", 5))
        label = f"{id}: {claim(id).judgement}"
        names.append(
            draw.linked(address("docs/register.md", id), draw.words(CLAIMS + 11, y + 5, label, "", "start", SIZE))
        )
    heads = [
        draw.words(LEFT, TOP - 12, "proofs in Coq", "faint", "start", SIZE),
        draw.words(CLAIMS + 11, TOP - 12, "claims, and the verdict", "faint", "start", SIZE),
        draw.words(RIGHT + 8, TOP - 12, "theorems of the book", "faint", "start", SIZE),
    ]
    for place, (colour, meaning) in enumerate(STATES.items()):
        x, y = LEFT + 5 + 380 * (place % 2), 16 + 22 * (place // 2)
        heads += [draw.dot(x, y, f"on-{colour}", 5), draw.words(x + 11, y + 5, meaning, "", "start", SIZE)]
    title = (
        "The claims of the register in a column, each with a dot whose colour says how it is decided. Lines from the "
        "left join them with the files of proofs in Coq that answer them, lines to the right with the theorems that "
        "their evidence rests on."
    )
    return draw.figure(title, WIDTH, TOP + HEIGHT * len(REGISTER) + 12, [*heads, *lines, *names])


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
