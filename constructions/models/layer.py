"""One attention layer that reads vectors, and what it is to memorize."""

import hashlib
import io
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from constructions.errors import FileFormatError, InputError
from constructions.files import canonical_json, write_atomically
from constructions.models.tensor_file import load_tensors, save_tensors
from constructions.tasks.task import read_stored_arrays

Float64Array = NDArray[np.float64]
Int64Array = NDArray[np.int64]
Kind = Literal["regression", "classification"]

LAYER_TENSOR_NAMES = ("W_Q", "W_K", "W_V", "W_O", "W_D")
_METADATA = {"architecture": "attention layer", "convention": "row vectors, unscaled scores", "version": 1}


@dataclass(frozen=True, eq=False)
class Layer:
    r"""The weights of one multi-head attention layer and of the linear map that reads it, as exact float64 numbers.

    For a context $E \in \mathbb R^{n \times d}$, whose rows are the keys, and a query $e \in \mathbb R^d$,

    $$ \theta^h = \mathrm{softmax}\bigl(E\, W_K^h\, (e\, W_Q^h)^T\bigr), \qquad z^h = \theta^h E, \qquad
       \mathrm{output} = [z^1 W_V^1, \dots, z^H W_V^H]\, W_O\, W_D, $$

    with row vectors and unscaled scores. The arrays are copied, made C-contiguous and read-only; nothing is rounded, so
    that a certificate about a `Layer` is one about the bytes it is saved as.

    Args:
        W_Q: Query maps, `[n_heads, d_model, d_head]`.
        W_K: Key maps, `[n_heads, d_model, d_head]`.
        W_V: Value maps, `[n_heads, d_model, d_value]`.
        W_O: Output map, `[n_heads * d_value, d_inner]`.
        W_D: Decoder, `[d_inner, d_out]`.

    Raises:
        InputError: A tensor of a wrong shape or type, or with a NaN or an infinity; names it.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 3. Page: docs/layer.md

    Example:
        >>> one = np.ones
        >>> layer = Layer(W_Q=one((3, 4, 2)), W_K=one((3, 4, 2)), W_V=one((3, 4, 1)), W_O=one((3, 5)), W_D=one((5, 1)))
        >>> layer.n_heads, layer.d_model, layer.d_head, layer.d_value, layer.d_inner, layer.d_out, layer.parameters
        (3, 4, 2, 1, 5, 1, 80)
    """

    W_Q: Float64Array
    W_K: Float64Array
    W_V: Float64Array
    W_O: Float64Array
    W_D: Float64Array

    def __post_init__(self) -> None:
        for field in fields(self):
            dimensions = 2 if field.name in ("W_O", "W_D") else 3
            object.__setattr__(self, field.name, _frozen(field.name, getattr(self, field.name), dimensions))
        n_heads, d_model, d_head = self.W_Q.shape
        d_value, d_inner = self.W_V.shape[2], self.W_O.shape[1]
        expected = {
            "W_K": (n_heads, d_model, d_head),
            "W_V": (n_heads, d_model, d_value),
            "W_O": (n_heads * d_value, d_inner),
            "W_D": (d_inner, self.W_D.shape[1]),
        }
        for name, shape in expected.items():
            actual = getattr(self, name).shape
            if actual != shape:
                raise InputError(f"{name} has shape {actual}, expected {shape} beside W_Q {self.W_Q.shape}")

    @property
    def n_heads(self) -> int:
        """Number of heads, H."""
        return self.W_Q.shape[0]

    @property
    def d_model(self) -> int:
        """Dimension of keys and queries as they are given, d."""
        return self.W_Q.shape[1]

    @property
    def d_head(self) -> int:
        """Dimension in which a head compares keys and queries, d_h."""
        return self.W_Q.shape[2]

    @property
    def d_value(self) -> int:
        """Dimension of the values of a head, d_v."""
        return self.W_V.shape[2]

    @property
    def d_inner(self) -> int:
        """Dimension between the output map and the decoder, d_o."""
        return self.W_O.shape[1]

    @property
    def d_out(self) -> int:
        """Number of outputs."""
        return self.W_D.shape[1]

    @property
    def parameters(self) -> int:
        """Number of entries of all tensors: H d (2 d_h + d_v) + H d_v d_o + d_o d_out."""
        return sum(tensor.size for tensor in self.tensors().values())

    def tensors(self) -> dict[str, Float64Array]:
        """The five tensors by name, in the order of `LAYER_TENSOR_NAMES`."""
        return {name: getattr(self, name) for name in LAYER_TENSOR_NAMES}

    def sha256(self) -> str:
        """Hash of the names, the shapes and the little-endian float64 bytes of the tensors, in hexadecimal.

        For each tensor in the order of `LAYER_TENSOR_NAMES`: the ASCII text ``name:d1,d2,..;`` and then the bytes.
        """
        return _digest(self.tensors(), hashlib.sha256())

    def save(self, path: Path) -> None:
        """Write the tensors to `path` as safetensors, atomically; equal layers give equal bytes."""
        save_tensors(path, self.tensors(), metadata=_METADATA)

    @classmethod
    def load(cls, path: Path) -> "Layer":
        """Read the layer that `save` wrote.

        Raises:
            FileFormatError: The file is missing, truncated, holds other tensors, another dtype, or NaN.
        """
        tensors = load_tensors(path, LAYER_TENSOR_NAMES, metadata=_METADATA)
        try:
            return cls(**tensors)
        except InputError as error:
            raise FileFormatError(f"{path} is not a layer: {error}") from error


