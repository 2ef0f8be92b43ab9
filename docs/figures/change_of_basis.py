"""The change of basis that the skip connection needs, for two contexts, and the target for which there is none.

    python docs/figures/change_of_basis.py

writes the drawing beside this file.
"""

import figure_program
import numpy as np
from flint import fmpq_mat

from byheart.report import drawing as draw
from constructions.attention.exact_skip_connection import basis_condition, exact_change_of_basis
from constructions.attention.integer_front_end import integer_front_end
from constructions.errors import HypothesisError
from verify.forward.in_rationals import exact_outputs

CONTEXTS = np.array([[0, 1], [1, 0]])
TARGETS = {"a target off the range of Y": (1, 3), "a target in the range of Y": (2, 2)}  # one number for each context
W_U = fmpq_mat(1, 2, [1, -1])


def floats(matrix: fmpq_mat) -> np.ndarray:
    return np.array([[float(entry.p) / float(entry.q) for entry in row] for row in matrix.tolist()])


def panel(axes: draw.Axes, wanted: tuple[int, int]) -> list[str]:
    """Each axis is a context; a column of a matrix is an arrow."""
    front_end = integer_front_end(d_vocab=2, n_ctx=2, d_model=1, d_head=1, n_heads=1, seed=3)
    target = fmpq_mat(2, 1, list(wanted))
    last, features = floats(exact_outputs(front_end, CONTEXTS)).T
    parts = [axes.curve([(-4, 0), (4, 0)], "line"), axes.curve([(0, -3), (0, 4)], "line")]
    steep = features[1] / features[0]
    parts.append(axes.curve([(-2.8, -2.8 * steep), (3.8, 3.8 * steep)], "third", "3 5"))
    try:
        made = exact_change_of_basis(front_end, CONTEXTS, target, W_U)
    except HypothesisError:
        found = basis_condition(front_end, CONTEXTS, target, W_U)
        text = f"rank [E, Y] = {found.with_targets} < {found.contexts}: no M"
    else:
        text = f"E = {floats(made.change)[0, 0]:g} X + Y B"
        part = floats(made.change)[0, 0] * last
        parts += [axes.curve([part, wanted], "ink", "5 4"), axes.curve([np.array(wanted) - part, wanted], "ink", "5 4")]
    for end, name, colour in ((last, "X", "first"), (features, "Y", "third"), (wanted, "E", "second")):
        parts.append(draw.arrow(axes.at(0, 0), axes.at(*end), colour))
        parts.append(draw.words(*axes.at(end[0] * 1.12 - 0.2, end[1] * 1.12 + 0.25), name, f"on-{colour}", size=15))
    return [*parts, draw.words(*axes.at(0, -3.9), text)]


def drawing() -> str:
    parts = []
    for left, (name, wanted) in zip((20, 320), TARGETS.items(), strict=True):
        parts.append(draw.words(left + 120, 22, name, "faint"))
        parts += panel(draw.Axes(left, 40, 240, 210, (-4, 4), (-3, 4)), wanted)
    title = (
        "The plane of two contexts, twice, with arrows for the columns X, Y and the target E. Left, the target is a "
        "multiple of X plus a multiple of Y, the sides of a dashed parallelogram. Right, the target lies on the line "
        "of Y: the multiple of X would be 0, and there is no invertible M."
    )
    return draw.figure(title, 580, 300, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
