"""Two layers of attention hold whatever is distinct: proved on the weights as they are rounded."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.memories.codes.positional_code import PositionalCode
from constructions.memories.heads import steps as module
from constructions.memories.heads.steps import steps_memory
from constructions.model.blocks import Attention
from constructions.model.model import Model
from constructions.model.precision import Precision
from constructions.tasks.arrays import all_contexts, array_task, enumerated_task
from constructions.tasks.task import Task
from tests.bigrams import KINDS, bigram_task
from verify.divergence.kullback_leibler import argmax_margin
from verify.forward.in_balls import logits_in_balls, rounded_outwards
from verify.forward.ladder import decide_argmax
from verify.forward.logits import enclose_logits
from verify.provers.memorization import certify_memorization

PRECISIONS: tuple[Precision, ...] = ("float64", "float32")


def facts(contexts: object, labels: object, vocabulary: int) -> Task:
    return array_task(np.array(contexts), next_tokens=np.array(labels), vocabulary=vocabulary, target="labels")


def random_facts(count: int, n_ctx: int, tokens: int, seed: int) -> Task:
    rng = np.random.default_rng(seed)
    contexts = np.unique(rng.integers(0, tokens, (count, n_ctx)), axis=0)
    return facts(contexts, rng.integers(0, tokens, len(contexts)), tokens)


def margins(task: Task, dtype: Precision) -> np.ndarray:
    return argmax_margin(enclose_logits(steps_memory(task, dtype=dtype).model, task.contexts), task.modes())


def steps(model: Model) -> Attention:
    block = model.blocks[1]
    assert isinstance(block, Attention)
    return block


@given(st.integers(1, 9), st.sampled_from(KINDS), st.sampled_from(PRECISIONS), st.integers(0, 2**31))
def test_any_labels_of_bigrams_are_memorized(tokens: int, kind: str, dtype: Precision, seed: int) -> None:
    assert margins(bigram_task(tokens, kind, seed), dtype).min() > 0.375


@given(st.integers(2, 40), st.integers(1, 12), st.integers(1, 40), st.sampled_from(PRECISIONS), st.integers(0, 2**31))
def test_any_contexts_of_any_length_are_memorized(
    n_ctx: int, tokens: int, count: int, dtype: Precision, seed: int
) -> None:
    assert margins(random_facts(count, n_ctx, tokens, seed), dtype).min() > 0.375


@pytest.mark.parametrize(
    ("contexts", "labels", "vocabulary"),
    [
        ([[0, 0]], [0], 1),
        ([[3, 1]], [1], 4),
        ([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], 2),
        ([[a, b, 2] for a in range(2) for b in range(2)], [0, 1, 1, 0], 3),
        ([[0, 1], [1, 0]], [0, 1], 2),
        ([[0, 0, 0], [1, 1, 1], [2, 2, 2]], [2, 0, 1], 3),
        ([[n, 0] for n in range(9)], [3, 1, 4, 1, 5, 2, 6, 5, 3], 9),
        (all_contexts(3, 2), [2] * 9, 4),
        ([[5, 5, 5, 5, 5, 5], [5, 5, 5, 4, 5, 5]], [0, 9], 10),
    ],
    ids=["one token", "one fact", "XOR", "XOR before a token", "order alone", "one token each", "one last token",
         "one label", "one position"],
)  # fmt: skip
def test_the_smallest_tables_are_memorized(contexts: object, labels: object, vocabulary: int) -> None:
    task = facts(contexts, labels, vocabulary)
    for dtype in PRECISIONS:
        assert margins(task, dtype).min() > 0.375
        # The same in balls of 200 bits, which share no bound with float64.
        balls = rounded_outwards(logits_in_balls(steps_memory(task, dtype=dtype).model, task.contexts, 200))
        assert argmax_margin(balls, task.modes()).min() > 0.375


def test_the_parameters_are_those_that_are_counted() -> None:
    for task in (enumerated_task(10, 2), random_facts(60, 5, 7, 2)):
        model = steps_memory(task).model
        n_heads = steps(model).n_heads
        assert n_heads <= task.n_contexts - 1
        assert model.parameters == 3 * (2 * task.d_vocab + task.n_ctx) + 12 * (1 + n_heads)
        for block in model.blocks:
            assert isinstance(block, Attention)
            assert (block.d_model, block.d_qk, block.d_head, block.skip, block.attends) == (3, 1, 1, True, "causal")
        assert all(np.count_nonzero(steps(model).W_Q[h]) <= 2 for h in range(n_heads))


def test_only_changes_of_the_label_take_a_head() -> None:
    contexts = all_contexts(10, 2)
    for labels, n_heads in ((np.full(100, 4), 1), (np.arange(100) // 10, 9), (np.arange(100) // 50, 1)):
        assert steps(steps_memory(facts(contexts, labels, 10)).model).n_heads == n_heads


def test_random_contexts_without_any_rank_are_memorized_in_float32() -> None:
    # Contexts that differ in tokens before the last alone: one layer of attention has few features for them.
    rng = np.random.default_rng(5)
    contexts = np.unique(np.concatenate([rng.integers(0, 3, (120, 6)), np.zeros((120, 1), int)], axis=1), axis=0)
    task = facts(contexts, rng.integers(0, 3, len(contexts)), 3)
    assert margins(task, "float32").min() > 0.375


def test_the_certificate_says_so_and_not_of_other_labels() -> None:
    task, other = bigram_task(8, "random", 2), bigram_task(8, "random", 2, changed=11)
    built = steps_memory(task, dtype="float32")
    for tensor in built.model.tensors().values():
        assert (tensor.astype(np.float32) == tensor).all()
    judged = certify_memorization(built.model, built.task, built.criterion)
    assert judged.certificate.answers.values["memorized"] == judged.certificate.subject.sizes["contexts"]
    found = argmax_margin(enclose_logits(built.model, task.contexts), other.modes())
    assert np.flatnonzero(found <= 0).tolist() == [11]


def test_a_thousand_positions_do_not_move_a_step() -> None:
    contexts = np.zeros((2, 1200), dtype=np.int64)
    contexts[1, -1] = 1
    for labels in ([0, 1], [1, 0]):
        assert margins(facts(contexts, labels, 2), "float64").min() > 0.375


def test_a_head_that_does_not_step_is_found_out() -> None:
    task = enumerated_task(5, 2, seed=4)
    model = steps_memory(task).model
    for head in (0, steps(model).n_heads - 1):
        output = steps(model).W_O.copy()
        output[head] = 0.0
        block = steps(model)
        without = Attention(W_Q=block.W_Q, W_K=block.W_K, W_V=block.W_V, W_O=output, attends="causal")
        broken = Model(blocks=(model.blocks[0], without), W_U=model.W_U, W_E=model.W_E, W_pos=model.W_pos)
        assert (decide_argmax(broken, task.contexts).place != task.labels).any()


@pytest.mark.parametrize(("dtype", "longest"), [("float32", 17), ("float64", 44)])
def test_codes_are_as_long_as_roundings_allow(dtype: Precision, longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    task = enumerated_task(2, 2, labels=np.array([0, 1, 1, 0]))
    for bits in range(2, longest + 3):
        weights, values = np.array([2 ** (bits - 1), 1]), np.array([0, 1])
        code = PositionalCode(weights, values, task.contexts @ weights)
        monkeypatch.setattr(module, "positional_code", lambda *args, code=code, **options: code)
        if bits <= longest:
            place = decide_argmax(steps_memory(task, dtype=dtype).model, task.contexts).place
            assert (place == task.labels).all()
        else:
            with pytest.raises(CapacityError, match=rf"codes that {dtype} tells apart, but 4 contexts .* {bits} bits"):
                steps_memory(task, dtype=dtype)


def test_dense_contexts_are_refused_in_float32_alone() -> None:
    task = random_facts(3000, 12, 6, seed=0)
    with pytest.raises(CapacityError, match=r"3000 contexts have codes of 2\d bits: take float64, or other contexts"):
        steps_memory(task, dtype="float32")
    assert steps(steps_memory(task).model).n_heads < 3000


def test_equal_seeds_give_equal_bits() -> None:
    task = random_facts(60, 5, 12, seed=3)
    first, second, third = (steps_memory(task, seed=seed).model.sha256() for seed in (0, 0, 1))
    assert first == second != third


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(HypothesisError, match="needs labels, but the target is 'distributions'"):
        steps_memory(enumerated_task(2, 2, target="distributions"))
    with pytest.raises(HypothesisError, match="contexts of two tokens or more, but they have 1"):
        steps_memory(enumerated_task(2, 1))
    with pytest.raises(InputError, match="dtype = 'half'"):
        steps_memory(enumerated_task(2, 2), dtype="half")  # pyright: ignore[reportArgumentType]
    labels = 2**12 + 1
    many = facts(np.stack([np.arange(labels), np.zeros(labels, int)], axis=1), np.arange(labels), labels)
    with pytest.raises(CapacityError, match="at most 4096 labels, but there are 4097"):
        steps_memory(many)
