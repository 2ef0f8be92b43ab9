"""What the programs of the figures share; `byheart/report/drawing.py` draws.

A program of a figure has `drawing`, which returns it. What takes more than a second to compute is in a table beside it,
which `measured` returns. `run` writes the drawing, and `python docs/figures/NAME.py --measure` the table before it.
"""

import csv
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # what a program imports after this module is what is beside it

Table = list[dict[str, str]]


def table(program: str) -> Table:
    """Return the table beside a program."""
    with Path(program).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def run(
    program: str, drawing: Callable[[], str], measured: Callable[[], Sequence[Mapping[str, object]]] | None = None
) -> None:
    """Write the drawing beside its program; with the option ``--measure`` the table that it is drawn from before it."""
    if measured is not None and "--measure" in sys.argv[1:]:
        rows = measured()
        with Path(program).with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    Path(program).with_suffix(".svg").write_text(drawing(), encoding="utf-8")
