"""Build what a claim promises, or a construction for a user's data, certify it, and write a folder.

Pages: docs/audit.md, docs/constructions.md
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from byheart.device import require_device
from byheart.figures import Figures
from byheart.jobs.certified import certified
from byheart.jobs.clock import Clock
from byheart.memory import CertifiedMemory
from byheart.theorems.findings import findings
from constructions.formats.files import refuse_existing
from constructions.model.construction import Construction
from constructions.named.folds import FOLDS, HandcraftedFold
from constructions.named.registry import NAMED, NamedConstruction, Parameter, named, names
from constructions.progress import Progress, silent
from constructions.tasks.any_task import AnyTask
from verify.theorems.claim import Claim

__all__ = [
    "FOLDS",
    "NAMED",
    "HandcraftedFold",
    "NamedConstruction",
    "Parameter",
    "build_claim",
    "build_named",
    "named",
    "names",
]


def build_claim(
    claim: Claim,
    *,
    out: Path,
    parameters: Mapping[str, int] | None = None,
    overwrite: bool = False,
    device: str = "cpu",
    progress: Progress = silent,
) -> Figures:
    r"""Build the weights that a claim of the literature promises, certify them, run them, and write the folder `out`.

    The folder is of the same kind as those of `memorize`. The certificate asks what the claim promises, and is about
    the float64 weights that are written, whatever the construction was exact about.

    Args:
        claim: A claim of the register.
        out: The folder to write.
        parameters: Parameters of the construction by name; the others keep their default values.
        overwrite: Replace a folder that byheart wrote.
        device: Where to compute large float64 products, and to run the replica beside the CPU.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The figures.

    Raises:
        InputError: The claim builds no weights or has no such parameter, or an existing folder.
        HypothesisError: Parameters for which a hypothesis of the claim does not hold.
        ResourceError: The work would not fit into memory.

    Example:
        >>> import tempfile
        >>> from verify.theorems.claims import claim
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     figures = build_claim(claim("dana.lemma-3"), out=Path(folder) / "lemma-3")
        >>> figures.claim, figures.verdict
        ('dana.lemma-3', 'PROVED')
    """
    given = dict(parameters or {})

    def construct() -> _Constructed:
        figures = {
            "claim": claim.id,
            "construction": {**claim.parameters, **given},
            "seed": given.get("seed", claim.parameters.get("seed", 0)),
        }
        return _Constructed(claim.construct(**given), figures, f"{claim.source} ({claim.id})")

    made = _constructed(construct, out=out, overwrite=overwrite, device=device, progress=progress)
    return _made_for(made, _of_claim(claim)).save(out, overwrite=overwrite)


def _of_claim(claim: Claim) -> str:
    return f"weights for {claim.id}, a claim whose verdict is {claim.judgement!r}"


def _made_for(made: CertifiedMemory, what: str) -> CertifiedMemory:
    """Return the certificate with the purpose of the weights in its first line."""
    certificate = made.certificate.beside("made for", what)
    figures = replace(made.figures, headline=certificate.headline())
    return replace(made, certificate=certificate, proved=replace(made.proved, certificate=certificate), figures=figures)


def build_named(
    construction: NamedConstruction,
    *,
    out: Path,
    file: Path | None = None,
    statement: Claim | None = None,
    parameters: Mapping[str, int | Fraction] | None = None,
    overwrite: bool = False,
    device: str = "cpu",
    progress: Progress = silent,
) -> Figures:
    """Build a construction of `constructions.named.registry` for a user's data, certify it, and write a folder.

    Args:
        construction: Which one.
        out: The folder to write.
        file: One's own data; by default they are drawn.
        statement: The claim that led to it, whose verdict the first line says.
        parameters: Parameters of the construction by name; the others keep their default values.
        overwrite: Replace a folder that byheart wrote.
        device: Where to compute large float64 products, and to run the replica beside the CPU.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The figures; `findings` among them are what is proved of the construction beside its answers.

    Raises:
        InputError: A parameter that there is not, a file that cannot be read, or an existing folder.
        HypothesisError: Data or sizes about which the theorem says nothing.
        ResourceError: The work would not fit into memory.

    Example:
        >>> import tempfile
        >>> from constructions.named.registry import named
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     figures = build_named(named("full-rank-attention"), out=Path(folder) / "heads")
        >>> figures.named, figures.verdict, figures.findings[0].what
        ('full-rank-attention', 'PROVED', 'rank of Y, heads alone')
    """
    built: list[Construction[Any]] = []

    def construct() -> _Constructed:
        made = construction.construct(file, **(parameters or {}))
        built.append(made.built)
        figures = {
            "named": construction.name,
            "claim": "" if statement is None else statement.id,
            "reading": None if file is None else made.reading,
            "construction": {name: _number(value) for name, value in made.parameters.items()},
            "seed": made.parameters["seed"],
        }
        return _Constructed(made.built, figures, f"{construction.name}: {made.reading}")

    made = _constructed(construct, out=out, overwrite=overwrite, device=device, progress=progress, two_sided=True)
    found = findings(built[0], made.proved, device=device)
    drawn = "" if made.task.target == "distributions" else ", labels drawn at random"
    what = f"{construction.name}{drawn}" + ("" if statement is None else f"; {_of_claim(statement)}")
    made = _made_for(made, what)
    return replace(made, figures=replace(made.figures, findings=found)).save(out, overwrite=overwrite)


def _number(value: int | Fraction) -> int | float:
    return value if isinstance(value, int) else float(value)


@dataclass(frozen=True)
class _Constructed:
    """Built weights, and their origin in words."""

    built: Construction[Any]
    figures: dict[str, Any]
    source: str


def _constructed(
    construct: Callable[[], _Constructed],
    *,
    out: Path,
    overwrite: bool,
    device: str,
    progress: Progress,
    two_sided: bool = False,
) -> CertifiedMemory:
    """Build weights and certify them, with ranks and divergences bounded from both sides if requested.

    Raises:
        InputError: The folder may not be written.
    """
    refuse_existing(Path(out), overwrite=overwrite)
    require_device(device)
    clock = Clock(progress)
    with clock.stage("weights"):
        made = construct()
        progress("weights", None, made.built.summary)
    return certified(
        _as_rows(made.built.task),
        made.built,
        criterion=made.built.criterion,
        figures={**made.figures, "built": made.built.summary},
        source=made.source,
        device=device,
        clock=clock,
        two_sided=two_sided,
        text_divergence=True,
    )


def _as_rows(task: AnyTask) -> AnyTask:
    """Return a task whose contexts are table rows if each has one label, because other programs read them so."""
    facts = task.facts
    if facts is None or facts.windows is not None or facts.origin != "most frequent":
        return task
    one_each = len(facts.counts.indices) == len(facts.counts)
    return replace(facts, origin="table") if one_each and not len(facts.tail_contexts) else task
