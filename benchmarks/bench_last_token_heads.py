"""Heads of one last token: processor seconds to build and to prove, and the exponent of the time against T.

    python benchmarks/bench_last_token_heads.py --facts 1024 4096 16384
    python benchmarks/bench_last_token_heads.py --facts 65536 --context 6

Each number of facts runs in a process of its own, so that the peaks of memory are its own. The contexts are the most
frequent ones of Python's reference text, over all its characters. What is proved is that they hold their distributions,
and in a certificate of its own also the mean divergence over all contexts of the text; the exponent is that of the time
to build and to prove the T contexts alone. With --command it is also the whole of `byheart memorize` in another
process: the three runs in torch of every head in every context, their rounding bounds, the divergence over the text,
and the page.
"""

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--facts", type=int, nargs="+", default=[1024, 4096, 16384])
    parser.add_argument("--context", type=int, default=4, help="tokens of a context")
    parser.add_argument("--head-dim", type=int, default=None)
    parser.add_argument("--command", action="store_true", help="measure the whole command as well")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        measure(options.facts[0], options.context, options.head_dim)
        return
    environment = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"} | os.environ
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    whole = "command, s", "its peak, GiB"
    columns = "T", "S", "heads", "fewest", "condition", "build, s", "prove, s", "exponent", "with the whole text, s"
    print("| " + " | ".join((*columns, "peak, GiB", *whole, "certificate")) + " |")
    print("|" + "---|" * 13, flush=True)
    before: tuple[int, float] | None = None
    for facts in options.facts:
        arguments = ["--facts", str(facts), "--context", str(options.context), "--alone"]
        if options.head_dim is not None:
            arguments += ["--head-dim", str(options.head_dim)]
        run = subprocess.run(
            [sys.executable, __file__, *arguments], env=environment, check=True, capture_output=True, text=True
        )
        heads, fewest, condition, built, proved, of_text, peak, headline = run.stdout.strip().split("|")
        seconds = float(built) + float(proved)
        exponent = "" if before is None else f"{math.log(seconds / before[1]) / math.log(facts / before[0]):.2f}"
        print(
            f"| {facts} | {options.context} | {heads} | {fewest} | {condition} | {built} | {proved} | {exponent} "
            f"| {of_text} | {peak} | {of_command(facts, options, environment)} | {headline} |",
            flush=True,
        )
        before = facts, seconds


def of_command(facts: int, options: argparse.Namespace, environment: dict[str, str]) -> str:
    """Processor seconds and the peak of memory of the whole command, as two columns."""
    if not options.command:
        return "|"
    words = ["--facts", str(facts), "--context", str(options.context), "--memory", "last-token-heads", "--json"]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "byheart", "memorize", *words, "--out", str(Path(folder) / "memorized")]
        run = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(run.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return f"{used.ru_utime + used.ru_stime:.0f} | {used.ru_maxrss / 2**20:.2f}"


def measure(facts: int, context: int, d_head: int | None) -> None:
    from constructions.heads_of_theorem_1.last_token_heads import last_token_heads_memory
    from constructions.tasks.arrays import array_task
    from constructions.tasks.text import default_text, text_task
    from verify.provers.memorization import certify_memorization

    task = text_task(default_text(), context=context, facts=facts)
    start = time.process_time()
    built = last_token_heads_memory(task, d_head=d_head)
    middle = time.process_time()
    alone = array_task(task.contexts, distributions=task.distributions, vocabulary=task.vocabulary)
    certificate = certify_memorization(built.model, alone).certificate
    end = time.process_time()
    certify_memorization(built.model, task)
    of_text = time.process_time() - end
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        built.model.n_heads,
        built.fewest,
        f"{built.condition:.1e}",
        f"{middle - start:.1f}",
        f"{end - middle:.1f}",
        f"{of_text:.1f}",
        f"{peak:.2f}",
        certificate.headline().split(";")[0],
        sep="|",
    )


if __name__ == "__main__":
    main()
