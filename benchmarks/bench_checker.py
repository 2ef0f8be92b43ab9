"""What proving again costs: folders by the kernel and by the prover.

    OPENBLAS_NUM_THREADS=1 python benchmarks/bench_checker.py

Prints a Markdown table of seconds of processor time.
"""

import argparse
import contextlib
import io
import tempfile
from pathlib import Path

from measure import timed

from byheart.cli.main import main as byheart
from verify.kernel.check import outcome
from verify.provers.memorization import check_memorization

FOLDERS = {"of `make run`": [], "one layer of 81 heads": ["--vocabulary", "64", "--dim", "64", "--head-dim", "16"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--facts", type=int, default=1024)
    options = parser.parse_args()
    print("| folder | kernel, s | says | prover, s | says |\n|---|---|---|---|---|")
    for kind, words in FOLDERS.items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "folder"
            with contextlib.redirect_stdout(io.StringIO()):
                byheart(["memorize", *words, "--facts", str(options.facts), "--out", str(folder), "--json"])
            (_, text), kernel = timed(lambda folder=folder: outcome(folder))
            report, prover = timed(lambda folder=folder: check_memorization(folder))
            said = text.splitlines()[0].split(":")[0]
            print(f"| {kind} | {kernel:.1f} | {said} | {prover:.1f} | {report.verdict.value} |", flush=True)


if __name__ == "__main__":
    main()
