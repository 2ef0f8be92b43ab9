"""Answers the question of a stored certificate with integers and balls alone, sharing no code with the prover.

Page: docs/rigour/certificate.md
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from operator import mul
from pathlib import Path

from flint import arb, ctx

from constructions.counted import counted
from constructions.errors import FileFormatError, InputError, TamperedError, WorkerError
from constructions.tasks.criterion import Criterion
from verify.arithmetic.exact_json import Number
from verify.arithmetic.integers import SMALL
from verify.certificates.certificate import (
    ANSWERS,
    DIVERGENCE,
    FEATURE_RANK,
    GUESS,
    MODEL_FILE,
    RANK_HEADS,
    RANK_WITH_SKIP,
    RUNS,
    SAMPLE,
    SATURATION,
    TASK_FILE,
    TEXT,
    TEXT_DIVERGENCE,
    Certificate,
    CheckReport,
    Statement,
    StatementCheck,
    Subject,
    held_mask,
    seed_text,
)
from verify.independent.ball_answers import Answer, Targets, mean_loss
from verify.independent.ball_divergence import LogSoftmax, at_least_zero
from verify.independent.ball_ends import ball, outward
from verify.independent.ball_forward import BITS, PRECISIONS, NoInformationError
from verify.independent.ball_rank_bounds import (
    LARGEST_DETERMINANT,
    has_rank,
    upper_for_all_weights,
    upper_for_these_weights,
)
from verify.independent.evaluation import Evaluation
from verify.independent.integer_forward import FEW_BITS
from verify.independent.integer_rank import FeatureMatrix, NonsingularCheck, rank_bounds, recheck_nonsingular
from verify.independent.plain.plain_arrays import PlainArray, read_safetensors, reading
from verify.independent.plain.plain_model import PlainModel
from verify.independent.plain.plain_rule import PlainRule, drawn_numbers, leaves_at_most
from verify.independent.plain.plain_task import PlainTask, PlainVectorTask
from verify.independent.plain_prompts import PlainPromptTask, read_task, whole
from verify.independent.rule_counts import count_rule
from verify.independent.run_check import check_runs, check_text
from verify.progress import Progress, silent
from verify.provers.brackets import compare_divergences, compare_ranks
from verify.provers.counts import check_counts, check_sample
from verify.verdict import Verdict
from verify.workers import Workers, completed

__all__ = ["NonsingularCheck", "check_independently", "recheck_nonsingular"]

_PATH = "integers and balls (python-flint and the standard library)"
_AFFORDABLE = 3.0e8  # estimated microseconds spent on all contexts unless asked for more
_MICROSECONDS_OF_A_PRODUCT = 0.1  # of two balls of 128 bits
_FEATURE_PRECISIONS = ((BITS, SMALL), *((bits, 2 * SMALL) for bits in PRECISIONS))
_MOST_RANK_BITS = 1024  # of the balls in which a rank is proved
_PIECE = 2**13  # contexts that a worker judges at a time
_NO_MORE = 2**16  # units: features that are known so well are no better known with more bits


def check_independently(
    folder: Path,
    criterion: Criterion | None = None,
    *,
    full: bool = False,
    sample_seed: str | None = None,
    workers: Workers | None = None,
    progress: Progress | None = None,
) -> CheckReport:
    r"""Answer the question of the certificate in `folder` again, or another, on a path of its own.

    It shares no numerical code with the prover. The files are read and hashed by the standard library alone. A model
    of any blocks is evaluated in balls (Arb), of 128 bits and of more until everything is decided; a network of one
    attention over tokens, where there are many contexts, in integers first: its weights are dyadic rationals, hence
    exact integers over a power of two, so are all products of them, and attention weights are integers over $2^{128}$
    with one explicit error bound for each array. An argmax is a comparison; a divergence is a ball; the rank is an
    inequality between integer matrices,

    $$ \sigma_{\min}(A)^2 \ge c - \Vert A A^T - c I - L L^T \Vert_\infty, $$

    with the factor $L$ and the shift $c$ of the witness file, which need not be believed: any $L$ proves what it
    proves. Nothing is inverted, factored or solved, and no stored number is used as anything but a bound to be proved.

    Args:
        folder: A folder with ``certificate.json``, the files of the model and the task, and perhaps a witness.
        criterion: What is asked; by default what the certificate asks.
        full: Also re-prove the divergence over all contexts of the text, and what every run holds, when that takes
            longer than about five minutes; without it such a statement is then UNDECIDED.
        sample_seed: Of a sample, a text of whoever checks, with which as many inputs are drawn anew.
        workers: Makes an executor for the contexts of a text that are not memorized, which are then judged in pieces
            that do not depend on it; by default they are judged here. A piece whose worker dies twice is judged here.
        progress: Called with the stage and the finished share of it.

    Returns:
        The answer, and the verdict on each statement: PROVED with the bounds as stored, REFUTED if the opposite was
        proved, or UNDECIDED.

    Raises:
        FileFormatError: A file is missing or is not what it should be, or is named by no certificate.
        TamperedError: A hash or a digest differs.

    Source: the statement about $L$ is Weyl's inequality with $L L^T \succeq 0$.
    """
    folder = Path(folder)
    certificate = Certificate.load(folder)
    if certificate.subject.is_of_a_fold:
        reason = "not attempted: this checker has no proof of answers that are said token by token"
        left = [StatementCheck(each.label, Verdict.UNDECIDED, reason, {}) for each in certificate.statements]
        return CheckReport(certificate, criterion or certificate.criterion, tuple(left), "none", by_the_prover=False)
    if certificate.subject.is_of_a_rule:
        asked = criterion or certificate.criterion
        return _check_rule(folder, certificate, asked, sample_seed, full, progress or silent)
    if sample_seed is not None:
        raise InputError("sample_seed", f"is {sample_seed!r}, but the certificate is about no sample")
    model, task = PlainModel.read(folder / MODEL_FILE), read_task(folder / TASK_FILE)
    _require_subject(certificate.subject, model, task)
    asked = criterion or certificate.criterion
    with ctx.workprec(BITS):
        if isinstance(task, PlainPromptTask):
            show = progress or silent
            checks = [_check_prompts(model, task, certificate, asked, show)]
            for statement in certificate.statements[1:]:
                tolerance = certificate.criterion.tolerance
                checks.append(check_runs(statement, model, task, tolerance=tolerance, full=full, progress=show))
            return CheckReport(certificate, asked, tuple(checks), _PATH, by_the_prover=False)
        checker = _Checker(folder, certificate, asked, Evaluation(model, task, progress or silent), full, workers)
        return CheckReport(certificate, asked, tuple(checker.checks()), _PATH, by_the_prover=False)


def _check_rule(
    folder: Path, certificate: Certificate, asked: Criterion, sample_seed: str | None, full: bool, progress: Progress
) -> CheckReport:
    """The inputs of a rule's domain, all of them or as many as can be judged; the path says which."""
    model, rule = PlainModel.read(folder / MODEL_FILE), PlainRule.read(folder / TASK_FILE)
    subject = certificate.subject
    _require_hashes(subject, model, rule, "rule")
    sizes = {**rule.sizes(), "outputs": model.d_vocab_out, "parameters": model.parameters}
    if sizes != dict(subject.sizes) or (subject.target, subject.origin) != ("labels", rule.origin):
        raise TamperedError(f"the certificate is about {subject.origin} and other sizes than {rule.origin} and {sizes}")
    most = max(here[-1] for here in rule.tokens)
    if not (model.reads_tokens and len(rule.tokens) <= model.n_ctx and most < model.d_vocab):
        raise FileFormatError(f"{MODEL_FILE} and {TASK_FILE} do not fit each other: {sizes}")
    if not max(rule.answers) < model.d_vocab_out:
        raise FileFormatError(f"{TASK_FILE} has the answer {max(rule.answers)}, the model {model.d_vocab_out} outputs")
    if asked.asked == "at-most":
        raise InputError(f"a mean of at most {asked.bound}", "is asked for, a domain is judged by its labels alone")
    sample = certificate.statement(SAMPLE)
    if sample is None and sample_seed is not None:
        raise InputError("sample_seed", f"is {sample_seed!r}, but the certificate is about no sample")
    seed, numbers = sample_seed, None
    if sample is not None:
        seed = seed_text(sample.values["seed"]) if seed is None else seed
        numbers = drawn_numbers([model.sha256, rule.sha256, int(sample.values["drawn"]), seed], rule.size)
    found = count_rule(model, rule, numbers=numbers, progress=progress)
    checks = [check_counts(certificate.answers, found.right, found.wrong, rule.most_frequent(), found.method)]
    for statement in certificate.statements:
        if statement.id == RUNS:
            tolerance = certificate.criterion.tolerance
            checks.append(check_runs(statement, model, rule, tolerance=tolerance, full=full, progress=progress))
    if sample is not None and numbers is not None:
        bound = int(sample.values["wrong_upper"])
        missed = len(numbers) - found.right
        # What is stated is true of these counts, or else nothing is said: a bound of one's own is not looked for.
        bound = bound if leaves_at_most(rule.size, len(numbers), missed, bound) else rule.size - found.right
        checks.append(check_sample(sample, found.right, bound, seed or "", found.method))
    return CheckReport(certificate, asked, tuple(checks), f"{_PATH}: {found.method}", by_the_prover=False)


