"""All weights are integers of at most so many bits: proved fast, and never believed."""

import numpy as np

from constructions.model.model import Model
from verify.certificates.certificate import Statement, StatementCheck
from verify.provers.evaluation import Evaluation
from verify.verdict import Verdict

ID = "integer-weights"


def prove(model: Model) -> Statement | None:
    """The statement with the least number of bits, if all weights are integers below 2^53."""
    weights = np.concatenate([tensor.ravel() for tensor in model.tensors().values()])
    largest = float(np.abs(weights).max())
    if largest >= 2.0**53 or (weights != np.rint(weights)).any():
        return None
    return Statement(ID, "the largest weight", {"bits": int(largest).bit_length()})


def check(statement: Statement, evaluation: Evaluation) -> StatementCheck:
    """Prove the statement again."""
    found = prove(evaluation.model)
    if found is None:
        return StatementCheck(ID, Verdict.REFUTED, "a weight is not an integer below 2^53", {})
    bits = found.values["bits"]
    verdict = Verdict.PROVED if bits <= statement.values["bits"] else Verdict.REFUTED
    return StatementCheck(ID, verdict, f"the largest weight has {bits} bits", found.values)
