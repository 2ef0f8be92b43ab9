"""Read a task file: contexts of tokens, their required answers, and the best guess that ignores the context.

Page: docs/rigour/kernel.md
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from verify.kernel.files import Tensor, canonical, read_tensors, require_fields, sha256_of
from verify.kernel.kinds import find_task
from verify.kernel.model import Model
from verify.kernel.verdicts import BadInputError, UndecidedError

FILE = "task.safetensors"
END = "<|end|>"
_LARGEST_COUNT = 2**53
_LARGEST_DISTRIBUTIONS = 2**28  # numbers
_LARGEST_VOCABULARY = 2**24  # bytes of JSON
LARGEST_CONTEXTS = 2**27  # tokens of all contexts that follow from a shorter list of tokens
_LONGEST_WINDOW = 2**12  # tokens, of texts that have no more
_COUNTS = ("indptr", "indices", "data")
_MEMORIZED = {"contexts": 2, **{f"counts_{part}": 1 for part in _COUNTS}}
_TAIL = {"tail_contexts": 2, **{f"tail_counts_{part}": 1 for part in _COUNTS}}
_TEXT = {"text": 1, "titles": 1}

Context = tuple[int, ...]


@dataclass(frozen=True)
class Text:
    """Whole texts: all tokens with an end mark after each text, a title per text or just the mark, and the token
    names.
    """

    tokens: Sequence[int]
    titles: Sequence[int]
    length: int
    names: list[str]

    @property
    def end(self) -> int:
        return self.names.index(END)

    @property
    def is_titled(self) -> bool:
        return len(self.titles) > 1 or self.titles[0] != self.end


@dataclass(frozen=True)
class Vectors:
    """The input vectors: the rows of all contexts and then a query for each, referred to by number.

    Args:
        rows: All of one width.
        values: The values that the outputs should have, `[contexts, outputs]`.
    """

    rows: list[Sequence[float]]
    values: Tensor


@dataclass(frozen=True)
class Task:
    """Contexts of tokens, or of vectors, and their targets.

    Args:
        target: `labels`, `distributions` or `values`.
        origin: Origin of the targets.
        width: How many answers there are.
        contexts: All of one length, but those of prompts. Of tokens they are pairwise distinct, of vectors the numbers
            of their rows and, last, of their query.
        labels: The answer of each; of distributions the first mode.
        distributions: The distribution of each, up to its sum, or none.
        counts: How often each answer follows each context, and after these each context of the tail.
        tail: More contexts of the text, which have no targets.
        sha256: The hash.
        text: Where the contexts are all windows of whole texts, these.
        vectors: Where they are vectors, these.
        asked: Where a fact is more than one context, of each fact the numbers of those that are asked for it.
    """

    target: str
    origin: str
    width: int
    contexts: list[Context]
    labels: Sequence[int]
    distributions: list[Sequence[float]] | None
    counts: list[dict[int, int]]
    tail: list[Context]
    sha256: str
    text: Text | None
    vectors: Vectors | None = None
    asked: list[tuple[int, ...]] | None = None
    first = "answers"  # the kind of statement that comes first

    @property
    def statements(self) -> frozenset[str]:
        """The kinds of statements that such a task has; empty if any."""
        return frozenset() if self.asked is None else frozenset(("answers", "runs"))

    @property
    def facts(self) -> Sequence[tuple[int, ...]]:
        """Contexts that belong to each fact, in order; usually each context is a fact."""
        return [(i,) for i in range(len(self.contexts))] if self.asked is None else self.asked

    def parts(self) -> Iterator["Task"]:
        """Yield the task itself as its only part."""
        yield self

    def misfit(self, model: Model) -> str:
        """Explain why a model cannot read or answer the task; empty if it can."""
        if self.width != model.outputs or model.reads_tokens != (self.vectors is None):
            return "has other outputs than the task, or reads something else"
        if self.vectors is not None:
            fits = model.blocks[0].reads == len(self.vectors.rows[0])
            return "" if fits else "reads vectors of another width than those of the task"
        if model.positions < max(map(len, self.contexts)):
            return "has fewer positions than the task"
        fits = max(map(max, (*self.contexts, *self.tail))) < model.vocabulary
        return "" if fits else "does not know a token of the task"

    def modes(self, i: int) -> list[int]:
        """Return where the target of context `i` is largest."""
        if self.distributions is None:
            return [self.labels[i]]
        top = max(self.distributions[i])
        return [answer for answer, mass in enumerate(self.distributions[i]) if mass == top]

    def sizes(self) -> dict[str, int]:
        """Return the sizes under the names of a certificate."""
        count, length = len(self.facts), max(map(len, self.contexts)) - (self.vectors is not None)
        return {"contexts": count, "context_length": length, "all_contexts": count + len(self.tail)}


def read_task(folder: Path) -> Task:
    """Read `task.safetensors`.

    Raises:
        BadInputError: It is anything but a task in its one form.
        UndecidedError: It is a task of another kind than contexts of tokens.
    """
    words, arrays = read_tensors(folder, FILE)
    if (words.pop("format", None), words.get("version")) != ("byheart-task", 4) or type(
        words.pop("version")
    ) is not int:
        raise BadInputError(FILE, "format", "is not byheart-task, version 4")
    kind = words.get("task")
    if kind == "tokens":
        return (_read_text if "context_length" in words else _read_contexts)(words, arrays)
    other = find_task(kind) if isinstance(kind, str) else None
    if other is not None:
        return other.read(words, arrays)
    if kind == "fold":
        raise UndecidedError(f"{FILE} is a task of {kind}, which the kernel does not read")
    raise BadInputError(FILE, "task", f"is {str(kind)[:40]!r}, expected 'tokens', 'vectors', 'prompts' or 'rule'")


def _read_contexts(words: dict[str, Any], arrays: dict[str, Tensor]) -> Task:
    require_fields(FILE, "metadata", words, ["task", "target", "origin", "vocabulary"], ["answers"])
    target, origin, names = words["target"], words["origin"], words["vocabulary"]
    if target not in ("labels", "distributions") or not isinstance(origin, str):
        raise BadInputError(FILE, "target or origin", f"is {str(target)[:20]!r}, {str(origin)[:20]!r}, as in no task")
    require_names("vocabulary", names)
    answers = words.get("answers", names)
    if "answers" in words:
        require_names("answers", answers)
        if answers == names:
            raise BadInputError(FILE, "answers", "are the vocabulary once more")
    own = {} if origin != "own" else {"labels": 1} if target == "labels" else {"distributions": 2}
    order = {**_MEMORIZED, **_TAIL, **own}
    require_arrays(arrays, order)
    contexts, tail = (_contexts(name, arrays[name], len(names)) for name in ("contexts", "tail_contexts"))
    if not contexts or arrays["tail_contexts"].shape[1] != len(contexts[0]):
        raise BadInputError(FILE, "contexts", "are none, or of another length than those of the tail")
    if len({*contexts, *tail}) != len(contexts) + len(tail):
        raise BadInputError(FILE, "contexts", "hold one context twice")
    counts = _count_rows("counts", arrays, len(contexts), len(answers))
    rest = _count_rows("tail_counts", arrays, len(tail), len(answers))
    if sum(map(sum, (row.values() for row in (*counts, *rest)))) > _LARGEST_COUNT:
        raise BadInputError(FILE, "counts_data", "sum to more than 2**53")
    labels, distributions = _targets(target, origin, arrays, counts, len(answers))
    digest = sha256_of(words, {name: arrays[name] for name in order})
    return Task(target, origin, len(answers), contexts, labels, distributions, [*counts, *rest], tail, digest, None)


def _read_text(words: dict[str, Any], arrays: dict[str, Tensor]) -> Task:
    """Return all windows of whole texts, in the order of first occurrence, each with its most frequent next token."""
    require_fields(FILE, "metadata", words, ["task", "target", "origin", "vocabulary", "context_length"])
    names, length = words["vocabulary"], words["context_length"]
    if (words["target"], words["origin"]) != ("labels", "most frequent") or type(length) is not int:
        raise BadInputError(FILE, "target, origin or context_length", "is not that of whole texts")
    require_names("vocabulary", names)
    require_arrays(arrays, _TEXT)
    tokens, titles = arrays["text"].values, arrays["titles"].values
    _require_text(tokens, titles, length, names)
    text = Text(tokens, titles, length, names)
    following: dict[Context, dict[int, int]] = {}
    for window, token in windows(text):
        row = following.setdefault(window, {})
        row[token] = row.get(token, 0) + 1
    labels = [_first_most(row) for row in following.values()]
    digest = sha256_of(words, {name: arrays[name] for name in _TEXT})
    contexts, counts = list(following), list(following.values())
    return Task("labels", "most frequent", len(names), contexts, labels, None, counts, [], digest, text)


def _require_text(tokens: array, titles: array, length: int, names: list[str]) -> None:
    """Require texts that end, a title for each that occurs in none, and windows short enough for them."""
    if END not in names or not tokens or not titles:
        raise BadInputError(FILE, "text, titles or vocabulary", f"is empty, or without {END}")
    if not all(0 <= token < len(names) for part in (tokens, titles) for token in part):
        raise BadInputError(FILE, "text or titles", "has a token that is not in the vocabulary")
    end = names.index(END)
    if tokens[-1] != end or len(titles) != tokens.count(end):
        raise BadInputError(FILE, "titles", "are not as many as texts, or the last text does not end")
    if len(set(titles)) < len(titles) or not set(titles).isdisjoint(tokens[:-1]):
        raise BadInputError(FILE, "titles", "hold one twice, or one that occurs in a text")
    titled = len(titles) > 1 or titles[0] != end
    longest = max(_LONGEST_WINDOW, len(tokens))
    if not 1 + titled <= length <= longest or length * len(tokens) > LARGEST_CONTEXTS:
        raise BadInputError(FILE, "context_length", f"is {length}, too short or too long for {len(tokens)} tokens")


def windows(text: Text):
    """Return each window of the texts with its next token.

    In front of a text stands its title, or the end, as often as is needed; a title stays the first of every window.
    """
    number, window = 0, (text.titles[0],) * text.length
    end, titled = text.end, text.is_titled
    for token in text.tokens:
        yield window, token
        if token != end:
            window = (window[0], *window[2:], token) if titled else (*window[1:], token)
        elif number + 1 < len(text.titles):
            number += 1
            window = (text.titles[number],) * text.length


def _targets(
    target: str, origin: str, arrays: dict[str, Tensor], counts: list[dict[int, int]], width: int
) -> tuple[Sequence[int], list[Sequence[float]] | None]:
    """Return labels, and distributions if these are the target: from the file, or from its counts."""
    if target == "labels":
        labels = arrays["labels"].values if origin == "own" else [_first_most(row) for row in counts]
        if len(labels) != len(counts) or not all(0 <= label < width for label in labels):
            raise BadInputError(FILE, "labels", "are not one answer for each context")
        if origin not in ("own", "most frequent") and (origin != "table" or any(len(row) != 1 for row in counts)):
            raise BadInputError(FILE, "origin", f"is {origin[:40]!r}, which the counts do not bear out")
        return labels, None
    if origin == "own":
        distributions: list[Sequence[float]] = [
            arrays["distributions"].row(i) for i in range(arrays["distributions"].shape[0])
        ]
        if arrays["distributions"].shape != (len(counts), width) or not all(
            min(distribution) > 0.0 for distribution in distributions
        ):
            raise BadInputError(FILE, "distributions", "are not one distribution of full support for each context")
        if not all(abs(sum(map(Fraction, distribution)) - 1) <= Fraction(1, 10**9) for distribution in distributions):
            raise BadInputError(FILE, "distributions", "have a row whose sum is not within 1e-9 of 1")
    elif origin == "smoothed counts":
        if len(counts) * width > _LARGEST_DISTRIBUTIONS:
            raise BadInputError(FILE, "contexts", f"have distributions of more than {_LARGEST_DISTRIBUTIONS} numbers")
        distributions = [_smoothed(row, width) for row in counts]
    else:
        raise BadInputError(FILE, "origin", f"is {origin[:40]!r}, which the counts do not bear out")
    return [distribution.index(max(distribution)) for distribution in distributions], distributions


def _smoothed(row: dict[int, int], width: int) -> Sequence[float]:
    """Return the distribution of counts with half an observation more, spread over all: (2 K c + 1) / (K (2 n + 1)),
    rounded once.
    """
    total = sum(row.values())
    if 2 * total * width + width >= _LARGEST_COUNT:
        raise BadInputError(FILE, "counts_data", "are too large for exact distributions")
    distribution = array("d", [1 / (width * (2 * total + 1))]) * width
    for answer, count in row.items():
        distribution[answer] = (2 * width * count + 1) / (width * (2 * total + 1))
    return distribution


def _first_most(row: dict[int, int]) -> int:
    """Return the smallest of the most frequent answers."""
    most = max(row.values())
    return min(answer for answer, count in row.items() if count == most)


def require_names(field: str, names: Any) -> None:
    """Require distinct nonempty texts of valid characters."""
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        raise BadInputError(FILE, field, "is not a list of texts, or has an empty one")
    if len(set(names)) != len(names) or any("\ud800" <= character <= "\udfff" for character in "".join(names)):
        raise BadInputError(FILE, field, "names a token twice, or has code points that are no characters")
    if len(canonical(names)) > _LARGEST_VOCABULARY:
        raise BadInputError(FILE, field, f"has more than {_LARGEST_VOCABULARY} bytes")


def require_arrays(arrays: dict[str, Tensor], order: dict[str, int]) -> None:
    """Require exactly these names with these numbers of axes; distributions are floats and all others integers."""
    require_fields(FILE, "arrays", arrays, order)
    for name, axes in order.items():
        if arrays[name].values.typecode != ("d" if name == "distributions" else "q") or len(arrays[name].shape) != axes:
            raise BadInputError(FILE, name, f"is of another type, or has not {axes} axes")


def _contexts(name: str, tensor: Tensor, size: int) -> list[Context]:
    if tensor.shape[1] == 0 or not all(0 <= token < size for token in tensor.values):
        raise BadInputError(FILE, name, "are empty, or have a token that is not in the vocabulary")
    return [tuple(tensor.row(i)) for i in range(tensor.shape[0])]


def _count_rows(name: str, arrays: dict[str, Tensor], rows: int, size: int) -> list[dict[int, int]]:
    """Require rows of counts in CSR form: no row is empty, answers increase, counts are at least 1."""
    starts, answers, counts = (arrays[f"{name}_{part}"].values for part in _COUNTS)
    refusal = BadInputError(FILE, f"{name}_data", f"with its indices is not a table of counts of {rows} rows")
    if not (len(starts) == rows + 1 and starts[0] == 0 and starts[-1] == len(answers) == len(counts)):
        raise refusal
    if not (all(0 <= answer < size for answer in answers) and all(count >= 1 for count in counts)):
        raise refusal
    table = []
    for start, stop in pairwise(starts):
        row = answers[start:stop]
        if start >= stop or any(answer >= following for answer, following in pairwise(row)):
            raise refusal
        table.append(dict(zip(row, counts[start:stop], strict=True)))
    return table
