"""What a layer does with the examples of a task, proved about the weights as they are, and proved again."""

import io
import math
import platform
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import flint
import numpy as np
from flint import ctx
from numpy.typing import NDArray

from constructions.errors import FileFormatError, InputError, TamperedError
from constructions.files import write_atomically
from constructions.models.construction import require_fit
from constructions.models.model import Model
from constructions.tasks.vectors import VectorTask
from verify.arithmetic import blas
from verify.arithmetic.enclosure import Enclosure, down, matmul, sqrt, total, up
from verify.arithmetic.exact_json import Number, lowered, raised
from verify.certificates.certificate import WITNESS_FILE, ClaimCheck, Witness
from verify.certificates.layer_certificate import (
    LABEL_ERROR,
    LARGEST_OUTPUT,
    LAYER_CLAIMS,
    LAYER_FILE,
    LAYER_TASK_FILE,
    MIXED_RANK,
    SATURATION,
    LayerCertificate,
    LayerCheckReport,
    LayerClaim,
    LayerSubject,
)
from verify.certificates.memory_budget import require_memory
from verify.divergence.kullback_leibler import argmax_margin
from verify.forward.in_balls import mixed_inputs_in_balls
from verify.forward.layer_forward import LayerForward, enclose_layer, enclose_outputs
from verify.linear_algebra.ball_rank import ball_rank
from verify.linear_algebra.gram import GramWitness
from verify.linear_algebra.norms import float_above, frobenius, radius_norm
from verify.linear_algebra.row_rank import RankCertificate, certify_full_row_rank
from verify.progress import Progress
from verify.verdict import Verdict

Float64Array = NDArray[np.float64]

DELTA = Fraction(1, 100)
"""A head is saturated where its largest attention weight is above 1 - DELTA; the source takes 0.99."""

_PATH = "float64 with proved error bounds, and balls where they do not suffice"
_MARGIN_SLACK = 2.0**-10  # relative; what a stored bound gives away so that another BLAS proves it too
_ERROR_SLACK = 2.0**-2  # the same for label errors, which are mostly radii of enclosures
_RANK_SLACK = 2.0**-5  # the same for singular values
_DELTA_SLACK = Fraction(1, 1024)  # the same for saturation: counted are weights above 1 - DELTA (1 - slack)
_LARGEST = 2.0**1000  # what is larger is no bound worth storing
_LARGEST_BALLS = 2**21  # rows * rows * columns of a matrix that is eliminated in balls
_MOST_BITS = 2048  # of these balls


@dataclass(frozen=True, eq=False)
class CertifiedLayer:
    """The certificate of a layer, with what was enclosed for it.

    Args:
        certificate: The claims; what is written to ``certificate.json``.
        witness: The bytes of ``witness.npz``, or `None`.
        outputs: Enclosure of the outputs, `[T, d_out]`.
        top: Enclosure of the largest attention weight of each example and head, `[T, H]`.
    """

    certificate: LayerCertificate
    witness: bytes | None
    outputs: Enclosure
    top: Enclosure

    def save(self, folder: Path) -> None:
        """Write ``certificate.json`` and, if there is one, ``witness.npz`` into `folder`, each atomically."""
        if self.witness is not None:
            write_atomically(Path(folder) / WITNESS_FILE, self.witness)
        self.certificate.save(folder)


