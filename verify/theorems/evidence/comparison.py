"""Two numbers of the evidence and the relation between them that was to be certified, decided on intervals.

Page: docs/audit.md
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isinf, isnan
from numbers import Rational
from typing import Any, Literal

from flint import arb, fmpq, fmpz

from constructions.errors import InputError, require_one_of
from verify.arithmetic.enclosure import Enclosure
from verify.theorems.claim import Claim
from verify.theorems.evidence.formula import Number, Stated, shown_number, stated
from verify.theorems.evidence.quantifier import Quantifier
from verify.theorems.evidence.theorem import Applied
from verify.verdict import Verdict

RELATIONS = ("<", "<=", "=", ">=", ">", "begins with", "agrees with")
Relation = Literal["<", "<=", "=", ">=", ">", "begins with", "agrees with"]
"""How two numbers compare; 1.2345 *begins with* the decimals 1.23, and *agrees with* what differs by 2^-30 of it."""

_AGREEMENT = Fraction(1, 2**30)

Quantity = Number | Verdict | Stated | Applied
"""A number that was computed, a formula of a claim, or what a theorem says."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """A relation between two numbers, which this record decides itself.

    Args:
        left: A number, an enclosure of one number, a formula of a claim at some sizes, or a theorem on an instance.
        relation: The relation to certify.
        right: The same kinds; of a theorem whose judge gives a verdict the right side is `Verdict.PROVED`.

    Raises:
        InputError: A relation that is none, or a side that is not a number.

    Example:
        >>> Comparison(3, "<", Fraction(7, 2)).verdict, Comparison(0.029887, "begins with", Fraction("0.0298")).verdict
        (<Verdict.PROVED: 'PROVED'>, <Verdict.PROVED: 'PROVED'>)
    """

    left: Quantity
    relation: Relation
    right: Quantity

    def __post_init__(self) -> None:
        require_one_of(RELATIONS, relation=self.relation)
        verdicts = [isinstance(_value(side), Verdict) for side in (self.left, self.right)]
        if any(verdicts) and not (all(verdicts) and self.relation == "="):
            raise InputError("a verdict", f"is compared by {self.relation!r}", "= and another verdict")
        if self.relation == "begins with" and not isinstance(self.right, (Stated, Fraction)):
            raise InputError("right of 'begins with'", f"is {self.right!r}", "a decimal that is stated")

    @property
    def verdict(self) -> Verdict:
        """PROVED if the relation holds for all possible numbers on the two sides, REFUTED if for none, else
        UNDECIDED.
        """
        left, right = _value(self.left), _value(self.right)
        if isinstance(left, Verdict) or isinstance(right, Verdict):
            return Verdict.PROVED if left is right else Verdict.UNDECIDED
        one, other = _interval(left), _interval(right)
        if one is None or other is None:
            return Verdict.UNDECIDED
        (low, high), (least, most) = one, other
        if self.relation == "agrees with":
            if any(isinstance(end, float) for end in (low, high, least, most)):  # an infinite end
                return Verdict.UNDECIDED
            smallest = min(abs(least), abs(most)) if least * most > 0 else 0
            near = max(high - least, most - low) <= _AGREEMENT * smallest
            return _judged(near, max(low - most, least - high) > _AGREEMENT * max(abs(least), abs(most)))
        if self.relation == "begins with":
            most = most + _last_place(self.right)
            return _judged(least <= low and high < most, high < least or most <= low)
        if self.relation == "<":
            return _judged(high < least, most <= low)
        if self.relation == "<=":
            return _judged(high <= least, most < low)
        if self.relation == ">":
            return _judged(most < low, high <= least)
        if self.relation == ">=":
            return _judged(most <= low, high < least)
        return _judged(low == high == least == most, high < least or most < low)

    @property
    def formulas(self) -> frozenset[tuple[str, str]]:
        """The claim and the name of each formula in it."""
        return frozenset((side.claim.id, side.name) for side in (self.left, self.right) if isinstance(side, Stated))

    @property
    def theorems(self) -> tuple[Applied, ...]:
        """The theorems in it, on their instances."""
        return tuple(side for side in (self.left, self.right) if isinstance(side, Applied))

    def speaks_for(self, quantifier: Quantifier) -> bool:
        """Tell whether it uses a theorem about all weights, in the direction that the theorem bounds."""
        upper, lower = (self.left, self.right) if self.relation in ("<", "<=") else (self.right, self.left)
        both = self.relation in ("=", "begins with", "agrees with")
        return any(
            side.theorem.over is quantifier
            and (
                both
                or side.theorem.gives == "a value"
                or (side is upper and side.theorem.gives == "an upper bound")
                or (side is lower and side.theorem.gives == "a lower bound")
            )
            for side in self.theorems
        )

    def __str__(self) -> str:
        return f"{_shown(self.left)} {self.relation} {_shown(self.right)}"


def met(claim: Claim, *names: str, **at: Number) -> tuple[Comparison, ...]:
    """State that conditions of a claim hold for an instance.

    Args:
        claim: The claim.
        names: Names of its formulas.
        at: The sizes of the instance, by symbol.
    """
    return tuple(Comparison(stated(claim, name, **at), "=", Verdict.PROVED) for name in names)


def failed(claim: Claim, *names: str, **at: Number) -> tuple[Comparison, ...]:
    """State that conditions, or relations that a claim promises, do not hold for an instance; arguments as of `met`."""
    return tuple(Comparison(stated(claim, name, **at), "=", Verdict.REFUTED) for name in names)


def _judged(holds: bool, fails: bool) -> Verdict:
    return Verdict.PROVED if holds else Verdict.REFUTED if fails else Verdict.UNDECIDED


def _value(side: Quantity) -> Any:
    return side.value if isinstance(side, (Stated, Applied)) else side


def _interval(value: Any) -> tuple[Fraction | float, Fraction | float] | None:
    """Return the ends of an interval that contains the number; `None` if nothing is known of it."""
    if isinstance(value, Enclosure):
        if value.size != 1:
            raise InputError("a comparison", f"is of an enclosure of shape {value.shape}", "one number")
        ends = float(value.lower().reshape(())), float(value.upper().reshape(()))
        return None if any(map(isnan, ends)) else (_exact(ends[0]), _exact(ends[1]))
    if isinstance(value, arb):
        ends = (_dyadic(value.lower()), _dyadic(value.upper())) if value.is_finite() else (None, None)
        return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])
    if value is None or (isinstance(value, float) and isnan(value)):
        return None
    return _exact(value), _exact(value)


def _exact(value: Any) -> Fraction | float:
    if isinstance(value, float):
        return value if isinf(value) else Fraction(value)
    if isinstance(value, fmpq):
        return Fraction(int(value.p), int(value.q))
    if isinstance(value, (Rational, fmpz)):
        return Fraction(int(value)) if isinstance(value, fmpz) else Fraction(value)
    raise InputError("a comparison", f"is of {value!r}", "a number")


def _dyadic(value: arb) -> Fraction | None:
    """Return the number; `None` for one that needs more than a million bits."""
    mantissa, exponent = value.mid().man_exp()
    if abs(int(exponent)) > 2**20:
        return None
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _last_place(side: Quantity) -> Fraction:
    """Return one unit in the last written decimal place."""
    text = side.text if isinstance(side, Stated) else ""
    if isinstance(side, Fraction):
        for digits in range(41):
            if (side * 10**digits).denominator == 1:
                return Fraction(1, 10**digits)
        raise InputError(side, "is not a decimal")
    if not text.replace(".", "", 1).isdigit():
        raise InputError(f"formula {text!r}", "is not a decimal")
    return Fraction(1, 10 ** len(text.partition(".")[2]))


def _shown(side: Quantity) -> str:
    if isinstance(side, Stated):
        return str(side)
    if isinstance(side, Applied):
        shown = side.value.value if isinstance(side.value, Verdict) else _shown(side.value)
        return f"{shown} by {side.theorem.name}"
    if isinstance(side, Verdict):
        return side.value
    if isinstance(side, Enclosure):
        return f"[{float(side.lower().reshape(())):.6g}, {float(side.upper().reshape(())):.6g}]"
    return "unknown" if side is None else shown_number(side)
