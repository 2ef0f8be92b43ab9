"""What is learned from a file is what the file holds, or the command asks: random tables, texts and recitations."""

import csv
import io
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from byheart.cli.main import main
from byheart.facts import read_facts
from byheart.hosts.facts import numbered_facts
from byheart.reciting import recite, whole_text
from constructions.errors import InputError
from constructions.memories.probes.probe_memory import probe_memory
from constructions.model.model import Model
from constructions.tasks.table import table_facts
from constructions.tasks.task import Task
from constructions.tasks.text import read_text
from constructions.tasks.vocabulary import tokens_of, typed_example

MANY = settings(max_examples=max(60, settings().max_examples))
"""Nothing is built in these tests, so that each example takes a millisecond."""

SIGNS = ",;\t|\"'\\ \r\n\ufeff\u2028\x0b\x1c\x85\xa0#-"
CELLS = st.one_of(
    st.text(st.sampled_from("ab12" + SIGNS), min_size=1, max_size=6),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=4),
    st.sampled_from(["51,76", "1.5", "12", "Jan 1, 2020", "es;qu", "weight", "Weight", "answer", "question", "a|b"]),
)
ROWS = st.integers(2, 4).flatmap(lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=5))
WAYS = st.fixed_dictionaries(
    {
        "delimiter": st.sampled_from(",;\t|"),
        "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
        "lineterminator": st.sampled_from(["\n", "\r\n", "\r"]),
    }
)


def written(rows: list[list[str]], way: dict) -> str:
    file = io.StringIO(newline="")
    csv.writer(file, **way).writerows(rows)
    return file.getvalue()


def facts_of(task) -> set[tuple[str, ...]]:
    """The rows that a task says, whatever their order and however often."""
    found = set()
    for i, context in enumerate(task.contexts.tolist()):
        for answer in task.counts.indices[task.counts.indptr[i] : task.counts.indptr[i + 1]]:
            found.add((*(task.vocabulary[token] for token in context), task.answers[answer]))
    return found


def in_quotes(rows: list[list[str]], way: dict) -> bool:
    """Whether every line end in a cell is in quotes: Python quotes those alone that end its rows."""
    of_rows = "\r\n" if way["quoting"] == csv.QUOTE_ALL else way["lineterminator"]
    return not any(end in cell for row in rows for cell in row for end in "\r\n" if end not in of_rows)


def asks(error: InputError) -> bool:
    """Whether what is refused is named so that a person can say what is meant."""
    said = str(error)
    ways = ("--header or --no-header", "--weights or --no-weights", "or --delimiter", "tells a spreadsheet")
    return any(words in said for words in (*ways, "may end a row or be part of a cell"))


@MANY
@given(st.data())
def test_a_table_that_is_written_somehow_is_read_as_its_rows_or_the_doubt_is_named(data) -> None:
    rows, way = data.draw(ROWS.filter(bool)), data.draw(WAYS)
    # Without quotes around it a carriage return at the end of every row is a part of the line ends.
    assume(way["lineterminator"] != "\n" or way["quoting"] == csv.QUOTE_ALL or rows[0][-1][-1] != "\r")
    table = written(rows, way)
    told = data.draw(st.fixed_dictionaries({}, optional={"header": st.just(False), "weights": st.just(False)}))
    try:
        task, form = table_facts(table, target="distributions", **told)
    except InputError as error:
        if not in_quotes(rows, way):
            return
        assert asks(error)
        with_all = {"delimiter": way["delimiter"], "header": False}
        assert facts_of(table_facts(table, target="distributions", **with_all)[0]) == set(map(tuple, rows))
        return
    expected = rows[1:] if form.header else rows
    assert form.delimiter == way["delimiter"] and facts_of(task) == set(map(tuple, expected))
    if form.header:  # only names that headers have
        assert {name.lower() for name in rows[0]} <= {"weight", "answer", "question"}


