"""A second proof of the certificate of a layer, with integers and balls alone, independent of the prover's arithmetic.

It reads the files with the standard library, computes with python-flint and Python's integers, and shares with the
prover the format of certificates only.

Page: docs/rigour/layer.md
"""

from fractions import Fraction
from pathlib import Path

from flint import ctx

from constructions.errors import FileFormatError, TamperedError
from verify.arithmetic.exact_json import Number
from verify.arithmetic.integers import SMALL
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
from verify.independent.ball_divergence import gap
from verify.independent.ball_ends import ball, outward
from verify.independent.ball_forward import PRECISIONS, BallForward, NoInformationError, Passed
from verify.independent.integer_rank import FeatureRows, rank_bounds
from verify.independent.plain_arrays import read_npz
from verify.independent.plain_model import PlainModel
from verify.independent.plain_task import PlainVectorTask
from verify.progress import Progress
from verify.verdict import Verdict

_PATH = "integers and balls, independent of the prover"
_NO_WITNESS = "the certificate has no witness, without which a proof would have to factor the matrix"
_TOO_TIGHT = "the rank is full, but the stored bounds are tighter than what the witness proves"
_FINAL = (_NO_WITNESS, _TOO_TIGHT)


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
    layer, task = PlainModel.read(folder / LAYER_FILE), PlainVectorTask.read(folder / LAYER_TASK_FILE)
    _require_subject(certificate.subject, layer, task)
    checks: dict[str, ClaimCheck] = {}
    for bits in PRECISIONS:
        open_ids = [id for id in ids if id not in checks or _is_open(certificate.claim(id), checks[id])]
        if not open_ids:
            break
        if progress is not None:
            progress("outputs", None, f"balls of {bits} bits")
        try:
            found = BallForward(layer, task, bits=bits, features="inputs").run(range(task.queries.shape[0]))
        except NoInformationError as error:
            checks |= {id: ClaimCheck(id, Verdict.UNDECIDED, str(error), {}) for id in open_ids}
            break
        with ctx.workprec(bits):
            if ranked.id in open_ids:
                checks[ranked.id] = _check_rank(ranked, folder, certificate, found, bits, progress)
            if labels.id in open_ids:
                judge = _check_error if task.kind == "regression" else _check_largest
                checks[labels.id] = judge(labels, task, found)
            if saturated.id in open_ids:
                checks[saturated.id] = _check_saturation(saturated, found)
    return LayerCheckReport(certificate, tuple(checks[id] for id in ids), _PATH)


def _is_open(claim: LayerClaim, check: ClaimCheck) -> bool:
    """Whether more bits may decide: not where the certificate claims nothing, nor where the witness is absent."""
    return claim.verdict is Verdict.PROVED and check.verdict is Verdict.UNDECIDED and check.reason not in _FINAL


def _require_subject(subject: LayerSubject, layer: PlainModel, task: PlainVectorTask) -> None:
    if layer.sha256 != subject.layer:
        raise TamperedError(f"{LAYER_FILE} is not the layer that the certificate is about: its hash differs")
    if task.sha256 != subject.task:
        raise TamperedError(f"{LAYER_TASK_FILE} is not the task that the certificate is about: its hash differs")
    if not layer.is_one_attention(skip=False, queries="task"):
        raise FileFormatError(f"{LAYER_FILE} is not a layer that reads vectors, which the certificate is about")
    of_task, block = task.sizes(), layer.blocks[0]
    heads, d_model, d_qk = block.shape("W_Q")
    of_layer = {"d_model": d_model, "n_heads": heads, "d_head": d_qk, "d_value": block.shape("W_V")[2]}
    of_layer |= {"d_inner": block.writes, "d_out": layer.d_vocab_out}
    if any(of_layer[name] != of_task[name] for name in ("d_model", "d_out")):
        raise FileFormatError(f"{LAYER_FILE} and {LAYER_TASK_FILE} do not fit each other: {of_layer}, {of_task}")
    if {**of_layer, **of_task} != dict(subject.sizes) or task.kind != subject.kind:
        raise TamperedError(f"the certificate is about the sizes {dict(subject.sizes)}, the files have others")


