"""The files of a certificate, read and hashed by the standard library alone.

Only the one form that byheart writes is accepted, so that a file has one meaning to every reader; every array has the
bytes that its shape asks for, so no file can make its reader take more memory than its own size.

Page: docs/rigour/certificate.md
"""

import hashlib
import json
import math
import re
import stat
import sys
import zipfile
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

from constructions.errors import FileFormatError

_LARGEST_FILE = 2**34  # bytes
_LARGEST_HEADER = 2**20  # bytes
_LARGEST_COUNT = 2**53  # counts stay exact in float64
_LARGEST_VOCABULARY_BYTES = 2**28
_TYPECODES = {"<i4": "i", "<i8": "q", "<f8": "d"}
_NUMBER = rb"(?:0|[1-9][0-9]{0,14})"
_ARRAY_HEADER = re.compile(
    rb"\{'descr': '(<i4|<i8|<f8|<U[1-9][0-9]{0,8})', 'fortran_order': False, "
    rb"'shape': \(((?:N,|N(?:, N)+)?)\), \} *\n".replace(b"N", _NUMBER)
)
_OPTIONS = (
    '{"blocks":[{"attends":"last","kind":"attention","norm":null,"queries":"stream","score_root":1,"skip":true}],'
    '"input":"tokens"}'
)


@dataclass(frozen=True)
class PlainArray:
    """The entries of an array in C order: floats, integers or texts."""

    shape: tuple[int, ...]
    values: Sequence[Any]

    def row(self, i: int) -> Sequence[Any]:
        width = self.shape[1]
        return self.values[i * width : (i + 1) * width]

    def hashed(self, name: str) -> bytes:
        head = f"{name}:{','.join(map(str, self.shape))};".encode("ascii")
        return head + _little_endian(self.values).tobytes()


def _little_endian(values: Any) -> Any:
    if sys.byteorder == "little":
        return values
    swapped = array(values.typecode, values)
    swapped.byteswap()
    return swapped


def _entries(path: Path, name: str, typecode: str, data: bytes) -> Any:
    values = array(typecode)
    values.frombytes(data)
    values = _little_endian(values)
    if typecode == "d" and not all(map(math.isfinite, values)):
        raise FileFormatError(f"{path}: {name} holds a NaN or an infinity")
    return values


_TENSORS = {
    "embed.W_E": 2,
    "pos_embed.W_pos": 2,
    "blocks.0.attn.W_Q": 3,
    "blocks.0.attn.W_K": 3,
    "blocks.0.attn.W_V": 3,
    "blocks.0.attn.W_O": 3,
    "unembed.W_U": 2,
}
_TASK_ARRAYS = {
    "contexts": ("q", 2),
    "counts_indptr": ("q", 1),
    "counts_indices": ("q", 1),
    "counts_data": ("q", 1),
    "labels": ("q", 1),
    "prior": ("d", 1),
    "tail_contexts": ("q", 2),
    "tail_counts_indptr": ("q", 1),
    "tail_counts_indices": ("q", 1),
    "tail_counts_data": ("q", 1),
    "laws": ("d", 2),
}


