r"""The vocabulary of a task as a tokenizer of the library `tokenizers`, so that a person types a context.

How a text is cut follows from the vocabulary: into bytes, into characters, or at separators into words or cells.

Page: docs/hosts.md
"""

from typing import Any

from constructions.tasks.task import Task
from constructions.tasks.text import OTHER, WORDS
from constructions.tasks.vocabulary import cut_of


def tokenizer_json(task: Task) -> dict[str, Any]:
    r"""The content of ``tokenizer.json`` for the vocabulary of a task.

    Answers that are never read have the numbers after it.

    - Bytes (names such as ``\x0a`` occur): the tokens are those of the library's own byte-level alphabet.
    - Characters: each character is a token; one that is not in the vocabulary becomes ``<other>`` if that is.
    - Words: as the unit ``word`` cuts a text; a comma between them is left out where it is no token.
    - Cells of a table, which may hold spaces: cut at the first of ``, ; |``, tab and newline that no token holds.

    A token that is not in the vocabulary, where there is no ``<other>``, is an error of the library.

    Args:
        task: A task of tokens.

    Returns:
        Plain data for JSON.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> made = tokenizer_json(table_task("New York,is in,USA\n", target="labels"))
        >>> made["model"]["vocab"], made["pre_tokenizer"]["pretokenizers"][0]["pattern"]
        ({'New York': 0, 'is in': 1, 'USA': 2}, {'Regex': '\\s*[,]\\s*'})
    """
    cut_by = cut_of(task.vocabulary, cells=task.apart)
    decoder: dict[str, Any] | None = {"type": "Fuse"}
    vocabulary = task.names()
    if cut_by.unit == "byte":
        alphabet = _byte_alphabet()
        vocabulary = tuple(name if name == OTHER else alphabet[_byte(name)] for name in vocabulary)
        cut = [{"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}, _each()]
        decoder = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    elif cut_by.unit == "char":
        cut = [_each()]
    else:
        decoder = None
        cut = [_split(rf"\s*[{cut_by.separator}]\s*", "Removed")] if cut_by.separator else []
        if cut_by.unit == "word":
            cut += [_split(r"\s+", "Removed"), _split(WORDS.pattern, "Isolated")]
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


def _byte(name: str) -> int:
    """The byte that a token of a text of bytes stands for."""
    return ord(name) if len(name) == 1 else int(name[2:], 16)


def _byte_alphabet() -> list[str]:
    """The character that stands for each byte in the byte-level alphabet: itself if it can be seen, else one above."""
    seen = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [value for value in range(256) if value not in seen]
    return [chr(value) if value in seen else chr(256 + hidden.index(value)) for value in range(256)]


def _each() -> dict[str, Any]:
    return _split(r"[\s\S]", "Isolated")


def _split(pattern: str, behaviour: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behaviour, "invert": False}