@MANY
@given(ROWS.filter(bool), WAYS, st.sampled_from(["csv", "tsv"]))
def test_the_library_and_certify_read_a_file_as_the_command_does(tmp_path_factory, rows, way, name) -> None:
    """Cells without spaces at their ends, which the library removes from cells without quotes."""
    rows = [[cell.strip() or "x" for cell in row] for row in rows]
    way = way if name == "csv" else {**way, "delimiter": "\t"}
    rows[0][0] = rows[0][0].lstrip("\ufeff") or "x"  # at the beginning of a file it is the mark of some programs
    path = tmp_path_factory.mktemp("table") / f"facts.{name}"
    path.write_bytes(written(rows, way).encode())
    cells = sorted({cell for row in rows for cell in row})
    (path.parent / "tokenizer.json").write_text(
        json.dumps({"model": {"type": "WordLevel", "vocab": {cell: i for i, cell in enumerate(cells)}}})
    )
    size = len(cells)
    model = Model((), W_U=np.eye(size), W_E=np.eye(size), W_pos=np.zeros((len(rows[0]) - 1, size)))
    try:
        here = read_facts(path, target="distributions", header=False).task
    except InputError as error:
        assert asks(error) or not in_quotes(rows, way)
        with pytest.raises(InputError) as caught:
            numbered_facts.read_facts(path, model, path.parent, numbered_facts.Reading(header=False))
        assert str(caught.value) == str(error)
        return
    assert facts_of(here) == set(map(tuple, rows))
    try:
        there, *_ = numbered_facts.read_facts(path, model, path.parent, numbered_facts.Reading(header=False))
    except InputError as error:  # two answers to a context, which certify asks about one by one
        assert "contradict each other" in str(error)
        return
    assert isinstance(there, Task)
    assert {tuple(cells[token] for token in context) for context in there.contexts.tolist()} == {
        row[:-1] for row in facts_of(here)
    }


@MANY
@given(st.data())
def test_every_context_of_a_table_can_be_asked(data) -> None:
    """As a row of CSV, with any separator, whatever is in its cells."""
    rows = [[re.sub(r"[\r\n]", "", cell).strip() or "x" for cell in row] for row in data.draw(ROWS.filter(bool))]
    task, _ = table_facts(written(rows, {}), delimiter=",", header=False, weights=False, target="distributions")
    row = data.draw(st.sampled_from(rows))
    way = {"delimiter": data.draw(st.sampled_from(",;\t|")), "lineterminator": ""}
    line = written([row[:-1]], way)
    try:
        tokens = tokens_of(line, task)
    except InputError as error:  # the same line is two contexts, or a text of single characters
        assert ", which is " in str(error) or not task.apart
        return
    read = [task.vocabulary[token] for token in tokens]
    assert read == row[:-1] or not task.apart or read in [other[:-1] for other in rows]
    shown = typed_example(task, in_csv=True)
    assert shown is None or tokens_of(shown, task) in task.contexts.tolist() or not task.apart


TEXTS = st.one_of(
    st.text(st.sampled_from("ab \r\n\ufeff\u2028\x0b\x85é"), min_size=1, max_size=20),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12),
)


@given(st.one_of(TEXTS.map(str.encode), st.binary(min_size=1, max_size=12)), st.sampled_from(["char", "word", "byte"]))
@example(b"\xef\xbb\xbfa\r\nb\rc\n", "char")
@example(b"caf\xe9\r\n", "byte")
@example(b"\\x0a\n", "byte")
@example(b"\\x0a\n", "word")
def test_a_text_that_is_learned_is_the_file_or_is_refused(tmp_path_factory, content, unit) -> None:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_bytes(content)
    try:
        text = read_text(path, unit)
        task = whole_text(text, unit)
    except InputError as error:
        assert unit != "byte" and "--tokens bytes" in str(error)
        return
    said = recite_all(task)
    assert said == content


def recite_all(task) -> bytes:
    """What the model of a task says from the beginning to the end."""
    from byheart.reciting import recitation

    found = recitation(probe_memory(task).model, task)
    assert found.proved == len(found.said)
    return found.data


FILES = {
    "windows": b"so much\r\ndepends\r\n",
    "mac": b"10%\r20%\rdone",
    "mark": b"\xef\xbb\xbfupon a red\n",
    "latin": b"caf\xe9 noir\n",
    "no end": b"wheel barrow",
    "lines": "a\u2028b\x85c\x0bd\n\n\n".encode(),
}


@pytest.mark.parametrize("name", FILES)
def test_what_is_recited_is_the_file_byte_for_byte(tmp_path: Path, capfdbinary, name: str) -> None:
    path, out = tmp_path / "text.txt", str(tmp_path / "out")
    path.write_bytes(FILES[name])
    line = ["memorize", str(path), "--quick", "--out", out]
    if name == "latin":
        assert main(line) == 2 and b"--tokens bytes" in capfdbinary.readouterr().err
        line += ["--tokens", "bytes"]
    assert main(line) == 0
    capfdbinary.readouterr()
    for quiet in ([], ["--quiet"], ["--dtype", "float64"]):
        assert main(["recite", out, *quiet]) == 0
        said = capfdbinary.readouterr()
        assert said.out == FILES[name] and (b"PROVED" in said.err) == (quiet != ["--quiet"])
    assert recite(out).data == FILES[name]


