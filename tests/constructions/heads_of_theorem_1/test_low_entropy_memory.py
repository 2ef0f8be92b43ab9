"""A transformer for distributions of low entropy."""

import numpy as np
import pytest

from constructions.encoders.low_entropy_encoder import missing_mass, strength
from constructions.errors import HypothesisError, InputError
from constructions.heads_of_theorem_1.low_entropy_memory import low_entropy_memory
from constructions.model.attention import logits
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.unembeddings.axes import basis, simplex


def test_the_stream_of_the_transformer_has_the_strength_of_the_theorem() -> None:
    distributions = np.array([[0.9, 0.05, 0.05], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7], [0.4, 0.3, 0.3]])
    contexts = np.array([[0, 1], [1, 0], [2, 2], [0, 2]])
    task = array_task(contexts, distributions=distributions, vocabulary=3)
    family = basis(3, 3)
    found = logits(low_entropy_memory(task, family, d_head=2), task.contexts)
    assert task.distributions is not None
    missing = missing_mass(task.distributions, task.labels)
    wanted = strength(missing, least=1.0, kappa=1.0, d_vocab=3)
    assert np.abs(found - wanted[:, np.newaxis] * family.vectors[task.labels]).max() < 1e-8


def test_a_task_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="labels"):
        low_entropy_memory(enumerated_task(3, 2), simplex(3, 2), d_head=1)
    with pytest.raises(InputError, match="rows of the unembedding"):
        low_entropy_memory(enumerated_task(3, 2, target="distributions"), simplex(4, 3), d_head=1)


def test_contexts_of_one_token_in_few_dimensions_are_refused() -> None:
    with pytest.raises(HypothesisError, match="features of rank T"):
        low_entropy_memory(enumerated_task(3, 1, target="distributions"), simplex(3, 2), d_head=1)
