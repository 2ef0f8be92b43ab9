"""Read BLOOM: ALiBi slopes instead of positions, a norm after the embedding, its own tanh form of GELU.

Page: docs/hosts.md
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from byheart.hosts.families.checkpoint import Checkpoint
from byheart.hosts.families.decoder import neurons
from byheart.hosts.families.gpt_neox import interleaved
from constructions.model.blocks import Attention, Block, Normalization
from constructions.model.model import Model
from verify.arithmetic.rounding import Floats

_UNREAD = ("attention_softmax_in_fp32", "bias_dropout_fusion", "masked_softmax_fusion", "offset_alibi", "skip_bias_add")


def model_of(tensors: Mapping[str, Floats], config: Mapping[str, Any]) -> Model:
    """Return the model of a checkpoint.

    Raises:
        InputError: A field or a tensor that is not read; names the family and it.
    """
    c = Checkpoint(tensors, config)
    d, count = c.count("hidden_size", 64, also=("n_embed",)), c.count("n_head", 8, also=("num_attention_heads",))
    layers, epsilon, e = (
        c.count("n_layer", 2, also=("num_hidden_layers",)),
        c.number("layer_norm_epsilon", 1e-5),
        d // count,
    )
    behind, slow = c.flag("apply_residual_connection_post_layernorm", False), c.flag("slow_but_exact", False)
    if c.count("pretraining_tp", 1) > 1 and slow:
        c.refuse("slow_but_exact", "false: the host leaves output shifts out where pretraining_tp is above 1")
    for name in (*_UNREAD, "skip_bias_add_qkv", "unk_token_id"):
        c.field(name)  # which the host does not read either
    front = "transformer." if c.has("transformer.word_embeddings.weight") else ""
    slopes = _slopes(count)

    def norm(place: str) -> Normalization:
        return c.norm("layer", f"{front}{place}", epsilon, shift=True)

    def layer(i: int) -> list[Block]:
        place = f"{front}h.{i}"
        W, b = c.linear(f"{place}.self_attention.query_key_value", d, 3 * d, shift=True)
        W_O, b_O = c.linear(f"{place}.self_attention.dense", d, d, shift=True)
        first, second = norm(f"h.{i}.input_layernorm"), norm(f"h.{i}.post_attention_layernorm")
        one = Attention(
            **interleaved(W, b, count, e),
            W_O=W_O.reshape(count, e, d),
            b_O=b_O,
            attends="causal",
            score_root=e,
            slopes=slopes,
            norm=None if behind else first,
        )
        names = ("dense_h_to_4h", "dense_4h_to_h")
        two = neurons(
            c, f"{place}.mlp", names, activation="gelu-bloom", width=4 * d, shifts=True, norm=None if behind else second
        )
        return [first, one, second, two] if behind else [one, two]

    blocks = [norm("word_embeddings_layernorm"), *(block for i in range(layers) for block in layer(i)), norm("ln_f")]
    W_E = c.take(f"{front}word_embeddings.weight", None, d)
    return c.finished(blocks, W_E, c.readout(W_E, tied=True), positions=c.count("seq_length", 2048))


def _slopes(count: int) -> Floats:
    """Return 2^(-8 k / n) for the heads, n the power of two below, and the odd ones of twice as many for the others."""
    n = 2 ** math.floor(math.log2(count))
    beyond = np.arange(1, 1 + 2 * (count - n), 2)
    return np.concatenate([_powers(n, np.arange(1, n + 1)), _powers(2 * n, beyond)])


def _powers(n: int, k: Any) -> Floats:
    base = np.float32(2.0 ** -(2.0 ** -(math.log2(n) - 3)))
    return np.power(np.float64(base), k).astype(np.float32).astype(np.float64)
