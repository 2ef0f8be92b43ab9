"""The claims of the literature, one file each, in the order of the register; and claims from other packages.

The file of a claim holds its record ``CLAIM``, its ``build`` where weights are promised, and ``evidence(*, full)``,
which yields the pieces of evidence for the verdict; `full` asks for larger and more instances. The parameters of builds
are called alike: `d_vocab` N, `n_ctx` S, `facts` T, `d_model` d, `d_head` d_h, `n_heads` H, and the `seed` of draws.

A package brings a claim by an entry point of the group ``byheart.claims``: its name is the id of the claim, its value a
module like the files here.

Page: docs/audit.md
"""

import importlib
import sys
from collections import defaultdict
from collections.abc import Iterable
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constructions.errors import InputError
from verify.theorems.claim import Claim, Hypothesis

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

REGISTER = (
    "dana.mlp-labels",
    "dana.definition-1",
    "dana.head-width",
    "dana.proposition-1",
    "dana.proposition-2",
    "dana.proposition-3",
    "dana.association-bottleneck",
    "dana.lemma-1",
    "dana.lemma-2",
    "dana.dummy-contexts",
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
    "dana.corollary-2-bound",
    "dana.appendix-b",
    "dana.theorem-2",
    "dana.theorem-2-simple",
    "dana.definition-2",
    "dana.lemma-4",
    "dana.slow-rate",
    "dana.theorem-3",
    "dana.comparisons",
    "dana.corollary-1-count",
    "dana.simulated-neurons",
    "dana.epsilon-count",
    "dana.linear-memory",
    "dana.cubic-law",
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
    "mahdavi.optimality",
    "mahdavi.wide-heads",
    "mahdavi.proposition-2",
    "mahdavi.one-token",
    "mahdavi.proposition-3",
    "mahdavi.relu-comparison",
    "mahdavi.sinusoidal-positions",
    "mahdavi.proposition-4",
    "mahdavi.random-layer",
    "mahdavi.proposition-5",
    "mahdavi.appendix-c",
    "mahdavi.upper-bounds",
    "mahdavi.appendix-h",
    "mahdavi.appendix-i",
    "mahdavi.remark-1",
    "mahdavi.appendix-j",
    "zhang-2017.theorem",
    "madden-2024.upper",
    "madden-2024.lower",
    "madden-2024.empirical",
    "huben-2023.head-is-neuron",
    "huben-2023.separately",
    "huben-2023.two-layers",
    "bubeck-2020.four",
    "vardi-2022.sqrt",
    "kim-2023.labels",
    "kim-2023.sequences",
    "kajitsuka-sato-2025.next-token",
    "kajitsuka-sato-2025.sequences",
    "kajitsuka-sato-2024.separation",
    "nichani-2024.additive",
    "nichani-2024.mlp-memory",
    "cabannes-2024.scaling",
    "hsu-2026.parity-heads",
    "project.attention-degree",
)
"""The ids of all claims, in the order in which they are audited."""

GROUP = "byheart.claims"
"""The entry points by which other packages bring claims."""


def register() -> tuple[str, ...]:
    """Return the ids of all claims: those of the literature, then those of installed packages by name.

    Raises:
        InputError: A package brings a claim under an id that is taken; names it.
    """
    return (*REGISTER, *_brought())


def module_of(id: str) -> str:
    """Return the name of the module of a claim.

    Raises:
        InputError: There is no claim with this id.
    """
    if id in REGISTER:
        return "verify.theorems.claims." + id.replace(".", "_").replace("-", "_")
    brought = _brought()
    if id in brought:
        return brought[id].value
    raise no_claim(id)


def no_claim(word: str) -> InputError:
    """Return the error that no claim is called so, with the ids and sources that are nearest."""
    import difflib

    everything = register()
    places = {id.partition(".")[2]: id for id in reversed(everything)}
    candidates = (*everything, *dict.fromkeys(id.partition(".")[0] for id in everything), *places)
    near = difflib.get_close_matches(word.lower().replace(" ", "-"), candidates, n=3)
    named = dict.fromkeys(places.get(near_id, near_id) for near_id in near)
    hint = f"did you mean {' or '.join(map(repr, named))}?" if named else "`byheart claims` lists them"
    return InputError("no claim", f"{word!r}; {hint}")


def _may_bring() -> bool:
    """Tell whether an installed package may define claims, without the slower import of `importlib.metadata`."""
    if any(hasattr(finder, "find_distributions") and finder is not PathFinder for finder in sys.meta_path):
        return True
    for place in map(Path, sys.path):
        if place.is_file():  # an archive
            return True
        for file in place.glob("*-[iI][nN][fF][oO]/entry_points.txt"):
            if GROUP in file.read_text(encoding="utf-8", errors="replace"):
                return True
    return False


def _brought() -> "dict[str, EntryPoint]":
    """Return the claims of installed packages by id."""
    external: dict[str, EntryPoint] = {}
    if not _may_bring():
        return external
    from importlib.metadata import entry_points

    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        if point.name in REGISTER or point.name in external:
            raise InputError(point.value, f"brings the claim {point.name!r}, which there is already")
        external[point.name] = point
    return external


def claim(id: str) -> Claim:
    """Return the claim with this id.

    Args:
        id: Source and place, e.g. ``"dana.lemma-2"``.

    Raises:
        InputError: There is no such claim.

    Example:
        >>> claim("dana.lemma-2").judgement
        'false'
    """
    module = module_of(id)
    if id in REGISTER:
        return importlib.import_module(module).CLAIM
    external = _brought()[id].load()
    record = getattr(external, "CLAIM", None)
    if not isinstance(record, Claim) or record.id != id or not callable(getattr(external, "evidence", None)):
        raise InputError(module, "is no claim", f"a module with CLAIM, the record of {id!r}, and evidence(*, full)")
    return record


def claims(ids: Iterable[str] | None = None) -> tuple[Claim, ...]:
    """Return the claims with these ids, each once, in the order of the register; by default all.

    Raises:
        InputError: There is no claim with one of the ids.

    Example:
        >>> [claim.id for claim in claims(["dana.lemma-3", "dana.lemma-2"])]
        ['dana.lemma-2', 'dana.lemma-3']
    """
    return tuple(map(claim, _in_order(ids)))


def listing(ids: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """Return the entries of `byheart claims` as plain JSON data, without loading the constructions.

    Args:
        ids: Ids of claims.

    Returns:
        `Claim.listed` of each, in the order of the register.

    Raises:
        InputError: There is no claim with one of the ids.

    Example:
        >>> [listed["verdict"] for listed in listing(["dana.lemma-2"])]
        ['false']
    """
    return [(_read(id) if id in REGISTER else claim(id)).listed() for id in _in_order(ids)]


def _in_order(ids: Iterable[str] | None) -> tuple[str, ...]:
    everything = register()
    if ids is None:
        return everything
    wanted = {id for id in ids if module_of(id)}
    return tuple(id for id in everything if id in wanted)


def _read(id: str) -> Claim:
    """Return the record from the source of its file, without importing the names it refers to."""
    source = Path(__file__).with_name(module_of(id).rpartition(".")[2] + ".py").read_text(encoding="utf-8")
    start = source.index("\nCLAIM = ") + len("\nCLAIM = ")
    names = defaultdict(object, Claim=Claim, Hypothesis=Hypothesis)
    names["conditions"] = lambda *texts: tuple(Hypothesis(text, bool) for text in texts)
    return eval(source[start : source.index("\n)\n", start) + 2], {"__builtins__": {}}, names)
