"""What a network does with the contexts of a task, proved about the weights as they are, and proved again."""

import io
import math
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import flint
import numpy as np
from numpy.typing import NDArray

from constructions.errors import FileFormatError, InputError, TamperedError
from constructions.files import write_atomically
from constructions.models.model import Model
from constructions.tasks.task import Task
from verify.arithmetic import blas
from verify.arithmetic.enclosure import Enclosure, down, lower_sum, matmul, sqrt, total, up
from verify.certificates.certificate import (
    ALL_CONTEXTS_DIVERGENCE,
    ARGMAX,
    DIVERGENCE,
    FEATURE_RANK,
    MEMORIZATION_CLAIMS,
    NETWORK_FILE,
    TASK_FILE,
    WITNESS_FILE,
    Certificate,
    CheckReport,
    Claim,
    ClaimCheck,
    Number,
    Subject,
    Witness,
)
from verify.certificates.memory_budget import require_memory
from verify.divergence.kullback_leibler import (
    argmax_margin,
    divergence,
    empirical_divergence,
    label_divergence,
    mean_upper_bound,
    quadratic_divergence_bound,
)
from verify.forward.float64 import enclose_features, enclose_last, logit_chunks
from verify.linear_algebra.gram import GramWitness
from verify.linear_algebra.norms import float_above, frobenius, radius_norm
from verify.linear_algebra.row_rank import RankCertificate, certify_full_row_rank
from verify.progress import Progress
from verify.verdict import Verdict

Float64Array = NDArray[np.float64]

_PATH = "float64 with proved error bounds"
_SLACK = 2.0**-10  # relative; what a stored bound gives away so that another BLAS proves it too
_DIVERGENCE_SLACK = 2.0**-2  # the same for divergences, which are squares of radii of enclosures
_RANK_SLACK = 2.0**-5  # the same for singular values, whose proved bounds depend more on the order of summation
_BITS = 12  # of a stored bound
_SMALL_DIVERGENCE = 2.0**-20  # nats; the quadratic bound of less is sharp enough
_LARGEST = 2.0**1000  # what is larger is no bound worth storing


@dataclass(frozen=True, eq=False)
class MemorizationCertificate:
    """A certificate of memorization, with the proved bounds of each context that are not stored in it.

    Args:
        certificate: The claims; what is written to ``certificate.json``.
        witness: The bytes of ``witness.npz``, or `None`.
        divergence_upper: Upper bound of the divergence of each memorized context, nats, `[T]`.
        margin_lower: Lower bound of the gap between the modes' logits and the others, `[T]`; infinite where every token
            is a mode, and not positive where the argmax was not proved.
        empirical_divergence: Enclosure of KL(counts || softmax) of every context, memorized ones first, nats, `[M]`.
        logits: Enclosure of the logits of the memorized contexts, `[T, N]`, if it was asked for.
    """

    certificate: Certificate
    witness: bytes | None
    divergence_upper: Float64Array
    margin_lower: Float64Array
    empirical_divergence: Enclosure
    logits: Enclosure | None

    def save(self, folder: Path) -> None:
        """Write ``certificate.json`` and, if there is one, ``witness.npz`` into `folder`, each atomically."""
        if self.witness is not None:
            write_atomically(Path(folder) / WITNESS_FILE, self.witness)
        self.certificate.save(folder)


