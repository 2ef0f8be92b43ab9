"""Certify the condition on the queries that the memorization proof needs, and find an order that satisfies it.

Page: docs/claims/assumptions.md
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpz_mat, nmod_mat
from numpy.typing import ArrayLike

from constructions.errors import CapacityError, InputError, require_at_least
from constructions.numeric.arrays import Int64Array
from verify.linear_algebra.exact_rows import Relation, decide_independence, integer_rows
from verify.theorems.saturated_layers.kruskal_rank import PRIMES, eliminate, parallel_pair, projected
from verify.verdict import Verdict

Blocks = tuple[tuple[int, ...], ...]

_PRIME = 2**61 - 1
_SEARCHES = 4  # random orders


@dataclass(frozen=True)
class BlockCertificate:
    r"""Whether queries can be fitted block by block: those of a block independent, no earlier one in their span.

    Args:
        verdict: PROVED for `blocks`; REFUTED: `relation` violates it; UNDECIDED: no order was found, or no prime.
        blocks: The queries of each head, in the order in which the heads are built.
        method: The method of the decision, in words.
        relation: An exact relation between the queries of a block and at most one earlier query.
        any_order: Of a refutation: whether no order of the queries satisfies the condition.
    """

    verdict: Verdict
    blocks: Blocks
    method: str
    relation: Relation | None = None
    any_order: bool = False


def certify_blocks(
    queries: fmpz_mat | ArrayLike, blocks: Sequence[Sequence[int]], *, seed: int = 0
) -> BlockCertificate:
    r"""Decide exactly whether the queries of each block are independent and no earlier query is in their span.

    For a block B of b queries, let $v$ be a random vector modulo a prime with $\langle v, e_j \rangle = 0$ on B. If
    the block has rank b modulo the prime and $\langle v, e_t \rangle \ne 0$, then B and $e_t$ together have rank b + 1
    modulo the prime, hence over the rationals. Where that fails, the rows are looked at exactly. The work is
    polynomial: a null space and one product for each block.

    Args:
        queries: $e_t$, `[T, d]`, as `verify.linear_algebra.exact_rows.integer_rows` takes them.
        blocks: The numbers of the queries of each block, in order; every query once.
        seed: Seed of the vectors $v$; no verdict depends on it but for UNDECIDED.

    Returns:
        The certificate.

    Raises:
        InputError: Not a matrix of finite numbers, or blocks that are no partition.

    Source: beside Mahdavi, Liao, Thrampoulidis (2024), Assumption 1, as reconstructed.

    Example:
        >>> queries = [[1, 0], [0, 1], [0, 2]]
        >>> certify_blocks(queries, [(0, 1), (2,)]).relation
        Relation(rows=(1, 2), coefficients=(2, -1))
        >>> certify_blocks(queries[:2], [(0, 1)]).verdict
        <Verdict.PROVED: 'PROVED'>
    """
    matrix = integer_rows(queries, name="queries")
    count, width = matrix.nrows(), matrix.ncols()
    chosen = tuple(tuple(map(int, block)) for block in blocks)
    if sorted(t for block in chosen for t in block) != list(range(count)):
        raise InputError(f"blocks {chosen}", f"do not hold each of the {count} queries once")
    rng = np.random.default_rng([seed, 6])
    everything = nmod_mat(matrix, _PRIME)
    rows = everything.tolist()
    earlier: list[int] = []
    undecided = False
    for block in filter(None, chosen):
        part = nmod_mat(len(block), width, [entry for t in block for entry in rows[t]], _PRIME)
        basis, nullity = part.nullspace()
        draws = [int(x) for x in rng.integers(1, _PRIME, nullity)] + [0] * (width - nullity)
        products = (everything * (basis * nmod_mat(width, 1, draws, _PRIME))).entries()
        independent = width - nullity == len(block)
        doubtful = [t for t in earlier if not (independent and int(products[t]))]
        candidates = [*([] if independent else [block]), *((*block, t) for t in doubtful)]
        for candidate in candidates:
            decision = decide_independence(matrix, candidate)
            if decision.relation is not None:
                return BlockCertificate(Verdict.REFUTED, chosen, "an exact relation", decision.relation)
            undecided |= decision.verdict is Verdict.UNDECIDED
        earlier += block
    verdict = Verdict.UNDECIDED if undecided else Verdict.PROVED
    return BlockCertificate(verdict, chosen, "ranks modulo 2^61 - 1, for the blocks in this order")


def find_blocks(queries: fmpz_mat | ArrayLike, *, n_heads: int, size: int, seed: int = 0) -> BlockCertificate:
    """Certify blocks of the given order, or search for an order.

    If the given order fails, zero and parallel queries are looked for: any two queries are either in one block or the
    one is frozen while the other is fitted, so with them no order exists. Otherwise blocks are chosen from the last one
    backwards: a block may only be taken out if its span holds no other query that is left. Queries are added to it in a
    random order, and those that would draw another one into the span are skipped.

    Args:
        queries: $e_t$, `[T, d]`.
        n_heads: H, the number of blocks, some of which may be empty.
        size: How many queries the first block holds, r; every other holds r - 1.
        seed: Seed of the random orders.

    Returns:
        The certificate; it has been made by `certify_blocks`, however the blocks were found.

    Raises:
        InputError: Not a matrix of finite numbers, or a number below 1.
        CapacityError: T > H (r - 1) + 1.

    Source: beside Mahdavi, Liao, Thrampoulidis (2024), Assumption 1, as reconstructed.

    Example:
        >>> queries = [[0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 2, 3]]
        >>> certify_blocks(queries, [(0, 1, 2), (3, 4)]).verdict.value
        'PROVED'
        >>> certify_blocks(queries, [(0, 3, 4), (1, 2)]).verdict.value
        'REFUTED'
        >>> find_blocks([queries[t] for t in (0, 3, 4, 1, 2)], n_heads=2, size=3).verdict.value
        'PROVED'
    """
    matrix = integer_rows(queries, name="queries")
    count = matrix.nrows()
    require_at_least(1, n_heads=n_heads, size=size, T=count)
    if count > n_heads * (size - 1) + 1:
        raise CapacityError(
            "The block condition",
            f"T <= H (r - 1) + 1 = {n_heads * (size - 1) + 1}",
            f"T = {count} with H = {n_heads}, r = {size}",
            fewest_heads=-(-(count - 1) // (size - 1)) if size > 1 else None,
        )
    in_given_order = certify_blocks(matrix, consecutive_blocks(count, size), seed=seed)
    if in_given_order.verdict is not Verdict.REFUTED:
        return in_given_order
    pair = parallel_pair(matrix, seed=seed)
    if pair is not None:
        what = "a zero query" if len(pair.rows) == 1 else "parallel queries"
        return BlockCertificate(
            Verdict.REFUTED, in_given_order.blocks, f"{what}: no order exists", pair, any_order=True
        )
    prime = PRIMES[0]
    for attempt in range(_SEARCHES):
        rng = np.random.default_rng([seed, attempt, 7])
        blocks = _blocks_from_the_end(projected(matrix, size, prime, rng), n_heads, size, prime, rng)
        certificate = in_given_order if blocks is None else certify_blocks(matrix, blocks, seed=seed)
        if certificate.verdict is Verdict.PROVED:
            return BlockCertificate(
                Verdict.PROVED, certificate.blocks, "ranks modulo 2^61 - 1, in an order that was found"
            )
    return BlockCertificate(
        Verdict.UNDECIDED,
        in_given_order.blocks,
        f"the given order fails, and {_SEARCHES} searches found none",
        in_given_order.relation,
    )


def consecutive_blocks(count: int, size: int) -> Blocks:
    """Return the first `size` of `count` queries, then `size` - 1 at a time; the last block may be shorter.

    Args:
        count: T, at most `size` if `size` is 1.
        size: r.

    Returns:
        The blocks.

    Example:
        >>> consecutive_blocks(6, 3)
        ((0, 1, 2), (3, 4), (5,))
    """
    starts = [0, *range(size, count, max(1, size - 1))]
    return tuple(tuple(range(a, b)) for a, b in zip(starts, [*starts[1:], count], strict=True))


def _blocks_from_the_end(
    residues: Int64Array, n_heads: int, size: int, prime: int, rng: np.random.Generator
) -> Blocks | None:
    """Return blocks of at most the sizes allowed, modulo a prime, or `None` if this order of trials finds none."""
    left = np.arange(len(residues))
    blocks: list[tuple[int, ...]] = []
    while len(left) > size:
        if len(blocks) == n_heads - 1:
            return None
        block = _isolated_block(residues[left], size - 1, prime, rng)
        blocks.append(tuple(sorted(left[block].tolist())))
        left = np.delete(left, block)
    return (tuple(left.tolist()), *reversed(blocks))


def _isolated_block(residues: Int64Array, most: int, prime: int, rng: np.random.Generator) -> list[int]:
    """Return rows whose span contains no other row: as many as a random order of trials gives, at most `most`."""
    block: list[int] = []
    outside = np.ones(len(residues), dtype=bool)
    for row in rng.permutation(len(residues)).tolist():
        if len(block) == most or not residues.shape[1]:
            break
        tried = eliminate(residues, row, prime)
        others = outside.copy()
        others[row] = False
        if tried[others].any(axis=1).all():
            block, outside, residues = [*block, row], others, tried
    return block
