"""A model of a file: its blocks by their options, and their tensors by the names of TransformerLens.

Every tensor of the file belongs to a block, every option is one that is known and allowed, all shapes fit each other;
what is not so is refused, so that no part of a file is passed over.

Page: docs/rigour/kernel.md
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verify.kernel.files import Tensor, read_tensors, require_fields, sha256_of
from verify.kernel.verdicts import BadInputError

FILE = "model.safetensors"
_LARGEST_NUMBER = 2**31
_KINDS = ("attention", "feed-forward", "layer", "rms")
_NORMALIZATIONS = ("layer", "rms")
_NORMS = ("q_norm", "k_norm", "post_norm")  # in the order of the hash
_ENDS = ("positions", "logit_divisor", "logit_cap")  # beside the blocks
_OPTIONS = {
    "attention": ("skip", "attends", "queries", "score_root", "norm"),
    "feed-forward": ("skip", "activation", "norm"),
    "layer": ("epsilon",),
    "rms": ("epsilon",),
}
_RARE_OPTIONS = {  # there only where they say something
    "attention": ("key_heads", "turned", "norms_all", "clip", "score_cap", *_NORMS),
    "feed-forward": ("parallel", "post_norm"),
    "layer": (),
    "rms": (),
}
_TENSORS = {  # in the order of the hash, with the number of axes; those that begin with a small letter may be absent
    "attention": {"W_Q": 3, "W_K": 3, "W_V": 3, "W_O": 3, "b_Q": 2, "b_K": 2, "b_V": 2, "b_O": 1}
    | {"frequencies": 1, "slopes": 1},
    "feed-forward": {"W_in": 2, "W_out": 2, "b_in": 1, "b_out": 1, "W_gate": 2, "b_gate": 1},
    "layer": {"w": 1, "b": 1},
    "rms": {"w": 1, "b": 1},
}
_MAY_BE_ABSENT = {"b_Q", "b_K", "b_V", "b_O", "frequencies", "slopes", "b_in", "b_out", "W_gate", "b_gate", "b"}
_RARE_TENSORS = {"frequencies", "slopes", "W_gate", "b_gate"}
_VALUES = {  # of options that are one of a few words
    "attends": ("last", "causal", "all"),
    "queries": ("stream", "task"),
    "activation": ("relu", "gelu", "gelu-tanh", "gelu-bloom", "silu"),
    "turned": ("halves", "neighbours"),
}


@dataclass(frozen=True)
class Block:
    """One block: its kind and options as in the file, its tensors, the norm before it and the norms inside."""

    kind: str
    options: dict[str, Any]
    tensors: dict[str, Tensor]
    norm: "Block | None"
    norms: dict[str, "Block"]

    @property
    def is_plain(self) -> bool:
        """Whether it has no norm, and no option that only models of other programs have."""
        rare = set(self.options) & set(_RARE_OPTIONS[self.kind]) | set(self.tensors) & _RARE_TENSORS
        return self.kind not in _NORMALIZATIONS and self.norm is None and not rare

    def shape(self, name: str) -> tuple[int, ...]:
        return self.tensors[name].shape

    @property
    def reads(self) -> int:
        """Width of the rows that it reads."""
        names = {"attention": ("W_Q", 1), "feed-forward": ("W_in", 0), "layer": ("w", 0), "rms": ("w", 0)}
        name, axis = names[self.kind]
        return self.shape(name)[axis]

    @property
    def writes(self) -> int:
        """Width of its output rows."""
        names = {"attention": ("W_O", 2), "feed-forward": ("W_out", 1), "layer": ("w", 0), "rms": ("w", 0)}
        name, axis = names[self.kind]
        return self.shape(name)[axis]

    def number(self, option: str) -> float:
        """Return an option that is a hexadecimal float."""
        return float.fromhex(self.options[option])


@dataclass(frozen=True)
class Model:
    """A model of any blocks, with the hash of what it computes.

    Args:
        blocks: In their order.
        tensors: Those of the ends: `W_E`, `W_pos`, `W_U`, `b_U`.
        ends: What stands next to the blocks: `positions`, `logit_divisor`, `logit_cap`, where they are there.
        reads_tokens: Whether it reads tokens; otherwise the task brings vectors.
        parameters: Entries of all tensors.
        sha256: The hash.
    """

    blocks: tuple[Block, ...]
    tensors: dict[str, Tensor]
    ends: dict[str, Any]
    reads_tokens: bool
    parameters: int
    sha256: str

    @property
    def outputs(self) -> int:
        """Number of logits."""
        return self.tensors["W_U"].shape[1]

    @property
    def positions(self) -> int:
        """The longest context that it reads; 0 for vectors."""
        if "positions" in self.ends:
            return self.ends["positions"]
        return self.tensors["W_pos"].shape[0] if self.reads_tokens else 0

    @property
    def vocabulary(self) -> int:
        """Number of tokens that it reads; 0 for vectors."""
        return self.tensors["W_E"].shape[0] if self.reads_tokens else 0


def read_model(folder: Path) -> Model:
    """Read `model.safetensors`.

    Raises:
        BadInputError: It is anything but a model in its one form.
    """
    return make_model(*read_tensors(folder, FILE))


def block_prefixes(words: dict[str, Any]) -> list[str]:
    """Return the prefix of each block's tensor names, for the words of a model."""
    return [prefix for prefix, _, _ in _placed(words["blocks"])]


