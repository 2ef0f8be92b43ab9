"""Count the entries that a model stores, in four ways; tied, fixed and zero entries are counted too.

Page: docs/folds.md
"""

from dataclasses import dataclass

import numpy as np

from constructions.model.model import Model
from constructions.model.precision import stored_bits


@dataclass(frozen=True)
class Entries:
    """The numbers that a model stores.

    Args:
        stored: Entries of all tensors, position table and ties included.
        not_zero: Those that are not 0.
        distinct: Different numbers among all of them.
        bits: Of all tensors, each in the narrowest type that holds it exactly.
    """

    stored: int
    not_zero: int
    distinct: int
    bits: int

    @classmethod
    def of(cls, model: Model) -> "Entries":
        """Count the entries of a model.

        Example:
            >>> model = Model(blocks=(), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.ones((3, 2)))
            >>> Entries.of(model).words()
            '14 entries, 10 of them not 0, 2 different numbers, 112 bits'
        """
        numbers = np.concatenate([tensor.reshape(-1) for tensor in model.tensors().values()])
        return cls(numbers.size, int(np.count_nonzero(numbers)), len(np.unique(numbers)), stored_bits(model))

    def words(self) -> str:
        """Return the four counts in a line."""
        return (
            f"{self.stored:,} entries, {self.not_zero:,} of them not 0, {self.distinct:,} different numbers, "
            f"{self.bits:,} bits"
        )
