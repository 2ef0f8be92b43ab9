r"""A model: an input, blocks over the residual stream, and a readout at the last position.

Page: docs/conventions.md
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from constructions.errors import FileFormatError, InputError, require_one_of
from constructions.formats.files import canonical_json
from constructions.formats.tensor_file import arrays_sha256, load_tensors, save_tensors
from constructions.model.blocks import (
    BLOCKS,
    Attention,
    Block,
    FeedForward,
    Normalization,
    Tensor,
    frozen,
    norm_fields,
    require_positive,
    tensor_fields,
)

FORMAT = "byheart-model"
VERSION = 2


@dataclass(frozen=True, eq=False)
class Model:
    r"""Everything that memorizes: an input, a tuple of blocks over the residual stream, a readout at the last position.

    The input is either tokens, with $x_s = W_E[t_s] + W_{pos}[s]$ for a context $t_1, \dots, t_S$ (without `W_pos`
    $W_E[t_s]$ alone), or rows that the task brings (no `W_E`). Each block maps the stream to a stream. The logits, or
    outputs, are

    $$ x_{last} W_U + b_U $$

    at the last row of the stream, divided by `logit_divisor` where there is one, and then $c \tanh(\cdot / c)$ of that
    with c = `logit_cap`. Arrays are copied, made C-contiguous and read-only; nothing is rounded, so that a
    certificate about a `Model` is one about the bytes that it is saved as. All tensors are float64, or all are
    rationals (arrays of `fmpq`), whose attention scores are then counted in units of $\ln 2$.

    A model whose only block is an attention (the network of Dana et al., the layer of Mahdavi et al.) offers the
    tensors and sizes of that block as its own: `W_Q`, `n_heads`, `d_head`, ...

    Args:
        blocks: The blocks, in the order in which the stream passes them.
        W_U: Readout, `[d, d_vocab_out]`.
        b_U: Shift of the readout, `[d_vocab_out]`, or none.
        W_E: Embeddings, `[d_vocab, d_model]`; none where the task brings vectors.
        W_pos: Positional embeddings, `[n_ctx, d_model]`, beside `W_E`, or none.
        positions: n_ctx beside `W_E`, where there is no `W_pos`.
        logit_divisor: Above 0, or none.
        logit_cap: Above 0, or none.

    Raises:
        InputError: A tensor of a wrong shape or type, or with a NaN or an infinity; names it.

    Example:
        >>> import numpy as np
        >>> one = np.ones
        >>> neurons = FeedForward(one((2, 8)), one((8, 2)), activation="relu")
        >>> model = Model(blocks=(neurons,), W_U=one((2, 3)), W_E=one((3, 2)), W_pos=one((4, 2)))
        >>> model.d_model, model.n_ctx, model.parameters, list(model.tensors())[2]
        (2, 4, 52, 'blocks.0.mlp.W_in')
    """

    blocks: tuple[Block, ...]
    W_U: Tensor
    b_U: Tensor | None = None
    W_E: Any = None  # a Tensor, or none
    W_pos: Any = None  # a Tensor, or none
    positions: int | None = None
    logit_divisor: float | None = None
    logit_cap: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", tuple(self.blocks))
        for name, dimensions in (("W_E", 2), ("W_pos", 2), ("W_U", 2), ("b_U", 1)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(name, getattr(self, name), dimensions))
                if 0 in getattr(self, name).shape:
                    raise InputError(name, f"has shape {getattr(self, name).shape}", "no dimension of 0")
        is_given = tuple(part is not None for part in (self.W_E, self.W_pos, self.positions))
        if is_given not in ((False, False, False), (True, True, False), (True, False, True)):
            raise InputError(
                "W_E and W_pos",
                "must be given together, or W_E and positions: for tokens, none where the task brings vectors",
            )
        if self.positions is not None and not (type(self.positions) is int and 1 <= self.positions < 2**31):
            raise InputError("positions", f"is {self.positions!r}", "an integer of at least 1")
        for name in ("logit_divisor", "logit_cap"):
            require_positive(name, getattr(self, name))
        if self.W_E is None and not self.blocks:
            raise InputError("blocks", "is empty", "at least one where the task brings vectors")
        self._check_widths()
        kinds = {tensor.dtype for tensor in self.tensors().values()}
        if len(kinds) > 1:
            raise InputError("some tensors", "are float64 and some rational", "all of one kind")

    def _check_widths(self) -> None:
        width = self.d_model
        if self.W_pos is not None and self.W_pos.shape[1] != width:
            raise InputError("W_pos", f"has shape {self.W_pos.shape}", f"(n_ctx, {width}) beside W_E")
        for i, block in enumerate(self.blocks):
            reads = block.width if isinstance(block, Normalization) else block.d_model
            if reads != width:
                raise InputError(f"block {i}", f"reads rows of dimension {reads}, the stream has {width}")
            if isinstance(block, Attention) and block.queries == "task" and (i or self.reads_tokens):
                raise InputError(
                    f"block {i}", "uses queries of the task, which only the first block of a model of vectors may"
                )
            if isinstance(block, FeedForward) and block.parallel and not self._follows_attention(i):
                raise InputError(f"block {i}", "is parallel to a preceding attention, but there is none")
            width = width if isinstance(block, Normalization) else block.d_out
        if self.W_U.shape[0] != width:
            raise InputError("W_U", f"has shape {self.W_U.shape}", f"({width}, d_vocab_out), the width of the stream")
        if self.b_U is not None and self.b_U.shape != self.W_U.shape[1:]:
            raise InputError("b_U", f"has shape {self.b_U.shape}", f"{self.W_U.shape[1:]}, the outputs of W_U")

    def _follows_attention(self, place: int) -> bool:
        before = self.blocks[place - 1] if place else None
        return isinstance(before, Attention) and before.skip and before.d_out == before.d_model

    @property
    def plain(self) -> bool:
        """Whether no block and neither end has extensions of other model families (`Attention.plain`)."""
        ends = (self.positions, self.logit_divisor, self.logit_cap)
        blocks = all(getattr(block, "plain", True) for block in self.blocks)
        return blocks and all(option is None for option in ends)

    @property
    def reads_tokens(self) -> bool:
        """Whether the input is tokens; otherwise the task brings vectors."""
        return self.W_E is not None

    @property
    def is_rational(self) -> bool:
        """Whether the tensors are exact rationals rather than float64."""
        return self.W_U.dtype == object

    @property
    def d_model(self) -> int:
        """Dimension of the stream that the first block reads, the papers' d."""
        if self.W_E is not None:
            return self.W_E.shape[1]
        first = self.blocks[0]
        return first.width if isinstance(first, Normalization) else first.d_model

    @property
    def d_vocab(self) -> int:
        """Number of input tokens, the papers' N; 0 where the task brings vectors."""
        return 0 if self.W_E is None else self.W_E.shape[0]

    @property
    def n_ctx(self) -> int:
        """Context length, the papers' S; 0 where the task brings vectors."""
        return self.positions or (0 if self.W_pos is None else self.W_pos.shape[0])

    @property
    def d_vocab_out(self) -> int:
        """Number of outputs."""
        return self.W_U.shape[1]

    @property
    def attention(self) -> Attention:
        """The attention of a model that has no other block.

        Raises:
            InputError: The model has other blocks.
        """
        if len(self.blocks) != 1 or not isinstance(self.blocks[0], Attention) or not self.plain:
            kinds = [block.options()["kind"] for block in self.blocks]
            raise InputError("the model", f"has the blocks {kinds}", "one attention and nothing else")
        return self.blocks[0]

    @property
    def W_Q(self) -> Tensor:
        """Query maps of the one attention, `[n_heads, d_model, d_qk]`."""
        return self.attention.W_Q

    @property
    def W_K(self) -> Tensor:
        """Key maps of the one attention, `[n_heads, d_model, d_qk]`."""
        return self.attention.W_K

    @property
    def W_V(self) -> Tensor:
        """Value maps of the one attention, `[n_heads, d_model, d_head]`."""
        return self.attention.W_V

    @property
    def W_O(self) -> Tensor:
        """Output maps of the one attention, `[n_heads, d_head, d_out]`."""
        return self.attention.W_O

    @property
    def n_heads(self) -> int:
        """Number of heads of the one attention, the papers' H."""
        return self.attention.n_heads

    @property
    def d_qk(self) -> int:
        """Dimension of queries and keys of the one attention."""
        return self.attention.d_qk

    @property
    def d_head(self) -> int:
        """Dimension of values of the one attention."""
        return self.attention.d_head

    @property
    def parameters(self) -> int:
        """Number of entries of all tensors."""
        return sum(tensor.size for tensor in self.tensors().values())

    @property
    def nonzero(self) -> int:
        """Number of entries of all tensors that are not 0."""
        return sum(int((tensor != 0).sum()) for tensor in self.tensors().values())

    def options(self) -> dict[str, Any]:
        """Return the settings of the model, besides its tensors, as plain data for JSON."""
        fields = {"input": "tokens" if self.reads_tokens else "vectors", "blocks": [b.options() for b in self.blocks]}
        if self.positions is not None:
            fields["positions"] = self.positions
        caps = {"logit_divisor": self.logit_divisor, "logit_cap": self.logit_cap}
        return fields | {name: x.hex() for name, x in caps.items() if x is not None}

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors by the names that TransformerLens gives them, in the order in which they are hashed."""
        return dict(self._named())

    def _named(self) -> Iterator[tuple[str, Tensor]]:
        if self.W_E is not None:
            yield "embed.W_E", self.W_E
        if self.W_pos is not None:
            yield "pos_embed.W_pos", self.W_pos
        for prefix, norm_prefix, block in zip(
            *block_names([b.options() for b in self.blocks]), self.blocks, strict=True
        ):
            for field, norm in norm_fields(block):
                place = norm_prefix if field == "norm" else f"{prefix}.{field}"
                yield from ((f"{place}.{name}", tensor) for name, tensor in tensor_fields(norm))
            yield from ((f"{prefix}.{name}", tensor) for name, tensor in tensor_fields(block))
        yield "unembed.W_U", self.W_U
        if self.b_U is not None:
            yield "unembed.b_U", self.b_U

    def with_each(self, change: Callable[[str, Tensor], Tensor]) -> "Model":
        """Return the model with each tensor replaced by `change(name, tensor)`."""
        return assembled(self.options(), {name: change(name, tensor) for name, tensor in self.tensors().items()})

    def sha256(self) -> str:
        """Hash of the options, and of the names, shapes and little-endian float64 bytes of the tensors, in hexadecimal.

        First the canonical JSON of `options`; then for each tensor, in the order of `tensors`, the ASCII text
        ``name:d1,d2,..;`` and the bytes.

        Raises:
            InputError: The model is rational.
        """
        self._require_float64()
        return arrays_sha256(self.options(), self.tensors())

    def save(self, path: Path) -> None:
        """Write the model to `path` as safetensors, atomically; equal models give equal bytes.

        Raises:
            InputError: The model is rational.
        """
        self._require_float64()
        metadata = {"format": FORMAT, "version": VERSION, **self.options()}
        save_tensors(path, self.tensors(), metadata=metadata)

    @classmethod
    def load(cls, path: Path) -> "Model":
        """Read the model that `save` wrote.

        Raises:
            FileFormatError: The file is missing, truncated, holds other tensors, another dtype, or NaN; or it is of
                another version.
        """
        path = Path(path)
        metadata, tensors = load_tensors(path)
        if not isinstance(metadata, dict) or metadata.get("format") != FORMAT or metadata.get("version") != VERSION:
            raise FileFormatError(
                f"{path} is not a model of version {VERSION}: build it again with this version of byheart "
                "(`byheart memorize` or `byheart build`)"
            )
        try:
            model = assembled(metadata, tensors)
        except KeyError as error:
            raise FileFormatError(f"{path} is not a readable model: {error} is missing") from error
        except (InputError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise FileFormatError(f"{path} is not a readable model: {error}") from error
        stated = {"format": FORMAT, "version": VERSION, **model.options()}
        if canonical_json(stated) != canonical_json(metadata):  # as texts, for 1 == 1.0 == True
            raise FileFormatError(f"{path} is not a readable model: its metadata are not those of its blocks")
        if unknown := sorted(set(tensors) - set(model.tensors())):
            raise FileFormatError(f"{path} is not a readable model: the tensors {unknown} belong to no block")
        return model

    def _require_float64(self) -> None:
        if self.is_rational:
            raise InputError("the model", "is rational", "float64: round it first")


def block_names(options: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the tensor prefixes of each block and of its `norm`, in TransformerLens's naming.

    Another norm of a block has the name of its field after the prefix of the block.

    An attention opens a layer; a feed-forward block belongs to the layer of the attention before it if it has none yet;
    a normalization that is the last block is ``ln_final``; any other, and blocks of other kinds, are named by their
    place.

    Args:
        options: `options` of each block.

    Returns:
        The prefixes of the blocks, and those of their norms.

    Example:
        >>> block_names([{"kind": "attention"}, {"kind": "feed-forward"}, {"kind": "layer"}])[0]
        ['blocks.0.attn', 'blocks.0.mlp', 'ln_final']
    """
    blocks, norms, layer, free = [], [], -1, False
    for place, option in enumerate(options):
        if option["kind"] == "attention":
            layer, free = layer + 1, True
            blocks.append(f"blocks.{layer}.attn")
            norms.append(f"blocks.{layer}.ln1")
        elif option["kind"] == "feed-forward":
            layer, free = (layer, False) if free else (layer + 1, False)
            blocks.append(f"blocks.{layer}.mlp")
            norms.append(f"blocks.{layer}.ln2")
        else:
            of_norm = option["kind"] in ("layer", "rms")
            last = of_norm and place == len(options) - 1
            blocks.append("ln_final" if last else f"norms.{place}" if of_norm else f"rows.{place}")
            norms.append("")
    return blocks, norms


