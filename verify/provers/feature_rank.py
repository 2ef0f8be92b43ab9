"""Prove, and prove again, that the features of the contexts are linearly independent.

The matrix has a row for each context: for tokens the features $Y$ of the heads, or $[X_S, Y]$ with the embedded last
token beside them; for vectors the mixed inputs $Z$ of the heads.

Pages: docs/rigour/certificate.md, docs/layer.md
"""

import math
from collections.abc import Mapping

import numpy as np
from flint import ctx

from constructions.errors import InputError
from constructions.model.model import Model
from constructions.numeric.products import multiply
from constructions.progress import Progress
from constructions.tasks.any_task import Listing
from constructions.tasks.vectors import Vectors
from verify.arithmetic.enclosure import Enclosure, matmul, sqrt
from verify.arithmetic.exact_json import Number, lowered, raised
from verify.arithmetic.rounding import down
from verify.arithmetic.sums import total
from verify.certificates.certificate import FEATURE_RANK, Statement, StatementCheck
from verify.forward.heads import beside_last, mixed_inputs_in_balls
from verify.forward.walk import contexts_of
from verify.linear_algebra.ball_rank import ball_rank
from verify.linear_algebra.norms import float_above, frobenius, radius_norm
from verify.linear_algebra.row_rank import RankCertificate, certify_full_row_rank
from verify.provers.evaluation import JudgedModel, OnContexts
from verify.provers.features import estimated_bytes, features, is_one_attention, required_features
from verify.verdict import Verdict

ID = FEATURE_RANK

__all__ = ["ID", "check", "estimated_bytes", "largest_rank", "prove_feature_rank", "state"]

_SLACK = 2.0**-5  # of singular values, whose proved bounds depend on the order of summation
_LARGEST = 2.0**1000  # what is larger is no bound worth storing
_LARGEST_BALLS = 2**21  # rows * rows * columns of a matrix that is eliminated in balls
_MOST_BITS = 2048  # of these balls


def largest_rank(model: Model, task: Listing, columns: int) -> int:
    """Return an upper bound of the rank of the features: the columns; for vectors with one shared context also
    Lemma Y1.
    """
    if isinstance(task.inputs, Vectors) and task.inputs.shared:
        return min(columns, model.n_heads * (task.n_ctx - 1) + 1)
    return columns


def state(judged: JudgedModel) -> Statement | None:
    """Return the statement about a model of one attention; none where it is not proved.

    Raises:
        InputError: The contexts have several lengths, or the model is another one.
    """
    listing, read = required_features(judged)
    if not is_one_attention(judged.model):
        raise InputError("rank", "is that of a model of one attention, this one has other blocks")
    return prove_feature_rank(judged.model, listing, read, progress=judged.progress)


def prove_feature_rank(model: Model, task: Listing, features: Enclosure, *, progress: Progress) -> Statement | None:
    """Return the statement that the features have full row rank, if it can be proved.

    Args:
        model: The weights.
        task: The contexts.
        features: Their features, `[T, columns]`.
        progress: Called with the stage.
    """
    size, columns = features.shape
    widths = (columns, columns + model.d_model) if model.reads_tokens else (columns,)
    for width in widths:
        if size > largest_rank(model, task, width):
            continue
        progress("feature rank", None, f"{size} x {width}")
        matrix = _matrix(model, task, features, width)
        rank = certify_full_row_rank(matrix)
        smallest, condition = _bounds(matrix, rank)
        values: dict[str, Number] = {"rows": size, "columns": width}
        if smallest > 0.0 and condition < _LARGEST and lowered(smallest, _SLACK) > 0.0:
            values["smallest_singular_value_lower"] = lowered(smallest, _SLACK)
            values["condition_upper"] = raised(condition, 2 * _SLACK)
            return Statement(FEATURE_RANK, rank.method, values)
        if (bits := _bits_of_balls(model, task, size, width, progress)) is not None:
            return Statement(FEATURE_RANK, f"balls of {bits} bits", values)
    return None


