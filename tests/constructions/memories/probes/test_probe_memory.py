"""The memory of probes holds any contexts there are, and a run in float32 computes its integers in any order."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, HypothesisError
from constructions.memories.probes import probe_memory as module
from constructions.memories.probes.probe_memory import LONGEST, plan_of, probe_memory, probe_parameters
from constructions.model.blocks import FeedForward
from constructions.tasks.arrays import all_contexts, array_task, enumerated_task
from constructions.tasks.task import Task
from tests.any_order import logits
from verify.provers.memorization import certify_memorization
from verify.runs.exact_runs import memorized_without_rounding
from verify.runs.formats import FLOAT32, FLOAT64


def facts(contexts: np.ndarray, tokens: int, answers: int, seed: int = 0) -> Task:
    contexts = np.unique(np.asarray(contexts), axis=0)
    labels = np.random.default_rng(seed).integers(0, answers, len(contexts))
    return array_task(contexts, next_tokens=labels, vocabulary=tokens, answers=answers, target="labels")


def random_contexts(count: int, n_ctx: int, tokens: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, tokens, (count, n_ctx))


def in_integers(model, contexts: np.ndarray) -> np.ndarray:
    """The logits where each head reads what scores highest, in float64, which has room for these integers."""
    x = model.W_E[contexts] + model.W_pos[: contexts.shape[1]]
    for block in model.blocks:
        if isinstance(block, FeedForward):
            y = np.maximum(x @ block.W_in + (0 if block.b_in is None else block.b_in), 0) @ block.W_out
            x = y + (0 if block.b_out is None else block.b_out) + (x if block.skip else 0)
            continue
        asks = x if block.attends == "all" else x[:, -1:]
        y = asks if block.skip else 0
        for h in range(block.n_heads):
            scores = (asks @ block.W_Q[h] + block.b_Q[h]) @ (x @ block.W_K[h]).swapaxes(1, 2)
            lead = scores == scores.max(axis=2, keepdims=True)
            assert (np.where(lead, -np.inf, scores).max(axis=2) <= scores.max(axis=2) - 1024).all()
            count = lead.sum(axis=2)
            if block.attends == "last":
                assert len(np.unique(count)) == 1 and count.flat[0] & (count.flat[0] - 1) == 0
            y = y + lead @ (x @ block.W_V[h]) / count[..., None] @ block.W_O[h]
        x = y
    assert (x == np.round(x)).all()
    return x[:, -1] @ model.W_U + model.b_U


def memorized(task: Task, **options: int) -> bool:
    """Whether all facts are, or of long contexts so many that are drawn."""
    drawn = np.random.default_rng(0).permutation(task.n_contexts)[: 10**6 // (task.n_ctx**2 + task.n_answers) + 3]
    found = in_integers(probe_memory(task, **options).model, task.contexts[drawn])
    places = np.arange(len(drawn)), task.labels[drawn]
    right = found[places]
    found[places] = -np.inf
    return bool((right - found.max(axis=1, initial=-np.inf) >= 1).all())


FAMILIES = {
    "one token": random_contexts(40, 1, 50),
    "two tokens": random_contexts(300, 2, 50),
    "three": random_contexts(300, 3, 30),
    "all of four": all_contexts(4, 4),
    "five": random_contexts(200, 5, 9),
    "text-like": random_contexts(500, 28, 40),
    "long": random_contexts(200, 200, 60),
    "half a thousand": random_contexts(60, 512, 30),
    "one position": np.hstack([np.arange(300)[:, None], np.zeros((300, 5), int)]),
    "two positions": np.insert(random_contexts(1500, 2, 300), (1, 1, 1), 7, axis=1),
    "one token repeated": np.tile(np.arange(250)[:, None], (1, 11)),
    "two in turn": random_contexts(700, 2, 60)[:, np.arange(13) % 2],
    "binary": all_contexts(2, 11),
    "permutations": np.array(list(permutations(range(6)))),
    "staircase": np.triu(np.ones((128, 128), int)),
    "one among many": np.eye(512, dtype=int),
    "two ones": np.array([np.bincount(pair, minlength=60) for pair in combinations(range(60), 2)]),
    "a large vocabulary": random_contexts(300, 8, 10_000),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_of_contexts_is_memorized(family):
    contexts = FAMILIES[family]
    assert memorized(facts(contexts, int(contexts.max()) + 1, 9))


@pytest.mark.parametrize(("count", "n_ctx"), [(7000, 4), (6500, 3)])
def test_many_facts_are_spread_over_segments(count, n_ctx):
    task = facts(random_contexts(count, n_ctx, 70), 70, 40)
    assert plan_of(*module.sizes_of(task)).segments > 1
    assert memorized(task)


@pytest.mark.parametrize("answers", [1, 2, 3, 128, 5000, 9000])
def test_answers_of_one_digit_and_of_two_are_told_apart(answers):
    assert memorized(facts(random_contexts(300, 4, 20), 20, answers))


def test_knots_that_would_be_too_steep_are_replaced_by_one_neuron_for_each_row():
    task = facts(random_contexts(7000, 4, 40), 40, 8000)
    assert plan_of(*module.sizes_of(task)).one_hot
    assert memorized(task)


@pytest.mark.parametrize(
    ("count", "n_ctx", "tokens", "answers", "labels"),
    [(90, 4, 20, 40, 3), (60, 3, 9, 2, 20), (50, 2, 9, 5, 4), (40, 9, 20, 9, 1), (7, 4, 3, 1000, 2), (1, 4, 2, 2, 21)],
)
def test_words_of_several_labels_are_read_exactly(count, n_ctx, tokens, answers, labels):
    task = facts(random_contexts(count, n_ctx, tokens), tokens, answers)
    built = probe_memory(task, labels_per_word=labels)
    assert memorized(task, labels_per_word=labels)
    assert memorized_without_rounding(built.model, task, FLOAT32, 0.0).all()
    exact = in_integers(built.model, task.contexts)
    assert all((logits(built.model, task.contexts, seed) == exact).all() for seed in range(3))
    sizes = module.sizes_of(task)
    counts = [plan_of(*sizes, labels_per_word=labels, ease=ease).parameters for ease in range(4)]
    assert built.model.parameters in counts


def test_a_run_in_float64_reads_longer_words():
    task = facts(random_contexts(9000, 5, 103), 103, 88)
    plans = [plan_of(*module.sizes_of(task), dtype=dtype) for dtype in ("float32", "float64")]
    assert plans[1].labels_per_word > plans[0].labels_per_word > 1 and plans[1].parameters < plans[0].parameters
    with pytest.raises(CapacityError, match="with 7 labels an entry"):  # 102 rows or more of words of 49 bits
        plan_of(*module.sizes_of(task), dtype="float64", labels_per_word=7)
    built = probe_memory(task, dtype="float64")
    assert memorized_without_rounding(built.model, task, FLOAT64, 0.0).all()
    assert certify_memorization(built.model, task).certificate.verdict.value == "PROVED"


def test_a_word_holds_so_many_labels_and_no_more():
    assert plan_of(50, 4, 20, 2**7, 2**7, labels_per_word=3).labels_per_word == 3
    with pytest.raises(CapacityError, match="with 2 labels an entry"):
        plan_of(50, 4, 20, 2**11, 2**11, labels_per_word=2)


@given(st.integers(1, 120), st.integers(1, 40), st.integers(2, 30), st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_random_tables_are_memorized_and_counted_before_they_are_built(count, n_ctx, tokens, answers, seed):
    task = facts(random_contexts(count, n_ctx, tokens, seed), tokens, answers, seed)
    built = probe_memory(task, seed=seed)
    assert memorized(task)
    parameters = built.model.parameters
    assert parameters == sum(tensor.size for tensor in built.model.tensors().values())
    if " at draw 1," in built.summary or n_ctx == 1:
        assert parameters == probe_parameters(task)


@pytest.mark.parametrize(
    ("count", "n_ctx", "tokens", "answers"),
    [(1, 4, 2, 1), (200, 4, 30, 40), (60, 3, 9, 7), (50, 2, 9, 5), (40, 9, 20, 300), (1, 700, 9, 2)],
)
def test_a_run_in_float32_adds_in_any_order(count, n_ctx, tokens, answers):
    task = facts(random_contexts(count, n_ctx, tokens), tokens, answers)
    model = probe_memory(task).model
    exact = in_integers(model, task.contexts)
    for seed in range(3):
        assert (logits(model, task.contexts, seed) == exact).all()


@pytest.mark.parametrize("n_ctx", [513, 700, 1025, LONGEST])
def test_every_run_of_long_contexts_is_proved(n_ctx):
    task = facts(random_contexts(9, n_ctx, 20), 20, 7)
    assert memorized_without_rounding(probe_memory(task).model, task, FLOAT32, 0.0).all()


@pytest.mark.parametrize("count", [1, 60])
def test_it_is_memorized_in_real_arithmetic(count):
    task = facts(random_contexts(count, 5, 9), 9, 5)
    proved = certify_memorization(probe_memory(task).model, task)
    assert proved.certificate.verdict.value == "PROVED" and proved.answers.margin_lower.min() > 0.999


def test_contexts_that_collide_in_every_draw_are_named(monkeypatch):
    monkeypatch.setattr(
        module, "_cells", lambda plan, codes, contexts: np.zeros((len(contexts), 4), int) + np.arange(4)
    )
    with pytest.raises(
        CapacityError, match=r"two contexts with other labels collide, which differ in '\d' and '\d' at"
    ):
        probe_memory(enumerated_task(3, 4))


def test_distributions_and_contexts_that_are_too_long_are_refused():
    with pytest.raises(HypothesisError, match="labels"):
        probe_memory(enumerated_task(2, 2, target="distributions"))
    with pytest.raises(HypothesisError, match="1182 tokens"):
        probe_memory(facts(random_contexts(4, 1183, 3), 3, 2))
    assert probe_parameters(enumerated_task(2, 2, target="distributions")) == 0
