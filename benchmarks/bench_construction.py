"""What building weights costs against one dense solve, and what the condition of the features depends on.

    OPENBLAS_NUM_THREADS=1 python benchmarks/bench_construction.py
    OPENBLAS_NUM_THREADS=1 python benchmarks/bench_construction.py --facts 1024 2048 4096 8192 --tail

Prints Markdown tables. Times are medians of processor time; rivals are timed in turn within the same run, and only
their ratios are to be trusted. The text is the reference text that comes with Python.
"""

import argparse
import resource
import statistics
from dataclasses import replace

import numpy as np
from measure import print_head, timed

from constructions.attention.capacity.head_counts import fewest_heads
from constructions.attention.families import FRONT_ENDS, random_attention, table_attention
from constructions.attention.skip_connection import memorize_with_skip_connection
from constructions.encoders.distribution_memory import targets
from constructions.heads_of_theorem_1.memory import build_memory, default_heads
from constructions.model.attention import features, last, logits
from constructions.model.front_end import FrontEnd
from constructions.model.shapes import dana_network
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.numeric.minimum_norm import right_inverse
from constructions.tasks.task import Task
from constructions.tasks.text import default_text, text_task


def characters(facts: int, *, context: int = 4) -> Task:
    return text_task(default_text(), context=context, facts=facts)


def deviation(found: Float64Array, task: Task) -> float:
    """Largest range of logits - log distribution over a row: what a softmax can see of the error."""
    assert task.distributions is not None
    return float(np.ptp(found - np.log(task.distributions), axis=1).max())


