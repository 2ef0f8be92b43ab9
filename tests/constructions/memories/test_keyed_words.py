"""Words of keys and labels hold any contexts in exact integers, and not with the weights that float64 holds."""

import numpy as np
import pytest
from flint import fmpq
from hypothesis import example, given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from constructions.memories.keyed_words import keyed_words_memory, rounded_integers
from constructions.model.model import Model
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.task import Task
from verify.forward.in_rationals import exact_network_logits
from verify.theorems.memories.integer_neurons import integer_margins


def random_facts(count: int, n_ctx: int, tokens: int, seed: int, kinds: int | None = None) -> Task:
    rng = np.random.default_rng(seed)
    contexts = np.unique(rng.integers(0, tokens, (count, n_ctx)), axis=0)
    labels = rng.integers(0, kinds or tokens, len(contexts))
    return array_task(contexts, next_tokens=labels, vocabulary=tokens, target="labels")


def memorized(model: Model, task: Task) -> int:
    return int((integer_margins(model, task) > 0).sum())


@given(st.integers(1, 6), st.integers(2, 9), st.integers(1, 25), st.integers(0, 2**31), st.data())
def test_any_contexts_are_memorized_by_words_of_any_length(
    n_ctx: int, tokens: int, count: int, seed: int, data: st.DataObject
) -> None:
    task = random_facts(count, n_ctx, tokens, seed)
    m = data.draw(st.none() | st.integers(1, task.n_contexts))
    model = keyed_words_memory(task, labels_per_word=m, seed=seed).model
    assert integer_margins(model, task).min() >= 1
    exact = exact_network_logits(model, task.contexts).tolist()
    for row, label in zip(exact, task.labels, strict=True):
        assert all(row[label] - x >= 1 for j, x in enumerate(row) if j != label)


@pytest.mark.parametrize(
    ("contexts", "labels", "vocabulary"),
    [
        ([[0]], [0], 2),
        ([[1], [0]], [1, 0], 2),
        ([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], 2),
        ([[0, 0, 0], [1, 1, 1], [2, 2, 2]], [2, 0, 1], 3),
        ([[n, 4] for n in range(9)], [3, 1, 4, 1, 5, 2, 6, 5, 3], 9),
        ([[0, 0], [0, 1], [0, 2]], [2, 2, 2], 5),
    ],
    ids=["one fact", "one position", "XOR", "one token each", "one last token", "one label"],
)
def test_the_smallest_tables_are_memorized(contexts: object, labels: object, vocabulary: int) -> None:
    task = array_task(np.array(contexts), next_tokens=np.array(labels), vocabulary=vocabulary, target="labels")
    for m in range(1, task.n_contexts + 1):
        assert memorized(keyed_words_memory(task, labels_per_word=m).model, task) == task.n_contexts


def test_the_same_weights_in_float64_are_proved_wrong() -> None:
    task = random_facts(256, 8, 50, seed=0)
    for m, right in ((2, 256), (3, 255), (16, 20)):
        model = keyed_words_memory(task, labels_per_word=m).model
        assert memorized(model, task) == 256
        rounded = rounded_integers(model, 53)
        # Every number of them is one of float64, and the arithmetic is still exact.
        integers = [int(entry.p) for tensor in rounded.tensors().values() for entry in tensor.flat]
        assert all(int(float(n)) == n for n in integers)
        found = memorized(rounded, task)
        assert found == 256 if right == 256 else found <= right


def test_the_entries_grow_as_the_root_of_the_facts() -> None:
    found = {}
    for count in (64, 1024):
        task = random_facts(count, 8, 50, seed=0)
        model = keyed_words_memory(task).model
        assert memorized(model, task) == count
        found[count] = model.nonzero
        bits = int(np.log2(count) * 2) + 6  # of a code and a label, about
        assert found[count] < 2.4 * np.sqrt(6 * count * (8 * bits + 21)) + 200
    assert found[1024] < 5 * found[64] < 16 * found[64]


@pytest.mark.slow
def test_16384_contexts_are_memorized_by_two_thirds_of_an_entry_each() -> None:
    task = random_facts(16384, 8, 50, seed=0)
    model = keyed_words_memory(task).model
    assert memorized(model, task) == 16384 and model.nonzero < 11000
    assert memorized(rounded_integers(model, 53), task) < 1000


def test_a_word_that_is_off_by_one_and_a_missing_block_are_found_out() -> None:
    task = random_facts(40, 3, 5, seed=1)
    model = keyed_words_memory(task, labels_per_word=4).model
    for place in (2, len(model.blocks) // 2, len(model.blocks) - 2, len(model.blocks) - 1):
        blocks = model.blocks[:place] + model.blocks[place + 1 :]
        broken = Model(blocks=blocks, W_U=model.W_U, b_U=model.b_U, W_E=model.W_E, W_pos=model.W_pos)
        assert memorized(broken, task) < task.n_contexts


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(HypothesisError, match="needs labels, but the target is 'distributions'"):
        keyed_words_memory(enumerated_task(2, 2, target="distributions"))
    for m in (0, 5):
        with pytest.raises(InputError, match=rf"labels_per_word = {m}, expected 1 \.\. 4"):
            keyed_words_memory(enumerated_task(2, 2), labels_per_word=m)
    with pytest.raises(InputError, match="significand = 0"):
        rounded_integers(keyed_words_memory(enumerated_task(2, 2)).model, 0)
    one = np.ones((1, 1))
    with pytest.raises(InputError, match="the model has float64 tensors, expected integers"):
        rounded_integers(Model(blocks=(), W_U=one, W_E=one, W_pos=one), 53)
    one = np.array([[fmpq(1)]])
    with pytest.raises(InputError, match="the model has the entry 1/3, expected integers"):
        rounded_integers(Model(blocks=(), W_U=one * fmpq(1, 3), W_E=one, W_pos=one), 53)


@given(st.integers(-(2**200), 2**200), st.integers(1, 210))
@example(2**53 + 1, 53)
@example(2**53 + 3, 53)
@example(-(2**160) - 2**107, 53)
def test_integers_are_rounded_to_nearest(n: int, bits: int) -> None:
    one = np.array([[fmpq(1)]])
    model = Model(blocks=(), W_U=one * n, W_E=one, W_pos=one)
    found = int(rounded_integers(model, bits).W_U[0, 0].p)
    unit = 2 ** max(0, abs(n).bit_length() - bits)
    assert found % unit == 0 and 2 * abs(found - n) <= unit
    if bits == 53:
        assert found == int(float(n))
