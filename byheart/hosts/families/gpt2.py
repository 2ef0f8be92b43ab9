"""Models of Hugging Face of the shape of GPT-2, read into ours.

Page: docs/hosts.md
"""

from collections.abc import Mapping
from typing import Any

from byheart.hosts.families.checkpoint import missing_tensor, require_tied
from byheart.hosts.families.known_options import ONLY_IN_TRANSFORMERS, UNREAD_IN_TRANSFORMERS, require_known_options
from constructions.errors import InputError
from constructions.model.blocks import Activation, Attention, Block, FeedForward, Normalization
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array

_ACTIVATIONS: dict[str, Activation] = {
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
    "gelu": "gelu",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
_ARCHITECTURES = ("GPT2LMHeadModel", "GPT2Model")
_DEFAULTS = {
    "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-5,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "tie_word_embeddings": True,
}
_ALIASES = {
    "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer",
    "hidden_size": "n_embd",
    "max_position_embeddings": "n_positions",
}
"""Other names of the configuration for the same number, which the library prefers."""

_READ = {*_DEFAULTS, *_ALIASES, *_ALIASES.values(), "model_type", "n_inner", "n_ctx", "vocab_size", "architectures"}
_UNREAD = {
    *UNREAD_IN_TRANSFORMERS,
    *("resid_pdrop", "embd_pdrop", "attn_pdrop", "initializer_range", "reorder_and_upcast_attn"),
    *("summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels", "summary_first_dropout"),
    "predict_special_tokens",
}
_ONLY = {**ONLY_IN_TRANSFORMERS, "n_special": (0,)}


def model_of(tensors: Mapping[str, Float64Array], config: Mapping[str, Any]) -> Model:
    r"""Return the model of a state dictionary and a configuration of GPT-2.

    The maps are stored as (in, out), queries, keys and values side by side, heads one after the other. Scores are
    divided by $\sqrt e$, and where the configuration says so by the number of the layer too. Without a readout of its
    own the model reads with its embeddings.

    Args:
        tensors: By name, with ``transformer.`` in front or without; buffers are omitted.
        config: ``n_layer``, ``n_head`` and what else differs from the defaults of GPT-2.

    Returns:
        The model.

    Raises:
        InputError: An activation or an option that no block has or that is not known, or a tensor that is missing or
            belongs to none.
        KeyError: An option is missing.

    Source: Radford et al. (2019).
    """
    require_known_options(config, read=_READ, unread=_UNREAD, only=_ONLY)
    options = {**_DEFAULTS, **config}
    for alias, name in _ALIASES.items():
        if alias in config and options.setdefault(name, config[alias]) != config[alias]:
            raise InputError(alias, f"is {config[alias]!r} and {name} is {config[name]!r}", "one number")
    for name, least in (("n_head", 1), ("n_layer", 0)):
        if type(options[name]) is not int or options[name] < least:
            raise InputError(name, f"is {options[name]!r}", f"an integer of at least {least}")
    for name in ("scale_attn_weights", "scale_attn_by_inverse_layer_idx", "tie_word_embeddings"):
        if type(options[name]) is not bool:
            raise InputError(name, f"is {options[name]!r}", "true or false")
    epsilon = options["layer_norm_epsilon"]
    if type(epsilon) not in (int, float) or not 0 < epsilon < float("inf"):
        raise InputError("layer_norm_epsilon", f"is {epsilon!r}", "a finite number above 0")
    architectures = config.get("architectures") or []
    if not isinstance(architectures, list | tuple) or not all(
        isinstance(architecture, str) for architecture in architectures
    ):
        raise InputError("architectures", f"is {architectures!r}", "names in a list")
    if not isinstance(options["activation_function"], str) or options["activation_function"] not in _ACTIVATIONS:
        known = ", ".join(_ACTIVATIONS)
        raise InputError("activation_function", f"is {options['activation_function']!r}", f"one of {known}")
    if other := sorted(set(architectures) - set(_ARCHITECTURES)):
        raise InputError("architectures", f"has {other[0]!r}", f"one of {', '.join(_ARCHITECTURES)}")
    weights = {name: tensor for name, tensor in tensors.items() if not is_mask(name)}
    unprefixed = {name.removeprefix("transformer."): tensor for name, tensor in weights.items()}
    if len(unprefixed) < len(weights):
        raise InputError("some tensors", "are given twice, with 'transformer.' in front of the name and without")
    used: set[str] = set()

    def take(name: str) -> Float64Array:
        if name not in unprefixed:
            raise missing_tensor("gpt2", name, unprefixed)
        used.add(name)
        return unprefixed[name]

    def norm(name: str) -> Normalization:
        return Normalization("layer", take(f"{name}.weight"), take(f"{name}.bias"), float(epsilon))

    heads = int(options["n_head"])
    blocks: list[Block] = []
    for layer in range(int(options["n_layer"])):
        place = f"h.{layer}"
        maps, shifts = take(f"{place}.attn.c_attn.weight"), take(f"{place}.attn.c_attn.bias")
        d_model = maps.shape[0]
        if maps.shape != (d_model, 3 * d_model) or d_model % heads:
            name = f"{place}.attn.c_attn.weight"
            raise InputError(name, f"has shape {maps.shape}", f"[d, 3 d], {heads} heads in d")
        width = d_model // heads
        W_Q, W_K, W_V = maps.reshape(d_model, 3, heads, width).transpose(1, 2, 0, 3)
        b_Q, b_K, b_V = shifts.reshape(3, heads, width)
        root = width if options["scale_attn_weights"] else 1
        if options["scale_attn_by_inverse_layer_idx"]:
            root *= (layer + 1) ** 2
        attention = Attention(
            W_Q=W_Q,
            W_K=W_K,
            W_V=W_V,
            W_O=take(f"{place}.attn.c_proj.weight").reshape(heads, width, d_model),
            b_Q=b_Q,
            b_K=b_K,
            b_V=b_V,
            b_O=take(f"{place}.attn.c_proj.bias"),
            norm=norm(f"{place}.ln_1"),
            attends="causal",
            score_root=root,
        )
        neurons = FeedForward(
            W_in=take(f"{place}.mlp.c_fc.weight"),
            b_in=take(f"{place}.mlp.c_fc.bias"),
            W_out=take(f"{place}.mlp.c_proj.weight"),
            b_out=take(f"{place}.mlp.c_proj.bias"),
            activation=_ACTIVATIONS[options["activation_function"]],
            norm=norm(f"{place}.ln_2"),
        )
        _require_size(options, "n_inner", neurons.d_mlp)
        blocks += [attention, neurons]
    final = norm("ln_f")
    W_E, W_pos = take("wte.weight"), take("wpe.weight")
    if "lm_head.weight" not in unprefixed and not options["tie_word_embeddings"]:
        raise InputError("tie_word_embeddings", "is false, but there is no lm_head.weight")
    W_U = take("lm_head.weight") if "lm_head.weight" in unprefixed else W_E
    if options["tie_word_embeddings"]:
        require_tied("lm_head.weight", W_U, W_E)
    _require_size(options, "n_embd", W_E.shape[1])
    _require_size(options, "vocab_size", W_E.shape[0])
    for name in ("n_positions", "n_ctx"):
        _require_size(options, name, W_pos.shape[0])
    if unknown := sorted(set(unprefixed) - used):
        raise InputError(f"the tensors {', '.join(unknown[:4])} ({len(unknown)} in all)", "belong to no block of GPT-2")
    return Model(blocks=(*blocks, final), W_U=W_U.T, W_E=W_E, W_pos=W_pos)


def _require_size(options: Mapping[str, Any], name: str, found: int) -> None:
    """Refuse a size that the tensors do not have."""
    if options.get(name) is not None and (type(options[name]) is not int or options[name] != found):
        raise InputError(name, f"is {options[name]!r}, but the tensors have {found}")


def is_mask(name: str) -> bool:
    """Tell whether a tensor is a mask that the library stores with the weights but computes itself.

    Args:
        name: Name of the tensor.

    Example:
        >>> is_mask("transformer.h.0.attn.bias"), is_mask("transformer.h.0.attn.c_attn.bias")
        (True, False)
    """
    return name.endswith((".attn.bias", ".attn.masked_bias"))
