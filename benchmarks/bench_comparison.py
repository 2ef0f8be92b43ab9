"""All memories on the same tables: entries, facts for each, what is proved, and the least that information allows."""

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from measure import print_head, print_row

from constructions.errors import CapacityError, HypothesisError, InputError, ResourceError
from constructions.heads_of_theorem_1.parameters import printed_count, shared_count
from constructions.memories.information_limit import information_limit
from constructions.memories.keyed_words import keyed_words_memory, rounded_integers
from constructions.memories.knots import knots_memory
from constructions.memories.memory import Limits
from constructions.menu import BY_NAME
from constructions.model.blocks import tensor_fields
from constructions.model.exact_network import rounded
from constructions.model.model import Model
from constructions.rational.two_layers import behind_null, two_layers
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.task import Task
from verify.divergence.kullback_leibler import argmax_margin
from verify.forward.logits import logit_chunks
from verify.provers.memorization import certify_memorization
from verify.theorems.evidence.words import judge_words
from verify.theorems.memories.integer_neurons import integer_margins
from verify.theorems.memories.knots import prove_knots

REFUSALS = (CapacityError, HypothesisError, InputError, ResourceError)
MOST = {  # facts that take minutes beyond
    "two layers": 256, "longer words": 256,
}  # fmt: skip
LADDER = {"packed-words"}  # deep: what float64 does not decide goes on to pairs and to balls


class Row(NamedTuple):
    """What a memory makes of a table."""

    memory: str
    weights: str
    entries: int | None
    nonzero: int | None
    proved: str
    seconds: str


def bigrams(tokens: int) -> Task:
    return enumerated_task(tokens, 2, seed=0)


def sequences(facts: int = 256) -> Task:
    """Random contexts of 8 of 50 tokens, random labels."""
    rng = np.random.default_rng(0)
    contexts = np.unique(rng.integers(0, 50, (facts, 8)), axis=0)
    return array_task(contexts, next_tokens=rng.integers(0, 50, len(contexts)), vocabulary=50, target="labels")


def size(model: Model) -> tuple[int, int]:
    tensors = model.tensors().values()
    return sum(int(t.size) for t in tensors), sum(int(np.count_nonzero(t)) for t in tensors)


def judged(model: Model, task: Task) -> str:
    """How many labels are proved to be in front, and by how much at least."""
    right, least = 0, np.inf
    for start, part in logit_chunks(model, task.contexts):
        margins = argmax_margin(part, task.modes(slice(start, start + len(part))))
        right, least = right + int((margins > 0).sum()), min(least, float(margins.min()))
    return f"{right} of {task.n_contexts}, {least:.3f}"


def of_choice(name: str, task: Task) -> Row:
    """Return a memory of `byheart memories`, rounded to float32."""
    start = time.process_time()
    model = BY_NAME[name].build(task, Limits()).model
    middle = time.process_time()
    if name == "knots":
        proof = prove_knots(model, task)
        shown = f"{proof.right} of {task.n_contexts}, {proof.margin_lower.min():.3f}"
    elif name in LADDER:
        values = certify_memorization(model, task).certificate.answers.values
        shown = f"{values['memorized']} of {task.n_contexts}"
    else:
        shown = judged(model, task)
    return Row(name, "float32", *size(model), shown, f"{middle - start:.1f}, {time.process_time() - middle:.1f}")


def of_two_layers(task: Task) -> Row:
    start = time.process_time()
    tokens = task.d_vocab
    model = rounded(two_layers(task.contexts, task.labels, d_vocab=tokens))
    contexts = behind_null(task.contexts, tokens)
    behind = array_task(contexts, next_tokens=task.labels, vocabulary=tokens + 1, target="labels")
    middle = time.process_time()
    values = certify_memorization(model, behind).certificate.answers.values
    shown = f"{values['memorized']} of {task.n_contexts}"
    seconds = f"{middle - start:.1f}, {time.process_time() - middle:.1f}"
    return Row("knots as two layers of attention", "float64", *size(model), shown, seconds)


def of_words(task: Task, items: int | None) -> Row:
    start = time.process_time()
    labels = np.asarray(task.labels)
    model = keyed_words_memory(task, labels_per_word=items).model
    middle = time.process_time()
    found = judge_words(model, task.contexts, labels)
    entries = sum(int(t.size) for t in model.tensors().values())
    seconds = f"{middle - start:.1f}, {time.process_time() - middle:.1f}"
    return Row(
        f"keyed words, {found.blocks} ReLU blocks", f"integers of {found.longest} bits", entries,
        found.entries + found.other_entries, f"{found.memorized} of {found.count}, exactly", seconds,
    )  # fmt: skip