def _require_hashes(
    subject: Subject, model: PlainModel, task: PlainTask | PlainVectorTask | PlainPromptTask | PlainRule, kind: str
) -> None:
    if model.sha256 != subject.model:
        raise TamperedError(f"{MODEL_FILE} is not the model that the certificate is about: its hash differs")
    if task.sha256 != subject.task:
        raise TamperedError(f"{TASK_FILE} is not the {kind} that the certificate is about: its hash differs")


def _require_subject(subject: Subject, model: PlainModel, task: PlainTask | PlainVectorTask | PlainPromptTask) -> None:
    """The model and the task are those that the certificate is about, and the model reads and answers the task."""
    _require_hashes(subject, model, task, "task")
    sizes = {**task.sizes(), "outputs": model.d_vocab_out, "parameters": model.parameters}
    if sizes != dict(subject.sizes) or (task.target, task.origin) != (subject.target, subject.origin):
        raise TamperedError(
            f"the certificate is about {subject.target} ({subject.origin}) and the sizes {dict(subject.sizes)}, "
            f"the files have {task.target} ({task.origin}) and {sizes}"
        )
    fits = task.n_outputs == model.d_vocab_out
    if isinstance(task, PlainVectorTask):
        fits = fits and not model.reads_tokens and model.d_model == task.d_model
    else:
        tail = task.tail_contexts if isinstance(task, PlainTask) else ()
        most = max(token for context in (*task.contexts, *tail) for token in context)
        fits = fits and model.reads_tokens and sizes["context_length"] <= model.n_ctx and most < model.d_vocab
    if not fits:
        raise FileFormatError(f"{MODEL_FILE} and {TASK_FILE} do not fit each other: {sizes}")


