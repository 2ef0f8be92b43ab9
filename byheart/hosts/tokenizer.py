r"""The vocabulary of a task as a tokenizer of the library `tokenizers`, so that a person types a context.

How a text is cut follows from the vocabulary: into bytes, into characters, or at separators into words or cells.

Page: docs/hosts.md
"""

import re
from typing import Any

from constructions.tasks.task import Task
from constructions.tasks.text import OTHER

_WORD = re.compile(r"\w+|[^\w\s]")
_BYTE = re.compile(r"\\x[0-9a-f]{2}")
_SEPARATORS = (",", ";", "|", "\t", "\n")


def tokenizer_json(task: Task) -> dict[str, Any]:
    r"""The content of ``tokenizer.json`` for the vocabulary of a task.

    - Bytes (names such as ``\x0a`` occur): the tokens are those of the library's own byte-level alphabet.
    - Characters: each character is a token; one that is not in the vocabulary becomes ``<other>`` if that is.
    - Words: as the unit ``word`` cuts a text; a comma between them is left out where it is no token.
    - Cells of a table, which may hold spaces: cut at the first of ``, ; |``, tab and newline that no token holds.

    A token that is not in the vocabulary, where there is no ``<other>``, is an error of the library.

    Args:
        task: A task of tokens.

    Returns:
        Plain data for JSON.

    Page: docs/hosts.md

    Example:
        >>> from constructions.tasks.table import table_task
        >>> made = tokenizer_json(table_task("New York,is in,USA\n", target="labels"))
        >>> made["model"]["vocab"], made["pre_tokenizer"]["pretokenizers"][0]["pattern"]
        ({'New York': 0, 'is in': 1, 'USA': 2}, {'Regex': '\\s*[,]\\s*'})
    """
    names = [name for name in task.vocabulary if name != OTHER]
    decoder: dict[str, Any] | None = {"type": "Fuse"}
    vocabulary = task.vocabulary
    if _are_bytes(names):
        alphabet = _byte_alphabet()
        vocabulary = tuple(name if name == OTHER else alphabet[_byte(name)] for name in vocabulary)
        cut = [{"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}, _each()]
        decoder = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    elif all(len(name) == 1 for name in names):
        cut = [_each()]
    else:
        decoder = None
        free = next((s for s in _SEPARATORS if not any(s in name for name in names)), None)
        cut = [] if free is None else [_split(rf"\s*[{free}]\s*", "Removed")]
        if all(_WORD.fullmatch(name) for name in names):
            cut.append(_split(r"\s+", "Removed"))
            cut.append(_split(_WORD.pattern, "Isolated"))
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": cut},
        "post_processor": None,
        "decoder": decoder,
        "model": {
            "type": "WordLevel",
            "vocab": {name: number for number, name in enumerate(vocabulary)},
            "unk_token": OTHER,
        },
    }


def typed(task: Task, context: int) -> str | None:
    r"""A memorized context as a person types it.

    Args:
        task: A task of tokens.
        context: Which of its contexts.

    Returns:
        The text; none where there is none, as for a part of a character's bytes, or for ``<other>``.

    Page: docs/hosts.md

    Example:
        >>> from constructions.tasks.table import table_task
        >>> typed(table_task("France,capital,Paris\n", target="labels"), 0)
        'France, capital'
    """
    words = [task.vocabulary[token] for token in task.contexts[context].tolist()]
    names = [name for name in task.vocabulary if name != OTHER]
    if OTHER in words:
        return None
    if _are_bytes(names):
        try:
            return bytes(map(_byte, words)).decode()
        except UnicodeDecodeError:
            return None
    if all(len(name) == 1 for name in names):
        return "".join(words)
    free = next((s for s in _SEPARATORS if not any(s in name for name in names)), " ")
    return f"{free} ".join(words) if free in ",;" else free.join(words)


def _are_bytes(names: list[str]) -> bool:
    escaped = [name for name in names if _BYTE.fullmatch(name)]
    return bool(escaped) and all(len(name) == 1 and ord(name) < 128 for name in names if name not in escaped)


def _byte(name: str) -> int:
    return int(name[2:], 16) if _BYTE.fullmatch(name) else ord(name)


def _byte_alphabet() -> list[str]:
    """The character that stands for each byte in the byte-level alphabet: itself if it can be seen, else one above."""
    seen = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [value for value in range(256) if value not in seen]
    return [chr(value) if value in seen else chr(256 + hidden.index(value)) for value in range(256)]


def _each() -> dict[str, Any]:
    return _split(r"[\s\S]", "Isolated")


def _split(pattern: str, behaviour: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behaviour, "invert": False}
