"""Facts as people have them, in the numbers of the tokens of a model: tables, rows, arrays, stored tasks.

Page: docs/hosts.md
"""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from byheart.hosts.facts.host_tokenizer import (
    TOKENIZER_CONFIG_FILE,
    HostTokenizer,
    asked_tokenizer,
    host_tokenizer,
    token_number,
)
from byheart.hosts.facts.prompt_texts import Vocabularies, cutting_tokenizer, prompts_of_texts
from byheart.hosts.host import CONFIG_FILE
from byheart.hosts.tokenizer import ANSWERS_FILE, TOKENIZER_FILE
from byheart.rows import cell_text, is_in_json, rows_of, rows_of_json, say_weights
from constructions.counted import counted
from constructions.errors import FileFormatError, InputError, require_one_of
from constructions.tasks.any_task import AnyTask
from constructions.tasks.arrays import array_task, read_arrays
from constructions.tasks.prompts import PromptTask
from constructions.tasks.table import facts_task, named_delimiter, ragged_rows, read_table, table_facts
from constructions.tasks.task import Task
from constructions.tasks.vectors import load_task
from verify.certificates.certificate import TASK_FILE


@dataclass(frozen=True)
class Reading:
    """The options for reading facts.

    Args:
        delimiter: The separator of the cells of a table; detected by default.
        header: Whether the first row of a table holds names; detected by default.
        weights: Whether the last column of a table holds weights; has to be said where it is called ``weight``.
        tokenizer: What cuts texts: a `tokenizers.Tokenizer`, an object of transformers that has one, a file
            ``tokenizer.json`` or its folder; by default the one next to the model.
        between: Text to put between a prompt and its answer where neither brings white space there.
        cells: ``"tokens"`` or ``"texts"``; by default texts where the tokenizer cuts words into pieces.
        prepends_bos: Whether the token of a beginning stands first in every text, as configurations of TransformerLens
            say; by default as the tokenizer has it.
        ask_host: Whether the library that people load the model with is asked how it cuts texts.
    """

    delimiter: str | None = None
    header: bool | None = None
    weights: bool | None = None
    tokenizer: Any = None
    between: str = " "
    cells: str | None = None
    prepends_bos: bool | None = None
    ask_host: bool = True

    def __post_init__(self) -> None:
        require_one_of((None, "tokens", "texts"), cells=self.cells)

    @property
    def form(self) -> dict[str, Any]:
        """Form of the table, as given."""
        return {name: getattr(self, name) for name in ("delimiter", "header", "weights")}


_BETWEEN = (" ", ", ", "; ", "|", "\t", "\n", "")  # what stands between cells that are typed
_PROMPTS_CUT = 64  # whose texts are cut, where cells are names of tokens

_OLD_TOKENIZERS = ("vocab.json", "merges.txt", "vocab.txt", "tokenizer.model", "spiece.model")

Rows = list[tuple[tuple[str, ...], tuple[str, ...]]]
"""The cells of a prompt and those of its answer, of each fact."""


