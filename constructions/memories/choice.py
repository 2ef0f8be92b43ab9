r"""Which memories could hold a task, and the smallest that does.

Pages: docs/memories.md, docs/claims/knots.md
"""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, get_args

import numpy as np

from constructions.bigrams.one_head import one_head_memory, one_head_parameters
from constructions.bigrams.packed_words import packed_words_memory, packed_words_parameters
from constructions.counted import counted
from constructions.described_memories import DESCRIBED
from constructions.errors import (
    ByheartError,
    CapacityError,
    HypothesisError,
    InputError,
    ResourceError,
    require_at_least,
)
from constructions.heads.last_token_heads import fewest_parameters_by_last_tokens, last_token_heads_memory
from constructions.memories.affine.affine_memory import affine_memory
from constructions.memories.knots import knots_memory
from constructions.memories.low_rank_laws import low_rank_laws_memory
from constructions.memories.memory import Progress, fewest_parameters, silent, theorem_1
from constructions.memories.newton.newton_memory import newton_memory
from constructions.memories.one_hot_laws import one_hot_laws_memory, one_hot_laws_parameters
from constructions.memories.rank_one_heads import fewest_parameters_of_rank_one, rank_one_heads_memory
from constructions.models.blocks import Attention, FeedForward
from constructions.models.construction import Construction
from constructions.models.model import Model
from constructions.models.precision import SHORT, Precision, require_precision, rounded_model
from constructions.probes.bit_table import bit_table_memory, bit_table_parameters
from constructions.probes.probe_memory import probe_memory, probe_parameters
from constructions.tasks.criterion import TOLERANCE
from constructions.tasks.task import Task

SMALLEST = "smallest"
"""What is asked for where no memory is named."""

_CLAIM = "The choice of a memory"
_NEURONS = "it has neurons"
_LONG: tuple[Precision, ...] = ("float32", "float64")
_MOST = {"newton": 512, "rank-one-heads": 4096}
"""Facts up to which a memory is tried without being named: beyond, it or its certificate takes minutes to hours."""
_UNASKED = 8e9
"""Work of a search that is not asked for, nanoseconds as `levenberg_marquardt` counts them."""
_ALONE, _MOST_ALONE = 3e10, {"newton": 4096}
"""The same where memories with neurons are refused: half a minute, and facts up to which it is tried."""
_ASKED = 3e11
"""The same of one that is named, and a thousandth of it for each fact beyond a thousand."""


class Asked(NamedTuple):
    """What weights are asked to be.

    Args:
        dtype: The precision that they are rounded to.
        seed: Seed of every random choice.
        tolerance: What the divergence of a held law may be, nats.
        progress: Called with the stage, its finished share, and a detail.
    """

    dtype: Precision = "float32"
    seed: int = 0
    tolerance: float = TOLERANCE
    progress: Progress = silent


Build = Callable[[Task, Asked], Construction[Task]]
"""From a task and what is asked of the weights to these."""


class Kind(NamedTuple):
    """A way to build weights that hold a task.

    Args:
        name, needs, cost, attention_only, page: As `constructions.described_memories.Described` says.
        build: Builds the weights.
        fewest: Parameters that it takes at least for a task in a precision, known before it is built; 0 where nothing
            is known. It is not built where another memory that holds the task takes fewer.
        exact: The precisions in which no sum of its runs is rounded: of such memories the one of fewest parameters is
            built first. No others are tried in 16 bits, and one that is exact in these alone is tried there alone.
        unasked: What is built where the memory is not named, if that shall take less time than `build`.
        alone: The same where memories with neurons are refused.
    """

    name: str
    needs: str
    cost: str
    attention_only: bool
    page: str
    build: Build
    fewest: Callable[[Task, Precision], int] = lambda task, dtype: 0
    exact: tuple[Precision, ...] = ()
    unasked: Build | None = None
    alone: Build | None = None


