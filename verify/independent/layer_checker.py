"""A second proof of the certificate of a layer, with integers and balls alone, independent of the prover's arithmetic.

It reads the files with the standard library, computes with python-flint and Python's integers, and shares with the
prover the format of certificates only.

Page: docs/rigour/layer.md
"""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from constructions.errors import FileFormatError, TamperedError
from verify.arithmetic.exact_json import Number
from verify.certificates.certificate import WITNESS_FILE, ClaimCheck
from verify.certificates.layer_certificate import (
    LAYER_CLAIMS,
    LAYER_FILE,
    LAYER_TASK_FILE,
    LayerCertificate,
    LayerCheckReport,
    LayerClaim,
    LayerSubject,
)
from verify.independent.integer_forward import NoInformationError
from verify.independent.integer_layer import BITS, IntegerLayer, integer_layer
from verify.independent.integer_rank import rank_bounds
from verify.independent.plain_files import read_npz
from verify.independent.plain_layer_files import PlainLayer, PlainLayerTask
from verify.progress import Progress
from verify.verdict import Verdict

_PATH = "integers and balls, independent of the prover"


def check_layer_independently(folder: Path, *, progress: Progress | None = None) -> LayerCheckReport:
    r"""Prove the claims of the certificate in `folder` again, from the files alone, in exact integer arithmetic.

    The rank needs the witness, which is not believed: integers prove what it is worth. A rank that only balls proved
    has none and stays UNDECIDED here.

    Args:
        folder: A folder with ``certificate.json``, ``layer.safetensors``, ``layer_task.npz`` and, for the rank,
            ``witness.npz``.
        progress: Called with the stage and the finished share of it.

    Returns:
        The verdict on each claim: PROVED with the bounds as stored, REFUTED if the opposite was proved, or UNDECIDED.

    Raises:
        FileFormatError: A file is missing or is not what it should be.
        TamperedError: A hash or a digest differs, or the certificate lacks a claim.

    Page: docs/rigour/layer.md
    """
    folder = Path(folder)
    certificate = LayerCertificate.load(folder)
    ids = LAYER_CLAIMS[certificate.subject.kind]
    ranked, labels, saturated = (certificate.claim(id) for id in ids)
    layer, task = PlainLayer.read(folder / LAYER_FILE), PlainLayerTask.read(folder / LAYER_TASK_FILE)
    _require_subject(certificate.subject, layer, task)
    try:
        found = integer_layer(layer, task, progress=progress)
        rank = _check_rank(ranked, folder, certificate, found, progress)
        if rank.verdict is Verdict.UNDECIDED and certificate.witness is not None and ranked.bounds:
            # Entries of very different sizes need more digits than the others.
            more = integer_layer(layer, task, feature_bits=BITS, progress=progress)
            rank = _check_rank(ranked, folder, certificate, more, progress)
        judge = _check_error if task.kind == "regression" else _check_largest
        checks = (rank, judge(labels, task, found), _check_saturation(saturated, found))
    except NoInformationError as error:
        checks = tuple(ClaimCheck(id, Verdict.UNDECIDED, str(error), {}) for id in ids)
    return LayerCheckReport(certificate, checks, _PATH)


def _require_subject(subject: LayerSubject, layer: PlainLayer, task: PlainLayerTask) -> None:
    if layer.sha256 != subject.layer:
        raise TamperedError(f"{LAYER_FILE} is not the layer that the certificate is about: its hash differs")
    if task.sha256 != subject.task:
        raise TamperedError(f"{LAYER_TASK_FILE} is not the task that the certificate is about: its hash differs")
    of_layer, of_task = layer.sizes(), task.sizes()
    if any(of_layer[name] != of_task[name] for name in ("d_model", "d_out")):
        raise FileFormatError(f"{LAYER_FILE} and {LAYER_TASK_FILE} do not fit each other: {of_layer}, {of_task}")
    if {**of_layer, **of_task} != dict(subject.sizes) or task.kind != subject.kind:
        raise TamperedError(f"the certificate is about the sizes {dict(subject.sizes)}, the files have others")


