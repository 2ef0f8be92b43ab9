"""One head in rationals: the inverses are inverses, the width is r, and what cannot be fitted is refused."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from constructions.claims.mahdavi_claims_1_2 import CLAIM, exact_head
from constructions.errors import HypothesisError
from constructions.models.exact_network import as_rationals
from constructions.saturated.query_blocks import block_violation


def test_the_claim_holds() -> None:
    assert CLAIM.id == "mahdavi.claims-1-2" and CLAIM.judgement == "holds"


@given(st.integers(1, 3), st.integers(0, 2), st.integers(0, 4), st.integers(0, 2**16))
def test_a_head_fits_its_block_with_r_columns(tokens: int, more: int, earlier: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    fitted = tokens - 1 if earlier else tokens
    assume(fitted)
    contexts = rng.integers(-3, 4, (earlier + fitted, tokens, tokens + more))
    queries = rng.integers(-3, 4, (earlier + fitted, tokens + more))
    assume(all(as_rationals(context).rank() == tokens for context in contexts))
    assume(block_violation(queries.astype(float), [range(earlier, earlier + fitted)]) is None)
    head = exact_head(contexts, queries, fitted=fitted)
    assert head.width <= tokens
    assert as_rationals(queries[earlier:]) * head.W_Q == as_rationals(np.eye(fitted, dtype=np.int64))
    for context, inverse in zip(contexts[earlier:], head.inverses, strict=True):
        assert as_rationals(context) * inverse == as_rationals(np.eye(tokens, dtype=np.int64))


def test_what_cannot_be_fitted_is_refused() -> None:
    contexts = np.tile(np.eye(2, 3, dtype=np.int64), (2, 1, 1))
    with pytest.raises(HypothesisError, match="linearly dependent"):
        exact_head(contexts, np.array([[1, 0, 0], [2, 0, 0]]), fitted=2)
    with pytest.raises(HypothesisError, match="query 0 is in the span"):
        exact_head(contexts, np.array([[1, 0, 0], [2, 0, 0]]), fitted=1)
    with pytest.raises(HypothesisError, match="contexts of rank n"):
        exact_head(contexts[:, [0, 0]], np.eye(2, 3, dtype=np.int64), fitted=2)
