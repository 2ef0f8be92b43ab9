"""Facts of subjects and relations by a sum: margins are exact, and shared answers are refused by name."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.memories.bigrams.additive_recall import additive_recall_memory
from constructions.model.attention import logits
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.table import facts_task
from constructions.tasks.task import Task
from tests.by_kernel import check_by_kernel
from tests.memories import write_memory
from verify.provers.memorization import certify_memorization


def table_of(answers: np.ndarray, *, relation_first: bool = False) -> Task:
    """Facts of each subject, a row, and each relation, a column; entries below 0 are facts that are missing."""
    rows = [
        (f"r{r}", f"s{s}", f"r{r} is {a}") if relation_first else (f"s{s}", f"r{r}", f"r{r} is {a}")
        for (s, r), a in np.ndenumerate(answers)
        if a >= 0
    ]
    return facts_task(rows)


def leads(task: Task, dtype: str = "float32") -> np.ndarray:
    """By how much each label is ahead of each other answer: sums of multiples of 1/8, without rounding."""
    found = logits(additive_recall_memory(task, dtype=dtype).model, task.contexts)  # pyright: ignore[reportArgumentType]
    rows = np.arange(task.n_contexts)
    lead = found[rows, task.labels][:, None] - found
    lead[rows, task.labels] = np.inf
    assert (found * 8 == np.round(found * 8)).all()
    return lead


@pytest.mark.parametrize("relation_first", [False, True])
def test_every_table_of_three_subjects_and_two_relations_is_memorized(relation_first: bool) -> None:
    for answers in product(range(2), repeat=6):
        table = table_of(np.array(answers).reshape(3, 2), relation_first=relation_first)
        assert leads(table).min() >= 0.5


@given(st.integers(1, 8), st.integers(1, 7), st.integers(1, 9), st.booleans(), st.integers(0, 2**31))
def test_any_table_is_memorized_by_a_half(
    subjects: int, relations: int, answers: int, relation_first: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, answers, (subjects, relations))
    drawn[rng.random(drawn.shape) < 0.2] = -1
    drawn[0, 0] = 0
    task = table_of(drawn, relation_first=relation_first)
    assert leads(task).min(initial=np.inf) >= 0.5


def test_a_token_may_be_a_subject_and_a_relation() -> None:
    contexts = np.array(list(product(range(4), repeat=2)))
    for relation in (0, 1):
        labels = 3 * contexts[:, relation] + (contexts[:, 1 - relation] ** 2 + contexts[:, relation]) % 3
        task = array_task(contexts, next_tokens=labels, vocabulary=20, target="labels")
        assert leads(task).min() == 0.5
        built = additive_recall_memory(task).model
        assert built.d_model == 2 + 4 and built.d_head == (1 if relation == 0 else 4)


def test_of_two_positions_the_cheaper_one_holds_the_relation() -> None:
    answers = np.arange(10).reshape(5, 2)  # all distinct: five tokens with two answers, or two with five
    for relation_first in (False, True):
        model = additive_recall_memory(table_of(answers, relation_first=relation_first)).model
        assert model.d_model == 4


def test_relations_of_one_answer_take_no_coordinate() -> None:
    model = additive_recall_memory(table_of(np.array([[0, 0, 1], [0, 0, 0], [0, 0, 2]]))).model
    assert model.d_model == 3
    assert additive_recall_memory(table_of(np.zeros((3, 3), dtype=int))).model.d_model == 2


@pytest.mark.parametrize(("relation_first", "head"), [(False, 6), (True, 1)])
def test_the_parameters_are_those_that_are_counted(relation_first: bool, head: int) -> None:
    task = table_of(np.random.default_rng(0).integers(0, 9, (400, 6)), relation_first=relation_first)
    model = additive_recall_memory(task, dtype="float32").model
    assert (task.d_vocab, task.n_answers) == (406, 54)
    assert model.parameters == 8 * (406 + 54 + 2) + 2 * 8 + 2 * 8 * head < 2400 / 0.62


def test_both_readers_certify_it_and_not_other_labels(tmp_path) -> None:  # pyright: ignore[reportMissingParameterType]
    contexts = np.array([(s, 9 + r) for s in range(9) for r in range(5)])
    labels = np.random.default_rng(1).integers(0, 4, 45) + 4 * (contexts[:, 1] - 9)
    task = array_task(contexts, next_tokens=labels, vocabulary=20, target="labels")
    built = additive_recall_memory(task, dtype="float32")
    proved = write_memory(tmp_path, built.model, task, rank=False)
    assert proved.certificate.headline().startswith("MEMORIZED, PROVED: 45 of 45")
    assert check_by_kernel(tmp_path).verdict.value == "PROVED"
    labels[7] = (labels[7] + 1) % 20
    other = array_task(contexts, next_tokens=labels, vocabulary=20, target="labels")
    found = certify_memorization(built.model, other).certificate
    assert (found.verdict.value, found.answers.values["memorized"]) == ("REFUTED", 44)


def test_answers_that_relations_share_are_refused_by_name() -> None:
    xor = enumerated_task(2, 2, labels=np.array([0, 1, 1, 0]))
    with pytest.raises(HypothesisError, match=r"answers of their own, but several at the first have '0', and several"):
        additive_recall_memory(xor)
    with pytest.raises(HypothesisError, match="several at the first have 'a', and several at the last 'b'"):
        additive_recall_memory(facts_task([("s", "r", "a"), ("t", "r", "a"), ("s", "q", "b"), ("s", "r2", "b")]))


def test_entries_that_float32_does_not_hold_are_refused() -> None:
    drawn = np.full((1000, 21), -1)
    drawn[:, 0], drawn[0] = np.arange(1000), 0  # a relation of 1000 answers, numbered -10
    with pytest.raises(CapacityError, match="multiples of 1/8 that float32 holds, but one of them is"):
        additive_recall_memory(table_of(drawn), dtype="float32")
    assert additive_recall_memory(table_of(drawn)).model.d_model == 3


def test_what_is_no_table_of_pairs_is_refused() -> None:
    with pytest.raises(HypothesisError, match="contexts of two tokens, but they have 3"):
        additive_recall_memory(enumerated_task(2, 3))
    with pytest.raises(HypothesisError, match="labels, but the target is 'distributions'"):
        additive_recall_memory(enumerated_task(2, 2, target="distributions"))
    with pytest.raises(InputError, match="dtype = 'half'"):
        additive_recall_memory(enumerated_task(1, 2), dtype="half")  # pyright: ignore[reportArgumentType]
