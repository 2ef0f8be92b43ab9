"""Llama and its kin: root-mean-square norms, rotary halves, grouped heads, gated neurons.

Page: docs/hosts.md
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from byheart.hosts.families.checkpoint import Checkpoint
from byheart.hosts.families.decoder import Heads, attention, layered, multiplied, neurons, window
from byheart.hosts.families.rotation import rotation
from constructions.model.blocks import Block
from constructions.model.model import Model
from verify.arithmetic.rounding import Floats


def model_of(tensors: Mapping[str, Floats], config: Mapping[str, Any]) -> Model:
    """Return the model of a checkpoint of one of these families.

    Raises:
        InputError: A field or a tensor that is not read; names the family and it.
    """
    c = Checkpoint(tensors, config)
    heads, layers, kind = Heads.of(c), c.count("num_hidden_layers"), c.family
    epsilon, activation = c.number("rms_norm_eps", 1e-6), c.activation("hidden_act", "silu")
    width = c.count("intermediate_size")
    shifts = kind == "qwen2" or (kind != "mistral" and c.flag("attention_bias", False))
    neuron_shifts = kind in ("llama", "smollm3", "granite") and c.flag("mlp_bias", False)
    base = 2000000.0 if kind == "smollm3" else 10000.0
    frequencies, turned = rotation(c, heads.width, base=base), _turned_layers(c, layers)
    residual, scores = (
        (_float32(c.number("residual_multiplier", 1.0)), _float32(c.number("attention_multiplier", 1.0)))
        if kind == "granite"
        else (1.0, None)
    )

    def layer(i: int) -> list[Block]:
        place = f"model.layers.{i}"
        norms: dict[str, Any] = {}
        if kind == "qwen3":
            norms = {f"{x}_norm": c.norm("rms", f"{place}.self_attn.{x}_norm", epsilon) for x in "qk"}
        one = attention(
            c,
            heads,
            f"{place}.self_attn",
            shifts=shifts,
            output_shift=False if kind == "qwen2" else None,
            frequencies=frequencies if turned[i] else None,
            score_root=None if scores is None else 1,
            norm=c.norm("rms", f"{place}.input_layernorm", epsilon),
            **norms,
        )
        if scores is not None:
            b_Q = None if one.b_Q is None else c.scaled("b_Q", one.b_Q, scores)
            one = replace(one, W_Q=c.scaled("W_Q", one.W_Q, scores), b_Q=b_Q)
        two = neurons(
            c,
            f"{place}.mlp",
            activation=activation,
            width=width,
            shifts=neuron_shifts,
            norm=c.norm("rms", f"{place}.post_attention_layernorm", epsilon),
        )
        return [multiplied(c, one, residual), multiplied(c, two, residual)]

    blocks = layered(layers, layer, c.norm("rms", "model.norm", epsilon))
    W_E = c.take("model.embed_tokens.weight", None, heads.model)
    ends: dict[str, Any] = {}
    W_U = c.readout(W_E, tied=kind == "smollm3")
    if kind == "granite":
        W_E = c.scaled("the embeddings", W_E, _float32(c.number("embedding_multiplier", 1.0)))
        divisor = c.number("logits_scaling", 1.0)
        ends = {} if divisor == 1.0 else {"logit_divisor": _float32(divisor)}
    return c.finished(blocks, W_E, W_U, positions=_positions(c, layers), **ends)


def _positions(c: Checkpoint, layers: int) -> int:
    positions = c.count("max_position_embeddings", 2048)
    if c.family == "mistral":
        return window(c, layers, positions)
    if c.family not in ("qwen2", "qwen3", "smollm3"):
        return positions
    used = c.flag("use_sliding_window", False)
    kinds, first = (
        c.each("layer_types", layers, "sliding_attention", "full_attention"),
        c.field("max_window_layers", 28),
    )
    if type(first) is not int or first < 0:
        c.refuse("max_window_layers", "an integer of at least 0")
    if kinds is None:
        kinds = [
            "sliding_attention" if c.family == "smollm3" or i >= first else "full_attention" for i in range(layers)
        ]
    return window(c, layers, positions, used=used, kinds=kinds)


def _turned_layers(c: Checkpoint, layers: int) -> list[bool]:
    if c.family != "smollm3":
        return [True] * layers
    every = c.count("no_rope_layer_interval", 4)
    flags = c.each("no_rope_layers", layers, 0, 1) or [int((i + 1) % every != 0) for i in range(layers)]
    return [bool(one) for one in flags]


def _float32(number: float) -> float:
    """Return the number that a host multiplies float32 tensors by."""
    return float(np.float32(number))
