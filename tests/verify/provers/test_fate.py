"""A fact is memorized, lost, or neither: by the criterion of the certificate, and never where a guess would do."""

import numpy as np

from constructions.model.model import Model
from constructions.tasks.criterion import Criterion
from constructions.tasks.table import table_task
from constructions.tasks.task import Counts, make_task
from verify.provers.fate import criterion_of_fact, fate

TASK = table_task("a,b\nb,a\n", target="labels")


def model(W_U: np.ndarray) -> Model:
    return Model(blocks=(), W_U=W_U, W_E=np.eye(2), W_pos=np.zeros((1, 2)))


def test_each_fact_has_its_own_fate():
    second_only = np.array([[0.0, 1.0], [0.0, 1.0]]).T  # the second token leads after a, and nothing leads after b
    assert [fate(model(np.eye(2)[::-1]), TASK.one(i), Criterion()) for i in range(2)] == ["memorized"] * 2
    assert [fate(model(np.eye(2)), TASK.one(i), Criterion()) for i in range(2)] == ["lost"] * 2
    assert fate(model(second_only), TASK.one(0), Criterion()) == "lost"  # a tie is no lead


def test_a_distribution_has_to_be_nearer_than_a_guess():
    counts = Counts.from_rows([{0: 9, 1: 11}, {0: 11, 1: 9}])
    task = make_task(np.array([[0], [1]]), counts, vocabulary=("a", "b"), target="distributions")
    wide = Criterion(tolerance=100.0)
    assert criterion_of_fact(task, wide).tolerance < 1.0
    assert criterion_of_fact(TASK, wide) == wide
