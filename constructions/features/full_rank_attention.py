"""Attention whose features have the largest possible rank: the heads of the repaired Lemma 2, well conditioned.

Page: docs/claims/full_rank_attention.md
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

from constructions.arrays import Float64Array
from constructions.errors import HypothesisError, InputError, require_at_least, require_one_of
from constructions.models.front_end import FrontEnd
from constructions.models.precision import rounded

FRONT_ENDS = ("auto", "table", "random", "base2", "rank-one", "shared-rank-one")

_DRAWS = 100
_TABLE_ENTRIES = 2**24  # "auto" takes no table whose W_Q would be larger than this


@dataclass(frozen=True)
class _Shape:
    d_vocab: int
    n_ctx: int
    d_model: int
    n_heads: int
    d_head: int


def front_end(
    kind: str,
    *,
    d_vocab: int,
    n_ctx: int,
    d_model: int,
    n_heads: int,
    d_head: int,
    seed: int | Sequence[int],
    scale: float | None = None,
) -> FrontEnd:
    r"""Draw embeddings and heads whose features have the generic rank, by one of five recipes.

    Outside a null set of weights the features $[X_S, Y]$ of a set of contexts have the largest rank that any weights
    can give them (Theorem G1), so a random draw is enough in theory; the recipes differ in how well conditioned the
    features are and in how few bits they need. All but ``base2`` are exactly representable in bfloat16.

    - ``table``: one-hot embeddings ($d \ge N + S$; half a one for positions), $W_K = I$ and $W_Q$ a table of random
      signs times `scale`, 4 by default: the score of a token is read off the table. $W_V$ holds random signs.
    - ``random``: uniform embeddings, Gaussian $W_Q, W_K$ with `d_qk = d_head`, orthonormal $W_V$; scores of standard
      deviation near `scale`, $\max(5, 80/d)$ by default: in few dimensions attention must be harder to tell contexts
      apart.
    - ``base2``: integer embeddings and integer score matrices times $\ln 2$, so that the attention weights of the
      unrounded construction are the rationals $2^k / \sum 2^{k'}$; `scale` as above, in nats.
    - ``rank-one``: $W_{QK}^h = u_h v_h^T$, `d_qk = 1`.
    - ``shared-rank-one``: $W_{QK}^h = \lambda_h u v^T$ with the same $u, v$ for all heads, the smallest family that
      still has the generic rank. Its features are badly conditioned: for some hundred contexts at most.
    - ``auto``: ``table`` where it fits, otherwise ``random``.

    Args:
        kind: The recipe, one of `FRONT_ENDS`.
        d_vocab: Number of tokens N.
        n_ctx: Context length S.
        d_model: Embedding dimension d.
        n_heads: Number of heads H.
        d_head: Dimension of the values, at most `d_model`.
        seed: Seed of the draw; equal arguments give equal bits.
        scale: Size of the scores in nats, see above.

    Returns:
        The front end.

    Raises:
        InputError: An unknown kind, a dimension below 1, `d_head > d_model`, or a scale that is not positive.
        HypothesisError: ``table`` with `d_model < d_vocab + n_ctx`.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2, as repaired by Theorem G1.

    Example:
        >>> weights = front_end("table", d_vocab=2, n_ctx=1, d_model=3, n_heads=1, d_head=1, seed=0)
        >>> weights.kind, weights.W_E.tolist(), weights.W_pos.tolist(), sorted(set(np.abs(weights.W_Q).flat))
        ('table', [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0.0, 0.0, 0.5]], [np.float64(4.0)])
    """
    require_one_of(FRONT_ENDS, front_end=kind)
    shape = _Shape(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads, d_head=d_head)
    require_at_least(1, **asdict(shape))
    if d_head > d_model:
        raise InputError("d_head", f"= {d_head}", f"at most d_model = {d_model}")
    if scale is not None and not 0 < scale < np.inf:
        raise InputError("scale", f"= {scale}", "a positive number")
    kind = resolved(kind, d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads)
    draw = _RECIPES[kind]
    return FrontEnd(kind, *draw(shape, np.random.default_rng(seed), scale))


def resolved(kind: str, *, d_vocab: int, n_ctx: int, d_model: int, n_heads: int) -> str:
    """The recipe that `kind` stands for: itself, or for ``"auto"`` the table where it fits and is not too large.

    Example:
        >>> resolved("auto", d_vocab=64, n_ctx=4, d_model=68, n_heads=80)
        'table'
        >>> resolved("auto", d_vocab=64, n_ctx=4, d_model=64, n_heads=80)
        'random'
    """
    if kind != "auto":
        return kind
    fits = d_model >= d_vocab + n_ctx and n_heads * d_model**2 <= _TABLE_ENTRIES
    return "table" if fits else "random"


def query_dimension(kind: str, *, d_model: int, d_head: int) -> int:
    """`d_qk` of a recipe (not of ``"auto"``).

    Example:
        >>> query_dimension("random", d_model=64, d_head=16), query_dimension("rank-one", d_model=64, d_head=16)
        (16, 1)
    """
    return {"table": d_model, "base2": d_model, "random": d_head, "rank-one": 1, "shared-rank-one": 1}[kind]


def _table(shape: _Shape, generator: np.random.Generator, scale: float | None) -> tuple[Float64Array, ...]:
    d_model, n_heads = shape.d_model, shape.n_heads
    if d_model < shape.d_vocab + shape.n_ctx:
        raise HypothesisError(
            "The table front end",
            f"d_model >= N + S = {shape.d_vocab + shape.n_ctx} for one-hot tokens and positions",
            f"d_model = {d_model}",
        )
    return (
        np.eye(shape.d_vocab, d_model),
        np.eye(shape.n_ctx, d_model, shape.d_vocab) / 2,
        (4.0 if scale is None else scale) * _signs(generator, (n_heads, d_model, d_model)),
        np.tile(np.eye(d_model), (n_heads, 1, 1)),
        _signs(generator, (n_heads, d_model, shape.d_head)),
    )


def _generic(
    shape: _Shape, generator: np.random.Generator, scale: float | None, *, d_qk: int | None = None
) -> tuple[Float64Array, ...]:
    d_qk = d_qk or shape.d_head
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
    return max(5.0, 80.0 / shape.d_model) if scale is None else scale


def _signs(generator: np.random.Generator, shape: tuple[int, ...]) -> Float64Array:
    return (2 * generator.integers(0, 2, shape) - 1).astype(np.float64)


def _orthonormal_values(shape: _Shape, generator: np.random.Generator) -> Float64Array:
    gaussian = generator.standard_normal((shape.n_heads, shape.d_model, shape.d_head))
    return bfloat16_rounded(np.linalg.qr(gaussian)[0])


def bfloat16_rounded(values: Float64Array) -> Float64Array:
    """The nearest numbers of as many significant bits as bfloat16 has.

    Example:
        >>> bfloat16_rounded(np.array([0.1, 3.0])).tolist()
        [0.10009765625, 3.0]
    """
    return rounded(values, "bfloat16")


_RECIPES: dict[str, Callable[[_Shape, np.random.Generator, float | None], tuple[Float64Array, ...]]] = {
    "table": _table,
    "random": _generic,
    "base2": _base2,
    "rank-one": partial(_generic, d_qk=1),
    "shared-rank-one": _shared_rank_one,
}
