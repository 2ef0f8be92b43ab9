"""Read MPT: ALiBi slopes instead of positions, norms without shift.

Page: docs/hosts.md
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from byheart.hosts.families.checkpoint import Checkpoint
from byheart.hosts.families.decoder import Heads, layered, neurons
from byheart.hosts.families.known_options import ONLY_IN_TRANSFORMERS, UNREAD_IN_TRANSFORMERS
from constructions.model.blocks import Attention, Block
from constructions.model.model import Model
from verify.arithmetic.rounding import Floats

_USUAL = {
    "attn_type": "multihead_attention",
    "attn_pdrop": None,
    "attn_impl": None,
    "qk_ln": False,
    "prefix_lm": False,
    "attn_uses_sequence_id": False,
    "alibi": True,
}
_READ = ("clip_qkv", "softmax_scale", "alibi_bias_max", "model_type", "architectures")


def model_of(tensors: Mapping[str, Floats], config: Mapping[str, Any]) -> Model:
    """Return the model of a checkpoint.

    Raises:
        InputError: A field or a tensor that is not read; names the family and it.
    """
    c = Checkpoint(tensors, config)
    d, count = c.count("d_model", also=("hidden_size",)), c.count("n_heads", also=("num_attention_heads",))
    heads, epsilon = Heads(d, count, count, d // count), c.number("layer_norm_epsilon", 1e-5)
    attention_config = c.fields("attn_config")
    for name, usual in _USUAL.items():
        if usual is not None and attention_config.get(name, usual) != usual:
            c.refuse("attn_config", f"{name} = {usual!r}")
    if unknown := sorted(set(attention_config) - {*_USUAL, *UNREAD_IN_TRANSFORMERS, *ONLY_IN_TRANSFORMERS, *_READ}):
        c.refuse("attn_config", f"no {unknown[0]}, which is not known here")
    for name in ("clip_qkv", "softmax_scale"):
        if attention_config.get(name) is not None and not (
            type(attention_config[name]) in (int, float) and 0 < attention_config[name] < float("inf")
        ):
            c.refuse("attn_config", f"a finite number above 0 for {name}")
    clip = None if attention_config.get("clip_qkv") is None else float(attention_config["clip_qkv"])
    scale = (
        None if attention_config.get("softmax_scale") is None else float(np.float32(attention_config["softmax_scale"]))
    )
    if scale is not None and clip is not None:
        c.refuse("attn_config", "clip_qkv or softmax_scale, not both: what is cut off is scaled behind that")
    if attention_config.get("alibi_bias_max", 8) != 8:
        c.refuse("attn_config", "alibi_bias_max = 8, which the host takes whatever is said")
    slopes = _slopes(count, 8.0)
    for name, value in (
        ("no_bias", True),
        ("learned_pos_emb", True),
        ("embedding_fraction", 1.0),
        ("logit_scale", None),
    ):
        c.only(name, value)
    c.only("norm_type", "low_precision_layernorm")
    c.field("expansion_ratio")  # the host has 4 whatever is said

    def layer(i: int) -> list[Block]:
        place = f"transformer.blocks.{i}"
        W, _ = c.linear(f"{place}.attn.Wqkv", d, 3 * d, shift=False)
        W_Q, W_K, W_V = (heads.split(part, None, count)[0] for part in W.reshape(d, 3, d).transpose(1, 0, 2))
        W_O, _ = c.linear(f"{place}.attn.out_proj", d, d, shift=False)
        one = Attention(
            W_Q if scale is None else c.scaled("W_Q", W_Q, scale),
            W_K,
            W_V,
            W_O.reshape(count, heads.width, d),
            attends="causal",
            score_root=heads.width if scale is None else 1,
            slopes=slopes,
            clip=clip,
            norm=c.norm("layer", f"{place}.norm_1", epsilon),
        )
        norm = c.norm("layer", f"{place}.norm_2", epsilon)
        return [one, neurons(c, f"{place}.ffn", ("up_proj", "down_proj"), activation="gelu", width=4 * d, norm=norm)]

    layers = c.count("n_layers", also=("num_hidden_layers",))
    blocks = layered(layers, layer, c.norm("layer", "transformer.norm_f", epsilon))
    W_E = c.take("transformer.wte.weight", None, d)
    return c.finished(blocks, W_E, c.readout(W_E, tied=True), positions=c.count("max_seq_len", 2048))


def _slopes(count: int, most: float) -> Floats:
    """Return 2^(-most k / n) for the heads, n the next power of two, every second one first; in float32."""
    n = 2 ** math.ceil(math.log2(count))
    exponents = np.arange(1, n + 1, dtype=np.float32) * np.float32(most / n)
    slopes = np.float32(1.0) / np.exp2(exponents.astype(np.float64)).astype(np.float32)
    if n != count:
        slopes = np.concatenate([slopes[1::2], slopes[::2]])[:count]
    return slopes.astype(np.float64)
