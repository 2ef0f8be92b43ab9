"""The lists of mutants: each change can be made, and the tests that have to notice it are there."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LISTS = sorted(path.stem for path in (ROOT / "tests" / "mutants").glob("*.py") if path.stem not in ("__init__", "run"))


@pytest.mark.parametrize("name", LISTS)
def test_what_a_mutant_changes_occurs_once_and_its_tests_are_there(name):
    sources = {}
    for mutant in importlib.import_module(f"tests.mutants.{name}").MUTANTS:
        source = sources.setdefault(mutant.file, (ROOT / mutant.file).read_text(encoding="utf-8"))
        assert source.count(mutant.original) == 1, (mutant.file, mutant.original)
        assert mutant.original != mutant.mutated, (mutant.file, mutant.original)
        for test in mutant.tests.split():
            file, _, function = test.partition("::")
            text = sources.setdefault(file, (ROOT / file).read_text(encoding="utf-8"))
            assert not function or re.search(rf"^def {re.escape(function.partition('[')[0])}\(", text, re.M), test


def test_no_mutant_is_listed_twice_for_the_same_tests():
    changes = [
        (mutant.file, mutant.original, mutant.mutated, mutant.tests)
        for name in LISTS
        for mutant in importlib.import_module(f"tests.mutants.{name}").MUTANTS
    ]
    assert len(set(changes)) == len(changes) > 1000


SIGN = "def positive(x):\n    return x > 0\n"

PREPARED = """
import json, os, signal, sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from tests.mutants import Mutant, run

folder = Path(sys.argv[1])

def mutant(change):
    return Mutant("verify/sign.py", "return x > 0", change, "tests/test_sign.py", change)

def shown(judged):
    mutant, outcome, _ = judged
    print(json.dumps([mutant.why, outcome.killer.partition("::")[2], outcome.ending, outcome.broken]))
"""

TRIED = """
changes = ["return x >= 0", "return x >= 0 ", "return  x > 0", "__import__('os')._exit(0)", "return = x"]
killers = defaultdict(dict)
for judged in run.judge_all([mutant(change) for change in changes], [folder], killers):
    shown(judged)
print(json.dumps(list(killers["verify/sign.py"])))
"""

HANGING = """
lane = run.judge(folder, iter([mutant("__import__('time').sleep(600)")]), defaultdict(dict))
while "sleep" not in (folder / "verify" / "sign.py").read_text():
    next(lane)
while '"test"' not in folder.with_suffix(".notes").read_text():
    next(lane)
"""

LATE = """
run.time = SimpleNamespace(perf_counter=lambda: 1e9)
shown(next(lane))
"""

# Whoever is started in the background has the signal ignored; and one that is sent may come later, in any thread.
INTERRUPTED = """
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    lane.close()
"""

LEFT = """
try:
    os.waitpid(-1, os.WNOHANG)
    print('"a child is left"')
except ChildProcessError:
    print('"no child is left"')
"""


def told(folder, script):
    """What a script prints about mutants of a folder with one judge and its tests, which it must leave as it was."""
    for name in ("verify", "tests"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").touch()
    (folder / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = ["--import-mode=importlib"]\n')
    (folder / "verify" / "sign.py").write_text(SIGN)
    (folder / "tests" / "test_sign.py").write_text(
        "from verify.sign import positive\n\ndef test_zero():\n    assert not positive(0)\n\n"
        "def test_one():\n    assert positive(1)\n"
    )
    command = [sys.executable, "-c", PREPARED + script + LEFT, str(folder)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert (folder / "verify" / "sign.py").read_text() == SIGN
    return list(map(json.loads, run.stdout.splitlines()))


def test_a_mutant_is_killed_where_a_test_fails_or_the_process_ends_and_not_where_nothing_can_be_imported(tmp_path):
    *judged, (*last, reason), killers, left = told(tmp_path / "copy", TRIED)
    assert judged == [
        ["return x >= 0", "test_zero", "", ""],
        ["return x >= 0 ", "test_zero", "", ""],
        ["return  x > 0", "", "", ""],
        ["__import__('os')._exit(0)", "test_zero", "the process ended with status 0", ""],
    ]
    assert last == ["return = x", "", "the process ended with status 2"]
    assert "cannot be imported: E   SyntaxError" in reason
    assert (killers, left) == (["tests/test_sign.py::test_zero"], "no child is left")


def test_a_mutant_that_finds_no_end_is_killed_by_the_test_that_was_running(tmp_path):
    [(change, killer, *about), left] = told(tmp_path / "copy", HANGING + LATE)
    assert "sleep" in change and killer in ("test_zero", "test_one")  # the quicker one came first
    assert about == ["no end within 600 s", ""]
    assert left == "no child is left"


def test_an_interrupt_restores_the_source_and_leaves_no_process(tmp_path):
    assert told(tmp_path / "copy", HANGING + INTERRUPTED) == ["no child is left"]
