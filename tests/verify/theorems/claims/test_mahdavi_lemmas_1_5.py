"""The audit of Lemmas 1 to 5 certifies what it says, and nothing that is not so."""

import numpy as np

from constructions.rational.saturating_head import SaturatingMatrix
from verify.theorems.claims import mahdavi_lemmas_1_5 as audit
from verify.theorems.saturated_layers.saturation import OneHotDistance
from verify.verdict import Verdict


def test_a_direction_that_does_not_vanish_is_not_confirmed(changed) -> None:
    changed(
        audit,
        "exact_saturating_matrix",
        lambda right: SaturatingMatrix(right.key_direction, tuple(x + 1 for x in right.query_direction)),
    )
    assert audit._saturating_matrix(np.random.default_rng(3), 20).verdict is Verdict.REFUTED


def test_tokens_with_equal_scores_are_not_confirmed(changed) -> None:
    changed(
        audit,
        "exact_saturating_matrix",
        lambda right: SaturatingMatrix((0,) * len(right.key_direction), right.query_direction),
    )
    assert audit._saturating_matrix(np.random.default_rng(3), 20).verdict is Verdict.REFUTED


def test_a_judge_that_claims_too_little_distance_is_noticed(changed) -> None:
    changed(audit, "one_hot_bound", lambda right: OneHotDistance(right.winners, right.distances / 4))
    assert audit._saturation(np.random.default_rng(4), 20).verdict is Verdict.UNDECIDED


def test_wrong_ranks_are_noticed(monkeypatch, changed) -> None:
    rank = audit._rank
    changed(audit, "_rank", lambda found: found // 2)
    assert audit._weyl_with_equality().verdict is Verdict.UNDECIDED
    monkeypatch.setattr(audit, "_rank", lambda matrix: rank(matrix) - (len(matrix) > 3))
    assert audit._block_rank(np.random.default_rng(1), 40).verdict is Verdict.UNDECIDED


def test_an_undecided_rank_is_no_rank(monkeypatch) -> None:
    class Open:
        lower, upper = 1, 2

    monkeypatch.setattr(audit, "rank_bracket", lambda matrix: Open())
    assert np.isnan(audit._rank(np.eye(2, dtype=np.int64)))
    assert audit._block_rank(np.random.default_rng(1), 3).verdict is Verdict.UNDECIDED
    assert audit._mean_shift(np.random.default_rng(1), largest=2, count=3).verdict is Verdict.UNDECIDED
    assert audit._weyl_with_equality().verdict is Verdict.UNDECIDED
