"""The tests of what differs from main, a path a line, for `make check`: of a changed module, and of the repository.

python tests/changed.py                 what differs from main, committed or not
python tests/changed.py COMMIT          from another commit
python tests/changed.py --types [...]   the modules whose types are looked at: these and their importers
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
WINGS = ("byheart", "constructions", "experiments", "verify")
ALWAYS = ["tests/test_repository.py", "tests/test_public_names.py", "tests/test_mutants.py"]
BATTERY = ("test_a_claim_is_complete", "test_the_verdict_is_confirmed")


def differing(base: str) -> list[str]:
    """The files that were changed or added since a commit."""

    def listed(*command: str) -> list[str]:
        return subprocess.run(
            ["git", *command], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.splitlines()

    return [*listed("diff", "--name-only", base), *listed("ls-files", "--others", "--exclude-standard")]


def is_module(path: Path) -> bool:
    # What is written beside weights runs in other programs, and its tests too.
    return path.suffix == ".py" and path.parts[0] in WINGS and "written" not in path.parts


def chosen(paths: Iterable[str]) -> Iterator[str]:
    """What pytest is given: changed tests and pages, changed modules for their examples, the tests of their names."""
    yield from ALWAYS
    for path in map(Path, paths):
        module = is_module(path)
        if module or (path.suffix == ".md" and path.parts[0] == "docs") or path.match("test_*.py"):
            if "written" not in path.parts:
                yield path.as_posix()
        if module:
            yield Path("tests", path.parent, f"test_{path.stem}.py").as_posix()
        if module and path.parent == Path("verify/theorems/claims") and (ROOT / path).is_file():
            for id in re.findall(r'^ +id="([\w.-]+)"', (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE):
                yield from (f"tests/contract/test_claims.py::{test}[{id}]" for test in BATTERY)


def imported(text: str) -> set[str]:
    """The modules that a module imports, and what it takes out of them, with dots."""
    found = set(re.findall(r"^ *import ([\w.]+)", text, re.MULTILINE))
    for room, names in re.findall(r"^ *from ([\w.]+) import (\([^)]*\)|.*)", text, re.MULTILINE):
        found |= {room, *(f"{room}.{name}" for name in re.findall(r"\w+", names))}
    return found


def typed(paths: Iterable[str]) -> Iterator[str]:
    """The changed modules, and those that import one of them."""
    changed = {path for path in map(Path, paths) if is_module(path)}
    names = {".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in changed}
    for path in sorted(path for wing in WINGS for path in (ROOT / wing).rglob("*.py")) if names else ():
        own = path.relative_to(ROOT)
        if own in changed or (is_module(own) and not names.isdisjoint(imported(path.read_text(encoding="utf-8")))):
            yield own.as_posix()


if __name__ == "__main__":
    commits = [argument for argument in sys.argv[1:] if argument != "--types"]
    paths = differing(*commits or ["main"])
    found = typed(paths) if "--types" in sys.argv else chosen(paths)
    print("\n".join(path for path in dict.fromkeys(found) if (ROOT / path.partition("::")[0]).is_file()))
