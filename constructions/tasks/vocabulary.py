"""Translate between typed text and the tokens of a context; the vocabulary decides how a text is cut.

Page: docs/task.md
"""

import difflib
import re
import unicodedata
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from constructions.counted import counted
from constructions.errors import InputError
from constructions.numeric.arrays import Int64Array
from constructions.tasks.cells import cells_of_line, line_of_cells
from constructions.tasks.windows import END, Windows

OTHER = "<other>"
"""The token of whatever the vocabulary lacks."""

WORDS = re.compile(r"\w+|[^\w\s]")
"""What the unit ``word`` cuts a text into."""

_ECHOED = 3  # facts
_LONGEST_SHOWN = 120  # characters of a name
_BYTE = re.compile(r"\\x[0-9a-f]{2}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SEPARATORS = (",", ";", "|", "\t", "\n")


class Facts(Protocol):
    """Contexts of named tokens with their answers: the part of `constructions.tasks.task.Task` that this module
    reads.
    """

    @property
    def vocabulary(self) -> tuple[str, ...]: ...
    @property
    def answers(self) -> tuple[str, ...]: ...
    @property
    def apart(self) -> bool: ...
    @property
    def origin(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def contexts(self) -> Int64Array: ...
    @property
    def labels(self) -> Int64Array: ...
    @property
    def counts(self) -> Any: ...
    @property
    def windows(self) -> Windows | None: ...
    @property
    def contradicted(self) -> int: ...
    @property
    def n_contexts(self) -> int: ...
    @property
    def n_ctx(self) -> int: ...


@dataclass(frozen=True)
class Cut:
    """The way in which a text is cut into the tokens of a vocabulary.

    Args:
        unit: ``"byte"`` where names such as ``\\x0a`` occur; ``"char"`` where every token is one character; ``"word"``
            where every token is what the unit ``word`` cuts; else ``"cell"``.
        separator: The first of ``, ; |``, tab and newline that no token holds; words and cells may be typed with it
            between them. Empty where there is none, and for bytes and characters.
    """

    unit: Literal["byte", "char", "word", "cell"]
    separator: str


def byte_name(value: int) -> str:
    r"""Return the name of the token of a byte: its ASCII character, or like ``\x0a``."""
    return chr(value) if 32 <= value < 127 and value != ord("\\") else f"\\x{value:02x}"


def cut_of(vocabulary: tuple[str, ...], *, cells: bool = False) -> Cut:
    """Return how a text is cut into tokens of this vocabulary.

    Args:
        vocabulary: The tokens.
        cells: Whether they come from a table, so that one of a single character is a word or cell like any other.

    Returns:
        The cut.

    Example:
        >>> cut_of(("New York", "is in", "USA"))
        Cut(unit='cell', separator=',')
    """
    read = vocabulary[: vocabulary.index(END)] if END in vocabulary else vocabulary  # titles stand behind the end
    names = [name for name in read if name != OTHER]
    escaped = [name for name in names if _BYTE.fullmatch(name)]
    if escaped and not cells and all(len(name) == 1 and ord(name) < 128 for name in names if name not in escaped):
        return Cut("byte", "")
    if not cells and all(len(name) == 1 for name in names):
        return Cut("char", "")
    free = next((mark for mark in _SEPARATORS if not any(mark in name for name in names)), "")
    return Cut("word" if all(WORDS.fullmatch(name) for name in names) else "cell", free)


def is_of_rows(task: Facts) -> bool:
    """Tell whether contexts are whole rows, of a table or a construction, each with one answer."""
    return task.windows is None and (task.apart or task.origin == "table")


def names_answers(task: Facts) -> bool:
    """Tell whether the texts of the answers are stored with the weights: for rows, except single bytes."""
    return is_of_rows(task) and (task.apart or cut_of(task.vocabulary).unit != "byte")


def tokens_of(text: str, task: Facts) -> list[int]:
    """Return the numbers of the tokens of a context that a person typed, `[S]`.

    It may be typed as a row of a table, in CSV: with a comma, semicolon, bar or tab between the cells, and quotes where
    a cell has that character; or with spaces between them. What makes exactly the S tokens of a context is taken; of
    several such readings the one that is a fact. Of a text that is longer than a context the end counts.

    Args:
        text: The context.
        task: The task whose vocabulary and length of contexts are meant.

    Returns:
        The tokens.

    Raises:
        InputError: Too few tokens, too many cells, a token that is not in the vocabulary (names the nearest one), or
            two readings of which both or none are facts (names both).

    Example:
        >>> from constructions.tasks.table import table_task
        >>> tokens_of("New York, is in", table_task("New York,is in,USA\\n", target="labels"))
        [0, 1]
    """
    if task.windows is not None:
        return _before(text, task)
    readings = _readings(text, task)
    if len(readings) > 1:
        known = {tuple(context) for context in task.contexts.tolist()}
        facts = [words for words in readings if tuple(numbers_of(words, task)) in known]
        if len(facts) != 1:
            ways = " or ".join(_shown(words) for words in readings)
            raise InputError("context", f"is {text!r}, which is {ways}", "cells in quotes, and commas between them")
        readings = facts
    cells = cells_of_line(text, ",") if _only_in_csv(task) else []
    words = readings[0] if readings else cells or words_of(text, task)[unread(text, task) :]
    return numbers_of(words, task)


def _readings(text: str, task: Facts) -> list[tuple[str, ...]]:
    """Return all ways to read a typed text as exactly the tokens of a context, all in the vocabulary."""
    names, cut = set(task.vocabulary), cut_of(task.vocabulary, cells=task.apart)
    if cut.unit == "byte" or (OTHER in names and not task.apart):
        return []  # a text, which is read as it stands
    separators = _separators(task)
    ways = [tuple(cells_of_line(text, separator)) for separator in separators if separator != "\n"]
    ways += [tuple(cell.strip() for cell in text.split(separator)) for separator in separators]
    ways.append((text,))
    if " " not in names:
        ways.append(tuple(text.split()))
    if cut.unit != "cell":
        ways.append(tuple(text if cut.unit == "char" else WORDS.findall(text)))
    return [words for words in dict.fromkeys(ways) if len(words) == task.n_ctx and names.issuperset(words)]


def _separators(task: Facts) -> list[str]:
    """Return the possible separators of the cells of a context, none of which occurs in a token."""
    return [separator for separator in _SEPARATORS if task.apart or separator not in task.vocabulary]


def _only_in_csv(task: Facts) -> bool:
    """Tell whether the cells contain every separator except line ends, so that a line needs quotes."""
    cut = cut_of(task.vocabulary, cells=task.apart)
    return is_of_rows(task) and task.n_ctx > 1 and cut.unit in ("word", "cell") and cut.separator in ("", "\n")


def _between_separators(text: str, task: Facts) -> list[str]:
    """Return the parts of a text between separators, or else between blanks; empty if there are none."""
    separator = next((each for each in _separators(task) if each in text), None)
    if separator is not None:
        return [cell.strip() for cell in text.split(separator)]
    return text.split() if " " in text.strip() and " " not in task.vocabulary else []


def words_of(text: str, task: Facts) -> list[str]:
    """Return the words, characters, bytes or cells of a typed text, as the vocabulary of a task splits it."""
    cut = cut_of(task.vocabulary, cells=task.apart)
    if cut.unit == "byte":
        return [byte_name(value) for value in text.encode()]
    if cut.unit == "char":
        return (_between_separators(text, task) if task.origin == "table" else []) or list(text)
    for separator in _separators(task) if cut.unit == "cell" else []:
        if separator != "\n" and len(row := cells_of_line(text, separator)) == task.n_ctx:
            return row
    if cut.separator and cut.separator in text:
        return [word.strip() for word in text.split(cut.separator)]
    return WORDS.findall(text) if cut.unit == "word" else [text.strip()]


def unread(text: str, task: Facts) -> int:
    """Return how many words, characters or bytes of a typed text precede the part that is read; None for cells."""
    if task.windows is not None:
        titled = task.windows.titled
        return max(0, len(pieces_of(_titled(text, task)[1] if titled else text, task)) - task.windows.n_ctx + titled)
    cut = cut_of(task.vocabulary, cells=task.apart)
    of_cells = cut.unit == "cell" or (task.apart and cut.separator != "" and cut.separator in text)
    of_cells = of_cells or (cut.unit == "char" and task.origin == "table" and _between_separators(text, task) != [])
    return 0 if of_cells or _readings(text, task) else max(0, len(words_of(text, task)) - task.n_ctx)


PIECES = re.compile(r"\w+|\s+|[^\w\s]")
"""What whole texts are cut into by words: words, white space, and single other characters, which make up the text."""


def pieces_of(text: str, task: Facts) -> list[int]:
    """Return the token numbers of a piece of whole texts; -1 for unknown tokens.

    Example:
        >>> import numpy as np
        >>> from constructions.tasks.windows import END, Windows
        >>> from constructions.tasks.task import windows_task
        >>> windows = Windows(np.array([0, 1, 2]), np.array([2]), 1, 2)
        >>> pieces_of("abc", windows_task(windows, vocabulary=("a", "b", END)))
        [0, 1, -1]
    """
    assert task.windows is not None
    names = task.vocabulary[: task.windows.end]
    number = {name: i for i, name in enumerate(names)}
    if any(_BYTE.fullmatch(name) for name in names):
        pieces = [byte_name(value) for value in text.encode(errors="surrogateescape")]
    else:
        pieces = list(text) if all(len(name) == 1 for name in names) else PIECES.findall(text)
    return [number.get(piece, -1) for piece in pieces]


def _titles(task: Facts) -> dict[str, int]:
    assert task.windows is not None
    return {task.vocabulary[title][1:-1]: title for title in task.windows.titles.tolist()}


def _titled(text: str, task: Facts) -> tuple[str, str]:
    """Return the title with which a typed text begins, and the text after it; the longest of several titles."""
    known = (title for title in _titles(task) if text == title or text.startswith(f"{title}: "))
    title = max(known, key=len, default=text.partition(": ")[0])
    return title, text[len(title) + 2 :]


def _before(text: str, task: Facts) -> list[int]:
    """Return the window after a typed text; if there are several texts, after `title: text`."""
    windows = task.windows
    assert windows is not None
    first, n_ctx = windows.end, windows.n_ctx
    if windows.titled:
        known = _titles(task)
        title, text = _titled(text, task)
        if title not in known:
            near = difflib.get_close_matches(title, known, n=1)
            raise InputError(
                "context", f"begins with {title!r}", f"'title: text', for example {(near or [*known])[0]!r}: ..."
            )
        first, n_ctx = known[title], n_ctx - 1
    numbers = pieces_of(text, task)
    if -1 in numbers:
        raise InputError("context", f"is {text[-60:]!r}, of which a part occurs in no text", "words of the text")
    last = [*([first] * n_ctx), *numbers][-n_ctx:]
    return [first, *last] if windows.titled else last


def _in_text(task: Facts, context: int) -> str | None:
    """Return a window as a person types it; None if it is empty."""
    windows = task.windows
    assert windows is not None
    names = [task.vocabulary[token] for token in task.contexts[context].tolist() if token < windows.end]
    if any(_BYTE.fullmatch(name) for name in names) or not names:
        return None
    title = task.vocabulary[task.contexts[context, 0]][1:-1] + ": " if windows.titled else ""
    return title + "".join(names)


def numbers_of(words: list[str] | tuple[str, ...], task: Facts) -> list[int]:
    """Return the numbers of the tokens of a context, `[S]`.

    Raises:
        InputError: Another number of tokens than a context has, or one that is not in the vocabulary.
    """
    if len(words) != task.n_ctx:
        separator = cut_of(task.vocabulary, cells=task.apart).separator if task.n_ctx > 1 else ""
        between = f" with {separator!r} between them" if separator else ""
        if _only_in_csv(task):
            between = " with commas between them, and quotes around one with a comma"
        expected = counted(task.n_ctx, "token") + between
        given = _shown(words) if words else repr("")
        example = None if _only_in_csv(task) else typed(task, 0)
        expected += "" if example is None else f", as in {example!r}"
        raise InputError(f"the context {given}", f"has {counted(len(words), 'token')}", expected)
    number = {name: i for i, name in enumerate(task.vocabulary)}
    if OTHER in number and not task.apart:  # in a table it is a cell like any other
        return [number.get(word, number[OTHER]) for word in words]
    for word in words:
        if word not in number:
            near = difflib.get_close_matches(word, task.vocabulary, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            same = [name for name in task.vocabulary if _composed(name) == _composed(word)]
            if same:
                hint = f": {_points(word)}; it has what looks the same: {_points(same[0])}"
            if word in task.answers:
                hint = ": it is answered and never read"
            raise InputError("the vocabulary", f"has no token {word!r}{hint}")
    return [number[word] for word in words]


def typed(task: Facts, context: int) -> str | None:
    """Return a memorized context as a person types it.

    Args:
        task: A task of tokens.
        context: Which of its contexts.

    Returns:
        The text; none where there is none, as for a part of a character's bytes, or for ``<other>``.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> typed(table_task("France,capital,Paris\\n", target="labels"), 0)
        'France, capital'
    """
    if task.windows is not None:
        return _in_text(task, context)
    words = [task.vocabulary[token] for token in task.contexts[context].tolist()]
    if OTHER in words:
        return None
    cut = cut_of(task.vocabulary, cells=task.apart)
    if cut.unit == "byte":
        try:
            return bytes(int(w[2:], 16) if _BYTE.fullmatch(w) else ord(w) for w in words).decode()
        except UnicodeDecodeError:
            return None
    if cut.unit == "char":
        return "".join(words)
    if not cut.separator and len(words) > 1:
        return None
    return _between(cut).join(words)


def _between(cut: Cut) -> str:
    """Return the text that a person types between the cells of a row; a comma or semicolon is followed by a space."""
    return f"{cut.separator} " if cut.separator in (",", ";") else cut.separator


def _in_line(names: list[str], task: Facts) -> str:
    """Return the tokens of a context as a row that can be typed as a query, or None."""
    if _only_in_csv(task):
        return line_of_cells(names)
    return ((_between(cut_of(task.vocabulary, cells=task.apart)) if is_of_rows(task) else "") or " ").join(names)


def typed_example(task: Facts, *, in_csv: bool = False) -> str | None:
    """Return a memorized context that a command line accepts, where a leading dash begins an option.

    Args:
        task: The task.
        in_csv: Where cells hold every separator, a row of CSV with quotes, which `tokens_of` reads.
    """
    for place in range(min(64, task.n_contexts)):
        texts = [typed(task, place)]
        if in_csv and cut_of(task.vocabulary, cells=task.apart).unit in ("word", "cell"):
            texts.append(line_of_cells([task.vocabulary[token] for token in task.contexts[place].tolist()]))
        for text in texts:
            if text and _typable(text):
                return text
    return None


def _typable(text: str) -> bool:
    return text.strip() == text and not text.startswith("-") and not _CONTROL.search(text)


def _shown(words: list[str] | tuple[str, ...]) -> str:
    return " ".join(map(repr, words[:8])) + (" ..." if len(words) > 8 else "")


def echoed(task: Facts, places: Int64Array | None = None) -> str:
    """Return a preview of the facts as they were read: the first three, the number of others, and invisible characters.

    The cells of a row have between them what a person types there, so that a row can be copied and asked.

    Args:
        task: The facts.
        places: Which of them; by default all.

    Returns:
        One line: of what is observed more than once what follows most often, and how many observations say otherwise;
        tokens that look the same, being other code points, are named by these.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> echoed(table_task("Peru,Lima\\nChile,Santiago\\n"))
        'Peru -> Lima; Chile -> Santiago'
        >>> echoed(table_task("New Zealand,capital,Wellington\\n"))
        'New Zealand, capital -> Wellington'
    """
    shown = np.arange(task.n_contexts) if places is None else places
    first = shown[:_ECHOED]
    parts = [
        f"{_in_line([visible(task.vocabulary[token]) for token in context], task)} -> {visible(task.answers[label])}"
        for context, label in zip(task.contexts[first].tolist(), task.labels[first].tolist(), strict=True)
    ]
    if len(shown) > _ECHOED:
        parts[-1] += f" and {counted(len(shown) - _ECHOED, 'more fact')}"
    if task.target == "labels" and (contradictions := task.contradicted):
        total = int(task.counts.totals().sum())
        parts.append(f"{contradictions} of {counted(total, 'observation')} contradict what is asked")
    seen: dict[str, str] = {}
    for name in dict.fromkeys((*task.vocabulary, *task.answers)):
        other = seen.setdefault(_composed(name), name)
        if other != name:
            parts.append(f"{name!r} is written in two ways, which are two tokens: {_points(other)} and {_points(name)}")
    return "; ".join(parts)


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _points(name: str) -> str:
    return " ".join(f"U+{ord(letter):04X}" for letter in name)


def visible(name: str) -> str:
    """Return a name, quoted if it would be invisible and shortened if it fills more than a line.

    Example:
        >>> print(visible("Lima"), visible(" "))
        Lima ' '
    """
    if len(name) > _LONGEST_SHOWN:
        return f"{visible(name[: _LONGEST_SHOWN // 2])}... ({len(name):,} characters)"
    return name if name.strip() == name and name.isprintable() and name else repr(name)
