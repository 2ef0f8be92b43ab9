"""The rank that heads give the frequent contexts of a text: the paper's count, and what is certified from both sides.

    python docs/figures/rank_against_heads.py

writes the drawing beside this file, from a table that ``--measure`` computes from Python's reference text.
"""

import hashlib
from collections.abc import Mapping, Sequence

import figure_program

from byheart.report import drawing as draw
from constructions.attention.capacity.head_counts import capacity
from constructions.tasks.text import default_text, text_task

FACTS, WIDTH, HEADS = 1024, 64, 36
TEXT = "3745375ca96e0965e81b20efc9e6bf4ccc613bd5038c6de45d8e72b37695ec07"  # SHA-256, CPython 3.11.7


def measured() -> Sequence[Mapping[str, object]]:
    """Return the rank with each number of heads: by the paper, and certified from below and from above."""
    text = default_text()
    if hashlib.sha256(text.encode()).hexdigest() != TEXT:
        raise LookupError("this Python comes with another text")
    task = text_task(text, vocabulary=64, context=4, facts=FACTS, target="labels")
    rows = []
    for heads in range(HEADS + 1):
        found = capacity(task.contexts, d_model=WIDTH, d_head=WIDTH, n_heads=heads, eliminate=False)
        rows.append({"heads": heads, "paper": found.paper_rank, "upper": found.rank_upper})
    ranks = capacity(task.contexts, d_model=WIDTH, d_head=WIDTH, n_heads=HEADS).heads.ranks
    return [{**row, "lower": ranks[min(row["heads"], len(ranks) - 1)]} for row in rows]


def drawing() -> str:
    rows = [{name: int(value) for name, value in row.items()} for row in figure_program.table(__file__)]
    axes = draw.Axes(58, 40, 480, 260, (0, HEADS), (0, FACTS))
    parts = axes.scales(draw.ticks(*range(0, 36, 5)), draw.ticks(0, 256, 512, 768, 1024), "heads", "rank")
    parts.append(axes.curve([(row["heads"], row["paper"]) for row in rows], "second"))
    parts.append(axes.curve([(row["heads"], row["upper"]) for row in rows], "first"))
    parts += [draw.dot(*axes.at(row["heads"], row["lower"]), "on-first", 3.5) for row in rows]

    full = next(row["heads"] for row in rows if row["paper"] == FACTS)
    needed = next(row["heads"] for row in rows if row["lower"] == FACTS)
    there = rows[full]
    parts.append(draw.line(axes.at(full, 0), axes.at(full, FACTS), "ink", "3 4"))
    parts.append(draw.line(axes.at(needed, 0), axes.at(needed, FACTS), "ink", "3 4"))
    x, y = axes.at(full, there["lower"])
    parts += [draw.dot(x, y, "ink", 7), draw.words(x + 12, y + 16, f"{there['lower']} of {FACTS}", "", "start")]
    parts.append(draw.words(*axes.at(17, FACTS + 30), "the paper's count", "on-second", "start"))
    for row, text in enumerate(("certified: no weights exceed", "the line, almost all weights", "reach the dots")):
        x, y = axes.at(19, 440)
        parts.append(draw.words(x, y + 18 * row, text, "on-first", "start"))
    x, y = axes.at(needed, 0)
    parts.append(draw.words(x - 6, y - 9, f"{needed} heads", "", "end"))
    x, y = axes.at(full, 0)
    parts.append(draw.words(x + 6, y - 9, f"{full} heads", "", "start"))
    title = (
        f"The rank against the number of heads. The paper's line rises straight to {FACTS} at {full} heads. The "
        f"certified curve bends: it is at {there['lower']} there and reaches {FACTS} at {needed} heads."
    )
    return draw.figure(title, 560, 350, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing, measured)
