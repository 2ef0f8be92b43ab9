"""Read the layers that most families share: queries, keys, values and gated neurons under Llama's names.

Page: docs/hosts.md
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from byheart.hosts.families.checkpoint import Checkpoint
from constructions.model.blocks import Activation, Attention, Block, FeedForward, Normalization
from verify.arithmetic.rounding import Floats


@dataclass(frozen=True)
class Heads:
    """The number and width of the heads.

    Args:
        model: Width of the stream.
        count: Heads.
        keys: Heads with keys and values of their own.
        width: Width of each of them.
    """

    model: int
    count: int
    keys: int
    width: int

    @classmethod
    def of(cls, c: Checkpoint) -> "Heads":
        """Read the heads from a configuration with Llama's names."""
        model, count = c.count("hidden_size"), c.count("num_attention_heads")
        keys = c.count("num_key_value_heads", count)
        width = c.count("head_dim", max(1, model // count))
        if count % keys:
            c.refuse("num_key_value_heads", f"a divisor of {count}")
        return cls(model, count, keys, width)

    def split(self, W: Floats, b: Floats | None, count: int) -> tuple[Floats, Floats | None]:
        """Return a map [d, count e] and its shift, by head."""
        maps = W.reshape(W.shape[0], count, self.width).transpose(1, 0, 2)
        return maps, None if b is None else b.reshape(count, self.width)


def attention(
    c: Checkpoint,
    heads: Heads,
    place: str,
    *,
    shifts: bool = False,
    output_shift: bool | None = None,
    output: str = "o_proj",
    frequencies: Floats | None = None,
    score_root: int | None = None,
    **options: Any,
) -> Attention:
    """Read an attention whose maps are ``q_proj``, ``k_proj``, ``v_proj`` and `output` under `place`."""
    maps: dict[str, Any] = {}
    for name, count in (("Q", heads.count), ("K", heads.keys), ("V", heads.keys)):
        W, b = c.linear(f"{place}.{name.lower()}_proj", heads.model, count * heads.width, shift=shifts)
        maps[f"W_{name}"], maps[f"b_{name}"] = heads.split(W, b, count)
    shift = shifts if output_shift is None else output_shift
    W_O, b_O = c.linear(f"{place}.{output}", heads.count * heads.width, heads.model, shift=shift)
    maps |= {"W_O": W_O.reshape(heads.count, heads.width, heads.model), "b_O": b_O}
    root = heads.width if score_root is None else score_root
    return Attention(**maps, attends="causal", score_root=root, frequencies=frequencies, **options)


def neurons(
    c: Checkpoint,
    place: str,
    names: Sequence[str] = ("gate_proj", "up_proj", "down_proj"),
    *,
    activation: Activation,
    width: int,
    shifts: bool = False,
    **options: Any,
) -> FeedForward:
    """Read neurons, with a gate if there are three names, without if there are two."""
    *into, out = names
    W_in, b_in = c.linear(f"{place}.{into[-1]}", None, width, shift=shifts)
    W_out, b_out = c.linear(f"{place}.{out}", width, None, shift=shifts)
    gate: dict[str, Any] = {}
    if len(into) == 2:
        gate["W_gate"], gate["b_gate"] = c.linear(f"{place}.{into[0]}", None, width, shift=shifts)
    return FeedForward(W_in, W_out, b_in, b_out, activation=activation, **gate, **options)


def window(c: Checkpoint, layers: int, positions: int, *, used: bool = True, kinds: Sequence[str] | None = None) -> int:
    """Return the largest number of positions: a sliding window masks nothing while a context fits into it."""
    size = c.field("sliding_window")
    slides = used and size is not None and (kinds is None or "sliding_attention" in kinds[:layers])
    return min(positions, c.count("sliding_window")) if slides else positions


def layered(count: int, layer: Callable[[int], Sequence[Block]], final: Normalization) -> list[Block]:
    """Return the blocks of all layers, and the last normalization."""
    return [*(block for i in range(count) for block in layer(i)), final]


def multiplied(c: Checkpoint, block: Any, factor: float) -> Any:
    """Return the block with its output times a number, exactly."""
    if factor == 1.0:
        return block
    names = ("W_O", "b_O") if isinstance(block, Attention) else ("W_out", "b_out")
    tensors = {name: getattr(block, name) for name in names if getattr(block, name) is not None}
    return replace(block, **{name: c.scaled(name, np.asarray(x), factor) for name, x in tensors.items()})