def certify_layer(
    layer: Model,
    task: VectorTask,
    *,
    delta: Fraction | float = DELTA,
    witness: bool = True,
    progress: Progress | None = None,
) -> CertifiedLayer:
    r"""Prove what the layer with these very float64 weights does, in real arithmetic, with the examples of the task.

    Three claims: $Z$ has full row rank; all outputs are within a bound of their labels (for classes: the output of the
    class is the largest); at least so many pairs of a head and an example have an attention weight above $1 - \delta$.

    Every number comes from an enclosure, so it holds for the layer in real arithmetic. Bounds are stored with slack, so
    that a proof on another machine, whose roundings differ, proves them too. What could not be proved is stored as
    UNDECIDED and without a bound; more examples than the rank of $Z$ can ever be (Lemma Y6) are REFUTED.

    Args:
        layer: The weights.
        task: The examples.
        delta: What saturation may lack of 1, in (0, 1).
        witness: Keep what lets `verify.independent.layer_checker` re-prove the rank with integers; 4 to 8 T^2 bytes or
            8 T H d.
        progress: Called with the stage and the finished share of it.

    Returns:
        The certificate, with the enclosures.

    Raises:
        InputError: The layer does not fit the task, or `delta` is not in (0, 1).
        ResourceError: There is too little memory.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Theorem 1, for what is claimed. Page: docs/rigour/layer.md

    Example:
        >>> layer = mahdavi_layer(W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)), W_V=np.ones((1, 2, 1)),
        ...               W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
        >>> task = VectorTask(contexts=np.eye(2)[None], queries=np.zeros((1, 2)), labels=np.ones((1, 1)))
        >>> [claim.verdict.value for claim in certify_layer(layer, task).certificate.claims]
        ['PROVED', 'PROVED', 'PROVED']
    """
    require_fit(layer, task)
    if not 0 < delta < 1:
        raise InputError(f"delta = {delta}, expected a number in (0, 1)")
    require_memory(_estimated_bytes(layer, task), purpose=f"a certificate for {task.n_examples} examples")
    blas.probe()
    show = progress or _silent
    found = enclose_layer(layer, task, progress=show)
    show("outputs", None, f"{task.n_examples} x {layer.d_vocab_out}")
    outputs = enclose_outputs(layer, task, mixed=found.mixed)
    subject = _subject(layer, task)
    ranked, arrays = _claim_rank(layer, task, subject, found.mixed, witness=witness, progress=show)
    labels = _claim_error(task, outputs) if task.kind == "regression" else _claim_largest(task, outputs)
    data = None if arrays is None else _npz(arrays)
    certificate = LayerCertificate(
        subject=subject,
        claims=(ranked, labels, _claim_saturation(found, Fraction(delta))),
        provenance=_provenance(),
        witness=None if data is None else Witness.of(data),
    )
    return CertifiedLayer(certificate, data, outputs, found.top)


def check_layer(folder: Path, *, progress: Progress | None = None) -> LayerCheckReport:
    """Prove the claims of the certificate in `folder` again, from the weights and the task alone.

    The hashes are compared first; then every claim is proved anew by the same methods that `certify_layer` uses, and
    its stored bounds must follow. Nothing that is stored is used in a proof.

    Args:
        folder: A folder with ``certificate.json``, ``layer.safetensors`` and ``layer_task.npz``.
        progress: Called with the stage and the finished share of it.

    Returns:
        The verdict on each claim: PROVED with the bounds as stored, REFUTED if the opposite was proved, or UNDECIDED.

    Raises:
        FileFormatError: A file is missing or is not what it should be.
        TamperedError: A hash or a digest differs, or the certificate lacks a claim.
        ResourceError: There is too little memory.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Page: docs/rigour/layer.md
    """
    folder = Path(folder)
    certificate = LayerCertificate.load(folder)
    claims = [certificate.claim(id) for id in LAYER_CLAIMS[certificate.subject.kind]]
    layer, task = load_layer(folder, certificate)
    require_memory(_estimated_bytes(layer, task), purpose=f"checking {task.n_examples} examples")
    blas.probe()
    show = progress or _silent
    found = enclose_layer(layer, task, progress=show)
    show("outputs", None, f"{task.n_examples} x {layer.d_vocab_out}")
    outputs = enclose_outputs(layer, task, mixed=found.mixed)
    ranked, labels, saturated = claims
    checks = (
        _check_rank(ranked, layer, task, certificate.subject, found.mixed, show),
        _check_error(labels, task, outputs) if task.kind == "regression" else _check_largest(labels, task, outputs),
        _check_saturation(saturated, found),
    )
    return LayerCheckReport(certificate, checks, _PATH)


