"""Answers the question of a stored certificate with integers and balls alone, sharing no code with the prover."""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from flint import arb, ctx

from constructions.errors import FileFormatError, TamperedError
from constructions.tasks.criterion import Criterion
from verify.arithmetic.integers import Integers, dyadic, power_of_two
from verify.certificates.certificate import (
    ANSWERS,
    FEATURE_RANK,
    MODEL_FILE,
    SATURATION,
    TASK_FILE,
    TEXT_DIVERGENCE,
    Certificate,
    CheckReport,
    Number,
    Statement,
    StatementCheck,
    Subject,
    held_mask,
)
from verify.independent.integer_forward import BITS, IntegerForward, NoInformationError, Outputs
from verify.independent.integer_layer import IntegerLayer, integer_layer
from verify.independent.integer_rank import NonsingularCheck, rank_bounds, recheck_nonsingular
from verify.independent.plain_files import PlainNetwork, PlainTask, read_npz
from verify.independent.plain_layer_files import PlainLayer, PlainLayerTask
from verify.progress import Progress
from verify.verdict import Verdict

__all__ = ["NonsingularCheck", "check_independently", "recheck_nonsingular"]

_PATH = "integers and balls (python-flint and the standard library)"
_AFFORDABLE = 3.0e8  # estimated microseconds spent on all contexts unless asked for more

_MORE_BITS = 120  # of the features, where 60 do not suffice

_LARGEST_EXPONENT = 1100  # beyond it float64 has no number


def check_independently(
    folder: Path, criterion: Criterion | None = None, *, full: bool = False, progress: Progress | None = None
) -> CheckReport:
    r"""Answer the question of the certificate in `folder` again, or another, on a path of its own.

    It shares no numerical code with the prover. The files are read and hashed by the standard library alone. Weights
    are dyadic rationals, hence exact integers over a power of two; so are all products of them. The only real functions
    are the exponential and the logarithm, taken in balls (Arb) of 128 bits and more; attention weights are then
    integers over $2^{128}$ with one explicit error bound for each array, so that features and outputs are integers with
    an absolute error below about $2^{-100}$ of their size. An argmax is a comparison of integers; a divergence is a
    ball; the rank is an inequality between integer matrices,

    $$ \sigma_{\min}(A)^2 \ge c - \Vert A A^T - c I - L L^T \Vert_\infty, $$

    with the factor $L$ and the shift $c$ of the witness file, which need not be believed: any $L$ proves what it
    proves. Nothing is inverted, factored or solved, and no stored number is used as anything but a bound to be proved.

    Args:
        folder: A folder with ``certificate.json``, ``model.safetensors``, ``task.npz`` and perhaps ``witness.npz``.
        criterion: What is asked; by default what the certificate asks.
        full: Also re-prove the divergence over all contexts of the text when that takes longer than about five
            minutes; without it that statement is then UNDECIDED.
        progress: Called with the stage and the finished share of it.

    Returns:
        The answer, and the verdict on each statement: PROVED with the bounds as stored, REFUTED if the opposite was
        proved, or UNDECIDED.

    Raises:
        FileFormatError: A file is missing or is not what it should be, or is named by no certificate.
        TamperedError: A hash or a digest differs.

    Source: the statement about $L$ is Weyl's inequality with $L L^T \succeq 0$. Page: docs/rigour/certificate.md
    """
    folder = Path(folder)
    certificate = Certificate.load(folder)
    asked = criterion or certificate.criterion
    reader = _Vectors if certificate.subject.origin == "own" and _holds_vectors(folder) else _Tokens
    with ctx.workprec(BITS):
        try:
            read = reader.of(folder, certificate, full=full, progress=progress or _silent)
            checks = _checked(read, certificate, asked)
        except NoInformationError as error:
            checks = [StatementCheck(each.id, Verdict.UNDECIDED, str(error), {}) for each in certificate.statements]
    return CheckReport(certificate, asked, tuple(checks), _PATH)


