"""Read prompts and answers as texts, split by the tokenizer of the model as for its users.

The tokens of an answer are those that the tokenizer adds to the prompt's when the answer stands after it, so what is
asked is what a program asks that encodes the prompt and decodes greedily. Tokens that the tokenizer puts first (a
beginning of a text) stand there; those that it puts last do not.

Page: docs/hosts.md
"""

import json
from pathlib import Path
from typing import Any, Protocol

from byheart.hosts.facts.host_tokenizer import HostTokenizer
from byheart.hosts.gguf_file import GGUFFile, tokenizer_json
from byheart.hosts.host import said_by
from byheart.hosts.tokenizer import TOKENIZER_FILE
from constructions.counted import counted
from constructions.errors import FileFormatError, InputError
from constructions.tasks.prompts import PromptTask, Tokens


class Vocabularies(Protocol):
    """An object that knows the numbers of input tokens and of answers: a model, or only its configuration."""

    @property
    def d_vocab(self) -> int:
        """Number of input tokens."""
        ...

    @property
    def d_vocab_out(self) -> int:
        """Number of answers."""
        ...


_PIECES = ("BPE", "Unigram", "WordPiece")
"""The models of `tokenizers` that cut words into pieces; others know whole words only."""


def cutting_tokenizer(given: Any, folder: Path | None, *, wanted: bool) -> Any:
    """Return the subword tokenizer as an object of `tokenizers`; None if there is none.

    Args:
        given: One, an object of transformers that has one, a file or a folder; or none.
        folder: Where it is looked for otherwise.
        wanted: Whether texts are to be cut by one that knows whole words only, too.

    Raises:
        InputError: There is one, and the library is not installed; or texts are wanted, and there is none.
        FileFormatError: The file is not a tokenizer.
    """
    if given is not None and not isinstance(given, Path | str):
        backend = getattr(given, "backend_tokenizer", given)
        if not hasattr(backend, "to_str"):
            raise InputError(
                "tokenizer", f"is {type(given).__name__}", "one of tokenizers or transformers, or its file"
            )
        return _of_text(backend.to_str(), "tokenizer")
    path = folder if given is None else Path(given)
    path = None if path is None else path / TOKENIZER_FILE if path.is_dir() else path
    if path is None or not path.is_file():
        if given is not None or wanted:
            raise InputError("tokenizer", f"{path} is not a file", f"a {TOKENIZER_FILE} written by save_pretrained")
        return None
    try:
        text = path.read_text(encoding="utf-8")
        kind = json.loads(text)["model"].get("type")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileFormatError(f"{path} has no vocabulary of tokens: {error}") from error
    return _of_text(text, str(path)) if wanted or given is not None or kind in _PIECES else None


def tokenizer_of_gguf(path: Path) -> Any:
    """Return the tokenizer of a GGUF file as an object of `tokenizers`.

    Raises:
        InputError: The library is not installed, or the file has no tokenizer that is known here.
        FileFormatError: Its header contradicts itself.
    """
    return _of_text(tokenizer_json(GGUFFile.read(path)), f"the tokenizer of {path}")


