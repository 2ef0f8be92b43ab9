"""How many attention weights are close to 1, and how many may be."""

from fractions import Fraction

import numpy as np
import pytest

from constructions.model.shapes import mahdavi_layer
from constructions.tasks.vectors import VectorTask
from verify.forward.heads import enclose_layer
from verify.provers.saturation import DELTA, check_saturation, prove_saturation
from verify.verdict import Verdict


def seen(gaps):
    """One head that attends to the second of two tokens with weight 1 / (1 + exp(-gap))."""
    one = np.ones((1, 1, 1))
    layer = mahdavi_layer(W_Q=one, W_K=one, W_V=one, W_O=np.eye(1), W_D=np.eye(1))
    queries = np.array(gaps, dtype=np.float64)[:, np.newaxis]
    return enclose_layer(layer, VectorTask(np.array([[[0.0], [1.0]]]), queries, np.zeros((len(gaps), 1))))


def test_pairs_above_one_minus_delta_are_counted():
    found = seen([np.log(98), np.log(100), -5.0])  # 98/99, 100/101, and the other token by 1/(1 + exp(-5))
    statement = prove_saturation(found, DELTA)
    assert dict(statement.values) == {"pairs": 3, "saturated_lower": 2, "delta": Fraction(1, 100)}
    assert check_saturation(statement, found).verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("change", "verdict"),
    [({"saturated_lower": 3}, "REFUTED"), ({"saturated_lower": 1}, "PROVED"), ({"pairs": 4}, "REFUTED")],
)
def test_a_count_that_is_not_true_is_refuted_and_a_weaker_one_stays(change, verdict):
    found = seen([np.log(98), np.log(100), -5.0])
    statement = prove_saturation(found, DELTA)
    forged = type(statement)(statement.id, "", {**statement.values, **change})
    assert check_saturation(forged, found).verdict is Verdict[verdict]


def test_a_pair_at_the_very_limit_is_not_counted_though_it_may_be_above():
    found = seen([np.log(99.01)])
    statement = prove_saturation(found, DELTA)
    assert statement.values["saturated_lower"] == 0
    forged = type(statement)(statement.id, "", {**statement.values, "saturated_lower": 1})
    assert check_saturation(forged, found).verdict is Verdict.PROVED


def test_a_model_without_such_heads_has_no_saturation():
    assert check_saturation(prove_saturation(seen([1.0]), DELTA), None).verdict is Verdict.REFUTED