def _checked(read: "_Tokens | _Vectors", certificate: Certificate, asked: Criterion) -> list[StatementCheck]:
    rank = certificate.statement(FEATURE_RANK)
    # The rank comes first: the features are let go before the answers are looked at.
    done = {FEATURE_RANK: read.rank(rank)} if rank is not None else {}
    answers = read.answers()
    for statement in certificate.statements:
        if statement.id == ANSWERS:
            done[ANSWERS] = _check_answers(statement, certificate, asked, answers, read.guess())
        elif statement.id == TEXT_DIVERGENCE:
            done[TEXT_DIVERGENCE] = read.text_divergence(statement)
        elif statement.id == SATURATION:
            done[SATURATION] = read.saturation(statement)
    return [done[statement.id] for statement in certificate.statements]


def _silent(stage: str, share: float | None, detail: str) -> None:
    pass


def _holds_vectors(folder: Path) -> bool:
    return "kind" in read_npz(folder / TASK_FILE)


@dataclass(frozen=True)
class _Answer:
    """What was found out about one context.

    `margin` is a lower and an upper bound of the gap between the modes and the others, or none where there is none;
    `loss` a ball of the divergence, or of the largest distance from the values, which is never below 0.
    """

    margin: tuple[Fraction, Fraction] | None
    loss: arb

    def held(self, target: str, tolerance: arb) -> bool:
        right = self.margin is None or self.margin[0] > 0
        return right if target == "labels" else right and self.loss <= tolerance

    def wrong(self, target: str, tolerance: arb) -> bool:
        wrong = self.margin is not None and self.margin[1] <= 0
        return wrong if target == "labels" else wrong or self.loss > tolerance


def _figures(answers: list[_Answer], target: str, tolerance: float, guess: arb | None) -> dict[str, Number]:
    limit = _ball(tolerance)
    held = [each for each in answers if each.held(target, limit)]
    values: dict[str, Number] = {
        "contexts": len(answers),
        "held": len(held),
        "wrong": sum(each.wrong(target, limit) for each in answers),
    }
    margins = [each.margin[0] for each in held if each.margin is not None]
    if margins:
        values["margin_lower"] = _outward(min(margins), -1)
    mean = sum((each.loss for each in answers), arb(0)) / len(answers)
    if all(each.loss.is_finite() for each in answers):
        values["mean_lower"] = max(0.0, _outward(mean.lower(), -1))
        values["mean_upper"] = _outward(mean.upper(), 1)
        values["max_upper"] = max(_outward(each.loss.upper(), 1) for each in answers)
    if guess is not None:
        values["guess_lower"] = max(0.0, _outward(guess.lower(), -1))
    return values


