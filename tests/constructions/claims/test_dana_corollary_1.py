"""The construction of Corollary 1."""

import pytest

from constructions.claims.dana_corollary_1 import CLAIM
from constructions.errors import HypothesisError
from verify.certificates.memorization import certify_memorization
from verify.verdict import Verdict


@pytest.mark.parametrize("tokens", [1, 3, 8])
def test_the_look_up_table_holds_as_many_bigrams_as_the_heads_have_columns(tokens):
    built = CLAIM.construct(tokens=tokens)
    assert built.model.n_heads * built.model.d_head == built.task.n_contexts == tokens**2
    assert certify_memorization(built.model, built.task).certificate.verdict is Verdict.PROVED


def test_two_tokens_and_no_gap_are_refused():
    with pytest.raises(HypothesisError, match="N != 2"):
        CLAIM.construct(tokens=2)
    with pytest.raises(HypothesisError, match="gap >= 1"):
        CLAIM.construct(gap=0)
