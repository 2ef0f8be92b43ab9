"""Adapt a model to the requirements of other libraries: a residual stream, equal layers, scales, shifts.

Every function takes a `Model` and returns one with the same outputs at the last position, in exact arithmetic: padding
adds zeros, which change no sum, and a factor that is a power of two rounds nothing. So a certificate of the model is
one of what is written. `with_score_root` alone may round, and `scales_exactly` tells where.

Page: docs/hosts.md
"""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from byheart.hosts.number_types import rounded_to
from constructions.errors import InputError
from constructions.model.blocks import (
    Activation,
    Attends,
    Attention,
    Block,
    FeedForward,
    Normalization,
    Tensor,
    tensor_fields,
)
from constructions.model.model import Model

FEW_ENTRIES = 2**20  # of the maps of all heads, 8 MiB in float64; so many are written for a proof of every run
_INPUT_AXES = {"W_Q": 1, "W_K": 1, "W_V": 1, "W_in": 0}
_OUTPUTS = ("W_O", "b_O", "W_out", "b_out")  # of which the last axis is that of the stream


def rounded_model(model: Model, dtype: str) -> Model:
    """Return the model with every entry of every tensor rounded to the nearest number of a type, as float64.

    Args:
        model: A model of float64 tensors.
        dtype: One of `number_types.DTYPES`.

    Returns:
        The model; for ``float64`` an equal one.

    Raises:
        InputError: An entry beyond the range of the type; names the tensor.

    Example:
        >>> one = np.ones((1, 1))
        >>> rounded_model(Model(blocks=(), W_U=one / 3, W_E=one, W_pos=one), "float16").W_U.item()
        0.333251953125
    """
    return model.with_each(lambda name, tensor: rounded_to(name, tensor, dtype))


def with_residual_stream(model: Model, *, extra: int = 0) -> Model:
    """Return an equivalent model whose blocks all have a skip connection, for hosts that require it.

    The stream is widened: a block without a skip connection writes into coordinates of its own, which were zero, and
    later blocks read those instead of the old ones. Nothing is rounded.

    Args:
        model: A model that reads tokens.
        extra: Further coordinates of the stream, which stay zero.

    Returns:
        The model; its stream has the width of the old one, plus those of the rows that such blocks write, plus `extra`.

    Raises:
        InputError: The model reads vectors; or a normalization would see the other coordinates too.

    Example:
        >>> one = np.ones
        >>> block = FeedForward(one((2, 4)), one((4, 3)), skip=False)
        >>> wide = with_residual_stream(Model(blocks=(block,), W_U=one((3, 5)), W_E=one((6, 2)), W_pos=one((1, 2))))
        >>> wide.d_model, wide.blocks[0].skip, wide.W_U[:, 0].tolist()
        (5, True, [0.0, 0.0, 1.0, 1.0, 1.0])
    """
    require_tokens(model)
    missing = [block.d_out for block in model.blocks if not isinstance(block, Normalization) and not block.skip]
    width = model.d_model + sum(missing) + extra
    if width == model.d_model:
        return model
    if norms_of(model):
        raise InputError(
            "the model",
            f"has normalizations, and {len(missing)} blocks without a skip connection or a stream that has to be wider",
            "not both: the normalizations would see the other coordinates too",
        )
    live = whole = slice(0, model.d_model)
    free = model.d_model
    blocks: list[Block] = []
    for block in model.blocks:
        assert not isinstance(block, Normalization)
        changes = {name: _placed(getattr(block, name), width, axis, live) for name, axis in _input_axes(block)}
        if not block.skip:
            live = slice(free, free + block.d_out)
            free = live.stop
        changes |= {name: _placed(tensor, width, -1, live) for name, tensor in tensor_fields(block) if name in _OUTPUTS}
        blocks.append(replace(block, skip=True, **changes))
    ends = {name: _placed(getattr(model, name), width, 1, whole) for name in ("W_E", "W_pos")}
    return replace(model, blocks=tuple(blocks), W_U=_placed(model.W_U, width, 0, live), **ends)


