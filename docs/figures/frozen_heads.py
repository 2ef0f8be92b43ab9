"""Heads that fit some examples and freeze earlier ones, and the condition of the features by the width of the heads.

    python docs/figures/frozen_heads.py

writes the drawing beside this file, from a table that ``--measure`` computes.
"""

from collections.abc import Mapping, Sequence

import figure_program
import numpy as np

from byheart.report import drawing as draw
from constructions.model.vector_attention import mixed_matrix, theta
from constructions.saturated_layers.random_heads import random_heads
from constructions.saturated_layers.saturated_heads import saturated_heads
from constructions.saturated_layers.single_direction_heads import single_direction_heads
from constructions.saturated_layers.uniform_examples import uniform_examples

HEADS, TOKENS, WIDTH = 4, 5, 24
FROZEN = 0.99
LENGTHS = range(2, 17)


def examples(tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """As many as the heads hold of one context."""
    return uniform_examples(examples=HEADS * (tokens - 1) + 1, n_ctx=tokens, d_model=WIDTH, shared=True, seed=0)


def near_one_hot() -> tuple[np.ndarray, tuple[range, ...]]:
    """Return the largest attention weight of each head in each example, `[T, H]`, and the examples that each
    head fits.
    """
    contexts, queries = examples(TOKENS)
    found = saturated_heads(contexts, queries, n_heads=HEADS, d_head=TOKENS, seed=0)
    return theta(contexts, queries, found.W_Q, found.W_K).max(axis=-1), found.blocks


def condition(contexts: np.ndarray, queries: np.ndarray, d_head: int) -> float:
    """Of the features: Theorem Z1 for heads of width one, drawn ones for two, near-one-hot ones for more."""
    if d_head == 2:
        maps = random_heads(contexts, queries, n_heads=HEADS, d_head=2, seed=0)
    else:
        fitting = single_direction_heads if d_head == 1 else saturated_heads
        found = fitting(contexts, queries, n_heads=HEADS, d_head=d_head, seed=0)
        maps = found.W_Q, found.W_K
    return float(np.linalg.cond(mixed_matrix(contexts, queries, *maps)))


def measured() -> Sequence[Mapping[str, object]]:
    """Condition numbers to two digits by the tokens of the context."""
    rows = []
    for tokens in LENGTHS:
        widths = {"1": 1, "2": 2, "n": tokens}
        found = {name: condition(*examples(tokens), width) for name, width in widths.items()}
        rows.append(
            {"tokens": tokens} | {name: f"{value:.2g}" if value < 1e15 else "" for name, value in found.items()}
        )
    return rows


def drawing() -> str:
    found, blocks = near_one_hot()
    wide, high, left, top = 40, 14, 50, 60
    parts = [draw.words(left, 20, f"largest attention of {HEADS} heads", "faint", "start")]
    for (example, head), value in np.ndenumerate(found):
        kind = "on-first" if value > FROZEN else "on-second"
        parts.append(draw.cell(left + wide * head, top + high * example, wide - 1, high - 1, kind, value**2))
    for head, block in enumerate(blocks):
        parts.append(draw.words(left + wide * (head + 0.5), top - 9, f"{head + 1}", size=13))
        corner = (left + wide * head - 0.5, top + high * block[0] - 0.5)
        parts.append(draw.box(*corner, wide, high * len(block), "ink", 0))
    parts.append(draw.turned(left - 14, top + high * len(found) / 2, "examples"))
    axes = draw.Axes(320, 60, 250, 240, (LENGTHS[0], LENGTHS[-1]), (1, 1e9), log_y=True)
    powers = {1.0: "1", 1e3: "1,000", 1e6: "10⁶", 1e9: "10⁹"}
    parts += axes.scales(draw.ticks(4, 8, 12, 16), powers, "tokens n", "condition")
    for name, colour in (("1", "second"), ("2", "third"), ("n", "first")):
        points = [(int(row["tokens"]), float(row[name])) for row in figure_program.table(__file__)]
        parts.append(axes.curve(points, colour))
        x, y = axes.at(*points[-1])
        parts.append(draw.words(x + 6, y + 5, f"width {name}", f"on-{colour}", "start", 13))
    title = (
        f"Left, the largest attention weight of {HEADS} heads in {len(found)} examples of {TOKENS} tokens: each head "
        "fits a block of examples, framed, and looks at one token in all that earlier heads have fitted. Right, the "
        "condition number against the number of tokens, on a logarithmic scale: it rises steeply for heads of width 1."
    )
    return draw.figure(title, 640, 350, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing, measured)
