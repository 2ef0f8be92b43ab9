"""Read a certificate file: its subject, the question, and the statements, each as the data of its kind.

Page: docs/rigour/kernel.md
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verify.kernel.files import LARGEST_CERTIFICATE, canonical, parse_json, read_bytes, require_fields
from verify.kernel.numerals import counted, read_count, read_number
from verify.kernel.verdicts import BadInputError, NotProvedError

FILE = "certificate.json"
_HASH = re.compile(r"[0-9a-f]{64}")
_SIZES = ("contexts", "context_length", "outputs", "all_contexts", "parameters")
_LONGEST_TEXT = 4096


@dataclass(frozen=True)
class Criterion:
    """The question: whether all contexts are memorized, a number of them are, or the mean loss is at most a bound."""

    asked: str
    tolerance: float
    contexts: int | None
    bound: float | None

    def said(self, target: str) -> str:
        """Return the question in words, with the tolerance for distributions and values."""
        loss, unit = ("distance from the values", "") if target == "values" else ("divergence", " nats")
        if self.asked == "at-most":
            return f"the mean {loss} is at most {self.bound!r}{unit}"
        where = "in every context" if self.contexts is None else f"in at least {counted(self.contexts, 'context')}"
        if target == "labels":
            return f"{where} the label has the largest logit"
        modes = "the modes of the distribution have the largest logits and " if target == "distributions" else ""
        return f"{where} {modes}the {loss} is at most {self.tolerance!r}{unit}"


@dataclass(frozen=True)
class Certificate:
    """The contents of `certificate.json`.

    Args:
        model: The hash of the model.
        task: That of the task.
        target: `labels`, `distributions` or `values`.
        origin: Origin of the targets.
        sizes: Of model and task, by name.
        criterion: The question.
        statements: One record for each, as it stands in the file.
        witness: The hash of the file of witnesses, or none.
    """

    model: str
    task: str
    target: str
    origin: str
    sizes: dict[str, int]
    criterion: Criterion
    statements: list[dict[str, Any]]
    witness: str | None


def read_certificate(folder: Path) -> Certificate:
    """Read `certificate.json`.

    Raises:
        BadInputError: It is anything but a certificate in its one form.
    """
    data = read_bytes(folder, FILE, LARGEST_CERTIFICATE)
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError as error:
        raise BadInputError(FILE, "the file", "is not ASCII") from error
    content = parse_json(FILE, "the file", text)
    names = ["format", "version", "subject", "criterion", "statements", "provenance", "witness", "digest"]
    require_fields(FILE, "the file", content, names)
    if canonical(content) + "\n" != text:
        raise BadInputError(FILE, "the file", "is not the canonical text of what it says")
    if (content["format"], content["version"]) != ("byheart-certificate", 4) or type(content["version"]) is not int:
        raise BadInputError(FILE, "format", "is not byheart-certificate, version 4")
    signed = {name: value for name, value in content.items() if name != "digest"}
    if hashlib.sha256(canonical(signed).encode("ascii")).hexdigest() != content["digest"]:
        raise NotProvedError(f"{FILE}: digest is not the hash of the rest")
    require_texts(FILE, "provenance", content["provenance"])
    subject, sizes = content["subject"], _sizes(content["subject"])
    criterion, statements = _criterion(content["criterion"]), _statements(content["statements"])
    model, task, target, origin = (subject[name] for name in ("model", "task", "target", "origin"))
    return Certificate(model, task, target, origin, sizes, criterion, statements, _witness(content["witness"]))


def _sizes(subject: Any) -> dict[str, int]:
    require_fields(FILE, "subject", subject, ["model", "task", "target", "origin", "sizes"])
    for name in ("model", "task"):
        require_hash(FILE, f"subject.{name}", subject[name])
    if subject["target"] not in ("labels", "distributions", "values"):
        raise BadInputError(FILE, "subject.target", f"is {str(subject['target'])[:20]!r}")
    _require_text(FILE, "subject.origin", subject["origin"])
    require_fields(FILE, "subject.sizes", subject["sizes"], _SIZES)
    return {name: read_count(FILE, f"subject.sizes.{name}", size) for name, size in subject["sizes"].items()}


def _criterion(data: Any) -> Criterion:
    require_fields(FILE, "criterion", data, ["asked", "tolerance", "contexts", "bound"])
    question, contexts, bound = data["asked"], data["contexts"], data["bound"]
    if question not in ("memorized", "at-least", "at-most"):
        raise BadInputError(FILE, "criterion.asked", f"is {str(question)[:20]!r}")
    if (contexts is not None) != (question == "at-least") or (bound is not None) != (question == "at-most"):
        raise BadInputError(FILE, "criterion.contexts or bound", "does not go with what is asked")
    if contexts is not None and read_count(FILE, "criterion.contexts", contexts, 2**53) == 0:
        raise BadInputError(FILE, "criterion.contexts", "is 0, which asks for nothing")
    floats = []
    for name in ("tolerance", "bound"):
        value = None if data[name] is None else read_number(FILE, f"criterion.{name}", data[name])
        if not (value is None and name == "bound") and not (isinstance(value, float) and value > 0.0):
            raise BadInputError(FILE, f"criterion.{name}", "is not a float above 0")
        floats.append(value)
    return Criterion(question, floats[0], contexts, floats[1])


def _statements(data: Any) -> list[dict[str, Any]]:
    """Return the records with the fields that all kinds have; each kind reads its other fields and values."""
    if not isinstance(data, list) or not data:
        raise BadInputError(FILE, "statements", "are no list, or an empty one")
    for place, record in enumerate(data):
        require_fields(
            FILE, f"statements[{place}]", record, ["id", "statement", "method", "values", "memorized"], ["named"]
        )
        for name in ("id", "method"):
            _require_text(FILE, f"statements[{place}].{name}", record[name])
        if not isinstance(record["statement"], str) or not isinstance(record["memorized"], str):
            raise BadInputError(FILE, f"statements[{place}]", "has a sentence or a mask that is not a text")
        if not isinstance(record["values"], dict):
            raise BadInputError(FILE, f"statements[{place}].values", "are no object")
    return data


def _witness(data: Any) -> str | None:
    if data is None:
        return None
    require_fields(FILE, "witness", data, ["file", "sha256"])
    if data["file"] != "witness.safetensors":
        raise BadInputError(FILE, "witness.file", f"is {str(data['file'])[:60]!r}")
    require_hash(FILE, "witness.sha256", data["sha256"])
    return data["sha256"]


def require_texts(file: str, field: str, data: Any) -> None:
    """Require an object of texts that are not too long."""
    if not isinstance(data, dict):
        raise BadInputError(file, field, "is not an object")
    for name, text in data.items():
        _require_text(file, field, name)
        _require_text(file, f"{field}.{name}", text)


def _require_text(file: str, field: str, text: Any) -> None:
    if not isinstance(text, str) or len(text) > _LONGEST_TEXT:
        raise BadInputError(file, field[:60], f"is not a text of at most {_LONGEST_TEXT} characters")


def require_hash(file: str, field: str, text: Any) -> None:
    """Require the hexadecimal digits of a SHA-256."""
    if not isinstance(text, str) or not _HASH.fullmatch(text):
        raise BadInputError(file, field, "is not a hash of 64 hexadecimal digits")


def read_values(
    field: str, record: dict[str, Any], counts: Sequence[str], bounds: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the numbers of a statement without names and mask: counts, bounds, and optional bounds."""
    if "named" in record or record["memorized"]:
        raise BadInputError(FILE, field, "has names or a mask, which no statement of this kind has")
    values = record["values"]
    require_fields(FILE, f"{field}.values", values, [*counts, *bounds], optional)
    readers = {name: read_count if name in counts else read_number for name in values}
    return {name: readers[name](FILE, f"{field}.values.{name}", value) for name, value in values.items()}


