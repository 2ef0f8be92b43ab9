"""Define hypotheses as conditions on sizes, written like the formulas of a statement.

Page: docs/audit.md
"""

import re
from collections.abc import Mapping
from functools import partial

from constructions.errors import InputError
from verify.theorems.claim import Hypothesis
from verify.theorems.evidence.formula import PowerError, decided
from verify.verdict import Verdict

SYMBOLS = {
    "d_vocab": ("N",),
    "count": ("N",),
    "n_ctx": ("S", "n"),
    "facts": ("T",),
    "contexts": ("T",),
    "d_model": ("d",),
    "d_head": ("d_h",),
    "n_heads": ("H",),
    "neurons": ("m",),
    "outputs": ("d_out",),
    "subjects": ("S",),
    "relations": ("R",),
    "norm": ("norm(W)",),
    "largest_range": ("R",),
}
"""What statements call the parameters of builds; any other has its own name there."""


def conditions(*statements: str) -> tuple[Hypothesis, ...]:
    """Return hypotheses that evaluate their own text, so that nothing is stated twice.

    Args:
        statements: Relations between sizes, joined by commas, `and` or `or`; words may follow after a colon.

    Raises:
        InputError: When one is asked: a statement that is not a condition, or a size that was not given.

    Example:
        >>> long, dims = conditions("S >= 2 or H = 0: attention sees two tokens", "H, d_h >= 1")
        >>> long.holds(n_ctx=1, n_heads=3), dims.holds(n_heads=3, d_head=1)
        (False, True)
    """
    return tuple(Hypothesis(statement, partial(_holds, statement)) for statement in statements)


def _holds(statement: str, /, **values: int) -> bool:
    at = {symbol: value for name, value in values.items() for symbol in SYMBOLS.get(name, (name,))}
    either = [_parts(alternative) for alternative in statement.partition(": ")[0].split(" or ")]
    return any(all(_is_so(part, at) for part in parts) for parts in either)


def _is_so(relation: str, at: Mapping[str, int]) -> bool:
    try:
        return decided(relation, at) is Verdict.PROVED
    except PowerError:
        return False


def _parts(text: str) -> list[str]:
    """Split joined relations; `H, d >= 1` are two."""
    parts, tail = [], ""
    for part in reversed(re.split(r",(?![^(]*\)) | and ", text)):
        match = re.search("[<>=!].*", part)
        tail = match.group() if match else tail
        if not tail:
            raise InputError(f"hypothesis {text!r}", "is not a condition")
        parts.append(part if match else f"{part} {tail}")
    return parts[::-1]
