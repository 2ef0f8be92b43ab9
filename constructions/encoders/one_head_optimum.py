"""Approach the infimum of the divergence where one head is not enough.

Page: docs/claims/theorem_1.md
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from constructions.errors import InputError, require_at_least
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.numeric.arrays import Float64Array, Int64Array


def exclusive_or_contexts(n_ctx: int = 3) -> Int64Array:
    """Return the four contexts over two tokens that no single head tells apart, `[4, n_ctx]`.

    The first two tokens run through 00, 11, 01, 10; the others are 0. With the first two contexts on one side and the
    last two on the other, the question is the exclusive or of the first two tokens.

    Args:
        n_ctx: Tokens in a context, $S \\ge 3$.

    Returns:
        The contexts.

    Raises:
        InputError: `n_ctx` below 3.

    Example:
        >>> exclusive_or_contexts().tolist()
        [[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]]
    """
    require_at_least(3, n_ctx=n_ctx)
    contexts = np.zeros((4, n_ctx), dtype=np.int64)
    contexts[:, :2] = [[0, 0], [1, 1], [0, 1], [1, 0]]
    return contexts


def exclusive_or_optimum(logit: float, *, size: float = 2.0**24) -> Model:
    r"""Return one head that is right on two of the four contexts of `exclusive_or_contexts(3)` and undecided on the
    others.

    With the attention weights $a_s \propto Q_s E_{t_s}$, $E = (m, 1)$, $Q = (m, 1, 1)$, $m$ = `size`, the denominators
    are $D_{00} = m^2 + 2m$, $D_{11} = 2m + 1$, $D_{01} = m^2 + m + 1$, $D_{10} = 3m$. The difference g of the logits
    fulfils $D_{00} g_{00} + D_{11} g_{11} = D_{01} g_{01} + D_{10} g_{10}$, whatever the values are. Here
    $g_{11} = l$, $g_{10} = -l$, $D_{00} g_{00} = -D_{01} g_{01} = -(5m + 1) l / 2$, so that $g_{00}, g_{01} \to 0$ for
    $m \to \infty$. The value at position s is $u_s$, whatever the token, with

    $$ u_1 = \frac{l}{2m}, \qquad u_2 = -\frac{(5m + 1) l}{m - 1}, \qquad
       u_3 = -\frac{(5m + 1) l}{2m} - \frac{l}{2} - u_2 . $$

    Args:
        logit: $l$, the logarithm of the odds of the target, for the contexts 00 and 11 in favour of token 0.
        size: $m > 1$.

    Returns:
        The network: $d = d_h = 2$, one head, two tokens. (The second coordinate of the head is silent.)

    Raises:
        InputError: `size` not above 1, or not finite.

    Source: refutes Dana, Pydi, Chevaleyre (2024), Theorem 1.

    Example:
        >>> from constructions.model.attention import logits
        >>> z = logits(exclusive_or_optimum(2.0), exclusive_or_contexts())
        >>> np.round(z[:, 0] - z[:, 1], 5)
        array([-0.,  2.,  0., -2.])
    """
    if not 1.0 < size < math.inf:
        raise InputError("size", f"= {size}", "a finite number above 1")
    m = size
    first = logit / (2.0 * m)
    second = -(5.0 + 6.0 / (m - 1.0)) * logit
    third = -(5.0 + 1.0 / m) / 2.0 * logit - logit / 2.0 - second
    shift = -third / 2.0  # the skip connection adds shift + third, attention the shift
    return dana_network(
        W_E=np.array([[1.0, shift], [0.0, shift]]),
        W_pos=np.array([[1.0, first], [0.0, second], [0.0, third]]),
        W_Q=np.array([[[math.log(m)], [0.0]]]),
        W_K=np.array([[[1.0], [0.0]]]),
        W_V=np.array([[[0.0, 0.0], [1.0, 0.0]]]),
        W_O=np.array([[[0.0, 1.0], [0.0, 0.0]]]),
        W_U=np.array([[0.0, 0.0], [1.0, 0.0]]),
    )


def line_contexts() -> Int64Array:
    """Return three contexts of two tokens with one last token: the smallest set on which the skip connection adds one
    rank.

    Returns:
        ``[[0, 0], [1, 0], [2, 0]]``.

    Example:
        >>> line_contexts().tolist()
        [[0, 0], [1, 0], [2, 0]]
    """
    return np.array([[0, 0], [1, 0], [2, 0]])


def line_optimum(distributions: ArrayLike) -> Model:
    r"""Return one head of width 1 whose logits on `line_contexts` are the best three points on a line, computed
    numerically.

    The stream is $(1, \sigma_n)$ after the context $(n, 0)$ and the unembedding has the rows $z_a$ and $z_c - z_a$, so
    that the logits are $z_a + \sigma_n (z_c - z_a)$. The head attends to both positions equally, and its value is the
    second coordinate.

    Args:
        distributions: The distributions after the three contexts, `[3, N]`, positive.

    Returns:
        The network: $d = 2$, $d_h = 1$, one head, three tokens in, N out.

    Raises:
        InputError: Distributions of another shape, or not positive.

    Source: refutes Dana, Pydi, Chevaleyre (2024), Theorem 1.

    Example:
        >>> from constructions.model.attention import logits
        >>> z = logits(line_optimum([[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]]), line_contexts())
        >>> np.linalg.matrix_rank(z[1:] - z[0])
        np.int64(1)
    """
    table = np.asarray(distributions, dtype=np.float64)
    if table.ndim != 2 or len(table) != 3 or not (table > 0).all():
        raise InputError("distributions", f"has the shape {table.shape}", "three rows of positive numbers")
    table = table / table.sum(axis=1, keepdims=True)
    best = min((_best_line(table, middle) for middle in range(3)), key=lambda found: found[0])
    _, start, end, places = best
    values = 2.0 * places  # attention halves them
    return dana_network(
        W_E=np.column_stack([np.zeros(3), values - values[0]]),
        W_pos=np.array([[0.0, values[0]], [1.0, 0.0]]),
        W_Q=np.zeros((1, 2, 1)),
        W_K=np.zeros((1, 2, 1)),
        W_V=np.array([[[0.0], [1.0]]]),
        W_O=np.array([[[0.0, 1.0]]]),
        W_U=np.stack([start, end - start]),
    )


def _best_line(distributions: Float64Array, middle: int) -> tuple[float, Float64Array, Float64Array, Float64Array]:
    """Return the mean divergence, the two outer points, and the places of the three contexts with a given one in the
    middle.
    """
    import scipy.optimize

    ends = [t for t in range(3) if t != middle]
    size = distributions.shape[1]

    def placed(free: Float64Array) -> tuple[Float64Array, Float64Array]:
        places = np.empty(3)
        places[ends] = 0.0, 1.0
        places[middle] = 1.0 / (1.0 + math.exp(-free[-1]))
        return places, free[:-1].reshape(2, size)

    def loss(free: Float64Array) -> float:
        places, (start, end) = placed(free)
        z = start + places[:, None] * (end - start)
        z = z - z.max(axis=1, keepdims=True)
        predicted = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        return float((distributions * (np.log(distributions) - predicted)).sum()) / 3.0

    free = np.append(np.log(distributions[ends]).ravel(), 0.0)
    for _ in range(4):  # differences lose digits: started again, the search gets on
        free = scipy.optimize.minimize(loss, free, method="BFGS", options={"gtol": 1e-9}).x
    places, (start, end) = placed(free)
    return loss(free), start, end, places
