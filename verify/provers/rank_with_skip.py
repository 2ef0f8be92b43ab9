"""The rank of the matrix with the embedded last token beside what the heads read: proved again.

Page: docs/rigour/certificate.md
"""

from verify.certificates.certificate import RANK_WITH_SKIP, Statement, StatementCheck
from verify.provers.evaluation import OnContexts
from verify.provers.rank_heads import check_rank

ID, NEEDS_FEATURES = RANK_WITH_SKIP, True


def check(statement: Statement, evaluation: OnContexts) -> StatementCheck:
    """Prove the statement again."""
    return check_rank(statement, evaluation, with_skip=True)
