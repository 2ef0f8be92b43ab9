"""What stands beside a certificate: measured, or computed when a folder was made; nobody proves it again.

The summary and the page of a folder are functions of its certificate, its weights, its task and these numbers, so that
`check` makes them again and compares every byte.

Page: docs/rigour/certificate.md
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from constructions.errors import FileFormatError, TamperedError
from constructions.formats.files import (
    canonical_json,
    parse_json,
    read_text,
    require_canonical,
    require_regular_file,
    write_atomically,
)
from constructions.plug_ins import required_plug_in
from verify.arithmetic.exact_json import expect, expect_fields
from verify.certificates.certificate import (
    FEATURE_RANK,
    MEASURED_FILE,
    REPORT_FILE,
    SATURATION,
    SUMMARY_FILE,
    TEXT_DIVERGENCE,
    Certificate,
)

_FORMAT, _VERSION = "byheart-measured", 1
_LARGEST_FILE = 2**26  # bytes
_NEVER = ("files", "statements", "measured")  # of no figure of these names anything is kept


@dataclass(frozen=True)
class Measured:
    """What a maker measured, or computed beside the proofs.

    Args:
        figures: Figures by their names, none of which a certificate says.
        source: What the task was made from, in a few words.
        drawn: What the page draws (`byheart.report.pages.drawn`); none where there is no page.
    """

    figures: Mapping[str, Any]
    source: str = ""
    drawn: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls, figures: Mapping[str, Any], certificate: Certificate, *, source: str = "", drawn: Any = None
    ) -> "Measured":
        """Return what of all figures no certificate says."""
        said = {*proved_figures(certificate), *_NEVER}
        kept = {name: value for name, value in figures.items() if name not in said}
        return cls(*json.loads(canonical_json([kept, source, drawn])))  # in the order in which they are read

    def to_json(self) -> str:
        """Return the one text of it."""
        data = {"figures": dict(self.figures), "source": self.source, "drawn": self.drawn}
        return canonical_json({"format": _FORMAT, "version": _VERSION, **data}) + "\n"

    def sha256(self) -> str:
        """Return the hash of that text: the page names it, so that not a digit of it can change unseen."""
        return hashlib.sha256(self.to_json().encode("ascii")).hexdigest()

    def save(self, folder: Path) -> None:
        """Write ``measured.json`` into `folder`, atomically."""
        write_atomically(folder / MEASURED_FILE, self.to_json().encode("ascii"))

    @classmethod
    def load(cls, folder: Path, certificate: Certificate) -> "Measured":
        """Read ``measured.json`` of `folder`.

        Raises:
            FileFormatError: It is missing, damaged, or has a figure that only a certificate may say.
        """
        path = folder / MEASURED_FILE
        text = read_text(path, _LARGEST_FILE)
        found = parse_json(path, text)
        expect_fields(MEASURED_FILE, found, {"format", "version", "figures", "source", "drawn"})
        if (found["format"], found["version"]) != (_FORMAT, _VERSION):
            raise FileFormatError(f"{path} is of the format {found['format']!r}, expected {_FORMAT!r} {_VERSION}")
        figures = expect(f"{MEASURED_FILE}: figures", found["figures"], dict)
        if strange := sorted({*proved_figures(certificate), *_NEVER} & set(figures)):
            raise FileFormatError(f"{path} has the figure {strange[0]!r}, which only the certificate may say")
        drawn = None if found["drawn"] is None else expect(f"{MEASURED_FILE}: drawn", found["drawn"], dict)
        measured = cls(figures, expect(f"{MEASURED_FILE}: source", found["source"], str), drawn)
        require_canonical(path, text, measured.to_json)
        return measured


def proved_figures(certificate: Certificate) -> dict[str, Any]:
    """Return the figures that a certificate says, by their names in `Figures`; `None` where it does not say them."""
    figure, subject = certificate.figure, certificate.subject
    return {
        "verdict": certificate.verdict.value,
        "headline": certificate.headline(),
        "asked": certificate.criterion.describe(subject.target),
        "target": subject.target,
        "origin": subject.origin,
        "contexts": subject.sizes["all_contexts"],
        "facts": subject.sizes["contexts"],
        "n_ctx": subject.sizes["context_length"],
        "outputs": subject.sizes["outputs"],
        "parameters": subject.sizes["parameters"],
        "memorized": certificate.answers.values["memorized"],
        "wrong": certificate.answers.values["wrong"],
        **certificate.answer_figures(),
        "text_kl": [figure(TEXT_DIVERGENCE, "lower"), figure(TEXT_DIVERGENCE, "upper")],
        "condition": figure(FEATURE_RANK, "condition_upper"),
        "rank_proved": certificate.statement(FEATURE_RANK) is not None,
        "pairs": figure(SATURATION, "pairs"),
        "saturated_pairs": figure(SATURATION, "saturated_lower"),
        "saturation_delta": figure(SATURATION, "delta"),
    }


def summary_json(certificate: Certificate, measured: Measured) -> str:
    """Return the text of ``summary.json``: what the certificate says, and in a block of its own what was measured."""
    statements = [
        {"id": each.label, "statement": certificate.words(each), "checker": certificate.checker(each)}
        for each in certificate.statements
    ]
    beside = {**measured.figures, "source": measured.source}
    return canonical_json({**proved_figures(certificate), "statements": statements, "measured": beside}) + "\n"


def require_made_again(folder: Path, kinds: Sequence[Any] = ()) -> None:
    """Make the summary and the page of a folder again, and compare every byte.

    What a certificate proves is for `check_memorization` or the kernel; this is for what people read beside it.

    Args:
        folder: What a command wrote; nothing is compared where none of these files is there.
        kinds: Modules of kinds of statement that lie elsewhere.

    Raises:
        FileFormatError: They lie there without the numbers that they are made of, or a file is damaged.
        TamperedError: A file is another one.
    """
    folder = Path(folder)
    made = [name for name in (SUMMARY_FILE, REPORT_FILE) if (folder / name).exists()]
    if not made and not (folder / MEASURED_FILE).exists():
        return
    if not (folder / MEASURED_FILE).exists():
        raise FileFormatError(
            f"{folder / made[0]} lies there without {MEASURED_FILE}, from which it is made: remove it to check the "
            "rest, or make the folder again"
        )
    certificate = Certificate.load(folder, kinds)
    measured = Measured.load(folder, certificate)
    for name in made:
        text = (
            summary_json(certificate, measured)
            if name == SUMMARY_FILE
            else required_plug_in("byheart.report.pages").page_again(folder, certificate, measured)
        )
        require_regular_file(folder / name)
        if (folder / name).read_bytes() != text.encode("utf-8"):
            raise TamperedError(
                f"{folder / name} is not the file that certificate, weights, task and {MEASURED_FILE} make: do not "
                "believe it; remove it to check the rest, or make the folder again"
            )
