"""Attention whose heads have one value each, and the derivative of its stream by every weight.

Page: docs/claims/newton_memory.md
"""

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray

from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.numeric.arrays import Float64Array, Int64Array

_PANEL = 512  # columns of a Khatri-Rao product that are multiplied at a time
_BLOCK = 128  # rows of a Hadamard product that are multiplied at a time

_multiply: Any = scipy.linalg.get_blas_funcs("syrk", dtype=np.float64)


def add_products(onto: Float64Array, rows: Float64Array) -> Float64Array:
    r"""Add the lower triangle of $A A^\top$ to a matrix, in place.

    Args:
        onto: `[R, R]`, in Fortran's order.
        rows: A, `[R, M]`, in either order.

    Returns:
        The sum; what stands above the diagonal means nothing.

    Example:
        >>> add_products(np.zeros((2, 2), order="F"), np.array([[1.0, 2.0], [0.0, 1.0]])).tolist()
        [[5.0, 0.0], [2.0, 1.0]]
    """
    if 0 in rows.shape:
        return onto
    factor, transposed = (rows.T, 1) if rows.flags.c_contiguous else (rows, 0)
    return _multiply(1.0, factor, beta=1.0, c=onto, trans=transposed, lower=1, overwrite_c=1)


@dataclass(frozen=True)
class SingleValueHeads:
    r"""The shape of a one-layer attention-only transformer with `d_head` = 1, and its contexts.

    Its weights are one vector $\theta$: `W_E`, `W_pos`, `W_Q`, `W_K`, `W_V`, `W_O` and `W_U`, one after the other.

    Args:
        contexts: Tokens, `[T, S]`.
        d_vocab: Number of tokens that are read.
        labels: Number of columns of `W_U`.
        d_model: Dimension of the stream, $d$.
        d_qk: Dimension of queries and keys, $r$.
        n_heads: Number of heads.
    """

    contexts: Int64Array
    d_vocab: int
    labels: int
    d_model: int
    d_qk: int
    n_heads: int

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the tensors by name, in the order in which they make up $\\theta$."""
        d_model, n_heads = self.d_model, self.n_heads
        return {
            "W_E": (self.d_vocab, d_model),
            "W_pos": (self.contexts.shape[1], d_model),
            "W_Q": (n_heads, d_model, self.d_qk),
            "W_K": (n_heads, d_model, self.d_qk),
            "W_V": (n_heads, d_model),
            "W_O": (n_heads, d_model),
            "W_U": (d_model, self.labels),
        }

    @cached_property
    def places(self) -> dict[str, slice]:
        r"""Slice of each tensor in $\theta$."""
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in self.shapes.values())]).tolist()
        return {name: slice(ends[i], ends[i + 1]) for i, name in enumerate(self.shapes)}

    @property
    def size(self) -> int:
        """The number of entries of all tensors, P."""
        return self.places["W_U"].stop

    def split(self, weights: NDArray) -> dict[str, NDArray]:
        """Return the tensors of a parameter vector with P entries, as views."""
        return {name: weights[self.places[name]].reshape(shape) for name, shape in self.shapes.items()}

    def network(self, weights: Float64Array) -> Model:
        """Return the network with these weights."""
        parts = self.split(weights)
        parts["W_V"], parts["W_O"] = parts["W_V"][:, :, None], parts["W_O"][:, None, :]
        return dana_network(**parts)

    def run(self, weights: Float64Array) -> "Run":
        """Evaluate the network on the contexts."""
        part = self.split(weights)
        inputs = part["W_E"][self.contexts] + part["W_pos"]
        query = np.tensordot(inputs[:, -1], part["W_Q"], axes=([1], [1]))
        key = np.tensordot(inputs, part["W_K"], axes=([2], [1]))
        scores = np.einsum("thr,tshr->tsh", query, key)
        scores -= scores.max(axis=1, keepdims=True)
        pattern = np.exp(scores, out=scores)
        pattern /= pattern.sum(axis=1, keepdims=True)
        value = inputs @ part["W_V"].T
        written = np.einsum("tsh,tsh->th", pattern, value)
        stream = inputs[:, -1] + written @ part["W_O"]
        return Run(self, part, inputs, query, key, pattern, value, written, stream)


@dataclass(frozen=True, eq=False)
class Run:
    r"""A forward pass on all T contexts, and the parts of its derivatives.

    With the inputs $x_s$, the pattern $a_s$, the values $v \cdot x_s$ and their mean $\varphi$ of one head, the queries
    $q = x_S W_Q$ and keys $k_s = x_s W_K$, let $b_s = a_s (v \cdot x_s - \varphi)$, $\beta = \sum_s b_s x_s$ and
    $\kappa = \beta W_K = \sum_s b_s k_s$. Then

    $$ \frac{\partial \varphi}{\partial v} = \sum_s a_s x_s, \quad
       \frac{\partial \varphi}{\partial W_Q} = x_S^\top \kappa, \quad
       \frac{\partial \varphi}{\partial W_K} = \beta^\top q, \quad
       \frac{\partial \varphi}{\partial x_s} = a_s v + b_s W_K q + [s = S] \, W_Q \kappa . $$

    Args:
        shape: The shape of the network.
        part: Its tensors.
        inputs: $x_s$, `[T, S, d]`.
        query: q, `[T, H, d_qk]`.
        key: k, `[T, S, H, d_qk]`.
        pattern: a, `[T, S, H]`.
        value: $v \cdot x_s$, `[T, S, H]`.
        written: $\varphi$, `[T, H]`.
        stream: $E = x_S + \sum_h \varphi_h W_O^h$, `[T, d]`.
    """

    shape: SingleValueHeads
    part: dict[str, Float64Array]
    inputs: Float64Array
    query: Float64Array
    key: Float64Array
    pattern: Float64Array
    value: Float64Array
    written: Float64Array
    stream: Float64Array

    @cached_property
    def logits(self) -> Float64Array:
        """E W_U, `[T, K]`."""
        return self.stream @ self.part["W_U"]

    @cached_property
    def deviation(self) -> Float64Array:
        """b, `[T, S, H]`."""
        return self.pattern * (self.value - self.written[:, None])

    @cached_property
    def mixed(self) -> Float64Array:
        """The attended inputs $\\sum_s a_s x_s$, `[T, H, d]`."""
        return np.matmul(self.pattern.transpose(0, 2, 1), self.inputs)

    @cached_property
    def beta(self) -> Float64Array:
        """`[T, H, d]`."""
        return np.matmul(self.deviation.transpose(0, 2, 1), self.inputs)

    @cached_property
    def kappa(self) -> Float64Array:
        """`[T, H, d_qk]`."""
        return (self.deviation[..., None] * self.key).sum(axis=1)

    def of_inputs(self, facts: Int64Array, along: Float64Array) -> Float64Array:
        r"""Return the derivative of $g \cdot E$ by each input, `[R, S, d]`, for the contexts `facts` and the vectors g
        `along`.
        """
        weight = along @ self.part["W_O"].T
        by_values = (weight[:, None] * self.pattern[facts]) @ self.part["W_V"]
        keyed = (weight[:, None] * self.deviation[facts])[..., None] * self.query[facts][:, None]
        by_keys = np.tensordot(keyed, self.part["W_K"], axes=([2, 3], [0, 2]))
        queried = weight[:, :, None] * self.kappa[facts]
        by_queries = np.tensordot(queried, self.part["W_Q"], axes=([1, 2], [0, 2]))
        result = by_values + by_keys
        result[:, -1] += along + by_queries  # only the last position has a query, and the skip connection
        return result

    def stream_rows(self, facts: Int64Array, along: Float64Array) -> Float64Array:
        r"""Return the dense derivative of $g \cdot E$ by every weight, `[R, P]`, with zeros for `W_U`."""
        shape, rows = self.shape, len(facts)
        weight = along @ self.part["W_O"].T  # what a unit of each head's value adds to g . E, `[R, H]`
        of_inputs = self.of_inputs(facts, along)
        of_tokens = np.zeros((rows, shape.d_vocab, shape.d_model))
        for s in range(shape.contexts.shape[1]):
            of_tokens[np.arange(rows), shape.contexts[facts, s]] += of_inputs[:, s]
        last = self.inputs[facts, -1]
        kappa, beta = weight[:, :, None] * self.kappa[facts], weight[:, :, None] * self.beta[facts]
        derivatives = {
            "W_E": of_tokens,
            "W_pos": of_inputs,
            "W_Q": last[:, None, :, None] * kappa[:, :, None, :],
            "W_K": beta[:, :, :, None] * self.query[facts][:, :, None, :],
            "W_V": weight[:, :, None] * self.mixed[facts],
            "W_O": self.written[facts][:, :, None] * along[:, None, :],
        }
        result = np.zeros((rows, shape.size))
        for name, derivative in derivatives.items():
            result[:, shape.places[name]] = derivative.reshape(rows, -1)
        return result

    def pulled_back(self, facts: Int64Array, along: Float64Array) -> Float64Array:
        """Return the sum of the rows of `stream_rows`, without forming them, `[P]`."""
        shape, result = self.shape, np.zeros(self.shape.size)
        part = shape.split(result)
        weight = along @ self.part["W_O"].T
        of_inputs = self.of_inputs(facts, along)
        np.add.at(part["W_E"], shape.contexts[facts], of_inputs)
        part["W_pos"][:] = of_inputs.sum(axis=0)
        inputs = self.inputs[facts]
        keyed = (weight[:, None] * self.deviation[facts])[..., None] * self.query[facts][:, None]
        part["W_Q"][:] = np.tensordot(weight[..., None] * self.kappa[facts], inputs[:, -1], ([0], [0])).swapaxes(1, 2)
        part["W_K"][:] = np.tensordot(keyed, inputs, ([0, 1], [0, 1])).swapaxes(1, 2)
        part["W_V"][:] = np.tensordot(weight[:, None] * self.pattern[facts], inputs, ([0, 1], [0, 1]))
        part["W_O"][:] = self.written[facts].T @ along
        return result

    def gram(self, facts: Int64Array, along: Float64Array, *, memorized: int | None = None) -> Float64Array:
        r"""Return the lower triangle of $J J^\top$ for the rows of `stream_rows`, `W_O` held fast, `[R, R]`.

        Nothing of size R x P is formed: J consists of blocks $\sum_s u_s^\top w_s$, whose Gram matrices are sums of
        entrywise products of those of u and w, see `_add_tensor_products`; and the rows of the tokens are sparse. As
        $\sum_s b_s = 0$, $\beta = \sum_{s < S} b_s (x_s - x_S)$ has one term less.

        Args:
            facts: Contexts, `[R]`.
            along: The vectors g, `[R, d]`.
            memorized: A coordinate of the inputs that is held fast too, in all tokens and in the last position.

        Returns:
            `[R, R]` in Fortran's order; what stands above the diagonal means nothing.
        """
        rows, d_model = len(facts), self.shape.d_model
        weight = along @ self.part["W_O"].T
        result = np.zeros((rows, rows), order="F")

        of_inputs = self.of_inputs(facts, along)
        if memorized is not None:
            of_inputs[:, -1, memorized] = 0.0
        result = add_products(result, of_inputs.reshape(rows, -1))
        if memorized is not None:
            of_inputs[:, :, memorized] = 0.0
        columns = (self.shape.contexts[facts][:, :, None] * d_model + np.arange(d_model)).reshape(-1)
        row = np.repeat(np.arange(rows), columns.size // max(rows, 1))
        by_token = scipy.sparse.csr_array(
            (of_inputs.reshape(-1), (row, columns)), shape=(rows, self.shape.d_vocab * d_model)
        )
        for start in range(0, rows, _BLOCK):
            block, after = slice(start, start + _BLOCK), slice(start, rows)
            result.T[block, after] += (by_token[block] @ by_token[after].T).toarray()
        inputs, weight, size = self.inputs[facts], weight[:, None], self.shape.n_heads * self.shape.d_qk
        keyed = (weight * self.deviation[facts])[:, :-1, :, None] * self.query[facts][:, None]
        queried = weight[..., None] * self.kappa[facts][:, None]
        result = _add_tensor_products(result, weight * self.pattern[facts], inputs)
        differences = inputs[:, :-1] - inputs[:, -1:]
        result = _add_tensor_products(result, keyed.reshape(*differences.shape[:2], size), differences)
        return _add_tensor_products(result, queried.reshape(rows, 1, size), inputs[:, -1:])


def _add_tensor_products(onto: Float64Array, left: Float64Array, right: Float64Array) -> Float64Array:
    r"""Add the lower triangle of the Gram matrix of $\sum_s l_s \otimes r_s$ in place.

    Its entries are $\sum_{s, s'} (l_s \cdot l'_{s'}) (r_s \cdot r'_{s'})$, of $k^2 m$ multiplications and $k^2$ passes
    through memory; by the tensors themselves, a few of the m at a time, they cost $d m$ multiplications.

    Args:
        onto: `[R, R]`, in Fortran's order.
        left: l, `[R, k, m]`.
        right: r, `[R, k, d]`.

    Returns:
        The sum; what stands above the diagonal means nothing.
    """
    rows, terms, size = left.shape
    d_model = right.shape[2]
    if 3 * terms**2 > d_model:
        step = max(1, _PANEL // d_model)
        for start in range(0, size, step):
            tensors = np.matmul(left[:, :, start : start + step].swapaxes(1, 2), right)
            onto = add_products(onto, tensors.reshape(rows, -1))
        return onto
    for start in range(0, rows, _BLOCK):
        block, after = slice(start, start + _BLOCK), slice(start, rows)
        for s, t in itertools.product(range(terms), repeat=2):
            products = left[block, s] @ left[after, t].T
            products *= right[block, s] @ right[after, t].T
            onto.T[block, after] += products
    return onto