@dataclass
class _Checker:
    """The statements of one certificate, checked one after the other."""

    folder: Path
    certificate: Certificate
    asked: Criterion
    evaluation: Evaluation
    full: bool
    workers: Workers | None

    @cached_property
    def targets(self) -> Targets:
        return Targets(self.evaluation.task)

    def checks(self) -> list[StatementCheck]:
        done: dict[str, StatementCheck] = {}
        # Saturation and rank come first: what they keep is let go before the answers are looked at.
        for id, check in ((SATURATION, self._saturation), (FEATURE_RANK, self._rank)):
            statement = self.certificate.statement(id)
            if statement is not None:
                done[id] = check(statement)
        for id in (RANK_HEADS, RANK_WITH_SKIP):
            statement = self.certificate.statement(id)
            if statement is not None:
                done[id] = self._rank_bounds(statement, independent=done.get(FEATURE_RANK))
        self.evaluation.forget_features()
        answers, done[ANSWERS] = self._answers()
        text = self.certificate.statement(TEXT_DIVERGENCE)
        if text is not None:
            done[TEXT_DIVERGENCE] = self._text_divergence(text, answers)
        divergence = self.certificate.statement(DIVERGENCE)
        if divergence is not None:
            done[DIVERGENCE] = self._divergence(divergence, answers)
        for statement in self.certificate.statements:
            if statement.id == RUNS:
                done[statement.label] = self._runs(statement)
            elif statement.id == TEXT:
                done[statement.label] = check_text(statement, self.certificate, self.evaluation.task, done)
        return [done[statement.label] for statement in self.certificate.statements]

    def _answers(self) -> tuple[list[Answer] | None, StatementCheck]:
        """The answers by 128 bits, if there are any, and the check."""
        guess = self.targets.guess(), self.targets.most_frequent()
        return _rising(self.certificate, self.asked, self.evaluation.task.sizes()["contexts"], guess, self._judged)

    def _runs(self, statement: Statement) -> StatementCheck:
        tolerance, progress = self.certificate.criterion.tolerance, self.evaluation.progress
        model, task = self.evaluation.model, self.evaluation.task
        return check_runs(statement, model, task, tolerance=tolerance, full=self.full, progress=progress)

    def _judged(self, examples: Sequence[int], bits: int) -> list[Answer]:
        return _judged(self.evaluation, self.targets, examples, bits)

    def _text_divergence(self, statement: Statement, answers: list[Answer] | None) -> StatementCheck:
        task, stored = self.evaluation.task, statement.values
        if not isinstance(task, PlainTask):
            return StatementCheck(TEXT_DIVERGENCE, Verdict.REFUTED, "vectors have no text", {})
        occurrences = sum(sum(counts.values()) for counts in (*task.counts, *task.tail_counts))
        if stored["occurrences"] != occurrences:
            reason = f"the text has {occurrences} occurrences of contexts, not {stored['occurrences']}"
            return StatementCheck(TEXT_DIVERGENCE, Verdict.REFUTED, reason, {})
        reason = f"not attempted: {len(task.tail_contexts)} more contexts take long; --full (full=True) proves them"
        check = StatementCheck(TEXT_DIVERGENCE, Verdict.UNDECIDED, reason, {})
        memorized = range(len(task.contexts))
        known = None if answers is None else sum(map(_weighed, answers, task.counts), arb(0))
        for bits in (FEW_BITS, *PRECISIONS):
            if not self.full and not self._microseconds(task, bits) <= _AFFORDABLE:
                break
            try:
                held = known if known is not None and bits <= BITS else _divergences(self.evaluation, memorized, bits)
                others = self._tail(task, bits)
            except NoInformationError as error:
                check = replace(check, reason=str(error))
                continue
            with ctx.workprec(max(bits, BITS)):
                check = _compare_mean(statement, (held + others) / occurrences, bits)
            if check.verdict is not Verdict.UNDECIDED:
                break
        return check

    def _tail(self, task: PlainTask, bits: int) -> arb:
        """The sum of n_t KL(c_t / n_t || softmax) over the contexts that are not memorized."""
        size = len(task.tail_contexts)
        if self.workers is None:
            tail = range(len(task.contexts), len(task.contexts) + size)
            return _divergences(self.evaluation, tail, bits)
        work = partial(_piece_of_the_tail, self.evaluation.model, task, bits)
        pieces = [range(start, min(start + _PIECE, size)) for start in range(0, size, _PIECE)]
        found: dict[range, tuple[_Dyadic, _Dyadic]] = {}
        for piece, result in completed(work, pieces, self.workers):
            if isinstance(result, WorkerError):
                result = work(piece)
            if isinstance(result, Exception):
                raise result
            found[piece] = result
            self.evaluation.progress("all contexts", len(found) / len(pieces), f"piece {len(found)} of {len(pieces)}")
        with ctx.workprec(bits):
            # In one order, whichever came first.
            return sum((arb(arb(found[piece][0]), arb(found[piece][1])) for piece in pieces), arb(0))

    def _microseconds(self, task: PlainTask, bits: int) -> float:
        """About how long the contexts of the tail take."""
        model, length = self.evaluation.model, len(task.contexts[0])
        if self.evaluation.is_network and bits <= BITS:
            n_heads = model.blocks[0].shape("W_Q")[0]
            of_context = n_heads * (8 + length * (1 + model.d_model / 64)) + 3 * model.d_vocab_out
        else:
            of_context = _MICROSECONDS_OF_A_PRODUCT * bits / BITS * length * model.parameters
        return len(task.tail_contexts) * of_context

    def _rank(self, statement: Statement) -> StatementCheck:
        columns, rows = int(statement.values["columns"]), int(statement.values["rows"])
        most = self._largest_rank(columns)
        if most is None or rows > most:
            reason = (
                f"the model has no features of {columns} columns"
                if most is None
                else f"{rows} rows of {columns} entries are linearly dependent: their rank is at most {most}"
            )
            return StatementCheck(FEATURE_RANK, Verdict.REFUTED, reason, {})
        if self.certificate.witness is None:
            reason = "the certificate has no witness, without which a proof would have to factor the matrix"
            return StatementCheck(FEATURE_RANK, Verdict.UNDECIDED, reason, {})
        with reading(path := self.folder / self.certificate.witness.file, "witness"):
            _, witness = read_safetensors(path, ("I32", "I64", "F64"))
        with_skip = self.evaluation.is_network and columns != self._feature_columns()
        check = StatementCheck(FEATURE_RANK, Verdict.UNDECIDED, "nothing was computed", {})
        # Features of very different sizes need more digits than the others.
        for bits, feature_bits in _FEATURE_PRECISIONS:
            if bits == BITS and feature_bits > SMALL and not self.evaluation.is_network:
                continue
            try:
                features = self.evaluation.features(bits=bits, feature_bits=feature_bits)
            except NoInformationError as error:
                check = replace(check, reason=str(error))
                continue
            self.evaluation.progress("feature rank", None, f"{rows} x {columns} integers")
            check = _check_rank(statement, features, witness, with_skip=with_skip)
            known = feature_bits > SMALL and features.features_error < _NO_MORE
            if known or check.verdict is not Verdict.UNDECIDED:
                break
        return check

    def _rank_bounds(self, statement: Statement, independent: StatementCheck | None) -> StatementCheck:
        """A rank from both sides; `independent` may have proved already that the rows are linearly independent."""
        stored, id, with_skip = statement.values, statement.id, statement.id == RANK_WITH_SKIP
        model, task = self.evaluation.model, self.evaluation.task
        reads_tokens = self.evaluation.is_network or self.evaluation.is_heads_alone
        if not (reads_tokens or (self.evaluation.is_layer and not with_skip)):
            return StatementCheck(id, Verdict.REFUTED, "the model has no such features", {})
        rows, columns = int(stored["rows"]), self._feature_columns() + (model.d_model if with_skip else 0)
        if stored["columns"] != columns:
            return StatementCheck(id, Verdict.REFUTED, f"the matrix has {columns} columns", {})
        full = self.certificate.statement(FEATURE_RANK)
        if full is not None and independent is not None and independent.verdict is Verdict.PROVED:
            if full.values["columns"] <= columns:  # more columns leave the rows independent
                return compare_ranks(statement, rows, rows, rows, "the witness of linearly independent rows")
        smaller = min(rows, columns)
        if stored["lower"] == smaller and (bits := self._bits_of_rank(smaller, with_skip)):
            return compare_ranks(statement, smaller, smaller, smaller, f"determinants in balls of {bits} bits")
        self.evaluation.progress("rank", None, "integer matrices")
        all_weights = min(smaller, upper_for_all_weights(model, task, with_skip=with_skip))
        upper = min(all_weights, upper_for_these_weights(model, task, with_skip=with_skip))
        least = min(int(stored["upper"]), int(stored["all_weights_upper"]))
        # The first refutes a bound from above that is too small, the second proves the one from below.
        for target in (*([least + 1] if least < upper else []), int(stored["lower"])):
            if target <= upper and (bits := self._bits_of_rank(target, with_skip)) is not None:
                return compare_ranks(statement, target, upper, all_weights, f"determinants in balls of {bits} bits")
        return compare_ranks(statement, 0, upper, all_weights, "integer matrices")

    def _bits_of_rank(self, rank: int, with_skip: bool) -> int | None:
        """The precision at which the features are proved to have a rank, if one is enough."""
        for bits in PRECISIONS if rank <= LARGEST_DETERMINANT else ():
            if bits > _MOST_RANK_BITS:
                break
            self.evaluation.progress("rank", None, f"at least {rank}, balls of {bits} bits")
            try:
                matrix = self.evaluation.feature_balls(bits=bits, with_skip=with_skip)
            except NoInformationError:
                continue
            with ctx.workprec(bits):
                if has_rank(matrix, rank):
                    return bits
        return None

    def _divergence(self, statement: Statement, answers: list[Answer] | None) -> StatementCheck:
        task, check = self.evaluation.task, StatementCheck(DIVERGENCE, Verdict.UNDECIDED, "nothing was computed", {})
        if not isinstance(task, PlainTask) or task.laws is None:
            return StatementCheck(DIVERGENCE, Verdict.REFUTED, "the task has no laws", {})
        occurrences = [sum(counts.values()) for counts in task.counts]
        if statement.values["occurrences"] != sum(occurrences):
            reason = f"the contexts have {sum(occurrences)} occurrences, not {statement.values['occurrences']}"
            return StatementCheck(DIVERGENCE, Verdict.REFUTED, reason, {})
        for bits in PRECISIONS:
            try:
                known = answers if bits == BITS and answers else self._judged(range(len(task.contexts)), bits)
            except NoInformationError as error:
                check = replace(check, reason=str(error))
                continue
            with ctx.workprec(bits):
                check = compare_divergences(statement, _loss_bounds([each.loss for each in known], occurrences))
            if check.verdict is not Verdict.UNDECIDED:
                break
        return check

    def _feature_columns(self) -> int:
        heads, d_model, _ = self.evaluation.model.blocks[0].shape("W_Q")
        return heads * (d_model if self.evaluation.is_layer else self.evaluation.model.blocks[0].shape("W_V")[2])

    def _largest_rank(self, columns: int) -> int | None:
        """What the rank of features of so many columns cannot exceed, if the model has any."""
        task = self.evaluation.task
        if self.evaluation.is_network:
            alone = self._feature_columns()
            return columns if columns in (alone, alone + self.evaluation.model.d_model) else None
        if not self.evaluation.is_layer or columns != self._feature_columns():
            return None
        assert isinstance(task, PlainVectorTask)
        n_contexts, n_ctx, _ = task.contexts.shape
        n_heads = self.evaluation.model.blocks[0].shape("W_Q")[0]
        return min(columns, n_heads * (n_ctx - 1) + 1) if n_contexts == 1 else columns  # Lemma Y1

    def _saturation(self, statement: Statement) -> StatementCheck:
        stored, check = statement.values, None
        model, contexts = self.evaluation.model, self.evaluation.task.sizes()["contexts"]
        if not self.evaluation.is_layer or stored["pairs"] != contexts * model.blocks[0].shape("W_Q")[0]:
            return StatementCheck(SATURATION, Verdict.REFUTED, "the model has another number of pairs", {})
        check = StatementCheck(SATURATION, Verdict.UNDECIDED, "nothing was computed", {})
        for bits in PRECISIONS:
            try:
                shares = [share for row in self.evaluation.shares(bits=bits) for share in row]
            except NoInformationError as error:
                check = replace(check, reason=str(error))
                continue
            with ctx.workprec(bits):
                check = _check_shares(statement, shares)
            if check.verdict is not Verdict.UNDECIDED:
                break
        return check


