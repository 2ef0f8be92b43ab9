"""What other programs make of the weights: the largest difference from the exact logits, by host and type."""

import argparse
import os
import tempfile
import warnings
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy is imported

from byheart.hosts.export import HOSTS, export, host_named  # noqa: E402
from byheart.hosts.number_types import DTYPES  # noqa: E402
from byheart.job import memorize_into  # noqa: E402
from constructions.errors import InputError  # noqa: E402
from constructions.tasks.text import default_text, text_task  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=128, help="contexts to memorize (default: 128)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    task = text_task(default_text(), context=4, facts=options.facts, vocabulary=32)
    print("| host | type | difference / largest logit | held in the host | held, proved | mean KL, nats | agrees |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        memory = Path(folder) / "memory"
        memorize_into(memory, task)
        for to in HOSTS:
            for dtype in DTYPES:
                if dtype not in host_named(to).dtypes:
                    continue
                try:
                    report = export(memory, to=to, dtype=dtype, out=Path(folder) / "out", overwrite=True)
                except InputError as error:
                    print(f"| {to} | {dtype} | {error} | | | | |")
                    continue
                for name, run in report["runs"].items():
                    judged = {True: "yes", False: "NO", None: "not judged"}[run["agrees"]]
                    print(
                        f"| {to} ({name}) | {dtype} | {run['relative_difference']:.1e} | {run['held']} | "
                        f"{report['proved']['right']} | {run['mean_kl']:.1e} | {judged} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