@dataclass(frozen=True)
class PlainNetwork:
    """The seven tensors and their hash."""

    tensors: dict[str, PlainArray]
    sha256: str

    @classmethod
    def read(cls, path: Path) -> "PlainNetwork":
        with reading(path, "model"):
            return cls._read(path)

    @classmethod
    def _read(cls, path: Path) -> "PlainNetwork":
        named = read_tensors(path, _TENSORS, metadata_of(_OPTIONS))
        tensors = {name.rpartition(".")[2]: tensor for name, tensor in named.items()}
        d_model, heads = tensors["W_E"].shape[1], tensors["W_Q"].shape[0]
        d_qk, d_head = tensors["W_Q"].shape[2], tensors["W_V"].shape[2]
        expected = {
            "W_E": (tensors["W_E"].shape[0], d_model),
            "W_pos": (tensors["W_pos"].shape[0], d_model),
            "W_Q": (heads, d_model, d_qk),
            "W_K": (heads, d_model, d_qk),
            "W_V": (heads, d_model, d_head),
            "W_O": (heads, d_head, d_model),
            "W_U": (d_model, tensors["W_U"].shape[1]),
        }
        for name, shape in expected.items():
            if tensors[name].shape != shape:
                raise FileFormatError(f"{path}: {name} has shape {tensors[name].shape}, expected {shape}")
        if any(0 in tensors[name].shape for name in ("W_E", "W_pos", "W_U")) or (heads and 0 in (d_qk, d_head)):
            raise FileFormatError(f"{path}: a tensor has a dimension of 0")
        if d_head > d_model:
            raise FileFormatError(f"{path}: W_V has d_head = {d_head}, expected at most d_model = {d_model}")
        digest = hashlib.sha256(_OPTIONS.encode("ascii") + b"".join(named[name].hashed(name) for name in _TENSORS))
        return cls(tensors, digest.hexdigest())

    def sizes(self) -> dict[str, int]:
        shapes = {name: tensor.shape for name, tensor in self.tensors.items()}
        return {
            "n_ctx": shapes["W_pos"][0],
            "d_vocab": shapes["W_E"][0],
            "d_model": shapes["W_E"][1],
            "n_heads": shapes["W_Q"][0],
            "d_qk": shapes["W_Q"][2],
            "d_head": shapes["W_V"][2],
            "d_vocab_out": shapes["W_U"][1],
        }


@dataclass(frozen=True)
class PlainTask:
    """The contexts, the counts, the target and where it comes from, and their hash."""

    target: str
    origin: str
    vocabulary_size: int
    contexts: list[tuple[int, ...]]
    tail_contexts: list[tuple[int, ...]]
    counts: list[dict[int, int]]
    tail_counts: list[dict[int, int]]
    labels: Sequence[int]
    laws: PlainArray | None
    sha256: str

    @classmethod
    def read(cls, path: Path) -> "PlainTask":
        with reading(path, "task"):
            return cls._read(path)

    @classmethod
    def _read(cls, path: Path) -> "PlainTask":
        arrays = read_npz(path)
        names = set(_TASK_ARRAYS) | {"target", "origin", "vocabulary"}
        if set(arrays) not in (names, names - {"laws"}):
            raise FileFormatError(f"{path} is not a task: it has the arrays {sorted(arrays)}")
        for name, (typecode, dimensions) in _TASK_ARRAYS.items():
            found = arrays.get(name)
            if found and (not isinstance(found.values, array) or found.values.typecode != typecode):
                raise FileFormatError(f"{path}: {name} is not of the type {typecode!r}")
            if found and len(found.shape) != dimensions:
                raise FileFormatError(f"{path}: {name} has shape {found.shape}, expected {dimensions} dimensions")
        target, origin, vocabulary = arrays["target"], arrays["origin"], arrays["vocabulary"]
        texts = all(isinstance(each.values, list) for each in (target, origin, vocabulary))
        if (
            not texts
            or target.shape != ()
            or origin.shape != ()
            or len(vocabulary.shape) != 1
            or target.values[0] not in ("laws", "labels")
        ):
            raise FileFormatError(f"{path}: target, origin or vocabulary is not what a task holds")
        if (target.values[0] == "laws") != ("laws" in arrays):
            raise FileFormatError(f"{path}: the target is {target.values[0]!r}, which does not fit the laws")
        size = vocabulary.shape[0]
        _require_vocabulary(path, vocabulary.values)
        n_contexts, length = arrays["contexts"].shape
        if n_contexts == 0 or length == 0 or arrays["tail_contexts"].shape[1] != length:
            raise FileFormatError(f"{path}: contexts are empty, or of another length than those of the tail")
        contexts, tail = (_tuples(path, name, arrays[name], size) for name in ("contexts", "tail_contexts"))
        if len(set(contexts) | set(tail)) != len(contexts) + len(tail):
            raise FileFormatError(f"{path}: a context occurs more than once")
        labels, laws = arrays["labels"], arrays.get("laws")
        if labels.shape != (len(contexts),) or not all(0 <= label < size for label in labels.values):
            raise FileFormatError(f"{path}: labels are not one token for each context")
        if laws is not None and (laws.shape != (len(contexts), size) or not all(x > 0 for x in laws.values)):
            raise FileFormatError(f"{path}: laws are not one law of full support for each context")
        if laws is not None:
            _require_laws(path, laws, labels.values)
        counts = _count_rows(path, "counts", arrays, len(contexts), size)
        tail_counts = _count_rows(path, "tail_counts", arrays, len(tail), size)
        totals = [sum(row.values()) for row in counts]
        grand_total = sum(totals) + sum(sum(row.values()) for row in tail_counts)
        if grand_total > _LARGEST_COUNT:
            raise FileFormatError(f"{path}: all contexts occur {grand_total} times together, expected at most 2**53")
        if list(arrays["prior"].values) != [total / grand_total for total in totals]:
            raise FileFormatError(f"{path}: prior is not the frequency of each context")
        if origin.values[0] not in _origins(counts, labels.values, laws):
            raise FileFormatError(f"{path}: origin is {origin.values[0]!r}, which the counts do not bear out")
        text = json.dumps(
            [target.values[0], origin.values[0], vocabulary.values], separators=(",", ":"), ensure_ascii=True
        )
        digest = hashlib.sha256(text.encode("ascii"))
        for name in _TASK_ARRAYS:
            if name in arrays:
                digest.update(arrays[name].hashed(name))
        return cls(
            target=target.values[0],
            origin=origin.values[0],
            vocabulary_size=size,
            contexts=contexts,
            tail_contexts=tail,
            counts=counts,
            tail_counts=tail_counts,
            labels=labels.values,
            laws=laws,
            sha256=digest.hexdigest(),
        )

    def sizes(self) -> dict[str, int]:
        return {
            "n_contexts": len(self.contexts),
            "context_length": len(self.contexts[0]),
            "vocabulary_size": self.vocabulary_size,
            "n_all": len(self.contexts) + len(self.tail_contexts),
        }

    def modes(self, i: int) -> set[int]:
        """Where the target of the memorized context `i` is largest."""
        if self.laws is None:
            return {self.labels[i]}
        law = self.laws.row(i)
        top = max(law)
        return {token for token, mass in enumerate(law) if mass == top}