def read_facts(
    path: Path, model: Vocabularies, folder: Path | None = None, how: Reading | None = None
) -> tuple[AnyTask, str, str]:
    """Return the facts of a file, in the numbers of the tokens of a model.

    - ``task.safetensors`` of a folder of ours;
    - an ``.npz`` of arrays: `contexts`, and `next_tokens` or `distributions`; labels unless there are distributions;
    - ``.json`` of rows, records or a mapping, and ``.jsonl`` of a row or record on each line, as `facts_of_rows`;
    - every other file is a table, where the last cell of a row, before its weight if there are weights, follows the
      others. With a tokenizer that cuts words into pieces (BPE, Unigram, WordPiece) cells are texts, a prompt and the
      answer (`byheart.hosts.facts.prompt_texts`). Otherwise a cell is a token of the ``tokenizer.json`` (or
      ``task.safetensors``) next to the model, or ``#`` and its number, or where every cell is one the number alone, or
      several of these with spaces between; what follows is one of the ``answers.json`` next to it, if the model answers
      those. Rows may be of several lengths.

    A model that reads and writes different numbers of tokens has a vocabulary of each.

    Args:
        path: The file.
        model: The model, for the number of its tokens.
        folder: The folder of the model.
        how: How the file is read.

    Returns:
        The task; how the file was read, where something of that was found out; and what of it belongs into the first
        line.

    Raises:
        FileFormatError: The file is missing or holds something else.
        InputError: A cell that is not a token, or a form of a table for arrays.
    """
    how, suffix = how or Reading(), path.suffix.lower()
    if suffix in (".npz", ".safetensors"):
        if form_options := [name for name, value in how.form.items() if value is not None]:
            raise InputError(form_options[0], f"= {how.form[form_options[0]]!r} is given, but {path} holds arrays")
        if suffix == ".safetensors":
            return load_task(path), "", ""
        arrays = read_arrays(path)
        target = "distributions" if "distributions" in arrays else "labels"
        return array_task(**{**_sizes(model), **arrays}, target=target), "", ""
    if is_in_json(path):
        return facts_of_rows(rows_of_json(path), model, folder, how)
    table, names = read_table(path), _Names.beside(model, folder, how)
    delimiter = named_delimiter(path) if how.delimiter is None else how.delimiter
    told: dict[str, Any] = how.form | {"delimiter": delimiter}
    ragged = None if how.weights or names.cuts else ragged_rows(table, **told)
    if ragged is None:
        facts, form = table_facts(table, **told)
        rows, outweighed = _rows_of(facts, heaviest=form.weights)
    else:
        cells, form = ragged
        rows = [(row[:-1], row[-1:]) for row in cells]
        outweighed = ""
    task, cut, aside = _in_numbers(str(path), rows, model, names, how)
    found_out = form.described() if form.header and how.header is None else ""
    return task, "; ".join(filter(None, [found_out, outweighed, cut])), aside


def facts_of_rows(rows: Any, model: Vocabularies, folder: Path | None, how: Reading) -> tuple[AnyTask, str, str]:
    """Return facts from rows of cells whose last one is the answer, or from prompts with their answers, like
    `read_facts`.

    Args:
        rows: A list, records, a data frame, or a mapping from prompts to answers. A prompt and an answer may be lists
            of numbers of tokens, or of their names.
        model: The model, for the number of its tokens.
        folder: Its folder.
        how: How the cells are read.

    Raises:
        InputError: Other rows, or a cell that is not a token.
    """
    if form_options := [name for name in ("delimiter", "header") if how.form[name] is not None]:
        raise InputError(
            form_options[0], f"= {how.form[form_options[0]]!r} is given, but only a table in a file has such"
        )
    row_cells, weighted = rows_of(rows), say_weights(rows, how.weights)
    if not row_cells:
        raise InputError("rows", "is empty", "at least one fact")
    names, outweighed = _Names.beside(model, folder, how), ""
    read: Rows = []
    for number, row in enumerate(row_cells):
        if len(row) < 2 or "" in [cell for cell in row if isinstance(cell, str)]:
            raise InputError(f"facts: row {number}", f"is {row!r}", "the cells of a prompt, and what follows")
        if any(_is_list(cell) for cell in row):
            if len(row) != 2 or weighted:
                raise InputError(f"facts: row {number}", f"has {len(row)} entries", "the prompt and the answer")
            prompt, form_options = (tuple(cell) if _is_list(cell) else (cell,) for cell in row)
            read.append((tuple(map(_listed, prompt)), tuple(map(_listed, form_options))))
        else:
            cells = tuple(cell_text(cell, place=f"row {number}") for cell in row)
            read.append((cells[:-1], cells[-1:]))
    if weighted:
        read, outweighed = _rows_of(
            facts_task([(*prompt, *form_options) for prompt, form_options in read], weights=True), heaviest=True
        )
    if any(_is_list(cell) for row in row_cells for cell in row):
        names = _Names.beside(model, folder, replace(how, cells="tokens"))
    task, form_options, aside = _in_numbers("task", read, model, names, how)
    return task, "; ".join(filter(None, [outweighed, form_options])), aside


def _is_list(cell: Any) -> bool:
    return isinstance(cell, list | tuple | np.ndarray)