def load_layer(folder: Path, certificate: LayerCertificate) -> tuple[Model, VectorTask]:
    """The layer and the task in `folder`, if they are those that the certificate is about.

    Args:
        folder: A folder with ``layer.safetensors`` and ``layer_task.npz``.
        certificate: The certificate.

    Returns:
        Both.

    Raises:
        FileFormatError: A file is missing, is not what it should be, or asks for more memory than there is; or the two
            do not fit each other.
        TamperedError: A hash or a size differs.

    Page: docs/rigour/layer.md
    """
    folder = Path(folder)
    try:
        layer, task = Model.load(folder / LAYER_FILE), VectorTask.load(folder / LAYER_TASK_FILE)
    except MemoryError as error:
        raise FileFormatError(f"{folder} holds arrays that ask for more memory than there is") from error
    found, named = _subject(layer, task), certificate.subject
    if found.layer != named.layer:
        raise TamperedError(f"{LAYER_FILE} is not the layer that the certificate is about: its hash differs")
    if found.task != named.task:
        raise TamperedError(f"{LAYER_TASK_FILE} is not the task that the certificate is about: its hash differs")
    if found != named:
        raise TamperedError(f"the certificate is about the sizes {dict(named.sizes)}, the files have {found.sizes}")
    try:
        require_fit(layer, task)
    except InputError as error:
        raise FileFormatError(f"{LAYER_FILE} and {LAYER_TASK_FILE} do not fit each other: {error}") from error
    return layer, task


def _silent(stage: str, share: float | None, detail: str) -> None:
    pass


def _subject(layer: Model, task: VectorTask) -> LayerSubject:
    sizes = {
        "n_examples": task.n_examples,
        "n_contexts": len(task.contexts),
        "n_tokens": task.n_tokens,
        "d_model": layer.d_model,
        "n_heads": layer.n_heads,
        "d_head": layer.d_qk,
        "d_value": layer.d_head,
        "d_inner": layer.attention.d_out,
        "d_out": layer.d_vocab_out,
    }
    return LayerSubject(layer.sha256(), task.sha256(), task.kind, sizes)


def _estimated_bytes(layer: Model, task: VectorTask) -> int:
    """Estimated peak: six copies of Z, five square matrices, the read-out, the outputs, and what is done in blocks."""
    columns = layer.n_heads * layer.d_model
    entries = 6 * task.n_examples * columns + 5 * task.n_examples**2
    return 8 * (entries + 8 * layer.d_vocab_out * (columns + task.n_examples)) + 2**28


def _npz(arrays: dict[str, NDArray]) -> bytes:
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
# The rank of Z.


def _claim_rank(
    layer: Model, task: VectorTask, subject: LayerSubject, mixed: Enclosure, *, witness: bool, progress: Progress
) -> tuple[LayerClaim, dict[str, NDArray] | None]:
    rows, columns = mixed.shape
    values: dict[str, Number] = {"rows": rows, "columns": columns}
    if rows > subject.largest_rank:
        return LayerClaim.of(MIXED_RANK, Verdict.REFUTED, "more rows than the rank can be", values), None
    progress("rank", None, f"{rows} x {columns}")
    found = certify_full_row_rank(mixed, witness=witness)
    smallest, condition = _rank_bounds(mixed, found)
    if smallest > 0.0 and condition < _LARGEST:
        bounds: dict[str, Number] = {
            "smallest_singular_value_lower": lowered(smallest, _RANK_SLACK),
            "condition_upper": raised(condition, 2 * _RANK_SLACK),
        }
        if bounds["smallest_singular_value_lower"] > 0:
            claim = LayerClaim.of(MIXED_RANK, Verdict.PROVED, found.method, {**values, **bounds})
            return claim, _witness_arrays(found)
    bits = _bits_of_balls(layer, task, progress)
    if bits is not None:
        return LayerClaim.of(MIXED_RANK, Verdict.PROVED, f"balls of {bits} bits", values), None
    return LayerClaim.of(MIXED_RANK, Verdict.UNDECIDED, "no method proved it", values), None


