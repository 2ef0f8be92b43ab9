"""`torch.nn.MultiheadAttention`, with an embedding and a readout around it.

Its heads share `embed_dim` among them and their scores are divided by the root of their width, so stream and heads are
padded with zeros; and the factor of the scores goes into the queries, exactly where the padding for that is affordable.

Page: docs/hosts.md
"""

import math
from pathlib import Path

import numpy as np

from byheart.hosts.conversion import (
    FEW_ENTRIES,
    exact_head_width,
    in_equal_layers,
    with_residual_stream,
    with_score_root,
)
from byheart.hosts.host import Host, loaded_module, tokens_of, torch_logits, write_folder
from constructions.errors import InputError, ResourceError
from constructions.model.blocks import Attention
from constructions.model.model import Model
from constructions.model.shapes import is_mahdavi_layer
from constructions.numeric.arrays import Float64Array
from constructions.tasks.any_task import ListedTask
from constructions.tasks.vectors import Vectors

_LOADER = "load_attention_layer.py"
_AFFORDABLE, _LARGEST = 2**27, 2**28  # entries of one layer: 1 and 2 GiB in float64


def _convert(model: Model) -> Model:
    if is_mahdavi_layer(model):
        block = model.attention
        heads, dims = block.n_heads, max(block.d_model, block.d_out)
        width = _head_width(model, heads, max(block.d_qk, block.d_head), dims)
        return with_score_root(model, width)
    others = sorted({block.options()["kind"] for block in model.blocks if not isinstance(block, Attention)})
    if others or any(isinstance(block, Attention) and block.norm is not None for block in model.blocks):
        raise InputError(
            "attention-layer",
            f"holds only attention blocks without normalization; the model also has {others or 'norms'} too",
        )
    model = in_equal_layers(with_residual_stream(model))
    first = model.blocks[0]
    assert isinstance(first, Attention)
    width = _head_width(model, first.n_heads, first.d_head, model.d_model)
    model = with_residual_stream(model, extra=first.n_heads * width - model.d_model)
    return with_score_root(in_equal_layers(model, d_head=width), width)


def _head_width(model: Model, heads: int, least: int, d_model: int) -> int:
    """Return a head width that scales exactly, or else the least one."""
    least = max(least, -(-d_model // heads))
    exact = exact_head_width(model, least, most=math.isqrt(FEW_ENTRIES // 4) // heads)
    for width, most in ((exact, _AFFORDABLE), (least, _LARGEST)):
        if 4 * (heads * width) ** 2 <= most:
            return width
    raise ResourceError(
        f"attention-layer needs 4 (H e)^2 = {4 * (heads * least) ** 2} entries for H = {heads} heads of width "
        f"e = {least}, because its maps are square; the limit is {_LARGEST}"
    )


def _write(model: Model, folder: Path, dtype: str) -> None:
    blocks = [block for block in model.blocks if isinstance(block, Attention)]
    heads = blocks[0].n_heads
    width = blocks[0].score_root
    dims = heads * width
    tensors: dict[str, Float64Array] = {}
    for place, block in enumerate(blocks):
        maps = np.zeros((3, heads, width, dims))
        shifts = np.zeros((3, heads, width))
        for part, letter in enumerate("QKV"):
            tensor = getattr(block, f"W_{letter}")
            maps[part, :, : tensor.shape[2], : block.d_model] = tensor.transpose(0, 2, 1)
            shift = getattr(block, f"b_{letter}")
            if shift is not None:
                shifts[part, :, : shift.shape[1]] = shift
        output, output_shift = np.zeros((dims, heads, width)), np.zeros(dims)
        output[: block.d_out, :, : block.d_head] = block.W_O.transpose(2, 0, 1)
        if block.b_O is not None:
            output_shift[: block.d_out] = block.b_O
        tensors |= {
            f"attention.{place}.in_proj_weight": maps.reshape(3 * dims, dims),
            f"attention.{place}.in_proj_bias": shifts.ravel(),
            f"attention.{place}.out_proj.weight": output.reshape(dims, dims),
            f"attention.{place}.out_proj.bias": output_shift,
        }
    if model.reads_tokens:
        tensors |= {"embed.weight": model.W_E, "pos_embed.weight": model.W_pos}
    readout = np.zeros((model.d_vocab_out, dims))
    readout[:, : model.W_U.shape[0]] = model.W_U.T
    tensors |= {"unembed.weight": readout}
    tensors |= {"unembed.bias": np.zeros(model.d_vocab_out) if model.b_U is None else model.b_U}
    config = {
        "reads": "tokens" if model.reads_tokens else "vectors",
        "embed_dim": dims,
        "num_heads": heads,
        "layers": len(blocks),
        "vocabulary": model.d_vocab,
        "positions": model.n_ctx,
        "outputs": model.d_vocab_out,
        "causal": blocks[0].attends == "causal",
        "dtype": dtype,
    }
    write_folder(folder, tensors, dtype=dtype, config=config, loader=_LOADER)


def _run(folder: Path, task: ListedTask, dtype: str) -> dict[str, Float64Array]:
    import torch

    from verify.torch.module import full_precision

    model = loaded_module(folder / _LOADER).load()
    if isinstance(task.inputs, Vectors):
        kind = getattr(torch, dtype)
        with torch.inference_mode(), full_precision():
            outputs = model(
                torch.tensor(task.inputs.contexts_of_each).to(kind), torch.tensor(task.inputs.queries).to(kind)
            )
        return {"MultiheadAttention": outputs.double().numpy()}
    length, dims = task.n_ctx, model.attention[0].embed_dim
    entries = length * (8 * dims + model.attention[0].num_heads * length + model.unembed.out_features)
    return {"MultiheadAttention": torch_logits(model, tokens_of(task), entries=entries)}


HOST = Host(
    name="attention-layer",
    packages=("torch",),
    extra="torch",
    dtypes=("float64", "float32", "bfloat16", "float16"),
    convert=_convert,
    write=_write,
    run=_run,
    usage="""\
import json, tokenizers, torch
from load_attention_layer import load

tokenizer = tokenizers.Tokenizer.from_file(FOLDER + "/tokenizer.json")
answers = ANSWERS
logits = load()(torch.tensor([tokenizer.encode(TEXT).ids]))
print(answers[logits[0, -1].argmax()])""",
    usage_of_vectors="""\
from load_attention_layer import load
from safetensors.torch import load_file

model, task = load(), load_file(FOLDER + "/task.safetensors")
kind = model.unembed.weight.dtype
print(model(task["contexts"][:1].to(kind), task["queries"][:1].to(kind))[0], task["labels"][0])""",
)
