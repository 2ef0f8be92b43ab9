"""Prove an edit, and prove it again from the edited weights and the contexts.

Page: docs/claims/editing.md
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from constructions.counted import counted
from constructions.errors import FileFormatError, HypothesisError, InputError, TamperedError
from constructions.formats.files import write_atomically
from constructions.model.appended_neurons import editable, without_neurons
from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray, Float64Array, Int64Array
from constructions.progress import Progress, silent
from verify.arithmetic.exact_json import Number, raised
from verify.certificates.provenance import provenance
from verify.edits.before import Before
from verify.edits.certificate import (
    CAP,
    CONTEXTS_FILE,
    EDITED_FILE,
    FLAT,
    LONGEST_DOMAIN,
    ORIGINAL_FILE,
    EditCertificate,
    EditCheck,
    EditRequest,
    EditRuns,
)
from verify.edits.contexts import by_length, in_one_array, token_lists
from verify.edits.judge import KeptContexts, caps, judge_kept
from verify.edits.runs import answered_in_every_run, state_edit_runs
from verify.forward.logits import enclose_logits
from verify.runs.formats import EXP_ULPS
from verify.verdict import Verdict

_SLACK = 2.0**-6  # relative; what a stored bound gives away so that another machine proves it too
LARGEST_DOMAIN = 2**LONGEST_DOMAIN


@dataclass(frozen=True, eq=False)
class Edit:
    """A requested edit: contexts, new answers, and contexts to keep.

    Args:
        contexts: The contexts that are edited, tokens, `[edits, S]`, in the order of the new neurons; of several
            lengths as `verify.edits.contexts` has them.
        answers: What each shall be answered by, `[edits]`; `FLAT` for the uniform distribution.
        kept: The contexts whose answers shall stay, `[K, S']`, likewise; none of them is edited.
        domain: Where all contexts of a length are kept but the edited ones, that length; then `kept` is them.
    """

    contexts: Int64Array
    answers: Int64Array
    kept: Int64Array
    domain: int | None = None

    def asked(self) -> EditRequest:
        """Return the same as plain lists."""
        kept = token_lists(self.kept) if self.domain is None else []
        return EditRequest(token_lists(self.contexts), self.answers.tolist(), kept, self.domain)

    @classmethod
    def of(cls, asked: EditRequest, d_vocab: int) -> "Edit":
        """Return the arrays of plain lists."""
        contexts = in_one_array(asked.contexts)
        if asked.domain is not None:
            return cls(contexts, np.array(asked.answers), whole_domain(d_vocab, asked.domain, contexts), asked.domain)
        return cls(contexts, np.array(asked.answers), in_one_array(asked.kept))


def whole_domain(d_vocab: int, length: int, but: Int64Array) -> Int64Array:
    """Return all contexts of a length over tokens below `d_vocab`, except those of `but`, in order.

    Raises:
        InputError: They are more than 2^22, or `length` is below 1.

    Example:
        >>> whole_domain(2, 2, np.array([[0, 1]])).tolist()
        [[0, 0], [1, 0], [1, 1]]
    """
    if not 1 <= length <= LONGEST_DOMAIN or d_vocab**length > LARGEST_DOMAIN:
        raise InputError("keep_domain", f"= {length}: {d_vocab}^{length} contexts", f"from 1 to {LARGEST_DOMAIN}")
    left = np.ones(d_vocab**length, dtype=bool)
    for _, rows in by_length(but):
        if rows.shape[1] == length:
            left[np.ravel_multi_index(tuple(rows.T), (d_vocab,) * length)] = False
    return np.stack(np.unravel_index(np.flatnonzero(left), (d_vocab,) * length), axis=1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class EditProof:
    """The proved results of an edit, by context.

    Args:
        memorized: Whether each edited context is answered as asked, `[edits]`.
        before: Whether the original answers each of them so too, `[edits]`.
        spread: Upper bound of the range of the logits over the contexts that should be flat, nats; 0 without.
        kept: The proved statements on the kept contexts.
        radii: About how large the cap of each neuron is (`verify.edits.judge.Caps`).
        values: The numbers of the certificate.
    """

    memorized: BoolArray
    before: BoolArray
    spread: float
    kept: KeptContexts
    radii: Float64Array
    values: Mapping[str, Number]


def prove_edit(
    original: Model,
    edited: Model,
    edit: Edit,
    *,
    layer: int | None = None,
    everywhere: bool = False,
    before: Before | None = None,
    progress: Progress = silent,
) -> EditProof:
    """Prove the answers of an edited model on the edited contexts, the kept ones, and outside of its caps.

    Args:
        original: The model before, whose weights need not be those of the edited one: they may have been rounded.
        edited: The model with the new neurons.
        edit: The edit that was asked for.
        layer: Number of the feed-forward block that has the new neurons; the last one by default.
        everywhere: Whether the other layers have as many neurons of zeros.
        before: Results that are known of the original.
        progress: Called with the stage and the finished share of it.

    Returns:
        The bounds. A context counts only if it is decided.

    Raises:
        InputError: Models or contexts that do not fit.
        BlasError: The arithmetic of this machine does not keep what the proofs need.
    """
    progress("edited contexts", None, "")
    flat = edit.answers == FLAT
    known = Before.of(original, editable(edited, layer).place, before)
    cut = without_neurons(edited, len(flat), layer=layer, everywhere=everywhere)
    is_rounded = cut is not original and cut.sha256() != original.sha256()
    (memorized, given), spread = np.zeros((2, len(flat)), dtype=bool), 0.0
    known.ask(edit.contexts[~flat], edit.kept, progress=progress)
    if not flat.all():
        given[~flat] = known.leads(edit.contexts[~flat], progress=progress)[0] == edit.answers[~flat]
        memorized[~flat] = known.decided(edited, edit.contexts[~flat], is_rounded) == edit.answers[~flat]
    for _, rows in by_length(edit.contexts[flat]):
        logits = enclose_logits(edited, rows)
        with np.errstate(all="ignore"):
            ranges = np.nextafter(logits.upper().max(axis=1) - logits.lower().min(axis=1), np.inf)
        spread = max(spread, float(np.where(np.isnan(ranges), np.inf, ranges).max()))
    kept = judge_kept(
        original, edited, len(flat), edit.kept, layer=layer, everywhere=everywhere, before=known, progress=progress
    )
    outside = caps(edited, len(flat), layer=layer, threshold=CAP)
    values: dict[str, Number] = {
        "asked": int((~flat).sum()),
        "memorized": int(memorized.sum()),
        "before": int(given.sum()),
        "flat": int(flat.sum()),
        "spread": spread,
        "kept": len(edit.kept),
        "same": int(kept.same.sum()),
        "changed": int(kept.changed.sum()),
        "moved": float(kept.moved.max(initial=0.0)),
    }
    if not is_rounded and (layer is None or np.isfinite(outside.moved)):
        values["outside"] = outside.moved  # of rounded weights nothing is known but what was evaluated
    return EditProof(memorized, given, spread, kept, outside.radii, values)


def certify_edit(
    edited: Model,
    edit: Edit,
    *,
    original: Model | None = None,
    layer: int | None = None,
    everywhere: bool = False,
    before: Before | None = None,
    progress: Progress = silent,
) -> tuple[EditCertificate, EditProof]:
    """Prove an edit, and state it with a slack that another machine's roundings need.

    Args:
        edited: The model one of whose feed-forward blocks ends with one neuron for each edited context.
        edit: The edit that was asked for.
        original: The model before; by default the edited one without its new neurons.
        layer: Number of the block; the last one by default.
        everywhere: Whether the other layers have as many neurons of zeros.
        before: Results that are known of the original.
        progress: Called with the stage and the finished share of it.

    Returns:
        The certificate, and the bounds of each context.

    Raises:
        InputError: A model that has no such neurons, or contexts that do not fit it.
        HypothesisError: A kept context whose logits are not known to move by a finite amount, as where a new neuron may
            fire.
        BlasError: The arithmetic of this machine does not keep what the proofs need.
    """
    if original is None:
        original = without_neurons(edited, len(edit.answers), layer=layer, everywhere=everywhere)
    require_distinct(edit)
    proof = prove_edit(original, edited, edit, layer=layer, everywhere=everywhere, before=before, progress=progress)
    inside = np.flatnonzero(~np.isfinite(proof.kept.moved))
    if len(inside):
        first = token_lists(edit.kept[inside[:1]])[0]
        raise HypothesisError(
            "an edit",
            "every kept context to lie outside of the caps of the new neurons, and its logits to be known",
            f"a new neuron may fire at {first} ({counted(len(inside), 'kept context')} in all)",
        )
    values = dict(proof.values)
    for name in [name for name in ("spread", "moved", "outside") if name in values]:
        if not np.isfinite(float(values[name])):
            needed = "a last normalization that bounds what the new neurons put out"
            raise HypothesisError("an edit", needed, f"the bound {name!r} is infinite")
        values[name] = raised(float(values[name]), _SLACK)
    hashes = original.sha256(), edited.sha256(), edit.asked().sha256()
    certificate = EditCertificate(*hashes, len(edit.answers), layer, everywhere, values, provenance())
    return certificate, proof


def edit_in_every_run(
    edited: Model,
    edit: Edit,
    proof: EditProof,
    *,
    dtype: str,
    exp_ulps: float = EXP_ULPS,
    progress: Progress = silent,
) -> EditRuns | None:
    """Return the statement about every run of an edited model; None if nothing is proved.

    Args:
        edited: The model after the edit.
        edit: The edit that was asked for.
        proof: The proof in real arithmetic.
        dtype: A key of `verify.runs.formats.FORMATS`.
        exp_ulps: The accuracy of the exponential that is assumed.
        progress: Called with the stage and the finished share of it.
    """
    new, old = answered_in_every_run(
        edited, (edit.contexts, edit.answers), edit.kept, proof.kept, dtype=dtype, exp_ulps=exp_ulps, progress=progress
    )
    return state_edit_runs(new, old, dtype=dtype, exp_ulps=exp_ulps)


def save_edit(
    folder: Path, edited: Model, edit: Edit, certificate: EditCertificate, *, original: Model | None = None
) -> None:
    """Save the edited model, the contexts and the certificate to a folder, each atomically.

    The original has to be written too where it is not the edited model without its new neurons, because weights were
    rounded.
    """
    if original is not None:
        original.save(folder / ORIGINAL_FILE)
    edited.save(folder / EDITED_FILE)
    write_atomically(folder / CONTEXTS_FILE, edit.asked().to_json().encode("ascii"))
    certificate.save(folder)


def check_edit(folder: Path, *, progress: Progress = silent) -> EditCheck:
    """Prove the certificate of an edit again, using only the edited weights and the contexts.

    Args:
        folder: The folder that `save_edit` wrote.
        progress: Called with the stage and the finished share of it.

    Returns:
        The verdict: REFUTED where a stored number is wrong, UNDECIDED where it does not follow.

    Raises:
        FileFormatError: A file is missing or is not what it should be.
        TamperedError: A hash differs.
    """
    folder = Path(folder)
    certificate, edited = EditCertificate.load(folder), Model.load(folder / EDITED_FILE)
    request = EditRequest.read(folder / CONTEXTS_FILE, d_vocab=edited.d_vocab, d_vocab_out=edited.d_vocab_out)
    for name, actual in (("edited", edited.sha256()), ("edit", request.sha256())):
        if actual != getattr(certificate, name):
            raise TamperedError(f"{folder} holds another {name} than its certificate names: the hash is {actual}")
    try:
        edit = Edit.of(request, edited.d_vocab)
        original = _without_neurons(edited, edit, certificate)
        if (folder / ORIGINAL_FILE).exists():
            original = _loaded_original(folder, like=original)
        if certificate.edits != len(edit.answers) or original.sha256() != certificate.original:
            raise TamperedError(f"{folder}: the original is not the one that its certificate names")
        layer, everywhere = certificate.layer, certificate.everywhere
        proof = prove_edit(original, edited, edit, layer=layer, everywhere=everywhere, progress=progress)
    except InputError as error:
        raise FileFormatError(f"{folder / CONTEXTS_FILE} does not fit the model: {error}") from error
    own, stored, path = proof.values, certificate.values, "proved bounds"
    for name in ("asked", "flat", "kept"):
        if own[name] != stored[name]:
            return EditCheck(certificate, Verdict.REFUTED, f"{name} is {own[name]}, not {stored[name]}", path)
    for name, most in (("before", stored["before"]), ("changed", stored["kept"] - stored["same"])):
        if own[name] > most:
            reason = f"{name}: {own[name]} were proved, more than the {most} that are stated or left"
            return EditCheck(certificate, Verdict.REFUTED, reason, path)
    for name in ("memorized", "before", "same", "changed"):
        if not own[name] >= stored[name]:
            reason = f"{name}: only {own[name]} of {stored[name]} were proved"
            return EditCheck(certificate, Verdict.UNDECIDED, reason, path)
    for name in [name for name in ("spread", "moved", "outside") if name in stored]:
        if not own.get(name, np.inf) <= stored[name]:
            reason = f"{name}: the stored bound does not follow"
            return EditCheck(certificate, Verdict.UNDECIDED, reason, path)
    if (runs := certificate.runs) is not None:
        actual = edit_in_every_run(edited, edit, proof, dtype=runs.format, exp_ulps=runs.exp_ulps, progress=progress)
        if actual is None or actual.edits < runs.edits or actual.kept < runs.kept:
            proved = "nothing" if actual is None else f"{actual.edits} edits and {actual.kept} kept answers"
            reason = f"runs in {runs.format}: only {proved} were proved"
            return EditCheck(certificate, Verdict.UNDECIDED, reason, path)
    return EditCheck.proved_again(certificate, path)


def _without_neurons(edited: Model, edit: Edit, certificate: EditCertificate) -> Model:
    """Return the edited model without the neurons that its certificate speaks of."""
    return without_neurons(edited, len(edit.answers), layer=certificate.layer, everywhere=certificate.everywhere)


def _loaded_original(folder: Path, *, like: Model) -> Model:
    """Return the original of an edit that rounded weights, which differs from `like` in its numbers only."""
    original = Model.load(folder / ORIGINAL_FILE)
    shapes, expected = ({name: x.shape for name, x in compared.tensors().items()} for compared in (original, like))
    if original.options() != like.options() or shapes != expected:
        raise FileFormatError(
            f"{folder / ORIGINAL_FILE} is not the edited model without its new neurons, but for roundings"
        )
    return original


def require_distinct(edit: Edit) -> None:
    """Raise `InputError` where a context is edited twice, kept twice, or both edited and kept."""
    for name, rows in (("edited", edit.contexts), ("kept", edit.kept)):
        if edit.domain is None or name == "edited":
            _, first, times = np.unique(rows, axis=0, return_index=True, return_counts=True)
            if (times > 1).any():
                twice = token_lists(rows[first[times.argmax()]][None])[0]
                raise InputError(f"context {twice}", f"is {name} {times.max()} times", "once")
    if edit.domain is None:
        edited = set(map(tuple, token_lists(edit.contexts)))
        if both := next((row for row in token_lists(edit.kept) if tuple(row) in edited), None):
            raise InputError(f"context {both}", "is both edited and kept", "one of them")
