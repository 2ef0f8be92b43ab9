"""A task file, read and hashed by the standard library alone: tokens and what follows them, or vectors and labels.

Pages: docs/rigour/certificate.md, docs/rigour/layer.md
"""

import hashlib
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from constructions.errors import FileFormatError
from constructions.files import canonical_json
from verify.independent.plain_arrays import PlainArray, read_npz, reading

_LARGEST_COUNT = 2**53  # counts stay exact in float64
_LARGEST_VOCABULARY_BYTES = 2**28
_TOKEN_ARRAYS = {
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
_VECTOR_ARRAYS = {"contexts": ("d", 3), "queries": ("d", 2), "labels": ("d", 2)}


@dataclass(frozen=True)
class PlainTask:
    """Contexts of tokens, the counts of their answers, the target and where it comes from, and the hash."""

    target: str
    origin: str
    n_outputs: int
    contexts: list[tuple[int, ...]]
    tail_contexts: list[tuple[int, ...]]
    counts: list[dict[int, int]]
    tail_counts: list[dict[int, int]]
    labels: Sequence[int]
    laws: PlainArray | None
    sha256: str

    @classmethod
    def read(cls, path: Path) -> "PlainTask":
        """Read what `constructions.tasks.task.Task.save` writes, and nothing else.

        Raises:
            FileFormatError: The file is missing or is not such a file.
        """
        with reading(path, "task"):
            return cls.from_arrays(path, read_npz(path))

    @classmethod
    def from_arrays(cls, path: Path, arrays: dict[str, PlainArray]) -> "PlainTask":
        """The task of the arrays that were read from `path`.

        Raises:
            FileFormatError: They are not such a task.
        """
        with reading(path, "task"):
            absent = {name for name in ("laws", "answers") if name not in arrays}
            texts = {"target": 0, "origin": 0, "vocabulary": 1, "answers": 1}
            _require_arrays(path, arrays, _TOKEN_ARRAYS, texts, absent)
            target, origin, vocabulary = (arrays[name].values for name in ("target", "origin", "vocabulary"))
            target, origin = target[0], origin[0]
            if target != ("labels" if "laws" in absent else "laws"):
                raise FileFormatError(f"{path}: the target is {target!r}, which does not fit the laws")
            _require_names(path, "vocabulary", vocabulary)
            names = [list(vocabulary)]
            if "answers" in arrays:
                _require_names(path, "answers", arrays["answers"].values)
                names.append(list(arrays["answers"].values))
                if names[0] == names[1]:
                    raise FileFormatError(f"{path}: answers are the vocabulary once more")
            size = len(names[-1])  # of what follows; contexts have the tokens of the first list
            contexts, tail = _distinct_contexts(path, arrays, len(vocabulary))
            laws = arrays.get("laws")
            _require_target(path, arrays["labels"], laws, len(contexts), size)
            counts = _count_rows(path, "counts", arrays, len(contexts), size)
            tail_counts = _count_rows(path, "tail_counts", arrays, len(tail), size)
            _require_prior(path, arrays["prior"].values, counts, tail_counts)
            labels = arrays["labels"].values
            if origin not in _origins(counts, labels, laws):
                raise FileFormatError(f"{path}: origin is {origin!r}, which the counts do not bear out")
            digest = _hash([target, origin, *names], arrays, _TOKEN_ARRAYS)
            return cls(target, origin, size, contexts, tail, counts, tail_counts, labels, laws, digest)

    def sizes(self) -> dict[str, int]:
        """The sizes of the task by the names of a certificate."""
        memorized, tail = len(self.contexts), len(self.tail_contexts)
        return {"contexts": memorized, "context_length": len(self.contexts[0]), "all_contexts": memorized + tail}

    def modes(self, i: int) -> set[int]:
        """Where the target of the memorized context `i` is largest."""
        if self.laws is None:
            return {self.labels[i]}
        law = self.laws.row(i)
        top = max(law)
        return {token for token, mass in enumerate(law) if mass == top}


@dataclass(frozen=True)
class PlainVectorTask:
    """Contexts and queries that are vectors, the labels of the outputs, the kind of the task, and the hash."""

    kind: str
    contexts: PlainArray
    queries: PlainArray
    labels: PlainArray
    sha256: str

    @classmethod
    def read(cls, path: Path) -> "PlainVectorTask":
        """Read what `constructions.tasks.vectors.VectorTask.save` writes, and nothing else.

        Raises:
            FileFormatError: The file is missing or is not such a file.
        """
        with reading(path, "task of vectors"):
            return cls.from_arrays(path, read_npz(path))

    @classmethod
    def from_arrays(cls, path: Path, arrays: dict[str, PlainArray]) -> "PlainVectorTask":
        """The task of the arrays that were read from `path`.

        Raises:
            FileFormatError: They are not such a task.
        """
        with reading(path, "task of vectors"):
            _require_arrays(path, arrays, _VECTOR_ARRAYS, {"kind": 0}, set())
            kind, (contexts, queries, labels) = arrays["kind"].values[0], (arrays[name] for name in _VECTOR_ARRAYS)
            if kind not in ("regression", "classification"):
                raise FileFormatError(f"{path}: kind is {kind!r}, which no task has")
            if any(0 in arrays[name].shape for name in _VECTOR_ARRAYS):
                raise FileFormatError(f"{path}: an array has a dimension of 0")
            size, d_model = queries.shape
            if contexts.shape[0] not in (1, size) or contexts.shape[2] != d_model or labels.shape[0] != size:
                raise FileFormatError(f"{path}: contexts, queries and labels do not fit each other")
            if kind == "classification" and not all(map(_has_one_class, map(labels.row, range(size)))):
                raise FileFormatError(f"{path}: the largest label of an example is not unique")
            return cls(kind, contexts, queries, labels, _hash([kind], arrays, _VECTOR_ARRAYS))

    @property
    def target(self) -> str:
        """What the outputs must meet: the ``values`` of a regression, or the ``labels`` of a classification."""
        return "values" if self.kind == "regression" else "labels"

    @property
    def origin(self) -> str:
        """Where the targets come from; no counts are beside them."""
        return "own"

    @property
    def d_model(self) -> int:
        """Dimension of keys and queries."""
        return self.queries.shape[1]

    @property
    def n_outputs(self) -> int:
        """How many outputs a model of the task has."""
        return self.labels.shape[1]

    def sizes(self) -> dict[str, int]:
        """The sizes of the task by the names of a certificate."""
        examples = self.queries.shape[0]
        return {"contexts": examples, "context_length": self.contexts.shape[1], "all_contexts": examples}

    def modes(self, i: int) -> set[int]:
        """The place of the largest label of example `i`."""
        row = self.labels.row(i)
        return {max(range(len(row)), key=row.__getitem__)}


def read_task(path: Path) -> PlainTask | PlainVectorTask:
    """Read the task in a file, whichever kind it is.

    Raises:
        FileFormatError: The file is missing or is no task.
    """
    arrays = read_npz(path)
    return (PlainVectorTask if "kind" in arrays else PlainTask).from_arrays(path, arrays)


def _require_arrays(
    path: Path,
    arrays: dict[str, PlainArray],
    numeric: dict[str, tuple[str, int]],
    texts: dict[str, int],
    absent: set[str],
) -> None:
    """Exactly these names, each of its type and with so many dimensions."""
    if set(arrays) != (set(numeric) | set(texts)) - absent:
        raise FileFormatError(f"{path} is not a task of this kind: it has the arrays {sorted(arrays)}")
    for name, found in arrays.items():
        typecode, dimensions = numeric.get(name, ("U", texts.get(name)))
        kind = found.values.typecode if isinstance(found.values, array) else "U"
        if kind != typecode or len(found.shape) != dimensions:
            raise FileFormatError(f"{path}: {name} is of type {kind!r} and shape {found.shape}, as in no task")


def _hash(texts: list, arrays: dict[str, PlainArray], numeric: dict[str, tuple[str, int]]) -> str:
    digest = hashlib.sha256(canonical_json(texts).encode("ascii"))
    for name in numeric:
        if name in arrays:
            digest.update(arrays[name].hashed(name))
    return digest.hexdigest()


def _require_names(path: Path, kind: str, tokens: Sequence[str]) -> None:
    if not tokens or len(set(tokens)) != len(tokens) or not all(tokens):
        raise FileFormatError(f"{path}: {kind} is empty, names a token twice, or has one without characters")
    if max(map(len, tokens)) * len(tokens) * 4 > _LARGEST_VOCABULARY_BYTES:
        raise FileFormatError(f"{path}: {kind} has {len(tokens)} tokens, too many of their length")


def _distinct_contexts(path: Path, arrays: dict[str, PlainArray], size: int) -> list[list[tuple[int, ...]]]:
    """The memorized contexts and those of the tail, at least one of at least one token, and none twice."""
    n_contexts, length = arrays["contexts"].shape
    if n_contexts == 0 or length == 0 or arrays["tail_contexts"].shape[1] != length:
        raise FileFormatError(f"{path}: contexts are empty, or of another length than those of the tail")
    contexts, tail = (_tuples(path, name, arrays[name], size) for name in ("contexts", "tail_contexts"))
    if len(set(contexts) | set(tail)) != len(contexts) + len(tail):
        raise FileFormatError(f"{path}: a context occurs more than once")
    return [contexts, tail]


def _require_target(path: Path, labels: PlainArray, laws: PlainArray | None, n_contexts: int, size: int) -> None:
    if labels.shape != (n_contexts,) or not all(0 <= label < size for label in labels.values):
        raise FileFormatError(f"{path}: labels are not one token for each context")
    if laws is None:
        return
    if laws.shape != (n_contexts, size) or not all(x > 0 for x in laws.values):
        raise FileFormatError(f"{path}: laws are not one law of full support for each context")
    for i, label in enumerate(labels.values):
        law = laws.row(i)
        if not _sums_to_one(law):
            raise FileFormatError(f"{path}: row {i} of laws does not sum to 1 within 1e-9")
        if label != law.index(max(law)):
            raise FileFormatError(f"{path}: label {i} is {label}, expected the first mode of the law")


def _require_prior(
    path: Path, prior: Sequence[float], counts: list[dict[int, int]], tail_counts: list[dict[int, int]]
) -> None:
    totals = [sum(row.values()) for row in counts]
    grand_total = sum(totals) + sum(sum(row.values()) for row in tail_counts)
    if grand_total > _LARGEST_COUNT:
        raise FileFormatError(f"{path}: all contexts occur {grand_total} times together, expected at most 2**53")
    if list(prior) != [total / grand_total for total in totals]:
        raise FileFormatError(f"{path}: prior is not the frequency of each context")


def _sums_to_one(law: Sequence[float]) -> bool:
    """Whether the exact sum of positive numbers is within 10^-9 of 1."""
    if max(law) > 2:
        return False
    # The sum less 1, rounded once, decides unless it is near the limit.
    near = abs(math.fsum([*law, -1.0])) < 0.9e-9
    return near or abs(sum(map(Fraction, law)) - 1) <= Fraction(1, 10**9)


def _origins(counts: list[dict[int, int]], labels: Sequence[int], laws: PlainArray | None) -> set[str]:
    """What the targets may be said to come from: the counts bear it out, or nothing is said."""
    if laws is None:
        if any(label != _first_maximum(row) for label, row in zip(labels, counts, strict=True)):
            return {"own"}
        return {"own", "most frequent"} | ({"table"} if all(len(row) == 1 for row in counts) else set())
    width = laws.shape[1]
    for i, row in enumerate(counts):
        total = sum(row.values())
        if 2 * total * width + width >= _LARGEST_COUNT:
            return {"own"}
        # Quotients of integers below 2^53, each rounded once.
        law = [1 / (width * (2 * total + 1))] * width
        for token, count in row.items():
            law[token] = (2 * width * count + 1) / (width * (2 * total + 1))
        if list(laws.row(i)) != law:
            return {"own"}
    return {"own", "smoothed counts"}


def _first_maximum(row: dict[int, int]) -> int:
    most = max(row.values())
    return min(token for token, count in row.items() if count == most)


def _has_one_class(labels: Sequence[float]) -> bool:
    return len(labels) > 1 and list(labels).count(max(labels)) == 1


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
