"""Run a checker on the corpus: `python -m tests.corpus -- COMMAND`; the folder is its last argument."""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.corpus.cases import write_all, write_index
from tests.corpus.judge import as_json, command_checker, exit_code, headline, mistakes, run_checker, table


def main(words: list[str] | None = None) -> int:
    """Score the checker that the command line names, or write the folders, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument("command", nargs="*", help="the checker, after --; the folder is its last argument")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write all folders and the index, and run nothing")
    parser.add_argument("--only", metavar="WORD", default="", help="only folders with this word in their names")
    parser.add_argument(
        "--without", metavar="KIND", action="append", default=[], help="no folders of this kind; may be repeated"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="folders at a time (default: %(default)s)")
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="SECONDS", help="per folder (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print every score as JSON")
    options = parser.parse_args(words)
    if (options.write is None) == (not options.command):
        parser.error("expected a command after --, or --write FOLDER")
    if options.write is not None:
        options.write.mkdir(parents=True)
        write_index(write_all(options.write), options.write / "index.csv")
        return 0
    with TemporaryDirectory() as top:
        cases = [
            case for case in write_all(Path(top)) if options.only in case.name and case.kind not in options.without
        ]
        checker = command_checker(options.command, options.timeout)
        scores = run_checker(checker, cases, Path(top), options.jobs)
    lines = [as_json(scores)] if options.json else [headline(scores), "", *table(scores), "", *mistakes(scores)]
    sys.stdout.write("\n".join(lines).rstrip() + "\n")
    return exit_code(scores)


if __name__ == "__main__":
    sys.exit(main())
