r"""Which memories could hold a task, and the smallest that does.

Page: docs/memories.md
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from constructions.bigrams.block_heads import block_heads_memory
from constructions.bigrams.cross_heads import cross_heads_memory
from constructions.bigrams.one_head import one_head_memory
from constructions.errors import CapacityError, HypothesisError, InputError, ResourceError
from constructions.memories.knots import knots_memory
from constructions.memories.memory import Progress, silent
from constructions.memories.newton_memory import newton_memory
from constructions.memories.packed_words import packed_words_memory
from constructions.memories.rank_one_heads import rank_one_heads_memory
from constructions.memories.steps import steps_memory
from constructions.models.construction import Construction
from constructions.models.precision import Precision, require_precision, rounded_model
from constructions.tasks.task import Task

SMALLEST = "smallest"
"""What is asked for where no memory is named."""

_CLAIM = "The choice of a memory"
_MOST = {"newton": 600, "rank-one-heads": 4096, "steps": 4096}
"""Facts up to which a memory is tried without being named: beyond, it or its certificate takes minutes to hours."""


class Kind(NamedTuple):
    """A way to build weights that hold a task.

    Args:
        name: What it is asked for by.
        needs: What it asks of the task.
        cost: Its parameters, roughly.
        attention_only: Whether its model has no neurons.
        page: The page that proves it.
        build: From a task, the precision of the weights, a seed and a progress callback to the weights.
    """

    name: str
    needs: str
    cost: str
    attention_only: bool
    page: str
    build: Callable[[Task, Precision, int, Progress], Construction[Task]]


class Offer(NamedTuple):
    """What one memory makes of a task.

    Args:
        kind: The kind of memory.
        built: The weights; none where it refuses.
        refused: Why it does; empty otherwise.

    Page: docs/memories.md
    """

    kind: Kind
    built: Construction[Task] | None
    refused: str

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
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[Offer, ...]:
    """Build every memory that could hold the task.

    Nothing is certified here. What takes long for many facts is tried for few only, unless it is named.

    Args:
        task: What is to be memorized.
        names: Which memories are tried; by default all.
        dtype: The precision that weights are rounded to.
        attention_only: Refuse models with neurons.
        seed: Seed of every random choice.
        progress: Called with the memory that is built.

    Returns:
        What each makes of the task, the fewest parameters first, those that refuse last.

    Raises:
        InputError: No such memory or precision.

    Page: docs/memories.md

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> found = offers(enumerated_task(50, 2), names=("knots", "one-head", "cross-heads"))
        >>> [(offer.kind.name, offer.parameters) for offer in found]
        [('knots', 7646), ('cross-heads', 9128), ('one-head', 10200)]
    """
    require_precision(dtype)
    if names is not None and (unknown := [name for name in names if name not in BY_NAME]):
        raise InputError(f"memory is {unknown[0]!r}, expected one of {', '.join(map(repr, BY_NAME))}")
    found = []
    for kind in MEMORIES if names is None else [BY_NAME[name] for name in names]:
        show = progress or silent
        show(kind.name, None, "")
        found.append(_offer(task, kind, dtype, seed, show, attention_only=attention_only, named=names is not None))
    return tuple(sorted(found, key=lambda offer: offer.parameters))


def smallest_of(found: tuple[Offer, ...]) -> Offer:
    """The first of what `offers` returned.

    Raises:
        CapacityError: All refuse; says why.

    Page: docs/memories.md
    """
    if found[0].built is None:
        reasons = "; ".join(f"{offer.kind.name}: {offer.refused}" for offer in found)
        raise CapacityError(_CLAIM, "a memory that holds the task", f"none of those that were tried does. {reasons}")
    return found[0]


def information_limit(task: Task, bits: int) -> int:
    r"""How many entries of so many bits no weights that hold every labelling of these contexts can do without.

    P entries tell at most $2^{P b}$ labellings apart, and there are $K^T$ of the K labels that occur.

    Args:
        task: Contexts with labels.
        bits: b.

    Returns:
        The least P with $P b \ge T \log_2 K$.

    Page: docs/claims/knots.md

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> information_limit(enumerated_task(16, 2), 32)
        32
    """
    kinds = len(np.unique(task.labels))
    # In integers: 2^(P b) >= K^T.
    return -(-(kinds**task.n_contexts - 1).bit_length() // bits)


def _offer(
    task: Task, kind: Kind, dtype: Precision, seed: int, progress: Progress, *, attention_only: bool, named: bool
) -> Offer:
    most = _MOST.get(kind.name, math.inf)
    if attention_only and not kind.attention_only:
        return Offer(kind, None, "it has neurons")
    if task.n_contexts > most and not named:
        return Offer(kind, None, f"{task.n_contexts} facts are more than {most}: it is tried where it is named")
    try:
        return Offer(kind, kind.build(task, dtype, seed, progress), "")
    except (HypothesisError, InputError, ResourceError) as error:
        return Offer(kind, None, str(error))


def _one_head(task: Task, dtype: Precision, seed: int, progress: Progress) -> Construction[Task]:
    if task.target != "labels":
        raise HypothesisError("The memory of one head", "labels", f"the target is {task.target!r}")
    model = rounded_model(one_head_memory(task), dtype)
    return Construction(task, model, f"{task.n_contexts} bigrams by one head, {model.parameters} parameters")


def _newton(task: Task, dtype: Precision, seed: int, progress: Progress) -> Construction[Task]:
    found = newton_memory(task, seed=seed, progress=progress)
    width, query_width, heads = found.shape
    tried = ", ".join(f"{a.parameters}: {a.solved} of {a.seeds}" for a in found.attempts)
    return Construction(
        task,
        found.network,
        f"{task.n_contexts} contexts by {heads} heads found by search, d = {width}, d_qk = {query_width}, "
        f"{found.parameters} parameters; starts that succeeded, by parameters: {tried}",
    )


MEMORIES: tuple[Kind, ...] = (
    Kind(
        "knots",
        "any distinct contexts, labels or laws",
        "3 a fact for labels; N + 1 a law",
        False,
        "docs/claims/knots.md",
        lambda task, dtype, seed, progress: knots_memory(task, dtype=dtype, seed=seed),
    ),
    Kind(
        "one-head",
        "bigrams with labels",
        "4 N^2 + 4 N for all N^2",
        True,
        "docs/claims/corollary_1.md",
        _one_head,
    ),
    Kind(
        "block-heads",
        "bigrams with labels",
        "2.3 to 3.5 a fact for all of 64 to 1024 tokens",
        True,
        "docs/claims/bigram_heads.md",
        lambda task, dtype, seed, progress: block_heads_memory(task, dtype=dtype),
    ),
    Kind(
        "cross-heads",
        "bigrams with labels",
        "1.8 a fact for all of 1024 tokens, 1 in the limit",
        True,
        "docs/claims/bigram_heads.md",
        lambda task, dtype, seed, progress: cross_heads_memory(task, dtype=dtype),
    ),
    Kind(
        "packed-words",
        "bigrams with labels",
        "1.1 a fact for all of 50 tokens in float64, 1.8 in float32; 0.4 that are not 0; tens of layers",
        False,
        "docs/claims/bits.md",
        lambda task, dtype, seed, progress: packed_words_memory(task, dtype=dtype),
    ),
    Kind(
        "rank-one-heads",
        "labels; features of full rank; two tokens or more",
        "4 a fact, found by one linear system",
        True,
        "docs/claims/rank_one_heads.md",
        lambda task, dtype, seed, progress: rank_one_heads_memory(task, dtype=dtype, seed=seed),
    ),
    Kind(
        "steps",
        "any distinct contexts of two tokens or more; labels",
        "12 for each change of label, two layers",
        True,
        "docs/claims/steps.md",
        lambda task, dtype, seed, progress: steps_memory(task, dtype=dtype, seed=seed),
    ),
    Kind(
        "newton",
        "labels; up to 2^14 contexts",
        "0.7 to 1.7 a fact, found by a search of seconds to hours",
        True,
        "docs/claims/newton_memory.md",
        _newton,
    ),
)
"""All memories that are tried, the fastest first."""

BY_NAME = {kind.name: kind for kind in MEMORIES}