def _rising(
    certificate: Certificate,
    asked: Criterion,
    size: int,
    guess: tuple[arb, int | None],
    judged: Callable[[Sequence[int], int], list[Answer]],
) -> tuple[list[Answer] | None, StatementCheck]:
    """The answers by 128 bits, if there are any, and the check; what is open is asked again with more bits."""
    first, answers = None, dict[int, Answer]()
    open_ones: Sequence[int] = range(size)
    check = StatementCheck(ANSWERS, Verdict.UNDECIDED, "nothing was computed", {})
    for bits in PRECISIONS:
        try:
            answers |= zip(open_ones, judged(open_ones, bits), strict=True)
        except NoInformationError as error:
            if not answers:
                check = replace(check, reason=str(error))
            continue
        known = [answers[i] for i in range(size)]
        first = known if bits == BITS else first
        with ctx.workprec(bits):
            check = _check_answers(certificate.answers, certificate, asked, known, guess)
            found = certificate.subject.outcome(asked, check.values)
            if Verdict.UNDECIDED not in (check.verdict, found.verdict):
                break
            open_ones = _open(certificate, asked, known)
        if not open_ones:
            break
    return first, check


def _judged(evaluation: Evaluation, targets: Targets, examples: Sequence[int], bits: int) -> list[Answer]:
    logarithms: dict[int, arb] = {}
    answers: dict[int, Answer] = {}
    told = 0
    with ctx.workprec(bits):
        for places, row, error in evaluation.outputs(examples, bits=bits, label="answers"):
            known = targets.answers([examples[place] for place in places], row, error, logarithms)
            answers |= zip(places, known, strict=True)
            if len(answers) >= told + 64:
                told = len(answers)
                evaluation.progress("answers", told / len(examples), f"context {told} of {len(examples)}")
    return [answers[place] for place in range(len(examples))]


