"""`byheart memorize`: a text or a table in, certified weights out."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import byheart
from byheart.cli.main import main
from byheart.cli.memorize import FRONT_END_CHOICES, _beside
from byheart.reciting import whole_text
from constructions.attention.families import FRONT_ENDS
from constructions.heads_of_theorem_1.memory import TAILS
from tests.command_line import FACTS, TEXT, words, written


def test_memorize_prints_one_json_object_and_nothing_else(novel, tmp_path, capsys):
    code = main(
        [
            "memorize",
            str(novel),
            *words("--vocabulary 10 --facts 30 --memory theorem-1 --dtype float64 --json"),
            "--out",
            str(tmp_path / "out"),
        ]
    )
    printed = capsys.readouterr()
    summary = json.loads(printed.out)
    assert code == 0 and summary["verdict"] == "PROVED" and printed.out.count("\n") == 1
    assert printed.err == ""
    assert all(Path(path).is_file() for path in summary["files"].values())


@pytest.mark.parametrize("of_a_folder", [False, True])
def test_a_text_that_takes_more_than_a_minute_says_so_beforehand(of_a_folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("byheart.cli.memorize.LEARNED_IN_A_MINUTE", 20)
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "verse.txt").write_text("so much depends upon a red wheel barrow")
    source = folder if of_a_folder else folder / "verse.txt"
    assert main(["memorize", str(source), "--quiet", "--quick", "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().err == "about 2 minutes\n"
    assert main(
        ["memorize", str(source), "--quiet", "--context", "2", "--facts", "3", "--out", str(tmp_path / "b")]
    ) in (0, 2)
    assert "minutes" not in capsys.readouterr().err


def test_memorize_prints_tables_for_a_person(folder, capsys, novel, tmp_path):
    sizes = words("--vocabulary 10 --facts 30 --memory theorem-1 --dtype float64")
    main(["memorize", str(novel), *sizes, "--out", str(tmp_path / "out")])
    printed = capsys.readouterr().out
    for phrase in ("PROVED", "30 of 30 contexts", "right in one float64 run, measured", "report.html"):
        assert phrase in printed


def test_twelve_facts_take_eight_lines_at_most_and_one_if_wanted_quiet(tmp_path, capsys):
    table = tmp_path / "facts.csv"
    table.write_text("".join(f"c{i},{kind},{kind}{i}\n" for i in range(6) for kind in ("capital", "river")))
    assert main(["memorize", str(table), "--quick", "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) <= 8 and shown[0].startswith("MEMORIZED, PROVED: 12 of 12 facts")
    assert shown[2].endswith("12 of 12 right in every float32 run, proved.")
    assert main(["memorize", str(table), "--quick", "--quiet", "--out", str(tmp_path / "quiet")]) == 0
    quiet = capsys.readouterr()
    assert quiet.out.splitlines() == shown[:1] and quiet.err == ""


def test_a_table_and_its_weights_are_memorized(tmp_path, capsys):
    path = tmp_path / "facts.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["paris", "is in", "france", 3], ["rome", "is in", "italy", 2], ["rome", "is in", "latium", 1]]
        )
    code = main(
        [
            "memorize",
            "--table",
            str(path),
            *words("--target labels --dim 16 --weights --json"),
            "--out",
            str(tmp_path / "out"),
        ]
    )
    summary = json.loads(capsys.readouterr().out)
    assert code == 0 and summary["facts"] == summary["memorized"] == 2
    assert (summary["vocabulary"], summary["answers"]) == (3, 3)


def test_arrays_are_memorized(tmp_path, capsys):
    np.savez(tmp_path / "facts.npz", contexts=np.array([[0, 1], [1, 2], [2, 0]]), next_tokens=np.array([2, 0, 1]))
    code = main(["memorize", str(tmp_path / "facts.npz"), "--json", "--out", str(tmp_path / "out")])
    assert code == 0 and json.loads(capsys.readouterr().out)["verdict"] == "PROVED"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda p: [str(p / "absent.txt")], "absent.txt"),
        (lambda p: [str(p)], str),
        (lambda p: [written(p / "a.txt", b"")], "empty"),
        (lambda p: [written(p / "a.txt", b"abc\xff\xfe")], "UTF-8"),
        (
            lambda p: [written(p / "a.txt", b"abc"), "--context", "4"],
            "has 3 characters, expected more than the 4 of a context",
        ),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--facts", "1000000"], "--facts 1000000"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--facts", "0"], "--facts 0"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--mass", "1.5"], "mass"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--mass", "0.5", "--facts", "3"], "--facts 3"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--context", "0"], "--context 0"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--vocabulary", "0"], "--vocabulary 0"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--dim", "8", "--head-dim", "9"], "--head-dim 9"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--heads", "2"], "heads suffice"),
        (lambda p: ["--table", written(p / "t.csv", b"a,b,c\na,b\n")], "line 2"),
        (lambda p: ["--table", written(p / "t.csv", b"")], "empty"),
        (lambda p: ["--table", written(p / "t.csv", b"a,b,nan\n"), "--weights", "--no-header"], "weight 'nan'"),
        (lambda p: ["--table", written(p / "t.csv", b"a,b,c\n"), "--context", "2"], "--context 2"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--table", str(p / "t.csv")], "one of them"),
        (lambda p: [written(p / "a.txt", TEXT.encode()), "--seed", "-1"], "--seed -1"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path, capsys, arguments, message):
    place = tmp_path / "in"
    place.mkdir()
    assert main(["memorize", *arguments(place), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error and error.count("byheart:") == 1
    assert (str(place) if message is str else message) in error
    assert not (tmp_path / "out").exists()


def test_an_existing_folder_is_refused_and_kept(novel, tmp_path, capsys):
    (tmp_path / "out").mkdir()
    assert main(["memorize", str(novel), "--out", str(tmp_path / "out")]) == 2
    assert "exists" in capsys.readouterr().err


def test_the_choices_of_the_command_line_are_those_of_the_library():
    assert FRONT_END_CHOICES == tuple(FRONT_ENDS) and set(TAILS) == {"fit", "none"}


def test_a_file_that_is_a_table_is_read_as_one_and_what_was_found_is_said(tmp_path, capsys):
    table = written(tmp_path / "facts.csv", FACTS)
    assert main(["memorize", table, "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("MEMORIZED, PROVED: 3 of 3 facts") and "semicolon" in shown and "--no-header" in shown
    assert f"byheart ask {tmp_path / 'out'} 'France, capital'" in shown
    assert main(["memorize", table, "--no-header", "--out", str(tmp_path / "four"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["facts"] == 4
    tabs = written(tmp_path / "facts.txt", FACTS.replace(b";", b"\t"))
    assert main(["memorize", "--table", tabs, "--delimiter", "tab", "--out", str(tmp_path / "tabs"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["facts"] == 3


def test_what_of_a_text_is_not_told_apart_is_said(tmp_path, capsys):
    text = written(tmp_path / "a.txt", b"abcabdabcabdaaa")
    assert main(["memorize", text, "--vocabulary", "3", "--context", "1", "--out", str(tmp_path / "out")]) in (0, 1)
    printed = capsys.readouterr().out
    shown = " ".join(printed.split())
    assert "of which 4 (26.67%) are not told apart" in shown and "a vocabulary of 4 keeps all" in shown
    assert printed.splitlines()[0].endswith("; 4 of 15 characters read as <other>")
    assert main(["memorize", text, "--vocabulary", "4", "--context", "1", "--out", str(tmp_path / "all")]) in (0, 1)
    assert "<other>" not in capsys.readouterr().out


def test_the_smallest_memory_without_neurons_is_printed_beside_the_others(facts_table, tmp_path, capsys):
    options = [*words("--memory smallest --attention-only --dtype float64 --verbose --out"), str(tmp_path / "out")]
    assert main(["memorize", "--table", str(facts_table), *options]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "MEMORIZED, PROVED: 16 of 16" in printed
    assert "knots it has neurons" in printed and "entries nonzero facts each" in printed
    assert "lower bound" in printed and "16 of 16 right in every float64 run, proved" in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--memory knots --heads 3", "--heads 3 is given, but only the memory 'theorem-1' has such, not 'knots'"),
        (
            "--memory smallest --front-end table",
            "--front-end 'table' is given, but only the memory 'theorem-1' has such",
        ),
        ("--memory nothing", "memory is 'nothing', expected one of 'smallest', 'affine'"),
        ("--layers 0", "--layers 0, expected at least 1"),
        ("--memory knots --layers 1", "it has 2 layers"),
    ],
)
def test_what_a_memory_does_not_have_or_may_not_be_is_refused(options, message, facts_table, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["memorize", "--table", str(facts_table), *words(options), "--out", str(out)]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_python_and_the_command_take_the_same_memory(facts_table, tmp_path, capsys):
    assert main(["memorize", str(facts_table), "--json", "--out", str(tmp_path / "out")]) == 0
    summary = json.loads(capsys.readouterr().out)
    memory = byheart.memorize(facts_table)
    for name in ("memory", "dtype", "parameters", "built", "headline", "information_limit"):
        assert getattr(memory.figures, name) == summary[name], name
    assert byheart.memorize(facts_table, memory="smallest").model.sha256() == memory.model.sha256()
    assert summary["memory"] == "newton" and summary["dtype"] == "float32"


def test_attention_alone_and_sizes_may_be_asked_for(novel, tmp_path, capsys):
    text = [str(novel), *words("--vocabulary 10 --facts 30 --json")]
    for options, memory in (
        ((), "one-hot-distributions"),
        (("--attention-only",), "theorem-1"),
        (("--heads", "30"), "theorem-1"),
    ):
        assert main(["memorize", *text, *options, "--out", str(tmp_path / "-".join(("out", *options)))]) == 0
        assert json.loads(capsys.readouterr().out)["memory"] == memory


def test_beside_the_reference_stands_what_else_would_hold_it() -> None:
    task = whole_text("so much depends upon a red wheel barrow")
    said = _beside(100, task)
    count = 2 * (task.n_ctx + 2 * task.d_vocab + 4 * (task.n_contexts - 2))
    assert f"Theorem 1 of Dana et al. counts {count:,} parameters for labels" in said
    assert "a dense float32 file of these parameters takes 400." in said


@pytest.mark.parametrize(("size", "threads"), [([], "1"), (["--heads", "2"], "none")])
def test_a_search_runs_on_one_thread_of_the_blas(size, threads):
    """On a busy machine two of them take three times the processor time: they wait for each other in a loop."""
    program = f"""
import os, sys
import byheart.cli.main as cli
code = cli.main(["memorize", "missing.csv", *{size!r}])
print(code, os.environ.get("OPENBLAS_NUM_THREADS", "none"))
"""
    unset = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=unset)
    assert told.stdout.split() == ["2", threads]