def _check_answers(
    statement: Statement, certificate: Certificate, asked: Criterion, answers: list[_Answer], guess: arb | None
) -> StatementCheck:
    stored, target, tolerance = statement.values, certificate.subject.target, certificate.criterion.tolerance
    limit = _ball(tolerance)
    figures = _figures(answers, target, asked.tolerance, guess)
    everything = range(len(answers)) if stored["held"] else ()
    named = held_mask(statement.held, len(answers)) if statement.held else set(everything)
    held = {i for i, each in enumerate(answers) if each.held(target, limit)}
    wrong = {i for i, each in enumerate(answers) if each.wrong(target, limit)}

    def checked(verdict: Verdict, reason: str) -> StatementCheck:
        return StatementCheck(ANSWERS, verdict, reason, figures)

    if named & wrong:
        first = min(named & wrong)
        return checked(
            Verdict.REFUTED, f"{len(named & wrong)} contexts that it names are not held, first context {first}"
        )
    if len(answers) - len(held) < stored["wrong"]:
        return checked(Verdict.REFUTED, f"at least {len(held)} contexts are held, more than it leaves")
    if named - held:
        return checked(Verdict.UNDECIDED, f"context {min(named - held)}, which it names, was not decided")
    if len(wrong) < stored["wrong"]:
        return checked(Verdict.UNDECIDED, f"only {len(wrong)} contexts were proved not to be held")
    if "margin_lower" in stored:
        margin = Fraction(stored["margin_lower"])
        gaps = [gap for i in named if (gap := answers[i].margin) is not None]
        if any(upper < margin for _, upper in gaps):
            return checked(Verdict.REFUTED, "the stored margin is larger than the least one")
        if not all(margin <= lower for lower, _ in gaps):
            return checked(Verdict.UNDECIDED, "the least margin and the stored one cannot be told apart")
    if "max_upper" in stored:
        most, most_mean = _ball(stored["max_upper"]), _ball(stored["mean_upper"])
        mean = sum((each.loss for each in answers), arb(0)) / len(answers)
        if mean > most_mean or any(each.loss > most for each in answers):
            return checked(Verdict.REFUTED, "a loss is larger than the stored bound")
        if not (mean <= most_mean and all(each.loss <= most for each in answers)):
            return checked(Verdict.UNDECIDED, "a loss and the stored bound cannot be told apart")
    if "guess_lower" in stored and not (guess is not None and _ball(stored["guess_lower"]) <= guess):
        if not stored["guess_lower"] <= 0:
            return checked(Verdict.UNDECIDED, "the stored divergence of a guess does not follow")
    return checked(Verdict.PROVED, f"{figures['held']} of {figures['contexts']} contexts, balls of {BITS} bits")


def _check_rank(
    statement: Statement, folder: Path, certificate: Certificate, found: Outputs | IntegerLayer, *, with_skip: bool
) -> StatementCheck:
    rows, columns = int(statement.values["rows"]), int(statement.values["columns"])
    if certificate.witness is None:
        reason = "the certificate has no witness, without which a proof would have to factor the matrix"
        return StatementCheck(FEATURE_RANK, Verdict.UNDECIDED, reason, {})
    bounds = rank_bounds(found, with_skip, read_npz(folder / certificate.witness.file))
    if bounds is None:
        return StatementCheck(FEATURE_RANK, Verdict.UNDECIDED, "the witness does not prove that the rank is full", {})
    smallest, condition = bounds
    values: dict[str, Number] = {
        "smallest_singular_value_lower": _outward(smallest, -1),
        "condition_upper": _outward(condition, 1),
    }
    stored = {name: Fraction(value) for name, value in statement.values.items()}
    follows = stored.get("smallest_singular_value_lower", Fraction(0)) <= smallest
    if follows and ("condition_upper" not in stored or condition <= stored["condition_upper"]):
        return StatementCheck(FEATURE_RANK, Verdict.PROVED, f"integer products, {rows} x {columns}", values)
    reason = "the rank is full, but the stored bounds are tighter than what the witness proves"
    return StatementCheck(FEATURE_RANK, Verdict.UNDECIDED, reason, values)


def _require_subject(
    subject: Subject, found: dict[str, int], *, model: str, task: str, target: str, origin: str, fits: bool
) -> None:
    if model != subject.model:
        raise TamperedError(f"{MODEL_FILE} is not the model that the certificate is about: its hash differs")
    if task != subject.task:
        raise TamperedError(f"{TASK_FILE} is not the task that the certificate is about: its hash differs")
    if found != dict(subject.sizes) or (target, origin) != (subject.target, subject.origin):
        raise TamperedError(
            f"the certificate is about {subject.target} ({subject.origin}) and the sizes {dict(subject.sizes)}, "
            f"the files have {target} ({origin}) and {found}"
        )
    if not fits:
        raise FileFormatError(f"{MODEL_FILE} and {TASK_FILE} do not fit each other: {found}")