def _check_prompts(
    model: PlainModel, task: PlainPromptTask, certificate: Certificate, asked: Criterion, progress: Progress
) -> StatementCheck:
    """The answers of several tokens, each token asked behind those before it."""

    def judged(facts: Sequence[int], bits: int) -> list[Answer]:
        found: dict[int, list[Answer]] = {fact: [] for fact in facts}
        for part, of in task.asked(list(facts)):
            answers = _judged(Evaluation(model, part, progress), Targets(part), range(len(of)), bits)
            for fact, answer in zip(of, answers, strict=True):
                found[fact].append(answer)
        with ctx.workprec(bits):
            return [whole(found[fact]) for fact in facts]

    guess = task.guess(), task.most_frequent()
    return _rising(certificate, asked, len(task.prompts), guess, judged)[1]


def _figures(answers: list[Answer], target: str, tolerance: float, guess: tuple[arb, int | None]) -> dict[str, Number]:
    limit = ball(tolerance)
    held = [each for each in answers if each.held(target, limit)]
    values: dict[str, Number] = {
        "contexts": len(answers),
        "held": len(held),
        "wrong": sum(each.wrong(target, limit) for each in answers),
    }
    margins = [each.margin.lower() for each in held if each.margin is not None]
    if margins:
        values["margin_lower"] = outward(min(margins), -1)
    if all(each.loss.is_finite() for each in answers):
        mean = mean_loss(answers)
        values["mean_lower"] = outward(at_least_zero(mean), -1)
        values["mean_upper"] = outward(mean.upper(), 1)
        values["max_upper"] = max(outward(each.loss.upper(), 1) for each in answers)
    loss, count = guess
    if loss.is_finite():
        values["guess_lower"] = outward(at_least_zero(loss), -1)
        if target != "values":  # of values the guess may be worse than that
            values["guess_upper"] = outward(loss.upper(), 1)
    if count is not None:
        values[GUESS] = count
    return values


