"""What is proved of the answers of a model beside how many are right: margins, losses, and what a guess gets."""

from collections.abc import Mapping
from typing import Any

from byheart.result import Direction, Field


def answer_fields(figures: Mapping[str, Any], *, target: str = "labels") -> tuple[Field, ...]:
    """Return the figures that `Certificate.answer_figures` names, with a word of explanation each.

    Args:
        figures: The figures, by their names; those that are missing are not shown.
        target: What is wanted of each context, a label, a distribution or values.
    """
    unit, loss = ("", "distance from the values") if target == "values" else ("nats", "KL, from the targets")
    rows: dict[str, tuple[str, str, Direction]] = {
        "margin_lower": ("least margin, by which a right logit leads", "nats", "at least"),
        "mean_loss_upper": (f"{loss}, mean", unit, "at most"),
        "max_loss_upper": (f"{loss}, largest", unit, "at most"),
        "guess_kl_lower": ("KL of the best guess that ignores the context, mean", "nats", "at least"),
        "guess_right": ("right by the best guess without the context", "", "at most"),
    }
    return tuple(Field(name, figures[name], *row) for name, row in rows.items() if name in figures)
