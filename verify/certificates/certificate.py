"""Certificates: statements about weights, as data that anybody can re-prove."""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from constructions.errors import FileFormatError, InputError, TamperedError
from constructions.files import canonical_json, require_regular_file, write_atomically
from verify.arithmetic.decimals import decimal_above, decimal_below
from verify.verdict import Verdict

FORMAT = "byheart-certificate"
VERSION = 1

CERTIFICATE_FILE = "certificate.json"
NETWORK_FILE = "model.safetensors"
TASK_FILE = "task.npz"
WITNESS_FILE = "witness.npz"

FEATURE_RANK = "feature-rank"
ARGMAX = "argmax"
DIVERGENCE = "divergence"
ALL_CONTEXTS_DIVERGENCE = "all-contexts-divergence"
MEMORIZATION_CLAIMS = (FEATURE_RANK, ARGMAX, DIVERGENCE, ALL_CONTEXTS_DIVERGENCE)

SIZE_NAMES = (
    "n_contexts",
    "context_length",
    "vocabulary_size",
    "n_all",
    "n_ctx",
    "d_vocab",
    "d_model",
    "n_heads",
    "d_qk",
    "d_head",
    "d_vocab_out",
)

Number = int | float | Fraction

_FIELDS = {"format", "version", "subject", "claims", "provenance", "witness", "digest"}
_LARGEST_FILE = 2**20  # bytes
_LARGEST_TEXT = 2**12  # characters
_LARGEST_COUNT = 2**63
_LARGEST_BITS = 4096  # of an integer, a numerator or a denominator
_SHA256 = re.compile(r"[0-9a-f]{64}")
_RATIONAL = re.compile(r"-?[0-9]{1,1300}/[1-9][0-9]{0,1299}")
_HEXADECIMAL_FLOAT = re.compile(r"-?0x[01]\.[0-9a-f]+p[+-][0-9]+")


@dataclass(frozen=True)
class Subject:
    """What a certificate is about: one network and one task, by the hashes of their exact contents.

    Args:
        network: `Model.sha256()`.
        task: `Task.sha256()`.
        target: ``"laws"`` or ``"labels"``.
        sizes: The integers named by `SIZE_NAMES`.

    Raises:
        InputError: A hash that is none, an unknown target, a missing, unknown or negative size.

    Page: docs/rigour/certificate.md
    """

    network: str
    task: str
    target: str
    sizes: Mapping[str, int]

    def __post_init__(self) -> None:
        for name in ("network", "task"):
            _check_sha256(f"subject.{name}", getattr(self, name))
        if self.target not in ("laws", "labels"):
            raise InputError(f"subject.target is {self.target!r}, expected 'laws' or 'labels'")
        if set(self.sizes) != set(SIZE_NAMES):
            raise InputError(f"subject.sizes has the names {sorted(self.sizes)}, expected {sorted(SIZE_NAMES)}")
        for name, size in self.sizes.items():
            if type(size) is not int or not 0 <= size < _LARGEST_COUNT:
                raise InputError(f"subject.sizes: {name} is {size!r}, expected an integer from 0 to 2**63 - 1")

    @property
    def feature_columns(self) -> int:
        """Number of attention features of a context: n_heads * d_head."""
        return self.sizes["n_heads"] * self.sizes["d_head"]

    @property
    def approximates_laws(self) -> bool:
        """Whether the laws are more than the dimensions can hold: d < N - 1 (Proposition 2)."""
        return self.target == "laws" and self.sizes["d_model"] < self.sizes["d_vocab_out"] - 1


