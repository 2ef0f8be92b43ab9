"""The examples in README.md and docs/ run as tests; those in docstrings run by pytest's own --doctest-modules."""

import doctest
import gc
import linecache
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from sybil import Document, Example, Region, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

# One BLAS thread per process: the tests are spread over processes. It has to be said before numpy is imported.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# Pieces of a domain that are kept are signed with a key of the user; the tests have one of their own.
_STATE = tempfile.TemporaryDirectory()
os.environ["XDG_STATE_HOME"] = _STATE.name

# A loaded machine is slow, not wrong: nothing here is judged by the clock. Every day a few examples, others each time;
# `make slow` and the mutants try many. What was found is not explained line by line: that takes ten times as long.
settings.register_profile(
    "daily",
    max_examples=6,
    deadline=None,
    derandomize="CI" in os.environ,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
    phases=set(Phase) - {Phase.explain},
)
settings.register_profile("many", settings.get_profile("daily"), max_examples=100)
settings.register_profile("thorough", settings.get_profile("daily"), max_examples=1000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "daily"))

# Programs with their own entry points, the settings of Sphinx, and what runs in other programs hold no tests.
collect_ignore_glob = ["benchmarks/*", "byheart/hosts/written/*", "docs/*.py", "docs/figures/*.py", "tests/mutants/*"]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Stop looking for garbage among the tests, which stay: it took a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(50_000)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, metavar="SEED", help="files, and tests of a file, in an order drawn anew")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests; only the examples of a page depend on it."""
    if (seed := config.getoption("shuffle")) is None:
        return
    rng, files = random.Random(seed), {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    for tests in files.values():
        if isinstance(tests[0], pytest.Function):
            rng.shuffle(tests)
    items[:] = [item for path in rng.sample(list(files), len(files)) for item in files[path]]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Each example in a text looks whether any source that was ever read has changed: let there be none."""
    if not isinstance(item, pytest.Function):
        linecache.clearcache()


def enter_empty_folder(namespace: dict[str, Any]) -> None:
    """Let the examples of one page write where they like."""
    namespace["folder"] = tempfile.TemporaryDirectory()
    namespace["origin"] = os.getcwd()
    os.chdir(namespace["folder"].name)


def leave_empty_folder(namespace: dict[str, Any]) -> None:
    os.chdir(namespace["origin"])
    namespace["folder"].cleanup()


def printed(command: str) -> str:
    """Return what a shell prints for a command on standard output; `byheart` is the command of this checkout."""
    checkout = Path(__file__).parent
    script = (
        f'python() {{ PYTHONPATH="{checkout}${{PYTHONPATH:+:$PYTHONPATH}}" "{sys.executable}" "$@"; }}\n'
        f'byheart() {{ python -m byheart "$@"; }}\n{command}'
    )
    environment = {**os.environ, "COLUMNS": "80"}
    return subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True).stdout


def without_margins(text: str) -> str:
    """Lines without the spaces at their ends, and no empty ones around them."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n") + "\n"


def written_files(document: Document) -> Iterator[Region]:
    """Yield the blocks after `<!-- file: NAME -->`, which are written under that name before the lines below
    them run.
    """
    for found in re.finditer(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", document.text, re.MULTILINE | re.DOTALL):
        yield Region(found.start(), found.start() + len("<!--"), found.groups(), write_file)


def write_file(example: Example) -> None:
    name, text = example.parsed
    Path(name).write_text(text, encoding="utf-8")


def judge_console(example: Example) -> str | None:
    """Run the commands of a block after their `$ `, and say how what they print differs from what is shown."""
    for session in example.parsed.split("$ ")[1:]:
        command, _, shown = session.partition("\n")
        found, expected = without_margins(printed(command)), without_margins(shown)
        if not doctest.OutputChecker().check_output(expected, found, doctest.ELLIPSIS):
            return f"$ {command}\nshown:\n{expected}\nprinted:\n{found}"
    return None


pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS),
        CodeBlockParser("console", judge_console),
        written_files,
    ],
    patterns=["*.md"],
    setup=enter_empty_folder,
    teardown=leave_empty_folder,
).pytest()
