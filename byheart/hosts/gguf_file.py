"""Read GGUF, the file format of llama.cpp: dequantized tensors, configuration and tokenizer.

A file of GGUF has fields by name, then the name, sizes, type and place of each tensor, then their bytes. The bytes of
quantized types mean what the library `gguf` makes of them in float32; these numbers are the weights here, exactly.
Tensors and fields get the names that `transformers` gives them, so that the readers of `byheart/hosts/families/` do the
rest: a field that is not known here is refused.

Page: docs/hosts.md
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from math import prod
from pathlib import Path
from struct import calcsize, unpack
from typing import Any, NamedTuple

import numpy as np

from constructions.errors import FileFormatError, InputError
from constructions.formats.files import require_regular_file
from constructions.numeric.arrays import Float64Array

SUFFIX = ".gguf"

_MAGIC, _VERSIONS = b"GGUF", (2, 3)
_TEXT, _LIST, _FLAG = 8, 9, 7
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", _FLAG: "<B", 10: "<Q", 11: "<q",
            12: "<d"}  # fmt: skip
_USUAL_ALIGNMENT = 32
_MOST_DIMENSIONS = 4
_REAL = ("epsilon", "freq_base")  # how fields end that are no integers
_MOST_NAMED = 8  # fields in a message
_MOST_SHOWN = 80  # characters of a name or value in a message
_TYPES = {0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K",
          30: "BF16"}  # fmt: skip
"""The types of tensors that are read, by their numbers."""

_ARCHITECTURE, _SPLITS = "general.architecture", "split.count"
_NO_EFFECT = ("general.", "tokenizer.", "quantize.", "split.")
"""Beginnings of names of fields of which no logit depends, but for those that are read."""


class _Stored(NamedTuple):
    """A tensor of a file: its array shape, the name of its type, and the range of its bytes."""

    shape: tuple[int, ...]
    type: str
    start: int
    stop: int


@dataclass(frozen=True)
class GGUFFile:
    """The content of a GGUF file.

    Args:
        path: The file.
        fields: Its fields by name.
        stored: Its tensors, by the names that llama.cpp gives them.
    """

    path: Path
    fields: Mapping[str, Any]
    stored: Mapping[str, _Stored]

    @classmethod
    def read(cls, path: Path) -> "GGUFFile":
        """Read the header of a file; every count in it is checked against the available bytes.

        Raises:
            FileFormatError: The file is missing, truncated, of another version, or its header contradicts itself.
        """
        require_regular_file(path)
        data = np.memmap(path, dtype=np.uint8, mode="r") if path.stat().st_size else np.zeros(0, dtype=np.uint8)
        header = _Header(path, data.data)
        if header.bytes(4) != _MAGIC:
            raise FileFormatError(f"{path} is not a file of GGUF: it does not begin with {_MAGIC.decode()}")
        if (version := header.scalar(4)) not in _VERSIONS:
            raise FileFormatError(f"{path} is GGUF of version {version}, expected one of {_VERSIONS}, little-endian")
        counts = header.scalar(10), header.scalar(10)
        fields: dict[str, Any] = {}
        for _ in range(header.checked_count(counts[1], least=13, what="fields")):
            name = header.text()
            if name in fields:
                raise FileFormatError(f"{path} has the field {_shown(name)} twice")
            fields[name] = header.value(header.scalar(4), name)
        tensor_records = [header.tensor() for _ in range(header.checked_count(counts[0], least=24, what="tensors"))]
        alignment = fields.get("general.alignment", _USUAL_ALIGNMENT)
        if type(alignment) is not int or not 0 < alignment <= 2**20:
            raise FileFormatError(f"{path} has general.alignment = {_value(alignment)}, expected a number of bytes")
        start, stored = -(-header.place // alignment) * alignment, dict[str, _Stored]()
        for name, shape, kind, offset in tensor_records:
            if name in stored:
                raise FileFormatError(f"{path} has the tensor {_shown(name)} twice")
            if offset % alignment:
                raise FileFormatError(f"{path}: {_shown(name)} begins at byte {offset}, no multiple of {alignment}")
            stored[name] = _placed(path, name, shape, kind, start + offset, len(data))
        _require_apart(path, stored)
        return cls(path, fields, stored)

    def configuration(self) -> dict[str, Any]:
        """Return the configuration, by the names of `transformers`.

        Raises:
            InputError: An architecture that is not read, a field of it that is not known, or a part of several files.
        """
        kind, reader = self._architecture()
        if self.fields.get(_SPLITS, 1) not in (0, 1):
            raise InputError(
                self.path, f"is one of {_value(self.fields[_SPLITS])} parts", "one file (gguf-split --merge)"
            )
        own = {
            name.removeprefix(f"{kind}."): value for name, value in self.fields.items() if name.startswith(f"{kind}.")
        }
        others = [name for name in self.fields if not name.startswith((f"{kind}.", *_NO_EFFECT))]
        unknown = sorted([*others, *(f"{kind}.{name}" for name in own if name not in reader.fields)])
        if unknown:
            listed = ", ".join(f"{_shown(name)} = {_value(self.fields[name])}" for name in unknown[:_MOST_NAMED])
            listed += f" and {len(unknown) - _MOST_NAMED} more" if len(unknown) > _MOST_NAMED else ""
            raise InputError(f"{self.path}: {listed}", "is not known here and may change the logits", "none")
        config = {"model_type": reader.model_type, **reader.usual}
        for name, value in own.items():
            if (called := reader.fields[name]) is not None:
                self._require_size(f"{kind}.{name}", value, whole=not name.endswith(_REAL))
                config[called] = value
        config["vocab_size"] = self._shape("token_embd.weight")[0]
        config["tie_word_embeddings"] = "output.weight" not in self.stored
        if reader.model_type != "gpt2":
            self._add_rotary(kind, config, own)
        if reader.model_type == "llama":
            config["attention_bias"] = "blk.0.attn_q.bias" in self.stored
        return config

    def size(self, name: str) -> int:
        """Return a field that is an integer of at least 1."""
        self._require_size(name, found := self.fields.get(name), whole=True)
        return int(found or 0)

    def _require_size(self, name: str, value: Any, *, whole: bool) -> None:
        if type(value) not in ((int,) if whole else (int, float)) or not 0 < value < float("inf"):
            expected = "an integer of at least 1" if whole else "a finite number above 0"
            raise InputError(f"{self.path}: {name}", f"is {_value(value)}", expected)

    def _add_rotary(self, kind: str, config: dict[str, Any], own: Mapping[str, Any]) -> None:
        """Add the fields of rotary positions and heads that follow from each other."""
        heads = self.size(f"{kind}.attention.head_count")
        width = own.get("attention.key_length", self._shape("blk.0.attn_q.weight")[0] // heads)
        widths = {name: own.get(name, width) for name in ("attention.value_length", "rope.dimension_count")}
        for name, value in widths.items():
            if value != width:
                raise InputError(f"{self.path}: {kind}.{name}", f"is {_value(value)}", f"{width}, the width of a head")
        if (scaling := own.get("rope.scaling.type", "none")) != "none":
            raise InputError(f"{self.path}: {kind}.rope.scaling.type", f"is {_value(scaling)}", "none")
        config["head_dim"] = width

    def tensors(self) -> dict[str, Float64Array]:
        """Return the numbers, by the names and in the layout of `transformers`.

        Raises:
            InputError: The library `gguf` is missing, or there is a tensor of which nothing is known here.
        """
        kind, reader = self._architecture()
        try:
            quants, constants = import_module("gguf.quants"), import_module("gguf.constants")
        except ImportError:
            raise InputError(self.path, "needs gguf to be read; `pip install 'byheart[gguf]'` brings it") from None
        data, tensors = np.memmap(self.path, dtype=np.uint8, mode="r"), dict[str, Float64Array]()
        for name, tensor in self.stored.items():
            called = reader.called(name)
            if called is None:
                raise InputError(f"{self.path}: the tensor {_shown(name)}", "belongs to no block", f"one of {kind}")
            rows = np.array(data[tensor.start : tensor.stop]).reshape(*tensor.shape[:-1], -1)
            with np.errstate(all="ignore"):
                numbers = quants.dequantize(rows, constants.GGMLQuantizationType[tensor.type])
            if not np.isfinite(numbers).all():
                raise FileFormatError(
                    f"{self.path}: {_shown(name)} ({tensor.type}) has numbers that are not finite, as a scale may be"
                )
            tensors[called] = reader.laid_out(self, name, numbers.reshape(tensor.shape).astype(np.float64))
        return tensors

    def _architecture(self) -> tuple[str, "_Reader"]:
        kind = self.fields.get(_ARCHITECTURE)
        if not isinstance(kind, str) or kind not in _READERS:
            raise InputError(f"{self.path}: {_ARCHITECTURE}", f"is {_value(kind)}", f"one of {', '.join(_READERS)}")
        return kind, _READERS[kind]

    def _shape(self, name: str) -> tuple[int, ...]:
        if name not in self.stored or len(self.stored[name].shape) != 2:
            raise InputError(self.path, f"has no matrix {name}, which every model of this architecture has")
        return self.stored[name].shape


def _shown(name: str) -> str:
    """Return a name of a file as a message has it: of somebody else's, it may have any characters, and any length."""
    return name if name and name.isprintable() and len(name) <= _MOST_SHOWN else repr(name)[:_MOST_SHOWN]


