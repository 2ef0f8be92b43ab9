r"""Whether the features of the contexts are linearly independent, proved and proved again.

The matrix has a row for each context: for tokens the features $Y$ of the heads, or $[X_S, Y]$ with the embedded last
token beside them; for vectors the mixed inputs $Z$ of the heads.

Pages: docs/rigour/certificate.md, docs/layer.md
"""

import math
from collections.abc import Mapping

import numpy as np
from flint import ctx
from numpy.typing import NDArray

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
from verify.linear_algebra.gram import GramWitness
from verify.linear_algebra.norms import float_above, frobenius, radius_norm
from verify.linear_algebra.row_rank import RankCertificate, certify_full_row_rank
from verify.provers.evaluation import OnContexts, is_one_attention
from verify.verdict import Verdict

ID, NEEDS_FEATURES = FEATURE_RANK, True

_SLACK = 2.0**-5  # of singular values, whose proved bounds depend on the order of summation
_LARGEST = 2.0**1000  # what is larger is no bound worth storing
_LARGEST_BALLS = 2**21  # rows * rows * columns of a matrix that is eliminated in balls
_MOST_BITS = 2048  # of these balls


def largest_rank(model: Model, task: Listing, columns: int) -> int:
    r"""Return what the rank of the features cannot exceed: the columns; with vectors and one shared context also Lemma
    Y1.
    """
    if isinstance(task.inputs, Vectors) and task.inputs.shared:
        return min(columns, model.n_heads * (task.n_ctx - 1) + 1)
    return columns


def prove_feature_rank(
    model: Model, task: Listing, features: Enclosure, *, witness: bool, progress: Progress
) -> tuple[Statement | None, dict[str, NDArray] | None]:
    """Return the statement that the features have full row rank, if it can be proved, with the arrays of its witness.

    Args:
        model: The weights.
        task: The contexts.
        features: Their features, `[T, columns]`.
        witness: Keep what lets the independent reader prove it with integers; 4 to 8 T^2 bytes.
        progress: Called with the stage.

    Returns:
        The statement, or none; the arrays, or none.
    """
    size, columns = features.shape
    widths = (columns, columns + model.d_model) if model.reads_tokens else (columns,)
    for width in widths:
        if size > largest_rank(model, task, width):
            continue
        progress("feature rank", None, f"{size} x {width}")
        matrix = _matrix(model, task, features, width)
        found = certify_full_row_rank(matrix, witness=witness)
        smallest, condition = _bounds(matrix, found)
        values: dict[str, Number] = {"rows": size, "columns": width}
        if smallest > 0.0 and condition < _LARGEST and lowered(smallest, _SLACK) > 0.0:
            values["smallest_singular_value_lower"] = lowered(smallest, _SLACK)
            values["condition_upper"] = raised(condition, 2 * _SLACK)
            return Statement(FEATURE_RANK, found.method, values), _witness_arrays(found)
        if (bits := _bits_of_balls(model, task, size, width, progress)) is not None:
            return Statement(FEATURE_RANK, f"balls of {bits} bits", values), None
    return None, None


def check(statement: Statement, evaluation: OnContexts) -> StatementCheck:
    """Prove the statement again, with the bounds as they are stored."""
    model, task, features, progress = (
        evaluation.model,
        evaluation.task.listing,
        evaluation.features,
        evaluation.progress,
    )
    if features is None or task is None or not is_one_attention(model):
        return StatementCheck(FEATURE_RANK, Verdict.REFUTED, "the model has no such features", {})
    size, columns = len(features), int(statement.values["columns"])
    widths = {features.shape[1]} | ({features.shape[1] + model.d_model} if model.reads_tokens else set())
    if columns not in widths:
        reason = f"the features have {' or '.join(map(str, sorted(widths)))} columns, not {columns}"
        return StatementCheck(FEATURE_RANK, Verdict.REFUTED, reason, {})
    if size > (most := largest_rank(model, task, columns)):
        reason = f"{size} rows are linearly dependent: their rank is at most {most}"
        return StatementCheck(FEATURE_RANK, Verdict.REFUTED, reason, {})
    progress("feature rank", None, f"{size} x {columns}")
    matrix = _matrix(model, task, features, columns)
    found = certify_full_row_rank(matrix)
    smallest, condition = _bounds(matrix, found)
    values: dict[str, Number] = {}
    if smallest > 0.0 and condition < math.inf:
        values = {"smallest_singular_value_lower": smallest, "condition_upper": condition}
    if "condition_upper" not in statement.values:
        if found.verdict is Verdict.PROVED:
            return StatementCheck(FEATURE_RANK, Verdict.PROVED, found.method, values)
        bits = _bits_of_balls(model, task, size, columns, progress)
        if bits is not None:
            return StatementCheck(FEATURE_RANK, Verdict.PROVED, f"balls of {bits} bits", values)
        return StatementCheck(FEATURE_RANK, Verdict.UNDECIDED, "the rank was not proved full", values)
    stored = statement.values
    if values and stored["smallest_singular_value_lower"] <= smallest and condition <= stored["condition_upper"]:
        return StatementCheck(FEATURE_RANK, Verdict.PROVED, found.method, values)
    if _is_beyond(matrix, stored):
        reason = "the stored bounds are better than any that hold: a vector shows it"
        return StatementCheck(FEATURE_RANK, Verdict.REFUTED, reason, values)
    reason = "the rank is full, but the stored bounds do not follow" if values else "the rank was not proved full"
    return StatementCheck(FEATURE_RANK, Verdict.UNDECIDED, reason, values)


def _matrix(model: Model, task: Listing, features: Enclosure, columns: int) -> Enclosure:
    """Return the features, or the embedded last token beside them, as `columns` says."""
    if columns == features.shape[1] or not model.reads_tokens:
        return features
    return beside_last(model, contexts_of(model, task.inputs), features)


def _bounds(matrix: Enclosure, found: RankCertificate) -> tuple[float, float]:
    """Lower bound of the smallest singular value (0 if none was proved), upper bound of the condition number."""
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
    found = ball_rank(lambda: mixed_inputs_in_balls(model, task.inputs, ctx.prec), target=rows, most_bits=_MOST_BITS)
    return found.bits if found.verdict is Verdict.PROVED else None


def _witness_arrays(found: RankCertificate) -> dict[str, NDArray] | None:
    """Return the arrays of the witness, a triangular factor packed row after row without its zeros."""
    if found.witness is None:
        return None
    arrays: dict[str, NDArray] = dict(found.witness.arrays())
    if isinstance(found.witness, GramWitness):
        arrays["mantissas"] = arrays["mantissas"][np.tri(len(arrays["mantissas"]), dtype=bool)]
    return arrays


def _is_beyond(matrix: Enclosure, stored: Mapping[str, Number]) -> bool:
    r"""Whether a vector v shows a stored bound false: $\sigma_{\min} \le \Vert v^T A \Vert / \Vert v \Vert \le
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
