"""Run `python -I -m verify.kernel FOLDER` to prove the certificate of a folder; `--size` counts the code to trust.

With `--kinds KINDS` the kinds of statements of the folder KINDS are known, and believed, too.

Exit codes: 0 PROVED, 1 NOT PROVED, 2 BAD INPUT, 3 UNDECIDED.
"""

import ast
import io
import sys
from collections.abc import Sequence
from pathlib import Path

from verify.kernel.check import outcome
from verify.kernel.kinds import kinds_in
from verify.kernel.verdicts import BadInputError

_USAGE = "usage: python -I -m verify.kernel FOLDER [--kinds KINDS] | --size"


def main(arguments: Sequence[str]) -> int:
    """Check a folder, or print the sizes; returns the exit code."""
    if list(arguments) == ["--size"]:
        print(_sizes())
        return 0
    folder, *more = arguments or ["-"]
    if folder.startswith("-") or (more and (len(more) != 2 or more[0] != "--kinds")):
        print(_USAGE, file=sys.stderr)
        return 2
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files may hold what no text does
    try:
        kinds = kinds_in(Path(more[1])) if more else []
    except BadInputError as error:
        print(f"{error.word}: {error}")
        return error.exit_code
    code, text = outcome(Path(folder), kinds, tell=lambda line: print(line, file=sys.stderr, flush=True))
    print(text)
    return code


def _sizes() -> str:
    """Return the syntax nodes (expressions and statements) of each file, for the kinds and for the shared code."""
    trees = {
        path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(Path(__file__).parent.glob("*.py"))
    }
    sizes = {
        name: sum(isinstance(node, ast.expr | ast.stmt) for node in ast.walk(tree)) for name, tree in trees.items()
    }
    lines = [f"{sizes[name]:7} {name} ({_role(tree)})" for name, tree in trees.items()]
    return "\n".join([*lines, f"{sum(sizes.values()):7} syntax nodes in {len(sizes)} files"])


def _role(tree: ast.Module) -> str:
    """Tell whether a file is a kind of statement or task, which a constant in it declares, or shared code."""
    named = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return "statement" if "ID" in named else "task" if "TASK" in named else "shared"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
