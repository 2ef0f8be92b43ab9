"""Every memory in every host and type: the largest difference from the exact logits, the facts memorized, or the
refusal.

python benchmarks/bench_hosts.py                          the hosts that are installed here
python benchmarks/bench_hosts.py --python A/bin/python    those that are missing here by another environment
"""

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import measure  # noqa: F401

from byheart.choice.chooser import offers
from byheart.hosts.export import export
from byheart.hosts.host import HOSTS, host_named
from byheart.hosts.number_types import DTYPES
from constructions.errors import InputError, ResourceError
from constructions.menu import BY_NAME
from constructions.model.model import Model
from constructions.tasks.arrays import enumerated_task
from constructions.tasks.task import Task


def built(task: Task) -> dict[str, Model]:
    """Each memory of the choice that holds the facts, its weights rounded to float32."""
    found = {offer.memory.name: offer.built for offer in offers(task, names=tuple(BY_NAME), dtype="float32")}
    return {name: built.model for name in BY_NAME if (built := found[name]) is not None}


def rows_of(to: str, models: dict[str, Model], task: Task) -> Iterator[list[str]]:
    """Yield the cells of each memory and each run of one host; what is proved of the weights beside it."""
    for memory, model in models.items():
        cells: dict[str, dict[str, str]] = {}
        refused: dict[str, str] = {}
        for dtype in DTYPES:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    report = export(model, task=task, to=to, dtype=dtype, out=Path(folder) / "out")
                except (InputError, ResourceError) as error:
                    refused[dtype] = str(error)
                    continue
            for name, run in report["measured"]["runs"].items():
                difference = run["relative_difference"]
                shown = "not finite" if difference is None else "< 1e-99" if difference < 1e-99 else f"{difference:.1e}"
                outside = " OUTSIDE OF ROUNDING" if run["agrees"] is False else ""
                cells.setdefault(name, {})[dtype] = f"{shown}, {run['memorized']}{outside}"
            cells.setdefault("proved", {})[dtype] = str(report["proved"]["memorized"])
        for name, found in cells.items() or [("refused", {})]:
            yield [memory, to, name, *(found.get(dtype) or refused.get(dtype, "") for dtype in DTYPES)]


def rows(to: str, pythons: list[str], task: Task) -> list[list[str]]:
    """Return the rows of a host, by the first interpreter that has it; by none, the sentence that says what is
    missing.
    """
    try:
        host_named(to).versions()
    except InputError as error:
        for other in pythons:
            done = subprocess.run(
                [other, __file__, "--host", to, "--tokens", str(task.d_vocab)],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            if found := json.loads(done.stdout):
                return found
        sys.stderr.write(f"{to}: {error}\n")
        return []
    return list(rows_of(to, built(task), task))


def table(found: list[list[str]], facts: int) -> str:
    """Markdown: what is proved of the weights once for each memory, then the hosts; below it each refusal once."""
    lines = [f"| memory, {facts} facts | where | {' | '.join(DTYPES)} |", "|---|---|" + "---|" * len(DTYPES)]
    refusals: dict[str, dict[str, None]] = {}  # which memories, in order
    for memory in dict.fromkeys(row[0] for row in found):
        here = [row for row in found if row[0] == memory]
        # Of safetensors, which come last, hold everything and convert nothing, if a type is not refused.
        proved = [next(filter(str.isdigit, cells), "") for cells in zip(*(r[3:] for r in here[::-1]), strict=True)]
        lines.append(f"| {memory} | the weights, proved | {' | '.join(proved)} |")
        for _, to, name, *cells in here:
            if name == "proved":
                continue
            for place, cell in enumerate(cells):
                if not cell.startswith((*"0123456789<", "not finite")):
                    cells[place] = "refused"
                    refusals.setdefault(f"{to}: {cell}", {})[memory] = None
            lines.append(f"| | {to} ({name}) | {' | '.join(cells)} |")
    said = [f"- {sentence} ({', '.join(memories)})" for sentence, memories in refusals.items()]
    return "\n".join(lines + (["", "Refused:", "", *said] if said else [])) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--tokens", type=int, default=8, help="all bigrams of so many tokens are the facts (default: 8)"
    )
    parser.add_argument("--python", nargs="+", default=[], help="interpreters with hosts that are missing here")
    parser.add_argument("--host", choices=HOSTS, help="print the rows of this one as JSON, none if it is missing")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    task = enumerated_task(options.tokens, 2)
    if options.host is not None:
        print(json.dumps(rows(options.host, [], task)))
        return
    print(table([row for to in HOSTS for row in rows(to, options.python, task)], task.n_contexts), end="")


if __name__ == "__main__":
    main()
