"""The audit certifies what it says, and nothing that is not so."""

from verify.theorems.claims import dana_value_rank as audit
from verify.verdict import Verdict


def test_with_more_heads_or_one_dimension_there_is_no_counterexample():
    assert audit._lost(d_model=2, n_heads=1).verdict is Verdict.PROVED
    assert audit._lost(d_model=1, n_heads=1).verdict is Verdict.REFUTED
    assert audit._lost(d_model=3, n_heads=3).verdict is Verdict.REFUTED


def test_with_a_finite_head_0_as_many_contexts_as_it_tells_apart_are_no_counterexample():
    assert audit._lost_behind_head_0(count=7).verdict is Verdict.PROVED
    assert audit._lost_behind_head_0(count=5).verdict is Verdict.REFUTED
