"""What the kernel answers about a folder, as a command shows it.

Page: docs/rigour/kernel.md
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from constructions.errors import FileFormatError
from verify.certificates.certificate import Certificate
from verify.edits.certificate import EditCertificate, EditCheck
from verify.kernel.check import outcome
from verify.kernel.edit import prove_edit
from verify.kernel.verdicts import BadInputError, NotProvedError, UndecidedError
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
    """

    certificate: Certificate
    verdict: Verdict
    said: str
    proofs: tuple[str, ...] = ()

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
    not_for_the_kernel = certificate.for_the_prover_alone(certificate.statements)
    if code == 0 and not not_for_the_kernel:
        sentences = [certificate.words(stated) for stated in certificate.statements]
        proofs = tuple(line[len(sentence) + 2 : -1] for line, sentence in zip(proved, sentences, strict=False))
        headline = replace(certificate, provenance={}).headline()  # nothing in the provenance is proved
        return KernelReport(certificate, Verdict.PROVED, headline, proofs)
    if code == 0:
        return KernelReport(certificate, Verdict.UNDECIDED, f"{UndecidedError.word}: {'; '.join(not_for_the_kernel)}")
    ends = not_for_the_kernel if code == UndecidedError.exit_code else []
    return KernelReport(certificate, _VERDICTS[code], "; ".join([first, *ends]))


def check_edit_by_kernel(folder: Path, *, tell: Callable[[str], None] = lambda line: None) -> EditCheck:
    """Let the kernel check the proof of an edit.

    Args:
        folder: Where ``edit.json`` lies.
        tell: Told how long it takes, where that is more than a minute.

    Returns:
        What it found: every number was proved, or the number or context that was not. Never PROVED where runs are
        stated, which are for the fast prover alone.

    Raises:
        FileFormatError: A file is missing or is not what it should be.
        TamperedError: The digest of the certificate is another.
    """
    certificate = EditCertificate.load(folder)
    path = "the kernel"
    try:
        prove_edit(folder, tell)
    except BadInputError as error:
        raise FileFormatError(str(error)) from error
    except NotProvedError as error:
        return EditCheck(certificate, Verdict.REFUTED, str(error), path)
    except UndecidedError as error:
        return EditCheck(certificate, Verdict.UNDECIDED, str(error), path)
    return EditCheck.proved_again(certificate, path).without_the_prover_alone()
