"""The statement `sample`: inputs that a hash of the weights draws from a domain, and how many of all may be wrong.

Page: docs/rigour/domains.md
"""

import hashlib
from dataclasses import dataclass
from itertools import count as naturals
from math import comb
from typing import Any

from verify.kernel.certificate import FILE, Certificate
from verify.kernel.evaluation import Evaluation
from verify.kernel.files import canonical, require_fields
from verify.kernel.inputs import count_inputs
from verify.kernel.model import Model
from verify.kernel.numerals import read_count
from verify.kernel.rule import Rule
from verify.kernel.verdicts import BadInputError, NotProvedError, UndecidedError

ID = "sample"
_LARGEST = 2**20
_LONGEST_SEED = 256  # bytes
_VALUES = ("contexts", "drawn", "right", "wrong_upper")


@dataclass(frozen=True)
class Statement:
    """How many of the drawn inputs are right and, up to a rare draw, at most how many of all inputs are wrong.

    Args:
        contexts: All inputs.
        drawn: How many are drawn.
        right: At least this many of these are right.
        wrong_upper: If more than that of all were wrong, so few of those drawn would be with probability 2^-128.
        seed: A text that the draw follows from, in addition to the hashes of model and rule.
    """

    contexts: int
    drawn: int
    right: int
    wrong_upper: int
    seed: str


def read(field: str, record: dict[str, Any], certificate: Certificate) -> Statement:
    """Return the data of a statement in its one form."""
    values = record["values"]
    require_fields(FILE, f"{field}.values", values, [*_VALUES, "seed"])
    if "named" in record or record["memorized"]:
        raise BadInputError(FILE, field, "has names or a mask, which no sample has")
    contexts, drawn, right, wrong = (read_count(FILE, f"{field}.values.{name}", values[name]) for name in _VALUES)
    if contexts != certificate.sizes["contexts"] or not 1 <= drawn <= min(_LARGEST, contexts - 1):
        raise BadInputError(FILE, f"{field}.values", "has other contexts than the subject, or draws none or too many")
    if not certificate.origin.startswith("rule: "):
        raise BadInputError(FILE, field, "is about inputs of a rule, which the subject is not")
    if right > drawn or not drawn - right <= wrong <= contexts - right:
        raise BadInputError(FILE, f"{field}.values", "counts inputs that there are not")
    return Statement(contexts, drawn, right, wrong, _seed(f"{field}.values.seed", values["seed"]))


def _seed(field: str, value: Any) -> str:
    """Return the text with the bytes of a number if it is printable and the bytes give the number back."""
    number = read_count(FILE, field, value, 2 ** (8 * _LONGEST_SEED) - 1)
    data = number.to_bytes(-(-number.bit_length() // 8), "big")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInputError(FILE, field, "does not encode a UTF-8 text") from error
    if not text.isprintable():
        raise BadInputError(FILE, field, "is that of a text that does not print")
    return text


def sentence(statement: Statement, certificate: Certificate) -> str:
    """Return the statement in words."""
    return (
        f"Of {statement.drawn} inputs drawn from all {statement.contexts} by the hashes of model and rule with the "
        f"seed {statement.seed!r} at least {statement.right} are answered by the rule; at most {statement.wrong_upper} "
        "of all are not, but for a draw of probability 2^-128."
    )


def check(statement: Statement, certificate: Certificate, evaluation: Evaluation) -> str:
    """Prove the statement: repeat the draw, evaluate it, and conclude on all inputs.

    Raises:
        NotProvedError: Fewer inputs are right, or the bound is smaller than what follows.
        UndecidedError: An input is not decided.
    """
    rule = evaluation.task
    if not isinstance(rule, Rule):
        raise NotProvedError(f"{ID}: the task is not a rule on a domain")
    right, wrong = count_inputs(evaluation, rule, drawn_numbers(evaluation.model, rule, statement))
    if statement.drawn - wrong < statement.right:
        raise NotProvedError(f"{ID}: {wrong} of {statement.drawn} inputs are wrong")
    if right < statement.right or not leaves_at_most(
        rule.size, statement.drawn, statement.drawn - right, statement.wrong_upper
    ):
        raise UndecidedError(
            f"{ID}: {right} of {statement.drawn} inputs are proved to be right, which says less of all"
        )
    return f"{right} of {statement.drawn} inputs drawn again are right"


def drawn_numbers(model: Model, rule: Rule, statement: Statement) -> list[int]:
    """Return the numbers of the inputs that are drawn, in increasing order.

    The hash of the hash of model, rule, count and seed, and of 0, 1, ..., gives its leading bits, as many as a number
    of an input has; what is not a number of an input, or was drawn already, is passed over.
    """
    size, numbers = rule.size, set[int]()
    if statement.drawn >= size:
        return list(range(size))
    words = ["sample", model.sha256, rule.sha256, statement.drawn, statement.seed]
    secret, beyond = hashlib.sha256(canonical(words).encode("ascii")).digest(), 256 - (size - 1).bit_length()
    for turn in naturals():
        number = int.from_bytes(hashlib.sha256(secret + turn.to_bytes(8, "big")).digest(), "big") >> beyond
        if number < size:
            numbers.add(number)
        if len(numbers) == statement.drawn:
            break
    return sorted(numbers)


def leaves_at_most(size: int, drawn: int, missed: int, wrong: int) -> bool:
    r"""Tell whether more than `wrong` wrong inputs would leave at most `missed` in the draw with probability <= 2^-128.

    Of M inputs W = `wrong` + 1 are wrong, N are drawn, k = `missed`: the probability is
    $\sum_{i \le k} \binom{W}{i} \binom{M - W}{N - i} / \binom{M}{N}$, and it falls with W.
    """
    if wrong >= size - drawn + missed:
        return True  # the others are right
    more = wrong + 1
    least = max(0, drawn - (size - more))
    part = comb(more, least) * comb(size - more, drawn - least)
    ways = 0
    for i in range(least, missed + 1):
        ways += part
        part = part * (more - i) * (drawn - i) // ((i + 1) * (size - more - drawn + i + 1))
    return ways << 128 <= comb(size, drawn)
