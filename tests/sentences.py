"""The sentence of a statement, from the data of a certificate that need not be true, nor whole."""

from typing import Any

from verify.kernel.certificate import Certificate, Criterion
from verify.kernel.kinds import find_statement


def sentence(data: dict[str, Any], record: dict[str, Any]) -> str:
    """Return what the kernel's file of the kind says of a record, in a certificate with these data."""
    subject = data["subject"]
    about = (subject[name] for name in ("model", "task", "target", "origin", "sizes"))
    certificate = Certificate(*about, Criterion("memorized", 0.001, None, None), data["statements"], None)
    kind = find_statement(record["id"])
    return kind.sentence(kind.read("a statement", record, certificate), certificate)
