r"""Rules with a state for which weights are built by hand, by name: the weights and the rule that they follow.

Page: docs/folds.md
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from constructions.errors import InputError, require_at_least
from constructions.folds.fold import Fold, addition, maximum, modular_sum
from constructions.memories.heads.adder import adder
from constructions.memories.heads.whole_input import largest_token, sum_of_tokens
from constructions.model.model import Model


@dataclass(frozen=True)
class HandcraftedFold:
    """Weights that follow a rule with a state.

    Args:
        name: For the command line.
        line: What they do.
        parameters: Integers that `build` takes, with their default values.
        build: Makes the weights and the rule.
    """

    name: str
    line: str
    parameters: Mapping[str, int]
    build: Callable[..., tuple[Model, Fold]]

    def construct(self, **given: int | Fraction) -> tuple[Model, Fold]:
        """Return the weights and the rule.

        Args:
            given: Parameters by name; the others keep their default values.

        Raises:
            InputError: A parameter that there is not, or that is not an integer, or a size that is too small.

        Example:
            >>> model, fold = FOLDS["parity"].construct(bits=3)
            >>> fold.inputs, fold.name
            (8, 'sum of 3 tokens below 2 modulo 2')
        """
        for name, value in given.items():
            if name not in self.parameters:
                raise InputError(self.name, f"has no parameter {name!r}", ", ".join(self.parameters))
            if value != int(value):
                raise InputError(name, f"= {value}", "an integer")
        chosen = {**self.parameters, **{name: int(value) for name, value in given.items()}}
        require_at_least(1, **chosen)
        return self.build(**chosen)


def _adder(digits: int, base: int) -> tuple[Model, Fold]:
    return adder(digits, base=base), addition(digits, base=base)


def _maximum(tokens: int, below: int) -> tuple[Model, Fold]:
    return largest_token(tokens, below=below), maximum(tokens, below=below)


def _modular_sum(terms: int, modulus: int) -> tuple[Model, Fold]:
    return (
        sum_of_tokens(terms, below=modulus, modulus=modulus),
        modular_sum(terms, below=modulus, modulus=modulus),
    )


def _parity(bits: int) -> tuple[Model, Fold]:
    return sum_of_tokens(bits, below=2, modulus=2), modular_sum(bits, below=2, modulus=2)


FOLDS = {
    each.name: each
    for each in (
        HandcraftedFold("adder", "adds two numbers, digit by digit", {"digits": 10, "base": 10}, _adder),
        HandcraftedFold("maximum", "says the largest of its tokens", {"tokens": 10, "below": 100}, _maximum),
        HandcraftedFold("parity", "says whether the sum of its bits is odd", {"bits": 64}, _parity),
        HandcraftedFold("modular-sum", "adds its tokens modulo a number", {"terms": 12, "modulus": 7}, _modular_sum),
    )
}
"""All of them by name."""
