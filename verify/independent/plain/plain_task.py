"""A task file, read and hashed by the standard library alone: tokens and what follows them, or vectors and labels.

Pages: docs/rigour/certificate.md, docs/layer.md
"""

import hashlib
import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from constructions.errors import FileFormatError
from constructions.files import canonical_json
from verify.independent.plain.plain_arrays import PlainArray, read_safetensors, reading

_LARGEST_COUNT = 2**53  # counts stay exact in float64
_LARGEST_LAWS = 2**28  # numbers
_LARGEST_VOCABULARY = 2**24  # bytes of JSON
_FORMAT = {"format": "byheart-task", "version": 3}
_TOKEN_ARRAYS = {
    "contexts": ("q", 2),
    "counts_indptr": ("q", 1),
    "counts_indices": ("q", 1),
    "counts_data": ("q", 1),
    "tail_contexts": ("q", 2),
    "tail_counts_indptr": ("q", 1),
    "tail_counts_indices": ("q", 1),
    "tail_counts_data": ("q", 1),
}
_TEXT_ARRAYS = {"text": ("q", 1), "titles": ("q", 1)}
_END = "<|end|>"
_LARGEST_WINDOWS = 2**27
_OWN = {"labels": {"labels": ("q", 1)}, "laws": {"laws": ("d", 2)}}
_VECTOR_ARRAYS = {"contexts": ("d", 3), "queries": ("d", 2), "labels": ("d", 2)}


@dataclass(frozen=True)
class PlainTexts:
    """The whole texts whose windows the contexts are.

    Args:
        titles: One of each, or one that is empty: of a text without, and of one that was cut in parts.
        data: The bytes of each.
        parts: How many decodings are begun.
        characters: How many there are together; none where some token is a byte.
    """

    titles: list[str]
    data: list[bytes]
    parts: int
    characters: int | None

    @classmethod
    def of(cls, text: Sequence[int], titles: Sequence[int], names: list[str]) -> "PlainTexts":
        """The texts of tokens with the end behind each, by the names of the vocabulary."""
        end = names.index(_END)
        pieces: list[list[str]] = [[]]
        for token in text[:-1]:
            if token == end:
                pieces.append([])
            else:
                pieces[-1].append(names[token])
        titled = len(titles) > 1 or titles[0] != end
        known = [names[title][1:-1] for title in titles] if titled else [""]
        if titled and known == [f"{i}/{len(known)}" for i in range(1, len(known) + 1)]:
            known, pieces = [""], [[name for piece in pieces for name in piece]]
        of_bytes = any(map(_is_byte, names[:end]))
        characters = None if of_bytes else sum(len(name) for piece in pieces for name in piece)
        data = [
            b"".join(bytes([int(name[2:], 16)]) if _is_byte(name) else name.encode() for name in piece)
            for piece in pieces
        ]
        return cls(known, data, len(titles), characters)


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
    texts: "PlainTexts | None" = None

    @classmethod
    def read(cls, path: Path) -> "PlainTask":
        """Read what `constructions.tasks.task.Task.save` writes, and nothing else.

        Raises:
            FileFormatError: The file is missing or is not such a file.
        """
        with reading(path, "task"):
            return cls.of(path, *read_words(path, "tokens"))

    @classmethod
    def of(cls, path: Path, words: dict[str, Any], arrays: dict[str, PlainArray]) -> "PlainTask":
        """The task of the words and arrays that were read from `path`.

        Raises:
            FileFormatError: They are not such a task.
        """
        with reading(path, "task"):
            if "context_length" in words:
                return cls._of_texts(path, words, arrays)
            if {"target", "origin", "vocabulary"} != set(words) - {"answers"}:
                raise FileFormatError(f"{path} is not a task of this kind: its header says {sorted(words)}")
            target, origin, *names = words["target"], words["origin"], words["vocabulary"]
            if target not in _OWN or not isinstance(origin, str):
                raise FileFormatError(f"{path}: the target is {target!r} and the origin {origin!r}, as in no task")
            if "answers" in words:
                names.append(words["answers"])
                if names[0] == names[1]:
                    raise FileFormatError(f"{path}: answers are the vocabulary once more")
            for kind, tokens in zip(("vocabulary", "answers"), names, strict=False):
                require_names(path, kind, tokens)
            numeric = {**_TOKEN_ARRAYS, **(_OWN[target] if origin == "own" else {})}
            require_arrays(path, arrays, numeric)
            size = len(names[-1])  # of what follows; contexts have the tokens of the first list
            contexts, tail = _distinct_contexts(path, arrays, len(names[0]))
            counts = _count_rows(path, "counts", arrays, len(contexts), size)
            tail_counts = _count_rows(path, "tail_counts", arrays, len(tail), size)
            _require_total(path, counts, tail_counts)
            labels, laws = _targets(path, target, origin, arrays, counts, size)
            digest = task_sha256("tokens", words, arrays, numeric)
            return cls(target, origin, size, contexts, tail, counts, tail_counts, labels, laws, digest)

    @classmethod
    def _of_texts(cls, path: Path, words: dict[str, Any], arrays: dict[str, PlainArray]) -> "PlainTask":
        """All windows of whole texts, each with what follows it."""
        names, length, origin = words.get("vocabulary"), words.get("context_length"), "most frequent"
        stated = (words.get("target"), words.get("origin"), len(words))
        if stated != ("labels", origin, 4) or type(length) is not int or not isinstance(names, list):
            raise FileFormatError(f"{path} is not a task of whole texts: its header says {sorted(words)}")
        require_names(path, "vocabulary", names)
        require_arrays(path, arrays, _TEXT_ARRAYS)
        following = _windows(path, arrays["text"].values, arrays["titles"].values, length, names)
        contexts, counts = list(following), list(following.values())
        labels, digest = [*map(_first_maximum, counts)], task_sha256("tokens", words, arrays, _TEXT_ARRAYS)
        texts = PlainTexts.of(arrays["text"].values, arrays["titles"].values, names)
        return cls("labels", origin, len(names), contexts, [], counts, [], labels, None, digest, texts)

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
            return cls.of(path, *read_words(path, "vectors"))

    @classmethod
    def of(cls, path: Path, words: dict[str, Any], arrays: dict[str, PlainArray]) -> "PlainVectorTask":
        """The task of the words and arrays that were read from `path`.

        Raises:
            FileFormatError: They are not such a task.
        """
        with reading(path, "task of vectors"):
            require_arrays(path, arrays, _VECTOR_ARRAYS)
            contexts, queries, labels = (arrays[name] for name in _VECTOR_ARRAYS)
            kind = words.get("kind")
            if len(words) != 1 or kind not in ("regression", "classification"):
                raise FileFormatError(f"{path}: kind is {kind!r}, which no task has")
            if any(0 in arrays[name].shape for name in _VECTOR_ARRAYS):
                raise FileFormatError(f"{path}: an array has a dimension of 0")
            size, d_model = queries.shape
            if contexts.shape[0] not in (1, size) or contexts.shape[2] != d_model or labels.shape[0] != size:
                raise FileFormatError(f"{path}: contexts, queries and labels do not fit each other")
            if kind == "classification" and not all(map(_has_one_class, map(labels.row, range(size)))):
                raise FileFormatError(f"{path}: the largest label of an example is not unique")
            return cls(kind, contexts, queries, labels, task_sha256("vectors", words, arrays, _VECTOR_ARRAYS))

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


