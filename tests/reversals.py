"""What a commit takes back of an earlier one without a word: its new lines are gone and the old ones are there again.

python tests/reversals.py                   every commit of the history
python tests/reversals.py main..HEAD        what these commits take back of any earlier one
python tests/reversals.py --within 20       of the last 20 commits before each
python tests/reversals.py --least 1         also where it is a line or two

A file is found again under any name, and blank and thin lines count for nothing. A commit whose subject says that it
takes something back is passed over. Of each finding it says how many of the lines that were taken back are in no file
today. It ends with 1 if there is a finding, which a person judges: most are deliberate. A shallow clone is not looked
at, which it says.
"""

import argparse
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

SAID = re.compile(r"\b(revert\w*|undo\w*|restor\w+|back)\b", re.I)
"""A subject that says it: of a commit that takes back, or that puts back what another took."""

LEAST = 5
"""Lines, lost and gained, from which a finding is shown: less is an import, or a number that was tried."""

THIN = 10
"""Letters and digits that a line has at least to count: below that it is a bracket, `else:` or `return x`."""


@dataclass(frozen=True)
class Hunk:
    """What one place of a file lost and gained, without its thin lines."""

    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass
class Change:
    """What a commit did to one file."""

    path: str
    hunks: list[Hunk] = field(default_factory=list)

    def lines(self, side: str) -> Counter[str]:
        return Counter(line for hunk in self.hunks for line in getattr(hunk, side))


@dataclass
class Commit:
    """A commit, and its place in the history, oldest first."""

    place: int
    sha: str
    subject: str
    parents: tuple[str, ...]
    changes: list[Change] = field(default_factory=list)


@dataclass(frozen=True)
class Reversal:
    """A file in which a later commit takes back hunks of an earlier one."""

    earlier: Commit
    later: Commit
    path: str
    hunks: tuple[Hunk, ...]


def git(root: Path, *command: str) -> str:
    found = subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)
    return found.stdout.decode("utf-8", "replace")


def commits(root: Path) -> list[Commit]:
    """The history of HEAD, oldest first; a merge with its changes from each of its parents."""
    text = git(
        root, "-c", "core.quotePath=false", "log", "--reverse", "--topo-order", "--patch", "--unified=0",
        "--find-renames", "-m", "--no-color", "--no-ext-diff", "--format=%x00%H%x01%P%x01%s",
    )  # fmt: skip
    found: dict[str, Commit] = {}
    for part in text.split("\0")[1:]:
        head, _, patch = part.partition("\n")
        sha, parents, subject = head.split("\1", 2)
        commit = found.setdefault(sha.split()[0], Commit(len(found), sha.split()[0], subject, tuple(parents.split())))
        commit.changes += changes(patch.split("\n"))
    return list(found.values())


def changes(lines: Iterable[str]) -> Iterator[Change]:
    """The files of a patch; a patch of no context has a hunk for each place."""
    change, removed, added = None, [], []

    def closed() -> None:
        if change is not None and (removed or added):
            change.hunks.append(Hunk(tuple(removed), tuple(added)))
        removed.clear()
        added.clear()

    in_hunk = False
    for line in lines:
        if line.startswith("diff --git "):
            closed()
            if change is not None:
                yield change
            change, in_hunk = Change(line.rpartition(" b/")[2]), False
        elif line.startswith("@@ "):
            closed()
            in_hunk = True
        elif in_hunk and line[:1] in "-+" and counts(line[1:]):
            (removed if line[0] == "-" else added).append(" ".join(line[1:].split()))
    closed()
    if change is not None:
        yield change


def counts(line: str) -> bool:
    return sum(map(str.isalnum, line)) >= THIN and not line.startswith(("<<<<<<< ", ">>>>>>> "))