def _value(found: Any) -> str:
    """Return what a field holds as a message has it."""
    return repr(found[:_MOST_SHOWN] if isinstance(found, str | list) else found)[:_MOST_SHOWN]


class _Header:
    """The bytes of a header, consumed in order."""

    def __init__(self, path: Path, data: memoryview) -> None:
        self.path, self.place, self._data = path, 0, data

    def bytes(self, count: int) -> memoryview:
        if count > len(self._data) - self.place:
            raise FileFormatError(f"{self.path} is truncated: it ends within its header")
        self.place += count
        return self._data[self.place - count : self.place]

    def checked_count(self, count: Any, *, least: int, what: str) -> int:
        """Read a count of items, and check that the remaining bytes can hold them at `least` bytes each."""
        if count * least > len(self._data) - self.place:
            raise FileFormatError(f"{self.path} says that it has {count} {what}, more than its bytes can hold")
        return int(count)

    def scalar(self, kind: int) -> Any:
        dtype = _SCALARS[kind]
        [value] = unpack(dtype, self.bytes(calcsize(dtype)))
        return bool(value) if kind == _FLAG else value

    def text(self) -> str:
        length = self.checked_count(int.from_bytes(self.bytes(8), "little"), least=1, what="bytes in a text")
        return str(self.bytes(length), "utf-8", errors="surrogateescape")

    def value(self, kind: int, name: str) -> Any:
        if kind == _TEXT:
            return self.text()
        if kind in _SCALARS:
            return self.scalar(kind)
        if kind != _LIST:
            raise FileFormatError(f"{self.path}: the field {_shown(name)} has the type {kind}, which there is not")
        kind_of_entry, count = self.scalar(4), self.scalar(10)
        if kind_of_entry == _TEXT:
            return [self.text() for _ in range(self.checked_count(count, least=8, what=f"texts in {_shown(name)}"))]
        if kind_of_entry not in _SCALARS:
            raise FileFormatError(
                f"{self.path}: the list {_shown(name)} has the type {kind_of_entry}, which is not read"
            )
        size, dtype = calcsize(_SCALARS[kind_of_entry]), _SCALARS[kind_of_entry][1]
        count = self.checked_count(count, least=size, what=f"numbers in {_shown(name)}")
        return list(unpack(f"<{count}{dtype}", self.bytes(count * size)))

    def tensor(self) -> tuple[str, tuple[int, ...], int, int]:
        """Name, shape, type and place of a tensor."""
        name, dimensions = self.text(), self.scalar(4)
        if not 1 <= dimensions <= _MOST_DIMENSIONS:
            raise FileFormatError(
                f"{self.path}: {_shown(name)} has {dimensions} dimensions, expected 1 to {_MOST_DIMENSIONS}"
            )
        sizes = [self.scalar(10) for _ in range(dimensions)]
        return name, tuple(reversed(sizes)), self.scalar(4), self.scalar(10)


