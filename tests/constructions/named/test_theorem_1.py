"""The memory of Theorem 1 for contexts of one's own."""

import numpy as np
import pytest
from hypothesis import given

from byheart.testing.strategies import contexts
from constructions.errors import CapacityError, HypothesisError
from constructions.named.context_rows import ContextRows
from constructions.named.theorem_1 import theorem_1_on_contexts
from verify.provers.memorization import certify_memorization

XOR = ContextRows(np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]]), ("0", "1"))


@given(contexts(d_vocab=3, n_ctx=2, max_size=9))
def test_every_set_of_contexts_is_memorized(drawn):
    rows = ContextRows(drawn, tuple(map(str, range(3))))
    made = theorem_1_on_contexts(rows, d_model=4, d_head=3)
    assert certify_memorization(made.model, made.task).certificate.verdict.value == "PROVED"


def test_the_count_of_the_paper_is_refused_where_the_theorem_fails():
    with pytest.raises(CapacityError, match=r"2 heads"):
        theorem_1_on_contexts(XOR, d_model=4, d_head=4, n_heads=1)
    assert theorem_1_on_contexts(XOR, d_model=4, d_head=4, n_heads=2).model.n_heads == 2


def test_equal_contexts_are_refused():
    with pytest.raises(HypothesisError, match="Theorem 1 needs pairwise distinct contexts"):
        theorem_1_on_contexts(ContextRows(np.array([[0], [0]]), ("0",)), d_model=2, d_head=1)
