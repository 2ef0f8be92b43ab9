"""A run is judged by the enclosure and the a-priori bound alone: the certified network passes, every other fails."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

import verify.torch.run as run_module
from constructions.errors import InputError
from constructions.formats.files import canonical_json
from constructions.memories.bigrams.packed_words import packed_words_memory
from constructions.memories.knots import knots_memory
from constructions.model.model import Model
from constructions.model.shapes import dana_network, dana_tensors
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.task import Counts, Task, make_task
from tests.layers import changed_layer, layers_and_tasks, memory_layer, random_layer, random_layer_task
from tests.verify.forward.rows.test_row_balls import layers
from tests.verify.runs.integer_models import changed, sum_modulo
from verify.arithmetic.enclosure import Enclosure
from verify.forward.logits import logit_chunks
from verify.runs.exact_runs import surely_memorized
from verify.runs.formats import FLOAT32
from verify.runs.rounding import rounding_bound
from verify.torch.device import DeviceError
from verify.torch.module import Replica
from verify.torch.run import DTYPES, RunResult, run, run_all

N, S, T = 7, 3, 40


def random_task(generator: np.random.Generator, target: str) -> Task:
    contexts = np.array(list(np.ndindex(*(N,) * S)))[generator.permutation(N**S)[:T]]
    counts = Counts.from_rows([{int(generator.integers(N)): int(generator.integers(1, 9)), 2: 3} for _ in contexts])
    return make_task(contexts, counts, vocabulary=tuple("abcdefg"), target=target)


def memory(generator: np.random.Generator, task: Task) -> Model:
    """A network whose logits are those of the task up to rounding, by a least-squares solve; W_V and W_O are square."""
    d_model, n_heads, d_head = 8, 12, 8
    normal = generator.standard_normal
    tensors = {
        "W_E": normal((N, d_model)),
        "W_pos": normal((S, d_model)),
        "W_Q": normal((n_heads, d_model, d_head)) / 2,
        "W_K": normal((n_heads, d_model, d_head)) / 2,
        "W_V": normal((n_heads, d_model, d_head)),
        "W_U": np.eye(d_model, N),
    }
    x = tensors["W_E"][task.contexts] + tensors["W_pos"]
    features = []
    for W_Q, W_K, W_V in zip(tensors["W_Q"], tensors["W_K"], tensors["W_V"], strict=True):
        scores = np.einsum("te,tse->ts", x[:, -1] @ W_Q, x @ W_K)
        attention = np.exp(scores - scores.max(axis=1, keepdims=True))
        attention /= attention.sum(axis=1, keepdims=True)
        features.append(np.einsum("ts,tse->te", attention, x @ W_V))
    logits = 10.0 * np.eye(N)[task.labels] if task.distributions is None else np.log(task.distributions)
    goal = np.zeros((T, d_model))
    goal[:, :N] = logits
    W_O = np.linalg.lstsq(np.hstack(features), goal - x[:, -1], rcond=None)[0]
    return dana_network(**tensors, W_O=W_O.reshape(n_heads, d_head, d_model))


@pytest.fixture(scope="module", params=["distributions", "labels"])
def memorized(request: pytest.FixtureRequest) -> tuple[Model, Task]:
    generator = np.random.default_rng(20)
    task = random_task(generator, request.param)
    return memory(generator, task), task


def bigram(distributions: np.ndarray, target: str = "distributions") -> tuple[Model, Task]:
    """Contexts of one token whose logits are the logarithms of the distributions."""
    size = len(distributions)
    counts = Counts.from_rows([{int(row.argmax()): size - i} for i, row in enumerate(distributions)])
    task = make_task(
        np.arange(size).reshape(-1, 1),
        counts,
        vocabulary=tuple(map(str, range(size))),
        target=target,
        distributions=distributions if target == "distributions" else None,
    )
    zero = np.zeros
    with np.errstate(divide="ignore"):
        W_U = np.log(distributions)
    network = dana_network(
        W_E=np.eye(size),
        W_pos=zero((1, size)),
        W_Q=zero((1, size, 1)),
        W_K=zero((1, size, 1)),
        W_V=zero((1, size, 1)),
        W_O=zero((1, 1, size)),
        W_U=W_U,
    )
    return network, task


def deep_model() -> tuple[Model, np.ndarray]:
    """A transformer of one layer over six tokens, and distinct contexts of three."""
    rng = np.random.default_rng(21)
    read = {"W_E": rng.normal(size=(6, 8)), "W_pos": rng.normal(size=(3, 8))}
    contexts = np.array(list(np.ndindex(6, 6, 6)))[rng.permutation(6**3)[:20]]
    return Model(tuple(layers(rng, 8)), W_U=rng.normal(size=(8, 6)), **read), contexts


def with_tensor(network: Model, **tensors: np.ndarray) -> Model:
    return dana_network(**{**dana_tensors(network), **tensors})


def run_another(
    monkeypatch: pytest.MonkeyPatch, network: Model, task: Task, change: Callable[[Model], Model], dtype: str
) -> RunResult:
    """The judgement about `network` of a replica that computes something else."""
    original = Replica.from_model
    monkeypatch.setattr(Replica, "from_model", lambda given, **options: original(change(given), **options))
    return run(network, task, dtype=dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_certified_network_stays_within_the_bound(memorized: tuple[Model, Task], dtype: str) -> None:
    result = run(*memorized, dtype=dtype)
    assert result.within_bound is True
    assert result.note == ""
    assert result.accuracy == 1.0
    assert result.largest_bound is not None
    assert 0.0 < result.max_output_error <= result.largest_bound < {"float64": 1e-9, "float32": 1.0}[dtype]


def test_bfloat16_is_reported_and_not_judged(memorized: tuple[Model, Task]) -> None:
    result = run(*memorized, dtype="bfloat16")
    assert result.within_bound is None
    assert result.largest_bound is None
    assert "reported, not judged" in result.note
    assert 0.5 < result.accuracy <= 1.0
    assert 1e-6 < result.mean_kl < 1.0
    assert result.max_output_error > 1e-3


CHANGES: dict[str, Callable[[Model], Model]] = {
    "scores scaled by 1/sqrt(d)": lambda n: with_tensor(n, W_Q=n.W_Q / math.sqrt(n.d_qk)),
    "positions reversed": lambda n: with_tensor(n, W_pos=n.W_pos[::-1]),
    "a head dropped": lambda n: with_tensor(n, W_O=n.W_O * (np.arange(n.n_heads) != 3)[:, None, None]),
    "two heads swapped in W_O": lambda n: with_tensor(n, W_O=n.W_O[[1, 0, *range(2, n.n_heads)]]),
    "queries and keys swapped": lambda n: with_tensor(n, W_Q=n.W_K, W_K=n.W_Q),
    "W_O transposed": lambda n: with_tensor(n, W_O=n.W_O.transpose(0, 2, 1)),
    "W_V transposed": lambda n: with_tensor(n, W_V=n.W_V.transpose(0, 2, 1)),
    "a token's embedding swapped with another's": lambda n: with_tensor(n, W_E=n.W_E[[1, 0, *range(2, n.d_vocab)]]),
    "embeddings a thousandth too small": lambda n: with_tensor(n, W_E=n.W_E * 0.999),
    "a NaN-free but infinite answer": lambda n: with_tensor(n, W_U=n.W_U * 1e39),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("change", CHANGES)
def test_another_network_leaves_the_bound(
    memorized: tuple[Model, Task], change: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run_another(monkeypatch, *memorized, CHANGES[change], dtype)
    assert result.within_bound is False
    assert result.largest_bound is not None
    assert result.max_output_error > result.largest_bound


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_replica_without_the_skip_connection_leaves_the_bound(
    memorized: tuple[Model, Task], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forward(replica: Replica, tokens: torch.Tensor) -> torch.Tensor:
        W_E, W_pos, W_U = map(replica.get_parameter, ("embed.W_E", "pos_embed.W_pos", "unembed.W_U"))
        return original(replica, tokens) - (W_E[tokens[:, -1]] + W_pos[tokens.shape[1] - 1]) @ W_U

    original = Replica.forward
    monkeypatch.setattr(Replica, "forward", forward)
    assert run(*memorized, dtype=dtype).within_bound is False


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["W_E", "W_pos", "W_V", "W_O", "W_U"])
def test_one_weight_that_moves_a_logit_by_twice_the_bound_leaves_it(
    memorized: tuple[Model, Task], dtype: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, task = memorized
    bound = run(network, task, dtype=dtype).largest_bound
    assert bound is not None
    tensor = dana_tensors(network)[name]
    place = np.unravel_index(int(np.abs(tensor).argmax()), tensor.shape)

    def moved(by: float) -> Model:
        changed = tensor.copy()
        changed[place] += by
        return with_tensor(network, **{name: changed})

    def effect(by: float) -> float:
        chunks = zip(logit_chunks(network, task.contexts), logit_chunks(moved(by), task.contexts), strict=True)
        return max(float(np.abs(a.midpoint - b.midpoint).max()) for (_, a), (_, b) in chunks)

    step = 2.0 * bound / effect(1e-4) * 1e-4
    assert effect(step) > 1.5 * bound
    assert run_another(monkeypatch, network, task, lambda _: moved(step), dtype).within_bound is False


def test_one_weight_that_moves_a_logit_by_less_than_the_bound_is_not_noticed(
    memorized: tuple[Model, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(network: Model) -> Model:
        return with_tensor(network, W_U=network.W_U * (1.0 + 1e-12))

    assert run_another(monkeypatch, *memorized, changed, "float32").within_bound is True


@pytest.mark.parametrize("worse", [1.0 - 1e-6, 1.0 + 1e-6])
def test_the_limit_is_the_radius_plus_the_rounding_bound(worse: float) -> None:
    network, task = bigram(np.array([[0.75, 0.25], [0.5, 0.5]]))
    bound = rounding_bound(network, task.contexts, number_format=FLOAT32)
    with torch.inference_mode():
        computed = Replica.from_model(network, dtype=torch.float32)(torch.tensor(task.contexts)).double().numpy()
    radius = 0.125
    shifted = computed.copy()
    shifted[1, 0] += (radius + bound[1]) * worse
    result = run(network, task, dtype="float32", logits=[(0, Enclosure(shifted, radius))])
    assert result.within_bound is (worse < 1.0)
    assert result.largest_bound == pytest.approx(radius + bound.max())
    assert result.max_output_error == pytest.approx(radius + bound[1], rel=1e-5)


def test_a_violation_in_any_chunk_is_remembered() -> None:
    network, task = bigram(np.array([[0.75, 0.25], [0.5, 0.5]]))
    good = Enclosure(network.W_U, 0.0)
    wrong = Enclosure(network.W_U + np.array([[1.0], [0.0]]), 0.0)
    for enclosure, expected in ((good, True), (wrong, False)):
        chunks = [(0, enclosure[:1]), (1, enclosure[1:])]
        assert run(network, task, dtype="float64", logits=chunks).within_bound is expected


def test_an_enclosure_that_says_nothing_is_not_judged() -> None:
    network, task = bigram(np.array([[0.75, 0.25], [0.5, 0.5]]))
    result = run(network, task, dtype="float64", logits=[(0, Enclosure(network.W_U, np.inf))])
    assert result.within_bound is None
    assert "not judged" in result.note
    assert result.summary()["largest_bound"] is None


def test_a_violation_beside_an_enclosure_that_says_nothing_is_a_violation() -> None:
    network, task = bigram(np.array([[0.75, 0.25], [0.5, 0.5]]))
    radius = np.array([[0.0, 0.0], [np.inf, np.inf]])
    result = run(network, task, dtype="float64", logits=[(0, Enclosure(network.W_U + 1.0, radius))])
    assert result.within_bound is False


def test_a_type_that_overflows_is_not_judged_and_nothing_about_it_is_hidden() -> None:
    network, task = bigram(np.array([[0.75, 0.25], [0.5, 0.5]]))
    network = with_tensor(network, W_U=network.W_U * 1e39)
    result = run(network, task, dtype="float32")
    assert result.within_bound is None
    assert "overflow" in result.note
    assert (result.accuracy, result.mean_kl, result.max_output_error) == (0.0, math.inf, math.inf)
    assert result.summary()["mean_kl"] is None


def test_all_types_in_one_go_give_what_each_gives_alone(memorized: tuple[Model, Task]) -> None:
    together = run_all(*memorized)
    assert tuple(together) == DTYPES == ("float64", "float32", "bfloat16")
    for dtype, found in together.items():
        assert replace(found, seconds=0.0) == replace(run(*memorized, dtype=dtype), seconds=0.0)
        assert {
            "accuracy",
            "mean_kl",
            "max_kl",
            "max_output_error",
            "within_bound",
            "device",
            "seconds",
        } <= found.summary().keys()
        assert canonical_json(found.summary())


def test_finer_types_are_closer_to_the_certified_logits(memorized: tuple[Model, Task]) -> None:
    results = [run(*memorized, dtype=dtype) for dtype in DTYPES]
    errors = [result.max_output_error for result in results]
    assert errors[0] < 1e-6 * errors[1] < 1e-6 * errors[2]
    assert results[0].max_kl <= results[1].max_kl <= results[2].max_kl


def test_batches_do_not_change_the_result(memorized: tuple[Model, Task], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(*memorized, dtype="float64")
    sizes: list[int] = []
    original = Replica.forward
    monkeypatch.setattr(Replica, "forward", lambda self, tokens: sizes.append(len(tokens)) or original(self, tokens))
    monkeypatch.setattr(run_module, "_BATCH_BYTES", {"cpu": 2**14})
    parts = run(*memorized, dtype="float64", logits=logit_chunks(*(memorized[0], memorized[1].contexts), rows=17))
    assert sum(sizes) == T
    assert max(sizes) < 17
    assert parts.accuracy == whole.accuracy
    assert parts.within_bound is True
    assert parts.mean_kl == pytest.approx(whole.mean_kl, rel=0.1, abs=1e-27)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(0, 1)], "cover 1 contexts, expected 2"),
        ([], "cover 0 contexts, expected 2"),
        ([(1, 1), (0, 1)], "starts at row 1, expected row 0"),
        ([(0, 1), (0, 1)], "starts at row 0, expected row 1"),
        ([(0, 2), (2, 1)], "cover 3 contexts, expected 2"),
    ],
)
def test_enclosures_that_do_not_cover_the_contexts_are_refused(rows: list[tuple[int, int]], message: str) -> None:
    network, task = bigram(np.array([[0.75, 0.25], [0.5, 0.5]]))
    chunks = [(start, Enclosure(np.zeros((length, 2)), 0.0)) for start, length in rows]
    with pytest.raises(InputError, match=message):
        run(network, task, dtype="bfloat16", logits=chunks)


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_another_module_is_judged_in_batches_of_a_size_of_ones_own(memorized: tuple[Model, Task], batch: int) -> None:
    model, task = memorized
    sizes: list[int] = []

    class Listening(torch.nn.Module):
        def __init__(self, inner: Replica) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            sizes.append(len(tokens))
            return self.inner(tokens)

    result = run(model, task, replica=Listening(Replica.from_model(model)), batch=batch)
    assert result.within_bound and result.memorized == task.n_contexts
    assert sum(sizes) == task.n_contexts and max(sizes) == min(batch, task.n_contexts)
    other = dana_network(**{**dana_tensors(model), "W_U": -model.W_U})
    assert run(model, task, replica=Listening(Replica.from_model(other)), batch=batch).within_bound is False
    with pytest.raises(InputError, match="batch = 0"):
        run(model, task, batch=0)


def test_enclosures_over_another_vocabulary_are_refused() -> None:
    network, task = bigram(np.array([[0.75, 0.25], [0.5, 0.5]]))
    with pytest.raises(InputError, match="expected row 0 and 2 columns"):
        run(network, task, dtype="float64", logits=[(0, Enclosure(np.zeros((2, 3)), 0.0))])


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(InputError, match="dtype = 'half', expected one of float64, float32, bfloat16, float16"):
        run(*bigram(np.array([[0.75, 0.25], [0.5, 0.5]])), dtype="half")


def test_a_task_over_another_vocabulary_is_refused() -> None:
    network, task = bigram(np.array([[0.75, 0.25], [0.5, 0.5]]))
    with pytest.raises(InputError, match="task has 2 tokens, the model 3 logits"):
        run(with_tensor(network, W_U=np.zeros((2, 3))), task)


def test_a_task_with_longer_contexts_is_refused(memorized: tuple[Model, Task]) -> None:
    network, task = memorized
    for dtype in DTYPES:
        with pytest.raises(InputError, match=r"contexts .*3.* 2"):
            run(with_tensor(network, W_pos=network.W_pos[:2]), task, dtype=dtype)


def test_a_missing_cuda_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match="no CUDA device"):
        run(*bigram(np.array([[0.75, 0.25], [0.5, 0.5]])), device="cuda")


def test_only_judged_types_need_a_device_that_passes_the_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise DeviceError("emulated")

    monkeypatch.setattr(run_module, "require_arithmetic", refuse)
    network, task = bigram(np.array([[0.75, 0.25], [0.5, 0.5]]))
    assert run(network, task, dtype="bfloat16").within_bound is None
    for dtype in ("float64", "float32"):
        with pytest.raises(DeviceError, match="emulated"):
            run(network, task, dtype=dtype)


def test_accuracy_counts_any_mode_of_a_distribution_and_only_the_label() -> None:
    distributions = np.array([[0.4, 0.4, 0.2], [0.1, 0.5, 0.4], [0.2, 0.3, 0.5]])
    shown = np.array([[0.3, 0.5, 0.2], [0.1, 0.4, 0.5], [0.2, 0.3, 0.5]])
    network, task = bigram(distributions)
    predicted = with_tensor(network, W_U=np.log(shown)[np.argsort(task.contexts[:, 0])])
    assert run(predicted, task, dtype="float64").accuracy == pytest.approx(2 / 3)
    network, task = bigram(distributions, target="labels")
    predicted = with_tensor(network, W_U=np.log(shown))
    assert task.labels.tolist() == [0, 1, 2]
    assert run(predicted, task, dtype="float64").accuracy == pytest.approx(1 / 3)


def exact_divergence(logits: list[float], distribution: list[float]) -> float:
    with ctx.workprec(300):
        total = sum(map(arb, distribution), arb(0))
        shares = [arb(p) / total for p in distribution]
        normalizer = sum((arb(logit).exp() for logit in logits), arb(0)).log()
        return float(sum((p * (p.log() - logit + normalizer) for p, logit in zip(shares, logits, strict=True)), arb(0)))


@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1e-14, 1e-9, 1e-4, 0.3, 3.0, 100.0, 900.0]))
def test_divergences_are_accurate_however_small_or_large(seed: int, scale: float) -> None:
    generator = np.random.default_rng(seed)
    distributions = np.maximum(generator.dirichlet(np.full(5, 0.5), size=5), 1e-12)
    network, task = bigram(distributions)
    network = with_tensor(network, W_U=network.W_U + scale * generator.standard_normal((5, 5)) + 7.0)
    assert task.distributions is not None
    expected = [
        exact_divergence(network.W_U[token].tolist(), distribution)
        for (token,), distribution in zip(task.contexts.tolist(), task.distributions.tolist(), strict=True)
    ]
    result = run(network, task, dtype="float64")
    # The distribution is normalized in float64 and the logits rounded: the gap between the two has an error of about
    # 1e-14.
    error = 1e-14 * math.sqrt(max(expected)) + 1e-27
    assert result.mean_kl == pytest.approx(np.mean(expected), rel=1e-9, abs=error)
    assert result.max_kl == pytest.approx(np.max(expected), rel=1e-9, abs=error)
    assert result.mean_kl >= 0.0


@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([0.01, 1.0, 40.0, 700.0]))
def test_the_divergence_of_a_label_is_its_surprise(seed: int, scale: float) -> None:
    generator = np.random.default_rng(seed)
    network, task = bigram(generator.dirichlet(np.ones(4), size=4), target="labels")
    network = with_tensor(network, W_U=scale * generator.standard_normal((4, 4)))
    expected = []
    with ctx.workprec(2400):
        for (token,), label in zip(task.contexts.tolist(), task.labels.tolist(), strict=True):
            row = [arb(logit) for logit in network.W_U[token].tolist()]
            expected.append(float(sum(((logit - row[label]).exp() for logit in row), arb(0)).log()))
    result = run(network, task, dtype="float64")
    assert result.max_kl == pytest.approx(np.max(expected), rel=1e-12, abs=0)
    assert result.mean_kl == pytest.approx(np.mean(expected), rel=1e-12, abs=0)


def test_distributions_that_do_not_sum_to_one_are_normalized() -> None:
    distributions = np.array([[0.75, 0.25], [0.5, 0.5]])
    network, task = bigram(distributions * (1.0 + 2.0**-31))
    network = with_tensor(network, W_U=np.log(distributions) + 7.0)
    assert run(network, task, dtype="float64").max_kl < 1e-25


def test_a_divergence_far_below_the_unit_roundoff_is_still_seen() -> None:
    network, task = bigram(np.full((4, 4), 0.25))
    step = 3.0 * 2.0**-52
    network = with_tensor(network, W_U=network.W_U + np.array([step, -step, step, -step]))
    assert run(network, task, dtype="float64").mean_kl == pytest.approx(step**2 / 2, rel=1e-6, abs=0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_small_integers_are_proved_in_every_run_of_a_short_type(dtype: str) -> None:
    memorized = run(packed_words_memory(task := enumerated_task(4, 2)).model, task, dtype=dtype)
    assert (
        memorized.memorized == memorized.memorized_proved == 16
        and memorized.within_bound is None
        and not memorized.note
    )
    open_ = run(knots_memory(task, dtype="float32").model, task, dtype=dtype)
    assert open_.memorized_proved is None and "not judged" in open_.note


# Tasks that bring vectors.


@pytest.mark.parametrize("dtype", DTYPES)
@given(layers_and_tasks())
def test_a_faithful_replica_of_a_layer_never_leaves_the_bound(dtype: str, case: Any) -> None:
    layer, task = case
    result = run(layer, task, dtype=dtype)
    assert result.within_bound is (None if dtype == "bfloat16" else True)
    assert result.mean_kl is result.max_kl is None
    assert (result.accuracy is None) == (task.kind == "regression")
    assert (result.max_label_error is None) == (task.kind == "classification")
    summary = result.summary()
    assert ("max_label_error" in summary) == (task.kind == "regression") and "mean_kl" not in summary
    assert canonical_json(summary)


def test_a_layer_that_memorizes_has_its_labels_and_its_classes() -> None:
    task = random_layer_task(examples=5, tokens=4, d_model=4)
    result = run(memory_layer(task, n_heads=3), task, dtype="float64")
    assert result.within_bound is True and result.max_label_error is not None and result.max_label_error < 1e-9
    other = replace(task, labels=task.labels + np.arange(5.0)[:, np.newaxis])
    result = run(memory_layer(task, n_heads=3), other, dtype="float64")
    assert (result.mean_label_error, result.max_label_error) == pytest.approx((2.0, 4.0))
    task = random_layer_task(examples=5, tokens=4, d_model=4, kind="classification")
    result = run(memory_layer(task, n_heads=3), task)
    assert result.within_bound is True and result.accuracy == 1.0
    assert run(changed_layer(memory_layer(task, n_heads=3), W_D=-np.eye(2)), task).accuracy == 0.0


LAYER_FAULTS: dict[str, Callable[[Model], Model]] = {
    "weights": lambda layer: changed_layer(layer, W_D=layer.W_U * (1 + 2.0**-8)),
    "scaled scores": lambda layer: changed_layer(layer, W_Q=layer.W_Q / np.sqrt(layer.d_qk)),
    "negated keys": lambda layer: changed_layer(layer, W_K=-layer.W_K),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("fault", LAYER_FAULTS)
def test_a_replica_of_another_layer_leaves_the_bound(monkeypatch: pytest.MonkeyPatch, dtype: str, fault: str) -> None:
    task = random_layer_task(examples=5, tokens=4, d_model=4, shared=False)
    layer = memory_layer(task, n_heads=3)
    original = Replica.from_model
    monkeypatch.setattr(Replica, "from_model", lambda given, **options: original(LAYER_FAULTS[fault](given), **options))
    assert run(layer, task, dtype=dtype).within_bound is False


def test_outputs_of_a_layer_that_are_not_finite_are_infinite_errors() -> None:
    layer = changed_layer(random_layer(), W_D=random_layer().W_U * 1e39)
    result = run(layer, random_layer_task())
    assert result.max_label_error == np.inf and result.summary()["max_label_error"] is None
    assert result.within_bound is None and "not judged" in result.note


@pytest.mark.parametrize("shared", [False, True])
def test_batches_of_examples_change_nothing(monkeypatch: pytest.MonkeyPatch, shared: bool) -> None:
    layer, task = random_layer(), random_layer_task(shared=shared)
    whole = run(layer, task, dtype="float64")
    monkeypatch.setattr(run_module, "_BATCH_BYTES", {"cpu": 1})
    assert run(layer, task, dtype="float64").max_output_error <= whole.max_output_error + 1e-12


# Models of several blocks.


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_transformer_stays_within_the_bound_and_another_leaves_it(
    monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    model, contexts = deep_model()
    counts = Counts.from_rows([{0: 1}] * len(contexts))
    task = make_task(contexts, counts, vocabulary=tuple("abcdef"), target="labels")
    result = run(model, task, dtype=dtype)
    assert result.within_bound is True and result.note == ""
    original = Replica.from_model
    for fault in range(3):
        blocks = [*model.blocks[:fault], *model.blocks[fault + 1 :]]
        wrong = replace(model, blocks=tuple(blocks))
        monkeypatch.setattr(Replica, "from_model", lambda _, wrong=wrong, **options: original(wrong, **options))
        assert run(model, task, dtype=dtype).within_bound is False


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_layers_and_transformers_are_within_bound_on_cuda(dtype: str) -> None:
    task = random_layer_task(examples=50, tokens=8, d_model=16, shared=False)
    assert run(memory_layer(task, n_heads=5), task, device="cuda", dtype=dtype).within_bound is True
    model, contexts = deep_model()
    counts = Counts.from_rows([{0: 1}] * len(contexts))
    tokens = make_task(contexts, counts, vocabulary=tuple("abcdef"), target="labels")
    assert run(model, tokens, device="cuda", dtype=dtype).within_bound is True


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("around", ["highest", "medium"])
def test_the_certified_network_stays_within_the_bound_on_cuda(
    memorized: tuple[Model, Task], dtype: str, around: str
) -> None:
    torch.set_float32_matmul_precision(around)
    try:
        result = run(*memorized, dtype=dtype, device="cuda")
    finally:
        torch.set_float32_matmul_precision("highest")
    assert result.within_bound is True
    assert result.accuracy == 1.0
    assert result.device == torch.cuda.get_device_name(0)


@pytest.mark.gpu
def test_every_type_runs_on_cuda_as_on_the_cpu(memorized: tuple[Model, Task]) -> None:
    here, there = run_all(*memorized), run_all(*memorized, device="cuda")
    for dtype in DTYPES:
        assert there[dtype].within_bound == here[dtype].within_bound
        assert there[dtype].accuracy == pytest.approx(here[dtype].accuracy, abs=0.1)


@pytest.mark.gpu
@pytest.mark.parametrize("change", CHANGES)
def test_another_network_leaves_the_bound_on_cuda(
    memorized: tuple[Model, Task], change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, task = memorized
    original = Replica.from_model
    monkeypatch.setattr(Replica, "from_model", lambda given, **options: original(CHANGES[change](given), **options))
    assert run(network, task, dtype="float32", device="cuda").within_bound is False


def test_what_every_run_holds_is_proved_only_beyond_twice_radius_and_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        run_module, "memorized_without_rounding", lambda model, task, *_: np.zeros(task.n_contexts, bool)
    )
    monkeypatch.setattr("verify.runs.every_run._MOST_ENTRIES", 0)
    task = make_task(np.array([[0], [1]]), Counts.from_rows([{0: 1}, {1: 3}]), vocabulary=("a", "b"), target="labels")
    one = np.ones((1, 2, 1))
    network = dana_network(
        W_E=np.eye(2), W_pos=np.zeros((1, 2)), W_Q=one, W_K=one, W_V=one, W_O=np.zeros((1, 1, 2)), W_U=np.eye(2)
    )
    bound = float(rounding_bound(network, task.contexts, number_format=FLOAT32).max())
    assert 0.0 < bound < 1e-5
    for radius, proved in ((0.0, 2), (0.499, 2), (0.5 - 0.9 * bound, 0), (0.5, 0), (1.0, 0)):
        midpoint = np.eye(2)[task.contexts[:, 0]]
        found = run(network, task, logits=[(0, Enclosure(midpoint, np.full((2, 2), radius)))])
        assert (found.memorized, found.memorized_proved, found.least_margin) == (2, proved, 1.0)


def test_a_distribution_is_proved_to_be_memorized_only_where_all_that_may_be_computed_is_near_it() -> None:
    distributions = np.array([[0.75, 0.25]])
    task = make_task(
        np.array([[0]]), Counts.from_rows([{0: 3, 1: 1}]), vocabulary=("a", "b"), distributions=distributions
    )
    for limit, proved in ((0.0, True), (0.01, True), (0.2, False), (2.0, False)):
        reachable = Enclosure(np.log(distributions), np.full((1, 2), limit))
        assert surely_memorized(reachable, task, slice(0, 1), 1e-3).tolist() == [proved]


def test_a_memory_of_integers_is_memorized_by_every_run_where_the_rounding_bound_says_nothing() -> None:
    model, contexts, labels = sum_modulo(61)
    task = array_task(contexts, next_tokens=labels, vocabulary=61, target="labels")
    for dtype in ("float32", "float64"):
        found = run(model, task, dtype=dtype)
        assert found.memorized_proved == len(labels) and found.within_bound and found.max_output_error == 0.0
    found = run(model, task, dtype="bfloat16")
    assert found.memorized_proved is not None and 0 < found.memorized_proved <= found.memorized < len(labels)
    small, contexts, labels = sum_modulo(5)
    task = array_task(contexts, next_tokens=labels, vocabulary=5, target="labels")
    assert run(small, task, dtype="bfloat16").memorized_proved == 25


def test_a_run_that_does_not_hold_what_every_run_holds_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    model, contexts, labels = sum_modulo(5)
    task = array_task(contexts, next_tokens=labels, vocabulary=5, target="labels")
    other = changed(model, 1, b_in=np.array([0.0, -7.5, -8.5]))
    original = Replica.from_model
    monkeypatch.setattr(Replica, "from_model", lambda given, **options: original(other, **options))
    for dtype in ("float32", "bfloat16"):
        assert run(model, task, dtype=dtype).within_bound is False


def test_a_distribution_that_is_off_by_more_than_the_tolerance_is_neither_memorized_nor_proved_to_be() -> None:
    generator = np.random.default_rng(5)
    task = random_task(generator, "distributions")
    network = memory(generator, task)
    exact = run(network, task, dtype="float64")
    assert exact.memorized == exact.memorized_proved == T
    assert exact.max_kl is not None and exact.max_kl < 1e-12
    strict = run(network, task, dtype="float64", tolerance=1e-40)
    assert strict.memorized < T and strict.memorized_proved == 0
    coarse = run(network, task, dtype="bfloat16")
    assert coarse.memorized_proved is None and coarse.memorized <= T
    shifted = dana_network(**{**dana_tensors(network), "W_U": 1.5 * network.W_U})
    off = run(shifted, task, dtype="float64")
    assert off.accuracy == 1.0 and off.memorized == off.memorized_proved == 0


def test_values_are_memorized_where_they_are_within_the_tolerance_and_the_bound() -> None:
    task = random_layer_task(examples=5, tokens=4, d_model=4, kind="regression")
    layer = memory_layer(task, n_heads=3)
    found = run(layer, task, dtype="float64")
    assert found.memorized == found.memorized_proved == 5 and found.least_margin is None
    assert found.max_label_error is not None and found.largest_bound is not None
    below = run(layer, task, dtype="float64", tolerance=found.max_label_error / 2)
    assert below.memorized < 5 and below.memorized_proved <= below.memorized
    near = run(layer, task, dtype="float64", tolerance=found.max_label_error + found.largest_bound / 100)
    assert near.memorized == 5 and near.memorized_proved is not None and near.memorized_proved < 5
