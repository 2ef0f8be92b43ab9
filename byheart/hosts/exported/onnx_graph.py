"""ONNX: the model as a graph, twice; of plain operators, and with the operator `Attention` of opset 23.

The graphs are written node by node, with the weights under the names of byheart's files, and need no torch. They give
the logits at the last position of whole contexts: onnxruntime refuses any other length. Attributes of nodes are float32
whatever the weights are, and onnxruntime makes such an attribute of a factor beside a matrix product; so scores are
unscaled, and what scales them is in the queries.

Page: docs/hosts.md
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from byheart.hosts.conversion import with_score_root
from byheart.hosts.host import Host, last_logits, tokens_of
from byheart.hosts.number_types import stored_bytes
from constructions.errors import InputError
from constructions.formats.files import write_atomically
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model, block_names
from constructions.numeric.arrays import Float64Array
from constructions.tasks.any_task import ListedTask
from constructions.tasks.vectors import Vectors

PLAIN_FILE, NATIVE_FILE = "model.onnx", "model-attention.onnx"
_OPSETS = {PLAIN_FILE: 18, NATIVE_FILE: 23}
_IR_VERSION = 10
_NUMPY = {"float64": np.float64, "float32": np.float32, "float16": np.float16}


class _Graph:
    """An ONNX graph built node by node."""

    def __init__(self, dtype: str, *, native: bool) -> None:
        import onnx  # pyright: ignore[reportMissingImports]

        self.onnx, self.native, self.dtype = onnx, native, dtype
        self.kind = {"float64": "DOUBLE", "float32": "FLOAT", "float16": "FLOAT16"}[dtype]
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node, and return the name of its output."""
        name = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def weights(self, name: str, tensor: Float64Array) -> str:
        kind = getattr(self.onnx.TensorProto, self.kind)
        data = stored_bytes(tensor, self.dtype)
        self.constants[name] = self.onnx.helper.make_tensor(name, kind, tensor.shape, data, raw=True)
        return name

    def number(self, value: float) -> str:
        """Return a scalar of the type of the weights, rounded to it."""
        return self.weights(f"number {value!r}", np.asarray(_NUMPY[self.dtype](value), dtype=np.float64))

    def integers(self, *values: int) -> str:
        return self._integers(f"integers {values}", (len(values),), values)

    def integer(self, value: int) -> str:
        return self._integers(f"integer {value}", (), (value,))

    def _integers(self, name: str, shape: tuple[int, ...], values: tuple[int, ...]) -> str:
        data = np.array(values, dtype="<i8").tobytes()
        self.constants[name] = self.onnx.helper.make_tensor(name, self.onnx.TensorProto.INT64, shape, data, raw=True)
        return name

    def rows(self, stream: str, start: int, stop: str) -> str:
        """Return some rows of the stream `[B, S, d]`; `stop` is the name of a one-element list."""
        return self("Slice", stream, self.integers(start), stop, self.integers(1))


_TO_THE_END = 2**62


def _graph(model: Model, dtype: str, *, native: bool) -> Any:
    add = _Graph(dtype, native=native)
    for name, tensor in model.tensors().items():
        add.weights(name, tensor)
    if model.reads_tokens:
        embedded = add("Gather", "embed.W_E", "tokens")
        length = add("Shape", "tokens", start=1, end=2)
        positions = add("Slice", "pos_embed.W_pos", add.integers(0), length, add.integers(0))
        stream, query = add("Add", embedded, positions), None
    else:
        stream, query = "contexts", add("Unsqueeze", "queries", add.integers(1))
    kinds = [block.options() for block in model.blocks]
    for name, norm_name, block in zip(*block_names(kinds), model.blocks, strict=True):
        stream = _block(add, name, norm_name, block, stream, query)
    last = add("Squeeze", add.rows(stream, -1, add.integers(_TO_THE_END)), add.integers(1))
    logits = add("MatMul", last, "unembed.W_U")
    if model.b_U is not None:
        logits = add("Add", logits, "unembed.b_U")
    add("Identity", logits)
    add.nodes[-1].output[0] = "logits"
    return _model(add, model)