@dataclass
class _Tokens:
    """A model that reads tokens, and its task."""

    folder: Path
    certificate: Certificate
    network: PlainNetwork
    task: PlainTask
    forward: IntegerForward
    full: bool
    progress: Progress
    memorized: Outputs | None = None
    empirical: arb | None = None

    @classmethod
    def of(cls, folder: Path, certificate: Certificate, *, full: bool, progress: Progress) -> "_Tokens":
        network, task = PlainNetwork.read(folder / MODEL_FILE), PlainTask.read(folder / TASK_FILE)
        of_model, of_task = network.sizes(), task.sizes()
        sizes = {
            "contexts": of_task["n_contexts"],
            "context_length": of_task["context_length"],
            "outputs": of_model["d_vocab_out"],
            "all_contexts": of_task["n_all"],
            "parameters": sum(math.prod(tensor.shape) for tensor in network.tensors.values()),
        }
        most = max(token for context in (*task.contexts, *task.tail_contexts) for token in context)
        _require_subject(
            certificate.subject,
            sizes,
            model=network.sha256,
            task=task.sha256,
            target=task.target,
            origin=task.origin,
            fits=of_task["vocabulary_size"] == of_model["d_vocab_out"]
            and of_task["context_length"] <= of_model["n_ctx"]
            and most < of_model["d_vocab"],
        )
        return cls(folder, certificate, network, task, IntegerForward(network), full, progress)

    def rank(self, statement: Statement) -> StatementCheck:
        sizes, columns = self.network.sizes(), int(statement.values["columns"])
        alone = sizes["n_heads"] * sizes["d_head"]
        if columns not in (alone, alone + sizes["d_model"]):
            return StatementCheck(FEATURE_RANK, Verdict.REFUTED, f"the features do not have {columns} columns", {})
        if len(self.task.contexts) > columns:
            reason = f"{len(self.task.contexts)} rows of {columns} entries are linearly dependent"
            return StatementCheck(FEATURE_RANK, Verdict.REFUTED, reason, {})
        check = self._rank(statement, with_skip=columns != alone)
        if check.verdict is Verdict.UNDECIDED and self.certificate.witness is not None:
            # Features of very different sizes need more digits than the others.
            check = self._rank(statement, with_skip=columns != alone, feature_bits=_MORE_BITS)
        return check

    def _rank(self, statement: Statement, *, with_skip: bool, **bits: int) -> StatementCheck:
        self.memorized = self.forward.run(
            self.task.contexts, keep_features=True, label="memorized", progress=self.progress, **bits
        )
        self.progress("feature rank", None, f"{statement.values['rows']} x {statement.values['columns']} integers")
        check = _check_rank(statement, self.folder, self.certificate, self.memorized, with_skip=with_skip)
        self.memorized.features.clear()
        return check

    def answers(self) -> list[_Answer]:
        task = self.task
        outputs = self.memorized or self.forward.run(
            task.contexts, keep_features=False, label="memorized", progress=self.progress
        )
        scale, error, width = outputs.logit_scale, outputs.logit_error, task.vocabulary_size
        laws = None if task.laws is None else Integers.exact(task.laws.values).values
        logarithms: dict[int, arb] = {}
        answers, empirical = [], arb(0)
        for i, logits in enumerate(outputs.logits()):
            row = _LogSumExp.of(logits, scale, error)
            if laws is None:
                loss = row.label_divergence(task.labels[i])
            else:
                loss = row.divergence(dict(enumerate(laws[i * width : (i + 1) * width])), logarithms)
            answers.append(_Answer(_gap(logits, task.modes(i), scale, error), loss))
            counts = task.counts[i]
            empirical += sum(counts.values()) * row.divergence(counts, logarithms)
            if i % 64 == 63:
                self.progress("answers", (i + 1) / len(task.contexts), f"context {i + 1} of {len(task.contexts)}")
        self.empirical = empirical
        return answers

    def guess(self) -> arb | None:
        task = self.task
        if task.laws is None:
            return _entropy([arb(count) for count in _tally(list(task.labels))])
        rows = [[_ball(entry) for entry in task.laws.row(i)] for i in range(len(task.contexts))]
        shares = [[entry / sum(row, arb(0)) for entry in row] for row in rows]
        mean = [sum(column, arb(0)) for column in zip(*shares, strict=True)]
        return _entropy(mean) - sum(map(_entropy, rows), arb(0)) / len(rows)

    def text_divergence(self, statement: Statement) -> StatementCheck:
        task, stored = self.task, statement.values
        occurrences = sum(sum(counts.values()) for counts in (*task.counts, *task.tail_counts))
        if stored["occurrences"] != occurrences:
            reason = f"the text has {occurrences} occurrences of contexts, not {stored['occurrences']}"
            return StatementCheck(TEXT_DIVERGENCE, Verdict.REFUTED, reason, {})
        if not self.full and not _microseconds(self.network, task) <= _AFFORDABLE:
            reason = f"not attempted: {len(task.tail_contexts)} more contexts take long; ask for the full check"
            return StatementCheck(TEXT_DIVERGENCE, Verdict.UNDECIDED, reason, {})
        total = self.empirical or arb(0)
        if task.tail_contexts:
            outputs = self.forward.run(
                task.tail_contexts, keep_features=False, label="all contexts", progress=self.progress
            )
            logarithms: dict[int, arb] = {}
            for logits, counts in zip(outputs.logits(), task.tail_counts, strict=True):
                row = _LogSumExp.of(logits, outputs.logit_scale, outputs.logit_error)
                total += sum(counts.values()) * row.divergence(counts, logarithms)
        mean = total / occurrences
        values: dict[str, Number] = {}
        if mean.is_finite():
            # Gibbs: a mean divergence is never below 0, whatever its ball says.
            values = {"lower": max(0.0, _outward(mean.lower(), -1)), "upper": _outward(mean.upper(), 1)}
        lower, upper = _ball(stored["lower"]), _ball(stored["upper"])
        if (lower <= mean or stored["lower"] <= 0) and mean <= upper:
            reason = f"balls of {BITS} bits for all {stored['contexts']} contexts"
            return StatementCheck(TEXT_DIVERGENCE, Verdict.PROVED, reason, values)
        if mean < lower or mean > upper:
            reason = "the mean divergence is outside of the stored interval"
            return StatementCheck(TEXT_DIVERGENCE, Verdict.REFUTED, reason, values)
        reason = "the mean divergence straddles an end of the stored interval"
        return StatementCheck(TEXT_DIVERGENCE, Verdict.UNDECIDED, reason, values)

    def saturation(self, statement: Statement) -> StatementCheck:
        return StatementCheck(SATURATION, Verdict.REFUTED, "a model of tokens states no saturation", {})


