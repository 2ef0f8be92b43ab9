"""Certify the answers of a model on the whole domain of a rule, and prove them again.

Pages: docs/rigour/domains.md, docs/folds.md, docs/rigour/certificate.md
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from constructions.errors import FileFormatError, HypothesisError, InputError
from constructions.folds.fold import Fold
from constructions.model.construction import require_fit
from constructions.model.model import Model
from constructions.progress import Progress, silent
from constructions.tasks.criterion import Criterion
from constructions.tasks.rule import RuleTask
from verify.arithmetic import blas
from verify.certificates.certificate import (
    DOMAIN,
    GUESS,
    GUESS_MOST,
    RUNS,
    SAMPLE,
    Certificate,
    Statement,
    StatementCheck,
    Subject,
    seed_number,
    seed_text,
)
from verify.certificates.loading import load_certified
from verify.certificates.provenance import all_that_judges, provenance
from verify.domains.rule_answers import ONE_BY_ONE, VISITS, RuleAnswers, judge_rule
from verify.domains.sample import drawn, most_wrong
from verify.folds.fold_answers import FoldAnswers, judge_fold
from verify.journal import Journal
from verify.provers.counts import check_counts
from verify.provers.evaluation import Evaluation
from verify.provers.proved import Proved
from verify.provers.runs import MOST_INPUTS, judged, named_contexts, proved_again
from verify.runs.formats import EXP_ULPS, FORMATS
from verify.runs.hypotheses import OF_BOUNDS
from verify.verdict import Verdict
from verify.workers import Workers

ID = DOMAIN

OF_PATHS = "longest paths through the states, and boxes of what the heads write"

_TOGETHER = 2**14  # inputs of a domain


@dataclass(eq=False, kw_only=True)
class OnDomain(Evaluation):
    """A model on the whole domain of a rule, or on inputs that are drawn from it.

    Args:
        task: The rule.
        seed: With which inputs are drawn, where the certificate speaks of a sample.
    """

    task: RuleTask
    seed: str = ""

    @property
    def path(self) -> str:
        """The arithmetic that was used, in words."""
        return f"proved bounds: {self.answers.method}"

    @cached_property
    def answers(self) -> RuleAnswers:
        """How many inputs are right, and how many wrong: of as many as the certificate speaks of, or as it would.

        Raises:
            KeyboardInterrupt: The rest was not looked at, so this is not an answer.
        """
        stored, sample, numbers = self.certificate.answers.values, self.certificate.statement(SAMPLE), None
        if sample is not None:
            subject, count = self.certificate.subject, int(sample.values["drawn"])
            numbers = drawn(subject.model, subject.task, self.task.n_contexts, count, self.seed)
        counted = int(stored["memorized"] + stored["wrong"])
        found = judge_rule(
            self.model,
            self.task,
            numbers=numbers,
            visits=max(VISITS, counted),
            one_by_one=max(ONE_BY_ONE, counted),
            progress=self.progress,
        )
        if found.interrupted:
            raise KeyboardInterrupt
        return found

    @property
    def counts(self) -> tuple[int, int, int, str]:
        """Inputs that are right, that are wrong, those with the most frequent answer, and how it was found."""
        return self.answers.right, self.answers.wrong, self.task.guess_right, self.answers.method

    def check_runs(self, statement: Statement) -> StatementCheck:
        """Judge the inputs of the domain, some at a time."""
        model, rule = self.model, self.task
        if rule.n_contexts > MOST_INPUTS:
            reason = f"not attempted: runs of more than {MOST_INPUTS} inputs take long"
            return StatementCheck(statement.label, Verdict.UNDECIDED, reason, {})
        named = named_contexts(statement)
        memorized, lost = np.zeros((2, rule.n_contexts), dtype=bool)
        for start in range(0, rule.n_contexts, _TOGETHER):
            some = np.arange(start, min(start + _TOGETHER, rule.n_contexts))
            facts = rule.facts(rule.contexts_at(some), vocabulary=model.d_vocab, answers=model.d_vocab_out)
            found = proved_again(statement, self, facts, named[some])
            memorized[some], lost[some] = found.memorized, found.lost
        return judged(statement, memorized, lost)


@dataclass(eq=False, kw_only=True)
class OnFold(Evaluation):
    """A model on all inputs of a rule whose answers are said token by token.

    Args:
        task: The rule.
    """

    task: Fold

    @property
    def path(self) -> str:
        """The arithmetic that was used, in words."""
        return f"proved bounds: {OF_PATHS}"

    @property
    def asides(self) -> tuple[str, ...]:
        """An input that is answered wrongly, if one was found."""
        wrong = self.answers.wrong
        return () if wrong is None else (wrong.words(),)

    @cached_property
    def answers(self) -> FoldAnswers:
        """What was proved of the inputs.

        Raises:
            FileFormatError: A model to which the theorem does not apply.
        """
        try:
            return judge_fold(self.model, self.task, progress=self.progress)
        except HypothesisError as error:
            raise FileFormatError(f"the folder holds a model to which the theorem does not apply: {error}") from error

    @property
    def counts(self) -> tuple[int, int, int, str]:
        """Inputs that are right, that are wrong, a bound of those with one answer, and how it was found."""
        found = self.answers
        return found.inputs - found.left, int(found.wrong is not None), self.task.guess_most, OF_PATHS

    def check_runs(self, statement: Statement) -> StatementCheck:
        """Judge all inputs at once, by the longest paths through the states."""
        if statement.named["hypotheses"] != OF_BOUNDS:
            return StatementCheck(statement.label, Verdict.UNDECIDED, "not attempted: nothing here proves it", {})
        found = judge_fold(
            self.model,
            self.task,
            number_format=FORMATS[statement.named["format"]],
            exp_ulps=float(statement.values["exp_ulps"]),
            progress=self.progress,
        )
        memorized = found.inputs - found.left
        values = {"contexts": found.inputs, "memorized": memorized}
        if found.wrong is not None and statement.values["memorized"] == found.inputs:
            # A wrong input is one in real arithmetic, whose logits no run need compute.
            return StatementCheck(statement.label, Verdict.UNDECIDED, "an input is wrong in real arithmetic", values)
        verdict = Verdict.PROVED if memorized >= statement.values["memorized"] else Verdict.UNDECIDED
        return StatementCheck(statement.label, verdict, f"{memorized} of {found.inputs} inputs, {OF_PATHS}", values)


def evaluation(
    folder: Path, certificate: Certificate, asked: Criterion, *, sample_seed: str | None, progress: Progress
) -> OnDomain | OnFold:
    """Return the rule and the model in `folder`, of which the certificate is to be proved again.

    Raises:
        FileFormatError, TamperedError: As `load_rule`.
        InputError: A mean is asked for, or a seed where nothing was drawn.
    """
    seed = sampled_seed(certificate, sample_seed)
    require_counted(asked)
    if certificate.subject.is_of_a_fold:
        model, fold = load_fold(folder, certificate)
        return OnFold(certificate=certificate, model=model, task=fold, asked=asked, progress=progress)
    model, rule = load_rule(folder, certificate)
    return OnDomain(certificate=certificate, model=model, task=rule, asked=asked, seed=seed, progress=progress)


def certify_domain(
    model: Model,
    task: RuleTask,
    criterion: Criterion | None = None,
    *,
    sample: int | None = None,
    seed: str = "",
    visits: int = VISITS,
    one_by_one: int = ONE_BY_ONE,
    keep: Path | None = None,
    workers: Workers | None = None,
    progress: Progress | None = None,
) -> Proved[RuleAnswers]:
    """Prove on how many inputs of the domain of a rule a model gives the right answer, in real arithmetic.

    An input counts as right if the logit of its label is proved to be strictly larger than every other, and as wrong
    if it is proved not to be. What cannot be decided, or is not looked at, is counted as neither.

    Args:
        model: The weights: any model that reads tokens.
        task: The rule and its domain.
        criterion: The criterion to decide: by default that every input is right; or that at least this many are.
        sample: How many inputs are drawn and judged; by default all are judged, as far as `visits` and `one_by_one` go.
        seed: A text that the draw depends on, in addition to the hashes of model and rule.
        visits: How many beginnings of inputs, or inputs, may be looked at one by one.
        one_by_one: How many inputs may be judged one by one, at rising precision.
        keep: A file where every finished piece of the domain is kept until all are, so that a run that was interrupted,
            or killed, goes on where it stopped (`verify/journal.py`); by default nothing is kept. How many
            inputs earlier runs counted stands in the certificate; who checks it counts all of them again.
        workers: Makes an executor for the pieces, with the same answer; by default all work is done here.
        progress: Called with the stage and the finished share of it.

    Returns:
        The certificate, and examples of what is wrong. After an interrupt from the keyboard it states what had been
        proved until then.

    Raises:
        InputError: The model cannot read the inputs or has no output for an answer, or a mean is asked for.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Example:
        >>> import numpy as np
        >>> from constructions.tasks.rule import rule_task
        >>> echo = Model(blocks=(), W_U=np.eye(4), W_E=np.eye(4), W_pos=np.zeros((3, 4)))
        >>> certify_domain(echo, rule_task("last", d_vocab=4, n_ctx=3)).certificate.headline()[:55]
        'MEMORIZED, PROVED: 64 of 64 inputs, in real arithmetic;'
        >>> certify_domain(echo, rule_task("max", d_vocab=4, n_ctx=3), sample=9, seed="").certificate.headline()[:67]
        'NOT MEMORIZED, SAMPLED: 5 of 9 inputs drawn from 64 are right; 4 pr'
    """
    require_fit(model, task)
    question = require_counted(criterion or Criterion())
    blas.probe()
    made_by = provenance()
    numbers = None if sample is None else drawn(model.sha256(), task.sha256(), task.n_contexts, sample, seed)
    show, journal = progress or silent, None
    if keep is not None and numbers is None:
        try:
            journal = domain_journal(keep, model, task)
        except InputError as error:  # of the key: the work can be done all the same
            show("domain", None, f"nothing is kept for a later run: {error}")
    answers = judge_rule(
        model,
        task,
        numbers=numbers,
        visits=visits,
        one_by_one=one_by_one,
        journal=journal,
        workers=workers,
        progress=show,
    )
    if journal is not None and not answers.interrupted:
        journal.remove()
    values = {"contexts": answers.inputs, "memorized": answers.right, "wrong": answers.wrong, GUESS: task.guess_right}
    statements = [Statement(DOMAIN, answers.method, values)]
    if numbers is not None and len(numbers) < answers.inputs:
        bound = most_wrong(answers.inputs, len(numbers), len(numbers) - answers.right)
        values = {"contexts": answers.inputs, "drawn": len(numbers), "right": answers.right, "wrong_upper": bound}
        statements.append(Statement(SAMPLE, answers.method, {**values, "seed": seed_number(seed)}))
    certificate = Certificate(
        subject=subject_of_rule(model, task),
        criterion=question,
        statements=tuple(statements),
        provenance=made_by,
    )
    return Proved(certificate, answers)


def domain_journal(path: Path, model: Model, task: RuleTask) -> Journal:
    """Return the finished pieces of the domain of a rule in a file, of this model, judged by this program.

    Raises:
        InputError: The key of this user cannot be written, or others can read it.
    """
    return Journal(path, lambda: [model.sha256(), task.sha256(), all_that_judges()])


def check(statement: Statement, evaluation: OnDomain | OnFold) -> StatementCheck:
    """Judge the domain again; the stored counts must follow."""
    return check_counts(statement, *evaluation.counts)


def sampled_seed(certificate: Certificate, given: str | None) -> str:
    """Return the seed of a sample: the given one, or the one in the certificate.

    Raises:
        InputError: One is given, but nothing was drawn.
    """
    sample = certificate.statement(SAMPLE)
    if given is not None and sample is None:
        raise InputError("sample_seed", f"is {given!r}, but the certificate is about no sample")
    return seed_text(sample.values["seed"]) if given is None and sample is not None else given or ""


def subject_of_rule(model: Model, task: RuleTask) -> Subject:
    """Return the subject of a certificate about this model and this rule."""
    sizes = {
        "contexts": task.n_contexts,
        "context_length": task.n_ctx,
        "outputs": model.d_vocab_out,
        "all_contexts": task.n_contexts,
        "parameters": model.parameters,
    }
    return Subject(model.sha256(), task.sha256(), task.target, task.origin, sizes)


def load_rule(folder: Path, certificate: Certificate) -> tuple[Model, RuleTask]:
    """Load the model and the rule in `folder`; refuse files other than those of the certificate.

    Raises:
        FileFormatError: A file is missing, is not what it should be, or asks for more memory than there is; or the two
            do not fit each other.
        TamperedError: A hash or a size differs.
        InputError: The answers of the rule are said token by token.
    """
    if certificate.subject.is_of_a_fold:
        what = "holds a rule whose answers are said token by token"
        raise InputError(
            folder, what, "a rule with one answer, or a list of contexts; `ask`, `export` and `check` take it"
        )
    return load_certified(Path(folder), certificate, read=RuleTask.load, subject_of=subject_of_rule, kind="rule")


def require_counted(criterion: Criterion) -> Criterion:
    """Return the question if it counts inputs; raise `InputError` if it is about a mean."""
    if criterion.asked == "at-most":
        raise InputError(
            f"a mean of at most {criterion.bound}", "is required, but a domain is judged only by its labels"
        )
    return criterion


# ---------------------------------------------------------------------------------------------------------------------
# Rules with a state, whose answers are said token by token.


def certify_fold(
    model: Model,
    fold: Fold,
    criterion: Criterion | None = None,
    *,
    every_run: str | None = None,
    progress: Progress = silent,
) -> Proved[FoldAnswers]:
    """Prove that a model answers every input of a rule, each token with the strictly largest logit.

    Args:
        model: Tokens and one attention.
        fold: The rule.
        criterion: The criterion to decide; by default that every input is answered right.
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
    answers = judge_fold(model, fold, progress=progress)
    memorized, wrong = answers.inputs - answers.left, int(answers.wrong is not None)
    values = {"contexts": answers.inputs, "memorized": memorized, "wrong": wrong, GUESS_MOST: fold.guess_most}
    statements = [Statement(DOMAIN, OF_PATHS, values)]
    if every_run is not None and not answers.left:
        runs = judge_fold(model, fold, number_format=FORMATS[every_run], progress=progress)
        if not runs.left:
            values = {"contexts": answers.inputs, "memorized": answers.inputs, "exp_ulps": EXP_ULPS}
            statements.append(Statement(RUNS, OF_PATHS, values, "", {"format": every_run, "hypotheses": OF_BOUNDS}))
    subject = subject_of_fold(model, fold)
    return Proved(Certificate(subject, criterion or Criterion(), tuple(statements), provenance()), answers)


def subject_of_fold(model: Model, fold: Fold) -> Subject:
    """Return the subject of a certificate about this model and this rule."""
    sizes = {
        "contexts": fold.inputs,
        "context_length": fold.longest,
        "outputs": model.d_vocab_out,
        "all_contexts": fold.inputs,
        "parameters": model.parameters,
    }
    return Subject(model.sha256(), fold.sha256(), "labels", fold.origin, sizes)


def load_fold(folder: Path, certificate: Certificate) -> tuple[Model, Fold]:
    """Load the model and the rule in `folder`; refuse files other than those of the certificate.

    Raises:
        FileFormatError: A file is missing, is not what it should be, or asks for more memory than there is; or the two
            do not fit each other.
        TamperedError: A hash or a size differs.
    """
    return load_certified(Path(folder), certificate, read=Fold.load, subject_of=subject_of_fold, kind="rule")
