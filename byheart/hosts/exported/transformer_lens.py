"""TransformerLens below 4: a `HookedTransformer`.

Page: docs/hosts.md
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from byheart.hosts.conversion import direction, in_equal_layers, norms_of, with_residual_stream, with_score_root
from byheart.hosts.families.checkpoint import missing_tensor
from byheart.hosts.families.known_options import require_known_options
from byheart.hosts.host import Host, loaded_module, tokens_of, torch_logits, write_folder
from byheart.hosts.tokenizer import answer_tokens
from constructions.errors import InputError, require_one_of
from constructions.model.blocks import Activation, Attention, Block, FeedForward, Normalization
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array
from constructions.tasks.any_task import ListedTask

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
_READ = {
    *("n_layers", "d_model", "n_ctx", "d_head", "n_heads", "d_mlp", "d_vocab", "d_vocab_out", "attn_only"),
    *("act_fn", "normalization_type", "eps", "use_attn_scale", "attn_scale", "gated_mlp", "n_key_value_heads"),
    *("positional_embedding_type", "rotary_dim", "rotary_base", "rotary_adjacent_pairs"),
    *("parallel_attn_mlp", "use_qk_norm", "attn_scores_soft_cap", "output_logits_soft_cap"),
}
_UNREAD = {
    # What is cached, where and in which type it runs, how the weights came to be, how texts become tokens.
    *("use_attn_result", "use_split_qkv_input", "use_hook_mlp_in", "use_attn_in", "use_hook_tokens"),
    *("device", "n_devices", "dtype", "seed", "init_mode", "init_weights", "initializer_range", "n_params"),
    *("model_name", "tokenizer_name", "from_checkpoint", "checkpoint_index", "checkpoint_label_type"),
    *("checkpoint_value", "trust_remote_code", "default_prepend_bos", "tokenizer_prepends_bos"),
    # What belongs to options that `_ONLY` keeps off: other frequencies, local heads, experts, decoders.
    "rotary_base_local",
    *("NTK_by_parts_low_freq_factor", "NTK_by_parts_high_freq_factor", "NTK_by_parts_factor", "NTK_original_ctx_len"),
    *("yarn_factor", "yarn_attention_factor", "yarn_beta_fast", "yarn_beta_slow", "yarn_truncate"),
    *("yarn_original_max_position_embeddings", "yarn_global_attn_only"),
    *("window_size", "attn_types", "train_seq_length", "ungroup_grouped_query_attention", "norm_topk_prob"),
    "decoder_start_token_id",
}
_ONLY: dict[str, tuple[Any, ...]] = {
    "attention_dir": ("causal", "bidirectional"),
    "rotary_scaling_factor": (1.0, 1),
    # Some others have their norms elsewhere.
    "original_architecture": (
        *(None, "neel", "GPT2LMHeadModel", "LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM"),
    ),
    "use_local_attn": (False,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "clip_qkv": (None,),
    "use_logn_attn": (False,),
    "use_dynamic_ntk_rope": (False,),
    "use_NTK_by_parts_rope": (False,),
    "use_yarn_rope": (False,),
    "use_attention_sinks": (False,),
    "uses_rms_norm": (False,),
    "layer_norm_folding": (False,),
    "final_rms": (False,),
    "post_embedding_ln": (False,),
    "use_normalization_before_and_after": (False,),
    "rmsnorm_uses_offset": (False,),
    "num_experts": (None,),
    "experts_per_token": (None,),
    "relative_attention_max_distance": (None,),
    "relative_attention_num_buckets": (None,),
    "tie_word_embeddings": (False,),
    "load_in_4bit": (False,),
    "quantization_method": (None,),
}
"""What `HookedTransformerConfig` may say beside what is read; the first of each is its default."""

_LOADER = "load_transformer_lens.py"
_USAGE = """\
import sys; sys.path.insert(0, FOLDER)
from load_transformer_lens import load

