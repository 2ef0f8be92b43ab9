"""StarCoder 2: layer norms, rotary halves, grouped heads, plain neurons.

Page: docs/hosts.md
"""

from collections.abc import Mapping
from typing import Any

from byheart.hosts.families.checkpoint import Checkpoint
from byheart.hosts.families.decoder import Heads, attention, layered, neurons, window
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
    heads, layers, epsilon = Heads.of(c), c.count("num_hidden_layers"), c.number("norm_epsilon", 1e-5)
    frequencies, activation = rotation(c, heads.width), c.activation("hidden_act", "gelu_pytorch_tanh")
    shifts, width = c.flag("use_bias", True), c.count("intermediate_size")

    def layer(i: int) -> list[Block]:
        place, names = f"model.layers.{i}", ("c_fc", "c_proj")
        first, second = (
            c.norm("layer", f"{place}.{name}_layernorm", epsilon, shift=True) for name in ("input", "post_attention")
        )
        one = attention(c, heads, f"{place}.self_attn", shifts=shifts, frequencies=frequencies, norm=first)
        two = neurons(c, f"{place}.mlp", names, activation=activation, width=width, shifts=shifts, norm=second)
        return [one, two]

    blocks = layered(layers, layer, c.norm("layer", "model.norm", epsilon, shift=True))
    W_E = c.take("model.embed_tokens.weight", None, heads.model)
    positions = window(c, layers, c.count("max_position_embeddings", 4096))
    return c.finished(blocks, W_E, c.readout(W_E, tied=True), positions=positions)