def test_texts_of_a_folder_are_recited_by_title_and_together_one_after_the_other(tmp_path: Path, capfdbinary) -> None:
    (tmp_path / "in" / "more").mkdir(parents=True)
    files = {"a.txt": b"x\r\ny\r\n", "b.md": b"plain", "more/c.rst": b"\xef\xbb\xbfz\n"}
    for name, content in {**files, "README": b"no", "more/d.py": b"x = 1\n"}.items():
        (tmp_path / "in" / name).write_bytes(content)
    out = str(tmp_path / "out")
    assert main(["memorize", str(tmp_path / "in"), "--quick", "--out", out]) == 0
    said = capfdbinary.readouterr().out.decode()
    assert "of 3 texts" in said.splitlines()[0] and "2 other files left out: README, more/d.py" in said
    for name, content in files.items():
        assert main(["recite", out, name.rpartition(".")[0], "--quiet"]) == 0
        assert capfdbinary.readouterr().out == content
    assert main(["recite", out, "--quiet"]) == 0
    assert capfdbinary.readouterr().out == b"".join(files.values())
    (tmp_path / "in" / "a.md").write_bytes(b"again")
    assert main(["memorize", str(tmp_path / "in"), "--out", str(tmp_path / "twice")]) == 2
    assert "holds a.md and a.txt" in capfdbinary.readouterr().err.decode()


def test_texts_in_a_table_stand_as_they_are(tmp_path: Path) -> None:
    texts = {"one": "a,b;\r\n\u2028c ", "two": ' "so" '}
    for delimiter, name in itertools.chain(zip(",;|\t", itertools.repeat("csv")), [("\t", "tsv")]):
        path = tmp_path / f"texts.{name}"
        rows = [["title", "text"], *map(list, texts.items())]
        path.write_bytes(written(rows, {"delimiter": delimiter}).encode())
        task = read_facts(path, whole=True).task
        expected = whole_text(texts)
        assert task.sha256() == expected.sha256()


@pytest.mark.parametrize(
    "lines",
    [
        ["0,1,0", "1"],
        ["0 1 0", "1"],
        ["0;1;0", "1"],
        ["010", "1"],
        ['"0",1,"0"', "1"],
        ["0,1", "has 2 tokens, expected 3"],
        ["0,1,2", "no token '2'"],
    ],
)
def test_a_table_of_single_characters_is_asked_in_any_form(lines) -> None:
    task, _ = table_facts("0,0,0,0\n1,1,0,0\n0,1,0,1\n1,0,0,1\n")
    line, answer = lines
    if len(answer) > 1:
        with pytest.raises(InputError, match=answer):
            tokens_of(line, task)
    else:
        place = task.contexts.tolist().index(tokens_of(line, task))
        assert task.answers[task.labels[place]] == answer


def test_a_line_that_is_two_facts_names_both_and_quotes_tell_which() -> None:
    task, _ = table_facts('"a,b",x,1\na,"b,x",2\n', header=False)
    assert [tokens_of(line, task) for line in ('"a,b", x', 'a; "b,x"', "a,b;x")] == [[0, 1], [2, 3], [0, 1]]
    task, _ = table_facts('"a,b;c",1\n', header=False)
    assert tokens_of('"a,b;c"', task) == tokens_of("a,b;c", task) == [0]
    task, _ = table_facts('"a;b",c,1\na,"b,c",2\n', header=False)
    with pytest.raises(InputError, match="is 'a;b,c', which is 'a;b' 'c' or 'a' 'b,c'"):
        tokens_of("a;b,c", task)


def test_cells_with_every_separator_are_asked_from_standard_input(tmp_path: Path, capsys, monkeypatch) -> None:
    table = tmp_path / "sep.csv"
    table.write_text(
        'question,context,answer\n"Oslo, Norway",city; port,a\n"Rome|Lazio",town,b\n"Tab\there\nnext",town,c\n'
    )
    out = str(tmp_path / "out")
    assert main(["memorize", str(table), "--quick", "--out", out]) == 0
    assert f"byheart ask {out} '\"Oslo, Norway\", city; port'" in capsys.readouterr().out
    monkeypatch.setattr(
        "sys.stdin", io.StringIO('Rome|Lazio; town\n"Oslo, Norway","city; port"\n"Tab\there\nnext",town\n')
    )
    assert main(["ask", out, "--json"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["token"] for answer in answers] == ["b", "a", "c"] and all(answer["memorized"] for answer in answers)
