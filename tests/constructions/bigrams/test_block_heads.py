"""Block heads hold any labels of any bigrams: proved on the weights as they are rounded."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.bigrams.block_heads import block_heads_memory
from constructions.errors import HypothesisError, InputError
from constructions.models.precision import Precision
from constructions.tasks.task import Task
from tests.bigrams import KINDS, bigram_task, heads_that_are_open
from verify.certificates.memorization import certify_memorization
from verify.divergence.kullback_leibler import argmax_margin
from verify.forward.logits import enclose_logits

PRECISIONS: tuple[Precision, ...] = ("float64", "float32")


def margin(task: Task, **options: object) -> float:
    model = block_heads_memory(task, **options).model  # pyright: ignore[reportArgumentType]
    return float(argmax_margin(enclose_logits(model, task.contexts), task.modes()).min())


@given(
    st.integers(1, 17), st.integers(1, 18), st.sampled_from(KINDS), st.sampled_from(PRECISIONS), st.integers(0, 2**32)
)
def test_any_labels_of_any_bigrams_are_held(tokens: int, size: int, kind: str, dtype: Precision, seed: int) -> None:
    assert margin(bigram_task(tokens, kind, seed), size=size, dtype=dtype) >= 0.5 - 1 / 40 - 1e-4


@pytest.mark.parametrize(("tokens", "size"), [(9, 3), (10, 4), (7, 1)])
def test_one_head_is_open_for_each_bigram(tokens: int, size: int) -> None:
    task = bigram_task(tokens, "random", 0)
    model = block_heads_memory(task, size=size).model
    assert (heads_that_are_open(model, task) == 1).all()


def test_the_parameters_are_those_that_are_counted() -> None:
    for tokens, size in ((50, 25), (50, 17), (11, 3), (6, 6)):
        model = block_heads_memory(bigram_task(tokens, "random", 0), size=size).model
        count = -(-tokens // size)
        assert (model.n_heads, model.d_model, model.d_qk, model.d_head) == (count**2, size + 3, size + 1, 1)
        assert model.parameters == (size + 3) * (2 + 2 * tokens + 2 * count**2 * (size + 2))


def test_the_default_size_has_the_fewest_parameters() -> None:
    task = bigram_task(30, "random", 1)
    sizes = [block_heads_memory(task, size=size).model.parameters for size in range(1, 31)]
    assert block_heads_memory(task).model.parameters == min(sizes)


def test_the_certificate_says_so() -> None:
    built = block_heads_memory(bigram_task(8, "random", 2), dtype="float32")
    judged = certify_memorization(built.model, built.task, built.criterion)
    assert judged.certificate.answers.values["held"] == judged.certificate.subject.sizes["contexts"]


def test_one_changed_label_is_not_proved() -> None:
    task, other = bigram_task(8, "random", 2), bigram_task(8, "random", 2, changed=11)
    model = block_heads_memory(task).model
    margins = argmax_margin(enclose_logits(model, task.contexts), other.modes())
    assert np.flatnonzero(margins <= 0).tolist() == [11]


def test_what_cannot_be_is_refused() -> None:
    from constructions.tasks.arrays import enumerated_task

    with pytest.raises(HypothesisError, match="block heads needs contexts of two tokens, but they have 3"):
        block_heads_memory(enumerated_task(2, 3))
    with pytest.raises(HypothesisError, match="needs labels, but the target is 'laws'"):
        block_heads_memory(enumerated_task(2, 2, target="laws"))
    with pytest.raises(InputError, match="a block of 0 tokens"):
        block_heads_memory(enumerated_task(2, 2), size=0)
    with pytest.raises(InputError, match="dtype = 'half'"):
        block_heads_memory(enumerated_task(2, 2), dtype="half")  # pyright: ignore[reportArgumentType]