def _model(add: _Graph, model: Model) -> Any:
    helper, types = add.onnx.helper, add.onnx.TensorProto
    number = getattr(types, add.kind)
    if model.reads_tokens:
        inputs = [helper.make_tensor_value_info("tokens", types.INT64, ["batch", model.n_ctx])]
    else:
        inputs = [
            helper.make_tensor_value_info("contexts", number, ["batch", "n", model.d_model]),
            helper.make_tensor_value_info("queries", number, ["batch", model.d_model]),
        ]
    outputs = [helper.make_tensor_value_info("logits", number, ["batch", model.d_vocab_out])]
    graph = helper.make_graph(add.nodes, "byheart", inputs, outputs, initializer=list(add.constants.values()))
    opset = _OPSETS[NATIVE_FILE if add.native else PLAIN_FILE]
    onnx_model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=_IR_VERSION)
    add.onnx.checker.check_model(onnx_model, full_check=True)
    return onnx_model


def _block(add: _Graph, name: str, norm_name: str, block: Any, stream: str, query: str | None) -> str:
    if isinstance(block, Normalization):
        return _normalized(add, name, block, stream)
    read = stream if block.norm is None else _normalized(add, norm_name, block.norm, stream)
    if isinstance(block, FeedForward):
        inner = _affine(add, read, f"{name}.W_in", f"{name}.b_in")
        written = _affine(add, _activated(add, block.activation, inner), f"{name}.W_out", f"{name}.b_out")
    else:
        if block.attends == "last":
            stream = add.rows(stream, -1, add.integers(_TO_THE_END))
        last = block.attends == "last" and block.queries == "stream"
        asking = add.rows(read, -1, add.integers(_TO_THE_END)) if last else read
        if block.queries == "task":
            assert query is not None
            asking = query
        written = _attention(add, name, block, asking, read)
    return add("Add", stream, written) if block.skip else written


def _attention(add: _Graph, name: str, block: Attention, asking: str, read: str) -> str:
    """Return rows `[B, 1 or S, d_out]`; heads are the second axis on the way."""

    def mapped(rows: str, letter: str) -> str:
        product = add("MatMul", add("Unsqueeze", rows, add.integers(1)), f"{name}.W_{letter}")
        shift = f"{name}.b_{letter}"
        if shift not in add.constants:
            return product
        return add("Add", product, add("Unsqueeze", shift, add.integers(1)))

    q, k, v = mapped(asking, "Q"), mapped(read, "K"), mapped(read, "V")
    if add.native:
        causal = int(block.attends == "causal")
        mixed = add("Attention", q, k, v, scale=1.0, is_causal=causal)
    else:
        scores = add("MatMul", q, add("Transpose", k, perm=[0, 1, 3, 2]))
        if block.attends == "causal":
            size = add("Shape", scores, start=2)
            ones = add("Expand", add.number(1.0), size)
            later = add("Greater", add("Trilu", ones, add.integer(1), upper=1), add.number(0.0))
            scores = add("Where", later, add.number(-np.inf), scores)
        mixed = add("MatMul", add("Softmax", scores, axis=-1), v)
    side_by_side = add("Reshape", add("Transpose", mixed, perm=[0, 2, 1, 3]), add.integers(0, 0, -1))
    heads, d_head, d_out = block.W_O.shape
    output = add("Reshape", f"{name}.W_O", add.integers(heads * d_head, d_out))
    product = add("MatMul", side_by_side, output)
    return add("Add", product, f"{name}.b_O") if block.b_O is not None else product


def _affine(add: _Graph, rows: str, matrix: str, shift: str) -> str:
    product = add("MatMul", rows, matrix)
    return add("Add", product, shift) if shift in add.constants else product


def _activated(add: _Graph, activation: str, u: str) -> str:
    if activation == "relu":
        return add("Relu", u)
    if activation == "silu":
        return add("Mul", u, add("Sigmoid", u))
    if activation == "gelu":
        inner = add("Erf", add("Div", u, add.number(2.0**0.5)))
    else:
        cube = add("Mul", add("Mul", u, u), u)
        inner = add("Add", u, add("Mul", cube, add.number(0.044715)))
        inner = add("Tanh", add("Mul", inner, add.number((2.0 / np.pi) ** 0.5)))
    return add("Mul", add("Mul", u, add.number(0.5)), add("Add", inner, add.number(1.0)))


