"""Tables of three columns: memorized in every run, in as many entries as are counted, whichever column has the
subjects.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, HypothesisError, ResourceError
from constructions.memories.object_words.object_words_memory import object_words_memory, object_words_parameters
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from constructions.tasks.task import Task
from verify.runs.exact_runs import memorized_without_rounding
from verify.runs.formats import FORMATS


def random_table(sizes: tuple[int, int, int], objects: int, *, holes: float = 0.0, seed: int = 0) -> Task:
    """Random objects of three columns; about so many are left out."""
    rng = np.random.default_rng(seed)
    rows = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1)
    rows = rows + np.concatenate([[0], np.cumsum(sizes)[:2]])
    kept = rng.random(len(rows)) >= holes
    kept[[0, -1]] = True  # two last tokens at least
    labels = rng.integers(0, objects, int(kept.sum()))
    return array_task(rows[kept], next_tokens=labels, vocabulary=sum(sizes), answers=objects, target="labels")


@given(
    sizes=st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(2, 9)),
    objects=st.sampled_from([1, 2, 6, 30, 62, 200]),
    holes=st.sampled_from([0.0, 0.5]),
    seed=st.integers(0, 2**32),
    dtype=st.sampled_from(["bfloat16", "float32", "float64"]),
)
def test_every_run_holds_every_table_of_three_columns(sizes, objects, holes, seed, dtype) -> None:
    task = random_table(sizes, min(objects, 128) if dtype == "bfloat16" else objects, holes=holes, seed=seed)
    built = object_words_memory(task, dtype=dtype)
    assert built.model.parameters == object_words_parameters(task, dtype=dtype)
    assert memorized_without_rounding(built.model, task, FORMATS[dtype], 1e-3).all()


def test_a_table_of_three_columns_takes_as_many_entries_as_the_page_says() -> None:
    assert object_words_parameters(random_table((300, 5, 3), 60)) == 2128


def test_subjects_may_stand_in_the_second_column() -> None:
    first, second = random_table((40, 3, 2), 60), random_table((3, 40, 2), 60)
    assert object_words_parameters(first) == object_words_parameters(second)


def test_a_word_that_is_one_more_loses_a_fact_of_its_subject_alone() -> None:
    task = random_table((12, 2, 3), 60)
    model = object_words_memory(task).model
    W_E = model.W_E.copy()
    W_E[3, 0] += 1.0
    spoiled = Model(model.blocks, model.W_U, model.b_U, W_E, model.W_pos)
    memorized = memorized_without_rounding(spoiled, task, FORMATS["float32"], 1e-3)
    assert not memorized[task.contexts[:, 0] == 3].all() and memorized[task.contexts[:, 0] != 3].all()


def test_the_most_objects_of_three_columns_are_memorized_and_one_more_is_refused() -> None:
    def table(objects: int) -> Task:
        each = np.arange(objects)
        contexts = np.column_stack([each // 8, 40 + each % 4, 44 + each // 4 % 2])
        return array_task(contexts, next_tokens=each, vocabulary=46, answers=objects, target="labels")

    task = table(128)
    built = object_words_memory(task, dtype="bfloat16")
    assert memorized_without_rounding(built.model, task, FORMATS["bfloat16"], 1e-3).all()
    with pytest.raises(CapacityError, match=r"objects that runs in bfloat16 tell apart, but there are 129$"):
        object_words_memory(table(129), dtype="bfloat16")


def test_where_one_digit_is_in_a_word_the_table_is_held_in_as_many_entries_as_the_page_says() -> None:
    task = random_table((60, 2, 3), 5000)
    built = object_words_memory(task)
    N, G, Q, K = 65, 6, 3, 5000
    objects = len(np.unique(task.labels))
    assert 126 < objects < 798
    smallest = (N + 3) * G + (2 * G + Q + 2) * (2 * G + Q + 1) + 2 * (G + Q) * (G + 1) + (G + Q + 1) * G + 2 * K
    assert built.model.parameters <= smallest
    assert object_words_parameters(task, dtype="float32") == built.model.parameters
    small = random_table((30, 2, 3), 20)
    built = object_words_memory(small, dtype="bfloat16")
    smallest = (35 + 3) * G + (2 * G + Q + 2) * (2 * G + Q + 1) + 2 * (G + Q) * (G + 1) + (G + Q + 1) * G + 2 * 20
    assert built.model.parameters in (smallest, smallest + 1)
    assert memorized_without_rounding(built.model, small, FORMATS["bfloat16"], 1e-3).all()


def test_weights_that_no_memory_has_room_for_are_refused_before_they_are_made() -> None:
    each = np.arange(20_000)  # few facts of a large table
    contexts = np.column_stack([each % 40, 40 + each // 40 % 40, 80 + each])
    task = array_task(contexts, next_tokens=each % 5, vocabulary=20_080, answers=5, target="labels")
    with pytest.raises(ResourceError, match=f"object words of {object_words_parameters(task)} parameters would need"):
        object_words_memory(task)


def test_what_is_no_table_of_three_columns_is_refused() -> None:
    def task(*contexts: tuple[int, int, int]) -> Task:
        return array_task(
            np.array(contexts), next_tokens=np.arange(len(contexts)), vocabulary=9, answers=9, target="labels"
        )

    with pytest.raises(HypothesisError, match="tokens of one column each, but some occur in two"):
        object_words_memory(task((0, 1, 2), (1, 0, 2)))
    with pytest.raises(HypothesisError, match="several last tokens of three, but all are the same"):
        object_words_memory(task((0, 1, 2), (3, 1, 2)))
    with pytest.raises(HypothesisError, match="another type than float16 for three columns, but the type is float16"):
        object_words_memory(task((0, 1, 2), (0, 1, 3)), dtype="float16")
    for refused in (task((0, 1, 2), (1, 0, 2)), task((0, 1, 2), (3, 1, 2))):
        assert object_words_parameters(refused) == 0