def _of_text(text: str, place: str) -> Any:
    """Return a tokenizer that neither cuts off nor fills up."""
    try:
        from tokenizers import Tokenizer  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise InputError(
            place, "cuts texts into pieces, and the library tokenizers is not installed",
            "`pip install tokenizers`, or cells that are tokens (--cells tokens)",
        ) from None  # fmt: skip
    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception as error:  # the library raises no class of its own
        raise FileFormatError(f"{place} is not a tokenizer: {said_by(error)}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def prompts_of_texts(
    place: str,
    rows: Any,
    model: Vocabularies,
    tokenizer: Any,
    *,
    between: str,
    host: HostTokenizer | None = None,
    begins: Tokens | None = None,
) -> tuple[PromptTask, str, str]:
    """Return the task of textual prompts and answers, how they were read, and a note for the first line.

    Args:
        place: Place of the texts, for messages.
        rows: Cells of each prompt, and of its answer.
        model: For the number of its tokens.
        tokenizer: The tokenizer of texts.
        between: Text to put between prompt and answer, where neither brings white space, and between cells.
        host: What cuts texts in the programs that people run.
        begins: What stands first in every text; by default what the tokenizer puts there.

    Raises:
        InputError: A text with a part that is not a token, an answer that changes the tokens of its prompt, or a text
            that the host cuts otherwise.
    """
    kind = json.loads(tokenizer.to_str())["model"]
    unknown = kind.get("unk_id") if kind.get("unk_token") is None else tokenizer.token_to_id(kind["unk_token"])
    pairs, strict = dict[tuple[Tokens, Tokens], tuple[str, str]](), _strict(tokenizer)
    joined, first = 0, ""
    began, aside = "", dict[str, None]()
    for cells, answers in rows:
        written, answer = between.join(cells), between.join(answers)
        prompt = written.rstrip() or written
        space = written[len(prompt) :]
        put = "" if space or answer[:1].isspace() else between
        joined += bool(put)
        whole, fact = prompt + space + put + answer, f"{written!r} -> {answer!r}"
        try:
            (start, before, _), (_, after, names) = (_encoded(tokenizer, text, begins) for text in (prompt, whole))
        except Exception as error:  # the library raises no class of its own
            raise InputError(place, f"has {fact}, which the tokenizer does not cut: {said_by(error)}") from error
        lost = strict is not None and strict.encode(whole).ids != tokenizer.encode(whole).ids
        if lost or (unknown is not None and unknown in (*before[len(start) :], *after[len(start) :])):
            raise InputError(place, f"has {fact}, of which a part is not a token", "texts that the tokenizer knows")
        if host is not None:
            aside |= dict.fromkeys(filter(None, (
                _otherwise(place, host, text, tokens, len(start), begins)
                for text, tokens in ((prompt, before), (whole, after))
            )))  # fmt: skip
        if not 0 < len(before) < len(after) or after[: len(before)] != before:
            raise InputError(
                place, f"has {fact}, where the answer changes the tokens of the prompt", "a cut between two tokens"
            )
        if max(after) >= min(model.d_vocab, model.d_vocab_out):
            raise InputError(place, f"has {fact} with the token {max(after)}", f"tokens 0 .. {model.d_vocab_out - 1}")
        first = first or f"{' '.join(map(repr, names[: len(before)]))} -> {' '.join(map(repr, names[len(before) :]))}"
        began = " ".join(start)
        pairs[before, after[len(before) :]] = (written, answer)
    task = PromptTask(
        _names(tokenizer, model.d_vocab), tuple(prompt for prompt, _ in pairs), tuple(notes for _, notes in pairs),
        tuple(pairs.values()),
    )  # fmt: skip
    notes = [
        f"texts cut by the model's tokenizer ({kind.get('type')})",
        task.described(),
        f"{began or 'nothing'} put first, as {'the tokenizer' if begins is None else 'default_prepend_bos'} "
        f"{'does' if begins is None else 'says'}",
        *([f"{between!r} put between prompt and answer of {counted(joined, 'row')} (--between)"] if joined else []),
        f"the first is {first}",
    ]
    return task, "; ".join(notes), "; ".join(aside)


def _encoded(tokenizer: Any, text: str, begins: Tokens | None) -> tuple[list[str], Tokens, list[str]]:
    """Return the names of the constant first tokens; the tokens without constant last ones; and their names."""
    encoding = tokenizer.encode(text)
    added = list(encoding.special_tokens_mask)
    stop = max((i + 1 for i, special in enumerate(added) if not special), default=0)
    start = next((i for i, special in enumerate(added) if not special), 0)
    if begins is None:
        return encoding.tokens[:start], tuple(encoding.ids[:stop]), encoding.tokens[:stop]
    first = [tokenizer.id_to_token(token) for token in begins]
    return first, (*begins, *encoding.ids[start:stop]), [*first, *encoding.tokens[start:stop]]


def _otherwise(place: str, host: HostTokenizer, text: str, tokens: Tokens, start: int, begins: Tokens | None) -> str:
    """Return a note for the first line if the host splits a text differently; refuse if that matters.

    Raises:
        InputError: The host cuts the text otherwise.
    """
    try:
        whole, bare = host.encode(text)
    except Exception as error:  # whatever the tokenizer of somebody else raises
        raise InputError(place, f"has {text!r}, which {host.name} does not cut: {said_by(error)}") from error
    if tuple(whole) == tokens or (begins is not None and tuple(bare) == tokens[start:]):
        return ""
    behind = len(whole) - len(tokens)
    if behind > 0 and tuple(whole[: len(tokens)]) == tokens and bare == list(tokens[start:]):
        return f"without the {counted(behind, 'token')} that {host.name} puts last"
    if not host.decides:
        return f"texts cut by the tokenizer that is given, not as by {host.name}"
    raise InputError(
        place, f"has {text!r}, which {host.name} cuts into {whole}, and {TOKENIZER_FILE} into {list(tokens)}",
        "one cut: the model would be asked about other tokens than by its users (--tokenizer FILE names the right cut)",
    )  # fmt: skip


def _strict(tokenizer: Any) -> Any:
    """Return the tokenizer with an unknown token if it would silently skip unknown text; None otherwise."""
    settings = json.loads(tokenizer.to_str())
    if (
        settings["model"].get("type") != "BPE"
        or settings["model"].get("unk_token") is not None
        or not settings["model"]["vocab"]
    ):
        return None
    settings["model"]["unk_token"] = next(iter(settings["model"]["vocab"]))
    return type(tokenizer).from_str(json.dumps(settings))


def _names(tokenizer: Any, size: int) -> tuple[str, ...]:
    """Return the token names of a model; `#` and the number for those missing in the tokenizer."""
    known = {number: name for name, number in tokenizer.get_vocab(with_added_tokens=True).items() if name}
    taken = set(known.values())
    return tuple(known.get(i) or ("#" if f"#{i}" not in taken else "##") + str(i) for i in range(size))
