"""Hypothesis strategies for the objects of theorems about attention: contexts, sizes, distributions, matrices, models.

Page: docs/own_theorem.md
"""

from dataclasses import dataclass, fields, replace
from itertools import combinations, product
from typing import Any, get_args

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from hypothesis import strategies as st

from constructions.errors import InputError, require_one_of
from constructions.model.blocks import (
    Activation,
    Attends,
    Attention,
    Block,
    FeedForward,
    Normalization,
    NormalizationKind,
    Tensor,
)
from constructions.model.exact_network import ExactFrontEnd
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.arrays import array_task
from constructions.tasks.task import Target, Task
from constructions.tasks.vectors import VectorTask

__all__ = [
    "DanaInstance",
    "KnownRank",
    "MahdaviInstance",
    "Sizes",
    "contexts",
    "dana_instances",
    "distributions",
    "embeddings",
    "front_ends",
    "hostile_matrices",
    "inputs",
    "mahdavi_instances",
    "models",
    "near_singular",
    "sizes",
    "tasks",
    "transformers",
]

_TAME = (0.0, 1.0, -1.0, 0.5, 2.0, -1.5, 0.1, -1 / 3)
_HOSTILE = (1e12, -1e30, 1e60, 1e-30, -(2.0**-52), 5e-324, -700.25, 1.0 + 2.0**-52)
_WHOLE = (0, 1, -1, 2)
_FRACTIONS = (*_WHOLE, fmpq(1, 2), fmpq(-1, 3), fmpq(5, 7))
_LARGEST = np.finfo(np.float64).max.item()
_EXTREME = (*_TAME, *_HOSTILE, 0.3, 2.0**53, 2.0**-1022, -5e-324, _LARGEST, -_LARGEST, -0.0)


@dataclass(frozen=True)
class Sizes:
    """The sizes of a transformer of one layer.

    Args:
        d_vocab: Size of the vocabulary, N.
        n_ctx: Tokens in a context, S.
        d_model: Width of the residual stream, d.
        d_head: Width of a head, d_h.
        n_heads: Number of heads, H; may be 0.
    """

    d_vocab: int
    n_ctx: int
    d_model: int
    d_head: int
    n_heads: int


def sizes(
    *,
    max_d_vocab: int = 4,
    max_n_ctx: int = 3,
    max_d_model: int = 4,
    max_n_heads: int = 3,
    min_n_heads: int = 0,
    wide_heads: bool = False,
) -> st.SearchStrategy[Sizes]:
    r"""Draw small sizes, down to one token, one position, one dimension and no head.

    Examples shrink towards the smallest sizes, so that a counterexample is a minimal one.

    Args:
        max_d_vocab: Largest N, at least 1.
        max_n_ctx: Largest S, at least 1.
        max_d_model: Largest d, at least 1.
        max_n_heads: Largest H, at least `min_n_heads`.
        min_n_heads: Smallest H, at least 0.
        wide_heads: Whether $d_h$ may exceed d (up to `max_d_model`); otherwise $d_h \le d$.

    Returns:
        A strategy for `Sizes`.

    Raises:
        InputError: Limits between which there is nothing.

    Example:
        >>> from hypothesis import find
        >>> find(sizes(), lambda size: True)
        Sizes(d_vocab=1, n_ctx=1, d_model=1, d_head=1, n_heads=0)
        >>> find(sizes(), lambda size: size.d_vocab ** size.n_ctx > size.d_model + size.n_heads * size.d_head)
        Sizes(d_vocab=2, n_ctx=1, d_model=1, d_head=1, n_heads=0)
    """
    for name, value, least in (
        ("max_d_vocab", max_d_vocab, 1),
        ("max_n_ctx", max_n_ctx, 1),
        ("max_d_model", max_d_model, 1),
        ("min_n_heads", min_n_heads, 0),
        ("max_n_heads", max_n_heads, min_n_heads),
    ):
        _require_at_least(name, value, least)

    def with_head(d_model: int) -> st.SearchStrategy[Sizes]:
        return st.builds(
            Sizes,
            d_vocab=st.integers(1, max_d_vocab),
            n_ctx=st.integers(1, max_n_ctx),
            d_model=st.just(d_model),
            d_head=st.integers(1, max_d_model if wide_heads else d_model),
            n_heads=st.integers(min_n_heads, max_n_heads),
        )

    return st.integers(1, max_d_model).flatmap(with_head)


