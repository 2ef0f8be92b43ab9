"""Define when a model memorizes a task: the question that a certificate answers.

Page: docs/rigour/certificate.md
"""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import Any, Literal, get_args

from constructions.counted import counted
from constructions.errors import InputError, require_at_least, require_one_of

Question = Literal["memorized", "at-least", "at-most"]

TOLERANCE = 1e-3
"""What a divergence (nats) or a value may be off by where nobody says otherwise."""

_LARGEST_COUNT = 2**53

_DIGITS = 4  # of a bound that is printed where it is met


@dataclass(frozen=True)
class Criterion:
    r"""A requirement on a model and a task.

    A context is **memorized** if its target is met: for ``labels`` the logit of the label is strictly larger than every
    other; for ``distributions`` the logit of every mode of the distribution is strictly larger than that of every token
    that is none, and $d_{KL}(\pi_t \Vert \mathrm{softmax}(z_t))$ is at most the tolerance; for ``values`` every output
    is within the tolerance of its value.

    - ``memorized``: every context is.
    - ``at-least``: at least `contexts` of them are, no matter which.
    - ``at-most``: the mean over the contexts of the divergence (for values: the largest distance) is at most `bound`;
      nothing is asked of a single context.

    Args:
        asked: ``"memorized"``, ``"at-least"`` or ``"at-most"``.
        tolerance: Nats, or the unit of the values; above 0.
        contexts: k, for ``at-least`` alone.
        bound: Nats, or the unit of the values, for ``at-most`` alone.

    Raises:
        InputError: A number that is missing, superfluous or out of range; names it.

    Example:
        >>> Criterion().describe("distributions")
        'every argmax is right and every divergence is at most 0.001 nats'
        >>> Criterion("at-least", contexts=3).describe("labels")
        'at least 3 argmaxes are right'
    """

    asked: Question = "memorized"
    tolerance: float = TOLERANCE
    contexts: int | None = None
    bound: float | None = None

    def __post_init__(self) -> None:
        require_one_of(get_args(Question), asked=self.asked)
        if not _is_positive(self.tolerance):
            raise InputError("tolerance", f"is {self.tolerance!r}", "a finite float above 0")
        if (self.contexts is not None) != (self.asked == "at-least"):
            raise InputError("contexts", f"is {self.contexts!r}", "a number for 'at-least' and none otherwise")
        if self.contexts is not None and not (type(self.contexts) is int and 1 <= self.contexts <= _LARGEST_COUNT):
            raise InputError("contexts", f"is {self.contexts!r}", "an integer of at least 1")
        if (self.bound is not None) != (self.asked == "at-most"):
            raise InputError("bound", f"is {self.bound!r}", "a number for 'at-most' and none otherwise")
        if self.bound is not None and not _is_positive(self.bound):
            raise InputError("bound", f"is {self.bound!r}", "a finite float above 0")

    @classmethod
    def at_least(cls, contexts: int, *, tolerance: float = TOLERANCE) -> "Criterion":
        """Require that at least a number of contexts are memorized."""
        if type(contexts) is int:
            require_at_least(1, at_least=contexts)
        return cls("at-least", tolerance=tolerance, contexts=contexts)

    @classmethod
    def at_most(cls, bound: float) -> "Criterion":
        """Require that the mean divergence, or the mean of the largest distances, is at most a number."""
        return cls("at-most", bound=bound)

    @property
    def within(self) -> str:
        """The tolerance as requested."""
        return repr(float(self.tolerance)).removesuffix(".0")

    def describe(self, target: str, *, met: bool = False) -> str:
        """Describe the requirement in words.

        Args:
            target: ``"labels"``, ``"distributions"`` or ``"values"``.
            met: Whether a model does it: then a bound of many digits is rounded up to four, which follows from it.

        Example:
            >>> asked = Criterion.at_most(0.13812595015489187)
            >>> asked.describe("distributions", met=True)
            'the mean divergence is at most 0.1382 nats'
            >>> asked.describe("distributions")
            'the mean divergence is at most 0.13812595015489187 nats'
        """
        unit = "" if target == "values" else " nats"
        loss = "distance from the value" if target == "values" else "divergence"
        if self.asked == "at-most":
            return f"the mean {loss} is at most {_bound(self.bound or 0.0, rounded_up=met)}{unit}"
        near = "" if target == "labels" else f"{loss} is at most {self.within}{unit}"
        if self.asked == "memorized":
            parts = ["every argmax is right"] * (target != "values") + [f"every {near}"] * (target != "labels")
            return " and ".join(parts)
        if target == "labels":
            return (
                "at least 1 argmax is right" if self.contexts == 1 else f"at least {self.contexts:,} argmaxes are right"
            )
        right = "the argmax is right and " if target == "distributions" else ""
        return f"in at least {counted(self.contexts or 0, 'context')} {right}the {near}"

    def data(self) -> dict[str, Any]:
        """Return the criterion as plain data, numbers exact."""
        return {
            "asked": self.asked,
            "tolerance": self.tolerance.hex(),
            "contexts": self.contexts,
            "bound": None if self.bound is None else self.bound.hex(),
        }


def _bound(value: float, *, rounded_up: bool) -> str:
    """Format a bound; rounded up if that makes it shorter.

    The decimal is above the bound then: it is another float64 number, since no shorter decimal than `repr` is the same.
    """
    text = repr(value).removesuffix(".0")
    decimal = Context(prec=_DIGITS, rounding=ROUND_CEILING).create_decimal(text)
    if not rounded_up or decimal == Context(prec=17).create_decimal(text):
        return text
    return f"{decimal.normalize():e}" if abs(decimal.adjusted()) > _DIGITS else f"{decimal:f}"


def _is_positive(value: object) -> bool:
    return isinstance(value, float) and 0 < value < math.inf