def without_output_shift(model: Model) -> Model:
    """Return an equivalent model without `b_U`; an additional coordinate of the stream, always 1, carries it.

    Args:
        model: A model that reads tokens.

    Returns:
        The model, of one more dimension where it had a shift.

    Raises:
        InputError: The model has a shift and a normalization, which would see the other coordinate too.

    Example:
        >>> one = np.ones((1, 1))
        >>> without_output_shift(Model(blocks=(), W_U=one, b_U=one[0] * 5, W_E=one, W_pos=one)).W_U.tolist()
        [[1.0], [5.0]]
    """
    if model.b_U is None:
        return model
    wide = with_residual_stream(replace(model, b_U=None), extra=1)
    W_pos, W_U = wide.W_pos.copy(), wide.W_U.copy()
    W_pos[:, -1], W_U[-1] = 1, model.b_U
    return replace(wide, W_pos=W_pos, W_U=W_U)


def direction(model: Model) -> Attends:
    """Return an attention direction for all blocks that does not change the outputs: ``"causal"`` or ``"all"``.

    The outputs are read at the last position, from which the last attention sees every position whichever way it looks.

    Args:
        model: A model that reads tokens.

    Returns:
        ``"causal"`` where that is possible.

    Raises:
        InputError: Blocks before the last attention that look in different ways, or leave a single row.

    Example:
        >>> one = np.ones((1, 1, 1))
        >>> last = Attention(one, one, one, one, attends="last")
        >>> direction(Model(blocks=(last,), W_U=one[0], W_E=one[0], W_pos=one[0]))
        'causal'
    """
    looks = [block.attends for block in model.blocks if isinstance(block, Attention)]
    if set(looks[:-1]) <= {"causal"}:
        return "causal"
    if set(looks[:-1]) == {"all"}:
        return "all"
    raise InputError("the attention blocks", f"look {looks}", "'causal' or 'all' for all of them but the last one")


def in_equal_layers(model: Model, *, d_head: int | None = None) -> Model:
    """Return an equivalent model of equal layers: one attention each, and neurons in each if the model has any.

    Heads and neurons that are missing are zero: they add nothing. All shifts are there, zero where there were none.

    Args:
        model: A model that reads tokens, whose blocks have skip connections.
        d_head: Dimension of queries, keys and values; by default the largest of the model.

    Returns:
        The model: attention and feed-forward blocks in turn, or attention blocks alone, and perhaps a last
        normalization.

    Raises:
        InputError: Blocks that no such layers hold: of several activations, normalizations of several kinds or only
            here and there, or attention that looks in several ways.

    Example:
        >>> one = np.ones
        >>> heads = Attention(one((3, 2, 1)), one((3, 2, 1)), one((3, 2, 4)), one((3, 4, 2)))
        >>> model = Model(blocks=(heads,), W_U=one((2, 5)), W_E=one((5, 2)), W_pos=one((2, 2)))
        >>> equal = in_equal_layers(model)
        >>> equal.d_qk, equal.d_head, equal.attention.b_O.tolist(), equal.attention.attends
        (4, 4, [0.0, 0.0], 'causal')
    """
    require_tokens(model)
    attentions = [block for block in model.blocks if isinstance(block, Attention)]
    neurons = [block for block in model.blocks if isinstance(block, FeedForward)]
    activations: list[Activation] = sorted({block.activation for block in neurons})
    if len(activations) > 1:
        raise InputError("the blocks", f"have the activations {', '.join(activations)}", "one")
    *_, last = [None, *model.blocks]
    final = last if isinstance(last, Normalization) else None
    norm = _common_norm(model, final)
    heads = max([block.n_heads for block in attentions], default=1) or 1
    width = max([1, *(w for block in attentions for w in (block.d_qk, block.d_head))])
    if d_head is not None and d_head < width:
        raise InputError("d_head", f"= {d_head}", f"at least {width}")
    width = d_head or width
    mlp = max([block.d_mlp for block in neurons], default=1) or 1
    root = attentions[0].score_root if attentions else 1
    looks = direction(model)

    zeros = _zeros_like(model)
    nothing = zeros(0, model.d_model, 1)
    silent = Attention(nothing, nothing, nothing, zeros(0, 1, model.d_model), score_root=root)
    activations = activations or ["relu"]
    asleep = FeedForward(zeros(model.d_model, 0), zeros(0, model.d_model), activation=activations[0])
    blocks: list[Block] = []
    for attention, feed_forward in _layers(model.blocks if final is None else model.blocks[:-1]):
        blocks.append(_equal_attention(attention or replace(silent, norm=norm), heads, width, looks))
        if neurons:
            blocks.append(_equal_neurons(feed_forward or replace(asleep, norm=norm), mlp))
    b_U = zeros(model.d_vocab_out) if model.b_U is None else model.b_U
    return replace(model, blocks=(*blocks, *([] if final is None else [_equal_norm(final)])), b_U=b_U)