def _bits_of_balls(layer: Model, task: VectorTask, progress: Progress) -> int | None:
    """The precision at which balls prove full row rank, `None` if none does or the matrix is too large for them."""
    rows, columns = task.n_examples, layer.n_heads * layer.d_model
    if rows * rows * columns > _LARGEST_BALLS:
        return None
    progress("rank", None, f"{rows} x {columns} in balls")
    found = ball_rank(lambda: mixed_inputs_in_balls(layer, task, ctx.prec), target=rows, most_bits=_MOST_BITS)
    return found.bits if found.verdict is Verdict.PROVED else None


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


def _check_rank(
    claim: LayerClaim, layer: Model, task: VectorTask, subject: LayerSubject, mixed: Enclosure, progress: Progress
) -> ClaimCheck:
    rows, columns = mixed.shape
    if rows > subject.largest_rank:
        reason = f"the rank of Z is at most {subject.largest_rank}, less than its {rows} rows"
        return ClaimCheck(claim.id, Verdict.REFUTED, reason, {})
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim)
    progress("rank", None, f"{rows} x {columns}")
    found = certify_full_row_rank(mixed)
    smallest, condition = _rank_bounds(mixed, found)
    values: dict[str, Number] = {}
    if smallest > 0.0 and condition < math.inf:
        values = {"smallest_singular_value_lower": smallest, "condition_upper": condition}
    if not claim.bounds:
        if found.verdict is Verdict.PROVED:
            return ClaimCheck(claim.id, Verdict.PROVED, found.method, values)
        bits = _bits_of_balls(layer, task, progress)
        if bits is not None:
            return ClaimCheck(claim.id, Verdict.PROVED, f"balls of {bits} bits", values)
        return ClaimCheck(claim.id, Verdict.UNDECIDED, "the rank was not proved full", values)
    if values and claim.values["smallest_singular_value_lower"] <= smallest:
        if condition <= claim.values["condition_upper"]:
            return ClaimCheck(claim.id, Verdict.PROVED, found.method, values)
    if _is_beyond(mixed, claim):
        reason = "the stored bounds are better than any that hold: a vector shows it"
        return ClaimCheck(claim.id, Verdict.REFUTED, reason, values)
    reason = "the rank is full, but the stored bounds do not follow" if values else "the rank was not proved full"
    return ClaimCheck(claim.id, Verdict.UNDECIDED, reason, values)


def _is_beyond(matrix: Enclosure, claim: LayerClaim) -> bool:
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


# ---------------------------------------------------------------------------------------------------------------------
# The labels.


def _claim_error(task: VectorTask, outputs: Enclosure) -> LayerClaim:
    values: dict[str, Number] = {"examples": task.n_examples, "outputs": task.d_out}
    _, upper = _largest_error(task, outputs)
    if upper < _LARGEST:
        values["error_upper"] = raised(upper, _ERROR_SLACK)
        return LayerClaim.of(LABEL_ERROR, Verdict.PROVED, "enclosure of the outputs", values)
    return LayerClaim.of(LABEL_ERROR, Verdict.UNDECIDED, "enclosure of the outputs", values)


def _largest_error(task: VectorTask, outputs: Enclosure) -> tuple[float, float]:
    """Lower and upper bound of the largest distance of an output from its label."""
    errors = abs(outputs - task.labels)
    return max(0.0, float(errors.lower().max())), float(errors.upper().max())


def _check_error(claim: LayerClaim, task: VectorTask, outputs: Enclosure) -> ClaimCheck:
    lower, upper = _largest_error(task, outputs)
    values: dict[str, Number] = {"error_upper": upper} if upper < math.inf else {}
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim, values)
    stored = claim.values["error_upper"]
    if upper <= stored:
        return ClaimCheck(claim.id, Verdict.PROVED, f"{task.n_examples} examples", values)
    if lower > stored:
        return ClaimCheck(claim.id, Verdict.REFUTED, "an output is further from its label than the bound", values)
    return ClaimCheck(claim.id, Verdict.UNDECIDED, "the stored bound does not follow from the enclosure", values)


