"""Runs in torch and in other hosts that do all they can: what is proved without rounding is what they compute."""

from typing import Any

import numpy as np
import pytest

from byheart.hosts.exported.huggingface import HOST as HUGGINGFACE
from byheart.hosts.exported.onnx_graph import HOST as ONNX
from byheart.hosts.exported.onnx_graph import NATIVE_FILE, PLAIN_FILE, run_graph
from constructions.memories.probes.probe_memory import probe_memory
from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from tests.verify.runs.integer_models import hashed_windows, judged, known, sum_modulo
from verify.runs.formats import FLOAT32
from verify.runs.in_runs import InRuns

torch = pytest.importorskip("torch")
functional = torch.nn.functional


def probes() -> tuple[Model, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    contexts = np.unique(rng.integers(0, 9, (150, 5)), axis=0)
    labels = rng.integers(0, 9, len(contexts))
    task = array_task(contexts, next_tokens=labels, vocabulary=9, target="labels")
    return probe_memory(task).model, contexts, labels


MODELS = {"sum": sum_modulo(19), "hashed": hashed_windows(), "probes": probes()}


class Plain(torch.nn.Module):
    """A model in the calls that others use: `addmm` with the shift or the skip row, layers, flash attention."""

    def __init__(self, model: Model, *, kernel: str) -> None:
        super().__init__()
        self.model, self.kernel, self.one_by_one = model, kernel, False
        self.tensors = {name: torch.tensor(array, dtype=torch.float32) for name, array in model.tensors().items()}

    def product(self, x: Any, matrix: np.ndarray, shift: np.ndarray | None, skip: Any = None) -> Any:
        w = torch.tensor(matrix, dtype=torch.float32)
        b = torch.zeros(matrix.shape[1]) if shift is None else torch.tensor(shift, dtype=torch.float32)
        flat = x.reshape(-1, x.shape[-1])
        if self.kernel == "addmm":  # the skip row is what the product is added to
            start = b.expand(len(flat), -1) if skip is None else skip.reshape(-1, skip.shape[-1]) + b
            step = 1 if self.one_by_one else max(1, len(flat))
            parts = (slice(i, i + step) for i in range(0, len(flat), step))
            y = torch.cat([torch.addmm(start[part], flat[part], w) for part in parts])
        elif self.kernel == "einsum":
            y = torch.einsum("bi,ij->bj", flat, w) + b
            y = y if skip is None else y + skip.reshape(y.shape)
        else:
            y = functional.linear(flat, w.T.contiguous(), b)
            y = y if skip is None else y + skip.reshape(y.shape)
        return y.reshape(*x.shape[:-1], matrix.shape[1])

    def forward(self, tokens: Any) -> Any:
        model = self.model
        x = self.tensors["embed.W_E"][tokens] + self.tensors["pos_embed.W_pos"][: tokens.shape[1]]
        for block in model.blocks:
            if isinstance(block, FeedForward):
                hidden = torch.relu(self.product(x, block.W_in, block.b_in))
                x = self.product(hidden, block.W_out, block.b_out, x if block.skip else None)
                continue
            assert isinstance(block, Attention)
            asks = x[:, -1:] if block.attends == "last" else x
            heads = []
            for h in range(block.n_heads):
                maps = ((asks, block.W_Q, block.b_Q), (x, block.W_K, block.b_K), (x, block.W_V, block.b_V))
                q, k, v = (self.product(rows, W[h], None if b is None else b[h]) for rows, W, b in maps)
                heads.append(
                    functional.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None], scale=1.0)[:, 0]
                )
            joined = torch.cat(heads, -1)
            x = self.product(joined, block.W_O.reshape(-1, block.d_out), block.b_O, asks if block.skip else None)
        return self.product(x[:, -1], model.W_U, model.b_U)


def proved(name: str) -> tuple[Model, np.ndarray, np.ndarray]:
    """A model, contexts, and the logits of every run of it in float32."""
    model, contexts, labels = MODELS[name]
    logits = judged(model, contexts, InRuns(FLOAT32))
    assert known(logits) == len(contexts) and (logits.midpoint.argmax(1) == labels).all()
    return model, contexts, logits.midpoint


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kernel", ["addmm", "linear", "einsum"])
def test_every_kernel_and_batch_of_torch_computes_what_is_proved(name: str, kernel: str) -> None:
    model, contexts, logits = proved(name)
    tokens = torch.tensor(contexts)
    run = Plain(model, kernel=kernel)
    assert np.array_equal(run(tokens).numpy(), logits)
    assert np.array_equal(run(tokens[:1]).numpy(), logits[:1])
    if kernel == "addmm":
        run.one_by_one = True
        assert np.array_equal(run(tokens[:40]).numpy(), logits[:40])


def test_flushing_subnormal_numbers_changes_nothing() -> None:
    model, contexts, logits = proved("hashed")
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor flushes nothing")
    try:
        assert np.array_equal(Plain(model, kernel="linear")(torch.tensor(contexts)).numpy(), logits)
    finally:
        torch.set_flush_denormal(False)


def test_autocast_and_inputs_in_tf32_are_outside() -> None:
    model, contexts, labels = sum_modulo(61)
    run, tokens = Plain(model, kernel="linear"), torch.tensor(contexts)
    assert (run(tokens).argmax(1).numpy() == labels).all()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (run(tokens).argmax(1).numpy() == labels).mean() < 0.9
    # 11 bits of each factor, as tensor cores take them where TF32 is allowed.
    large, pairs, sums = sum_modulo(4001, examples=200)
    run = Plain(large, kernel="linear")
    assert (run(torch.tensor(pairs)).argmax(1).numpy() == sums).all()
    original = run.product

    def shortened(x: Any, matrix: np.ndarray, shift: np.ndarray | None, skip: Any = None) -> Any:
        significand, exponent = torch.frexp(x)
        return original(torch.ldexp(torch.round(significand * 2**11) / 2**11, exponent), matrix, shift, skip)

    run.product = shortened  # type: ignore[method-assign]
    assert (run(torch.tensor(pairs)).argmax(1).numpy() == sums).mean() < 0.9


def test_the_model_of_transformers_computes_what_is_proved(tmp_path) -> None:
    pytest.importorskip("transformers", reason="needs `pip install 'byheart[huggingface]'`")
    model, contexts, logits = proved("probes")
    task = array_task(contexts, next_tokens=logits.argmax(1), vocabulary=model.d_vocab, target="labels")
    HUGGINGFACE.write(HUGGINGFACE.convert(model), tmp_path, "float32")
    for run in HUGGINGFACE.run(tmp_path, task, "float32").values():
        assert np.array_equal(run, logits)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_compiled_graphs_compute_what_is_proved() -> None:
    model, contexts, logits = proved("sum")
    compiled = torch.compile(Plain(model, kernel="addmm"))
    assert np.array_equal(compiled(torch.tensor(contexts)).numpy(), logits)


@pytest.mark.parametrize("file", [PLAIN_FILE, NATIVE_FILE])
@pytest.mark.parametrize("name", ["sum", "probes"])
def test_onnxruntime_computes_what_is_proved(name: str, file: str, tmp_path) -> None:
    pytest.importorskip("onnx", reason="needs `pip install 'byheart[onnx]'`")
    pytest.importorskip("onnxruntime", reason="needs `pip install 'byheart[onnx]'`")
    model, contexts, logits = proved(name)
    task = array_task(contexts, next_tokens=logits.argmax(1), vocabulary=model.d_vocab, target="labels")
    ONNX.write(ONNX.convert(model), tmp_path, "float32")
    assert np.array_equal(run_graph(tmp_path / file, task, "float32"), logits)
