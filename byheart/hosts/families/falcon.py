"""Read Falcon with rotary positions: three layouts of the maps, one or two norms before parallel branches.

Page: docs/hosts.md
"""

from collections.abc import Mapping
from typing import Any

from byheart.hosts.families.checkpoint import Checkpoint
from byheart.hosts.families.decoder import Heads, layered, neurons
from byheart.hosts.families.gpt_neox import interleaved
from byheart.hosts.families.rotation import rotation
from constructions.model.blocks import Attention, Block, Normalization
from constructions.model.model import Model
from verify.arithmetic.rounding import Floats


def model_of(tensors: Mapping[str, Floats], config: Mapping[str, Any]) -> Model:
    """Return the model of a checkpoint.

    Raises:
        InputError: A field or a tensor that is not read; names the family and it.
    """
    c = Checkpoint(tensors, config)
    c.only("alibi", False)
    d, count = c.count("hidden_size"), c.count("num_attention_heads", also=("n_head",))
    new, one_key, shifts = c.flag("new_decoder_architecture", False), c.flag("multi_query", True), c.flag("bias", False)
    keys = c.count("num_kv_heads", count, also=("n_head_kv",)) if new or not one_key else 1
    c.field("num_kv_heads", also=("n_head_kv",))
    if not new and keys not in (1, count):
        c.refuse("num_kv_heads", f"{count}: without multi_query each head has keys of its own")
    heads, epsilon = Heads(d, count, keys, d // count), c.number("layer_norm_epsilon", 1e-5)
    parallel = c.flag("parallel_attn", True)
    if new and not parallel:
        c.refuse("parallel_attn", "true in the new architecture, which knows no other")
    norms = c.field("num_ln_in_parallel_attn", 2 if new else 1)
    if norms not in (1, 2) or (norms == 2 and not new):
        c.refuse("num_ln_in_parallel_attn", "1, or 2 in the new architecture")
    frequencies, activation = rotation(c, heads.width), c.activation("activation", "gelu")
    width = 4 * d if c.field("ffn_hidden_size") is None else c.count("ffn_hidden_size")

    def norm(place: str) -> Normalization:
        return c.norm("layer", place, epsilon, shift=True)

    def layer(i: int) -> list[Block]:
        place = f"transformer.h.{i}"
        columns = (count + 2 * keys) * heads.width
        W, b = c.linear(f"{place}.self_attention.query_key_value", d, columns, shift=shifts)
        if not new and not one_key:
            maps: dict[str, Any] = interleaved(W, b, count, heads.width)
        else:
            maps = {f"W_{x}": map for x, map in zip("QKV", _grouped(W, heads), strict=True)}
            if b is not None:
                maps |= {f"b_{x}": map[:, 0] for x, map in zip("QKV", _grouped(b[None], heads), strict=True)}
        W_O, b_O = c.linear(f"{place}.self_attention.dense", d, d, shift=shifts)
        first = norm(f"{place}.{'ln_attn' if norms == 2 else 'input_layernorm'}")
        second = (
            first if parallel and norms == 1 else norm(f"{place}.{'ln_mlp' if new else 'post_attention_layernorm'}")
        )
        one = Attention(
            **maps,
            W_O=W_O.reshape(count, heads.width, d),
            b_O=b_O,
            attends="causal",
            score_root=heads.width,
            frequencies=frequencies,
            norm=first,
        )
        names = ("dense_h_to_4h", "dense_4h_to_h")
        two = neurons(
            c, f"{place}.mlp", names, activation=activation, width=width, shifts=shifts, norm=second, parallel=parallel
        )
        return [one, two]

    layers = c.count("num_hidden_layers", also=("n_layer",))
    blocks = layered(layers, layer, norm("transformer.ln_f"))
    W_E = c.take("transformer.word_embeddings.weight", None, d)
    return c.finished(blocks, W_E, c.readout(W_E, tied=True), positions=c.count("max_position_embeddings", 2048))


def _grouped(W: Floats, heads: Heads) -> list[Floats]:
    """Split maps that are stored group by group: the queries of a group, its keys, its values."""
    queries_per_key = heads.count // heads.keys
    groups = W.reshape(len(W), heads.keys, queries_per_key + 2, heads.width).transpose(1, 2, 0, 3)
    return [
        groups[:, :queries_per_key].reshape(heads.count, len(W), heads.width),
        groups[:, queries_per_key],
        groups[:, queries_per_key + 1],
    ]
