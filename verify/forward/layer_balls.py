r"""What a layer computes in exact real arithmetic, in balls of any precision (Arb): for small sizes.

The float64 numbers of the layer and of its task become balls of radius 0, and every operation on balls returns a ball
that holds the exact result for all numbers in its operands. No BLAS takes part and no rounding is bounded beforehand.

Page: docs/rigour/layer.md (Lemma Y5).
"""

from collections.abc import Iterator

import numpy as np
from flint import arb, arb_mat, ctx
from numpy.typing import NDArray

from constructions.models.construction import require_fit
from constructions.models.model import Model
from constructions.models.shapes import mahdavi_tensors
from constructions.tasks.vectors import VectorTask
from verify.forward.in_balls import checked_precision

Float64Array = NDArray[np.float64]


def theta_in_balls(layer: Model, task: VectorTask, precision: int) -> arb_mat:
    r"""The attention weights as balls; row $tH + h$ holds $\theta^h_t$.

    Args:
        layer: The weights.
        task: The examples; the labels play no part.
        precision: Bits of the balls, 2 to 10^6.

    Returns:
        `[T * H, n]`.

    Raises:
        InputError: The layer does not fit the task, or no such precision.

    Page: docs/rigour/layer.md

    Example:
        >>> from constructions.models.shapes import mahdavi_layer
        >>> layer = mahdavi_layer(W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)), W_V=np.ones((1, 2, 1)),
        ...               W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
        >>> theta_in_balls(layer, VectorTask(np.eye(2)[None], np.zeros((1, 2)), np.zeros((1, 1))), 64).str()
        '[0.500000000000000, 0.500000000000000]'
    """
    require_fit(layer, task)
    with ctx.workprec(checked_precision(precision)):
        patterns = list(_patterns(layer, task))
        return arb_mat([patterns[h][t] for t in range(task.n_examples) for h in range(layer.n_heads)])


def mixed_inputs_in_balls(layer: Model, task: VectorTask, precision: int) -> arb_mat:
    r"""The matrix $Z$ as balls, $z^h_t = \theta^h_t E^{(t)}$ side by side.

    Args:
        layer: The weights.
        task: The examples; the labels play no part.
        precision: Bits of the balls, 2 to 10^6.

    Returns:
        `[T, H * d]`.

    Raises:
        InputError: The layer does not fit the task, or no such precision.

    Page: docs/rigour/layer.md

    Example:
        >>> from constructions.models.shapes import mahdavi_layer
        >>> layer = mahdavi_layer(W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)), W_V=np.ones((1, 2, 1)),
        ...               W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
        >>> mixed_inputs_in_balls(layer, VectorTask(np.eye(2)[None], np.zeros((1, 2)), np.zeros((1, 1))), 64).str()
        '[0.500000000000000, 0.500000000000000]'
    """
    require_fit(layer, task)
    with ctx.workprec(checked_precision(precision)):
        return _mixed(layer, task)


def outputs_in_balls(layer: Model, task: VectorTask, precision: int) -> arb_mat:
    r"""The outputs as balls, $[z^1_t W_V^1, \dots, z^H_t W_V^H]\, W_O W_D$.

    Args:
        layer: The weights.
        task: The examples; the labels play no part.
        precision: Bits of the balls, 2 to 10^6.

    Returns:
        `[T, d_out]`.

    Raises:
        InputError: The layer does not fit the task, or no such precision.

    Page: docs/rigour/layer.md

    Example:
        >>> from constructions.models.shapes import mahdavi_layer
        >>> layer = mahdavi_layer(W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)), W_V=np.ones((1, 2, 1)),
        ...               W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
        >>> outputs_in_balls(layer, VectorTask(np.eye(2)[None], np.zeros((1, 2)), np.zeros((1, 1))), 64).str()
        '[1.00000000000000]'
    """
    require_fit(layer, task)
    with ctx.workprec(checked_precision(precision)):
        inner = _exact(mahdavi_tensors(layer)["W_O"]) * _exact(layer.W_U)
        d_value, read = layer.d_head, []
        for head, values in enumerate(layer.W_V):
            block = inner.table()[head * d_value : (head + 1) * d_value]
            read += (_exact(values) * arb_mat(block)).table()
        return _mixed(layer, task) * arb_mat(read)


def _patterns(layer: Model, task: VectorTask) -> Iterator[list[list[arb]]]:
    """The attention of one head after the other, `[T][n]`."""
    queries = _exact(task.queries)
    contexts = [_exact(context) for context in task.contexts]
    for query_map, key_map in zip(layer.W_Q, layer.W_K, strict=True):
        asked = (queries * _exact(query_map)).transpose()
        keys = [context * _exact(key_map) for context in contexts]
        if task.shared:
            columns = (keys[0] * asked).transpose().table()
        else:
            rows = asked.transpose().table()
            columns = [(key * arb_mat([row]).transpose()).entries() for key, row in zip(keys, rows, strict=True)]
        yield [_softmax(scores) for scores in columns]


def _mixed(layer: Model, task: VectorTask) -> arb_mat:
    rows: list[list[arb]] = [[] for _ in range(task.n_examples)]
    contexts = [_exact(context) for context in task.contexts]
    for pattern in _patterns(layer, task):
        for t, weights in enumerate(pattern):
            rows[t] += (arb_mat([weights]) * contexts[0 if task.shared else t]).entries()
    return arb_mat(rows)


def _softmax(scores: list[arb]) -> list[arb]:
    """The softmax of balls; a share that is less well known than any number from 0 to 1 is given as all of them."""
    top = max(score.mid() for score in scores)
    powers = [(score - top).exp() for score in scores]
    mass = sum(powers[1:], powers[0])
    unknown = arb(0.5, 0.5)
    # Nothing is raised where the mass may be 0: the quotient is not finite then.
    shares = [power / mass for power in powers]
    return [share if share.is_finite() and share.rad() <= unknown.rad() else unknown for share in shares]


def _exact(matrix: Float64Array) -> arb_mat:
    """The matrix in balls of radius 0, whatever the precision: Arb takes over a float64 as it is."""
    rows, columns = matrix.shape
    return arb_mat(rows, columns, matrix.ravel().tolist())
