"""A model file, read and hashed by the standard library alone: any blocks, by their names and options.

Page: docs/rigour/certificate.md
"""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from constructions.errors import FileFormatError
from constructions.files import canonical_json
from verify.independent.plain.plain_arrays import PlainArray, read_safetensors, reading

_FORMAT = {"format": "byheart-model", "version": 2}
_ATTENDS = ("last", "causal", "all")
_QUERIES = ("stream", "task")
_ACTIVATIONS = ("relu", "gelu", "gelu-tanh", "gelu-bloom", "silu")
_LARGEST_SCORE_ROOT = 2**31
_FIELDS = {  # of each kind: the tensors that there must be, and those that there may be, with their dimensions
    "attention": (
        {"W_Q": 3, "W_K": 3, "W_V": 3, "W_O": 3},
        {"b_Q": 2, "b_K": 2, "b_V": 2, "b_O": 1, "frequencies": 1, "slopes": 1},
    ),
    "feed-forward": ({"W_in": 2, "W_out": 2}, {"b_in": 1, "b_out": 1, "W_gate": 2, "b_gate": 1}),
    "layer": ({"w": 1}, {"b": 1}),
    "rms": ({"w": 1}, {"b": 1}),
}
_OPTIONS = {
    "attention": {"kind", "skip", "attends", "queries", "score_root", "norm"},
    "feed-forward": {"kind", "skip", "activation", "norm"},
    "layer": {"kind", "epsilon"},
    "rms": {"kind", "epsilon"},
}
_BESIDE = {  # of each kind: the options that are there only where they say something
    "attention": {"key_heads", "turned", "norms_all", "q_norm", "k_norm", "clip", "score_cap", "post_norm"},
    "feed-forward": {"post_norm", "parallel"},
}
_NORMS = ("q_norm", "k_norm", "post_norm")  # in the order of the hash
_ENDS = {"positions", "logit_divisor", "logit_cap"}


