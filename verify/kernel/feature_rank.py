r"""The statement `feature-rank`: the features of the contexts are linearly independent, and how surely they are.

The kernel needs no witness: the factor that proves it need not be believed, so it makes one of its own.

Page: docs/rigour/kernel.md
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flint import arb, ctx

from verify.kernel.answers import ball
from verify.kernel.balls import PRECISIONS, Row
from verify.kernel.certificate import FILE, Certificate, read_values
from verify.kernel.evaluation import Evaluation
from verify.kernel.features import LAYER, NETWORK, columns, features, shape
from verify.kernel.independence import exceeds
from verify.kernel.numerals import Number, decimal_above, decimal_below
from verify.kernel.rank_bounds import upper_for_these_weights
from verify.kernel.verdicts import BadInputError, NotProvedError, UndecidedError

ID = "feature-rank"
_BOUNDS = ("smallest_singular_value_lower", "condition_upper")


@dataclass(frozen=True)
class Statement:
    """The matrix of the features has full row rank.

    Args:
        rows: Number of contexts.
        columns: Columns of the matrix; their number tells whether the last token's embedding is among the features.
        smallest: The smallest singular value is at least this, or nothing is stated of it.
        condition: The largest singular value is at most this many times the smallest; given with `smallest`.
    """

    rows: int
    columns: int
    smallest: Number | None
    condition: Number | None


def read(field: str, record: dict[str, Any], certificate: Certificate) -> Statement:
    """Return the data of a statement in its one form."""
    values = read_values(field, record, ("rows", "columns"), (), _BOUNDS)
    smallest, condition = (values.get(name) for name in _BOUNDS)
    if (smallest is None) != (condition is None) or 0 in (smallest, condition):
        raise BadInputError(FILE, f"{field}.values", "have one bound without the other, or one that is 0")
    if values["rows"] != certificate.sizes["contexts"]:
        raise BadInputError(FILE, f"{field}.values.rows", "are not the contexts of the subject")
    return Statement(values["rows"], values["columns"], smallest, condition)


def sentence(statement: Statement, certificate: Certificate) -> str:
    """Return the statement in words."""
    size = f"{statement.rows} x {statement.columns}"
    text = f"The {size} matrix of the features of the contexts has full row rank"
    if statement.smallest is None or statement.condition is None:
        return f"{text}."
    return (
        f"{text}: its smallest singular value is at least {decimal_below(statement.smallest)} and its condition number "
        f"at most {decimal_above(statement.condition)}."
    )


def check(statement: Statement, certificate: Certificate, evaluation: Evaluation) -> str:
    """Prove the statement by balls of more and more bits.

    Raises:
        NotProvedError: The rows are dependent, a bound is false, or the model has no such features.
        UndecidedError: Balls of 4096 bits prove neither.
    """
    model, task = evaluation.model, evaluation.task
    with_skip = shape(model, task) == NETWORK and statement.columns == columns(model, with_skip=True)
    if shape(model, task) not in (NETWORK, LAYER) or statement.columns != columns(model, with_skip=with_skip):
        raise NotProvedError(f"{ID}: the model has no features of {statement.columns} columns")
    dependent = NotProvedError(f"{ID}: the {statement.rows} rows are linearly dependent")
    if statement.columns < statement.rows:
        raise dependent
    for bits in PRECISIONS:
        rows = features(model, task, bits, with_skip=with_skip)
        decision = _follows(statement, rows, bits, evaluation.tell)
        if decision:
            return f"{statement.rows} x {statement.columns}, by balls of {bits} bits"
        if decision is False:
            raise NotProvedError(f"{ID}: a bound is better than any that holds: a vector shows it")
        if bits == PRECISIONS[0] and upper_for_these_weights(model, task, with_skip=with_skip) < statement.rows:
            raise dependent
    raise UndecidedError(f"{ID}: it does not follow from balls of {PRECISIONS[-1]} bits")


def _follows(statement: Statement, rows: list[Row], bits: int, tell: Callable[[str], None]) -> bool | None:
    r"""Tell whether the statement holds: True or False if proved, otherwise None.

    Let $\sigma$ be the smallest singular value of the matrix A of T rows. The largest is at most $F = \|A\|_F$ and at
    least $F / \sqrt T$, so the condition number is at most $F / \sigma$ and at least $F / (\sqrt T \sigma)$. With the
    stated s and C everything is proved if $\sigma > \max(s, F / C)$, and something is false if
    $\sigma < \max(s, F / (\sqrt T C))$.

    Raises:
        UndecidedError: $\sigma$ lies between the two.
    """
    with ctx.workprec(bits):
        if statement.smallest is None or statement.condition is None:
            return exceeds(rows, arb(0), bits, tell)
        smallest = ball(statement.smallest)
        of_condition = sum((x * x for row in rows for x in row), arb(0)).sqrt() / ball(statement.condition)
        decision = exceeds(rows, smallest.max(of_condition) ** 2, bits, tell)
        if decision is False:
            decision = exceeds(rows, smallest.max(of_condition / arb(len(rows)).sqrt()) ** 2, bits)
            if decision:
                raise UndecidedError(f"{ID}: condition_upper is smaller than what is proved here")
        return decision
