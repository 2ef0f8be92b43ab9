"""The constructions of Corollary 2."""

import pytest

from constructions.claims.dana_corollary_2 import CLAIM, best_on_xor
from constructions.errors import HypothesisError
from verify.certificates.memorization import certify_memorization
from verify.verdict import Verdict


@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"tokens": 3, "length": 3, "d_model": 2, "n_heads": 3},
        {"tokens": 2, "n_heads": 1},
        {"tokens": 1, "length": 1},
    ],
)
def test_the_solvable_contexts_are_held(sizes):
    built = CLAIM.construct(**sizes)
    assert certify_memorization(built.model, built.task).certificate.verdict is Verdict.PROVED


def test_the_default_holds_as_many_as_the_paper_counts():
    built = CLAIM.construct()
    assert (built.task.n_contexts, built.task.n_all) == (12, 16)
    assert built.summary.endswith("accuracy 13/16 on average over the labels of the others")


def test_three_of_four_contexts_of_xor_are_held():
    built = best_on_xor()
    found = certify_memorization(built.model, built.task)
    assert sorted(margin > 0 for margin in found.answers.margin_lower.tolist()) == [False, True, True, True]


def test_what_the_hypotheses_exclude_is_refused():
    for sizes, hypothesis in (
        ({"d_model": 1, "d_head": 1}, "d >= 2"),
        ({"d_head": 5}, "1 <= d_h <= d"),
        ({"n_heads": 0}, "H >= 1"),
        ({"tokens": 0}, "N >= 1"),
    ):
        with pytest.raises(HypothesisError, match=hypothesis):
            CLAIM.construct(**sizes)
