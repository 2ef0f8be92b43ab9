"""Append the neurons of an edit to a feed-forward block of a model, and remove them again.

Page: docs/claims/editing.md
"""

from dataclasses import dataclass, replace

import numpy as np

from constructions.errors import InputError
from constructions.model.blocks import Attention, Block, FeedForward, Normalization
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array


@dataclass(frozen=True, eq=False)
class Site:
    """A feed-forward block that neurons can be appended to.

    Args:
        place: Which block of the model it is.
        neurons: The block.
        norm: The normalization that its neurons read behind.
        final: The last block of the model.
        reads: The blocks whose stream the neurons read.
        is_last: Whether the stream after it is read by the last normalization alone.
    """

    place: int
    neurons: FeedForward
    norm: Normalization
    final: Normalization
    reads: tuple[Block, ...]
    is_last: bool


@dataclass(frozen=True, eq=False)
class Appended:
    r"""Neurons $\varphi(\langle a, y \rangle + b)\, o$ at the end of a block.

    Args:
        weights: The a as columns, `[d_model, edits]`.
        shifts: The b, `[edits]`.
        writes: The o, `[edits, d_model]`.
    """

    weights: Float64Array
    shifts: Float64Array
    writes: Float64Array


def editable(model: Model, layer: int | None = None) -> Site:
    """Return the feed-forward block to which neurons can be appended.

    Args:
        model: A model of tokens that ends with a normalization.
        layer: Which feed-forward block, counted from 0; the last one by default.

    Raises:
        InputError: There is no such block, its neurons read the stream without a normalization, have no shifts, or the
            model bends its logits; says which.
    """
    kinds = [block.options()["kind"] for block in model.blocks]
    places = [place for place, block in enumerate(model.blocks) if isinstance(block, FeedForward)]
    if not model.reads_tokens or not places or not isinstance(model.blocks[-1], Normalization):
        raise InputError("model", f"has the blocks {kinds}", "tokens, neurons and a last normalization")
    if layer is not None and not 0 <= layer < len(places):
        raise InputError("layer", f"= {layer}", f"one from 0 to {len(places) - 1}: so many blocks have neurons")
    place = places[-1 if layer is None else layer]
    neurons, final, is_last = model.blocks[place], model.blocks[-1], place == len(kinds) - 2
    assert isinstance(neurons, FeedForward)
    if layer is None and not is_last:
        raise InputError("model", f"ends with the blocks {kinds[-2:]}", "neurons and a last normalization")
    if neurons.norm is None or not neurons.skip or neurons.post_norm is not None:
        raise InputError(
            "the neurons of model",
            "read the stream without a normalization, are not added to it, or have a norm after them",
            "only one before them",
        )
    if model.logit_divisor is not None or model.logit_cap is not None:
        raise InputError("the logits of model", "are divided or capped", "plain logits")
    if neurons.b_in is None or (neurons.W_gate is not None and neurons.b_gate is None):
        raise InputError(
            "the neurons of model", "have no shifts b_in (or b_gate)", "some: a plane through 0 cuts off no fact"
        )
    first = place - 1 if neurons.parallel else place
    if not is_last and any(isinstance(b, Attention) and b.attends != "causal" for b in model.blocks[:first]):
        raise InputError("an attention of model", "reads what comes later", "causal ones before an earlier layer")
    return Site(place, neurons, neurons.norm, final, model.blocks[:first], is_last)


def appended(model: Model, edits: int, layer: int | None = None) -> Appended:
    """Return the last neurons of a block.

    With a gate they are gates next to a factor of 1, which makes them neurons without one.

    Raises:
        InputError: A block that cannot be edited, or gated neurons whose other factor is not 1.
    """
    block = editable(model, layer).neurons
    if not 1 <= edits <= block.d_mlp:
        raise InputError("edits", f"is {edits}", f"from 1 to the {block.d_mlp} neurons of a block")
    new_neurons = slice(block.d_mlp - edits, None)
    reads, shifts = block.W_in, block.b_in
    if block.W_gate is not None:
        assert shifts is not None
        if block.W_in[:, new_neurons].any() or not (shifts[new_neurons] == 1.0).all():
            raise InputError("the last neurons of model", "are not gates with a factor of 1", "W_in 0 and b_in 1")
        reads, shifts = block.W_gate, block.b_gate
    assert shifts is not None
    return Appended(reads[:, new_neurons], shifts[new_neurons], block.W_out[new_neurons])


