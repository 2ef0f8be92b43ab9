"""Read Gemma, Gemma 2 and the text model of Gemma 3: gains stored minus 1, scaled embeddings, caps, norms after the
branches.

Page: docs/hosts.md
"""

from collections.abc import Mapping
from typing import Any

from byheart.hosts.families.checkpoint import Checkpoint
from byheart.hosts.families.decoder import Heads, attention, layered, neurons, window
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
    heads, layers, first, third = Heads.of(c), c.count("num_hidden_layers"), c.family == "gemma", c.family[5:6] == "3"
    epsilon, width = c.number("rms_norm_eps", 1e-6), c.count("intermediate_size")
    name = "hidden_act" if first else "hidden_activation"
    activation = c.activation(name, "gelu_pytorch_tanh")
    if first and activation == "gelu":  # so the first files say, and their library takes it for the other one
        activation = "gelu-tanh"
    shifts = c.flag("attention_bias", False)
    c.only("use_bidirectional_attention", False)
    root = heads.width if first else c.count("query_pre_attn_scalar", 256)
    caps = {
        cap_name: None if first or c.field(cap_name) is None else c.number(cap_name)
        for cap_name in ("attn_logit_softcapping", "final_logit_softcapping")
    }
    kinds = None if first else _kinds(c, layers)
    positions = c.count("max_position_embeddings", 8192)
    n_ctx = positions if kinds is None else window(c, layers, positions, kinds=kinds)
    turns = {of: rotation(c, heads.width, of=of) for of in set(kinds or ["full_attention"])}

    def norm(place: str) -> Normalization:
        return c.norm("rms", place, epsilon, offset=True)

    def layer(i: int) -> list[Block]:
        place = f"model.layers.{i}"
        one: dict[str, Any] = {"norm": norm(f"{place}.input_layernorm"), "score_cap": caps["attn_logit_softcapping"]}
        two: dict[str, Any] = {"norm": norm(f"{place}.{'post_attention' if first else 'pre_feedforward'}_layernorm")}
        if not first:
            one["post_norm"] = norm(f"{place}.post_attention_layernorm")
            two["post_norm"] = norm(f"{place}.post_feedforward_layernorm")
        if third:
            one |= {f"{x}_norm": norm(f"{place}.self_attn.{x}_norm") for x in "qk"}
        turn = turns["full_attention" if kinds is None else kinds[i]]
        return [
            attention(c, heads, f"{place}.self_attn", shifts=shifts, frequencies=turn, score_root=root, **one),
            neurons(c, f"{place}.mlp", activation=activation, width=width, **two),
        ]

    blocks = layered(layers, layer, norm("model.norm"))
    W_E = c.take("model.embed_tokens.weight", None, heads.model)
    W_U = c.readout(W_E, tied=True)
    W_E = c.scaled("the embeddings", W_E, c.runs_in(heads.model**0.5))
    return c.finished(blocks, W_E, W_U, positions=n_ctx, logit_cap=caps["final_logit_softcapping"])


def _kinds(c: Checkpoint, layers: int) -> list[str]:
    """Return the attention kind of each layer: by default every second one slides, or all except every sixth."""
    every = c.count("sliding_window_pattern", 6, also=("_sliding_window_pattern",)) if c.family == "gemma3_text" else 2
    usual = ["sliding_attention" if (i + 1) % every else "full_attention" for i in range(layers)]
    return c.each("layer_types", layers, "sliding_attention", "full_attention") or usual
