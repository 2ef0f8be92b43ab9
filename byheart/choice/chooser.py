"""The choice of a memory: build each that could hold a task, judge it, and keep the smaller.

Page: docs/memories.md
"""

import math
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from byheart.choice.trial import trial
from constructions.errors import (
    ByheartError,
    CapacityError,
    HypothesisError,
    InputError,
    ResourceError,
    require_at_least,
)
from constructions.memories.choice import MEMORIES, NEURONS, Asked, Build, Kind, Limits
from constructions.memories.theorem_1 import Progress, silent
from constructions.models.construction import Construction
from constructions.models.precision import SHORT, Precision, require_precision
from constructions.tasks.criterion import TOLERANCE
from constructions.tasks.task import Task

SMALLEST = "smallest"
"""What is asked for where no memory is named."""

_CLAIM = "The choice of a memory"
_MOST = {"newton": 512, "rank-one-heads": 4096}
"""Facts up to which a memory is tried without being named: beyond, it or its certificate takes minutes to hours."""
_MOST_ALONE = {"newton": 4096}
"""The same where memories with neurons are refused."""


class Offer(NamedTuple):
    """What one memory makes of a task.

    Args:
        kind: The kind of memory.
        built: The weights; none where it refuses.
        refused: Why it does; empty otherwise.
        error: What it raised, if it did.
        seconds: Time to build it.
        run: What one run of them in each type showed, by type; none where nothing ran.
        every_run: Whether every run of them is proved to hold the task.
    """

    kind: Kind
    built: Construction[Task] | None
    refused: str
    error: ByheartError | None = None
    seconds: float = 0.0
    run: Mapping[str, Any] | None = None
    every_run: bool = False

    @property
    def parameters(self) -> float:
        """Entries of all tensors, zeros included; infinite where there are none."""
        return math.inf if self.built is None else self.built.model.parameters

    @property
    def nonzero(self) -> int:
        """Entries that are not 0."""
        return 0 if self.built is None else self.built.model.nonzero


