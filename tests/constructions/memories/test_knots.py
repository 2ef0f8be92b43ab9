"""The memory of knots holds whatever is distinct: proved by the judge in integers, over rationals, and by balls."""

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, InputError
from constructions.memories.knots import _jumps, knots_memory, knots_parameters, most_parameters
from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from constructions.model.precision import Precision
from constructions.tasks.arrays import all_contexts, array_task, enumerated_task
from constructions.tasks.task import Task
from verify.forward.in_rationals import exact_network_logits
from verify.forward.ladder import decide_argmax
from verify.theorems.memories.knots import prove_knots

PRECISIONS: tuple[Precision, ...] = ("float64", "float32")


def facts(contexts: object, labels: object, vocabulary: int) -> Task:
    return array_task(np.array(contexts), next_tokens=np.array(labels), vocabulary=vocabulary, target="labels")


def random_facts(count: int, n_ctx: int, tokens: int, seed: int, kind: str = "random") -> Task:
    rng = np.random.default_rng(seed)
    contexts = np.unique(rng.integers(0, tokens, (count, n_ctx)), axis=0)
    labels = rng.integers(0, tokens, len(contexts))
    if kind == "skewed":
        labels = np.minimum(rng.exponential(0.15 * tokens, len(contexts)).astype(np.int64), tokens - 1)
    elif kind == "sum":
        labels = contexts.sum(axis=1) % tokens
    elif kind == "two":
        labels = (tokens - 1) * rng.integers(0, 2, len(contexts))
    elif kind == "one":
        labels = np.full(len(contexts), tokens // 2)
    return facts(contexts, labels, tokens)


def in_float32(model: Model, contexts: np.ndarray) -> np.ndarray:
    """The logits where every operation is one of NumPy in float32."""
    single = np.float32
    head, neurons = model.blocks
    assert isinstance(head, Attention) and isinstance(neurons, FeedForward)
    assert neurons.b_in is not None and neurons.b_out is not None and model.b_U is not None
    x = model.W_E.astype(single)[contexts] + model.W_pos.astype(single)
    scores = (x[:, -1:] @ head.W_Q[0].astype(single)) * (x @ head.W_K[0].astype(single))
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares = powers / powers.sum(axis=1, keepdims=True)
    number = (shares * (x @ head.W_V[0].astype(single))).sum(axis=1) @ head.W_O[0].astype(single)
    fired = np.maximum(number @ neurons.W_in.astype(single) + neurons.b_in.astype(single), 0)
    stream = fired @ neurons.W_out.astype(single) + neurons.b_out.astype(single)
    return stream @ model.W_U.astype(single) + model.b_U.astype(single)


@given(
    st.integers(1, 60),
    st.integers(1, 12),
    st.integers(1, 20),
    st.sampled_from(["random", "skewed", "sum", "two", "one"]),
    st.sampled_from(PRECISIONS),
    st.integers(0, 2**32),
)
def test_any_distinct_contexts_are_memorized(
    count: int, n_ctx: int, tokens: int, kind: str, dtype: Precision, seed: int
) -> None:
    task = random_facts(count, n_ctx, tokens, seed, kind)
    built = knots_memory(task, dtype=dtype)
    proof = prove_knots(built.model, task)
    assert proof.margin_lower.min() > 0.25
    assert (decide_argmax(built.model, task.contexts).place == task.labels).all()
    if dtype == "float32":
        for name, tensor in built.model.tensors().items():
            assert (tensor.astype(np.float32) == tensor).all(), name
        assert (in_float32(built.model, task.contexts).argmax(axis=1) == task.labels).all()


@given(st.integers(1, 25), st.integers(1, 6), st.integers(1, 9), st.integers(0, 2**32))
def test_any_distributions_are_reached(count: int, n_ctx: int, tokens: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    contexts = np.unique(rng.integers(0, tokens, (count, n_ctx)), axis=0)
    distributions = rng.dirichlet(np.full(tokens, 0.5), len(contexts)) + 1e-9
    task = array_task(
        contexts, distributions=distributions / distributions.sum(axis=1, keepdims=True), vocabulary=tokens
    )
    proof = prove_knots(knots_memory(task).model, task)
    assert proof.divergence_upper is not None
    assert proof.divergence_upper.max() < 1e-16 and proof.margin_lower.min() > 0


def test_distributions_in_float32_are_nearly_reached() -> None:
    task = enumerated_task(6, 3, target="distributions", seed=0)
    proof = prove_knots(knots_memory(task, dtype="float32").model, task)
    assert proof.divergence_upper is not None and proof.divergence_upper.max() < 1e-4
    assert proof.right == 216


def over_the_rationals(task: Task, model: Model) -> np.ndarray:
    """The logits of the construction with attention 2^(S - s), exactly; scores count in units of ln 2."""
    head, neurons = model.blocks
    assert isinstance(head, Attention) and isinstance(neurons, FeedForward)

    def rationals(x: np.ndarray) -> np.ndarray:
        entries = [fmpq(*float(y).as_integer_ratio()) for y in x.ravel()]
        return np.array(entries, dtype=object).reshape(x.shape)

    n_ctx = task.n_ctx
    W_pos = model.W_pos.copy()
    assert np.allclose(W_pos[:, 1], 1 + np.log(2) * np.arange(n_ctx - 1, -1, -1))
    W_pos[:, 1] = np.arange(n_ctx, 0, -1)
    exact = [
        Attention(*(rationals(x) for x in (head.W_Q, head.W_K, head.W_V, head.W_O)), skip=False),
        FeedForward(
            rationals(neurons.W_in),
            rationals(neurons.W_out),
            b_in=rationals(neurons.b_in),
            b_out=rationals(neurons.b_out),
            skip=False,
        ),
    ]
    rational = Model(
        blocks=tuple(exact),
        W_U=rationals(model.W_U),
        b_U=rationals(model.b_U),
        W_E=rationals(model.W_E),
        W_pos=rationals(W_pos),
    )
    return np.array(exact_network_logits(rational, task.contexts).tolist())


def test_over_the_rationals_every_label_wins_by_three_eighths() -> None:
    task = random_facts(40, 5, 12, seed=3)
    found = over_the_rationals(task, knots_memory(task).model)
    for row, label in zip(found, task.labels, strict=True):
        assert min(row[label] - x for j, x in enumerate(row) if j != label) > fmpq(3, 8) - fmpq(1, 2**20)


def test_the_parameters_are_those_that_are_counted() -> None:
    for task, digits in ((enumerated_task(50, 2), 1), (random_facts(256, 8, 50, seed=0), 1)):
        model = knots_memory(task, digits=digits).model
        neurons = model.blocks[1]
        assert isinstance(neurons, FeedForward)
        size, n_ctx = task.d_vocab, task.n_ctx
        assert neurons.d_mlp <= task.n_contexts - 1
        assert model.parameters == (3 + digits) * size + 2 * n_ctx + 7 + digits + (2 + digits) * neurons.d_mlp
        sizes = dict(d_vocab=size, n_ctx=n_ctx, answers=task.n_answers, digits=digits)
        assert model.parameters == knots_parameters(**sizes, neurons=neurons.d_mlp)
        assert all(np.count_nonzero(x) == x.size for x in (neurons.W_in, neurons.W_out))


@given(st.integers(1, 40), st.integers(2, 3), st.integers(2, 7), st.integers(0, 9), st.sampled_from(PRECISIONS))
def test_no_labels_take_more_than_what_is_enough_for_all(
    count: int, n_ctx: int, tokens: int, seed: int, dtype: Precision
) -> None:
    task = random_facts(min(count, tokens**n_ctx), n_ctx, tokens, seed=seed)
    most = most_parameters(task, dtype=dtype)
    assert knots_memory(task, dtype=dtype).model.parameters <= most
    mixed = np.random.default_rng(seed).permutation(task.labels)
    assert knots_memory(facts(task.contexts, mixed, tokens), dtype=dtype).model.parameters <= most


def test_what_is_enough_for_all_labels_counts_a_neuron_for_each_context_but_one_and_the_digits_of_float32() -> None:
    task = random_facts(1500, 3, 900, seed=0)
    sizes = dict(d_vocab=900, n_ctx=3, answers=900, neurons=1499)
    assert most_parameters(task) == knots_parameters(**sizes, digits=1)
    assert most_parameters(task, dtype="float32") >= knots_parameters(**sizes, digits=2)


def test_all_bigrams_of_50_tokens_take_three_parameters_a_fact() -> None:
    task = enumerated_task(50, 2, seed=1)
    for dtype in PRECISIONS:
        model = knots_memory(task, dtype=dtype).model
        assert model.parameters < 3 * 2500 + 4 * 50 + 20
        assert prove_knots(model, task).margin_lower.min() > 0.37
        assert (in_float32(model, task.contexts).argmax(axis=1) == task.labels).all()


def test_constant_labels_need_one_neuron_and_runs_of_labels_few() -> None:
    contexts = all_contexts(10, 3)
    for labels, most in ((np.full(1000, 4), 1), (np.arange(1000) // 100, 18), (np.arange(1000) // 100 % 2, 18)):
        neurons = knots_memory(facts(contexts, labels, 10)).model.blocks[1]
        assert isinstance(neurons, FeedForward) and neurons.d_mlp <= most


def test_many_labels_are_named_by_several_digits_in_float32() -> None:
    task = random_facts(1500, 3, 900, seed=0)
    single, double = (knots_memory(task, dtype=dtype).model for dtype in ("float32", "float64"))
    assert double.blocks[1].W_out.shape[1] == 1 < single.blocks[1].W_out.shape[1]
    for model in (single, double):
        assert prove_knots(model, task).margin_lower.min() > 0.3
    assert (in_float32(single, task.contexts).argmax(axis=1) == task.labels).all()
    assert (in_float32(double, task.contexts).argmax(axis=1) == task.labels).sum() < 1490


def test_tokens_that_are_never_answers_are_far_behind() -> None:
    task = facts([[0, 1], [1, 0], [1, 1]], [7, 5, 7], 9)
    for digits in (1, 2, 3):
        model = knots_memory(task, digits=digits).model
        found = in_float32(model, task.contexts)
        assert (found[np.arange(3), task.labels] - found[:, [0, 1, 2, 3, 4, 6, 8]].max(axis=1) > 0.8).all()


@given(st.data())
def test_rounded_jumps_miss_by_no_more_than_their_own_rounding(data: st.DataObject) -> None:
    gaps = data.draw(st.lists(st.integers(1, 1000), min_size=1, max_size=40))
    codes = np.cumsum([0, *gaps]).tolist()
    scale = 2**80
    outputs = [scale * data.draw(st.integers(-50, 50)) // 7 for _ in codes]
    bits = data.draw(st.integers(2, 30))
    jumps = _jumps(codes, outputs, bits, 0)
    for i, (code, output) in enumerate(zip(codes, outputs, strict=True)):
        value = outputs[0] + sum(jump * (code - codes[j]) for j, jump in jumps.items() if j < i)
        own = abs(jumps.get(i - 1, 0)) * (code - codes[i - 1]) if i else 0
        assert abs(value - output) <= Fraction(own, 2**bits) + (code - codes[i - 1] if i else 0)
    assert all(jump % 2 ** max(0, jump.bit_length() - bits) == 0 for jump in jumps.values())


def test_thousands_of_facts_lose_nothing_to_roundings() -> None:
    task = random_facts(5000, 6, 300, seed=1)
    proof = prove_knots(knots_memory(task).model, task)
    assert proof.right == task.n_contexts and proof.margin_lower.min() > 0.37


def test_what_cannot_be_is_refused() -> None:
    task = random_facts(8000, 6, 90, seed=0)
    with pytest.raises(CapacityError, match=r"float32 tells apart, but 8000 contexts have codes of 2\d bits"):
        knots_memory(task, dtype="float32", digits=None)
    with pytest.raises(CapacityError, match=r"float16 tells apart.*take fewer contexts"):
        knots_memory(task, dtype="float16")
    with pytest.raises(InputError, match="dtype = 'float8', expected one of"):
        knots_memory(task, dtype="float8")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="digits = 0"):
        knots_memory(task, digits=0)
    with pytest.raises(InputError, match="digits = 2, expected none for a task of distributions"):
        knots_memory(enumerated_task(2, 2, target="distributions"), digits=2)