def read_words(path: Path, kind: str = "") -> tuple[dict[str, Any], dict[str, PlainArray]]:
    """What the header of a task file says beside its format and kind, and the arrays.

    Raises:
        FileFormatError: The file is missing, is no task, or one of another kind than the one that is asked for.
    """
    with reading(path, "task"):
        said, arrays = read_safetensors(path, ("I64", "F64"))
        stated = {name: said.pop(name, None) for name in _FORMAT} if isinstance(said, dict) else {}
        if stated != _FORMAT or type(stated["version"]) is not int:
            raise FileFormatError(f"{path} is not of the format {_FORMAT}")
        found = said.pop("task", None)
        known = "vectors" if "kind" in said else "prompts" if "texts" in said else "tokens"
        if found != (kind or known):
            raise FileFormatError(f"{path} holds a task of {found!r}, expected one of {kind or known}")
        return said, arrays


def require_arrays(path: Path, arrays: dict[str, PlainArray], numeric: dict[str, tuple[str, int]]) -> None:
    """Exactly these names, each of its type and with so many dimensions.

    Raises:
        FileFormatError: It is otherwise.
    """
    if set(arrays) != set(numeric):
        raise FileFormatError(f"{path} is not a task of this kind: it has the arrays {sorted(arrays)}")
    for name, (typecode, dimensions) in numeric.items():
        found = arrays[name]
        if found.values.typecode != typecode or len(found.shape) != dimensions:
            raise FileFormatError(f"{path}: {name} is {found.values.typecode!r} of shape {found.shape}, as in no task")


def task_sha256(kind: str, words: dict[str, Any], arrays: dict[str, PlainArray], order: Iterable[str]) -> str:
    """The hash of the kind, the words and, in this order, the arrays."""
    digest = hashlib.sha256(canonical_json({"task": kind, **words}).encode("ascii"))
    for name in order:
        digest.update(arrays[name].hashed(name))
    return digest.hexdigest()


def require_names(path: Path, kind: str, tokens: Any) -> None:
    """A list of texts, each once, none of them empty.

    Raises:
        FileFormatError: It is none.
    """
    if not isinstance(tokens, list) or not tokens or not all(isinstance(each, str) and each for each in tokens):
        raise FileFormatError(f"{path}: {kind} is empty, or has a token without characters")
    if len(set(tokens)) != len(tokens) or any("\ud800" <= each <= "\udfff" for each in "".join(tokens)):
        raise FileFormatError(f"{path}: {kind} names a token twice, or has code points that are no characters")
    if len(canonical_json(tokens)) > _LARGEST_VOCABULARY:
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