def _origins(counts: list[dict[int, int]], labels: Sequence[int], laws: PlainArray | None) -> set[str]:
    """What the targets may be said to come from: the counts bear it out, or nothing is said."""
    if laws is None:
        first = [min(token for token, count in row.items() if count == max(row.values())) for row in counts]
        if list(labels) != first:
            return {"own"}
        return {"own", "most frequent"} | ({"table"} if all(len(row) == 1 for row in counts) else set())
    width = laws.shape[1]
    for i, row in enumerate(counts):
        total = sum(row.values())
        if 2 * total * width + width >= _LARGEST_COUNT:
            return {"own"}
        # Quotients of integers below 2^53, each rounded once.
        smoothed = [(2 * width * row.get(token, 0) + 1) / (width * (2 * total + 1)) for token in range(width)]
        if list(laws.row(i)) != smoothed:
            return {"own"}
    return {"own", "smoothed counts"}


def metadata_of(options: str) -> dict[str, str]:
    """What a file of version 2 says about itself, for a model of these options."""
    data = {"format": "byheart-model", "version": 2, **json.loads(options)}
    return {"byheart": json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)}


def read_tensors(path: Path, dimensions: Mapping[str, int], metadata: Mapping[str, str]) -> dict[str, PlainArray]:
    """The tensors of a safetensors file that holds these names with so many dimensions, and this metadata.

    Raises:
        Exception: Whatever a hostile file makes the readers of JSON and text raise; callers are within `reading`.
    """
    _require_regular_file(path)
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(_LARGEST_HEADER, len(data) - 8):
        raise FileFormatError(f"{path} is not a readable model: its header is cut off")
    text = data[8 : 8 + size].decode("utf-8")
    if not text.startswith("{"):
        raise FileFormatError(f"{path} is not a readable model: its header does not begin with a brace")
    header = json.loads(text, object_pairs_hook=_no_duplicates, parse_int=_natural)
    if header.pop("__metadata__", None) != metadata:
        raise FileFormatError(f"{path} does not have the metadata {metadata} that byheart writes")
    if set(header) != set(dimensions):
        raise FileFormatError(f"{path} does not hold exactly the tensors {list(dimensions)}")
    tensors, spans = {}, []
    for name, rank in dimensions.items():
        entry = header[name]
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"} or entry["dtype"] != "F64":
            raise FileFormatError(f"{path}: {name} is not a tensor of float64")
        shape = _integers_of(path, name, entry["shape"], rank, len(data))
        start, stop = _integers_of(path, name, entry["data_offsets"], 2, len(data))
        if stop - start != 8 * math.prod(shape) or 8 + size + stop > len(data):
            raise FileFormatError(f"{path}: {name} of shape {list(shape)} does not have the bytes it needs")
        spans.append((start, stop))
        tensors[name] = PlainArray(shape, _entries(path, name, "d", data[8 + size + start : 8 + size + stop]))
    ends = [0, *sorted(stop for _, stop in spans)]
    if sorted(spans) != sorted(pairwise(ends)) or 8 + size + ends[-1] != len(data):
        raise FileFormatError(f"{path}: the tensors overlap or leave gaps")
    return tensors


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Whatever a hostile file makes the readers of zip, JSON and text raise, it is the file that is wrong."""
    try:
        yield
    except FileFormatError:
        raise
    except Exception as error:
        raise FileFormatError(f"{path} is not a readable {kind}: {type(error).__name__}: {error}") from error


def _require_regular_file(path: Path) -> None:
    """Reading a device or a pipe might never end."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise FileFormatError(f"{path} is not a regular file")
    if status.st_size > _LARGEST_FILE:
        raise FileFormatError(f"{path} has {status.st_size} bytes, more than the {_LARGEST_FILE} that are read")


