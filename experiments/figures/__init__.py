"""The figures, a file each.

Page: docs/experiments.md
"""

from experiments.figure import Figure
from experiments.figures import (
    dana_1a,
    dana_1b,
    dana_2a,
    dana_2b,
    dana_3,
    dana_4,
    dana_5,
    dana_depth,
    mahdavi_2a,
    mahdavi_2b,
    mahdavi_2c,
    mahdavi_3,
    mahdavi_4,
    mahdavi_5,
    parity,
)

FIGURES: dict[str, Figure] = {
    module.FIGURE.name: module.FIGURE
    for module in (
        dana_1a, dana_1b, dana_2a, dana_2b, dana_3, dana_4, dana_5, dana_depth,
        mahdavi_2a, mahdavi_2b, mahdavi_2c, mahdavi_3, mahdavi_4, mahdavi_5, parity,
    )
}  # fmt: skip
"""All of them by name, in the order of the page."""
