"""How many facts each memory holds for each parameter, against the number of tokens, and what no weights exceed.

    python docs/figures/facts_per_parameter.py

writes the drawing beside this file, from a table that ``--measure`` computes by building each memory for random labels
of all bigrams.
"""

from collections.abc import Mapping, Sequence

import figure_program

from byheart.report import drawing as draw
from constructions.errors import ByheartError
from constructions.heads_of_theorem_1.parameters import printed_count
from constructions.memories.information_limit import information_limit
from constructions.memories.memory import Limits
from constructions.menu import BY_NAME
from constructions.tasks.arrays import enumerated_task

TOKENS = (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
BUILT = {  # what holds random labels, in which type, and the most tokens: beyond, it takes minutes
    "packed-words": ("float64", 1024),
    "knots": ("float32", 128),
    "one-head": ("float32", 1024),
    "rank-one-heads": ("float32", 48),
    "newton": ("float32", 6),
    "theorem-1": ("float64", 12),
    "last-token-heads": ("float64", 12),
}
LIMITS = {"information, 64 bits": 64, "information, 32 bits": 32}
PRINTED = "printed"


def measured() -> Sequence[Mapping[str, object]]:
    """Entries of all tensors by the number of tokens; empty where a memory refuses, or is not built."""
    rows = []
    for tokens in TOKENS:
        task = enumerated_task(tokens, 2, seed=0)
        row: dict[str, object] = {"tokens": tokens, "facts": task.n_contexts}
        for name, (dtype, most) in BUILT.items():
            row[name] = ""
            if tokens <= most:
                try:
                    row[name] = BY_NAME[name].build(task, Limits(dtype)).model.parameters
                except ByheartError:
                    continue
        row |= {name: information_limit(task, bits) for name, bits in LIMITS.items()}
        row[PRINTED] = printed_count(d_vocab=tokens, n_ctx=2, d_model=2, facts=task.n_contexts)
        rows.append(row)
    return rows


SHARES = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
NAMES = {  # of each line: its colour, which of its points is named, and how far from there
    "packed-words": ("third", -1, (9, 15)),
    "knots": ("ink", -1, (9, 12)),
    "one-head": ("first", -1, (9, 2)),
    "rank-one-heads": ("faint", -1, (9, 5)),
    "newton": ("faint", -1, (-30, -10)),
    "theorem-1": ("faint", -1, (9, -14)),
    "last-token-heads": ("faint", -1, (9, 2)),
    PRINTED: ("dashed", -1, (9, 5)),
} | dict.fromkeys(LIMITS, ("dashed", -1, (9, 5)))


def drawing() -> str:
    rows = figure_program.table(__file__)
    ends = (0.017, 26)
    axes = draw.Axes(50, 40, 430, 450, (TOKENS[0], TOKENS[-1]), ends, log_x=True, log_y=True)
    parts = axes.scales(draw.ticks(4, 16, 64, 256, 1024), draw.ticks(*SHARES), "tokens N", "facts per parameter")
    for name, (kind, named, (right, down)) in NAMES.items():
        places = [axes.at(int(row["tokens"]), int(row["facts"]) / int(row[name])) for row in rows if row[name]]
        x, y = places[named]
        if abs(down) > 50:
            parts.append(draw.line((x, y - 6), (x, y + down + 6), "line"))
        parts.append(draw.path(places, {"dashed": "ink", "faint": "line"}.get(kind, kind), "6 4" * (kind == "dashed")))
        fill = {"dashed": "", "ink": "on-ink", "faint": "faint"}.get(kind, f"on-{kind}")
        if kind != "dashed":
            parts += [draw.dot(*place, fill, 3) for place in places]
        label = "Dana et al., as printed" if name == PRINTED else name
        parts.append(draw.words(x + right, y + down, label, fill.replace("faint", ""), "start", 13))
    last = rows[-1]
    best = max(BUILT, key=lambda name: int(last["facts"]) / int(last[name]) if last[name] else 0)
    title = (
        "Facts per parameter against the number of tokens, for all bigrams with random labels, on logarithmic scales. "
        f"At {last['tokens']} tokens {best} has {int(last['facts']) / int(last[best]):.1f}, all others are below 0.6, "
        f"the count that Dana et al. print is at one eighth, and no weights of 32 bits exceed "
        f"{int(last['facts']) / int(last['information, 32 bits']):.1f}."
    )
    return draw.figure(title, 640, 550, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing, measured)
