"""Whatever holds facts becomes the task that it says."""

import inspect
import json
import re
import tempfile
from collections import namedtuple
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import byheart
from byheart.facts import Options, learns_whole, memorize, read_facts
from byheart.jobs.request import Request
from constructions.counted import counted
from constructions.errors import InputError
from constructions.tasks.task import Task
from constructions.tasks.vocabulary import OTHER

PAIRS = {("France", "capital"): "Paris", ("France", "river"): "Seine", ("Peru", "capital"): "Lima"}
ROWS = [(*context, following) for context, following in PAIRS.items()]
TABLE = "\n".join(",".join(row) for row in ROWS)


def named(task: Task) -> dict[tuple[str, ...], str]:
    return {
        tuple(task.vocabulary[t] for t in context): task.answers[label]
        for context, label in zip(task.contexts.tolist(), task.labels.tolist(), strict=True)
    }


def test_mappings_rows_and_frames_hold_the_same_facts(tmp_path: Path) -> None:
    path = tmp_path / "facts.csv"
    path.write_text(TABLE)
    row = namedtuple("row", "subject relation answer")
    for facts in (PAIRS, ROWS, iter(ROWS), [row(*each) for each in ROWS], np.array(ROWS), path, str(path)):
        assert named(read_facts(facts).task) == PAIRS
    assert named(read_facts({"France": "Paris", 3: 4}).task) == {("France",): "Paris", ("3",): "4"}
    assert named(read_facts([("a", "b", 2), ("a", "c", 5)], weights=True).task) == {("a",): "c"}


def test_files_are_tables_texts_or_arrays_by_their_names(tmp_path: Path) -> None:
    for name in ("facts.csv", "facts.TSV", "facts.txt"):
        (tmp_path / name).write_text(TABLE.replace(",", "\t"))
    assert named(read_facts(tmp_path / "facts.csv").task) == named(read_facts(tmp_path / "facts.TSV").task) == PAIRS
    assert read_facts(tmp_path / "facts.txt").task.n_ctx == 4
    assert named(read_facts(tmp_path / "facts.txt", table=True).task) == PAIRS
    assert read_facts(tmp_path / "facts.csv", table=False).task.target == "distributions"
    np.savez(tmp_path / "facts.npz", contexts=np.array([[0], [1]]), next_tokens=np.array([1, 0]))
    assert read_facts(tmp_path / "facts.npz").task.n_contexts == 2


def test_a_text_whose_lines_are_like_rows_is_said_to_be_one_that_may_be_a_table(tmp_path: Path) -> None:
    path = tmp_path / "facts.txt"
    for text, looks in (("a;b\nc;d\ne;f\n", "semicolon"), ("so, so\nmuch\n, depends\n", None), ("a,b\n", None)):
        path.write_text(text)
        for said in (read_facts(path, whole=True).said, read_facts(path, context=1).said):
            assert (f"as many {looks}s as the first: --table {path}" in said) == (looks is not None)


def test_the_name_of_a_file_says_that_tabs_separate_its_cells(tmp_path: Path) -> None:
    rows = [("Lima", "Peru, South America, Pacific"), ("Oslo", "Norway, Europe, Atlantic")]
    for name, says in (("places.tsv", True), ("places.TSV", True), ("places.csv", False), ("places.txt", False)):
        (tmp_path / name).write_text("".join("\t".join(row) + "\n" for row in rows))
        if says:
            assert named(read_facts(str(tmp_path / name), header=False).task) == {(a,): b for a, b in rows}
        else:
            with pytest.raises(InputError, match=r"--delimiter ',' or --delimiter tab"):
                read_facts(tmp_path / name, header=False, table=True)


def test_texts_are_texts() -> None:
    text = "to be or not to be"
    assert read_facts(text, context=2).task.n_ctx == 2
    assert read_facts(text, unit="word", context=1).task.vocabulary[:2] == ("to", "be")
    assert OTHER not in read_facts("".join(map(chr, range(300, 420))) * 2).task.vocabulary
    assert read_facts(text, vocabulary=3).reading.endswith("a vocabulary of 7 keeps all")
    assert read_facts(None, facts_at_most=5).task.n_contexts == 5


