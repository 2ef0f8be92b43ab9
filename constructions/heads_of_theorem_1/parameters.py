"""Count the numbers that define the weights: the paper's count, and networks that need half of it.

Page: docs/claims/parameters.md
"""

import numpy as np
from flint import fmpq_mat

from constructions.attention.families import Recipe, random_attention, shared_rank_one_attention
from constructions.errors import CapacityError, InputError, require_at_least
from constructions.heads_of_theorem_1.left_out import FLOAT_DRAWS, nearest_memorized
from constructions.model.attention import logits
from constructions.model.construction import Construction
from constructions.model.exact_network import ExactFrontEnd, as_rationals
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array, ObjectArray
from constructions.tasks.arrays import enumerated_task
from constructions.tasks.task import Task
from constructions.unembeddings.unembedding import distribution_unembedding

_DRAWS = 24
_LARGEST = 4  # of an embedding entry


def parameter_count(
    *, d_vocab: int, n_ctx: int, d_model: int, n_heads: int, d_head: int, d_qk: int | None = None
) -> int:
    r"""Count the entries of all tensors of a network, $d (S + 2 N) + 2 H d (d_{qk} + d_h)$.

    Args:
        d_vocab: N, of the vocabulary that is read and the one that is predicted.
        n_ctx: S.
        d_model: d.
        n_heads: H.
        d_head: $d_h$.
        d_qk: $d_{qk}$; by default $d_h$, and the count is the paper's $d (S + 2 N + 4 d_h H)$.

    Returns:
        The number.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 1.

    Example:
        >>> parameter_count(d_vocab=4, n_ctx=2, d_model=4, n_heads=6, d_head=2)
        232
    """
    queries = d_head if d_qk is None else d_qk
    return d_model * (n_ctx + 2 * d_vocab) + 2 * n_heads * d_model * (queries + d_head)


def printed_count(*, d_vocab: int, n_ctx: int, d_model: int, facts: int) -> int:
    r"""Return the paper's second form, $d (S + 2 N + 4 (T - d))$.

    With $H = \lceil (T - d) / d_h \rceil$ heads and $d_{qk} = d_h$ it is the number of parameters if $d_h$ divides
    $T - d$, and less than it by fewer than $4 d d_h$ if not.

    Args:
        d_vocab: N.
        n_ctx: S.
        d_model: d.
        facts: T, at least d.

    Returns:
        The number.

    Source: Dana, Pydi, Chevaleyre (2024), Remarks 1.

    Example:
        >>> [printed_count(d_vocab=4, n_ctx=2, d_model=4, facts=facts) for facts in (16, 15)]
        [232, 216]
    """
    return d_model * (n_ctx + 2 * d_vocab + 4 * (facts - d_model))


def shared_count(*, d_vocab: int, n_ctx: int, d_model: int, n_heads: int, d_head: int) -> int:
    r"""Count the numbers that define a network if $W_Q^h W_K^{h\top} = \lambda_h u^\top v$ in all heads.

    $$ d (S + 2 N + 2 H d_h) + 2 d + H . $$

    Args:
        d_vocab: N.
        n_ctx: S.
        d_model: d.
        n_heads: H.
        d_head: $d_h$.

    Returns:
        The number.

    Source: improves Dana, Pydi, Chevaleyre (2024), Theorem 1.

    Example:
        >>> shared_count(d_vocab=4, n_ctx=2, d_model=4, n_heads=6, d_head=2)
        150
    """
    return d_model * (n_ctx + 2 * d_vocab + 2 * n_heads * d_head) + 2 * d_model + n_heads