def _check_answers(
    statement: Statement,
    certificate: Certificate,
    asked: Criterion,
    answers: list[Answer],
    guess: tuple[arb, int | None],
) -> StatementCheck:
    stored, target, tolerance = statement.values, certificate.subject.target, certificate.criterion.tolerance
    limit = ball(tolerance)
    figures = _figures(answers, target, asked.tolerance, guess)
    everything = range(len(answers)) if stored["held"] else ()
    named = held_mask(statement.held, len(answers)) if statement.held else set(everything)
    held = {i for i, each in enumerate(answers) if each.held(target, limit)}
    wrong = {i for i, each in enumerate(answers) if each.wrong(target, limit)}

    def checked(verdict: Verdict, reason: str) -> StatementCheck:
        return StatementCheck(ANSWERS, verdict, reason, figures)

    if named & wrong:
        first = min(named & wrong)
        names = counted(len(named & wrong), "context")
        return checked(Verdict.REFUTED, f"it names {names} not held, first context {first}")
    if len(answers) - len(held) < stored["wrong"]:
        return checked(Verdict.REFUTED, f"at least {counted(len(held), 'context')} held, more than it leaves")
    if named - held:
        return checked(Verdict.UNDECIDED, f"context {min(named - held)}, which it names, was not decided")
    if len(wrong) < stored["wrong"]:
        return checked(Verdict.UNDECIDED, f"only {counted(len(wrong), 'context')} proved not to be held")
    if "margin_lower" in stored:
        least = ball(stored["margin_lower"])
        gaps = [gap for i in named if (gap := answers[i].margin) is not None]
        if any(gap < least for gap in gaps):
            return checked(Verdict.REFUTED, "the stored margin is larger than the least one")
        if not all(least <= gap for gap in gaps):
            return checked(Verdict.UNDECIDED, "the least margin and the stored one cannot be told apart")
    if "max_upper" in stored:
        most, most_mean, mean = ball(stored["max_upper"]), ball(stored["mean_upper"]), mean_loss(answers)
        if mean > most_mean or any(each.loss > most for each in answers):
            return checked(Verdict.REFUTED, "a loss is larger than the stored bound")
        if not (mean <= most_mean and all(each.loss <= most for each in answers)):
            return checked(Verdict.UNDECIDED, "a loss and the stored bound cannot be told apart")
    if "guess_lower" in stored and not ball(stored["guess_lower"]) <= guess[0]:
        if not stored["guess_lower"] <= 0:
            return checked(Verdict.UNDECIDED, "the stored loss of a guess does not follow")
    if stored.get(GUESS) != guess[1]:
        return checked(Verdict.REFUTED, f"the most frequent label holds {guess[1]}, not so many")
    size = counted(figures["contexts"], "context")
    count = f"mean over {size}" if asked.asked == "at-most" else f"{figures['held']} of {size}"
    return checked(Verdict.PROVED, f"{count}, balls of {ctx.prec} bits")