@dataclass
class _Vectors:
    """A model that reads vectors, and its task."""

    folder: Path
    certificate: Certificate
    layer: PlainLayer
    task: PlainLayerTask
    found: IntegerLayer
    progress: Progress

    @classmethod
    def of(cls, folder: Path, certificate: Certificate, *, full: bool, progress: Progress) -> "_Vectors":
        layer, task = PlainLayer.read(folder / MODEL_FILE), PlainLayerTask.read(folder / TASK_FILE)
        of_layer, of_task = layer.sizes(), task.sizes()
        sizes = {
            "contexts": of_task["n_examples"],
            "context_length": of_task["n_tokens"],
            "outputs": of_layer["d_out"],
            "all_contexts": of_task["n_examples"],
            "parameters": sum(math.prod(tensor.shape) for tensor in layer.tensors.values()),
        }
        _require_subject(
            certificate.subject,
            sizes,
            model=layer.sha256,
            task=task.sha256,
            target="values" if task.kind == "regression" else "labels",
            origin="own",
            fits=all(of_layer[name] == of_task[name] for name in ("d_model", "d_out")),
        )
        return cls(folder, certificate, layer, task, integer_layer(layer, task, progress=progress), progress)

    def rank(self, statement: Statement) -> StatementCheck:
        of_layer, of_task = self.layer.sizes(), self.task.sizes()
        columns, rows = of_layer["n_heads"] * of_layer["d_model"], of_task["n_examples"]
        most = columns
        if of_task["n_contexts"] == 1:  # Lemma Y6
            most = min(columns, of_layer["n_heads"] * (of_task["n_tokens"] - 1) + 1)
        if statement.values["columns"] != columns or rows > most:
            reason = f"the mixed inputs have {columns} columns and a rank of at most {most}, for {rows} rows"
            return StatementCheck(FEATURE_RANK, Verdict.REFUTED, reason, {})
        self.progress("feature rank", None, f"{rows} x {columns} integers")
        check = _check_rank(statement, self.folder, self.certificate, self.found, with_skip=False)
        if check.verdict is Verdict.UNDECIDED and self.certificate.witness is not None:
            # Entries of very different sizes need more digits than the others.
            more = integer_layer(self.layer, self.task, feature_bits=BITS, progress=self.progress)
            check = _check_rank(statement, self.folder, self.certificate, more, with_skip=False)
        return check

    def answers(self) -> list[_Answer]:
        return [self._answer(t) for t in range(len(self.found.outputs))]

    def _answer(self, t: int) -> _Answer:
        labels = self.task.labels.row(t)
        ends = [self.found.output(t, j) for j in range(len(labels))]
        if self.task.kind == "regression":
            lower = max(
                (
                    max(low - Fraction(y), Fraction(y) - high, Fraction(0))
                    for (low, high), y in zip(ends, labels, strict=True)
                )
            )
            upper = max(
                (max(high - Fraction(y), Fraction(y) - low) for (low, high), y in zip(ends, labels, strict=True))
            )
            return _Answer(None, _between(lower, upper))
        own = max(range(len(labels)), key=labels.__getitem__)
        others = [end for j, end in enumerate(ends) if j != own]
        margin = (ends[own][0] - max(high for _, high in others), ends[own][1] - max(low for low, _ in others))
        powers = [(_between(low, high) - _between(*ends[own])).exp() for low, high in others]
        return _Answer(margin, sum(powers, arb(0)).log1p())

    def guess(self) -> arb | None:
        if self.task.kind == "regression":
            return None
        rows = [self.task.labels.row(t) for t in range(len(self.found.outputs))]
        return _entropy([arb(count) for count in _tally([max(range(len(row)), key=row.__getitem__) for row in rows])])

    def text_divergence(self, statement: Statement) -> StatementCheck:
        return StatementCheck(TEXT_DIVERGENCE, Verdict.REFUTED, "vectors have no text", {})

    def saturation(self, statement: Statement) -> StatementCheck:
        stored = statement.values
        if stored["pairs"] != len(self.found.top):
            return StatementCheck(SATURATION, Verdict.REFUTED, "the model has another number of pairs", {})
        surely, perhaps = self.found.saturated(Fraction(stored["delta"]))
        values: dict[str, Number] = {"saturated_lower": surely}
        if stored["saturated_lower"] <= surely:
            return StatementCheck(SATURATION, Verdict.PROVED, f"{surely} of {len(self.found.top)} pairs", values)
        if perhaps < stored["saturated_lower"]:
            return StatementCheck(SATURATION, Verdict.REFUTED, f"at most {perhaps} pairs are saturated", values)
        reason = "some weights and the limit cannot be told apart"
        return StatementCheck(SATURATION, Verdict.UNDECIDED, reason, values)


