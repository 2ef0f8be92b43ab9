"""Tasks of layers that read vectors.

Pages: docs/layer.md, docs/task.md
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from constructions.errors import FileFormatError, InputError
from constructions.numeric.arrays import BoolArray, Float64Array, Int64Array
from constructions.numeric.frozen_arrays import frozen_float64
from constructions.tasks.prompts import PromptTask
from constructions.tasks.stored import Reader, Stored, read_stored
from constructions.tasks.task import Part, Task

Kind = Literal["regression", "classification"]


@dataclass(frozen=True, eq=False)
class Vectors:
    """The inputs of a layer that reads vectors: keys and a query per example.

    Args:
        contexts: Keys $E^{(t)}$, `[T, n, d]`, or `[1, n, d]` if all examples share one context.
        queries: Queries $e^{(t)}$, `[T, d]`.

    Raises:
        InputError: Arrays of wrong types or shapes, or a number that is not finite.

    Example:
        >>> given = Vectors(contexts=np.ones((1, 3, 4)), queries=np.ones((5, 4)))
        >>> len(given), given.n_ctx, given.d_model, given.shared, len(given.taken(np.array([0, 2])))
        (5, 3, 4, True, 2)
    """

    contexts: Float64Array
    queries: Float64Array

    def __post_init__(self) -> None:
        for name, dimensions in (("contexts", 3), ("queries", 2)):
            object.__setattr__(self, name, _frozen(name, getattr(self, name), dimensions))
        size, d_model = self.queries.shape
        if self.contexts.shape[0] not in (1, size) or self.contexts.shape[2] != d_model:
            raise InputError("contexts", f"has shape {self.contexts.shape}", f"[{size} or 1, n, {d_model}]")

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def n_ctx(self) -> int:
        """Number of keys in a context, n."""
        return self.contexts.shape[1]

    @property
    def d_model(self) -> int:
        """Dimension of keys and queries, d."""
        return self.queries.shape[1]

    @property
    def shared(self) -> bool:
        """Whether one context is stored for all examples (true also for a single example)."""
        return self.contexts.shape[0] == 1

    def taken(self, chosen: slice | Int64Array) -> "Vectors":
        """Return the vectors of some of the examples."""
        return Vectors(self.contexts if self.shared else self.contexts[chosen], self.queries[chosen])

    def context(self, t: int) -> Float64Array:
        """Return the keys of example `t`, `[n, d]`."""
        if not 0 <= t < len(self):
            raise InputError("t", f"= {t}", f"0 .. {len(self) - 1}")
        return self.contexts[0 if self.shared else t]

    @property
    def contexts_of_each(self) -> Float64Array:
        """Keys of every example, `[T, n, d]`, whether shared or not."""
        return np.broadcast_to(self.contexts, (len(self), self.n_ctx, self.d_model))


@dataclass(frozen=True, eq=False)
class VectorTask(Vectors, Stored):
    r"""The examples that a layer is to memorize: contexts, queries and labels.

    For ``regression`` the output of example t should be the row $Y_t$; for ``classification`` the largest output shall
    be at the place of the largest entry of $Y_t$, which must be unique.

    Args:
        contexts: Keys $E^{(t)}$, `[T, n, d]`, or `[1, n, d]` if all examples share one context.
        queries: Queries $e^{(t)}$, `[T, d]`.
        labels: $Y$, `[T, d_out]`.
        kind: ``"regression"`` or ``"classification"``.

    Raises:
        InputError: Arrays of wrong types or shapes, a number that is not finite, an unknown kind, or a class that is
            not unique.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 3.

    Example:
        >>> task = VectorTask(contexts=np.ones((1, 3, 4)), queries=np.ones((5, 4)), labels=np.ones((5, 1)))
        >>> task.n_examples, task.n_ctx, task.d_model, task.d_out, task.shared, task.kind
        (5, 3, 4, 1, True, 'regression')
    """

    holds = "vectors"
    labels: Float64Array
    kind: Kind = "regression"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "labels", _frozen("labels", self.labels, 2))
        size = len(self)
        if len(self.labels) != size:
            raise InputError("labels", f"has shape {self.labels.shape}", f"[{size}, d_out]")
        if self.kind not in get_args(Kind):
            raise InputError("kind", f"is {self.kind!r}", "'regression' or 'classification'")
        if self.kind == "classification":
            if self.d_out < 2:
                raise InputError("labels", f"has shape {self.labels.shape}", "at least 2 classes")
            unique = (self.labels == self.labels.max(axis=1, keepdims=True)).sum(axis=1) == 1
            if not unique.all():
                raise InputError(f"labels: the largest entry of row {int(unique.argmin())}", "is not unique")

    @property
    def target(self) -> Literal["values", "labels"]:
        """The kind of target: ``values`` of a regression, or ``labels`` of a classification."""
        return "values" if self.kind == "regression" else "labels"

    def modes(self, rows: slice | Int64Array = slice(None)) -> BoolArray:
        """Return where the label of some examples, by default all, is largest, `[examples, d_out]`."""
        part = self.labels[rows]
        return part == part.max(axis=1, keepdims=True)

    @property
    def n_examples(self) -> int:
        """Number of examples, T."""
        return self.queries.shape[0]

    @property
    def n_contexts(self) -> int:
        """Number of examples, under the name that all tasks use."""
        return self.n_examples

    @property
    def n_all(self) -> int:
        """Number of examples; no others are known."""
        return self.n_examples

    @property
    def origin(self) -> str:
        """Source of the labels: ``own``."""
        return "own"

    @property
    def listing(self) -> "VectorTask":
        """The examples in one list: the task itself."""
        return self

    @property
    def facts(self) -> None:
        """None: vectors are not tokens."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """None: vectors are not tokens."""
        return ()

    @property
    def distributions(self) -> None:
        """None, because the targets are labels or values."""

    @property
    def values(self) -> Float64Array | None:
        """For a regression the labels, `[T, d_out]`."""
        return self.labels if self.kind == "regression" else None

    @property
    def kinds(self) -> Int64Array:
        """Distinct numbers, because no two examples count as the same, `[T]`."""
        return np.arange(self.n_examples)

    def sizes(self) -> dict[str, Any]:
        """Return the number and length of the examples, under the names of the JSON figures."""
        return {
            "target": self.target,
            "origin": self.origin,
            "contexts": self.n_examples,
            "facts": self.n_examples,
            "n_ctx": self.n_ctx,
            "shared_context": self.shared,
        }

    @property
    def guess_right(self) -> int:
        """Number of examples with the most frequent class, the best answer that ignores the example."""
        return int(np.bincount(self.classes).max())

    @property
    def following(self) -> dict[tuple[int, ...], Counter[int]]:
        """How often each class is required."""
        return {(): Counter(self.classes.tolist())}

    @property
    def information_bits(self) -> None:
        """None: vectors and values are reals."""

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """None: vectors have no names."""
        return ()

    @property
    def answers(self) -> tuple[str, ...]:
        """None: outputs have no names."""
        return ()

    def answer(self, fact: int) -> tuple[int, ...]:
        """Return the place of the largest label."""
        return (int(self.classes[fact]),)

    def said(self, tokens: tuple[int, ...], fact: int | None) -> str:
        """Return an answer in words: the numbers of the outputs."""
        del fact
        return " ".join(map(str, tokens))

    def in_words(self, fact: int) -> tuple[tuple[str, ...], str, str | None]:
        """Return the number of the example and of its class."""
        return (f"#{fact}",), self.said(self.answer(fact), fact), None

    def decoding(self) -> tuple[list[tuple[int, tuple[int, ...]]], set[int]]:
        """Return nothing, because answers are not tokens."""
        return [], set()

    def unread(self, context: str | Sequence[str]) -> int:
        """Return 0, because every part of an example is read."""
        del context
        return 0

    def echo(self) -> str:
        """Return an empty text, because vectors have no short preview."""
        return ""

    def one(self, fact: int) -> "VectorTask":
        """Return the task with only this example."""
        rows = np.array([fact])
        return VectorTask(self.taken(rows).contexts, self.queries[rows], self.labels[rows], self.kind)

    def typed(self, context: str | Sequence[str]) -> tuple[tuple[int, ...], int | None]:
        """Raise `InputError`, because vectors cannot be typed."""
        raise InputError("task", "brings vectors", "one of tokens: there is nothing to type")

    def rows(self, places: Int64Array) -> list[list[str]]:
        """Return nothing, because vectors have no texts."""
        del places
        return []

    @property
    def inputs(self) -> Vectors:
        """The inputs of the model: the task itself, which contains them."""
        return self

    @property
    def d_out(self) -> int:
        """Number of outputs of an example."""
        return self.labels.shape[1]

    @property
    def classes(self) -> Int64Array:
        """Index of the largest label of each example, `[T]`."""
        return self.labels.argmax(axis=1)

    def require_fit(self, model: Reader) -> None:
        """Raise `InputError` unless a model of these sizes reads the vectors and has an output per label."""
        if model.reads_tokens:
            raise InputError("task", "brings vectors, the model reads tokens")
        if model.d_model != self.d_model:
            raise InputError(
                "task", f"has vectors of dimension {self.d_model}, the model reads dimension {model.d_model}"
            )
        if model.d_vocab_out != self.d_out:
            raise InputError("task", f"has {self.d_out} labels per example, the model {model.d_vocab_out} outputs")

    def words(self) -> dict[str, Any]:
        """Return the kind."""
        return {"kind": self.kind}

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays of ``task.safetensors`` by name, in the order in which they are hashed."""
        return {"contexts": self.contexts, "queries": self.queries, "labels": self.labels}

    @classmethod
    def from_arrays(cls, path: Path, words: dict[str, Any], arrays: dict[str, NDArray]) -> "VectorTask":
        """Return the task of the words and arrays that were read from `path`.

        Raises:
            FileFormatError: They are not the fields of such a task.
        """
        if set(words) != {"kind"} or set(arrays) != {"contexts", "queries", "labels"}:
            raise FileFormatError(f"{path} is not a task of vectors: it holds {sorted({**words, **arrays})}")
        try:
            return cls(**arrays, kind=words["kind"])
        except (InputError, TypeError) as error:
            raise FileFormatError(f"{path} is not a task of vectors: {error}") from error


def load_task(path: Path) -> Task | VectorTask | PromptTask:
    """Read the task in a file, whichever kind it is.

    Args:
        path: What `Stored.save` wrote of one of these.

    Raises:
        FileFormatError: The file is missing, truncated, or not such a task.
    """
    path = Path(path)
    return task_of_arrays(path, *read_stored(path))


def task_of_arrays(
    path: Path, kind: str, words: dict[str, Any], arrays: dict[str, NDArray]
) -> Task | VectorTask | PromptTask:
    """Return the task of what `read_stored` read of a file.

    Raises:
        FileFormatError: It is not such a task.
    """
    for known in (Task, VectorTask, PromptTask):
        if kind == known.holds:
            return known.from_arrays(path, words, arrays)
    raise FileFormatError(f"{path} holds a task of {kind}, expected one of tokens, vectors or prompts")


def _frozen(name: str, value: object, dimensions: int) -> Float64Array:
    if np.ma.isMaskedArray(value):
        raise InputError(name, "is a masked array; fill the masked entries first")
    array = np.asarray(value)
    if array.ndim != dimensions or 0 in array.shape:
        raise InputError(name, f"has shape {array.shape}", f"{dimensions} dimensions of at least 1")
    return frozen_float64(name, array)
