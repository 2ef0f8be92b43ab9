"""Translate between an input of a rule with a state and the text that a person types or reads.

Numbers are typed and read in decimal, whatever the base in which a model adds them.

Page: docs/folds.md
"""

import math
import re
from collections.abc import Sequence

import numpy as np

from constructions.counted import counted
from constructions.errors import InputError
from constructions.folds.fold import Fold
from constructions.numeric.arrays import Int64Array


def words_of(fold: Fold, text: str) -> list[str]:
    """Return the numbers or tokens of a text, between which are spaces or a comma, or of an addition a plus sign.

    Two signs in succession have an empty word between them.

    Example:
        >>> from constructions.folds.fold import addition
        >>> words_of(addition(3), " 3 +5"), words_of(addition(3), "3,,5")
        (['3', '5'], ['3', '', '5'])
    """
    signs = "[,+]" if _adds(fold) else ","
    return re.split(rf"\s*{signs}\s*|\s+", text.strip())


def typed_choices(fold: Fold, text: str) -> Int64Array:
    """Return the choice of an input at each stage, `[1, stages]`, as `Fold.prompts` expects it.

    Args:
        fold: The rule.
        text: All tokens of the prompt in their order, those that are the same in all inputs among them; of an addition
            also the two numbers.

    Raises:
        InputError: No input of the rule; names the context and what in it is none.

    Example:
        >>> from constructions.folds.fold import addition
        >>> fold = addition(2)
        >>> for text in ("7 + 15", "7 0 0 5 1 0"):
        ...     print(fold.prompts(typed_choices(fold, text)))
        [[7 0 0 5 1 0]]
        [[7 0 0 5 1 0]]
    """
    words = words_of(fold, text)
    for word in words:
        if not (word.isascii() and word.isdigit()):
            what = f"has {word!r}" if word else "lacks a number"
            raise InputError(f"the context {text!r}", what, "whole numbers from 0 on, with spaces or one sign between")
    if _adds(fold) and len(words) == 2:
        return _choices_of_numbers(fold, text, words)
    if len(words) != fold.length:
        prompt = f"the {counted(fold.length, 'token')} of a prompt"
        expected = f"two numbers, or {prompt}" if _adds(fold) else prompt
        raise InputError(f"the context {text!r}", f"has {counted(len(words), 'number')}", expected)
    return _choices_of_tokens(fold, text, [_size(word) for word in words])


def input_in_words(fold: Fold, choices: Int64Array) -> str:
    """Return an input, `[1, stages]`, in the form that `typed_choices` reads: ``3 + 5``, or the tokens of the
    prompt.
    """
    if not _adds(fold):
        return " ".join(map(str, fold.prompts(choices)[0].tolist()))
    digit_stages = zip(fold.stages[:-1], choices[0, :-1], strict=True)
    pairs = [stage.choices[choice].tolist() for stage, choice in digit_stages]  # a digit of each number
    numbers = [_number(list(digits), _base(fold)) for digits in zip(*pairs, strict=True)]
    return " + ".join(map(str, numbers))


def last_input(fold: Fold) -> str:
    """Return the input with the largest choices, as a person may type it.

    Example:
        >>> from constructions.folds.fold import addition
        >>> last_input(addition(3))
        '999 + 999'
    """
    return input_in_words(fold, np.array([[len(stage.choices) - 1 for stage in fold.stages]]))


def number_said(fold: Fold, answer: Sequence[int]) -> int | None:
    """Return the number formed by the tokens of an answer; None if the rule does not add or a token is not a digit.

    Example:
        >>> from constructions.folds.fold import addition
        >>> number_said(addition(2, first_digit_of_sum="most"), [0, 2, 2])
        22
    """
    if not _adds(fold) or len(answer) != len(fold.answer) or max(answer) >= _base(fold):
        return None
    digits = dict(zip(fold.answer, answer, strict=True))
    return _number([digits[stage] for stage in sorted(digits)], _base(fold))


def _adds(fold: Fold) -> bool:
    """Tell whether the rule is an addition: `Fold` compares its stages with its name."""
    return fold.name.startswith("addition of ")


def _base(fold: Fold) -> int:
    return math.isqrt(len(fold.stages[0].choices))  # all pairs of digits


def _number(digits: Sequence[int], base: int) -> int:
    """Return the number of these digits, the least first."""
    number = 0
    for digit in reversed(digits):
        number = number * base + digit
    return number


def _size(word: str) -> int:
    """Return the value of a token; more than 18 digits count as 10^18, which is above every number that is used."""
    return int(word) if len(word.lstrip("0")) <= 18 else 10**18


def _choices_of_numbers(fold: Fold, text: str, words: Sequence[str]) -> Int64Array:
    base, digits, columns = _base(fold), len(fold.stages) - 1, []
    for word in words:
        number = word.lstrip("0") or "0"
        # base^digits has at most digits * len(str(base)) decimal digits, so that no longer number is read.
        if len(number) > digits * len(str(base)) or int(number) >= base**digits:
            shown = word if len(word) <= 100 else f"a number of {len(word)} digits"
            expected = f"numbers of at most {counted(digits, 'digit')} in base {base}"
            raise InputError(f"the context {text!r}", f"has {shown}", expected)
        rest, column = int(number), []
        for _ in range(digits):
            rest, digit = divmod(rest, base)
            column.append(digit)
        columns.append(column)
    pairs = [a * base + b for a, b in zip(*columns, strict=True)]  # the order of the choices of an addition
    return np.array([[*pairs, 0]], dtype=np.int64)


def _choices_of_tokens(fold: Fold, text: str, tokens: Sequence[int]) -> Int64Array:
    for place, token in fold.fixed.items():
        if tokens[place] != token:
            what = f"has {tokens[place]} as token {place + 1}"
            raise InputError(f"the context {text!r}", what, f"{token}, the token of all inputs")
    chosen = []
    for stage in fold.stages:
        read = [tokens[place] for place in stage.positions]
        matching = np.flatnonzero((stage.choices == read).all(axis=1))
        if not len(matching):
            places = ", ".join(str(place + 1) for place in stage.positions)
            what = f"has {', '.join(map(str, read))} as token{'s' if len(read) > 1 else ''} {places}"
            raise InputError(
                f"the context {text!r}", what, f"one of the {len(stage.choices)} choices of the rule there"
            )
        chosen.append(int(matching[0]))
    return np.array([chosen], dtype=np.int64)