def make_model(words: dict[str, Any], tensors: dict[str, Tensor]) -> Model:
    """Return the model of these words and tensors of a file.

    Raises:
        BadInputError: They are anything but a model in its one form.
    """
    words = dict(words)
    require_fields(FILE, "metadata", words, ["format", "version", "input", "blocks"], _ENDS)
    if (words.pop("format"), words["version"]) != ("byheart-model", 2) or type(words.pop("version")) is not int:
        raise BadInputError(FILE, "format", "is not byheart-model, version 2")
    if words["input"] not in ("tokens", "vectors") or not isinstance(words["blocks"], list):
        raise BadInputError(FILE, "input or blocks", "are not those of a model")
    for place, options in enumerate(words["blocks"]):
        _require_options(f"blocks[{place}]", options, _KINDS)
    ends = {name: words[name] for name in _ENDS if name in words}
    _require_ends(ends, words["input"])
    named = _Named(tensors)
    outer = [] if words["input"] == "vectors" else ["embed.W_E"] + ["pos_embed.W_pos"] * ("positions" not in ends)
    first = {name: named.take(name, 2) for name in outer}
    blocks = tuple(_block(named, *placed) for placed in _placed(words["blocks"]))
    last = {"unembed.W_U": named.take("unembed.W_U", 2)}
    if "unembed.b_U" in tensors:
        last["unembed.b_U"] = named.take("unembed.b_U", 1)
    if left := set(tensors) - set(named.taken):
        raise BadInputError(FILE, min(left)[:60], "belongs to no block")
    own = {name.rpartition(".")[2]: tensor for name, tensor in {**first, **last}.items()}
    parameters = sum(len(tensor.values) for tensor in tensors.values())
    digest = sha256_of(words, named.taken)
    model = Model(blocks, own, ends, words["input"] == "tokens", parameters, digest)
    _require_widths(model)
    return model


class _Named:
    """The tensors of a file, consumed in the order of the hash."""

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        self.tensors, self.taken = tensors, dict[str, Tensor]()

    def take(self, name: str, axes: int) -> Tensor:
        tensor = self.tensors.get(name)
        if tensor is None or tensor.values.typecode != "d" or len(tensor.shape) != axes:
            raise BadInputError(FILE, name, f"is absent, or not F64 with {axes} axes")
        self.taken[name] = tensor
        return tensor


