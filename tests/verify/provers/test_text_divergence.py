"""The mean divergence over all contexts of a text: its weights, and how often they occur."""

import numpy as np

from constructions.tasks.task import Counts, make_task
from tests.memories import memory, random_task, write_memory
from tests.verify.provers.test_memorization import REFUTED, restated, verdicts
from verify.arithmetic.enclosure import Enclosure
from verify.certificates.certificate import (
    TEXT_DIVERGENCE,
)
from verify.provers import text_divergence
from verify.provers.memorization import check_memorization


def test_another_number_of_occurrences_is_refuted(tmp_path):
    task = random_task()
    write_memory(tmp_path, memory(task), task)
    restated(tmp_path, TEXT_DIVERGENCE, occurrences=7)
    assert verdicts(check_memorization(tmp_path))[TEXT_DIVERGENCE] is REFUTED


def test_a_mean_divergence_is_weighted_with_the_occurrences_and_never_below_zero():
    task = make_task(np.array([[0], [1]]), Counts.from_rows([{0: 1}, {1: 3}]), vocabulary=("a", "b"))
    lower, upper = text_divergence._mean_over_occurrences(task, Enclosure(np.zeros(2), np.full(2, 1e-3)))
    assert lower == 0.0 and 1e-3 <= upper < 1.1e-3
    first = float(task.counts.totals()[0])
    lower, upper = text_divergence._mean_over_occurrences(task, Enclosure(np.array([1.0, 0.0])))
    assert lower <= first / 4.0 <= upper and upper - lower < 1e-15