class Limits(NamedTuple):
    """How large a model may be.

    Args:
        attention_only: Whether it may have no neurons.
        layers: Blocks of attention or neurons, at most.
        d_model: Dimensions of the stream, at most, wherever it is widest.
        d_head: Dimensions of a head, at most.
    """

    attention_only: bool = False
    layers: int | None = None
    d_model: int | None = None
    d_head: int | None = None

    def exceeded(self, model: Model) -> str:
        """What of a model is too large, in words; empty where nothing is."""
        attentions = [block for block in model.blocks if isinstance(block, Attention)]
        neurons = [block for block in model.blocks if isinstance(block, FeedForward)]
        layers = len(attentions) + len(neurons)
        width = max([model.d_model, *(block.d_out for block in attentions + neurons)])
        head = max((block.d_head for block in attentions), default=0)
        if self.attention_only and neurons:
            return _NEURONS
        for what, size, most in (
            ("layers", layers, self.layers),
            ("d_model", width, self.d_model),
            ("d_head", head, self.d_head),
        ):
            if most is not None and size > most:
                return (
                    f"its {what} is {size}, more than {most}"
                    if what != "layers"
                    else f"it has {counted(size, 'layer')}"
                )
        return ""


Trial = Callable[[Construction[Task]], tuple[Mapping[str, Any] | None, str, bool]]
"""What a run of weights showed, why they are refused for that, if they are, and whether every run holds the task."""