model = load()
logits, cache = model.run_with_cache(TEXT)
print(model.generate(TEXT, max_new_tokens=1, do_sample=False))"""


def config_of(model: Model, dtype: str) -> dict[str, Any]:
    """Return the configuration that both generations of TransformerLens share, for a model of equal layers.

    Args:
        model: The model that `in_equal_layers` returned.
        dtype: The type of the weights.
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
    r"""Return the model of a state dictionary of a `HookedTransformer` and of its configuration.

    The names are those of ours. The scores are divided by `attn_scale`, by default the root of `d_head`; its square has
    to be an integer. Normalizations are read as they are (``LN``, ``RMS``) or, where their parameters are folded into
    the maps, without (``LNPre``, ``RMSPre``).

    Args:
        tensors: By name; buffers are omitted.
        config: The fields of `HookedTransformerConfig` that are not the default ones.

    Returns:
        The model.

    Raises:
        InputError: An option that no block of ours has or that is not known, or a tensor that is missing or belongs to
            no block.
        KeyError: An option is missing.
    """
    require_known_options(config, read=_READ, unread=_UNREAD, only=_ONLY)
    _require_types(config)
    root = _score_root(config)
    activation = config.get("act_fn")
    if not config.get("attn_only", False) and activation not in _READ_ACTIVATIONS:
        raise InputError("act_fn", f"is {activation!r}", f"one of {', '.join(_READ_ACTIVATIONS)}")
    kind = config.get("normalization_type", "LN")
    require_one_of(_READ_NORMALIZATIONS, normalization_type=kind)
    parallel, score_cap = bool(config.get("parallel_attn_mlp", False)), _cap(config, "attn_scores_soft_cap")
    if parallel and config.get("attn_only", False):
        raise InputError("parallel_attn_mlp", "is True, and attn_only too", "neurons in parallel, or none")
    used, epsilon = set[str](), config.get("eps", 1e-5)

    def take(name: str) -> Float64Array:
        if name not in tensors:
            raise missing_tensor("HookedTransformer", name, tensors)
        used.add(name)
        return tensors[name]

    def those(place: str, *names: str) -> dict[str, Any]:
        return {name: take(f"{place}.{name}") for name in names}

    def norm(place: str) -> Normalization | None:
        if kind is None:
            return None
        ours, folded = _READ_NORMALIZATIONS[kind]
        if folded:
            return Normalization(ours, np.ones(int(config["d_model"])), None, epsilon)
        return Normalization(ours, **those(place, "w", *(["b"] if ours == "layer" else [])), epsilon=epsilon)

    shared, turns = "" if config.get("n_key_value_heads") is None else "_", _turns(config)
    blocks: list[Block] = []
    for layer in range(int(config["n_layers"])):
        place = f"blocks.{layer}"
        maps = those(f"{place}.attn", "W_Q", "W_O", "b_Q", "b_O")
        maps |= {name: take(f"{place}.attn.{shared}{name}") for name in ("W_K", "W_V", "b_K", "b_V")}
        looks = "causal" if config.get("attention_dir", "causal") == "causal" else "all"
        if config.get("use_qk_norm", False):  # each head by itself, before it is turned
            for x in "qk":
                maps[f"{x}_norm"] = Normalization("rms", take(f"{place}.attn.{x}_norm.w"), None, epsilon)
        maps |= {"attends": looks, "score_root": root, "score_cap": score_cap}
        attention = Attention(**maps, norm=norm(f"{place}.ln1"), **turns)
        _require_size(config, "n_key_value_heads", attention.key_heads, f"{place}.attn._W_K")
        _require_size(config, "n_heads", attention.n_heads, f"{place}.attn.W_Q")
        _require_size(config, "d_head", attention.d_qk, f"{place}.attn.W_Q")
        _require_size(config, "d_head", attention.d_head, f"{place}.attn.W_V")
        blocks.append(attention)
        if not config.get("attn_only", False):
            maps = those(f"{place}.mlp", "W_in", "W_out", "b_in", "b_out")
            if config.get("gated_mlp", False):
                maps |= those(f"{place}.mlp", "W_gate")
                if maps.pop("b_in").any():
                    raise InputError(f"{place}.mlp.b_in", "is added after the gate, which no block does", "0")
            fired = _READ_ACTIVATIONS[str(activation)]
            neurons = FeedForward(**maps, activation=fired, norm=norm(f"{place}.ln2"), parallel=parallel)
            _require_size(config, "d_mlp", neurons.d_mlp, f"{place}.mlp.W_in")
            blocks.append(neurons)
    final = norm("ln_final")
    ends: dict[str, Any] = {"W_E": take("embed.W_E"), "logit_cap": _cap(config, "output_logits_soft_cap")}
    ends |= {"positions": config["n_ctx"]} if turns else {"W_pos": take("pos_embed.W_pos")}
    b_U = take("unembed.b_U") if "unembed.b_U" in tensors else None
    W_U = take("unembed.W_U")
    if unknown := sorted(set(tensors) - used):
        raise InputError(f"the tensors {', '.join(unknown[:4])} ({len(unknown)} in all)", "belong to no block")
    model = Model(blocks=(*blocks, *([] if final is None else [final])), W_U=W_U, b_U=b_U, **ends)
    _require_size(config, "d_model", model.d_model, "embed.W_E")
    _require_size(config, "d_vocab", model.d_vocab, "embed.W_E")
    _require_size(config, "n_ctx", model.n_ctx, "pos_embed.W_pos")
    _require_size(config, "d_vocab_out", model.d_vocab_out, "unembed.W_U")
    return model


