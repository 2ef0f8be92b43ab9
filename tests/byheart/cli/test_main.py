"""The command line as a person or a program meets it."""

import contextlib
import importlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import byheart
from byheart.cli import main as cli
from byheart.cli.main import main
from byheart.hosts.reading import read_model
from tests.edited_hosts import TOKENS, answer, gpt2

TABLES = [["claims", "dana.lemma-2"], ["memories"]]


@pytest.mark.parametrize(
    "lines",
    [*([words] for words in ([], ["--help"], ["--version"], ["claims"], ["memories", "--json"], *TABLES)),
     [[name, "--help"] for name in cli.COMMANDS]],
    ids=str,
)  # fmt: skip
def test_what_only_tells_loads_nothing_that_computes(lines):
    heavy = {"numpy", "scipy", "flint", "torch", "sklearn", "safetensors", "matplotlib"}
    program = f"""
import json
import os
import sys
from byheart.cli.main import main
for words in {lines!r}:
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    assert code in (0, None) or not words, (words, code)
sys.stderr.write(json.dumps([sorted({heavy!r} & set(sys.modules)), "rich" in sys.modules, len(sys.modules)]))
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded, rich, modules = json.loads(told.stderr)
    assert not loaded and told.stdout
    assert not rich or lines[0] in TABLES  # loading it takes as long as all else of a list
    # Modules of our own and of the standard library, and for tables those of rich: 300 on the day this was written.
    assert modules < 600


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("two.csv", "country,capital\nFrance,Paris\nItaly,Rome\n", ["--header"]),
        ("words.tsv", "a\tb\tx\nb\ta\ty\nb\tb\tx\n", ["--no-header"]),
        ("poem.txt", "Tiger Tiger, burning bright,\nIn the forests of the night;\n", []),
        (
            "distributions.txt",
            "Tiger Tiger, burning bright,\nIn the forests of the night;\n",
            ["--target", "distributions"],
        ),
    ],
)
def test_what_every_run_is_proved_to_hold_is_made_without_torch_and_says_so(name, content, words, tmp_path):
    # To import torch takes twice the processor time of all else.
    (tmp_path / name).write_text(content)
    line = ["memorize", name, "--out", "made", "--quick", "--verbose", *words]
    program = f"import sys\nfrom byheart.cli.main import main\ncode = main({line!r})\n"
    told = subprocess.run(
        [sys.executable, "-c", program + "sys.exit(code or 9 * ('torch' in sys.modules))"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert told.returncode == 0, told.stderr
    assert "every run is proved to be right; `byheart run` does" in told.stdout
    assert "not run in PyTorch here" in (tmp_path / "made" / "report.html").read_text()


def test_an_interruption_while_modules_load_is_one_sentence(monkeypatch, capsys):
    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_judged", interrupted)
    assert main(["check", "somewhere"]) == 130
    assert capsys.readouterr().err == "byheart: interrupted; nothing was written\n"


def test_ctrl_c_leaves_no_file(novel, tmp_path):
    # The signal comes when the weights are in a folder and not yet certified; Python's handler is set, as whoever
    # started the tests may ignore the signal.
    script = (
        "import signal, sys\nimport byheart.jobs.certified\nfrom byheart.cli.main import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "reached = lambda *_, **__: signal.raise_signal(signal.SIGINT)\n"
        "byheart.jobs.certified.certify_memorization = reached\nsys.exit(main(sys.argv[1:]))\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script, "memorize", str(novel), "--out", str(tmp_path / "out"), "--facts", "50"],
        cwd=Path(cli.__file__).parents[1],
        capture_output=True,
    )
    assert finished.returncode == 130
    assert b"interrupted; nothing was written" in finished.stderr and b"Traceback" not in finished.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"novel.txt"}


def test_an_error_is_json_too_where_json_was_asked_for(tmp_path, capsys):
    assert main(["memorize", str(tmp_path / "absent.txt"), "--json", "--out", str(tmp_path / "out")]) == 2
    assert "absent.txt" in json.loads(capsys.readouterr().out)["error"]


def test_a_command_that_is_misspelt_is_named_with_the_one_that_is_meant(capsys):
    assert main(["memorise", "poem.txt"]) == 2
    assert capsys.readouterr().err == "byheart: 'memorise' is not a command; did you mean memorize?\n"
    assert main(["xyzzy"]) == 2
    assert "expected one of memorize, " in capsys.readouterr().err


def test_without_a_command_the_help_is_shown(capsys):
    assert main([]) == 2
    assert "memorize" in capsys.readouterr().out


@pytest.mark.parametrize(("command", "words"), [("ask", "folder"), ("recite", "folder"), ("explain", "folder")])
def test_only_words_that_are_required_are_said_to_be_missing(command, words, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command])
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(f"the following arguments are required: {words}\n")


def test_the_version_is_said_here_as_there(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["-V"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"byheart {byheart.__version__}\n"


@pytest.mark.parametrize("error", [RuntimeError("odd"), SystemExit(1), RecursionError(), AssertionError(), KeyError(1)])
def test_what_nobody_foresaw_has_a_code_of_its_own(monkeypatch, capsys, error):
    def failing(options):
        raise error

    monkeypatch.setattr("byheart.cli.memories.run", failing)
    assert main(["memories"]) == main(["memories", "--json"]) == 70
    out, err = capsys.readouterr()
    assert json.loads(out)["kind"] == type(error).__name__
    assert err.count("\n") == 2 and type(error).__name__ in err and "Traceback" not in err
    monkeypatch.setenv("BYHEART_TRACEBACK", "1")
    assert main(["memories"]) == 70
    assert "in failing" in capsys.readouterr().err


def test_a_library_that_is_not_there_refutes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "byheart.facts", None)
    assert main(["capacity", str(tmp_path / "facts.csv")]) == 70
    assert "byheart.facts" in capsys.readouterr().err


def test_as_a_module_it_is_the_same(tmp_path):
    script = "raise RuntimeError('odd')"
    (tmp_path / "sitecustomize.py").write_text(f"import byheart.cli.memories as m\ndef run(o): {script}\nm.run = run\n")
    path = f"{tmp_path}:{Path(cli.__file__).parents[2]}"
    said = subprocess.run(
        [sys.executable, "-m", "byheart", "memories"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert said.returncode == 70 and "RuntimeError: odd" in said.stderr and "Traceback" not in said.stderr


@pytest.mark.parametrize("words", [["ask", "OUT", "--quiet", "Peru"], ["ask", "--quiet", "OUT", "Peru"],
                                   ["ask", "OUT", "Peru", "--quiet"], ["explain", "OUT", "--quiet", "Peru"],
                                   ["ask", "OUT", "--quiet", "--", "Peru"]])  # fmt: skip
def test_options_may_stand_between_the_words(tmp_path, capsys, words):
    table = tmp_path / "facts.csv"
    table.write_text("France,Paris\nPeru,Lima\n")
    assert main(["memorize", str(table), "--quick", "--no-header", "--quiet", "--out", str(tmp_path / "out")]) == 0
    assert main([str(tmp_path / "out") if word == "OUT" else word for word in words]) == 0
    assert capsys.readouterr().out.count("\n") == 2  # one line each


def test_what_looks_like_an_option_goes_behind_two_dashes(tmp_path, capsys):
    table = tmp_path / "flags.csv"
    table.write_text("-v,verbose\n-q,quiet\n")
    assert main(["memorize", str(table), "--quick", "--no-header", "--quiet", "--out", str(tmp_path / "out")]) == 0
    with pytest.raises(SystemExit) as ended:
        main(["ask", str(tmp_path / "out"), "-v"])
    said = capsys.readouterr().err
    assert ended.value.code == 2 and "usage: byheart ask" in said and " -- " in said
    assert main(["ask", str(tmp_path / "out"), "--", "-v"]) == 0
    assert "'verbose'" in capsys.readouterr().out


MAKERS = {"memorize": "capitals", "export": "tensors"}
"""What other examples ask about, and the folder that it makes."""


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """A folder with what the examples read."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "capitals.csv").write_text("New Zealand,capital,Wellington\nPeru,capital,Lima\nFrance,capital,Paris\n")
    (folder / "poem.txt").write_text("so much depends upon a red wheel barrow\n")
    assert main(["memorize", str(folder / "poem.txt"), "--quiet", "--out", str(folder / "poem")]) == 0
    right = answer(read_model(gpt2(folder / "model")), [1, 2])
    (folder / "new.csv").write_text(f"1,2,{(right + 1) % TOKENS}\n")
    contexts = np.random.default_rng(0).standard_normal((3, 4, 6))
    np.savez(folder / "examples.npz", contexts=contexts, queries=contexts[:, -1])
    with contextlib.chdir(folder):
        for name in MAKERS:
            assert main(shlex.split(example(name))[1:]) == 0
    return folder


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_begins_with_a_sentence_and_ends_with_an_example_that_runs(name, workplace, capsys, monkeypatch):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    first, *_, last = capsys.readouterr().out.rstrip("\n").split("\n")
    assert ended.value.code == 0 and first[0].isupper() and first.endswith(".")
    monkeypatch.chdir(workplace)
    if name in MAKERS:
        shutil.rmtree(MAKERS[name])
    assert last.startswith("  ") and last.strip() == example(name)
    assert main(shlex.split(last)[1:]) in ((0, 1, 3) if name == "assumptions" else (0,))


def example(name):
    return importlib.import_module(f"byheart.cli.{name}").EXAMPLE
