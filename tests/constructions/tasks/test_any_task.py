"""Whatever kind of task there is says the same things of itself."""

import numpy as np
import pytest

from constructions.tasks.any_task import AnyTask, ListedTask
from constructions.tasks.prompts import PromptTask
from constructions.tasks.table import table_task
from constructions.tasks.vectors import VectorTask

TABLE = table_task("a,b,c\nb,a,c\na,a,b\n", target="labels")
DISTRIBUTIONS = table_task("a,b,c\nb,a,c\nb,a,b\n", target="distributions")
VECTORS = VectorTask(np.ones((1, 2, 3)), np.eye(3), np.eye(3)[[0, 0, 1]], "classification")
PROMPTS = PromptTask(("a", "b"), ((0,), (1, 1)), ((1, 0), (0,)), (("a", "b a"), ("b b", "a")))
TASKS: tuple[AnyTask, ...] = (TABLE, DISTRIBUTIONS, VECTORS, PROMPTS)
LISTED: tuple[ListedTask, ...] = (TABLE, DISTRIBUTIONS, VECTORS)


@pytest.mark.parametrize("task", TASKS, ids=["table", "distributions", "vectors", "prompts"])
def test_a_fact_alone_is_that_fact(task: AnyTask) -> None:
    for fact in range(task.n_contexts):
        alone = task.one(fact)
        assert alone.n_contexts == 1
        assert alone.answer(0) == task.answer(fact) and alone.in_words(0)[1] == task.in_words(fact)[1]


@pytest.mark.parametrize("task", TASKS, ids=["table", "distributions", "vectors", "prompts"])
def test_answers_are_counted_by_their_beginnings(task: AnyTask) -> None:
    assert sum(task.following[()].values()) == task.n_contexts
    assert all(task.following[()][task.answer(fact)[0]] for fact in range(task.n_contexts))


@pytest.mark.parametrize("task", TASKS, ids=["table", "distributions", "vectors", "prompts"])
def test_every_part_says_which_facts_have_its_contexts(task: AnyTask) -> None:
    for part in task.parts:
        for fact, place in zip(part.facts.tolist(), part.places.tolist(), strict=True):
            assert int(part.task.labels[place]) in task.answer(fact)


@pytest.mark.parametrize("task", LISTED, ids=["table", "distributions", "vectors"])
def test_the_class_of_a_context_is_a_mode(task: ListedTask) -> None:
    assert task.modes()[np.arange(task.n_contexts), task.classes].all()
    assert task.guess_right == np.bincount(task.classes).max()


def test_a_fact_that_is_typed_is_found() -> None:
    assert TABLE.typed("b, a") == ((1, 0), next(fact for fact in range(3) if TABLE.contexts[fact].tolist() == [1, 0]))
    assert TABLE.typed("b, b") == ((1, 1), None)
    assert PROMPTS.typed("b b") == ((1, 1), 1)
