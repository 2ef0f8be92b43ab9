"""Folders that bound a rank or a divergence from both sides, with one side on the wrong side of the truth."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from tests.corpus.definitions import DIGITS, Figures, float_above, float_below, mean_over_occurrences
from tests.corpus.false_claims import (
    Bad,
    Forge,
    added,
    claim,
    figures_in,
    of_another_model,
    shifted,
    with_arrays,
    with_block,
)
from tests.corpus.forging import edited, restated
from verify.certificates.certificate import DIVERGENCE, RANK_HEADS, RANK_WITH_SKIP

ENDS: dict[str, Callable[[Figures], float]] = {
    "max_lower": lambda true: float_above(max(true.losses)),
    "max_upper": lambda true: float_below(max(true.losses)),
    "mean_lower": lambda true: float_above(mean_over_occurrences(true)),
    "mean_upper": lambda true: float_below(mean_over_occurrences(true)),
}


def one_unit_beyond(name: str) -> Forge:
    """State one end of a divergence one unit of float64 on the wrong side, and the other ends wide."""

    def forge(folder: Path) -> None:
        _, true = figures_in(folder)
        with mpmath.workdps(DIGITS):
            wide = {"max_lower": 0.0, "max_upper": 2.0**9, "mean_lower": 0.0, "mean_upper": 2.0**9}
            restated(folder, DIVERGENCE, **{**wide, name: ENDS[name](true)})

    return forge


def false_ranks() -> list[Bad]:
    """Return all of them."""
    ends = [
        Bad(base, f"{name.replace('_', '-')}-one-unit", DIVERGENCE,
            f"{name} is one unit of float64 on the wrong side of the truth", one_unit_beyond(name))
        for base in ("divergence-of-distributions", "divergence-smoothed")
        for name in ENDS
    ]  # fmt: skip
    return [
        *ends,
        Bad("divergence-of-distributions", "occurrences", DIVERGENCE, "one occurrence more than there is",
            shifted(DIVERGENCE, occurrences=1)),
        Bad("divergence-smoothed", "counts-doubled",
            DIVERGENCE, "all counts are twice as large, the occurrences are not",
            with_arrays(lambda a: a.update(counts_data=2 * a["counts_data"]))),
        Bad("divergence-of-distributions", "other-model", DIVERGENCE,
            "the statement is that of a model with other logits",
            of_another_model(lambda m: replace(m, W_U=m.W_U[:, ::-1].copy()))),
        Bad("ranks-deficient", "one-more", RANK_HEADS, "a rank of 3 where it is 2",
            claim(RANK_HEADS, lower=3, upper=3)),
        Bad("ranks-deficient", "at-least-one-more", RANK_HEADS, "a rank from 3 to 4 where it is 2",
            claim(RANK_HEADS, lower=3, upper=4)),
        Bad("ranks-deficient", "one-less", RANK_HEADS, "a rank of 1 where it is 2",
            claim(RANK_HEADS, lower=1, upper=1)),
        Bad("ranks-deficient", "all-weights", RANK_HEADS, "no weights are said to give more than 3, some give 4",
            claim(RANK_HEADS, all_weights_upper=3)),
        Bad("ranks-deficient", "skip-one-less", RANK_WITH_SKIP, "a rank of 3 where it is 4",
            claim(RANK_WITH_SKIP, lower=3, upper=3)),
        Bad("ranks-deficient", "columns", RANK_HEADS, "one column more than there is", shifted(RANK_HEADS, columns=1)),
        Bad("ranks-of-one-attention", "other-model",
            RANK_HEADS, "the statement is that of a model whose values do not vanish",
            of_another_model(with_block(0, W_V=np.zeros_like))),
        Bad("ranks-of-one-attention", "twice", RANK_HEADS, "the rank of the heads twice", doubled, "refused"),
        Bad("blocks-two-layers", "rank-of-heads", RANK_HEADS, "a rank of features that a model of two layers has not",
            added(RANK_HEADS, rows=8, columns=4, lower=0, upper=4, all_weights_upper=4)),
        Bad("ranks-of-vectors", "with-skip", RANK_WITH_SKIP, "a model that reads vectors has no skip connection",
            added(RANK_WITH_SKIP, rows=5, columns=9, lower=0, upper=5, all_weights_upper=5)),
        Bad("labels-lookup", "divergence", DIVERGENCE, "a divergence from distributions where there are labels",
            divergence_of_labels, "refused"),
    ]  # fmt: skip


def doubled(folder: Path) -> None:
    """Write the statement about the heads twice."""

    def changed(data: dict[str, Any]) -> None:
        places = [place for place, each in enumerate(data["statements"]) if each["id"] == RANK_HEADS]
        data["statements"].insert(places[0], data["statements"][places[0]])

    edited(folder, changed)


def divergence_of_labels(folder: Path) -> None:
    """State a divergence in a certificate about labels."""
    numbers = {name: "0x0.0p+0" if name.endswith("lower") else "0x1.0000000000000p+9" for name in ENDS}
    stated = {
        "id": DIVERGENCE,
        "method": "",
        "memorized": "",
        "statement": "",
        "values": {"contexts": 4, "occurrences": 4, **numbers},
    }
    edited(folder, lambda data: data["statements"].append(stated))
