"""The tests of what differs from main, a path a line, for `make check`: of a changed module, and of the repository.

python tests/changed.py          what differs from main, committed or not
python tests/changed.py COMMIT   from another commit
"""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ALWAYS = ["tests/test_repository.py", "tests/test_public_names.py", "tests/test_mutants.py"]


def differing(base: str) -> list[str]:
    """The files that were changed or added since a commit."""

    def listed(*command: str) -> list[str]:
        return subprocess.run(
            ["git", *command], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.splitlines()

    return [*listed("diff", "--name-only", base), *listed("ls-files", "--others", "--exclude-standard")]


def chosen(paths: Iterable[str]) -> Iterator[str]:
    """What pytest is given: changed tests and pages, changed modules for their examples, the tests of their names."""
    yield from ALWAYS
    for path in map(Path, paths):
        module = path.suffix == ".py" and path.parts[0] in ("byheart", "constructions", "verify")
        if module and "written" in path.parts:  # runs in other programs, and its tests too
            continue
        if module or (path.suffix == ".md" and path.parts[0] == "docs") or path.match("test_*.py"):
            yield path.as_posix()
        if module:
            yield Path("tests", path.parent, f"test_{path.stem}.py").as_posix()


if __name__ == "__main__":
    found = dict.fromkeys(path for path in chosen(differing(*sys.argv[1:] or ["main"])) if (ROOT / path).is_file())
    print("\n".join(found))
