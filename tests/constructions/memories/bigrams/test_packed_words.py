"""Words of several labels are unpacked exactly: proved by balls of radius 0, and by running in the precision itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.memories.bigrams import packed_words as module
from constructions.memories.bigrams.packed_words import (
    entries,
    most_kinds,
    packed_words_memory,
    packed_words_parameters,
)
from constructions.memories.information_limit import information_limit
from constructions.model.model import Model
from constructions.model.precision import Precision
from constructions.tasks.arrays import all_contexts, array_task, enumerated_task
from constructions.tasks.task import Task
from tests.any_order import logits
from tests.bigrams import KINDS, bigram_task
from verify.forward.in_balls import logits_in_balls
from verify.forward.ladder import decide_argmax
from verify.runs.exact_runs import exact_runs
from verify.runs.formats import FLOAT32, FLOAT64

PRECISIONS: tuple[Precision, ...] = ("float64", "float32")
FORMATS = {"float64": FLOAT64, "float32": FLOAT32}


def exact_logits(model: Model, contexts: np.ndarray) -> np.ndarray:
    """The logits in balls, all of which are single numbers."""
    balls = logits_in_balls(model, contexts, 256)
    assert all(ball.rad() == 0 for ball in balls.entries())
    return np.array([[float(ball) for ball in row] for row in balls.tolist()])


def require_memorized(task: Task, dtype: Precision, labels_per_word: int | None = None) -> Model:
    model = packed_words_memory(task, dtype=dtype, labels_per_word=labels_per_word).model
    exact = exact_logits(model, task.contexts)
    assert (exact.argmax(axis=1) == task.labels).all()
    apart = np.sort(exact, axis=1)
    assert exact.shape[1] == 1 or (apart[:, -1] - apart[:, -2] >= 2.0**-8).all()
    assert all((tensor.astype(dtype) == tensor).all() for tensor in model.tensors().values())
    assert exact_runs(model, task.contexts, task.labels, FORMATS[dtype]).memorized.all()
    if dtype == "float32":  # as accurate as the readout, whose terms are at most some K^2
        run = logits(model, task.contexts, seed=len(task.contexts))
        assert (np.abs(run - exact) <= 2.0**-20 * (1 + len(np.unique(task.labels))) ** 2).all()
    return model


@given(st.integers(1, 12), st.sampled_from(KINDS), st.sampled_from(PRECISIONS), st.integers(0, 2**31), st.data())
def test_any_labels_of_bigrams_are_memorized_and_nothing_is_rounded(
    tokens: int, kind: str, dtype: Precision, seed: int, data: st.DataObject
) -> None:
    task = bigram_task(tokens, kind, seed)
    bits = max(1, (len(np.unique(task.labels)) - 1).bit_length())
    most = ((53 if dtype == "float64" else 24) - 3) // (bits + 2)
    require_memorized(task, dtype, data.draw(st.none() | st.integers(1, max(1, min(most, tokens)))))


@pytest.mark.parametrize(
    ("contexts", "labels", "vocabulary"),
    [
        ([[0, 0]], [0], 1),
        ([[1, 0]], [1], 2),
        ([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], 2),
        ([[0, 2], [2, 0]], [2, 1], 3),
        ([[n, 4] for n in range(9)], [3, 1, 4, 1, 5, 2, 6, 5, 3], 9),
        ([[0, 0], [0, 1], [0, 2]], [2, 2, 2], 5),
    ],
    ids=["one token", "one fact", "XOR", "two facts", "one last token", "one label"],
)
def test_the_smallest_tables_are_memorized(contexts: object, labels: object, vocabulary: int) -> None:
    task = array_task(np.array(contexts), next_tokens=np.array(labels), vocabulary=vocabulary, target="labels")
    for dtype in PRECISIONS:
        for labels_per_word in {None, 1, min(2, vocabulary), min(5, vocabulary)}:
            require_memorized(task, dtype, labels_per_word)


def test_more_labels_than_the_rounding_of_logits_tells_apart_are_refused_and_not_tried_for_ever() -> None:
    most = most_kinds(24)
    for kinds, fits in ((most, True), (most + 1, False)):
        tokens = np.arange(kinds)
        task = array_task(
            np.stack([tokens // 40, tokens % 40], axis=1), next_tokens=tokens, vocabulary=kinds, target="labels"
        )
        assert (packed_words_parameters(task) > 0) == fits
        if not fits:
            with pytest.raises(CapacityError, match="at most 1007 different labels in float32"):
                packed_words_memory(task, dtype="float32")


@pytest.mark.parametrize(("dtype", "parameters", "nonzero"), [("float64", 1815, 1216), ("float32", 2459, 1533)])
def test_all_bigrams_of_50_tokens_take_less_than_an_entry_each(dtype: Precision, parameters: int, nonzero: int) -> None:
    task = enumerated_task(50, 2, seed=1)
    model = require_memorized(task, dtype)
    assert model.parameters == parameters
    assert information_limit(task, 53) < model.nonzero == nonzero


def test_words_of_the_longest_that_are_exact_are_memorized() -> None:
    task = enumerated_task(13, 2, labels=np.arange(169) % 13)
    require_memorized(task, "float64", 12)  # 4 bits each, and 9 times as much to push a word down: below 2^52
    require_memorized(task, "float32", 5)
    with pytest.raises(
        InputError, match=r"labels_per_word = 13, expected 1 \.\. 12: labels of 4 bits for 13 tokens in"
    ):
        packed_words_memory(task, labels_per_word=13)
    with pytest.raises(InputError, match=r"labels_per_word = 6, expected 1 \.\. 5: labels of 4 bits for 13 tokens"):
        packed_words_memory(task, dtype="float32", labels_per_word=6)


@pytest.mark.parametrize(("kinds", "dtype"), [(100, "float32"), (113, "float32"), (113, "float64")])
def test_fractions_that_come_close_to_1_leave_room_for_steep_steps(kinds: int, dtype: Precision) -> None:
    labels = np.random.default_rng(kinds).integers(kinds - 3, kinds, 576)
    labels[:kinds] = np.arange(kinds)
    answers = tuple(map(str, range(kinds)))
    task = array_task(all_contexts(24, 2), next_tokens=labels, target="labels", vocabulary=24, answers=answers)
    require_memorized(task, dtype, None)


def test_longer_words_are_proved_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SIGNIFICAND", {"float64": 90, "float32": 90})
    task = enumerated_task(20, 2, seed=3)
    model = packed_words_memory(task, labels_per_word=16).model  # of 80 bits, rounded as they are stored
    place = decide_argmax(model, task.contexts).place
    assert ((place >= 0) & (place != task.labels)).any()


def test_the_entries_are_those_that_are_counted() -> None:
    for tokens, labels_per_word in ((1, 1), (7, 3), (10, 4), (10, 10)):
        task = enumerated_task(tokens, 2, seed=2)
        kinds = len(np.unique(task.labels))
        model = packed_words_memory(task, labels_per_word=labels_per_word).model
        assert model.parameters == entries(tokens, labels_per_word, kinds, 53, tokens)
        best = packed_words_memory(task).model.parameters
        assert best == min(entries(tokens, m, kinds, 53, tokens) for m in range(1, tokens + 1))
        assert best == packed_words_parameters(task, dtype="float64")


def test_a_bit_that_is_not_taken_is_found_out() -> None:
    task = enumerated_task(6, 2, seed=4)
    model = packed_words_memory(task).model
    for place in (4, len(model.blocks) - 2):
        blocks = model.blocks[:place] + model.blocks[place + 1 :]
        broken = Model(blocks=blocks, W_U=model.W_U, b_U=model.b_U, W_E=model.W_E, W_pos=model.W_pos)
        place = decide_argmax(broken, task.contexts).place
        assert ((place >= 0) & (place != task.labels)).any()


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(HypothesisError, match="needs labels, but the target is 'distributions'"):
        packed_words_memory(enumerated_task(2, 2, target="distributions"))
    with pytest.raises(HypothesisError, match="contexts of two tokens, but they have 3"):
        packed_words_memory(enumerated_task(2, 3))
    with pytest.raises(InputError, match="dtype = 'half'"):
        packed_words_memory(enumerated_task(2, 2), dtype="half")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="labels_per_word = 0"):
        packed_words_memory(enumerated_task(2, 2), labels_per_word=0)
    count = 2**12 + 1
    contexts = np.stack([np.arange(count), np.zeros(count, int)], axis=1)
    many = array_task(contexts, next_tokens=np.arange(count), vocabulary=count, target="labels")
    with pytest.raises(CapacityError, match="at most 4096 labels, but there are 4097"):
        packed_words_memory(many)
