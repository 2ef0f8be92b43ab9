"""Certify the rank of the mixed inputs of heads whose outputs are not used.

Page: docs/claims/saturated_heads.md
"""

import numpy as np

from constructions.model.model import Model
from constructions.model.shapes import mahdavi_layer
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.saturated_layers.saturated_heads import SaturatedHeads
from constructions.tasks.vectors import VectorTask
from verify.forward.heads import enclose_mixed_inputs
from verify.linear_algebra.row_rank import RankCertificate, certify_full_row_rank


def heads_as_layer(heads: SaturatedHeads) -> Model:
    """Return the heads with a read-out of zeros."""
    count, d_model, _ = heads.W_Q.shape
    return mahdavi_layer(heads.W_Q, heads.W_K, np.zeros((count, d_model, 1)), np.zeros((count, 1)), np.zeros((1, 1)))


def unlabelled(contexts: Float64Array, queries: Float64Array) -> VectorTask:
    """Return the examples with labels of zero."""
    return VectorTask(contexts, queries, np.zeros((len(queries), 1)))


def mixed_inputs_are_independent(
    heads: SaturatedHeads, contexts: Float64Array, queries: Float64Array
) -> RankCertificate:
    """Certify that the mixed inputs of the examples are linearly independent."""
    return certify_full_row_rank(enclose_mixed_inputs(heads_as_layer(heads), unlabelled(contexts, queries)))


def of_size_one(queries: Int64Array) -> Float64Array:
    """Return queries with entries up to 1; scaling by powers of two keeps their directions."""
    return queries / 2.0 ** np.ceil(np.log2(abs(queries).max(axis=1, keepdims=True)))
