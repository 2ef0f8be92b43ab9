"""Judges a checker by the corpus: `python -m tests.corpus -- COMMAND`, which gets a folder as its last argument."""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.corpus.cases import write_all, write_index
from tests.corpus.judge import as_json, command, exit_code, faults, headline, judged, table


def main(words: list[str] | None = None) -> int:
    """Judge the command that the words name, or write the folders for somebody else to judge."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument("command", nargs="*", help="the checker, behind --; it gets the folder as its last argument")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write all folders and an index, judge nothing")
    parser.add_argument("--only", metavar="WORD", default="", help="folders with this in their names")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="so many at a time (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS", help="for one folder (%(default)s)")
    parser.add_argument("--json", action="store_true", help="every answer, as JSON")
    options = parser.parse_args(words)
    if (options.write is None) == (not options.command):
        parser.error("expected a command behind --, or --write FOLDER")
    if options.write is not None:
        options.write.mkdir(parents=True)
        write_index(write_all(options.write), options.write / "index.csv")
        return 0
    with TemporaryDirectory() as top:
        cases = [case for case in write_all(Path(top)) if options.only in case.name]
        found = judged(cases, Path(top), command(options.command, options.timeout), options.jobs)
    lines = [as_json(found)] if options.json else [headline(found), "", *table(found), "", *faults(found)]
    sys.stdout.write("\n".join(lines).rstrip() + "\n")
    return exit_code(found)


if __name__ == "__main__":
    sys.exit(main())