def certify_memorization(
    network: Model,
    task: Task,
    *,
    progress: Progress | None = None,
    rank: bool = True,
    witness: bool = True,
    keep_logits: bool = False,
) -> MemorizationCertificate:
    r"""Prove what the network with these very float64 weights does, in real arithmetic, with the contexts of the task.

    The four claims of `verify.certificates.certificate.Claim`, in this order: the features have full row rank; the
    modes of the target have the largest logits; the divergence of each memorized context and the mean of them; the mean
    divergence over all contexts of the text. For laws the divergence is bounded by $\frac18 \mathrm{range}(z_t - \log
    \pi_t)^2$, which is quadratic in the error of the logits and blind to a shift; for labels it is $\log(1 + \sum_{j
    \ne l} e^{z_j - z_l})$.

    Every number comes from an enclosure, so it holds for the network in real arithmetic. A bound is stored only with
    slack (divergences raised by $2^{-2}$ of themselves, singular values lowered by $2^{-5}$, the interval widened by
    its own width on either side, all rounded outward to 12 bits), so that a proof on another machine, whose roundings
    differ, proves the stored bound too. What could not be proved is stored as UNDECIDED and without a bound.

    Args:
        network: The weights.
        task: The contexts, the target and the counts.
        progress: Called with the stage and the finished share of it.
        rank: Prove the rank; without it that claim is UNDECIDED, and work of order T^3 is saved.
        witness: Keep the factor that lets `verify.independent.checker` re-prove the rank with integers; 4 T^2 bytes.
        keep_logits: Return the logits of the memorized contexts; 8 to 16 T N bytes.

    Returns:
        The certificate, with the bounds of each context.

    Raises:
        InputError: The network cannot read the contexts of the task, or its logits are not over its vocabulary.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Source: Dana, Pydi, Chevaleyre (2024), Theorems 1 and 2, for what is claimed. Page: docs/rigour/certificate.md
    """
    _require_fit(network, task)
    blas.probe()
    show = progress or _silent
    show("features", None, f"{task.n_contexts} x {network.n_heads * network.d_head}")
    features = enclose_features(network, task.contexts)
    ranked, factor = _claim_rank(network, task, features, rank=rank, witness=witness, progress=show)
    judged = _judge_memorized(network, task, features, progress=show, keep_logits=keep_logits)
    del features
    empirical = _concatenated(judged.empirical, _judge_tail(network, task, progress=show))
    subject = _subject(network, task)
    claims = (
        ranked,
        _claim_argmax(subject, judged),
        _claim_divergence(task, judged),
        _claim_all_contexts(task, empirical),
    )
    data = None if factor is None else _npz(factor)
    return MemorizationCertificate(
        certificate=Certificate(
            subject=subject,
            claims=claims,
            provenance=_provenance(),
            witness=None if data is None else Witness.of(data),
        ),
        witness=data,
        divergence_upper=judged.divergence_upper,
        margin_lower=judged.margin_lower,
        empirical_divergence=empirical,
        logits=judged.logits,
    )


def check_memorization(folder: Path, *, progress: Progress | None = None) -> CheckReport:
    """Prove the claims of the certificate in `folder` again, from the weights and the task alone.

    The hashes are compared first; then every claim is proved anew by the same methods that `certify_memorization` uses,
    and its stored bounds must follow. Nothing that is stored is used in a proof. Somebody who changes the files and all
    hashes with them is left with a true certificate about other files, or with one that fails here.

    Args:
        folder: A folder with ``certificate.json``, ``model.safetensors`` and ``task.npz``.
        progress: Called with the stage and the finished share of it.

    Returns:
        The verdict on each claim: PROVED with the bounds as stored, REFUTED if the opposite was proved, or UNDECIDED.

    Raises:
        FileFormatError: A file is missing or is not what it should be.
        TamperedError: A hash or a digest differs, or the certificate lacks a claim.
        ResourceError: There is too little memory for the features of so many contexts.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Page: docs/rigour/certificate.md
    """
    folder = Path(folder)
    certificate = Certificate.load(folder)
    claims = {id: certificate.claim(id) for id in MEMORIZATION_CLAIMS}
    network, task = _load(folder)
    _require_subject(certificate.subject, network, task)
    require_memory(_estimated_bytes(network, task), purpose=f"checking {task.n_contexts} contexts")
    blas.probe()
    show = progress or _silent
    show("features", None, f"{task.n_contexts} x {network.n_heads * network.d_head}")
    features = enclose_features(network, task.contexts)
    checks = [_check_rank(claims[FEATURE_RANK], network, task, features, show)]
    judged = _judge_memorized(network, task, features, progress=show, keep_logits=False)
    checks.append(_check_argmax(claims[ARGMAX], judged))
    checks.append(_check_divergence(claims[DIVERGENCE], network, task, features, judged))
    del features
    claim = claims[ALL_CONTEXTS_DIVERGENCE]
    if claim.verdict is Verdict.PROVED:
        empirical = _concatenated(judged.empirical, _judge_tail(network, task, progress=show))
        checks.append(_check_all_contexts(claim, task, empirical))
    else:
        checks.append(_not_claimed(claim))
    return CheckReport(certificate, tuple(checks), _PATH)


