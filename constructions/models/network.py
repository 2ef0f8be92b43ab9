"""The weights of a one-layer attention-only transformer, in the one convention of this project."""

import hashlib
import json
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from constructions.errors import FileFormatError, InputError
from constructions.files import canonical_json, require_regular_file, write_atomically

Float64Array = NDArray[np.float64]

TENSOR_NAMES = ("W_E", "W_pos", "W_Q", "W_K", "W_V", "W_O", "W_U")
_LARGEST_HEADER = 2**20  # bytes
_LARGEST_DIMENSION = 2**31
_METADATA_KEY = "byheart"
_METADATA = {"architecture": "attention-only transformer", "convention": "row vectors, unscaled scores", "version": 1}


@dataclass(frozen=True, eq=False)
class Network:
    r"""The weights of a one-layer attention-only transformer, as exact float64 numbers.

    With row vectors and unscaled scores, for tokens $t_1, \dots, t_S$,

    $$ x_s = W_E[t_s] + W_{pos}[s], \quad \mathrm{score}^h_s = \langle x_S W_Q^h,\, x_s W_K^h \rangle, \quad
       a^h = \mathrm{softmax}_{s = 1..S}(\mathrm{score}^h), $$

    $$ \mathrm{logits} = \Bigl(x_S + \sum_h \bigl(\sum_s a^h_s x_s\bigr) W_V^h W_O^h\Bigr) W_U, $$

    at the last position only. The arrays are copied, made C-contiguous and read-only; nothing is rounded, so that a
    certificate about a `Network` is one about the bytes it is saved as.

    Args:
        W_E: Embeddings, `[d_vocab, d_model]`.
        W_pos: Positional embeddings, `[n_ctx, d_model]`.
        W_Q: Query maps, `[n_heads, d_model, d_qk]`.
        W_K: Key maps, `[n_heads, d_model, d_qk]`.
        W_V: Value maps, `[n_heads, d_model, d_head]`, with `d_head <= d_model`.
        W_O: Output maps, `[n_heads, d_head, d_model]`.
        W_U: Unembedding, `[d_model, d_vocab_out]`.

    Raises:
        InputError: A tensor of a wrong shape or type, or with a NaN or an infinity; names it.

    Source: Dana, Pydi, Chevaleyre (2024), equations (1) and (2). Page: docs/conventions.md

    Example:
        >>> one = np.ones
        >>> network = Network(W_E=one((3, 2)), W_pos=one((4, 2)), W_Q=one((5, 2, 1)), W_K=one((5, 2, 1)),
        ...                   W_V=one((5, 2, 2)), W_O=one((5, 2, 2)), W_U=one((2, 3)))
        >>> network.n_heads, network.d_qk, network.d_head, network.parameters
        (5, 1, 2, 80)
    """

    W_E: Float64Array
    W_pos: Float64Array
    W_Q: Float64Array
    W_K: Float64Array
    W_V: Float64Array
    W_O: Float64Array
    W_U: Float64Array

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _frozen(field.name, getattr(self, field.name)))
        d_model = self.W_E.shape[1]
        n_heads, _, d_qk = self.W_Q.shape
        d_head = self.W_V.shape[2]
        expected = {
            "W_pos": (self.W_pos.shape[0], d_model),
            "W_Q": (n_heads, d_model, d_qk),
            "W_K": (n_heads, d_model, d_qk),
            "W_V": (n_heads, d_model, d_head),
            "W_O": (n_heads, d_head, d_model),
            "W_U": (d_model, self.W_U.shape[1]),
        }
        for name, shape in expected.items():
            actual = getattr(self, name).shape
            if actual != shape:
                raise InputError(f"{name} has shape {actual}, expected {shape} beside W_E {self.W_E.shape}")
        if n_heads and 0 in (d_qk, d_head):
            raise InputError(f"W_Q and W_V have d_qk = {d_qk} and d_head = {d_head}, expected at least 1")
        if d_head > d_model:
            raise InputError(f"W_V has d_head = {d_head}, expected at most d_model = {d_model}")

    @property
    def d_vocab(self) -> int:
        """Number of input tokens, the papers' N."""
        return self.W_E.shape[0]

    @property
    def n_ctx(self) -> int:
        """Context length, the papers' S."""
        return self.W_pos.shape[0]

    @property
    def d_model(self) -> int:
        """Embedding dimension, the papers' d."""
        return self.W_E.shape[1]

    @property
    def n_heads(self) -> int:
        """Number of heads, the papers' H."""
        return self.W_Q.shape[0]

    @property
    def d_qk(self) -> int:
        """Dimension of queries and keys."""
        return self.W_Q.shape[2]

    @property
    def d_head(self) -> int:
        """Dimension of values, the papers' d_h."""
        return self.W_V.shape[2]

    @property
    def d_vocab_out(self) -> int:
        """Number of output tokens."""
        return self.W_U.shape[1]

    @property
    def parameters(self) -> int:
        """Number of entries of all tensors."""
        return sum(tensor.size for tensor in self.tensors().values())

    def tensors(self) -> dict[str, Float64Array]:
        """The seven tensors by name, in the order of `TENSOR_NAMES`."""
        return {name: getattr(self, name) for name in TENSOR_NAMES}

    def sha256(self) -> str:
        """Hash of the names, the shapes and the little-endian float64 bytes of the tensors, in hexadecimal.

        For each tensor in the order of `TENSOR_NAMES`: the ASCII text ``name:d1,d2,..;`` and then the bytes.
        """
        digest = hashlib.sha256()
        for name, tensor in self.tensors().items():
            digest.update(f"{name}:{','.join(map(str, tensor.shape))};".encode("ascii"))
            digest.update(np.ascontiguousarray(tensor, dtype="<f8").data)
        return digest.hexdigest()

    def save(self, path: Path) -> None:
        """Write the tensors to `path` as safetensors, atomically; equal networks give equal bytes."""
        data = safetensors.numpy.save(self.tensors(), metadata={_METADATA_KEY: canonical_json(_METADATA)})
        write_atomically(Path(path), data)

    @classmethod
    def load(cls, path: Path) -> "Network":
        """Read the tensors that `save` wrote.

        Raises:
            FileFormatError: The file is missing, truncated, holds other tensors, another dtype, or NaN.
        """
        path = Path(path)
        require_regular_file(path)
        _require_plain_header(path)
        try:
            with safetensors.safe_open(path, framework="np") as file:
                metadata = file.metadata() or {}
                names = set(file.keys())
                if names != set(TENSOR_NAMES):
                    raise FileFormatError(f"{path} holds the tensors {sorted(names)}, expected {list(TENSOR_NAMES)}")
                kinds = {name: file.get_slice(name).get_dtype() for name in TENSOR_NAMES}
                if set(kinds.values()) != {"F64"}:
                    raise FileFormatError(f"{path} holds dtypes {kinds}, expected F64 throughout")
                tensors = {name: file.get_tensor(name) for name in TENSOR_NAMES}
            if metadata != {_METADATA_KEY: canonical_json(_METADATA)}:
                raise FileFormatError(f"{path} has metadata {metadata}, expected the key {_METADATA_KEY!r} of byheart")
            return cls(**tensors)
        except FileFormatError:
            raise
        except (OSError, safetensors.SafetensorError, ValueError) as error:
            raise FileFormatError(f"{path} is not a readable model: {error}") from error


