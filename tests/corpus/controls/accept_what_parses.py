"""A checker that says yes wherever JSON and the headers of the tensors can be read."""

import json
import sys
from pathlib import Path


def check(folder: Path) -> int:
    """Proved if everything parses, bad input otherwise."""
    try:
        for path in folder.iterdir():
            data = path.read_bytes()
            size = int.from_bytes(data[:8], "little")
            json.loads(data if path.suffix == ".json" else data[8 : 8 + size])
    except (OSError, ValueError, RecursionError, MemoryError, OverflowError):
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(check(Path(sys.argv[1])))
