"""GPT-Neo (TinyStories): absolute positions, scores that are not scaled, windows in some layers.

Page: docs/hosts.md
"""

from collections.abc import Mapping
from typing import Any

from byheart.hosts.families.checkpoint import Checkpoint
from byheart.hosts.families.decoder import Heads, attention, layered, neurons
from constructions.model.blocks import Block
from constructions.model.model import Model
from verify.arithmetic.rounding import Floats


def model_of(tensors: Mapping[str, Floats], config: Mapping[str, Any]) -> Model:
    """Return the model of a checkpoint.

    Raises:
        InputError: A field or a tensor that is not read; names the family and it.
    """
    c = Checkpoint(tensors, config)
    d, count = c.count("hidden_size"), c.count("num_heads", also=("num_attention_heads",))
    layers = c.count("num_layers", also=("num_hidden_layers",))
    heads, epsilon = Heads(d, count, count, d // count), c.number("layer_norm_epsilon", 1e-5)
    activation, inner = c.activation("activation_function", "gelu_new"), c.field("intermediate_size")
    width = 4 * d if inner is None else c.count("intermediate_size")

    def layer(i: int) -> list[Block]:
        place, names = f"transformer.h.{i}", ("c_fc", "c_proj")
        first, second = (c.norm("layer", f"{place}.ln_{n}", epsilon, shift=True) for n in (1, 2))
        one = attention(
            c,
            heads,
            f"{place}.attn.attention",
            output_shift=True,
            output="out_proj",
            score_root=1,
            norm=first,
        )
        two = neurons(c, f"{place}.mlp", names, activation=activation, width=width, shifts=True, norm=second)
        return [one, two]

    blocks = layered(layers, layer, c.norm("layer", "transformer.ln_f", epsilon, shift=True))
    W_E = c.take("transformer.wte.weight", None, d)
    positions = c.count("max_position_embeddings", 2048)
    W_pos = c.take("transformer.wpe.weight", positions, d)
    size, kinds = c.count("window_size", 256), _kinds(c, layers)
    # A local layer masks nothing as long as a context fits into its window.
    W_pos = W_pos[: min(positions, size) if "local" in kinds else positions]
    return c.finished(blocks, W_E, c.readout(W_E, tied=True), W_pos=W_pos)


def _kinds(c: Checkpoint, layers: int) -> list[str]:
    attention_types, expected = (
        c.field("attention_types", [[["global", "local"], 12]]),
        f"global or local for {layers} layers",
    )
    pairs = attention_types if isinstance(attention_types, list | tuple) else [attention_types]
    if not all(isinstance(pair, list | tuple) and [type(part) for part in pair] == [list, int] for pair in pairs):
        c.refuse("attention_types", f"pairs of a list of kinds and how often, {expected}")
    kinds = [kind for group, times in pairs for _ in range(times) for kind in group]
    stated = c.each("attention_layers", layers, "global", "local") or kinds
    if kinds != stated or len(kinds) != layers or any(kind not in ("global", "local") for kind in kinds):
        c.refuse("attention_types", f"{expected}, as attention_layers says")
    return kinds
