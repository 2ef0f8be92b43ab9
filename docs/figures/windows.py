"""The windows of Theorem S5: all bigrams of four tokens in the order in which heads take them.

    python docs/figures/windows.py

writes the drawing beside this file.
"""

import math

import figure_program

from byheart.report import drawing as draw
from constructions.attention.capacity.windows import all_contexts_rank, all_contexts_windows
from verify.theorems.capacity.independent_windows import partition_holds

TOKENS, WIDTH = 4, 3  # N and d = d_h
HEADS = math.ceil((TOKENS**2 - WIDTH) / WIDTH)
RADIUS = 12


def drawing() -> str:
    sizes = {"d_model": WIDTH, "d_head": WIDTH}
    contexts, found = all_contexts_windows(TOKENS, 2, **sizes, n_heads=HEADS)
    windows = [(window.rows, window.positions) for window in found.windows]
    if not partition_holds(contexts, skip=found.skip, windows=windows, **sizes):
        raise ArithmeticError("the windows are no partition of Theorem S3")
    rank = all_contexts_rank(TOKENS, 2, **sizes, n_heads=HEADS)
    parts = []
    groups = [("x_S", found.skip), *((f"head {head + 1}", rows) for head, (rows, _) in enumerate(windows))]
    for place, (name, rows) in enumerate(groups):
        left, top = 30 + 190 * (place % 3), 40 + 165 * (place // 3)
        colour = draw.COLOURS[place % 2]
        parts.append(draw.words(left + 55, top - 12, name, "faint"))
        spots = {}
        for token in range(TOKENS):
            angle = math.pi * (2 * token + 1) / TOKENS
            spots[token] = (left + 55 + 38 * math.cos(angle), top + 52 - 38 * math.sin(angle))
        for row in rows:
            first, last = contexts[row].tolist()
            (x, y), (u, v) = spots[last], spots[first]
            if first == last:
                parts.append(draw.dot(x + (10 if x > left + 55 else -10), y - 10, colour, 9))
            else:
                share = (RADIUS + 2) / math.hypot(u - x, v - y)
                parts.append(draw.arrow((x, y), (u - share * (u - x), v - share * (v - y)), colour, 7))
        for token, (x, y) in spots.items():
            parts += [draw.dot(x, y, "box", RADIUS), draw.words(x, y + 4, str(token), size=13)]
        shown = ", ".join("".join(map(str, contexts[row])) for row in rows)
        parts.append(draw.words(left + 55, top + 118, shown, size=13))
    title = (
        f"All {len(contexts)} bigrams of {TOKENS} tokens, as arcs from the last to the first token, in {len(groups)} "
        f"groups of at most {WIDTH}: one for the skip connection, of loops alone, and one for each of {HEADS} heads. "
        f"In each group the last tokens differ. The rank is {rank}."
    )
    return draw.figure(title, 560, 350, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