def stages(sizes: list[int], repetitions: int) -> None:
    print("\nFour characters of 64, d = 68, d_h = 17, table; a quarter more heads than T / d_h. Peak memory so far.\n")
    print(
        "| T | heads | solve T x T, s | features | factor | minimum norm | both, solves | condition "
        "| logit error | peak, GiB |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for facts in sizes:
        task = characters(facts)
        heads = -(-5 * facts // (4 * 17))
        weights = table_attention(d_vocab=64, n_ctx=4, d_model=68, n_heads=heads, d_head=17, seed=0)
        W_U, stream = targets(task, 68)
        right = stream - last(weights, task.contexts)[:, : stream.shape[1]]
        dense = np.random.default_rng(0).standard_normal((facts, facts))
        seconds: dict[str, list[float]] = {"dense": [], "features": [], "factor": [], "solve": []}
        for _ in range(repetitions):
            seconds["dense"].append(timed(lambda a=dense, b=right: np.linalg.solve(a, b))[1])
            read, passed = timed(lambda w=weights, t=task: features(w, t.contexts))
            seconds["features"].append(passed)
            inverse, passed = timed(lambda y=read: right_inverse(y))
            seconds["factor"].append(passed)
            output, passed = timed(lambda i=inverse, b=right: i.solve(b))
            seconds["solve"].append(passed)
        error = deviation((last(weights, task.contexts)[:, :64] + read @ output) @ W_U[:64], task)
        median = {name: statistics.median(values) for name, values in seconds.items()}
        unit = median["dense"]
        print(
            f"| {facts} | {heads} | {unit:.3f} | {median['features'] / unit:.2f} | {median['factor'] / unit:.2f} "
            f"| {median['solve'] / unit:.2f} | {(median['factor'] + median['solve']) / unit:.2f} "
            f"| {inverse.condition:.0f} | {error:.1e} | {peak():.2f} |",
            flush=True,
        )
        del dense, read, inverse, output


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def recipes() -> None:
    print("\nCondition of the features of the 1024 most frequent contexts, 25 % extra heads.\n")
    print_head("front end", "d", "d_h", "condition, three seeds", "Gaussian embeddings", "positions as large as tokens")
    contexts = characters(1024).contexts
    for kind, d_model, d_head, facts in [
        ("table", 68, 17, 1024),
        ("random", 64, 16, 1024),
        ("random", 16, 16, 1024),
        ("random", 8, 8, 1024),
        ("random", 4, 4, 1024),
        ("random", 3, 3, 1024),
        ("random", 2, 2, 1024),
        ("base2", 64, 16, 1024),
        ("base2", 4, 4, 1024),
        ("rank-one", 64, 16, 1024),
        ("shared-rank-one", 64, 16, 256),
        ("shared-rank-one", 64, 16, 1024),
    ]:
        heads = -(-5 * facts // (4 * d_head)) + 1
        drawn = [
            FRONT_ENDS[kind](d_vocab=64, n_ctx=4, d_model=d_model, n_heads=heads, d_head=d_head, seed=seed)
            for seed in range(3)
        ]
        name = kind if facts == 1024 else f"{kind}, {facts} contexts"
        cells = [conditions(drawn, contexts[:facts])]
        if kind in ("random", "rank-one"):
            cells.append(conditions([gaussian(weights, seed) for seed, weights in enumerate(drawn)], contexts))
        else:
            cells.append("")
        larger = [replace(weights, W_pos=2 * weights.W_pos) for weights in drawn]
        cells.append(conditions(larger, contexts) if kind in ("table", "random") else "")
        print(f"| {name} | {d_model} | {d_head} | {' | '.join(cells)} |", flush=True)


def gaussian(weights: FrontEnd, seed: int) -> FrontEnd:
    rng = np.random.default_rng(seed)
    return replace(
        weights, W_E=rng.standard_normal(weights.W_E.shape), W_pos=rng.standard_normal(weights.W_pos.shape) / 2
    )


def conditions(drawn: list[FrontEnd], contexts: Int64Array) -> str:
    values = [np.linalg.svd(features(weights, contexts), compute_uv=False) for weights in drawn]
    return ", ".join(
        f"{value[0] / max(value[-1], 1e-300):.0e}".replace("e+0", "e").replace("e+", "e") for value in values
    )


def extra_heads() -> None:
    print("\nExtra heads beyond the fewest that reach rank T alone; 1024 contexts, table, d = 68.\n")
    print_head("d_h", "heads", "extra", "condition", "norm of W_O", "logit error")
    task = characters(1024)
    for d_head in (17, 68):
        needed = fewest_heads(task.contexts, d_model=68, d_head=d_head, with_skip=False).sufficient
        assert needed is not None
        for heads in sorted({needed, needed + 1, *(int(np.ceil(needed * factor)) for factor in (1.1, 1.25, 1.5, 2))}):
            built = build_memory(task, d_model=68, d_head=d_head, n_heads=heads, front_end=table_attention)
            norm = np.linalg.norm(built.model.W_O.reshape(-1, 68), 2)
            error = deviation(logits(built.model, task.contexts), task)
            print(
                f"| {d_head} | {heads} | {100 * (heads / needed - 1):.0f} % | {built.condition:.0f} | {norm:.0f} "
                f"| {error:.1e} |",
                flush=True,
            )


def skip_connection() -> None:
    """At exact capacity T = d + H d_h: the rotated basis against embeddings x' = x M, as the paper writes them."""
    print("\nRandom contexts and targets of size 10 at T = d + H d_h, best of four draws.\n")
    print_head("T", "d, d_h, H", "S, N", "condition of [X, Y]", "of M", "error, x' = x M", "error, rotated")
    for d_model, d_head, heads, length, size in [
        (4, 4, 15, 3, 8),
        (16, 16, 15, 8, 16),
        (16, 16, 63, 4, 32),
        (64, 64, 15, 64, 64),
        (32, 32, 63, 4, 64),
    ]:
        facts = d_model + heads * d_head
        rng = np.random.default_rng(0)
        contexts = np.unique(rng.integers(0, size, (2 * facts, length)), axis=0)
        contexts = contexts[rng.permutation(len(contexts))[:facts]]
        stream = 10 * rng.standard_normal((facts, d_model)) / np.sqrt(d_model)

        def draw(seed: int, sizes=(size, length, d_model, heads, d_head)) -> FrontEnd:
            d_vocab, n_ctx, d, n_heads, width = sizes
            return random_attention(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d, n_heads=n_heads, d_head=width, seed=seed)

        identity = np.eye(d_model)
        found = memorize_with_skip_connection(draw, contexts, targets=stream, W_U=identity, attempts=4)
        assert found is not None
        rotated = error_of(found.front_end, found.output, found.W_U, contexts, stream)
        weights = draw(found.attempt)
        everything = np.hstack([last(weights, contexts), features(weights, contexts)])
        joined = right_inverse(everything).solve(stream)
        M, inverse = joined[:d_model], np.linalg.inv(joined[:d_model])
        moved = replace(
            weights,
            W_E=weights.W_E @ M,
            W_pos=weights.W_pos @ M,
            W_Q=inverse @ weights.W_Q,
            W_K=inverse @ weights.W_K,
            W_V=inverse @ weights.W_V,
        )
        classical = error_of(moved, joined[d_model:], identity, contexts, stream)
        print(
            f"| {facts} | {d_model}, {d_head}, {heads} | {length}, {size} | {found.condition:.0e} "
            f"| {np.linalg.cond(M):.0e} | {classical:.0e} | {rotated:.0e} |",
            flush=True,
        )


def error_of(
    weights: FrontEnd,
    output: Float64Array,
    W_U: Float64Array,
    contexts: Int64Array,
    stream: Float64Array,
) -> float:
    n_heads, d_model, d_head = weights.W_V.shape
    network = dana_network(
        weights.W_E,
        weights.W_pos,
        weights.W_Q,
        weights.W_K,
        weights.W_V,
        output.reshape(n_heads, d_head, d_model),
        W_U,
    )
    return float(np.abs(logits(network, contexts) - stream).max())


def tails() -> None:
    print("\nThe tail of 1024 memorized contexts of four characters; nats per token of the tail, processor seconds.\n")
    print_head(
        "d", "d_h", "features", "before", "after", "empirical entropy", "steps", "seconds", "logit error, memorized"
    )
    task = characters(1024)
    totals = task.tail_counts.totals()
    shares = task.tail_counts.data / np.repeat(totals, np.diff(task.tail_counts.indptr))
    entropy = -(task.tail_counts.data * np.log(shares)).sum() / totals.sum()
    for d_model, d_head in ((64, 16), (68, 17)):
        heads = default_heads(64, 1024, d_head, "fit")
        built, passed = timed(
            lambda d=d_model, d_h=d_head, h=heads: build_memory(task, d_model=d, d_head=d_h, n_heads=h, tail="fit")
        )
        assert built.tail is not None
        before, after = built.tail.cross_entropy
        error = deviation(logits(built.model, task.contexts), task)
        print(
            f"| {d_model} | {d_head} | {heads * d_head} | {before:.3f} | {after:.3f} | {entropy:.3f} "
            f"| {built.tail.iterations} | {passed:.0f} | {error:.1e} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, nargs="+", default=[1024, 2048, 4096])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--tail", action="store_true", help="fit tails as well, some minutes")
    arguments = parser.parse_args()
    stages(arguments.facts, arguments.repetitions)
    recipes()
    extra_heads()
    skip_connection()
    if arguments.tail:
        tails()


if __name__ == "__main__":
    main()
