"""A new certificate, with proved results that it does not store.

Page: docs/rigour/certificate.md
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from verify.certificates.certificate import Certificate

Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Proved(Generic[Found]):
    """A certificate, with the proved bounds that are not stored in it.

    Args:
        certificate: What is written to ``certificate.json``.
        answers: The bounds of each context, or the counts of a domain with some of the inputs that are wrong or open.
    """

    certificate: Certificate
    answers: Found

    def __repr__(self) -> str:
        return self.certificate.headline()

    def save(self, folder: Path) -> None:
        """Write ``certificate.json`` into `folder`, atomically."""
        self.certificate.save(folder)
