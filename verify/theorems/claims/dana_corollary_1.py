"""Corollary 1 of Dana et al.: H heads of dimension d_h with d = 2 hold H d_h + 2 associations.

Page: docs/claims/corollary_1.md
"""

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from flint import fmpq

from constructions.attention.capacity.expected_accuracy import guaranteed_number
from constructions.attention.capacity.forbidden_labelling import forbidding_multipliers
from constructions.attention.embeddings import rank_one_integer_attention
from constructions.encoders.lookup_table import exact_lookup_table, lookup_front_end, lookup_table, random_lookup_table
from constructions.heads_of_theorem_1.memory import build_memory
from constructions.memories.bigrams.one_head import one_head_memory
from constructions.model.exact_network import as_rationals
from constructions.model.model import Model
from constructions.tasks.arrays import all_contexts, array_task, enumerated_task
from constructions.tasks.task import Task
from verify.forward.heads import enclose_features
from verify.forward.in_rationals import exact_network_logits, exact_outputs
from verify.linear_algebra.condition import enclose_condition
from verify.provers.memorization import certify_memorization
from verify.runs.formats import FLOAT32
from verify.runs.rounding import rounding_bound
from verify.theorems.capacity.exact_rank import exact_rank
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, Role, met, stated
from verify.theorems.evidence.conditions import conditions
from verify.theorems.evidence.theorems import HEADS_FOR_EVERY_LABELLING, ONE_HEAD_LABELS
from verify.verdict import Verdict, decided, proved

CLAIM = Claim(
    id="dana.corollary-1",
    title="Associations that heads hold in two dimensions",
    source="Dana, Pydi, Chevaleyre (2024), Corollary 1",
    kind="statement",
    quotation=(
        r"Corollary 1. Under Assumption 1, there exist an AoT $\mathcal{T}$ with embedding dimension 2, H attention "
        r"heads and d_h inner head dimension, which can memorize at least $T_0 = Hd_h + 2$ associations, using $2(S + "
        r"2N + 4(T_0 - 2))$ parameters."
    ),
    printed=(
        "For any [[printed: H d_h + 2]] contexts with a next token each, some attention-only transformer with "
        "[[plane: d = 2]], H heads and head dimension d_h memorizes all of them, with "
        "[[parameters: 2 (S + 2 N + 4 (T - 2))]] parameters."
    ),
    reading=(
        'For any so many associations, with H and d_h given: T_0 is their number, and "our Corollary 1 is a '
        'statement in worst-case" (section 4.2). Of all N^S contexts with d_h <= 2 <= N it is true.'
    ),
    judgement="false",
    truth=(
        "For [[long: S >= 2]] some weights with [[plane: d = 2]] memorize "
        "[[memorized: max(j, min(T, H + min(2, j)))]] of any T contexts, j the number of distinct last tokens; all "
        "[[every: N^S]] contexts up to [[all_contexts: H d_h + 2]], for [[narrow: d_h <= 2]]. XOR is not memorized by "
        "[[heads: one]] head of any width. Rank is no upper limit: [[heads: one]] head with [[shape: d = N >= 2]], "
        "[[thin: d_h = 1]] holds any labels of all [[bigrams: N^2]] bigrams."
    ),
    wrong=(
        "one head memorizes at most three of the four contexts of XOR, where four are promised; true of max(j, "
        "min(T, H + min(2, j))) of any T contexts with j last tokens, S >= 2, and of all N^S contexts up to H d_h "
        "+ 2 if d_h <= 2"
    ),
    page="docs/claims/corollary_1.md",
    hypotheses=conditions("N >= 1 and N != 2", "gap >= 1"),
    parameters={"d_vocab": 8, "gap": 8, "seed": 0},
    build=random_lookup_table,
)

_XOR = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])


