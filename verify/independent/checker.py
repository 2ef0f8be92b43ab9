"""Re-proves a stored certificate with integers and balls alone, sharing no numerical code with the prover."""

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from flint import arb, ctx

from constructions.errors import FileFormatError, TamperedError
from verify.arithmetic.integers import Integers, dyadic, power_of_two
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
from verify.independent.integer_forward import BITS, IntegerForward, NoInformationError, Outputs
from verify.independent.integer_rank import NonsingularCheck, rank_bounds, recheck_nonsingular
from verify.independent.plain_files import PlainNetwork, PlainTask, read_npz
from verify.progress import Progress
from verify.verdict import Verdict

__all__ = ["NonsingularCheck", "check_independently", "recheck_nonsingular"]

_PATH = "integers and balls (python-flint and the standard library)"
_AFFORDABLE = 3.0e8  # estimated microseconds spent on all contexts unless asked for more

_MORE_BITS = 120  # of the features, where 60 do not suffice

_LARGEST_EXPONENT = 1100  # beyond it float64 has no number


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
    network = PlainNetwork.read(folder / NETWORK_FILE)
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


def _require_subject(subject: Subject, network: PlainNetwork, task: PlainTask) -> None:
    if network.sha256 != subject.network:
        raise TamperedError(f"{NETWORK_FILE} is not the network that the certificate is about: its hash differs")
    if task.sha256 != subject.task:
        raise TamperedError(f"{TASK_FILE} is not the task that the certificate is about: its hash differs")
    sizes = {**network.sizes(), **task.sizes()}
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
    for i, logits in enumerate(outputs.logits()):
        modes = task.modes(i)
        others = [z for token, z in enumerate(logits) if token not in modes]
        gap = min(logits[token] for token in modes) - max(others) if others else None
        margins.append(None if gap is None else (dyadic(gap - 2 * error, scale), dyadic(gap + 2 * error, scale)))
        row = _LogSumExp.of(logits, scale, error)
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
        """
        others = sum((e for token, e in enumerate(self.exponentials) if token != label), arb(0))
        return (others / self.exponentials[label] * arb(0, 2 * self.error).exp()).log1p()


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
    values = {"smallest_singular_value_lower": _outward(smallest, -1), "condition_upper": _outward(condition, 1)}
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
    values["margin_lower"] = _outward(least[0], -1)
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
    if all(ball.is_finite() for ball in judged.divergences):
        values["mean_upper"] = _outward(mean.upper(), 1)
        values["max_upper"] = max(_outward(ball.upper(), 1) for ball in judged.divergences)
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim, values)
    most, most_mean = _ball(claim.values["max_upper"]), _ball(claim.values["mean_upper"])
    if mean <= most_mean and all(ball <= most for ball in judged.divergences):
        reason = f"balls of {BITS} bits for {len(judged.divergences)} contexts"
        return ClaimCheck(claim.id, Verdict.PROVED, reason, values)
    if mean > most_mean or any(ball > most for ball in judged.divergences):
        return ClaimCheck(claim.id, Verdict.REFUTED, "a divergence is larger than the stored bound", values)
    return ClaimCheck(claim.id, Verdict.UNDECIDED, "a divergence and the stored bound cannot be told apart", values)


def _check_all_contexts(
    claim: Claim, forward: IntegerForward, task: PlainTask, judged: _Judged, progress: Progress
) -> ClaimCheck:
    occurrences = sum(sum(counts.values()) for counts in (*task.counts, *task.tail_counts))
    if claim.values["occurrences"] != occurrences:
        reason = f"the text has {occurrences} occurrences of contexts, not {claim.values['occurrences']}"
        return ClaimCheck(claim.id, Verdict.REFUTED, reason, {})
    total = judged.empirical
    if task.tail_contexts:
        outputs = forward.run(task.tail_contexts, keep_features=False, label="all contexts", progress=progress)
        logarithms: dict[int, arb] = {}
        for logits, counts in zip(outputs.logits(), task.tail_counts, strict=True):
            row = _LogSumExp.of(logits, outputs.logit_scale, outputs.logit_error)
            total += sum(counts.values()) * row.divergence(counts, logarithms)
    mean = total / occurrences
    values: dict[str, Number] = {}
    if mean.is_finite():
        values = {"lower": _outward(mean.lower(), -1), "upper": _outward(mean.upper(), 1)}
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim, values)
    lower, upper = _ball(claim.values["lower"]), _ball(claim.values["upper"])
    if lower <= mean and mean <= upper:
        reason = f"balls of {BITS} bits for all {claim.values['contexts']} contexts"
        return ClaimCheck(claim.id, Verdict.PROVED, reason, values)
    if mean < lower or mean > upper:
        return ClaimCheck(claim.id, Verdict.REFUTED, "the mean divergence is outside of the stored interval", values)
    return ClaimCheck(
        claim.id, Verdict.UNDECIDED, "the mean divergence straddles an end of the stored interval", values
    )


def _not_claimed(claim: Claim, values: dict[str, Number] | None = None) -> ClaimCheck:
    reason = f"the certificate itself says {claim.verdict.value} and states no bound to prove"
    return ClaimCheck(claim.id, Verdict.UNDECIDED, reason, values or {})


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