@dataclass(frozen=True)
class PlainBlock:
    """One block: its kind, its options as the file states them, its own tensors, the norm before it, and others."""

    kind: str
    options: dict[str, Any]
    tensors: dict[str, PlainArray]
    norm: "PlainBlock | None"
    norms: "dict[str, PlainBlock]"

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing that only some files say."""
        return not (set(self.options) & _BESIDE.get(self.kind, set())) and not (
            set(self.tensors) & {"frequencies", "slopes", "W_gate"}
        )

    def shape(self, name: str) -> tuple[int, ...]:
        return self.tensors[name].shape

    @property
    def reads(self) -> int:
        """Dimension of the rows that are read."""
        return {"attention": lambda: self.shape("W_Q")[1], "feed-forward": lambda: self.shape("W_in")[0]}.get(
            self.kind, lambda: self.shape("w")[0]
        )()

    @property
    def writes(self) -> int:
        """Dimension of the rows that are written."""
        return {"attention": lambda: self.shape("W_O")[2], "feed-forward": lambda: self.shape("W_out")[1]}.get(
            self.kind, lambda: self.shape("w")[0]
        )()

    @property
    def epsilon(self) -> float:
        """What a normalization adds under the root."""
        return float.fromhex(self.options["epsilon"])


@dataclass(frozen=True)
class PlainModel:
    """A model of any blocks: its tensors by the names of the file, in the order of the hash, and the hash."""

    blocks: tuple[PlainBlock, ...]
    tensors: dict[str, PlainArray]
    sha256: str
    ends: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> "PlainModel":
        """Read what `constructions.models.model.Model.save` writes, and nothing else.

        The metadata must be the canonical text of a version 2 whose blocks have exactly the keys of their kind and
        allowed values; the tensors exactly the names that follow from the blocks, and the shapes that fit each other.

        Raises:
            FileFormatError: The file is missing or is not such a file.
        """
        with reading(path, "model"):
            metadata, tensors = read_safetensors(path)
            needed = {"format", "version", "input", "blocks"}
            if not isinstance(metadata, dict) or not needed <= set(metadata) <= needed | _ENDS:
                raise FileFormatError(f"{path} does not have the metadata of a model")
            stated = {name: metadata.pop(name) for name in _FORMAT}
            if stated != _FORMAT or type(stated["version"]) is not int:
                raise FileFormatError(f"{path} is of the format {stated}, expected {_FORMAT}")
            if metadata["input"] not in ("tokens", "vectors") or not isinstance(metadata["blocks"], list):
                raise FileFormatError(f"{path} has the input {metadata['input']!r}, or blocks that are no list")
            for options in metadata["blocks"]:
                _require_options(path, options)
            ends_said = {name: metadata[name] for name in _ENDS if name in metadata}
            positions = ends_said.get("positions")
            if not all(name == "positions" or _is_epsilon(value) for name, value in ends_said.items()) or not (
                positions is None or (type(positions) is int and 1 <= positions < 2**31 and "W_E" in _outer(metadata))
            ):
                raise FileFormatError(f"{path} has {ends_said} in its metadata, which is not allowed")
            named = _Named(path, tensors)
            outer = _outer(metadata)
            ends = [named.take(f"{place}.{name}", outer[name]) for name, place in _OUTER.items() if name in outer]
            blocks = tuple(
                _block(named, prefix, norm_prefix, options)
                for prefix, norm_prefix, options in _placed(metadata["blocks"])
            )
            ends.append(named.take("unembed.W_U", 2))
            if "unembed.b_U" in tensors:
                ends.append(named.take("unembed.b_U", 1))
            if set(named.taken) != set(tensors):
                raise FileFormatError(
                    f"{path} holds tensors that belong to no block: {set(tensors) - set(named.taken)}"
                )
            if any(0 in tensor.shape for tensor in ends):
                raise FileFormatError(f"{path}: an embedding or the readout has a dimension of 0")
            digest = hashlib.sha256(canonical_json(metadata).encode("ascii"))
            for name, tensor in named.taken.items():
                digest.update(tensor.hashed(name))
            model = cls(blocks, named.taken, digest.hexdigest(), ends_said)
            _require_widths(path, model)
            return model

    @property
    def reads_tokens(self) -> bool:
        """Whether the input is tokens; otherwise the task brings vectors."""
        return "embed.W_E" in self.tensors

    @property
    def d_model(self) -> int:
        """Dimension of the stream that the first block reads."""
        return self.tensors["embed.W_E"].shape[1] if self.reads_tokens else self.blocks[0].reads

    @property
    def d_vocab_out(self) -> int:
        """Number of outputs."""
        return self.tensors["unembed.W_U"].shape[1]

    @property
    def d_vocab(self) -> int:
        """Number of input tokens; 0 where the task brings vectors."""
        return self.tensors["embed.W_E"].shape[0] if self.reads_tokens else 0

    @property
    def n_ctx(self) -> int:
        """Largest number of positions; 0 where the task brings vectors."""
        if "positions" in self.ends:
            return self.ends["positions"]
        return self.tensors["pos_embed.W_pos"].shape[0] if self.reads_tokens else 0

    @property
    def parameters(self) -> int:
        """Number of entries of all tensors."""
        return sum(math.prod(tensor.shape) for tensor in self.tensors.values())

    def is_one_attention(self, *, skip: bool, queries: str) -> bool:
        """Whether it is one attention from one position, without shifts and norms and with unscaled scores."""
        plain = {
            "kind": "attention",
            "attends": "last",
            "score_root": 1,
            "norm": None,
            "skip": skip,
            "queries": queries,
        }
        bare = "unembed.b_U" not in self.tensors and self.reads_tokens == (queries == "stream") and not self.ends
        return bare and [(b.options, set(b.tensors)) for b in self.blocks] == [(plain, set(_FIELDS["attention"][0]))]


_OUTER = {"W_E": "embed", "W_pos": "pos_embed"}


def _outer(metadata: dict[str, Any]) -> dict[str, int]:
    """The tensors of the input, with their dimensions."""
    if metadata["input"] != "tokens":
        return {}
    return {"W_E": 2} if "positions" in metadata else {"W_E": 2, "W_pos": 2}


class _Named:
    """The tensors of a file, taken one after the other by name, in the order of the hash."""

    def __init__(self, path: Path, tensors: dict[str, PlainArray]) -> None:
        self.path, self.tensors, self.taken = path, tensors, dict[str, PlainArray]()

    def take(self, name: str, dimensions: int) -> PlainArray:
        found = self.tensors.get(name)
        if found is None or len(found.shape) != dimensions:
            shape = "absent" if found is None else found.shape
            raise FileFormatError(f"{self.path}: {name} is {shape}, expected {dimensions} dimensions")
        self.taken[name] = found
        return found


def _require_options(path: Path, options: Any, *, norm: bool = False) -> None:
    """Exactly the keys of the kind, and values that are allowed."""
    kinds = ("layer", "rms") if norm else tuple(_OPTIONS)
    known = isinstance(options, dict) and options.get("kind") in kinds
    if not known or set(options) - _BESIDE.get(options["kind"], set()) != _OPTIONS[options["kind"]]:
        raise FileFormatError(f"{path} has a block with the options {str(options)[:200]}, which no kind has")
    allowed = {
        "skip": lambda value: type(value) is bool,
        "attends": lambda value: value in _ATTENDS,
        "queries": lambda value: value in _QUERIES,
        "score_root": lambda value: type(value) is int and 1 <= value <= _LARGEST_SCORE_ROOT,
        "activation": lambda value: value in _ACTIVATIONS,
        "epsilon": _is_epsilon,
        "kind": lambda value: True,
        "norm": lambda value: True,
        "key_heads": lambda value: type(value) is int and value > 0,
        "turned": lambda value: value in ("halves", "neighbours"),
        "norms_all": lambda value: value is True,
        "parallel": lambda value: value is True,
        **dict.fromkeys(("clip", "score_cap"), _is_epsilon),
        **dict.fromkeys(_NORMS, lambda value: value is not None),
    }
    for name, value in options.items():
        if not allowed[name](value):
            raise FileFormatError(f"{path} has a block with {name} = {str(value)[:60]}, which is not allowed")
    if options.get("queries") == "task" and (
        options["skip"] or options["norm"] or options["attends"] != "last" or set(options) & _BESIDE["attention"]
    ):
        raise FileFormatError(f"{path}: queries of the task have no skip connection and no norm, and attend once")
    for name in ("norm", *_NORMS):
        if options.get(name) is not None:
            _require_options(path, options[name], norm=True)


def _is_epsilon(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    number = float.fromhex(value)
    return number.hex() == value and 0 < number < math.inf


def _placed(blocks: list[dict[str, Any]]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The prefixes of the tensors of each block and of its norm, by the names of TransformerLens.

    An attention opens a layer; neurons go into the layer of the attention before them unless it has some; the last
    block is ``ln_final`` if it is a normalization, and any other normalization is named by its place.
    """
    layers, has_room = 0, False
    for place, options in enumerate(blocks):
        if options["kind"] == "attention":
            layers, has_room = layers + 1, True
            yield f"blocks.{layers - 1}.attn", f"blocks.{layers - 1}.ln1", options
        elif options["kind"] == "feed-forward":
            layers, has_room = layers + (not has_room), False
            yield f"blocks.{layers - 1}.mlp", f"blocks.{layers - 1}.ln2", options
        else:
            yield "ln_final" if place + 1 == len(blocks) else f"norms.{place}", "", options


