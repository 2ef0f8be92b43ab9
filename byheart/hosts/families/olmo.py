"""Read OLMo and OLMo 2: norms without gain before each branch, or with gain after it.

Page: docs/hosts.md
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from byheart.hosts.families.checkpoint import Checkpoint
from byheart.hosts.families.decoder import Heads, attention, layered, neurons
from byheart.hosts.families.rotation import rotation
from constructions.model.blocks import Block, Normalization
from constructions.model.model import Model
from verify.arithmetic.rounding import Floats


def model_of(tensors: Mapping[str, Floats], config: Mapping[str, Any]) -> Model:
    """Return the model of a checkpoint of one of these families.

    Raises:
        InputError: A field or a tensor that is not read; names the family and it.
    """
    c = Checkpoint(tensors, config)
    heads, layers, second = Heads.of(c), c.count("num_hidden_layers"), c.family == "olmo2"
    frequencies, activation = rotation(c, heads.width), c.activation("hidden_act", "silu")
    shifts, width = c.flag("attention_bias", False), c.count("intermediate_size")
    epsilon = c.number("rms_norm_eps", 1e-5) if second else 1e-5
    clip = None if second or c.field("clip_qkv") is None else c.number("clip_qkv")
    plain = Normalization("layer", np.ones(heads.model), None, 1e-5)

    def layer(i: int) -> list[Block]:
        place = f"model.layers.{i}"
        one: dict[str, Any] = {"norm": plain, "clip": clip}
        two: dict[str, Any] = {"norm": plain}
        if second:
            norms = {f"{x}_norm": c.norm("rms", f"{place}.self_attn.{x}_norm", epsilon) for x in "qk"}
            one = {"post_norm": c.norm("rms", f"{place}.post_attention_layernorm", epsilon), "norms_all": True, **norms}
            two = {"post_norm": c.norm("rms", f"{place}.post_feedforward_layernorm", epsilon)}
        return [
            attention(c, heads, f"{place}.self_attn", shifts=shifts, frequencies=frequencies, **one),
            neurons(c, f"{place}.mlp", activation=activation, width=width, **two),
        ]

    blocks = layered(layers, layer, c.norm("rms", "model.norm", epsilon) if second else plain)
    W_E = c.take("model.embed_tokens.weight", None, heads.model)
    positions = c.count("max_position_embeddings", 2048)
    return c.finished(blocks, W_E, c.readout(W_E, tied=False), positions=positions)
