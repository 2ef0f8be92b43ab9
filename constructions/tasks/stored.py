"""Store tasks in files: words in the header, and tensors, without redundancy.

Page: docs/rigour/certificate.md
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

from numpy.typing import NDArray

from constructions.errors import FileFormatError, InputError
from constructions.formats.tensor_file import arrays_sha256, load_tensors, save_tensors

FORMAT = "byheart-task"
VERSION = 4


class Reader(Protocol):
    """The sizes of a model that should read a task."""

    @property
    def reads_tokens(self) -> bool:
        """Whether the model reads tokens rather than vectors."""
        ...

    @property
    def d_model(self) -> int:
        """Dimension of the input vectors."""
        ...

    @property
    def d_vocab(self) -> int:
        """Number of input tokens."""
        ...

    @property
    def n_ctx(self) -> int:
        """Largest number of tokens that the model reads."""
        ...

    @property
    def d_vocab_out(self) -> int:
        """Number of outputs."""
        ...


class Stored(ABC):
    """A task that can be stored as words and named arrays, and rebuilt from them."""

    holds: ClassVar[str]
    """The kind of task, as its files name it: ``tokens``, ``vectors`` or ``rule``."""

    @abstractmethod
    def words(self) -> dict[str, Any]:
        """Return the header as plain JSON data."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays of ``task.safetensors`` by name, in the order in which they are hashed."""

    def looked_up(self, context: str | Sequence[str], model: Reader) -> tuple[Any, str | Sequence[str]]:
        """Return the list of facts used to look up a context, for a model of these sizes, and the context in it."""
        del model
        return self, context

    @abstractmethod
    def require_fit(self, model: Reader) -> None:
        """Raise `InputError` unless a model of these sizes reads the contexts and has an output per answer."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, path: Path, words: dict[str, Any], arrays: dict[str, NDArray]) -> Self:
        """Build the task from words and arrays read from `path`.

        Raises:
            FileFormatError: They are not the fields of such a task.
        """

    def sha256(self) -> str:
        """Hash of the kind, the words and the arrays, in hexadecimal.

        First the canonical JSON of `words` with ``{"task": kind}``; then for each array in the order of `arrays` the
        ASCII text ``name:d1,d2,..;`` and its little-endian 8-byte entries (int64 or float64).
        """
        return arrays_sha256({"task": self.holds, **self.words()}, self.arrays())

    def save(self, path: Path) -> None:
        """Write the task to `path` as safetensors, atomically; equal tasks give equal bytes."""
        header = {"format": FORMAT, "version": VERSION, "task": self.holds, **self.words()}
        save_tensors(path, self.arrays(), metadata=header)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Load a task written by `save`.

        Raises:
            FileFormatError: The file is missing, truncated, or holds something else.
        """
        kind, words, arrays = read_stored(path)
        if kind != cls.holds:
            raise FileFormatError(f"{path} holds a task of {kind}, expected one of {cls.holds}")
        return cls.from_arrays(Path(path), words, arrays)


def require_reads_tokens(model: Reader) -> None:
    """Raise `InputError` unless a model reads tokens."""
    if not model.reads_tokens:
        raise InputError("task", "has contexts of tokens, the model reads vectors")


def require_reads(model: Reader, n_ctx: int) -> None:
    """Raise `InputError` unless a model reads this many tokens."""
    require_reads_tokens(model)
    if n_ctx > model.n_ctx:
        raise InputError("task", f"has contexts of {n_ctx} tokens, the model reads {model.n_ctx}")


def require_knows(model: Reader, largest: int) -> None:
    """Raise `InputError` unless a model knows the tokens up to the largest."""
    if not largest < model.d_vocab:
        raise InputError("task", f"has the token {largest}, the model knows 0 .. {model.d_vocab - 1}")


def read_stored(path: Path, *, version: int = VERSION) -> tuple[str, dict[str, Any], dict[str, NDArray]]:
    """Return the kind of a stored task, its words and its arrays.

    Args:
        path: The file.
        version: The version of the format that it must have.

    Raises:
        FileFormatError: The file is missing, truncated, or holds no task of this version.
    """
    header, arrays = load_tensors(path, dtypes=("I64", "F64"))
    header = header if isinstance(header, dict) else {}
    fields = {name: header.pop(name, None) for name in ("format", "version", "task")}
    if fields["format"] != FORMAT or type(fields["version"]) is not int or fields["version"] != version:
        raise FileFormatError(
            f"{path} has format {fields['format']!r} version {fields['version']!r}, "
            f"expected {FORMAT!r} version {version}"
        )
    return str(fields["task"]), header, arrays
