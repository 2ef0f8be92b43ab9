"""The choice of a memory: build each that could hold a task, judge it, and keep the smaller.

Page: docs/memories.md
"""

import math
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from byheart.choice.trial import trial
from constructions.counted import counted
from constructions.errors import (
    ByheartError,
    CapacityError,
    HypothesisError,
    InputError,
    ResourceError,
    require_at_least,
)
from constructions.memories.memory import Limits, Memory
from constructions.menu import MEMORIES
from constructions.model.blocks import Attention, FeedForward
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.model.precision import SHORT, Precision, require_precision
from constructions.progress import Progress, silent
from constructions.tasks.criterion import TOLERANCE
from constructions.tasks.task import Task

SMALLEST = "smallest"
"""What is asked for where no memory is named."""

_CLAIM = "The choice of a memory"
_NEURONS = "it has neurons"


class Offer(NamedTuple):
    """What one memory makes of a task.

    Args:
        memory: Which memory.
        built: The weights; none where it refuses.
        refused: Why it does; empty otherwise.
        error: What it raised, if it did.
        seconds: Time to build it.
        runs: What one run of them in each type showed, by type; none where nothing ran.
        every_run: Whether every run of them is proved to hold the task.
    """

    memory: Memory
    built: Construction[Task] | None
    refused: str
    error: ByheartError | None = None
    seconds: float = 0.0
    runs: Mapping[str, Any] | None = None
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
    memories: tuple[Memory, ...] = MEMORIES,
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
        tolerance: What the divergence of a memorized distribution may be, nats.
        seed: Seed of every random choice.
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
        >>> [offer.memory.name for offer in found], found[0].parameters
        (['knots', 'rank-one-heads'], 7646)
    """
    require_precision(dtype)
    require_at_least(1, layers=layers, d_model=d_model, d_head=d_head)
    limits = Limits(
        dtype, attention_only, layers, d_model, d_head, tolerance, seed, names is not None, progress or silent
    )
    found = list(earlier)
    for memory in _to_be_tried(task, names, dtype, memories):
        if any(offer.memory.name == memory.name for offer in earlier):
            continue
        limits.progress(memory.name, None, "")
        proved = [offer.parameters for offer in found if offer.every_run]
        if quick and proved:
            break
        least = min(proved or [offer.parameters for offer in found], default=math.inf)
        try:
            offer = _offer(task, memory, limits, least)
            if judged and offer.built is not None and not (proved and offer.parameters >= least):
                offer = _judged(offer, offer.built, limits)
        except KeyboardInterrupt:
            if not earlier:
                raise
            break  # what was found until then
        found.append(offer)
    return tuple(sorted(found, key=lambda offer: offer.parameters))


def smallest_of(found: tuple[Offer, ...]) -> Offer:
    """Return the smallest that every run holds, of what `offers` returned; where there is none, the smallest.

    Raises:
        ByheartError: What the only one raised.
        CapacityError: All refuse; says why.
    """
    if found[0].built is None:
        if len(found) == 1 and found[0].error is not None:
            raise found[0].error
        reasons = "; ".join(f"{offer.memory.name}: {offer.refused}" for offer in found)
        raise CapacityError(_CLAIM, "a memory that holds the task", f"none of those that were tried does. {reasons}")
    return next((offer for offer in found if offer.every_run), found[0])


def _to_be_tried(
    task: Task, names: tuple[str, ...] | None, dtype: Precision, memories: tuple[Memory, ...]
) -> list[Memory]:
    """Return the memories of these names; where there are none all, of those whose runs are exact the smallest
    first.
    """
    by_name = {memory.name: memory for memory in memories}
    if names is None:
        exact = [memory for memory in memories if dtype in memory.exact]
        rounded = [memory for memory in memories if dtype not in memory.exact and memory.exact != SHORT]
        exact.sort(key=lambda memory: memory.fewest(task, dtype))
        return exact if dtype in SHORT else exact + rounded
    for name in names:
        if name not in by_name:
            raise InputError("memory", f"is {name!r}", f"one of {', '.join(map(repr, (SMALLEST, *by_name)))}")
    return [by_name[name] for name in names]


def _offer(task: Task, memory: Memory, limits: Limits, least: float) -> Offer:
    """Build a memory, unless it is known before that it is not wanted: one of `least` parameters is there."""
    if limits.dtype in SHORT and limits.dtype not in memory.exact:
        unproved = f"its runs in {limits.dtype} are rounded, and nothing is proved of them"
        return Offer(memory, None, f"{unproved}; those of 'bit-table' are exact")
    if limits.attention_only and not memory.attention_only:
        return Offer(memory, None, _NEURONS)
    if not limits.named and (fewest := memory.fewest(task, limits.dtype)) > least:
        return Offer(memory, None, f"it would take {fewest} parameters at least, and is not built")
    start = time.perf_counter()
    try:
        built = memory.build(task, limits)
    except (HypothesisError, InputError, ResourceError) as error:
        return Offer(memory, None, str(error), error)
    seconds = round(time.perf_counter() - start, 3)
    exceeded = _exceeded(built.model, limits)
    return Offer(memory, None if exceeded else built, exceeded, seconds=seconds)


def _judged(offer: Offer, built: Construction[Task], limits: Limits) -> Offer:
    """Return the offer with what is known of its runs; refused where one of them does not hold the task."""
    found = trial(built, limits.dtype, limits.tolerance)
    kept = None if found.refused else built
    return offer._replace(runs=found.runs, refused=found.refused, built=kept, every_run=found.every_run)


def _exceeded(model: Model, limits: Limits) -> str:
    """Return what of a model is too large, in words; empty where nothing is."""
    attentions = [block for block in model.blocks if isinstance(block, Attention)]
    neurons = [block for block in model.blocks if isinstance(block, FeedForward)]
    layers = len(attentions) + len(neurons)
    width = max([model.d_model, *(block.d_out for block in attentions + neurons)])
    head = max((block.d_head for block in attentions), default=0)
    if limits.attention_only and neurons:
        return _NEURONS
    if limits.layers is not None and layers > limits.layers:
        return f"it has {counted(layers, 'layer')}"
    for what, size, most in (("d_model", width, limits.d_model), ("d_head", head, limits.d_head)):
        if most is not None and size > most:
            return f"its {what} is {size}, more than {most}"
    return ""
