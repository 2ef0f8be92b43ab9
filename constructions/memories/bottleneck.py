"""A network on single tokens whose logits are a product of given matrices, through one head of width d.

Page: docs/claims/outer_product_memory.md
"""

import numpy as np

from constructions.arrays import Float64Array
from constructions.errors import InputError
from constructions.models.model import Model
from constructions.models.shapes import dana_network


def bottleneck(values: Float64Array, output: Float64Array, unembedding: Float64Array) -> Model:
    r"""The network with logits $V_n O U^\top$ after the token n: one head reads, maps and writes d numbers.

    The residual stream has N coordinates for the token, which nothing but the head reads, and d for the output of the
    head, which `W_U` reads. `W_V` is $V$, `W_O` is $O$, `W_U` is $U^\top$; there is one position, so that the attention
    is 1, and the skip connection adds 0.

    Args:
        values: $V$, `[N, d]`.
        output: $O$, `[d, d]`.
        unembedding: $U$, one row for each output token, `[M, d]`.

    Returns:
        The network, of width N + d; the embedded tokens are independent.

    Raises:
        InputError: Shapes that do not fit.

    Example:
        >>> from constructions.models.attention import logits
        >>> network = bottleneck(np.array([[1.0], [2.0]]), np.array([[3.0]]), np.array([[1.0], [10.0]]))
        >>> logits(network, np.array([[0], [1]])).tolist()
        [[3.0, 30.0], [6.0, 60.0]]
    """
    values, output, unembedding = (np.asarray(x, dtype=np.float64) for x in (values, output, unembedding))
    if values.ndim != 2 or unembedding.ndim != 2 or output.shape != (values.shape[1], unembedding.shape[1]):
        shapes = f"{values.shape}, {output.shape} and {unembedding.shape}"
        raise InputError("values, output and unembedding", f"have shapes {shapes}", "[N, d], [d, d] and [M, d]")
    d_vocab, d_head = values.shape
    width = unembedding.shape[1]
    d_model = d_vocab + width
    return dana_network(
        W_E=np.eye(d_vocab, d_model),
        W_pos=np.zeros((1, d_model)),
        W_Q=np.zeros((1, d_model, 1)),
        W_K=np.zeros((1, d_model, 1)),
        W_V=np.vstack([values, np.zeros((width, d_head))])[None],
        W_O=np.hstack([np.zeros((d_head, d_vocab)), output])[None],
        W_U=np.vstack([np.zeros((d_vocab, len(unembedding))), unembedding.T]),
    )