def check(statement: Statement, evaluation: OnContexts) -> StatementCheck:
    """Prove the statement again with the stored bounds."""
    model, task, read, progress = evaluation.model, evaluation.task.listing, features(evaluation), evaluation.progress
    if read is None or task is None or not is_one_attention(model):
        return StatementCheck(FEATURE_RANK, Verdict.REFUTED, "the model has no such features", {})
    size, columns = len(read), int(statement.values["columns"])
    widths = {read.shape[1]} | ({read.shape[1] + model.d_model} if model.reads_tokens else set())
    if columns not in widths:
        reason = f"the features have {' or '.join(map(str, sorted(widths)))} columns, not {columns}"
        return StatementCheck(FEATURE_RANK, Verdict.REFUTED, reason, {})
    if size > (most := largest_rank(model, task, columns)):
        reason = f"{size} rows are linearly dependent: their rank is at most {most}"
        return StatementCheck(FEATURE_RANK, Verdict.REFUTED, reason, {})
    progress("feature rank", None, f"{size} x {columns}")
    matrix = _matrix(model, task, read, columns)
    rank = certify_full_row_rank(matrix)
    smallest, condition = _bounds(matrix, rank)
    values: dict[str, Number] = {}
    if smallest > 0.0 and condition < math.inf:
        values = {"smallest_singular_value_lower": smallest, "condition_upper": condition}
    if "condition_upper" not in statement.values:
        if rank.verdict is Verdict.PROVED:
            return StatementCheck(FEATURE_RANK, Verdict.PROVED, rank.method, values)
        bits = _bits_of_balls(model, task, size, columns, progress)
        if bits is not None:
            return StatementCheck(FEATURE_RANK, Verdict.PROVED, f"balls of {bits} bits", values)
        return StatementCheck(FEATURE_RANK, Verdict.UNDECIDED, "the rank was not proved full", values)
    stored = statement.values
    if values and stored["smallest_singular_value_lower"] <= smallest and condition <= stored["condition_upper"]:
        return StatementCheck(FEATURE_RANK, Verdict.PROVED, rank.method, values)
    if _is_beyond(matrix, stored):
        reason = "the stored bounds are better than any that hold: a vector shows it"
        return StatementCheck(FEATURE_RANK, Verdict.REFUTED, reason, values)
    reason = "the rank is full, but the stored bounds do not follow" if values else "the rank was not proved full"
    return StatementCheck(FEATURE_RANK, Verdict.UNDECIDED, reason, values)


def _matrix(model: Model, task: Listing, features: Enclosure, columns: int) -> Enclosure:
    """Return the features, with or without the embedded last token, as `columns` says."""
    if columns == features.shape[1] or not model.reads_tokens:
        return features
    return beside_last(model, contexts_of(model, task.inputs), features)


def _bounds(matrix: Enclosure, found: RankCertificate) -> tuple[float, float]:
    """Return a lower bound of the smallest singular value (0 if none was proved), and an upper bound of the condition
    number.
    """
    if found.verdict is not Verdict.PROVED or not found.smallest_singular_value > 0.0:
        return 0.0, math.inf
    norm = float_above(frobenius(matrix.midpoint) + radius_norm(matrix))
    return float(found.smallest_singular_value), math.nextafter(norm / found.smallest_singular_value, math.inf)


def _bits_of_balls(model: Model, task: Listing, rows: int, columns: int, progress: Progress) -> int | None:
    """Return the precision at which balls prove full row rank, `None` if none does or the matrix is too large
    for them.
    """
    if model.reads_tokens or rows * rows * columns > _LARGEST_BALLS:
        return None
    progress("feature rank", None, f"{rows} x {columns} in balls")
    lower_bound = ball_rank(
        lambda: mixed_inputs_in_balls(model, task.inputs, ctx.prec), target=rows, most_bits=_MOST_BITS
    )
    return lower_bound.bits if lower_bound.verdict is Verdict.PROVED else None


def _is_beyond(matrix: Enclosure, stored: Mapping[str, Number]) -> bool:
    r"""Tell whether a vector v refutes a stored bound: $\sigma_{\min} \le \Vert v^T A \Vert / \Vert v \Vert \le
    \sigma_{\max}$.
    """
    try:
        with np.errstate(all="ignore"):
            _, vectors = np.linalg.eigh(multiply(matrix.midpoint, matrix.midpoint.T))
    except np.linalg.LinAlgError:
        return False
    ends = Enclosure.exact(vectors[:, [0, -1]].T)
    images = matmul(ends, matrix)
    gains = sqrt(total(images * images, 1) / total(ends * ends, 1))
    smallest_upper, largest_lower = float(gains.upper()[0]), float(gains.lower()[1])
    if smallest_upper < stored["smallest_singular_value_lower"]:
        return True
    return float(down(largest_lower / smallest_upper)) > stored["condition_upper"]
