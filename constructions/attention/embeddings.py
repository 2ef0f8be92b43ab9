"""Build explicit weights in general position: roots of primes, Kronecker's powers, and small integers.

Lemma 3 of the paper asks for positive numbers at which no nonzero polynomial with integer coefficients vanishes. Less
is enough for the largest rank that attention features can have, and that much can be written down.

Page: docs/claims/generic_embeddings.md
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq_mat

from constructions.errors import HypothesisError, InputError, require_at_least
from constructions.model.exact_network import ExactFrontEnd, as_rationals
from constructions.model.front_end import FrontEnd
from constructions.numeric.arrays import Float64Array, Int64Array

_MULTIPLES_A_HEAD = 3  # "shared-rank-one" draws the H multiples of u v^T from 1 .. 3 H


@dataclass(frozen=True, eq=False)
class PrimeRoots:
    r"""Attention parameters that are roots of distinct primes, stored as the primes.

    The weight at a place is the positive `order`-th root of the prime at that place. All heads look at one product:
    $W_Q^h = \lambda_h e_1^\top$ and $W_K^h = e_2^\top$, so that the score of $x_s$ is $\lambda_h x_{S,1} x_{s,2}$.

    Args:
        order: Order of the roots; 2 for square roots.
        W_E: Primes of the embeddings, `[N, d]`.
        W_pos: Primes of the positional embeddings, `[S, d]`.
        W_V: Primes of the values, `[H, d, d_h]`.
        multiples: Primes of the $\lambda_h$, `[H]`.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 3, made explicit.
    """

    order: int
    W_E: Int64Array
    W_pos: Int64Array
    W_V: Int64Array
    multiples: Int64Array

    def rounded(self) -> FrontEnd:
        """Return the attention parameters in float64, each root rounded; the kind is ``"shared-rank-one"``, badly
        conditioned.
        """
        n_heads, d_model = len(self.multiples), self.W_E.shape[1]
        W_Q, W_K = np.zeros((n_heads, d_model, 1)), np.zeros((n_heads, d_model, 1))
        W_Q[:, 0, 0], W_K[:, 1, 0] = self._roots(self.multiples), 1.0
        return FrontEnd(
            "shared-rank-one", self._roots(self.W_E), self._roots(self.W_pos), W_Q, W_K, self._roots(self.W_V)
        )

    def _roots(self, primes: Int64Array) -> Float64Array:
        return primes.astype(np.float64) ** (1.0 / self.order)


def prime_root_front_end(
    *, d_vocab: int, n_ctx: int, d_model: int, n_heads: int, d_head: int, order: int = 2
) -> PrimeRoots:
    r"""Write down weights whose features have the largest rank that any weights reach: roots of distinct primes.

    With $W^h = \lambda_h e_1^\top e_2$, the exponents of the attention are linearly independent over $\mathbb{Q}$
    (Besicovitch), so their exponentials are algebraically independent (Lindemann, Weierstrass) and the rank is that of
    free attention weights, for these embeddings and values. If `order` exceeds the number of contexts, no embeddings
    and values do better: the rank is the generic one for every set of this many contexts. Square roots are enough for
    contexts of two tokens.

    Args:
        d_vocab: Number of tokens, N.
        n_ctx: Context length, S.
        d_model: Width of the residual stream, d, at least 2.
        n_heads: Number of heads, H; may be 0.
        d_head: Width of a head, at most `d_model`.
        order: Order of the roots, at least 2.

    Returns:
        The first primes, in the order W_E, W_pos, W_V, multiples.

    Raises:
        InputError: A size out of range; names it.
        HypothesisError: `d_model` = 1, where the exponents are linearly dependent.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 3, made explicit.

    Example:
        >>> weights = prime_root_front_end(d_vocab=2, n_ctx=1, d_model=2, n_heads=1, d_head=1)
        >>> weights.W_E.tolist(), weights.W_pos.tolist(), weights.W_V.tolist(), weights.multiples.tolist()
        ([[2, 3], [5, 7]], [[11, 13]], [[[17], [19]]], [23])
        >>> weights.rounded().W_E[0, 0]
        np.float64(1.4142135623730951)
    """
    _check_sizes(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads, d_head=d_head)
    _require_two_coordinates("roots of primes", d_model)
    require_at_least(2, order=order)
    shapes = [(d_vocab, d_model), (n_ctx, d_model), (n_heads, d_model, d_head), (n_heads,)]
    sizes = [math.prod(shape) for shape in shapes]
    parts = np.split(first_primes(sum(sizes)), np.cumsum(sizes)[:-1])
    return PrimeRoots(order, *(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)))


def first_primes(count: int) -> Int64Array:
    """Return the first prime numbers, by the sieve of Eratosthenes: `[count]`.

    Args:
        count: How many.

    Returns:
        The primes, increasing.

    Raises:
        InputError: A negative count.

    Example:
        >>> first_primes(6)
        array([ 2,  3,  5,  7, 11, 13])
    """
    require_at_least(0, count=count)
    # The k-th prime is below k (ln k + ln ln k) for k >= 6 (Rosser).
    limit = 13 if count < 6 else math.ceil(count * (math.log(count) + math.log(math.log(count))))
    prime = np.ones(limit + 1, dtype=bool)
    prime[:2] = False
    for factor in range(2, math.isqrt(limit) + 1):
        prime[factor * factor :: factor] &= not prime[factor]
    return np.flatnonzero(prime)[:count].astype(np.int64)


def integer_attention(
    *, d_vocab: int, n_ctx: int, d_model: int, n_heads: int, d_head: int, seed: int, largest: int = 5
) -> ExactFrontEnd:
    r"""Draw attention with small integers: $W_Q$ is drawn and $W_K = I$, `d_qk = d_model`.

    Scores are meant as integer multiples of $\ln 2$, so that all attention is rational. Small integers are not in
    general position by themselves, but almost always far enough from special position; the exact rank tells, see
    `drawn_until`.

    Args:
        d_vocab: Number of tokens, N.
        n_ctx: Context length, S.
        d_model: Width of the residual stream, d.
        n_heads: Number of heads, H; may be 0.
        d_head: Width of a head, at most `d_model`.
        seed: Seed of the draw.
        largest: Largest absolute value of an entry.

    Returns:
        The front end; exact.

    Raises:
        InputError: A size or a seed out of range; names it.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 3, made rational.

    Example:
        >>> integer_attention(d_vocab=2, n_ctx=1, d_model=2, n_heads=1, d_head=2, seed=0).W_K[0]
        [1, 0]
        [0, 1]
    """
    drawn = _Integers(d_vocab, n_ctx, d_model, n_heads, d_head, seed, largest)
    W_Q = [drawn.matrix(d_model) for _ in range(n_heads)]
    return drawn.front_end(W_Q, [as_rationals(np.eye(d_model, dtype=np.int64))] * n_heads)


def rank_one_integer_attention(
    *, d_vocab: int, n_ctx: int, d_model: int, n_heads: int, d_head: int, seed: int, largest: int = 5
) -> ExactFrontEnd:
    """Draw attention of small integers, like `integer_attention`, with $W_Q, W_K$ of one column: `d_qk = 1`.

    Args:
        d_vocab: Number of tokens, N.
        n_ctx: Context length, S.
        d_model: Width of the residual stream, d.
        n_heads: Number of heads, H; may be 0.
        d_head: Width of a head, at most `d_model`.
        seed: Seed of the draw.
        largest: Largest absolute value of an entry.

    Returns:
        The front end; exact.

    Raises:
        InputError: A size or a seed out of range; names it.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 3, made rational.

    Example:
        >>> front_end = rank_one_integer_attention(d_vocab=2, n_ctx=1, d_model=2, n_heads=1, d_head=2, seed=0)
        >>> front_end.W_E, front_end.W_Q[0].ncols()
        ([4,  2]
        [0, -3], 1)
    """
    drawn = _Integers(d_vocab, n_ctx, d_model, n_heads, d_head, seed, largest)
    W_Q, W_K = ([drawn.matrix(1) for _ in range(n_heads)] for _ in range(2))
    return drawn.front_end(W_Q, W_K)


def shared_rank_one_integer_attention(
    *, d_vocab: int, n_ctx: int, d_model: int, n_heads: int, d_head: int, seed: int, largest: int = 5
) -> ExactFrontEnd:
    r"""Draw attention with small integers, like `integer_attention`, with $W^h = \lambda_h u v^\top$, `d_qk = 1`.

    All heads have the same $u, v$, and distinct integers $\lambda_h$.

    Args:
        d_vocab: Number of tokens, N.
        n_ctx: Context length, S.
        d_model: Width of the residual stream, d.
        n_heads: Number of heads, H; may be 0.
        d_head: Width of a head, at most `d_model`.
        seed: Seed of the draw.
        largest: Largest absolute value of an entry; of W_Q, before it is
            multiplied by $\lambda_h \le 3 H$.

    Returns:
        The front end; exact.

    Raises:
        InputError: A size or a seed out of range; names it.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 3, made rational.

    Example:
        >>> sizes = dict(d_vocab=2, n_ctx=1, d_model=2, n_heads=2, d_head=2)
        >>> front_end = shared_rank_one_integer_attention(**sizes, seed=0)
        >>> front_end.W_K[0] == front_end.W_K[1], front_end.W_Q[0] == front_end.W_Q[1]
        (True, False)
    """
    drawn = _Integers(d_vocab, n_ctx, d_model, n_heads, d_head, seed, largest)
    u, v = (drawn.matrix(1) for _ in range(2))
    multiples = np.arange(0)
    if n_heads:
        multiples = 1 + drawn.generator.choice(_MULTIPLES_A_HEAD * n_heads, n_heads, replace=False)
    return drawn.front_end([u * multiple for multiple in multiples.tolist()], [v] * n_heads)


INTEGER_ATTENTION = {
    "full": integer_attention,
    "rank-one": rank_one_integer_attention,
    "shared-rank-one": shared_rank_one_integer_attention,
}
"""The families of integer weights, by the names that evidence has for them."""


class _Integers:
    """Embeddings and values of small integers, and a generator for the queries and keys."""

    def __init__(
        self, d_vocab: int, n_ctx: int, d_model: int, n_heads: int, d_head: int, seed: int, largest: int
    ) -> None:
        _check_sizes(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads, d_head=d_head)
        if largest < 1 or seed < 0:
            raise InputError("largest", f"= {largest} and seed = {seed}", "largest >= 1 and seed >= 0")
        self.generator = np.random.default_rng(seed)
        self._largest, self._d_model = largest, d_model
        self._W_E, self._W_pos = self._draw(d_vocab, d_model), self._draw(n_ctx, d_model)
        self._W_V = tuple(self.matrix(d_head) for _ in range(n_heads))

    def matrix(self, columns: int) -> fmpq_mat:
        """Return integers of full rank, `[d_model, columns]`."""
        return _of_full_rank(lambda: self._draw(self._d_model, columns))

    def front_end(self, W_Q: Sequence[fmpq_mat], W_K: Sequence[fmpq_mat]) -> ExactFrontEnd:
        return ExactFrontEnd(self._W_E, self._W_pos, tuple(W_Q), tuple(W_K), self._W_V)

    def _draw(self, rows: int, columns: int) -> fmpq_mat:
        return as_rationals(self.generator.integers(-self._largest, self._largest + 1, (rows, columns)))


def drawn_until(
    draw: Callable[[int], ExactFrontEnd], *, rank: Callable[[ExactFrontEnd], int], target: int, attempts: int = 20
) -> ExactFrontEnd:
    """Draw with one seed after another until the features have the requested rank.

    Args:
        draw: A front end for each seed.
        rank: The rank of the features that matter, of a front end.
        target: The rank to reach.
        attempts: How many seeds, from 0.

    Returns:
        The first front end that reaches it.

    Raises:
        HypothesisError: None did.

    Example:
        >>> sizes = dict(d_vocab=2, n_ctx=2, d_model=2, n_heads=1, d_head=2)
        >>> draw = lambda seed: integer_attention(seed=seed, **sizes)
        >>> drawn_until(draw, rank=lambda front_end: front_end.W_E.rank(), target=2).W_E.rank()
        2
    """
    ranks = []
    for seed in range(attempts):
        front_end = draw(seed)
        ranks.append(rank(front_end))
        if ranks[-1] >= target:
            return front_end
    raise HypothesisError("a front end of small integers", f"features of rank {target}", f"the draws gave {ranks}")


def kronecker_front_end(
    *, d_vocab: int, n_ctx: int, d_model: int, n_heads: int, d_head: int, n_contexts: int, seed: int = 0
) -> ExactFrontEnd:
    r"""Write down integers whose features have, for their embeddings and values, the rank of free attention weights.

    Kronecker's substitution: with $b = T + 1$ and $c, n, s, h$ counted from 0, coordinate 1 of $x_{S,c}$ is
    $b^{(N+S) c}$, coordinate 2 of W_E[n] is $b^n$ and that of W_pos[s] is $b^{N+s}$, and $W^h = \lambda_h e_1^\top e_2$
    with $\lambda_h = L \, b^{(N+S) N h}$ in units of $\ln 2$. A minor of at most T rows becomes
    $\sum_K c_K 2^{L K}$ with different K for different monomials, and L is so large that
    $2^L \ge T! \, (S^H m)^T \ge \sum_K |c_K|$, where $m$ is the largest absolute value of an entry of $x_{S,c}$ or of
    $x_{s,n} W_V^h$, or 1. The other coordinates and the values are small random integers.

    The scores are astronomical. Ranks over prime fields can be computed all the same, exact features hardly.

    Args:
        d_vocab: Number of tokens, N.
        n_ctx: Context length, S.
        d_model: Width of the residual stream, d, at least 2.
        n_heads: Number of heads, H; may be 0.
        d_head: Width of a head, at most `d_model`.
        n_contexts: The largest number of contexts, T.
        seed: Seed of the other coordinates and the values.

    Returns:
        The front end; exact.

    Raises:
        InputError: A size out of range; names it.
        HypothesisError: `d_model` = 1, where there are no two coordinates.

    Source: Kronecker's substitution; makes Dana, Pydi, Chevaleyre (2024), Lemma 3, rational.

    Example:
        >>> weights = kronecker_front_end(d_vocab=2, n_ctx=1, d_model=2, n_heads=1, d_head=1, n_contexts=2)
        >>> weights.W_E, weights.W_pos
        ([ 1, 1]
        [27, 3], [0, 9])
        >>> weights.W_Q[0]
        [14]
        [ 0]
    """
    _check_sizes(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads, d_head=d_head)
    _require_two_coordinates("Kronecker's substitution", d_model)
    require_at_least(1, n_contexts=n_contexts)
    rng = np.random.default_rng(seed)

    def draw(rows: int, columns: int) -> list[list[int]]:
        return rng.integers(-3, 4, (rows, columns)).tolist()

    base, step = n_contexts + 1, d_vocab + n_ctx
    tokens = [[base ** (step * n), base**n, *rest] for n, rest in enumerate(draw(d_vocab, d_model - 2))]
    # Coordinate 1 of the last position is 0; those of the others do not matter, and are distinct.
    positions = [[n_ctx - 1 - s, base ** (d_vocab + s), *rest] for s, rest in enumerate(draw(n_ctx, d_model - 2))]
    W_E, W_pos = as_rationals(tokens), as_rationals(positions)
    W_V = tuple(_of_full_rank(lambda: as_rationals(draw(d_model, d_head))) for _ in range(n_heads))

    inputs = as_rationals([[a + b for a, b in zip(x, y, strict=True)] for y in positions for x in tokens])
    read = [*inputs.entries(), *(entry for values in W_V for entry in (inputs * values).entries())]
    largest = max(1, *(abs(int(entry.p)) for entry in read))
    coefficients = math.factorial(n_contexts) * (n_ctx**n_heads * largest) ** n_contexts
    spacing = (coefficients - 1).bit_length()
    first = as_rationals([[1], *[[0]] * (d_model - 1)])
    second = as_rationals([[0], [1], *[[0]] * (d_model - 2)])
    W_Q = tuple(first * (spacing * base ** (step * d_vocab * head)) for head in range(n_heads))
    return ExactFrontEnd(W_E, W_pos, W_Q, (second,) * n_heads, W_V)


def _of_full_rank(draw: Callable[[], fmpq_mat]) -> fmpq_mat:
    """Return the first matrix drawn that has full rank: a singular W_V or a query of zero wastes its head."""
    while True:
        matrix = draw()
        if matrix.rank() == matrix.ncols():
            return matrix


def _check_sizes(*, d_vocab: int, n_ctx: int, d_model: int, n_heads: int, d_head: int) -> None:
    require_at_least(1, d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, d_head=d_head)
    if d_head > d_model:
        raise InputError("d_head", f"= {d_head}", f"at most d_model = {d_model}")
    require_at_least(0, n_heads=n_heads)


def _require_two_coordinates(claim: str, d_model: int) -> None:
    if d_model < 2:
        raise HypothesisError(claim, "d_model >= 2", str(d_model))