@st.composite
def contexts(draw: st.DrawFn, *, d_vocab: int, n_ctx: int, min_size: int = 1, max_size: int = 12) -> Int64Array:
    """Draw sets of distinct contexts, including those on which theorems about attention tend to fail.

    Beside arbitrary sets there are, where the limits allow them, all contexts; contexts that share their last token;
    constant contexts; and squares: four contexts that differ in two positions only (XOR).

    Args:
        d_vocab: Size of the vocabulary, N.
        n_ctx: Tokens in a context, S.
        min_size: The least number of contexts, at least 1.
        max_size: The largest number of contexts.

    Returns:
        A strategy for token arrays `[T, n_ctx]`, int64.

    Raises:
        InputError: Limits between which there is nothing.

    Example:
        >>> from hypothesis import find
        >>> find(contexts(d_vocab=2, n_ctx=2, min_size=2), lambda rows: len(set(rows[:, -1])) == 1).tolist()
        [[0, 0], [1, 0]]
    """
    for name, value in (("d_vocab", d_vocab), ("n_ctx", n_ctx), ("min_size", min_size), ("max_size", max_size)):
        _require_at_least(name, value, 1)
    if max_size < min_size or d_vocab**n_ctx < min_size:
        raise InputError("min_size", f"= {min_size}", f"at most max_size = {max_size} and {d_vocab}**{n_ctx} contexts")
    most = min(max_size, d_vocab**n_ctx)
    kinds = ["any"]  # those that most limits allow come first, so that a kind keeps its place as the limits shrink
    if d_vocab >= 2 and n_ctx >= 3 and most >= 4:
        kinds.append("square")
    if d_vocab ** (n_ctx - 1) >= min_size:
        kinds.append("one last token")
    if d_vocab >= min_size:
        kinds.append("constant")
    if d_vocab**n_ctx <= max_size:
        kinds.append("all")
    kind = draw(st.sampled_from(kinds))
    token = st.integers(0, d_vocab - 1)
    if kind == "all":
        rows = [tuple(row) for row in product(range(d_vocab), repeat=n_ctx)]
    elif kind == "one last token":
        beginning = st.tuples(*[token] * (n_ctx - 1))
        last = draw(token)
        size = min(most, d_vocab ** (n_ctx - 1))
        rows = [(*row, last) for row in draw(_distinct(beginning, min_size, size))]
    elif kind == "constant":
        rows = [(n,) * n_ctx for n in draw(_distinct(token, min_size, min(most, d_vocab)))]
    else:
        rows = draw(_distinct(st.tuples(*[token] * n_ctx), min_size, most))
    if kind == "square":
        square = draw(_squares(d_vocab, n_ctx))
        rows = [*square, *(row for row in rows if row not in square)][: max(4, len(rows))]
    return np.array(rows, dtype=np.int64).reshape(len(rows), n_ctx)


