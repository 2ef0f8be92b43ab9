"""The tokens and queries after a layer of self-attention with integer maps, in exact rationals.

Page: docs/claims/context_rank.md
"""

import numpy as np
from flint import fmpq_mat, fmpz_mat

from constructions.model.exact_network import as_rationals
from constructions.numeric.arrays import Int64Array
from verify.theorems.capacity.exact_rank import exact_mixed_inputs


def attended_tokens(context: Int64Array, scores: Int64Array, W_V: Int64Array, W_O: Int64Array) -> fmpq_mat:
    r"""Return the tokens of a context after the layer, with its skip connection.

    Args:
        context: Integer tokens, `[n, d]`; each of them asks.
        scores: $W_Q W_K^\top$ of each head in units of log 2, `[H, d, d]`.
        W_V: Value maps, `[H, d, d_v]`.
        W_O: Output maps, `[H, d_v, d]`.
    """
    identity = np.broadcast_to(np.eye(context.shape[1], dtype=np.int64), scores.shape)
    mixed = exact_mixed_inputs(context[None], context, scores, identity)
    return as_rationals(context) + mixed * as_rationals((W_V @ W_O).reshape(-1, context.shape[1]))


def queries_and_ranks(
    contexts: Int64Array, scores: Int64Array, W_V: Int64Array, W_O: Int64Array
) -> tuple[fmpz_mat, set[int]]:
    """Return the first tokens after the layer, times a common integer, and the ranks of the contexts there.

    Args:
        contexts: Integer tokens, `[T, n, d]`.
        scores: As of `attended_tokens`, and so are the other maps.
    """
    outputs = [attended_tokens(context, scores, W_V, W_O) for context in contexts]
    queries, _ = as_rationals([tokens.tolist()[0] for tokens in outputs]).numer_denom()
    return queries, {tokens.rank() for tokens in outputs}


def context_ranks(contexts: Int64Array) -> set[int]:
    """Return the ranks of the contexts."""
    return {as_rationals(context).rank() for context in contexts}


def queries_plus_means(contexts: Int64Array) -> Int64Array:
    """Return the vectors of Assumption 3, times n: the first tokens plus the mean tokens."""
    return contexts.shape[1] * contexts[:, 0] + contexts.sum(axis=1)


def queries_are_equal(contexts: Int64Array) -> bool:
    """Tell whether all contexts begin with the same token."""
    return bool((contexts[:, 0] == contexts[0, 0]).all())
