"""The statement `runs`: which contexts every run in a number format holds.

Page: docs/rigour/kernel.md
"""

from dataclasses import dataclass
from itertools import count as naturals
from typing import Any

from flint import ctx

from verify.kernel.accounts import FINEST, Runs
from verify.kernel.answers import ball
from verify.kernel.certificate import FILE, Certificate, Mask, read_mask
from verify.kernel.evaluation import FORMATS, Evaluation, Found, whole
from verify.kernel.files import require_fields
from verify.kernel.numerals import Number, counted, read_count, read_number
from verify.kernel.verdicts import BadInputError, NotProvedError, UndecidedError

ID = "runs"
PLACE = 1
EXACT_SUMS = "H1 H2 H5"
"""What the kernel's proof rests on: sums that no run rounds."""

_MOST = 2**26  # contexts that are looked at one by one
_HYPOTHESES = (EXACT_SUMS, "H1 H2 H3 H4", "H1 H2 H3 H4 H5")


@dataclass(frozen=True)
class Statement:
    """Every run in a format holds some contexts.

    Args:
        format: The number format.
        hypotheses: The hypotheses on a run (docs/rigour/runs.md).
        memorized: Whether each context is stated to be memorized.
        exp_ulps: How accurate the exponential is, where H3 is assumed.
    """

    format: str
    hypotheses: str
    memorized: Mask
    exp_ulps: Number | None


def read(field: str, record: dict[str, Any], certificate: Certificate) -> Statement:
    """Return the data of a statement in its one form."""
    named, values = record.get("named"), record["values"]
    require_fields(FILE, f"{field}.named", named, ["format", "hypotheses"])
    assert isinstance(named, dict)
    if named["format"] not in tuple(FORMATS) or named["hypotheses"] not in _HYPOTHESES:
        raise BadInputError(FILE, f"{field}.named", "name no number format or no hypotheses that there are")
    if certificate.target == "values":
        raise BadInputError(FILE, field, "is about runs of a task of values, which no statement is")
    of_exponential = ["exp_ulps"] if "H3" in named["hypotheses"] else []
    require_fields(FILE, f"{field}.values", values, ["contexts", "memorized", *of_exponential])
    count = certificate.sizes["contexts"]
    if read_count(FILE, f"{field}.values.contexts", values["contexts"]) != count:
        raise BadInputError(FILE, f"{field}.values.contexts", f"are not the {count} of the subject")
    memorized = read_count(FILE, f"{field}.values.memorized", values["memorized"], count)
    if memorized == 0:
        raise BadInputError(FILE, f"{field}.values.memorized", "is 0, which states nothing")
    ulps = read_number(FILE, f"{field}.values.exp_ulps", values["exp_ulps"]) if of_exponential else None
    if ulps is not None and not (isinstance(ulps, float) and ulps > 0.0):
        raise BadInputError(FILE, f"{field}.values.exp_ulps", "is not a float above 0")
    mask = read_mask(f"{field}.memorized", record["memorized"], count, memorized)
    return Statement(named["format"], named["hypotheses"], mask, ulps)


def sentence(statement: Statement, certificate: Certificate) -> str:
    """Return the statement in words."""
    memorized, count = statement.memorized.count, statement.memorized.contexts
    *first, last = statement.hypotheses.split()
    ulps = 4.0 if statement.exp_ulps is None else float(statement.exp_ulps)
    return (
        f"In every {statement.format} run ({run_is(statement.format, ulps)}) {memorized} of "
        f"{counted(count, 'context')} "
        f"are memorized; this rests on {', '.join(first)} and {last}."
    )


def run_is(name: str, exp_ulps: float) -> str:
    """Describe a run."""
    finer = f" or finer (up to {FINEST} bits)" if Runs(*FORMATS[name]).finest == FINEST else ""
    return (
        f"each operation in {name}{finer} and rounded to nearest, also in products (no TF32); sums in any order; "
        f"exp off by at most {exp_ulps:g} units in the last place; softmax less its largest score, at once or by "
        "blocks of 16 or more; normalizations as accurate as in two passes, as is assumed of layer_norm in torch "
        "(H1 to H5 of docs/rigour/runs.md, which names what is no such run)"
    )


def prover_alone(statement: Statement, certificate: Certificate) -> str:
    """Return the part for which the kernel has no proof: runs bounded by their rounding errors; empty if nothing is
    rounded.
    """
    return "" if statement.hypotheses == EXACT_SUMS else f"every {statement.format} run"


def check(statement: Statement, certificate: Certificate, evaluation: Evaluation) -> str:
    """Prove the statement by sums that no run rounds.

    Raises:
        NotProvedError: A context that it names is not memorized in any run.
        UndecidedError: No such proof is found, or the statement does not assume what it rests on.
    """
    name = statement.format
    if statement.memorized.contexts > _MOST:
        raise UndecidedError(f"{ID} in {name}: {statement.memorized.contexts} contexts are more than are looked at")
    if statement.hypotheses != EXACT_SUMS:
        raise UndecidedError(f"{ID} in {name}: the kernel has no proof of what rests on {statement.hypotheses}")
    numbers = naturals()
    for part in evaluation.parts():
        part.follow()
        runs = part.in_runs.get(name)
        if runs is None or part.reasons[name]:
            raise UndecidedError(f"{ID} in {name}: {part.reasons[name]}")
        for fact, i in zip(part.task.facts, numbers, strict=False):
            if statement.memorized[i]:
                _require_memorized(i, whole([runs[context] for context in fact]), name, certificate)
    return f"{counted(statement.memorized.count, 'context')} in {name}, by sums that no run rounds"


def _require_memorized(i: int, found: Found, name: str, certificate: Certificate) -> None:
    with ctx.workprec(256):
        memorized = found.is_memorized(certificate.target, ball(certificate.criterion.tolerance))
    if memorized is False:
        raise NotProvedError(f"{ID} in {name}: context {i} is not memorized in any run")
    if memorized is None:
        raise UndecidedError(f"{ID} in {name}: context {i} is not proved to be memorized in every run")