def _normalized(add: _Graph, name: str, norm: Normalization, rows: str) -> str:
    axis = add.integers(-1)
    if norm.kind == "layer":
        rows = add("Sub", rows, add("ReduceMean", rows, axis))
    mean = add("ReduceMean", add("Mul", rows, rows), axis)
    root = add("Sqrt", add("Add", mean, add.number(norm.epsilon)))
    rows = add("Mul", add("Div", rows, root), f"{name}.w")
    return add("Add", rows, f"{name}.b") if norm.b is not None else rows


def _convert(model: Model) -> Model:
    blocks = [_with_a_head(block) if isinstance(block, Attention) else block for block in model.blocks]
    return with_score_root(replace(model, blocks=tuple(blocks)), 1)


def _with_a_head(block: Attention) -> Attention:
    """Return the same attention, with a head of zeros if it has none, because the operator `Attention` needs one."""
    if block.n_heads:
        return block
    into, out = np.zeros((1, block.d_model, 1)), np.zeros((1, 1, block.d_out))
    return replace(block, W_Q=into, W_K=into, W_V=into, W_O=out, b_Q=None, b_K=None, b_V=None)


def _write(model: Model, folder: Path, dtype: str) -> None:
    if dtype == "float64" and any(isinstance(b, FeedForward) and b.activation == "gelu" for b in model.blocks):
        raise InputError("the model", "has neurons of the activation 'gelu', whose Erf onnxruntime lacks in float64")
    for file, native in ((PLAIN_FILE, False), (NATIVE_FILE, True)):
        write_atomically(folder / file, _graph(model, dtype, native=native).SerializeToString())


def _run(folder: Path, task: ListedTask, dtype: str) -> dict[str, Float64Array]:
    return {file: run_graph(folder / file, task, dtype) for file in (PLAIN_FILE, NATIVE_FILE)}


def run_graph(path: Path, task: ListedTask, dtype: str) -> Float64Array:
    """Return the logits that onnxruntime computes on the CPU.

    Args:
        path: A graph.
        task: The contexts.
        dtype: The type of the weights.

    Returns:
        Array `[T, d_vocab_out]`.
    """
    import onnxruntime  # pyright: ignore[reportMissingImports]

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    if isinstance(task.inputs, Vectors):
        arrays = {"contexts": task.inputs.contexts_of_each, "queries": task.inputs.queries}
        inputs = {name: array.astype(_NUMPY[dtype]) for name, array in arrays.items()}
        return np.asarray(session.run(["logits"], inputs)[0], dtype=np.float64)

    def forward(tokens: Any) -> Float64Array:
        return np.asarray(session.run(["logits"], {"tokens": tokens})[0], dtype=np.float64)

    return last_logits(forward, tokens_of(task), entries=2**16)


HOST = Host(
    name="onnx",
    packages=("onnx", "onnxruntime"),
    extra="onnx",
    dtypes=("float64", "float32", "float16"),
    convert=_convert,
    write=_write,
    run=_run,
    written_by_package=True,
    usage="""\
import json, numpy, onnxruntime, tokenizers

tokenizer = tokenizers.Tokenizer.from_file(FOLDER + "/tokenizer.json")
session = onnxruntime.InferenceSession(FOLDER + "/model.onnx")
answers = ANSWERS
(logits,) = session.run(None, {"tokens": numpy.array([tokenizer.encode(TEXT).ids])})
print(answers[logits[0].argmax()])""",
    usage_of_vectors="""\
import onnxruntime
from safetensors.numpy import load_file

task = load_file(FOLDER + "/task.safetensors")
session = onnxruntime.InferenceSession(FOLDER + "/model.onnx")
kind = {"tensor(double)": "float64", "tensor(float)": "float32", "tensor(float16)": "float16"}
kind = kind[session.get_inputs()[0].type]
(outputs,) = session.run(None, {name: task[name].astype(kind)[:1] for name in ("contexts", "queries")})
print(outputs[0], task["labels"][0])""",
)
