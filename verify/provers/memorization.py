"""Certify what a model does with a task, and prove it again.

Page: docs/rigour/certificate.md
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from constructions.arrays import Float64Array
from constructions.counted import counted
from constructions.errors import InputError
from constructions.files import write_atomically
from constructions.memory_budget import require_memory
from constructions.models.construction import require_fit
from constructions.models.model import Model
from constructions.models.shapes import is_dana_network, is_heads_alone, is_mahdavi_layer
from constructions.tasks.any_task import AnyTask
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Task
from constructions.tasks.vectors import load_task
from constructions.tensor_file import tensor_bytes
from verify.arithmetic import blas
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.exact_json import Number, lowered, raised
from verify.arithmetic.sums import total
from verify.certificates.certificate import (
    ANSWERS,
    DIVERGENCE,
    FEATURE_RANK,
    GUESS,
    RANK_HEADS,
    RANK_WITH_SKIP,
    RUNS,
    SATURATION,
    TEXT,
    TEXT_DIVERGENCE,
    VERSION,
    WITNESS_FILE,
    WITNESS_FORMAT,
    Certificate,
    CheckReport,
    Statement,
    StatementCheck,
    Subject,
    Witness,
    held_mask,
    mask_text,
)
from verify.certificates.headline import Outcome, outcome
from verify.certificates.loading import load_certified
from verify.certificates.provenance import provenance
from verify.divergence.kullback_leibler import empirical_divergence
from verify.forward.heads import AttendedVectors, enclose_features, enclose_layer
from verify.forward.logits import logit_chunks
from verify.progress import Progress, silent
from verify.provers.answer_bounds import Answers, ArgmaxProof, guess_loss, judge_answers
from verify.provers.divergence import check_divergence, prove_divergence, widened
from verify.provers.domain import check_domain, check_fold, sampled_seed
from verify.provers.feature_rank import check_feature_rank, prove_feature_rank
from verify.provers.rank_heads import check_rank, prove_rank
from verify.provers.runs import check_runs, check_text
from verify.provers.saturation import check_saturation, prove_saturation
from verify.verdict import Verdict

_SLACK = 2.0**-14  # relative; what a stored bound gives away so that another BLAS proves it too: nobody sees it
_TINY = 2.0**-30  # of laws and values: losses below it come from radii of enclosures, which depend on the machine
_TINY_SLACK = 2.0**-2
_LARGEST = 2.0**1000  # what is larger is no bound worth storing


@dataclass(frozen=True, eq=False)
class MemorizationCertificate:
    """A certificate, with the proved bounds of each context that are not stored in it.

    Args:
        certificate: What is written to ``certificate.json``.
        witness: The bytes of ``witness.safetensors``, or `None`.
        answers: The bounds of each context.
        empirical_divergence: Enclosure of KL(counts || softmax) of every context of a text, memorized ones first, nats,
            `[M]`; none for vectors.
    """

    certificate: Certificate
    witness: bytes | None
    answers: Answers
    empirical_divergence: Enclosure | None

    def save(self, folder: Path) -> None:
        """Write ``certificate.json`` and, if there is one, ``witness.safetensors`` into `folder`, each atomically."""
        if self.witness is not None:
            write_atomically(Path(folder) / WITNESS_FILE, self.witness)
        self.certificate.save(folder)


@dataclass(frozen=True, eq=False)
class Judged:
    """What a model does with a task, proved here and now.

    Args:
        outcome: The answer to the question, with its first line.
        values: The numbers that it follows from, by the names of an ``answers`` statement.
        answers: The bounds of each context.
    """

    outcome: Outcome
    values: dict[str, Number]
    answers: Answers


def judge(
    model: Model,
    task: AnyTask,
    criterion: Criterion | None = None,
    *,
    keep_outputs: bool = False,
    progress: Progress | None = None,
) -> Judged:
    r"""Answer a question about a model and a task, without a certificate.

    Args:
        model: The weights.
        task: The contexts and their targets.
        criterion: What is asked; by default that every context is held.
        keep_outputs: Return the enclosed outputs; 16 T N bytes.
        progress: Called with the stage and the finished share of it.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> swap = Model(blocks=(), W_U=np.eye(2)[::-1], W_E=np.eye(2), W_pos=np.zeros((1, 2)))
        >>> judge(swap, table_task("a,b\nb,a\n")).outcome.word
        'HELD, PROVED'
    """
    require_fit(model, task)
    asked = criterion or Criterion()
    answers = judge_answers(model, task, asked, keep_outputs=keep_outputs, progress=progress or silent)
    values = _figures(task, asked, answers)
    return Judged(outcome(values, asked, target=task.target, origin=task.origin), values, answers)


def certify_memorization(
    model: Model,
    task: AnyTask,
    criterion: Criterion | None = None,
    *,
    rank: bool = False,
    rank_of_heads: bool = False,
    rank_with_skip: bool = False,
    divergence: bool = False,
    saturation: Fraction | float | None = None,
    witness: bool = True,
    keep_outputs: bool = False,
    beyond: ArgmaxProof | None = None,
    progress: Progress | None = None,
) -> MemorizationCertificate:
    r"""Prove what the model with these very float64 weights does, in real arithmetic, with the contexts of the task.

    The certificate answers the question of the criterion: how many contexts are held and how many are not, with bounds
    of the margins and losses. For a text with contexts beside the memorized ones it also bounds the mean divergence
    over all of them. Only what is asked for is stated beside that: the rank of the features, the divergence from both
    sides, the saturation of the heads; and only what is proved is stated.

    Every number comes from an enclosure. For laws the divergence is bounded by $\frac18 \mathrm{range}(z_t - \log
    \pi_t)^2$ where that is small, and enclosed elsewhere; for labels it is $\log(1 + \sum_{j \ne l} e^{z_j - z_l})$. A
    bound is stored with a slack that nobody sees ($2^{-14}$ of itself; a quarter where it is a loss below $10^{-9}$,
    which is the square of a radius; for a margin also the distance of its bounds), so that a proof on another machine,
    whose roundings differ, proves it too.

    Args:
        model: The weights: any model of blocks.
        task: The contexts and their targets.
        criterion: What is asked; by default that every context is held.
        rank: State that the features of the contexts are linearly independent, if they are proved to be; for a model of
            one attention.
        rank_of_heads: State between which bounds the rank of what the heads alone read from the contexts lies, for
            these weights and for all of these sizes; for a model of one attention.
        rank_with_skip: The same of the matrix that has the embedded last token beside it; for contexts of tokens.
        divergence: State between which ends the largest and the mean divergence of the prediction from the law lie; for
            laws.
        saturation: State how many pairs of a head and a context have an attention weight above 1 minus this.
        witness: Keep what lets the independent reader prove the rank with integers; 4 to 8 T^2 bytes.
        keep_outputs: Return the enclosed outputs; 16 T N bytes.
        beyond: As for `verify.provers.answer_bounds.judge_answers`.
        progress: Called with the stage and the finished share of it.

    Returns:
        The certificate, with the bounds of each context.

    Raises:
        InputError: The model cannot read the contexts of the task, or has other outputs.
        ResourceError: There is too little memory.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Example:
        >>> from constructions.models.shapes import dana_network
        >>> from constructions.tasks.table import table_task
        >>> task = table_task("a,x\nb,y\n", target="labels")  # the tokens are a and b, the answers x and y
        >>> nothing = np.zeros((0, 2, 1))
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((1, 2)), W_Q=nothing, W_K=nothing, W_V=nothing,
        ...                        W_O=np.zeros((0, 1, 2)), W_U=np.eye(2))
        >>> certify_memorization(network, task).certificate.headline()[:12]
        'HELD, PROVED'
    """
    require_fit(model, task)
    asked = criterion or Criterion()
    limit = None if saturation is None else Fraction(saturation)
    if limit is not None and (model.reads_tokens or not 0 < limit < 1):
        raise InputError("saturation", f"= {saturation}", "a number in (0, 1), for a task of vectors")
    ranked = rank or rank_of_heads or rank_with_skip
    listing, facts = task.listing, task.facts
    if ranked and listing is None:
        raise InputError("rank", "is that of contexts of one length")
    if rank_with_skip and not model.reads_tokens:
        raise InputError(
            "rank_with_skip", "is asked of a task of vectors, whose model has no skip connection", "tokens"
        )
    if divergence and task.target != "laws":
        raise InputError("divergence", f"is asked of a task of {task.target}", "a task of laws")
    if (rank or limit is not None) and not _is_one_attention(model):
        raise InputError("rank and saturation", "are those of a model of one attention, this one has other blocks")
    if ranked and not _has_features(model):
        raise InputError("rank", "is that of a model of one attention, this one has other blocks")
    require_memory(
        _estimated_bytes(model, task, ranked=ranked), purpose=f"a certificate for {task.n_contexts} contexts"
    )
    blas.probe()
    show = progress or silent
    seen = _see(model, task, show, ranked=ranked)
    answers = judge_answers(
        model, task, asked, keep_outputs=keep_outputs, two_sided=divergence, beyond=beyond, progress=show
    )
    subject = subject_of(model, task)
    statements = [_state_answers(subject, asked, answers, task)]
    empirical = None
    if facts is not None and answers.empirical is not None:
        empirical = _concatenated(answers.empirical, _judge_tail(model, facts, progress=show))
        if len(facts.tail_contexts):
            statements += _state_text(facts, empirical)
    arrays = None
    if rank and seen.features is not None and listing is not None:
        ranked, arrays = prove_feature_rank(model, listing, seen.features, witness=witness, progress=show)
        statements += [] if ranked is None else [ranked]
    if limit is not None and seen.heads is not None:
        statements.append(prove_saturation(seen.heads, limit))
    if seen.features is not None and listing is not None:
        for with_skip, wanted in ((False, rank_of_heads), (True, rank_with_skip)):
            if wanted:
                statements.append(prove_rank(model, listing, seen.features, with_skip=with_skip, progress=show))
    if divergence and facts is not None:
        diverging = prove_divergence(facts, answers)
        statements += [] if diverging is None else [diverging]
    data = None if arrays is None else tensor_bytes(arrays, metadata={"format": WITNESS_FORMAT, "version": VERSION})
    certificate = Certificate(
        subject=subject,
        criterion=asked,
        statements=tuple(statements),
        provenance=provenance() | {"decided by": answers.decided_by()},
        witness=None if data is None else Witness.of(data),
    )
    return MemorizationCertificate(certificate, data, answers, empirical)


def check_memorization(
    folder: Path,
    criterion: Criterion | None = None,
    *,
    sample_seed: str | None = None,
    beyond: ArgmaxProof | None = None,
    progress: Progress | None = None,
) -> CheckReport:
    """Answer the question of the certificate in `folder` again, or another, from the weights and the task alone.

    The hashes are compared first; then every statement is proved anew by the same methods that `certify_memorization`
    uses, and its stored bounds must follow. Nothing that is stored is used in a proof. Somebody who changes the files
    and all hashes with them is left with a true certificate about other files, or with one that fails here.

    Args:
        folder: A folder with ``certificate.json``, ``model.safetensors`` and ``task.safetensors``.
        criterion: What is asked; by default what the certificate asks.
        sample_seed: As for `verify.provers.domain.check_domain`.
        beyond: As for `verify.provers.answer_bounds.judge_answers`.
        progress: Called with the stage and the finished share of it.

    Returns:
        The answer, and the verdict on each statement: PROVED with the bounds as stored, REFUTED if the opposite was
        proved, or UNDECIDED.

    Raises:
        FileFormatError: A file is missing or is not what it should be, or is named by no certificate.
        TamperedError: A hash or a digest differs.
        ResourceError: There is too little memory.
        BlasError: The arithmetic of this machine does not keep what the proofs need.
    """
    folder = Path(folder)
    certificate = Certificate.load(folder)
    if certificate.subject.is_of_a_fold:
        sampled_seed(certificate, sample_seed)
        return check_fold(folder, certificate, criterion, progress=progress or silent)
    if certificate.subject.is_of_a_rule:
        return check_domain(folder, certificate, criterion, sample_seed=sample_seed, progress=progress or silent)
    sampled_seed(certificate, sample_seed)
    model, task = load_subject(folder, certificate)
    ranked = any(certificate.statement(id) for id in (FEATURE_RANK, RANK_HEADS, RANK_WITH_SKIP))
    diverging = certificate.statement(DIVERGENCE) is not None
    require_memory(_estimated_bytes(model, task, ranked=ranked), purpose=f"checking {task.n_contexts} contexts")
    blas.probe()
    show = progress or silent
    asked = criterion or certificate.criterion
    seen = _see(model, task, show, ranked=ranked)
    # Bounds from below are wanted for a question about the mean, whichever of the two asks it.
    either = asked if asked.asked == "at-most" else certificate.criterion
    answers = judge_answers(model, task, either, two_sided=diverging, beyond=beyond, progress=show)
    listing, facts = task.listing, task.facts
    checks: list[StatementCheck] = []
    for statement in certificate.statements:
        if statement.id == ANSWERS:
            checks.append(_check_answers(statement, certificate, asked, answers, task))
        elif statement.id == RUNS:
            tolerance = certificate.criterion.tolerance
            checks.append(check_runs(statement, model, task, tolerance=tolerance, progress=show))
        elif statement.id == TEXT:
            known = {check.id: check for check in checks}
            checks.append(check_text(statement, certificate, task, known))
        elif statement.id == TEXT_DIVERGENCE:
            checks.append(_check_text(statement, model, task, answers, show))
        elif statement.id == FEATURE_RANK:
            if seen.features is None or listing is None or not _is_one_attention(model):
                checks.append(StatementCheck(FEATURE_RANK, Verdict.REFUTED, "the model has no such features", {}))
            else:
                checks.append(check_feature_rank(statement, model, listing, seen.features, progress=show))
        elif statement.id == SATURATION:
            checks.append(check_saturation(statement, seen.heads))
        elif statement.id in (RANK_HEADS, RANK_WITH_SKIP):
            if seen.features is None or listing is None:
                checks.append(StatementCheck(statement.id, Verdict.REFUTED, "the model has no such features", {}))
            else:
                checks.append(check_rank(statement, model, listing, seen.features, progress=show))
        elif statement.id == DIVERGENCE and facts is not None:
            checks.append(check_divergence(statement, facts, answers))
    return CheckReport(certificate, asked, tuple(checks), f"proved bounds: {answers.decided_by()}")


def subject_of(model: Model, task: AnyTask) -> Subject:
    """What a certificate about this model and this task is about."""
    sizes = {
        "contexts": task.n_contexts,
        "context_length": task.n_ctx,
        "outputs": model.d_vocab_out,
        "all_contexts": task.n_all,
        "parameters": model.parameters,
    }
    return Subject(model.sha256(), task.sha256(), task.target, task.origin, sizes)


def load_subject(folder: Path, certificate: Certificate) -> tuple[Model, AnyTask]:
    """The model and the task in `folder`, if they are those that the certificate is about.

    Raises:
        FileFormatError: A file is missing, is not what it should be, or asks for more memory than there is; or the two
            do not fit each other.
        TamperedError: A hash or a size differs.
        InputError: The certificate is about a rule on a whole domain, which has no list of contexts.
    """
    folder = Path(folder)
    if certificate.subject.is_of_a_rule:
        raise InputError(folder, "holds a rule on a whole domain", "a list of contexts; `check` proves it again")
    return load_certified(folder, certificate, read=load_task, subject_of=subject_of, kind="task")


@dataclass(frozen=True, eq=False)
class _Seen:
    """What the heads of a model of one attention make of the contexts."""

    features: Enclosure | None
    heads: AttendedVectors | None


def _see(model: Model, task: AnyTask, progress: Progress, *, ranked: bool) -> _Seen:
    if not _has_features(model):
        return _Seen(None, None)
    listing = task.listing
    if not model.reads_tokens and listing is not None:
        heads = enclose_layer(model, listing.inputs, progress=progress)
        return _Seen(heads.mixed, heads)
    if not ranked or listing is None:
        return _Seen(None, None)  # the logits are enclosed a few contexts at a time
    progress("features", None, f"{task.n_contexts} x {model.n_heads * model.d_head}")
    return _Seen(enclose_features(model, listing.inputs), None)


def _is_one_attention(model: Model) -> bool:
    return is_dana_network(model) or is_mahdavi_layer(model)


def _has_features(model: Model) -> bool:
    """Whether what its heads read has a rank of which a certificate may speak."""
    return _is_one_attention(model) or is_heads_alone(model)


def _estimated_bytes(model: Model, task: AnyTask, *, ranked: bool) -> int:
    """Estimated peak: copies of the features, five square matrices, and what is done in chunks."""
    size = task.n_contexts
    if not _has_features(model) or (model.reads_tokens and not ranked):
        return 8 * (6 * model.parameters + 2**25) + 2**28
    if not model.reads_tokens:
        columns = model.n_heads * model.d_model
        return 8 * (6 * size * columns + 5 * size**2 + 8 * model.d_vocab_out * (columns + size)) + 2**28
    return 8 * (3 * size * model.n_heads * model.d_head + 5 * size**2) + 2**28


# ---------------------------------------------------------------------------------------------------------------------
# The answers.


def _figures(task: AnyTask, criterion: Criterion, answers: Answers) -> dict[str, Number]:
    """What was proved about the answers, without slack."""
    held, wrong = answers.held(task.target, criterion.tolerance), answers.wrong(task.target, criterion.tolerance)
    values: dict[str, Number] = {"contexts": len(held), "held": int(held.sum()), "wrong": int(wrong.sum())}
    if held.any() and task.target != "values":
        values["margin_lower"] = float(answers.margin_lower[held].min())
        if not 0.0 < values["margin_lower"] < _LARGEST:  # where every token is a mode of every context, there is none
            del values["margin_lower"]
    lower, upper = answers.mean_loss()
    most = float(answers.loss_upper.max())
    values["mean_lower"] = lower
    if upper < _LARGEST and most < _LARGEST:
        values |= {"mean_upper": upper, "max_upper": most}
    guess = guess_loss(task)
    least = max(0.0, float(guess.lower()))
    if least < _LARGEST:
        values["guess_lower"] = least
    if task.target != "values" and float(guess.upper()) < _LARGEST:  # of values the guess may be worse than that
        values["guess_upper"] = float(guess.upper())
    if task.target == "labels":
        values[GUESS] = task.guess_held
    return values


def _state_answers(subject: Subject, criterion: Criterion, answers: Answers, task: AnyTask) -> Statement:
    values, held = _figures(task, criterion, answers), answers.held(task.target, criterion.tolerance)
    for name in ("mean_lower", "guess_upper"):  # what only refutes is proved again, and not stored
        values.pop(name, None)
    if "margin_lower" in values:
        values["margin_lower"] = lowered(
            _margin_elsewhere(answers.margin_lower[held], answers.margin_upper[held]), _SLACK
        )
        if not values["margin_lower"] > 0.0:
            del values["margin_lower"]
    for name in ("mean_upper", "max_upper"):
        if name in values:
            values[name] = _loss_above(float(values[name]), subject.target)
    if criterion.asked == "at-most" and "mean_upper" in values:
        # A slack that nobody sees must not turn a yes into a no.
        exact = _figures(task, criterion, answers)["mean_upper"]
        if exact <= Fraction(criterion.bound or 0.0) < values["mean_upper"]:
            values["mean_upper"] = float(criterion.bound or 0.0)
    if "guess_lower" in values:
        values["guess_lower"] = lowered(float(values["guess_lower"]), _SLACK)
    return Statement(ANSWERS, "enclosure of the outputs", values, mask_text(held.tolist()))


def _margin_elsewhere(lower: Float64Array, upper: Float64Array) -> float:
    """What another order of summation proves too of the least margin, but at least half of what is proved here.

    Its bounds hold the same margin and are as far apart as these, so its lower one is below ours by that at most.
    """
    with np.errstate(invalid="ignore"):  # an infinite margin is above no other
        return float(np.minimum(lower, np.fmax(2.0 * lower - upper, 0.5 * lower)).min())


def _loss_above(bound: float, target: str) -> float:
    return raised(bound, _TINY_SLACK if target != "labels" and bound < _TINY else _SLACK)


def _check_answers(
    statement: Statement,
    certificate: Certificate,
    asked: Criterion,
    answers: Answers,
    task: AnyTask,
) -> StatementCheck:
    """The stored numbers follow from the enclosures; the checker's own numbers are returned for the question asked."""
    stored, own = statement.values, _figures(task, certificate.criterion, answers)
    target, tolerance = task.target, certificate.criterion.tolerance
    held, wrong = answers.held(target, tolerance), answers.wrong(target, tolerance)
    figures = _figures(task, asked, answers)
    named = held_mask(statement.held, len(held)) if statement.held else set(range(len(held)) if stored["held"] else [])

    def checked(verdict: Verdict, reason: str) -> StatementCheck:
        return StatementCheck(ANSWERS, verdict, reason, figures)

    false = [i for i in named if wrong[i]]
    if false:
        return checked(Verdict.REFUTED, f"it names {counted(len(false), 'context')} not held, first context {false[0]}")
    if len(held) - int(held.sum()) < stored["wrong"]:
        return checked(Verdict.REFUTED, f"at least {counted(int(held.sum()), 'context')} held, more than it leaves")
    missing = [i for i in named if not held[i]]
    if missing:
        return checked(Verdict.UNDECIDED, f"context {missing[0]}, which it names, was not decided")
    if int(wrong.sum()) < stored["wrong"]:
        return checked(Verdict.UNDECIDED, f"only {counted(int(wrong.sum()), 'context')} proved not to be held")
    if "margin_lower" in stored:
        places = sorted(named)
        if float(answers.margin_upper[places].min()) < stored["margin_lower"]:
            return checked(Verdict.REFUTED, "the stored margin is larger than the least one")
        if not stored["margin_lower"] <= float(answers.margin_lower[places].min()):
            return checked(Verdict.UNDECIDED, "the stored margin does not follow from the enclosure")
    if "max_upper" in stored:
        lower, _ = answers.mean_loss()
        if float(answers.loss_lower.max()) > stored["max_upper"] or lower > stored["mean_upper"]:
            return checked(Verdict.REFUTED, "a loss is larger than the stored bound")
        known = (
            "max_upper" in own and own["max_upper"] <= stored["max_upper"] and own["mean_upper"] <= stored["mean_upper"]
        )
        if not known:
            return checked(Verdict.UNDECIDED, "the stored bounds of the loss do not follow from the enclosure")
    if "guess_lower" in stored and not ("guess_lower" in own and stored["guess_lower"] <= own["guess_lower"]):
        return checked(Verdict.UNDECIDED, "the stored loss of a guess does not follow")
    if stored.get(GUESS) != own.get(GUESS):
        return checked(Verdict.REFUTED, f"the most frequent label holds {own.get(GUESS, 0)}, not so many")
    size = counted(figures["contexts"], "context")
    return checked(Verdict.PROVED, f"mean over {size}" if asked.asked == "at-most" else f"{figures['held']} of {size}")


