"""Lemma 2 of Dana, Pydi and Chevaleyre: heads add up their widths on any contexts. They do not.

Page: docs/claims/closed_forms.md
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq_mat

from constructions.attention.capacity.bigram_rank import bigram_rank
from constructions.attention.capacity.closed_forms import long_contexts_rank, universal_rank
from constructions.attention.capacity.generic_rank import generic_rank
from constructions.attention.capacity.partition import Partition, partition
from constructions.attention.capacity.windows import all_contexts_rank, all_contexts_windows
from constructions.attention.embeddings import integer_attention
from constructions.counted import counted
from constructions.encoders.one_head_optimum import exclusive_or_contexts
from constructions.errors import HypothesisError
from constructions.heads_of_theorem_1.random.labels import fewest_heads_memory
from constructions.memories.heads.counting_heads import bit_contexts
from constructions.model.exact_network import ExactFrontEnd, as_rationals
from constructions.numeric.arrays import Int64Array
from constructions.tasks.arrays import all_contexts
from verify.forward.in_rationals import exact_outputs
from verify.provers.memorization import certify_memorization
from verify.ranks.linear_relations import indicator_relation, rank_upper_bound_for_all_weights
from verify.theorems.capacity.exact_rank import exact_rank
from verify.theorems.capacity.independent_windows import partition_holds
from verify.theorems.claim import Claim, Hypothesis
from verify.theorems.evidence import (
    Applied,
    Comparison,
    Evidence,
    Means,
    Method,
    Quantifier,
    Stated,
    failed,
    met,
    stated,
)
from verify.theorems.evidence.conditions import conditions
from verify.theorems.evidence.theorems import RANK
from verify.verdict import Verdict, decided


@dataclass(frozen=True, eq=False)
class Counterexample:
    """Contexts on which no weights reach the printed rank, for heads without skip connection and d_h = d.

    Args:
        name: The kind of contexts.
        contexts: The contexts, `[T, S]`.
        d_model: d = d_h.
        n_heads: H.
    """

    name: str
    contexts: Int64Array
    d_model: int
    n_heads: int


def loops(d_vocab: int) -> Int64Array:
    """Return the constant bigrams, whose differences are all equal: `[d_vocab, 2]`.

    Example:
        >>> loops(2).tolist()
        [[0, 0], [1, 1]]
    """
    return np.repeat(np.arange(d_vocab)[:, None], 2, axis=1)


def counterexamples() -> tuple[Counterexample, ...]:
    """Return one counterexample for each way in which Lemma 2 fails, and larger ones."""
    return (
        Counterexample("XOR", exclusive_or_contexts(), 4, 1),
        Counterexample("XOR, padded and wide", exclusive_or_contexts(6), 16, 1),
        Counterexample("all binary contexts of one last token", all_contexts(2, 5)[::2], 16, 1),
        Counterexample("loops", loops(4), 2, 2),
        Counterexample("loops", loops(9), 3, 3),
        Counterexample("contexts of one token", np.arange(2)[:, None], 1, 2),
        Counterexample("contexts of one token", np.arange(6)[:, None], 3, 2),
        Counterexample("d > N + S - 1", all_contexts(2, 2), 4, 1),
        Counterexample("d > N + S - 1", all_contexts(3, 2), 5, 2),
    )


def false_step(*, n_ctx: int = 6, d_model: int = 4, seed: int = 0) -> tuple[Int64Array, ExactFrontEnd]:
    r"""Return the instance against "it is sufficient to have the image of f not contained in any hyperplane".

    Padded XOR with as many heads as $\mathbb{R}^{d \times T}$ has dimensions, $W_V = I$: the outputs of the heads,
    one matrix of $d T$ entries for each, are linearly independent, though each has rank 3 at most.

    Args:
        n_ctx: S, at least d + 1 so that every context moves in all d dimensions.
        d_model: d, at least 4.
        seed: Seed of the integers.

    Returns:
        The four contexts and a front end of $4 d$ heads.

    Raises:
        HypothesisError: Contexts too short or too narrow.

    Example:
        >>> contexts, front_end = false_step()
        >>> contexts.shape, front_end.n_heads, front_end.d_head
        ((4, 6), 16, 4)
    """
    if not 4 <= d_model < n_ctx:
        raise HypothesisError("the false step of Lemma 2", "4 <= d <= S - 1", f"d = {d_model}, S = {n_ctx}")
    contexts = exclusive_or_contexts(n_ctx)
    sizes = {"d_vocab": 2, "n_ctx": n_ctx, "d_model": d_model, "n_heads": len(contexts) * d_model}
    drawn = integer_attention(**sizes, d_head=1, seed=seed, largest=2)
    identity = drawn.W_K[0]
    return contexts, ExactFrontEnd(drawn.W_E, drawn.W_pos, drawn.W_Q, drawn.W_K, (identity,) * drawn.n_heads)


def shared_directions(
    *, d_vocab: int, n_ctx: int, d_model: int, d_head: int, n_heads: int, largest: int, seed: int
) -> ExactFrontEnd:
    r"""Return integer weights that Theorem G1 proves sufficient: $W^h = \lambda_h u^\top v$ in units of $\ln 2$.

    The directions $u, v$ have entries -1, 0, 1 and are not 0, the $\lambda_h$ are 1, 2, 3, ..., so that the powers of 2
    in the attention stay small while the embeddings are as large as they have to be. (Not both 1 and -1: for two tokens
    their attention weights add up to 1.) Whether the weights are in general position is for the exact rank to tell.

    Args:
        d_vocab: N.
        n_ctx: S.
        d_model: d.
        d_head: $d_h$.
        n_heads: H.
        largest: Largest absolute value of an entry of the embeddings and values.
        seed: Seed of the draw.

    Returns:
        The front end; exact.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2, repaired.

    Example:
        >>> sizes = dict(d_vocab=2, n_ctx=2, d_model=1, d_head=1, n_heads=3)
        >>> drawn = shared_directions(**sizes, largest=3, seed=0)
        >>> [query.entries() for query in drawn.W_Q], drawn.W_K[0].entries()
        ([[1], [2], [3]], [1])
    """
    rng = np.random.default_rng(seed)

    def draw(rows: int, columns: int) -> fmpq_mat:
        return as_rationals(rng.integers(-largest, largest + 1, (rows, columns)))

    def direction() -> fmpq_mat:
        entries = rng.integers(-1, 2, (d_model, 1))
        entries[rng.integers(d_model)] = 1
        return as_rationals(entries)

    u, v = direction(), direction()
    return ExactFrontEnd(
        draw(d_vocab, d_model),
        draw(n_ctx, d_model),
        tuple(u * (head + 1) for head in range(n_heads)),
        (v,) * n_heads,
        tuple(draw(d_model, d_head) for _ in range(n_heads)),
    )


CLAIM = Claim(
    id="dana.lemma-2",
    title="The rank of the outputs of H heads",
    source="Dana, Pydi, Chevaleyre (2024), Lemma 2",
    kind="statement",
    quotation=(
        r"Lemma 2. Let A the attention before output of a model with H heads. For T_0 token sequences, there exists "
        r"matrices W_{QK}^i and embeddings e and pos such that the family $\{A(t_{1:S})\}_t$ has rank greater than "
        r"$\min(T_0, Hd)$."
    ),
    printed=(
        "For T_0 contexts there are embeddings e, pos and W_QK such that the attention outputs A of H heads, before "
        "W_V, have a rank greater than (read: at least) [[printed: min(T_0, H d)]]."
    ),
    reading=(
        "'Greater than' is read as 'at least', as no matrix of H d rows has more, and the T_0 sequences are any, as "
        "the proof takes them and Theorem 1 needs them: the support of any distribution. For all N^S sequences, S >= "
        "2 and d_h <= d <= N, the count with the skip connection, which Theorem 1 rests on, is right (Theorem S5)."
    ),
    judgement="false",
    truth=(
        "The largest rank is the generic rank R* over free attention weights, reached by rank-one W_QK with shared "
        "directions (Theorem G1). For [[bigrams: S = 2]] it is a minimum over sets of contexts with the "
        "rank of a lift matroid (S2); for all [[every: N^S]] contexts, [[long: S >= 2]] and "
        "[[widths: d_h <= min(d, N)]], it is [[all_contexts: min(N^S, min(d, N) + H d_h)]] "
        "with the skip connection (S5); a partition of the contexts over the heads proves it in general (S3), "
        "multiplicities of the last tokens are enough for [[longer: S > d_h]] (S4), and for [[long: S >= 2]] "
        "[[universal: min(T, min(d, j) + H)]] is reached for every set with j last tokens (G2). For "
        "[[alone: S = 1]] it is [[tokens: min(d, T)]]. On all contexts of n bits with the same last token it is at "
        "most [[bits: 1 + H n]], whatever d is."
    ),
    wrong=(
        "for the four contexts of XOR the rank is at most 3 with one head of any width, where 4 is promised; true "
        "of all N^S contexts, S >= 2 and d_h <= d <= N, with the skip connection: rank min(N^S, d + H d_h)"
    ),
    page="docs/claims/closed_forms.md",
    hypotheses=(
        *conditions("N >= 1", "S >= 2", "1 <= d_h <= min(d, N)", "d >= 2 or N <= 2"),
        *conditions("d <= N + S - 1: the embeddings of tokens and positions span no more"),
        Hypothesis(
            "H = 0 (for the fewest) or min(d, N) + H d_h >= N^S",
            lambda d_vocab, n_ctx, d_model, d_head, n_heads, **_: (
                n_heads == 0 or (n_heads > 0 and min(d_model, d_vocab) + n_heads * d_head >= d_vocab**n_ctx)
            ),
        ),
    ),
    parameters={"d_vocab": 4, "n_ctx": 3, "d_model": 4, "d_head": 4, "n_heads": 0, "seed": 0},
    build=fewest_heads_memory,
)

_LOWER = "rank over GF(2^62 - 57) of explicit integer weights with base-2 attention"


_UPPER = "integer ranks of formal vectors and indicators of the contexts"


@dataclass(frozen=True, eq=False)
class _Instance:
    """Contexts and sizes on which a theorem gives the largest rank, and the set that proves it to be the largest."""

    contexts: Int64Array
    d_model: int
    d_head: int
    n_heads: int
    value: int
    with_skip: bool = True
    subset: tuple[int, ...] | None = None
    formula: Stated | None = None
    conditions: tuple[Comparison, ...] = ()

    @property
    def sizes(self) -> dict[str, Any]:
        return _sizes(self.d_model, self.d_head, self.n_heads)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for example in counterexamples():
        yield _counterexample(example)
    yield _every_number_of_heads(4)
    yield _printed_is_reached()
    yield _false_step()
    rng = np.random.default_rng(0)
    many = 25 if full else 4
    yield _theorem("Theorem G1", "random contexts whose bound explicit weights reach", list(_generic(rng, 12 * many)))
    yield _theorem("Theorem S2", "bigrams", [*_adversarial_bigrams(full), *_bigrams(rng, 12 * many)])
    yield _theorem("Theorem S3", "contexts with a partition", list(_partitioned(rng, 12 * many)))
    yield _theorem("Theorem S4", "contexts longer than d_h", list(_long(rng, 12 * many)))
    yield _theorem("Theorem S5", "all contexts", list(_all(full)))
    yield _theorem("Theorem G2", "any contexts with d_h = 1", list(_universal(rng, 12 * many)))
    yield _windows(full)
    yield _built({})
    if full:
        yield _built({"d_vocab": 5, "d_model": 5, "d_head": 5, "seed": 1})
        yield _built({"d_vocab": 8, "d_model": 8, "d_head": 4, "n_ctx": 2, "seed": 2})


def _sizes(d_model: int, d_head: int, n_heads: int) -> dict[str, Any]:
    return {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}


def _counterexample(example: Counterexample) -> Evidence:
    contexts, d_model, n_heads = example.contexts, example.d_model, example.n_heads
    sizes = _sizes(d_model, d_model, n_heads)
    applied = RANK.at(contexts=contexts, **sizes, with_skip=False)
    ceiling = RANK.at("rank", contexts=contexts, **sizes, with_skip=False)
    reached = _reached(contexts, sizes, with_skip=False, target=ceiling.value)
    printed = stated(CLAIM, "printed", T_0=len(contexts), H=n_heads, d=d_model)
    data: dict[str, Any] = {"contexts": contexts.tolist(), **sizes, "bound": applied.value.name}
    if len(set(contexts[:, -1].tolist())) == 1:
        data["relation"] = indicator_relation(contexts)
    return Evidence(
        "counterexample",
        f"{example.name}: {counted(n_heads, 'head')} with d = d_h = {d_model} cannot reach rank {printed.value} on "
        f"these {len(contexts)} contexts of {contexts.shape[1]} tokens; the largest rank is {ceiling.value}.",
        f"rank >= {printed}",
        f"rank <= {ceiling.value}, and rank >= {reached} for explicit weights",
        Method(f"{_UPPER}; {_LOWER}", Means.EXACT, Means.MODULAR),
        data=data,
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(ceiling, "<", printed),
            Comparison(ceiling, "=", reached),
            *_of_one_token(example, ceiling),
        ),
    )


def _of_one_token(example: Counterexample, ceiling: Applied) -> tuple[Comparison, ...]:
    """On contexts of one token the rank is that of the tokens."""
    facts, n_ctx = example.contexts.shape
    if n_ctx > 1:
        return failed(CLAIM, "alone", S=n_ctx)
    return (
        *met(CLAIM, "alone", S=n_ctx),
        *failed(CLAIM, "long", S=n_ctx),
        Comparison(ceiling, "=", stated(CLAIM, "tokens", d=example.d_model, T=facts)),
    )


def _every_number_of_heads(largest: int) -> Evidence:
    """All contexts of n bits with one last token: heads see rank 1 + H n at most, however wide they are."""
    compared, shown = [], []
    for n_heads in range(1, largest + 1):
        bits = next(n for n in range(2, 99) if 2**n > 1 + n_heads * n)
        contexts = bit_contexts(bits)
        sizes = _sizes(len(contexts), len(contexts), n_heads)
        ceiling = RANK.at("rank", contexts=contexts, **sizes, with_skip=False)
        printed = stated(CLAIM, "printed", T_0=len(contexts), H=n_heads, d=len(contexts))
        compared += [
            Comparison(ceiling, "<", printed),
            Comparison(ceiling, "=", stated(CLAIM, "bits", H=n_heads, n=bits)),
        ]
        shown.append(f"{ceiling.value} of {len(contexts)}")
    return Evidence(
        "counterexample",
        f"H = 1 .. {largest} heads of width d = d_h = T on the T = 2^n contexts of n bits with one last token, for the "
        "least n with 2^n > 1 + H n",
        "rank >= min(T, H d) = T",
        f"rank <= {', '.join(shown)}",
        Method("ranks of integer matrices", Means.EXACT),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=tuple(compared),
    )


def _printed_is_reached() -> Evidence:
    """Contexts of a general kind, on which the printed rank is the largest one: the formula itself is no slip."""
    compared = []
    for d_vocab, n_ctx, d_model, n_heads in ((3, 3, 2, 3), (4, 3, 3, 4), (3, 4, 3, 5), (4, 2, 4, 1)):
        contexts = all_contexts(d_vocab, n_ctx)
        sizes = _sizes(d_model, d_model, n_heads)
        printed = stated(CLAIM, "printed", T_0=len(contexts), H=n_heads, d=d_model)
        ceiling = RANK.at("rank", contexts=contexts, **sizes, with_skip=False)
        reached = _reached(contexts, sizes, with_skip=False, target=ceiling.value)
        compared += [Comparison(ceiling, "=", printed), Comparison(reached, "=", printed)]
    return Evidence(
        "claim",
        "all contexts of (N, S) = (3, 3), (4, 3), (3, 4), (4, 2): the printed rank is the largest one",
        "largest rank = min(T_0, H d)",
        f"equal in {sum(one.verdict is Verdict.PROVED for one in compared) // 2} of {len(compared) // 2}",
        Method(f"{_LOWER}; {_UPPER}", Means.EXACT, Means.MODULAR),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=tuple(compared),
    )


def _false_step() -> Evidence:
    contexts, front_end = false_step()
    d_model, n_heads = front_end.d_model, front_end.n_heads
    ceiling = RANK.at("rank", contexts=contexts, d_model=d_model, d_head=d_model, n_heads=1, with_skip=False)
    rows = exact_outputs(front_end, contexts).tolist()
    outputs = [
        [entry for row in rows for entry in row[d_model * (1 + head) : d_model * (2 + head)]] for head in range(n_heads)
    ]
    span = fmpq_mat(outputs).rank()
    space = len(contexts) * d_model
    printed = stated(CLAIM, "printed", T_0=len(contexts), H=1, d=d_model)
    return Evidence(
        "counterexample",
        f"The outputs of {n_heads} heads on {len(contexts)} contexts of {contexts.shape[1]} tokens with d = {d_model} "
        f"span all {space} dimensions, so they lie in no hyperplane, though each has rank {ceiling.value} or "
        f"less: that the image of f lies in no hyperplane does not give rank {printed.value}.",
        f"rank >= {printed} with 1 head, since the image of f lies in no hyperplane",
        f"span of dimension {span} of {space}; rank <= {ceiling.value}",
        Method(f"rank over the rationals of {n_heads} explicit outputs; {_UPPER}", Means.EXACT),
        data={"contexts": contexts.tolist(), "relation": indicator_relation(contexts)},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(Comparison(span, "=", space), Comparison(ceiling, "<", printed)),
    )


def _theorem(name: str, about: str, instances: list[_Instance]) -> Evidence:
    compared, confirmed, failed = [], 0, []
    for instance in instances:
        ceiling = RANK.at(
            "rank", contexts=instance.contexts, subset=instance.subset, **instance.sizes, with_skip=instance.with_skip
        )
        # What explicit weights reach is counted up to the bound, not up to the value that is to be confirmed.
        reached = _reached(instance.contexts, instance.sizes, with_skip=instance.with_skip, target=ceiling.value)
        compared += [Comparison(instance.value, "<=", ceiling), Comparison(ceiling, "<=", instance.value)]
        compared += [Comparison(reached, "=", instance.value), *instance.conditions]
        if instance.formula is not None:
            compared.append(Comparison(instance.value, "=", instance.formula))
        if reached == instance.value == ceiling.value:
            confirmed += 1
        else:
            failed.append({"contexts": instance.contexts.tolist(), **instance.sizes, "reached": reached})
    largest = max(len(instance.contexts) for instance in instances)
    return Evidence(
        "repair",
        f"{name} gives the largest rank exactly on {len(instances)} instances ({about}, 1 to {largest} contexts).",
        "rank = the value of the theorem",
        f"value = rank of explicit weights = bound from above, on {confirmed} instances",
        Method(f"{_LOWER}; {_UPPER}", Means.EXACT, Means.MODULAR),
        Verdict.PROVED if compared else Verdict.UNDECIDED,
        data={"ranks": [instance.value for instance in instances], "failed": failed[:3]},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=tuple(compared),
    )


def _windows(full: bool) -> Evidence:
    checked, good = 0, 0
    shapes = [(d_vocab, n_ctx) for d_vocab in range(1, 8 if full else 6) for n_ctx in range(2, 5)]
    for d_vocab, n_ctx in (shape for shape in shapes if shape[0] ** shape[1] <= 350):
        for d_model in range(1, d_vocab + 2):
            for d_head in range(1, min(d_model, d_vocab) + 1):
                sizes = _sizes(d_model, d_head, -(-(d_vocab**n_ctx) // d_head))
                contexts, windows = all_contexts_windows(d_vocab, n_ctx, **sizes)
                checked += 1
                good += windows.size == d_vocab**n_ctx and _holds(contexts, windows, d_model, d_head)
    return Evidence(
        "repair",
        f"The windows of Theorem S5 partition all contexts for {checked} choices of N, S, d, d_h.",
        "every window linearly independent",
        f"disjoint, exhaustive and independent for {good} of {checked}",
        Method("integer ranks of the chosen differences of every window", Means.EXACT),
        decided(good == checked > 0),
    )


def _holds(contexts: Int64Array, found: Partition, d_model: int, d_head: int) -> bool:
    windows = [(window.rows, window.positions) for window in found.windows]
    return partition_holds(contexts, skip=found.skip, windows=windows, d_model=d_model, d_head=d_head)


def _built(parameters: dict[str, int]) -> Evidence:
    construction = CLAIM.construct(**parameters)
    task, network, requested = construction.task, construction.model, {**CLAIM.parameters, **parameters}
    certificate = certify_memorization(network, task).certificate
    fewer = max(0, network.n_heads - 1)
    sizes = _sizes(network.d_model, network.d_head, fewer)
    ceiling = RANK.at("rank", contexts=task.contexts, **sizes, with_skip=True)
    as_asked = (network.d_model, network.d_head) == (requested["d_model"], requested["d_head"]) and (
        task.n_contexts == requested["d_vocab"] ** requested["n_ctx"]
    )
    return Evidence(
        "repair",
        f"Float64 weights with d = {network.d_model}, d_h = {network.d_head} and H = {network.n_heads} hold a "
        f"label of each of all {task.n_contexts} contexts of {task.n_ctx} tokens; with {fewer} heads "
        f"rank {task.n_contexts} is out of reach.",
        f"{task.n_contexts} labels with the fewest heads",
        f"argmax of {certificate.answers.values['memorized']} contexts, for the network in real arithmetic; rank <= "
        f"{ceiling.value} with {fewer} heads",
        Method(f"{certificate.answers.method}; {_UPPER}", Means.EXACT),
        Verdict.all_of([certificate.verdict, decided(as_asked)]),
        data=requested,
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(Comparison(ceiling, "<", task.n_contexts),),
    )


def _reached(contexts: Int64Array, sizes: dict[str, Any], *, with_skip: bool, target: int) -> int:
    """Return the largest rank certified for drawn integer weights, stopping at the first that reaches the target."""
    best = 0
    for seed in range(12):
        front_end = shared_directions(
            d_vocab=int(contexts.max()) + 1, n_ctx=contexts.shape[1], **sizes, largest=3 * 2 ** (seed // 2), seed=seed
        )
        best = max(best, exact_rank(front_end, contexts, with_skip=with_skip).lower)
        if best >= target:
            break
    return best


def _contexts(rng: np.random.Generator, d_vocab: int, n_ctx: int, most: int) -> Int64Array:
    every = all_contexts(d_vocab, n_ctx)
    return every[rng.permutation(len(every))[: rng.integers(1, min(len(every), most) + 1)]]


def _widths(rng: np.random.Generator, most: int) -> tuple[int, int]:
    d_model = int(rng.integers(1, most + 1))
    return d_model, int(rng.integers(1, d_model + 1))


def _generic(rng: np.random.Generator, count: int) -> Iterator[_Instance]:
    """Contexts on which explicit weights reach the bound; where they do not, others are drawn. First the refuting ones.

    Whether an instance is asked about is decided without the theorem that it asks.
    """
    for example in counterexamples():
        sizes = _sizes(example.d_model, example.d_model, example.n_heads)
        if _meets(example.contexts, sizes):
            value = generic_rank(example.contexts, **sizes)
            yield _Instance(example.contexts, example.d_model, example.d_model, example.n_heads, value)
    while count:
        contexts = _contexts(rng, int(rng.integers(1, 4)), int(rng.integers(1, 5)), 16)
        d_model, d_head = _widths(rng, 4)
        n_heads = int(rng.integers(0, 4))
        sizes = _sizes(d_model, d_head, n_heads)
        if _meets(contexts, sizes):
            count -= 1
            yield _Instance(contexts, d_model, d_head, n_heads, generic_rank(contexts, **sizes))


def _meets(contexts: Int64Array, sizes: dict[str, Any]) -> bool:
    """Tell whether explicit weights reach the bound of these contexts."""
    bound = rank_upper_bound_for_all_weights(contexts, **sizes, with_skip=True).rank
    return _reached(contexts, sizes, with_skip=True, target=bound) == bound


def _adversarial_bigrams(full: bool) -> Iterator[_Instance]:
    star = np.column_stack([np.arange(7), np.zeros(7, dtype=np.int64)])
    loops = np.repeat(np.arange(6)[:, None], 2, axis=1)
    bipartite = np.array([[n, c] for n in range(3) for c in range(3, 6)])
    two_stars = np.concatenate([star, star[1:, ::-1]])
    cycle = np.column_stack([np.arange(6), (np.arange(6) + 1) % 6])
    tail = np.concatenate([bipartite, [[6, 7], [7, 8], [8, 6]]])
    for contexts in (star, loops, bipartite, two_stars, cycle, tail, np.array([[0, 0]])):
        for d_model, d_head, n_heads in ((2, 2, 1), (2, 1, 2), (4, 3, 2), (3, 3, 0), *(((6, 5, 3), (9, 9, 2)) * full)):
            for with_skip in (True, False):
                yield _bigram_instance(contexts, d_model, d_head, n_heads, with_skip=with_skip)


def _bigrams(rng: np.random.Generator, count: int) -> Iterator[_Instance]:
    for _ in range(count):
        contexts = _contexts(rng, int(rng.integers(1, 6)), 2, 18)
        d_model, d_head = _widths(rng, 5)
        yield _bigram_instance(contexts, d_model, d_head, int(rng.integers(0, 4)), with_skip=bool(rng.integers(0, 2)))


def _bigram_instance(contexts: Int64Array, d_model: int, d_head: int, n_heads: int, *, with_skip: bool) -> _Instance:
    rank = bigram_rank(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads, with_skip=with_skip)
    rows, bigrams = tuple(rank.rows.tolist()), met(CLAIM, "bigrams", S=contexts.shape[1])
    return _Instance(contexts, d_model, d_head, n_heads, rank.rank, with_skip, rows, conditions=bigrams)


def _partitioned(rng: np.random.Generator, count: int) -> Iterator[_Instance]:
    """Contexts all of which fit into a partition."""
    while count:
        contexts = _contexts(rng, int(rng.integers(2, 6)), int(rng.integers(2, 4)), 30)
        d_model, d_head = _widths(rng, 5)
        n_heads = -(-len(contexts) // d_head) - int(rng.integers(0, 2))
        assigned = partition(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads)
        if assigned.size == len(contexts) and _holds(contexts, assigned, d_model, d_head):
            count -= 1
            yield _Instance(contexts, d_model, d_head, n_heads, len(contexts))


def _long(rng: np.random.Generator, count: int) -> Iterator[_Instance]:
    """Contexts longer than the heads are wide, with as many heads as the multiplicities ask for and not one more."""
    for _ in range(count):
        d_head = int(rng.integers(1, 4))
        d_model = d_head + int(rng.integers(0, 3))
        contexts = _contexts(rng, int(rng.integers(1, 4)), d_head + 1, 24)
        n_heads = 0
        while long_contexts_rank(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads) < len(contexts):
            n_heads += 1
        longer = met(CLAIM, "longer", S=contexts.shape[1], d_h=d_head)
        yield _Instance(contexts, d_model, d_head, n_heads, len(contexts), conditions=longer)


def _all(full: bool) -> Iterator[_Instance]:
    sizes = [(1, 3, 2, 1), (2, 2, 1, 1), (2, 3, 2, 2), (3, 2, 2, 2), (3, 3, 4, 2), (4, 2, 6, 3), (2, 5, 2, 1)]
    sizes += [(16, 2, 16, 16)]
    if full:
        sizes += [(4, 3, 4, 4), (3, 4, 3, 2), (5, 2, 5, 5), (6, 2, 4, 3), (32, 2, 32, 32), (10, 3, 10, 10)]
    for d_vocab, n_ctx, d_model, d_head in sizes:
        contexts = all_contexts(d_vocab, n_ctx)
        enough = -(-(d_vocab**n_ctx) // d_head)
        for n_heads in sorted({0, 1, enough // 2, enough} if len(contexts) < 500 else {enough}):
            value = all_contexts_rank(d_vocab, n_ctx, d_model=d_model, d_head=d_head, n_heads=n_heads)
            formula = stated(CLAIM, "all_contexts", N=d_vocab, S=n_ctx, d=d_model, H=n_heads, d_h=d_head)
            conditions = (
                *met(CLAIM, "long", "widths", S=n_ctx, N=d_vocab, d=d_model, d_h=d_head),
                Comparison(len(contexts), "=", stated(CLAIM, "every", N=d_vocab, S=n_ctx)),
            )
            yield _Instance(contexts, d_model, d_head, n_heads, value, formula=formula, conditions=conditions)


def _universal(rng: np.random.Generator, count: int) -> Iterator[_Instance]:
    for _ in range(count):
        contexts = _contexts(rng, int(rng.integers(1, 4)), int(rng.integers(2, 5)), 16)
        d_model, n_heads = int(rng.integers(1, 4)), int(rng.integers(0, 8))
        value = universal_rank(contexts, d_model=d_model, d_head=1, n_heads=n_heads)
        last = len(set(contexts[:, -1].tolist()))
        formula = stated(CLAIM, "universal", T=len(contexts), d=d_model, j=last, H=n_heads)
        yield _Instance(contexts, d_model, 1, n_heads, value, formula=formula)
