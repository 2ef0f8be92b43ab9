"""The statement `rank-with-skip`: like `rank-heads`, with the embedded last token as further columns.

Page: docs/rigour/kernel.md
"""

from typing import Any

from verify.kernel import rank_heads
from verify.kernel.certificate import Certificate
from verify.kernel.evaluation import Evaluation
from verify.kernel.features import LAYER, shape
from verify.kernel.rank_heads import Statement
from verify.kernel.verdicts import NotProvedError

ID = "rank-with-skip"


def read(field: str, record: dict[str, Any], certificate: Certificate) -> Statement:
    """Return the data of a statement in its one form."""
    return rank_heads.read(field, record, certificate)


def sentence(statement: Statement, certificate: Certificate) -> str:
    """Return the statement in words."""
    return rank_heads.said(statement, "what the heads read from the contexts with the embedded last token beside it")


def check(statement: Statement, certificate: Certificate, evaluation: Evaluation) -> str:
    """Prove the statement for tokens; vectors have no skip connection.

    Raises:
        NotProvedError: As `rank-heads`.
        UndecidedError: Likewise.
    """
    if shape(evaluation.model, evaluation.task) in (None, LAYER):
        raise NotProvedError(f"{ID}: the model has no such features")
    return rank_heads.proved(ID, statement, evaluation, with_skip=True)
