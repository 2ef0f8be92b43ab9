"""Certify that a model answers a rule with a state, token by token, on its whole domain, and prove it again.

Pages: docs/folds.md, docs/rigour/certificate.md
"""

from dataclasses import dataclass
from pathlib import Path

from constructions.errors import FileFormatError, HypothesisError, InputError
from constructions.models.model import Model
from constructions.tasks.criterion import Criterion
from constructions.tasks.fold import Fold
from verify.certificates.certificate import (
    DOMAIN,
    GUESS_MOST,
    RUNS,
    Certificate,
    CheckReport,
    Statement,
    StatementCheck,
    Subject,
)
from verify.certificates.counts import check_counts
from verify.certificates.loading import load_certified
from verify.certificates.provenance import provenance
from verify.folds.fold_answers import FoldAnswers, judge_fold
from verify.progress import Progress, silent
from verify.runs.formats import EXP_ULPS, FORMATS
from verify.runs.hypotheses import OF_BOUNDS
from verify.verdict import Verdict

METHOD = "longest paths through the states, and boxes of what the heads write"


@dataclass(frozen=True)
class FoldCertificate:
    """A certificate about a rule with a state, with what is not stored in it.

    Args:
        certificate: What is written to ``certificate.json``.
        answers: What was proved, with an input that is answered wrongly, if one was found.
    """

    certificate: Certificate
    answers: FoldAnswers

    def save(self, folder: Path) -> None:
        """Write ``certificate.json`` into `folder`, atomically."""
        self.certificate.save(folder)


def certify_fold(
    model: Model,
    fold: Fold,
    criterion: Criterion | None = None,
    *,
    every_run: str | None = None,
    progress: Progress = silent,
) -> FoldCertificate:
    """Prove that a model says the answer to every input of a rule, each token having the strictly largest logit.

    Args:
        model: Tokens and one attention.
        fold: The rule.
        criterion: What is asked: by default that every input is answered right.
        every_run: A key of `verify.runs.formats.FORMATS`: also prove it of every run in that type, and state it if that
            is proved of all inputs.
        progress: Called with the stage and the finished share of it.

    Raises:
        HypothesisError: A model to which the theorem does not apply; names the hypothesis.
        InputError: A prompt that the model cannot read, or an unknown type.
        BlasError: The arithmetic of this machine does not keep what the proofs need.
    """
    if every_run is not None and every_run not in FORMATS:
        raise InputError("every_run", f"= {every_run!r}", f"one of {', '.join(FORMATS)}")
    found = judge_fold(model, fold, progress=progress)
    held, wrong = found.inputs - found.left, int(found.wrong is not None)
    values = {"contexts": found.inputs, "held": held, "wrong": wrong, GUESS_MOST: fold.guess_most}
    statements = [Statement(DOMAIN, METHOD, values)]
    if every_run is not None and not found.left:
        runs = judge_fold(model, fold, number_format=FORMATS[every_run], progress=progress)
        if not runs.left:
            values = {"contexts": found.inputs, "held": found.inputs, "exp_ulps": EXP_ULPS}
            statements.append(Statement(RUNS, METHOD, values, "", {"format": every_run, "hypotheses": OF_BOUNDS}))
    subject = subject_of_fold(model, fold)
    return FoldCertificate(Certificate(subject, criterion or Criterion(), tuple(statements), provenance()), found)


def check_fold(
    folder: Path, certificate: Certificate, criterion: Criterion | None = None, *, progress: Progress = silent
) -> CheckReport:
    """Answer the question of a certificate about a rule with a state again, from the weights and the rule alone.

    Args:
        folder: A folder with ``model.safetensors`` and ``task.safetensors``.
        certificate: What its ``certificate.json`` says.
        criterion: What is asked; by default what the certificate asks.
        progress: Called with the stage and the finished share of it.

    Raises:
        FileFormatError: A file is missing or is not what it should be, or the model is of another shape.
        TamperedError: A hash differs.
        InputError: A mean is asked for.
    """
    asked = criterion or certificate.criterion
    if asked.asked == "at-most":
        raise InputError(f"a mean of at most {asked.bound}", "is asked for, a domain is judged by its labels alone")
    model, fold = load_fold(folder, certificate)
    try:
        found = judge_fold(model, fold, progress=progress)
    except HypothesisError as error:
        raise FileFormatError(f"{folder} holds a model to which the theorem does not apply: {error}") from error
    held, wrong = found.inputs - found.left, int(found.wrong is not None)
    checks = [check_counts(certificate.answers, held, wrong, fold.guess_most, METHOD)]
    for statement in certificate.statements[1:]:
        checks.append(_check_runs(statement, model, fold, progress))
    return CheckReport(certificate, asked, tuple(checks), f"proved bounds: {METHOD}")


def _check_runs(statement: Statement, model: Model, fold: Fold, progress: Progress) -> StatementCheck:
    if statement.id != RUNS or statement.named["hypotheses"] != OF_BOUNDS:
        return StatementCheck(statement.label, Verdict.UNDECIDED, "not attempted: nothing here proves it", {})
    found = judge_fold(
        model,
        fold,
        number_format=FORMATS[statement.named["format"]],
        exp_ulps=float(statement.values["exp_ulps"]),
        progress=progress,
    )
    held = found.inputs - found.left
    values = {"contexts": found.inputs, "held": held}
    if found.wrong is not None and statement.values["held"] == found.inputs:
        # A wrong input is one in real arithmetic, whose logits no run need compute.
        return StatementCheck(statement.label, Verdict.UNDECIDED, "an input is wrong in real arithmetic", values)
    verdict = Verdict.PROVED if held >= statement.values["held"] else Verdict.UNDECIDED
    return StatementCheck(statement.label, verdict, f"{held} of {found.inputs} inputs, {METHOD}", values)


def subject_of_fold(model: Model, fold: Fold) -> Subject:
    """What a certificate about this model and this rule is about."""
    sizes = {
        "contexts": fold.inputs,
        "context_length": fold.longest,
        "outputs": model.d_vocab_out,
        "all_contexts": fold.inputs,
        "parameters": model.parameters,
    }
    return Subject(model.sha256(), fold.sha256(), "labels", fold.origin, sizes)


def load_fold(folder: Path, certificate: Certificate) -> tuple[Model, Fold]:
    """The model and the rule in `folder`, if they are those that the certificate is about.

    Raises:
        FileFormatError: A file is missing, is not what it should be, or asks for more memory than there is; or the two
            do not fit each other.
        TamperedError: A hash or a size differs.
    """
    return load_certified(Path(folder), certificate, read=Fold.load, subject_of=subject_of_fold, kind="rule")
