"""The construction of Theorem 2: a transformer that holds laws of low entropy in few dimensions."""

import numpy as np
import pytest

from constructions.claims.dana_theorem_2 import CLAIM
from constructions.errors import HypothesisError
from constructions.models.attention import logits
from verify.certificates.memorization import certify_memorization
from verify.verdict import Verdict


@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"tokens": 2, "contexts": 3, "d_model": 2, "d_head": 1},
        {"tokens": 40, "contexts": 30, "noise": 3, "seed": 5},
        {"tokens": 9, "length": 3, "contexts": 1, "d_model": 8},
    ],
)
def test_the_weights_are_certified(sizes: dict[str, int]) -> None:
    built = CLAIM.construct(**sizes)
    assert certify_memorization(built.model, built.task, built.criterion).certificate.verdict is Verdict.PROVED


def test_the_default_has_fewer_dimensions_than_its_laws() -> None:
    built = CLAIM.construct()
    assert built.model.d_model < built.task.vocabulary_size - 1
    assert (logits(built.model, built.task.contexts).argmax(axis=1) == built.task.labels).all()
    assert built.task.laws is not None
    assert np.allclose(built.task.laws.max(axis=1), 0.99)


def test_what_the_hypotheses_exclude_is_refused() -> None:
    for sizes, hypothesis in (
        ({"tokens": 1}, "N >= 2"),
        ({"length": 1}, "S >= 2"),
        ({"contexts": 577}, "T <= N"),
        ({"contexts": 0}, "1 <= T"),
        ({"d_head": 17}, "d_h <= d"),
        ({"tokens": 30, "d_model": 2, "d_head": 1}, "a family that holds N tokens"),
        ({"noise": 1}, "noise"),
        ({"noise": 2}, "noise >= 3"),
        ({"seed": -1}, "seed >= 0"),
    ):
        with pytest.raises(HypothesisError, match=hypothesis):
            CLAIM.construct(**sizes)
