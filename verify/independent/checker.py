"""Re-proves a stored certificate with integers and balls alone, sharing no numerical code with the prover."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from flint import arb, ctx

from constructions.errors import FileFormatError, TamperedError
from verify.arithmetic.integers import Integers, dyadic
from verify.certificates.certificate import (
    ALL_CONTEXTS_DIVERGENCE,
    ARGMAX,
    DIVERGENCE,
    FEATURE_RANK,
    MEMORIZATION_CLAIMS,
    NETWORK_FILE,
    TASK_FILE,
    Certificate,
    CheckReport,
    Claim,
    ClaimCheck,
    Number,
    Subject,
)
from verify.independent.ball_divergence import LogSoftmax, at_least_zero
from verify.independent.ball_ends import ball, outward
from verify.independent.ball_forward import BITS, NoInformationError
from verify.independent.integer_forward import FEW_BITS, IntegerForward, Outputs, attention_sizes
from verify.independent.integer_rank import NonsingularCheck, rank_bounds, recheck_nonsingular
from verify.independent.plain_arrays import read_npz
from verify.independent.plain_model import PlainModel
from verify.independent.plain_task import PlainTask
from verify.progress import Progress
from verify.verdict import Verdict

__all__ = ["NonsingularCheck", "check_independently", "recheck_nonsingular"]

_PATH = "integers and balls (python-flint and the standard library)"
_AFFORDABLE = 3.0e8  # estimated microseconds spent on all contexts unless asked for more

_MORE_BITS = 120  # of the features, where 60 do not suffice


def check_independently(folder: Path, *, full: bool = False, progress: Progress | None = None) -> CheckReport:
    r"""Prove the claims of the certificate in `folder` again, on a path that shares no numerical code with the prover.

    The files are read and hashed by the standard library alone. Weights are dyadic rationals, hence exact integers over
    a power of two; so are all products of them. The only real functions are the exponential and the logarithm, taken in
    balls (Arb) of 128 bits and more; attention weights are then integers over $2^{128}$ with one explicit error bound
    for each array, so that features and logits are integers with an absolute error below about $2^{-100}$ of their
    size. An argmax is a comparison of integers; a divergence is a ball; the rank is an inequality between integer
    matrices,

    $$ \sigma_{\min}(A)^2 \ge c - \| A A^T - c I - L L^T \|_\infty, $$

    with the factor $L$ and the shift $c$ of the witness file, which need not be believed: any $L$ proves what it
    proves. Nothing is inverted, factored or solved, and no stored number is used as anything but a bound to be proved.

    Args:
        folder: A folder with ``certificate.json``, ``model.safetensors``, ``task.npz`` and perhaps ``witness.npz``.
        full: Also re-prove the divergence over all contexts of the text when that takes longer than about five
            minutes; without it that claim is then UNDECIDED.
        progress: Called with the stage and the finished share of it.

    Returns:
        The verdict on each claim: PROVED with the bounds as stored, REFUTED if the opposite was proved, or UNDECIDED.

    Raises:
        FileFormatError: A file is missing or is not what it should be.
        TamperedError: A hash or a digest differs, or the certificate lacks a claim.

    Source: the statement about $L$ is Weyl's inequality with $L L^T \succeq 0$. Page: docs/rigour/certificate.md
    """
    folder = Path(folder)
    certificate = Certificate.load(folder)
    checks: dict[str, ClaimCheck] = {}
    claims = {id: certificate.claim(id) for id in MEMORIZATION_CLAIMS}
    network = PlainModel.read(folder / NETWORK_FILE)
    if not network.is_one_attention(skip=True, queries="stream"):
        raise FileFormatError(f"{NETWORK_FILE} is not a network of one attention, which the certificate is about")
    task = PlainTask.read(folder / TASK_FILE)
    _require_subject(certificate.subject, network, task)
    show = progress or _silent
    claimed = claims[ALL_CONTEXTS_DIVERGENCE]
    with ctx.workprec(BITS):
        try:
            forward = IntegerForward(network)
            memorized = forward.run(task.contexts, keep_features=True, label="memorized", progress=show)
            rank = _check_rank(claims[FEATURE_RANK], folder, certificate, memorized, show)
            if rank.verdict is Verdict.UNDECIDED and certificate.witness is not None and claims[FEATURE_RANK].bounds:
                # Features of very different sizes need more digits than the others.
                memorized.features.clear()
                memorized = forward.run(
                    task.contexts, keep_features=True, label="memorized", progress=show, feature_bits=_MORE_BITS
                )
                rank = _check_rank(claims[FEATURE_RANK], folder, certificate, memorized, show)
            checks = {FEATURE_RANK: rank}
            memorized.features.clear()
            judged = _judge_memorized(memorized, task, show)
            checks[ARGMAX] = _check_argmax(claims[ARGMAX], judged)
            checks[DIVERGENCE] = _check_divergence(claims[DIVERGENCE], judged)
            if full or _microseconds(network, task) <= _AFFORDABLE:
                checks[claimed.id] = _check_all_contexts(claimed, forward, task, judged, show)
            else:
                reason = f"not attempted: {len(task.tail_contexts)} more contexts take long; ask for the full check"
                checks[claimed.id] = ClaimCheck(claimed.id, Verdict.UNDECIDED, reason, {})
        except NoInformationError as error:
            unknown = {id: ClaimCheck(id, Verdict.UNDECIDED, str(error), {}) for id in MEMORIZATION_CLAIMS}
            checks = {**unknown, **checks}
    return CheckReport(certificate, tuple(checks[id] for id in MEMORIZATION_CLAIMS), _PATH)


def _silent(stage: str, share: float | None, detail: str) -> None:
    pass


def _require_subject(subject: Subject, network: PlainModel, task: PlainTask) -> None:
    if network.sha256 != subject.network:
        raise TamperedError(f"{NETWORK_FILE} is not the network that the certificate is about: its hash differs")
    if task.sha256 != subject.task:
        raise TamperedError(f"{TASK_FILE} is not the task that the certificate is about: its hash differs")
    sizes = {**attention_sizes(network), **task.sizes()}
    if sizes != dict(subject.sizes) or task.target != subject.target:
        raise TamperedError(f"the certificate is about the sizes {dict(subject.sizes)}, the files have {sizes}")
    most = max(token for context in (*task.contexts, *task.tail_contexts) for token in context)
    fits = sizes["vocabulary_size"] == sizes["d_vocab_out"] and sizes["context_length"] <= sizes["n_ctx"]
    if not fits or not most < sizes["d_vocab"]:
        raise FileFormatError(f"{NETWORK_FILE} and {TASK_FILE} do not fit each other: {sizes}")


@dataclass(frozen=True)
class _Judged:
    """What was found out about the memorized contexts."""

    margins: list[tuple[Fraction, Fraction] | None]  # lower and upper bound of the gap; None: every token is a mode
    divergences: list[arb]
    empirical: arb  # sum of n_t KL(c_t / n_t || softmax) over them


def _judge_memorized(outputs: Outputs, task: PlainTask, progress: Progress) -> _Judged:
    scale, error = outputs.logit_scale, outputs.logit_error
    margins: list[tuple[Fraction, Fraction] | None] = []
    divergences = []
    empirical = arb(0)
    logarithms: dict[int, arb] = {}
    law_of = None if task.laws is None else Integers.exact(task.laws.values).values
    width = task.vocabulary_size
    for i, (logits, row) in enumerate(zip(outputs.logits(), _log_softmax(outputs), strict=True)):
        modes = task.modes(i)
        others = [z for token, z in enumerate(logits) if token not in modes]
        gap = min(logits[token] for token in modes) - max(others) if others else None
        margins.append(None if gap is None else (dyadic(gap - 2 * error, scale), dyadic(gap + 2 * error, scale)))
        if law_of is None:
            divergences.append(row.label_divergence(task.labels[i]))
        else:
            law = dict(enumerate(law_of[i * width : (i + 1) * width]))
            divergences.append(row.divergence(law, logarithms))
        counts = task.counts[i]
        empirical += sum(counts.values()) * row.divergence(counts, logarithms)
        if i % 64 == 63:
            progress("divergence", (i + 1) / len(task.contexts), f"context {i + 1} of {len(task.contexts)}")
    return _Judged(margins, divergences, empirical)


def _log_softmax(outputs: Outputs) -> Iterator[LogSoftmax]:
    """The rows of logits as balls, relative to the largest of each, one after the other."""
    unit = arb((1, -outputs.logit_scale))
    error = arb(outputs.logit_error) * unit
    for logits in outputs.logits():
        top = max(logits)
        yield LogSoftmax.of([arb(z - top) * unit for z in logits], error)


def _check_rank(
    claim: Claim, folder: Path, certificate: Certificate, outputs: Outputs, progress: Progress
) -> ClaimCheck:
    rows, columns = len(outputs.hidden), int(claim.values["columns"])
    if rows > columns:
        return ClaimCheck(claim.id, Verdict.REFUTED, f"{rows} rows of {columns} entries are linearly dependent", {})
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim)
    if certificate.witness is None:
        reason = "the certificate has no witness, without which a proof would have to factor the matrix"
        return ClaimCheck(claim.id, Verdict.UNDECIDED, reason, {})
    progress("feature rank", None, f"{rows} x {columns} integers")
    with_skip = columns != certificate.subject.feature_columns
    bounds = rank_bounds(outputs, with_skip, read_npz(folder / certificate.witness.file))
    if bounds is None:
        return ClaimCheck(claim.id, Verdict.UNDECIDED, "the witness does not prove that the rank is full", {})
    smallest, condition = bounds
    values = {"smallest_singular_value_lower": outward(smallest, -1), "condition_upper": outward(condition, 1)}
    stored = {name: Fraction(value) for name, value in claim.bounds.items()}
    if stored["smallest_singular_value_lower"] <= smallest and condition <= stored["condition_upper"]:
        return ClaimCheck(claim.id, Verdict.PROVED, f"integer products, {rows} x {columns}", values)
    reason = "the rank is full, but the stored bounds are tighter than what the witness proves"
    return ClaimCheck(claim.id, Verdict.UNDECIDED, reason, values)


def _check_argmax(claim: Claim, judged: _Judged) -> ClaimCheck:
    gaps = [gap for gap in judged.margins if gap is not None]
    proved = len(judged.margins) - sum(not lower > 0 for lower, _ in gaps)
    values: dict[str, Number] = {"proved": proved}
    if claim.verdict is Verdict.PROVED and claim.values["proved"] < claim.values["contexts"]:
        return _check_argmax_of_some(claim, judged, values)
    wrong = [i for i, gap in enumerate(judged.margins) if gap is not None and gap[1] <= 0]
    if wrong:
        reason = f"in {len(wrong)} contexts another token is at least as likely as a mode, first in context {wrong[0]}"
        return ClaimCheck(claim.id, Verdict.REFUTED, reason, values)
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim, values)
    stored = Fraction(claim.values["margin_lower"])
    least = min(gaps, default=None)
    if least is None:
        return ClaimCheck(claim.id, Verdict.PROVED, "every token is a mode of every context", values)
    values["margin_lower"] = outward(least[0], -1)
    if stored <= least[0]:
        return ClaimCheck(claim.id, Verdict.PROVED, f"compared as integers in {proved} contexts", values)
    if any(upper < stored for _, upper in gaps):
        return ClaimCheck(claim.id, Verdict.REFUTED, "the stored margin is larger than the least one", values)
    return ClaimCheck(claim.id, Verdict.UNDECIDED, "the least margin and the stored one cannot be told apart", values)


def _check_argmax_of_some(claim: Claim, judged: _Judged, values: dict[str, Number]) -> ClaimCheck:
    claimed, stored = claim.values["proved"], Fraction(claim.values["margin_lower"])
    reached = sum(gap is None or gap[0] >= stored for gap in judged.margins)
    if reached >= claimed:
        return ClaimCheck(claim.id, Verdict.PROVED, f"compared as integers in {reached} contexts", values)
    if sum(gap is None or gap[1] >= stored for gap in judged.margins) < claimed:
        return ClaimCheck(claim.id, Verdict.REFUTED, f"fewer than {claimed} contexts have the stored margin", values)
    return ClaimCheck(claim.id, Verdict.UNDECIDED, f"the stored margin was found in {reached} contexts only", values)


def _check_divergence(claim: Claim, judged: _Judged) -> ClaimCheck:
    mean = sum(judged.divergences, arb(0)) / len(judged.divergences)
    values: dict[str, Number] = {}
    if all(one.is_finite() for one in judged.divergences):
        values["mean_upper"] = outward(mean.upper(), 1)
        values["max_upper"] = max(outward(one.upper(), 1) for one in judged.divergences)
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim, values)
    most, most_mean = ball(claim.values["max_upper"]), ball(claim.values["mean_upper"])
    if mean <= most_mean and all(one <= most for one in judged.divergences):
        reason = f"balls of {BITS} bits for {len(judged.divergences)} contexts"
        return ClaimCheck(claim.id, Verdict.PROVED, reason, values)
    if mean > most_mean or any(one > most for one in judged.divergences):
        return ClaimCheck(claim.id, Verdict.REFUTED, "a divergence is larger than the stored bound", values)
    return ClaimCheck(claim.id, Verdict.UNDECIDED, "a divergence and the stored bound cannot be told apart", values)


def _check_all_contexts(
    claim: Claim, forward: IntegerForward, task: PlainTask, judged: _Judged, progress: Progress
) -> ClaimCheck:
    occurrences = sum(sum(counts.values()) for counts in (*task.counts, *task.tail_counts))
    if claim.values["occurrences"] != occurrences:
        reason = f"the text has {occurrences} occurrences of contexts, not {claim.values['occurrences']}"
        return ClaimCheck(claim.id, Verdict.REFUTED, reason, {})
    quick = _compare_mean(
        claim, (judged.empirical + _empirical_of_tail(forward, task, FEW_BITS, progress)) / occurrences, FEW_BITS
    )
    if quick.verdict is not Verdict.UNDECIDED or claim.verdict is not Verdict.PROVED or not task.tail_contexts:
        return quick
    return _compare_mean(
        claim, (judged.empirical + _empirical_of_tail(forward, task, BITS, progress)) / occurrences, BITS
    )


def _empirical_of_tail(forward: IntegerForward, task: PlainTask, bits: int, progress: Progress) -> arb:
    """The sum of n_t KL(c_t / n_t || softmax) over the contexts of the tail, with attention weights of so many bits."""
    total = arb(0)
    if not task.tail_contexts:
        return total
    outputs = forward.run(task.tail_contexts, keep_features=False, label="all contexts", progress=progress, bits=bits)
    logarithms: dict[int, arb] = {}
    with ctx.workprec(bits):
        for row, counts in zip(_log_softmax(outputs), task.tail_counts, strict=True):
            total += sum(counts.values()) * row.divergence(counts, logarithms)
    return total


def _compare_mean(claim: Claim, mean: arb, bits: int) -> ClaimCheck:
    values: dict[str, Number] = {}
    if mean.is_finite():
        values = {"lower": outward(at_least_zero(mean), -1), "upper": outward(mean.upper(), 1)}
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim, values)
    lower, upper = ball(claim.values["lower"]), ball(claim.values["upper"])
    if lower <= at_least_zero(mean) and mean <= upper:
        reason = f"balls of {bits} bits for all {claim.values['contexts']} contexts"
        return ClaimCheck(claim.id, Verdict.PROVED, reason, values)
    if mean < lower or mean > upper:
        return ClaimCheck(claim.id, Verdict.REFUTED, "the mean divergence is outside of the stored interval", values)
    return ClaimCheck(
        claim.id, Verdict.UNDECIDED, "the mean divergence straddles an end of the stored interval", values
    )


def _not_claimed(claim: Claim, values: dict[str, Number] | None = None) -> ClaimCheck:
    reason = f"the certificate itself says {claim.verdict.value} and states no bound to prove"
    return ClaimCheck(claim.id, Verdict.UNDECIDED, reason, values or {})


def _microseconds(network: PlainModel, task: PlainTask) -> float:
    """About how long the contexts of the tail take."""
    sizes = attention_sizes(network)
    of_head = 8 + len(task.contexts[0]) * (1 + sizes["d_model"] / 64)
    return len(task.tail_contexts) * (sizes["n_heads"] * of_head + 3 * sizes["d_vocab_out"])
