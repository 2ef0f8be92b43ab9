"""Bound the rank of the features for these weights from both sides, and prove the bounds again.

For tokens the features $Y$ of the heads alone, or $[X_S, Y]$ with the embedded last token next to them; for vectors the
mixed inputs $Z$ of the heads.

Page: docs/rigour/certificate.md
"""

from constructions.model.model import Model
from constructions.progress import Progress
from constructions.tasks.any_task import Listing
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.exact_json import Number
from verify.certificates.certificate import RANK_HEADS, RANK_WITH_SKIP, Statement, StatementCheck
from verify.provers.brackets import compare_ranks
from verify.provers.evaluation import JudgedModel, OnContexts
from verify.provers.features import estimated_bytes, features, required_features
from verify.ranks.rank_of_weights import rank_of_weights
from verify.verdict import Verdict

ID = RANK_HEADS

__all__ = ["ID", "check", "check_rank", "estimated_bytes", "prove_rank", "state"]

_WIDENED = 4.0  # radii, so that an arithmetic whose roundings differ proves what is stated


def state(judged: JudgedModel) -> Statement:
    """Return the statement about what the heads alone read; raises `InputError` where they have no such rank."""
    listing, read = required_features(judged)
    return prove_rank(judged.model, listing, read, with_skip=False, progress=judged.progress)


def prove_rank(model: Model, task: Listing, features: Enclosure, *, with_skip: bool, progress: Progress) -> Statement:
    """Return the bounds of the rank of the features that are proved.

    Args:
        model: The weights.
        task: The contexts.
        features: The vectors that only the heads read, `[T, columns]`.
        with_skip: Whether the embedded last token stands next to it; for tokens.
        progress: Called with the stage.
    """
    progress("rank", None, _stage(features, with_skip))
    rank = rank_of_weights(model, task, features, with_skip=with_skip, widened=_WIDENED)
    values: dict[str, Number] = {
        "rows": rank.rows,
        "columns": rank.columns,
        "lower": rank.lower,
        "upper": rank.upper,
        "all_weights_upper": rank.all_weights_upper,
    }
    return Statement(RANK_WITH_SKIP if with_skip else RANK_HEADS, rank.method, values)


def check(statement: Statement, evaluation: OnContexts) -> StatementCheck:
    """Prove the statement again."""
    return check_rank(statement, evaluation, with_skip=False)


def check_rank(statement: Statement, evaluation: OnContexts, *, with_skip: bool) -> StatementCheck:
    """Prove a statement about the rank of the features again, or of the matrix with the embedded last token."""
    model, listing, read = evaluation.model, evaluation.task.listing, features(evaluation)
    if read is None or listing is None:
        return StatementCheck(statement.id, Verdict.REFUTED, "the model has no such features", {})
    if with_skip and not model.reads_tokens:
        return StatementCheck(statement.id, Verdict.REFUTED, "a model of vectors has no skip connection", {})
    columns = read.shape[1] + (model.d_model if with_skip else 0)
    # Without this the rank may be that of another matrix.
    if statement.values["columns"] != columns:
        return StatementCheck(statement.id, Verdict.REFUTED, f"the matrix has {columns} columns", {})
    evaluation.progress("rank", None, _stage(read, with_skip))
    found = rank_of_weights(model, listing, read, with_skip=with_skip)
    return compare_ranks(statement, found.lower, found.upper, found.all_weights_upper, found.method)


def _stage(features: Enclosure, with_skip: bool) -> str:
    rows, columns = features.shape
    return f"{rows} x {columns}{' with the skip connection' if with_skip else ''}"