@pytest.mark.parametrize(
    ("given", "options", "reason"),
    [
        ("missing.csv", {}, "does not exist"),
        (Path("missing"), {}, "does not exist"),
        (PAIRS, {"unit": "word"}, "unit = 'word'"),
        (PAIRS, {"header": True}, "header = True"),
        ("some text", {"delimiter": ";"}, "delimiter = ';'"),
        (7, {}, "facts is int"),
        (["abc"], {}, "row 0 is 'abc'"),
        ([], {}, "rows is empty"),
        ([("a", "b"), ("a", "c")], {}, "facts 1 and 2 contradict"),
        ([("a",)], {}, "fact 1 has 1 cell,"),
        ("some text", {"facts_at_most": 3, "mass": 0.5}, "expected one of them"),
    ],
)
def test_what_holds_no_facts_is_refused(given: object, options: dict[str, object], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_facts(given, **options)  # type: ignore[arg-type]


def test_facts_are_memorized_in_one_call(tmp_path: Path) -> None:
    memory = byheart.memorize(PAIRS, out=tmp_path / "out", seed=3)
    assert str(memory).startswith("MEMORIZED, PROVED: 3 of 3 facts")
    assert (tmp_path / "out" / "certificate.json").is_file()
    assert {context: memory.ask(context).token for context in PAIRS} == PAIRS
    with pytest.raises(InputError, match=r"colour is not an option of memorize$"):
        memorize(PAIRS, colour="red")  # pyright: ignore[reportCallIssue]


def test_a_misspelt_option_is_named_with_the_nearest() -> None:
    with pytest.raises(InputError, match="contxt is not an option of memorize; did you mean context"):
        memorize({"France": "Paris"}, contxt=4)  # pyright: ignore[reportCallIssue]


def test_the_options_of_memorize_are_those_of_what_reads_and_of_what_builds() -> None:
    read, built = set(inspect.signature(read_facts).parameters), set(Request.__annotations__)
    assert set(Options.__annotations__) == (read | built) - {"facts", "source", "reading", "left_out"}


@pytest.mark.parametrize("path", ["data/novels.text", "~/novel", "../poem", "poem.rst", "C:\\poem.doc", "/poem"])
def test_what_looks_like_a_path_has_to_be_one(path: str) -> None:
    with pytest.raises(InputError, match="is not a file, expected a file that is there"):
        read_facts(path)


@pytest.mark.parametrize("text", ["so much depends", "and/or", "3.14159", "a rose. is", "abab", "etc...", "e.g. this"])
def test_a_text_of_one_line_is_a_text(text: str) -> None:
    assert read_facts(text, context=1).reading.startswith("a text of")


class Index(list):
    """As of pandas."""

    def __init__(self, entries: Iterable[object], *names: str | None) -> None:
        super().__init__(entries)
        self.names = names


@dataclass
class Frame:
    """As of pandas, which the tests do without."""

    index: Index
    rows: list[tuple[str, ...]]

    def itertuples(self, index: bool = True, name: str | None = None) -> list[tuple[object, ...]]:
        return [(key, *row) for key, row in zip(self.index, self.rows, strict=True)] if index else list(self.rows)

    def items(self) -> list[tuple[object, list[object]]]:
        """Its columns by their names."""
        return [(place, list(column)) for place, column in enumerate(zip(*self.rows, strict=True))]


@dataclass
class Column:
    """A series, likewise."""

    index: Index
    values: list[str]

    def items(self) -> Iterable[tuple[object, str]]:
        return zip(self.index, self.values, strict=True)


PERU = [("Peru", "capital", "Lima"), ("Peru", "river", "Amazon")]


@pytest.mark.parametrize(
    "given",
    [
        Frame(Index([0, 1], None), PERU),
        Frame(Index([5, 7], None), PERU),  # what a filter leaves
        Frame(Index(["Peru", "Peru"], None), [row[1:] for row in PERU]),
        Frame(Index([row[:2] for row in PERU], "country", "relation"), [row[2:] for row in PERU]),
        Column(Index([row[:2] for row in PERU], None, None), [row[2] for row in PERU]),
    ],
)
def test_an_index_that_somebody_has_set_is_read(given: Frame | Column) -> None:
    assert read_facts(given).task.sha256() == read_facts(PERU).task.sha256()


def test_an_index_of_numbers_is_read_where_it_has_a_name() -> None:
    given = Frame(Index([1, 2], "atomic number"), [("hydrogen",), ("helium",)])
    assert read_facts(given).task.vocabulary == ("1", "2")
    assert read_facts(Column(Index([1, 2], None), ["hydrogen", "helium"])).task.answers == ("hydrogen", "helium")


def test_frames_and_series_of_pandas_are_read_as_theirs() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(PERU, columns=["country", "relation", "answer"])
    indexed = frame.set_index(["country", "relation"])
    expected = read_facts(PERU).task.sha256()
    for facts in (frame, frame[frame.country == "Peru"], indexed, indexed["answer"]):
        assert read_facts(facts).task.sha256() == expected


def test_an_empty_text_is_no_folder(tmp_path, monkeypatch):
    """The path of nothing is the folder that one is in, whose texts nobody has named."""
    (tmp_path / "notes.txt").write_text("what lies here")
    monkeypatch.chdir(tmp_path)
    for whole in (True, False):
        with pytest.raises(InputError, match=r"empty|has 0 characters"):
            read_facts("", whole=whole)


CELLS = st.text(max_size=4) | st.integers() | st.none()
RECORDS = st.lists(st.tuples(st.text(max_size=4), CELLS, CELLS), min_size=1, max_size=5)


@given(rows=RECORDS, byte_order_mark=st.booleans(), ending=st.sampled_from(["\n", "\r\n"]))
def test_rows_in_json_are_the_rows_that_python_gives(rows: list, byte_order_mark: bool, ending: str) -> None:
    records = [dict(zip("sro", row, strict=True)) for row in rows]
    shuffled = [records[0], *({name: record[name] for name in "ors"} for record in records[1:])]
    full = [row for row in rows if all(cell not in (None, "") for cell in row)]
    expected = named(read_facts(full, target="distributions").task) if full else None
    with tempfile.TemporaryDirectory() as folder:
        for name, written in (
            ("list.json", json.dumps(rows)),
            ("records.JSON", json.dumps(shuffled, ensure_ascii=False)),
            ("rows.jsonl", ending.join(map(json.dumps, rows))),
            ("records.jsonl", ending.join(map(json.dumps, shuffled)) + ending),
        ):
            path = Path(folder) / name
            path.write_bytes(("\ufeff" * byte_order_mark + written).encode())
            assert not learns_whole(path, {}) and learns_whole(path, {"unit": "char"})
            if expected is None:
                with pytest.raises(InputError, match="no rows but those with an empty cell"):
                    read_facts(path, skip_empty=True)
                continue
            read = read_facts(path, skip_empty=True, target="distributions")
            assert named(read.task) == expected
            left = len(rows) - len(full)
            assert read.left_out == (f"{counted(left, 'row')} with an empty cell left out" if left else "")
            if left:
                with pytest.raises(InputError, match=r"fact \d+ has an empty cell.*--skip-empty leaves"):
                    read_facts(path)


WORDS = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=4)


