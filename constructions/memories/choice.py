r"""Which memories there are, and what each takes.

Pages: docs/memories.md, docs/claims/knots.md
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

import numpy as np

from constructions.bigrams.one_head import one_head_memory, one_head_parameters
from constructions.bigrams.packed_words import packed_words_memory, packed_words_parameters
from constructions.counted import counted
from constructions.described_memories import DESCRIBED
from constructions.heads.last_token_heads import fewest_parameters_by_last_tokens, last_token_heads_memory
from constructions.memories.affine.affine_memory import affine_memory
from constructions.memories.knots import knots_memory
from constructions.memories.low_rank_laws import low_rank_laws_memory
from constructions.memories.newton.newton_memory import newton_memory
from constructions.memories.one_hot_laws import one_hot_laws_memory, one_hot_laws_parameters
from constructions.memories.rank_one_heads import fewest_parameters_of_rank_one, rank_one_heads_memory
from constructions.memories.theorem_1 import Progress, fewest_parameters, silent, theorem_1
from constructions.models.blocks import Attention, FeedForward
from constructions.models.construction import Construction
from constructions.models.model import Model
from constructions.models.precision import SHORT, Precision, rounded_model
from constructions.probes.bit_table import bit_table_memory, bit_table_parameters
from constructions.probes.probe_memory import probe_memory, probe_parameters
from constructions.tasks.criterion import TOLERANCE
from constructions.tasks.task import Task

NEURONS = "it has neurons"
"""Why a model with neurons is refused."""

_LONG: tuple[Precision, ...] = ("float32", "float64")
_UNASKED = 8e9
"""Work of a search that is not asked for, nanoseconds as `levenberg_marquardt` counts them."""
_ALONE = 3e10
"""The same where memories with neurons are refused: half a minute."""
_ASKED = 3e11
"""The same of one that is named, and a thousandth of it for each fact beyond a thousand."""


class Asked(NamedTuple):
    """What weights are asked to be.

    Args:
        dtype: The precision that they are rounded to.
        seed: Seed of every random choice.
        tolerance: What the divergence of a held law may be, nats.
        progress: Called with the stage, its finished share, and a detail.
        heads: What else `constructions.memories.theorem_1.theorem_1` is told, which alone has such sizes.
    """

    dtype: Precision = "float32"
    seed: int = 0
    tolerance: float = TOLERANCE
    progress: Progress = silent
    heads: Mapping[str, Any] = MappingProxyType({})


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
            return NEURONS
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
        lambda task, asked: theorem_1(task, dtype=asked.dtype, seed=asked.seed, progress=asked.progress, **asked.heads),
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
