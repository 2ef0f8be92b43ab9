"""What a checker makes of the folders, and whether it may be trusted with others."""

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.corpus.cases import Case

Check = Callable[[Path], int]
CODES = {"proved": 0, "refuted": 1, "refused": 2, "undecided": 3}
"""The exit code of each answer."""


@dataclass(frozen=True)
class Judgement:
    """What came of one folder.

    Args:
        case: The folder.
        code: The exit code of the checker; another one than those of `CODES` is no answer.
        fate: ``"right"``; ``"undecided"``, of a good folder; or a fault: ``"accepted"`` for what is not proved,
            ``"refused"`` for what is true, ``"no answer"``.
    """

    case: Case
    code: int
    fate: str

    @property
    def is_fault(self) -> bool:
        """Whether no checker may do that."""
        return self.fate in ("accepted", "refused", "no answer")


def judgement(case: Case, code: int) -> Judgement:
    """What an exit code says of a folder.

    A bad folder may be answered by anything but yes. A good one has one right answer, beside which undecided is no
    fault, but is counted.
    """
    if code not in CODES.values():
        fate = "no answer"
    elif case.sort == "bad":
        fate = "accepted" if code == CODES["proved"] else "right"
    elif code == CODES[case.expected]:
        fate = "right"
    else:
        fate = {CODES["proved"]: "accepted", CODES["undecided"]: "undecided"}.get(code, "refused")
    return Judgement(case, code, fate)


def judged(cases: Iterable[Case], folders: Path, check: Check, jobs: int = 1) -> list[Judgement]:
    """The folders of the cases, one after the other or so many at a time."""
    cases = list(cases)
    places = [folders / case.name for case in cases]
    if jobs == 1:
        return [judgement(case, check(place)) for case, place in zip(cases, places, strict=True)]
    with ThreadPoolExecutor(jobs) as pool:
        return [judgement(case, code) for case, code in zip(cases, pool.map(check, places), strict=True)]


def command(words: Sequence[str], seconds: float) -> Check:
    """The checker that a command line is, the folder behind it; one that takes longer gives no answer."""
    return partial(_exit_code, words, seconds)


def _exit_code(words: Sequence[str], seconds: float, folder: Path) -> int:
    try:
        return subprocess.run([*words, str(folder)], capture_output=True, timeout=seconds, check=False).returncode
    except subprocess.TimeoutExpired:
        return -1


def exit_code(found: Sequence[Judgement]) -> int:
    """Of the whole: 0 if all is right, 1 if there is a fault, 3 if good folders were left undecided."""
    if any(each.is_fault for each in found):
        return 1
    return 3 if any(each.fate == "undecided" for each in found) else 0


def headline(found: Sequence[Judgement]) -> str:
    """The answer in one line."""
    good, bad = ([each for each in found if each.case.sort == sort] for sort in ("good", "bad"))
    fates = Counter((each.case.sort, each.fate) for each in found)
    right = f"{fates['good', 'right']} of {len(good)} good folders answered rightly"
    rejected = f"{fates['bad', 'right']} of {len(bad)} bad ones not accepted"
    word = {0: "PASSED", 1: "FAILED", 3: "INCOMPLETE"}[exit_code(found)]
    faults = [
        f"{count} {sort} {fate}" for (sort, fate), count in sorted(fates.items()) if fate not in ("right", "undecided")
    ]
    undecided = [f"{fates['good', 'undecided']} good undecided"] if fates["good", "undecided"] else []
    return f"{word}: {'; '.join([right, rejected, *faults, *undecided])}"


def table(found: Sequence[Judgement]) -> list[str]:
    """What came of each kind of statement, line by line."""
    kinds = sorted({each.case.kind for each in found})
    lines = [f"{'kind':16} {'good right':>10} {'undecided':>9} {'faults':>6}   {'bad rejected':>12} {'faults':>6}"]
    for kind in kinds:
        own = [each for each in found if each.case.kind == kind]
        counts = Counter((each.case.sort, "fault" if each.is_fault else each.fate) for each in own)
        numbers = [counts["good", "right"], counts["good", "undecided"], counts["good", "fault"]]
        others = [counts["bad", "right"], counts["bad", "fault"]]
        lines.append(f"{kind:16} {numbers[0]:10} {numbers[1]:9} {numbers[2]:6}   {others[0]:12} {others[1]:6}")
    return lines


def faults(found: Sequence[Judgement]) -> list[str]:
    """Each folder that was not answered rightly, with what is in it."""
    return [
        f"{each.fate} (exit code {each.code}): {each.case.name}: {each.case.about}"
        for each in found
        if each.fate != "right"
    ]


def as_json(found: Sequence[Judgement]) -> str:
    """All answers."""
    rows: list[dict[str, Any]] = [
        {"name": each.case.name, "expected": each.case.expected, "code": each.code, "fate": each.fate} for each in found
    ]
    return json.dumps({"headline": headline(found), "folders": rows})