def read_npz(path: Path) -> dict[str, PlainArray]:
    """The arrays of an uncompressed ``.npz``, so that no file can ask for more memory than its own size."""
    with reading(path, ".npz file"):
        _require_regular_file(path)
        with path.open("rb") as stream, zipfile.ZipFile(stream) as file:
            members = file.infolist()
            if any(member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 for member in members):
                raise FileFormatError(f"{path} is compressed or encrypted; byheart writes neither")
            if len({member.filename for member in members}) != len(members):
                raise FileFormatError(f"{path} has repeated members")
            if not all(member.filename.endswith(".npy") for member in members):
                raise FileFormatError(f"{path} has members that are no arrays")
            _require_nothing_between(path, file, stream)
            return {m.filename.removesuffix(".npy"): _parse_npy(path, m.filename, file.read(m)) for m in members}


def _require_nothing_between(path: Path, file: zipfile.ZipFile, stream: BinaryIO) -> None:
    """The members follow one another from the first byte to the central directory, and no comment ends the file."""
    end = 0
    for member in sorted(file.infolist(), key=lambda member: member.header_offset):
        if member.header_offset != end or member.orig_filename != member.filename:
            raise FileFormatError(f"{path} has members that overlap, or bytes that belong to none")
        stream.seek(end)
        local = stream.read(30)
        end += 30 + int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little") + member.file_size
    stream.seek(end)
    after = stream.read(4)
    stream.seek(-22, 2)
    if after not in (b"PK\x01\x02", b"PK\x05\x06") or stream.read(4) != b"PK\x05\x06" or file.comment:
        raise FileFormatError(f"{path} has bytes that belong to no member")


