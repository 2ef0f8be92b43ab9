"""Memorize whole texts and recite them: every window is a fact, and decoding follows by induction.

Page: docs/recitation.md
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from constructions.counted import counted, inflected
from constructions.errors import InputError
from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray, Int64Array
from constructions.plug_ins import required_plug_in
from constructions.progress import Progress, silent
from constructions.tasks.criterion import TOLERANCE
from constructions.tasks.recitation import (
    encoded,
    forking_places,
    in_parts,
    is_byte,
    least_context,
    parts_within,
    titles,
    unit_of,
)
from constructions.tasks.task import LARGEST_WINDOWS, Task, windows_task
from constructions.tasks.text import UNIT_NAMES, Unit, units
from constructions.tasks.vocabulary import PIECES, pieces_of
from constructions.tasks.windows import END, LONGEST, Windows
from verify.certificates.certificate import REALS, TEXT, Certificate
from verify.certificates.headline import PROVER_ALONE
from verify.forward.ladder import decide_argmax, leads
from verify.provers.memorization import load_subject
from verify.runs.formats import FORMATS
from verify.runs.hypotheses import OF_EXACT_SUMS
from verify.runs.in_reals import InReals
from verify.runs.integer_rows import known_logits
from verify.runs.memorized_runs import memorized_in_every_run

# Tokens of a window of a text that is cut into parts, at most: longer windows make fewer parts and a larger model.
_PART = 256
_DECIDED = 2**20  # tokens of the windows that are decided together
_TOGETHER = 2**23  # tokens of all windows of one text, up to which longer ones take no more than some seconds


def whole_text(texts: str | bytes | Mapping[str, str | bytes], unit: Unit = "char") -> Task:
    """Return the task of a whole text, or of texts with titles: all windows of the least length that determines what
    follows.

    Of texts with titles a window begins with the title, so that repeats count within one text only. One text that
    repeats more than is learned, or is learned in some seconds, is cut in parts, whose titles are ``1/n`` to ``n/n``.

    Args:
        texts: The text, or texts by title.
        unit: ``"char"``, ``"byte"``, or ``"word"``: a word, white space, or one other character.

    Returns:
        The task, of labels.

    Raises:
        InputError: A text is empty or of another type than the unit, or its windows would be too long: says how long.

    Example:
        >>> task = whole_text("so much depends upon a red wheel barrow")
        >>> task.n_ctx, task.n_contexts
        (2, 40)
    """
    if unit not in UNIT_NAMES:
        raise InputError("unit", f"= {unit!r}", "'char', 'byte' or 'word'")
    if isinstance(texts, Mapping):
        names = [f"the text {title!r}" for title in texts]
        titles_of_texts = list(texts)
        pieces = [_split(name, text, unit) for name, text in zip(names, texts.values(), strict=True)]
    else:
        names, titles_of_texts = ["the text"], []
        pieces = [_split("the text", texts, unit)]
    if not pieces:
        raise InputError("texts", "are none", "at least one")
    tokens, numbers = _numbered(pieces)
    end = len(tokens)
    lengths = [least_context(text) for text in numbers]
    parts = None if isinstance(texts, Mapping) else _parts_of_long(numbers[0], lengths[0])
    if parts is not None:
        numbers, lengths = parts, [least_context(part) for part in parts]
        titles_of_texts = [f"{i}/{len(parts)}" for i in range(1, len(parts) + 1)]
    titled = isinstance(texts, Mapping) or parts is not None
    title_tokens = [f"<{title}>" for title in titles_of_texts]
    if END in title_tokens:
        raise InputError("the title", f"{END[1:-1]!r} is how the end of a text is called", "another title")
    n_ctx = max(lengths) + titled  # a title takes a token of the window
    text = np.concatenate(numbers)
    if _is_long(n_ctx, len(text)):
        longest = 0 if parts is not None else lengths.index(max(lengths))
        raise _too_long(names[longest], pieces[longest], numbers[longest], max(lengths), n_ctx, unit)
    vocabulary = (*tokens, END, *title_tokens)
    title_numbers = np.arange(end + 1, len(vocabulary)) if titled else np.array([end])
    return windows_task(Windows(text, title_numbers, n_ctx, end), vocabulary=vocabulary)


def _split(name: str, text: str | bytes, unit: Unit) -> list[str]:
    """Return the tokens of a text as strings; `name` is what errors call it."""
    if isinstance(text, bytes) != (unit == "byte") or not isinstance(text, str | bytes):
        raise InputError(name, f"is {type(text).__name__}", "bytes" if unit == "byte" else "str")
    if not text:
        raise InputError(name, "is empty")
    if isinstance(text, str) and "\0" in text:
        place = f"has a NUL at character {text.index(chr(0))}"
        raise InputError(name, place, "none; bytes may be any (--tokens bytes)")
    return PIECES.findall(text) if unit == "word" and isinstance(text, str) else units(text, unit)


def _numbered(pieces: Sequence[Sequence[str]]) -> tuple[list[str], list[Int64Array]]:
    """Return the tokens, most frequent first, and each text as token numbers followed by the number of the end."""
    occurrences = Counter(piece for text in pieces for piece in text)
    tokens = [token for token, _ in occurrences.most_common()]
    number = {token: i for i, token in enumerate(tokens)}
    end = len(tokens)
    return tokens, [np.array([*(number[piece] for piece in text), end]) for text in pieces]


def _parts_of_long(text: Int64Array, length: int) -> list[Int64Array] | None:
    """Cut a text whose windows of `length` tokens are too long, or slow to learn, into parts with an end each; None for
    others.
    """
    size = len(text)
    is_slow = length > _PART and length * size > _TOGETHER
    # With a title a window has longest_context + 1 tokens, and with their ends the parts have at most 2 size: together
    # these windows stay within LARGEST_WINDOWS.
    longest_context = min(_PART, LARGEST_WINDOWS // (2 * size)) - 1
    if longest_context <= 0 or not (_is_long(length, size) or is_slow):
        return None
    tokens, end = text[:-1], text[-1]
    stops = parts_within(tokens, longest_context)
    return [np.append(part, end) for part in np.split(tokens, stops[:-1])]


def _too_long(name: str, pieces: list[str], numbers: Int64Array, length: int, n_ctx: int, unit: Unit) -> InputError:
    """Return the error for a text that only windows of `length` tokens determine; it names two equal stretches."""
    first, second = forking_places(numbers, length - 1)
    return InputError(
        name,
        f"has the same {counted(length - 1, UNIT_NAMES[unit])} before {_where(pieces, first)} and "
        f"before {_where(pieces, second)}, and goes on otherwise: to know what follows, a context of "
        f"{n_ctx:,} is needed; at most {LONGEST:,} is learned",
        "other tokens (--tokens words), a file for each part of it, or frequent contexts (--facts N)",
    )


def _is_long(n_ctx: int, size: int) -> bool:
    """Return whether windows of this length are longer than a memory can read, or too large in total."""
    return n_ctx > LONGEST or n_ctx * size > LARGEST_WINDOWS


def _where(pieces: list[str], place: int) -> str:
    """Return the place of a token in its text, as an editor counts; its index for bytes."""
    if any(is_byte(piece) for piece in pieces):
        return f"byte {place + 1}"
    before = "".join(pieces[:place])
    return f"line {before.count(chr(10)) + 1}, character {len(before) - before.rfind(chr(10))}"


@dataclass(frozen=True)
class Recitation:
    """The texts that a folder recites.

    Args:
        begins: What was given: the end of it, or nothing.
        pieces: The tokens that follow, of each text, each the answer to the S before it.
        proved: How many of them, from the first on, are proved right in every run of the type.
        exact: How many of them, from the first on, are proved right in real arithmetic; this is not asked where
            every run says all, and is then `proved`.
        by: Where it is proved that all is said and then the end, ``"runs"`` or ``"reals"``; nothing where it is not.
        dtype: The type.
        unit: What is counted: ``"character"`` or ``"byte"``.
        parts: Whether the texts are the parts of one.
        stated: Whether a certificate states that all texts are said so; none where no certificate was read.
        prover_alone: Whether what every run says is proved by bounds of what runs round, of which the kernel has no
            proof.
    """

    begins: str
    pieces: tuple[tuple[str, ...], ...]
    proved: int
    exact: int
    by: str
    dtype: str
    unit: str
    parts: bool = False
    stated: bool | None = None
    prover_alone: bool = False

    @property
    def said(self) -> tuple[str, ...]:
        """All tokens."""
        return tuple(token for piece in self.pieces for token in piece)

    @property
    def text(self) -> str:
        """The text as far as it is proved; several texts are concatenated."""
        return self.data.decode(errors="replace")

    @property
    def data(self) -> bytes:
        """The text as bytes, UTF-8 or raw; equal to the file if all of it is recited."""
        return self.begins.encode(errors="surrogateescape") + encoded(self.said[: max(self.proved, self.exact)])

    def answers(self, *, of_runs: bool = False) -> bool:
        """Tell whether everything is proved, including the end, for the requested runs or in real arithmetic."""
        return self.by == "runs" or (self.by == "reals" and not of_runs)

    def headline(self, *, of_runs: bool = False, run: Sequence[str] | None = None) -> str:
        """Return the answer in one line.

        Args:
            of_runs: Whether every run of the type was asked for, so that real arithmetic alone is not an answer.
            run: The tokens that one run said, if there was one.
        """
        tokens = self.said
        total, part = self._size(tokens), self._size(tokens[: max(self.proved, self.exact)])
        of_all = f"{part:,} of {total:,} {inflected(self.unit, total)}"
        if len(self.pieces) > 1:
            of_all += f" {'in' if self.parts else 'of'} {len(self.pieces)} {'parts' if self.parts else 'texts'}"
        of_all += f" after {self.begins[-40:]!r}" if self.begins else ""
        runs = f"in every {self.dtype} run{f' {PROVER_ALONE}' * self.prover_alone}"
        if self.by:
            summary = f"{of_all}, "
            summary += (
                runs if self.by == "runs" else f"in real arithmetic; {runs} {self._size(tokens[: self.proved]):,}"
            )
        else:
            summary = f"{of_all} are proved; {'the next one' if part < total else 'the end after them'} is not"
        if run is not None and tuple(run) != tokens:
            return f"ONE RUN SAID SOMETHING ELSE, in {self.dtype}; proved: {summary}"
        word = "BY HEART, PROVED" if self.answers(of_runs=of_runs) else "NOT DECIDED"
        if self.by and self.stated is False:
            summary += "; proved now, and stated in no certificate"
        return f"{word}: {summary}" + ("" if run is None else f"; one run in {self.dtype} said the same")

    def _size(self, tokens: tuple[str, ...]) -> int:
        """Return the number of characters of tokens, or of bytes."""
        return len(tokens) if self.unit == "byte" else sum(map(len, tokens))


def recite(
    folder: Path | str,
    title: str | None = None,
    *,
    start: str | None = None,
    dtype: str = "float32",
    progress: Progress = silent,
) -> Recitation:
    """Recite one memorized text, all of them, or the part after a given passage, and prove the result.

    Let the model be right about every window of a text. Then greedy decoding from its title, or from the end of
    nothing, says the text and that it ends: if the last tokens are those before a place, they are a fact, and the
    largest logit is that of the token there. Each window on the way is judged here, in every run of the type and, where
    that says nothing, in real arithmetic.

    Args:
        folder: A folder that `byheart memorize` wrote of a whole text, or of several.
        title: Title of the text that is said; by default all.
        start: What stands in the text; said is what stands after it. By default the beginning.
        dtype: A `constructions.model.precision.Precision`: the runs that are judged.
        progress: Called with the stage and the finished share of it.

    Returns:
        What is said, and how much of it is proved; and whether the certificate states that all texts are said so, in
        the same runs or in real arithmetic.

    Raises:
        InputError: There is no such title or place, or the folder holds no text.
        FileFormatError: A file is missing or is not what it should be.
        TamperedError: The files are not those that the certificate names.
    """
    model, task = _loaded(folder)
    recited = recitation(model, task, title, start=start, dtype=dtype, progress=progress)
    said_in = dtype if recited.by == "runs" else REALS
    statements = Certificate.load(Path(folder)).statements
    return replace(
        recited, stated=any(statement.id == TEXT and statement.named["format"] == said_in for statement in statements)
    )


def recitation(
    model: Model,
    task: Task,
    title: str | None = None,
    *,
    start: str | None = None,
    dtype: str = "float32",
    progress: Progress = silent,
) -> Recitation:
    """Return a model's recitation of the texts whose windows are the facts of a task; see `recite`."""
    windows = task.windows
    assert windows is not None
    parts, begins = _places(task, title, start)
    places = np.concatenate([np.arange(part.start, part.stop) for part in parts])
    facts, at = np.unique(windows.place[places], return_inverse=True)
    progress("windows", None, f"{len(facts)} windows of {windows.n_ctx} tokens")
    contexts, labels = task.contexts[facts], task.labels[facts]
    same = labels[at] == windows.text[places]  # of a window that goes on in two ways one is asked for
    wanted = np.zeros(task.n_contexts, dtype=bool)
    wanted[facts] = True
    proved = memorized_in_every_run(model, task, FORMATS[dtype], tolerance=TOLERANCE, wanted=wanted)
    memorized = proved.memorized[facts]
    prover_alone = bool(proved.memorized.any()) and proved.hypotheses != OF_EXACT_SUMS
    right = memorized if memorized.all() else _in_real_arithmetic(model, contexts, progress) == labels
    spoken = windows.text[places] != windows.end

    in_runs, in_reals = memorized[at] & same, right[at] & same

    def said(good: BoolArray) -> int:
        return int(spoken.sum()) if good.all() else int(spoken[: int((~good).argmax())].sum())

    by = "runs" if in_runs.all() else "reals" if in_reals.all() else ""
    said_now = _recitation(task, parts, begins, said(in_runs), said(in_reals), by, dtype)
    return replace(said_now, prover_alone=prover_alone)