def _require_options(field: str, options: Any, kinds: tuple[str, ...]) -> None:
    """Require exactly the options of a kind, each with an allowed value."""
    kind = options.get("kind") if isinstance(options, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise BadInputError(FILE, f"{field}.kind", f"is {str(kind)[:40]!r}, expected one of {list(kinds)}")
    require_fields(FILE, field, options, ["kind", *_OPTIONS[kind]], _RARE_OPTIONS[kind])
    for name, value in options.items():
        if not _is_allowed(name, value):
            raise BadInputError(FILE, f"{field}.{name}", f"is {str(value)[:40]!r}, which is not allowed")
        if name in ("norm", *_NORMS) and value is not None:
            _require_options(f"{field}.{name}", value, _NORMALIZATIONS)
    rare = set(options) & set(_RARE_OPTIONS[kind])
    if options.get("queries") == "task" and (
        options["skip"] or options["norm"] or options["attends"] != "last" or rare
    ):
        raise BadInputError(FILE, f"{field}.queries", "are those of the task, with options that these do not have")


def _is_allowed(name: str, value: Any) -> bool:
    if name in _VALUES:
        return isinstance(value, str) and value in _VALUES[name]
    if name in ("epsilon", "clip", "score_cap", "logit_divisor", "logit_cap"):
        return _is_positive_float(value)
    if name in ("score_root", "key_heads", "positions"):
        return type(value) is int and 1 <= value <= _LARGEST_NUMBER
    if name == "skip":
        return type(value) is bool
    if name in ("norms_all", "parallel"):
        return value is True
    return name not in _NORMS or value is not None


def _is_positive_float(value: Any) -> bool:
    """Tell whether a value is the text that `float.hex` gives for a positive finite number."""
    try:
        number = float.fromhex(value) if isinstance(value, str) else 0.0
    except (ValueError, OverflowError):
        return False
    return 0.0 < number < math.inf and number.hex() == value


def _require_ends(ends: dict[str, Any], reads: str) -> None:
    for name, value in ends.items():
        if not _is_allowed(name, value) or (name == "positions" and reads != "tokens"):
            raise BadInputError(FILE, name, f"is {str(value)[:40]!r}, which is not allowed")


def _placed(blocks: list[dict[str, Any]]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the name prefixes of each block's tensors and of those of its norm.

    An attention opens a layer; neurons go into the layer of the attention before them unless it has some; a
    normalization at the end is `ln_final`, any other is named by its place.
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


def _block(named: _Named, prefix: str, norm_prefix: str, options: dict[str, Any]) -> Block:
    """Return a block with its tensors; the tensors of its norms precede them in the hash."""
    norm = None if options.get("norm") is None else _block(named, norm_prefix, "", options["norm"])
    norms = {name: _block(named, f"{prefix}.{name}", "", options[name]) for name in _NORMS if name in options}
    tensors = {}
    for name, axes in _TENSORS[options["kind"]].items():
        if name not in _MAY_BE_ABSENT or f"{prefix}.{name}" in named.tensors:
            tensors[name] = named.take(f"{prefix}.{name}", axes)
    block = Block(options["kind"], options, tensors, norm, norms)
    for name, shape in _shapes(block).items():
        if name in tensors and tensors[name].shape != shape:
            raise BadInputError(FILE, f"{prefix}.{name}", f"has the shape {tensors[name].shape}, expected {shape}")
    return block


def _shapes(block: Block) -> dict[str, tuple[int, ...]]:
    """Return the shapes that the first tensors determine."""
    if block.kind == "attention":
        (heads, width, d_qk), d_head, d_out = block.shape("W_Q"), block.shape("W_V")[2], block.shape("W_O")[2]
        keys = block.options.get("key_heads", heads)
        of_keys = {"W_K": (keys, width, d_qk), "b_K": (keys, d_qk), "W_V": (keys, width, d_head), "b_V": (keys, d_head)}
        return {**of_keys, "b_Q": (heads, d_qk), "W_O": (heads, d_head, d_out), "b_O": (d_out,), "slopes": (heads,)}
    if block.kind == "feed-forward":
        width, neurons, d_out = *block.shape("W_in"), block.shape("W_out")[1]
        of_neurons = {"b_in": (neurons,), "W_gate": (width, neurons), "b_gate": (neurons,)}
        return {**of_neurons, "W_out": (neurons, d_out), "b_out": (d_out,)}
    return {"b": block.shape("w")}


def _require_widths(model: Model) -> None:
    """Require that each block reads the output width of the previous one, no width is 0, and rare options have their
    tensors.
    """
    if not (model.reads_tokens or model.blocks):
        raise BadInputError(FILE, "blocks", "are none, and there is no embedding either")
    width = model.tensors["W_E"].shape[1] if model.reads_tokens else model.blocks[0].reads
    good = all(0 not in tensor.shape for tensor in model.tensors.values())
    good &= "W_pos" not in model.tensors or model.tensors["W_pos"].shape[1] == width
    before = None
    for place, block in enumerate(model.blocks):
        good &= block.reads == width > 0 and block.writes > 0
        good &= not block.options.get("skip") or block.writes == width
        good &= block.norm is None or block.norm.reads == width
        good &= block.options.get("queries") != "task" or (place == 0 and not model.reads_tokens and block.is_plain)
        good &= _has_what_it_needs(block, before)
        if not good:
            raise BadInputError(FILE, f"blocks[{place}]", "has shapes that fit neither each other nor the block before")
        width, before = block.writes, block
    shift = model.tensors.get("b_U")
    if not good or model.tensors["W_U"].shape[0] != width or (shift and shift.shape != (model.outputs,)):
        raise BadInputError(FILE, "embed or unembed", "has shapes that do not fit the blocks")


def _has_what_it_needs(block: Block, before: Block | None) -> bool:
    post_norm = block.norms.get("post_norm")
    good = post_norm is None or post_norm.reads == block.writes
    if block.kind == "feed-forward":
        good &= "W_gate" in block.tensors or "b_gate" not in block.tensors
        if block.options.get("parallel"):
            good &= before is not None and before.kind == "attention" and before.options["skip"]
            good &= block.options["skip"]
    if block.kind == "attention":
        good &= _heads_fit(block)
    return good


def _heads_fit(block: Block) -> bool:
    (heads, _, d_qk), keys = block.shape("W_Q"), block.shape("W_K")[0]
    good = heads == 0 or 0 not in (d_qk, block.shape("W_V")[2])
    if "key_heads" in block.options:
        good &= keys != heads and heads % keys == 0
    good &= ("turned" in block.options) == ("frequencies" in block.tensors)
    if "frequencies" in block.tensors:
        frequencies = block.tensors["frequencies"].values
        good &= 1 <= len(frequencies) <= d_qk // 2 and min(frequencies) >= 0.0
    for name, count in (("q_norm", heads), ("k_norm", keys)):
        if name in block.norms:
            whole = block.options.get("norms_all", False)
            good &= block.norms[name].reads in ((count * d_qk,) if whole else (d_qk, count * d_qk))
    return good