def _silent(stage: str, share: float | None, detail: str) -> None:
    pass


# ---------------------------------------------------------------------------------------------------------------------
# The files and what they must agree on.


def _load(folder: Path) -> tuple[Model, Task]:
    """The model and the task, or a typed error, whatever the files hold."""
    try:
        return Model.load(folder / NETWORK_FILE), Task.load(folder / TASK_FILE)
    except MemoryError as error:
        raise FileFormatError(f"{folder} holds arrays that ask for more memory than there is") from error


def _sizes(network: Model, task: Task) -> dict[str, int]:
    return {
        "n_contexts": task.n_contexts,
        "context_length": task.context_length,
        "vocabulary_size": task.vocabulary_size,
        "n_all": task.n_all,
        "n_ctx": network.n_ctx,
        "d_vocab": network.d_vocab,
        "d_model": network.d_model,
        "n_heads": network.n_heads,
        "d_qk": network.d_qk,
        "d_head": network.d_head,
        "d_vocab_out": network.d_vocab_out,
    }


def _subject(network: Model, task: Task) -> Subject:
    return Subject(network.sha256(), task.sha256(), task.target, _sizes(network, task))


def _require_fit(network: Model, task: Task) -> None:
    if task.context_length > network.n_ctx:
        raise InputError(f"task has contexts of {task.context_length} tokens, the network reads {network.n_ctx}")
    if task.vocabulary_size != network.d_vocab_out:
        raise InputError(f"task has {task.vocabulary_size} tokens, the network {network.d_vocab_out} logits")
    most = max(int(tokens.max(initial=0)) for tokens in (task.contexts, task.tail_contexts))
    if not most < network.d_vocab:
        raise InputError(f"task has the token {most}, the network knows 0 .. {network.d_vocab - 1}")


def _require_subject(subject: Subject, network: Model, task: Task) -> None:
    found = _subject(network, task)
    if found.network != subject.network:
        raise TamperedError(f"{NETWORK_FILE} is not the network that the certificate is about: its hash differs")
    if found.task != subject.task:
        raise TamperedError(f"{TASK_FILE} is not the task that the certificate is about: its hash differs")
    if found != subject:
        raise TamperedError(f"the certificate is about the sizes {dict(subject.sizes)}, the files have {found.sizes}")
    try:
        _require_fit(network, task)
    except InputError as error:
        raise FileFormatError(f"{NETWORK_FILE} and {TASK_FILE} do not fit each other: {error}") from error


def _estimated_bytes(network: Model, task: Task) -> int:
    """Estimated peak of a check: three copies of the features, five square matrices, and what is done in chunks."""
    features = task.n_contexts * network.n_heads * network.d_head
    return 8 * (3 * features + 5 * task.n_contexts**2) + 2**28


def _npz(arrays: Mapping[str, NDArray]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **{name: np.asarray(array, order="C") for name, array in arrays.items()})  # type: ignore[arg-type]
    return buffer.getvalue()


def _provenance() -> dict[str, str]:
    try:
        byheart = version("byheart")
    except PackageNotFoundError:
        byheart = "not installed"
    arithmetic = {
        name: ", ".join(value) if isinstance(value, list) else value for name, value in blas.description().items()
    }
    return {
        "byheart": byheart,
        "python": platform.python_version(),
        "flint": flint.__FLINT_VERSION__,
        "python-flint": flint.__version__,
        **{f"arithmetic: {name}": str(value) for name, value in arithmetic.items()},
    }


# ---------------------------------------------------------------------------------------------------------------------
# Bounds of each context.


@dataclass(frozen=True, eq=False)
class _Judged:
    """What was proved about the memorized contexts, one entry each."""

    divergence_upper: Float64Array
    divergence_lower: Float64Array  # for laws, where it costs more, 0
    margin_lower: Float64Array
    margin_upper: Float64Array
    empirical: Enclosure
    logits: Enclosure | None


