"""Read OPT: absolute positions from the third row of their table on, norms before or after each branch, ReLU.

Page: docs/hosts.md
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from byheart.hosts.families.checkpoint import Checkpoint
from byheart.hosts.families.decoder import Heads, attention, neurons
from constructions.model.blocks import Block, Normalization
from constructions.model.model import Model
from verify.arithmetic.rounding import Floats

_OFFSET = 2  # rows of the table that are no position


def model_of(tensors: Mapping[str, Floats], config: Mapping[str, Any]) -> Model:
    """Return the model of a checkpoint.

    Raises:
        InputError: A field or a tensor that is not read; names the family and it.
    """
    c = Checkpoint(tensors, config)
    d, count = c.count("hidden_size"), c.count("num_attention_heads")
    heads, width, shifts = Heads(d, count, count, d // count), c.count("ffn_dim"), c.flag("enable_bias", True)
    activation, before = c.activation("activation_function", "relu"), c.flag("do_layer_norm_before", True)
    gains = c.flag("layer_norm_elementwise_affine", True)
    if c.field("word_embed_proj_dim", d) != d:
        c.refuse("word_embed_proj_dim", f"hidden_size = {d}")

    def norm(place: str) -> Normalization:
        return c.norm("layer", place, 1e-5, shift=True) if gains else Normalization("layer", np.ones(d), None, 1e-5)

    blocks: list[Block] = []
    for i in range(c.count("num_hidden_layers")):
        place = f"model.decoder.layers.{i}"
        first, second = norm(f"{place}.self_attn_layer_norm"), norm(f"{place}.final_layer_norm")
        one = attention(
            c, heads, f"{place}.self_attn", shifts=shifts, output="out_proj", norm=first if before else None
        )
        two = neurons(
            c,
            place,
            ("fc1", "fc2"),
            activation=activation,
            width=width,
            shifts=shifts,
            norm=second if before else None,
        )
        blocks += [one, two] if before else [one, first, two, second]
    if before and not c.flag("_remove_final_layer_norm", False):
        blocks.append(norm("model.decoder.final_layer_norm"))
    W_E = c.take("model.decoder.embed_tokens.weight", None, d)
    positions = c.count("max_position_embeddings", 2048)
    W_pos = c.take("model.decoder.embed_positions.weight", positions + _OFFSET, d)[_OFFSET:]
    c.field("_remove_final_layer_norm")
    return c.finished(blocks, W_E, c.readout(W_E, tied=True), W_pos=W_pos)
