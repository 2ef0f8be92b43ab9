r"""Attention whose features have the largest possible rank: the heads of the repaired Lemma 2, well conditioned.

Outside a null set of weights the features $[X_S, Y]$ of a set of contexts have the largest rank that any weights can
give them (Theorem G1), so a random draw is enough in theory. The recipes differ in how well conditioned the features
are and in how few bits they need.

Page: docs/claims/full_rank_attention.md
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

import numpy as np

from constructions.errors import HypothesisError, InputError, require_at_least, require_one_of
from constructions.model.front_end import FrontEnd
from constructions.model.precision import rounded
from constructions.numeric.arrays import Float64Array

_DRAWS = 100
_TABLE_ENTRIES = 2**24  # no table is the default whose W_Q would be larger than this


class Recipe(Protocol):
    """A function of this module that draws embeddings and heads of given sizes."""

    def __call__(
        self, *, d_vocab: int, n_ctx: int, d_model: int, n_heads: int, d_head: int, seed: int | Sequence[int]
    ) -> FrontEnd: ...


@dataclass(frozen=True)
class _Shape:
    d_vocab: int
    n_ctx: int
    d_model: int
    n_heads: int
    d_head: int

    def __post_init__(self) -> None:
        require_at_least(1, **asdict(self))
        if self.d_head > self.d_model:
            raise InputError("d_head", f"= {self.d_head}", f"at most d_model = {self.d_model}")


def table_attention(
    *,
    d_vocab: int,
    n_ctx: int,
    d_model: int,
    n_heads: int,
    d_head: int,
    seed: int | Sequence[int],
    scale: float = 4.0,
) -> FrontEnd:
    """Draw heads that look up the score of a token in a table: one-hot embeddings, and random signs times `scale`.

    $W_E$ and $W_{pos}$ are one-hot (half a one for positions), $W_K = I$, $W_Q$ is a table of random signs times
    `scale`, and $W_V$ holds random signs; all is exact in bfloat16. Of all recipes it has the best condition.

    Args:
        d_vocab: Number of tokens N.
        n_ctx: Context length S.
        d_model: Embedding dimension d, at least $N + S$.
        n_heads: Number of heads H.
        d_head: Dimension of the values, at most `d_model`.
        seed: Seed of the draw; equal arguments give equal bits.
        scale: Scale of the scores, in nats.

    Returns:
        The front end.

    Raises:
        InputError: A dimension below 1, `d_head > d_model`, or a scale that is not positive.
        HypothesisError: $d < N + S$.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2, as repaired by Theorem G1.

    Example:
        >>> weights = table_attention(d_vocab=2, n_ctx=1, d_model=3, n_heads=1, d_head=1, seed=0)
        >>> weights.W_E.tolist(), weights.W_pos.tolist(), sorted(set(np.abs(weights.W_Q).flat))
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0.0, 0.0, 0.5]], [np.float64(4.0)])
    """
    _Shape(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads, d_head=d_head)
    _require_positive(scale)
    if d_model < d_vocab + n_ctx:
        raise HypothesisError(
            "The table front end",
            f"d_model >= N + S = {d_vocab + n_ctx} for one-hot tokens and positions",
            f"d_model = {d_model}",
        )
    generator = np.random.default_rng(seed)
    return FrontEnd(
        "table",
        W_E=np.eye(d_vocab, d_model),
        W_pos=np.eye(n_ctx, d_model, d_vocab) / 2,
        W_Q=scale * _signs(generator, (n_heads, d_model, d_model)),
        W_K=np.tile(np.eye(d_model), (n_heads, 1, 1)),
        W_V=_signs(generator, (n_heads, d_model, d_head)),
    )


def random_attention(
    *,
    d_vocab: int,
    n_ctx: int,
    d_model: int,
    n_heads: int,
    d_head: int,
    seed: int | Sequence[int],
    scale: float | None = None,
) -> FrontEnd:
    r"""Draw uniform embeddings, Gaussian queries and keys of `d_qk = d_head` columns, and orthonormal values.

    All is rounded to bfloat16, so that it is exact there.

    Args:
        d_vocab: Number of tokens N.
        n_ctx: Context length S.
        d_model: Embedding dimension d.
        n_heads: Number of heads H.
        d_head: Dimension of the values, at most `d_model`.
        seed: Seed of the draw; equal arguments give equal bits.
        scale: Standard deviation of the scores, in nats; $\max(5, 80/d)$ by default, because few dimensions need harder
            attention to tell contexts apart.

    Returns:
        The front end.

    Raises:
        InputError: A dimension below 1, `d_head > d_model`, or a scale that is not positive.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2, as repaired by Theorem G1.

    Example:
        >>> weights = random_attention(d_vocab=4, n_ctx=2, d_model=5, n_heads=3, d_head=2, seed=0)
        >>> weights.W_Q.shape, bool(np.abs(weights.W_V[0].T @ weights.W_V[0] - np.eye(2)).max() < 0.02)
        ((3, 5, 2), True)
    """
    shape = _Shape(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads, d_head=d_head)
    return FrontEnd("random", *_generic(shape, np.random.default_rng(seed), scale, d_qk=d_head))


def rank_one_attention(
    *,
    d_vocab: int,
    n_ctx: int,
    d_model: int,
    n_heads: int,
    d_head: int,
    seed: int | Sequence[int],
    scale: float | None = None,
) -> FrontEnd:
    r"""Draw `random_attention` with queries and keys of one column: $W_{QK}^h = u_h v_h^\top$, `d_qk = 1`.

    The generic rank is the same (Theorem G1), with the fewest numbers for each head; all is exact in bfloat16.

    Args:
        d_vocab: Number of tokens N.
        n_ctx: Context length S.
        d_model: Embedding dimension d.
        n_heads: Number of heads H.
        d_head: Dimension of the values, at most `d_model`.
        seed: Seed of the draw; equal arguments give equal bits.
        scale: Standard deviation of the scores, in nats; $\max(5, 80/d)$ by default, because few dimensions need harder
            attention to tell contexts apart.

    Returns:
        The front end.

    Raises:
        InputError: A dimension below 1, `d_head > d_model`, or a scale that is not positive.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2, as repaired by Theorem G1.

    Example:
        >>> rank_one_attention(d_vocab=4, n_ctx=2, d_model=5, n_heads=3, d_head=2, seed=0).W_Q.shape
        (3, 5, 1)
    """
    shape = _Shape(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads, d_head=d_head)
    return FrontEnd("rank-one", *_generic(shape, np.random.default_rng(seed), scale, d_qk=1))


def base_two_attention(
    *,
    d_vocab: int,
    n_ctx: int,
    d_model: int,
    n_heads: int,
    d_head: int,
    seed: int | Sequence[int],
    scale: float | None = None,
) -> FrontEnd:
    r"""Draw integer embeddings and integer score matrices times $\ln 2$: attention without irrational numbers.

    The attention weights of the unrounded construction are the rationals $2^k / \sum 2^{k'}$. The scores times
    $\ln 2$ are rounded to float64; this recipe alone is not exact in bfloat16.

    Args:
        d_vocab: Number of tokens N.
        n_ctx: Context length S.
        d_model: Embedding dimension d.
        n_heads: Number of heads H.
        d_head: Dimension of the values, at most `d_model`.
        seed: Seed of the draw; equal arguments give equal bits.
        scale: Standard deviation of the scores, in nats; $\max(5, 80/d)$ by default, because few dimensions need harder
            attention to tell contexts apart.

    Returns:
        The front end.

    Raises:
        InputError: A dimension below 1, `d_head > d_model`, or a scale that is not positive.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2, as repaired by Theorem G1.

    Example:
        >>> weights = base_two_attention(d_vocab=4, n_ctx=2, d_model=3, n_heads=2, d_head=1, seed=0)
        >>> scores = weights.W_Q / np.log(2)
        >>> bool(np.abs(scores - np.rint(scores)).max() < 1e-12)
        True
    """
    shape = _Shape(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads, d_head=d_head)
    return FrontEnd("base2", *_base2(shape, np.random.default_rng(seed), scale))


def shared_rank_one_attention(
    *,
    d_vocab: int,
    n_ctx: int,
    d_model: int,
    n_heads: int,
    d_head: int,
    seed: int | Sequence[int],
    scale: float | None = None,
) -> FrontEnd:
    r"""Draw two directions that all heads share: $W_{QK}^h = \lambda_h u v^\top$, `d_qk = 1`.

    It is the smallest family that still has the generic rank (Theorem G1). Its features are badly conditioned: for some
    hundred contexts at most. All is exact in bfloat16.

    Args:
        d_vocab: Number of tokens N.
        n_ctx: Context length S.
        d_model: Embedding dimension d.
        n_heads: Number of heads H.
        d_head: Dimension of the values, at most `d_model`.
        seed: Seed of the draw; equal arguments give equal bits.
        scale: Scale of the scores, in nats, around which the $\lambda_h$ are spaced; $\max(5, 80/d)$ by default.

    Returns:
        The front end.

    Raises:
        InputError: A dimension below 1, `d_head > d_model`, or a scale that is not positive.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2, as repaired by Theorem G1.

    Example:
        >>> weights = shared_rank_one_attention(d_vocab=4, n_ctx=2, d_model=3, n_heads=2, d_head=1, seed=0)
        >>> weights.W_Q[:, 1:].any(), bool((weights.W_K[0] == weights.W_K[1]).all())
        (np.False_, True)
    """
    shape = _Shape(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads, d_head=d_head)
    return FrontEnd("shared-rank-one", *_shared_rank_one(shape, np.random.default_rng(seed), scale))


def fitting_attention(
    *, d_vocab: int, n_ctx: int, d_model: int, n_heads: int, d_head: int, seed: int | Sequence[int]
) -> FrontEnd:
    r"""Draw `table_attention` where it fits and is not too large, else `random_attention`, at their default scales.

    Args:
        d_vocab: Number of tokens N.
        n_ctx: Context length S.
        d_model: Embedding dimension d.
        n_heads: Number of heads H.
        d_head: Dimension of the values, at most `d_model`.
        seed: Seed of the draw; equal arguments give equal bits.

    Returns:
        The front end.

    Raises:
        InputError: A dimension below 1, or `d_head > d_model`.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2, as repaired by Theorem G1.

    Example:
        >>> fitting_attention(d_vocab=64, n_ctx=4, d_model=64, n_heads=8, d_head=4, seed=0).kind
        'random'
    """
    recipe = fitting_recipe(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads)
    return recipe(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads, d_head=d_head, seed=seed)


def fitting_recipe(*, d_vocab: int, n_ctx: int, d_model: int, n_heads: int) -> Recipe:
    """Return the recipe of `fitting_attention`: the table where it fits and is not too large, else random attention.

    Example:
        >>> fitting_recipe(d_vocab=64, n_ctx=4, d_model=68, n_heads=80).__name__
        'table_attention'
        >>> fitting_recipe(d_vocab=64, n_ctx=4, d_model=64, n_heads=80).__name__
        'random_attention'
    """
    fits = d_model >= d_vocab + n_ctx and n_heads * d_model**2 <= _TABLE_ENTRIES
    return table_attention if fits else random_attention


FRONT_ENDS: dict[str, Recipe] = {
    "auto": fitting_attention,
    "table": table_attention,
    "random": random_attention,
    "base2": base_two_attention,
    "rank-one": rank_one_attention,
    "shared-rank-one": shared_rank_one_attention,
}
"""The recipes by the names that the command line and the records of what was built have for them."""


def named_recipe(name: str) -> Recipe:
    """Return the recipe with a name from `FRONT_ENDS`.

    Raises:
        InputError: A name that is none.

    Example:
        >>> named_recipe("base2").__name__
        'base_two_attention'
    """
    require_one_of(FRONT_ENDS, front_end=name)
    return FRONT_ENDS[name]


def require_recipe(front_end: object) -> None:
    """Raise `InputError` unless the value is a recipe or the name of one.

    Raises:
        InputError: Nothing that can be called.

    Example:
        >>> require_recipe("table")
        Traceback (most recent call last):
        ...
        constructions.errors.InputError: front_end = 'table', expected a function such as constructions.table_attention
    """
    if not callable(front_end):
        raise InputError("front_end", f"= {front_end!r}", "a function such as constructions.table_attention")


def query_dimension(recipe: Recipe, *, d_vocab: int, n_ctx: int, d_model: int, n_heads: int, d_head: int) -> int:
    """Return the `d_qk` of a recipe at these sizes.

    Example:
        >>> sizes = dict(d_vocab=64, n_ctx=4, d_model=64, n_heads=8, d_head=16)
        >>> query_dimension(random_attention, **sizes), query_dimension(rank_one_attention, **sizes)
        (16, 1)
    """
    if recipe is fitting_attention:
        recipe = fitting_recipe(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads)
    columns: dict[Recipe, int] = {random_attention: d_head, rank_one_attention: 1, shared_rank_one_attention: 1}
    return columns.get(recipe, d_model)


def _generic(
    shape: _Shape, generator: np.random.Generator, scale: float | None, *, d_qk: int
) -> tuple[Float64Array, ...]:
    # x has variance 1 + 1/4 per coordinate, so a score <x_S W_Q, x_s W_K> has variance (5/4)^2 d^2 d_qk size^4
    size = np.sqrt(_hardness(shape, scale) / (1.25 * shape.d_model * np.sqrt(d_qk)))
    maps = (shape.n_heads, shape.d_model, d_qk)
    # Uniform entries keep the embeddings apart in few dimensions better than Gaussian ones; positions of half the size
    # of tokens condition the features best.
    side = np.sqrt(3)
    return (
        bfloat16_rounded(generator.uniform(-side, side, (shape.d_vocab, shape.d_model))),
        bfloat16_rounded(generator.uniform(-side, side, (shape.n_ctx, shape.d_model)) / 2),
        bfloat16_rounded(size * generator.standard_normal(maps)),
        bfloat16_rounded(size * generator.standard_normal(maps)),
        _orthonormal_values(shape, generator),
    )


def _base2(shape: _Shape, generator: np.random.Generator, scale: float | None) -> tuple[Float64Array, ...]:
    d_model, n_heads = shape.d_model, shape.n_heads
    items = shape.d_vocab + shape.n_ctx
    largest = 1
    while (2 * largest + 1) ** d_model < 4 * items:
        largest += 1
    key = generator.integers(-(2**40), 2**40, d_model)
    embeddings = np.zeros((items, d_model), dtype=np.int64)
    for _ in range(_DRAWS):
        embeddings = generator.integers(-largest, largest + 1, (items, d_model))
        codes = embeddings @ key
        inputs = np.add.outer(codes[: shape.d_vocab], codes[shape.d_vocab :])
        if len(np.unique(inputs)) == inputs.size:  # no two of the vectors x_s coincide; few dimensions may not allow it
            break
    # Coordinates of x have variance 2 largest (largest + 1) / 3, so the score has that times the Frobenius norm of its
    # matrix as standard deviation, in bits: `density` entries of +-`size` reach it, or come as near as integers can.
    wanted = _hardness(shape, scale) / np.log(2) / (2 * largest * (largest + 1) / 3)
    size = max(1, round(wanted / d_model))
    density = min(1.0, (wanted / (size * d_model)) ** 2)
    kept = generator.random((n_heads, d_model, d_model)) < density
    row, column = generator.integers(d_model, size=(2, n_heads))
    kept[np.arange(n_heads), row, column] = True
    return (
        embeddings[: shape.d_vocab].astype(np.float64),
        embeddings[shape.d_vocab :].astype(np.float64),
        np.log(2) * (kept * (size * _signs(generator, kept.shape))),
        np.tile(np.eye(d_model), (n_heads, 1, 1)),
        _orthonormal_values(shape, generator),
    )


def _shared_rank_one(shape: _Shape, generator: np.random.Generator, scale: float | None) -> tuple[Float64Array, ...]:
    d_model, n_heads = shape.d_model, shape.n_heads
    W_E = generator.standard_normal((shape.d_vocab, d_model))
    W_pos = generator.standard_normal((shape.n_ctx, d_model))
    if d_model > 1:
        # u and v are the first two directions (one and the same for d = 1). A query u.x_S near 0 would leave attention
        # uniform in every head, so the share of the token is kept away from it.
        W_E[:, 0] = _signs(generator, (shape.d_vocab,)) * generator.uniform(1, 2, shape.d_vocab)
    # Geometrically spaced temperatures of both signs: the softmax is a sum of exponentials in lambda, which grids of
    # one scale hardly tell apart.
    hardness = _hardness(shape, scale)
    temperatures = np.geomspace(hardness / 80, hardness * 16, n_heads) * np.resize([1.0, -1.0], n_heads)
    W_Q = np.zeros((n_heads, d_model, 1))
    W_Q[:, 0, 0] = temperatures
    W_K = np.zeros((n_heads, d_model, 1))
    W_K[:, min(1, d_model - 1), 0] = 1
    return (
        bfloat16_rounded(W_E),
        bfloat16_rounded(W_pos),
        bfloat16_rounded(W_Q),
        W_K,
        _orthonormal_values(shape, generator),
    )


def _hardness(shape: _Shape, scale: float | None) -> float:
    if scale is None:
        return max(5.0, 80.0 / shape.d_model)
    _require_positive(scale)
    return scale


def _require_positive(scale: float) -> None:
    if not 0 < scale < np.inf:
        raise InputError("scale", f"= {scale}", "a positive number")


def _signs(generator: np.random.Generator, shape: tuple[int, ...]) -> Float64Array:
    return (2 * generator.integers(0, 2, shape) - 1).astype(np.float64)


def _orthonormal_values(shape: _Shape, generator: np.random.Generator) -> Float64Array:
    gaussian = generator.standard_normal((shape.n_heads, shape.d_model, shape.d_head))
    return bfloat16_rounded(np.linalg.qr(gaussian)[0])


def bfloat16_rounded(values: Float64Array) -> Float64Array:
    """Return the nearest numbers of as many significant bits as bfloat16 has.

    Example:
        >>> bfloat16_rounded(np.array([0.1, 3.0])).tolist()
        [0.10009765625, 3.0]
    """
    return rounded(values, "bfloat16")
