"""Define the interface of every task: its contexts, their required answers, and their text form.

Whatever satisfies these protocols can be memorized, certified, checked, asked and exported; no other code asks what
kind of task it has.

Page: docs/task.md
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from constructions.numeric.arrays import BoolArray, Float64Array, Int64Array
from constructions.tasks.stored import Reader
from constructions.tasks.task import Part, Task
from constructions.tasks.vectors import Vectors

Tokens = tuple[int, ...]


class Listing(Protocol):
    """Contexts of one length, and their targets."""

    @property
    def target(self) -> str:
        """Kind of target: ``"labels"``, ``"distributions"`` or ``"values"``."""
        ...

    @property
    def n_contexts(self) -> int:
        """Number of contexts, T."""
        ...

    @property
    def n_ctx(self) -> int:
        """Length of each context, S."""
        ...

    @property
    def inputs(self) -> Int64Array | Vectors:
        """The inputs of the model: tokens, `[T, S]`, or vectors."""
        ...

    @property
    def classes(self) -> Int64Array:
        """The first mode of each target, `[T]`."""
        ...

    @property
    def distributions(self) -> Float64Array | None:
        """For ``distributions`` these, `[T, K]`, up to their sums."""
        ...

    @property
    def values(self) -> Float64Array | None:
        """For ``values`` these, `[T, K]`."""
        ...

    def modes(self, rows: slice | Int64Array = slice(None)) -> BoolArray:
        """Return where the target of some contexts, by default all, is largest, `[contexts, K]`."""
        ...

    @property
    def kinds(self) -> Int64Array:
        """Numbers that are equal only for contexts with the same target, `[T]`."""
        ...


@runtime_checkable
class AnyTask(Protocol):
    """A task of any kind: facts, prompts, vectors, or a kind that a user's file defines."""

    @property
    def target(self) -> str:
        """Kind of target: ``"labels"``, ``"distributions"`` or ``"values"``."""
        ...

    @property
    def origin(self) -> str:
        """Source of the targets, as certificates name it."""
        ...

    @property
    def n_contexts(self) -> int:
        """Number of facts."""
        ...

    @property
    def n_all(self) -> int:
        """Number of contexts, including those that are not memorized."""
        ...

    @property
    def n_ctx(self) -> int:
        """Largest number of tokens read from a context."""
        ...

    @property
    def listing(self) -> "ListedTask | None":
        """The contexts in one list; None if they have several lengths."""
        ...

    @property
    def parts(self) -> tuple[Part, ...]:
        """The contexts by length, each with its next token; None for vectors."""
        ...

    @property
    def facts(self) -> Task | None:
        """The contexts as one list of tokens, for code that needs one; None if there is none."""
        ...

    def sizes(self) -> dict[str, Any]:
        """Return the number and length of the contexts, under the names of the JSON figures."""
        ...

    @property
    def guess_right(self) -> int:
        """Number of facts that the best answer independent of the context gets right."""
        ...

    @property
    def following(self) -> Mapping[Tokens, Counter[int]]:
        """How often each token follows each beginning of an answer."""
        ...

    @property
    def information_bits(self) -> float | None:
        """Lower bound of the information in the targets, in bits; None if it is infinite."""
        ...

    def one(self, fact: int) -> "AnyTask":
        """Return the task with only this fact."""
        ...

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Texts of the input tokens; empty for vectors."""
        ...

    @property
    def answers(self) -> tuple[str, ...]:
        """Texts of the answer tokens."""
        ...

    def answer(self, fact: int) -> Tokens:
        """Return the tokens of the required answer; for a distribution its first mode."""
        ...

    def said(self, tokens: Tokens, fact: int | None) -> str:
        """Return a model's answer in words, given the fact that was asked, if it was one."""
        ...

    def in_words(self, fact: int) -> tuple[tuple[str, ...], str, str | None]:
        """Return a context and its answer in words, and the context as a person types it if that differs."""
        ...

    def decoding(self) -> tuple[list[tuple[int, Tokens]], set[int]]:
        """Return how many tokens precede each answer and the answer, or any for single-token answers; and the tokens
        that are read.

        Nothing where no answers are said.
        """
        ...

    def unread(self, context: str | Sequence[str]) -> int:
        """Return how many words or characters of the typed text are ignored."""
        ...

    def echo(self) -> str:
        """Return a one-line preview of the facts for the reader to check; may be empty."""
        ...

    def looked_up(self, context: str | Sequence[str], model: Reader) -> "tuple[AnyTask, str | Sequence[str]]":
        """Return the list of facts used to look up a context, and the context in it."""
        ...

    def typed(self, context: str | Sequence[str]) -> tuple[Tokens, int | None]:
        """Return the tokens of a context as a person types it, and which fact it is, if any.

        Raises:
            InputError: It is none that the task could have.
        """
        ...

    def rows(self, places: Int64Array) -> list[list[str]]:
        """Return some facts as rows of texts, context first; empty for vectors."""
        ...

    def require_fit(self, model: Reader) -> None:
        """Raise `InputError` unless a model of these sizes reads the contexts and has an output per answer."""
        ...

    def words(self) -> dict[str, Any]:
        """Return the header of the task file."""
        ...

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays of its file by name."""
        ...

    def sha256(self) -> str:
        """Return the hash of the task file, which does not depend on memory layout."""
        ...

    def save(self, path: Path) -> None:
        """Write its file, which the kernel reads."""
        ...


class ListedTask(AnyTask, Listing, Protocol):
    """A task whose contexts are one list."""


class Encoded(ABC):
    """A base class for user files: contexts of any type, encoded as lists of tokens.

    Whatever is proved is proved of `facts`: these are what its file holds, which the kernel reads without this class.

    Example:
        >>> import numpy as np
        >>> from constructions.tasks.arrays import array_task
        >>> class Parity(Encoded):
        ...     facts = array_task(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), next_tokens=np.array([0, 1, 1, 0]),
        ...                        target="labels", vocabulary=("even", "odd"))
        ...     def encoded(self, context):
        ...         return ["odd" if number % 2 else "even" for number in context]
        >>> task = Parity()
        >>> task.typed((3, 8)), task.n_contexts, isinstance(task, AnyTask)
        (((1, 0), 2), 4, True)
    """

    @property
    @abstractmethod
    def facts(self) -> Task:
        """The contexts as one list of tokens, each with its next token."""

    @abstractmethod
    def encoded(self, context: Any) -> Sequence[str]:
        """Return the token names of a context in the form that a person types.

        Raises:
            InputError: It is none that the task could have.
        """

    def typed(self, context: Any) -> tuple[Tokens, int | None]:
        """Return the tokens of a context as a person asks about it, and which fact it is, if any."""
        return self.facts.typed(list(self.encoded(context)))

    def said(self, tokens: Tokens, fact: int | None) -> str:
        """Return a model's answer in words."""
        return self.facts.said(tokens, fact)

    def in_words(self, fact: int) -> tuple[tuple[str, ...], str, str | None]:
        """Return a context and its answer in words, and the context as a person types it if that differs."""
        return self.facts.in_words(fact)

    def echo(self) -> str:
        """Return a one-line preview of the facts for the reader to check; may be empty."""
        return self.facts.echo()

    def unread(self, context: Any) -> int:
        """Return 0, because every part of a context is read."""
        del context
        return 0

    def looked_up(self, context: Any, model: Reader) -> tuple[AnyTask, Any]:
        """Return the list of facts used to look up a context, and the context in it."""
        del model
        return self, context

    def one(self, fact: int) -> AnyTask:
        """Return the task with only this fact."""
        return self.facts.one(fact)

    def answer(self, fact: int) -> Tokens:
        """Return the tokens of the required answer."""
        return self.facts.answer(fact)

    def rows(self, places: Int64Array) -> list[list[str]]:
        """Return these facts as rows of texts."""
        return self.facts.rows(places)

    def decoding(self) -> tuple[list[tuple[int, Tokens]], set[int]]:
        """Return how many tokens precede each answer and the answer; and the tokens that are read."""
        return self.facts.decoding()

    def sizes(self) -> dict[str, Any]:
        """Return the number and length of the contexts, under the names of the JSON figures."""
        return self.facts.sizes()

    def require_fit(self, model: Reader) -> None:
        """Raise `InputError` unless a model of these sizes reads the contexts and has an output per answer."""
        self.facts.require_fit(model)

    @property
    def target(self) -> str:
        """Kind of target."""
        return self.facts.target

    @property
    def origin(self) -> str:
        """Source of the targets."""
        return self.facts.origin

    @property
    def n_contexts(self) -> int:
        """Number of facts."""
        return self.facts.n_contexts

    @property
    def n_all(self) -> int:
        """Number of contexts, including those that are not memorized."""
        return self.facts.n_all

    @property
    def n_ctx(self) -> int:
        """Number of tokens of a context."""
        return self.facts.n_ctx

    @property
    def listing(self) -> ListedTask:
        """The contexts in one list."""
        return self.facts

    @property
    def parts(self) -> tuple[Part, ...]:
        """The contexts by length; all have the same length."""
        return self.facts.parts

    @property
    def guess_right(self) -> int:
        """Number of facts that the best answer independent of the context gets right."""
        return self.facts.guess_right

    @property
    def following(self) -> Mapping[Tokens, Counter[int]]:
        """How often each answer is required."""
        return self.facts.following

    @property
    def information_bits(self) -> float | None:
        """Lower bound of the information in the targets, in bits; None if it is infinite."""
        return self.facts.information_bits

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The texts of the tokens that are read."""
        return self.facts.vocabulary

    @property
    def answers(self) -> tuple[str, ...]:
        """Texts of the answer tokens."""
        return self.facts.answers

    def words(self) -> dict[str, Any]:
        """Return the header of the task file, which is that of `facts`."""
        return self.facts.words()

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays of the task file by name, which are those of `facts`."""
        return self.facts.arrays()

    def sha256(self) -> str:
        """Hash of its file."""
        return self.facts.sha256()

    def save(self, path: Path) -> None:
        """Write its file: that of `facts`, which the kernel reads."""
        self.facts.save(path)