def matched_front_ends(
    *, d_vocab: int, n_ctx: int, d_model: int, n_heads: int, d_head: int, seed: int
) -> tuple[ExactFrontEnd, ExactFrontEnd]:
    r"""Draw two rational sets of attention parameters that differ only in queries and keys: free in each head, and
    shared of rank one.

    Args:
        d_vocab: N.
        n_ctx: S.
        d_model: d.
        n_heads: H.
        d_head: $d_h$.
        seed: What is drawn depends on it alone.

    Returns:
        The front end with $d_{qk} = d_h$, and the one with $W_Q^h = u^\top$, $W_K^h = \lambda_h v^\top$.

    Example:
        >>> generic, shared = matched_front_ends(d_vocab=2, n_ctx=2, d_model=2, n_heads=3, d_head=2, seed=0)
        >>> generic.W_Q[0].ncols(), shared.W_Q[0].ncols(), shared.W_Q[0] == shared.W_Q[2]
        (2, 1, True)
    """
    generator = np.random.default_rng((9, seed))

    def draw(rows: int, columns: int, largest: int) -> fmpq_mat:
        return as_rationals(generator.integers(-largest, largest + 1, (rows, columns)).tolist())

    embeddings, positions = draw(d_vocab, d_model, _LARGEST), draw(n_ctx, d_model, _LARGEST)
    values = tuple(draw(d_model, d_head, _LARGEST) for _ in range(n_heads))
    generic = ExactFrontEnd(
        embeddings,
        positions,
        tuple(draw(d_model, d_head, 5) for _ in range(n_heads)),
        tuple(draw(d_model, d_head, 5) for _ in range(n_heads)),
        values,
    )
    u, v = (
        _telling_apart(generator, np.array(rows, dtype=object).reshape(-1, d_model))
        for rows in _read(embeddings, positions)
    )
    scales = [(h + 1) * (-1) ** h for h in range(n_heads)]  # of both signs, of different sizes
    shared = ExactFrontEnd(embeddings, positions, (u,) * n_heads, tuple(scale * v for scale in scales), values)
    return generic, shared


def _read(embeddings: fmpq_mat, positions: fmpq_mat) -> tuple[list[list[int]], list[list[int]]]:
    """Return the vectors that must not vanish on the query direction (x_S), and on the key direction (differences of
    keys).
    """

    def integers(matrix: fmpq_mat) -> list[list[int]]:
        return [[int(entry.p) for entry in row] for row in matrix.tolist()]

    def differences(rows: list[list[int]]) -> list[list[int]]:
        pairs = [(a, b) for i, a in enumerate(rows) for b in rows[:i] if a != b]
        return [[x - y for x, y in zip(a, b, strict=True)] for a, b in pairs]

    tokens, places = integers(embeddings), integers(positions)
    last_place = places[-1]
    queries = [[x + y for x, y in zip(token, last_place, strict=True)] for token in tokens]
    nonzero_queries = [query for query in queries if any(query)]
    return nonzero_queries, [*differences(tokens), *differences(places)]


def _telling_apart(generator: np.random.Generator, rows: ObjectArray) -> fmpq_mat:
    """Return a column of small integers that no row is orthogonal to."""
    d_model, largest = rows.shape[1], 1
    while True:
        for _ in range(_DRAWS):
            column = generator.integers(-largest, largest + 1, d_model)
            if (rows @ column != 0).all():
                return as_rationals([[int(entry)] for entry in column])
        largest += 1


