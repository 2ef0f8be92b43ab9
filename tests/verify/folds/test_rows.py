"""Tests of verify/folds/rows.py: numerators of every context lie between their bounds."""

import itertools

import numpy as np
import pytest

from tests.verify.folds.test_fold_answers import LENGTH, TOKENS, random_model, said_by
from verify.folds.rows import FoldRows
from verify.runs.formats import FLOAT32, FLOAT64


@pytest.mark.parametrize("number_format", [FLOAT64, FLOAT32], ids=lambda each: each.name)
@pytest.mark.parametrize("seed", range(4))
def test_weights_of_each_context_are_of_numbers_between_the_bounds(seed: int, number_format) -> None:
    model = random_model(seed, n_heads=2, d_head=2)
    fold = said_by(model, 1)
    rows = FoldRows(model, fold, number_format, 4.0)
    attention = model.blocks[0]
    for last in range(TOKENS):
        asking = rows.number[LENGTH - 1, last]
        read = np.array(
            [row for (position, token), row in rows.number.items() if position < LENGTH - 1 or token == last]
        )
        readable = rows.readable(asking, read)
        largest = np.linalg.norm(readable.value[read], axis=-1).max(axis=0)
        assert (readable.rounding >= number_format.unit_roundoff * largest).all()
        x = model.W_E[rows.tokens] + model.W_pos[rows.positions]
        y = x - x.mean(-1, keepdims=True) if attention.norm.kind == "layer" else x
        y = y / np.sqrt((y * y).mean(-1, keepdims=True) + attention.norm.epsilon) * attention.norm.w
        for start in itertools.product(range(TOKENS), repeat=LENGTH - 1):
            context = [rows.number[pair] for pair in enumerate((*start, last))]
            for head in range(2):
                scores = (y[asking] @ attention.W_Q[head]) @ (y[context] @ attention.W_K[head]).T
                e = np.exp(scores - scores.max())
                with np.errstate(divide="ignore"):  # what may underflow has the lower bound 0
                    ratios = e / readable.upper[head, context], e / readable.lower[head, context]
                # One factor brings all numerators of the context between their bounds.
                assert ratios[0].max() <= ratios[1].min() * (1.0 + 1e-12)
                assert (np.linalg.norm(readable.value[context, head], axis=-1) > 0.0).all()