def with_score_root(model: Model, root: int) -> Model:
    r"""Return a model that divides scores by $\sqrt{\mathrm{root}}$, compensated in W_Q and b_Q.

    The factor is $\sqrt{\mathrm{root} / m}$ with the `score_root` m of the block; where it is no power of two, each
    entry is rounded twice, to float64 (`scales_exactly`).

    Args:
        model: A model of float64 tensors.
        root: The number under the root, an integer of at least 1.

    Returns:
        The model.

    Example:
        >>> one = np.ones((1, 1, 1))
        >>> model = Model(blocks=(Attention(one, one, one, one),), W_U=one[0], W_E=one[0], W_pos=one[0])
        >>> scaled = with_score_root(model, 64)
        >>> scaled.W_Q.item(), scaled.attention.score_root
        (8.0, 64)
    """
    blocks: list[Block] = []
    for block in model.blocks:
        if isinstance(block, Attention):
            factor = _exact_factor(block.score_root, root)
            by = math.sqrt(root / block.score_root) if factor is None else factor
            changes = {name: tensor * by for name, tensor in tensor_fields(block) if name in ("W_Q", "b_Q")}
            block = replace(block, score_root=root, **changes)
        blocks.append(block)
    return replace(model, blocks=tuple(blocks))


def scales_exactly(model: Model, root: int) -> bool:
    """Tell whether `with_score_root` is exact: its factors are powers of two without overflow or underflow.

    Args:
        model: The model that it is applied to.
        root: The number under the root.
    """
    scaled = with_score_root(model, root)
    pairs = zip(model.blocks, scaled.blocks, strict=True)
    return all(
        (factor := _exact_factor(old.score_root, root)) is not None
        and all(np.array_equal(b / factor, a) for a, b in _scaled_tensors(old, new))
        for old, new in pairs
        if isinstance(old, Attention) and isinstance(new, Attention)
    )


def exact_head_width(model: Model, least: int, *, most: int = 0) -> int:
    """Return a width of a head for which scores divided by its root are undone without rounding.

    A run may divide scores by the root of the width, or both factors by its fourth root. Of equal scores of integers it
    is proved that every run has them equal where both roots are powers of two (Theorem R12 of docs/rigour/runs.md).

    Args:
        model: The model.
        least: What the width has to be at least, above 0.
        most: Up to which width it may be wider than needed for such a proof.

    Returns:
        The least 16^k of at least `least` where that is at most `most`, the `score_root` m of the first attention is a
        power of four, and all maps to queries and keys are integers; otherwise the least m 4^k of at least `least`.

    Example:
        >>> one = np.ones((1, 1, 1))
        >>> model = Model(blocks=(Attention(one, one, one, one),), W_U=one[0], W_E=one[0], W_pos=one[0])
        >>> exact_head_width(model, 17), exact_head_width(model, 17, most=1000)
        (64, 256)
    """
    root = next((block.score_root for block in model.blocks if isinstance(block, Attention)), 1)
    wide = _least_width(1, 16, least)
    if wide <= most and _exact_factor(root, wide) is not None and _asks_integers(model):
        return wide
    return _least_width(root, 4, least)


def _asks_integers(model: Model) -> bool:
    """Tell whether all query and key maps and their shifts are integers."""
    attentions = (block for block in model.blocks if isinstance(block, Attention))
    return all(
        bool((np.round(tensor) == tensor).all())
        for block in attentions
        for name, tensor in tensor_fields(block)
        if name in ("W_Q", "W_K", "b_Q", "b_K")
    )


def _least_width(width: int, factor: int, least: int) -> int:
    """Return the least product or quotient of a width and a power of the factor that is an integer >= `least`."""
    while width % factor == 0 and width // factor >= least:
        width //= factor
    while width < least:
        width *= factor
    return width


def require_tokens(model: Model) -> None:
    """Raise `InputError` unless the model reads tokens."""
    if not model.reads_tokens:
        raise InputError("the model", "reads vectors that its task brings", "one that reads tokens")


def norms_of(model: Model) -> list[Normalization]:
    """Return all normalizations of a model, in its blocks and as blocks."""
    candidates = (block if isinstance(block, Normalization) else block.norm for block in model.blocks)
    return [norm for norm in candidates if norm is not None]


