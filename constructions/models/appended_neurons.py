r"""The neurons of edits: appended to the last feed-forward block of a model, and taken away again.

Page: docs/claims/editing.md
"""

from dataclasses import replace

import numpy as np

from constructions.arrays import Float64Array
from constructions.errors import InputError
from constructions.models.blocks import FeedForward, Normalization
from constructions.models.model import Model


def editable(model: Model) -> tuple[FeedForward, Normalization]:
    """The last feed-forward block and the final normalization of a model whose facts can be edited there.

    Raises:
        InputError: The last two blocks are others, or the neurons read the stream without a normalization, or have no
            shifts; says which.
    """
    kinds = [block.options()["kind"] for block in model.blocks]
    if not model.reads_tokens or len(kinds) < 2:
        raise InputError("model", f"has the blocks {kinds}", "tokens, neurons and a last normalization")
    neurons, final = model.blocks[-2:]
    if not isinstance(neurons, FeedForward) or not isinstance(final, Normalization):
        raise InputError("model", f"ends with the blocks {kinds[-2:]}", "neurons and a last normalization")
    if neurons.norm is None or not neurons.skip:
        raise InputError(
            "the last neurons of model", "read the stream without a normalization, or are not added to it", "both"
        )
    if not neurons.plain or model.logit_divisor is not None or model.logit_cap is not None:
        raise InputError(
            "the last neurons of model",
            "have a gate, a norm behind them, or stand beside the attention, or its logits are bent",
            "plain neurons and logits",
        )
    if neurons.b_in is None:
        raise InputError("the last neurons of model", "have no shifts b_in", "some: a plane through 0 cuts off no fact")
    return neurons, final


def with_neurons(
    model: Model, weights: Float64Array, shifts: Float64Array, writes: Float64Array, *, everywhere: bool = False
) -> Model:
    """The model with neurons appended to its last feed-forward block.

    Args:
        model: As `editable` takes it.
        weights: What they read with, `[d_model, edits]`.
        shifts: Their shifts, `[edits]`.
        writes: What each adds to the stream, per unit of activation, `[edits, d_model]`.
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
        >>> two = with_neurons(model, np.ones((2, 1)), np.ones(1), np.ones((1, 2)))
        >>> two.blocks[0].d_mlp, without_neurons(two, 1).sha256() == model.sha256()
        (2, True)
    """
    neurons, final = editable(model)
    zeros = np.zeros_like(weights), np.zeros_like(shifts), np.zeros_like(writes)
    before = (_grown(b, *zeros) if everywhere and isinstance(b, FeedForward) else b for b in model.blocks[:-2])
    return replace(model, blocks=(*before, _grown(neurons, weights, shifts, writes), final))


def without_neurons(model: Model, edits: int, *, everywhere: bool = False) -> Model:
    """The model without the last `edits` neurons of its last feed-forward block.

    Args:
        model: As `editable` takes it.
        edits: How many neurons.
        everywhere: Take as many from all other feed-forward blocks, where they have to be zeros.

    Raises:
        InputError: A model that cannot be edited, that has fewer neurons, or neurons elsewhere that are not zeros.
    """
    neurons, final = editable(model)
    before = (_cut(b, edits, zeros=True) if everywhere and isinstance(b, FeedForward) else b for b in model.blocks[:-2])
    return replace(model, blocks=(*before, _cut(neurons, edits, zeros=False), final))


def _grown(block: FeedForward, weights: Float64Array, shifts: Float64Array, writes: Float64Array) -> FeedForward:
    own = np.zeros(block.d_mlp) if block.b_in is None else block.b_in
    return replace(
        block,
        W_in=np.concatenate([block.W_in, weights], axis=1),
        b_in=None if block.b_in is None and not shifts.any() else np.concatenate([own, shifts]),
        W_out=np.concatenate([block.W_out, writes]),
    )


def _cut(block: FeedForward, edits: int, *, zeros: bool) -> FeedForward:
    kept = block.d_mlp - edits
    if edits < 1 or kept < 0:
        raise InputError("edits", f"is {edits}", f"from 1 to the {block.d_mlp} neurons of a block")
    shifts = block.b_in
    if zeros and (
        block.W_in[:, kept:].any() or block.W_out[kept:].any() or (shifts is not None and shifts[kept:].any())
    ):
        raise InputError(f"the last {edits} neurons of a block before the last", "are not zeros", "them to be")
    return replace(
        block, W_in=block.W_in[:, :kept], b_in=None if shifts is None else shifts[:kept], W_out=block.W_out[:kept]
    )
