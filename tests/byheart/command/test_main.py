"""The command line as a person or a program meets it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import byheart
from byheart.command import main as cli
from byheart.command.main import main

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
import sys
from byheart.command.main import main
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
        "import signal, sys\nimport byheart.job\nfrom byheart.command.main import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "reached = lambda *_, **__: signal.raise_signal(signal.SIGINT)\n"
        "byheart.job.certify_memorization = reached\nsys.exit(main(sys.argv[1:]))\n"
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
    assert capsys.readouterr().err == "byheart: 'memorise' is no command; did you mean memorize?\n"
    assert main(["xyzzy"]) == 2
    assert "expected one of memorize, " in capsys.readouterr().err


def test_without_a_command_the_help_is_shown(capsys):
    assert main([]) == 2
    assert "memorize" in capsys.readouterr().out


def test_the_version_is_said_here_as_there(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["-V"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"byheart {byheart.__version__}\n"
