"""TransformerLens below 4: a `HookedTransformer`.

Page: docs/hosts.md
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from byheart.hosts.conversion import direction, in_equal_layers, norms_of, with_residual_stream, with_score_root
from byheart.hosts.host import Float64Array, Host, loaded_module, tokens_of, torch_logits, write_folder
from constructions.errors import InputError
from constructions.models.blocks import Activation, Attention, Block, FeedForward, Normalization
from constructions.models.model import Model
from constructions.tasks.task import Task
from constructions.tasks.vectors import VectorTask

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu-tanh": "gelu_new", "silu": "silu"}
NORMALIZATIONS = {"layer": "LN", "rms": "RMS"}

_READ_ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
    "silu": "silu",
}
_READ_NORMALIZATIONS: dict[Any, Any] = {
    None: None,
    "LN": ("layer", False),
    "LNPre": ("layer", True),
    "RMS": ("rms", False),
    "RMSPre": ("rms", True),
}
_USUAL: dict[str, tuple[Any, ...]] = {
    "attention_dir": ("causal", "bidirectional"),
    "positional_embedding_type": ("standard",),
    "gated_mlp": (False,),
    "parallel_attn_mlp": (False,),
    "use_local_attn": (False,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "use_qk_norm": (False,),
    "clip_qkv": (None,),
    "use_logn_attn": (False,),
    "use_attention_sinks": (False,),
    "final_rms": (False,),
    "post_embedding_ln": (False,),
    "use_normalization_before_and_after": (False,),
    "rmsnorm_uses_offset": (False,),
    "num_experts": (None,),
    "n_key_value_heads": (None,),
    "attn_scores_soft_cap": (-1.0, 0.0),
    "output_logits_soft_cap": (-1.0, 0.0),
}
"""What `HookedTransformerConfig` may say beside what is read; the first of each is its default."""

_LOADER = "load_transformer_lens.py"


def config_of(model: Model, dtype: str) -> dict[str, Any]:
    """The configuration that both generations of TransformerLens share, for a model of equal layers.

    Args:
        model: What `in_equal_layers` returned.
        dtype: The type of the weights.

    Page: docs/hosts.md
    """
    attentions = [block for block in model.blocks if isinstance(block, Attention)]
    neurons = [block for block in model.blocks if isinstance(block, FeedForward)]
    norms = norms_of(model)
    return {
        "n_layers": len(attentions),
        "d_model": model.d_model,
        "n_ctx": model.n_ctx,
        "d_head": attentions[0].d_head,
        "n_heads": attentions[0].n_heads,
        "d_vocab": model.d_vocab,
        "d_vocab_out": model.d_vocab_out,
        "attn_only": not neurons,
        **({"d_mlp": neurons[0].d_mlp, "act_fn": ACTIVATIONS[neurons[0].activation]} if neurons else {}),
        "normalization_type": NORMALIZATIONS[norms[0].kind] if norms else None,
        **({"eps": norms[0].epsilon} if norms else {}),
        "attention_dir": {"causal": "causal", "all": "bidirectional"}[direction(model)],
        "init_weights": False,
        "dtype": dtype,
    }


def model_of(tensors: Mapping[str, Float64Array], config: Mapping[str, Any]) -> Model:
    r"""The model of a state dictionary of a `HookedTransformer` and of its configuration.

    The names are those of ours. The scores are divided by `attn_scale`, by default the root of `d_head`; its square has
    to be an integer. Normalizations are read as they are (``LN``, ``RMS``) or, where their parameters are folded into
    the maps, without (``LNPre``, ``RMSPre``).

    Args:
        tensors: By name; buffers are left out.
        config: The fields of `HookedTransformerConfig` that are not the default ones.

    Returns:
        The model.

    Raises:
        InputError: An option that no block of ours has, or a tensor that belongs to no block.
        KeyError: A tensor or an option is missing.

    Page: docs/hosts.md
    """
    if other := sorted(name for name, usual in _USUAL.items() if config.get(name, usual[0]) not in usual):
        raise InputError(
            f"{other[0]} is {config[other[0]]!r}, expected {_USUAL[other[0]][0]!r}: no block computes that"
        )
    _require_sizes(config, tensors)
    root = _score_root(config)
    activation = config.get("act_fn")
    if not config.get("attn_only", False) and activation not in _READ_ACTIVATIONS:
        raise InputError(f"act_fn is {activation!r}, expected one of {', '.join(_READ_ACTIVATIONS)}")
    kind = config.get("normalization_type", "LN")
    if kind not in _READ_NORMALIZATIONS:
        raise InputError(f"normalization_type is {kind!r}, expected one of {', '.join(map(str, _READ_NORMALIZATIONS))}")
    used: set[str] = set()

    def take(name: str) -> Float64Array:
        used.add(name)
        return tensors[name]

    def those(place: str, *names: str) -> dict[str, Any]:
        return {name: take(f"{place}.{name}") for name in names}

    def norm(place: str) -> Normalization | None:
        if kind is None:
            return None
        ours, folded = _READ_NORMALIZATIONS[kind]
        epsilon = float(config.get("eps", 1e-5))
        if folded:
            return Normalization(ours, np.ones(int(config["d_model"])), None, epsilon)
        return Normalization(ours, **those(place, "w", *(["b"] if ours == "layer" else [])), epsilon=epsilon)

    blocks: list[Block] = []
    for layer in range(int(config["n_layers"])):
        place = f"blocks.{layer}"
        maps = those(f"{place}.attn", "W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "b_O")
        looks = "causal" if config.get("attention_dir", "causal") == "causal" else "all"
        blocks.append(Attention(**maps, norm=norm(f"{place}.ln1"), attends=looks, score_root=root))
        if not config.get("attn_only", False):
            maps = those(f"{place}.mlp", "W_in", "W_out", "b_in", "b_out")
            fired = _READ_ACTIVATIONS[str(activation)]
            blocks.append(FeedForward(**maps, activation=fired, norm=norm(f"{place}.ln2")))
    final = norm("ln_final")
    ends = {"W_E": take("embed.W_E"), "W_pos": take("pos_embed.W_pos")}
    b_U = take("unembed.b_U") if "unembed.b_U" in tensors else None
    W_U = take("unembed.W_U")
    if unknown := sorted(set(tensors) - used):
        raise InputError(f"the tensors {', '.join(unknown[:4])} ({len(unknown)} in all) belong to no block")
    return Model(blocks=(*blocks, *([] if final is None else [final])), W_U=W_U, b_U=b_U, **ends)


def _score_root(config: Mapping[str, Any]) -> int:
    if not config.get("use_attn_scale", True):
        return 1
    scale = config.get("attn_scale", -1.0)
    if scale == -1.0:  # what TransformerLens writes for the root of d_head
        return int(config["d_head"])
    root = round(scale**2) if scale > 0 else 0
    if root < 1 or math.sqrt(root) != scale:
        raise InputError(f"attn_scale is {scale!r}, expected the root of an integer, or -1")
    return root


def _require_sizes(config: Mapping[str, Any], tensors: Mapping[str, Float64Array]) -> None:
    """Refuse a configuration that says other sizes than the tensors have, or no integers and truth values."""
    for name in ("use_attn_scale", "attn_only"):
        if type(config.get(name, True)) is not bool:
            raise InputError(f"{name} is {config[name]!r}, expected true or false")
    sizes = {
        "n_layers": None,
        "d_model": ("embed.W_E", 1),
        "d_vocab": ("embed.W_E", 0),
        "n_ctx": ("pos_embed.W_pos", 0),
    }
    sizes |= {
        "d_vocab_out": ("unembed.W_U", 1),
        "n_heads": ("blocks.0.attn.W_Q", 0),
        "d_head": ("blocks.0.attn.W_Q", 2),
    }
    sizes |= {"d_mlp": ("blocks.0.mlp.W_in", 1)}
    for name, place in sizes.items():
        said = config.get(name)
        if said is None or (name == "d_vocab_out" and said == -1):
            continue
        if type(said) is not int:
            raise InputError(f"{name} is {said!r}, expected an integer")
        tensor = None if place is None else tensors.get(place[0])
        if place is not None and tensor is not None and tensor.ndim > place[1] and tensor.shape[place[1]] != said:
            raise InputError(f"{name} is {said}, but {place[0]} has {tensor.shape[place[1]]}")


def entries_of(config: Any) -> int:
    """The largest number of entries that TransformerLens makes of one context, by its configuration."""
    per_position = config.n_heads * (4 * config.d_head + config.n_ctx) + 4 * config.d_model + config.d_vocab_out
    return config.n_ctx * (per_position + (0 if config.attn_only else 2 * config.d_mlp))


def _convert(model: Model) -> Model:
    model = in_equal_layers(with_residual_stream(model))
    return with_score_root(model, next(block.score_root for block in model.blocks if isinstance(block, Attention)))


def _write(model: Model, folder: Path, dtype: str) -> None:
    root = next(block.score_root for block in model.blocks if isinstance(block, Attention))
    scale = {"use_attn_scale": False} if root == 1 else {"use_attn_scale": True, "attn_scale": root**0.5}
    write_folder(folder, model.tensors(), dtype=dtype, config={**config_of(model, dtype), **scale}, loader=_LOADER)


def _run(folder: Path, task: Task | VectorTask, dtype: str) -> dict[str, Float64Array]:
    model = loaded_module(folder / _LOADER).load()
    return {"HookedTransformer": torch_logits(model, tokens_of(task), entries=entries_of(model.cfg))}


HOST = Host(
    name="transformer-lens",
    packages=("transformer-lens", "torch"),
    extra="transformer-lens",
    dtypes=("float64", "float32", "bfloat16", "float16"),
    convert=_convert,
    write=_write,
    run=_run,
    below=4,
)
