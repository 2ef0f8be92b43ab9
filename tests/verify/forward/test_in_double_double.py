"""DoubleDouble keep what float64 loses."""

import numpy as np

from constructions.model.blocks import Normalization
from verify.arithmetic.double_double import DoubleDouble
from verify.forward.in_double_double import InDoubleDouble


def test_low_words_of_huge_scores_count() -> None:
    scores = DoubleDouble(np.array([[1e20, 1e20]]), np.array([[-5000.0, 3.0]]))
    powers = InDoubleDouble().exponentials(InDoubleDouble().subtract_max(scores, np.ones((1, 2), dtype=bool)))
    assert powers.high.tolist() == [[0.0, 1.0]]


def test_a_normalization_of_pairs_keeps_their_low_words() -> None:
    x = np.array([[1.0, 2.0, 4.0]])
    norm = Normalization("layer", w=np.ones(3), epsilon=1e-5)
    plain, moved = (
        InDoubleDouble().normalize(DoubleDouble(x, low), norm)[0] for low in (np.zeros((1, 3)), x * 2.0**-60)
    )
    change = (moved.high - plain.high) + (moved.low - plain.low)
    assert 0.0 < np.abs(change).max() < 2.0**-60