def _input_axes(block: Attention | FeedForward) -> list[tuple[str, int]]:
    return [(name, _INPUT_AXES[name]) for name, _ in tensor_fields(block) if name in _INPUT_AXES]


def _scaled_tensors(old: Attention, new: Attention) -> list[tuple[Tensor, Tensor]]:
    pairs = [(old.W_Q, new.W_Q)]
    return pairs if old.b_Q is None or new.b_Q is None else [*pairs, (old.b_Q, new.b_Q)]


def _exact_factor(old: int, new: int) -> Any:
    """Return the root of new / old, if it is a power of two."""
    ratio = Fraction(new, old)
    exponent = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    if exponent % 2 or ratio != Fraction(2) ** exponent:
        return None
    return 2.0 ** (exponent // 2)


def _layers(blocks: tuple[Block, ...]) -> list[tuple[Attention | None, FeedForward | None]]:
    """Group the blocks into layers, each with at most one attention and one block of neurons; at least one layer."""
    layers: list[tuple[Attention | None, FeedForward | None]] = []
    for place, block in enumerate(blocks):
        if isinstance(block, Normalization):
            raise InputError(f"block {place}", "is a normalization", "it within a block or as the last one")
        if isinstance(block, Attention):
            layers.append((block, None))
        elif layers and layers[-1][1] is None:
            layers[-1] = (layers[-1][0], block)
        else:
            layers.append((None, block))
    return layers or [(None, None)]


def _common_norm(model: Model, final: Normalization | None) -> Normalization | None:
    """Return a normalization with gain 1 of the kind that all blocks have; None if no block has one."""
    norms = norms_of(model)
    if not norms:
        return None
    kinds = {(norm.kind, norm.epsilon) for norm in norms}
    if len(kinds) > 1 or len(norms) < len(model.blocks) or final is None:
        raise InputError(
            f"{len(norms)} of {len(model.blocks)} blocks",
            f"have or are normalizations, of the kinds {sorted(kinds)}",
            "one kind in all blocks and at the end, or none",
        )
    if final.kind == "rms" and any(norm.b is not None for norm in norms):
        raise InputError("a normalization of the kind 'rms'", "has a shift", "none")
    return _equal_norm(replace(final, w=np.ones_like(final.w), b=None))


def _equal_norm(norm: Normalization) -> Normalization:
    return norm if norm.kind == "rms" or norm.b is not None else replace(norm, b=np.zeros_like(norm.w))


def _equal_attention(block: Attention, heads: int, width: int, looks: Attends) -> Attention:
    d_model, zeros = block.d_model, _zeros_like(block)
    shapes = {name: (heads, d_model, width) for name in ("W_Q", "W_K", "W_V")}
    shapes |= {"W_O": (heads, width, d_model), "b_O": (d_model,)}
    shapes |= {name: (heads, width) for name in ("b_Q", "b_K", "b_V")}
    norm = None if block.norm is None else _equal_norm(block.norm)
    return replace(block, attends=looks, norm=norm, **{n: _padded(block, n, shapes[n], zeros) for n in shapes})


def _equal_neurons(block: FeedForward, mlp: int) -> FeedForward:
    d_model, zeros = block.d_model, _zeros_like(block)
    shapes = {"W_in": (d_model, mlp), "b_in": (mlp,), "W_out": (mlp, d_model), "b_out": (d_model,)}
    norm = None if block.norm is None else _equal_norm(block.norm)
    return replace(block, norm=norm, **{n: _padded(block, n, shapes[n], zeros) for n in shapes})


def _padded(block: Attention | FeedForward, name: str, shape: tuple[int, ...], zeros: Any) -> Tensor:
    result, tensor = zeros(*shape), getattr(block, name)
    if tensor is not None:
        result[tuple(slice(0, size) for size in tensor.shape)] = tensor
    return result


def _placed(tensor: Tensor, width: int, axis: int, place: slice) -> Tensor:
    """Pad one axis of the tensor with zeros to length `width`."""
    shape, where = list(tensor.shape), [slice(None)] * tensor.ndim
    shape[axis], where[axis] = width, place
    result = np.zeros(shape, dtype=tensor.dtype)
    result[tuple(where)] = tensor
    return result


def _zeros_like(record: Model | Attention | FeedForward) -> Any:
    first = record.W_U if isinstance(record, Model) else next(tensor_fields(record))[1]
    return lambda *shape: np.zeros(shape, dtype=first.dtype)
