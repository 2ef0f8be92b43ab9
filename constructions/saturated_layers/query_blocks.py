"""Assign examples to heads, and check the condition on the queries under which each head can fit its block.

Page: docs/claims/saturated_heads.md
"""

from collections.abc import Iterable, Sequence

import numpy as np
from flint import nmod_mat

from constructions.counted import counted
from constructions.errors import CapacityError, HypothesisError, InputError, require_at_least
from constructions.model.exact_network import as_rationals
from constructions.numeric.arrays import Float64Array

_PRIME = 2**62 - 57

_SIZES = 2.0**-256, 2.0**256  # products of three entries, and their inverses, are far within float64


def query_blocks(n_examples: int, n_heads: int, size: int) -> tuple[range, ...]:
    r"""Return the examples of each head: `size` for the first, one fewer for each later head.

    The last block may be shorter, and heads that are not needed have none.

    Args:
        n_examples: T, at least 1.
        n_heads: H, at least 1.
        size: How many examples a head can fit, b: $n$ for heads of one direction, $\min(n, d_h)$ for the paper's.

    Returns:
        H ranges of consecutive examples that together are 0 .. T - 1.

    Raises:
        InputError: A number below 1.
        CapacityError: T > H (b - 1) + 1; names the fewest heads that are enough.

    Source: Mahdavi, Liao, Thrampoulidis (2024), proof of Proposition 1.

    Example:
        >>> query_blocks(6, 4, 3)
        (range(0, 3), range(3, 5), range(5, 6), range(6, 6))
    """
    require_at_least(1, n_examples=n_examples, n_heads=n_heads, size=size)
    if n_examples > n_heads * (size - 1) + 1:
        fewest = -(-(n_examples - 1) // (size - 1)) if size > 1 else None
        enough = "" if fewest is None else f"; {counted(fewest, 'head')} suffice"
        raise CapacityError(
            "The block construction",
            f"T <= H (b - 1) + 1 = {n_heads * (size - 1) + 1} with at most b = {size} examples a head",
            f"T = {n_examples}, H = {n_heads}{enough}",
            fewest_heads=fewest,
        )
    ends = [min(n_examples, (head + 1) * (size - 1) + 1) for head in range(n_heads)]
    return tuple(range(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True))


def block_violation(queries: Float64Array, blocks: Sequence[range]) -> str | None:
    r"""Describe a violation of the block condition, under which one head fits a block and freezes the earlier examples;
    None if it holds.

    The condition: the queries of a block are linearly independent, and no query of an earlier block is in their span.
    It follows from Assumption 1 (any n queries are independent), and is weaker. With a random vector $v$ of the
    integers modulo a prime that is orthogonal to the block, $\langle v, e_t \rangle \ne 0$ shows that $e_t$ is outside
    of the span; where that fails, the ranks over the rationals decide.

    Why it is exact: independence modulo a prime implies independence over the rationals, and floats are rationals.

    Args:
        queries: $e_t$, `[T, d]`.
        blocks: Ranges of examples, in order.

    Returns:
        `None` if the condition holds, else the first violation in words.

    Raises:
        InputError: Queries that are not finite `[T, d]` numbers.

    Source: beside Mahdavi, Liao, Thrampoulidis (2024), Assumption 1, as reconstructed.

    Example:
        >>> line = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
        >>> block_violation(line, query_blocks(2, 1, 2)) is None
        True
        >>> block_violation(line, query_blocks(3, 2, 2))
        'query 1 is in the span of the queries 2 .. 2'
    """
    array = np.asarray(queries, dtype=np.float64)
    if array.ndim != 2 or not np.isfinite(array).all():
        raise InputError("queries", f"has shape {array.shape}", "finite numbers [T, d]")
    rows = [_residues(row) for row in array]
    everything = nmod_mat(len(array), array.shape[1], [entry for row in rows for entry in row], _PRIME)
    rng = np.random.default_rng(0)
    for block in blocks:
        if not len(block):
            continue
        independent, outside = _modulo_prime(rows, everything, block, rng)
        if not independent and _rank(array, block) < len(block):
            return f"the queries {block[0]} .. {block[-1]} are linearly dependent"
        for t in range(block.start):
            if not (independent and outside[t]) and _rank(array, [*block, t]) == len(block):
                return f"query {t} is in the span of the queries {block[0]} .. {block[-1]}"
    return None


def require_examples(contexts: Float64Array, queries: Float64Array) -> None:
    """Refuse contexts and queries that do not fit each other, are not finite, or are too large or too small.

    Args:
        contexts: `[T, n, d]` or `[1, n, d]`.
        queries: `[T, d]`.

    Raises:
        InputError: Names the argument and what is expected.

    Example:
        >>> require_examples(np.ones((2, 3, 4)), np.ones((5, 4)))
        Traceback (most recent call last):
        ...
        constructions.errors.InputError: contexts has shape (2, 3, 4), expected [5 or 1, n, 4], n >= 1
    """
    if queries.ndim != 2 or 0 in queries.shape:
        raise InputError("queries", f"has shape {queries.shape}", "[T, d], T >= 1, d >= 1")
    examples, d_model = queries.shape
    if (
        contexts.ndim != 3
        or len(contexts) not in (1, examples)
        or contexts.shape[2] != d_model
        or not contexts.shape[1]
    ):
        raise InputError("contexts", f"has shape {contexts.shape}", f"[{examples} or 1, n, {d_model}], n >= 1")
    for name, values in (("contexts", contexts), ("queries", queries)):
        if not np.isfinite(values).all():
            raise InputError(name, "has an entry that is not finite")
        largest, (low, high) = float(np.abs(values).max()), _SIZES
        if largest > 0 and not low <= largest <= high:
            raise InputError(name, f"has the largest entry {largest:.3g}", f"{low:.3g} to {high:.3g}: scale all alike")


def require_blocks(claim: str, queries: Float64Array, blocks: Sequence[range]) -> None:
    """Refuse queries that violate the condition of `block_violation`.

    Args:
        claim: Who needs it, for the message.
        queries: `[T, d]`.
        blocks: Ranges of examples.

    Raises:
        HypothesisError: Names the claim and the first violation.

    Example:
        >>> require_blocks("Theorem Z1", np.zeros((1, 2)), query_blocks(1, 1, 1))
        Traceback (most recent call last):
        ...
        constructions.errors.HypothesisError: Theorem Z1 needs independent queries in each block, earlier ones outside \
of their span, but the queries 0 .. 0 are linearly dependent
    """
    violation = block_violation(queries, blocks)
    if violation is not None:
        hypothesis = "independent queries in each block, earlier ones outside of their span"
        raise HypothesisError(claim, hypothesis, violation)


def _modulo_prime(
    rows: list[list[int]], everything: nmod_mat, block: range, rng: np.random.Generator
) -> tuple[bool, list[bool]]:
    """Tell whether the block is independent modulo the prime, and which queries are provably outside of its span."""
    d_model = everything.ncols()
    matrix = nmod_mat(len(block), d_model, [entry for t in block for entry in rows[t]], _PRIME)
    basis, nullity = matrix.nullspace()
    draw = [int(x) for x in rng.integers(1, _PRIME, nullity)] + [0] * (basis.ncols() - nullity)
    products = everything * (basis * nmod_mat(basis.ncols(), 1, draw, _PRIME))
    return d_model - nullity == len(block), [int(entry) != 0 for entry in products.entries()]


def _residues(row: Float64Array) -> list[int]:
    """Return a nonzero multiple of the row modulo the prime, which has the same span."""
    fractions, exponents = np.frexp(row)
    least = int(exponents.min(initial=0))
    integers = np.ldexp(fractions, 53).astype(np.int64).tolist()
    powers = {int(e): pow(2, int(e) - least, _PRIME) for e in np.unique(exponents)}
    return [m * powers[int(e)] % _PRIME for m, e in zip(integers, exponents, strict=True)]


def _rank(queries: Float64Array, chosen: Iterable[int]) -> int:
    return as_rationals(queries[list(chosen)]).rank()
