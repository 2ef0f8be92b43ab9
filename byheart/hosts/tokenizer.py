r"""The vocabulary of a task as a tokenizer of the library `tokenizers`, so that a person types a context.

How a text is cut follows from the vocabulary: into bytes, into characters, or at separators into words or cells.

Page: docs/hosts.md
"""

from typing import Any

from constructions.tasks.task import Task
from constructions.tasks.text import OTHER, WORDS
from constructions.tasks.vocabulary import cut_of
from constructions.tasks.windows import END


def special_tokens(task: Task) -> dict[str, str]:
    r"""The tokens of padding, of what is unknown, ``<other>`` where the vocabulary has it, and of the end of a text.

    Args:
        task: A task of tokens.

    Returns:
        By the names of the library; those that are no tokens of the task have the numbers after all others.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> special_tokens(table_task("Peru,Lima\n"))
        {'unk_token': '[UNK]', 'pad_token': '[PAD]'}
    """
    names = set(task.names())
    found = {"unk_token": OTHER if OTHER in names else "[UNK]", "pad_token": "[PAD]"}
    while (taken := names & set(found.values())) - {OTHER}:
        found = {name: f"[{token}]" if token in taken - {OTHER} else token for name, token in found.items()}
    return found if task.windows is None else found | {"eos_token": END}


def answer_tokens(task: Task) -> list[int]:
    """The token of the tokenizer that each answer is, `[K]`."""
    number = {name: place for place, name in enumerate(task.names())}
    return [number[name] for name in task.answers]


def tokenizer_json(task: Task) -> dict[str, Any]:
    r"""The content of ``tokenizer.json`` for the vocabulary of a task.

    Answers that are never read have the numbers after it, and `special_tokens` those after them.

    - Bytes (names such as ``\x0a`` occur): the tokens are those of the library's own byte-level alphabet.
    - Characters: each character is a token.
    - Words: as the unit ``word`` cuts a text; a comma between them is left out where it is no token.
    - Cells of a table, which may hold spaces: cut at the first of ``, ; |``, tab and newline that no token holds.

    What is not in the vocabulary becomes ``<other>`` if there is one, and else unknown.

    Args:
        task: A task of tokens.

    Returns:
        Plain data for JSON.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> made = tokenizer_json(table_task("New York,is in,USA\n", target="labels"))
        >>> made["model"]["vocab"], made["pre_tokenizer"]["pretokenizers"][0]["pattern"]
        ({'New York': 0, 'is in': 1, 'USA': 2, '[UNK]': 3, '[PAD]': 4}, {'Regex': '\\s*[,]\\s*'})
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
    special = special_tokens(task)
    vocabulary += tuple(name for name in special.values() if name not in vocabulary)
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
            "unk_token": special["unk_token"],
        },
    }


def tokenizer_config(task: Task) -> dict[str, Any]:
    """The content of ``tokenizer_config.json``: the library loads it without asking to run code.

    A text that spells a special token is cut like any other.

    Args:
        task: A task of tokens.
    """
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
        "padding_side": "left",
        "split_special_tokens": True,
        **special_tokens(task),
    }


def generation_of(task: Task) -> dict[str, Any]:
    """The content of ``generation_config.json``: the likeliest token, and as many as were learned.

    Nothing follows an answer that is never read; a text that is learned whole has an end.
    """
    size = len({*task.names(), *special_tokens(task).values()})
    found: dict[str, Any] = {"do_sample": False, "pad_token_id": size - 1}
    if task.apart:
        return found | {"eos_token_id": answer_tokens(task), "max_new_tokens": 1}
    if task.windows is None:
        return found
    return found | {"eos_token_id": task.windows.end, "max_new_tokens": len(task.windows.text)}


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