def _require_plain_header(path: Path) -> None:
    """Refuse a header that two readers of safetensors could take for different ones."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            text = file.read(min(length, _LARGEST_HEADER + 1))
        if not text.startswith(b"{") or length > _LARGEST_HEADER:
            raise ValueError(f"its header of {length} bytes is not one that byheart writes")
        header = json.loads(text, object_pairs_hook=_without_repetition)
        entries = [entry for name, entry in header.items() if name != "__metadata__"]
        plain = all(set(entry) == {"dtype", "shape", "data_offsets"} for entry in entries)
    except (OSError, ValueError, AttributeError, TypeError, RecursionError, MemoryError, OverflowError) as error:
        raise FileFormatError(f"{path} is not a readable model: {error}") from error
    if not plain:
        raise FileFormatError(f"{path} is not a readable model: its header has unknown fields")


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("its header repeats a name")
    return dict(pairs)


def _frozen(name: str, value: object) -> Float64Array:
    array = np.asarray(value)
    dimensions = 2 if name in ("W_E", "W_pos", "W_U") else 3
    if array.dtype != np.float64:
        raise InputError(f"{name} has dtype {array.dtype}, expected float64")
    if array.ndim != dimensions:
        raise InputError(f"{name} has shape {array.shape}, expected {dimensions} dimensions")
    if max(array.shape) > _LARGEST_DIMENSION:
        raise InputError(f"{name} has shape {array.shape}, expected dimensions of at most {_LARGEST_DIMENSION}")
    if name in ("W_E", "W_pos", "W_U") and 0 in array.shape:
        raise InputError(f"{name} has shape {array.shape}, expected no dimension of 0")
    if not np.isfinite(array).all():
        position = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(f"{name} has the entry {array[position]} at {position}, expected finite numbers")
    array = np.array(array, dtype=np.float64, order="C", copy=True)
    array.setflags(write=False)
    return array
