"""Draw mutants of a room of `verify`, run its tests on each, and list those that no test notices.

    python -m tests.operator_mutants --room kernel --sample 50 --seed 1   fifty of the kernel
    python -m tests.operator_mutants --room runs --file sums              all of the sources with this in their name
    python -m tests.operator_mutants --room kernel --function _softmax    all of one function
    python -m tests.operator_mutants --room kernel --narrow               only the tests of the source itself

Each mutant is tried with the tests of its source; what survives them is tried with all tests of the room and its
attacks. What came out is noted in `out/operator_mutants/ROOM.jsonl`, and is not tried again while the source and its
tests are the same; the survivors are written to `out/operator_mutants/ROOM.csv`. The exit status is 1 if there is
one.
"""

import argparse
import csv
import hashlib
import importlib
import json
import os
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from tests.mutants import Mutant
from tests.mutants.run import LIBRARIES, Outcome, copy_of_the_repository, judge_all, row
from tests.operator_mutants.equivalent import EQUIVALENT
from tests.operator_mutants.operators import Change, changes

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("arithmetic", "forward", "kernel", "provers", "runs")
ATTACKS = {
    "arithmetic": ["arithmetic_attacks", "edges_of_bounds", "products_near_their_bound", "squares_near_their_bound"],
    "forward": ["beyond_the_ladder", "edges_of_bounds", "kept_leads"],
    "kernel": ["corpus", "forged_edits", "kernel_attacks", "random_folders", "tampering", "two_readers"],
    "provers": ["corpus", "forged_edits", "random_folders", "tampering", "two_readers"],
    "runs": ["clauses_of_a_run", "exact_sums_near_their_bound", "runs_near_their_bound", "runs_without_rounding"],
}
SECONDS = 120.0  # after which tests of a mutant have no end

Noted = dict[tuple[str, Mutant], tuple[Outcome, float]]


def candidates(room: str, name: str = "", function: str = "") -> Iterator[tuple[str, Change]]:
    """Yield the changes of the sources of a room, but those that nothing can notice."""
    for path in sorted((ROOT / "verify" / room).rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        if name not in path.stem:
            continue
        for change in changes(path.read_text(encoding="utf-8")):
            if function in change.function and not any(known.is_of(file, change) for known in EQUIVALENT):
                yield file, change


def mutant_of(file: str, change: Change, tests: str) -> Mutant:
    """Return a change as a piece of text that occurs once, and what becomes of it."""
    source = (ROOT / file).read_text(encoding="utf-8")
    start, end = change.start, change.end
    while source.count(source[start:end]) > 1:
        start = source.rfind("\n", 0, max(start - 1, 0)) + 1
        end = (source.find("\n", end + 1) + len(source) + 1) % (len(source) + 1)
    mutated = source[start : change.start] + change.after + source[change.end : end]
    why = f"{change.function or 'at the top'}: {change.operator}: {change.before} -> {change.after}"
    return Mutant(file, source[start:end], mutated, tests, why)


def narrow_tests(file: str) -> str:
    """Return the tests that mirror a source."""
    path = Path(file)
    return f"tests/{path.parent.as_posix()}/test_{path.stem.strip('_')}.py"


def wide_tests(room: str) -> str:
    """Return all tests of a room and the attacks on it."""
    return " ".join([f"tests/verify/{room}", *(f"tests/falsify/test_{name}.py" for name in ATTACKS[room])])


def state_of(mutant: Mutant) -> str:
    """A hash of a source and of its tests: while these are the same, so is what was noted of it."""
    found = hashlib.sha256()
    for name in (mutant.file, *mutant.tests.split()):
        for path in sorted((ROOT / name).rglob("*.py")) or [ROOT / name]:
            found.update(path.read_bytes() + b"\0")
    return found.hexdigest()


def noted_in(log: Path) -> Noted:
    """What was noted of mutants, each in a state of its source and tests."""
    found: Noted = {}
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else []:
        note = json.loads(line)
        found[note["state"], Mutant(**note["mutant"])] = Outcome(**note["outcome"]), note["seconds"]
    return found


def survivors(mutants: list[Mutant], copies: list[Path], log: Path) -> list[Mutant]:
    """Try mutants, print and note what becomes of each, and return those that no test noticed."""
    noted, killers = noted_in(log), defaultdict[str, dict[str, str]](dict)
    known = [(each, *noted[state_of(each), each]) for each in mutants if (state_of(each), each) in noted]
    new = [each for each in mutants if (state_of(each), each) not in noted]
    for each, found, _ in known:
        killers[each.file] |= {found.killer: each.tests} if found.killer else {}
    alive = [each for each, found, _ in known if not found.killer and not found.broken]
    for each, found, seconds in judge_all(new, copies, killers, SECONDS):
        print(row(each, found, seconds), flush=True)
        note = {"state": state_of(each), "mutant": asdict(each), "outcome": asdict(found), "seconds": seconds}
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(note) + "\n")
        if not found.killer and not found.broken:
            alive.append(each)
    return alive


def with_tests(mutants: Iterable[Mutant], tests: str) -> list[Mutant]:
    return [Mutant(each.file, each.original, each.mutated, tests, each.why) for each in mutants]


def main(words: list[str] | None = None) -> int:
    what_it_does = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.operator_mutants", description=what_it_does)
    parser.add_argument("--room", required=True, choices=ROOMS, help="the folder of verify whose sources are changed")
    parser.add_argument("--file", default="", metavar="TEXT", help="only sources with TEXT in their name")
    parser.add_argument("--function", default="", metavar="TEXT", help="only functions with TEXT in their name")
    parser.add_argument("--sample", type=int, metavar="N", help="so many of them, drawn by --seed (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (default: %(default)s)")
    parser.add_argument("--narrow", action="store_true", help="try only the tests of the source itself")
    parser.add_argument("--jobs", type=int, default=1, help="how many mutants run at the same time")
    asked = parser.parse_args(words)
    drawn = list(candidates(asked.room, asked.file, asked.function))
    if not drawn:
        raise SystemExit(f"no mutants of {asked.file} {asked.function}".rstrip())
    if asked.sample is not None and asked.sample < len(drawn):
        drawn = random.Random(asked.seed).sample(drawn, asked.sample)
    mutants = [mutant_of(file, change, narrow_tests(file)) for file, change in sorted(drawn)]
    folder = ROOT / "out" / "operator_mutants"
    folder.mkdir(parents=True, exist_ok=True)
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # as in conftest.py, before numpy is imported
    for library in LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(library)
    log = folder / f"{asked.room}.jsonl"
    print("| file | mutant | killed by | s |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        copies = [Path(temporary) / str(number) for number in range(asked.jobs)]
        for copy in copies:
            copy_of_the_repository(copy)
        untested = [each for each in mutants if not (ROOT / each.tests).exists()]
        alive = untested + survivors([each for each in mutants if each not in untested], copies, log)
        if alive and not asked.narrow:
            alive = survivors(with_tests(alive, wide_tests(asked.room)), copies, log)
    with (folder / f"{asked.room}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows((each.file, each.why) for each in alive)
    print(f"\n{len(mutants)} mutants, {len(alive)} survive.")
    for each in alive:
        print(f"- {each.file}: {' '.join(each.why.split())}")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
