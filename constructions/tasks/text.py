"""Make a task of a text: tokens, windows of S tokens, and counts of next tokens.

Page: docs/task.md
"""

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np

from constructions.counted import counted
from constructions.errors import InputError, require_at_least
from constructions.numeric.arrays import Int64Array, IntegerArray
from constructions.tasks.task import Counts, Target, Task, make_task
from constructions.tasks.vocabulary import OTHER, WORDS, byte_name

Unit = Literal["char", "byte", "word"]

UNIT_NAMES = {"char": "character", "byte": "byte", "word": "word"}
"""What one token is called."""

_DEFAULT_VOCABULARY = {"char": 256, "byte": 256, "word": 256}
_LARGEST_KEY = 2**62
BYTE_ORDER_MARK = "\ufeff"
"""What some programs write first into a file of UTF-8."""


def read_text(path: str | Path, unit: Unit = "char") -> str | bytes:
    """Read a text file verbatim: bytes for the unit ``byte``, else UTF-8.

    Carriage returns and a byte order mark are characters like any other, so that the text encoded again is the file.

    Args:
        path: The file.
        unit: What its tokens are to be.

    Returns:
        Its content.

    Raises:
        InputError: The file is missing, a folder, unreadable, empty, or (for ``char`` and ``word``) not UTF-8.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "verse.txt"
        ...     _ = path.write_bytes(b"so much\\r\\ndepends")
        ...     read_text(path), read_text(path, "byte")
        ('so much\\r\\ndepends', b'so much\\r\\ndepends')
    """
    _default_vocabulary(unit)
    data = read_bytes(path)
    return data if unit == "byte" else decode(data, str(path))


def read_bytes(path: str | Path) -> bytes:
    """Return the bytes of a file that a user named.

    Raises:
        InputError: The file is missing, a folder, unreadable or empty.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(path, "does not exist", "a file") from None
    except IsADirectoryError:
        raise InputError(path, "is a folder", "a file") from None
    except (OSError, ValueError) as error:
        raise InputError(path, f"cannot be read: {error}") from None
    if not data:
        raise InputError(path, "is empty")
    return data


def decode(data: bytes, name: str) -> str:
    """Decode UTF-8 verbatim.

    Raises:
        InputError: The bytes are not UTF-8; names the offset of the first that does not fit.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            name,
            f"is not UTF-8: {error.reason} at byte {error.start}",
            "UTF-8, to which an editor converts it; of a text the bytes may be learned (--tokens bytes)",
        ) from None


def default_text() -> str:
    """Return Python's own reference text, `pydoc_data.topics`, for runs without a file.

    The topics are joined in the order of their names. The text differs between versions of Python.

    Returns:
        About half a million characters.

    Example:
        >>> default_text().startswith('The "assert" statement')
        True
    """
    return "\n".join(default_texts().values())


def default_texts() -> dict[str, str]:
    """Return the topics of Python's own reference text, by name.

    Example:
        >>> default_texts()["assert"][:22]
        'The "assert" statement'
    """
    from pydoc_data.topics import topics  # half a megabyte, of no use to a run with a file

    return {name: topics[name].strip() for name in sorted(topics)}


def text_task(
    text: str | bytes,
    *,
    unit: Unit = "char",
    vocabulary: int | None = None,
    context: int = 4,
    facts: int | None = None,
    mass: Fraction | float | None = None,
    at_most: int | None = None,
    target: Target = "distributions",
) -> Task:
    """Cut a text into windows of $S$ tokens and count their next tokens.

    All windows that are followed by a token count, overlapping ones too; none reaches beyond the end of the text. The
    vocabulary holds the most frequent tokens, first come first served among equals; if there are more than
    `vocabulary`, the rest shares the last token, ``<other>``.

    Args:
        text: The text; bytes for the unit ``byte``.
        unit: ``char`` (code points), ``byte``, or ``word`` (runs of letters, digits and underscores, and single other
            characters; white space separates, case is kept).
        vocabulary: Size of the vocabulary, $N$, with ``<other>``: 256 by default, which holds every character of most
            texts.
        context: Tokens in a context, $S$.
        facts: How many contexts to memorize, the most frequent ones; all by default.
        mass: Instead of `facts`, the share of the text that the memorized contexts must hold.
        at_most: Memorize no more than this many, if neither `facts` nor `mass` says how many.
        target: ``"distributions"`` for the distribution of the next token, ``"labels"`` for the most frequent one.

    Returns:
        The task.

    Raises:
        InputError: The text has no window, a parameter is out of range, or the text does not fit the unit.

    Source: Dana, Pydi, Chevaleyre (2024), Section 2.

    Example:
        >>> task = text_task("abracadabra", context=1, target="labels")
        >>> task.vocabulary
        ('a', 'b', 'r', 'c', 'd')
        >>> [task.vocabulary[c] + task.vocabulary[n] for (c,), n in zip(task.contexts, task.labels)]
        ['ab', 'br', 'ra', 'ca', 'da']
    """
    size = _default_vocabulary(unit) if vocabulary is None else vocabulary
    require_at_least(1, vocabulary=size, context=context)
    names, tokens = _tokens(text, unit, size)
    if len(tokens) <= context:
        size = counted(len(tokens), UNIT_NAMES[unit])
        raise InputError("the text", f"has {size}", f"more than the {context} of a context")
    contexts, counts = _windows(tokens, len(names), context)
    return make_task(contexts, counts, vocabulary=names, target=target, facts=facts, mass=mass, at_most=at_most)