@dataclass(frozen=True, eq=False)
class LayerTask:
    r"""The examples that a layer is to memorize: contexts, queries and labels.

    For ``regression`` the output of example t shall be the row $Y_t$; for ``classification`` the largest output shall
    be at the place of the largest entry of $Y_t$, which must be unique.

    Args:
        contexts: Keys $E^{(t)}$, `[T, n, d]`, or `[1, n, d]` if all examples share one context.
        queries: Queries $e^{(t)}$, `[T, d]`.
        labels: $Y$, `[T, d_out]`.
        kind: ``"regression"`` or ``"classification"``.

    Raises:
        InputError: Arrays of wrong types or shapes, a number that is not finite, an unknown kind, or a class that is
            not unique.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 3. Page: docs/layer.md

    Example:
        >>> task = LayerTask(contexts=np.ones((1, 3, 4)), queries=np.ones((5, 4)), labels=np.ones((5, 1)))
        >>> task.n_examples, task.n_tokens, task.d_model, task.d_out, task.shared, task.kind
        (5, 3, 4, 1, True, 'regression')
    """

    contexts: Float64Array
    queries: Float64Array
    labels: Float64Array
    kind: Kind = "regression"

    def __post_init__(self) -> None:
        for name, dimensions in (("contexts", 3), ("queries", 2), ("labels", 2)):
            object.__setattr__(self, name, _frozen(name, getattr(self, name), dimensions))
        size, d_model = self.queries.shape
        if self.contexts.shape[0] not in (1, size) or self.contexts.shape[2] != d_model:
            raise InputError(f"contexts has shape {self.contexts.shape}, expected [{size} or 1, n, {d_model}]")
        if len(self.labels) != size:
            raise InputError(f"labels has shape {self.labels.shape}, expected [{size}, d_out]")
        if self.kind not in get_args(Kind):
            raise InputError(f"kind is {self.kind!r}, expected 'regression' or 'classification'")
        if self.kind == "classification":
            if self.d_out < 2:
                raise InputError(f"labels has shape {self.labels.shape}, expected at least 2 classes")
            unique = (self.labels == self.labels.max(axis=1, keepdims=True)).sum(axis=1) == 1
            if not unique.all():
                raise InputError(f"labels: the largest entry of row {int(unique.argmin())} is not unique")

    @property
    def n_examples(self) -> int:
        """Number of examples, T."""
        return self.queries.shape[0]

    @property
    def n_tokens(self) -> int:
        """Number of keys in a context, n."""
        return self.contexts.shape[1]

    @property
    def d_model(self) -> int:
        """Dimension of keys and queries, d."""
        return self.queries.shape[1]

    @property
    def d_out(self) -> int:
        """Number of outputs of an example."""
        return self.labels.shape[1]

    @property
    def shared(self) -> bool:
        """Whether one context is stored for all examples (true also for a single example)."""
        return self.contexts.shape[0] == 1

    @property
    def classes(self) -> Int64Array:
        """The place of the largest label of each example, `[T]`."""
        return self.labels.argmax(axis=1)

    def context(self, t: int) -> Float64Array:
        """The keys of example `t`, `[n, d]`."""
        if not 0 <= t < self.n_examples:
            raise InputError(f"t = {t}, expected 0 .. {self.n_examples - 1}")
        return self.contexts[0 if self.shared else t]

    def arrays(self) -> dict[str, NDArray]:
        """The arrays of ``layer_task.npz`` by name, in the order in which they are hashed."""
        return {
            "kind": np.array(self.kind),
            "contexts": self.contexts,
            "queries": self.queries,
            "labels": self.labels,
        }

    def sha256(self) -> str:
        """Hash of the kind and the numeric arrays, in hexadecimal.

        First the canonical JSON of ``[kind]``; then for each numeric array in the order of `arrays` the ASCII text
        ``name:d1,d2,..;`` and its little-endian float64 entries.
        """
        numeric = {name: array for name, array in self.arrays().items() if name != "kind"}
        return _digest(numeric, hashlib.sha256(canonical_json([self.kind]).encode("ascii")))

    def save(self, path: Path) -> None:
        """Write the arrays to `path` as an uncompressed ``.npz``, atomically; equal tasks give equal bytes."""
        buffer = io.BytesIO()
        np.savez(buffer, **self.arrays())  # type: ignore[arg-type]
        write_atomically(Path(path), buffer.getvalue())

    @classmethod
    def load(cls, path: Path) -> "LayerTask":
        """Read the task that `save` wrote.

        Raises:
            FileFormatError: The file is missing, truncated, or not such a task.
        """
        path = Path(path)
        arrays = read_stored_arrays(path)
        if set(arrays) != {"kind", "contexts", "queries", "labels"}:
            raise FileFormatError(f"{path} is not a task of a layer: it holds the arrays {sorted(arrays)}")
        kind = arrays.pop("kind")
        if kind.ndim != 0 or kind.dtype.kind != "U":
            raise FileFormatError(f"{path} is not a task of a layer: kind must be one text")
        try:
            return cls(**arrays, kind=kind.item())
        except InputError as error:
            raise FileFormatError(f"{path} is not a task of a layer: {error}") from error


