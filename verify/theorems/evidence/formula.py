"""Evaluate the formulas in a claim's statement, so that every stated number is computed by the evidence.

Page: docs/audit.md
"""

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from operator import add, eq, ge, gt, le, lt, mul, ne, sub, truediv
from types import MappingProxyType
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

from constructions.errors import InputError
from verify.arithmetic.enclosure import Enclosure
from verify.theorems.claim import Claim
from verify.verdict import Verdict

Number = int | float | Fraction | fmpq | arb | Enclosure
"""A number: exact, except for a ball and for an enclosure of one number."""

_BITS = 192
_LONGEST = 2**20  # bits of an exact power


class PowerError(InputError):
    """A power of too many bits, which is not computed."""


@dataclass(frozen=True, eq=False)
class Stated:
    """The value of a claim's formula for given sizes.

    Args:
        claim: The claim.
        name: Name of one of its formulas.
        at: The values of the symbols in it.

    Attributes:
        text: The formula as it is written in the claim.
        value: Its value, exact or a ball; of a condition whether it holds.

    Raises:
        InputError: The claim has no such formula, or it cannot be evaluated at these values.

    Example:
        >>> claim = Claim("x.y", "", "Lemma 1", "rank [[rank: min(T, H d)]]", "holds", "", "docs/audit.md")
        >>> claim.printed, Stated(claim, "rank", {"T": 4, "H": 1, "d": 3}).value
        ('rank min(T, H d)', Fraction(3, 1))
        >>> claim = Claim("x.y", "", "Lemma 1", "if [[wide: two <= d < N]]", "holds", "", "docs/audit.md")
        >>> Stated(claim, "wide", {"d": 2, "N": 2}).value
        <Verdict.REFUTED: 'REFUTED'>
    """

    claim: Claim
    name: str
    at: Mapping[str, Number] = field(default_factory=dict)
    text: str = field(init=False)
    value: Any = field(init=False)

    def __post_init__(self) -> None:
        if self.name not in self.claim.formulas:
            known = ", ".join(self.claim.formulas) or "none"
            raise InputError(self.claim.id, f"states no formula {self.name!r}", f"one of {known}")
        text = self.claim.formulas[self.name]
        object.__setattr__(self, "at", MappingProxyType(dict(self.at)))
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "value", decided(text, self.at))

    def whole(self) -> int:
        """Return the value, where it is an integer.

        Raises:
            InputError: It is none.
        """
        if not isinstance(self.value, Fraction) or self.value.denominator != 1:
            raise InputError(self, "is not a whole number")
        return self.value.numerator

    def __str__(self) -> str:
        if isinstance(self.value, Verdict):
            return self.text
        shown = shown_number(self.value)
        return self.text if shown == self.text else f"{self.text} = {shown}"


def stated(claim: Claim, name: str, /, **at: Number) -> Stated:
    """Return the value of a formula of a claim where its symbols have these values.

    Args:
        claim: The claim.
        name: Name of one of its formulas.
        at: The values of the symbols.
    """
    return Stated(claim, name, at)


def evaluated(text: str, /, **at: Number) -> Fraction | arb:
    """Return the value of a formula: exact in rationals, or in balls of 192 bits for a root, exp or log.

    Products need no sign (`H d_h`, `2C`) and bind more strongly than `/`; the functions are sqrt, exp, log, cos, min,
    max, ceil and floor, and those of one argument need no parentheses (`log 3`). Numbers up to twelve may be words.

    Args:
        text: The formula, e.g. ``"min(T_0, H d)"``.
        at: The values of its symbols; a name that is not a symbol, as ``"d_KL(pi, f)"``, stands for these characters.

    Returns:
        A rational number, or a ball that contains the value.

    Raises:
        InputError: A symbol without a value, or a formula that is none, a condition say.

    Example:
        >>> evaluated("min(T_0, H d_h + 2)", T_0=9, H=3, d_h=2)
        Fraction(8, 1)
        >>> evaluated("(1 + 2C)/(1 - 2C)", C=Fraction(1, 4))
        Fraction(3, 1)
        >>> bool(evaluated("sqrt 2 / 2") > 0.7071)
        True
    """
    value = decided(text, at)
    if isinstance(value, Verdict):
        raise InputError(f"formula {text!r}", "is a condition", "a number")
    return value