def _listed(cell: Any) -> str:
    """Format a token in a list: its name, or `#` and its number."""
    if not isinstance(cell, str | int | np.integer) or isinstance(cell, bool):
        raise InputError("facts", f"have the token {cell!r} in a list", "a number or a name")
    return cell if isinstance(cell, str) else f"#{cell}"


def _rows_of(task: Task, *, heaviest: bool) -> tuple[Rows, str]:
    """Return the facts of a table as its cells, with every answer to a context or the heaviest one; and the omitted
    rows.
    """
    rows: Rows = []
    for i, context in enumerate(task.contexts.tolist()):
        answers_seen = task.counts.indices[task.counts.indptr[i] : task.counts.indptr[i + 1]]
        cells = tuple(task.vocabulary[token] for token in context)
        rows.extend((cells, (task.answers[one],)) for one in ([task.labels[i]] if heaviest else answers_seen))
    left = len(task.counts.indices) - len(rows)
    return rows, f"{counted(left, 'answer')} left out, outweighed by another to the same prompt" if left else ""


def _sizes(model: Vocabularies) -> dict[str, Any]:
    if model.d_vocab in (0, model.d_vocab_out):
        return {"vocabulary": model.d_vocab_out}
    return {"vocabulary": model.d_vocab, "answers": model.d_vocab_out}


@dataclass(frozen=True)
class _Names:
    """The files next to a model: token and answer numbers by name, and the tokenizer.

    Args:
        folder: The folder that has it.
        vocabulary: What is read; empty where nothing says so.
        answers: What is answered, where that is something else.
        tokenizer: The tokenizer that cuts texts into the vocabulary's pieces, where cells are texts.
    """

    folder: Path | None
    vocabulary: Mapping[str, int]
    answers: Mapping[str, int]
    tokenizer: Any = None

    @property
    def cuts(self) -> bool:
        """Whether the tokenizer splits cells as texts."""
        return self.tokenizer is not None

    @classmethod
    def beside(cls, model: Vocabularies, folder: Path | None, how: Reading) -> "_Names":
        """Return the names in the files next to a model, or in the given tokenizer."""
        beside = None if folder is None else folder if folder.is_dir() else folder.parent
        if how.cells != "tokens" and (cutting := cutting_tokenizer(how.tokenizer, beside, wanted=how.cells == "texts")):
            return cls(beside, {}, {}, cutting)
        vocabulary, answers = _stored_names(beside, TOKENIZER_FILE), _stored_names(beside, ANSWERS_FILE)
        if not vocabulary and beside is not None and (beside / TASK_FILE).is_file():
            vocabulary, answers = _names_of_task(beside / TASK_FILE)
        # In one vocabulary, as GPT-2 has it, each token of the tokenizer has an output, and answers are tokens.
        if len(answers) < len(vocabulary) == model.d_vocab == model.d_vocab_out and set(answers) <= set(vocabulary):
            answers = {}
        return cls(beside, vocabulary, answers)


