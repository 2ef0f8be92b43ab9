"""The rank of the matrix with the embedded last token beside what the heads read: proved, and proved again.

Page: docs/rigour/certificate.md
"""

from constructions.errors import InputError
from verify.certificates.certificate import RANK_WITH_SKIP, Statement, StatementCheck
from verify.provers.evaluation import JudgedModel, OnContexts
from verify.provers.features import estimated_bytes, required_features
from verify.provers.rank_heads import check_rank, prove_rank

ID = RANK_WITH_SKIP

__all__ = ["ID", "check", "estimated_bytes", "state"]


def state(judged: JudgedModel) -> Statement:
    """Return the statement about a model of one attention on tokens; raises `InputError` for others."""
    if not judged.model.reads_tokens:
        raise InputError(
            "rank_with_skip", "is asked of a task of vectors, whose model has no skip connection", "tokens"
        )
    listing, read = required_features(judged)
    return prove_rank(judged.model, listing, read, with_skip=True, progress=judged.progress)


def check(statement: Statement, evaluation: OnContexts) -> StatementCheck:
    """Prove the statement again."""
    return check_rank(statement, evaluation, with_skip=True)