def _open(certificate: Certificate, asked: Criterion, answers: list[Answer]) -> Sequence[int]:
    """The contexts that leave the statement or the question open, and that smaller balls may decide."""
    stored, target = certificate.answers.values, certificate.subject.target
    limits = [ball(tolerance) for tolerance in {certificate.criterion.tolerance, asked.tolerance}]
    means = [ball(bound) for bound in (stored.get("mean_upper"), asked.bound) if bound is not None]
    mean = mean_loss(answers)
    if not all(mean <= bound or mean > bound for bound in means):
        return range(len(answers))

    def is_open(each: Answer) -> bool:
        decided = all(each.held(target, limit) or each.wrong(target, limit) for limit in limits)
        if "max_upper" in stored:
            most = ball(stored["max_upper"])
            decided = decided and (each.loss <= most or each.loss > most)
        if "margin_lower" in stored and each.margin is not None:
            least = ball(stored["margin_lower"])
            decided = decided and (each.margin >= least or each.margin < least)
        return not decided

    return [i for i, each in enumerate(answers) if is_open(each)]


def _divergences(evaluation: Evaluation, examples: Sequence[int], bits: int) -> arb:
    """The sum of n_t KL(c_t / n_t || softmax) over some examples of a text."""
    task = evaluation.task
    assert isinstance(task, PlainTask)
    total, logarithms, counts = arb(0), dict[int, arb](), [*task.counts, *task.tail_counts]
    if not examples:
        return total
    with ctx.workprec(bits):
        for places, row, error in evaluation.outputs(examples, bits=bits, label="all contexts"):
            softmax = LogSoftmax.of(row, error)
            for i in (examples[place] for place in places):
                divergence = softmax.divergence(counts[i], logarithms)
                total += sum(counts[i].values()) * divergence
    return total