@dataclass(frozen=True)
class Claim:
    r"""One quantified statement, what was established about it, and the numbers in it.

    The kinds of claim, with the numbers each carries (the *bounds* are present exactly when it is PROVED):

    - ``feature-rank``: the features of the memorized contexts, a matrix of `rows` rows, have full row rank; bounds
      `smallest_singular_value_lower` > 0 and `condition_upper`. With `columns` $= H d_h$ the matrix is $Y$, whose rows
      are the concatenated outputs of the heads before $W_O$; with $d + H d_h$ it is $[X_S, Y]$, the last embedded token
      beside them. Full row rank of $Y$ implies that of $[X_S, Y]$.
    - ``argmax``: in each of `contexts` memorized contexts the logit of every mode of the target is strictly larger than
      all others, which was established for `proved` of them; bound `margin_lower` > 0, a lower bound of the least gap.
      For laws and $d < N - 1$, where no weights hold all laws, it is claimed for `proved` of the contexts only.
    - ``divergence``: bounds `mean_upper` and `max_upper` of $d_{KL}(\pi_t \| \mathrm{softmax}(\mathrm{logits}_t))$ in
      nats over the `contexts` memorized contexts, each of the same weight.
    - ``all-contexts-divergence``: bounds `lower` and `upper` of the mean of
      $d_{KL}(c_t / n_t \| \mathrm{softmax}(\mathrm{logits}_t))$ in nats over all `contexts` contexts of the text, each
      weighted by the number $n_t$ of its `occurrences`.

    Args:
        id: The kind.
        statement: The claim in words with its quantifier; in a certificate it must be the one of `statement`.
        verdict: What was established.
        method: How, in a few words; information only, since nothing is ever concluded from it.
        values: The numbers: `int`, finite `float` or `Fraction`.

    Raises:
        InputError: An unknown kind, or a missing, unknown or impossible number.

    Page: docs/rigour/certificate.md

    Example:
        >>> values = {"contexts": 3, "proved": 3, "margin_lower": 0.1234567}
        >>> claim = Claim.of(ARGMAX, "laws", Verdict.PROVED, "an example", values)
        >>> print(claim.statement[-74:])
        every mode of its law is larger than every other logit by at least 0.1234.
    """

    id: str
    statement: str
    verdict: Verdict
    method: str
    values: Mapping[str, Number]

    @classmethod
    def of(cls, id: str, target: str, verdict: Verdict, method: str, values: Mapping[str, Number]) -> "Claim":
        """The claim with the statement that its numbers make."""
        _check_values(id, verdict, values)
        return cls(id, statement(id, target, values), verdict, method, dict(values))

    def __post_init__(self) -> None:
        if not isinstance(self.verdict, Verdict):
            raise InputError(f"claim {self.id!r}: the verdict is {self.verdict!r}, expected a Verdict")
        _check_values(self.id, self.verdict, self.values)
        _check_text(f"claim {self.id!r}: method", self.method)

    @property
    def bounds(self) -> dict[str, Number]:
        """The numbers that are claimed rather than counted; empty unless the claim is PROVED."""
        names = _KINDS[self.id].bounds
        return {name: value for name, value in self.values.items() if name in names}


@dataclass(frozen=True)
class Witness:
    """The file that helps a checker, and its hash; a witness is never trusted, only used.

    Args:
        file: Name of a file in the folder of the certificate.
        sha256: Hash of its bytes, in hexadecimal.
    """

    file: str
    sha256: str

    def __post_init__(self) -> None:
        if self.file != WITNESS_FILE:
            raise InputError(f"witness.file is {self.file!r}, expected {WITNESS_FILE!r}")
        _check_sha256("witness.sha256", self.sha256)

    @classmethod
    def of(cls, data: bytes) -> "Witness":
        """The witness whose file holds `data`."""
        return cls(WITNESS_FILE, hashlib.sha256(data).hexdigest())