def _block(named: _Named, prefix: str, norm_prefix: str, options: dict[str, Any]) -> PlainBlock:
    """The block with its tensors, those of its norm first; a tensor that may be absent is taken if it is there."""
    norm = None if options.get("norm") is None else _block(named, norm_prefix, "", options["norm"])
    norms = {name: _block(named, f"{prefix}.{name}", "", options[name]) for name in _NORMS if name in options}
    required, optional = _FIELDS[options["kind"]]
    present = {name: rank for name, rank in optional.items() if f"{prefix}.{name}" in named.tensors}
    tensors = {name: named.take(f"{prefix}.{name}", rank) for name, rank in {**required, **present}.items()}
    block = PlainBlock(options["kind"], options, tensors, norm, norms)
    for name, shape in _expected_shapes(block).items():
        if name in tensors and tensors[name].shape != shape:
            raise FileFormatError(f"{named.path}: {prefix}.{name} has shape {tensors[name].shape}, expected {shape}")
    return block


def _expected_shapes(block: PlainBlock) -> dict[str, tuple[int, ...]]:
    if block.kind == "attention":
        (heads, d_model, d_qk), d_head, d_out = block.shape("W_Q"), block.shape("W_V")[2], block.shape("W_O")[2]
        keys = block.options.get("key_heads", heads)
        return {
            "W_K": (keys, d_model, d_qk),
            "W_V": (keys, d_model, d_head),
            "W_O": (heads, d_head, d_out),
            "b_Q": (heads, d_qk),
            "b_K": (keys, d_qk),
            "b_V": (keys, d_head),
            "b_O": (d_out,),
            "slopes": (heads,),
        }
    if block.kind == "feed-forward":
        d_mlp, d_out = block.shape("W_in")[1], block.shape("W_out")[1]
        shapes = {"W_out": (d_mlp, d_out), "b_in": (d_mlp,), "b_out": (d_out,)}
        return {**shapes, "W_gate": block.shape("W_in"), "b_gate": (d_mlp,)}
    return {"b": block.shape("w")}


