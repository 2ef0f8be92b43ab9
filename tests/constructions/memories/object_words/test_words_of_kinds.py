"""Tables whose relations have objects of their own, or never meet: held in every run, in as many entries as counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.memories.object_words.object_words_memory import object_words_memory, object_words_parameters
from constructions.memories.object_words.words import Columns
from constructions.memories.object_words.words_of_kinds import KindReadout, words_of_kinds
from constructions.model.model import Model
from constructions.model.precision import SIGNIFICAND
from constructions.tasks.arrays import array_task
from constructions.tasks.task import Task
from verify.provers.memorization import certify_memorization
from verify.runs.exact_runs import exact_runs
from verify.runs.formats import FORMATS


def table_of_kinds(
    subjects: int, sizes: list[int], *, holes: float = 0.0, meet: int = 1, seed: int = 0, subject_first: bool = True
) -> Task:
    """Random objects of each relation its own; a subject has one relation of `meet`, and has that or not."""
    rng = np.random.default_rng(seed)
    first = np.cumsum([0, *sizes])
    facts = [(0, subjects, 0)]
    for i in range(subjects):
        for j, size in enumerate(sizes):
            if (i, j) != (0, 0) and i % meet == j % meet and rng.random() >= holes:
                facts.append((i, subjects + j, int(first[j] + rng.integers(size))))
    rows = np.array(facts)
    contexts = rows[:, :2] if subject_first else rows[:, 1::-1]
    return array_task(
        contexts, next_tokens=rows[:, 2], vocabulary=subjects + len(sizes), answers=int(first[-1]), target="labels"
    )


def ways(task: Task, precision: int) -> list:
    columns = Columns.of(task)
    found = []
    for way in (columns, columns.exchanged):
        for words in words_of_kinds(way, way.table(task), precision):
            readout = KindReadout(words.digits, words)
            if words.has_room(precision) and words.fit(precision) and readout.fit(precision):
                found.append((words, readout))
    return found


@given(
    subjects=st.integers(1, 20),
    sizes=st.lists(st.sampled_from([1, 2, 6, 7, 30, 62, 126, 250]), min_size=1, max_size=7),
    holes=st.sampled_from([0.0, 0.5]),
    meet=st.sampled_from([1, 2, 3]),
    seed=st.integers(0, 2**32),
    subject_first=st.booleans(),
    dtype=st.sampled_from(["float32", "float64"]),
    data=st.data(),
)
def test_every_way_that_fits_is_held_in_every_run_by_the_lead_of_the_theorem(
    subjects, sizes, holes, meet, seed, subject_first, dtype, data
) -> None:
    task = table_of_kinds(subjects, sizes, holes=holes, meet=meet, seed=seed, subject_first=subject_first)
    found = ways(task, SIGNIFICAND[dtype])
    if not found:
        return
    words, readout = data.draw(st.sampled_from(found))
    W_U, b_U = readout.unembedding(np.unique(task.labels), task.n_answers)
    W_E = words.embedding(words.table(task), task.d_vocab)
    model = Model(
        blocks=tuple(words.blocks(readout.shift)), W_U=W_U, b_U=b_U, W_E=W_E, W_pos=np.zeros((2, words.width))
    )
    embedding = (task.d_vocab + 2) * words.width
    behind = readout.entries + (readout.columns + 1) * task.n_answers
    assert model.parameters == embedding + words.entries() + behind
    answers = certify_memorization(model, task).certificate.answers
    assert answers.values["memorized"] == task.n_contexts
    assert answers.values["margin_lower"] > 0.99 * words.kinds.lead  # in real arithmetic; rounding takes some of it
    runs = exact_runs(model, task.contexts, task.labels, FORMATS[dtype])
    # The judge leaves some heads open whose words have all bits of float64.
    assert runs.memorized.all() or words.slots.top > 51, runs.reason


@pytest.mark.parametrize(
    "task, entries",
    [
        (table_of_kinds(2000, [60] * 8), 5795),
        (table_of_kinds(5000, [200, 300, 100, 263, 200, 336]), 19487),
        (table_of_kinds(300, [60] * 5), 1457),
    ],
)
def test_relations_with_objects_of_their_own_take_as_many_entries_as_the_page_says(task: Task, entries: int) -> None:
    assert object_words_parameters(task) == entries


def test_relations_that_never_meet_share_digits_and_the_table_is_smaller_than_with_one_each() -> None:
    rng = np.random.default_rng(0)
    subjects = np.arange(1000).repeat(4)
    relations = 1000 + subjects % 2 * 4 + np.tile(np.arange(4), 1000)
    task = array_task(
        np.stack([subjects, relations], axis=1),
        next_tokens=rng.integers(0, 60, 4000),
        vocabulary=1008,
        answers=60,
        target="labels",
    )
    built = object_words_memory(task)
    assert built.model.parameters == 1386
    assert exact_runs(built.model, task.contexts, task.labels).memorized.all()


def test_a_table_of_one_kind_without_shared_digits_is_left_to_the_other_words() -> None:
    rng = np.random.default_rng(0)
    rows = np.stack(np.divmod(np.arange(60), 3), axis=1) + np.array([0, 20])
    labels = rng.permutation(60) % 20
    task = array_task(rows, next_tokens=labels, vocabulary=23, answers=20, target="labels")
    assert not list(words_of_kinds(Columns.of(task), Columns.of(task).table(task), 24))


def test_a_model_whose_kinds_are_exchanged_answers_wrongly() -> None:
    task = table_of_kinds(2000, [60] * 8)
    built = object_words_memory(task).model
    assert exact_runs(built, task.contexts, task.labels).memorized.all()
    W_E = built.W_E.copy()
    W_E[[2000, 2001]] = W_E[[2001, 2000]]
    spoiled = Model(built.blocks, built.W_U, built.b_U, W_E, built.W_pos)
    memorized = exact_runs(spoiled, task.contexts, task.labels).memorized
    exchanged = np.isin(task.contexts[:, 1], [2000, 2001])
    assert not memorized[exchanged].any() and memorized[~exchanged].all()
