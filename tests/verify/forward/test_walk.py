import numpy as np
import pytest

from constructions.errors import InputError
from constructions.model.model import Model
from constructions.tasks.vectors import Vectors, VectorTask
from verify.forward.walk import checked_inputs, contexts_of, part_of

MODEL = Model(blocks=(), W_U=np.eye(3), W_E=np.eye(3), W_pos=np.zeros((2, 3)))


@pytest.mark.parametrize(
    "contexts",
    [
        np.array([0, 1]),
        np.array([[0.0, 1.0]]),
        np.array([[0, 1, 2]]),
        np.zeros((1, 0), dtype=np.int64),
        np.array([[0, 3]]),
        np.array([[-1, 0]]),
        np.ma.masked_array([[0, 1]], mask=[[True, False]]),
    ],
    ids=["one dimension", "floats", "too long", "empty", "unknown token", "negative", "masked"],
)
def test_contexts_that_cannot_be_read_are_refused(contexts: np.ndarray) -> None:
    with pytest.raises(InputError, match="contexts"):
        contexts_of(MODEL, contexts)


def test_contexts_become_integers_of_one_type() -> None:
    found = checked_inputs(MODEL, np.array([[2, 0]], dtype=np.uint8))
    assert isinstance(found, np.ndarray) and found.dtype == np.int64 and found.tolist() == [[2, 0]]


def test_tokens_and_vectors_are_not_taken_for_each_other() -> None:
    task = VectorTask(contexts=np.ones((2, 3, 3)), queries=np.ones((2, 3)), labels=np.zeros((2, 1)))
    with pytest.raises(InputError, match="reads tokens"):
        checked_inputs(MODEL, task)


def test_a_part_has_the_chosen_contexts_or_examples() -> None:
    contexts = np.arange(12).reshape(4, 3)
    assert part_of(contexts, np.array([2, 0])).tolist() == [[6, 7, 8], [0, 1, 2]]  # type: ignore[union-attr]
    rng = np.random.default_rng(0)
    for size in (1, 3):
        task = VectorTask(
            contexts=rng.normal(size=(size, 2, 4)), queries=rng.normal(size=(3, 4)), labels=np.ones((3, 1))
        )
        part = part_of(task, np.array([2, 1]))
        assert isinstance(part, Vectors) and (part.queries == task.queries[[2, 1]]).all()
        assert (part.contexts == (task.contexts if size == 1 else task.contexts[[2, 1]])).all()
