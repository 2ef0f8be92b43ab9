"""The rank of the features: what a certificate says of it."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.layers import random_layer, random_layer_task
from tests.memories import memory, random_task
from verify.arithmetic.enclosure import Enclosure
from verify.linear_algebra.row_rank import RankCertificate
from verify.provers import feature_rank
from verify.verdict import Verdict

PROVED, UNDECIDED = Verdict.PROVED, Verdict.UNDECIDED


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.floats(0.0, 10.0))
def test_the_condition_number_counts_the_radius_and_is_rounded_up(entry, smallest, radius):
    found = RankCertificate(PROVED, smallest, "a test")
    matrix = Enclosure(np.array([[entry, 0.0]]), radius)
    bound = feature_rank._bounds(matrix, found)
    assert bound[0] == smallest
    # The largest singular value of the set is that of [entry + radius, radius].
    square = (Fraction(entry) + Fraction(radius)) ** 2 + Fraction(radius) ** 2
    assert Fraction(bound[1]) ** 2 * Fraction(smallest) ** 2 >= square
    assert feature_rank._bounds(matrix, RankCertificate(UNDECIDED, smallest, "a test")) == (0.0, math.inf)
    assert feature_rank._bounds(matrix, RankCertificate(PROVED, 0.0, "a test")) == (0.0, math.inf)


def test_the_largest_rank_is_that_of_the_columns_or_of_one_shared_context():
    layer, shared, own = random_layer(n_heads=2, d_model=3), random_layer_task(), random_layer_task(shared=False)
    assert feature_rank.largest_rank(layer, shared, 6) == 2 * (3 - 1) + 1
    assert feature_rank.largest_rank(layer, own, 6) == 6
    task = random_task()
    assert feature_rank.largest_rank(memory(task), task, 22) == 22