@given(rows=st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=2, max_size=5), indent=st.sampled_from([None, 2]))
def test_json_under_another_name_is_a_text_that_says_so_and_a_table_if_it_is_called_one(rows: list, indent) -> None:
    records = [dict(zip("sro", row, strict=True)) for row in rows]
    expected = named(read_facts(rows, target="distributions").task)
    with tempfile.TemporaryDirectory() as folder:
        for written in (
            json.dumps(rows, indent=indent), json.dumps(records, indent=indent), "\n".join(map(json.dumps, records))
        ):  # fmt: skip
            path = Path(folder) / "facts.txt"
            path.write_text(written, encoding="utf-8")
            assert named(read_facts(path, table=True, target="distributions").task) == expected
            assert learns_whole(path, {}) and not learns_whole(path, {"table": True})
            said = f"it is JSON: --table {path} reads it as a table of facts"
            assert said in read_facts(path, whole=True).reading and said in read_facts(path, context=1).reading


@pytest.mark.parametrize(
    "text", ["[1] a note\n[2] another\n", '{"alone": "x"}\n', "[]\n", '["a", "b"\n', "[1]\n2\n[3]\n"]
)
def test_a_text_that_begins_like_json_is_a_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    assert "JSON" not in read_facts(path, whole=True).reading


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('[["Peru", "Lima"], ["Peru", "Cusco"]]', "facts 1 and 2 contradict each other"),
        ('{"model": {"layers": 2}}', "holds no table: facts: row 0 has the cell {'layers': 2}"),
        ('{"Peru": "Lima", "Peru": "Cusco"}', "is no JSON: 'Peru' stands there twice"),
        ('{"Peru": "Lima"', "is no JSON: Expecting ',' delimiter"),
        ("77", "holds no table: facts is int"),
        ("[]", "rows is empty, expected at least one fact"),
    ],
)
def test_what_is_wrong_with_rows_in_json_is_said(tmp_path: Path, written: str, message: str) -> None:
    path = tmp_path / "facts.json"
    path.write_text(written)
    with pytest.raises(InputError, match=re.escape(message)):
        read_facts(path)
    assert read_facts(path, unit="char", context=1).task.windows is None
    with pytest.raises(InputError, match="header = True is given, but only a table in CSV has such"):
        read_facts(path, header=True)


@given(st.text(st.sampled_from("\ufeff\r\nab,"), min_size=6))
def test_what_an_editor_does_not_show_is_kept_of_a_text_and_said(text: str) -> None:
    text = text + "ab\n" * 3
    returns, mark = text.count("\r"), text.startswith("\ufeff")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.txt"
        path.write_bytes(text.encode())
        for read in (read_facts(path, whole=True), read_facts(path, context=1), read_facts(path.parent, whole=True)):
            assert (f"{counted(returns, 'carriage return')}" in read.reading) == (returns > 0)
            assert ("1 byte order mark kept" in read.reading) == mark
        task = read_facts(path, context=1).facts
        assert set(task.vocabulary) == set(text)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_byte_order_mark_is_no_part_of_a_table_and_said(tmp_path: Path, mark: str) -> None:
    (tmp_path / "facts.csv").write_text(mark + TABLE, encoding="utf-8")
    read = read_facts(tmp_path / "facts.csv")
    assert named(read.facts) == PAIRS and ("byte order mark removed" in read.reading) == bool(mark)
