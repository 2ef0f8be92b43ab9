"""Whatever a user gives, a path, a text, a table, pairs, arrays, becomes a task; and is memorized.

Page: docs/library.md
"""

import difflib
import inspect
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypedDict, Unpack

from byheart.bars import shown
from byheart.jobs.memorize import hold
from byheart.memory import CertifiedMemory
from byheart.reciting import whole_text
from byheart.rows import (
    JSON_FILES,
    TABLE_FILES,
    Frame,
    Series,
    cell_text,
    holds_json,
    is_in_json,
    rows_of,
    rows_of_json,
    say_weights,
)
from constructions.counted import counted, inflected
from constructions.errors import FileFormatError, InputError
from constructions.model.precision import Precision
from constructions.progress import Progress
from constructions.tasks.any_task import AnyTask
from constructions.tasks.arrays import array_task, read_arrays
from constructions.tasks.recitation import in_parts
from constructions.tasks.table import (
    DELIMITERS,
    facts_task,
    looks_like_a_table,
    named_delimiter,
    read_table,
    table_facts,
    texts_of_table,
)
from constructions.tasks.task import Target, Task
from constructions.tasks.text import (
    BYTE_ORDER_MARK,
    UNIT_NAMES,
    Unit,
    default_text,
    default_texts,
    read_bytes,
    read_text,
    text_task,
    units,
)
from constructions.tasks.vocabulary import OTHER

DEFAULT_CONTEXT = 4
DEFAULT_FACTS = 1024

_TEXTS = (".txt", ".md", ".rst")
_FILES = (*TABLE_FILES, ".txt", ".md", ".npz")
_NAMED = 8  # other files of a folder
_LIKE_A_PATH = re.compile(r"\S*[^\s.]\.[A-Za-z]\w{0,4}|(~|\.{0,2})/\S+|[A-Za-z]:\\\S+")

Facts = AnyTask | Path | str | bytes | Mapping[Any, Any] | Iterable[Iterable[Any]] | Frame | Series
"""What holds facts: see `read_facts`."""


@dataclass(frozen=True)
class Given:
    """A task, and how what was given was read.

    Args:
        task: The task.
        source: What it was made from, in a few words.
        reading: How it was read, in a sentence.
        left_out: What was left out, where something was.
    """

    task: AnyTask
    source: str
    reading: str
    left_out: str = ""

    @property
    def said(self) -> str:
        """How it was read, with the first facts."""
        facts = self.task.facts
        if facts is not None and facts.windows is not None:
            return self.reading
        return f"{self.reading}. Facts: {self.task.echo()}"

    @property
    def facts(self) -> Task:
        """The contexts as one list of tokens.

        Raises:
            InputError: They are none.
        """
        if self.task.facts is None:
            raise InputError(
                "task", "brings vectors, or contexts of several lengths", "contexts of tokens of one length"
            )
        return self.task.facts


class Options(TypedDict, total=False):
    """What `memorize` may be told: how `read_facts` reads, and what `byheart.jobs.memorize.hold` builds."""

    table: bool | None
    delimiter: str | None
    header: bool | None
    weights: bool | None
    skip_empty: bool
    unit: Unit | None
    vocabulary: int | None
    context: int | None
    target: Target | None
    facts_at_most: int | None
    mass: Fraction | float | None
    whole: bool | None
    memory: str | None
    dtype: Precision | None
    attention_only: bool
    layers: int | None
    d_model: int | None
    d_head: int | None
    n_heads: int | None
    front_end: str
    tolerance: float
    quick: bool
    seed: int
    device: str