def _judge_memorized(
    network: Model, task: Task, features: Enclosure, *, progress: Progress, keep_logits: bool
) -> _Judged:
    size = task.n_contexts
    above, below, lower, upper, middle, radius = (np.zeros(size) for _ in range(6))
    kept = [np.empty((size if keep_logits else 0, network.d_vocab_out)) for _ in range(2)]
    for start, logits in logit_chunks(network, task.contexts, features=features):
        rows = slice(start, start + len(logits))
        modes = task.modes(rows.start, rows.stop)
        lower[rows], upper[rows] = argmax_margin(logits, modes), _margin_upper(logits, modes)
        if task.laws is None:
            exact = label_divergence(logits, task.labels[rows])
            above[rows], below[rows] = exact.upper(), exact.lower()
        else:
            above[rows] = _law_divergence_upper(logits, task.laws[rows])
        empirical = empirical_divergence(logits, task.counts.rows(rows.start, rows.stop))
        middle[rows], radius[rows] = empirical.midpoint, empirical.radius
        if keep_logits:
            kept[0][rows], kept[1][rows] = logits.midpoint, logits.radius
        progress("divergence", rows.stop / size, f"{rows.stop} of {size} contexts")
    return _Judged(
        divergence_upper=above,
        divergence_lower=below,
        margin_lower=lower,
        margin_upper=upper,
        empirical=Enclosure(middle, radius),
        logits=Enclosure(*kept) if keep_logits else None,
    )


def _judge_tail(network: Model, task: Task, *, progress: Progress) -> Enclosure:
    size = len(task.tail_contexts)
    middle, radius = np.zeros(size), np.zeros(size)
    for start, logits in logit_chunks(network, task.tail_contexts) if size else ():
        rows = slice(start, start + len(logits))
        part = empirical_divergence(logits, task.tail_counts.rows(rows.start, rows.stop))
        middle[rows], radius[rows] = part.midpoint, part.radius
        progress("all contexts", rows.stop / size, f"{rows.stop} of {size} contexts")
    return Enclosure(middle, radius)


def _law_divergence_upper(logits: Enclosure, laws: Float64Array) -> Float64Array:
    """The quadratic bound, which is sharp for small divergences, and an enclosure where that bound is large."""
    above = quadratic_divergence_bound(logits, laws)
    return above if bool((above < _SMALL_DIVERGENCE).all()) else np.minimum(above, divergence(logits, laws).upper())


def _margin_upper(logits: Enclosure, modes: NDArray[np.bool_]) -> Float64Array:
    """Upper bound of the least logit of a mode minus the largest of the others; infinite where there are no others."""
    least_mode = np.where(modes, logits.upper(), np.inf).min(axis=1)
    largest_other = np.where(modes, -np.inf, logits.lower()).max(axis=1)
    with np.errstate(all="ignore"):
        gap = up(least_mode - largest_other)
    # A difference of float64 is 0 only if they are equal, so the comparison itself is exact.
    return np.where(least_mode <= largest_other, np.minimum(0.0, gap), gap)


def _concatenated(a: Enclosure, b: Enclosure) -> Enclosure:
    return Enclosure(np.concatenate([a.midpoint, b.midpoint]), np.concatenate([a.radius, b.radius]))


def _occurrences(task: Task) -> int:
    return int(task.counts.totals().sum()) + int(task.tail_counts.totals().sum())


def _mean_over_occurrences(task: Task, empirical: Enclosure) -> tuple[float, float]:
    """Enclosure of the mean divergence; counts and their sum are integers up to 2^53, exact in float64."""
    weights = np.concatenate([task.counts.totals(), task.tail_counts.totals()]).astype(np.float64)
    mean = total(empirical * weights, 0) / float(_occurrences(task))
    return max(0.0, float(mean.lower())), float(mean.upper())


# ---------------------------------------------------------------------------------------------------------------------
# Claims, stored with slack.


def _raised(bound: float, slack: float = _SLACK) -> float:
    """A float64 of few bits that is at least `bound` by a relative `slack`; for bounds >= 0."""
    return _few_bits(bound * (1.0 + slack), math.ceil)


def _lowered(bound: float, slack: float = _SLACK) -> float:
    """A float64 of few bits that is at most `bound` by a relative `slack`; for bounds >= 0."""
    return _few_bits(bound * (1.0 - slack), math.floor)


def _few_bits(bound: float, rounding: Callable[[float], int]) -> float:
    mantissa, exponent = math.frexp(bound)
    return math.ldexp(rounding(math.ldexp(mantissa, _BITS)), exponent - _BITS)