def _placed(path: Path, name: str, shape: tuple[int, ...], kind: int, start: int, size: int) -> _Stored:
    """Return the range of a tensor's bytes, if the file has them."""
    if kind not in _TYPES:
        known = ", ".join(_TYPES.values())
        raise FileFormatError(
            f"{path}: {_shown(name)} has the type of number {kind}, which is not read; read are {known}"
        )
    block, width = _block_of(path, _TYPES[kind])
    if shape[-1] % block or 0 in shape:
        raise FileFormatError(f"{path}: {_shown(name)} has rows of {shape[-1]} numbers, expected a multiple of {block}")
    stop = start + prod(shape) // block * width
    if stop > size:
        raise FileFormatError(f"{path} is truncated: {_shown(name)} ends at byte {stop} of {size}")
    return _Stored(shape, _TYPES[kind], start, stop)


def _require_apart(path: Path, stored: Mapping[str, _Stored]) -> None:
    """Refuse tensors that have bytes in common: programs that read them one after the other have other numbers."""
    placed = sorted(stored.items(), key=lambda named: named[1].start)
    for (name, tensor), (other, behind) in pairwise(placed):
        if behind.start < tensor.stop:
            raise FileFormatError(f"{path}: {_shown(name)} and {_shown(other)} have bytes in common")