_Dyadic = tuple[int, int]  # an integer, and the exponent of the power of two that it is multiplied by


def _piece_of_the_tail(model: PlainModel, task: PlainTask, bits: int, piece: range) -> tuple[_Dyadic, _Dyadic]:
    """The midpoint and the radius of `_divergences` over a piece of the tail, contexts of one ending side by side."""
    order = sorted(range(len(task.tail_contexts)), key=lambda i: task.tail_contexts[i][::-1])
    examples = [len(task.contexts) + order[place] for place in piece]
    total = _divergences(Evaluation(model, task, silent), examples, bits)
    if not total.is_finite():
        raise NoInformationError(f"the divergence of the contexts {piece} of the tail is not finite")
    (m, e), (r, f) = total.mid().man_exp(), total.rad().man_exp()
    return (int(m), int(e)), (int(r), int(f))


def _weighed(found: Answer, counts: dict[int, int]) -> arb:
    assert found.empirical is not None
    return sum(counts.values()) * found.empirical


def _loss_bounds(losses: list[arb], weights: list[int]) -> dict[str, Number]:
    """Bounds of the largest loss and of the weighted mean, by the names of a statement on divergences."""
    mean = sum(map(mul, losses, weights), arb(0)) / sum(weights)
    values: dict[str, Number] = {"max_lower": 0.0, "mean_lower": 0.0}
    if mean.is_finite():
        values["max_lower"] = max(outward(at_least_zero(loss), -1) for loss in losses)
        values["max_upper"] = max(outward(loss.upper(), 1) for loss in losses)
        values["mean_lower"] = outward(at_least_zero(mean), -1)
        values["mean_upper"] = outward(mean.upper(), 1)
    return values


def _compare_mean(statement: Statement, mean: arb, bits: int) -> StatementCheck:
    stored = statement.values
    values: dict[str, Number] = {}
    if mean.is_finite():
        values = {"lower": outward(at_least_zero(mean), -1), "upper": outward(mean.upper(), 1)}
    lower, upper = ball(stored["lower"]), ball(stored["upper"])
    if lower <= at_least_zero(mean) and mean <= upper:
        reason = f"balls of {bits} bits for all {stored['contexts']} contexts"
        return StatementCheck(TEXT_DIVERGENCE, Verdict.PROVED, reason, values)
    if mean < lower or mean > upper:
        reason = "the mean divergence is outside of the stored interval"
        return StatementCheck(TEXT_DIVERGENCE, Verdict.REFUTED, reason, values)
    reason = "the mean divergence straddles an end of the stored interval"
    return StatementCheck(TEXT_DIVERGENCE, Verdict.UNDECIDED, reason, values)


def _check_rank(
    statement: Statement, features: FeatureMatrix, witness: dict[str, PlainArray], *, with_skip: bool
) -> StatementCheck:
    bounds = rank_bounds(features, with_skip, witness)
    if bounds is None:
        return StatementCheck(FEATURE_RANK, Verdict.UNDECIDED, "the witness does not prove that the rank is full", {})
    smallest, condition = bounds
    values: dict[str, Number] = {
        "smallest_singular_value_lower": outward(smallest, -1),
        "condition_upper": outward(condition, 1),
    }
    stored = {name: Fraction(value) for name, value in statement.values.items()}
    follows = stored.get("smallest_singular_value_lower", Fraction(0)) <= smallest
    if follows and ("condition_upper" not in stored or condition <= stored["condition_upper"]):
        reason = f"integer products, {statement.values['rows']} x {statement.values['columns']}"
        return StatementCheck(FEATURE_RANK, Verdict.PROVED, reason, values)
    reason = "the rank is full, but the stored bounds are tighter than what the witness proves"
    return StatementCheck(FEATURE_RANK, Verdict.UNDECIDED, reason, values)


def _check_shares(statement: Statement, shares: list[arb]) -> StatementCheck:
    stored = statement.values
    limit = 1 - ball(stored["delta"])
    surely = sum(1 for share in shares if share > limit)
    perhaps = len(shares) - sum(1 for share in shares if share <= limit)
    values: dict[str, Number] = {"saturated_lower": surely}
    if stored["saturated_lower"] <= surely:
        return StatementCheck(SATURATION, Verdict.PROVED, f"{surely} of {len(shares)} pairs", values)
    if perhaps < stored["saturated_lower"]:
        return StatementCheck(SATURATION, Verdict.REFUTED, f"at most {perhaps} pairs are saturated", values)
    reason = "some weights and the limit cannot be told apart"
    return StatementCheck(SATURATION, Verdict.UNDECIDED, reason, values)
