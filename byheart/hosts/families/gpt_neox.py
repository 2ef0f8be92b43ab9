"""Read GPT-NeoX (Pythia): maps interleaved by head, parallel neurons with their own norm.

Page: docs/hosts.md
"""

from collections.abc import Mapping
from typing import Any

from byheart.hosts.families.checkpoint import Checkpoint
from byheart.hosts.families.decoder import layered, neurons
from byheart.hosts.families.rotation import rotation
from constructions.model.blocks import Attention, Block
from constructions.model.model import Model
from verify.arithmetic.rounding import Floats


def model_of(tensors: Mapping[str, Floats], config: Mapping[str, Any]) -> Model:
    """Return the model of a checkpoint.

    Raises:
        InputError: A field or a tensor that is not read; names the family and it.
    """
    c = Checkpoint(tensors, config)
    d, count, epsilon = c.count("hidden_size"), c.count("num_attention_heads"), c.number("layer_norm_eps", 1e-5)
    e, width, shifts = d // count, c.count("intermediate_size"), c.flag("attention_bias", True)
    frequencies, activation = rotation(c, e, share=0.25), c.activation("hidden_act", "gelu")
    parallel = c.flag("use_parallel_residual", True)

    def layer(i: int) -> list[Block]:
        place = f"gpt_neox.layers.{i}"
        W, b = c.linear(f"{place}.attention.query_key_value", d, 3 * d, shift=shifts)
        maps = interleaved(W, b, count, e)
        W_O, b_O = c.linear(f"{place}.attention.dense", d, d, shift=shifts)
        one = Attention(
            **maps,
            W_O=W_O.reshape(count, e, d),
            b_O=b_O,
            attends="causal",
            score_root=e,
            frequencies=frequencies,
            norm=c.norm("layer", f"{place}.input_layernorm", epsilon, shift=True),
        )
        names = ("dense_h_to_4h", "dense_4h_to_h")
        norm = c.norm("layer", f"{place}.post_attention_layernorm", epsilon, shift=True)
        two = neurons(
            c, f"{place}.mlp", names, activation=activation, width=width, shifts=True, norm=norm, parallel=parallel
        )
        return [one, two]

    final = c.norm("layer", "gpt_neox.final_layer_norm", epsilon, shift=True)
    blocks = layered(c.count("num_hidden_layers"), layer, final)
    W_E = c.take("gpt_neox.embed_in.weight", None, d)
    W_U = c.readout(W_E, "embed_out" if c.has("embed_out.weight") else "lm_head", tied=False)
    return c.finished(blocks, W_E, W_U, positions=c.count("max_position_embeddings", 2048))


def interleaved(W: Floats, b: Floats | None, count: int, e: int) -> dict[str, Any]:
    """Query, key and value maps that lie side by side head by head, [heads, 3, e]."""
    W_Q, W_K, W_V = W.reshape(len(W), count, 3, e).transpose(2, 1, 0, 3)
    shifts = [None] * 3 if b is None else list(b.reshape(count, 3, e).transpose(1, 0, 2))
    return {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, **dict(zip(("b_Q", "b_K", "b_V"), shifts, strict=True))}
