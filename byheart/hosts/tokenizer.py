r"""The vocabulary of a task as a tokenizer of the library `tokenizers`, so that a person types a context.

How a text is cut follows from the vocabulary: into bytes, into characters, or at separators into words or cells.

Page: docs/hosts.md
"""

import re
from typing import Any

from constructions.tasks.task import Task
from constructions.tasks.vocabulary import OTHER, PIECES, WORDS, cut_of, is_of_rows
from constructions.tasks.windows import END

TOKENIZER_FILE, TOKENIZER_CONFIG_FILE = "tokenizer.json", "tokenizer_config.json"
ANSWERS_FILE = "answers.json"
"""The text of each column of the readout, of the facts of a table."""


def special_tokens(task: Task) -> dict[str, str]:
    r"""Return the tokens of padding, ``<other>`` where the vocabulary has it, and of the end of a text.

    Args:
        task: A task of tokens.

    Returns:
        By the names of the library; those that are not tokens of the task have the numbers after all others.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> special_tokens(table_task("Peru,Lima\n"))
        {'pad_token': '[PAD]'}
    """
    names = set(task.names())
    tokens = {"pad_token": _free("[PAD]", names)}
    tokens |= {"unk_token": OTHER} if OTHER in names else {}
    return tokens if task.windows is None else tokens | {"eos_token": END}


def _free(name: str, names: set[str]) -> str:
    """Return the name in more brackets than any of the names."""
    while name in names:
        name = f"[{name}]"
    return name


def answer_tokens(task: Task) -> list[int]:
    """Return the tokenizer's token for each answer, `[K]`."""
    number = {name: place for place, name in enumerate(task.names())}
    return [number[name] for name in task.answers]


def tokenizer_json(task: Task) -> dict[str, Any]:
    r"""Return the content of ``tokenizer.json`` for the vocabulary of a task.

    Answers that are never read have the numbers after it, and `special_tokens` those after them.

    - Bytes (names such as ``\x0a`` occur): the tokens are those of the library's own byte-level alphabet.
    - Characters: each character is a token; the cells of a table may have blanks or ``, ; |`` between them.
    - Whole texts: `title: ` in front is the token of that title.
    - Words: as the unit ``word`` cuts a text; a comma between them is omitted where it is not a token.
    - Cells of a table, which may hold spaces: cut at the first of ``, ; |``, tab and newline that no token holds.

    What is not in the vocabulary becomes ``<other>`` if there is one; else the library refuses it, as it misses a token
    for what is unknown.

    Args:
        task: A task of tokens.

    Returns:
        Plain data for JSON.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> made = tokenizer_json(table_task("New York,is in,USA\n", target="labels"))
        >>> made["model"]["vocab"], made["pre_tokenizer"]["pretokenizers"][0]["pattern"]
        ({'New York': 0, 'is in': 1, 'USA': 2, '[PAD]': 3}, {'Regex': '\\s*[,]\\s*'})
    """
    cut_by = cut_of(task.vocabulary, cells=task.apart)
    decoder: dict[str, Any] | None = {"type": "Fuse"}
    vocabulary = task.names()
    titles = task.windows.titles.tolist() if task.windows is not None and task.windows.titled else []
    if cut_by.unit == "byte":
        alphabet = _byte_alphabet()
        read = vocabulary.index(END) if task.windows is not None else len(vocabulary)  # titles stand behind the end
        vocabulary = tuple(
            name
            if name == OTHER
            else alphabet[_byte(name)]
            if place < read
            else "".join(map(alphabet.__getitem__, name.encode()))
            for place, name in enumerate(vocabulary)
        )
        cut = [{"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}]
        cut.append(_each(*(vocabulary[title] for title in titles)))
        decoder = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    elif cut_by.unit == "char":
        between = "".join(character for character in " \t,;|" if character not in vocabulary)
        cut = [_split(f"[{between}]", "Removed")] if between and task.origin == "table" else []
        cut.append(_each(*(vocabulary[title] for title in titles)))
    elif task.windows is not None:
        cut = [_each(*(vocabulary[title] for title in titles), each=PIECES.pattern)]
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
        "normalizer": _normalizer([task.vocabulary[title] for title in titles]),
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": cut},
        "post_processor": None,
        "decoder": decoder,
        "model": {
            "type": "WordLevel",
            "vocab": {name: number for number, name in enumerate(vocabulary)},
            "unk_token": special.get("unk_token") or _free("[UNK]", set(vocabulary)),
        },
    }


def tokenizer_config(task: Task) -> dict[str, Any]:
    """Return the content of ``tokenizer_config.json``: the library loads it without asking to run code.

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
    """Return the content of ``generation_config.json``: the likeliest token, and as many as were learned.

    A context has one answer; a text that is learned whole has an end.
    """
    size = len({*task.names(), *special_tokens(task).values()})
    settings: dict[str, Any] = {"do_sample": False, "pad_token_id": size - 1}
    if task.windows is not None:
        return settings | {"eos_token_id": task.windows.end, "max_new_tokens": len(task.windows.text)}
    return settings | {"max_new_tokens": 1} | ({"eos_token_id": answer_tokens(task)} if is_of_rows(task) else {})


def _byte(name: str) -> int:
    """Return the byte of a token in a text of bytes."""
    return ord(name) if len(name) == 1 else int(name[2:], 16)


def _byte_alphabet() -> list[str]:
    """Return the character that stands for each byte in the byte-level alphabet: itself if it can be seen, else one
    above.
    """
    seen = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [value for value in range(256) if value not in seen]
    return [chr(value) if value in seen else chr(256 + hidden.index(value)) for value in range(256)]


def _normalizer(titles: list[str]) -> dict[str, Any] | None:
    """Return the rule that replaces a leading `title: ` by the token of that title, the longest of several."""
    replaced = [
        {"type": "Replace", "pattern": {"Regex": rf"\A{re.escape(name[1:-1])}(?:: |\z)"}, "content": name}
        for name in sorted(titles, key=len, reverse=True)
    ]
    return {"type": "Sequence", "normalizers": replaced} if titles else None


def _each(*first: str, each: str = r"[\s\S]") -> dict[str, Any]:
    """Return the rule that cuts a text into pieces, the first of which may be one of these tokens."""
    return _split("|".join([*(rf"\A{re.escape(name)}" for name in first), each]), "Isolated")


def _split(pattern: str, behaviour: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behaviour, "invert": False}
