r"""Small instances of every memory and of every construction of the theorems, for runs on a device.

Page: docs/run.md
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from byheart.choice.chooser import offers, smallest_of
from constructions.attention.full_rank import full_rank_attention
from constructions.attention.skip_connection_head import (
    SkipConnectionHeads,
    skip_connection_head,
    two_head_skip_connection,
)
from constructions.menu import BY_NAME
from constructions.model.attention import features, logits
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.model.precision import SHORT, Precision
from constructions.model.shapes import dana_network
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.saturated_heads.layer_readout import layer_with_read_out
from constructions.saturated_heads.saturated_heads import saturated_heads
from constructions.tasks.arrays import all_contexts, array_task, enumerated_task
from constructions.tasks.task import Task
from constructions.tasks.vectors import VectorTask
from constructions.theorem_1.low_entropy_memory import low_entropy_memory
from constructions.unembeddings.coherence import Unembedding
from constructions.unembeddings.johnson_lindenstrauss import gaussian_unembedding, johnson_lindenstrauss_unembedding

Built = Construction[Task] | Construction[VectorTask]

_TOKENS = 10  # so that all bigrams are more than the largest batch, 64
_SEED = 0


@dataclass(frozen=True)
class Case:
    """An instance of a memory or of a construction.

    Args:
        kind: ``"memory"`` or ``"construction"``.
        name: That of `byheart memories`, or of the function in `constructions`.
        build: From a precision to weights that are rounded to it, and what they hold.
    """

    kind: str
    name: str
    build: Callable[[Precision], Built]


def cases() -> Iterator[Case]:
    """All memories of the menu, then all constructions of docs/constructions.md.

    A memory that cannot be built for a 16-bit type has the weights of float32 there. The weights of a construction are
    float64, and a run rounds them to its type.

    Example:
        >>> [case.name for case in cases() if case.kind == "construction"][:2]
        ['full_rank_attention', 'skip_connection_head']
    """
    for name in BY_NAME:
        yield Case("memory", name, _memory(name))
    for name, build in _CONSTRUCTIONS.items():
        yield Case("construction", name, lambda _, build=build: build())


def _memory(name: str) -> Callable[[Precision], Built]:
    def build(dtype: Precision) -> Built:
        task = _task_of(name)
        offer = offers(task, names=(name,), dtype=dtype, seed=_SEED)[0]
        if dtype in SHORT and offer.built is None:
            offer = offers(task, names=(name,), dtype="float32", seed=_SEED)[0]
        built = smallest_of((offer,)).built
        assert built is not None  # `smallest_of` raises what the only offer raised
        return built

    return build


def _task_of(name: str) -> Task:
    """Return a hundred facts that the memory holds: labels of all bigrams unless it needs others."""
    bigrams = all_contexts(_TOKENS, 2)
    first, second = bigrams.T
    if name == "affine":
        return array_task(bigrams, next_tokens=(first + 3 * second) % _TOKENS, target="labels")
    if name == "object-words":  # subjects and relations of their own: words of any type have room for these
        rng = np.random.default_rng(_SEED)
        labels = rng.integers(0, _TOKENS, len(bigrams))
        return array_task(bigrams + np.array([0, _TOKENS]), next_tokens=labels, vocabulary=2 * _TOKENS, target="labels")
    if name == "newton":  # a search, whose time grows with the facts
        return enumerated_task(5, 2, seed=_SEED)
    if name.endswith("-laws"):
        return enumerated_task(_TOKENS, 2, target="laws", laws=_of_low_rank())
    return enumerated_task(_TOKENS, 2, seed=_SEED)


def _of_low_rank() -> Float64Array:
    """Distributions of all bigrams whose logits have rank 2."""
    rng = np.random.default_rng(_SEED)
    powers = np.exp(rng.normal(size=(_TOKENS**2, 2)) @ rng.normal(size=(2, _TOKENS)))
    return powers / powers.sum(axis=1, keepdims=True)


def _labelled_by_largest(model: Model, contexts: Int64Array, outputs: Float64Array, summary: str) -> Built:
    """Return a construction whose outputs are no answers: the answer of a context is the largest of some outputs."""
    task = array_task(
        contexts,
        next_tokens=outputs.argmax(axis=1),
        vocabulary=model.d_vocab,
        answers=model.d_vocab_out,
        target="labels",
    )
    return Construction(task, model, summary)


def _full_rank_attention() -> Built:
    contexts = np.random.default_rng(_SEED).permutation(all_contexts(6, 3))[:100]
    heads = full_rank_attention(contexts, d_model=8, d_head=4, n_heads=25, seed=_SEED)
    found = features(heads.front_end, contexts)
    return _labelled_by_largest(heads.model, contexts, found, "features of 100 contexts of three tokens")


def _skip_connection(replace: Callable[[Model], SkipConnectionHeads]) -> Built:
    rng = np.random.default_rng(_SEED)
    n_heads, n_ctx, d_vocab, d_model, d_head = 2, 3, 5, 6, 3
    maps = (n_heads, d_model, d_head)
    network = dana_network(
        W_E=rng.normal(size=(d_vocab, d_model)),
        W_pos=rng.normal(size=(n_ctx, d_model)),
        W_Q=rng.normal(size=maps),
        W_K=rng.normal(size=maps),
        W_V=rng.normal(size=maps),
        W_O=rng.normal(size=(n_heads, d_head, d_model)),
        W_U=rng.normal(size=(d_model, d_vocab)),
    )
    contexts = all_contexts(d_vocab, n_ctx)
    return _labelled_by_largest(
        replace(network).model, contexts, logits(network, contexts), "logits without a skip connection"
    )


def _unembedding(draw: Callable[[int, int], Unembedding]) -> Built:
    count, bigrams = 32, all_contexts(_TOKENS, 2)
    drawn, distributions = draw(count, 64), _nearly_certain(len(bigrams), count)
    task = array_task(bigrams, laws=distributions, vocabulary=_TOKENS, answers=count, target="laws")
    model = low_entropy_memory(task, drawn, d_head=8, seed=_SEED)
    return _labelled_by_largest(model, bigrams, distributions, f"the likeliest of {count} tokens in 64 dimensions")


def _nearly_certain(rows: int, count: int) -> Float64Array:
    """Distributions that give .97 to one token drawn at random, and the rest to all others alike."""
    distributions = np.full((rows, count), 0.03 / (count - 1))
    distributions[np.arange(rows), np.random.default_rng(_SEED).integers(0, count, rows)] = 0.97
    return distributions


def _saturated_heads() -> Built:
    rng = np.random.default_rng(_SEED)
    contexts, queries = rng.uniform(size=(1, 4, 8)), rng.uniform(size=(70, 8))
    heads = saturated_heads(contexts, queries, n_heads=23, d_head=4, seed=_SEED)
    task = VectorTask(contexts, queries, rng.uniform(size=(70, 1)))
    layer = layer_with_read_out(task, heads.W_Q, heads.W_K, d_value=1, d_inner=1)
    return Construction(task, layer, "numbers for 70 queries of a shared context")


_CONSTRUCTIONS: dict[str, Callable[[], Built]] = {
    "full_rank_attention": _full_rank_attention,
    "skip_connection_head": lambda: _skip_connection(lambda network: skip_connection_head(network, sharpness=40.0)),
    "two_head_skip_connection": lambda: _skip_connection(two_head_skip_connection),
    "johnson_lindenstrauss_unembedding": lambda: _unembedding(johnson_lindenstrauss_unembedding),
    "gaussian_unembedding": lambda: _unembedding(gaussian_unembedding),
    "saturated_heads": _saturated_heads,
}
