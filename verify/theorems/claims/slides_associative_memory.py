"""The associative memory on the slides: a sum of outer products is said to store d associations.

Page: docs/claims/outer_product_memory.md
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np

from constructions.encoders.outer_product_memory import (
    Associations,
    parabola,
    random_associations,
    random_outer_product_memory,
    solved_associations,
    tight_associations,
)
from verify.arithmetic.decimals import decimal_above
from verify.theorems.claim import Claim, Hypothesis
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, evaluated, met, stated
from verify.theorems.evidence.conditions import conditions
from verify.theorems.evidence.theorems import LABELS_OF_A_MATRIX
from verify.theorems.memories.outer_product_capacity import (
    StoredAssociations,
    failure_bound,
    is_sum_of_outer_products,
    stored_associations,
    unstorable_labels,
)
from verify.verdict import Verdict, decided, proved


def _all_stored(*, d_model: int, count: int, seed: int, **_: object) -> bool:
    """Tell whether the draw stores all of its associations, in integers."""
    associations = random_associations(d_model, count, seed=seed)
    logits = associations.inputs @ associations.memory.T @ associations.outputs.T
    at = np.arange(count), associations.labels
    right = logits[at]
    logits[at] = np.iinfo(np.int64).min
    return bool((right > logits.max(axis=1)).all())


CLAIM = Claim(
    id="slides.associative-memory",
    title="How many associations a sum of outer products stores",
    source="Dana, slides of 13 June 2024, Associative memory, after Bietti et al. (2023)",
    kind="summary",
    quotation=(
        r"Goal: remember a mapping $g:[N]\to [N]$ using the argmax of $W_UWW_E$, where $W_U,W_E\in\mathbb{R}^{N,d}$ "
        r"random embedding matrices, and $W\in\mathbb{R}^{d,d}$ is to learn. Using $$W = \sum_{i} w_{U}(g(i))^T "
        r"w_{e}(i)$$ they show the model can remember association, but only d of them."
    ),
    printed=(
        "With random embeddings w_U, w_E in R^d and W := sum_i w_U(g(i))^T w_E(i), the argmax of W_U W W_E can "
        "remember the associations i -> g(i), but only d of them."
    ),
    reading=(
        "Of a given mapping g, as 'a mapping' and the sum over its pairs say. Of all mappings at once, the worst "
        "case, it is true. What the cited paper shows is not judged."
    ),
    judgement="hypothesis",
    truth=(
        "True if every mapping is to be stored, be it into [[outputs: two]] output tokens: then d is the limit of "
        "every W, whatever the embeddings are, and it is reached. For a given mapping more can be stored. For a "
        "permutation g and w_U from N / d Hadamard bases with products of at most mu d, some sign vectors as inputs "
        "store all N whenever [[needed: 8 N log N]] is below [[room: (1 - mu) d^2]]. With random w_U too, certified: "
        "[[first: 256]] with [[narrow: d = 128]], [[second: 1000]] with [[wide: d = 256]]. With embeddings of one's "
        "own choice [[rank: two]] dimensions store any number of a given mapping."
    ),
    wrong="needs the condition that every mapping is to be stored; of one given mapping more than d pairs can be",
    page="docs/claims/outer_product_memory.md",
    hypotheses=(
        *conditions("d >= 1, N >= 1", "d <= 1024, N <= 4096", "seed >= 0"),
        Hypothesis("a draw that stores all of its associations", _all_stored),
    ),
    parameters={"d_model": 128, "count": 256, "seed": 0},
    build=random_outer_product_memory,
)

_DRAWS = ((128, 256, 5), (256, 1000, 2))  # d, N, seeds


_DRAWS_FULL = ((256, 1000, 10), (512, 2000, 2))


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_model, count, draws in _DRAWS + (_DRAWS_FULL if full else ()):
        yield _random_signs(d_model, count, draws)
    yield _for_almost_all_inputs(bases=2, d_model=128)
    yield _for_almost_all_inputs(bases=4, d_model=256)
    yield _chosen_embeddings(count=20000 if full else 2000)
    yield _all_labels_of_few(d_model=4)
    yield _not_all_labels_of_more(d_model=16)
    widths = (16, 32, 64, 128, 256) if full else (16, 32, 64)
    yield _growth(widths, outputs=None)
    yield _growth(widths, outputs=2)
    yield _bound_is_no_accident()


def judged(made: Associations) -> StoredAssociations:
    """Count in integers how many associations a matrix stores."""
    return stored_associations(made.outputs, made.inputs, made.labels, made.memory)


def is_as_stated(made: Associations, d_model: int, count: int, *, outputs: int | None = None) -> bool:
    """Tell whether the instance matches a statement: signs, and the sum of their outer products."""
    fits = made.inputs.shape == (count, d_model) and made.outputs.shape == (outputs or count, d_model)
    are_signs = bool((np.abs(made.inputs) == 1).all() and (np.abs(made.outputs) == 1).all())
    if outputs is None:  # a permutation
        are_labels = np.array_equal(np.sort(made.labels), np.arange(count))
    else:  # all outputs in turn
        are_labels = np.array_equal(made.labels, np.arange(count) % outputs)
    is_sum = is_sum_of_outer_products(made.outputs, made.inputs, made.labels, made.memory)
    return fits and are_signs and are_labels and is_sum


def certified_capacity(d_model: int, *, outputs: int | None, seed: int = 0) -> tuple[int, int]:
    """Return a number of associations that a draw stores and a larger one that a draw fails to, by doubling and
    bisection.

    Both are counted exactly. Which of the numbers in between are stored is not searched: it changes from draw to draw.

    Args:
        d_model: d.
        outputs: M, or `None` for a permutation.
        seed: Seed of the draws.

    Returns:
        N that is stored, and N + 1 that is not.

    Example:
        >>> stored, missed = certified_capacity(8, outputs=None)
        >>> missed - stored
        1
    """
    below, above = 1, 2
    while _random_is_stored(d_model, above, outputs, seed):
        below, above = above, 2 * above
    while above - below > 1:
        middle = (below + above) // 2
        if _random_is_stored(d_model, middle, outputs, seed):
            below = middle
        else:
            above = middle
    return below, above


def _random_is_stored(d_model: int, count: int, outputs: int | None, seed: int) -> bool:
    judgement = judged(random_associations(d_model, count, outputs=outputs, seed=seed))
    return judgement.stored == judgement.count


def _random_signs(d_model: int, count: int, draws: int) -> Evidence:
    draws_made = [random_associations(d_model, count, seed=seed) for seed in range(draws)]
    judgements = [judged(associations) for associations in draws_made]
    stored = ", ".join(f"{x.stored} of {x.count}" for x in judgements)
    return Evidence(
        "without",
        f"d = {d_model}, {count} associations, a random permutation, W the sum of the outer products of random sign "
        f"vectors, {draws} draws: every argmax is the label",
        f"at most {d_model} associations",
        f"stored: {stored}; least margins {', '.join(str(x.least_margin) for x in judgements)}",
        Method("exact integer products", Means.EXACT),
        decided(
            draws == len(judgements) > 0
            and all(x.stored == x.count > d_model for x in judgements)
            and all(is_as_stated(associations, d_model, count) for associations in draws_made)
        ),
        data={"seeds": draws},
        compared=tuple(
            one
            for number, size in (("first", "narrow"), ("second", "wide"))
            if d_model == (128 if number == "first" else 256)
            for one in (
                Comparison(min((x.stored for x in judgements), default=0), "=", stated(CLAIM, number)),
                *met(CLAIM, size, d=d_model),
            )
        ),
    )


def _for_almost_all_inputs(*, bases: int, d_model: int) -> Evidence:
    associations = tight_associations(bases, d_model)
    chance = failure_bound(associations.outputs, associations.labels, d_model=d_model)
    judgement = judged(associations)
    return Evidence(
        "without",
        f"d = {d_model}, N = M = {judgement.count}, a permutation, output vectors from {bases} Hadamard bases: for "
        "random sign vectors as inputs, the probability that the sum of outer products misses an association",
        f"1, as {judgement.count} > {d_model}",
        f"<= {decimal_above(chance, 3)}; in one draw {judgement.stored} of {judgement.count} are stored",
        Method("Theorem V1: exact integers, exponentials enclosed", Means.EXACT, Means.ENCLOSURES),
        proved(
            chance < 1.0
            and judgement.stored == judgement.count > d_model
            and is_as_stated(associations, d_model, bases * d_model)
        ),
    )


def _bound_is_no_accident() -> Evidence:
    """Where 8 N log N < (1 - mu) d^2 the probability of a miss is below 1, from the exact sums of Theorem V1."""
    compared, shown = [], []
    for bases, d_model in ((1, 64), (2, 128), (2, 256)):
        associations = tight_associations(bases, d_model)
        count = bases * d_model
        products = associations.outputs.astype(np.int64) @ associations.outputs.T.astype(np.int64)
        np.fill_diagonal(products, 0)
        mu = Fraction(int(np.abs(products).max()), d_model)
        needed = stated(CLAIM, "needed", N=count)
        room = stated(CLAIM, "room", mu=mu, d=d_model)
        chance = failure_bound(associations.outputs, associations.labels, d_model=d_model)
        # The corollary bounds it by N^2 exp(-room / (4 N)), which is 1 where room is what is needed.
        limit = evaluated("N^2 exp(-x / (4 N))", N=count, x=room.value)
        compared += [
            Comparison(needed, "<", room),
            Comparison(8 * count * float(np.log(count)), "agrees with", needed),
            Comparison(d_model * (d_model - int(np.abs(products).max())), "=", room),
            Comparison(chance, "<=", limit),
            Comparison(limit, "<", 1),
            Comparison(evaluated("N^2 exp(-x / (4 N))", N=count, x=needed.value), "agrees with", 1),
        ]
        shown.append(f"N = {count}, d = {d_model}, mu = {mu}: {decimal_above(chance, 3)}")
    return Evidence(
        "sharper",
        "permutations with output vectors from Hadamard bases that satisfy 8 N log N < (1 - mu) d^2: for "
        "random sign vectors as inputs the probability of a miss is below 1",
        "probability < 1",
        "; ".join(shown),
        Method("Theorem V1: exact integers, exponentials enclosed", Means.EXACT, Means.ENCLOSURES),
        compared=tuple(compared),
    )


def _chosen_embeddings(*, count: int) -> Evidence:
    labels = np.random.default_rng(0).permutation(count)
    associations = parabola(labels)
    judgement = judged(associations)
    as_said = associations.inputs.shape == (count, 2) and np.array_equal(associations.labels, labels)
    return Evidence(
        "boundary",
        f"d = 2, {count} associations, a random permutation, output vectors (2 j, -j^2) and inputs (g(i), 1)",
        "at most 2 associations",
        f"stored: {judgement.stored} of {judgement.count}; least margin {judgement.least_margin}",
        Method("exact integer products", Means.EXACT),
        decided(as_said and judgement.stored == judgement.count > 2),
        compared=(Comparison(associations.inputs.shape[1], "=", stated(CLAIM, "rank")),),
    )


def _all_labels_of_few(*, d_model: int) -> Evidence:
    signs = np.array([[1, 1, 1, 1], [1, 1, -1, 1], [1, -1, 1, 1], [-1, 1, 1, 1]], dtype=np.int64)
    labellings = list(product(range(d_model), repeat=d_model))
    memorized = 0
    for labels in labellings:
        matrix = solved_associations(signs, signs, np.array(labels)).memory
        memorized += stored_associations(signs, signs, np.array(labels), matrix).stored == d_model
    return Evidence(
        "reached",
        f"d = N = M = {d_model}: one set of independent embeddings, all labellings, W solved for each",
        f"all {d_model**d_model} labellings stored",
        f"{memorized} of {len(labellings)} labellings stored",
        Method("exact integer products", Means.EXACT),
        decided(memorized == len(labellings) == d_model**d_model),
        data={"embeddings": signs.tolist()},
    )


def _not_all_labels_of_more(*, d_model: int) -> Evidence:
    associations = random_associations(d_model, d_model + 1, outputs=2, seed=1)
    missed = LABELS_OF_A_MATRIX.at(inputs=associations.inputs)
    limit = unstorable_labels(associations.inputs) if associations.inputs.shape == (d_model + 1, d_model) else None
    return Evidence(
        "with",
        f"d = {d_model}, N = {d_model + 1}, two output tokens: some labels are stored by no W, learned or summed, for "
        "no output vectors",
        "some labelling that no W stores",
        "no labelling found" if limit is None else f"labels {''.join(map(str, limit.labels))}",
        Method("a linear relation between the inputs, checked in integers", Means.EXACT),
        proved(limit is not None),
        data={} if limit is None else {"inputs": associations.inputs.tolist(), "relation": list(limit.relation)},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(missed, "=", Verdict.PROVED),
            Comparison(len(associations.outputs), "=", stated(CLAIM, "outputs")),
        ),
    )


def _growth(widths: tuple[int, ...], *, outputs: int | None) -> Evidence:
    """Measure how much more is stored at four times the least d: over 6 times as much, or less for fixed outputs."""
    capacities = {d_model: certified_capacity(d_model, outputs=outputs) for d_model in widths}
    stored = {d_model: low for d_model, (low, _) in capacities.items()}
    quadratic = outputs is None
    least = widths[0]
    factor = Fraction(stored[4 * least], stored[least])
    kind = "a random permutation" if quadratic else f"{outputs} output tokens in turn"
    counted = [
        _missed_in_plain_integers(d_model, count, outputs) for d_model, pair in capacities.items() for count in pair
    ]
    return Evidence(
        "sharper",
        f"{kind}, random sign vectors: a number of associations of which all are stored, and the next one, of "
        f"which some are missed; from d = {least} to d = {4 * least} it grows by {float(factor):.2f}",
        "more than 6 times as many" if quadratic else "less than 6 times as many",
        "; ".join(f"d = {d_model}: {low} stored, {high} not" for d_model, (low, high) in capacities.items()),
        Method("exact integer products, and the same in integers of Python, one by one", Means.EXACT),
        decided(
            [missed > 0 for missed in counted] == [False, True] * len(capacities)
            and all(
                is_as_stated(random_associations(d, count, outputs=outputs), d, count, outputs=outputs)
                for d, counts in capacities.items()
                for count in counts
            )
        ),
        compared=(Comparison(factor, ">" if quadratic else "<", 6),),
    )


def _missed_in_plain_integers(d_model: int, count: int, outputs: int | None) -> int:
    """Count the missed associations without the judge and the matrix: sums of products of inner products."""
    associations = random_associations(d_model, count, outputs=outputs)
    among_inputs = (associations.inputs.astype(np.int64) @ associations.inputs.T.astype(np.int64)).tolist()
    among_outputs = (associations.outputs.astype(np.int64) @ associations.outputs.T.astype(np.int64)).tolist()
    labels, missed = associations.labels.tolist(), 0
    for i, label in enumerate(labels):
        logits = [
            sum(a * row[other] for a, other in zip(among_inputs[i], labels, strict=True)) for row in among_outputs
        ]
        missed += any(logit >= logits[label] for j, logit in enumerate(logits) if j != label)
    return missed
