"""Build saturated heads with labels: a layer of Mahdavi et al. for a user's vectors.

Page: docs/constructions.md
"""

from dataclasses import dataclass

from constructions.counted import counted
from constructions.errors import require_at_least, require_one_of
from constructions.model.construction import Construction
from constructions.numeric.arrays import Float64Array
from constructions.saturated_layers.layer_readout import layer_with_read_out
from constructions.saturated_layers.saturated_heads import SaturatedHeads, saturated_heads
from constructions.saturated_layers.uniform_examples import labelled, uniform_examples
from constructions.tasks.vectors import VectorTask

KeysAndQueries = tuple[Float64Array, Float64Array]
"""Contexts, `[T, n, d]` or `[1, n, d]`, and queries, `[T, d]`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SaturatedMemory(Construction[VectorTask]):
    """A layer that outputs random labels for given vectors.

    Args:
        heads: The heads, and the examples that each fits.
    """

    heads: SaturatedHeads


def random_vectors(*, n_examples: int, n_ctx: int, d_model: int, shared: int, seed: int) -> KeysAndQueries:
    """Draw contexts and queries uniform in [0, 1]; `shared` = 1 gives all examples one context, 0 each its own."""
    require_one_of((0, 1), shared=shared)
    require_at_least(1, n_examples=n_examples, n_ctx=n_ctx, d_model=d_model)
    require_at_least(0, seed=seed)
    return uniform_examples(examples=n_examples, n_ctx=n_ctx, d_model=d_model, shared=bool(shared), seed=seed)


def saturated_memory(
    vectors: KeysAndQueries, *, n_heads: int, d_head: int, outputs: int = 1, classes: int = 0, seed: int = 0
) -> SaturatedMemory:
    r"""Fit saturated heads to vectors, and read random labels from their outputs.

    Args:
        vectors: Contexts and queries.
        n_heads: Number of heads, H.
        d_head: Width of the queries and keys, $d_h$.
        outputs: Numbers for each example, uniform in [0, 1].
        classes: Number of classes in their place; 0 for numbers.
        seed: Seed of the labels and the heads.

    Returns:
        The layer with its labels.

    Raises:
        CapacityError: More than $H (\min(n, d_h) - 1) + 1$ examples.
        HypothesisError: Contexts of rank below n, or queries that violate the block condition.
        InputError: A number out of range.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Theorem 1 and Proposition 1, as reconstructed.

    Example:
        >>> vectors = random_vectors(n_examples=7, n_ctx=3, d_model=5, shared=1, seed=0)
        >>> saturated_memory(vectors, n_heads=3, d_head=3).heads.blocks
        (range(0, 3), range(3, 5), range(5, 7))
    """
    require_at_least(1, n_heads=n_heads, d_head=d_head)
    require_at_least(0, outputs=outputs, classes=classes, seed=seed)
    contexts, queries = vectors
    task = labelled(contexts, queries, outputs=outputs, classes=classes, seed=seed)
    heads = saturated_heads(contexts, queries, n_heads=n_heads, d_head=d_head, seed=seed)
    columns = min(classes - 1, 2) if classes else outputs
    layer = layer_with_read_out(task, heads.W_Q, heads.W_K, d_value=columns, d_inner=columns)
    most = n_heads * (min(task.n_ctx, d_head) - 1) + 1
    summary = (
        f"labels at random of {counted(task.n_examples, 'example')}, of {most} that these sizes hold, on "
        f"{'one context' if task.shared else 'a context each'} of {counted(task.n_ctx, 'vector')}: H = {n_heads}, "
        f"d = {task.d_model}, d_h = {d_head}"
    )
    return SaturatedMemory(task=task, model=layer, summary=summary, heads=heads)
