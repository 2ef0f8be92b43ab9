"""A network on single tokens whose logits are a product of given matrices, through one head of width d.

Page: docs/claims/outer_product_memory.md
"""

import numpy as np

from constructions.encoders.truncated_distributions import nearly_planar_distributions, truncated_distributions
from constructions.errors import InputError
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.numeric.arrays import Float64Array
from constructions.tasks.arrays import enumerated_task
from constructions.tasks.task import Task

_NOISE = 0.01


def bottleneck(values: Float64Array, output: Float64Array, unembedding: Float64Array) -> Model:
    r"""Return the network with logits $V_n O U^\top$ after the token n: one head reads, maps and writes d numbers.

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
        >>> from constructions.model.attention import logits
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


def truncated_distributions_memory(*, d_vocab: int, d_model: int, seed: int) -> Construction[Task]:
    """Return one head of width d that memorizes one distribution per token, truncated to rank d.

    Args:
        d_vocab: N, from 3 to 32.
        d_model: d, from 2 to N.
        seed: Seed of the noise in the distributions, which are of rank 2 without it.

    Returns:
        The network, and the distributions after single tokens as the task.

    Source: slides of Dana (2024), "Almost rank d".

    Example:
        >>> truncated_distributions_memory(d_vocab=8, d_model=2, seed=0).summary
        '8 distributions over 8 tokens through one head of width 2'
    """
    distributions = nearly_planar_distributions(d_vocab, noise=_NOISE, seed=seed)
    truncation = truncated_distributions(distributions, d_model)
    return Construction(
        enumerated_task(d_vocab, 1, target="distributions", distributions=distributions),
        bottleneck(truncation.E, np.eye(d_model), truncation.W),
        f"{d_vocab} distributions over {d_vocab} tokens through one head of width {d_model}",
    )
