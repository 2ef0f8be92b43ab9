"""Read StableLM: layer norms, partial rotary positions, a norm per head, optional parallel neurons.

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
    """Return the model of a checkpoint.

    Raises:
        InputError: A field or a tensor that is not read; names the family and it.
    """
    c = Checkpoint(tensors, config)
    heads, epsilon = Heads.of(c), c.number("layer_norm_eps", 1e-5)
    frequencies, activation = rotation(c, heads.width, share=0.25), c.activation("hidden_act", "silu")
    shifts, parallel = c.flag("use_qkv_bias", False), c.flag("use_parallel_residual", False)
    width, normed = c.count("intermediate_size"), c.flag("qk_layernorm", False)

    def layer(i: int) -> list[Block]:
        place = f"model.layers.{i}"
        norm = c.norm("layer", f"{place}.input_layernorm", epsilon, shift=True)
        norms: dict[str, Any] = {}
        if normed:
            counts = {"q": heads.count, "k": heads.keys}
            places = {
                x: [f"{place}.self_attn.{x}_layernorm.norms.{h}.weight" for h in range(n)] for x, n in counts.items()
            }
            gains = {x: np.concatenate([c.take(name, heads.width) for name in names]) for x, names in places.items()}
            norms = {f"{x}_norm": Normalization("layer", w, None, epsilon) for x, w in gains.items()}
        one = attention(
            c,
            heads,
            f"{place}.self_attn",
            shifts=shifts,
            output_shift=False,
            frequencies=frequencies,
            norm=norm,
            **norms,
        )
        if not parallel:
            norm = c.norm("layer", f"{place}.post_attention_layernorm", epsilon, shift=True)
        return [one, neurons(c, f"{place}.mlp", activation=activation, width=width, norm=norm, parallel=parallel)]

    final = c.norm("layer", "model.norm", epsilon, shift=True)
    blocks = layered(c.count("num_hidden_layers"), layer, final)
    W_E = c.take("model.embed_tokens.weight", None, heads.model)
    W_U = c.readout(W_E, tied=False)
    return c.finished(blocks, W_E, W_U, positions=c.count("max_position_embeddings", 4096))