def offers(
    task: Task,
    *,
    names: tuple[str, ...] | None = None,
    dtype: Precision = "float32",
    attention_only: bool = False,
    layers: int | None = None,
    d_model: int | None = None,
    d_head: int | None = None,
    tolerance: float = TOLERANCE,
    seed: int = 0,
    heads: Mapping[str, Any] = MappingProxyType({}),
    memories: tuple[Kind, ...] = MEMORIES,
    judged: bool = False,
    quick: bool = False,
    earlier: tuple[Offer, ...] = (),
    progress: Progress | None = None,
) -> tuple[Offer, ...]:
    """Build every memory that could hold the task and is not known to be larger than one that does.

    Nothing is certified here; of what is `judged` a proof for every run decides, or one run. What takes long for many
    facts is tried for few only, and a search goes on for eight seconds, unless it is named.

    Args:
        task: What is to be memorized.
        names: Which memories are tried; by default all.
        dtype: The precision that weights are rounded to.
        attention_only: Refuse models with neurons.
        layers: Refuse models with more layers of attention or neurons.
        d_model: Refuse models with a wider stream.
        d_head: Refuse models with wider heads.
        tolerance: What the divergence of a held law may be, nats.
        seed: Seed of every random choice.
        heads: The sizes of the memory ``theorem-1`` (`constructions.memories.choice.Asked`).
        memories: The memories there are.
        judged: Try what was built (`byheart.choice.trial.trial`), unless one that every run holds is smaller.
        quick: Stop at the first memory that every run holds.
        earlier: What an earlier call returned that stopped there; only the other memories are built, and an interrupt
            ends this with what was found.
        progress: Called with the memory that is built.

    Returns:
        What each makes of the task, the fewest parameters first, those that refuse last.

    Raises:
        InputError: No such memory or precision, or a limit below 1.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> found = offers(enumerated_task(50, 2), names=("knots", "rank-one-heads"))
        >>> [offer.kind.name for offer in found], found[0].parameters
        (['knots', 'rank-one-heads'], 7646)
    """
    require_precision(dtype)
    limits = Limits(attention_only, layers, d_model, d_head)
    require_at_least(1, layers=layers, d_model=d_model, d_head=d_head)
    by_name = {kind.name: kind for kind in memories}
    if names is not None and (unknown := [name for name in names if name not in by_name]):
        known = ", ".join(map(repr, (SMALLEST, *by_name)))
        raise InputError("memory", f"is {unknown[0]!r}", f"one of {known}")
    found, asked = list(earlier), Asked(dtype, seed, tolerance, progress or silent, heads)
    tried = [by_name[name] for name in names or by_name]
    if names is None:  # the others keep their order
        tried = [kind for kind in tried if dtype in kind.exact or (dtype not in SHORT and kind.exact != SHORT)]
        tried.sort(key=lambda kind: (0, kind.fewest(task, dtype)) if dtype in kind.exact else (1, 0))
    for kind in tried:
        if any(offer.kind.name == kind.name for offer in earlier):
            continue
        asked.progress(kind.name, None, "")
        proved = [offer.parameters for offer in found if offer.every_run]
        if quick and proved:
            break
        least = min(proved or [offer.parameters for offer in found], default=math.inf)
        refused = "" if names is not None else _not_tried(kind, task, dtype, least, attention_only)
        if limits.attention_only and not kind.attention_only:
            refused = NEURONS
        if dtype in SHORT and dtype not in kind.exact:
            refused = f"its runs in {dtype} are rounded, and nothing is proved of them; those of 'bit-table' are exact"
        unasked = (kind.alone if attention_only else kind.unasked) or kind.build
        build = kind.build if names is not None else unasked
        try:
            offer = Offer(kind, None, refused) if refused else _offer(task, kind, build, asked, limits)
            if judged and offer.built is not None and not (proved and offer.parameters >= least):
                judgement = trial(offer.built, dtype, tolerance)
                built = None if judgement.refused else offer.built
                offer = offer._replace(
                    run=judgement.run, refused=judgement.refused, built=built, every_run=judgement.every_run
                )
        except KeyboardInterrupt:
            if not earlier:
                raise
            break  # what was found until then
        found.append(offer)
    return tuple(sorted(found, key=lambda offer: offer.parameters))


def smallest_of(found: tuple[Offer, ...]) -> Offer:
    """The smallest that every run holds, of what `offers` returned; where there is none, the smallest.

    Raises:
        ByheartError: What the only one raised.
        CapacityError: All refuse; says why.
    """
    if found[0].built is None:
        if len(found) == 1 and found[0].error is not None:
            raise found[0].error
        reasons = "; ".join(f"{offer.kind.name}: {offer.refused}" for offer in found)
        raise CapacityError(_CLAIM, "a memory that holds the task", f"none of those that were tried does. {reasons}")
    return next((offer for offer in found if offer.every_run), found[0])


def _not_tried(kind: Kind, task: Task, dtype: Precision, least: float, attention_only: bool) -> str:
    """Why a memory that is not named is not built; empty where it is."""
    most = ({**_MOST, **_MOST_ALONE} if attention_only else _MOST).get(kind.name, math.inf)
    if task.n_contexts > most:
        return f"{task.n_contexts} facts are more than {most}: it is tried where it is named"
    fewest = kind.fewest(task, dtype)
    return f"it would take {fewest} parameters at least, and is not built" if fewest > least else ""


def _offer(task: Task, kind: Kind, build: Build, asked: Asked, limits: Limits) -> Offer:
    start = time.perf_counter()
    try:
        built = build(task, asked)
    except (HypothesisError, InputError, ResourceError) as error:
        return Offer(kind, None, str(error), error)
    seconds = round(time.perf_counter() - start, 3)
    exceeded = limits.exceeded(built.model)
    return Offer(kind, None, exceeded, seconds=seconds) if exceeded else Offer(kind, built, "", seconds=seconds)
