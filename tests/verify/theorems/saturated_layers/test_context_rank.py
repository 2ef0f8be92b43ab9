"""The ranks of contexts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError
from verify.theorems.saturated_layers.context_rank import certify_context_ranks
from verify.verdict import Verdict


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.integers(0, 10**6))
def test_contexts_are_judged_one_by_one(count, tokens, width, seed):
    contexts = np.random.default_rng(seed).integers(-1, 2, (count, tokens, width)).astype(np.float64)
    found = certify_context_ranks(contexts)
    full = [np.linalg.matrix_rank(context) == tokens for context in contexts]
    assert found.full == sum(full) and sorted(found.relations) == [t for t in range(count) if not full[t]]
    assert all(relation.holds_for(contexts[t]) for t, relation in found.relations.items())
    assert found.verdict is (Verdict.PROVED if all(full) else Verdict.REFUTED)


def test_more_tokens_than_dimensions_are_dependent():
    assert certify_context_ranks(np.random.default_rng(0).standard_normal((2, 5, 4))).full == 0


@pytest.mark.parametrize("contexts", [np.ones((2, 3)), np.ones((0, 2, 2)), np.full((1, 1, 1), np.nan)])
def test_what_is_no_list_of_contexts_is_refused(contexts):
    with pytest.raises(InputError):
        certify_context_ranks(contexts)
