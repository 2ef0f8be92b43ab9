"""A certificate as it was made, with what was proved and is not stored in it.

Page: docs/rigour/certificate.md
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from constructions.formats.files import write_atomically
from verify.arithmetic.enclosure import Enclosure
from verify.certificates.certificate import WITNESS_FILE, Certificate

Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Proved(Generic[Found]):
    """A certificate, with the proved bounds that are not stored in it.

    Args:
        certificate: What is written to ``certificate.json``.
        answers: The bounds of each context, or the counts of a domain with some of the inputs that are wrong or open.
        witness: The bytes of ``witness.safetensors``, or `None`.
        empirical_divergence: Enclosure of KL(counts || softmax) of every context of a text, memorized ones first, nats,
            `[M]`; none for anything else.
    """

    certificate: Certificate
    answers: Found
    witness: bytes | None = None
    empirical_divergence: Enclosure | None = None

    def __repr__(self) -> str:
        return self.certificate.headline()

    def save(self, folder: Path) -> None:
        """Write ``certificate.json`` and, if there is one, ``witness.safetensors`` into `folder`, each atomically."""
        if self.witness is not None:
            write_atomically(Path(folder) / WITNESS_FILE, self.witness)
        self.certificate.save(folder)
