"""Make the good folders and the index again: `python -m tests.corpus.make`, or `... NAME` for some good folders."""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.corpus.cases import GOOD_FOLDERS, write_all, write_good, write_index
from tests.corpus.good_folders import GOOD


def main(names: list[str]) -> None:
    """Make these good folders, or all of them, and the whole index."""
    for name in names or GOOD:
        shutil.rmtree(GOOD_FOLDERS / name, ignore_errors=True)
        write_good(name, GOOD_FOLDERS / name)
    for folder in [] if names else GOOD_FOLDERS.iterdir():
        if folder.name not in GOOD:
            shutil.rmtree(folder)
    with TemporaryDirectory() as top:
        write_index(write_all(Path(top)))


if __name__ == "__main__":
    main(sys.argv[1:])