def _margins(task: VectorTask, outputs: Enclosure) -> tuple[Float64Array, Float64Array]:
    """Lower and upper bounds of how far the output of the class lies above all others, `[T]`."""
    of_class = np.zeros(outputs.shape, dtype=bool)
    of_class[np.arange(task.n_examples), task.classes] = True
    least = np.where(of_class, outputs.upper(), np.inf).min(axis=1)
    most = np.where(of_class, -np.inf, outputs.lower()).max(axis=1)
    with np.errstate(all="ignore"):
        gap = up(least - most)
    # A difference of float64 is 0 only if they are equal, so the comparison itself is exact.
    return argmax_margin(outputs, of_class), np.where(least <= most, np.minimum(0.0, gap), gap)


def _claim_largest(task: VectorTask, outputs: Enclosure) -> LayerClaim:
    lower, upper = _margins(task, outputs)
    proved = int((lower > 0.0).sum())
    values: dict[str, Number] = {"examples": task.n_examples, "proved": proved}
    verdict = Verdict.UNDECIDED
    if bool((upper <= 0.0).any()):
        verdict = Verdict.REFUTED
    elif proved == task.n_examples:
        margin = lowered(min(float(lower.min()), _LARGEST), _MARGIN_SLACK)
        if margin > 0.0:
            verdict, values = Verdict.PROVED, {**values, "margin_lower": margin}
    return LayerClaim.of(LARGEST_OUTPUT, verdict, "enclosure of the outputs", values)


def _check_largest(claim: LayerClaim, task: VectorTask, outputs: Enclosure) -> ClaimCheck:
    lower, upper = _margins(task, outputs)
    values: dict[str, Number] = {"proved": int((lower > 0.0).sum())}
    wrong = np.flatnonzero(upper <= 0.0)
    if len(wrong):
        reason = f"in {len(wrong)} examples another output is at least as large, first in example {wrong[0]}"
        return ClaimCheck(claim.id, Verdict.REFUTED, reason, values)
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim, values)
    least, stored = float(lower.min()), claim.values["margin_lower"]
    if least > 0.0:
        values["margin_lower"] = least
    if stored <= least:
        return ClaimCheck(claim.id, Verdict.PROVED, f"{task.n_examples} examples", values)
    if float(upper.min()) < stored:
        return ClaimCheck(claim.id, Verdict.REFUTED, "the stored margin is larger than the least one", values)
    return ClaimCheck(claim.id, Verdict.UNDECIDED, "the stored margin does not follow from the enclosure", values)


# ---------------------------------------------------------------------------------------------------------------------
# Saturation.


def _claim_saturation(found: LayerForward, delta: Fraction) -> LayerClaim:
    surely, _ = _saturated(found, delta * (1 - _DELTA_SLACK))
    values: dict[str, Number] = {"pairs": found.top.size, "delta": delta, "saturated_lower": surely}
    return LayerClaim.of(SATURATION, Verdict.PROVED, "enclosure of the attention weights", values)


def _saturated(found: LayerForward, delta: Fraction) -> tuple[int, int]:
    """How many largest weights are surely above 1 - delta, and how many may be."""
    limit = float(1 - delta)  # the nearest float64; its neighbours lie on either side of the exact limit
    surely = found.top.lower() > math.nextafter(limit, 2.0)
    surely_not = found.top.upper() <= math.nextafter(limit, -1.0)
    return int(surely.sum()), int((~surely_not).sum())


def _check_saturation(claim: LayerClaim, found: LayerForward) -> ClaimCheck:
    surely, perhaps = _saturated(found, Fraction(claim.values["delta"]))
    values: dict[str, Number] = {"saturated_lower": surely}
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim, values)
    stored = claim.values["saturated_lower"]
    if stored <= surely:
        return ClaimCheck(claim.id, Verdict.PROVED, f"{surely} of {found.top.size} pairs", values)
    if perhaps < stored:
        return ClaimCheck(claim.id, Verdict.REFUTED, f"at most {perhaps} pairs are saturated", values)
    return ClaimCheck(claim.id, Verdict.UNDECIDED, "some weights and the limit cannot be told apart", values)


def _not_claimed(claim: LayerClaim, values: dict[str, Number] | None = None) -> ClaimCheck:
    reason = f"the certificate itself says {claim.verdict.value} and states no bound to prove"
    return ClaimCheck(claim.id, Verdict.UNDECIDED, reason, values or {})