@dataclass(frozen=True)
class Mask:
    """Which contexts are memorized: all, none, or those that hexadecimal digits name, the first one the highest bit.

    Args:
        contexts: Number of contexts.
        count: How many of them are memorized.
        digits: Four contexts each; empty where all or none are memorized.
    """

    contexts: int
    count: int
    digits: str

    def __getitem__(self, i: int) -> bool:
        if not self.digits:
            return self.count > 0
        return int(self.digits[i // 4], 16) >> (3 - i % 4) & 1 == 1


def read_mask(field: str, text: str, contexts: int, memorized: int) -> Mask:
    """Return the mask of a statement, which is present exactly if some but not all contexts are memorized."""
    if memorized in (0, contexts):
        if text:
            raise BadInputError(FILE, field, "is given, though all or no contexts are memorized")
        return Mask(contexts, memorized, "")
    size = -(-contexts // 4)
    if len(text) != size or set(text) - set("0123456789abcdef"):
        raise BadInputError(FILE, field, f"is not {size} hexadecimal digits")
    named, beyond = int(text, 16), 4 * size - contexts
    if named.bit_count() != memorized or named >> beyond << beyond != named:
        raise BadInputError(FILE, field, f"does not name {memorized} of {contexts} contexts")
    return Mask(contexts, memorized, text)
