"""Facts of subjects and relations by one head that adds what each of the two suggests."""

import numpy as np

from constructions.memories.bigrams.suggested_answers import additive_recall
from constructions.model.attention import logits


def test_the_logits_are_the_sums_of_the_indicators():
    table = np.array([[0, 2], [1, 2]])
    task, model = additive_recall(table, 3)
    assert logits(model, task.contexts)[:, 4:].tolist() == [[2, 1, 1], [1, 0, 2], [1, 2, 1], [0, 1, 2]]
