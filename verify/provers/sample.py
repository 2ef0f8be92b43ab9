"""Prove again the conclusions of a random sample of a domain.

Page: docs/rigour/domains.md
"""

from verify.certificates.certificate import SAMPLE, Statement, StatementCheck
from verify.domains.sample import most_wrong
from verify.provers.counts import check_sample
from verify.provers.domain import OnDomain

ID = SAMPLE


def check(statement: Statement, evaluation: OnDomain) -> StatementCheck:
    """Draw as many inputs again, and judge them."""
    answers, count = evaluation.answers, int(statement.values["drawn"])
    bound = most_wrong(answers.inputs, count, count - answers.right)
    return check_sample(statement, answers.right, bound, evaluation.seed, answers.method)