def _check_rank(
    claim: LayerClaim,
    folder: Path,
    certificate: LayerCertificate,
    found: IntegerLayer,
    progress: Progress | None,
) -> ClaimCheck:
    rows, columns, most = len(found.outputs), certificate.subject.columns, certificate.subject.largest_rank
    if rows > most:
        reason = f"the rank of Z is at most {most}, less than its {rows} rows"
        return ClaimCheck(claim.id, Verdict.REFUTED, reason, {})
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim)
    if certificate.witness is None:
        reason = "the certificate has no witness, without which a proof would have to factor the matrix"
        return ClaimCheck(claim.id, Verdict.UNDECIDED, reason, {})
    if progress is not None:
        progress("rank", None, f"{rows} x {columns} integers")
    bounds = rank_bounds(found, False, read_npz(folder / WITNESS_FILE))
    if bounds is None:
        return ClaimCheck(claim.id, Verdict.UNDECIDED, "the witness does not prove that the rank is full", {})
    smallest, condition = bounds
    values: dict[str, Number] = {"smallest_singular_value_lower": smallest, "condition_upper": condition}
    stored = {name: Fraction(value) for name, value in claim.bounds.items()}
    follows = stored.get("smallest_singular_value_lower", Fraction(0)) <= smallest
    if follows and ("condition_upper" not in stored or condition <= stored["condition_upper"]):
        return ClaimCheck(claim.id, Verdict.PROVED, f"integer products, {rows} x {columns}", values)
    reason = "the rank is full, but the stored bounds are tighter than what the witness proves"
    return ClaimCheck(claim.id, Verdict.UNDECIDED, reason, values)


def _check_error(claim: LayerClaim, task: PlainLayerTask, found: IntegerLayer) -> ClaimCheck:
    lower = upper = Fraction(0)
    for t in range(len(found.outputs)):
        for j, label in enumerate(map(Fraction, task.labels.row(t))):
            low, high = (end - label for end in found.output(t, j))
            lower, upper = max(lower, low, -high), max(upper, high, -low)
    values: dict[str, Number] = {"error_upper": upper}
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim, values)
    stored = Fraction(claim.values["error_upper"])
    if upper <= stored:
        return ClaimCheck(claim.id, Verdict.PROVED, f"compared as fractions in {len(found.outputs)} examples", values)
    if lower > stored:
        return ClaimCheck(claim.id, Verdict.REFUTED, "an output is further from its label than the bound", values)
    return ClaimCheck(claim.id, Verdict.UNDECIDED, "the largest error and the bound cannot be told apart", values)


def _check_largest(claim: LayerClaim, task: PlainLayerTask, found: IntegerLayer) -> ClaimCheck:
    gaps = [_gap(task.labels.row(t), found, t) for t in range(len(found.outputs))]
    proved = sum(lower > 0 for lower, _ in gaps)
    values: dict[str, Number] = {"proved": proved}
    wrong = [t for t, (_, upper) in enumerate(gaps) if upper <= 0]
    if wrong:
        reason = f"in {len(wrong)} examples another output is at least as large, first in example {wrong[0]}"
        return ClaimCheck(claim.id, Verdict.REFUTED, reason, values)
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim, values)
    least, stored = min(lower for lower, _ in gaps), Fraction(claim.values["margin_lower"])
    values["margin_lower"] = least
    if stored <= least:
        return ClaimCheck(claim.id, Verdict.PROVED, f"compared as integers in {proved} examples", values)
    if any(upper < stored for _, upper in gaps):
        return ClaimCheck(claim.id, Verdict.REFUTED, "the stored margin is larger than the least one", values)
    return ClaimCheck(claim.id, Verdict.UNDECIDED, "the least margin and the stored one cannot be told apart", values)


def _gap(labels: Sequence[float], found: IntegerLayer, t: int) -> tuple[Fraction, Fraction]:
    """Lower and upper bound of how far the output of the class lies above all others."""
    own = max(range(len(labels)), key=labels.__getitem__)
    low, high = found.output(t, own)
    others = [found.output(t, j) for j in range(len(labels)) if j != own]
    return low - max(end for _, end in others), high - max(end for end, _ in others)


def _check_saturation(claim: LayerClaim, found: IntegerLayer) -> ClaimCheck:
    surely, perhaps = found.saturated(Fraction(claim.values["delta"]))
    values: dict[str, Number] = {"saturated_lower": surely}
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim, values)
    stored = claim.values["saturated_lower"]
    if stored <= surely:
        return ClaimCheck(claim.id, Verdict.PROVED, f"{surely} of {len(found.top)} pairs", values)
    if perhaps < stored:
        return ClaimCheck(claim.id, Verdict.REFUTED, f"at most {perhaps} pairs are saturated", values)
    return ClaimCheck(claim.id, Verdict.UNDECIDED, "some weights and the limit cannot be told apart", values)


def _not_claimed(claim: LayerClaim, values: dict[str, Number] | None = None) -> ClaimCheck:
    reason = f"the certificate itself says {claim.verdict.value} and states no bound to prove"
    return ClaimCheck(claim.id, Verdict.UNDECIDED, reason, values or {})
