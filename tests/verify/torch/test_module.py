"""The torch module computes what the convention says, in the type it is given, and changes no setting of torch."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from constructions.errors import InputError
from constructions.model.blocks import Attention, Normalization
from constructions.model.model import Model
from constructions.model.shapes import dana_network, dana_tensors
from tests.contract.test_blocks import case_of, rational_case
from tests.layers import layers_and_tasks, random_layer, random_layer_task, truth
from verify.forward.in_balls import logits_in_balls
from verify.torch.module import Replica, bag_sums, full_precision


def random_network(generator: np.random.Generator, *, scale: float = 1.0) -> Model:
    """A network of which no two sizes are equal, so that no two axes can be confused."""
    d_vocab, n_ctx, d_model, n_heads, d_qk, d_head, d_vocab_out = 7, 4, 6, 5, 3, 2, 9
    normal = generator.standard_normal
    return dana_network(
        W_E=normal((d_vocab, d_model)),
        W_pos=normal((n_ctx, d_model)),
        W_Q=scale * normal((n_heads, d_model, d_qk)),
        W_K=normal((n_heads, d_model, d_qk)),
        W_V=normal((n_heads, d_model, d_head)),
        W_O=normal((n_heads, d_head, d_model)),
        W_U=normal((d_model, d_vocab_out)),
    )


def reference_logits(network: Model, contexts: np.ndarray) -> np.ndarray:
    """The definition, in the other association: scores through W_Q W_K^T, values of mixed embeddings."""
    x = network.W_E[contexts] + network.W_pos[np.arange(contexts.shape[1])]
    last = x[:, -1, :]
    forms = np.einsum("hde,hfe->hdf", network.W_Q, network.W_K)
    scores = np.einsum("td,hdf,tsf->ths", last, forms, x)
    attention = np.exp(scores - scores.max(axis=2, keepdims=True))
    attention /= attention.sum(axis=2, keepdims=True)
    read = np.einsum("ths,tsd->thd", attention, x)
    maps = np.einsum("hde,hef->hdf", network.W_V, network.W_O)
    return (last + np.einsum("thd,hdf->tf", read, maps)) @ network.W_U


@contextmanager
def restored_precision() -> Iterator[None]:
    """Settings that a test makes on purpose, put back."""
    cuda, mkldnn = torch.backends.cuda.matmul, torch.backends.mkldnn.matmul
    try:
        yield
    finally:
        torch.set_float32_matmul_precision("highest")
        cuda.fp32_precision, mkldnn.fp32_precision = "none", "none"


def precision() -> tuple[str, str]:
    return torch.backends.cuda.matmul.fp32_precision, torch.backends.mkldnn.matmul.fp32_precision


@given(seed=st.integers(0, 2**32 - 1), length=st.integers(1, 4), scale=st.sampled_from([0.1, 1.0, 10.0]))
def test_the_logits_are_those_of_the_definition(seed: int, length: int, scale: float) -> None:
    generator = np.random.default_rng(seed)
    network = random_network(generator, scale=scale)
    contexts = generator.integers(0, 7, (5, length))
    with torch.inference_mode():
        logits = Replica.from_model(network, dtype=torch.float64)(torch.tensor(contexts)).numpy()
    np.testing.assert_allclose(logits, reference_logits(network, contexts), rtol=1e-11, atol=1e-11)


def test_the_parameters_have_the_names_and_values_of_the_tensors() -> None:
    network = random_network(np.random.default_rng(0))
    parameters = dict(Replica.from_model(network, dtype=torch.float64).named_parameters())
    assert tuple(parameters) == tuple(network.tensors())
    for name, tensor in network.tensors().items():
        assert np.array_equal(parameters[name].detach().numpy(), tensor)


@pytest.mark.parametrize(
    ("dtype", "rounded"),
    [(torch.float32, lambda x: x.astype(np.float32).astype(np.float64)), (torch.bfloat16, None)],
)
def test_the_weights_are_rounded_to_nearest_once(dtype: torch.dtype, rounded) -> None:
    network = random_network(np.random.default_rng(1))
    for name, parameter in Replica.from_model(network, dtype=dtype).named_parameters():
        tensor, actual = network.tensors()[name], parameter.detach().double().numpy()
        assert parameter.dtype == dtype
        if rounded is not None:
            assert np.array_equal(actual, rounded(tensor))
        else:
            assert (np.abs(actual - tensor) <= 2.0**-8 * np.abs(tensor)).all()


def test_a_state_dict_of_another_replica_is_taken() -> None:
    first, second = (random_network(np.random.default_rng(seed)) for seed in (0, 1))
    replica = Replica.from_model(first, dtype=torch.float64)
    replica.load_state_dict(Replica.from_model(second, dtype=torch.float64).state_dict())
    contexts = np.array([[0, 1, 2, 3]])
    np.testing.assert_allclose(replica(torch.tensor(contexts)).detach().numpy(), reference_logits(second, contexts))


def test_the_same_tokens_give_the_same_bits() -> None:
    network = random_network(np.random.default_rng(2))
    tokens = torch.tensor(np.random.default_rng(3).integers(0, 7, (50, 4)))
    replica = Replica.from_model(network, dtype=torch.float32)
    assert torch.equal(replica(tokens), replica(tokens))


def test_gradients_reach_every_parameter() -> None:
    network = random_network(np.random.default_rng(4))
    same = np.tile(network.attention.W_V[:1], (5, 1, 1))
    for W_V in (network.attention.W_V, same):
        replica = Replica.from_model(dana_network(**dana_tensors(network) | {"W_V": W_V}), dtype=torch.float64)
        replica(torch.tensor([[0, 1, 2, 3], [4, 5, 6, 0]])).square().sum().backward()
        gradients = {name: parameter.grad for name, parameter in replica.named_parameters()}
        assert all(grad is not None and bool((grad != 0).any()) for grad in gradients.values())
        of_values = gradients["blocks.0.attn.W_V"]
        assert of_values is not None and bool((of_values != 0).flatten(1).any(dim=1).all())


def test_scores_beyond_the_range_of_the_exponential_do_not_overflow() -> None:
    network = random_network(np.random.default_rng(5), scale=1e6)
    logits = Replica.from_model(network, dtype=torch.float32)(torch.tensor([[0, 1, 2, 3]]))
    assert torch.isfinite(logits).all()


def test_no_contexts_have_no_logits() -> None:
    replica = Replica.from_model(random_network(np.random.default_rng(6)), dtype=torch.float32)
    assert replica(torch.zeros((0, 4), dtype=torch.int64)).shape == (0, 9)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (torch.zeros((2, 5), dtype=torch.int64), "contexts of 5 tokens, expected 1 .. 4"),
        (torch.zeros((2, 0), dtype=torch.int64), "contexts of 0 tokens, expected 1 .. 4"),
        (torch.zeros(4, dtype=torch.int64), "expected integers"),
        (torch.zeros((2, 4)), "torch.float32"),
        (torch.zeros((2, 4), dtype=torch.bool), "torch.bool"),
        (torch.full((2, 4), 7), "7 .. 7, expected 0 .. 6"),
        (torch.full((2, 4), -1), "-1 .. -1, expected 0 .. 6"),
    ],
)
def test_tokens_that_the_network_cannot_read_are_refused(tokens: torch.Tensor, message: str) -> None:
    replica = Replica.from_model(random_network(np.random.default_rng(7)), dtype=torch.float32)
    with pytest.raises(InputError, match=message):
        replica(tokens)


def test_a_type_that_is_not_floating_point_is_refused() -> None:
    with pytest.raises(InputError, match="int64"):
        Replica.from_model(random_network(np.random.default_rng(8)), dtype=torch.int64)


@pytest.mark.parametrize("older", ["highest", "high", "medium"])
def test_full_precision_overrides_the_older_settings_and_puts_them_back(older: str) -> None:
    with restored_precision():
        torch.set_float32_matmul_precision(older)
        before = precision()
        with full_precision():
            assert precision() == ("ieee", "ieee")
            assert torch.get_float32_matmul_precision() == "highest"
        assert precision() == before
        assert torch.get_float32_matmul_precision() == older


@pytest.mark.parametrize(("cuda", "mkldnn"), [("tf32", "none"), ("none", "bf16"), ("tf32", "bf16"), ("ieee", "tf32")])
def test_full_precision_overrides_the_newer_settings_and_puts_them_back(cuda: str, mkldnn: str) -> None:
    with restored_precision():
        torch.backends.cuda.matmul.fp32_precision = cuda
        torch.backends.mkldnn.matmul.fp32_precision = mkldnn
        with full_precision():
            assert precision() == ("ieee", "ieee")
        assert precision() == (cuda, mkldnn)


def test_full_precision_puts_the_settings_back_after_an_error() -> None:
    with restored_precision():
        torch.set_float32_matmul_precision("medium")
        before = precision()
        with pytest.raises(RuntimeError, match="inside"), full_precision():
            raise RuntimeError("inside")
        assert precision() == before


def test_the_logits_do_not_depend_on_reduced_precision_or_autocasting_around_them() -> None:
    network = random_network(np.random.default_rng(9))
    tokens = torch.tensor(np.random.default_rng(10).integers(0, 7, (64, 4)))
    replica = Replica.from_model(network, dtype=torch.float32)
    with torch.inference_mode(), restored_precision():
        expected = replica(tokens)
        torch.set_float32_matmul_precision("medium")
        with torch.autocast("cpu", dtype=torch.bfloat16):
            actual = replica(tokens)
    assert actual.dtype == torch.float32
    assert torch.equal(actual, expected)


def layer_outputs(layer, task, dtype=torch.float64):
    with torch.inference_mode():
        return Replica.from_model(layer, dtype=dtype)(
            torch.tensor(task.contexts).to(dtype), torch.tensor(task.queries).to(dtype)
        )


@given(layers_and_tasks())
def test_the_outputs_of_a_layer_are_those_of_the_definition(case) -> None:
    layer, task = case
    exact = np.array(truth(layer, task).outputs, dtype=float)
    assert np.allclose(layer_outputs(layer, task).numpy(), exact, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_outputs_have_the_type_of_the_parameters(dtype: torch.dtype) -> None:
    layer, task = random_layer(), random_layer_task(shared=False)
    outputs = layer_outputs(layer, task, dtype)
    assert outputs.dtype == dtype
    assert torch.allclose(outputs.double(), layer_outputs(layer, task), atol=0.3)


def test_vectors_of_other_types_and_shapes_are_refused() -> None:
    replica = Replica.from_model(random_layer())
    contexts, queries = torch.ones(4, 3, 3), torch.ones(4, 3)
    assert replica(contexts, queries).shape == replica(contexts[:1], queries).shape
    for bad in (
        (contexts.double(), queries),
        (contexts, queries.double()),
        (contexts[:2], queries),
        (contexts[:, :0], queries),
        (contexts[..., :2], queries),
        (contexts[0], queries),
        (contexts, queries[:, :2]),
        (contexts, queries[0]),
        (contexts, None),
    ):
        with pytest.raises(InputError, match=r"inputs is|queries (is|are)"):
            replica(*bad)
    with pytest.raises(InputError, match="queries are given"):
        Replica.from_model(random_network(np.random.default_rng(0)))(torch.zeros((4, 3), dtype=torch.int64), queries)


def test_a_rational_model_is_refused() -> None:
    model, _ = rational_case(4)
    with pytest.raises(InputError, match="rational"):
        Replica.from_model(model)


def test_a_stack_reads_no_later_position_and_normalizes_small_rows_with_its_epsilon() -> None:
    normal = np.random.default_rng(15).standard_normal
    heads = {"W_Q": (2, 4, 3), "W_K": (2, 4, 3), "W_V": (2, 4, 3), "W_O": (2, 3, 4)}
    norm = Normalization("layer", w=np.ones(4), b=np.zeros(4), epsilon=2.0**-10)

    def attention() -> Attention:
        return Attention(**{name: normal(shape) for name, shape in heads.items()}, norm=norm, attends="causal")

    model = Model(
        blocks=(attention(), attention(), norm),
        W_U=normal((4, 5)),
        W_E=normal((6, 4)) / 64,
        W_pos=normal((3, 4)) / 64,
    )
    contexts = np.random.default_rng(16).integers(0, 6, (9, 3))
    balls = logits_in_balls(model, contexts, 128)
    exact = np.array([[float(z.mid()) for z in row] for row in balls.table()])
    with torch.inference_mode():
        logits = Replica.from_model(model, dtype=torch.float64)(torch.tensor(contexts)).numpy()
    np.testing.assert_allclose(logits, exact, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("dense", [0, 1, 10**6])
@pytest.mark.parametrize("read", ["tokens", "vectors", "shared vectors"])
@pytest.mark.parametrize(("entries", "together"), [(1, 3), (2**22, 2), (2**22, 512)])
def test_whatever_is_computed_once_or_for_each_context_or_head_by_head_gives_the_same(
    monkeypatch: pytest.MonkeyPatch, dense: int, read: str, entries: int, together: int
) -> None:
    monkeypatch.setattr("verify.torch.module._DENSE", dense)
    monkeypatch.setattr("verify.torch.module._PART_ENTRIES", {"cpu": entries})
    monkeypatch.setattr("verify.torch.module._PART_CONTEXTS", {"cpu": together})
    if read != "tokens":
        layer, task = random_layer(), random_layer_task(shared=read == "shared vectors")
        exact = np.array(truth(layer, task).outputs, dtype=float)
        np.testing.assert_allclose(layer_outputs(layer, task).numpy(), exact, rtol=1e-11, atol=1e-11)
        return
    network = random_network(np.random.default_rng(13))
    contexts = np.random.default_rng(14).integers(0, 7, (30, 4))
    for W_V in (network.attention.W_V, np.tile(network.attention.W_V[2:3], (5, 1, 1))):
        model = dana_network(**dana_tensors(network) | {"W_V": W_V})
        with torch.inference_mode():
            logits = Replica.from_model(model, dtype=torch.float64)(torch.tensor(contexts)).numpy()
        np.testing.assert_allclose(logits, reference_logits(model, contexts), rtol=1e-11, atol=1e-11)


def test_heads_with_the_same_maps_of_values_but_other_shifts_have_other_values() -> None:
    normal = np.random.default_rng(17).standard_normal
    W_Q, W_K, W_O = normal((3, 4, 2)), normal((3, 4, 2)), normal((3, 2, 4))
    W_V, b_V = np.tile(normal((1, 4, 2)), (3, 1, 1)), normal((3, 2))
    block = Attention(W_Q=W_Q, W_K=W_K, W_V=W_V, W_O=W_O, b_V=b_V)
    model = Model(blocks=(block,), W_U=normal((4, 5)), W_E=normal((6, 4)), W_pos=normal((3, 4)))
    contexts = np.random.default_rng(18).integers(0, 6, (9, 3))
    exact = [[float(z.mid()) for z in row] for row in logits_in_balls(model, contexts, 128).table()]
    with torch.inference_mode():
        logits = Replica.from_model(model, dtype=torch.float64)(torch.tensor(contexts)).numpy()
    np.testing.assert_allclose(logits, exact, rtol=1e-11, atol=1e-11)


@given(st.integers(1, 4), st.integers(0, 5), st.integers(1, 4), st.integers(1, 6), st.integers(1, 3), st.integers(0, 9))
def test_weighted_sums_of_rows_are_those_of_the_definition(heads, count, length, distinct, size, seed) -> None:
    rng = np.random.default_rng(seed)
    weights, rows = rng.integers(-9, 9, (heads, count, length)), rng.integers(-9, 9, (heads, distinct, size))
    where = rng.integers(0, distinct, (count, length))
    expected = np.einsum("hbs,hbse->bhe", weights, rows[:, where]).reshape(count, heads * size)
    for dtype in (torch.float32, torch.float64):
        given_tensors = torch.tensor(weights).to(dtype), torch.tensor(where), torch.tensor(rows).to(dtype)
        assert bag_sums(*given_tensors).tolist() == expected.tolist()


def test_the_state_is_what_the_file_of_the_model_holds(tmp_path) -> None:
    model, contexts = case_of("transformer", of_vectors=False)
    model.save(tmp_path / "model.safetensors")
    replica = Replica.from_model(model, dtype=torch.float64)
    expected = replica(torch.tensor(contexts))
    for parameter in replica.parameters():
        torch.nn.init.zeros_(parameter)
    replica.load_state_dict(load_file(tmp_path / "model.safetensors"))
    assert torch.equal(replica(torch.tensor(contexts)), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("precision_around", ["highest", "medium"])
def test_the_logits_on_cuda_are_those_of_the_definition(precision_around: str) -> None:
    network = random_network(np.random.default_rng(11))
    contexts = np.random.default_rng(12).integers(0, 7, (64, 4))
    expected = reference_logits(network, contexts)
    with torch.inference_mode(), restored_precision():
        torch.set_float32_matmul_precision(precision_around)
        for dtype, tolerance in ((torch.float64, 1e-11), (torch.float32, 1e-4)):
            logits = Replica.from_model(network, dtype=dtype, device="cuda")(torch.tensor(contexts, device="cuda"))
            np.testing.assert_allclose(logits.double().cpu().numpy(), expected, rtol=tolerance, atol=tolerance)
