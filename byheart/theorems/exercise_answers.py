"""Read the answers to exercises: numbers, formulas and contexts, in the forms in which people write them.

Page: docs/index.md
"""

import ast
import math
import operator
import re
from collections.abc import Sequence
from fractions import Fraction

from constructions.errors import InputError

Number = Fraction | float

_FUNCTIONS = {"log": math.log, "ln": math.log, "exp": math.exp, "sqrt": math.sqrt, "cos": math.cos, "sin": math.sin}
_CONSTANTS = {"pi": math.pi, "e": math.e}
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
_LARGEST_POWER = 256
_SIGNS = str.maketrans(
    {"−": "-", "·": "*", "×": "*", "π": "pi", "½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3"}
)
_NAMES = "log|ln|exp|sqrt|cos|sin"
_POWER_OF_TEN = re.compile(r"(?<![\w.])(\d*\.?\d+) *\* *10 *\^ *\(?(-?\d+)\)?")
_DECIMAL = re.compile(r"-?(?P<whole>\d*)\.?(?P<part>\d*)(?:e(?P<power>-?\d+))?")


def _with_brackets(text: str) -> str:
    """Return a text with plain signs, and with brackets about the arguments of functions."""
    text = _POWER_OF_TEN.sub(r"\1e\2", text.translate(_SIGNS))
    return re.sub(rf"\b({_NAMES}) +([\w.]+)", r"\1(\2)", text)


def _plain(text: str) -> str:
    """Return a text with plain signs, functions with brackets, and the products of `2 pi` and `2log(3)` as products."""
    return re.sub(rf"(?<=\d) ?(?=(?:{_NAMES})\(|pi\b)", "*", _with_brackets(text))


def number(text: str) -> Number:
    """Return the value of a formula: a fraction if it has only rational numbers in it.

    Raises:
        InputError: It is no formula of numbers, + - * / ^, log, exp, sqrt, cos, sin, pi and e.

    Example:
        >>> number("2^24 + 1/2"), number("log(3)/1.82")
        (Fraction(33554433, 2), 0.6036331256418186)
    """
    plain = _plain(text).strip()
    try:
        value = _value(ast.parse(plain.replace("^", "**"), mode="eval").body, plain)
        float(value)  # so that no judge meets a number beyond float64
        return value
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError) as error:
        raise InputError("answer", f"has {text!r}", "a number such as 7, 1/3, 0.25, 2^24 or log(3)/2") from error


def _value(node: ast.expr, text: str) -> Number:
    match node:
        case ast.Constant(value=int() | float()):
            return Fraction(ast.get_source_segment(text.replace("^", "**"), node) or str(node.value))
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand, text)
        case ast.UnaryOp(op=ast.UAdd()):
            return _value(node.operand, text)
        case ast.BinOp(op=ast.Pow()):
            base, power = _value(node.left, text), _value(node.right, text)
            if abs(power) > _LARGEST_POWER:
                raise ValueError("a large power")
            return base ** int(power) if power == int(power) else float(base) ** float(power)
        case ast.BinOp() if type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](_value(node.left, text), _value(node.right, text))
        case ast.Call(func=ast.Name(id=name), args=[argument]) if name in _FUNCTIONS and not node.keywords:
            return _FUNCTIONS[name](float(_value(argument, text)))
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
    raise ValueError("no formula")


