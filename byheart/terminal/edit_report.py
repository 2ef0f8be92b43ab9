"""Check the proof of an edit, by the kernel or the fast prover, and that all files beside it are made of it.

Page: docs/commands.md
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from byheart.edited_folder import decoded_by_host, host_config, require_proved_weights, stored_dtype
from byheart.edited_page import require_edit_page_made_again
from constructions.errors import FileFormatError
from verify.edits.certificate import EditCertificate, EditCheck
from verify.kernel.edit import prove_edit
from verify.kernel.verdicts import BadInputError, NotProvedError, UndecidedError
from verify.provers.edit import check_edit
from verify.verdict import Verdict


def check_edited_folder(
    folder: Path, proof: Path, *, fast: str | None, tell: Callable[[str], None], **progress: Any
) -> EditCheck:
    """Return what checking an edit found, whose proof may lie in a folder of its own.

    Args:
        folder: The folder that `byheart edit` wrote.
        proof: The folder of ``edit.json``.
        fast: What is said where the fast prover checks it; none: the kernel does.
        tell: Told how long the kernel takes, where that is more than a minute.
        progress: Called with the stage and the finished share of it.

    Raises:
        FileFormatError: A file is missing or is not what it should be.
        TamperedError: A hash differs, or the page is another one.
    """
    report = check_edit_by_kernel(proof, tell=tell) if fast is None else check_edit(proof, **progress)
    if fast is not None:
        report = replace(report, aside=fast)
    if proof == folder:
        return report
    require_proved_weights(folder, report.certificate.edited)
    if report.verdict is not Verdict.REFUTED:  # a page of what is refuted is of no use, and the reason comes first
        require_edit_page_made_again(folder, proof, stored_dtype(host_config(folder)))
    return replace(report, decoding=decoded_by_host(folder, proof))


def check_edit_by_kernel(folder: Path, *, tell: Callable[[str], None] = lambda line: None) -> EditCheck:
    """Let the kernel check the proof of an edit.

    Args:
        folder: The folder of ``edit.json``.
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
