"""Run a checker on the folders of the corpus and score its answers."""

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.corpus.cases import Case

Checker = Callable[[Path], int]
"""A function from a folder to an exit code."""

CODES = {"proved": 0, "refuted": 1, "refused": 2, "undecided": 3}
"""The exit code of each answer."""


@dataclass(frozen=True)
class Score:
    """The score of a checker's answer to one folder.

    Args:
        case: The folder.
        code: The exit code; a code outside of `CODES` is no answer.
        fate: ``"right"``; ``"undecided"`` for a good folder that was not decided; or a fault: ``"accepted"`` if the
            answer was proved and should not be, ``"refused"`` if a right folder was rejected, ``"no answer"``.
    """

    case: Case
    code: int
    fate: str

    @property
    def is_fault(self) -> bool:
        """Return whether a correct checker never does this."""
        return self.fate in ("accepted", "refused", "no answer")


def score(case: Case, code: int) -> Score:
    """Score the exit code of a checker on one folder.

    Every answer except proved is right for a bad folder. A good folder has one right answer; undecided is a miss.
    """
    if code not in CODES.values():
        fate = "no answer"
    elif case.sort == "bad":
        fate = "accepted" if code == CODES["proved"] else "right"
    elif code == CODES[case.expected]:
        fate = "right"
    else:
        fate = {CODES["proved"]: "accepted", CODES["undecided"]: "undecided"}.get(code, "refused")
    return Score(case, code, fate)


def run_checker(checker: Checker, cases: Iterable[Case], folders: Path, jobs: int = 1) -> list[Score]:
    """Run a checker on the folders of these cases, `jobs` at a time."""
    cases = list(cases)
    paths = [folders / case.name for case in cases]
    if jobs == 1:
        codes = [checker(path) for path in paths]
    else:
        with ThreadPoolExecutor(jobs) as pool:
            codes = list(pool.map(checker, paths))
    return [score(case, code) for case, code in zip(cases, codes, strict=True)]


def command_checker(words: Sequence[str], seconds: float) -> Checker:
    """Return the checker that runs a command line with the folder as its last argument, with a timeout."""
    return partial(_exit_code, words, seconds)


def _exit_code(words: Sequence[str], seconds: float, folder: Path) -> int:
    try:
        return subprocess.run([*words, str(folder)], capture_output=True, timeout=seconds, check=False).returncode
    except subprocess.TimeoutExpired:
        return -1


def exit_code(scores: Sequence[Score]) -> int:
    """Return 0 if every answer is right, 1 if there is a fault, and 3 if there are only misses."""
    if any(result.is_fault for result in scores):
        return 1
    return 3 if any(result.fate == "undecided" for result in scores) else 0


def headline(scores: Sequence[Score]) -> str:
    """Return the result in one line."""
    total = Counter(result.case.sort for result in scores)
    fates = Counter((result.case.sort, result.fate) for result in scores)
    parts = [
        f"{fates['good', 'right']} of {total['good']} good folders answered rightly",
        f"{total['bad'] - fates['bad', 'accepted']} of {total['bad']} bad folders not accepted",
    ]
    parts += [f"{count} {sort} {fate}" for (sort, fate), count in sorted(fates.items()) if fate != "right"]
    word = {0: "PASSED", 1: "FAILED", 3: "INCOMPLETE"}[exit_code(scores)]
    return f"{word}: {'; '.join(parts)}"


def table(scores: Sequence[Score]) -> list[str]:
    """Return a table with one line per kind of statement."""
    lines = [f"{'kind':16} {'good right':>10} {'undecided':>9} {'faults':>6}   {'bad rejected':>12} {'faults':>6}"]
    for kind in sorted({result.case.kind for result in scores}):
        counts = Counter(
            (result.case.sort, "fault" if result.is_fault else result.fate)
            for result in scores
            if result.case.kind == kind
        )
        good = f"{counts['good', 'right']:10} {counts['good', 'undecided']:9} {counts['good', 'fault']:6}"
        lines.append(f"{kind:16} {good}   {counts['bad', 'right']:12} {counts['bad', 'fault']:6}")
    return lines


def mistakes(scores: Sequence[Score]) -> list[str]:
    """Return one line per folder that was not answered rightly."""
    return [
        f"{result.fate} (exit code {result.code}): {result.case.name}: {result.case.about}"
        for result in scores
        if result.fate != "right"
    ]


def as_json(scores: Sequence[Score]) -> str:
    """Return all scores as JSON."""
    folders = [
        {"name": result.case.name, "expected": result.case.expected, "code": result.code, "fate": result.fate}
        for result in scores
    ]
    return json.dumps({"headline": headline(scores), "folders": folders})