def _gap(logits: list[int], modes: set[int], scale: int, error: int) -> tuple[Fraction, Fraction] | None:
    others = [z for token, z in enumerate(logits) if token not in modes]
    if not others:
        return None
    gap = min(logits[token] for token in modes) - max(others)
    return dyadic(gap - 2 * error, scale), dyadic(gap + 2 * error, scale)


def _tally(labels: list[int]) -> Iterator[int]:
    counts: dict[int, int] = {}
    for label in labels:
        counts[label] = counts.get(label, 0) + 1
    return iter(counts.values())


def _entropy(masses: list[arb]) -> arb:
    """The entropy of the law with these masses, of any common unit, in nats; masses of 0 play no part."""
    total = sum(masses, arb(0))
    return total.log() - sum((mass * mass.log() for mass in masses if mass != 0), arb(0)) / total


def _between(lower: Fraction, upper: Fraction) -> arb:
    return _ball(lower).union(_ball(upper))


@dataclass(frozen=True)
class _LogSumExp:
    """One row of logits relative to their largest, their exponentials, and the bound of each logit's error."""

    logits: list[int]
    scale: int
    error: arb
    exponentials: list[arb]
    log_sum: arb

    @classmethod
    def of(cls, logits: list[int], scale: int, error: int) -> "_LogSumExp":
        top = max(logits)
        relative = [z - top for z in logits]
        exponentials = [arb((z, -scale)).exp() for z in relative]
        return cls(relative, scale, arb((error, -scale)), exponentials, sum(exponentials, arb(0)).log())

    def divergence(self, masses: dict[int, int], logarithms: dict[int, arb]) -> arb:
        r"""The divergence of the law with these masses (any common unit) from the softmax, in nats.

        With $w_i$ the masses, $W$ their sum and $z$ the logits,

        $$ d_{KL} = \sum_i \frac{w_i}{W} (\log w_i - \log W - z_i) + \log \sum_j e^{z_j}. $$

        Its gradient in $z$ is $\mathrm{softmax}(z) - w / W$, of 1-norm at most 2, so an error
        $\varepsilon$ of each logit moves it by at most $2 \varepsilon$.
        """
        total = sum(masses.values())
        for mass in masses.values():
            if mass not in logarithms:
                logarithms[mass] = arb(mass).log()
        entropy = sum((mass * logarithms[mass] for mass in masses.values()), arb(0))
        cross = sum(mass * self.logits[token] for token, mass in masses.items())
        value = (entropy - arb((cross, -self.scale))) / total - arb(total).log() + self.log_sum
        return value + arb(0, 2 * self.error)

    def label_divergence(self, label: int) -> arb:
        r"""The divergence of the point mass at the label, $\log(1 + \sum_{j \ne l} e^{z_j - z_l})$, in nats.

        Errors $\varepsilon$ of the logits multiply the sum by at most $e^{2 \varepsilon}$: the relative accuracy stays.
        Where they are large, of huge logits, that says nothing, and the absolute bound of `divergence` is taken.
        """
        if not self.error < 1:
            return self.divergence({label: 1}, {})
        others = sum((e for token, e in enumerate(self.exponentials) if token != label), arb(0))
        return (others / self.exponentials[label] * arb(0, 2 * self.error).exp()).log1p()


