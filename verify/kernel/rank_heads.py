"""The statement `rank-heads`: bounds of the rank of the features that the heads read from the contexts.

Page: docs/rigour/kernel.md
"""

from dataclasses import dataclass
from typing import Any

from verify.kernel.balls import PRECISIONS
from verify.kernel.certificate import FILE, Certificate, read_values
from verify.kernel.evaluation import Evaluation
from verify.kernel.features import columns, features, shape
from verify.kernel.independence import has_rank
from verify.kernel.rank_bounds import upper_for_all_weights, upper_for_these_weights
from verify.kernel.verdicts import BadInputError, NotProvedError, UndecidedError

ID = "rank-heads"
_NUMBERS = ("rows", "columns", "lower", "upper", "all_weights_upper")


@dataclass(frozen=True)
class Statement:
    """With these weights the rank of the matrix of the features is from `lower` to `upper`.

    Args:
        rows: Contexts.
        columns: Columns of the matrix.
        lower: The rank is at least this.
        upper: It is at most this.
        all_weights_upper: No weights of a model of these sizes have a larger one: of any embeddings, positions,
            queries, keys and values, with as many heads, of the same widths, on the same contexts.
    """

    rows: int
    columns: int
    lower: int
    upper: int
    all_weights_upper: int


def read(field: str, record: dict[str, Any], certificate: Certificate) -> Statement:
    """Return the data of a statement in its one form."""
    stated = Statement(**read_values(field, record, _NUMBERS, ()))
    smaller = min(stated.rows, stated.columns)
    if not stated.lower <= stated.upper <= stated.all_weights_upper <= smaller:
        raise BadInputError(FILE, f"{field}.values", "have a bound above the next, or above what such a matrix has")
    if stated.rows != certificate.sizes["contexts"]:
        raise BadInputError(FILE, f"{field}.values.rows", "are not the contexts of the subject")
    return stated


def sentence(statement: Statement, certificate: Certificate) -> str:
    """Return the statement in words."""
    return said(statement, "what the heads alone read from the contexts, without the skip connection,")


def said(statement: Statement, what: str) -> str:
    """Return the statement in words, of a matrix that is named."""
    lower, upper = statement.lower, statement.upper
    rank = f"exactly {lower}" if lower == upper else f"at least {lower} and at most {upper}"
    return (
        f"With these weights the {statement.rows} x {statement.columns} matrix of {what} has a rank of {rank}; no "
        f"weights of a model of these sizes give it a rank above {statement.all_weights_upper}."
    )


def check(statement: Statement, certificate: Certificate, evaluation: Evaluation) -> str:
    """Prove the statement.

    Raises:
        NotProvedError: The rank is another, or the model has no such features.
        UndecidedError: A bound does not follow from what is proved here.
    """
    if shape(evaluation.model, evaluation.task) is None:
        raise NotProvedError(f"{ID}: the model has no such features")
    return proved(ID, statement, evaluation, with_skip=False)


def proved(id: str, statement: Statement, evaluation: Evaluation, *, with_skip: bool) -> str:
    """Prove the bounds, from below by independent combinations of rows, from above by ranks of integer matrices.

    Raises:
        NotProvedError: A bound is proved to be false.
        UndecidedError: A bound does not follow.
    """
    model, task = evaluation.model, evaluation.task
    rows, width = statement.rows, columns(model, with_skip=with_skip)
    if statement.columns != width:
        raise NotProvedError(f"{id}: the matrix has {width} columns")
    bits, smaller = _bits_that_prove(statement.lower, evaluation, with_skip=with_skip), min(rows, width)
    if bits is not None and statement.lower == smaller:
        return f"the rows or the columns are independent by balls of {bits} bits"
    all_weights = min(smaller, upper_for_all_weights(model, task, with_skip=with_skip))
    upper = min(all_weights, upper_for_these_weights(model, task, with_skip=with_skip))
    if statement.lower > upper:
        raise NotProvedError(f"{id}: lower is {statement.lower}, the rank is at most {upper}")
    bounds = (statement.upper, upper), (statement.all_weights_upper, all_weights)
    too_small = [stated for stated, known in bounds if stated < known]
    if too_small and _bits_that_prove(min(too_small) + 1, evaluation, with_skip=with_skip):
        raise NotProvedError(f"{id}: a bound from above is {min(too_small)}, but the rank is more")
    if too_small:
        raise UndecidedError(f"{id}: what is proved from above is {upper}, and {all_weights} for all weights")
    if bits is None:
        raise UndecidedError(f"{id}: the rank is not proved to be {statement.lower} by balls of {PRECISIONS[-1]} bits")
    return f"{statement.lower} independent combinations by balls of {bits} bits; at most {upper} by integer matrices"


def _bits_that_prove(rank: int, evaluation: Evaluation, *, with_skip: bool) -> int | None:
    """Return the bits of the balls by which the features are proved to have at least this rank."""
    for bits in PRECISIONS:
        rows = features(evaluation.model, evaluation.task, bits, with_skip=with_skip)
        if has_rank(rows, rank, bits, evaluation.tell):
            return bits
    return None
