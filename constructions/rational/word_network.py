r"""Labels of points by deep ReLU blocks that read words of bits, in rationals.

Page: docs/claims/bits.md
"""

import numpy as np

from constructions.errors import HypothesisError, InputError
from constructions.memories.keyed_words import fewest_entries, word_blocks
from constructions.model.blocks import FeedForward
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.rational.interpolating_network import exact, separating_direction

_CODE, _ANSWER, _WIDTH = 0, 5, 6  # the coordinates that the blocks read and write, of the stream of a memory of words


def word_network(points: Int64Array, labels: Int64Array, *, items: int | None = None, seed: int = 0) -> Model:
    r"""Return a rational ReLU network on points of R^d for which the label of each point has the largest output.

    One neuron takes the points to distinct codes $\langle a, x \rangle + b \ge 0$; then `word_blocks`. The output y is
    read out by $2 j y - j^2$.

    Args:
        points: Distinct integers, `[n, d]`; point i is the token i of the model.
        labels: Integers, at least 0, `[n]`.
        items: m; by default the best.
        seed: Seed of the direction a.

    Returns:
        The model, of width 6 after the first block.

    Raises:
        InputError: Arrays that do not fit.
        HypothesisError: Two points that are equal.

    Source: Vardi, Yehudai, Shamir (2022).

    Example:
        >>> word_network(np.array([[0, 1], [2, 2]]), np.array([1, 0])).d_vocab_out
        2
    """
    array = np.asarray(points)
    if array.ndim != 2 or array.dtype.kind not in "iu" or 0 in array.shape or len(labels) != len(array):
        raise InputError("points", f"is {array.dtype} of shape {array.shape}, {len(labels)} labels", "[n, d]")
    if len(np.unique(array, axis=0)) < len(array):
        raise HypothesisError("Words of bits", "distinct points", "two that are equal")
    direction, products = separating_direction(array, seed=seed)
    shift = -min(products)
    codes = [product + shift for product in products]
    writes = exact([[int(j == _CODE) for j in range(_WIDTH)]])
    first = FeedForward(exact([[a] for a in direction]), writes, exact([shift]), skip=False)
    size = max(1, max(codes).bit_length()) + max(1, int(max(labels)).bit_length())
    m = fewest_entries(len(codes), size) if items is None else items
    blocks = (first, *word_blocks(codes, [int(label) for label in labels], items=m))
    answers = range(int(max(labels)) + 1)
    W_U = exact([[2 * j if row == _ANSWER else 0 for j in answers] for row in range(_WIDTH)])
    b_U = exact([-j * j for j in answers])
    embeddings = exact(array.tolist())
    return Model(blocks, W_U=W_U, b_U=b_U, W_E=embeddings, W_pos=exact([[0] * array.shape[1]]))
