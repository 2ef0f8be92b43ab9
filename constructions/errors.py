"""The errors a user can meet; each message names the argument, the offending value and what is expected."""

import operator
from collections.abc import Iterable


class ByheartError(Exception):
    """Base of every error that byheart raises on purpose."""


class InputError(ByheartError, ValueError):
    """An unusable argument, file or table.

    Args:
        argument: What cannot be used: the name of an argument, a file, or a place in one.
        value: What is wrong with it, in words, the offending value among them.
        expected: What would be right; empty where nothing would, or where the value says it.

    Example:
        >>> raise InputError("labels", "has shape (3,)", "one for each of 4 contexts")
        Traceback (most recent call last):
        ...
        constructions.errors.InputError: labels has shape (3,), expected one for each of 4 contexts
    """

    def __init__(self, argument: object, value: object, expected: object = "") -> None:
        self.argument, self.value, self.expected = str(argument), str(value), str(expected)
        super().__init__(self.argument, self.value, self.expected)

    def __str__(self) -> str:
        return f"{self.argument} {self.value}" + (f", expected {self.expected}" if self.expected else "")


def require_at_least(least: int, **arguments: int | None) -> None:
    """Refuse an argument that is not an integer, or too small.

    Args:
        least: The smallest value that is allowed.
        arguments: Integers by the name of the argument; none where there is nothing to refuse.

    Raises:
        InputError: One is smaller, or a number or object of another kind, such as 4.0; names the first.

    Example:
        >>> require_at_least(1, d_vocab=2, n_ctx=0)
        Traceback (most recent call last):
        ...
        constructions.errors.InputError: n_ctx = 0, expected at least 1
    """
    for name, value in arguments.items():
        if value is None:
            continue
        try:
            number = operator.index(value)
        except TypeError:
            raise InputError(name, f"= {value!r}", f"an integer of at least {least}") from None
        if number < least:
            raise InputError(name, f"= {value}", f"at least {least}")


def require_one_of(options: Iterable[object], **arguments: object) -> None:
    """Raise `InputError` unless the argument is one of the options.

    Args:
        options: What is allowed.
        arguments: Values by the name of the argument.

    Raises:
        InputError: One is something else; names the first.

    Example:
        >>> require_one_of(("all", "none"), keep="some")
        Traceback (most recent call last):
        ...
        constructions.errors.InputError: keep = 'some', expected one of all, none
    """
    allowed = list(options)
    for name, value in arguments.items():
        if value not in allowed:
            raise InputError(name, f"= {value!r}", f"one of {', '.join(map(str, allowed))}")


class HypothesisError(ByheartError, ValueError):
    """A hypothesis of a claim fails for the given data.

    Args:
        claim: The claim, as the source names it, e.g. ``"Dana et al. (2024), Proposition 2"``.
        hypothesis: What the claim needs, in words or symbols.
        value: The offending value, in words.

    Example:
        >>> raise HypothesisError("Dana et al. (2024), Proposition 2", "d >= N - 1", "d = 8, N = 64")
        Traceback (most recent call last):
        ...
        constructions.errors.HypothesisError: Dana et al. (2024), Proposition 2 needs d >= N - 1, but d = 8, N = 64
    """

    def __init__(self, claim: str, hypothesis: str, value: str) -> None:
        super().__init__(f"{claim} needs {hypothesis}, but {value}")
        self.claim = claim
        self.hypothesis = hypothesis
        self.value = value

    def __reduce__(self) -> tuple[type["HypothesisError"], tuple[str, str, str], dict[str, object]]:
        # An exception is made again from its message, in another process as well, and this one from three parts.
        return type(self), (self.claim, self.hypothesis, self.value), self.__dict__


class CapacityError(HypothesisError):
    """The model is too small for the task; `fewest_heads` is the number of heads known to suffice, if one is known."""

    def __init__(self, claim: str, hypothesis: str, value: str, *, fewest_heads: int | None = None) -> None:
        super().__init__(claim, hypothesis, value)
        self.fewest_heads = fewest_heads


class FileFormatError(ByheartError):
    """A file that is not what it should be: truncated, of wrong shapes, with NaN, or not readable at all."""


class TamperedError(ByheartError):
    """A file whose hash is not the one its certificate names."""


class HandshakeError(ByheartError):
    """The program that people run computes something else than was read; names the first context and the gap."""


class LossError(ByheartError):
    """Weights that, as they would be written, are not proved to meet the request; the message begins with the answer.

    Args:
        message: What is said.
        proved: Whether they are proved not to; otherwise it is open.
    """

    def __init__(self, message: str, *, proved: bool = True) -> None:
        super().__init__(message)
        self.proved = proved


class ResourceError(ByheartError):
    """The work would need more memory than there is; raised before the work starts."""


class WorkerError(ByheartError):
    """A worker process that died over a piece of work."""