@dataclass(frozen=True)
class Certificate:
    """Claims about one network and one task, with all that is needed to prove them again.

    A certificate is data, not evidence: who receives one re-proves it from the weights and the task
    (`verify.certificates.memorization.check_memorization`, `verify.independent.checker.check_independently`) and never
    believes a number in it.

    Args:
        subject: What it is about.
        claims: The claims, in the order of `MEMORIZATION_CLAIMS`, each kind at most once.
        provenance: Names and versions of the software and the machine that made it.
        witness: The witness file, if there is one.

    Raises:
        InputError: Claims that do not fit the subject or each other.

    Page: docs/rigour/certificate.md
    """

    subject: Subject
    claims: tuple[Claim, ...]
    provenance: Mapping[str, str]
    witness: Witness | None = None
    digest: str = field(init=False, compare=False, default="")

    def __post_init__(self) -> None:
        ids = [claim.id for claim in self.claims]
        if ids != [name for name in MEMORIZATION_CLAIMS if name in ids]:
            raise InputError(f"claims are {ids}, expected each at most once in the order {list(MEMORIZATION_CLAIMS)}")
        for claim in self.claims:
            _check_claim_fits(claim, self.subject)
        for name, text in self.provenance.items():
            _check_text("provenance", name)
            _check_text(f"provenance.{name}", text)
        object.__setattr__(self, "digest", _digest(_as_data(self)))

    @property
    def verdict(self) -> Verdict:
        """PROVED if all claims of `MEMORIZATION_CLAIMS` are there and PROVED, REFUTED if one is, else UNDECIDED."""
        missing = [Verdict.UNDECIDED for name in MEMORIZATION_CLAIMS if name not in {claim.id for claim in self.claims}]
        return Verdict.all_of([*(claim.verdict for claim in self.claims), *missing])

    def claim(self, id: str) -> Claim:
        """The claim of the kind `id`.

        Raises:
            TamperedError: There is none; a certificate without one of its claims was not written by byheart.
        """
        for claim in self.claims:
            if claim.id == id:
                return claim
        raise TamperedError(f"{CERTIFICATE_FILE} lacks the claim {id!r}; a certificate of memorization holds it")

    def to_json(self) -> str:
        """The one text of this certificate: canonical JSON (sorted keys, no spaces, ASCII) and a final newline."""
        return canonical_json({**_as_data(self), "digest": self.digest}) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Read the text that `to_json` gives, and no other.

        Raises:
            FileFormatError: Not JSON, too long, a field missing or unknown, a number that is not exact, or a text that
                is not the canonical one.
            TamperedError: The digest is not the hash of the contents.
        """
        data = _parse_json(text)
        _expect_keys("the certificate", data, _FIELDS)
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
                claims=tuple(_parse_claim(claim) for claim in _expect("claims", data["claims"], list)),
                provenance=_expect("provenance", data["provenance"], dict),
                witness=_parse_witness(data["witness"]),
            )
        except InputError as error:
            raise FileFormatError(f"{CERTIFICATE_FILE} is not a certificate: {error}") from error
        if certificate.to_json() != text:
            raise FileFormatError(f"{CERTIFICATE_FILE} is not canonical (sorted keys, no spaces, reduced numbers)")
        return certificate

    def save(self, folder: Path) -> None:
        """Write ``certificate.json`` into `folder`, atomically."""
        write_atomically(Path(folder) / CERTIFICATE_FILE, self.to_json().encode("ascii"))

    @classmethod
    def load(cls, folder: Path) -> "Certificate":
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
        if certificate.witness is not None:
            witness = Path(folder) / certificate.witness.file
            if file_sha256(witness) != certificate.witness.sha256:
                raise TamperedError(f"{witness} is not the witness that the certificate names: its hash differs")
        return certificate


@dataclass(frozen=True)
class ClaimCheck:
    """What a checker established about one claim, without trusting the certificate.

    Args:
        id: The claim.
        verdict: PROVED: the claim, with the bounds as stored, holds. REFUTED: it is false. UNDECIDED: neither.
        reason: One sentence for a person.
        values: Bounds of the same names that the checker itself obtained, where it did.
    """

    id: str
    verdict: Verdict
    reason: str
    values: Mapping[str, Number]


@dataclass(frozen=True)
class CheckReport:
    """The outcome of re-proving a certificate.

    Args:
        certificate: What was checked.
        checks: One per claim of `MEMORIZATION_CLAIMS`, in that order.
        path: The arithmetic that was used, in words.
    """

    certificate: Certificate
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
            "network_sha256": self.certificate.subject.network,
            "task_sha256": self.certificate.subject.task,
            "claims": [
                {
                    "id": check.id,
                    "statement": self.certificate.claim(check.id).statement,
                    "verdict": check.verdict.value,
                    "reason": check.reason,
                    "values": {name: _plain(value) for name, value in check.values.items()},
                }
                for check in self.checks
            ],
        }


def _plain(value: Number) -> float | None:
    """A number for JSON, which has no infinity."""
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def statement(id: str, target: str, values: Mapping[str, Number]) -> str:
    """The words of a claim, a function of its numbers; decimals are rounded in the direction that keeps them true.

    Args:
        id: The kind of claim.
        target: ``"laws"`` or ``"labels"``.
        values: Its numbers; without the bounds the statement is the qualitative one.

    Returns:
        One or two sentences.

    Page: docs/rigour/certificate.md

    Example:
        >>> print(statement(DIVERGENCE, "labels", {"contexts": 8, "mean_upper": 1e-14, "max_upper": 2e-14}))
        For each of the 8 memorized contexts the divergence KL(point mass at the label || softmax(logits)) is at most \
