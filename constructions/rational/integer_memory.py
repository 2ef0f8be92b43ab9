"""Memorize labels of all contexts exactly, with integer embeddings, queries, keys and values.

Page: docs/claims/generic_embeddings.md
"""

import numpy as np
from flint import fmpq_mat

from constructions.attention.embeddings import drawn_until, integer_attention
from constructions.errors import require_at_least
from constructions.model.construction import Construction
from constructions.model.exact_attention import exact_features, exact_last
from constructions.model.exact_network import ExactFrontEnd, as_floats, as_rationals, exact_network, rounded
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.tasks.arrays import enumerated_task
from constructions.tasks.task import Task

_SINGULAR = 1e-5  # features with a singular value below this part of the largest are drawn again: they round badly


def integer_memory(
    *, d_vocab: int, n_ctx: int, d_model: int, d_head: int, n_heads: int, seed: int
) -> tuple[Task, Model]:
    r"""Memorize a random label of each of the $N^S$ contexts exactly, with rational weights.

    Embeddings, queries, keys and values are small integers, so the features Y are rational. With the stream
    $E_t = (l'_t, 1, 0, \dots)$ and the unembedding with the columns $(2 i', -i'^2, 0, \dots)$, where
    $i' = 2 i - (N - 1)$, the logits are $l'^2 - (l' - i')^2$: the label wins by 4. $W_O$ is the solution of
    $Y W_O = E - X$ of minimum norm, $Y^\top (Y Y^\top)^{-1} (E - X)$, in rational arithmetic.

    Args:
        d_vocab: N.
        n_ctx: S.
        d_model: d, at least 2.
        d_head: $d_h$.
        n_heads: H.
        seed: Seed of the labels and the weights.

    Returns:
        The task of the labels, and the network.

    Raises:
        InputError: A size out of range, or a negative seed.
        HypothesisError: Heads that do not reach rank $N^S$ without the skip connection with the weights tried.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 3 and Theorem 1, made exact.

    Example:
        >>> task, network = integer_memory(d_vocab=2, n_ctx=2, d_model=2, d_head=2, n_heads=3, seed=0)
        >>> from constructions.model.exact_attention import exact_logits
        >>> task.labels, exact_logits(network, task.contexts)
        (array([1, 1, 1, 0]), [-3,  1]
        [-3,  1]
        [-3,  1]
        [ 1, -3])
    """
    require_at_least(0, seed=seed)
    task = enumerated_task(d_vocab, n_ctx, seed=seed)

    def draw(attempt: int) -> ExactFrontEnd:
        sizes = {"d_vocab": d_vocab, "n_ctx": n_ctx, "d_model": d_model, "n_heads": n_heads, "d_head": d_head}
        # The smaller the entries the softer the attention; few tokens and positions need no more than -1, 0 and 1.
        return integer_attention(seed=1000 * seed + attempt, largest=1 + attempt // 10, **sizes)

    front_end = drawn_until(
        draw, rank=lambda drawn: _float_rank(drawn, task.contexts), target=task.n_contexts, attempts=30
    )
    features = exact_features(front_end, task.contexts)
    stream, unembedding = _parabola(task.labels, d_vocab, d_model)
    change = stream - exact_last(front_end, task.contexts)
    transposed = features.transpose()
    output = (transposed * (features * transposed).solve(change)).tolist()
    W_O = [as_rationals(output[h * d_head : (h + 1) * d_head]) for h in range(n_heads)]
    return task, exact_network(front_end, W_O, unembedding)


def rounded_integer_memory(
    *, d_vocab: int, n_ctx: int, d_model: int, d_head: int, n_heads: int, seed: int
) -> Construction[Task]:
    """Round `integer_memory` to float64: random labels of all $N^S$ contexts, memorized by integer heads.

    Args:
        d_vocab: N.
        n_ctx: S.
        d_model: d.
        d_head: $d_h$.
        n_heads: H, so many that the features of the heads alone have rank $N^S$.
        seed: Of labels and weights.

    Returns:
        The weights, of which $W_O$ alone is rounded, and the labels that they hold.

    Raises:
        InputError: A size out of range, or a negative seed.
        HypothesisError: Heads that do not reach rank $N^S$ without the skip connection with the weights tried.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 3 and Theorem 1, made exact.

    Example:
        >>> rounded_integer_memory(d_vocab=2, n_ctx=2, d_model=2, d_head=2, n_heads=2, seed=0).task.n_contexts
        4
    """
    task, network = integer_memory(
        d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, d_head=d_head, n_heads=n_heads, seed=seed
    )
    summary = (
        f"{task.n_contexts} contexts of {n_ctx} tokens memorized by {n_heads} heads of width {d_head} with integer "
        f"embeddings, queries, keys and values, and a rational W_O"
    )
    return Construction(task, rounded(network), summary)


def _parabola(labels: Int64Array, d_vocab: int, d_model: int) -> tuple[fmpq_mat, fmpq_mat]:
    """Return a stream and an unembedding for which each label wins by 4."""
    stream = np.zeros((len(labels), d_model), dtype=np.int64)
    unembedding = np.zeros((d_model, d_vocab), dtype=np.int64)
    places = 2 * np.arange(d_vocab) - (d_vocab - 1)
    stream[:, 0], stream[:, 1] = places[labels], 1
    unembedding[0], unembedding[1] = 2 * places, -(places**2)
    return as_rationals(stream), as_rationals(unembedding)


def _float_rank(front_end: ExactFrontEnd, contexts: Int64Array) -> int:
    """Return the rank of the features that float64 sees."""
    singular = np.linalg.svd(as_floats(exact_features(front_end, contexts)), compute_uv=False)
    return int((singular > _SINGULAR * singular[0]).sum())