# ---------------------------------------------------------------------------------------------------------------------
# The divergence over all contexts of a text.


def _judge_tail(model: Model, task: Task, *, progress: Progress) -> Enclosure:
    size = len(task.tail_contexts)
    middle, radius = np.zeros(size), np.zeros(size)
    for start, outputs in logit_chunks(model, task.tail_contexts) if size else ():
        rows = slice(start, start + len(outputs))
        part = empirical_divergence(outputs, task.tail_counts.rows(rows.start, rows.stop))
        middle[rows], radius[rows] = part.midpoint, part.radius
        progress("all contexts", rows.stop / size, f"{rows.stop} of {size} contexts")
    return Enclosure(middle, radius)


def _concatenated(a: Enclosure, b: Enclosure) -> Enclosure:
    return Enclosure(np.concatenate([a.midpoint, b.midpoint]), np.concatenate([a.radius, b.radius]))


def _occurrences(task: Task) -> int:
    return int(task.counts.totals().sum()) + int(task.tail_counts.totals().sum())


def _mean_over_occurrences(task: Task, empirical: Enclosure) -> tuple[float, float]:
    """Enclosure of the mean divergence; counts and their sum are integers up to 2^53, exact in float64."""
    weights = np.concatenate([task.counts.totals(), task.tail_counts.totals()]).astype(np.float64)
    mean = total(empirical * weights, 0) / float(_occurrences(task))
    return max(0.0, float(mean.lower())), float(mean.upper())


