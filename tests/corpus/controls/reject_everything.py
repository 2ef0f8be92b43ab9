"""A checker that says no to everything."""

import sys
from pathlib import Path


def check(folder: Path) -> int:
    """Refuted."""
    return 1


if __name__ == "__main__":
    sys.exit(check(Path(sys.argv[1])))
