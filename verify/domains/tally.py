"""Count the results for the inputs of a part of a domain.

Page: docs/rigour/domains.md
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from constructions.numeric.arrays import Int64Array
from verify.arithmetic.enclosure import Enclosure

MOST_NAMED = 2**16
"""How many inputs of a kind are named."""


@dataclass
class Tally:
    """The numbers of inputs proved right and wrong, examples of the others, and the work.

    Args:
        right: Inputs whose label is proved to have the strictly largest logit.
        wrong: Inputs where another logit is proved to be at least as large.
        examples: Some inputs of the second kind, at most `MOST_NAMED`.
        left_open: Some inputs that were looked at and not decided, likewise.
        visited: Beginnings of inputs, or inputs, that were looked at one by one.
        one_by_one: Inputs that were judged one by one, at rising precision.
    """

    right: int = 0
    wrong: int = 0
    examples: list[tuple[int, ...]] = field(default_factory=list)
    left_open: list[tuple[int, ...]] = field(default_factory=list)
    visited: int = 0
    one_by_one: int = 0

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> "Tally":
        """Build the tally from fields read from JSON, where inputs are lists."""
        named = {name: [tuple(row) for row in kept[name]] for name in ("examples", "left_open")}
        return cls(**{**kept, **named})

    def count(self, logits: Enclosure, labels: Int64Array, contexts: Int64Array) -> Int64Array:
        """Count the inputs that enclosed logits decide, and return which stay open.

        Why it is rigorous: an input counts as right only if the lower end of the logit of its label is above the upper
        ends of all others, and as wrong only if its upper end is not above the lower end of one of them.

        Args:
            logits: `[T, d_vocab_out]`.
            labels: The label of each input, `[T]`.
            contexts: The inputs, `[T, S]`.

        Returns:
            The places of those that are open.
        """
        lower, upper = np.array(logits.lower()), np.array(logits.upper())
        rows = np.arange(len(labels))
        least, most = lower[rows, labels], upper[rows, labels]
        lower[rows, labels] = upper[rows, labels] = -np.inf
        right, wrong = least > upper.max(axis=1), most <= lower.max(axis=1)
        self.right += int(right.sum())
        self.wrong += int(wrong.sum())
        self.name(contexts[wrong])
        return np.flatnonzero(~right & ~wrong)

    def name(self, contexts: Int64Array) -> None:
        """Name some of these inputs, `[T, S]`, which are wrong and counted already."""
        self.examples += [tuple(map(int, row)) for row in contexts[: max(0, MOST_NAMED - len(self.examples))]]
