"""Apply every mutant to a copy of the repository, run its tests there, and print which test killed it.

    python -m tests.mutants.run                     all mutants
    python -m tests.mutants.run --only arithmetic   those of tests/mutants/arithmetic.py
    python -m tests.mutants.run --file logits       those whose source file has this in its name
    python -m tests.mutants.run --jobs 4            four at the same time
    python -m tests.mutants.run --log FILE          note every result in FILE, and run only what is not noted there

Every run of tests is a fork of this process, which has loaded the libraries and nothing of the project. The tests that
killed a mutant of the same file before come first, then the quick ones; at the end those that killed are run once more
without any mutant. The exit status is 1 if one fails then, or a mutant survives or cannot be imported.
"""

import argparse
import hashlib
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.mutants import Mutant  # noqa: E402

COPIED = ("byheart", "constructions", "verify", "formal", "tests", "conftest.py", "pyproject.toml")
LIBRARIES = ("flint", "hypothesis.extra.numpy", "mpmath", "numpy", "scipy.linalg", "scipy.special", "sybil", "torch")
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
            shutil.copy2(source, folder / name)


def state_of_the_repository() -> str:
    """A hash of all that is copied but the lists of mutants: what was noted of another state says nothing of this."""
    found = hashlib.sha256()
    for name in COPIED:
        for path in sorted((ROOT / name).rglob("*.py")) or [ROOT / name]:
            if path.parent != Path(__file__).parent:
                found.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


@dataclass(frozen=True)
class Outcome:
    """What became of tests.

    Attributes:
        killer: The first test that failed, or during which the process ended or found no end; empty if there is none.
        ending: How the process ended, where it did not by itself.
        broken: Why the tests that passed say nothing: one could not be imported, or there was none.
        seconds: How long each test took.
    """

    killer: str
    ending: str = ""
    broken: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        if not self.killer:
            return f"**{self.broken or 'survives'}**"
        return f"`{self.killer.partition('::')[2]}`" + (f" ({self.ending})" if self.ending else "")