def _fits_beside(block: PlainBlock, before: PlainBlock | None) -> bool:
    """What only some files say fits the block, and each is there with what it needs."""
    if block.kind == "feed-forward":
        good = "W_gate" in block.tensors or "b_gate" not in block.tensors
        if block.options.get("parallel"):
            good &= before is not None and before.kind == "attention" and before.options["skip"]
            good &= bool(block.options["skip"])
        return good and all(norm.reads == block.writes for norm in block.norms.values())
    if block.kind != "attention":
        return True
    heads, _, width = block.shape("W_Q")
    keys = block.options.get("key_heads", heads)
    good = ("turned" in block.options) == ("frequencies" in block.tensors)
    good &= "key_heads" not in block.options or (keys != heads and heads % keys == 0)
    if "frequencies" in block.tensors:
        frequencies = block.tensors["frequencies"]
        good &= 1 <= frequencies.shape[0] <= width // 2 and all(f >= 0 for f in frequencies.values)
    together = block.options.get("norms_all", False)
    for name, count in (("q_norm", heads), ("k_norm", keys)):
        if name in block.norms:
            good &= block.norms[name].reads in ((count * width,) if together else (width, count * width))
    return good and ("post_norm" not in block.norms or block.norms["post_norm"].reads == block.writes)


def _require_widths(path: Path, model: PlainModel) -> None:
    """Each block reads what the one before it writes, and no width is 0."""
    if not model.reads_tokens and not model.blocks:
        raise FileFormatError(f"{path} has no block, and no embedding either")
    width, tensors = model.d_model, model.tensors
    good = "pos_embed.W_pos" not in tensors or tensors["pos_embed.W_pos"].shape[1] == width
    for i, block in enumerate(model.blocks):
        heads, *inner = (*block.shape("W_Q")[::2], block.shape("W_V")[2]) if block.kind == "attention" else (0,)
        good &= block.reads == width and 0 not in (block.reads, block.writes) and not (heads and 0 in inner)
        good &= not block.options.get("skip") or block.writes == width
        good &= block.norm is None or block.norm.reads == width
        good &= block.options.get("queries") != "task" or (i == 0 and not model.reads_tokens and block.is_plain)
        good &= _fits_beside(block, model.blocks[i - 1] if i else None)
        width = block.writes
    readout = tensors["unembed.W_U"].shape
    good &= readout[0] == width and ("unembed.b_U" not in tensors or tensors["unembed.b_U"].shape == readout[1:])
    if not good:
        raise FileFormatError(f"{path}: the widths of the blocks do not fit each other")