def assembled(options: dict[str, Any], tensors: dict[str, Tensor]) -> Model:
    """Return the model with these `options` and these `tensors`.

    Args:
        options: As `Model.options` gives them.
        tensors: By the names that `Model.tensors` gives them; others are not looked at.

    Returns:
        The model.

    Raises:
        InputError: Tensors or options that make no model.
        KeyError: A tensor or an option is missing.

    Example:
        >>> import numpy as np
        >>> one = np.ones((1, 1))
        >>> model = Model(blocks=(), W_U=one, W_E=one, W_pos=one)
        >>> assembled(model.options(), model.tensors()).sha256() == model.sha256()
        True
    """
    described: list[dict[str, Any]] = options["blocks"]
    blocks: list[Block] = []
    of_place: dict[str, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        place, _, field = name.rpartition(".")
        of_place.setdefault(place, {})[field] = tensor
    for prefix, norm_prefix, option in zip(*block_names(described), described, strict=True):
        block_tensors, option = of_place.get(prefix, {}), dict(option)
        kind = option.pop("kind")
        require_one_of((*BLOCKS, "layer", "rms"), kind=kind)
        if kind in ("layer", "rms"):
            blocks.append(Normalization(kind, **block_tensors, epsilon=float.fromhex(option["epsilon"])))
            continue
        if "norm" not in option:  # a block of its own that acts on each row
            blocks.append(BLOCKS[kind](**block_tensors, **option))
            continue
        option.pop("key_heads", None)  # as the tensors have it
        for name in ("norm", "q_norm", "k_norm", "post_norm"):
            if (norm := option.get(name)) is not None:
                place = of_place.get(norm_prefix if name == "norm" else f"{prefix}.{name}", {})
                option[name] = Normalization(norm["kind"], **place, epsilon=float.fromhex(norm["epsilon"]))
        option |= {name: float.fromhex(option[name]) for name in ("clip", "score_cap") if name in option}
        blocks.append(BLOCKS[kind](**block_tensors, **option))
    ends: dict[str, Any] = {"W_E": tensors.get("embed.W_E"), "W_pos": tensors.get("pos_embed.W_pos")}
    ends |= {"b_U": tensors.get("unembed.b_U"), "positions": options.get("positions")}
    ends |= {name: float.fromhex(options[name]) for name in ("logit_divisor", "logit_cap") if name in options}
    return Model(blocks=tuple(blocks), W_U=tensors["unembed.W_U"], **ends)