def _widened(lower: float, upper: float) -> tuple[float, float]:
    """The interval with its own width added on either side and its ends on a coarse grid, cut off at 0."""
    width = upper - lower
    if not 0.0 < width < math.inf:
        return lower, upper
    grid = math.ldexp(1.0, math.frexp(width)[1] - 3)
    return max(0.0, math.floor((lower - width) / grid) * grid), math.ceil((upper + width) / grid) * grid


def _claim_argmax(subject: Subject, judged: _Judged) -> Claim:
    right = judged.margin_lower > 0.0
    contexts, proved = len(right), int(right.sum())
    values: dict[str, Number] = {"contexts": contexts, "proved": proved}
    verdict = Verdict.UNDECIDED
    if bool((judged.margin_upper <= 0.0).any()) and not subject.approximates_laws:
        verdict = Verdict.REFUTED
    elif proved == contexts or (proved > 0 and subject.approximates_laws):
        # Where every token is a mode of every context any margin is true.
        margin = _lowered(min(float(judged.margin_lower[right].min()), _LARGEST))
        if margin > 0.0:
            verdict, values = Verdict.PROVED, {**values, "margin_lower": margin}
    return Claim.of(ARGMAX, subject.target, verdict, "enclosure of the logits", values)


def _claim_divergence(task: Task, judged: _Judged) -> Claim:
    values: dict[str, Number] = {"contexts": task.n_contexts}
    mean = mean_upper_bound(judged.divergence_upper)
    most = float(judged.divergence_upper.max())
    verdict = Verdict.UNDECIDED
    if mean < _LARGEST and most < _LARGEST:
        verdict, values = (
            Verdict.PROVED,
            {
                **values,
                "mean_upper": _raised(mean, _DIVERGENCE_SLACK),
                "max_upper": _raised(most, _DIVERGENCE_SLACK),
            },
        )
    method = (
        "log(1 + sum of exp(z_j - z_label))"
        if task.laws is None
        else "range(z - log law)^2 / 8, or an enclosure of the divergence"
    )
    return Claim.of(DIVERGENCE, task.target, verdict, method, values)


def _claim_all_contexts(task: Task, empirical: Enclosure) -> Claim:
    values: dict[str, Number] = {"contexts": task.n_all, "occurrences": _occurrences(task)}
    lower, upper = _widened(*_mean_over_occurrences(task, empirical))
    verdict = Verdict.UNDECIDED
    if 0.0 <= lower <= upper < _LARGEST:
        verdict, values = Verdict.PROVED, {**values, "lower": lower, "upper": upper}
    return Claim.of(ALL_CONTEXTS_DIVERGENCE, task.target, verdict, "enclosure of the divergence", values)


def _claim_rank(
    network: Model, task: Task, features: Enclosure, *, rank: bool, witness: bool, progress: Progress
) -> tuple[Claim, dict[str, NDArray] | None]:
    size, columns = features.shape
    widest = columns + network.d_model
    values: dict[str, Number] = {"rows": size, "columns": columns if size <= columns else widest}
    if size > widest:
        return Claim.of(FEATURE_RANK, task.target, Verdict.REFUTED, "more rows than columns", values), None
    if not rank:
        return Claim.of(FEATURE_RANK, task.target, Verdict.UNDECIDED, "not attempted", values), None
    for width in (columns, widest):
        if size > width:
            continue
        progress("feature rank", None, f"{size} x {width}")
        matrix = _rank_matrix(network, task, features, width)
        found = certify_full_row_rank(matrix, witness=witness)
        smallest, condition = _rank_bounds(matrix, found)
        if smallest > 0.0 and condition < _LARGEST:
            values = {
                "rows": size,
                "columns": width,
                "smallest_singular_value_lower": _lowered(smallest, _RANK_SLACK),
                "condition_upper": _raised(condition, 2 * _RANK_SLACK),
            }
            claim = Claim.of(FEATURE_RANK, task.target, Verdict.PROVED, found.method, values)
            return claim, _witness_arrays(found)
    return Claim.of(FEATURE_RANK, task.target, Verdict.UNDECIDED, "no method proved it", values), None


