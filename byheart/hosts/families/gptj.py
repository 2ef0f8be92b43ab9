"""Read GPT-J and CodeGen: rotation of neighbours, and parallel neurons that share the norm of the attention.

Page: docs/hosts.md
"""

from collections.abc import Mapping
from typing import Any

from byheart.hosts.families.checkpoint import Checkpoint
from byheart.hosts.families.decoder import Heads, attention, layered, neurons
from byheart.hosts.families.rotation import powers
from constructions.model.blocks import Attention, Block
from constructions.model.model import Model
from verify.arithmetic.rounding import Floats

_SHARDS = 4  # of the maps of CodeGen, each with queries, values and keys in this order


def model_of(tensors: Mapping[str, Floats], config: Mapping[str, Any]) -> Model:
    """Return the model of a checkpoint of one of these families.

    Raises:
        InputError: A field or a tensor that is not read; names the family and it.
    """
    c = Checkpoint(tensors, config)
    d, count = c.count("n_embd", also=("hidden_size",)), c.count("n_head", also=("num_attention_heads",))
    epsilon, activation = c.number("layer_norm_epsilon", 1e-5), c.activation("activation_function", "gelu_new")
    heads = Heads(d, count, count, d // count)
    inner = c.field("n_inner")
    width = 4 * d if inner is None else c.count("n_inner")
    turned = c.count("rotary_dim", 64)
    if turned % 2 or turned > heads.width:
        c.refuse("rotary_dim", f"an even number up to {heads.width}")
    turn: dict[str, Any] = {"frequencies": powers(10000.0, turned).astype(float), "turned": "neighbours"}

    def layer(i: int) -> list[Block]:
        place = f"transformer.h.{i}"
        norm = c.norm("layer", f"{place}.ln_1", epsilon, shift=True)
        names = ("fc_in", "fc_out")
        two = neurons(
            c, f"{place}.mlp", names, activation=activation, width=width, shifts=True, norm=norm, parallel=True
        )
        if c.family == "gptj":
            return [attention(c, heads, f"{place}.attn", output="out_proj", norm=norm, **turn), two]
        W, _ = c.linear(f"{place}.attn.qkv_proj", d, 3 * d, shift=False)
        if count % _SHARDS:
            c.refuse("n_head", f"a multiple of {_SHARDS}")
        parts = W.reshape(d, _SHARDS, 3, d // _SHARDS).transpose(2, 0, 1, 3).reshape(3, d, d)
        W_Q, W_V, W_K = (heads.split(part, None, count)[0] for part in parts)
        W_O, _ = c.linear(f"{place}.attn.out_proj", d, d, shift=False)
        one = Attention(
            W_Q,
            W_K,
            W_V,
            W_O.reshape(count, heads.width, d),
            attends="causal",
            score_root=heads.width,
            norm=norm,
            **turn,
        )
        return [one, two]

    final = c.norm("layer", "transformer.ln_f", epsilon, shift=True)
    blocks = layered(c.count("n_layer", also=("num_hidden_layers",)), layer, final)
    W_E = c.take("transformer.wte.weight", None, d)
    W_U, b_U = c.readout(W_E, tied=False), c.take("lm_head.bias")
    positions = c.count("n_positions", 2048, also=("max_position_embeddings",))
    c.field("n_ctx")  # another name for the same
    return c.finished(blocks, W_E, W_U, b_U=b_U, positions=positions)