class Offer(NamedTuple):
    """What one memory makes of a task.

    Args:
        kind: The kind of memory.
        built: The weights; none where it refuses.
        refused: Why it does; empty otherwise.
        error: What it raised, if it did.
        seconds: Time to build it.
        run: What `offers` was told of a run of the weights; none where nothing ran.
        every_run: Whether `offers` was told that every run of them holds the task.
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
    kinds: tuple[Kind, ...] | None = None,
    ran: Trial | None = None,
    quick: bool = False,
    earlier: tuple[Offer, ...] = (),
    progress: Progress | None = None,
) -> tuple[Offer, ...]:
    """Build every memory that could hold the task and is not known to be larger than one that does.

    Nothing is certified here. What takes long for many facts is tried for few only, and a search goes on for eight
    seconds, unless it is named.

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
        kinds: The memories there are; by default `MEMORIES`.
        ran: Called with what was built, unless one that every run holds is smaller.
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
        >>> [(offer.kind.name, offer.parameters) for offer in found]
        [('knots', 7646), ('rank-one-heads', 10392)]
    """
    require_precision(dtype)
    limits = Limits(attention_only, layers, d_model, d_head)
    require_at_least(1, layers=layers, d_model=d_model, d_head=d_head)
    by_name = {kind.name: kind for kind in kinds or MEMORIES}
    if names is not None and (unknown := [name for name in names if name not in by_name]):
        known = ", ".join(map(repr, (SMALLEST, *by_name)))
        raise InputError("memory", f"is {unknown[0]!r}", f"one of {known}")
    found, asked = list(earlier), Asked(dtype, seed, tolerance, progress or silent)
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
            refused = _NEURONS
        if dtype in SHORT and dtype not in kind.exact:
            refused = f"its runs in {dtype} are rounded, and nothing is proved of them; those of 'bit-table' are exact"
        unasked = (kind.alone if attention_only else kind.unasked) or kind.build
        build = kind.build if names is not None else unasked
        try:
            offer = Offer(kind, None, refused) if refused else _offer(task, kind, build, asked, limits)
            if offer.built is not None and ran is not None and not (proved and offer.parameters >= least):
                figures, why, every_run = ran(offer.built)
                built = None if why else offer.built
                offer = offer._replace(run=figures, refused=why, built=built, every_run=every_run)
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


def information_limit(task: Task, bits: int) -> int:
    r"""How many entries of so many bits no weights that hold every labelling of these contexts can do without.

    P entries tell at most $2^{P b}$ labellings apart, and there are $K^T$ of the K labels that occur.

    Args:
        task: Contexts with labels.
        bits: b.

    Returns:
        The least P with $P b \ge T \log_2 K$.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> information_limit(enumerated_task(16, 2), 32)
        32
    """
    kinds = len(np.unique(task.labels))
    # In integers: 2^(P b) >= K^T.
    return -(-(kinds**task.n_contexts - 1).bit_length() // bits)


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


def _newton(work: float, task: Task, asked: Asked) -> Construction[Task]:
    found = newton_memory(task, work=work, seed=asked.seed, progress=asked.progress)
    width, d_qk, n_heads = found.shape
    tried = ", ".join(f"{a.parameters}: {a.solved} of {a.seeds}" for a in found.attempts)
    return Construction(
        task,
        found.network,
        f"{counted(task.n_contexts, 'context')} by {counted(n_heads, 'head')} found by search, d = {width}, "
        f"d_qk = {d_qk}, {found.parameters} parameters; starts that succeeded, by parameters: {tried}"
        + ("" if found.complete else f"; the search was stopped after {work / 1e9:g} s, as its steps are counted"),
    )


def _one_head(task: Task, dtype: Precision) -> Construction[Task]:
    model = rounded_model(one_head_memory(task), dtype)
    return Construction(
        task,
        model,
        f"{counted(task.n_contexts, 'bigram')} by one head, d = {model.d_model}, {model.parameters} parameters",
    )


def _low_rank_laws(work: float, task: Task, asked: Asked) -> Construction[Task]:
    return low_rank_laws_memory(task, dtype=asked.dtype, tolerance=asked.tolerance, work=work, progress=asked.progress)


_DESCRIBED = {each.name: each for each in DESCRIBED}

MEMORIES: tuple[Kind, ...] = (
    Kind(
        *_DESCRIBED["affine"],
        lambda task, asked: affine_memory(task, dtype=asked.dtype),
        exact=get_args(Precision),
    ),
    Kind(
        *_DESCRIBED["packed-words"],
        lambda task, asked: packed_words_memory(task, dtype=asked.dtype),
        lambda task, dtype: packed_words_parameters(task, dtype=dtype),
        exact=get_args(Precision),
    ),
    Kind(
        *_DESCRIBED["probes"],
        lambda task, asked: probe_memory(task, dtype=asked.dtype, seed=asked.seed),
        probe_parameters,
        exact=_LONG,
    ),
    Kind(
        *_DESCRIBED["bit-table"],
        lambda task, asked: bit_table_memory(task, dtype=asked.dtype),
        lambda task, dtype: bit_table_parameters(task, dtype=dtype),
        exact=SHORT,
    ),
    Kind(
        *_DESCRIBED["one-hot-laws"],
        lambda task, asked: one_hot_laws_memory(task, dtype=asked.dtype),
        lambda task, dtype: one_hot_laws_parameters(task, dtype=dtype),
        exact=_LONG,
    ),
    Kind(
        *_DESCRIBED["low-rank-laws"],
        lambda task, asked: _low_rank_laws(_ASKED, task, asked),
        unasked=lambda task, asked: _low_rank_laws(_UNASKED, task, asked),
    ),
    Kind(
        *_DESCRIBED["knots"],
        lambda task, asked: knots_memory(task, dtype=asked.dtype, seed=asked.seed),
    ),
    Kind(
        *_DESCRIBED["one-head"],
        lambda task, asked: _one_head(task, asked.dtype),
        lambda task, dtype: one_head_parameters(task),
    ),
    Kind(
        *_DESCRIBED["rank-one-heads"],
        lambda task, asked: rank_one_heads_memory(task, dtype=asked.dtype, seed=asked.seed),
        lambda task, dtype: fewest_parameters_of_rank_one(task),
    ),
    Kind(
        *_DESCRIBED["newton"],
        lambda task, asked: _newton(_ASKED * max(1.0, task.n_contexts / 1000), task, asked),
        unasked=lambda task, asked: _newton(_UNASKED, task, asked),
        alone=lambda task, asked: _newton(_ALONE, task, asked),
    ),
    Kind(
        *_DESCRIBED["theorem-1"],
        lambda task, asked: theorem_1(task, dtype=asked.dtype, seed=asked.seed, progress=asked.progress),
        lambda task, dtype: fewest_parameters(task),
    ),
    Kind(
        *_DESCRIBED["last-token-heads"],
        lambda task, asked: last_token_heads_memory(task, dtype=asked.dtype, seed=asked.seed, progress=asked.progress),
        lambda task, dtype: fewest_parameters_by_last_tokens(task),
    ),
)
"""All memories that are tried: first those whose runs are exact, then the fastest; what is larger is not built."""

BY_NAME = {kind.name: kind for kind in MEMORIES}
