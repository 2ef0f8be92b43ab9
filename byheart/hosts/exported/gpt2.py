r"""GPT-2 of Hugging Face's `transformers`: weights that the library runs with its own code.

GPT-2 normalizes what every block reads. Here that changes nothing that a number type can tell: each coordinate of the
stream stands there twice, with both signs, so its mean is 0, and epsilon is $2^{120}$ with the gain $2^{60}$, so that

    x_i / sqrt(mean(x^2) + 2^120) * 2^60 = x_i (1 + mean(x^2) 2^-120)^(-1/2).

What is written is judged as it is, normalizations included. GPT-2 has one vocabulary: what is read and never answered
has a logit far below all answers, padding, unknown tokens and what is answered and never read are zeros.

Page: docs/hosts.md
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from byheart.hosts.conversion import (
    direction,
    in_equal_layers,
    norms_of,
    require_tokens,
    with_residual_stream,
    with_score_root,
    without_output_shift,
)
from byheart.hosts.host import CONFIG_FILE, WEIGHTS_FILE, Host, quiet_loading, tokens_of, torch_logits
from byheart.hosts.number_types import write_tensors
from byheart.hosts.tokenizer import answer_tokens, generation_of, special_tokens
from constructions.errors import InputError
from constructions.formats.files import canonical_json, write_atomically
from constructions.model.blocks import Activation, Attention, Block, FeedForward, Normalization
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array
from constructions.tasks.any_task import ListedTask
from constructions.tasks.task import Task
from verify.forward.logits import logit_chunks

_ROOT = 2.0**60
_ACTIVATIONS: dict[Activation, str] = {"relu": "relu", "gelu": "gelu", "gelu-tanh": "gelu_new", "silu": "silu"}
_MOST_ENTRIES = 2**25  # of all layers


def in_one_vocabulary(model: Model, task: ListedTask) -> tuple[Model, Task]:
    """Return a model and a task over the tokens of the tokenizer, the special ones included.

    Args:
        model: What reads the vocabulary of the task, and writes its answers.
        task: A task of labels.

    Returns:
        Both; the logits of the answers are those of before.

    Raises:
        InputError: Distributions, which give mass to tokens that are never answered, or a whole text.
    """
    require_tokens(model)
    facts, table = facts_in_one_vocabulary(task), tokens_of(task)
    names, answers = facts.vocabulary, answer_tokens(table)
    W_E, W_U = np.zeros((len(names), model.d_model)), np.zeros((len(model.W_U), len(names)))
    largest = max(float(abs(logits.midpoint).max()) for _, logits in logit_chunks(model, table.inputs))
    b_U = np.full(len(names), -(2.0 ** (4 + math.ceil(math.log2(1 + largest)))))
    W_E[: model.d_vocab], W_U[:, answers] = model.W_E, model.W_U
    b_U[answers] = 0.0 if model.b_U is None else model.b_U
    return replace(model, W_E=W_E, W_U=W_U, b_U=b_U), facts


def facts_in_one_vocabulary(task: ListedTask) -> Task:
    """Return a task over the tokens of the tokenizer, the special ones included.

    Args:
        task: A task of labels.

    Raises:
        InputError: Distributions, which give mass to tokens that are never answered, or a whole text.
    """
    table = task.facts
    if table is None or table.target != "labels":
        raise InputError("the target", f"is {task.target!r}", "'labels': GPT-2 has one vocabulary")
    if table.windows is not None:
        why = "GPT-2 counts positions from the beginning and never moves its window; --to huggingface takes a text"
        raise InputError("the task", "is a whole text", f"a table: {why}")
    names = table.names()
    names += tuple(name for name in special_tokens(table).values() if name not in names)
    return replace(table.in_one_vocabulary(), vocabulary=names, answers=())


def _convert(model: Model) -> Model:
    if norms_of(model):
        raise InputError("the model", "has normalizations", "none: those of GPT-2 are made harmless")
    if direction(model) != "causal":
        raise InputError(
            "the attention blocks", "attend to all positions", "causal attention, the only one that GPT-2 has"
        )
    plain = with_score_root(in_equal_layers(with_residual_stream(without_output_shift(model))), 1)
    attentions = [block for block in plain.blocks if isinstance(block, Attention)]
    heads, width = attentions[0].n_heads, attentions[0].d_qk
    width = max(width, -(-2 * plain.d_model // heads))
    hidden = max([1, *(block.d_mlp for block in plain.blocks if isinstance(block, FeedForward))])
    size = heads * width
    if (entries := len(attentions) * size * (4 * size + 2 * hidden)) > _MOST_ENTRIES:
        raise InputError("GPT-2", f"would have {entries} entries in its blocks", f"at most {_MOST_ENTRIES}")
    plain = in_equal_layers(plain, d_head=width)
    norm = Normalization("layer", w=np.full(size, _ROOT), b=np.zeros(size), epsilon=_ROOT**2)
    asleep = FeedForward(np.zeros((size, 1)), np.zeros((1, size)), np.zeros(1), np.zeros(size), norm=norm)
    blocks: list[Block] = []
    for block in plain.blocks:
        if isinstance(block, Attention):
            read = {name: _read(getattr(block, name), 1, size) for name in ("W_Q", "W_K", "W_V")}
            written = {name: _written(getattr(block, name), size) for name in ("W_O", "b_O")}
            blocks.append(replace(block, norm=norm, **read, **written))
            if len(attentions) == len(plain.blocks):
                blocks.append(asleep)
        elif isinstance(block, FeedForward):
            written = {name: _written(getattr(block, name), size) for name in ("W_out", "b_out")}
            blocks.append(replace(block, norm=norm, W_in=_read(block.W_in, 0, size), **written))
    ends = {name: _written(getattr(plain, name), size) for name in ("W_E", "W_pos")}
    return replace(plain, blocks=(*blocks, norm), W_U=_read(plain.W_U, 0, size), b_U=None, **ends)


def _written(tensor: Float64Array, size: int) -> Float64Array:
    """Return maps into the stream: each coordinate with both signs, padded with zeros."""
    both = np.concatenate([tensor, -tensor], axis=-1)
    return np.concatenate([both, np.zeros((*both.shape[:-1], size - both.shape[-1]))], axis=-1)


def _read(tensor: Float64Array, axis: int, size: int) -> Float64Array:
    """Return maps from the stream that add half of each of the two copies."""
    return np.moveaxis(_written(np.moveaxis(tensor, axis, -1) / 2, size), -1, axis)


def config_of(model: Model, dtype: str) -> dict[str, Any]:
    """Return the configuration of a converted model for `GPT2LMHeadModel`."""
    attention, neurons = model.blocks[0], model.blocks[1]
    assert isinstance(attention, Attention) and isinstance(neurons, FeedForward) and neurons.norm is not None
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "dtype": dtype,
        "vocab_size": model.d_vocab,
        "n_positions": model.n_ctx,
        "n_embd": model.d_model,
        "n_layer": len(model.blocks) // 2,
        "n_head": attention.n_heads,
        "n_inner": neurons.d_mlp,
        "activation_function": _ACTIVATIONS[neurons.activation],
        "layer_norm_epsilon": neurons.norm.epsilon,
        "scale_attn_weights": False,
        "tie_word_embeddings": False,
        "attn_implementation": "eager",  # the others return no attention patterns
        **dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0),
        **dict.fromkeys(("bos_token_id", "eos_token_id")),
    }


def tensors_of(model: Model) -> dict[str, Float64Array]:
    """Return the tensors of a converted model by the names of `GPT2LMHeadModel`."""

    def norm(place: str, block: Attention | FeedForward | Normalization) -> dict[str, Any]:
        normalization = block if isinstance(block, Normalization) else block.norm
        assert normalization is not None
        return {f"{place}.weight": normalization.w, f"{place}.bias": normalization.b}

    tensors: dict[str, Any] = {"transformer.wte.weight": model.W_E, "transformer.wpe.weight": model.W_pos}
    for number, block in enumerate(model.blocks):
        place = f"transformer.h.{number // 2}"
        if isinstance(block, Attention):
            maps = np.stack([block.W_Q, block.W_K, block.W_V])  # [3, heads, d_model, width]
            tensors[f"{place}.attn.c_attn.weight"] = maps.transpose(2, 0, 1, 3).reshape(block.d_model, -1)
            tensors[f"{place}.attn.c_attn.bias"] = np.stack([block.b_Q, block.b_K, block.b_V]).reshape(-1)  # pyright: ignore[reportArgumentType, reportCallIssue]
            tensors[f"{place}.attn.c_proj.weight"] = block.W_O.reshape(-1, block.d_model)
            tensors[f"{place}.attn.c_proj.bias"] = block.b_O
            tensors |= norm(f"{place}.ln_1", block)
        elif isinstance(block, FeedForward):
            for name, weight, shift in (("c_fc", block.W_in, block.b_in), ("c_proj", block.W_out, block.b_out)):
                tensors |= {f"{place}.mlp.{name}.weight": weight, f"{place}.mlp.{name}.bias": shift}
            tensors |= norm(f"{place}.ln_2", block)
        else:
            tensors |= norm("transformer.ln_f", block)
    return {**tensors, "lm_head.weight": model.W_U.T}


def _write(model: Model, folder: Path, dtype: str) -> None:
    write_tensors(folder / WEIGHTS_FILE, tensors_of(model), dtype=dtype, metadata={"format": "pt"})
    write_atomically(folder / CONFIG_FILE, (canonical_json(config_of(model, dtype)) + "\n").encode())


def _number_tokens(folder: Path, task: Task) -> None:
    content = canonical_json(generation_of(task)) + "\n"
    write_atomically(folder / "generation_config.json", content.encode())


def _run(folder: Path, task: ListedTask, dtype: str) -> dict[str, Float64Array]:
    from transformers import GPT2LMHeadModel  # pyright: ignore[reportMissingImports]

    facts = tokens_of(task)
    with quiet_loading():
        model = GPT2LMHeadModel.from_pretrained(folder, local_files_only=True).eval()
    entries = task.n_ctx * (12 * model.config.n_embd + 2 * model.config.n_inner + model.config.vocab_size)
    return {"GPT2LMHeadModel": torch_logits(model, facts, entries=entries)[:, answer_tokens(facts)]}


HOST = Host(
    name="gpt2",
    packages=("transformers", "torch"),
    extra="huggingface",
    dtypes=("float64", "float32", "bfloat16"),
    convert=_convert,
    write=_write,
    run=_run,
    number_tokens=_number_tokens,
    in_one_vocabulary=in_one_vocabulary,
    facts_in_one_vocabulary=facts_in_one_vocabulary,
    usage="""\
from transformers import pipeline

say = pipeline("text-generation", model=FOLDER)
print(say(TEXT)[0]["generated_text"])""",
)