def memorize(
    facts: Facts | None = None,
    *,
    out: Path | str | None = None,
    overwrite: bool = False,
    progress: Progress | bool | None = None,
    **options: Unpack[Options],
) -> CertifiedMemory:
    """Build weights that hold facts, and prove that they do.

    Args:
        facts: As for `read_facts`.
        out: A folder to write, too.
        overwrite: Replace a folder that byheart wrote.
        progress: Whether to show bars, by default in a notebook alone; or what is called with each stage.
        options: Those of `read_facts` (`context`, `whole`, `header`, ...), and of `byheart.jobs.memorize.hold`
            (`memory`, `dtype`, `quick`, `seed`, ...).

    Returns:
        The model with its certificate; `ask` it, `save` it.

    Raises:
        InputError: What is given holds no facts, or an option is unknown or out of range.
        CapacityError: Too few heads; says how many suffice.
        ResourceError: The work would not fit into memory.

    Example:
        >>> memory = memorize({("France", "capital"): "Paris", ("France", "river"): "Seine"})
        >>> memory.certificate.verdict.value, memory["France", "river"]
        ('PROVED', 'Seine')
    """
    given: dict[str, Any] = dict(options)
    if unknown := sorted(set(given) - set(Options.__annotations__)):
        near = difflib.get_close_matches(unknown[0], Options.__annotations__, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InputError(unknown[0], f"is not an option of memorize{hint}")
    if given.get("whole") is None:
        given["whole"] = learns_whole(facts, given)
    read = read_facts(facts, **{name: given.pop(name) for name in _READING & set(given)})
    with shown(progress) as show:
        memory = hold(read.task, source=read.source, reading=read.said, left_out=read.left_out, progress=show, **given)
    if out is not None:
        memory.save(out, overwrite=overwrite)
    return memory


def learns_whole(facts: Any, options: Mapping[str, Any]) -> bool:
    """Whether `memorize` learns what is given whole: a text, of which nothing says that frequent contexts are meant.

    Args:
        facts: As for `read_facts`.
        options: Those of `memorize`.

    Example:
        >>> learns_whole("so much depends", {}), learns_whole("so much depends", {"facts_at_most": 5})
        (True, False)
    """
    path = _path(facts)
    if path is None:
        of_text = facts is None or isinstance(facts, str | bytes)
    else:
        of_table = (
            options.get("table")
            or path.suffix.lower() in (*TABLE_FILES, ".npz")
            or _is_in_json(path, options, table=None)
        )
        of_text = path.is_dir() or not of_table or (options.get("table") is None and _holds_texts(path))
    given = [options.get(name) for name in _OF_FREQUENT_CONTEXTS]  # 0 is given, and refused later
    return of_text and all(value is None or value is False for value in given)


def read_facts(
    facts: Facts | None = None,
    *,
    table: bool | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    weights: bool | None = None,
    skip_empty: bool = False,
    unit: Unit | None = None,
    vocabulary: int | None = None,
    context: int | None = None,
    target: Target | None = None,
    facts_at_most: int | None = None,
    mass: Fraction | float | None = None,
    whole: bool = False,
) -> Given:
    r"""Make a task of whatever holds facts.

    - A path: ``.csv`` and ``.tsv`` are tables, and ``.json`` and ``.jsonl`` unless `unit` says that they are texts;
      ``.npz`` holds arrays, a folder holds texts, anything else is a text.
    - A string that names such a file, or is the text itself; bytes are a text of bytes.
    - A mapping from contexts (a string, or a tuple of strings) to what follows.
    - Rows of cells, the last of which follows the others; or a data frame, row by row, whose index comes first where
      somebody has set it; or a series, whose index is the context.
    - A task of whatever kind, such as one of your own (`constructions.tasks.any_task.Encoded`).
    - Nothing: Python's own reference text.

    Args:
        facts: What is given.
        table: Read the file as a table, or as a text, whatever it is called.
        delimiter: What separates the cells of a table; by default found out, and asked for where there are two ways to
            read the table (`constructions.tasks.table.table_form`).
        header: Whether the first row holds names; likewise.
        weights: Whether the last column holds weights; has to be said where it is called ``weight``.
        skip_empty: Leave rows of a table out that have an empty cell.
        unit: What a token of a text is; ``"char"`` by default.
        vocabulary: Tokens that are kept of a text, the most frequent ones.
        context: Tokens in a context of a text; 4 by default.
        target: ``"distributions"`` (default for texts and arrays) or ``"labels"`` (default for tables and pairs).
        facts_at_most: How many contexts to memorize, the most frequent first; of a text at most 1024 by default.
        mass: Instead, the share of all occurrences that the memorized contexts must hold.
        whole: Learn a text by heart: all of its windows of the least length that determines what follows; or the texts
            of a folder, by their names, or of a table with the header ``title,text``.

    Returns:
        The task.

    Raises:
        InputError: What is given holds no facts; everything that is wrong with it is named at once.

    Example:
        >>> read_facts([("Peru", "Lima"), ("Chile", "Santiago")]).reading
        '2 rows of 2 cells'
    """
    if facts_at_most is not None and mass is not None:
        raise InputError("facts", f"= {facts_at_most} is given beside mass = {mass}", "one of them")
    amount: dict[str, Any] = {"facts": facts_at_most, "mass": mass}
    of_text = {"context": context, "vocabulary": vocabulary, "unit": unit}
    of_table = {"header": header, "weights": weights, "delimiter": delimiter, "skip_empty": skip_empty or None}
    if isinstance(facts, AnyTask):
        _refuse_options(amount | of_text | of_table | {"target": target}, "a task says itself what is to be learned")
        return Given(facts, "a given task", counted(facts.n_contexts, "fact"))
    path = _path(facts)
    if whole:
        _refuse_options(amount | {"context": context, "vocabulary": vocabulary, "target": target}, _BY_HEART)
        _refuse_options(of_table, "only a table of facts has such")
        return _whole(facts, path, unit)
    if path is not None and path.is_dir():
        raise InputError(str(path), "is a folder", "a file, or texts to be learned whole")
    if path is not None and _is_in_json(path, of_text, table=table):
        _refuse_options({"delimiter": delimiter, "header": header}, "only a table in CSV has such")
        form = {"weights": weights, "skip_empty": skip_empty}
        return _json(path, form, target or "labels", amount)
    if path is not None and (table if table is not None else path.suffix.lower() in TABLE_FILES):
        _refuse_options(of_text, "only a text can be cut that way")
        form = {"delimiter": delimiter, "header": header, "weights": weights, "skip_empty": skip_empty}
        return _table(path, form, target or "labels", amount)
    if path is not None and path.suffix.lower() == ".npz":
        _refuse_options({**of_text, **of_table}, "the file holds arrays")
        return Given(array_task(**read_arrays(path), target=target or "distributions", **amount), path.stem, "arrays")
    if path is not None or facts is None or isinstance(facts, str | bytes):
        _refuse_options(of_table, "only a table has such")
        chosen = unit or ("byte" if isinstance(facts, bytes) else "char")
        text = facts if isinstance(facts, str | bytes) else default_text()
        text = text if path is None else read_text(path, chosen)
        name = "Python's reference text" if facts is None else "a text" if path is None else path.stem
        if isinstance(text, str) and chosen == "byte":
            text = text.encode()
        task = text_task(
            text, unit=chosen, vocabulary=vocabulary, context=DEFAULT_CONTEXT if context is None else context,
            target=target or "distributions", at_most=DEFAULT_FACTS, **amount,
        )  # fmt: skip
        reading, alike = _cut(text, chosen, task)
        return Given(task, name, reading + _unchanged([text]) + _table_instead(path, text), alike)
    _refuse_options({**of_text, **of_table, "weights": None}, "only a file has such")
    rows = _rows(facts)
    task = facts_task(rows, weights=say_weights(facts, weights), target=target or "labels", **amount)
    return Given(task, "given facts", f"{counted(len(rows), 'row')} of {counted(len(rows[0]) if rows else 0, 'cell')}")


def _whole(facts: Any, path: Path | None, unit: Unit | None) -> Given:
    """Texts that are learned whole: Python's reference by words, others by characters unless said otherwise."""
    left_out = ""
    if path is not None and path.suffix.lower() in TABLE_FILES:
        texts, name = _texts_of_table(path), path.stem
    elif path is not None and path.is_dir():
        (texts, left_out), name = _texts_of_folder(path, unit), path.name
    elif facts is None:
        texts, name, unit = default_texts(), "Python's reference", unit or "word"
    elif path is not None or isinstance(facts, str | bytes):
        unit = unit or ("byte" if isinstance(facts, bytes) else "char")
        texts, name = read_text(path, unit) if path is not None else facts, path.stem if path is not None else "a text"
    else:
        raise InputError("whole", "= True is given, but only a text can be learned whole")
    unit = unit or "char"
    if unit == "byte":
        texts = _bytes(texts) if not isinstance(texts, Mapping) else {t: _bytes(text) for t, text in texts.items()}
    task = whole_text(texts, unit)
    size = sum(map(len, texts.values())) if isinstance(texts, Mapping) else len(texts)
    what = f"{counted(len(texts), 'text')} of {size:,}" if isinstance(texts, Mapping) else f"a text of {size:,}"
    kind = inflected("byte" if unit == "byte" else "character", size)
    named = ", their title the first," if isinstance(texts, Mapping) else ""
    if not isinstance(texts, Mapping) and in_parts(task):
        assert task.windows is not None
        kind += f" that repeats too many, in {counted(len(task.windows.titles), 'part')}"
        named = ", the number of the part the first,"
    ends = "determines" if task.n_ctx == 1 else "determine"
    seen = f"{counted(task.n_ctx, UNIT_NAMES[unit])}{named} {ends} the next one"
    unchanged = _unchanged(texts.values() if isinstance(texts, Mapping) else [texts])
    reading = f"{what} {kind}, learned whole: {seen}{unchanged}{left_out}"
    return Given(task, name, reading if isinstance(texts, Mapping) else reading + _table_instead(path, texts))


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _texts_of_folder(folder: Path, unit: Unit | None) -> tuple[dict[str, str | bytes], str]:
    """Return the texts in a folder and the folders in it, by their paths without the ending, and what else is in it."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    read = {path.relative_to(folder): path for path in files if path.suffix.lower() in _TEXTS}
    texts: dict[str, str | bytes] = {}
    for path, file in read.items():
        title = path.with_suffix("").as_posix()
        if title in texts:
            named = [each.as_posix() for each in read if each.with_suffix("").as_posix() == title]
            raise InputError(folder, f"holds {' and '.join(named)}, texts of the same name", "one file for each name")
        texts[title] = read_text(file, unit or "char")
    if not texts:
        raise InputError(repr(str(folder)), "is a folder without texts", f"a file, or a folder of {', '.join(_TEXTS)}")
    others = [path.relative_to(folder).as_posix() for path in files if path.relative_to(folder) not in read]
    shown = ", ".join(others[:_NAMED]) + (", ..." if len(others) > _NAMED else "")
    return texts, f"; {counted(len(others), 'other file')} left out: {shown}" if others else ""


def _holds_texts(path: Path) -> bool:
    """Whether the header of a table says that it holds texts by title."""
    return path.suffix.lower() in TABLE_FILES and _titled_texts(path) is not None


def _titled_texts(path: Path) -> list[tuple[str, str]] | None:
    return texts_of_table(read_table(path), delimiter=named_delimiter(path))


def _texts_of_table(path: Path) -> dict[str, str]:
    rows = _titled_texts(path)
    if rows is None:
        raise InputError(path, "is a table of facts", "one with the header title,text, of texts to be learned whole")
    texts = dict(rows)
    if len(texts) < len(rows):
        raise InputError(path, "has two texts of one title", "titles of their own")
    return texts


def _unchanged(texts: Iterable[str | bytes]) -> str:
    """Return what an editor does not show, and is a part of texts all the same; nothing of bytes."""
    shown = [text for text in texts if isinstance(text, str)]
    returns, marks = sum(text.count("\r") for text in shown), sum(text.startswith(BYTE_ORDER_MARK) for text in shown)
    found = [(returns, "carriage return"), (marks, "byte order mark")]
    said = [counted(number, name) for number, name in found if number]
    return f"; {' and '.join(said)} kept" if said else ""


def _table_instead(path: Path | None, text: str | bytes) -> str:
    """Return what to do if a file is meant as a table, where every line of it looks like a row of one."""
    if path is None or not isinstance(text, str):
        return ""
    if path.suffix.lower() not in JSON_FILES and holds_json(text):
        return f"; it is JSON: --table {path} reads it as a table of facts"
    delimiter = looks_like_a_table(text)
    if delimiter is None:
        return ""
    return f"; each line has as many {DELIMITERS[delimiter]}s as the first: --table {path} reads it as a table of facts"


_ROWS_IN_JSON = 'rows, records or a mapping of them; --tokens characters (in Python unit="char") reads it as a text'
_OF_FREQUENT_CONTEXTS = (
    "facts_at_most", "mass", "context", "target", "vocabulary", "d_model", "d_head", "n_heads", "front_end",
    "attention_only", "layers",
)  # fmt: skip
_BY_HEART = "a text that is learned whole has all of its windows for facts"
_READING = inspect.signature(read_facts).parameters.keys()


def _path(facts: Any) -> Path | None:
    """Return the file that is meant, if one is."""
    if isinstance(facts, Path):
        return facts
    if not isinstance(facts, str) or "\n" in facts or not 0 < len(facts) <= 4096:
        return None  # the empty path would be the folder that one is in
    path = Path(facts)
    # Unlike Path.is_file, os.path.isfile takes a text that is too long for a name.
    if path.suffix.lower() in _FILES or os.path.isfile(path) or os.path.isdir(path):
        return path
    if _LIKE_A_PATH.fullmatch(facts):
        raise InputError("facts", f"= {facts!r} is not a file", "a file that is there; a text like that as bytes")
    return None


def _table(path: Path, form: dict[str, Any], target: Target, amount: dict[str, Any]) -> Given:
    """Return the facts of a table, and how it was read."""
    told = {**form, "delimiter": named_delimiter(path)} if form["delimiter"] is None else form
    task, found = table_facts(read_table(path), **told, target=target, strip=True, **amount)
    first, cells = found.described(), DELIMITERS.get(found.delimiter, repr(found.delimiter))
    said = [
        f"a table of {counted(found.rows, 'row')}, {cells} between the cells",
        first if form["header"] is None else re.sub(r" \(--[^)]*\)", "", first),
        *(["byte order mark removed"] if read_bytes(path).startswith(BYTE_ORDER_MARK.encode()) else []),
        *([found.left_out] if found.skipped else []),
        *([f"{counted(found.merged, 'duplicate row')} merged"] if found.merged else []),
        *([f"spaces around {counted(found.stripped, 'cell')} removed"] if found.stripped else []),
    ]
    return Given(task, path.stem, "; ".join(said), found.left_out)


def _is_in_json(path: Path, options: Mapping[str, Any], *, table: bool | None) -> bool:
    """Whether a file holds rows in JSON, by its name or, where it is called a table, by what is in it; and nothing says
    how it is cut as a text.
    """
    asked = [options.get(name) for name in ("unit", "context", "vocabulary")]
    if table is False or not path.is_file() or any(each is not None for each in asked):
        return False
    return is_in_json(path) if table else path.suffix.lower() in JSON_FILES


def _json(path: Path, form: dict[str, Any], target: Target, amount: dict[str, Any]) -> Given:
    """Return the facts of rows, records or a mapping in JSON, and how they were read."""
    try:
        found = rows_of_json(path)
        rows = _rows(found, empty=True)
    except FileFormatError as error:
        raise InputError(path, f"is no JSON: {error.__cause__}", _ROWS_IN_JSON) from error
    except InputError as error:
        if error.argument == str(path):  # the file cannot be read
            raise
        raise InputError(path, f"holds no table: {error.argument} {error.value}", _ROWS_IN_JSON) from error
    kept = [row for row in rows if not (form["skip_empty"] and "" in row)]
    if rows and not kept:
        raise InputError(path, "has no rows but those with an empty cell, which are left out")
    names = next((list(map(str, row)) for row in found if isinstance(row, Mapping)), [])
    left = f"{counted(len(rows) - len(kept), 'row')} with an empty cell left out" if len(kept) < len(rows) else ""
    merged = len(kept) - len(set(kept))
    task = facts_task(
        kept, weights=say_weights(found, form["weights"]), skip_empty=form["skip_empty"], target=target, **amount
    )
    said = [
        f"a table of {counted(len(kept), 'row')} in JSON",
        *([f"the names of the fields are {', '.join(names)}"] if names else []),
        *([left] if left else []),
        *([f"{counted(merged, 'duplicate row')} merged"] if merged else []),
    ]
    return Given(task, path.stem, "; ".join(said), left)


def _cut(text: str | bytes, unit: Unit, task: Task) -> tuple[str, str]:
    """How a text was cut; and for the first line how much of it is one token with others."""
    occurrences = Counter(units(text, unit))
    total, plural = sum(occurrences.values()), {"char": "characters", "byte": "bytes", "word": "words"}[unit]
    kept = set(task.vocabulary)
    if OTHER not in kept:
        return f"a text of {total} {plural}, all {len(occurrences)} distinct ones kept", ""
    alike = sum(count for name, count in occurrences.items() if name not in kept)
    reading = (
        f"a text of {total} {plural}, of which {alike} ({alike / total:.2%}) are not told apart: they became "
        f"{OTHER}; a vocabulary of {len(occurrences)} keeps all"
    )
    return reading, f"{alike} of {total} {plural} read as {OTHER}"


def _rows(facts: Any, *, empty: bool = False) -> list[tuple[str, ...]]:
    """Return the cells of each fact, as texts; the key of a mapping or a series may be several.

    None is refused, or where there may be empty cells it is one.
    """
    rows = rows_of(facts)
    if isinstance(facts, Mapping | Series) and not isinstance(facts, Frame):  # a frame has items too
        rows = [(*(key if isinstance(key, tuple) else (key,)), following) for key, following in rows]
    found = []
    for i, row in enumerate(rows):
        cells = ["" if empty and cell is None else cell for cell in row]
        found.append(tuple(cell_text(cell, place=f"row {i}") for cell in cells))
    return found


def _refuse_options(options: Mapping[str, Any], reason: str) -> None:
    for name, value in options.items():
        if value is not None:
            shown = value if isinstance(value, Fraction) else repr(value)
            raise InputError(name, f"= {shown} is given, but {reason}")
