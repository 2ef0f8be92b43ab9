r"""The statement `text`: greedy decoding says whole texts, byte by byte, and then that they end.

Page: docs/rigour/kernel.md
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from verify.kernel import runs
from verify.kernel.certificate import FILE, Certificate
from verify.kernel.evaluation import FORMATS, Evaluation
from verify.kernel.files import require_fields
from verify.kernel.numerals import counted, read_count
from verify.kernel.task import END, Text, windows
from verify.kernel.verdicts import BadInputError, NotProvedError

ID = "text"
PLACE = 2
REAL = "real arithmetic"
_BYTE = re.compile(r"\\x[0-9a-f]{2}")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Statement:
    """Decoded greedily, a model says these texts.

    Args:
        format: That of the runs, or real arithmetic.
        texts: Of each its title, its bytes and their hash.
        parts: How many decodings are begun.
        characters: Of all texts, where tokens are characters.
    """

    format: str
    texts: list[tuple[str, int, str]]
    parts: int
    characters: int | None


def read(field: str, record: dict[str, Any], certificate: Certificate) -> Statement:
    """Return the data of a statement in its one form."""
    named, values = record.get("named"), record["values"]
    require_fields(FILE, f"{field}.named", named, ["format", "texts"])
    assert isinstance(named, dict)
    if named["format"] not in (REAL, *FORMATS) or not isinstance(named["texts"], list) or not named["texts"]:
        raise BadInputError(FILE, f"{field}.named", "name no format that there is, or no texts")
    require_fields(FILE, f"{field}.values", values, ["bytes", "parts", "texts"], ["characters"])
    counts = {name: read_count(FILE, f"{field}.values.{name}", value) for name, value in values.items()}
    texts = []
    for place, entry in enumerate(named["texts"]):
        where = f"{field}.named.texts[{place}]"
        require_fields(FILE, where, entry, ["bytes", "sha256", "title"])
        if not isinstance(entry["title"], str) or not isinstance(entry["sha256"], str):
            raise BadInputError(FILE, where, "has a title or a hash that is not a text")
        if not _HASH.fullmatch(entry["sha256"]):
            raise BadInputError(FILE, f"{where}.sha256", "is not a hash of 64 hexadecimal digits")
        texts.append((entry["title"], read_count(FILE, f"{where}.bytes", entry["bytes"]), entry["sha256"]))
    if counts["texts"] != len(texts) or counts["bytes"] != sum(size for _, size, _ in texts) or record["memorized"]:
        raise BadInputError(FILE, f"{field}.values", "count other texts or bytes than are named, or a mask is given")
    titles = {title for title, *_ in texts}
    if len(titles) < len(texts) or (counts["parts"] != len(texts) and titles != {""}):
        raise BadInputError(FILE, f"{field}.named.texts", "have a title twice, or parts though they have titles")
    if counts["parts"] < len(texts) or counts.get("characters", 0) > counts["bytes"]:
        raise BadInputError(FILE, f"{field}.values", "count fewer parts than texts, or more characters than bytes")
    if _rests_on(named["format"], certificate) is None:
        raise BadInputError(FILE, field, f"needs all contexts memorized in {named['format']}, which no statement says")
    return Statement(named["format"], texts, counts["parts"], counts.get("characters"))


def _rests_on(format: str, certificate: Certificate) -> dict[str, Any] | None:
    """Return the statement of the same certificate that every context is memorized, in real arithmetic or in every
    run.
    """
    wanted = ("answers", REAL) if format == REAL else (runs.ID, format)
    for record in certificate.statements:
        named = record.get("named", {"format": REAL})
        is_it = isinstance(named, dict) and (record["id"], named.get("format")) == wanted
        if is_it and record["values"].get("memorized") == certificate.sizes["contexts"]:
            return record
    return None


def sentence(statement: Statement, certificate: Certificate) -> str:
    """Return the statement in words."""
    where = f"in every {statement.format} run" if statement.format in FORMATS else f"in {statement.format}"
    count, size = len(statement.texts), counted(sum(size for _, size, _ in statement.texts), "byte")
    size += "" if statement.characters is None else f" ({counted(statement.characters, 'character')})"
    parts, ends = "", "it ends" if count == 1 else "each ends"
    if statement.parts != count:
        parts, ends = f", in {counted(statement.parts, 'part')}", "each part ends"
    texts = counted(count, "text")
    return f"Greedy decoding, {where}, says {texts} of {size}{parts}, byte for byte, and then that {ends}."


def prover_alone(statement: Statement, certificate: Certificate) -> str:
    """Return the part for which the kernel has no proof: a text by runs without a kernel proof; empty if there is a
    proof.
    """
    record = _rests_on(statement.format, certificate)
    if statement.format == REAL or record is None:
        return ""
    return runs.prover_alone(runs.read(runs.ID, record, certificate), certificate)


def check(statement: Statement, certificate: Certificate, evaluation: Evaluation) -> str:
    """Prove the statement by induction over the windows.

    *Theorem.* If every window of the texts is a context whose label is the token that follows it, and every context is
    memorized, then decoding that begins with the first window of a text, and moves the window on by each token it says,
    says the tokens of the text and then the end.

    *Proof.* The first window is one of the text. If the window before a token is read, then its label, which is that
    token, has the strictly largest logit, so it is said, and the next window of the text is read. []

    That every context is memorized is proved by the statement `runs` of that format, or by `answers`, which are
    required.

    Raises:
        NotProvedError: The texts are others, or a window goes on in two ways.
    """
    task = evaluation.task
    if task.text is None:
        raise NotProvedError(f"{ID}: the task is not one of whole texts")
    label = dict(zip(task.contexts, task.labels, strict=True))
    for window, token in windows(task.text):
        if label[window] != token:
            i = list(label).index(window)
            raise NotProvedError(f"{ID}: context {i} goes on in two ways, so decoding leaves the text there")
    texts = texts_of(task.text)
    hashed = [(title, len(data), hashlib.sha256(data).hexdigest()) for title, data, _ in texts]
    for stated, real in zip(statement.texts, hashed, strict=False):
        if stated != real:
            raise NotProvedError(f"{ID}: the text {real[0]!r} has {real[1]} bytes and the hash {real[2]}")
    characters = None if any(count is None for *_, count in texts) else sum(count or 0 for *_, count in texts)
    figures = len(hashed), len(task.text.titles), characters
    if (len(statement.texts), statement.parts, statement.characters) != figures:
        raise NotProvedError(f"{ID}: texts, parts and characters are {figures}")
    return f"{counted(len(hashed), 'text')}, by induction over {counted(len(task.contexts), 'window')}"


def texts_of(text: Text) -> list[tuple[str, bytes, int | None]]:
    """Return the texts that tokens spell, with their titles, and how many characters they have where tokens are
    characters.

    A token that is named `\\xNN` is that byte. Where the titles are 1/n ... n/n they are the parts of one text.
    """
    spelled, part, end = [], [], text.end
    for token in text.tokens:
        if token == end:
            spelled.append(part)
            part = []
        else:
            part.append(text.names[token])
    titles = [text.names[title] for title in text.titles]
    count = len(titles)
    bare = [title.removeprefix("<").removesuffix(">") for title in titles]
    if titles == [END] or bare == [f"{k + 1}/{count}" for k in range(count)]:
        bare, spelled = [""], [[name for part in spelled for name in part]]
    texts = []
    for title, names in zip(bare, spelled, strict=True):
        in_bytes = [bytes([int(name[2:], 16)]) if _BYTE.fullmatch(name) else name.encode() for name in names]
        has_bytes = any(map(_BYTE.fullmatch, names))
        texts.append((title, b"".join(in_bytes), None if has_bytes else sum(map(len, names))))
    return texts
