"""Apply every mutant to a copy of the repository, run its tests there, and print which test killed it.

    python -m tests.mutants.run                     all mutants
    python -m tests.mutants.run --only arithmetic   those of tests/mutants/arithmetic.py
    python -m tests.mutants.run --file logits       those whose source file has this in its name
    python -m tests.mutants.run --jobs 4            four at the same time

The exit status is 1 if a mutant survives.
"""

import argparse
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.mutants import Mutant  # noqa: E402

COPIED = ("byheart", "constructions", "verify", "tests", "conftest.py", "pyproject.toml")
SECONDS = 600.0


def mutants_of(name: str) -> list[Mutant]:
    """The list MUTANTS of tests/mutants/<name>.py, checked against the sources."""
    mutants: list[Mutant] = importlib.import_module(f"tests.mutants.{name}").MUTANTS
    for mutant in mutants:
        occurrences = (ROOT / mutant.file).read_text().count(mutant.original)
        if occurrences != 1:
            raise SystemExit(f"{mutant.file}: {mutant.original!r} occurs {occurrences} times, expected once")
        if mutant.original == mutant.mutated:
            raise SystemExit(f"{mutant.file}: {mutant.original!r} is not changed by its mutant")
    return mutants


def copy_of_the_repository(folder: Path) -> None:
    folder.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)


def failing_test(folder: Path, tests: str) -> str | None:
    """The first test that fails in the folder, or None if all pass."""
    # The copy comes first on the path, also where the original is installed in editable mode; no stale bytecode.
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests.split()]
    try:
        run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"(no end within {SECONDS:.0f} s)"
    if run.returncode == 0:
        return None
    named = re.search(r"^(?:FAILED|ERROR) \S+?::(.+?)(?: - .*)?$", run.stdout, re.MULTILINE)
    if named is None:
        # A mutant that cannot be imported is killed by no test, and proves nothing.
        raise SystemExit(f"pytest ended with status {run.returncode} and named no test:\n{run.stdout}\n{run.stderr}")
    return named.group(1)


def one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def judge(mutant: Mutant, folders: Queue[Path]) -> tuple[str | None, float]:
    """Which test kills the mutant, in a copy that no other mutant is using, and after how many seconds."""
    folder = folders.get()
    target = folder / mutant.file
    source = target.read_text()
    target.write_text(source.replace(mutant.original, mutant.mutated))
    start = time.perf_counter()
    try:
        return failing_test(folder, mutant.tests), time.perf_counter() - start
    finally:
        target.write_text(source)
        folders.put(folder)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the mutants of the certifying core.")
    parser.add_argument("--only", metavar="NAME", help="only the mutants of tests/mutants/NAME.py")
    parser.add_argument(
        "--file", metavar="TEXT", default="", help="only the mutants of source files with TEXT in their path"
    )
    parser.add_argument("--jobs", type=int, default=1, help="how many mutants run at the same time")
    arguments = parser.parse_args()
    files = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    names = [name for name in files if name not in ("__init__", "run") and arguments.only in (None, name)]
    if not names:
        raise SystemExit(f"no mutants named {arguments.only}")
    mutants = [mutant for name in names for mutant in mutants_of(name) if arguments.file in mutant.file]
    if not mutants:
        raise SystemExit(f"no mutants of {arguments.file}")
    survivors = 0
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(arguments.jobs) as pool:
        copies = [Path(temporary) / str(number) for number in range(arguments.jobs)]
        folders: Queue[Path] = Queue()
        for copy in copies:
            copy_of_the_repository(copy)
            folders.put(copy)
        for tests in sorted({mutant.tests for mutant in mutants}):
            if failed := failing_test(copies[0], tests):
                raise SystemExit(f"{failed} fails without any mutant")
        print("| file | mutant | killed by | s |")
        print("|---|---|---|---|")
        for mutant, (killer, seconds) in zip(mutants, pool.map(lambda one: judge(one, folders), mutants), strict=True):
            survivors += killer is None
            killed_by = f"`{killer}`" if killer else "**survives**"
            print(f"| {mutant.file} | {one_line(mutant.why)} | {one_line(killed_by)} | {seconds:.1f} |", flush=True)
    print(f"\n{len(mutants)} mutants, {survivors} survive.")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
