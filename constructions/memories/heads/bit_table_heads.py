"""Memorize a table of bits with heads: attention by drawn small powers of 2, and values by one linear program.

Page: docs/claims/heads_of_any_width.md
"""

from collections.abc import Sequence

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from constructions.errors import InputError, require_at_least
from constructions.memories.heads.counting_heads import bit_contexts
from constructions.model.exact_network import ExactFrontEnd, exact_network
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array

_LARGEST_EXPONENT = 3
_LEAST_LEAD = 1e-7  # of a linear program with entries and unknowns up to 1
_MOST_BITS = 48  # of the numerators


def bit_table_heads(labels: Sequence[int], *, n_heads: int, draws: int = 400, seed: int = 0) -> Model | None:
    r"""Search for H heads that memorize two labels of all contexts of n bits followed by 0, in rationals.

    Head h attends to the bit $b_s$ at position s with $2^{p_s + e b_s}$, to the last position with $2^{p_S}$, small
    integers drawn at random, $e \ne 0$. With values that depend on the position alone it writes $N_h / D_h$ for any
    affine function $N_h$ of the bits. Whether some $N_h$ give $\sum_h N_h / D_h$ the signs of the labels is a linear
    program; they are rounded to integers, which are tried without rounding.

    Args:
        labels: The label, 0 or 1, of each context in the order of `bit_contexts`, $2^n$ of them, $n \ge 1$.
        n_heads: $H$, at least 1.
        draws: How often to draw.
        seed: Seed of the draws.

    Returns:
        The rational model, $d = 2 H + 3$, `d_qk` = 2, $d_h$ = 1; `None` if no draw was good, which proves nothing.

    Raises:
        InputError: Other labels, or numbers below 1.

    Example:
        >>> from verify.forward.in_rationals import exact_network_logits
        >>> model = bit_table_heads([0, 1, 1, 0], n_heads=2)
        >>> [int(a < b) for a, b in exact_network_logits(model, bit_contexts(2)).tolist()]
        [0, 1, 1, 0]
        >>> bit_table_heads([0, 1, 1, 0], n_heads=1) is None
        True
    """
    n = len(labels).bit_length() - 1
    if n < 1 or len(labels) != 2**n or any(label not in (0, 1) for label in labels):
        raise InputError("labels", f"= {list(labels)}", "0 or 1 for each of 2^n contexts, n >= 1")
    require_at_least(1, n_heads=n_heads, draws=draws)
    rng, largest = np.random.default_rng(seed), _LARGEST_EXPONENT
    bits, signs = bit_contexts(n)[:, :-1], 1 - 2 * np.asarray(labels)
    for _ in range(draws):
        slopes = rng.choice([-1, 1], n_heads) * rng.integers(1, largest + 1, n_heads)
        places = rng.integers(-largest, largest + 1, (n_heads, n + 1))
        # Denominators times 2^(2 largest): integers.
        shifted = places[:, None, :] + 2 * largest + slopes[:, None, None] * bit_contexts(n)
        numerators = _affine_numerators(bits, signs, (2**shifted).sum(axis=2))
        if numerators is not None:
            return _network(slopes.tolist(), places.tolist(), numerators)
    return None


def _affine_numerators(bits: Int64Array, signs: Int64Array, denominators: Int64Array) -> list[list[int]] | None:
    """Return integers `[H, 1 + n]`: affine functions whose sum over the given denominators has these signs, or None."""
    import scipy.optimize

    affine = np.hstack([np.ones((len(bits), 1), dtype=np.int64), bits])
    columns = np.hstack([affine / row[:, None] for row in denominators])
    columns *= (signs / np.abs(columns).max(axis=1))[:, None]
    unknowns = columns.shape[1]
    program = scipy.optimize.linprog(
        np.append(np.zeros(unknowns), -1.0),
        A_ub=np.hstack([-columns, np.ones((len(bits), 1))]),
        b_ub=np.zeros(len(bits)),
        bounds=[(-1, 1)] * unknowns + [(None, 1)],
        method="highs-ds",
    )
    if not program.success or program.x[-1] < _LEAST_LEAD:
        return None
    for precision in range(1, _MOST_BITS):
        rounded = np.rint(np.ldexp(program.x[:-1], precision)).astype(np.int64).reshape(len(denominators), -1)
        if _has_signs(affine.astype(object) @ rounded.T.astype(object), denominators.T.astype(object), signs):
            return rounded.tolist()
    return None


def _has_signs(numerators: NDArray, denominators: NDArray, signs: Int64Array) -> bool:
    """Tell whether the sums of fractions with positive denominators have these signs, in Python integers."""
    heads = range(numerators.shape[1])
    other_products = [np.delete(denominators, h, axis=1).prod(axis=1) for h in heads]
    return bool(((sum(numerators[:, h] * other_products[h] for h in heads)) * signs > 0).all())


def _network(slopes: list[int], places: list[list[int]], numerators: list[list[int]]) -> Model:
    """Build the network; its coordinates are the bit, a flag of the last position, the output, and the scores and
    values of each head.
    """
    n_heads, n_ctx = len(slopes), len(places[0])
    d = 3 + 2 * n_heads
    W_pos = fmpq_mat(n_ctx, d)
    W_pos[n_ctx - 1, 1] = 1
    for h, (slope, place, (constant, *rises)) in enumerate(zip(slopes, places, numerators, strict=True)):
        attention = [fmpq(2) ** p for p in place]
        values = [rise / (weight * (fmpq(2) ** slope - 1)) for rise, weight in zip(rises, attention, strict=False)]
        left = constant - sum((a * v for a, v in zip(attention, values, strict=False)), fmpq(0))
        for s, (p, v) in enumerate(zip(place, [*values, left / attention[-1]], strict=True)):
            W_pos[s, 3 + 2 * h], W_pos[s, 4 + 2 * h] = p, v
    front_end = ExactFrontEnd(
        W_E=_sparse(2, d, {(1, 0): 1}),
        W_pos=W_pos,
        W_Q=tuple(_sparse(d, 2, {(1, 0): slope, (1, 1): 1}) for slope in slopes),
        W_K=tuple(_sparse(d, 2, {(0, 0): 1, (3 + 2 * h, 1): 1}) for h in range(n_heads)),
        W_V=tuple(_sparse(d, 1, {(4 + 2 * h, 0): 1}) for h in range(n_heads)),
    )
    return exact_network(front_end, [_sparse(1, d, {(0, 2): 1})] * n_heads, _sparse(d, 2, {(2, 0): 1, (2, 1): -1}))


def _sparse(rows: int, columns: int, entries: dict[tuple[int, int], int]) -> fmpq_mat:
    matrix = fmpq_mat(rows, columns)
    for place, entry in entries.items():
        matrix[place] = entry
    return matrix
