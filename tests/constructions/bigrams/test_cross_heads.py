"""Cross heads hold any labels of any bigrams: proved on the weights as they are rounded."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.bigrams.cross_heads import cross_heads_memory
from constructions.errors import HypothesisError, InputError
from constructions.models.model import Model
from constructions.models.precision import Precision
from constructions.tasks.arrays import enumerated_task
from constructions.tasks.task import Task
from tests.bigrams import KINDS, bigram_task, heads_that_are_open
from verify.certificates.memorization import certify_memorization
from verify.divergence.kullback_leibler import argmax_margin
from verify.forward.logits import enclose_logits, logit_chunks

PRECISIONS: tuple[Precision, ...] = ("float64", "float32")
SIZES = [(2, 1), (3, 1), (4, 2), (4, 1), (6, 3), (6, 2), (8, 4)]


def margins(model: Model, task: Task) -> np.ndarray:
    return argmax_margin(enclose_logits(model, task.contexts), task.modes())


@given(
    st.integers(1, 18),
    st.sampled_from(SIZES),
    st.sampled_from(KINDS),
    st.sampled_from(PRECISIONS),
    st.integers(0, 2**32),
)
def test_any_labels_of_any_bigrams_are_held(
    tokens: int, sizes: tuple[int, int], kind: str, dtype: Precision, seed: int
) -> None:
    task = bigram_task(tokens, kind, seed)
    model = cross_heads_memory(task, size=sizes[0], group=sizes[1], dtype=dtype).model
    assert margins(model, task).min() >= 0.5 - 1 / 40 - 1e-4


@pytest.mark.parametrize("sizes", SIZES)
def test_one_head_is_open_for_each_bigram(sizes: tuple[int, int]) -> None:
    task = bigram_task(4 * sizes[0] - 1, "random", 0)
    model = cross_heads_memory(task, size=sizes[0], group=sizes[1]).model
    assert (heads_that_are_open(model, task) == 1).all()


def test_the_parameters_are_those_that_are_counted() -> None:
    for tokens, m, k in ((50, 25, 5), (64, 32, 8), (9, 4, 2), (5, 6, 3)):
        model = cross_heads_memory(bigram_task(tokens, "random", 0), size=m, group=k).model
        count = -(-tokens // m)
        count += count % 2
        n_heads = count**2 * m // (2 * k) + count**2
        assert (model.n_heads, model.d_model, model.d_qk, model.d_head) == (n_heads, m + 3, k + 2, 1)
        assert model.parameters == (m + 3) * (2 + 2 * tokens + 2 * n_heads * (k + 3))


def test_the_default_sizes_have_the_fewest_parameters() -> None:
    task = bigram_task(20, "random", 1)
    sizes = [(m, k) for m in range(2, 21) for k in range(1, m) if m % k == 0]
    found = [cross_heads_memory(task, size=m, group=k).model.parameters for m, k in sizes]
    assert cross_heads_memory(task).model.parameters == min(found)


def test_256_tokens_take_fewer_parameters_than_two_and_a_half_a_bigram() -> None:
    task = enumerated_task(256, 2, seed=4)
    model = cross_heads_memory(task, dtype="float32").model
    assert model.parameters == 152_358
    chosen = np.random.default_rng(0).permutation(256**2)[:3000]
    for start, part in logit_chunks(model, task.contexts[chosen]):
        rows = np.arange(start, start + len(part))
        modes = np.zeros((len(rows), 256), dtype=bool)
        modes[np.arange(len(rows)), task.labels[chosen[rows]]] = True
        assert argmax_margin(part, modes).min() > 0.49


def test_the_certificate_says_so() -> None:
    built = cross_heads_memory(bigram_task(8, "random", 2), dtype="float32")
    judged = certify_memorization(built.model, built.task, built.criterion)
    assert judged.certificate.answers.values["held"] == judged.certificate.subject.sizes["contexts"]


def test_one_changed_label_is_not_proved() -> None:
    task, other = bigram_task(8, "random", 2), bigram_task(8, "random", 2, changed=11)
    assert np.flatnonzero(margins(cross_heads_memory(task).model, other) <= 0).tolist() == [11]


@pytest.mark.parametrize("column", ["the block of the last token", "the block of the first", "the arm"])
def test_each_gate_is_needed(column: str) -> None:
    task = bigram_task(16, "random", 0)
    model = cross_heads_memory(task, size=4, group=2).model
    W_Q, W_K = model.W_Q.copy(), model.W_K.copy()
    cross = slice(0, 16)
    if column == "the block of the last token":
        W_Q[cross, 4:6, 3] = 0.0
    elif column == "the block of the first":
        W_K[cross, 4:6, 2] = 0.0
    else:
        W_K[cross, :4, 2] = 0.0
    spoiled = replace(model, blocks=(replace(model.attention, W_Q=W_Q, W_K=W_K),))
    assert (margins(model, task) > 0.4).all() and not (margins(spoiled, task) > 0.4).all()


def test_what_cannot_be_is_refused() -> None:
    task = bigram_task(6, "random", 0)
    with pytest.raises(HypothesisError, match="cross heads needs contexts of two tokens, but they have 3"):
        cross_heads_memory(enumerated_task(2, 3))
    with pytest.raises(HypothesisError, match="needs labels, but the target is 'laws'"):
        cross_heads_memory(enumerated_task(2, 2, target="laws"))
    with pytest.raises(InputError, match="size = 4 and group = None, expected both or none"):
        cross_heads_memory(task, size=4)
    for m, k in ((4, 4), (4, 3), (4, 0), (1, 1)):
        with pytest.raises(InputError, match=f"group = {k}, expected a divisor of size = {m} below it"):
            cross_heads_memory(task, size=m, group=k)
    with pytest.raises(InputError, match="dtype = 'half'"):
        cross_heads_memory(task, dtype="half")  # pyright: ignore[reportArgumentType]
