"""Counts of inputs: a tie is right for nobody, and what is not known counts as nothing."""

import numpy as np

from verify.arithmetic.enclosure import Enclosure
from verify.domains.tally import MOST_NAMED, Tally


def test_only_what_the_ends_of_the_enclosures_decide_is_counted():
    logits = Enclosure(
        [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]], [[0.1], [0.1], [0.0], [0.5], [np.inf]]
    )
    tally, contexts = Tally(), np.arange(5)[:, None]
    assert tally.count(logits, np.zeros(5, dtype=np.int64), contexts).tolist() == [3, 4]
    assert (tally.right, tally.wrong, tally.examples) == (1, 2, [(1,), (2,)])


def test_a_model_with_one_output_is_right():
    tally = Tally()
    assert tally.count(
        Enclosure([[0.0], [1.0]], [[1.0], [np.inf]]), np.zeros(2, dtype=np.int64), np.zeros((2, 1))
    ).tolist() == [1]
    assert (tally.right, tally.wrong) == (1, 0)


def test_no_more_than_so_many_are_named():
    tally = Tally()
    for _ in range(3):
        tally.name(np.zeros((MOST_NAMED - 30, 2), dtype=np.int64))
    assert len(tally.examples) == MOST_NAMED