def formulas(task: Task) -> Iterator[Row]:
    """Yield printed counts of weights that are not built here."""
    facts = task.n_contexts
    d_vocab, n_ctx = task.d_vocab, task.n_ctx
    printed = printed_count(d_vocab=d_vocab, n_ctx=n_ctx, d_model=2, facts=facts)
    yield Row("Theorem 1 of Dana et al., d = 2, as printed", "", printed, None, "no: formula, false for XOR", "")
    shared = shared_count(d_vocab=d_vocab, n_ctx=n_ctx, d_model=2, n_heads=-(-(facts - 2) // 2), d_head=2)
    yield Row("the same with shared attention of rank one", "", shared, None, "no: formula, needs the rank", "")
    yield Row("information, 32 bits an entry", "", information_limit(task, 32), None, "no weights have fewer", "")


def rows_of(task: Task, *, slow: bool) -> Iterator[Row]:
    names = [name for name in BY_NAME if slow or name != "newton"]
    makers: list[tuple[str, Callable[[Task], Row]]] = [(name, partial(of_choice, name)) for name in names]
    makers += [("two layers", of_two_layers)]
    makers += [("words", partial(of_words, items=2)), ("longer words", partial(of_words, items=None))]
    for name, make in makers:
        if task.n_contexts > MOST.get(name, task.n_contexts) and not slow:
            continue
        try:
            yield make(task)
        except REFUSALS as error:
            yield Row(name, "", None, None, f"refused: {error}", "")
    yield from formulas(task)


def print_table(title: str, task: Task, *, slow: bool) -> None:
    content = task.n_contexts * np.log2(len(np.unique(task.labels)))
    print(f"\n{title}: {task.n_contexts} facts, {content:.0f} bits\n")
    head = (
        "memory", "weights", "entries", "not 0", "facts per entry", "facts per entry that is not 0", "bits per entry",
        "PROVED, least margin", "seconds to build, to prove",
    )  # fmt: skip
    print_head(*head)
    for row in rows_of(task, slow=slow):
        per = "" if not row.entries else f"{task.n_contexts / row.entries:.3f}"
        per_nonzero = "" if not row.nonzero else f"{task.n_contexts / row.nonzero:.3f}"
        bits = "" if not row.entries else f"{content / row.entries:.2f}"
        shown = (row.memory, row.weights, row.entries or "", row.nonzero or "", per, per_nonzero, bits, row.proved,
                 row.seconds)  # fmt: skip
        print_row(*shown)


def print_tokens(counts: list[int]) -> None:
    """Facts for each entry on all bigrams, against the number of tokens."""
    names = ("knots", "rank-one-heads")
    print("\nFacts for each entry, all bigrams of N tokens, float32; all PROVED, or what is missing\n")
    print(f"| N | facts | {' | '.join(names)} | information, 32 bits |\n|{'---|' * (len(names) + 3)}", flush=True)
    for tokens in counts:
        task = bigrams(tokens)
        cells = []
        for name in names:
            if task.n_contexts > MOST.get(name, task.n_contexts):
                cells.append("")
                continue
            try:
                row = of_choice(name, task)
            except REFUSALS:
                cells.append("refused")
                continue
            memorized = row.proved.startswith(f"{task.n_contexts} of")
            assert row.entries
            cells.append(f"{task.n_contexts / row.entries:.3f}" if memorized else row.proved)
        limit = f"{task.n_contexts / information_limit(task, 32):.2f}"
        print(f"| {tokens} | {task.n_contexts} | {' | '.join(cells)} | {limit} |", flush=True)


def print_words(sizes: list[int]) -> None:
    """Keyed words, and what is left of them where their weights have 53 bits."""
    print("\nKeyed words, random sequences of 8 of 50 tokens, random labels\n")
    print_head(
        "facts", "words", "entries, not 0", "bits of the longest", "memorized, exactly", "with the weights in 53 bits"
    )
    for facts in sizes:
        task = sequences(facts)
        built = keyed_words_memory(task)
        longest = max(abs(int(x.p)).bit_length() for tensor in built.model.tensors().values() for x in tensor.ravel())
        memorized = [
            int((integer_margins(model, task) > 0).sum()) for model in (built.model, rounded_integers(built.model, 53))
        ]
        cells = (task.n_contexts, built.summary, size(built.model)[1], longest, *memorized)
        print_row(*cells)


def print_distributions() -> None:
    """Distributions: what knots take, beside the bound below, and Theorem 1' with d = N - 1."""
    rng = np.random.default_rng(0)
    contexts = np.unique(rng.integers(0, 50, (256, 8)), axis=0)
    distributions = rng.standard_exponential((len(contexts), 50)) + 2.0**-60
    task = array_task(contexts, distributions=distributions / distributions.sum(axis=1, keepdims=True), vocabulary=50)
    facts, tokens, length = task.n_contexts, task.d_vocab, task.n_ctx
    model = knots_memory(task).model
    proof = prove_knots(model, task)
    assert proof.divergence_upper is not None
    # Of the embeddings one column each, of the neurons all but their signs.
    neurons = [int(tensor.size) for name, tensor in tensor_fields(model.blocks[1]) if name != "W_in"]
    chosen = model.d_vocab + model.n_ctx + sum(neurons)
    print("\nDistributions on the 256 sequences, numbers that depend on the task\n")
    print_head("memory", "numbers", "PROVED")
    print(f"| knots | {chosen} | divergence at most {proof.divergence_upper.max():.1e} nats |")
    dana = (tokens - 1) * (length + 2 * tokens + 4 * (facts - tokens + 1))
    print(f"| Theorem 1' of Dana et al., d = N - 1 | {dana} | no: formula, needs the rank |")
    print(f"| almost all distributions take | {facts * (tokens - 1)} | the bound |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slow", action="store_true", help="the search of Newton, and all sizes: many minutes")
    parser.add_argument("--tokens", nargs="+", type=int, default=[8, 16, 32, 50, 64, 128])
    parser.add_argument("--words", nargs="+", type=int, metavar="FACTS", help="keyed words for so many facts, alone")
    options = parser.parse_args()
    if options.words:
        print_words(options.words)
        return
    print_table("B50, all bigrams of 50 tokens, random labels", bigrams(50), slow=options.slow)
    print_table("Q256, random sequences of 8 of 50 tokens, random labels", sequences(), slow=options.slow)
    print_distributions()
    print_tokens(options.tokens)


if __name__ == "__main__":
    main()