def shown_number(value: Number) -> str:
    """Return a number for a reader: exact if it is short, else as a float64 near it.

    Example:
        >>> shown_number(Fraction(3, 4)), shown_number(7), shown_number(0.1)
        ('3/4', '7', '0.1')
    """
    if isinstance(value, arb):
        return f"{float(value.mid()):.6g}"
    if isinstance(value, (float, Enclosure)):
        return f"{float(value.midpoint if isinstance(value, Enclosure) else value):.6g}"
    exact = str(value)
    return exact if len(exact) <= 12 else f"{float(value):.6g}"


def _number(value: Number) -> Fraction | arb:
    if isinstance(value, Enclosure):
        return arb(float(value.midpoint.reshape(())), float(np.asarray(value.radius).reshape(())))
    if isinstance(value, fmpq):
        return Fraction(int(value.p), int(value.q))
    return value if isinstance(value, arb) else Fraction(value)


_WORDS = "no one two three four five six seven eight nine ten eleven twelve".split()
_NUMERALS = {word: Fraction(number) for number, word in enumerate(_WORDS)} | {"half": Fraction(1, 2)}
_RELATIONS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "<=": (le, gt),
    ">=": (ge, lt),
    "!=": (ne, eq),
    "<": (lt, ge),
    ">": (gt, le),
    "=": (eq, ne),
}
"""Each relation with its opposite; of balls both are false where their numbers do not decide."""


def decided(text: str, at: Mapping[str, Number]) -> Fraction | arb | Verdict:
    """Return the value of a formula; for formulas joined by relations, whether all of these hold."""
    values, written = {}, text
    for place, (name, value) in enumerate(at.items()):
        symbol = name if name.isidentifier() else f"at{place}"
        if _symbol_of(name) in {*_NUMERALS, *_ONE, *_MANY, ""} or symbol in values:
            raise InputError(f"formula {text!r}", f"is given a value of {name!r}", "symbols, each once")
        written, values[symbol] = written.replace(name, symbol) if symbol != name else written, _number(value)
    first, *rest = re.split(rf"({'|'.join(_RELATIONS)})", written)
    with ctx.workprec(_BITS):
        value = left = _value(*_tree(first), text, values)
        parts = []
        for relation, formula in zip(rest[::2], rest[1::2], strict=True):
            right = _value(*_tree(formula), text, values)
            parts.append(_related(left, relation, right))
            left = right
    return Verdict.all_of(parts) if parts else value


def _symbol_of(name: str) -> str:
    """Return the leading symbol of a name such as ``"d_KL(pi, f)"``; empty if there is none."""
    match = re.match(r"([A-Za-z]\w*)(?:$|\()", name)
    return match.group(1) if match else ""


def _related(left: Fraction | arb, relation: str, right: Fraction | arb) -> Verdict:
    holds, fails = _RELATIONS[relation]
    if not (isinstance(left, Fraction) and isinstance(right, Fraction)):
        left, right = _ball(left), _ball(right)
    return Verdict.PROVED if holds(left, right) else Verdict.REFUTED if fails(left, right) else Verdict.UNDECIDED


_FORMULA = re.compile(r"(?:\s|\d+(?:\.\d+)?|[A-Za-z]\w*|[-+*/^(),])*")
_WITHOUT_PARENTHESES = re.compile(r"\b(sqrt|exp|log|ceil|floor)\s+(\w+)")
_PRODUCT = re.compile(r"(?<=[\w)])\s+(?=[\w(])|(?<=\))(?=[\w(])|(?<![\w.])(?P<number>\d+(?:\.\d+)?)(?=[A-Za-z(])")
_NO_NUMBER = re.compile(r"\d\s+\d{3}(?![\d.])|\*\s*\*")  # 10 000 is no product
_PYTHON = {"/": "+", "+": "<<", "-": ">>", "^": "**"}
_OPERATORS = {ast.LShift: add, ast.RShift: sub, ast.Add: truediv, ast.Mult: mul, ast.Pow: pow}


