"""Define the certificate of an edit: the proved results for the edited contexts, the kept ones, and all others.

Page: docs/claims/editing.md
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from constructions.counted import counted
from constructions.errors import FileFormatError, InputError, TamperedError, require_one_of
from constructions.formats.files import canonical_json, read_text, write_atomically
from verify.arithmetic.decimals import decimal_above
from verify.arithmetic.exact_json import (
    Number,
    decode_number,
    encode_number,
    expect,
    expect_fields,
    parse_object,
    require_sha256,
    require_text,
)
from verify.certificates.headline import PROVER_ALONE
from verify.kernel.edit import sentence_of_runs
from verify.runs.formats import FORMATS
from verify.runs.hypotheses import OF_BOUNDS
from verify.verdict import Verdict

FORMAT, VERSION = "byheart-edit", 4
EDIT_FILE = "edit.json"
CONTEXTS_FILE = "contexts.json"
EDITED_FILE = "model.safetensors"
ORIGINAL_FILE = "original.safetensors"
"""The original, where the edited model without its new neurons is another one: its weights were rounded."""

FLAT = -1
"""In the place of an answer: the context is to be answered by the uniform distribution."""

CAP = 20.0
"""The cap of a new neuron is where it reads more than minus this."""

LONGEST_DOMAIN = 22
"""The longest contexts of which all can be kept: of two tokens there are 2^22."""

LARGEST_FILE = 2**28
_WORDS = {
    Verdict.PROVED: "EDITED, PROVED",
    Verdict.REFUTED: "EDITED, BUT NOT ALL IS KEPT",
    Verdict.UNDECIDED: "NOT PROVED",
}
_COUNTS = ("asked", "memorized", "before", "flat", "kept", "same", "changed")
_NUMBERS = (*_COUNTS, "spread", "moved", "outside")


@dataclass(frozen=True)
class EditRequest:
    """A requested edit as plain lists of tokens.

    Args:
        contexts: What is edited, in the order of the new neurons.
        answers: What each shall be answered by; `FLAT` for the uniform distribution.
        kept: The contexts whose answers shall stay; empty where all of a length are kept.
        domain: That length, or none.
    """

    contexts: list[list[int]]
    answers: list[int]
    kept: list[list[int]]
    domain: int | None

    def to_json(self) -> str:
        """Return its canonical text."""
        return canonical_json(vars(self)) + "\n"

    def sha256(self) -> str:
        """Hash of the text."""
        return hashlib.sha256(self.to_json().encode("ascii")).hexdigest()

    @classmethod
    def read(cls, path: Path, *, d_vocab: int, d_vocab_out: int) -> "EditRequest":
        """Parse a stored request, for a model with given numbers of tokens and answers.

        Raises:
            FileFormatError: The file is missing or holds something else; a context is named twice, or both edited and
                kept.
        """
        text = read_text(path, LARGEST_FILE)
        data = parse_object(path.name, text)
        expect_fields(path.name, data, {"contexts", "answers", "kept", "domain"})
        contexts = _rows(path, data["contexts"], d_vocab)
        kept = _rows(path, data["kept"], d_vocab)
        answers = _integers(path, data["answers"], FLAT, d_vocab_out)
        domain = data["domain"]
        if not contexts or len(answers) != len(contexts):
            raise FileFormatError(f"{path} has {len(contexts)} contexts and {len(answers)} answers")
        if domain is not None and not (type(domain) is int and 1 <= domain <= LONGEST_DOMAIN and not kept):
            raise FileFormatError(f"{path} has the domain {domain!r} beside {len(kept)} kept contexts")
        seen = {tuple(row) for row in [*contexts, *kept]}
        if len(seen) < len(contexts) + len(kept):
            raise FileFormatError(f"{path} names a context twice, or as edited and as kept")
        request = cls(contexts, answers, kept, domain)
        if request.to_json() != text:
            raise FileFormatError(f"{path} is not canonical")
        return request


def _rows(path: Path, value: Any, below: int) -> list[list[int]]:
    rows = [_integers(path, row, 0, below) for row in expect(path.name, value, list)]
    if not all(rows):
        raise FileFormatError(f"{path} has a context of no tokens")
    return rows


def _integers(path: Path, value: Any, least: int, below: int) -> list[int]:
    if any(type(entry) is not int or not least <= entry < below for entry in expect(path.name, value, list)):
        raise FileFormatError(f"{path} has a number that is not an integer from {least} to {below - 1}")
    return value


@dataclass(frozen=True)
class EditRuns:
    """The answers of every run in a number format, by rounding bounds; only the fast prover can prove them.

    Args:
        format: A key of `verify.runs.formats.FORMATS`.
        hypotheses: What a run is assumed to keep (`verify.runs.hypotheses.OF_BOUNDS`).
        exp_ulps: The accuracy of the exponential that is assumed, in units in the last place.
        edits: So many edited contexts are answered as asked in every run.
        kept: So many kept contexts have in every run the answer that the original has in real arithmetic.

    Raises:
        InputError: A format or hypotheses that there are not, or a number that is none.
    """

    format: str
    hypotheses: str
    exp_ulps: float
    edits: int
    kept: int

    def __post_init__(self) -> None:
        require_one_of(tuple(FORMATS), format=self.format)
        require_one_of((OF_BOUNDS,), hypotheses=self.hypotheses)
        if type(self.exp_ulps) is not float or not 0.0 < self.exp_ulps < math.inf:
            raise InputError("exp_ulps", f"is {self.exp_ulps!r}", "a finite float above 0")
        if any(type(count) is not int or count < 0 for count in (self.edits, self.kept)):
            raise InputError(
                "runs", f"count {self.edits!r} edits and {self.kept!r} kept contexts", "integers from 0 on"
            )
        if self.edits == self.kept == 0:
            raise InputError("runs", "state nothing of any context", "a context, or no such field")

    def words(self) -> str:
        """Return the statement in words."""
        return sentence_of_runs(self.format, self.exp_ulps, self.edits, self.kept)

    def data(self) -> dict[str, Any]:
        """Return plain data for JSON, with exact numbers."""
        record = {"format": self.format, "hypotheses": self.hypotheses, "statement": self.words()}
        return {**record, "exp_ulps": encode_number(self.exp_ulps), "edits": self.edits, "kept": self.kept}

    @classmethod
    def parsed(cls, data: Any) -> "EditRuns":
        """Parse the result of `data`; refuse words that do not follow from the numbers as not canonical."""
        expect_fields("runs", data, {"format", "hypotheses", "statement", "exp_ulps", "edits", "kept"})
        ulps: Any = decode_number("runs.exp_ulps", data["exp_ulps"])  # which __post_init__ requires to be a float
        return cls(data["format"], data["hypotheses"], ulps, data["edits"], data["kept"])


@dataclass(frozen=True)
class EditCertificate:
    """The proved results of an edit, as data to check; no number in it is trusted.

    Args:
        original: Hash of the model before.
        edited: Hash of the model after.
        edit: Hash of what was asked (`EditRequest`).
        edits: How many neurons were added to a feed-forward block.
        layer: Which one, counted from 0, where it is not the last before the last normalization.
        everywhere: Whether the other layers have as many neurons of zeros.
        values: ``memorized`` of ``asked`` contexts are answered as asked, and the original answers ``before`` of them
            so too; ``flat`` ones have logits within ``spread`` nats; of ``kept`` contexts ``same`` keep the answer of
            the original, ``changed`` have another one, and none of their logits moves by more than ``moved``; outside
            of the caps no logit of any context moves by more than ``outside``, which an earlier layer or an original
            whose weights were rounded need not have.
        provenance: Names and versions of the software.
        runs: What every run answers, where that was asked for and proved.

    Raises:
        InputError: A number or a hash that is none.
    """

    original: str
    edited: str
    edit: str
    edits: int
    layer: int | None
    everywhere: bool
    values: Mapping[str, Number]
    provenance: Mapping[str, str]
    runs: EditRuns | None = None

    def __post_init__(self) -> None:
        for name in ("original", "edited", "edit"):
            require_sha256(name, getattr(self, name))
        if self.layer is not None and not (type(self.layer) is int and self.layer >= 0):
            raise InputError("layer", f"is {self.layer!r}", "none or an integer of at least 0")
        if set(self.values) | {"outside"} != set(_NUMBERS):
            raise InputError("values", f"has {sorted(self.values)}", sorted(_NUMBERS))
        for name, value in self.values.items():
            if type(value) is not (int if name in _COUNTS else float) or not 0 <= value < math.inf:
                raise InputError(name, f"is {value!r}", "a finite number of at least 0")
        if type(self.edits) is not int or not self.values["asked"] + self.values["flat"] == self.edits:
            raise InputError("edits", f"is {self.edits!r}", "as many as are asked for and flat")
        if max(self.values["memorized"], self.values["before"]) > self.values["asked"]:
            raise InputError("values", f"has {dict(self.values)}", "no more edits that are answered than are asked for")
        runs = self.runs
        if runs is not None and not (runs.edits <= self.values["asked"] and runs.kept <= self.values["same"]):
            raise InputError(
                "runs", f"are {runs.data()}", "no more contexts than are memorized and kept in real arithmetic"
            )
        if type(self.everywhere) is not bool:
            raise InputError("everywhere", f"is {self.everywhere!r}", "a truth value")
        for name, text in self.provenance.items():
            require_text("provenance", name)
            require_text(f"provenance.{name}", text)

    @property
    def verdict(self) -> Verdict:
        """PROVED if every edit gives the requested answer and every kept context keeps its answer.

        REFUTED where a kept context changes it, UNDECIDED otherwise.
        """
        values = self.values
        if values["changed"]:
            return Verdict.REFUTED
        whole = values["memorized"] == values["asked"] and values["same"] == values["kept"]
        return Verdict.PROVED if whole else Verdict.UNDECIDED

    def headline(self) -> str:
        """Return the answer and its figures in one line."""
        values, parts = self.values, self.edits_said()
        if values["kept"]:
            changed = f", {values['changed']} provably change it" if values["changed"] else ""
            kept = counted(int(values["kept"]), "kept context")
            keep = "keeps its answer" if values["kept"] == 1 else "keep their answer"
            parts.append(f"{values['same']} of {kept} {keep}{changed}")
            parts.append(f"no logit of theirs moves by more than {decimal_above(float(values['moved']))} nats")
        else:
            parts.append("no context was asked to keep its answer")
        if self.layer is not None:
            parts.append(f"in layer {self.layer}: what follows an edited context may change")
        if self.runs is not None:
            edits, kept = counted(self.runs.edits, "edit"), counted(self.runs.kept, "kept answer")
            parts.append(f"{edits} and {kept} in every {self.runs.format} run {PROVER_ALONE}")
        return f"{_WORDS[self.verdict]}: {'; '.join(parts)}"

    def edits_said(self) -> list[str]:
        """Return the proved results for the edited contexts in words."""
        values, parts = self.values, list[str]()
        if values["asked"]:
            parts.append(f"{values['memorized']} of {counted(int(values['asked']), 'edit')} answered as asked")
        if values["before"]:
            parts[0] += f", {values['before']} of them before the edit too"
        if values["flat"]:
            bound = decimal_above(float(values["spread"]) ** 2 / 8.0)
            near = f"within KL {bound} of the uniform distribution, where the old answer may still lead"
            parts.append(f"{counted(int(values['flat']), 'edit')} {near}")
        return [*parts, *filter(None, [self.provenance.get("decoding")])]

    def decoded(self, how: str) -> "EditCertificate":
        """Return the certificate with a note on the host's decoding; this is information only."""
        return replace(self, provenance={**self.provenance, "decoding": how})

    def to_json(self) -> str:
        """Return the canonical text of the certificate: JSON and a final newline."""
        data = self._data()
        return canonical_json({**data, "digest": self.digest()}) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "EditCertificate":
        """Read the text that `to_json` gives, and no other.

        Raises:
            FileFormatError: Another text.
            TamperedError: The digest is not the hash of the contents.
        """
        data = parse_object(EDIT_FILE, text)
        if data.get("format") != FORMAT or data.get("version") != VERSION:
            raise FileFormatError(f"{EDIT_FILE} is not a certificate of an edit of version {VERSION}")
        fields = {"original", "edited", "edit", "edits", "layer", "everywhere", "values", "provenance"}
        stated = {"runs"} & set(data)
        expect_fields(EDIT_FILE, data, {*fields, *stated, "format", "version", "digest"})
        stored = {name: data[name] for name in fields}
        values = expect("values", stored.pop("values"), dict)
        try:
            numbers = {name: decode_number(name, value) for name, value in values.items()}
            runs = EditRuns.parsed(data["runs"]) if stated else None
            certificate = cls(values=numbers, **stored, runs=runs)
        except (InputError, FileFormatError, TypeError, AttributeError) as error:
            raise FileFormatError(f"{EDIT_FILE} is not a certificate: {error}") from error
        if data["digest"] != _digest({name: value for name, value in data.items() if name != "digest"}):
            raise TamperedError(f"{EDIT_FILE} has the digest {data['digest']!r}, which is not that of its contents")
        if certificate.to_json() != text:
            raise FileFormatError(f"{EDIT_FILE} is not canonical")
        return certificate

    def digest(self) -> str:
        """Hash of the contents."""
        return _digest(self._data())

    def save(self, folder: Path) -> None:
        """Write ``edit.json`` into `folder`, atomically."""
        write_atomically(folder / EDIT_FILE, self.to_json().encode("ascii"))

    @classmethod
    def load(cls, folder: Path) -> "EditCertificate":
        """Read ``edit.json`` of `folder`.

        Raises:
            FileFormatError: As `from_json`, or there is no such file.
            TamperedError: As `from_json`.
        """
        return cls.from_json(read_text(folder / EDIT_FILE, LARGEST_FILE))

    def _data(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "original": self.original,
            "edited": self.edited,
            "edit": self.edit,
            "edits": self.edits,
            "layer": self.layer,
            "everywhere": self.everywhere,
            "values": {name: encode_number(value) for name, value in self.values.items()},
            "provenance": dict(self.provenance),
            **({} if self.runs is None else {"runs": self.runs.data()}),
        }


