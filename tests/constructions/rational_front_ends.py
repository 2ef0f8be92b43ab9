"""Rational networks of random shapes, and their logits computed another way, with Python's fractions."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq_mat
from hypothesis import strategies as st

from constructions.model.exact_network import ExactFrontEnd, as_rationals, exact_network
from constructions.model.model import Model

SMALL = st.integers(-3, 3)


@dataclass(frozen=True)
class Network:
    """The matrices of a rational network."""

    front_end: ExactFrontEnd
    W_O: tuple[fmpq_mat, ...]
    W_U: fmpq_mat

    @property
    def model(self) -> Model:
        return exact_network(self.front_end, self.W_O, self.W_U)


@st.composite
def matrices(draw, rows, columns, entry: st.SearchStrategy = SMALL):
    return as_rationals([[draw(entry) for _ in range(columns)] for _ in range(rows)])


@st.composite
def rational_networks(draw, *, n_heads=(0, 2)):
    """Embeddings in thirds with queries in multiples of nine, so that scores are integers; any values and outputs."""
    tokens, n_ctx, width = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    count, d_qk, d_head = draw(st.integers(*n_heads)), draw(st.integers(1, 2)), draw(st.integers(1, width))
    scale = draw(st.sampled_from([1, 3]))
    fraction = st.builds(Fraction, SMALL, st.integers(1, 4))
    front_end = ExactFrontEnd(
        W_E=draw(matrices(tokens, width)) / scale,
        W_pos=draw(matrices(n_ctx, width)) / scale,
        W_Q=tuple(draw(matrices(width, d_qk)) * scale**2 for _ in range(count)),
        W_K=tuple(draw(matrices(width, d_qk)) for _ in range(count)),
        W_V=tuple(draw(matrices(width, d_head, fraction)) for _ in range(count)),
    )
    outputs = tuple(draw(matrices(d_head, width, fraction)) for _ in range(count))
    return Network(front_end, outputs, draw(matrices(width, draw(st.integers(1, 3)))))


@st.composite
def networks_with_contexts(draw, **options):
    network = draw(rational_networks(**options))
    row = st.tuples(*[st.integers(0, network.front_end.d_vocab - 1)] * network.front_end.n_ctx)
    return network, np.array(draw(st.lists(row, min_size=1, max_size=5)))


def fractions(matrix):
    """Rows of Fractions."""
    return [[Fraction(int(entry.p), int(entry.q)) for entry in row] for row in matrix.tolist()]


def product(row, matrix):
    return [sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in zip(*matrix, strict=True)]


def plain_outputs(front_end, contexts):
    """[x_S | Y] by the definition, one number at a time."""
    W_E, W_pos = fractions(front_end.W_E), fractions(front_end.W_pos)
    rows = []
    for context in contexts.tolist():
        inputs = [[a + b for a, b in zip(W_E[n], W_pos[s], strict=True)] for s, n in enumerate(context)]
        row = list(inputs[-1])
        for heads in zip(front_end.W_Q, front_end.W_K, front_end.W_V, strict=True):
            W_Q, W_K, W_V = (fractions(matrix) for matrix in heads)
            query = product(inputs[-1], W_Q)
            scores = [sum(a * b for a, b in zip(query, product(x, W_K), strict=True)) for x in inputs]
            weights = [Fraction(2) ** int(score) for score in scores]
            mixed = [
                sum(w * x[i] for w, x in zip(weights, inputs, strict=True)) for i in range(len(row[: len(W_E[0])]))
            ]
            row += [entry / sum(weights) for entry in product(mixed, W_V)]
        rows.append(row)
    return rows


def plain_logits(network, contexts):
    """The logits by the definition."""
    width = network.front_end.d_model
    W_O = [row for output in network.W_O for row in fractions(output)]
    result = []
    for row in plain_outputs(network.front_end, contexts):
        written = product(row[width:], W_O) if W_O else [Fraction(0)] * width
        result.append(product([a + b for a, b in zip(row[:width], written, strict=True)], fractions(network.W_U)))
    return result
