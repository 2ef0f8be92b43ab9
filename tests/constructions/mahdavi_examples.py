"""A Hypothesis strategy for examples of one attention layer: contexts of full rank, queries in general position."""

import numpy as np
from hypothesis import strategies as st

from constructions.numeric.arrays import Float64Array


@st.composite
def layer_examples(
    draw: st.DrawFn, *, max_heads: int = 4, max_tokens: int = 4, one_direction: bool = False
) -> tuple[Float64Array, Float64Array, int, int]:
    """Contexts, queries, number of heads and their width, with as many examples as they hold or fewer.

    Down to one head, one token, one dimension and one example; shared contexts and others.
    """
    n_heads = draw(st.integers(1, max_heads))
    tokens = draw(st.integers(1, max_tokens))
    width = draw(st.integers(tokens, tokens + 3))
    d_head = draw(st.integers(1, tokens + 1))
    fitted = tokens if one_direction else min(tokens, d_head)
    examples = draw(st.integers(1, n_heads * (fitted - 1) + 1))
    shared = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    contexts = rng.uniform(size=(1 if shared else examples, tokens, width)) + np.eye(tokens, width)
    return contexts, rng.uniform(-1.0, 1.0, size=(examples, width)), n_heads, d_head