def _check_rank(
    claim: LayerClaim,
    folder: Path,
    certificate: LayerCertificate,
    found: Passed,
    bits: int,
    progress: Progress | None,
) -> ClaimCheck:
    rows, columns, most = len(found.outputs), certificate.subject.columns, certificate.subject.largest_rank
    if rows > most:
        reason = f"the rank of Z is at most {most}, less than its {rows} rows"
        return ClaimCheck(claim.id, Verdict.REFUTED, reason, {})
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim)
    if certificate.witness is None:
        return ClaimCheck(claim.id, Verdict.UNDECIDED, _NO_WITNESS, {})
    if progress is not None:
        progress("rank", None, f"{rows} x {columns} integers")
    # Entries of very different sizes need more digits than the others.
    rows_of_z = FeatureRows.of(found.features, [], SMALL if bits == PRECISIONS[0] else bits - SMALL)
    bounds = rank_bounds(rows_of_z, False, read_npz(folder / WITNESS_FILE))
    if bounds is None:
        return ClaimCheck(claim.id, Verdict.UNDECIDED, "the witness does not prove that the rank is full", {})
    smallest, condition = bounds
    values: dict[str, Number] = {"smallest_singular_value_lower": smallest, "condition_upper": condition}
    stored = {name: Fraction(value) for name, value in claim.bounds.items()}
    follows = stored.get("smallest_singular_value_lower", Fraction(0)) <= smallest
    if follows and ("condition_upper" not in stored or condition <= stored["condition_upper"]):
        return ClaimCheck(claim.id, Verdict.PROVED, f"integer products, {rows} x {columns}", values)
    return ClaimCheck(claim.id, Verdict.UNDECIDED, _TOO_TIGHT, values)


def _check_error(claim: LayerClaim, task: PlainVectorTask, found: Passed) -> ClaimCheck:
    errors = [abs(x - y) for t, row in enumerate(found.outputs) for x, y in zip(row, task.labels.row(t), strict=True)]
    values: dict[str, Number] = {"error_upper": max(outward(error.upper(), 1) for error in errors)}
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim, values)
    stored = ball(claim.values["error_upper"])
    if all(error <= stored for error in errors):
        return ClaimCheck(claim.id, Verdict.PROVED, f"balls in {len(found.outputs)} examples", values)
    if any(error > stored for error in errors):
        return ClaimCheck(claim.id, Verdict.REFUTED, "an output is further from its label than the bound", values)
    return ClaimCheck(claim.id, Verdict.UNDECIDED, "the largest error and the bound cannot be told apart", values)


def _check_largest(claim: LayerClaim, task: PlainVectorTask, found: Passed) -> ClaimCheck:
    gaps = [gap(row, task.modes(t)) for t, row in enumerate(found.outputs)]
    proved = sum(1 for one in gaps if one > 0)
    values: dict[str, Number] = {"proved": proved}
    wrong = [t for t, one in enumerate(gaps) if one <= 0]
    if wrong:
        reason = f"in {len(wrong)} examples another output is at least as large, first in example {wrong[0]}"
        return ClaimCheck(claim.id, Verdict.REFUTED, reason, values)
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim, values)
    stored = ball(claim.values["margin_lower"])
    values["margin_lower"] = min(outward(one.lower(), -1) for one in gaps)
    if all(stored <= one for one in gaps):
        return ClaimCheck(claim.id, Verdict.PROVED, f"balls in {proved} examples", values)
    if any(one < stored for one in gaps):
        return ClaimCheck(claim.id, Verdict.REFUTED, "the stored margin is larger than the least one", values)
    return ClaimCheck(claim.id, Verdict.UNDECIDED, "the least margin and the stored one cannot be told apart", values)


def _check_saturation(claim: LayerClaim, found: Passed) -> ClaimCheck:
    limit, shares = 1 - ball(claim.values["delta"]), [share for row in found.shares for share in row]
    surely, surely_not = sum(1 for share in shares if share > limit), sum(1 for share in shares if share <= limit)
    values: dict[str, Number] = {"saturated_lower": surely}
    if claim.verdict is not Verdict.PROVED:
        return _not_claimed(claim, values)
    stored = claim.values["saturated_lower"]
    if stored <= surely:
        return ClaimCheck(claim.id, Verdict.PROVED, f"{surely} of {len(shares)} pairs", values)
    if len(shares) - surely_not < stored:
        reason = f"at most {len(shares) - surely_not} pairs are saturated"
        return ClaimCheck(claim.id, Verdict.REFUTED, reason, values)
    return ClaimCheck(claim.id, Verdict.UNDECIDED, "some weights and the limit cannot be told apart", values)


def _not_claimed(claim: LayerClaim, values: dict[str, Number] | None = None) -> ClaimCheck:
    reason = f"the certificate itself says {claim.verdict.value} and states no bound to prove"
    return ClaimCheck(claim.id, Verdict.UNDECIDED, reason, values or {})