def _windows(
    path: Path, text: Sequence[int], titles: Sequence[int], length: int, names: list[str]
) -> dict[tuple[int, ...], dict[int, int]]:
    """What follows each window of texts, in the order of the first occurrences.

    In front of a token stand the tokens before it, in front of a text its title or the end as often as is needed; and
    where it has a title, this stands first.
    """
    if _END not in names or not all(0 <= token < len(names) for token in (*text, *titles)):
        raise FileFormatError(f"{path}: text or titles have tokens outside the vocabulary, or none is {_END}")
    end, found = names.index(_END), {}
    titled = len(titles) > 1 or titles[0] != end
    if not text or text[-1] != end or len(titles) != sum(token == end for token in text):
        raise FileFormatError(f"{path}: the text does not end, or has another number of titles than texts")
    if len(set(titles)) < len(titles) or not set(titles).isdisjoint(text[:-1]):
        raise FileFormatError(f"{path}: a title occurs twice, or in a text")
    if length < 1 + titled or length * len(text) > _LARGEST_WINDOWS:
        raise FileFormatError(f"{path}: windows of {length} tokens are too short or too long")
    number, before = 0, (titles[0],) * length
    for token in text:
        row = found.setdefault(before, {})
        row[token] = row.get(token, 0) + 1
        if token != end:
            before = (*before[:1], *before[2:], token) if titled else (*before[1:], token)
        elif number + 1 < len(titles):
            number += 1
            before = (titles[number],) * length
    return found


def _targets(
    path: Path, target: str, origin: str, arrays: dict[str, PlainArray], counts: list[dict[int, int]], size: int
) -> tuple[Sequence[int], PlainArray | None]:
    """The labels, and the laws if they are the target: as the file has them, or as the counts say."""
    if origin == "own" and target == "labels":
        labels = arrays["labels"]
        if labels.shape != (len(counts),) or not all(0 <= label < size for label in labels.values):
            raise FileFormatError(f"{path}: labels are not one token for each context")
        return labels.values, None
    if target == "labels":
        if origin != "most frequent" and (origin != "table" or any(len(row) != 1 for row in counts)):
            raise FileFormatError(f"{path}: origin is {origin!r}, which the counts do not bear out")
        return [_first_maximum(row) for row in counts], None
    if origin == "own":
        laws = arrays["laws"]
        if laws.shape != (len(counts), size) or not all(x > 0 for x in laws.values):
            raise FileFormatError(f"{path}: laws are not one law of full support for each context")
        for i in range(len(counts)):
            if not _sums_to_one(laws.row(i)):
                raise FileFormatError(f"{path}: row {i} of laws does not sum to 1 within 1e-9")
    elif origin == "smoothed counts":
        laws = _smoothed(path, counts, size)
    else:
        raise FileFormatError(f"{path}: origin is {origin!r}, which the counts do not bear out")
    rows = map(laws.row, range(len(counts)))
    return [row.index(max(row)) for row in rows], laws


def _require_total(path: Path, counts: list[dict[int, int]], tail_counts: list[dict[int, int]]) -> None:
    grand_total = sum(sum(row.values()) for row in [*counts, *tail_counts])
    if grand_total > _LARGEST_COUNT:
        raise FileFormatError(f"{path}: all contexts occur {grand_total} times together, expected at most 2**53")


def _sums_to_one(law: Sequence[float]) -> bool:
    """Whether the exact sum of positive numbers is within 10^-9 of 1."""
    if max(law) > 2:
        return False
    # The sum less 1, rounded once, decides unless it is near the limit.
    near = abs(math.fsum([*law, -1.0])) < 0.9e-9
    return near or abs(sum(map(Fraction, law)) - 1) <= Fraction(1, 10**9)


def _smoothed(path: Path, counts: list[dict[int, int]], width: int) -> PlainArray:
    """The laws of counts with half an observation more, spread over all: quotients of integers below 2^53."""
    if len(counts) * width > _LARGEST_LAWS:
        raise FileFormatError(f"{path}: {len(counts)} laws of {width} numbers are more than 2**28 numbers")
    values = array("d")
    for row in counts:
        total = sum(row.values())
        if 2 * total * width + width >= _LARGEST_COUNT:
            raise FileFormatError(f"{path}: a context occurs {total} times, too often for exact laws")
        law = array("d", [1 / (width * (2 * total + 1))]) * width
        for token, count in row.items():
            law[token] = (2 * width * count + 1) / (width * (2 * total + 1))
        values.extend(law)
    return PlainArray((len(counts), width), values)


def _first_maximum(row: dict[int, int]) -> int:
    most = max(row.values())
    return min(token for token, count in row.items() if count == most)


def _is_byte(name: str) -> bool:
    return len(name) == 4 and name.startswith("\\x") and not set(name[2:]) - set("0123456789abcdef")


def _has_one_class(labels: Sequence[float]) -> bool:
    return len(labels) > 1 and list(labels).count(max(labels)) == 1


def _tuples(path: Path, name: str, tokens: PlainArray, d_vocab: int) -> list[tuple[int, ...]]:
    if not all(0 <= token < d_vocab for token in tokens.values):
        raise FileFormatError(f"{path}: {name} has a token outside 0 .. {d_vocab - 1}")
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
