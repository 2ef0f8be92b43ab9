"""Bound the dimension of the logits of one attention layer from both sides: a formula, and a rank modulo a prime.

Page: docs/claims/layer_dimension.md
"""

import numpy as np
from flint import nmod_mat

from constructions.errors import InputError, ResourceError, require_at_least
from constructions.numeric.arrays import Int64Array
from constructions.tasks.contexts import checked_contexts

PRIME = 33554393
"""Below 2^25: sums of 2^13 products of residues fit into 64 bits."""

_MOST_ENTRIES = 2**25  # of the Jacobian


def dimension_ceiling(
    d_vocab: int,
    n_ctx: int,
    *,
    d_model: int,
    d_qk: int,
    d_head: int,
    n_heads: int,
    contexts: Int64Array | None = None,
) -> int:
    r"""Bound the dimension of the logits of one layer on contexts from above, for all weights.

    The dimension is the largest rank of the Jacobian of the logits, each row of which counts modulo a shift, with
    respect to all weights: the bound is the least of those of Theorem I1.

    Args:
        d_vocab: Size of the vocabulary N.
        n_ctx: Length of the contexts S, at least 2.
        d_model: Width of the residual stream, $d$.
        d_qk: Width of queries and keys.
        d_head: Width of values, $d_h$.
        n_heads: Number of heads, $H$.
        contexts: Pairwise distinct contexts, `[T, S]`; by default all $N^S$.

    Returns:
        The bound.

    Raises:
        InputError: Sizes that fit no model, or contexts of one token.

    Example:
        >>> dimension_ceiling(4, 2, d_model=4, d_qk=4, d_head=2, n_heads=1)
        37
    """
    require_at_least(1, d_vocab=d_vocab, d_model=d_model, d_qk=d_qk, d_head=d_head)
    require_at_least(2, n_ctx=n_ctx)
    require_at_least(0, n_heads=n_heads)
    N, d, H, count, ends = d_vocab, d_model, n_heads, d_vocab**n_ctx, d_vocab
    if contexts is not None:
        checked = checked_contexts(contexts, distinct=True)
        if checked.shape[1] != n_ctx or checked.max() >= N:
            raise InputError("contexts", f"are {checked.shape} with tokens to {checked.max()}", f"S = {n_ctx}, N = {N}")
        count, ends = len(checked), len(np.unique(checked[:, -1]))
    r, e = min(d_qk, d, N), min(d_head, d, N - 1)
    of_last, of_others = N - 1 + H * r, H * (r + e)
    outputs = H * e * min(d, N - 1) - H * (r * r + e * e)
    bounds = [count * (N - 1)]
    if d < min(N - 1, count):
        bounds.append(d * (count + N - 1 - d))
    if H * e <= min(N - 1, count - ends):
        bounds.append(ends * (N - 1) + H * e * (count - ends + N - 1 - H * e))
    if d < N:
        k = min(d, of_last + of_others)
        bounds.append(k * (N + of_last + of_others - k) + (n_ctx - 1) * min(d, of_others) + outputs)
    else:
        q = min(d, N + n_ctx - 2, of_others)
        bounds.append(N * of_last + q * (N + n_ctx - 2 + of_others - q) + outputs)
        if n_ctx == 2 and r == N and H <= N * N:
            bounds.append(bounds[-1] - (H * H if e == N - 1 else H))
    return min(bounds)


def dimension_floor(contexts: Int64Array, *, d_model: int, d_qk: int, d_head: int, n_heads: int, seed: int = 0) -> int:
    r"""Bound the dimension of the logits of one layer on given contexts from below, by a rank modulo a prime.

    The Jacobian of the logits, modulo a shift of each row, is a matrix of rational functions of the weights and of the
    exponentials $\varphi^h_{c,n}$, $\psi^h_{c,s}$ of the scores. These exponents are polynomials without a linear
    relation over the rationals (for d = 1 they are sums of monomials that have none), so the exponentials are
    algebraically independent of each other and of the weights (Ax 1971): the generic rank is that over independent
    variables, and at residues modulo a prime it is no larger.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`; the tokens are 0, ..., the largest.
        d_model: $d$.
        d_qk: Width of queries and keys.
        d_head: $d_h$.
        n_heads: $H$.
        seed: Seed of the residues.

    Returns:
        The rank, which some weights reach.

    Raises:
        InputError: Contexts that are not distinct rows of tokens, or sizes that fit no model.
        ResourceError: A Jacobian of more than 2^25 entries.

    Source: Ax (1971), Theorem 3.

    Example:
        >>> from constructions.tasks.arrays import all_contexts
        >>> dimension_floor(all_contexts(4, 2), d_model=4, d_qk=4, d_head=2, n_heads=1)
        37
    """
    contexts = checked_contexts(contexts, distinct=True)
    require_at_least(1, d_model=d_model, d_qk=d_qk, d_head=d_head)
    require_at_least(0, n_heads=n_heads)
    d_vocab, n_ctx = int(contexts.max()) + 1, contexts.shape[1]
    if d_vocab == 1:
        return 0
    rows, columns = len(contexts) * d_vocab, d_model * (2 * d_vocab + n_ctx + 2 * n_heads * (d_qk + d_head))
    if rows * columns > _MOST_ENTRIES:
        raise ResourceError(f"the Jacobian has {rows} x {columns} entries, at most 2^25 are allowed")
    jacobian = _jacobian(contexts, d_vocab, d_model, d_qk, d_head, n_heads, np.random.default_rng(seed))
    return int(nmod_mat(len(jacobian), jacobian.shape[1], jacobian.ravel().tolist(), PRIME).rank())


