"""Facts as people have them, in the numbers of the tokens of a model: tables, rows, arrays, stored tasks.

Page: docs/hosts.md
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from byheart.hosts.export import ANSWERS_FILE, TOKENIZER_FILE
from byheart.hosts.host import CONFIG_FILE
from constructions.arrays import Int64Array
from constructions.errors import FileFormatError, InputError
from constructions.models.model import Model
from constructions.tasks.arrays import array_task, read_arrays
from constructions.tasks.table import facts_task, read_table, sniffed_task
from constructions.tasks.task import Task
from constructions.tasks.vectors import VectorTask, load_task
from verify.certificates.certificate import TASK_FILE


def read_facts(
    path: Path,
    model: Model,
    folder: Path | None = None,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    weights: bool | None = None,
) -> Task | VectorTask:
    """The facts of a file, in the numbers of the tokens of a model.

    - ``task.safetensors`` of a folder of ours;
    - an ``.npz`` of arrays: `contexts`, and `next_tokens` or `laws`; labels unless there are laws;
    - every other file is a table, read as `byheart.memorize` reads one: context tokens ..., next token[, weight]. A
      cell is a token of the ``tokenizer.json`` (or ``task.safetensors``) beside the model, or ``#`` and its number, or
      where every cell is one the number alone; what follows is one of the ``answers.json`` beside it, if there is one.

    A model that reads and writes different numbers of tokens has a vocabulary of each.

    Args:
        path: The file.
        model: The model, for the number of its tokens.
        folder: Where the model lies.
        delimiter: As for `certify`.
        header: As for `certify`.
        weights: As for `certify`.

    Raises:
        FileFormatError: The file is missing or holds something else.
        InputError: A cell that is no token, or a form of a table for arrays.
    """
    form = {"delimiter": delimiter, "header": header, "weights": weights}
    suffix = path.suffix.lower()
    if suffix not in (".npz", ".safetensors"):
        return _tabled(path, model, folder, form)
    if said := [name for name, value in form.items() if value is not None]:
        raise InputError(said[0], f"= {form[said[0]]!r} is given, but {path} holds arrays")
    if suffix == ".safetensors":
        return load_task(path)
    arrays = read_arrays(path)
    target = "laws" if "laws" in arrays else "labels"
    return array_task(**{**_sizes(model), **arrays}, target=target)


def _sizes(model: Model) -> dict[str, Any]:
    if model.d_vocab in (0, model.d_vocab_out):
        return {"vocabulary": model.d_vocab_out}
    return {"vocabulary": model.d_vocab, "answers": model.d_vocab_out}


def facts_of_rows(rows: Any, model: Model, folder: Path | None) -> Task:
    """Rows of cells, the last of which follows the others, in the numbers of the tokens of a model."""
    given = rows.itertuples(index=False, name=None) if hasattr(rows, "itertuples") else rows
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise InputError("task", f"is {type(rows).__name__}", "a task, a file, rows of cells or a data frame")
    cells = [tuple(map(str, row)) for row in given]
    return _in_numbers("task", facts_task(cells), model, folder)


def _tabled(path: Path, model: Model, folder: Path | None, form: Mapping[str, Any]) -> Task:
    found, _ = sniffed_task(read_table(path), **form)
    return _in_numbers(str(path), found, model, folder)


def _in_numbers(path: str, found: Task, model: Model, folder: Path | None) -> Task:
    """The task in the numbers of the tokens of a model: by the names beside it, or as they stand there."""
    beside = None if folder is None else folder if folder.is_dir() else folder.parent
    vocabulary, answers = _stored_names(beside, TOKENIZER_FILE), _stored_names(beside, ANSWERS_FILE)
    if not vocabulary and beside is not None and (beside / TASK_FILE).is_file():
        vocabulary, answers = _names_of_task(beside / TASK_FILE)
    sizes = _sizes(model)
    tokens, following = _numbered(
        path, (found.vocabulary, vocabulary, TOKENIZER_FILE),
        (found.answers, answers or vocabulary, ANSWERS_FILE if answers else TOKENIZER_FILE),
    )  # fmt: skip
    if answers:
        _require_columns(beside, vocabulary, answers)
        sizes = {"vocabulary": model.d_vocab, "answers": tuple(answers)}
    names = sorted((number, name) for name, number in vocabulary.items() if number < sizes["vocabulary"])
    if [number for number, _ in names] == list(range(sizes["vocabulary"])):
        sizes["vocabulary"] = tuple(name for _, name in names)
    return array_task(tokens[found.contexts], next_tokens=following[found.labels], target="labels", **sizes)


def _names_of_task(path: Path) -> tuple[dict[str, int], dict[str, int]]:
    """The numbers of what is read and, where apart, of what is answered, in a folder that `memorize` wrote."""
    stored = load_task(path)
    if not isinstance(stored, Task):
        return {}, {}
    names = ({name: i for i, name in enumerate(each)} for each in (stored.vocabulary, stored.answers))
    vocabulary, answers = names
    return vocabulary, answers if stored.apart else {}


def _require_columns(folder: Path | None, vocabulary: Mapping[str, int], answers: Mapping[str, int]) -> None:
    """Refuse names of columns that are not those of the tokens which the configuration gives the columns to."""
    if folder is None or not (folder / CONFIG_FILE).is_file():
        return
    try:
        placed = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8")).get("answers")
    except (OSError, ValueError, AttributeError) as error:
        raise FileFormatError(f"{folder / CONFIG_FILE} is no configuration: {error}") from error
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
    """The numbers of the texts of a tokenizer, or of a list of answers, beside a model; none where there is none."""
    if folder is None or not (folder / file).is_file():
        return {}
    try:
        found = json.loads((folder / file).read_text(encoding="utf-8"))
        names = {name: i for i, name in enumerate(found)} if file == ANSWERS_FILE else found["model"]["vocab"]
        texts = all(isinstance(name, str) and type(number) is int for name, number in names.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileFormatError(f"{folder / file} has no vocabulary of tokens: {error}") from error
    if not texts or (file == ANSWERS_FILE and not (isinstance(found, list) and 0 < len(names) == len(found))):
        raise FileFormatError(f"{folder / file} has no vocabulary of tokens, expected texts, each once")
    return names


def _numbered(path: str, *columns: tuple[tuple[str, ...], Mapping[str, int], str]) -> list[Int64Array]:
    """The numbers of the cells of contexts and of what follows, each with the names that there are and their file.

    A cell is a name, or ``#`` and a number. A number alone is that of a token only where all cells are such and none is
    a name: a year that is no token must not become one.
    """
    alone = all(_is_number(cell) and cell not in names for cells, names, _ in columns for cell in cells)
    found: list[Int64Array] = []
    for cells, names, file in columns:
        numbers = []
        for cell in cells:
            written = cell.removeprefix("#")
            if cell not in names and not (_is_number(written) and (alone or written != cell)):
                where = f"a token of {file} beside the model" if names else "the number of a token"
                number = f"; #{cell} is the token of that number" if _is_number(cell) else ""
                raise InputError(path, f"has the cell {cell!r}", f"{where}{number}")
            numbers.append(names[cell] if cell in names else int(written))
        found.append(np.array(numbers, dtype=np.int64))
    return found


def _is_number(cell: str) -> bool:
    return cell.isascii() and cell.isdigit()
