"""Read Phi, whose neurons are parallel to the attention, and Phi 3, which is Llama with concatenated maps.

Page: docs/hosts.md
"""

from collections.abc import Mapping
from typing import Any

from byheart.hosts.families.checkpoint import Checkpoint
from byheart.hosts.families.decoder import Heads, attention, layered, neurons, window
from byheart.hosts.families.rotation import rotation
from constructions.model.blocks import Attention, Block, FeedForward
from constructions.model.model import Model
from verify.arithmetic.rounding import Floats


def model_of(tensors: Mapping[str, Floats], config: Mapping[str, Any]) -> Model:
    """Return the model of a checkpoint of one of these families.

    Raises:
        InputError: A field or a tensor that is not read; names the family and it.
    """
    c = Checkpoint(tensors, config)
    return _phi(c) if c.family == "phi" else _phi3(c)


def _phi(c: Checkpoint) -> Model:
    heads, epsilon = Heads.of(c), c.number("layer_norm_eps", 1e-5)
    frequencies, activation = rotation(c, heads.width, share=0.5), c.activation("hidden_act", "gelu_new")
    width, normed = c.count("intermediate_size"), c.flag("qk_layernorm", False)

    def layer(i: int) -> list[Block]:
        place = f"model.layers.{i}"
        norm = c.norm("layer", f"{place}.input_layernorm", epsilon, shift=True)
        norms: dict[str, Any] = {}
        if normed:
            norms = {
                f"{x}_norm": c.norm("layer", f"{place}.self_attn.{x}_layernorm", epsilon, shift=True) for x in "qk"
            }
        one = attention(
            c, heads, f"{place}.self_attn", shifts=True, output="dense", frequencies=frequencies, norm=norm, **norms
        )
        names = ("fc1", "fc2")
        two = neurons(
            c, f"{place}.mlp", names, activation=activation, width=width, shifts=True, norm=norm, parallel=True
        )
        return [one, two]

    final = c.norm("layer", "model.final_layernorm", epsilon, shift=True)
    blocks = layered(c.count("num_hidden_layers"), layer, final)
    W_E = c.take("model.embed_tokens.weight", None, heads.model)
    W_U, b_U = c.readout(W_E, tied=False), c.take("lm_head.bias")
    return c.finished(blocks, W_E, W_U, b_U=b_U, positions=c.count("max_position_embeddings", 2048))


def _phi3(c: Checkpoint) -> Model:
    heads, epsilon = Heads.of(c), c.number("rms_norm_eps", 1e-5)
    frequencies, activation = rotation(c, heads.width), c.activation("hidden_act", "silu")
    width = c.count("intermediate_size")
    c.field("original_max_position_embeddings")  # of frequencies that depend on the length, which are refused

    def layer(i: int) -> list[Block]:
        place = f"model.layers.{i}"
        widths = [heads.count * heads.width, heads.keys * heads.width, heads.keys * heads.width]
        W, _ = c.linear(f"{place}.self_attn.qkv_proj", heads.model, sum(widths), shift=False)
        query, key, value = W[:, : widths[0]], W[:, widths[0] : sum(widths[:2])], W[:, sum(widths[:2]) :]
        W_O, _ = c.linear(f"{place}.self_attn.o_proj", widths[0], heads.model, shift=False)
        one = Attention(
            W_Q=heads.split(query, None, heads.count)[0],
            W_K=heads.split(key, None, heads.keys)[0],
            W_V=heads.split(value, None, heads.keys)[0],
            W_O=W_O.reshape(heads.count, heads.width, heads.model),
            attends="causal",
            score_root=heads.width,
            frequencies=frequencies,
            norm=c.norm("rms", f"{place}.input_layernorm", epsilon),
        )
        both, _ = c.linear(f"{place}.mlp.gate_up_proj", heads.model, 2 * width, shift=False)
        W_out, _ = c.linear(f"{place}.mlp.down_proj", width, heads.model, shift=False)
        norm = c.norm("rms", f"{place}.post_attention_layernorm", epsilon)
        gate, up = both[:, :width], both[:, width:]
        return [one, FeedForward(up, W_out, activation=activation, norm=norm, W_gate=gate)]

    layers = c.count("num_hidden_layers")
    blocks = layered(layers, layer, c.norm("rms", "model.norm", epsilon))
    W_E = c.take("model.embed_tokens.weight", None, heads.model)
    positions = window(c, layers, c.count("max_position_embeddings", 4096))
    return c.finished(blocks, W_E, c.readout(W_E, tied=False), positions=positions)