def _block_of(path: Path, kind: str) -> tuple[int, int]:
    """Return the numbers and bytes per block of a type."""
    try:
        constants = import_module("gguf.constants")
    except ImportError:
        raise InputError(path, "needs gguf to be read; `pip install 'byheart[gguf]'` brings it") from None
    return constants.GGML_QUANT_SIZES[constants.GGMLQuantizationType[kind]]


# ---------------------------------------------------------------------------------------------------------------------
# Architectures.


@dataclass(frozen=True)
class _Reader:
    """The naming scheme of an architecture's files.

    Args:
        model_type: Its name in `transformers`.
        fields: The fields that are read, by their names behind that of the architecture, with those in a configuration;
            none for one that another field or the tensors say too.
        usual: What the configuration says besides.
        whole: Tensors that are there once.
        layer: What the tensors of a layer begin with; `{}` is its number.
        parts: Tensors of a layer.
    """

    model_type: str
    fields: Mapping[str, str | None]
    usual: Mapping[str, Any]
    whole: Mapping[str, str]
    layer: str
    parts: Mapping[str, str]

    def called(self, name: str) -> str | None:
        """Return the `transformers` name of a tensor; None if the architecture has no such tensor."""
        if (of_layer := re.fullmatch(r"blk\.(\d+)\.(\w+)\.(weight|bias)", name)) is not None:
            number, part, kind = of_layer.groups()
            return f"{self.layer.format(number)}.{self.parts[part]}.{kind}" if part in self.parts else None
        part, _, kind = name.rpartition(".")
        return f"{self.whole[part]}.{kind}" if part in self.whole and kind in ("weight", "bias") else None

    def laid_out(self, file: GGUFFile, name: str, numbers: Float64Array) -> Float64Array:
        """Return a tensor as `transformers` lays it out."""
        part = name.split(".")[-2]
        if self.model_type == "gpt2":
            return numbers.T if name.endswith("weight") and part in _TRANSPOSED else numbers
        if self.model_type != "llama" or part not in ("attn_q", "attn_k"):
            return numbers
        # llama.cpp turns neighbours, `transformers` entry i of the first half with entry i of the second.
        called = "llama.attention.head_count"
        called = f"{called}_kv" if part == "attn_k" and f"{called}_kv" in file.fields else called
        heads = file.size(called)
        if len(numbers) % (2 * heads):
            raise InputError(
                f"{file.path}: {_shown(name)}", f"has {len(numbers)} rows for {heads} heads", "an even number each"
            )
        pairs = numbers.reshape(heads, len(numbers) // heads // 2, 2, *numbers.shape[1:])
        return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(numbers.shape)


_TRANSPOSED = ("attn_qkv", "attn_output", "ffn_up", "ffn_down")  # GPT-2 of `transformers` stores these as [in, out]
_OF_HEADS = {
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "block_count": "num_hidden_layers",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "rope.freq_base": "rope_theta",
    "attention.key_length": None,
    "attention.value_length": None,
    "rope.dimension_count": None,
    "rope.scaling.type": None,
    "vocab_size": None,
}
_LLAMA = _Reader(
    model_type="llama",
    fields=_OF_HEADS,
    usual={"hidden_act": "silu"},
    whole={"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"},
    layer="model.layers.{}",
    parts={
        "attn_norm": "input_layernorm",
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "attn_q_norm": "self_attn.q_norm",
        "attn_k_norm": "self_attn.k_norm",
        "attn_output": "self_attn.o_proj",
        "ffn_norm": "post_attention_layernorm",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
    },
)
_GPT2 = _Reader(
    model_type="gpt2",
    fields={
        "context_length": "n_positions",
        "embedding_length": "n_embd",
        "block_count": "n_layer",
        "feed_forward_length": "n_inner",
        "attention.head_count": "n_head",
        "attention.layer_norm_epsilon": "layer_norm_epsilon",
        "vocab_size": None,
    },
    usual={"activation_function": "gelu_new"},
    whole={"token_embd": "wte", "position_embd": "wpe", "output_norm": "ln_f", "output": "lm_head"},
    layer="h.{}",
    parts={
        "attn_norm": "ln_1",
        "attn_qkv": "attn.c_attn",
        "attn_output": "attn.c_proj",
        "ffn_norm": "ln_2",
        "ffn_up": "mlp.c_fc",
        "ffn_down": "mlp.c_proj",
    },
)
_READERS = {
    "llama": _LLAMA,
    "qwen2": _Reader("qwen2", _OF_HEADS, _LLAMA.usual, _LLAMA.whole, _LLAMA.layer, _LLAMA.parts),
    "qwen3": _Reader("qwen3", _OF_HEADS, _LLAMA.usual, _LLAMA.whole, _LLAMA.layer, _LLAMA.parts),
    "gpt2": _GPT2,
}


# ---------------------------------------------------------------------------------------------------------------------
# Tokenizers.

_TOKENIZER, _CUT = "tokenizer.ggml.model", "tokenizer.ggml.pre"
_CONTROL, _USER_DEFINED = 3, 4
_WORDS = "|".join([
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)", r"[^\r\n\p{L}\p{N}]?\p{L}+", r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*",
    r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+",
])  # fmt: skip


