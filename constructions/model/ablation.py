"""Remove a part from a model: a head, a neuron or a single entry.

Page: docs/commands.md
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from constructions.errors import InputError
from constructions.model.model import Model, assembled

Kind = Literal["head", "neuron", "entry"]


@dataclass(frozen=True)
class Part:
    """A part of a model: a head, a neuron, or one entry of a tensor.

    Args:
        kind: One of these kinds.
        tensor: The tensor whose entries are set to 0: the output map of a head or a neuron.
        place: Where in it: the head, the neuron, or all indices of the entry.

    Example:
        >>> str(Part("head", "blocks.0.attn.W_O", (3,))), str(Part("entry", "unembed.W_U", (0, 2)))
        ('head 3 of blocks.0.attn', 'unembed.W_U[0, 2]')
    """

    kind: Kind
    tensor: str
    place: tuple[int, ...]

    def __str__(self) -> str:
        if self.kind == "entry":
            return f"{self.tensor}[{', '.join(map(str, self.place))}]"
        return f"{self.kind} {self.place[0]} of {self.tensor.rpartition('.')[0]}"


def parts(model: Model, *, entries: bool = False) -> Iterator[Part]:
    """Yield the heads and the neurons of a model, or all its entries that are not 0.

    Args:
        model: The weights.
        entries: Whether single entries are meant.

    Returns:
        Iterator of the parts, block by block.

    Example:
        >>> one = np.ones
        >>> from constructions.model.blocks import Attention
        >>> block = Attention(one((2, 3, 1)), one((2, 3, 1)), one((2, 3, 1)), one((2, 1, 3)))
        >>> model = Model(blocks=(block,), W_U=np.eye(3), W_E=one((4, 3)), W_pos=np.zeros((2, 3)))
        >>> [str(part) for part in parts(model)], len(list(parts(model, entries=True)))
        (['head 0 of blocks.0.attn', 'head 1 of blocks.0.attn'], 39)
    """
    for name, tensor in model.tensors().items():
        if entries:
            yield from (Part("entry", name, tuple(map(int, place))) for place in np.argwhere(tensor != 0.0))
        elif name.endswith(".attn.W_O"):
            yield from (Part("head", name, (head,)) for head in range(len(tensor)))
        elif name.endswith(".mlp.W_out"):
            yield from (Part("neuron", name, (neuron,)) for neuron in range(len(tensor)))


def without(model: Model, part: Part) -> Model:
    """Return the model with one part set to 0; a head or neuron then writes nothing.

    Args:
        model: The weights.
        part: One of its `parts`.

    Raises:
        InputError: The model has no such part.

    Example:
        >>> one = np.ones((1, 1))
        >>> model = Model(blocks=(), W_U=one, W_E=one, W_pos=one)
        >>> without(model, Part("entry", "unembed.W_U", (0, 0))).W_U.tolist()
        [[0.0]]
    """
    tensors = model.tensors()
    tensor = tensors.get(part.tensor)
    inside = tensor is not None and len(part.place) <= tensor.ndim
    if tensor is None or not inside or not all(0 <= i < n for i, n in zip(part.place, tensor.shape, strict=False)):
        raise InputError("part", f"is {part}, which the model has not")
    changed = tensor.copy()
    changed[part.place] = 0.0
    return assembled(model.options(), {**tensors, part.tensor: changed})