def _rank_matrix(network: Model, task: Task, features: Enclosure, columns: int) -> Enclosure:
    """The features Y, or [X_S, Y] with the embedded last token beside them, as `columns` says."""
    if columns == features.shape[1]:
        return features
    last = enclose_last(network, task.contexts)
    radii = [np.broadcast_to(part.radius, part.shape) for part in (last, features)]
    return Enclosure(np.hstack([last.midpoint, features.midpoint]), np.hstack(radii))


def _rank_bounds(matrix: Enclosure, found: RankCertificate) -> tuple[float, float]:
    """Lower bound of the smallest singular value (0 if none was proved), upper bound of the condition number."""
    if found.verdict is not Verdict.PROVED or not found.smallest_singular_value > 0.0:
        return 0.0, math.inf
    norm = float_above(frobenius(matrix.midpoint) + radius_norm(matrix))
    return float(found.smallest_singular_value), math.nextafter(norm / found.smallest_singular_value, math.inf)


def _witness_arrays(found: RankCertificate) -> dict[str, NDArray] | None:
    """The arrays of the witness, a triangular factor packed row after row without its zeros."""
    if found.witness is None:
        return None
    arrays: dict[str, NDArray] = dict(found.witness.arrays())
    if isinstance(found.witness, GramWitness):
        arrays["mantissas"] = arrays["mantissas"][np.tri(len(arrays["mantissas"]), dtype=bool)]
    return arrays


# ---------------------------------------------------------------------------------------------------------------------
# Claims, proved again.


def _not_claimed(claim: Claim, values: dict[str, Number] | None = None) -> ClaimCheck:
    reason = f"the certificate itself says {claim.verdict.value} and states no bound to prove"
    return ClaimCheck(claim.id, Verdict.UNDECIDED, reason, values or {})


def _check_rank(claim: Claim, network: Model, task: Task, features: Enclosure, progress: Progress) -> ClaimCheck:
    size, columns = task.n_contexts, int(claim.values["columns"])
    if size > columns:
        return ClaimCheck(claim.id, Verdict.REFUTED, f"{size} rows of {columns} entries are linearly dependent", {})
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim)
    progress("feature rank", None, f"{size} x {columns}")
    matrix = _rank_matrix(network, task, features, columns)
    found = certify_full_row_rank(matrix)
    smallest, condition = _rank_bounds(matrix, found)
    values: dict[str, Number] = {}
    if smallest > 0.0:
        values = {"smallest_singular_value_lower": smallest, "condition_upper": condition}
        if claim.values["smallest_singular_value_lower"] <= smallest and condition <= claim.values["condition_upper"]:
            return ClaimCheck(claim.id, Verdict.PROVED, found.method, values)
    if _is_beyond(matrix, claim):
        reason = "the stored bounds are better than any that hold: a vector shows it"
        return ClaimCheck(claim.id, Verdict.REFUTED, reason, values)
    reason = (
        "the rank is full, but the stored bounds do not follow" if smallest > 0.0 else "the rank was not proved full"
    )
    return ClaimCheck(claim.id, Verdict.UNDECIDED, reason, values)


def _is_beyond(matrix: Enclosure, claim: Claim) -> bool:
    r"""Whether a vector v shows a stored bound false: $\sigma_{\min} \le \|v^T A\| / \|v\| \le \sigma_{\max}$."""
    try:
        with np.errstate(all="ignore"):
            _, vectors = np.linalg.eigh(matrix.midpoint @ matrix.midpoint.T)
    except np.linalg.LinAlgError:
        return False
    ends = Enclosure.exact(vectors[:, [0, -1]].T)
    images = matmul(ends, matrix)
    gains = sqrt(total(images * images, 1) / total(ends * ends, 1))
    smallest_upper, largest_lower = float(gains.upper()[0]), float(gains.lower()[1])
    if smallest_upper < claim.values["smallest_singular_value_lower"]:
        return True
    return float(down(largest_lower / smallest_upper)) > claim.values["condition_upper"]