def _in_real_arithmetic(model: Model, contexts: Int64Array, progress: Progress) -> Int64Array:
    """Return the index of the largest logit of each context, -1 if undecided; integers are tried first."""
    places, step = np.full(len(contexts), -1), max(1, _DECIDED // contexts.shape[1])
    for part in known_logits(model, contexts, InReals()):
        best, lead = leads(part.logits)
        places[part.contexts] = np.where(lead > 0.0, best, -1)[part.which]
    left = np.flatnonzero(places < 0)
    for start in range(0, len(left), step):
        progress("windows", start / len(left), f"in real arithmetic, {start} of {len(left)} windows")
        some = left[start : start + step]
        places[some] = decide_argmax(model, contexts[some]).place
    return places


def _recitation(
    task: Task, parts: list[slice], begins: str, proved: int, exact: int, by: str, dtype: str
) -> Recitation:
    windows, names = task.windows, task.vocabulary
    assert windows is not None
    pieces = tuple(tuple(names[t] for t in windows.text[part.start : part.stop - 1].tolist()) for part in parts)
    unit = "byte" if unit_of(task) == "byte" else "character"
    return Recitation(begins, pieces, proved, exact, by, dtype, unit, in_parts(task))


def _loaded(folder: Path | str) -> tuple[Model, Task]:
    model, task = load_subject(Path(folder), Certificate.load(Path(folder)))
    facts = task.facts
    if facts is None or facts.windows is None:
        raise InputError(folder, "holds no memorized text", "a folder that `byheart memorize` wrote of a whole text")
    return model, facts


def _places(task: Task, title: str | None, start: str | None) -> tuple[list[slice], str]:
    """Return the requested parts of the text, each up to its end, and what precedes them."""
    windows, known = task.windows, titles(task)
    assert windows is not None
    chosen = range(len(windows.titles))
    if title is not None:
        if title not in known:
            near = f"one of {', '.join(known[:8])}{', ...' if len(known) > 8 else ''}" if known else "none"
            raise InputError("title", f"is {title!r}, and no text has it", near)
        chosen = [known.index(title)]
    parts = [windows.of_text(number) for number in chosen]
    if start is None:
        return parts, ""
    wanted = np.array(pieces_of(start, task), dtype=np.int64)
    if in_parts(task) and title is None:  # what is given may go from one part to the next
        spoken = np.flatnonzero(windows.text != windows.end)
        if (at := _found(np.append(windows.text[spoken], windows.end), wanted)) is not None:
            place = int(spoken[at]) if at < len(spoken) else len(windows.text) - 1
            return [slice(max(part.start, place), part.stop) for part in parts if part.stop > place], start
    for part in parts:
        if (at := _found(windows.text[part], wanted)) is not None:
            return [slice(part.start + at, part.stop)], start
    raise InputError("start", f"is {start[-60:]!r}", "a part of the text")


def _found(text: Int64Array, wanted: Int64Array) -> int | None:
    """Return the place after the first occurrence of some tokens."""
    if not 0 < len(wanted) < len(text):
        return None
    at = np.flatnonzero((np.lib.stride_tricks.sliding_window_view(text, len(wanted)) == wanted).all(axis=1))
    return int(at[0]) + len(wanted) if len(at) else None


def decoded(
    folder: Path | str, title: str | None = None, *, start: str | None = None, dtype: str = "float32"
) -> Iterator[str]:
    """Yield the tokens of one greedy run in torch, each text up to the end mark that it emits.

    Args:
        folder: The folder.
        title: As `recite`.
        start: As `recite`.
        dtype: The type of the run.

    Returns:
        Iterator of tokens.

    Raises:
        InputError: As `recite`.
        FileFormatError: As `recite`.
    """
    import torch

    module = required_plug_in("verify.torch.module")
    model, task = _loaded(folder)
    windows = task.windows
    assert windows is not None
    replica = module.Replica.from_model(model, dtype=getattr(torch, dtype))
    with torch.inference_mode(), module.full_precision():
        for part in _places(task, title, start)[0]:
            last = task.contexts[windows.place[part.start]].tolist()
            for _ in range(part.start, part.stop):
                token = int(replica(torch.tensor([last]))[0].argmax())
                if token == windows.end:
                    break
                yield task.vocabulary[token]
                last = [*last[:1], *last[2:], token] if windows.titled else [*last[1:], token]