@dataclass(frozen=True, eq=False)
class LayerConstruction:
    """A layer that a claim promises, and what it holds.

    Args:
        task: What the layer is to memorize.
        layer: The weights, as they are shipped: rounded to float64.
        summary: What was built and how large it is, in one sentence.

    Raises:
        InputError: The layer does not read or does not answer the examples of the task.

    Page: docs/audit.md
    """

    task: LayerTask
    layer: Layer
    summary: str

    def __post_init__(self) -> None:
        require_fit(self.layer, self.task)


def require_fit(layer: Layer, task: LayerTask) -> None:
    """Raise `InputError` unless the layer reads the examples of the task and has as many outputs as labels."""
    if layer.d_model != task.d_model:
        raise InputError(f"task has vectors of dimension {task.d_model}, the layer reads dimension {layer.d_model}")
    if layer.d_out != task.d_out:
        raise InputError(f"task has {task.d_out} labels per example, the layer {layer.d_out} outputs")


def _digest(arrays: dict[str, Float64Array], digest: "hashlib._Hash") -> str:
    for name, array in arrays.items():
        digest.update(f"{name}:{','.join(map(str, array.shape))};".encode("ascii"))
        digest.update(np.ascontiguousarray(array, dtype="<f8").data)
    return digest.hexdigest()


def _frozen(name: str, value: object, dimensions: int) -> Float64Array:
    if np.ma.isMaskedArray(value):
        raise InputError(f"{name} is a masked array; fill the masked entries first")
    array = np.asarray(value)
    if array.dtype != np.float64:
        raise InputError(f"{name} has dtype {array.dtype}, expected float64")
    if array.ndim != dimensions or 0 in array.shape:
        raise InputError(f"{name} has shape {array.shape}, expected {dimensions} dimensions of at least 1")
    if not np.isfinite(array).all():
        position = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(f"{name} has the entry {array[position]} at {position}, expected finite numbers")
    array = np.array(array, dtype=np.float64, order="C", copy=True)
    array.setflags(write=False)
    return array
