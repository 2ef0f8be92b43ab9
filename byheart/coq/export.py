"""Write the claim of a folder, its proof, and the library for Coq, with a Makefile.

Page: docs/rigour/kernel.md
"""

import tempfile
from pathlib import Path
from typing import Any

from byheart.coq.claim import FORMATS, Claim, claim_of
from byheart.coq.compiled import UNANSWERED, Coqc, answering_units
from byheart.coq.library import makefile, write_sources
from byheart.coq.source import attempts, claim_source, proof_sources
from byheart.hosts.export import own_dtype
from byheart.hosts.parity import PARITY_FILE
from constructions.errors import InputError, require_one_of
from constructions.formats.files import canonical_json, new_folder, write_atomically
from verify.certificates.certificate import file_sha256


def export_for_coq(folder: Path, out: Path, *, dtype: str | None = None, overwrite: bool = False) -> dict[str, Any]:
    """Write the claim of a folder and its proof; `make` there runs Coq on it.

    Args:
        folder: A folder with a certificate.
        out: The folder to write.
        dtype: Number format of the runs, one of `FORMATS`; by default that which the memory was made for.
        overwrite: Replace a folder that byheart wrote.

    Returns:
        ``headline``, ``host``, ``dtype``, ``facts``, ``model`` and ``task`` (the hashes of the files that were read),
        and ``files``, the hashes of those that were written.

    Raises:
        InputError: The folder is not of a kind that the library has words for, or an unknown format; or `coqc` is
            installed and finds that integers do not answer what is tried first.
        FileFormatError: A file of the folder is missing or is not what it should be.
        TamperedError: The files are not those that the certificate names.
    """
    if dtype is not None:
        require_one_of(FORMATS, dtype=dtype)
    claim = claim_of(folder, dtype or own_dtype(folder))
    scale, far = _units(folder, claim)
    sources = {"claim.v": claim_source(claim, scale, far), **proof_sources(claim)}
    with new_folder(out, overwrite=overwrite) as draft:
        write_sources(draft, sources)
        (draft / "Makefile").write_text(makefile(list(sources)), encoding="utf-8")
        names = sorted(path.relative_to(draft).as_posix() for path in draft.rglob("*") if path.is_file())
        report = {
            "headline": f"WRITTEN FOR COQ, NOT YET CHECKED: {claim.words()}",
            "host": "coq",
            "dtype": claim.number_format,
            "facts": len(claim.facts),
            "model": claim.model.sha256,
            "task": claim.task_sha256,
            "files": {name: file_sha256(draft / name) for name in names},
        }
        write_atomically(draft / PARITY_FILE, (canonical_json(report) + "\n").encode())
    return report


def _units(folder: Path, claim: Claim) -> tuple[int, int]:
    """Return the scale of the integers and the bound of the exponential for which `coqc` accepts the probe.

    Where it is not installed they are the first to try.

    Raises:
        InputError: None is accepted.
    """
    coqc = Coqc.installed()
    if coqc is None:
        return next(attempts(claim))
    with tempfile.TemporaryDirectory() as temporary:
        units = answering_units(coqc, claim, Path(temporary))
    if units is None:
        expected = "a memory whose runs are proved in integers, such as probes, or --dtype float64"
        raise InputError(f"{folder}", f"has no proof in integers: {UNANSWERED}", expected)
    return units
