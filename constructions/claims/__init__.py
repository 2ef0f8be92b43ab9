"""The claims of the literature, one file each, and their order in the register."""

import importlib
from collections.abc import Iterable

from constructions.claims.claim import Claim
from constructions.errors import InputError

REGISTER = (
    "dana.definition-1",
    "dana.head-width",
    "dana.proposition-1",
    "dana.proposition-2",
    "dana.proposition-3",
    "dana.lemma-1",
    "dana.lemma-2",
    "dana.lemma-2-determinant",
    "dana.value-rank",
    "dana.lemma-3",
    "dana.skip-head",
    "dana.theorem-1",
    "dana.likeliest-contexts",
    "dana.theorem-1-tail",
    "dana.constant-of-the-tail",
    "dana.theorem-1-parameters",
    "dana.corollary-1-step",
    "dana.corollary-1",
    "dana.corollary-2",
    "dana.appendix-b",
    "dana.theorem-2",
    "dana.theorem-2-simple",
    "dana.definition-2",
    "dana.lemma-4",
    "dana.theorem-3",
    "dana.comparisons",
    "slides.zero-divergence",
    "slides.theorem",
    "slides.least-squares",
    "slides.weighted-least-squares",
    "slides.low-entropy",
    "slides.associative-memory",
    "slides.sparse-regime",
    "slides.quality",
    "mahdavi.assumptions",
    "mahdavi.lemmas-1-5",
    "mahdavi.claims-1-2",
    "mahdavi.proposition-1",
    "mahdavi.theorem-1",
    "mahdavi.wide-heads",
    "mahdavi.proposition-2",
    "mahdavi.one-token",
    "mahdavi.proposition-3",
    "mahdavi.sinusoidal-positions",
    "mahdavi.proposition-4",
    "mahdavi.random-layer",
    "mahdavi.proposition-5",
    "mahdavi.appendix-c",
    "mahdavi.appendix-h",
    "mahdavi.appendix-i",
    "mahdavi.remark-1",
    "mahdavi.appendix-j",
)
"""The ids of all claims, in the order in which they are audited."""


def claim(id: str) -> Claim:
    """The claim with this id.

    Args:
        id: Source and place, e.g. ``"dana.lemma-2"``.

    Returns:
        The claim.

    Raises:
        InputError: There is no such claim.

    Page: docs/audit.md

    Example:
        >>> claim("dana.lemma-2").judgement
        'false'
    """
    if id not in REGISTER:
        raise InputError(f"no claim {id!r}, expected one of {', '.join(REGISTER)}")
    module = importlib.import_module("constructions.claims." + id.replace(".", "_").replace("-", "_"))
    return module.CLAIM


def claims(ids: Iterable[str] = REGISTER) -> tuple[Claim, ...]:
    """The claims with these ids, in the order of the register, each once; by default all.

    Args:
        ids: Ids of claims.

    Returns:
        The claims.

    Raises:
        InputError: There is no claim with one of the ids.

    Page: docs/audit.md

    Example:
        >>> [claim.id for claim in claims(["dana.lemma-3", "dana.lemma-2"])]
        ['dana.lemma-2', 'dana.lemma-3']
    """
    found = {id: claim(id) for id in ids}
    return tuple(found[id] for id in REGISTER if id in found)