def _turns(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return how queries and keys are rotated: by frequencies that the library computes in float32, or in float64."""
    kind = config.get("positional_embedding_type", "standard")
    require_one_of(("standard", "rotary"), positional_embedding_type=kind)
    if kind == "standard":
        return {}
    width, base = config.get("rotary_dim") or config["d_head"], config.get("rotary_base", 10000)
    if type(width) is not int or width % 2 or not 0 < width <= config["d_head"]:
        raise InputError("rotary_dim", f"is {width!r}", f"an even number up to d_head = {config['d_head']}")
    if type(base) not in (int, float) or not 0 < base < math.inf:
        raise InputError("rotary_base", f"is {base!r}", "a number above 0")
    short = np.float64 if str(config.get("dtype")).endswith("float64") else np.float32
    exponents = (np.arange(width // 2, dtype=short) / short(width / 2)).astype(np.float64)
    waves = np.power(np.float64(base), exponents).astype(short).astype(np.float64)
    turned = "neighbours" if config.get("rotary_adjacent_pairs", False) else "halves"
    return {"frequencies": 1.0 / waves, "turned": turned}


def _cap(config: Mapping[str, Any], name: str) -> float | None:
    """Return c of the cap c tanh(x / c); none where the library takes the number for no cap."""
    cap = config.get(name)
    if cap is not None and (type(cap) not in (int, float) or not cap < math.inf):
        raise InputError(name, f"is {cap!r}", "a number; none, 0 or below 0 for no cap")
    return float(cap) if cap is not None and cap > 0 else None


def _score_root(config: Mapping[str, Any]) -> int:
    if not config.get("use_attn_scale", True):
        return 1
    scale = config.get("attn_scale", -1.0)
    if scale == -1.0:  # what TransformerLens writes for the root of d_head
        return int(config["d_head"])
    root = round(scale**2) if scale > 0 else 0
    if root < 1 or math.sqrt(root) != scale:
        raise InputError("attn_scale", f"is {scale!r}", "the root of an integer, or -1")
    return root


def _require_types(config: Mapping[str, Any]) -> None:
    """Refuse sizes that are no integers, and flags that are no truth values."""
    flags = "use_attn_scale", "attn_only", "gated_mlp", "rotary_adjacent_pairs", "default_prepend_bos"
    for name in (*flags, "parallel_attn_mlp", "use_qk_norm"):
        if type(config.get(name, True)) is not bool:
            raise InputError(name, f"is {config[name]!r}", "true or false")
    sizes = ("n_layers", "d_model", "n_ctx", "d_head", "n_heads", "d_mlp", "d_vocab", "d_vocab_out")
    for name in (*sizes, "n_key_value_heads"):
        if config.get(name) is not None and type(config[name]) is not int:
            raise InputError(name, f"is {config[name]!r}", "an integer")
    for name in ("eps", "attn_scale", "rotary_base"):
        if name in config and (isinstance(config[name], bool) or not isinstance(config[name], int | float)):
            raise InputError(name, f"is {config[name]!r}", "a number")
    for name in ("act_fn", "normalization_type", "positional_embedding_type", "attention_dir"):
        if config.get(name) is not None and not isinstance(config[name], str):
            raise InputError(name, f"is {config[name]!r}", "a text")


def _require_size(config: Mapping[str, Any], name: str, found: int, place: str) -> None:
    """Refuse a size that the tensors do not have."""
    unset = (None, -1) if name in ("n_heads", "d_vocab", "d_vocab_out") else (None,)
    if config.get(name) not in (*unset, found):
        raise InputError(name, f"is {config[name]}, but {place} has {found}")


def host_of(
    name: str,
    made: str,
    loader: str,
    *,
    convert: Callable[[Model], Model],
    write: Callable[[Model, Path, str], None],
    below: int | None = None,
    at_least: int | None = None,
    usage: str = "",
) -> Host:
    """Return a generation of TransformerLens as a host.

    Args:
        name: Name of the host, and of the extra that brings it.
        made: The library's name for the models that compute.
        loader: Name of the file of `byheart/hosts/written/` that loads one.
        convert: As in `Host`.
        write: As in `Host`.
        below: As in `Host`.
        at_least: As in `Host`.
        usage: As in `Host`.
    """

    def run(folder: Path, task: ListedTask, dtype: str) -> dict[str, Float64Array]:
        model = loaded_module(folder / loader).load()
        logits = torch_logits(model, tokens_of(task), entries=_entries_of(model.cfg))
        every = logits.shape[1] == model.cfg.d_vocab_out != tokens_of(task).n_answers  # tokens of the tokenizer
        return {made: logits[:, answer_tokens(tokens_of(task))] if every else logits}

    return Host(
        name=name,
        packages=("transformer-lens", "torch"),
        extra=name,
        dtypes=("float64", "float32", "bfloat16", "float16"),
        convert=convert,
        write=write,
        run=run,
        below=below,
        at_least=at_least,
        usage=usage,
    )


def _entries_of(config: Any) -> int:
    """Return the largest number of entries that TransformerLens computes for one context, by its configuration."""
    per_position = config.n_heads * (4 * config.d_head + config.n_ctx) + 4 * config.d_model + config.d_vocab_out
    return config.n_ctx * (per_position + (0 if config.attn_only else 2 * config.d_mlp))


def _convert(model: Model) -> Model:
    model = in_equal_layers(with_residual_stream(model))
    return with_score_root(model, next(block.score_root for block in model.blocks if isinstance(block, Attention)))


def _write(model: Model, folder: Path, dtype: str) -> None:
    root = next(block.score_root for block in model.blocks if isinstance(block, Attention))
    scale = {"use_attn_scale": False} if root == 1 else {"use_attn_scale": True, "attn_scale": root**0.5}
    write_folder(folder, model.tensors(), dtype=dtype, config={**config_of(model, dtype), **scale}, loader=_LOADER)


HOST = host_of("transformer-lens", "HookedTransformer", _LOADER, convert=_convert, write=_write, below=4, usage=_USAGE)