@dataclass(frozen=True)
class EditCheck:
    """The result of proving an edit again.

    Args:
        certificate: What was stored.
        verdict: PROVED where every stored number follows and the edit is as asked.
        reason: Why not; empty where every number was proved again.
        path: How it was proved.
        decoding: What the first line says of how the host decodes, by whoever has looked at its files: what the
            certificate says of that is not a proof.
        aside: What else stands in the first line.
    """

    certificate: EditCertificate
    verdict: Verdict
    reason: str
    path: str
    decoding: str = ""
    aside: str = ""

    @classmethod
    def proved_again(cls, certificate: EditCertificate, path: str) -> "EditCheck":
        """Tell whether every stored number was proved again; the certificate itself may report a failed edit."""
        return cls(certificate, certificate.verdict, "", path)

    def without_the_prover_alone(self) -> "EditCheck":
        """Return the check without the fast prover: undecided if runs are stated."""
        runs = self.certificate.runs
        if runs is None or self.verdict is not Verdict.PROVED:
            return self
        reason = f"the kernel has no proof of every {runs.format} run, but the fast prover may have one (check --fast)"
        return replace(self, verdict=Verdict.UNDECIDED, reason=reason)

    def summary(self) -> dict[str, Any]:
        """Return the data that a command prints, as plain data for JSON."""
        return {
            "verdict": self.verdict.value,
            "headline": "; ".join(filter(None, (self._headline(), self.aside))),
            "asked": "every edit is answered as asked, and every kept context keeps its answer",
            "path": self.path,
            "kept": int(self.certificate.values["kept"]),
            "statements": [
                {
                    "id": "edit",
                    "verdict": self.verdict.value,
                    "reason": self.reason or "every number was proved again",
                }
            ],
        }

    def _headline(self) -> str:
        if self.reason:
            word = "UNDECIDED" if self.verdict is Verdict.UNDECIDED else "NOT PROVED AGAIN"
            return f"{word}: {self.reason}"
        again = "; so says the certificate, and every number was proved again"
        return self.certificate.decoded(self.decoding).headline() + again * (self.verdict is Verdict.UNDECIDED)


def _digest(data: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical_json(data).encode("ascii")).hexdigest()