def _microseconds(network: PlainNetwork, task: PlainTask) -> float:
    """About how long the contexts of the tail take."""
    sizes = network.sizes()
    of_head = 8 + len(task.contexts[0]) * (1 + sizes["d_model"] / 64)
    return len(task.tail_contexts) * (sizes["n_heads"] * of_head + 3 * sizes["d_vocab_out"])


def _ball(value: Number) -> arb:
    exact = Fraction(value)
    return arb(exact.numerator) / arb(exact.denominator)


def _outward(value: Fraction | arb, direction: int) -> float:
    """A float64, or an infinity, at or beyond `value` (an exact ball or a fraction) in the direction -1 or 1."""
    if isinstance(value, arb):
        mantissa, exponent = map(int, value.man_exp())
        size = mantissa.bit_length() + exponent
        if mantissa and abs(size) > _LARGEST_EXPONENT:  # its power of two might not fit into memory
            beyond = (mantissa > 0) == (direction > 0)
            magnitude = (math.inf if beyond else sys.float_info.max) if size > 0 else (5e-324 if beyond else 0.0)
            return math.copysign(magnitude, mantissa)
        value = mantissa * power_of_two(exponent)
    try:
        nearest = float(value)
    except OverflowError:
        nearest = sys.float_info.max if value > 0 else -sys.float_info.max
    return nearest if (Fraction(nearest) - value) * direction >= 0 else math.nextafter(nearest, direction * math.inf)
