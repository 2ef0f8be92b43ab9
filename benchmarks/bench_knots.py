"""The memory of knots: parameters, time to build and to prove, and what float32 arithmetic makes of the weights."""

import argparse
import sysconfig
import time
from pathlib import Path

import numpy as np
from measure import print_head, print_row

from constructions.errors import CapacityError
from constructions.memories.knots import knots_memory
from constructions.model.model import Model
from constructions.model.precision import Precision
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.task import Task
from constructions.tasks.text import text_task
from verify.theorems.memories.knots import prove_knots

TABLES = (
    "bigrams 50", "8 of 50, 256", "10 of 5, 1000", "3 of 350, 600", "200 of 50, 500", "4 of 1000, 10000",
    "4 of 1000, 100000", "distributions", "text 100000", "text 1000000",
)  # fmt: skip
RUN = 1000  # contexts of which the float32 arithmetic is looked at


def table(name: str, seed: int) -> Task:
    """Return a table by its name: S of N, T are T random contexts of S of N tokens; a text is Python's own library."""
    rng = np.random.default_rng(seed)
    if name == "bigrams 50":
        return enumerated_task(50, 2, seed=seed)
    if name == "distributions":
        contexts = np.unique(rng.integers(0, 50, (256, 8)), axis=0)
        distributions = rng.standard_exponential((len(contexts), 50)) + 2.0**-60
        return array_task(
            contexts, distributions=distributions / distributions.sum(axis=1, keepdims=True), vocabulary=50
        )
    if name.startswith("text"):
        library = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
        text = "".join(path.read_text(encoding="utf-8", errors="ignore").replace("\0", "") for path in library)
        return text_task(text, vocabulary=100, context=12, facts=int(name.split()[1]), target="labels")
    length, size, count = (int(number) for number in name.replace(" of ", ",").split(","))
    contexts = np.unique(rng.integers(0, size, (count, length)), axis=0)
    return array_task(contexts, next_tokens=rng.integers(0, size, len(contexts)), vocabulary=size, target="labels")


def right_when_run(model: Model, task: Task, kind: type[np.floating]) -> str:
    """Of how many contexts the argmax is right if every operation is one of NumPy in this type."""
    chosen = np.linspace(0, task.n_contexts - 1, min(RUN, task.n_contexts)).astype(np.int64)
    head, neurons = model.blocks
    x = model.W_E.astype(kind)[task.contexts[chosen]] + model.W_pos.astype(kind)
    scores = (x[:, -1:] @ head.W_Q[0].astype(kind)) * (x @ head.W_K[0].astype(kind))
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares = powers / powers.sum(axis=1, keepdims=True)
    number = (shares * (x @ head.W_V[0].astype(kind))).sum(axis=1) @ head.W_O[0].astype(kind)
    right = 0
    for start in range(0, len(chosen), 50):
        part = slice(start, start + 50)
        fired = np.maximum(number[part] @ neurons.W_in.astype(kind) + neurons.b_in.astype(kind), 0)
        stream = fired @ neurons.W_out.astype(kind) + neurons.b_out.astype(kind)
        logits = stream @ model.W_U.astype(kind) + model.b_U.astype(kind)
        right += int((logits.argmax(axis=1) == task.labels[chosen[part]]).sum())
    return f"{right} of {len(chosen)}"


def growth(counts: list[int], seed: int) -> None:
    """Processor time against the number of facts, and the exponent of a power of it through the times."""
    print_head("facts", "neurons", "seconds to build", "seconds to prove", "PROVED")
    small = table("8 of 50, 256", seed)
    prove_knots(knots_memory(small).model, small)  # what is done once, before the first time is taken
    times = []
    for count in counts:
        task = table(f"4 of 1000, {count}", seed)
        start = time.process_time()
        model = knots_memory(task).model
        middle = time.process_time()
        right = prove_knots(model, task).right
        times.append((task.n_contexts, middle - start, time.process_time() - middle))
        shown = (task.n_contexts, model.blocks[1].d_mlp, f"{times[-1][1]:.2f}", f"{times[-1][2]:.2f}")
        print(f"| {' | '.join(map(str, shown))} | {right} of {task.n_contexts} |", flush=True)
    facts, built, proved = np.log(np.array(times).T)
    exponents = [np.polyfit(facts, seconds, 1)[0] for seconds in (built, proved)]
    print(f"| exponent | | {exponents[0]:.2f} | {exponents[1]:.2f} | |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=TABLES[:-1], choices=TABLES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--growth", nargs="*", type=int, metavar="T", help="times against T, by default 1000 to 100000")
    options = parser.parse_args()
    if options.growth is not None:
        growth(options.growth or [1000, 10_000, 100_000], options.seed)
        return
    columns = (
        "S of N, T", "weights", "facts", "code bits", "neurons", "outputs", "parameters", "nonzero",
        "facts per parameter", "seconds to build", "seconds to prove", "PROVED", "least margin",
        "largest divergence", "right when run",
    )  # fmt: skip
    print_head(*columns)
    precisions: tuple[Precision, ...] = ("float64", "float32")
    for name in options.tables:
        task = table(name, options.seed)
        for dtype in precisions:
            start = time.process_time()
            try:
                built = knots_memory(task, dtype=dtype)
            except CapacityError as error:
                print(f"| {name} | {dtype} | {task.n_contexts} | refused: {error} |", flush=True)
                continue
            model, middle = built.model, time.process_time()
            proof = prove_knots(model, task)
            end = time.process_time()
            neurons = model.blocks[1]
            row = (
                name,
                dtype,
                task.n_contexts,
                built.summary.split(" bits")[0].split()[-1],
                neurons.W_in.shape[1],
                neurons.W_out.shape[1],
                model.parameters,
                sum(int(np.count_nonzero(tensor)) for tensor in model.tensors().values()),
                f"{task.n_contexts / model.parameters:.3f}",
                f"{middle - start:.2f}",
                f"{end - middle:.2f}",
                f"{proof.right} of {task.n_contexts}",
                f"{proof.margin_lower.min():.3f}",
                "" if proof.divergence_upper is None else f"{proof.divergence_upper.max():.1e}",
                right_when_run(model, task, np.float32 if dtype == "float32" else np.float64),
            )
            print_row(*row)


if __name__ == "__main__":
    main()