def _bytes(*, words: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": words}


def _split(pattern: str) -> list[dict[str, Any]]:
    cut = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return [cut, _bytes(words=False)]


_CUTS: Mapping[str, Callable[[], list[dict[str, Any]]]] = {
    "gpt-2": lambda: [_bytes(words=True)],
    "smollm": lambda: [{"type": "Digits", "individual_digits": True}, _bytes(words=True)],
    "llama-bpe": lambda: _split(_WORDS),
    "qwen2": lambda: _split(_WORDS.replace(r"\p{N}{1,3}", r"\p{N}")),
}
"""How texts are cut before pairs are merged, by the name that llama.cpp gives it."""


def tokenizer_json(file: GGUFFile) -> str:
    """Return the content of a ``tokenizer.json`` that splits texts as the file specifies.

    Raises:
        InputError: The file says nothing of texts, or cuts them in a way that is not known here.
        FileFormatError: Its lists of tokens contradict each other.
    """
    kind, cut = file.fields.get(_TOKENIZER), file.fields.get(_CUT, "gpt-2")
    if kind != "gpt2" or cut not in _CUTS:
        problem = (
            "has no tokenizer" if kind is None else f"has the tokenizer {_value(kind)} with {_CUT} = {_value(cut)}"
        )
        expected = f"gpt2 with one of {', '.join(_CUTS)}, or --tokenizer FILE, or --cells tokens"
        raise InputError(file.path, problem, expected)
    tokens, merges, kinds = (_list_of(file, name) for name in ("tokens", "merges", "token_type"))
    pairs = [pair.split(" ") if isinstance(pair, str) else [] for pair in merges]
    plain = bool(tokens) and all(isinstance(token, str) for token in tokens)
    if not plain or len(set(tokens)) < len(tokens) or any(len(pair) != 2 for pair in pairs):
        raise FileFormatError(
            f"{file.path}: tokenizer.ggml.tokens or tokenizer.ggml.merges is malformed, expected distinct texts, and "
            "merges of two texts with a space between them"
        )
    added = [
        {"id": number, "content": tokens[number], "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False, "special": token == _CONTROL}
        for number, token in enumerate(kinds[: len(tokens)]) if token in (_CONTROL, _USER_DEFINED)
    ]  # fmt: skip
    begins = file.fields.get("tokenizer.ggml.bos_token_id") if file.fields.get("tokenizer.ggml.add_bos_token") else None
    if begins is not None and not (type(begins) is int and begins < len(tokens)):
        raise FileFormatError(f"{file.path} has tokenizer.ggml.bos_token_id = {_value(begins)}, which is not a token")
    return json.dumps({
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": {"type": "NFC"} if cut == "qwen2" else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": _CUTS[cut]()},
        "post_processor": None if begins is None else _begun(begins, tokens[begins]),
        "decoder": _bytes(words=True),
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
            "ignore_merges": cut == "llama-bpe", "vocab": {name: number for number, name in enumerate(tokens)},
            "merges": pairs,
        },
    })  # fmt: skip


def _list_of(file: GGUFFile, name: str) -> list[Any]:
    values = file.fields.get(f"tokenizer.ggml.{name}", [])
    return values if isinstance(values, list) else []


def _begun(number: int, name: str) -> dict[str, Any]:
    """Return the rule that puts a token before every text."""
    token = {"SpecialToken": {"id": name, "type_id": 0}}
    first_text = {"Sequence": {"id": "A", "type_id": 0}}
    second_text = {"Sequence": {"id": "B", "type_id": 1}}
    return {
        "type": "TemplateProcessing",
        "single": [token, first_text],
        "pair": [token, first_text, second_text],
        "special_tokens": {name: {"id": name, "ids": [number], "tokens": [name]}},
    }