def _parse_npy(path: Path, name: str, data: bytes) -> PlainArray:
    size = int.from_bytes(data[8:10], "little")
    if data[:8] != b"\x93NUMPY\x01\x00" or 10 + size > len(data):
        raise FileFormatError(f"{path}: {name} is not an array of numpy, of version 1.0 of its format")
    header, body = data[10 : 10 + size], data[10 + size :]
    match = _ARRAY_HEADER.fullmatch(header)
    if match is None:
        raise FileFormatError(
            f"{path}: {name} has the header {header[:80]!r}, expected {list(_TYPECODES)} or '<U..' in C order"
        )
    kind = match[1].decode("ascii")
    shape = tuple(int(number) for number in match[2].split(b",") if number)
    if header != _written(kind, shape):
        raise FileFormatError(f"{path}: {name} has a header that numpy does not write")
    item = (4 if kind[1] == "U" else 1) * int(kind[2:])
    if item * math.prod(shape) != len(body):
        raise FileFormatError(f"{path}: {name} of shape {list(shape)} does not have the bytes it needs")
    if kind[:2] == "<U":
        texts = [body[i * item : (i + 1) * item].decode("utf-32-le") for i in range(math.prod(shape))]
        return PlainArray(shape, [text.rstrip("\0") for text in texts])
    return PlainArray(shape, _entries(path, name, _TYPECODES[kind], body))


def _written(kind: str, shape: tuple[int, ...]) -> bytes:
    """The header of an array as numpy writes it: room for the first dimension to grow, and a whole multiple of 64."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (21 - len(str(shape[0])) if shape else 0)
    return (text + " " * (64 - (len(text) + 11) % 64) + "\n").encode("ascii")


def _natural(digits: str) -> int:
    if not digits.isdigit():  # json takes -0 for a zero
        raise ValueError(f"the number {digits[:60]} is negative")
    return int(digits)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name occurs twice")
    return result


def _integers_of(path: Path, name: str, value: Any, length: int, most: int) -> tuple[int, ...]:
    good = isinstance(value, list) and len(value) == length and all(type(x) is int and 0 <= x <= most for x in value)
    if not good:
        raise FileFormatError(f"{path}: {name} has the shape or place {str(value)[:60]}, expected small integers")
    return tuple(value)


def _require_vocabulary(path: Path, tokens: Sequence[str]) -> None:
    if not tokens or len(set(tokens)) != len(tokens) or not all(tokens):
        raise FileFormatError(f"{path}: vocabulary is empty, names a token twice, or has one without characters")
    if max(map(len, tokens)) * len(tokens) * 4 > _LARGEST_VOCABULARY_BYTES:
        raise FileFormatError(f"{path}: vocabulary has {len(tokens)} tokens, too many of their length")


def _require_laws(path: Path, laws: PlainArray, labels: Sequence[int]) -> None:
    for i, label in enumerate(labels):
        law = laws.row(i)
        if not abs(math.fsum(law) - 1) <= 1e-9:
            raise FileFormatError(f"{path}: row {i} of laws sums to {math.fsum(law)}, expected 1")
        if label != law.index(max(law)):
            raise FileFormatError(f"{path}: label {i} is {label}, expected the first mode of the law")


def _tuples(path: Path, name: str, tokens: PlainArray, vocabulary_size: int) -> list[tuple[int, ...]]:
    if not all(0 <= token < vocabulary_size for token in tokens.values):
        raise FileFormatError(f"{path}: {name} has a token outside 0 .. {vocabulary_size - 1}")
    return [tuple(tokens.row(i)) for i in range(tokens.shape[0])]


def _count_rows(path: Path, name: str, arrays: dict[str, PlainArray], rows: int, size: int) -> list[dict[int, int]]:
    starts, tokens, counts = (arrays[f"{name}_{part}"].values for part in ("indptr", "indices", "data"))
    good = len(starts) == rows + 1 and starts[0] == 0 and starts[-1] == len(tokens) == len(counts)
    good = good and all(a < b for a, b in pairwise(starts))
    if not good or not all(0 <= token < size for token in tokens) or not all(count >= 1 for count in counts):
        raise FileFormatError(f"{path}: {name} is not a table of counts with {rows} rows")
    if not all(s < t for a, b in pairwise(starts) for s, t in pairwise(tokens[a:b])):
        raise FileFormatError(f"{path}: {name} has tokens that do not increase within a row")
    if sum(counts) > _LARGEST_COUNT:
        raise FileFormatError(f"{path}: {name} sums to {sum(counts)}, expected at most 2**53")
    return [dict(zip(tokens[a:b], counts[a:b], strict=True)) for a, b in pairwise(starts)]