class Notes:
    """A plugin of pytest that orders the tests, and writes down at once what happens: the process may end any time.

    Args:
        path: Where to write, a JSON object in each line.
        first: Tests that come before the others.
        seconds: How long the others take; the quick ones come first.
        only: Whether the others are left out.
    """

    def __init__(self, path: Path, first: Collection[str], seconds: Mapping[str, float], *, only: bool) -> None:
        self.file, self.first, self.seconds, self.only = path.open("w", buffering=1), first, seconds, only

    def _note(self, **what: object) -> None:
        self.file.write(json.dumps(what) + "\n")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: (item.nodeid not in self.first, self.seconds.get(item.nodeid, 0.0)))
        if self.only:
            items[:] = [item for item in items if item.nodeid in self.first]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._note(broken=f"{report.nodeid} cannot be imported: {str(report.longrepr).splitlines()[-1]}")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._note(test=nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(test=report.nodeid, seconds=report.duration, failed=report.failed)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self._note(status=int(exitstatus))


def read_notes(path: Path, ending: str) -> Outcome:
    """The outcome of a run that ended in the given way, from what it noted."""
    test, broken, status, seconds = "", "", None, defaultdict[str, float](float)
    for line in path.read_text().splitlines():
        note = json.loads(line)
        test, broken, status = note.get("test", test), note.get("broken", broken), note.get("status")
        seconds[test] += note.get("seconds", 0.0)
        if note.get("failed"):
            return Outcome(test)
    if status is None and test:
        return Outcome(test, ending)
    if status != 0 or broken:
        return Outcome("", ending, broken or f"no test was run: {ending}")
    return Outcome("", seconds=dict(seconds))


def outcome_of(
    folder: Path,
    tests: str,
    *,
    first: Collection[str] = (),
    seconds: Mapping[str, float] | None = None,
    only: bool = False,
    compiled: bool = False,
    limit: float = SECONDS,
) -> Generator[None, None, Outcome]:
    """Run tests in a fork with a folder first on the path, and yield while they run.

    Args:
        folder: A copy of the repository.
        tests: Test files in it, separated by blanks.
        first: As of `Notes`; so are `seconds` and `only`.
        compiled: Whether the bytecode is kept: only that of the sources without a mutant.
        limit: Seconds after which there is no end.

    Returns:
        What became of the tests.
    """
    path, start = folder.with_suffix(".notes"), time.perf_counter()
    path.write_text("")
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setpgid(0, 0)
            notes = Notes(path, first, seconds or {}, only=only)
            status = _run_tests(folder, tests, notes, compiled=compiled)
        finally:
            os._exit(status)
    with suppress(OSError):  # the child does the same; one of the two is the first
        os.setpgid(pid, pid)
    try:
        while (ended := os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is None:
            if time.perf_counter() - start > limit:
                return read_notes(path, f"no end within {limit:.0f} s")
            yield
    finally:
        # The child, if it still runs, and whatever it has started and left.
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    how = "status" if ended.si_code == os.CLD_EXITED else "signal"
    return read_notes(path, f"the process ended with {how} {ended.si_status}")


def _run_tests(folder: Path, tests: str, notes: Notes, *, compiled: bool) -> int:
    """What the child does: it knows nothing of the project but what is in the folder, and prints nothing."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    os.chdir(folder)
    # The copy comes first on the path, also where the original is installed in editable mode.
    sys.path[:] = [str(folder), *(entry for entry in sys.path if entry not in ("", str(ROOT)))]
    for name in [name for name in sys.modules if name.partition(".")[0] in (*COPIED, "conftest")]:
        del sys.modules[name]
    scratch = folder.with_suffix(".scratch")  # goes with the copy
    scratch.mkdir(exist_ok=True)
    tempfile.tempdir = None
    sys.dont_write_bytecode = not compiled
    os.environ |= {"PYTHONPATH": str(folder), "TMPDIR": str(scratch), "HYPOTHESIS_PROFILE": "many"}
    os.environ |= {} if compiled else {"PYTHONDONTWRITEBYTECODE": "1"}
    # pytest warns of plugins that were loaded before it could rewrite their assertions.
    options = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*options, *tests.split()], plugins=[notes]))


@contextmanager
def mutated(folder: Path, mutant: Mutant) -> Iterator[None]:
    """The copy with the mutant, as it was before when this ends."""
    target = folder / mutant.file
    source, status = target.read_text(), target.stat()
    try:
        target.write_text(source.replace(mutant.original, mutant.mutated))
        # Bytecode is known by time and length of its source, and a mutant may be as long.
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns + 10**12))
        yield
    finally:
        target.write_text(source)
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


Judged = tuple[Mutant, Outcome, float]


def judge(
    folder: Path, mutants: Iterator[Mutant], killers: Mapping[str, dict[str, str]], limit: float = SECONDS
) -> Generator[Judged | None, None, None]:
    """Try one mutant after the other in a copy that nothing else uses.

    Args:
        folder: The copy.
        mutants: The mutants, shared with other copies.
        killers: The tests that killed mutants of a file, with the test files they were run among; is added to.
        limit: Seconds after which tests have no end.

    Yields:
        Each mutant, what became of its tests, and the seconds it took; `None` while tests run.

    Raises:
        SystemExit: Tests fail without a mutant.
    """
    unmutated: dict[str, Outcome] = {}
    for mutant in mutants:
        if mutant.tests not in unmutated:
            found = yield from outcome_of(folder, mutant.tests, compiled=True, limit=limit)
            if found.killer or found.broken:
                raise SystemExit(f"without any mutant: {found.broken or found.killer} fails {found.ending}".rstrip())
            unmutated[mutant.tests] = found
        start, first = time.perf_counter(), killers[mutant.file]
        with mutated(folder, mutant):
            found = yield from outcome_of(
                folder, mutant.tests, first=first, seconds=unmutated[mutant.tests].seconds, limit=limit
            )
        if found.killer:
            first[found.killer] = mutant.tests
        yield mutant, found, time.perf_counter() - start


def judge_all(
    mutants: list[Mutant], folders: list[Path], killers: Mapping[str, dict[str, str]], limit: float = SECONDS
) -> Iterator[Judged]:
    """Try the mutants in several copies at the same time; arguments as of `judge`."""
    waiting = iter(mutants)
    lanes = [judge(folder, waiting, killers, limit) for folder in folders]
    try:
        while lanes:
            for lane in list(lanes):
                try:
                    found = next(lane)
                except StopIteration:
                    lanes.remove(lane)
                else:
                    if found is not None:
                        yield found
            time.sleep(0.02)
    finally:
        for lane in lanes:
            lane.close()


def finished(run: Generator[None, None, Outcome]) -> Outcome:
    """The outcome of a run for which nothing else waits."""
    while True:
        try:
            next(run)
        except StopIteration as end:
            return end.value
        time.sleep(0.02)


def noted_in(log: Path, state: str) -> dict[Mutant, tuple[Outcome, float]]:
    """What was noted of mutants of this state of the repository, with the seconds they took."""
    notes = [json.loads(line) for line in log.read_text().splitlines()]
    return {
        Mutant(**note["mutant"]): (Outcome(**note["outcome"]), note["seconds"])
        for note in notes
        if note["state"] == state
    }


def row(mutant: Mutant, found: Outcome, seconds: float) -> str:
    cells = (mutant.file, mutant.why, str(found))
    return f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in cells)} | {seconds:.1f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the mutants of the certifying core.")
    parser.add_argument("--only", metavar="NAME", help="only the mutants of tests/mutants/NAME.py")
    parser.add_argument(
        "--file", metavar="TEXT", default="", help="only the mutants of source files with TEXT in their path"
    )
    parser.add_argument("--jobs", type=int, default=1, help="how many mutants run at the same time")
    parser.add_argument(
        "--log", metavar="FILE", type=Path, help="where results are noted; those in it are not run again"
    )
    arguments = parser.parse_args()
    files = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    names = [name for name in files if name not in ("__init__", "run") and arguments.only in (None, name)]
    if not names:
        raise SystemExit(f"no mutants named {arguments.only}")
    mutants = [mutant for name in names for mutant in mutants_of(name) if arguments.file in mutant.file]
    if not mutants:
        raise SystemExit(f"no mutants of {arguments.file}")
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # as in conftest.py, before numpy is imported
    for library in LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(library)
    log: Path | None = arguments.log
    state = state_of_the_repository()
    noted = {} if log is None or not log.exists() else noted_in(log, state)
    killers: dict[str, dict[str, str]] = defaultdict(dict)
    failures = 0
    print("| file | mutant | killed by | s |")
    print("|---|---|---|---|")
    for mutant in mutants:
        if mutant in noted:
            found, seconds = noted[mutant]
            killers[mutant.file] |= {found.killer: mutant.tests} if found.killer else {}
            failures += not found.killer
            print(row(mutant, found, seconds))
    with tempfile.TemporaryDirectory() as temporary:
        copies = [Path(temporary) / str(number) for number in range(arguments.jobs)]
        for copy in copies:
            copy_of_the_repository(copy)
        for mutant, found, seconds in judge_all([one for one in mutants if one not in noted], copies, killers):
            failures += not found.killer
            print(row(mutant, found, seconds), flush=True)
            if log is not None:
                note = {"state": state, "mutant": asdict(mutant), "outcome": asdict(found), "seconds": seconds}
                with log.open("a") as file:
                    file.write(json.dumps(note) + "\n")
        tests = {test: among for of_a_file in killers.values() for test, among in of_a_file.items()}
        among = " ".join(sorted({test.partition("::")[0] for test in tests}))
        again = finished(outcome_of(copies[0], among, first=tests, only=True)) if tests else Outcome("")
    print(f"\n{len(mutants)} mutants, {failures} survive.")
    if again.killer or again.broken:
        print(f"{again.killer or again.broken} fails among the tests that killed, without any mutant")
    return 1 if failures or again.killer or again.broken else 0


if __name__ == "__main__":
    sys.exit(main())