def numbers(answer: str, count: int | None = None) -> list[tuple[Number, str]]:
    """Return the numbers of an answer with the text of each: separated by commas, semicolons, spaces or lines.

    Names before a sign of equality, units, and brackets around the whole are left out.

    Raises:
        InputError: One of them is not a number, or there are others than `count`.

    Example:
        >>> [text for _, text in numbers("w = (log 3, 2 * log(3))")]
        ['log(3)', '2*log(3)']
    """
    text = re.sub(r"\b\w+ *(?:=|≥|>=|≈) *", "", answer).strip()
    text = re.sub(r"\b(nats?|heads?|bits?|entries|tokens?|labels?|codes?|and)\b", " ", text)
    text = _without_tuples(_with_brackets(text))
    if re.fullmatch(r"\((?:[^()]|\([^()]*\))*\)|\[.*\]", text, re.DOTALL):
        text = text[1:-1]
    if count == 1:
        text = _plain(text)
    text = re.sub(r" *([*/^+]) *", r"\1", text)
    text = re.sub(r"(?<=[\w)]) +- +(?=[\w(])", "-", text)
    parts = _split(r"[,;\s]+", text)
    if count is not None and len(parts) != count:
        parts = _split(r"[,;\n]+", text)  # 2 log(3) is one number
    if count is not None and len(parts) != count:
        parts = _split(r"[,;\s]+", _THOUSANDS.sub("", text))
    if count is not None and len(parts) != count:
        raise InputError("answer", f"has {len(parts)} numbers", str(count))
    return [(number(part), part) for part in parts]


_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


def _split(separator: str, text: str) -> list[str]:
    """Return the parts of a text between separators that are not in brackets."""
    return [part.strip() for part in re.split(rf"{separator}(?![^()]*\))", text) if part.strip()]


_TUPLE = re.compile(r"(?<!\w)\(((?:[^()]|\([^()]*\))*,(?:[^()]|\([^()]*\))*)\)")


def _without_tuples(text: str) -> str:
    """Return a text without the brackets around vectors such as ``(0, 1/2)``, which have a comma in them."""
    while (fewer := _TUPLE.sub(r" \1 ", text)) != text:
        text = fewer
    return text


def contexts_of(answer: str) -> list[list[int]]:
    """Return contexts: rows of numbers, separated by semicolons or lines, or words of digits such as ``000 110``.

    Raises:
        InputError: The rows are no contexts of one length.
    """
    rows = [row.split() for row in re.split(r"[;\n]", answer.replace(",", " ")) if row.strip()]
    if len(rows) == 1:
        rows = [list(word) for word in rows[0]]
    if not all(word.isdecimal() for row in rows for word in row) or len({len(row) for row in rows}) != 1:
        raise InputError("answer", f"is {answer!r}", "contexts of one length, such as '000 110' or '0 0 0; 1 1 0'")
    return [[int(word) for word in row] for row in rows]


def agrees(given: Number, text: str, right: Number) -> bool:
    """Whether a number is right: equal, or a decimal that is the right number rounded, where that is not an integer."""
    if isinstance(given, Fraction) and given == right:
        return True
    if _is_rounded(text, right):
        decimal = _decimal(text)
        places = len(decimal["part"] or "") - int(decimal["power"] or 0)
        return abs(Fraction(given) - Fraction(right)) <= Fraction(10) ** -places / 2
    return isinstance(given, float) and math.isclose(given, right, rel_tol=1e-9, abs_tol=1e-12)


def agrees_in_two_digits(given: Number, text: str, right: Number) -> bool:
    """Whether a number is right, and is not rounded to fewer than two digits."""
    return agrees(given, text, right) and (given == right or not _is_rounded(text, right) or _digits(text) >= 2)


def _decimal(text: str) -> dict[str, str | None]:
    """Return the digits before and after the point of a decimal and its power of ten; nothing of another text."""
    found = _DECIMAL.fullmatch(text)
    return found.groupdict() if found else {}


def _is_rounded(text: str, right: Number) -> bool:
    """Whether a text is a decimal that may stand for a number that is not an integer."""
    whole = isinstance(right, Fraction) and right.denominator == 1
    return not whole and any(_decimal(text).get(part) for part in ("whole", "part"))


def _digits(text: str) -> int:
    """Return how many digits of a decimal count."""
    decimal = _decimal(text)
    return len(f"{decimal['whole']}{decimal['part']}".lstrip("0"))


def compared(answer: str, right: Sequence[tuple[str, Number]]) -> str:
    """Compare numbers with the right ones, each with its name."""
    for (given, text), (name, value) in zip(numbers(answer, len(right)), right, strict=True):
        if not agrees(given, text, value):
            return f"{name} is not {text}: that is too {'large' if given > value else 'small'}"
        if not agrees_in_two_digits(given, text, value):
            return f"{name}: {text} has one digit, give two or more"
    return ""
