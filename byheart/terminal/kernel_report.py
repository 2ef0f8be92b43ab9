"""What the kernel answers about a folder, as a command shows it.

Page: docs/rigour/kernel.md
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from constructions.errors import FileFormatError
from verify.certificates.certificate import Certificate
from verify.kernel.check import outcome
from verify.kernel.verdicts import BadInputError, UndecidedError
from verify.verdict import Verdict

_VERDICTS = {0: Verdict.PROVED, 1: Verdict.REFUTED, 3: Verdict.UNDECIDED}


@dataclass(frozen=True)
class KernelReport:
    """What the kernel found.

    Args:
        certificate: What was checked.
        verdict: PROVED where the kernel proved every statement and the answer is yes; never of what the certificate
            says is for the fast prover alone.
        said: The first line.
        proofs: How each statement was proved, in a few words; empty unless all were.
        reason: Where the kernel leaves open what it has no proof of: what it says itself.
    """

    certificate: Certificate
    verdict: Verdict
    said: str
    proofs: tuple[str, ...] = ()
    reason: str = ""

    def adding(self, *parts: str) -> "KernelReport":
        """Return the same with more behind the first line."""
        return replace(self, said="; ".join([self.said, *parts]))

    def summary(self) -> dict[str, Any]:
        """Return what a command shows, as plain data for JSON."""
        certificate, subject = self.certificate, self.certificate.subject
        return {
            "verdict": self.verdict.value,
            "headline": self.said,
            "asked": certificate.criterion.describe(subject.target),
            "path": "the kernel",
            "reason": self.reason or None,
            **(certificate.answer_figures() if self.verdict is Verdict.PROVED else {}),
            "model_sha256": subject.model,
            "task_sha256": subject.task,
            "statements": [
                {
                    "id": stated.label,
                    "statement": certificate.words(stated),
                    "checker": certificate.checker(stated),
                    "verdict": self.verdict.value,
                    "reason": how,
                    "values": {},
                }
                for stated, how in zip(certificate.statements, self.proofs, strict=bool(self.proofs))
            ],
        }


def check_by_kernel(
    folder: Path, *, kinds: Sequence[Any] = (), tell: Callable[[str], None] = lambda line: None
) -> KernelReport:
    """Let the kernel check a folder.

    Args:
        folder: The folder.
        kinds: Modules of kinds of statement that lie elsewhere, which are believed.
        tell: Told how long it takes, where that is more than a minute.

    Returns:
        What it found. Where all is proved, the first line is that of the certificate without its provenance: a function
        of what was proved.

    Raises:
        FileFormatError: A file is missing or is not what it should be.
        TamperedError: The digest of the certificate, or the hash of the witness, is another.
    """
    certificate = Certificate.load(folder, kinds)
    code, text = outcome(folder, kinds, tell)
    if code == BadInputError.exit_code:
        raise FileFormatError(text.removeprefix(f"{BadInputError.word}: "))
    first, *proved = text.split("\n  ")
    not_for_the_kernel = certificate.for_the_prover_alone()
    if code == 0 and not not_for_the_kernel:
        sentences = [certificate.words(stated) for stated in certificate.statements]
        proofs = tuple(line[len(sentence) + 2 : -1] for line, sentence in zip(proved, sentences, strict=False))
        headline = replace(certificate, provenance={}).headline()  # nothing in the provenance is proved
        return KernelReport(certificate, Verdict.PROVED, headline, proofs)
    if code in (0, UndecidedError.exit_code) and not_for_the_kernel:
        said = f"{UndecidedError.word}: {without_a_proof(not_for_the_kernel)}"
        return KernelReport(certificate, Verdict.UNDECIDED, said, reason="" if code == 0 else first)
    return KernelReport(certificate, _VERDICTS[code], first)


def without_a_proof(parts: Sequence[str]) -> str:
    """Return that the kernel has no proof of these parts, and who has."""
    return f"the kernel has no proof of {' or of '.join(parts)}, but the fast prover may have one (check --fast)"
