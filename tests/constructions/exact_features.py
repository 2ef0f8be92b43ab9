"""Features of real weights as exact rationals, and other counts made another way, to judge the bounds against."""

from fractions import Fraction
from itertools import combinations

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from hypothesis import strategies as st

XOR = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])


@st.composite
def context_sets(draw, *, lengths=(2, 4), largest=7, one_class=False):
    """Distinct contexts over a small vocabulary; half of them share their last token."""
    n_ctx = draw(st.integers(*lengths))
    d_vocab = draw(st.integers(1, 4))
    token = st.integers(0, d_vocab - 1)
    rows = draw(st.lists(st.tuples(*[token] * n_ctx), min_size=1, max_size=largest, unique=True))
    if one_class or draw(st.booleans()):
        rows = sorted({(*row[:-1], rows[0][-1]) for row in rows})
    return np.array(rows)


def exact_features(contexts, rng, *, d_model, d_head, n_heads, with_skip=True, spread=4):
    """[x_S | Y] of integer embeddings and values, with attention weights that are powers of two over their sum."""
    d_vocab, n_ctx = contexts.max() + 1, contexts.shape[1]

    def integers(*shape):
        return rng.integers(-spread, spread + 1, shape)

    embedding, position = integers(d_vocab, d_model), integers(n_ctx, d_model)
    value, query_key = integers(n_heads, d_model, d_head), rng.integers(-2, 3, (n_heads, d_model, d_model))
    rows = []
    for context in contexts:
        inputs = embedding[context] + position
        row = [fmpq(int(x)) for x in inputs[-1]] if with_skip else []
        for head in range(n_heads):
            scores = inputs @ (inputs[-1] @ query_key[head])
            weights = [Fraction(2) ** int(score - scores.max()) for score in scores]
            for column in (inputs @ value[head]).T:
                total = sum(w * int(x) for w, x in zip(weights, column, strict=True)) / sum(weights)
                row.append(fmpq(total.numerator, total.denominator))
        rows.append(row)
    return rows


def exact_rank(rows):
    return fmpq_mat(rows).rank() if rows and rows[0] else 0


def subsets(n):
    return (np.array(rows, dtype=np.int64) for size in range(n + 1) for rows in combinations(range(n), size))


def span_of_differences(contexts):
    """Rank of e_n - e_c + f_s - f_S, as an integer matrix."""
    d_vocab, n_ctx = contexts.max(initial=0) + 1, contexts.shape[1]
    rows = []
    for context in contexts:
        for s in range(n_ctx):
            row = [0] * (d_vocab + n_ctx)
            row[context[s]] += 1
            row[context[-1]] -= 1
            row[d_vocab + s] += 1
            row[d_vocab + n_ctx - 1] -= 1
            rows.append(row)
    return fmpz_mat(rows).rank() if rows else 0


def span_of_inputs(contexts):
    """Rank of e_n + f_s, as an integer matrix."""
    d_vocab, n_ctx = contexts.max(initial=0) + 1, contexts.shape[1]
    rows = [
        [int(i == context[s]) for i in range(d_vocab)] + [int(i == s) for i in range(n_ctx)]
        for context in contexts
        for s in range(n_ctx)
    ]
    return fmpz_mat(rows).rank() if rows else 0