def _in_numbers(place: str, rows: Rows, model: Vocabularies, names: _Names, how: Reading) -> tuple[AnyTask, str, str]:
    """Return the task in the token numbers of a model, by the names next to it or as given."""
    if names.cuts:
        host, unasked = host_tokenizer(how.tokenizer, names.folder, names.tokenizer, ask=how.ask_host)
        begins = None if how.prepends_bos is None else _beginning(names, prepends=how.prepends_bos)
        task, answer_names, aside = prompts_of_texts(
            place, rows, model, names.tokenizer, between=how.between, host=host, begins=begins
        )
        return task, answer_names, "; ".join(filter(None, [aside, unasked]))
    vocabulary, answers, sizes = names.vocabulary, names.answers, _sizes(model)
    read = tuple(dict.fromkeys(cell for cells, _ in rows for cell in cells))
    answer_names = tuple(dict.fromkeys(cell for _, cells in rows for cell in cells))
    tokens, following = _numbered(
        place, _hint(names.folder), (read, vocabulary, TOKENIZER_FILE),
        (answer_names, answers or vocabulary, ANSWERS_FILE if answers else TOKENIZER_FILE),
    )  # fmt: skip
    if answers:
        _require_columns(names.folder, vocabulary, answers)
        sizes = {"vocabulary": model.d_vocab, "answers": tuple(answers)}
    known = sorted((number, name) for name, number in vocabulary.items() if number < sizes["vocabulary"])
    if [number for number, _ in known] == list(range(sizes["vocabulary"])):
        sizes["vocabulary"] = tuple(name for _, name in known)
    prompts = [tuple(token for cell in cells for token in tokens[cell]) for cells, _ in rows]
    answered = [tuple(token for cell in cells for token in following[cell]) for _, cells in rows]
    aside = _cut_otherwise(names.folder, how, zip((cells for cells, _ in rows), prompts, strict=True))
    first: dict[tuple[int, ...], int] = {}
    for i, (prompt, one) in enumerate(zip(prompts, answered, strict=True)):
        if answered[other := first.setdefault(prompt, i)] != one:
            both = " and ".join(" -> ".join(map(" ".join, rows[row_number])) for row_number in (other, i))
            raise InputError(place, f"has {both}, which contradict each other", "one answer to each prompt")
    if len(set(map(len, prompts))) == 1 and set(map(len, answered)) == {1}:
        labels = np.array([one for (one,) in answered], dtype=np.int64)
        return array_task(np.array(prompts, dtype=np.int64), next_tokens=labels, target="labels", **sizes), "", aside
    texts = [(" ".join(cells), " ".join(last)) for cells, last in rows]
    different = dict.fromkeys(zip(prompts, answered, texts, strict=True))
    pairs = {(prompt, answer_names): text for prompt, answer_names, text in different}
    size = {name: tuple(map(str, range(n))) if isinstance(n, int) else n for name, n in sizes.items()}
    task = PromptTask(
        size["vocabulary"], tuple(prompt for prompt, _ in pairs), tuple(answer_names for _, answer_names in pairs),
        tuple(pairs.values()), size.get("answers", ()),
    )  # fmt: skip
    return task, task.described(), aside


def _cut_otherwise(folder: Path | None, how: Reading, prompts: Iterable[tuple[Sequence[str], tuple[int, ...]]]) -> str:
    """Return a note for the first line if the library that people use splits a prompt into other tokens.

    A prompt of several tokens is typed with spaces between them, or as a row of a table; numbers
    of tokens are no text.
    """
    if folder is None or how.tokenizer is not None or not how.ask_host or not (folder / TOKENIZER_FILE).is_file():
        return ""
    host = asked_tokenizer(folder)
    if isinstance(host, str):
        return ""
    for cells, tokens in itertools.islice(prompts, _PROMPTS_CUT):
        if any(cell.startswith("#") or _is_number(cell) for cell in cells):
            continue
        if not any(_cuts(host, between.join(cells), tokens) for between in _BETWEEN):
            return f"tokens by their names in {TOKENIZER_FILE}: {host.name} cuts {' '.join(cells)!r} otherwise"
    return ""


def _cuts(host: HostTokenizer, text: str, tokens: tuple[int, ...]) -> bool:
    """Tell whether a tokenizer splits a text into these tokens, with or without its first and last special tokens."""
    try:
        return list(tokens) in host.encode(text)
    except Exception:  # whatever the tokenizer of somebody else raises
        return False


def _beginning(names: _Names, *, prepends: bool) -> tuple[int, ...]:
    """Return the token that TransformerLens puts first in every text, or None.

    Raises:
        InputError: Nothing says which token that is.
    """
    if not prepends:
        return ()
    number = token_number(names.folder, names.tokenizer, "bos_token", "eos_token")
    if number is None:
        raise InputError(
            "default_prepend_bos", "is true, as where a configuration of TransformerLens does not say otherwise, and "
            f"no bos_token in {TOKENIZER_CONFIG_FILE} next to the model says which token comes first",
            "that file, or false in the configuration",
        )  # fmt: skip
    return (number,)


def _names_of_task(path: Path) -> tuple[dict[str, int], dict[str, int]]:
    """Return the token numbers, and separate answer numbers if any, from a folder written by `memorize`."""
    stored = load_task(path).facts
    if stored is None:
        return {}, {}
    names = ({name: i for i, name in enumerate(texts)} for texts in (stored.vocabulary, stored.answers))
    vocabulary, answers = names
    return vocabulary, answers if stored.apart else {}


