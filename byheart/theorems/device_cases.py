"""Small instances of every construction of the theorems, for runs on a device.

Page: docs/run.md
"""

from collections.abc import Callable

import numpy as np

from byheart.device_runs.cases import SEED, TOKENS, Built
from constructions.attention.full_rank import full_rank_attention
from constructions.attention.skip_connection_head import (
    SkipConnectionHeads,
    skip_connection_head,
    two_head_skip_connection,
)
from constructions.heads_of_theorem_1.low_entropy_memory import low_entropy_memory
from constructions.model.attention import features, logits
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.saturated_layers.layer_readout import layer_with_read_out
from constructions.saturated_layers.saturated_heads import saturated_heads
from constructions.tasks.arrays import all_contexts, array_task
from constructions.tasks.vectors import VectorTask
from constructions.unembeddings.coherence import Unembedding
from constructions.unembeddings.johnson_lindenstrauss import gaussian_unembedding, johnson_lindenstrauss_unembedding


def _labelled_by_largest(model: Model, contexts: Int64Array, outputs: Float64Array, summary: str) -> Built:
    """Return a construction whose outputs are not answers: the answer of a context is the largest of some outputs."""
    task = array_task(
        contexts,
        next_tokens=outputs.argmax(axis=1),
        vocabulary=model.d_vocab,
        answers=model.d_vocab_out,
        target="labels",
    )
    return Construction(task, model, summary)


def _full_rank_attention() -> Built:
    contexts = np.random.default_rng(SEED).permutation(all_contexts(6, 3))[:100]
    heads = full_rank_attention(contexts, d_model=8, d_head=4, n_heads=25, seed=SEED)
    mixed = features(heads.front_end, contexts)
    return _labelled_by_largest(heads.model, contexts, mixed, "features of 100 contexts of three tokens")


def _skip_connection(replace: Callable[[Model], SkipConnectionHeads]) -> Built:
    rng = np.random.default_rng(SEED)
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
    count, bigrams = 32, all_contexts(TOKENS, 2)
    drawn, distributions = draw(count, 64), _nearly_certain(len(bigrams), count)
    task = array_task(bigrams, distributions=distributions, vocabulary=TOKENS, answers=count, target="distributions")
    model = low_entropy_memory(task, drawn, d_head=8, seed=SEED)
    return _labelled_by_largest(model, bigrams, distributions, f"the likeliest of {count} tokens in 64 dimensions")


def _nearly_certain(rows: int, count: int) -> Float64Array:
    """Return distributions that give .97 to one random token, and equal shares of the rest to all others."""
    distributions = np.full((rows, count), 0.03 / (count - 1))
    distributions[np.arange(rows), np.random.default_rng(SEED).integers(0, count, rows)] = 0.97
    return distributions


def _saturated_heads() -> Built:
    rng = np.random.default_rng(SEED)
    contexts, queries = rng.uniform(size=(1, 4, 8)), rng.uniform(size=(70, 8))
    heads = saturated_heads(contexts, queries, n_heads=23, d_head=4, seed=SEED)
    task = VectorTask(contexts, queries, rng.uniform(size=(70, 1)))
    layer = layer_with_read_out(task, heads.W_Q, heads.W_K, d_value=1, d_inner=1)
    return Construction(task, layer, "numbers for 70 queries of a shared context")


CONSTRUCTIONS: dict[str, Callable[[], Built]] = {
    "full_rank_attention": _full_rank_attention,
    "skip_connection_head": lambda: _skip_connection(lambda network: skip_connection_head(network, sharpness=40.0)),
    "two_head_skip_connection": lambda: _skip_connection(two_head_skip_connection),
    "johnson_lindenstrauss_unembedding": lambda: _unembedding(johnson_lindenstrauss_unembedding),
    "gaussian_unembedding": lambda: _unembedding(gaussian_unembedding),
    "saturated_heads": _saturated_heads,
}
"""The constructions by the name of their function."""
