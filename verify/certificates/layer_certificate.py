"""Certificates of layers: statements about the weights of a layer, as data that anybody can re-prove."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from constructions.errors import FileFormatError, InputError, TamperedError
from constructions.files import canonical_json, require_regular_file, write_atomically
from verify.arithmetic.decimals import decimal_above, decimal_below
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
from verify.certificates.certificate import CERTIFICATE_FILE, WITNESS_FILE, ClaimCheck, Witness, file_sha256
from verify.verdict import Verdict

FORMAT = "byheart-layer-certificate"
VERSION = 1

LAYER_FILE = "layer.safetensors"
LAYER_TASK_FILE = "layer_task.npz"

MIXED_RANK = "mixed-rank"
LABEL_ERROR = "label-error"
LARGEST_OUTPUT = "largest-output"
SATURATION = "saturation"
LAYER_CLAIMS: Mapping[str, tuple[str, ...]] = {
    "regression": (MIXED_RANK, LABEL_ERROR, SATURATION),
    "classification": (MIXED_RANK, LARGEST_OUTPUT, SATURATION),
}
"""The claims of a certificate, in their order, by the kind of the task."""

SIZE_NAMES = ("n_examples", "n_contexts", "n_tokens", "d_model", "n_heads", "d_head", "d_value", "d_inner", "d_out")

_LARGEST_FILE = 2**20  # bytes
_LARGEST_COUNT = 2**63
_LARGEST_BITS = 4096  # of a numerator or a denominator


@dataclass(frozen=True)
class LayerSubject:
    """What a certificate is about: one layer and one task, by the hashes of their exact contents.

    Args:
        layer: `Model.sha256()`.
        task: `VectorTask.sha256()`.
        kind: ``"regression"`` or ``"classification"``.
        sizes: The integers named by `SIZE_NAMES`; `n_contexts` is 1 where all examples share one context.

    Raises:
        InputError: A hash that is none, an unknown kind, or a missing, unknown or impossible size.

    Page: docs/rigour/layer.md
    """

    layer: str
    task: str
    kind: str
    sizes: Mapping[str, int]

    def __post_init__(self) -> None:
        for name in ("layer", "task"):
            require_sha256(f"subject.{name}", getattr(self, name))
        if self.kind not in LAYER_CLAIMS:
            raise InputError(f"subject.kind is {self.kind!r}, expected 'regression' or 'classification'")
        if set(self.sizes) != set(SIZE_NAMES):
            raise InputError(f"subject.sizes has the names {sorted(self.sizes)}, expected {sorted(SIZE_NAMES)}")
        for name, size in self.sizes.items():
            if type(size) is not int or not 1 <= size < _LARGEST_COUNT:
                raise InputError(f"subject.sizes: {name} is {size!r}, expected an integer from 1 to 2**63 - 1")

    @property
    def columns(self) -> int:
        """Number of columns of Z: n_heads * d_model."""
        return self.sizes["n_heads"] * self.sizes["d_model"]

    @property
    def largest_rank(self) -> int:
        """A rank that Z never exceeds: H d, and H (n - 1) + 1 where all examples share one context (Lemma Y6)."""
        if self.sizes["n_contexts"] > 1:
            return self.columns
        return min(self.columns, self.sizes["n_heads"] * (self.sizes["n_tokens"] - 1) + 1)


@dataclass(frozen=True)
class LayerClaim:
    r"""One quantified statement about a layer, what was established about it, and the numbers in it.

    The kinds of claim, with the numbers each carries (the *bounds* are present exactly when it is PROVED):

    - ``mixed-rank``: the matrix $Z$ of `rows` examples and `columns` columns has rank `rows`. Bounds
      `smallest_singular_value_lower` > 0 and `condition_upper`, both or, where only balls proved it, none.
    - ``label-error`` (regression): no output of the `examples` examples with `outputs` outputs each is further from its
      label than the bound `error_upper`, in the unit of the labels.
    - ``largest-output`` (classification): in each of `examples` examples the output of its class is strictly larger
      than all others, which was established for `proved` of them; bound `margin_lower` > 0, a lower bound of the least
      gap.
    - ``saturation``: of the `pairs` pairs of a head and an example at least `saturated_lower` have an attention weight
      above $1 - \delta$, with `delta` in (0, 1).

    Args:
        id: The kind.
        statement: The claim in words with its quantifier; in a certificate it must be the one of `layer_statement`.
        verdict: What was established.
        method: How, in a few words; information only, since nothing is ever concluded from it.
        values: The numbers: `int`, finite `float` or `Fraction`.

    Raises:
        InputError: An unknown kind, or a missing, unknown or impossible number.

    Page: docs/rigour/layer.md

    Example:
        >>> claim = LayerClaim.of(LABEL_ERROR, Verdict.PROVED, "an example",
        ...                       {"examples": 3, "outputs": 1, "error_upper": 1e-12})
        >>> print(claim.statement)
        In each of the 3 examples each of the 1 outputs is within 1e-12 of its label.
    """

    id: str
    statement: str
    verdict: Verdict
    method: str
    values: Mapping[str, Number]

    @classmethod
    def of(cls, id: str, verdict: Verdict, method: str, values: Mapping[str, Number]) -> "LayerClaim":
        """The claim with the statement that its numbers make."""
        _check_values(id, verdict, values)
        return cls(id, layer_statement(id, values), verdict, method, dict(values))

    def __post_init__(self) -> None:
        if not isinstance(self.verdict, Verdict):
            raise InputError(f"claim {self.id!r}: the verdict is {self.verdict!r}, expected a Verdict")
        _check_values(self.id, self.verdict, self.values)
        require_text(f"claim {self.id!r}: method", self.method)

    @property
    def bounds(self) -> dict[str, Number]:
        """The numbers that are claimed rather than counted; empty unless the claim is PROVED."""
        names = _KINDS[self.id].bounds
        return {name: value for name, value in self.values.items() if name in names}


@dataclass(frozen=True)
class LayerCertificate:
    """Claims about one layer and one task, with all that is needed to prove them again.

    A certificate is data, not evidence: who receives one re-proves it from the weights and the task
    (`verify.certificates.layer_memorization.check_layer`) and never believes a number in it.

    Args:
        subject: What it is about.
        claims: The claims of `LAYER_CLAIMS`, in that order, each kind at most once.
        provenance: Names and versions of the software and the machine that made it.
        witness: The witness file of the rank, if there is one.

    Raises:
        InputError: Claims that do not fit the subject or each other.

    Page: docs/rigour/layer.md
    """

    subject: LayerSubject
    claims: tuple[LayerClaim, ...]
    provenance: Mapping[str, str]
    witness: Witness | None = None
    digest: str = field(init=False, compare=False, default="")

    def __post_init__(self) -> None:
        ids, expected = [claim.id for claim in self.claims], LAYER_CLAIMS[self.subject.kind]
        if ids != [name for name in expected if name in ids]:
            raise InputError(f"claims are {ids}, expected each at most once in the order {list(expected)}")
        for claim in self.claims:
            _check_claim_fits(claim, self.subject)
        for name, text in self.provenance.items():
            require_text("provenance", name)
            require_text(f"provenance.{name}", text)
        object.__setattr__(self, "digest", _digest(_as_data(self)))

    @property
    def verdict(self) -> Verdict:
        """PROVED if all claims of the kind of task are there and PROVED, REFUTED if one is, else UNDECIDED."""
        found = {claim.id: claim.verdict for claim in self.claims}
        return Verdict.all_of([found.get(name, Verdict.UNDECIDED) for name in LAYER_CLAIMS[self.subject.kind]])

    def claim(self, id: str) -> LayerClaim:
        """The claim of the kind `id`.

        Raises:
            TamperedError: There is none; a certificate without one of its claims was not written by byheart.
        """
        for claim in self.claims:
            if claim.id == id:
                return claim
        raise TamperedError(f"{CERTIFICATE_FILE} lacks the claim {id!r}; a certificate of a layer holds it")

    def to_json(self) -> str:
        """The one text of this certificate: canonical JSON (sorted keys, no spaces, ASCII) and a final newline."""
        return canonical_json({**_as_data(self), "digest": self.digest}) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "LayerCertificate":
        """Read the text that `to_json` gives, and no other.

        Raises:
            FileFormatError: Not JSON, too long, a field missing or unknown, a number that is not exact, or a text that
                is not the canonical one.
            TamperedError: The digest is not the hash of the contents.
        """
        if len(text) > _LARGEST_FILE:
            raise FileFormatError(f"{CERTIFICATE_FILE} is longer than {_LARGEST_FILE} bytes")
        data = parse_object(CERTIFICATE_FILE, text)
        expect_fields(
            CERTIFICATE_FILE, data, {"format", "version", "subject", "claims", "provenance", "witness", "digest"}
        )
        if data["format"] != FORMAT or type(data["version"]) is not int or data["version"] != VERSION:
            raise FileFormatError(
                f"{CERTIFICATE_FILE} has format {data['format']!r} version {data['version']!r}, "
                f"expected {FORMAT!r} version {VERSION}"
            )
        try:
            digest = _digest({key: value for key, value in data.items() if key != "digest"})
            if data["digest"] != digest:
                raise TamperedError(f"{CERTIFICATE_FILE} has the digest {data['digest']!r}, its contents {digest}")
            certificate = cls(
                subject=_parse_subject(data["subject"]),
                claims=tuple(_parse_claim(claim) for claim in expect("claims", data["claims"], list)),
                provenance=expect("provenance", data["provenance"], dict),
                witness=_parse_witness(data["witness"]),
            )
        except InputError as error:
            raise FileFormatError(f"{CERTIFICATE_FILE} is not a certificate of a layer: {error}") from error
        if certificate.to_json() != text:
            raise FileFormatError(f"{CERTIFICATE_FILE} is not canonical (sorted keys, no spaces, reduced numbers)")
        return certificate

    def save(self, folder: Path) -> None:
        """Write ``certificate.json`` into `folder`, atomically."""
        write_atomically(Path(folder) / CERTIFICATE_FILE, self.to_json().encode("ascii"))

    @classmethod
    def load(cls, folder: Path) -> "LayerCertificate":
        """Read ``certificate.json`` of `folder`, and require that the witness file is the one it names.

        Raises:
            FileFormatError: A file is missing or unreadable, or as `from_json`.
            TamperedError: As `from_json`; or the witness has another hash.
        """
        path = Path(folder) / CERTIFICATE_FILE
        require_regular_file(path)
        try:
            with path.open("rb") as file:
                text = file.read(_LARGEST_FILE + 1).decode("ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise FileFormatError(f"{path} is not a readable certificate: {error}") from error
        certificate = cls.from_json(text)
        if certificate.witness is not None and file_sha256(Path(folder) / WITNESS_FILE) != certificate.witness.sha256:
            raise TamperedError(
                f"{Path(folder) / WITNESS_FILE} is not the witness that the certificate names: its hash differs"
            )
        return certificate


@dataclass(frozen=True)
class LayerCheckReport:
    """The outcome of re-proving the certificate of a layer.

    Args:
        certificate: What was checked.
        checks: One per claim, in the order of `LAYER_CLAIMS`.
        path: The arithmetic that was used, in words.
    """

    certificate: LayerCertificate
    checks: tuple[ClaimCheck, ...]
    path: str

    @property
    def verdict(self) -> Verdict:
        """PROVED if every claim is, REFUTED if one is, else UNDECIDED."""
        return Verdict.all_of([check.verdict for check in self.checks])

    def summary(self) -> dict[str, Any]:
        """What a person or a program wants to know, as data for JSON; the numbers are rounded to float64."""
        return {
            "verdict": self.verdict.value,
            "path": self.path,
            "layer_sha256": self.certificate.subject.layer,
            "task_sha256": self.certificate.subject.task,
            "claims": [
                {
                    "id": check.id,
                    "statement": self.certificate.claim(check.id).statement,
                    "verdict": check.verdict.value,
                    "reason": check.reason,
                    "values": {name: plain_number(value) for name, value in check.values.items()},
                }
                for check in self.checks
            ],
        }


def plain_number(value: Number) -> int | float | None:
    """A number for JSON, which has no infinity: floats and fractions as float64, `None` where there is none."""
    if isinstance(value, int):
        return value
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def layer_statement(id: str, values: Mapping[str, Number]) -> str:
    """The words of a claim, a function of its numbers; decimals are rounded in the direction that keeps them true.

    Args:
        id: The kind of claim.
        values: Its numbers; without the bounds the statement is the qualitative one.

    Returns:
        One sentence.

    Page: docs/rigour/layer.md

    Example:
        >>> print(layer_statement(SATURATION, {"pairs": 60, "delta": 0.25, "saturated_lower": 54}))
        Of the 60 pairs of a head and an example at least 54 have an attention weight above 1 - 0.25.
    """
    if id == MIXED_RANK:
        text = f"The {values['rows']} x {values['columns']} matrix Z of the mixed inputs has full row rank"
        if "condition_upper" not in values:
            return f"{text}."
        return (
            f"{text}: its smallest singular value is at least "
            f"{decimal_below(values['smallest_singular_value_lower'])} and its condition number at most "
            f"{decimal_above(values['condition_upper'])}."
        )
    if id == LABEL_ERROR:
        text = f"In each of the {values['examples']} examples each of the {values['outputs']} outputs is within"
        if "error_upper" not in values:
            return f"{text} a bound of its label that was not established."
        return f"{text} {decimal_above(values['error_upper'])} of its label."
    if id == LARGEST_OUTPUT:
        text = f"In each of the {values['examples']} examples the output of its class is larger than every other output"
        if "margin_lower" not in values:
            return f"{text}."
        return f"{text} by at least {decimal_below(values['margin_lower'])}."
    # A smaller delta would be a stronger statement, so delta is printed rounded up.
    text = f"Of the {values['pairs']} pairs of a head and an example at least"
    limit = f"have an attention weight above 1 - {decimal_above(values['delta'])}."
    return f"{text} {values['saturated_lower']} {limit}" if "saturated_lower" in values else f"{text} some {limit}"


@dataclass(frozen=True)
class _Kind:
    counts: tuple[str, ...]
    given: tuple[str, ...]
    bounds: tuple[str, ...]


_KINDS = {
    MIXED_RANK: _Kind(("rows", "columns"), (), ("smallest_singular_value_lower", "condition_upper")),
    LABEL_ERROR: _Kind(("examples", "outputs"), (), ("error_upper",)),
    LARGEST_OUTPUT: _Kind(("examples", "proved"), (), ("margin_lower",)),
    SATURATION: _Kind(("pairs",), ("delta",), ("saturated_lower",)),
}
_POSITIVE = ("smallest_singular_value_lower", "margin_lower", "delta")
_COUNTED = ("saturated_lower",)


def _check_values(id: str, verdict: Verdict, values: Mapping[str, Number]) -> None:
    if not isinstance(id, str) or id not in _KINDS:
        raise InputError(f"claim {id!r} is unknown, expected one of {list(_KINDS)}")
    kind = _KINDS[id]
    always = {*kind.counts, *kind.given}
    allowed = [always | set(kind.bounds) if verdict is Verdict.PROVED else always]
    if id == MIXED_RANK:
        allowed.append(always)  # proved by balls, which bound no singular value
    if set(values) not in allowed:
        raise InputError(f"claim {id!r} is {verdict.value} with {sorted(values)}, expected {sorted(allowed[0])}")
    for name, value in values.items():
        if name in (*kind.counts, *_COUNTED):
            if type(value) is not int or not 0 <= value < _LARGEST_COUNT:
                raise InputError(f"claim {id!r}: {name} is {value!r}, expected a non-negative integer")
            continue
        if type(value) not in (int, float, Fraction) or (type(value) is float and not math.isfinite(value)):
            raise InputError(f"claim {id!r}: {name} is {value!r}, expected a finite exact number")
        if max(part.bit_length() for part in Fraction(value).as_integer_ratio()) > _LARGEST_BITS:
            raise InputError(f"claim {id!r}: {name} has more than {_LARGEST_BITS} bits")
        if not (value > 0 if name in _POSITIVE else value >= 0):
            raise InputError(f"claim {id!r}: {name} is {value!r}, which no statement of this kind can have")
    if id == LARGEST_OUTPUT and not values["proved"] <= values["examples"]:
        raise InputError(f"claim {id!r}: {values['proved']} of {values['examples']} examples cannot be proved")
    if id == LARGEST_OUTPUT and verdict is Verdict.PROVED and values["proved"] != values["examples"]:
        raise InputError(f"claim {id!r} is PROVED, but only for {values['proved']} of {values['examples']} examples")
    if id == SATURATION and not values["delta"] < 1:
        raise InputError(f"claim {id!r}: delta is {values['delta']!r}, expected a number in (0, 1)")
    if id == SATURATION and not values.get("saturated_lower", 0) <= values["pairs"]:
        raise InputError(f"claim {id!r}: {values['saturated_lower']} of {values['pairs']} pairs cannot be saturated")


def _check_claim_fits(claim: LayerClaim, subject: LayerSubject) -> None:
    sizes, values = subject.sizes, claim.values
    if claim.statement != layer_statement(claim.id, values):
        raise InputError(f"claim {claim.id!r}: the statement is not the one its numbers make")
    expected = {
        MIXED_RANK: {"rows": sizes["n_examples"], "columns": subject.columns},
        LABEL_ERROR: {"examples": sizes["n_examples"], "outputs": sizes["d_out"]},
        LARGEST_OUTPUT: {"examples": sizes["n_examples"]},
        SATURATION: {"pairs": sizes["n_examples"] * sizes["n_heads"]},
    }[claim.id]
    if any(values[name] != size for name, size in expected.items()):
        raise InputError(f"claim {claim.id!r} has the values {dict(values)}, which do not fit the sizes {dict(sizes)}")


def _as_data(certificate: LayerCertificate) -> dict[str, Any]:
    subject, witness = certificate.subject, certificate.witness
    return {
        "format": FORMAT,
        "version": VERSION,
        "subject": {
            "layer": subject.layer,
            "task": subject.task,
            "kind": subject.kind,
            "sizes": dict(subject.sizes),
        },
        "claims": [
            {
                "id": claim.id,
                "statement": claim.statement,
                "verdict": claim.verdict.value,
                "method": claim.method,
                "values": {name: encode_number(value) for name, value in claim.values.items()},
            }
            for claim in certificate.claims
        ],
        "provenance": dict(certificate.provenance),
        "witness": None if witness is None else {"file": witness.file, "sha256": witness.sha256},
    }


def _digest(data: dict[str, Any]) -> str:
    return hashlib.sha256(canonical_json(data).encode("ascii")).hexdigest()


def _parse_subject(data: Any) -> LayerSubject:
    expect_fields("subject", data, {"layer", "task", "kind", "sizes"})
    kind = expect("subject.kind", data["kind"], str)
    return LayerSubject(data["layer"], data["task"], kind, expect("subject.sizes", data["sizes"], dict))


def _parse_claim(data: Any) -> LayerClaim:
    expect_fields("a claim", data, {"id", "statement", "verdict", "method", "values"})
    if not isinstance(data["verdict"], str) or data["verdict"] not in Verdict.__members__:
        raise FileFormatError(f"{CERTIFICATE_FILE}: unknown verdict {data['verdict']!r}")
    values = expect("values", data["values"], dict)
    return LayerClaim(
        id=data["id"],
        statement=data["statement"],
        verdict=Verdict[data["verdict"]],
        method=data["method"],
        values={name: decode_number(f"{CERTIFICATE_FILE}: {name}", value) for name, value in values.items()},
    )


def _parse_witness(data: Any) -> Witness | None:
    if data is None:
        return None
    expect_fields("witness", data, {"file", "sha256"})
    return Witness(data["file"], data["sha256"])