def _state_text(task: Task, empirical: Enclosure) -> list[Statement]:
    lower, upper = widened(*_mean_over_occurrences(task, empirical))
    if not 0.0 <= lower <= upper < _LARGEST:
        return []
    values: dict[str, Number] = {
        "contexts": task.n_all,
        "occurrences": _occurrences(task),
        "lower": lower,
        "upper": upper,
    }
    return [Statement(TEXT_DIVERGENCE, "enclosure of the divergence", values)]


def _check_text(
    statement: Statement, model: Model, task: AnyTask, answers: Answers, progress: Progress
) -> StatementCheck:
    stored = statement.values
    facts = task.facts
    if facts is None or answers.empirical is None:
        return StatementCheck(TEXT_DIVERGENCE, Verdict.REFUTED, "vectors have no text", {})
    if stored["occurrences"] != _occurrences(facts):
        reason = f"the text has {_occurrences(facts)} occurrences of contexts, not {stored['occurrences']}"
        return StatementCheck(TEXT_DIVERGENCE, Verdict.REFUTED, reason, {})
    lower, upper = _mean_over_occurrences(
        facts, _concatenated(answers.empirical, _judge_tail(model, facts, progress=progress))
    )
    values: dict[str, Number] = {"lower": lower, "upper": upper} if lower <= upper < math.inf else {}
    if stored["lower"] <= lower and upper <= stored["upper"]:
        return StatementCheck(TEXT_DIVERGENCE, Verdict.PROVED, counted(task.n_all, "context"), values)
    if upper < stored["lower"] or lower > stored["upper"]:
        reason = "the mean divergence is outside of the stored interval"
        return StatementCheck(TEXT_DIVERGENCE, Verdict.REFUTED, reason, values)
    reason = "the stored interval does not follow from the enclosure"
    return StatementCheck(TEXT_DIVERGENCE, Verdict.UNDECIDED, reason, values)