def with_neurons(model: Model, neurons: Appended, *, layer: int | None = None, everywhere: bool = False) -> Model:
    """Return the model with neurons appended to a feed-forward block; in a gated block they are gates with a factor of
    1.

    Args:
        model: As `editable` takes it.
        neurons: What they read and write.
        layer: Number of the block; the last one by default.
        everywhere: Give all other feed-forward blocks as many neurons of zeros, which do nothing: a host that has one
            width for all layers needs them.

    Returns:
        The model.

    Raises:
        InputError: A model that cannot be edited, or tensors of other shapes.

    Example:
        >>> norm = Normalization("rms", w=np.ones(2))
        >>> one = FeedForward(np.ones((2, 1)), np.ones((1, 2)), b_in=np.ones(1), norm=norm)
        >>> model = Model(blocks=(one, norm), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.zeros((1, 2)))
        >>> two = with_neurons(model, Appended(np.ones((2, 1)), np.ones(1), np.ones((1, 2))))
        >>> two.blocks[0].d_mlp, without_neurons(two, 1).sha256() == model.sha256()
        (2, True)
    """
    site = editable(model, layer)
    nothing = Appended(*(np.zeros_like(x) for x in (neurons.weights, neurons.shifts, neurons.writes)))

    def grown(place: int, block: Block) -> Block:
        if place == site.place:
            return _grown(site.neurons, neurons, 1.0)
        return _grown(block, nothing, 0.0) if everywhere and isinstance(block, FeedForward) else block

    return replace(model, blocks=tuple(grown(place, block) for place, block in enumerate(model.blocks)))


def without_neurons(model: Model, edits: int, *, layer: int | None = None, everywhere: bool = False) -> Model:
    """Return the model without the last `edits` neurons of a feed-forward block.

    Args:
        model: As `editable` takes it.
        edits: Number of neurons.
        layer: Number of the block; the last one by default.
        everywhere: Take as many from all other feed-forward blocks, where they have to be zeros.

    Raises:
        InputError: A model that cannot be edited, that has fewer neurons, or neurons elsewhere that are not zeros.
    """
    site = editable(model, layer)
    appended(model, edits, layer)

    def cut(place: int, block: Block) -> Block:
        if place == site.place:
            return _cut(site.neurons, edits, zeros=False)
        return _cut(block, edits, zeros=True) if everywhere and isinstance(block, FeedForward) else block

    return replace(model, blocks=tuple(cut(place, block) for place, block in enumerate(model.blocks)))


def _grown(block: FeedForward, neurons: Appended, factor: float) -> FeedForward:
    shifts = np.full_like(neurons.shifts, factor)
    if block.W_gate is None:
        W_in = np.concatenate([block.W_in, neurons.weights], axis=1)
        tensors = {"W_in": W_in, "b_in": _longer(block.b_in, neurons.shifts)}
    else:
        W_in = np.concatenate([block.W_in, np.zeros_like(neurons.weights)], axis=1)
        W_gate = np.concatenate([block.W_gate, neurons.weights], axis=1)
        tensors = {"W_in": W_in, "b_in": _longer(block.b_in, shifts)}
        tensors |= {"W_gate": W_gate, "b_gate": _longer(block.b_gate, neurons.shifts)}
    return replace(block, **tensors, W_out=np.concatenate([block.W_out, neurons.writes]))


def _longer(shifts: Float64Array | None, more: Float64Array) -> Float64Array | None:
    return None if shifts is None else np.concatenate([shifts, more])


def _cut(block: FeedForward, edits: int, *, zeros: bool) -> FeedForward:
    kept = block.d_mlp - edits
    if kept < 0:
        raise InputError("edits", f"is {edits}", f"at most the {block.d_mlp} neurons of a block")
    parts = {name: getattr(block, name) for name in ("W_in", "b_in", "W_gate", "b_gate")}
    parts = {name: x for name, x in parts.items() if x is not None}
    if zeros and (block.W_out[kept:].any() or any(x[..., kept:].any() for x in parts.values())):
        raise InputError(f"the last {edits} neurons of another block", "are not zeros", "them to be")
    cut = {name: x[..., :kept] for name, x in parts.items()}
    return replace(block, **cut, W_out=block.W_out[:kept])