def _require_columns(folder: Path | None, vocabulary: Mapping[str, int], answers: Mapping[str, int]) -> None:
    """Refuse column names other than those in the configuration."""
    if folder is None or not (folder / CONFIG_FILE).is_file():
        return
    try:
        placed = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8")).get("answers")
    except (OSError, ValueError, AttributeError) as error:
        raise FileFormatError(f"{folder / CONFIG_FILE} is not a configuration: {error}") from error
    if placed is None:
        return
    if not isinstance(placed, list) or len(placed) != len(answers):
        raise InputError(CONFIG_FILE, f"has the answers {placed!r}", f"a token for each of the {len(answers)}")
    for name, column in answers.items():
        if vocabulary.get(name) != placed[column]:
            raise InputError(
                ANSWERS_FILE,
                f"calls column {column} {name!r}, but {CONFIG_FILE} gives it to token {placed[column]}",
                f"{vocabulary.get(name)}, its number in {TOKENIZER_FILE}",
            )


def _stored_names(folder: Path | None, file: str) -> dict[str, int]:
    """Return the token numbers from a tokenizer, or from a list of answers, next to a model; None if there is none."""
    if folder is None or not (folder / file).is_file():
        return {}
    try:
        content = json.loads((folder / file).read_text(encoding="utf-8"))
        names = {name: i for i, name in enumerate(content)} if file == ANSWERS_FILE else content["model"]["vocab"]
        texts = all(isinstance(name, str) and type(number) is int for name, number in names.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileFormatError(f"{folder / file} has no vocabulary of tokens: {error}") from error
    if not texts or (file == ANSWERS_FILE and not (isinstance(content, list) and 0 < len(names) == len(content))):
        raise FileFormatError(f"{folder / file} has no vocabulary of tokens, expected texts, each once")
    return names


def _hint(folder: Path | None) -> str:
    """Name the tokenizer files next to a model that byheart cannot read."""
    if folder is None or (folder / TOKENIZER_FILE).is_file():
        return ""
    old = next((name for name in _OLD_TOKENIZERS if (folder / name).is_file()), "")
    return (
        f"; to cut texts, a {TOKENIZER_FILE} beside the model instead of {old} (save_pretrained writes it)"
        if old
        else ""
    )


def _numbered(
    path: str, hint_of_folder: str, *columns: tuple[tuple[str, ...], Mapping[str, int], str]
) -> list[dict[str, list[int]]]:
    """Return the token numbers of each cell, of contexts and answers, each with its names and their file.

    A cell is a name, or ``#`` and a number, or several of them with spaces between. A number alone is that of a token
    only where all cells are such and none is a name: a year that is not a token must not become one.
    """
    parts = [(cell if cell in names else piece, names) for cells, names, _ in columns for cell in cells
             for piece in (cell.split() or [cell])]  # fmt: skip
    alone = all(_is_number(piece) and piece not in names for piece, names in parts)

    def number(piece: str, names: Mapping[str, int]) -> int | None:
        written = piece.removeprefix("#")
        if piece in names:
            return names[piece]
        return int(written) if _is_number(written) and (alone or written != piece) else None

    numbered: list[dict[str, list[int]]] = []
    for cells, names, file in columns:
        numbers: dict[str, list[int]] = {}
        for cell in cells:
            whole = number(cell, names)
            whole = number(cell.strip(), names) if whole is None else whole  # spaces stand around cells of tables
            pieces = [number(piece, names) for piece in cell.split()] if whole is None else [whole]
            if not pieces or None in pieces:
                where = f"a token of {file} beside the model" if names else "the number of a token"
                hint = f"; #{cell} is the token of that number" if _is_number(cell) else ""
                raise InputError(path, f"has the cell {cell!r}", f"{where}{hint}{hint_of_folder}")
            numbers[cell] = [piece for piece in pieces if piece is not None]
        numbered.append(numbers)
    return numbered


def _is_number(cell: str) -> bool:
    return cell.isascii() and cell.isdigit()