def _jacobian(
    contexts: Int64Array, N: int, d: int, d_qk: int, d_head: int, H: int, rng: np.random.Generator
) -> Int64Array:
    """Return the derivatives of the logits minus the first one at random residues, `[T (N - 1), entries of all
    weights]`.
    """
    (T, S), K = contexts.shape, N - 1

    def residues(*shape: int) -> Int64Array:
        return rng.integers(1, PRIME, shape)

    W_E, W_pos, W_U = residues(N, d), residues(S, d), residues(d, K)
    x = (W_E[contexts] + W_pos) % PRIME  # [T, S, d]
    last = x[:, -1]
    by_input = np.zeros((T, K, S, d), dtype=np.int64)  # what a change of x does to the logits
    by_input[:, :, -1] += W_U.T
    stream, blocks = last.copy(), []
    for _ in range(H):
        W_Q, W_K, W_V, W_O = residues(d, d_qk), residues(d, d_qk), residues(d, d_head), residues(d_head, d)
        by_pair, by_place = _exponentials(N, S, d, rng)
        y = by_place[contexts[:, -1]] * by_pair[contexts[:, -1:], contexts] % PRIME
        totals = [pow(int(total), -1, PRIME) for total in y.sum(axis=1) % PRIME]
        attention = y * np.array(totals)[:, None] % PRIME
        mean = _product("ts,tsi->ti", attention, x)
        read, bilinear = _product("ij,jn->in", W_O, W_U), _product("ij,kj->ik", W_Q, W_K)
        written = _product("ij,jn->in", W_V, read)  # from an input to the logits
        by_score = _product("tsi,in->tns", (x - mean[:, None]) % PRIME, written) * attention[:, None] % PRIME
        of_keys = _product("tns,tsi->tni", by_score, x)
        by_input += attention[:, None, :, None] * written.T[None, :, None, :] % PRIME
        by_input += by_score[..., None] * _product("ti,ij->tj", last, bilinear)[:, None, None] % PRIME
        by_input[:, :, -1] += _product("tni,ji->tnj", of_keys, bilinear)
        value = _product("ti,ij->tj", mean, W_V)
        stream = (stream + _product("ti,ij->tj", value, W_O)) % PRIME
        blocks += [
            _product("ti,tnj->tnij", last, _product("tni,ij->tnj", of_keys, W_K)),
            _product("tni,tj->tnij", of_keys, _product("ti,ij->tj", last, W_Q)),
            _product("ti,jn->tnij", mean, read),
            _product("ti,jn->tnij", value, W_U),
        ]
    by_input %= PRIME
    by_token = np.zeros((T, K, N, d), dtype=np.int64)
    for s in range(S):
        np.add.at(by_token, (np.arange(T)[:, None], np.arange(K)[None, :], contexts[:, s, None]), by_input[:, :, s])
    by_readout = stream[:, None, :, None] * np.eye(K, dtype=np.int64)[None, :, None, :]
    blocks += [by_token % PRIME, by_input, by_readout]
    return np.concatenate([block.reshape(T * K, -1) for block in blocks], axis=1)


def _exponentials(N: int, S: int, d: int, rng: np.random.Generator) -> tuple[Int64Array, Int64Array]:
    """Draw residues for the exponentials of the scores of a head, `[N, N]` and `[N, S]`, the only form in which scores
    matter.

    For d = 1 the scores $(e_c + p_S)(e_n + p_s)$, times a number, have $e_c e_n = e_n e_c$, and $e_n p_S$ twice.
    """
    by_pair, by_place = rng.integers(1, PRIME, (N, N)), rng.integers(1, PRIME, (N, S))
    if d == 1:
        by_pair = (np.triu(by_pair) + np.triu(by_pair, 1).T) * by_place[:, -1] % PRIME
    return by_pair, by_place


def _product(subscripts: str, a: Int64Array, b: Int64Array) -> Int64Array:
    """Return a product of two arrays of residues: sums of at most 2^13 products below 2^50."""
    return np.einsum(subscripts, a, b) % PRIME
