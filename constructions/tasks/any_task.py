"""The interface of every task: its contexts, the wanted answer to each, and how a person writes them.

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
    """Contexts of one length in a list, and the target of each."""

    @property
    def target(self) -> str:
        """What is wanted: ``"labels"``, ``"distributions"`` or ``"values"``."""
        ...

    @property
    def n_contexts(self) -> int:
        """How many contexts there are, T."""
        ...

    @property
    def n_ctx(self) -> int:
        """How long each is, S."""
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
        """Where the target of these contexts, by default of all, is largest, `[contexts, K]`."""
        ...

    @property
    def kinds(self) -> Int64Array:
        """Numbers that are equal only where the same is asked of contexts, `[T]`."""
        ...


@runtime_checkable
class AnyTask(Protocol):
    """What is to be memorized, of whatever kind: facts, prompts, vectors, or what a file outside of here defines."""

    @property
    def target(self) -> str:
        """What is wanted: ``"labels"``, ``"distributions"`` or ``"values"``."""
        ...

    @property
    def origin(self) -> str:
        """Where the targets come from, as certificates name it."""
        ...

    @property
    def n_contexts(self) -> int:
        """How many facts there are."""
        ...

    @property
    def n_all(self) -> int:
        """How many contexts there are, those that are not memorized included."""
        ...

    @property
    def n_ctx(self) -> int:
        """How much of a context is read at most."""
        ...

    @property
    def listing(self) -> "ListedTask | None":
        """The contexts in one list; none where they are of several lengths."""
        ...

    @property
    def parts(self) -> tuple[Part, ...]:
        """The contexts by their lengths, each with the token that follows; none of vectors."""
        ...

    @property
    def facts(self) -> Task | None:
        """The contexts as one list of tokens, for what reads and writes such alone; none where they are none."""
        ...

    def sizes(self) -> dict[str, Any]:
        """Return what is asked of how many contexts of which length, by the names that figures have."""
        ...

    @property
    def guess_right(self) -> int:
        """How many facts the best answer holds that does not look at the context."""
        ...

    @property
    def following(self) -> Mapping[Tokens, Counter[int]]:
        """Return how often each token follows each beginning of an answer."""
        ...

    @property
    def information_bits(self) -> float | None:
        """What the targets tell, at least, if that is finite."""
        ...

    def one(self, fact: int) -> "AnyTask":
        """Return the task that has this fact alone."""
        ...

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The texts of the tokens that are read; none of vectors."""
        ...

    @property
    def answers(self) -> tuple[str, ...]:
        """The texts of the tokens that are said."""
        ...

    def answer(self, fact: int) -> Tokens:
        """Return the tokens that shall be said; of a distribution its first mode."""
        ...

    def said(self, tokens: Tokens, fact: int | None) -> str:
        """Return what a model said, in words, where a fact was asked for, if it was one."""
        ...

    def in_words(self, fact: int) -> tuple[tuple[str, ...], str, str | None]:
        """Return the context of a fact in words, its answer, and the context as a person types it, if that is another
        text.
        """
        ...

    def decoding(self) -> tuple[list[tuple[int, Tokens]], set[int]]:
        """How many tokens stand before each answer and what it is, any where all are one token; and what is read.

        Nothing where no answers are said.
        """
        ...

    def unread(self, context: str | Sequence[str]) -> int:
        """How many words or characters of what was typed are not read."""
        ...

    def echo(self) -> str:
        """Return the facts in a line, to be read beside what is said of them; may be empty."""
        ...

    def looked_up(self, context: str | Sequence[str], model: Reader) -> "tuple[AnyTask, str | Sequence[str]]":
        """Return the list of facts among which a context is looked up, and the context there."""
        ...

    def typed(self, context: str | Sequence[str]) -> tuple[Tokens, int | None]:
        """Return the tokens of a context as a person types it, and which fact it is, if any.

        Raises:
            InputError: It is none that the task could have.
        """
        ...

    def rows(self, places: Int64Array) -> list[list[str]]:
        """Return these facts as rows of texts, the context first; nothing of vectors, which have none."""
        ...

    def require_fit(self, model: Reader) -> None:
        """Raise `InputError` unless a model of these sizes reads the contexts and has an output for each answer."""
        ...

    def words(self) -> dict[str, Any]:
        """Return what the header of its file says."""
        ...

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays of its file by name."""
        ...

    def sha256(self) -> str:
        """Hash of its file, whatever is laid out how."""
        ...

    def save(self, path: Path) -> None:
        """Write its file, which the kernel reads."""
        ...


class ListedTask(AnyTask, Listing, Protocol):
    """A task whose contexts are one list."""


class Encoded(ABC):
    """A task of contexts of one's own kind, which an encoding makes lists of tokens: a base for a file outside of here.

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
        """The contexts as one list of tokens, with what follows each."""

    @abstractmethod
    def encoded(self, context: Any) -> Sequence[str]:
        """Return the names of the tokens of a context, as a person asks about it.

        Raises:
            InputError: It is none that the task could have.
        """

    def typed(self, context: Any) -> tuple[Tokens, int | None]:
        """Return the tokens of a context as a person asks about it, and which fact it is, if any."""
        return self.facts.typed(list(self.encoded(context)))

    def said(self, tokens: Tokens, fact: int | None) -> str:
        """Return what a model said, in words."""
        return self.facts.said(tokens, fact)

    def in_words(self, fact: int) -> tuple[tuple[str, ...], str, str | None]:
        """Return the context of a fact in words, its answer, and the context as a person types it, if that is another
        text.
        """
        return self.facts.in_words(fact)

    def echo(self) -> str:
        """Return the facts in a line, to be read beside what is said of them; may be empty."""
        return self.facts.echo()

    def unread(self, context: Any) -> int:
        """How much of a context is not read: none of it."""
        del context
        return 0

    def looked_up(self, context: Any, model: Reader) -> tuple[AnyTask, Any]:
        """Return the list of facts among which a context is looked up, and the context there."""
        del model
        return self, context

    def one(self, fact: int) -> AnyTask:
        """Return the task that has this fact alone."""
        return self.facts.one(fact)

    def answer(self, fact: int) -> Tokens:
        """Return the tokens that shall be said."""
        return self.facts.answer(fact)

    def rows(self, places: Int64Array) -> list[list[str]]:
        """Return these facts as rows of texts."""
        return self.facts.rows(places)

    def decoding(self) -> tuple[list[tuple[int, Tokens]], set[int]]:
        """How many tokens stand before each answer and what it is; and what is read."""
        return self.facts.decoding()

    def sizes(self) -> dict[str, Any]:
        """Return what is asked of how many contexts of which length, by the names that figures have."""
        return self.facts.sizes()

    def require_fit(self, model: Reader) -> None:
        """Raise `InputError` unless a model of these sizes reads the contexts and has an output for each answer."""
        self.facts.require_fit(model)

    @property
    def target(self) -> str:
        """What is wanted."""
        return self.facts.target

    @property
    def origin(self) -> str:
        """Where the targets come from."""
        return self.facts.origin

    @property
    def n_contexts(self) -> int:
        """How many facts there are."""
        return self.facts.n_contexts

    @property
    def n_all(self) -> int:
        """How many contexts there are, those that are not memorized included."""
        return self.facts.n_all

    @property
    def n_ctx(self) -> int:
        """How many tokens a context has."""
        return self.facts.n_ctx

    @property
    def listing(self) -> ListedTask:
        """The contexts in one list."""
        return self.facts

    @property
    def parts(self) -> tuple[Part, ...]:
        """The contexts by their lengths: all have one."""
        return self.facts.parts

    @property
    def guess_right(self) -> int:
        """How many facts the best answer holds that does not look at the context."""
        return self.facts.guess_right

    @property
    def following(self) -> Mapping[Tokens, Counter[int]]:
        """How often each answer is asked for."""
        return self.facts.following

    @property
    def information_bits(self) -> float | None:
        """What the targets tell, at least, if that is finite."""
        return self.facts.information_bits

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The texts of the tokens that are read."""
        return self.facts.vocabulary

    @property
    def answers(self) -> tuple[str, ...]:
        """The texts of the tokens that are said."""
        return self.facts.answers

    def words(self) -> dict[str, Any]:
        """Return what the header of its file says: that of `facts`."""
        return self.facts.words()

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays of its file by name: those of `facts`."""
        return self.facts.arrays()

    def sha256(self) -> str:
        """Hash of its file."""
        return self.facts.sha256()

    def save(self, path: Path) -> None:
        """Write its file: that of `facts`, which the kernel reads."""
        self.facts.save(path)