def reversals(
    history: list[Commit], *, later: set[str] | None, within: int | None, least: int
) -> Iterator[list[Reversal]]:
    """What later commits take back in silence: for each pair of commits its files, by the later one.

    One hunk that puts an old text in the place of a new one has to be among what a commit takes back of another; then
    what the other had only added or only removed counts too. By itself, to remove what was added is how code goes.

    Args:
        history: Oldest first.
        later: Ids of the commits that may take back; none: all.
        within: Of how many commits before them; none: of all.
        least: Lines, lost and gained, that are taken back.
    """
    lost: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))  # line -> commit -> its files
    gained: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for commit in history:
        if (later is None or commit.sha in later) and not SAID.search(commit.subject):
            for number, change in enumerate(commit.changes):
                for side, where in (("removed", lost), ("added", gained)):
                    for line in change.lines(side):
                        where[line][commit.place].add(number)
    pairs: dict[tuple[int, int], dict[str, list[Hunk]]] = defaultdict(lambda: defaultdict(list))
    for commit in history:
        for change in commit.changes if len(commit.parents) < 2 else ():
            for hunk in change.hunks:
                for place in takers(hunk, lost, gained, after=commit.place, within=within):
                    pairs[place, commit.place][change.path].append(hunk)
    taken = {earlier for place, earlier in pairs if len(history[place].parents) < 2}
    one_sided = one_sided_of(history)
    for (place, earlier), files in sorted(pairs.items()):
        if place in one_sided and (earlier in taken or not one_sided[place] >> earlier & 1):
            continue  # a merge shows what the commits of its other side did too
        hunks = [hunk for hunks in files.values() for hunk in hunks]
        lines = sum(len(hunk.added) + len(hunk.removed) for hunk in hunks)
        if lines >= least and any(hunk.added and hunk.removed for hunk in hunks):
            taken.add(earlier)
            yield [Reversal(history[earlier], history[place], path, tuple(each)) for path, each in files.items()]


def one_sided_of(history: list[Commit]) -> dict[int, int]:
    """For each merge the commits, as bits, that not all of its sides had: those that it may lose."""
    reached: dict[str, int] = {}
    found = {}
    for commit in history:
        sides = [reached[parent] for parent in commit.parents]
        every, common = 0, -1
        for side in sides:
            every, common = every | side, common & side
        if len(sides) > 1:
            found[commit.place] = every & ~common
        reached[commit.sha] = every | 1 << commit.place
    return found


def takers(hunk: Hunk, lost: dict, gained: dict, *, after: int, within: int | None) -> set[int]:
    """The places of the commits that remove, in one file, all that the hunk added and add all that it removed."""
    wanted = [(lost, line) for line in hunk.added] + [(gained, line) for line in hunk.removed]
    if set(hunk.added) & set(hunk.removed):  # only moved or indented
        return set()
    files: set[tuple[int, int]] | None = None
    for where, line in wanted:
        here = {
            (place, number)
            for place, numbers in where.get(line, {}).items()
            if place > after and (within is None or place <= after + within)
            for number in numbers
        }
        files = here if files is None else files & here
        if not files:
            return set()
    return {place for place, _ in files or ()}


def lines_today(root: Path) -> set[str]:
    """The lines of all tracked files, as hunks have them."""
    found = set()
    for name in git(root, "ls-files", "-z").split("\0"):
        if name and (root / name).is_file():
            text = (root / name).read_bytes().decode("utf-8", "replace")
            found |= {" ".join(line.split()) for line in text.split("\n") if counts(line)}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("commits", nargs="?", help="which commits may take back, as git log takes them; default: all")
    parser.add_argument("--within", type=int, help="of how many commits before them; default: of all")
    parser.add_argument("--least", type=int, default=LEAST, help=f"lines, lost and gained; default: {LEAST}")
    options = parser.parse_args()
    root = Path(git(Path.cwd(), "rev-parse", "--show-toplevel").strip())
    if git(root, "rev-parse", "--is-shallow-repository").strip() == "true":
        print("not looked at: this clone is shallow, and what is earlier is missing (git fetch --unshallow)")
        return 0
    later = set(git(root, "rev-list", options.commits).split()) if options.commits else None
    found = list(reversals(commits(root), later=later, within=options.within, least=options.least))
    print(f"{len(found)} times a commit takes back part of an earlier one and its subject does not say so")
    today = lines_today(root) if found else set()
    for files in found:
        earlier, taker = files[0].earlier, files[0].later
        print(f"\n{taker.sha[:8]} {taker.subject[:100]}\n  of {earlier.sha[:8]} {earlier.subject[:100]}")
        for each in files:
            added = [line for hunk in each.hunks for line in hunk.added]
            missing = sum(line not in today for line in added)
            print(f"    {each.path}: {len(each.hunks)} places; {missing} of {len(added)} lines missing today")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