2e-14 nats; their mean is at most 1e-14 nats.
    """
    mode = "every mode of its law" if target == "laws" else "its label"
    law = "its law" if target == "laws" else "point mass at the label"
    if id == FEATURE_RANK:
        text = (
            f"The {values['rows']} x {values['columns']} matrix of the features of the memorized contexts "
            f"has full row rank {values['rows']}"
        )
        if "condition_upper" not in values:
            return f"{text}."
        return (
            f"{text}: its smallest singular value is at least "
            f"{decimal_below(values['smallest_singular_value_lower'])} and its condition number at most "
            f"{decimal_above(values['condition_upper'])}."
        )
    if id == ARGMAX:
        contexts = f"{values['contexts']} memorized contexts"
        some = "margin_lower" in values and values["proved"] < values["contexts"]
        text = (
            f"In at least {values['proved']} of the {contexts}, " if some else f"For each of the {contexts} "
        ) + f"the logit of {mode} is larger than every other logit"
        if "margin_lower" not in values:
            return f"{text}."
        return f"{text} by at least {decimal_below(values['margin_lower'])}."
    if id == DIVERGENCE:
        text = f"For each of the {values['contexts']} memorized contexts the divergence KL({law} || softmax(logits))"
        if "max_upper" not in values:
            return f"{text} is at most a bound that was not established."
        return (
            f"{text} is at most {decimal_above(values['max_upper'])} nats; "
            f"their mean is at most {decimal_above(values['mean_upper'])} nats."
        )
    text = (
        f"Over all {values['contexts']} contexts of the text, weighted by their {values['occurrences']} occurrences, "
        "the mean divergence KL(empirical law || softmax(logits))"
    )
    if "upper" not in values:
        return f"{text} is in an interval that was not established."
    return (
        f"{text} is at least {decimal_below(values['lower'], 8)} and at most {decimal_above(values['upper'], 8)} nats."
    )


def file_sha256(path: Path) -> str:
    """Hash of the bytes of a file, in hexadecimal.

    Raises:
        FileFormatError: The file cannot be read.
    """
    require_regular_file(Path(path))
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error}") from error


@dataclass(frozen=True)
class _Kind:
    counts: tuple[str, ...]
    bounds: tuple[str, ...]


_KINDS = {
    FEATURE_RANK: _Kind(("rows", "columns"), ("smallest_singular_value_lower", "condition_upper")),
    ARGMAX: _Kind(("contexts", "proved"), ("margin_lower",)),
    DIVERGENCE: _Kind(("contexts",), ("mean_upper", "max_upper")),
    ALL_CONTEXTS_DIVERGENCE: _Kind(("contexts", "occurrences"), ("lower", "upper")),
}
_POSITIVE = ("smallest_singular_value_lower", "margin_lower")


def _check_values(id: str, verdict: Verdict, values: Mapping[str, Number]) -> None:
    if not isinstance(id, str) or id not in _KINDS:
        raise InputError(f"claim {id!r} is unknown, expected one of {list(_KINDS)}")
    kind = _KINDS[id]
    expected = set(kind.counts) | (set(kind.bounds) if verdict is Verdict.PROVED else set())
    if set(values) != expected:
        raise InputError(f"claim {id!r} is {verdict.value} with {sorted(values)}, expected {sorted(expected)}")
    for name, value in values.items():
        if name in kind.counts and (type(value) is not int or not 0 <= value < _LARGEST_COUNT):
            raise InputError(f"claim {id!r}: {name} is {value!r}, expected a non-negative integer")
        if name in kind.bounds:
            if type(value) not in (int, float, Fraction) or (type(value) is float and not math.isfinite(value)):
                raise InputError(f"claim {id!r}: {name} is {value!r}, expected a finite exact number")
            if max(part.bit_length() for part in Fraction(value).as_integer_ratio()) > _LARGEST_BITS:
                raise InputError(f"claim {id!r}: {name} has more than {_LARGEST_BITS} bits")
            if not (value > 0 if name in _POSITIVE else value >= 0):
                raise InputError(f"claim {id!r}: {name} is {value!r}, which no statement of this kind can have")
    if id == ARGMAX and not values["proved"] <= values["contexts"]:
        raise InputError(f"claim {id!r}: {values['proved']} of {values['contexts']} contexts cannot be proved")


def _check_claim_fits(claim: Claim, subject: Subject) -> None:
    sizes, values = subject.sizes, claim.values
    if claim.statement != statement(claim.id, subject.target, values):
        raise InputError(f"claim {claim.id!r}: the statement is not the one its numbers and the target make")
    if claim.id == FEATURE_RANK:
        allowed = (subject.feature_columns, sizes["d_model"] + subject.feature_columns)
        fits = values["rows"] == sizes["n_contexts"] and values["columns"] in allowed
    elif claim.id == ALL_CONTEXTS_DIVERGENCE:
        fits = values["contexts"] == sizes["n_all"]
    else:
        fits = values["contexts"] == sizes["n_contexts"]
    if claim.id == ARGMAX and claim.verdict is Verdict.PROVED:
        fits = fits and (values["proved"] == values["contexts"] or (0 < values["proved"] and subject.approximates_laws))
    if not fits:
        raise InputError(f"claim {claim.id!r} has the values {dict(values)}, which do not fit the sizes {dict(sizes)}")


def _check_sha256(name: str, value: object) -> None:
    if not isinstance(value, str) or not _SHA256.fullmatch(value):
        raise InputError(f"{name} is {value!r}, expected 64 hexadecimal digits")


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str) or len(value) > _LARGEST_TEXT:
        raise InputError(f"{name} is {str(value)[:40]!r}, expected a text of at most {_LARGEST_TEXT} characters")


def _encode(value: Number) -> int | str:
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value.hex()
    return f"{value.numerator}/{value.denominator}"


def _decode(name: str, value: object) -> Number:
    if type(value) is int:
        return value
    if isinstance(value, str) and _HEXADECIMAL_FLOAT.fullmatch(value):
        try:
            return float.fromhex(value)
        except OverflowError:
            raise FileFormatError(f"{CERTIFICATE_FILE}: {name} is {value!r}, beyond the range of float64") from None
    if isinstance(value, str) and _RATIONAL.fullmatch(value):
        return Fraction(value)
    raise FileFormatError(
        f"{CERTIFICATE_FILE}: {name} is {value!r}, expected an integer, a hexadecimal float or a rational 'p/q'"
    )


def _as_data(certificate: Certificate) -> dict[str, Any]:
    subject, witness = certificate.subject, certificate.witness
    return {
        "format": FORMAT,
        "version": VERSION,
        "subject": {
            "network": subject.network,
            "task": subject.task,
            "target": subject.target,
            "sizes": dict(subject.sizes),
        },
        "claims": [
            {
                "id": claim.id,
                "statement": claim.statement,
                "verdict": claim.verdict.value,
                "method": claim.method,
                "values": {name: _encode(value) for name, value in claim.values.items()},
            }
            for claim in certificate.claims
        ],
        "provenance": dict(certificate.provenance),
        "witness": None if witness is None else {"file": witness.file, "sha256": witness.sha256},
    }


def _digest(data: dict[str, Any]) -> str:
    return hashlib.sha256(canonical_json(data).encode("ascii")).hexdigest()


def _parse_json(text: str) -> dict[str, Any]:
    if len(text) > _LARGEST_FILE:
        raise FileFormatError(f"{CERTIFICATE_FILE} is longer than {_LARGEST_FILE} bytes")
    try:
        data = json.loads(text, parse_float=_refuse_number, parse_constant=_refuse_number)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{CERTIFICATE_FILE} is not JSON: {error}") from error
    return _expect("the certificate", data, dict)


def _refuse_number(text: str) -> float:
    raise FileFormatError(f"{CERTIFICATE_FILE} holds the number {text}, expected integers and exact numbers as texts")


def _expect(name: str, value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise FileFormatError(f"{CERTIFICATE_FILE}: {name} is a {type(value).__name__}, expected a {kind.__name__}")
    return value


def _expect_keys(name: str, value: Any, keys: set[str]) -> None:
    if set(_expect(name, value, dict)) != keys:
        raise FileFormatError(f"{CERTIFICATE_FILE}: {name} has the fields {sorted(value)}, expected {sorted(keys)}")


def _parse_subject(data: Any) -> Subject:
    _expect_keys("subject", data, {"network", "task", "target", "sizes"})
    return Subject(data["network"], data["task"], data["target"], _expect("subject.sizes", data["sizes"], dict))


def _parse_claim(data: Any) -> Claim:
    _expect_keys("a claim", data, {"id", "statement", "verdict", "method", "values"})
    if not isinstance(data["verdict"], str) or data["verdict"] not in Verdict.__members__:
        raise FileFormatError(f"{CERTIFICATE_FILE}: unknown verdict {data['verdict']!r}")
    values = _expect("values", data["values"], dict)
    return Claim(
        id=data["id"],
        statement=data["statement"],
        verdict=Verdict[data["verdict"]],
        method=data["method"],
        values={name: _decode(name, value) for name, value in values.items()},
    )


def _parse_witness(data: Any) -> Witness | None:
    if data is None:
        return None
    _expect_keys("witness", data, {"file", "sha256"})
    return Witness(data["file"], data["sha256"])
