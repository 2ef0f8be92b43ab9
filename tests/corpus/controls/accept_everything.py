"""A checker that says yes to everything."""

import sys
from pathlib import Path


def check(folder: Path) -> int:
    """Proved."""
    return 0


if __name__ == "__main__":
    sys.exit(check(Path(sys.argv[1])))
