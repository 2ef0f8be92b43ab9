"""Words of several labels are unpacked exactly: proved by balls of radius 0, and by running in the precision itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructions.bigrams import packed_words as module
from constructions.bigrams.packed_words import entries, packed_words_memory
from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.memories.choice import information_limit
from constructions.models.blocks import Attention, FeedForward
from constructions.models.model import Model
from constructions.models.precision import Precision
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.task import Task
from tests.bigrams import KINDS, bigram_task
from verify.certificates.memorization import certify_memorization
from verify.forward.in_balls import logits_in_balls
from verify.forward.ladder import decide_argmax

PRECISIONS: tuple[Precision, ...] = ("float64", "float32")
TYPES = {"float64": np.float64, "float32": np.float32}


def run(model: Model, contexts: np.ndarray, kind: type) -> np.ndarray:
    """The logits where every operation is one of NumPy in this type, the skip connection added last."""
    x = model.W_E.astype(kind)[contexts] + model.W_pos.astype(kind)
    for block in model.blocks:
        if isinstance(block, Attention):
            scores = (x[:, -1:] @ block.W_Q[0].astype(kind)) * (x @ block.W_K[0].astype(kind))
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
            mean = (powers / powers.sum(axis=1, keepdims=True) * (x @ block.W_V[0].astype(kind))).sum(axis=1)
            x = x[:, -1] + mean @ block.W_O[0].astype(kind)
        elif isinstance(block, FeedForward):
            assert block.b_in is not None
            written = np.maximum(x @ block.W_in.astype(kind) + block.b_in.astype(kind), 0) @ block.W_out.astype(kind)
            x = x + written if block.skip else written
    assert model.b_U is not None
    return x @ model.W_U.astype(kind) + model.b_U.astype(kind)


def exact_logits(model: Model, contexts: np.ndarray) -> np.ndarray:
    """The logits in balls, all of which are single numbers."""
    balls = logits_in_balls(model, contexts, 256)
    assert all(ball.rad() == 0 for ball in balls.entries())
    return np.array([[float(ball) for ball in row] for row in balls.tolist()])


def require_held(task: Task, dtype: Precision, labels_per_word: int | None = None) -> Model:
    model = packed_words_memory(task, dtype=dtype, labels_per_word=labels_per_word).model
    exact = exact_logits(model, task.contexts)
    assert (exact.argmax(axis=1) == task.labels).all()
    apart = np.sort(exact, axis=1)
    assert exact.shape[1] == 1 or (apart[:, -1] - apart[:, -2] >= 0.5).all()
    kind = TYPES[dtype]
    assert (run(model, task.contexts, kind).astype(np.float64) == exact).all()
    assert all((tensor.astype(kind) == tensor).all() for tensor in model.tensors().values())
    return model


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 12), st.sampled_from(KINDS), st.sampled_from(PRECISIONS), st.integers(0, 2**31), st.data())
def test_any_labels_of_bigrams_are_held_and_nothing_is_rounded(
    tokens: int, kind: str, dtype: Precision, seed: int, data: st.DataObject
) -> None:
    task = bigram_task(tokens, kind, seed)
    bits = max(1, (len(np.unique(task.labels)) - 1).bit_length())
    most = min(8, ((53 if dtype == "float64" else 24) - 1) // bits)
    require_held(task, dtype, data.draw(st.none() | st.integers(1, most)))


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
def test_the_smallest_tables_are_held(contexts: object, labels: object, vocabulary: int) -> None:
    task = array_task(np.array(contexts), next_tokens=np.array(labels), vocabulary=vocabulary, target="labels")
    for dtype in PRECISIONS:
        for labels_per_word in (None, 1, 2, 5):
            require_held(task, dtype, labels_per_word)


@pytest.mark.parametrize(("dtype", "parameters", "nonzero"), [("float64", 2654, 1100), ("float32", 4509, 1330)])
def test_all_bigrams_of_50_tokens_take_less_than_half_an_entry_each(
    dtype: Precision, parameters: int, nonzero: int
) -> None:
    task = enumerated_task(50, 2, seed=1)
    model = require_held(task, dtype)
    assert model.parameters == parameters
    assert information_limit(task, 53) < model.nonzero <= nonzero


def test_words_of_the_longest_that_are_exact_are_held() -> None:
    task = enumerated_task(13, 2, labels=np.arange(169) % 13)
    require_held(task, "float64", 13)  # 4 bits each and one for the sum: 53
    require_held(task, "float32", 5)
    with pytest.raises(InputError, match=r"labels_per_word = 14, expected 1 \.\. 13: labels of 4 bits in float64"):
        packed_words_memory(task, labels_per_word=14)
    with pytest.raises(InputError, match=r"labels_per_word = 6, expected 1 \.\. 5: labels of 4 bits in float32"):
        packed_words_memory(task, dtype="float32", labels_per_word=6)


def test_longer_words_are_proved_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SIGNIFICAND", {"float64": 90, "float32": 90})
    task = enumerated_task(20, 2, seed=3)
    model = packed_words_memory(task, labels_per_word=16).model  # of 80 bits, rounded as they are stored
    place = decide_argmax(model, task.contexts).place
    assert ((place >= 0) & (place != task.labels)).any()


def test_the_entries_are_those_that_are_counted() -> None:
    for tokens, labels_per_word in ((1, 1), (7, 3), (10, 4), (10, 10)):
        task = enumerated_task(tokens, 2, seed=2)
        bits = max(1, (len(np.unique(task.labels)) - 1).bit_length())
        model = packed_words_memory(task, labels_per_word=labels_per_word).model
        assert model.parameters == entries(tokens, labels_per_word, bits)
        best = packed_words_memory(task).model.parameters
        assert best == min(entries(tokens, m, bits) for m in range(1, tokens + 1))


def test_the_certificate_says_so_and_not_of_other_labels() -> None:
    task, other = bigram_task(8, "random", 2), bigram_task(8, "random", 2, changed=11)
    built = packed_words_memory(task)
    judged = certify_memorization(built.model, built.task, built.criterion)
    assert judged.certificate.headline().startswith("HELD, PROVED")
    wrong = certify_memorization(built.model, other).answers
    assert np.flatnonzero(wrong.wrong("labels", 0.0)).tolist() == [11]
    assert int(wrong.held("labels", 0.0).sum()) == 63


def test_a_bit_that_is_not_taken_is_found_out() -> None:
    task = enumerated_task(6, 2, seed=4)
    model = packed_words_memory(task).model
    for place in (2, len(model.blocks) - 2, len(model.blocks) - 1):
        blocks = model.blocks[:place] + model.blocks[place + 1 :]
        broken = Model(blocks=blocks, W_U=model.W_U, b_U=model.b_U, W_E=model.W_E, W_pos=model.W_pos)
        place = decide_argmax(broken, task.contexts).place
        assert ((place >= 0) & (place != task.labels)).any()


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(HypothesisError, match="needs labels, but the target is 'laws'"):
        packed_words_memory(enumerated_task(2, 2, target="laws"))
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