_XOR_LABELS = np.array([0, 0, 1, 1])


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _xor()
    for n_ctx in (4, 5) if full else (4,):
        yield _labellings(n_ctx)
    yield too_few_heads(20 if full else 12)
    yield _no_more_than_suffice()
    for name, contexts in _sets(full):
        yield _guaranteed(name, contexts)
    for d_vocab, n_ctx in ((2, 2), (3, 2), (2, 3), (2, 4), *(((4, 2), (3, 3)) if full else ())):
        yield _all_contexts(d_vocab, n_ctx)
    yield _exact_tables(range(2, 13 if full else 9))
    yield _exact_outputs(range(2, 7 if full else 6))
    yield _singular_table()
    for d_vocab in (8, 16, 32):
        yield _table(d_vocab)
    yield _one_head_every_labelling(2)
    for d_vocab in (5, 10, 20, *((50, 100) if full else ())):
        yield _one_head(d_vocab, draws=10 if full else 3)


def _xor() -> Evidence:
    multipliers = forbidding_multipliers(_XOR, _XOR_LABELS)
    tried = np.zeros((4, 2), dtype=np.int64) if multipliers is None else multipliers  # zeros prove nothing
    n_heads = 1
    forbidden = ONE_HEAD_LABELS.at(contexts=_XOR, labels=_XOR_LABELS, multipliers=tried, n_heads=n_heads)
    return Evidence(
        "counterexample",
        f"One head, of any width, does not memorize XOR: {len(_XOR)} contexts, N = 2, S = 3.",
        f"{len(_XOR)} = H d_h + 2 memorized with d = d_h = 2, H = 1",
        f"at most {len(_XOR) - 1}",
        Method("an integer relation between the contexts", Means.EXACT),
        data={
            "contexts": _XOR.tolist(),
            "labels": _XOR_LABELS.tolist(),
            "multipliers": None if multipliers is None else multipliers.tolist(),
        },
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(forbidden, "=", Verdict.PROVED),
            Comparison(len(_XOR), "<=", stated(CLAIM, "printed", H=1, d_h=2)),
            Comparison(len(_XOR), ">", stated(CLAIM, "printed", H=0, d_h=2)),
            Comparison(n_heads, "=", stated(CLAIM, "heads")),
        ),
    )


def _labellings(n_ctx: int) -> Evidence:
    """Return every labelling of the contexts with one last token that a relation forbids."""
    contexts = np.array([[*rest, 0] for rest in product(range(2), repeat=n_ctx - 1)])
    # The same labels with the two tokens exchanged have the same relation.
    labellings = [np.array([0, *rest]) for rest in product(range(2), repeat=len(contexts) - 1)]
    if len(labellings) > 2**7:
        labellings = [labellings[i] for i in np.random.default_rng(0).choice(len(labellings), 2**7, replace=False)]
    compared = []
    for labels in labellings:
        multipliers = forbidding_multipliers(contexts, labels)
        if multipliers is not None:
            forbidden = ONE_HEAD_LABELS.at(contexts=contexts, labels=labels, multipliers=multipliers)
            compared.append(Comparison(forbidden, "=", Verdict.PROVED))
    return Evidence(
        "counterexample",
        f"{len(compared)} of {len(labellings)} labellings of the {len(contexts)} contexts of {n_ctx} tokens out "
        f"of 2 with one last token are beyond one head of any width.",
        f"none, by Theorem 1 with H = 1, d = d_h = {len(contexts) // 2}",
        f"{len(compared)} of {len(labellings)}",
        Method("integer relations between the contexts", Means.EXACT),
        proved(len(compared) > 0),
        quantifier=Quantifier.ALL_WEIGHTS if compared else Quantifier.THESE,
        compared=tuple(compared),
    )