def _check_argmax(claim: Claim, judged: _Judged) -> ClaimCheck:
    least = float(judged.margin_lower.min())
    values: dict[str, Number] = {"proved": int((judged.margin_lower > 0.0).sum())}
    if claim.verdict is Verdict.PROVED and claim.values["proved"] < claim.values["contexts"]:
        return _check_argmax_of_some(claim, judged, values)
    wrong = np.flatnonzero(judged.margin_upper <= 0.0)
    if len(wrong):
        reason = f"in {len(wrong)} contexts another token is at least as likely as a mode, first in context {wrong[0]}"
        return ClaimCheck(claim.id, Verdict.REFUTED, reason, values)
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim, values)
    if 0.0 < least < math.inf:
        values["margin_lower"] = least
    stored = claim.values["margin_lower"]
    if stored <= least:
        return ClaimCheck(claim.id, Verdict.PROVED, f"{values['proved']} contexts", values)
    if float(judged.margin_upper.min()) < stored:
        return ClaimCheck(claim.id, Verdict.REFUTED, "the stored margin is larger than the least one", values)
    return ClaimCheck(claim.id, Verdict.UNDECIDED, "the stored margin does not follow from the enclosure", values)


def _check_argmax_of_some(claim: Claim, judged: _Judged, values: dict[str, Number]) -> ClaimCheck:
    """The claim that so many contexts, not said which, have so large a margin."""
    claimed, stored = claim.values["proved"], claim.values["margin_lower"]
    reached = sum(lower >= stored for lower in judged.margin_lower.tolist())
    if reached >= claimed:
        return ClaimCheck(claim.id, Verdict.PROVED, f"{reached} contexts", values)
    if sum(upper >= stored for upper in judged.margin_upper.tolist()) < claimed:
        return ClaimCheck(claim.id, Verdict.REFUTED, f"fewer than {claimed} contexts have the stored margin", values)
    return ClaimCheck(claim.id, Verdict.UNDECIDED, f"the stored margin was found in {reached} contexts only", values)


def _check_divergence(claim: Claim, network: Model, task: Task, features: Enclosure, judged: _Judged) -> ClaimCheck:
    most = float(judged.divergence_upper.max())
    mean = mean_upper_bound(judged.divergence_upper)
    values: dict[str, Number] = {}
    if most < math.inf and mean < math.inf:
        values = {"mean_upper": mean, "max_upper": most}
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim, values)
    if mean <= claim.values["mean_upper"] and most <= claim.values["max_upper"]:
        return ClaimCheck(claim.id, Verdict.PROVED, f"{task.n_contexts} contexts", values)
    least = judged.divergence_lower
    if task.laws is not None:
        least = _law_divergence_lower(network, task, task.laws, features)
    if float(least.max()) > claim.values["max_upper"] or _mean_lower(least) > claim.values["mean_upper"]:
        return ClaimCheck(claim.id, Verdict.REFUTED, "a divergence is larger than the stored bound", values)
    return ClaimCheck(claim.id, Verdict.UNDECIDED, "the stored bounds do not follow from the enclosure", values)


def _mean_lower(bounds: Float64Array) -> float:
    """Lower bound of the mean of numbers that are each known from below."""
    return float(down(lower_sum(bounds) / len(bounds)))


def _law_divergence_lower(network: Model, task: Task, laws: Float64Array, features: Enclosure) -> Float64Array:
    least = np.zeros(task.n_contexts)
    for start, logits in logit_chunks(network, task.contexts, features=features):
        rows = slice(start, start + len(logits))
        least[rows] = divergence(logits, laws[rows]).lower()
    return least


def _check_all_contexts(claim: Claim, task: Task, empirical: Enclosure) -> ClaimCheck:
    if claim.values["occurrences"] != _occurrences(task):
        reason = f"the text has {_occurrences(task)} occurrences of contexts, not {claim.values['occurrences']}"
        return ClaimCheck(claim.id, Verdict.REFUTED, reason, {})
    lower, upper = _mean_over_occurrences(task, empirical)
    values: dict[str, Number] = {"lower": lower, "upper": upper} if lower <= upper < math.inf else {}
    if claim.values["lower"] <= lower and upper <= claim.values["upper"]:
        return ClaimCheck(claim.id, Verdict.PROVED, f"{task.n_all} contexts", values)
    if upper < claim.values["lower"] or lower > claim.values["upper"]:
        return ClaimCheck(claim.id, Verdict.REFUTED, "the mean divergence is outside of the stored interval", values)
    return ClaimCheck(claim.id, Verdict.UNDECIDED, "the stored interval does not follow from the enclosure", values)