def units(text: str | bytes, unit: Unit) -> list[str]:
    """Return the tokens of a text in order, as strings, before a vocabulary is chosen.

    Example:
        >>> units("the cat's", "word")
        ['the', 'cat', "'", 's']
    """
    if isinstance(text, bytes):
        return [byte_name(value) for value in text]
    return WORDS.findall(text) if unit == "word" else list(text)


def _default_vocabulary(unit: str) -> int:
    if unit not in _DEFAULT_VOCABULARY:
        raise InputError("unit", f"= {unit!r}", "'char', 'byte' or 'word'")
    return _DEFAULT_VOCABULARY[unit]


def _tokens(text: str | bytes, unit: Unit, size: int) -> tuple[tuple[str, ...], Int64Array]:
    """Return the vocabulary, most frequent first, and the text as its numbers."""
    if isinstance(text, str) == (unit == "byte"):
        raise InputError("text", f"is {type(text).__name__}", "bytes" if unit == "byte" else "str")
    if isinstance(text, bytes):
        codes = np.frombuffer(text, dtype=np.uint8)
        return _numbered(codes, [byte_name(value) for value in range(256)], size)
    if "\0" in text:
        raise InputError(
            "text", f"has a NUL at character {text.index(chr(0))}, which no text has; take the unit 'byte'"
        )
    if unit == "char":
        try:
            codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
        except UnicodeEncodeError as error:
            raise InputError(
                "text", f"has the lone surrogate {text[error.start]!r} at character {error.start}"
            ) from None
        return _numbered(codes, None, size)
    words = units(text, "word")
    codes_of = {word: code for code, word in enumerate(Counter(words))}
    codes = np.fromiter(map(codes_of.__getitem__, words), dtype=np.int64, count=len(words))
    return _numbered(codes, list(codes_of), size)


def _numbered(codes: IntegerArray, texts: list[str] | None, size: int) -> tuple[tuple[str, ...], Int64Array]:
    """Assign numbers to codes by falling frequency, equal ones by first occurrence; `texts` names them, or they are
    characters.
    """
    occurrences = np.bincount(codes)
    seen = np.flatnonzero(occurrences)
    first = np.full(len(occurrences), len(codes), dtype=np.int64)
    np.minimum.at(first, codes, np.arange(len(codes)))
    order = seen[np.lexsort((first[seen], -occurrences[seen]))]
    vocabulary = order if len(order) <= size else order[: size - 1]
    number_of = np.full(len(occurrences), len(vocabulary), dtype=np.int64)
    number_of[vocabulary] = np.arange(len(vocabulary))
    names = tuple(texts[code] if texts else chr(code) for code in vocabulary.tolist())
    return names if len(vocabulary) == len(order) else (*names, OTHER), number_of[codes]


def _windows(tokens: Int64Array, d_vocab: int, n_ctx: int) -> tuple[Int64Array, Counts]:
    """Return the distinct windows in lexicographic order, `[M, n_ctx]`, and the counts of their next tokens."""
    n_windows = len(tokens) - n_ctx
    keys = np.zeros(n_windows, dtype=np.int64)  # the window so far and, in the end, the token after it, as one number
    largest = 1
    for s in range(n_ctx + 1):
        if largest * d_vocab > _LARGEST_KEY:
            keys = np.unique(keys, return_inverse=True)[1].reshape(-1).astype(np.int64)
            largest = int(keys.max()) + 1
        keys = keys * d_vocab + tokens[s : s + n_windows]
        largest *= d_vocab
    followed, where, data = np.unique(keys, return_index=True, return_counts=True)
    starts = np.flatnonzero(np.diff(followed // d_vocab, prepend=-1))
    contexts = tokens[where[starts][:, None] + np.arange(n_ctx)]
    return contexts, Counts(indptr=np.append(starts, len(followed)), indices=followed % d_vocab, data=data)