@st.composite
def distributions(draw: st.DrawFn, *, d_vocab: int, rows: int, smallest: float = 1e-30) -> Float64Array:
    """Draw distributions of full support: uniform, tied, dyadic and generic ones, and point masses with tiny other
    masses.

    Each row is drawn by itself, or all rows are labels: one outcome has nearly all the mass, the same mass in each row.
    Labels are arbitrary, or one of them belongs to the first half of the rows and one to the other half, which is what
    the squares of `contexts` cannot hold (XOR).

    Args:
        d_vocab: Number of outcomes, N.
        rows: Number of distributions, T.
        smallest: No mass is below this; positive and at most 1 / (2 N).

    Returns:
        A strategy for arrays `[rows, d_vocab]`, float64, positive, each row of sum 1 up to rounding.

    Raises:
        InputError: Sizes below 1, or a smallest mass out of range.

    Example:
        >>> from hypothesis import find
        >>> find(distributions(d_vocab=2, rows=1), lambda row: row.max() > 0.9999).min() < 1e-4
        np.True_
    """
    for name, value in (("d_vocab", d_vocab), ("rows", rows)):
        _require_at_least(name, value, 1)
    if not (isinstance(smallest, int | float) and 0 < smallest <= 0.5 / d_vocab):
        raise InputError("smallest", f"= {smallest!r}", f"a mass in (0, {0.5 / d_vocab}]")
    kind = draw(st.sampled_from(("any", "halves", "labels")))
    if kind != "any":
        rest = draw(st.sampled_from((0.01, 1e-6, 1e-40)))
        label = st.integers(0, d_vocab - 1)
        if kind == "halves":
            labels = np.repeat([draw(label), draw(label)], [(rows + 1) // 2, rows // 2])
        else:
            labels = [draw(label) for _ in range(rows)]
        masses = np.full((rows, d_vocab), rest)
        masses[np.arange(rows), labels] = max(0.5, 1 - (d_vocab - 1) * rest)
    else:
        masses = np.array([draw(_masses(d_vocab)) for _ in range(rows)])
    return smallest + (1 - d_vocab * smallest) * (masses / masses.sum(axis=1, keepdims=True))


@st.composite
def embeddings(
    draw: st.DrawFn, *, d_vocab: int, n_ctx: int, d_model: int, largest: int = 3
) -> tuple[Int64Array, Int64Array]:
    """Draw embeddings of tokens and positions with small integer entries; equal rows, zeros and low rank are common.

    Args:
        d_vocab: Size of the vocabulary, N.
        n_ctx: Number of positions, S.
        d_model: Width of the residual stream, d.
        largest: Largest absolute value of an entry.

    Returns:
        A strategy for pairs of arrays, `[d_vocab, d_model]` and `[n_ctx, d_model]`, int64.

    Raises:
        InputError: Sizes below 1, or `largest` below 0.

    Example:
        >>> from hypothesis import find
        >>> W_E, W_pos = find(embeddings(d_vocab=2, n_ctx=1, d_model=1), lambda pair: (pair[0][0] != pair[0][1]).all())
        >>> W_E.tolist(), W_pos.tolist()
        ([[0], [1]], [[0]])
    """
    for name, value in (("d_vocab", d_vocab), ("n_ctx", n_ctx), ("d_model", d_model)):
        _require_at_least(name, value, 1)
    _require_at_least("largest", largest, 0)
    return draw(_integers(d_vocab, d_model, largest)), draw(_integers(n_ctx, d_model, largest))


@st.composite
def front_ends(draw: st.DrawFn, *, size: Sizes, largest: int = 3, d_qk: int = 1) -> ExactFrontEnd:
    """Draw attention parameters with small integer entries and scores in units of ln 2, so that attention is rational.

    Args:
        size: The sizes; `n_heads` may be 0.
        largest: Largest absolute value of an entry of the embeddings and values; queries and keys stay within 2.
        d_qk: Width of queries and keys.

    Returns:
        A strategy for `ExactFrontEnd`.

    Raises:
        InputError: Sizes below 1.

    Example:
        >>> from hypothesis import find
        >>> front_end = find(front_ends(size=Sizes(1, 1, 1, 1, 1)), lambda found: found.W_V[0][0, 0] != 0)
        >>> front_end.W_E, front_end.W_V[0]
        ([0], [1])
    """
    _require_sizes(size)
    _require_at_least("d_qk", d_qk, 1)
    W_E, W_pos = draw(embeddings(d_vocab=size.d_vocab, n_ctx=size.n_ctx, d_model=size.d_model, largest=largest))

    def heads(columns: int, bound: int) -> tuple[fmpq_mat, ...]:
        return tuple(_exact(draw(_integers(size.d_model, columns, bound))) for _ in range(size.n_heads))

    return ExactFrontEnd(
        _exact(W_E),
        _exact(W_pos),
        heads(d_qk, min(2, largest)),
        heads(d_qk, min(2, largest)),
        heads(size.d_head, largest),
    )


@st.composite
def transformers(
    draw: st.DrawFn,
    *,
    size: Sizes,
    n_outputs: int | None = None,
    largest: float | None = None,
    hostile: bool = False,
) -> Model:
    """Draw one-layer attention-only transformers of float64 weights: small integers, halves, arbitrary floats and
    zeros.

    Args:
        size: The sizes, with at least one head; queries and keys are as wide as the heads.
        n_outputs: Number of logits; as many as tokens by default.
        largest: Largest absolute value of a weight, 8 by default; not for hostile ones.
        hostile: Whether the weights are those of `hostile_matrices`, and logits may be tied for all contexts.

    Returns:
        A strategy for a `Model` of the shape of `dana_network`.

    Raises:
        InputError: No heads, sizes below 1, or `largest` for hostile weights.

    Example:
        >>> from hypothesis import find
        >>> find(transformers(size=Sizes(1, 1, 1, 1, 1), largest=0.0), lambda model: True).parameters
        7
    """
    _require_sizes(size)
    _require_at_least("n_heads", size.n_heads, 1)
    outputs = size.d_vocab if n_outputs is None else n_outputs
    _require_at_least("n_outputs", outputs, 1)
    if hostile and largest is not None:
        raise InputError("largest", f"= {largest} beside hostile weights", "one or the other")
    bound = 8.0 if largest is None else largest
    if not (isinstance(bound, int | float) and 0 <= bound < float("inf")):
        raise InputError("largest", f"= {largest!r}", "a finite number, at least 0")
    per_head = (size.n_heads, size.d_model, size.d_head)
    shapes = {
        "W_E": (size.d_vocab, size.d_model),
        "W_pos": (size.n_ctx, size.d_model),
        "W_Q": per_head,
        "W_K": per_head,
        "W_V": per_head,
        "W_O": (size.n_heads, size.d_head, size.d_model),
        "W_U": (size.d_model, outputs),
    }
    weights = {name: draw(_extreme(shape) if hostile else _floats(shape, bound)) for name, shape in shapes.items()}
    if hostile:
        weights["W_U"] = draw(_with_equal_rows(weights["W_U"].T)).T
    return dana_network(**weights)


@st.composite
def tasks(
    draw: st.DrawFn,
    *,
    d_vocab: int,
    n_ctx: int,
    answers: int | None = None,
    target: Target = "labels",
    max_contexts: int = 12,
    smallest: float = 1e-30,
) -> Task:
    """Draw tasks: contexts of `contexts` with arbitrary labels or distributions, and possibly remaining contexts.

    Args:
        d_vocab: Size of the vocabulary, N.
        n_ctx: Tokens in a context, S.
        answers: Number of answers of their own, K; by default the tokens are the answers.
        target: ``"labels"`` or ``"distributions"``.
        max_contexts: The largest number of contexts, memorized or not.
        smallest: No mass of a distribution is below this.

    Returns:
        A strategy for `Task`.

    Raises:
        InputError: Sizes below 1, or a smallest mass out of range.

    Example:
        >>> from hypothesis import find
        >>> find(tasks(d_vocab=2, n_ctx=1), lambda task: task.n_contexts == 2).contexts.tolist()
        [[0], [1]]
    """
    require_one_of(get_args(Target), target=target)
    _require_at_least("max_contexts", max_contexts, 1)
    if answers is not None:
        _require_at_least("answers", answers, 1)
    rows = draw(contexts(d_vocab=d_vocab, n_ctx=n_ctx, max_size=max_contexts))
    weights = np.array([draw(st.integers(1, 9)) for _ in rows], dtype=np.int64)
    targets: dict[str, Any]
    if target == "labels":
        label = st.integers(0, (answers or d_vocab) - 1)
        targets = {"next_tokens": np.array([draw(label) for _ in rows], dtype=np.int64)}
    else:
        targets = {"distributions": draw(distributions(d_vocab=answers or d_vocab, rows=len(rows), smallest=smallest))}
    facts = draw(st.integers(1, len(rows)))
    if answers is not None:
        targets["answers"] = tuple(f"answer {i}" for i in range(answers))
    return array_task(rows, weights=weights, vocabulary=d_vocab, target=target, facts=facts, **targets)


@dataclass(frozen=True, eq=False)
class DanaInstance:
    r"""An instance of Theorem 1 of Dana et al.: contexts, their targets, and sizes that it declares sufficient.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`, with $T \le H d_h + d$.
        distributions: The next token after each, `[T, N]`, positive.
        size: The sizes, with $d_h \le d$.
    """

    contexts: Int64Array
    distributions: Float64Array
    size: Sizes


@dataclass(frozen=True, eq=False)
class MahdaviInstance:
    r"""An instance of Theorem 1 of Mahdavi et al.: examples under its assumptions, and sizes that it declares
    sufficient.

    Args:
        task: $T \le H (r - 1) + 1$ examples with $r = \min(n, d_h)$: the tokens of each context are linearly
            independent, and so are every n queries.
        n_heads: H.
        d_head: $d_h$.
    """

    task: VectorTask
    n_heads: int
    d_head: int


@st.composite
def dana_instances(
    draw: st.DrawFn,
    *,
    max_d_vocab: int = 4,
    max_n_ctx: int = 3,
    max_d_model: int = 4,
    max_n_heads: int = 3,
    min_n_heads: int = 1,
    max_contexts: int = 12,
    perfect: bool = False,
) -> DanaInstance:
    r"""Draw contexts, distributions and sizes under the hypotheses of Theorem 1 of Dana et al.: $T \le H d_h + d$.

    A third of the instances are squares (XOR), where the limits allow them: four contexts with one last token that
    differ in two positions only. Among the others, as many contexts as allowed, $T = H d_h + d$, are common.

    Args:
        max_d_vocab: Largest N, at least 1.
        max_n_ctx: Largest S, at least 1.
        max_d_model: Largest d, at least 1.
        max_n_heads: Largest H, at least `min_n_heads`.
        min_n_heads: Smallest H, at least 0.
        max_contexts: Largest T, at least 1.
        perfect: Whether $d \ge N - 1$, where the theorem promises a divergence as near to 0 as one likes.

    Returns:
        A strategy for `DanaInstance`.

    Raises:
        InputError: Limits between which there is nothing.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 1.

    Example:
        >>> from hypothesis import find
        >>> find(dana_instances(), lambda instance: len(instance.contexts) == 2).contexts.tolist()
        [[0], [1]]
    """
    _require_at_least("max_contexts", max_contexts, 1)
    limits: dict[str, Any] = {"max_d_vocab": max_d_vocab, "max_n_ctx": max_n_ctx, "max_d_model": max_d_model}
    any_size = sizes(**limits, max_n_heads=max_n_heads, min_n_heads=min_n_heads)
    has_squares = min(max_d_vocab, max_d_model) >= 2 and max_n_ctx >= 3 and max_n_heads >= 1 and max_contexts >= 4
    if has_squares and draw(st.integers(0, 2)) == 2:
        size = draw(_sizes_for_squares(**limits, max_n_heads=max_n_heads, min_n_heads=max(1, min_n_heads)))
    else:
        size, has_squares = draw(any_size), False
    if perfect:
        size = replace(size, d_vocab=min(size.d_vocab, size.d_model + 1))
    if has_squares:
        rows = np.array(draw(_squares(size.d_vocab, size.n_ctx)), dtype=np.int64)
        return DanaInstance(rows, draw(distributions(d_vocab=size.d_vocab, rows=len(rows))), size)
    most = min(max_contexts, size.n_heads * size.d_head + size.d_model, size.d_vocab**size.n_ctx)
    least = draw(st.sampled_from((1, most)))
    rows = draw(contexts(d_vocab=size.d_vocab, n_ctx=size.n_ctx, min_size=least, max_size=most))
    masses = draw(distributions(d_vocab=size.d_vocab, rows=len(rows)))
    # A context goes together with its distribution, which lets a counterexample shrink to fewer of both.
    kept = [t for t in range(len(rows)) if draw(st.integers(0, 99))] or [0]
    return DanaInstance(rows[kept], masses[kept], size)


@st.composite
def _sizes_for_squares(
    draw: st.DrawFn, *, max_d_vocab: int, max_n_ctx: int, max_d_model: int, max_n_heads: int, min_n_heads: int
) -> Sizes:
    r"""Draw sizes with at least two tokens and three positions, and $H d_h + d \ge 4$, room for the contexts of a
    square.
    """
    d_model, n_heads = draw(st.integers(2, max_d_model)), draw(st.integers(min_n_heads, max_n_heads))
    least = max(1, -((d_model - 4) // n_heads))
    return Sizes(
        d_vocab=draw(st.integers(2, max_d_vocab)),
        n_ctx=draw(st.integers(3, max_n_ctx)),
        d_model=d_model,
        d_head=draw(st.integers(least, d_model)),
        n_heads=n_heads,
    )


@st.composite
def mahdavi_instances(
    draw: st.DrawFn,
    *,
    max_n_ctx: int = 3,
    max_d_model: int = 4,
    max_n_heads: int = 3,
    max_outputs: int = 2,
    largest: int = 3,
) -> MahdaviInstance:
    r"""Draw examples and sizes under the hypotheses of Theorem 1 of Mahdavi et al.: $T \le H (\min(n, d_h) - 1) + 1$.

    Assumptions 1 and 2 hold exactly: every n queries are linearly independent (all of them, where there are fewer),
    and the n tokens of each context, $n < d$. Entries are small integers; labels are arbitrary, equal ones included.
    The strategy only bounds the widths that the theorem counts: $d_v$ and $d_o$ are left to the statement.

    Args:
        max_n_ctx: Largest n, at least 1.
        max_d_model: Largest d, at least 2.
        max_n_heads: Largest H, at least 1.
        max_outputs: Largest number of outputs, at least 1.
        largest: Largest absolute value of a drawn entry, at least 0. A row that would break an assumption is replaced
            by $(1, x, x^2, \dots)$ for the smallest integer x that keeps it.

    Returns:
        A strategy for `MahdaviInstance`.

    Raises:
        InputError: Limits between which there is nothing.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Theorem 1.

    Example:
        >>> from hypothesis import find
        >>> instance = find(mahdavi_instances(), lambda instance: instance.task.n_examples == 2)
        >>> instance.task.queries.shape, instance.n_heads, instance.d_head
        ((2, 3), 1, 2)
    """
    for name, value, least in (
        ("max_n_ctx", max_n_ctx, 1),
        ("max_d_model", max_d_model, 2),
        ("max_n_heads", max_n_heads, 1),
        ("max_outputs", max_outputs, 1),
        ("largest", largest, 0),
    ):
        _require_at_least(name, value, least)
    d_model = draw(st.integers(2, max_d_model))
    n_ctx = draw(st.integers(1, min(max_n_ctx, d_model - 1)))
    n_heads, d_head = draw(st.integers(1, max_n_heads)), draw(st.integers(1, d_model))
    most = n_heads * (min(n_ctx, d_head) - 1) + 1
    examples = draw(st.one_of(st.integers(1, most), st.just(most)))
    shared = draw(st.booleans())
    keys = [draw(_independent_rows(n_ctx, d_model, n_ctx, largest)) for _ in range(1 if shared else examples)]
    # Queries in general position, or all in one space of n dimensions, the fewest that the assumption allows.
    width = draw(st.sampled_from((d_model, n_ctx)))
    queries = np.pad(draw(_independent_rows(examples, width, n_ctx, largest)), ((0, 0), (0, d_model - width)))
    task = VectorTask(
        contexts=np.array(keys, dtype=np.float64),
        queries=queries.astype(np.float64),
        labels=draw(_integers(examples, draw(st.integers(1, max_outputs)), largest)).astype(np.float64),
    )
    return MahdaviInstance(task, n_heads, d_head)


@dataclass(frozen=True, eq=False)
class KnownRank:
    """A matrix of floats, and the rank that the numbers they are have exactly.

    Args:
        matrix: `[rows, columns]`, float64.
        rank: Its rank over the rationals.
    """

    matrix: Float64Array
    rank: int


@st.composite
def near_singular(draw: st.DrawFn, *, rows: int, columns: int | None = None) -> KnownRank:
    """Draw matrices whose smallest singular value is 0 or nearly so, with their exact rank.

    Each is a matrix of small integers without full rank, in which one entry may be off by $2^{-40}$ or less, times a
    power of two; or times 0.1, each entry rounded. The smallest singular value is at most $2^{-39}$ times that factor.

    Args:
        rows: Number of rows, at least 1.
        columns: Number of columns, at least 1; as many as rows by default.

    Returns:
        A strategy for `KnownRank`; the rank is computed over the rationals.

    Raises:
        InputError: Numbers below 1.

    Example:
        >>> from hypothesis import find
        >>> wrong = find(near_singular(rows=2), lambda found: found.rank != np.linalg.matrix_rank(found.matrix))
        >>> wrong.rank, np.linalg.matrix_rank(wrong.matrix).item()
        (2, 1)
    """
    columns = rows if columns is None else columns
    for name, value in (("rows", rows), ("columns", columns)):
        _require_at_least(name, value, 1)
    thin = min(rows, columns)
    long = max(rows, columns)
    others = draw(_integers(thin - 1, long, 3))
    combination = draw(_integers(1, thin - 1, 2)) @ others
    place = draw(st.integers(0, thin - 1))
    matrix = np.insert(others, place, combination, axis=0).astype(np.float64)
    off = draw(st.sampled_from((0.0, 2.0**-40, -(2.0**-45), 2.0**-200, 2.0**-1000)))
    entry = draw(st.integers(0, long - 1))
    # Beside a larger entry a change below its last bit would be lost, so that bit is the least change.
    changed = matrix[place, entry] + off
    if off and changed == matrix[place, entry]:
        changed = np.nextafter(matrix[place, entry], np.inf)
    matrix[place, entry] = changed
    matrix *= draw(st.sampled_from((1.0, 0.1, 2.0**-20, 2.0**-74, 2.0**900)))
    rank = fmpq_mat(thin, long, [fmpq(*value.as_integer_ratio()) for value in matrix.ravel().tolist()]).rank()
    return KnownRank(matrix if rows <= columns else np.ascontiguousarray(matrix.T), rank)


@st.composite
def hostile_matrices(draw: st.DrawFn, *, rows: int, columns: int) -> Float64Array:
    """Draw matrices of finite floats that are hard for floating point.

    Entries are huge, tiny, subnormal, nearly equal or arbitrary; rows may be equal, and the largest entry of a row may
    occur twice, or nearly so (a tie, where the rows are logits).

    Args:
        rows: Number of rows, at least 1.
        columns: Number of columns, at least 1.

    Returns:
        A strategy for arrays `[rows, columns]`, float64.

    Raises:
        InputError: Numbers below 1.

    Example:
        >>> from hypothesis import find
        >>> find(hostile_matrices(rows=1, columns=2), lambda logits: logits[0, 0] == logits[0, 1] != 0).tolist()
        [[1.0, 1.0]]
    """
    for name, value in (("rows", rows), ("columns", columns)):
        _require_at_least(name, value, 1)
    matrix = draw(_with_equal_rows(draw(_extreme((rows, columns)))))
    if columns > 1 and draw(st.booleans()):
        row, place = draw(st.integers(0, rows - 1)), draw(st.integers(0, columns - 1))
        largest = matrix[row].max()
        matrix[row, place] = largest if draw(st.booleans()) else np.nextafter(largest, -np.inf)
    return matrix


@st.composite
def models(
    draw: st.DrawFn, *, rational: bool = False, hostile: bool = False, max_blocks: int = 3, max_d_model: int = 3
) -> Model:
    """Draw models of every kind of block and of stacks of them, that read tokens or vectors, with and without shifts.

    Rational models are ones whose values are rational: attention and ReLU blocks without normalization, and scores that
    are integers. Queries and keys read all coordinates but the last, which hold integers throughout; attention and
    neurons write fractions into the last one.

    Args:
        rational: Whether the tensors are rationals.
        hostile: Whether float64 entries may be huge, tiny, or nearly equal, and epsilons extreme.
        max_blocks: Largest number of blocks, at least 1.
        max_d_model: Largest dimension of the stream, of heads and of neurons, at least 1.

    Returns:
        A strategy for `Model`.

    Raises:
        InputError: Limits below 1.

    Example:
        >>> from hypothesis import find
        >>> find(models(), lambda model: model.reads_tokens).parameters
        3
    """
    for name, value in (("max_blocks", max_blocks), ("max_d_model", max_d_model)):
        _require_at_least(name, value, 1)
    pen = _Pen(draw, rational=rational, hostile=hostile, max_d_model=max_d_model)
    reads_tokens = draw(st.booleans())
    first = width = draw(st.integers(1, max_d_model))
    blocks: list[Block] = []
    for place in range(draw(st.integers(0 if reads_tokens else 1, max_blocks))):
        kind = draw(st.sampled_from(("feed-forward", "attention") if rational else _KINDS))
        if kind == "normalization":
            blocks.append(pen.normalization(width))
            continue
        record = pen.attention if kind == "attention" else pen.feed_forward
        block = record(width, may_ask_the_task=not (place or reads_tokens))
        blocks.append(block)
        width = block.d_out
    outputs = draw(st.integers(1, max_d_model))
    read: dict[str, Any] = {}
    if reads_tokens:
        read = {name: pen.rows(draw(st.integers(1, 3)), first) for name in ("W_E", "W_pos")}
    return Model(
        blocks=tuple(blocks),
        W_U=pen.tensor((width, outputs)),
        b_U=pen.tensor((outputs,)) if draw(st.booleans()) else None,
        **read,
    )


@st.composite
def inputs(draw: st.DrawFn, *, model: Model, hostile: bool = False) -> Int64Array | VectorTask:
    """Draw inputs of a model: contexts of tokens of any length that it reads, or a task of vectors, shared or not.

    Args:
        model: The model; for one of `models(rational=True)` scores are integers on these inputs.
        hostile: Whether vectors may have huge, tiny or nearly equal entries.

    Returns:
        A strategy for token arrays `[T, S]`, or for `VectorTask`.

    Example:
        >>> from hypothesis import find
        >>> one = np.ones((1, 1))
        >>> find(inputs(model=Model(blocks=(), W_U=one, W_E=one, W_pos=one)), lambda contexts: True)
        array([[0]])
    """
    if not isinstance(model, Model):
        raise InputError("model", f"is {model!r}", "a Model")
    if model.reads_tokens:
        return draw(contexts(d_vocab=model.d_vocab, n_ctx=draw(st.integers(1, model.n_ctx)), max_size=4))
    pen = _Pen(draw, rational=model.is_rational, hostile=hostile, max_d_model=1)
    examples, n_ctx, width = draw(st.integers(1, 3)), draw(st.integers(1, 3)), model.d_model
    return VectorTask(
        contexts=pen.tensor((draw(st.sampled_from((1, examples))), n_ctx, width), scoring=True).astype(np.float64),
        queries=pen.tensor((examples, width), scoring=True).astype(np.float64),
        labels=np.zeros((examples, model.d_vocab_out)),
    )


_KINDS = ("feed-forward", "attention", "normalization")


class _Pen:
    """Draws the tensors and the blocks of models."""

    def __init__(self, draw: st.DrawFn, *, rational: bool, hostile: bool, max_d_model: int) -> None:
        self._draw = draw
        self._rational = rational
        self._hostile = hostile
        self._widths = st.integers(1, max_d_model)
        floats = (*_TAME, *_HOSTILE) if hostile else _TAME
        self._numbers: tuple[Any, ...] = _FRACTIONS if rational else floats
        self._scoring: tuple[Any, ...] = _WHOLE if rational else floats

    def tensor(self, shape: tuple[int, ...], *, scoring: bool = False) -> Tensor:
        """Draw entries of any kind, or those for scores; integers in a rational model."""
        count, pool = int(np.prod(shape)), self._scoring if scoring else self._numbers
        entries = np.empty(count, dtype=object if self._rational else np.float64)
        entries[:] = self._draw(st.lists(st.sampled_from(pool), min_size=count, max_size=count))
        return entries.reshape(shape)

    def rows(self, count: int, d_model: int) -> Tensor:
        """Draw rows of the stream; integers except the last coordinate in a rational model."""
        return self._last_free(self.tensor((count, d_model)))

    def attention(self, d_model: int, *, may_ask_the_task: bool) -> Attention:
        draw = self._draw
        of_task = may_ask_the_task and draw(st.booleans())
        skip = not of_task and draw(st.booleans())
        n_heads, d_qk, d_head = draw(st.integers(0, 2)), draw(self._widths), draw(self._widths)
        d_out = d_model if skip else draw(self._widths)
        root = draw(st.sampled_from((1, 4) if self._rational else (1, 2, 3, 4)))
        W_Q, b_Q = self._reading((n_heads, d_model, d_qk)), self._shift((n_heads, d_qk), scoring=True)
        if self._rational and root == 4:
            W_Q, b_Q = 2 * W_Q, None if b_Q is None else 2 * b_Q
        output = self._writing((n_heads, d_head, d_out))
        b_O = self._shift((d_out,))
        return Attention(
            W_Q=W_Q,
            W_K=self._reading((n_heads, d_model, d_qk)),
            W_V=self.tensor((n_heads, d_model, d_head)),
            W_O=output,
            b_Q=b_Q,
            b_K=self._shift((n_heads, d_qk), scoring=True),
            b_V=self._shift((n_heads, d_head)),
            b_O=None if b_O is None else self._last_free(b_O),
            norm=None if of_task else self._norm(d_model),
            skip=skip,
            attends="last" if of_task else draw(st.sampled_from(get_args(Attends))),
            queries="task" if of_task else "stream",
            score_root=root,
        )

    def feed_forward(self, d_model: int, *, may_ask_the_task: bool) -> FeedForward:
        draw = self._draw
        skip, d_mlp = draw(st.booleans()), draw(self._widths)
        d_out = d_model if skip else draw(self._widths)
        b_out = self._shift((d_out,))
        return FeedForward(
            W_in=self.tensor((d_model, d_mlp)),
            W_out=self._writing((d_mlp, d_out)),
            b_in=self._shift((d_mlp,)),
            b_out=None if b_out is None else self._last_free(b_out),
            activation="relu" if self._rational else draw(st.sampled_from(get_args(Activation))),
            norm=self._norm(d_model),
            skip=skip,
        )

    def normalization(self, d_model: int) -> Normalization:
        epsilons = (1e-5, 1.0, 5e-324, 1e300) if self._hostile else (1e-5, 1.0)
        return Normalization(
            kind=self._draw(st.sampled_from(get_args(NormalizationKind))),
            w=self.tensor((d_model,)),
            b=self._shift((d_model,)),
            epsilon=self._draw(st.sampled_from(epsilons)),
        )

    def _norm(self, d_model: int) -> Normalization | None:
        return None if self._rational or self._draw(st.booleans()) else self.normalization(d_model)

    def _shift(self, shape: tuple[int, ...], *, scoring: bool = False) -> Tensor | None:
        return self.tensor(shape, scoring=scoring) if self._draw(st.booleans()) else None

    def _reading(self, shape: tuple[int, ...]) -> Tensor:
        """Query or key maps: of a rational model integers, which do not read the last coordinate."""
        tensor = self.tensor(shape, scoring=True)
        if self._rational:
            tensor[:, -1] = 0
        return tensor

    def _writing(self, shape: tuple[int, ...]) -> Tensor:
        """Draw output maps; those of a rational model write only into the last coordinate."""
        tensor = self.tensor(shape)
        if self._rational:
            tensor[..., :-1] = 0
        return tensor

    def _last_free(self, tensor: Tensor) -> Tensor:
        """Return the tensor, in a rational model with all coordinates except the last rounded to integers."""
        if self._rational:
            for place in np.ndindex(tensor[..., :-1].shape):
                entry: Any = tensor[place]
                tensor[place] = fmpq(entry).floor()
        return tensor


def _distinct(elements: st.SearchStrategy, least: int, most: int) -> st.SearchStrategy[list]:
    return st.lists(elements, min_size=least, max_size=most, unique=True)


@st.composite
def _squares(draw: st.DrawFn, d_vocab: int, n_ctx: int) -> list[tuple[int, ...]]:
    """Return four contexts with one last token that differ in only two positions."""
    token = st.integers(0, d_vocab - 1)
    row = [draw(token) for _ in range(n_ctx)]
    places = draw(_distinct(st.integers(0, n_ctx - 2), 2, 2))
    pairs = [draw(_distinct(token, 2, 2)) for _ in places]
    square = []
    for i, j in ((0, 0), (1, 1), (0, 1), (1, 0)):
        row[places[0]], row[places[1]] = pairs[0][i], pairs[1][j]
        square.append(tuple(row))
    return square


@st.composite
def _masses(draw: st.DrawFn, d_vocab: int) -> Float64Array:
    kind = draw(st.sampled_from(("uniform", "tied", "generic", "nearly certain", "dyadic")))
    if kind == "uniform":
        masses = np.ones(d_vocab)
    elif kind == "tied":
        masses = np.array([draw(st.integers(1, 3)) for _ in range(d_vocab)], dtype=np.float64)
    elif kind == "generic":
        masses = np.array([draw(st.floats(1e-3, 1.0)) for _ in range(d_vocab)])
    elif kind == "dyadic":
        masses = np.array([2.0 ** -draw(st.integers(0, 40)) for _ in range(d_vocab)])
    else:
        masses = np.array([10.0 ** -draw(st.integers(3, 40)) for _ in range(d_vocab)])
        masses[draw(st.integers(0, d_vocab - 1))] = 1.0
    return masses


def _integers(rows: int, columns: int, largest: int) -> st.SearchStrategy[Int64Array]:
    count = rows * columns
    return st.lists(st.integers(-largest, largest), min_size=count, max_size=count).map(
        lambda entries: np.array(entries, dtype=np.int64).reshape(rows, columns)
    )


def _floats(shape: tuple[int, ...], largest: float) -> st.SearchStrategy[Float64Array]:
    count = int(np.prod(shape))
    whole = int(min(largest, 3))
    entry = st.one_of(
        st.integers(-whole, whole).map(float),
        st.integers(-2 * whole, 2 * whole).map(lambda n: n / 2),
        st.floats(-largest, largest),
    )
    return st.lists(entry, min_size=count, max_size=count).map(lambda entries: np.array(entries).reshape(shape))


def _extreme(shape: tuple[int, ...]) -> st.SearchStrategy[Float64Array]:
    count = int(np.prod(shape))
    entry = st.one_of(st.sampled_from(_EXTREME), st.floats(allow_nan=False, allow_infinity=False))
    return st.lists(entry, min_size=count, max_size=count).map(lambda entries: np.array(entries).reshape(shape))


@st.composite
def _with_equal_rows(draw: st.DrawFn, matrix: Float64Array) -> Float64Array:
    """Return the matrix, possibly with one row copied to another."""
    copied = matrix.copy()
    if len(matrix) > 1 and draw(st.booleans()):
        source, copy = draw(_distinct(st.integers(0, len(matrix) - 1), 2, 2))
        copied[copy] = copied[source]
    return copied


@st.composite
def _independent_rows(draw: st.DrawFn, count: int, width: int, together: int, largest: int) -> Int64Array:
    """Draw integer rows of which any `together`, at most `width`, are linearly independent.

    A row that lies in the span of fewer than `together` earlier ones is replaced by a point of the moment curve, which
    meets each of the finitely many spans, none of them the whole space, in fewer than `width` points.
    """
    rows: list[list[int]] = []
    for _ in range(count):
        row = draw(st.lists(st.integers(-largest, largest), min_size=width, max_size=width))
        x = 0
        while not _is_outside_spans(row, rows, min(together - 1, len(rows))):
            row = [x**power for power in range(width)]
            x += 1
        rows.append(row)
    return np.array(rows, dtype=np.int64).reshape(count, width)


def _is_outside_spans(row: list[int], rows: list[list[int]], size: int) -> bool:
    """Tell whether no `size` of the independent rows span a space that contains the row."""
    return all(fmpz_mat([*chosen, row]).rank() == size + 1 for chosen in combinations(rows, size))


def _exact(integers: Int64Array) -> fmpq_mat:
    return fmpq_mat(integers.shape[0], integers.shape[1], integers.ravel().tolist())


def _require_sizes(size: Sizes) -> None:
    if not isinstance(size, Sizes):
        raise InputError("size", f"is {size!r}", "Sizes(d_vocab=, n_ctx=, d_model=, d_head=, n_heads=)")
    for field in fields(size):
        _require_at_least(field.name, getattr(size, field.name), 0 if field.name == "n_heads" else 1)


def _require_at_least(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(name, f"= {value!r}", f"an integer of at least {least}")
