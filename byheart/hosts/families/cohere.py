"""Read Cohere: centred norms without shift, rotation of neighbours, parallel neurons, scaled logits.

Page: docs/hosts.md
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from byheart.hosts.families.checkpoint import Checkpoint
from byheart.hosts.families.decoder import Heads, attention, layered, neurons
from byheart.hosts.families.rotation import rotation
from constructions.model.blocks import Block
from constructions.model.model import Model
from verify.arithmetic.rounding import Floats


def model_of(tensors: Mapping[str, Floats], config: Mapping[str, Any]) -> Model:
    """Return the model of a checkpoint.

    Raises:
        InputError: A field or a tensor that is not read; names the family and it.
    """
    c = Checkpoint(tensors, config)
    heads, epsilon = Heads.of(c), c.number("layer_norm_eps", 1e-5)
    frequencies, activation = rotation(c, heads.width, base=500000.0), c.activation("hidden_act", "silu")
    shifts, normed, width = c.flag("attention_bias", False), c.flag("use_qk_norm", False), c.count("intermediate_size")

    def layer(i: int) -> list[Block]:
        place = f"model.layers.{i}"
        norm = c.norm("layer", f"{place}.input_layernorm", epsilon)
        norms: dict[str, Any] = {}
        if normed:
            norms = {f"{x}_norm": c.norm("layer", f"{place}.self_attn.{x}_norm", epsilon) for x in "qk"}
        one = attention(
            c,
            heads,
            f"{place}.self_attn",
            shifts=shifts,
            frequencies=frequencies,
            turned="neighbours",
            norm=norm,
            **norms,
        )
        return [one, neurons(c, f"{place}.mlp", activation=activation, width=width, norm=norm, parallel=True)]

    blocks = layered(c.count("num_hidden_layers"), layer, c.norm("layer", "model.norm", epsilon))
    W_E = c.take("model.embed_tokens.weight", None, heads.model)
    W_U = c.scaled("the readout", c.readout(W_E, tied=True), float(np.float32(c.number("logit_scale", 0.0625))))
    return c.finished(blocks, W_E, W_U, positions=c.count("max_position_embeddings", 8192))
