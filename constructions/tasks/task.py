"""Define the memorization task: contexts, next tokens, and the target that the model must reach.

Pages: docs/task.md, docs/rigour/certificate.md
"""

import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from constructions.errors import FileFormatError, HypothesisError, InputError, ResourceError
from constructions.formats.files import canonical_json
from constructions.numeric.arrays import BoolArray, Float64Array, Int64Array
from constructions.numeric.frozen_arrays import frozen_copy, is_frozen
from constructions.tasks.stored import Reader, Stored, require_knows, require_reads
from constructions.tasks.vocabulary import echoed, numbers_of, tokens_of, typed, unread, visible
from constructions.tasks.windows import END, Windows

Target = Literal["distributions", "labels"]
Origin = Literal["smoothed counts", "most frequent", "table", "own"]
"""Where targets come from: the smoothed counts, the most frequent next tokens, the rows of a table, or elsewhere."""

_LARGEST_COUNT = 2**53  # counts stay exact in float64
_LARGEST_VOCABULARY = 2**24  # bytes of JSON
_PRIMARY = (
    *("contexts", "counts_indptr", "counts_indices", "counts_data"),
    *("tail_contexts", "tail_counts_indptr", "tail_counts_indices", "tail_counts_data"),
)
_FAR_FROM_ONE = Fraction(1, 10**9)  # what the exact sum of a distribution may be away from 1
LARGEST_WINDOWS = 2**27
"""Tokens of all windows of whole texts: 1 GiB where these do not share their memory."""
_LARGEST_DISTRIBUTIONS = 2**28  # entries: distributions are dense, 2 GiB


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each token follows each context: a sparse integer matrix in compressed rows (CSR).

    Row `i` holds the tokens `indices[indptr[i]:indptr[i+1]]`, strictly increasing, with the counts at the same places
    of `data`, all at least 1. Nothing of size rows x vocabulary is ever allocated unless `dense` is asked for it.

    Args:
        indptr: Row boundaries, `[rows + 1]`.
        indices: Tokens, `[entries]`.
        data: Counts, `[entries]`.

    Raises:
        InputError: The arrays are not such a matrix, or a row is empty.

    Example:
        >>> counts = Counts.from_rows([{0: 2, 3: 1}, {1: 5}])
        >>> counts.totals(), counts.dense(0, 2, 4).tolist()
        (array([3, 5]), [[2, 0, 0, 1], [0, 5, 0, 0]])
    """

    indptr: Int64Array
    indices: Int64Array
    data: Int64Array

    def __post_init__(self) -> None:
        for name in ("indptr", "indices", "data"):
            object.__setattr__(self, name, _frozen_integers(f"counts_{name}", getattr(self, name), dimensions=1))
        indptr, indices, data = self.indptr, self.indices, self.data
        if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != len(indices) or len(indices) != len(data):
            raise InputError("counts_indptr", f"must run from 0 to the number of entries {len(indices)} = {len(data)}")
        if (np.diff(indptr) <= 0).any():
            row = int(np.flatnonzero(np.diff(indptr) <= 0)[0])
            raise InputError(f"counts_indptr: row {row}", "is empty; every context needs at least one next token")
        if len(data) and (data.min() < 1 or data.max() > _LARGEST_COUNT):
            raise InputError("counts_data", f"has entries in [{data.min()}, {data.max()}]", "1 .. 2**53")
        if int(np.sum(data, dtype=object)) > _LARGEST_COUNT:
            raise InputError("counts_data", f"sums to {int(np.sum(data, dtype=object))}", "at most 2**53")
        inside = np.ones(len(indices), dtype=bool)
        inside[indptr[:-1]] = False
        if len(indices) and (indices.min() < 0 or (np.diff(indices)[inside[1:]] <= 0).any()):
            raise InputError("counts_indices", "must be non-negative and strictly increasing within each row")

    @classmethod
    def from_rows(cls, rows: list[dict[int, int]]) -> "Counts":
        """Build the matrix from one mapping token -> count per row."""
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)]).astype(np.int64)
        entries = [entry for row in rows for entry in sorted(row.items())]
        return cls(
            indptr=indptr,
            indices=np.array([token for token, _ in entries], dtype=np.int64),
            data=np.array([count for _, count in entries], dtype=np.int64),
        )

    @classmethod
    def empty(cls) -> "Counts":
        """Return the matrix without rows."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(indptr=np.zeros(1, dtype=np.int64), indices=nothing, data=nothing)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def totals(self) -> Int64Array:
        """Return the sum of each row, `[rows]`: how often the context occurs."""
        if len(self) == 0:
            return np.zeros(0, dtype=np.int64)
        return np.add.reduceat(self.data, self.indptr[:-1])

    def row(self, i: int) -> tuple[Int64Array, Int64Array]:
        """Return the tokens and counts of row `i`."""
        part = slice(int(self.indptr[i]), int(self.indptr[i + 1]))
        return self.indices[part], self.data[part]

    def rows(self, start: int, stop: int) -> "Counts":
        """Return the rows `start .. stop - 1` as a matrix of their own."""
        part = slice(int(self.indptr[start]), int(self.indptr[stop]))
        return Counts(self.indptr[start : stop + 1] - self.indptr[start], self.indices[part], self.data[part])

    def take(self, order: Int64Array) -> "Counts":
        """Return the rows named by `order`, in that order."""
        lengths = np.diff(self.indptr)[order]
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        shifts = self.indptr[:-1][order] - indptr[:-1]  # how far each row moves
        positions = np.arange(indptr[-1]) + np.repeat(shifts, lengths)
        return Counts(indptr, self.indices[positions], self.data[positions])

    def renumbered(self, new: Int64Array) -> "Counts":
        """Return the same counts for tokens `new[i]` instead of i, pairwise distinct."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        order = np.lexsort((new[self.indices], rows))
        return Counts(self.indptr, new[self.indices][order], self.data[order])

    def dense(self, start: int, stop: int, width: int) -> Int64Array:
        """Return the rows `start .. stop - 1` as a dense array `[stop - start, width]`."""
        part = self.rows(start, stop)
        result = np.zeros((len(part), width), dtype=np.int64)
        result[np.repeat(np.arange(len(part)), np.diff(part.indptr)), part.indices] = part.data
        return result

    def first_maxima(self) -> Int64Array:
        """Return the most frequent token of each row, `[rows]`; the smallest of several."""
        if len(self) == 0:
            return np.zeros(0, dtype=np.int64)
        row_of_entry = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        largest = np.maximum.reduceat(self.data, self.indptr[:-1])
        candidates = np.flatnonzero(self.data == largest[row_of_entry])
        _, first = np.unique(row_of_entry[candidates], return_index=True)
        return self.indices[candidates[first]]


class TokenTask(Stored):
    """A task of tokens, with the texts of the input tokens and of the answers."""

    vocabulary: tuple[str, ...]
    answers: tuple[str, ...]

    @property
    def d_vocab(self) -> int:
        """Number of tokens that are read, N."""
        return len(self.vocabulary)

    @property
    def n_answers(self) -> int:
        """Number of answers, K: of the labels and of the entries of a distribution."""
        return len(self.answers)

    @property
    def apart(self) -> bool:
        """Whether the answers have a separate vocabulary."""
        return self.answers is not self.vocabulary

    def require_answers(self, model: Reader, hint: str = "") -> None:
        """Raise `InputError` unless a model has one output per answer."""
        if self.n_answers != model.d_vocab_out:
            kind = "answers" if self.apart else "tokens"
            raise InputError("task", f"has {self.n_answers} {kind}, the model {model.d_vocab_out} logits{hint}")


@dataclass(frozen=True, eq=False)
class Task(TokenTask):
    r"""A memorization task: $T$ contexts of $S$ tokens to memorize, the remaining contexts, and the target.

    For the target ``distributions`` the model must reach $\log \pi_t$ up to a constant, where $\pi_t$ is
    `distributions[t]` divided by its exact sum (a distribution of full support, the paper's Assumption 2); for
    ``labels`` the logit of `labels[t]` must be the strict maximum (Assumption 1: $\pi_t$ is the point mass at the
    label).

    Args:
        target: ``"distributions"`` or ``"labels"``.
        vocabulary: The texts of the $N$ tokens that are read.
        contexts: The memorized contexts, most frequent first, pairwise distinct, `[T, S]`.
        counts: Counts of the answers after each of them, $T$ rows.
        labels: For ``labels`` the answer to be memorized, for ``distributions`` the mode of the distribution, `[T]`.
        distributions: The distributions for the target ``distributions``, `[T, K]`, positive; `None` for ``labels``.
        prior: Frequency of each memorized context among all contexts of the text, `[T]`.
        tail_contexts: The contexts that are not memorized, `[M - T, S]`.
        tail_counts: Counts of the answers after each of those, $M - T$ rows.
        origin: Where the targets come from; empty: what the counts say of them. It is checked: ``smoothed counts`` are
            `smoothed_distributions`, ``most frequent`` the first maxima of the counts, a ``table`` has one next token
            for each context.
        answers: The texts of the $K$ answers, which counts, labels and distributions are numbered by; empty: the tokens
            that are read are the answers too, as in a text.
        windows: Where the contexts are all windows of whole texts: these texts. It is checked that they are.

    Raises:
        InputError: A field of a wrong shape or range, a context that occurs twice, or targets that are not what
            `origin` says; names it.
        HypothesisError: A distribution without full support.

    Source: Dana, Pydi, Chevaleyre (2024), Section 2.

    Example:
        >>> counts = Counts.from_rows([{0: 3, 1: 1}, {1: 2}, {0: 1}])
        >>> contexts = np.array([[0, 0], [0, 1], [1, 0]])
        >>> task = make_task(contexts, counts, vocabulary=("a", "b"), target="distributions", facts=2)
        >>> task.n_contexts, task.n_all, task.distributions.tolist(), task.prior.round(3).tolist()
        (2, 3, [[0.7222222222222222, 0.2777777777777778], [0.1, 0.9]], [0.571, 0.286])
    """

    holds = "tokens"
    target: Target
    vocabulary: tuple[str, ...]
    contexts: Int64Array
    counts: Counts
    labels: Int64Array
    distributions: Float64Array | None
    prior: Float64Array
    tail_contexts: Int64Array
    tail_counts: Counts
    origin: Origin | Literal[""] = ""
    answers: tuple[str, ...] = ()
    windows: Windows | None = None

    def __post_init__(self) -> None:
        if self.target not in ("distributions", "labels"):
            raise InputError("target", f"is {self.target!r}", "'distributions' or 'labels'")
        object.__setattr__(self, "vocabulary", _checked_names("vocabulary", self.vocabulary))
        answers = _checked_names("answers", self.answers) if len(self.answers) else self.vocabulary
        object.__setattr__(self, "answers", self.vocabulary if answers == self.vocabulary else answers)
        for name, dimensions in (("contexts", 2), ("labels", 1), ("tail_contexts", 2)):
            object.__setattr__(self, name, _frozen_integers(name, getattr(self, name), dimensions=dimensions))
        for name, dimensions in (("prior", 1), ("distributions", 2)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _frozen_floats(name, getattr(self, name), dimensions=dimensions))
        self._check_contexts()
        self._check_target()
        self._check_origin()
        if self.windows is not None:
            self._check_windows(self.windows)

    def _check_contexts(self) -> None:
        n_contexts, n_ctx = self.contexts.shape
        if n_contexts == 0 or n_ctx == 0:
            raise InputError("contexts", f"has shape {self.contexts.shape}", "at least one context of one token")
        if self.tail_contexts.shape[1] != n_ctx:
            raise InputError("tail_contexts", f"has shape {self.tail_contexts.shape}", f"[*, {n_ctx}]")
        width = self.d_vocab
        for name, tokens, counts in (
            ("contexts", self.contexts, self.counts),
            ("tail_contexts", self.tail_contexts, self.tail_counts),
        ):
            if tokens.size and (tokens.min() < 0 or tokens.max() >= width):
                raise InputError(name, f"has tokens in [{tokens.min()}, {tokens.max()}]", f"0 .. {width - 1}")
            if len(counts) != len(tokens):
                raise InputError(name, f"has {len(tokens)} rows, but its counts have {len(counts)}")
            if len(counts.indices) and counts.indices.max() >= self.n_answers:
                raise InputError(f"counts of {name}:", f"answer {counts.indices.max()}", f"0 .. {self.n_answers - 1}")
        everything = self.contexts
        if len(self.tail_contexts):
            everything = np.concatenate([self.contexts, self.tail_contexts])
        of_windows = self.windows is not None and everything is self.windows.contexts  # which are distinct
        distinct = len(everything if of_windows else np.unique(everything, axis=0))
        if distinct != len(everything):
            raise InputError(f"contexts: {len(everything) - distinct} of {len(everything)}", "occur more than once")
        grand_total = int(self.counts.totals().sum()) + int(self.tail_counts.totals().sum())
        if grand_total > _LARGEST_COUNT:
            raise InputError("counts: all contexts", f"occur {grand_total} times together", "at most 2**53")
        if self.prior.shape != (n_contexts,) or (self.prior != self.counts.totals() / grand_total).any():
            raise InputError(
                "prior", "must be the frequency of each context: the sum of its counts over the grand total"
            )

    def _check_target(self) -> None:
        shape = (self.n_contexts, self.n_answers)
        if self.labels.shape != shape[:1]:
            raise InputError("labels", f"has shape {self.labels.shape}", shape[:1])
        if self.labels.min() < 0 or self.labels.max() >= shape[1]:
            raise InputError("labels", f"in [{self.labels.min()}, {self.labels.max()}]", f"0 .. {shape[1] - 1}")
        if self.target == "labels":
            if self.distributions is not None:
                raise InputError("distributions", "are given, but the target is 'labels'")
            return
        if self.distributions is None or self.distributions.shape != shape:
            actual = None if self.distributions is None else self.distributions.shape
            raise InputError("distributions", f"has shape {actual}", f"{shape} for the target 'distributions'")
        bad = np.flatnonzero((self.distributions <= 0).any(axis=1))
        if len(bad):
            raise HypothesisError(
                "Dana et al. (2024), Theorem 1",
                "distributions of full support (Assumption 2)",
                f"row {bad[0]} of distributions has the entry {self.distributions[bad[0]].min()}",
            )
        require_sums_of_one(self.distributions)
        if (self.labels != self.distributions.argmax(axis=1)).any():
            raise InputError("labels", "must be the first mode of each distribution for the target 'distributions'")

    def _check_origin(self) -> None:
        true_origin: Origin = "own"
        if self.distributions is None:
            if (self.labels == self.counts.first_maxima()).all():
                true_origin = "most frequent"
        elif _are_smoothed(self.distributions, self.counts, self.n_answers):
            true_origin = "smoothed counts"
        one_each = true_origin == "most frequent" and len(self.counts.indices) == len(self.counts)
        if self.origin not in ("", true_origin, "own", *(["table"] if one_each else [])):
            raise InputError("origin", f"is {self.origin!r}, but by the counts it is {true_origin!r}")
        object.__setattr__(self, "origin", self.origin or true_origin)

    def _check_windows(self, windows: Windows) -> None:
        of_text = self.target == "labels" and self.origin == "most frequent" and not self.apart
        if not of_text or self.contexts is not windows.contexts or len(self.tail_contexts):
            raise InputError("windows", "are not the contexts", "those, with labels of one vocabulary, and no tail")
        if self.vocabulary[windows.end] != END:
            raise InputError("windows", f"end with {self.vocabulary[windows.end]!r}", repr(END))
        stored_counts = (self.counts.indptr, self.counts.indices, self.counts.data)
        if not all(map(np.array_equal, stored_counts, windows.following())):
            raise InputError("counts", "are not those of the windows", "what follows each of them")

    @property
    def n_contexts(self) -> int:
        """Number of memorized contexts, T."""
        return self.contexts.shape[0]

    @property
    def inputs(self) -> Int64Array:
        """The inputs of the model, `[T, S]`."""
        return self.contexts

    @property
    def listing(self) -> "Task":
        """The contexts in one list: the task itself."""
        return self

    @property
    def facts(self) -> "Task":
        """The contexts as one list of tokens: the task itself."""
        return self

    @property
    def parts(self) -> "tuple[Part, ...]":
        """The contexts by length; all have the same length."""
        every = np.arange(self.n_contexts)
        return (Part(self, every, every),)

    @property
    def classes(self) -> Int64Array:
        """The first mode of each target, `[T]`."""
        return self.labels

    @property
    def values(self) -> None:
        """None, because the targets are labels or distributions."""

    def sizes(self) -> dict[str, Any]:
        """Return the number and length of the contexts, under the names of the JSON figures."""
        return {
            "target": self.target,
            "origin": self.origin,
            "vocabulary": self.d_vocab,
            "answers": self.n_answers,
            "contexts": self.n_all,
            "facts": self.n_contexts,
            "n_ctx": self.n_ctx,
        }

    @property
    def guess_right(self) -> int:
        """Number of contexts with the most frequent label, the best answer that ignores the context."""
        return int(np.bincount(self.labels).max())

    @property
    def following(self) -> dict[tuple[int, ...], Counter[int]]:
        """How often each answer is required; answers are single tokens."""
        return {(): Counter(self.labels.tolist())}

    def taken(self, rows: Int64Array) -> "Task":
        """Return the contexts `rows` as a task without remaining contexts."""
        counts = self.counts.take(rows)
        totals = counts.totals()
        return replace(
            self,
            contexts=self.contexts[rows],
            counts=counts,
            labels=self.labels[rows],
            distributions=None if self.distributions is None else self.distributions[rows],
            prior=totals / int(totals.sum()),
            tail_contexts=self.tail_contexts[:0],
            tail_counts=Counts.empty(),
            origin="own",
            windows=None,
        )

    def one(self, fact: int) -> "Task":
        """Return the task with only this fact."""
        return self.taken(np.array([fact]))

    def typed(self, context: str | Sequence[str]) -> tuple[tuple[int, ...], int | None]:
        """Return the tokens of a context as a person types it, and which fact it is, if any.

        Args:
            context: A text, cut as `constructions.tasks.vocabulary.tokens_of` says, or the tokens themselves.

        Raises:
            InputError: A token that is not in the vocabulary, or another number of them.
        """
        if isinstance(context, bytes) or not isinstance(context, Sequence):
            raise InputError("context", f"is {context!r}", "a text or its tokens")
        tokens = tokens_of(context, self) if isinstance(context, str) else numbers_of(list(context), self)
        known = np.flatnonzero((self.contexts == tokens).all(axis=1))
        return tuple(tokens), int(known[0]) if len(known) else None

    def answer(self, fact: int) -> tuple[int, ...]:
        """Return the token that follows a context; of a distribution its first mode."""
        return (int(self.labels[fact]),)

    def said(self, tokens: tuple[int, ...], fact: int | None) -> str:
        """Return an answer in words."""
        del fact
        return " ".join(self.answers[token] for token in tokens)

    def in_words(self, fact: int) -> tuple[tuple[str, ...], str, str | None]:
        """Return the context, the answer, of a distribution with several modes all of them, and a place of a whole text
        as typed.
        """
        words = tuple(self.vocabulary[token] for token in self.contexts[fact].tolist())
        is_mode = self.modes(np.array([fact]))
        modes = [self.answers[token] for token in np.flatnonzero(is_mode)]
        answer = modes[0] if len(modes) == 1 else " or ".join(map(visible, modes))
        as_typed = typed(self, fact) if self.windows is not None else None
        return words, answer, as_typed

    def decoding(self) -> tuple[list[tuple[int, tuple[int, ...]]], set[int]]:
        """Return how many tokens precede an answer, which is any single token; and the tokens that are read."""
        return [(self.n_ctx, (0,))], set(np.unique(self.contexts).tolist())

    def unread(self, context: str | Sequence[str]) -> int:
        """Return how many words or characters of the typed text precede those that are read."""
        return unread(context, self) if isinstance(context, str) else 0

    def echo(self) -> str:
        """Return the first facts in a line, and how many more."""
        return echoed(self)

    def rows(self, places: Int64Array) -> list[list[str]]:
        """Return some facts as rows of texts: the tokens of the context, and the label if there is one."""
        rows = [[self.vocabulary[token] for token in context] for context in self.contexts[places]]
        if self.distributions is not None:
            return rows
        return [[*row, self.answers[label]] for row, label in zip(rows, self.labels[places], strict=True)]

    @property
    def n_ctx(self) -> int:
        """Tokens in a context, S."""
        return self.contexts.shape[1]

    @property
    def contradicted(self) -> int:
        """Number of observations of memorized contexts followed by an answer other than the required one."""
        rows = np.repeat(np.arange(len(self.counts)), np.diff(self.counts.indptr))
        return int(self.counts.data[self.counts.indices != self.labels[rows]].sum())

    @property
    def kinds(self) -> Int64Array:
        """Numbers that are equal where the same is asked of contexts: the labels; all distributions differ, `[T]`."""
        return self.labels if self.distributions is None else np.arange(self.n_contexts)

    @property
    def n_all(self) -> int:
        """Number of all contexts, memorized and tail, M."""
        return len(self.contexts) + len(self.tail_contexts)

    @property
    def information_bits(self) -> float | None:
        r"""T times the entropy of the labels, at most $T \log_2 K$; none for distributions, which are reals."""
        if self.distributions is not None:
            return None
        share = np.unique(self.labels, return_counts=True)[1] / self.n_contexts
        return abs(float(share @ np.log2(share))) * self.n_contexts

    def require_fit(self, model: Reader) -> None:
        """Raise `InputError` unless a model of these sizes reads the contexts and has an output per answer."""
        require_reads(model, self.n_ctx)
        self.require_answers(model, "; task.in_one_vocabulary() numbers them as tokens" if self.apart else "")
        require_knows(model, max(int(tokens.max(initial=0)) for tokens in (self.contexts, self.tail_contexts)))

    def modes(self, rows: slice | Int64Array = slice(None)) -> BoolArray:
        """Return where the target of some contexts, by default all, is largest, `[contexts, K]`.

        For ``distributions`` every position of the largest value of the distribution (a distribution may have several
        modes), for ``labels`` the label alone.
        """
        if self.distributions is not None:
            part = self.distributions[rows]
            return part == part.max(axis=1, keepdims=True)
        result = np.zeros((len(self.labels[rows]), self.n_answers), dtype=bool)
        result[np.arange(len(result)), self.labels[rows]] = True
        return result

    def words(self) -> dict[str, Any]:
        """Return the target, where it comes from, and the vocabulary or vocabularies."""
        names = {"vocabulary": list(self.vocabulary)} | ({"answers": list(self.answers)} if self.apart else {})
        length = {} if self.windows is None else {"context_length": self.windows.n_ctx}
        return {"target": self.target, "origin": self.origin, **names, **length}

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays of ``task.safetensors`` by name, in the order in which they are hashed.

        Labels and distributions are among them only where the counts do not say them; frequencies follow from the
        counts. Of whole texts all follows from the texts.
        """
        if self.windows is not None:
            return {"text": self.windows.text, "titles": self.windows.titles}
        arrays: dict[str, NDArray] = {
            "contexts": self.contexts,
            "counts_indptr": self.counts.indptr,
            "counts_indices": self.counts.indices,
            "counts_data": self.counts.data,
            "tail_contexts": self.tail_contexts,
            "tail_counts_indptr": self.tail_counts.indptr,
            "tail_counts_indices": self.tail_counts.indices,
            "tail_counts_data": self.tail_counts.data,
        }
        if self.origin == "own":
            arrays |= {"labels": self.labels} if self.distributions is None else {"distributions": self.distributions}
        return arrays

    def names(self) -> tuple[str, ...]:
        """Return the tokens that are read, then the answers that are not among them."""
        return tuple(dict.fromkeys((*self.vocabulary, *self.answers)))

    def in_one_vocabulary(self) -> "Task":
        """Return the same facts over one vocabulary, `names`.

        So they fit a model that reads what it writes. Labels and counts are numbered again; distributions are smoothed
        again, over all tokens.

        Returns:
            The task; itself if it has one vocabulary.

        Raises:
            InputError: Distributions that are not smoothed counts: they give the tokens that are only read no mass.

        Example:
            >>> from constructions.tasks.table import table_task
            >>> task = table_task("Lima,in,Peru\\nPeru,in,America\\n")
            >>> task.vocabulary, task.answers, task.labels.tolist()
            (('Lima', 'in', 'Peru'), ('Peru', 'America'), [0, 1])
            >>> task.in_one_vocabulary().vocabulary, task.in_one_vocabulary().labels.tolist()
            (('Lima', 'in', 'Peru', 'America'), [2, 3])
        """
        if not self.apart:
            return self
        if self.distributions is not None and self.origin != "smoothed counts":
            raise InputError(
                "distributions", "are not smoothed counts", "such: others have no mass for tokens only read"
            )
        number = {name: i for i, name in enumerate(self.names())}
        new = np.array([number[name] for name in self.answers], dtype=np.int64)
        counts, tail_counts = (counts_of_part.renumbered(new) for counts_of_part in (self.counts, self.tail_counts))
        distributions = None if self.distributions is None else smoothed_distributions(counts, len(number))
        return replace(
            self,
            vocabulary=tuple(number),
            answers=(),
            counts=counts,
            labels=new[self.labels] if distributions is None else distributions.argmax(axis=1).astype(np.int64),
            distributions=distributions,
            tail_counts=tail_counts,
            # Of several most frequent answers another one may be the first now.
            origin="" if self.origin == "most frequent" else self.origin,
        )

    @classmethod
    def from_arrays(cls, path: Path, words: dict[str, Any], arrays: dict[str, NDArray]) -> "Task":
        """Return the task of the words and arrays that were read from `path`.

        Raises:
            FileFormatError: They are not the fields of such a task.
        """
        if "context_length" in words:
            return cls._from_windows(path, words, arrays)
        texts = {"target": str, "origin": str, "vocabulary": list} | ({"answers": list} if "answers" in words else {})
        if {name: type(value) for name, value in words.items()} != texts:
            raise FileFormatError(f"{path} is not a task: its header says {sorted(words)}, expected {sorted(texts)}")
        target, origin, vocabulary = words["target"], words["origin"], words["vocabulary"]
        answers = words.get("answers", vocabulary)
        if not origin or ("answers" in words and answers in ([], vocabulary)):
            raise FileFormatError(f"{path} is not a task: origin or answers are empty, or the vocabulary once more")
        own_arrays = [{"labels": "labels"}.get(target, "distributions")] if origin == "own" else []
        if set(arrays) != set(_PRIMARY) | set(own_arrays):
            raise FileFormatError(f"{path} is not a task: it has the arrays {sorted(arrays)}, of {target} ({origin})")
        try:
            counts, tail_counts = (
                Counts(*(arrays[f"{which}_{part}"] for part in ("indptr", "indices", "data")))
                for which in ("counts", "tail_counts")
            )
            labels, distributions = arrays.get("labels"), arrays.get("distributions")
            if target == "distributions":
                distributions = smoothed_distributions(counts, len(answers)) if distributions is None else distributions
                labels = distributions.argmax(axis=1).astype(np.int64)
            totals = counts.totals()
            return cls(
                target=target,
                origin=origin,
                vocabulary=tuple(vocabulary),
                answers=tuple(answers),
                contexts=arrays["contexts"],
                counts=counts,
                labels=counts.first_maxima() if labels is None else labels,
                distributions=distributions,
                prior=totals / (int(totals.sum()) + int(tail_counts.totals().sum())),
                tail_contexts=arrays["tail_contexts"],
                tail_counts=tail_counts,
            )
        except (InputError, HypothesisError, TypeError, ValueError) as error:
            raise FileFormatError(f"{path} is not a task: {error}") from error

    @classmethod
    def _from_windows(cls, path: Path, words: dict[str, Any], arrays: dict[str, NDArray]) -> "Task":
        kinds = {"target": str, "origin": str, "vocabulary": list, "context_length": int}
        if {name: type(value) for name, value in words.items()} != kinds or set(arrays) != {"text", "titles"}:
            raise FileFormatError(f"{path} is not a task: its header says {sorted(words)}, its arrays {sorted(arrays)}")
        if (words["target"], words["origin"]) != ("labels", "most frequent"):
            raise FileFormatError(f"{path} is not a task: the windows of a text have labels, the most frequent ones")
        names, n_ctx = words["vocabulary"], words["context_length"]
        try:
            if n_ctx * len(arrays["text"]) > LARGEST_WINDOWS:
                raise InputError("context_length", f"= {n_ctx} of {len(arrays['text'])} tokens", "less work")
            return windows_task(
                Windows(arrays["text"], arrays["titles"], n_ctx, names.index(END)), vocabulary=tuple(names)
            )
        except (InputError, HypothesisError, TypeError, ValueError, IndexError) as error:
            raise FileFormatError(f"{path} is not a task: {error}") from error


@dataclass(frozen=True, eq=False)
class Part:
    """The contexts of one length.

    Args:
        task: Each once, with the token that follows.
        facts: Numbers of the facts that have a context of this length; each has one.
        places: Which of the task it is.
    """

    task: Task
    facts: Int64Array
    places: Int64Array


def windows_task(windows: Windows, *, vocabulary: tuple[str, ...]) -> Task:
    """Return the task of whole texts: each distinct window, in text order, with its most frequent next token.

    Args:
        windows: The windows.
        vocabulary: The texts of the tokens, among them `END` and the titles.

    Raises:
        InputError: Tokens that are not in the vocabulary, or too many windows.

    Example:
        >>> task = windows_task(Windows(np.array([0, 1, 2]), np.array([2]), 1, 2), vocabulary=("a", "b", END))
        >>> task.contexts.tolist(), task.labels.tolist()
        ([[2], [0], [1]], [0, 1, 2])
    """
    tokens = np.concatenate([windows.text, windows.titles])
    if tokens.min() < 0 or tokens.max() >= len(vocabulary):
        raise InputError("text", f"has tokens in [{tokens.min()}, {tokens.max()}]", f"0 .. {len(vocabulary) - 1}")
    if len(windows.text) * windows.n_ctx > LARGEST_WINDOWS:
        raise InputError("text", f"has {len(windows.text)} windows of {windows.n_ctx} tokens", "less")
    counts = Counts(*windows.following())
    totals = counts.totals()
    return Task(
        target="labels",
        vocabulary=vocabulary,
        contexts=windows.contexts,
        counts=counts,
        labels=counts.first_maxima(),
        distributions=None,
        prior=totals / int(totals.sum()),
        tail_contexts=np.zeros((0, windows.n_ctx), dtype=np.int64),
        tail_counts=Counts.empty(),
        windows=windows,
    )


def smoothed_distributions(counts: Counts, n_answers: int) -> Float64Array:
    r"""Return empirical distributions smoothed to full support, `[rows, K]`.

    Half an observation, spread evenly over the K answers, is added to each row:

    $$ \pi_i = \frac{c_i + \frac{1}{2K}}{n + \frac12} = \frac{2 K c_i + 1}{K (2 n + 1)}, \qquad n = \sum_i c_i. $$

    Equal counts give equal floats and larger counts larger ones, so the modes of the distribution are exactly the most
    frequent tokens. (Integers below $2^{53}$ are exact, and one division rounds once.)

    Args:
        counts: Counts of the answers, one row per context.
        n_answers: K.

    Returns:
        The distributions, each entry within one rounding of the exact rational.

    Raises:
        InputError: The counts are too large for the numerators to be exact.
        ResourceError: The dense distributions would have more than 2**28 entries.

    Example:
        >>> smoothed_distributions(Counts.from_rows([{0: 1}]), 2).tolist()
        [[0.8333333333333334, 0.16666666666666666]]
    """
    totals = counts.totals()
    if len(totals) and int(totals.max()) * 2 * n_answers + n_answers >= _LARGEST_COUNT:
        raise InputError("counts: a context", f"occurs {totals.max()} times, too often for exact shares of K answers")
    if len(counts) and counts.indices.max() >= n_answers:
        raise InputError("counts", f"have the answer {counts.indices.max()}", f"0 .. {n_answers - 1}")
    if len(counts) * n_answers > _LARGEST_DISTRIBUTIONS:
        raise ResourceError(
            f"distributions: {len(counts)} distributions over {n_answers} answers would need "
            f"{len(counts) * n_answers * 8 / 2**30:.1f} GiB; memorize fewer facts or labels, or fewer tokens"
        )
    distributions = np.repeat(1.0 / (n_answers * (2 * totals + 1)), n_answers).reshape(len(counts), n_answers)
    lengths = np.diff(counts.indptr)
    observed = (2 * n_answers * counts.data + 1) / np.repeat(n_answers * (2 * totals + 1), lengths)
    distributions[np.repeat(np.arange(len(counts)), lengths), counts.indices] = observed
    return distributions


def require_sums_of_one(distributions: Float64Array) -> None:
    """Raise `InputError` unless the exact sum of each row is within $10^{-9}$ of 1; name the first bad row.

    The order of summation plays no part, so that every reader of a file accepts the same distributions. The sum less 1,
    rounded once (`math.fsum`), decides wherever it is clear of the limit; where it is not, rationals do.

    Args:
        distributions: Numbers of at least 0, `[rows, N]`.

    Example:
        >>> require_sums_of_one(np.array([[0.25, 0.75]]))
        >>> require_sums_of_one(np.array([[0.25, 0.75], [0.25, 0.5]]))
        Traceback (most recent call last):
        constructions.errors.InputError: distributions: row 1 sums to 0.75, expected 1 within 1e-9
    """
    for i, distribution in enumerate(distributions):
        entries = distribution.tolist()
        within = max(entries) <= 2.0 and abs(math.fsum([*entries, -1.0])) < 0.9e-9
        if not (within or abs(sum(map(Fraction, entries)) - 1) <= _FAR_FROM_ONE):
            raise InputError(
                f"distributions: row {i}",
                f"sums to {_shown(sum(map(Fraction, entries), Fraction(0)))}",
                "1 within 1e-9",
            )


def _shown(total: Fraction) -> float:
    return float(min(total, Fraction(sys.float_info.max)))


def _are_smoothed(distributions: Float64Array, counts: Counts, n_answers: int) -> bool:
    try:
        return bool((distributions == smoothed_distributions(counts, n_answers)).all())
    except InputError:  # counts too large for exact distributions
        return False


def make_task(
    contexts: Int64Array,
    counts: Counts,
    *,
    vocabulary: tuple[str, ...],
    answers: tuple[str, ...] = (),
    target: Target = "distributions",
    facts: int | None = None,
    mass: Fraction | float | None = None,
    at_most: int | None = None,
    distributions: Float64Array | None = None,
    origin: Origin | None = None,
) -> Task:
    r"""Sort contexts by frequency, and cut the most frequent ones out to be memorized.

    With `mass` $= 1 - \varepsilon$ the number memorized is the paper's $T_\varepsilon$: the smallest number of contexts
    that together hold at least that share of all occurrences (compared exactly, in integers). Contexts of equal
    frequency are ordered lexicographically, so the result depends on the data alone.

    Args:
        contexts: All distinct contexts, `[M, S]`.
        counts: Counts of the next token after each, M rows.
        vocabulary: The texts of the tokens.
        answers: The texts of the answers, if not those of the tokens.
        target: ``"distributions"`` or ``"labels"``.
        facts: How many to memorize; all by default.
        mass: Instead of `facts`, the share of the text that the memorized contexts must hold, in (0, 1].
        at_most: Memorize no more than this many, if neither `facts` nor `mass` says how many.
        distributions: Distributions to memorize instead of the smoothed empirical ones, `[M, K]`.
        origin: Where the targets come from, as in `Task`; by default what the counts say.

    Returns:
        The task.

    Raises:
        InputError: Both `facts` and `mass`, one of them out of range, or bad arrays.

    Source: Dana, Pydi, Chevaleyre (2024), Section 4 (definition of T_epsilon).

    Example:
        >>> counts = Counts.from_rows([{0: 1}, {1: 3}])
        >>> make_task(np.array([[0], [1]]), counts, vocabulary=("a", "b"), target="labels", mass=0.75).contexts.tolist()
        [[1]]
    """
    contexts = _frozen_integers("contexts", contexts, dimensions=2)
    if len(contexts) != len(counts):
        raise InputError("contexts", f"has {len(contexts)} rows, but counts has {len(counts)}")
    totals = counts.totals()
    order = np.lexsort((*contexts.T[::-1], -totals))
    contexts, counts, totals = contexts[order], counts.take(order), totals[order]
    if facts is None and mass is None and at_most is not None:
        facts = min(at_most, len(totals))
    memorized = _memorized(totals, facts=facts, mass=mass)
    memorized_counts = counts.rows(0, memorized)
    if target == "labels":
        if distributions is not None:
            raise InputError("distributions", "are given, but the target is 'labels'")
        chosen = None
        labels = memorized_counts.first_maxima()
    else:
        width = len(answers or vocabulary)
        chosen = (
            smoothed_distributions(memorized_counts, width)
            if distributions is None
            else np.asarray(distributions)[order][:memorized]
        )
        labels = chosen.argmax(axis=1).astype(np.int64)
    return Task(
        target=target,
        vocabulary=tuple(vocabulary),
        answers=tuple(answers),
        contexts=contexts[:memorized],
        counts=memorized_counts,
        labels=labels,
        distributions=chosen,
        prior=totals[:memorized] / totals.sum(),
        tail_contexts=contexts[memorized:],
        tail_counts=counts.rows(memorized, len(counts)),
        origin=origin or "",
    )


def _memorized(totals: Int64Array, *, facts: int | None, mass: Fraction | float | None) -> int:
    if facts is not None and mass is not None:
        raise InputError("facts", f"= {facts} is given beside mass = {mass}", "one of them")
    if mass is not None:
        if not 0 < mass <= 1:
            raise InputError("mass", f"= {mass}", "a share in (0, 1]")
        share = Fraction(mass)
        needed = -(-share.numerator * int(totals.sum()) // share.denominator)
        return int(np.searchsorted(np.cumsum(totals), needed)) + 1
    if facts is None:
        return len(totals)
    if not 1 <= facts <= len(totals):
        raise InputError("facts", f"= {facts}", f"1 .. {len(totals)}, the number of distinct contexts")
    return facts


def _checked_names(kind: str, names: tuple[str, ...]) -> tuple[str, ...]:
    tokens = tuple(names)
    if not tokens or not all(isinstance(token, str) for token in tokens):
        raise InputError(kind, "must be a non-empty sequence of strings")
    if len(set(tokens)) != len(tokens):
        raise InputError(f"{kind}: tokens", "must be pairwise distinct")
    for token in tokens:
        if any("\ud800" <= character <= "\udfff" for character in token):
            raise InputError(f"{kind}: the token {token!r}", "has a lone surrogate, which is not a character")
        if not token:
            raise InputError(f"{kind}: the token {token!r}", "is empty")
    if len(canonical_json(tokens)) > _LARGEST_VOCABULARY:
        raise InputError(f"{kind}: {len(tokens)} tokens of up to {max(map(len, tokens))} characters", "are too many")
    return tokens


def _frozen_integers(name: str, value: object, *, dimensions: int) -> Int64Array:
    array = np.asarray(value)
    if array.ndim != dimensions or array.dtype.kind not in "iu":
        raise InputError(name, f"is {array.dtype} of shape {array.shape}", f"integers, {dimensions}-dimensional")
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise InputError(name, f"has the entry {array.max()}", "64-bit integers")
    return array if array.dtype == np.int64 and is_frozen(array) else frozen_copy(array, np.int64)


def _frozen_floats(name: str, value: object, *, dimensions: int) -> Float64Array:
    array = np.asarray(value)
    if array.ndim != dimensions or array.dtype != np.float64:
        raise InputError(name, f"is {array.dtype} of shape {array.shape}", f"float64, {dimensions}-dimensional")
    if not np.isfinite(array).all():
        raise InputError(name, "has a NaN or an infinity", "finite numbers")
    return frozen_copy(array)