@lru_cache(maxsize=1024)
def _tree(text: str) -> tuple[str, ast.expr]:
    """Return a formula in the syntax of Python, and its tree.

    Python binds `*` and `/` alike, and a product here more strongly than a quotient. So a quotient is written with the
    sign that binds next, and a sum and a difference with the two after that.
    """
    try:
        if not _FORMULA.fullmatch(text) or _NO_NUMBER.search(text):
            raise SyntaxError
        products = _PRODUCT.sub(r"\g<number>*", _WITHOUT_PARENTHESES.sub(r"\1(\2)", text.strip()))
        python = re.sub(r"(?<=[\w)])\s*-|[/+^]", lambda sign: _PYTHON[sign.group().strip()], products)
        return python, ast.parse(python, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise InputError(f"formula {text!r}", "is none") from error


def _value(python: str, node: ast.expr, text: str, at: Mapping[str, Fraction | arb]) -> Fraction | arb:
    def of(part: ast.expr) -> Fraction | arb:
        return _value(python, part, text, at)

    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return Fraction(ast.get_source_segment(python, node) or "")
        case ast.Name(id=name) if name in at:
            return at[name]
        case ast.Name(id=name) if name in _NUMERALS:
            return _NUMERALS[name]
        case ast.Name(id=name):
            raise InputError(f"formula {text!r}", f"needs a value of {name}, got {', '.join(at) or 'none'}")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _of(mul, Fraction(-1), of(operand))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _of(_OPERATORS[type(sign)], of(left), of(right))
        case ast.Call(func=ast.Name(id=name), args=[only], keywords=[]) if name in _ONE:
            return _ONE[name](of(only))
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as several, keywords=[]) if name in _MANY:
            return _MANY[name]([of(one) for one in several])
    raise InputError(f"formula {text!r}", f"is invalid at {ast.get_source_segment(python, node)!r}")


def _ball(value: Fraction | arb) -> arb:
    return value if isinstance(value, arb) else arb(fmpq(value.numerator, value.denominator))


def _of(operation: Callable[[Any, Any], Any], a: Fraction | arb, b: Fraction | arb) -> Fraction | arb:
    """Return the result: exact if it is rational for exact numbers, otherwise in balls."""
    if not (isinstance(a, Fraction) and isinstance(b, Fraction)) or (operation is pow and b.denominator != 1):
        return operation(_ball(a), _ball(b))
    if (operation is truediv and b == 0) or (operation is pow and a == 0 and b < 0):
        raise InputError("formula", "divides by 0")
    if operation is pow and abs(b) * (max(abs(a.numerator), a.denominator).bit_length() - 1) > _LONGEST:
        raise PowerError("formula", f"has a power of more than {_LONGEST} bits", "a shorter one")
    return operation(a, b)


def _whole(value: Fraction | arb, *, up: bool) -> Fraction:
    if isinstance(value, arb):
        whole = (value.ceil() if up else value.floor()).unique_fmpz()
        if whole is None:
            raise InputError("the ball of a number to be rounded", "contains an integer")
        return Fraction(int(whole))
    return Fraction(-(-value.numerator // value.denominator) if up else value.numerator // value.denominator)


def _extreme(values: list[Fraction | arb], *, largest: bool) -> Fraction | arb:
    exact = [value for value in values if isinstance(value, Fraction)]
    if len(exact) == len(values):
        return max(exact) if largest else min(exact)
    extreme = _ball(values[0])
    for value in values[1:]:
        extreme = extreme.max(_ball(value)) if largest else extreme.min(_ball(value))
    return extreme


_ONE: dict[str, Callable[[Fraction | arb], Fraction | arb]] = {
    "sqrt": lambda x: _ball(x).sqrt(),
    "exp": lambda x: _ball(x).exp(),
    "log": lambda x: _ball(x).log(),
    "cos": lambda x: _ball(x).cos(),
    "ceil": lambda x: _whole(x, up=True),
    "floor": lambda x: _whole(x, up=False),
}
_MANY: dict[str, Callable[[list[Fraction | arb]], Fraction | arb]] = {
    "min": lambda values: _extreme(values, largest=False),
    "max": lambda values: _extreme(values, largest=True),
}