def too_few_heads(n_ctx: int, promised: str = "", *, role: Role = "counterexample") -> Evidence:
    """Prove that some labelling of the binary contexts of one last token needs more heads than one.

    Args:
        n_ctx: Tokens in a context.
        promised: What is said instead; by default what Theorem 1 says.
        role: Role of the evidence.
    """
    least = HEADS_FOR_EVERY_LABELLING.at(d_vocab=2, n_ctx=n_ctx)
    return Evidence(
        role,
        f"Fewer than {least.value} heads, of any widths, leave some labelling of the {2 ** (n_ctx - 1)} contexts "
        f"of {n_ctx} tokens out of 2 with one last token unmemorized.",
        promised or f"1 head suffices, by Theorem 1 with d = d_h = {2 ** (n_ctx - 2)}",
        f"H >= {least.value}",
        Method("Warren's count of sign patterns, in balls", Means.BALLS),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(Comparison(least, ">", 1),),
    )


def _no_more_than_suffice() -> Evidence:
    """Where few contexts have one last token, features of full rank hold every labelling: no count may ask for more."""
    compared, shown = [], []
    for n_ctx in (2, 3, 4):
        contexts = np.array([[*rest, 0] for rest in product(range(2), repeat=n_ctx - 1)])
        n_heads = len(contexts) - 1
        front_end = rank_one_integer_attention(d_vocab=2, n_ctx=n_ctx, d_model=2, d_head=1, n_heads=n_heads, seed=n_ctx)
        compared += [
            Comparison(exact_rank(front_end, contexts).lower, "=", len(contexts)),
            Comparison(HEADS_FOR_EVERY_LABELLING.at(d_vocab=2, n_ctx=n_ctx), "<=", n_heads),
        ]
        shown.append(f"{n_heads} for {len(contexts)}")
    return Evidence(
        "boundary",
        "the contexts of 2, 3, 4 tokens out of 2 with one last token: features of full rank, so that every "
        f"labelling is memorized, with so many heads for so many contexts: {', '.join(shown)}",
        "the count of heads that are needed is no larger",
        "no larger",
        Method("rank over GF(2^62 - 57); Warren's count in balls", Means.MODULAR, Means.BALLS),
        compared=tuple(compared),
    )


def _sets(full: bool) -> Iterator[tuple[str, np.ndarray]]:
    yield "XOR", _XOR
    yield "loops", np.array([[n, n] for n in range(6)])
    yield "one last token", np.array([[n, 0] for n in range(5)])
    rng = np.random.default_rng(0)
    for d_vocab, n_ctx, size in ((3, 3, 8), (4, 2, 9), *(((5, 4, 12), (3, 6, 14)) if full else ())):
        everything = all_contexts(d_vocab, n_ctx)
        yield "random contexts", everything[rng.choice(len(everything), size, replace=False)]


def _guaranteed(name: str, contexts: np.ndarray) -> Evidence:
    size = len(contexts)
    n_heads = next(h for h in range(1, size + 1) if guaranteed_number(contexts, d_model=2, n_heads=h) >= size)
    d_vocab = int(contexts.max()) + 1
    labels = np.random.default_rng(1).integers(0, d_vocab, size)
    task = array_task(contexts, next_tokens=labels, vocabulary=d_vocab, target="labels")
    margin = _margin(build_memory(task, d_model=2, d_head=1, n_heads=n_heads).model, task, sizes=(2, 1, n_heads))
    last_tokens = len({context[-1] for context in contexts.tolist()})
    promised = stated(CLAIM, "memorized", T=size, j=last_tokens, H=n_heads)
    with_fewer = stated(CLAIM, "memorized", T=size, j=last_tokens, H=n_heads - 1)
    # Contexts of pairwise distinct last tokens need no head.
    fewer = (Comparison(size, ">", with_fewer),) if last_tokens < size else ()
    return _memorized(
        f"{name}: {size} contexts of {contexts.shape[1]} tokens, memorized with d = 2, d_h = 1, H = {n_heads}.",
        f"{promised} memorized",
        f"{size} labels in front by {margin:.3g} nats or more",
        margin > 0,
        (Comparison(size, "=", promised), *fewer, *met(CLAIM, "long", "plane", S=contexts.shape[1], d=2)),
    )


