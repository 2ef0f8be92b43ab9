"""State a claim for Coq: a model in integers, and the texts or facts that every run must answer.

The files are read by the kernel's readers, which are the standard library alone; nothing is evaluated.

Page: docs/rigour/kernel.md
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from constructions.errors import FileFormatError, InputError, TamperedError
from verify.certificates.certificate import MODEL_FILE, TASK_FILE, Certificate
from verify.kernel.model import Block, Model, read_model
from verify.kernel.task import END, Task, read_task
from verify.kernel.verdicts import BadInputError, UndecidedError

FORMATS = ("float32", "float64", "bfloat16", "float16")
"""The number formats that `formal/float32/semantics.v` defines."""

_BYTE = re.compile(r"\\x([0-9a-f]{2})")
_PART = re.compile(r"(\d+)/(\d+)")


@dataclass(frozen=True)
class Text:
    """A text of a task: its start token, repeated to the length of a context, and the tokens that follow."""

    before: int
    tokens: tuple[int, ...]


@dataclass(frozen=True)
class Claim:
    """A model, and the texts or facts that every run of it must answer.

    Args:
        number_format: Number format of the runs, one of `FORMATS`.
        model: The weights.
        positions: Tokens in a context.
        facts: Contexts and labels, each context once.
        texts: Where the task is of whole texts whose windows go on in one way: those texts; else none.
        vocabulary: What each token says; used for texts alone.
        end: The token that ends a text.
        titled: Whether the first token of a context is a title, which stays.
        task_sha256: The hash of the task, as a certificate has it.
        files: SHA-256 of the two files by their names.
    """

    number_format: str
    model: Model
    positions: int
    facts: tuple[tuple[tuple[int, ...], int], ...]
    texts: tuple[Text, ...]
    vocabulary: tuple[str, ...]
    end: int
    titled: bool
    task_sha256: str
    files: dict[str, str]

    @property
    def outputs(self) -> int:
        """Number of logits."""
        return self.model.outputs

    @property
    def steps(self) -> int:
        """Number of facts to evaluate: for texts all windows, one per token."""
        return sum(len(text.tokens) for text in self.texts) or len(self.facts)

    def said(self, text: Text) -> bytes:
        """Return the bytes of a text; its end mark has none."""
        return b"".join(spoken(self.vocabulary[token]) for token in text.tokens if token != self.end)

    def words(self) -> str:
        """Return the claim in words, as the page explains it."""
        runs = f"in every {self.number_format} run"
        if not self.texts:
            count = len(self.facts)
            return f"the largest logit is the label's alone, {runs}, for {count:,} context{'s' * (count != 1)}"
        size, count = sum(len(self.said(text)) for text in self.texts), len(self.texts)
        what = "a text" if count == 1 else f"{count:,} texts"
        return f"greedy decoding says {what} of {size:,} bytes, byte for byte, and then that it ends, {runs}"

    def sizes(self) -> dict[str, int]:
        """Return the sizes of a certificate's subject, by its names."""
        return {
            "contexts": len(self.facts),
            "context_length": self.positions,
            "outputs": self.outputs,
            "parameters": self.model.parameters,
        }

    def statements(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the certificate's statements about the same runs: the fields `named` and `values` of each kind."""
        contexts = len(self.facts)
        runs = {"named": {"format": self.number_format}, "values": {"contexts": contexts, "memorized": contexts}}
        if not self.texts:
            return {"runs": runs}
        entries = self._entries()
        values = {
            "texts": len(entries),
            "parts": len(self.texts),
            "bytes": sum(entry["bytes"] for entry in entries),
        }
        token_names = [self.vocabulary[token] for text in self.texts for token in text.tokens if token != self.end]
        if not any(map(_BYTE.fullmatch, token_names)):
            values["characters"] = sum(map(len, token_names))
        return {"runs": runs, "text": {"named": {"format": self.number_format, "texts": entries}, "values": values}}

    def _entries(self) -> list[dict[str, Any]]:
        """Return title, bytes and hash of each text; the parts of a text that was cut are joined."""
        titles = [_title(self.vocabulary[text.before]) for text in self.texts]
        count = len(titles)
        pieces = [self.said(text) for text in self.texts]
        if [_PART.fullmatch(title) and title for title in titles] == [f"{i + 1}/{count}" for i in range(count)]:
            titles, pieces = [""], [b"".join(pieces)]
        return [
            {"title": title, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for title, data in zip(titles, pieces, strict=True)
        ]


def spoken(token: str) -> bytes:
    """Return the text of a token: the byte that its name gives in hexadecimal, or its name.

    Example:
        >>> spoken("a"), spoken("\\\\xff")
        (b'a', b'\\xff')
    """
    byte = _BYTE.fullmatch(token)
    return bytes.fromhex(byte[1]) if byte else token.encode()


def _title(token: str) -> str:
    return "" if token == END else token.removeprefix("<").removesuffix(">")


def claim_of(folder: Path, number_format: str) -> Claim:
    """Return the claim about a folder, if the library covers its kinds of blocks and tasks.

    Args:
        folder: A folder with a certificate.
        number_format: Number format of the runs, one of `FORMATS`.

    Raises:
        FileFormatError: A file is missing or is not what it should be.
        TamperedError: A hash is not that of the certificate, or its sizes are others.
        InputError: The library has no such block, or the task is of another kind than texts and tables of labels.
    """
    certificate = Certificate.load(folder)
    subject = certificate.subject
    if subject.is_of_a_rule:
        raise InputError(f"{folder}", "is about a rule and its domain", "texts or tables for Coq")
    try:
        model, task = read_model(folder), read_task(folder)
    except BadInputError as error:
        raise FileFormatError(f"{folder}: {error}") from error
    except UndecidedError as error:
        raise InputError(f"{folder}", f"cannot be read: {error}", "texts or tables for Coq") from error
    for name, actual, stated in ((MODEL_FILE, model, subject.model), (TASK_FILE, task, subject.task)):
        if actual.sha256 != stated:
            raise TamperedError(f"{name} is not what the certificate is about: its hash differs")
    require_blocks(folder, model)
    if task.asked is not None:
        raise InputError(f"{folder}", "is about prompts of several lengths", "texts or tables for Coq")
    if task.target != "labels":
        raise InputError(f"{folder}", f"has {task.target} for a target", "labels for Coq, which proves no divergence")
    texts = _texts(task)
    vocabulary = () if task.text is None else tuple(task.text.names)
    end = vocabulary.index(END) if texts else 0
    claim = Claim(
        number_format=number_format,
        model=model,
        positions=task.sizes()["context_length"],
        facts=tuple(zip(task.contexts, task.labels, strict=True)),
        texts=texts,
        vocabulary=vocabulary if texts else (),
        end=end,
        titled=len(texts) > 1 or any(text.before != end for text in texts),
        task_sha256=task.sha256,
        files={name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (MODEL_FILE, TASK_FILE)},
    )
    different = {name: size for name, size in subject.sizes.items() if claim.sizes().get(name, size) != size}
    if different:
        raise TamperedError(f"the certificate states {different}, and the files have other sizes")
    return claim


def _texts(task: Task) -> tuple[Text, ...]:
    """Return the texts of a task of whole texts; None for other tasks, or if a window has two continuations."""
    if task.text is None or any(len(row) > 1 for row in task.counts):
        return ()
    texts, tokens, titles = [], [], iter(task.text.titles)
    for token in task.text.tokens:
        tokens.append(token)
        if token == task.text.end:
            texts.append(Text(next(titles), tuple(tokens)))
            tokens = []
    return tuple(texts)


def require_blocks(folder: Path, model: Model) -> None:
    """Refuse a model that the library has no words for.

    Raises:
        InputError: Names the first block that is of another kind, and what is in it.
    """
    if not model.reads_tokens or model.ends:
        extras = ", ".join(model.ends) or "vectors for an input"
        raise InputError(f"{folder}", f"has {extras}", "learned positions and plain logits of tokens for Coq")
    for place, block in enumerate(model.blocks):
        if (other := _other(block)) is not None:
            raise InputError(
                f"block {place} of {folder}", f"has {other}", "attention and ReLU neurons without norms for Coq"
            )


def _other(block: Block) -> str | None:
    """Return the part of a block that the library does not cover."""
    if block.kind not in ("attention", "feed-forward"):
        return f"a normalization ({block.kind})"
    if block.norm is not None:
        return "a norm before it"
    if not block.is_plain:
        return "gates, rotations, shared keys or other options that plain blocks have not"
    if block.kind == "feed-forward":
        return None if block.options["activation"] == "relu" else f"the activation {block.options['activation']}"
    if block.options["queries"] != "stream":
        return "queries of the task"
    return None if block.options["score_root"] == 1 else f"scores divided by a root of {block.options['score_root']}"