def paper_heads(facts: int, d_model: int, d_head: int) -> int:
    r"""Return the paper's number of heads, $\lceil (T - d) / d_h \rceil$, at least 1: the smallest H with $T \le d + H
    d_h$.

    Example:
        >>> paper_heads(16, 4, 2), paper_heads(15, 4, 2)
        (6, 6)
    """
    require_at_least(1, d_head=d_head)
    return max(1, -(-(facts - d_model) // d_head))


def matched_memories(*, d_vocab: int, n_ctx: int, d_model: int, d_head: int, seed: int) -> tuple[Task, Model, Model]:
    r"""Memorize random distributions on all $N^S$ contexts twice: with separate queries and keys, and with shared ones
    of rank one.

    Both networks have $H = \lceil (N^S - d) / d_h \rceil$ heads. The front ends stay as they are drawn, so that the
    second has $W_Q^h = \lambda_h u^\top$ and $W_K^h = v^\top$ without a rounding error. Of several draws the one with
    the smallest error is taken.

    Args:
        d_vocab: N, at least 2.
        n_ctx: S.
        d_model: d, N - 1 or N.
        d_head: $d_h$.
        seed: Seed of the distributions and the weights.

    Returns:
        The task, the network with $d_{qk} = d_h$, and the one with shared attention of rank one.

    Raises:
        CapacityError: No draw reached the distributions in floating point.
        InputError: Sizes out of range.

    Example:
        >>> task, generic, shared = matched_memories(d_vocab=3, n_ctx=2, d_model=3, d_head=2, seed=0)
        >>> task.n_contexts, generic.parameters, shared.parameters
        (9, 96, 78)
    """
    if d_vocab < 2 or n_ctx < 1 or not 1 <= d_head <= d_model or not d_vocab - 1 <= d_model <= d_vocab:
        raise InputError(
            "N",
            f"= {d_vocab}, S = {n_ctx}, d = {d_model}, d_h = {d_head}",
            "N >= 2, S >= 1, 1 <= d_h <= d and N - 1 <= d <= N",
        )
    positive = np.random.default_rng((10, seed)).standard_exponential((d_vocab**n_ctx, d_vocab)) + 2.0**-20
    task = enumerated_task(
        d_vocab, n_ctx, target="distributions", distributions=positive / positive.sum(axis=1, keepdims=True)
    )
    logarithms = np.log(positive)
    n_heads = paper_heads(task.n_contexts, d_model, d_head)
    generic, shared = (
        _memorized(task, logarithms, recipe, d_model=d_model, n_heads=n_heads, d_head=d_head, seed=seed)
        for recipe in (random_attention, shared_rank_one_attention)
    )
    return task, generic, shared


def shared_directions_memory(*, d_vocab: int, n_ctx: int, d_model: int, d_head: int, seed: int) -> Construction[Task]:
    r"""Memorize distributions on all $N^S$ contexts with rank-one attention that all heads share up to a factor.

    Args:
        d_vocab: N.
        n_ctx: S.
        d_model: d, N - 1 or N.
        d_head: $d_h \le d$.
        seed: Seed of the distributions and the weights.

    Returns:
        The weights, with $W_Q^h = \lambda_h u^\top$ and $W_K^h = v^\top$, and the distributions as the task.

    Raises:
        CapacityError: The features are too badly conditioned for float64, in every draw.
        HypothesisError: A hypothesis fails.

    Source: improves Dana, Pydi, Chevaleyre (2024), Theorem 1.

    Example:
        >>> shared_directions_memory(d_vocab=4, n_ctx=2, d_model=4, d_head=2, seed=0).summary.partition(": ")[2]
        '184 numbers stored, 150 chosen; the paper has 232'
    """
    task, _, shared = matched_memories(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, d_head=d_head, seed=seed)
    sizes = {"d_vocab": d_vocab, "n_ctx": n_ctx, "d_model": d_model, "d_head": d_head, "n_heads": shared.n_heads}
    summary = (
        f"{task.n_contexts} contexts of {n_ctx} tokens memorized by {shared.n_heads} heads of the same u, v: "
        f"{shared.parameters} numbers stored, {shared_count(**sizes)} chosen; the paper has {parameter_count(**sizes)}"
    )
    return Construction(task=task, model=shared, summary=summary)


def _memorized(
    task: Task, logarithms: Float64Array, recipe: Recipe, *, d_model: int, n_heads: int, d_head: int, seed: int
) -> Model:
    # For d = N the logarithms are not centred: the stream has to span all of its d dimensions.
    stream = logarithms if d_model == logarithms.shape[1] else logarithms[:, :-1] - logarithms[:, -1:]
    sizes = {"d_vocab": task.d_vocab, "n_ctx": task.n_ctx, "d_model": d_model}
    best = nearest_memorized(
        lambda draw: recipe(**sizes, n_heads=n_heads, d_head=d_head, seed=(seed, draw)),
        lambda model: float(np.ptp(logits(model, task.contexts) - logarithms, axis=1).max()),
        task.contexts,
        kept=task.n_contexts,
        stream=stream,
        unembedding=distribution_unembedding(d_model, task.n_answers),
        occurrences=task.counts.totals(),
    )
    if best is None:
        raise CapacityError(
            "Theorem 1'",
            f"features of rank N^S = {task.n_contexts}, well conditioned enough for float64",
            f"none in {FLOAT_DRAWS} draws with d = {d_model}, d_h = {d_head}, H = {n_heads} had them",
        )
    return best.model