def _all_contexts(d_vocab: int, n_ctx: int) -> Evidence:
    size = d_vocab**n_ctx
    n_heads = max(1, -(-(size - 2) // 2))
    task = enumerated_task(d_vocab, n_ctx)
    network = build_memory(task, d_model=2, d_head=2, n_heads=n_heads).model
    margin = _margin(network, task, sizes=(2, 2, n_heads))
    compared = [
        Comparison(size, "<=", stated(CLAIM, "all_contexts", H=n_heads, d_h=2)),
        Comparison(task.n_contexts, "=", stated(CLAIM, "every", N=d_vocab, S=n_ctx)),
        *met(CLAIM, "long", "plane", "narrow", S=n_ctx, d=network.d_model, d_h=network.d_head),
    ]
    if size == 2 * n_heads + 2:  # the count of the source is one of as many contexts as the heads allow
        numbers = sum(tensor.size for tensor in network.tensors().values())
        compared.append(Comparison(numbers, "=", stated(CLAIM, "parameters", S=n_ctx, N=d_vocab, T=size)))
        compared.append(Comparison(size, "=", stated(CLAIM, "all_contexts", H=n_heads, d_h=2)))
    return _memorized(
        f"All {size} contexts of {n_ctx} tokens out of {d_vocab}, memorized with d = d_h = 2, H = {n_heads}.",
        f"H d_h + 2 = {2 * n_heads + 2} >= {size} memorized",
        f"{size} labels in front by {margin:.3g} nats or more",
        margin > 0,
        compared,
    )


def _exact_tables(sizes: range) -> Evidence:
    gaps = (1, 3, 8)
    ranks, square = [], True
    for d_vocab, gap in product(sizes, gaps):
        front_end = lookup_front_end(d_vocab, gap=gap)
        square = square and front_end.n_heads == front_end.d_head == front_end.d_model == d_vocab
        ranks.append(exact_rank(front_end, all_contexts(d_vocab, 2), with_skip=False))
    return Evidence(
        "repair",
        f"The features of all N^2 bigrams in N heads of dimension N = d are linearly independent for "
        f"N = {sizes.start}, ..., {sizes.stop - 1} and gaps of {', '.join(map(str, gaps))} times ln 2.",
        "rank N^2 = H d_h for every gap",
        f"rank N^2 in {sum(rank.full for rank in ranks)} of {len(ranks)} cases",
        Method(f"rank over GF({ranks[0].prime})", Means.MODULAR),
        proved(square and len(ranks) > 0 and all(rank.full for rank in ranks)),
    )


def _exact_outputs(sizes: range) -> Evidence:
    """The closed form of the outputs, without rounding, on targets drawn at random."""
    rng = np.random.default_rng(0)
    reached = []
    for d_vocab in sizes:
        stream = as_rationals(rng.integers(-9, 10, (d_vocab**2, d_vocab)))
        network = exact_lookup_table(stream, as_rationals(np.eye(d_vocab)), gap=3)
        reached.append(exact_network_logits(network, all_contexts(d_vocab, 2)) == stream)
    return Evidence(
        "repair",
        f"The outputs in closed form reach random targets on all N^2 bigrams exactly, for N = {sizes.start}, ..., "
        f"{sizes.stop - 1}.",
        "logits equal to the targets",
        f"equal in {sum(reached)} of {len(reached)} cases",
        Method("exact rationals", Means.EXACT),
        decided(all(reached)),
    )


def _singular_table() -> Evidence:
    """Features are affine in the attention to the first position, so a relation at two gaps is one at all gaps."""
    holds, seen = [], []
    for gap in (2, 4):
        front_end = lookup_front_end(2, gap=gap, position=[fmpq(-1), fmpq(-1)])
        first, second = (row[2:] for row in exact_outputs(front_end, np.array([[0, 0], [1, 1]])).tolist())
        holds.append(len(first) == 4 and all(a + b == 0 for a, b in zip(first, second, strict=True)))
        seen.append(first)
    return Evidence(
        "repair",
        "For N = 2 and the position (-1, -1) the features of the bigrams 00 and 11 add up to 0, at any gap.",
        "singular at every gap for N = 2",
        f"singular, at {sum(holds)} of {len(holds)} gaps and so at all",
        Method("exact rationals", Means.EXACT),
        decided(all(holds) and seen[0] != seen[1]),
    )


def _table(d_vocab: int) -> Evidence:
    task = enumerated_task(d_vocab, 2)
    network = lookup_table(task)
    margin = _margin(network, task, sizes=(d_vocab, d_vocab, d_vocab))
    condition = float(enclose_condition(enclose_features(network, task.contexts)).upper())
    rounding = float(rounding_bound(network, task.contexts, number_format=FLOAT32).max())
    return Evidence(
        "repair",
        f"All {task.n_contexts} bigrams of {d_vocab} tokens, memorized by {network.n_heads} heads of dimension "
        f"{network.d_head}, in real arithmetic and in float32, at a condition number below 200.",
        f"T = N^2 = H d_h = {task.n_contexts} memorized, condition < 200",
        f"margin >= {margin:.5g} nats, float32 errors <= {rounding:.2g} nats, condition <= {condition:.5g}",
        Method("enclosures of logits and singular values; a-priori rounding bound", Means.ENCLOSURES),
        proved(margin > 2 * rounding and condition < 200.0),
    )


def _one_head_every_labelling(d_vocab: int) -> Evidence:
    size = d_vocab**2
    labellings = list(product(range(d_vocab), repeat=size))
    margin = min(_one_head_margin(d_vocab, np.array(labels)) for labels in labellings)
    return _memorized(
        f"One head of dimension 1 holds each of the {len(labellings)} labellings of all {size} bigrams.",
        "margin 1/2 for every labelling, before rounding",
        f"margin >= {margin:.6f} nats",
        margin > 0.4999,
        _thin(d_vocab),
    )


def _thin(d_vocab: int) -> tuple[Comparison, ...]:
    """Return the sizes of the head that memorizes all bigrams, in the form that `_margin` expects."""
    task = enumerated_task(d_vocab, 2)
    model = one_head_memory(task)
    return (
        *met(CLAIM, "shape", "thin", d=model.d_model, N=d_vocab, d_h=model.d_head),
        Comparison(model.n_heads, "=", stated(CLAIM, "heads")),
        Comparison(task.n_contexts, "=", stated(CLAIM, "bigrams", N=d_vocab)),
    )


def _one_head(d_vocab: int, *, draws: int) -> Evidence:
    size = d_vocab**2
    rng = np.random.default_rng(d_vocab)
    margin = min(_one_head_margin(d_vocab, rng.integers(0, d_vocab, size)) for _ in range(draws))
    return _memorized(
        f"One head with d = {d_vocab}, d_h = 1 holds {draws} random labellings of all {size} bigrams.",
        f"{size} > H d_h + d = {d_vocab + 1} memorized, by the margin 1/2 before rounding",
        f"margin >= {margin:.6f} nats",
        margin > 0.4999,
    )


def _memorized(
    statement: str, promised: str, certified: str, in_front: bool, compared: Sequence[Comparison] = ()
) -> Evidence:
    method = Method("enclosure of the logits", Means.ENCLOSURES)
    return Evidence("repair", statement, promised, certified, method, proved(in_front), compared=tuple(compared))


def _one_head_margin(d_vocab: int, labels: np.ndarray) -> float:
    task = enumerated_task(d_vocab, 2, labels=labels)
    return _margin(one_head_memory(task), task, sizes=(d_vocab, 1, 1))


def _margin(network: Model, task: Task, *, sizes: tuple[int, int, int]) -> float:
    """Return the least proved margin of a label; minus infinity without proof, or for other d, d_h and H."""
    if (network.d_model, network.d_head, network.n_heads) != sizes:
        return -math.inf
    proved = certify_memorization(network, task)
    certified = proved.certificate.verdict is Verdict.PROVED
    return float(proved.answers.margin_lower.min()) if certified else -math.inf
