r"""Nichani et al.: a layer of neurons stores associations, as many as it has numbers up to logarithms.

Page: docs/claims/factual_recall.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.encoders.outer_product_memory import Associations, random_associations
from constructions.rational.neuron_memory import Activation, neuron_memory
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.memories.outer_product_capacity import is_sum_of_outer_products, stored_associations
from verify.verdict import decided

CLAIM = Claim(
    id="nichani-2024.mlp-memory",
    title="How many associations a layer of neurons stores",
    source="Nichani, Lee, Bietti (2025; arXiv 2412.06538), MLP memories",
    kind="statement",
    printed=(
        "Linear and MLP associative memories store a number of associations that is linear in their number of "
        "parameters up to logarithms: [[numbers: d^2]] for a matrix, m d for m neurons on R^d."
    ),
    judgement="not-judged",
    truth=(
        "Not judged: the paper was not read. Counted here: on sums of outer products of random signs for "
        "[[width: d = 32]]: [[few: m = 128]] neurons with the polynomial of degree [[second: 2]] store "
        "[[quadratic: 48]] associations, [[many: m = 1024]] with that of degree [[third: 3]] store [[cubic: 256]], "
        "and with ReLU and degree [[second: 2]] [[relu: 48]]. A matrix misses some of [[matrix: 64]], and so do "
        "[[many: m = 1024]] neurons with degree [[first: 1]]: the degree is what uses the neurons. That the number "
        "is linear in m d is not proved here."
    ),
    reconstructed="the construction: the paper was at hand in its abstract only",
    page="docs/claims/factual_recall.md",
)

_WIDTH = 32


def evidence(*, full: bool) -> Iterator[Evidence]:
    draws = 5 if full else 2
    yield _neurons("quadratic", neurons=128, degree=2, activation="polynomial", draws=draws, all_stored=True)
    yield _neurons("cubic", neurons=1024, degree=3, activation="polynomial", draws=draws, all_stored=True)
    yield _neurons("relu", neurons=1024, degree=2, activation="relu", draws=draws, all_stored=True)
    for activation in ("polynomial", "relu"):
        yield _neurons("matrix", neurons=1024, degree=1, activation=activation, draws=draws, all_stored=False)
    yield _matrix(draws)


def is_layer(made: Associations, g: np.ndarray, *, neurons: int, degree: int, activation: Activation) -> bool:
    """Tell whether the values are those of the neurons, and the matrix the sum of the outer products of the degree."""
    count, width = made.outputs.shape
    polynomials = (g, g**2 - width, g**3 - (3 * width - 2) * g)
    wanted = polynomials[degree - 1]
    values = np.maximum(g, 0) if activation == "relu" else wanted
    are_sums_of_signs = g.shape == (count, neurons) and bool(
        (np.abs(g) <= width).all() and ((g - width) % 2 == 0).all()
    )
    is_permutation = np.array_equal(np.sort(made.labels), np.arange(count))
    are_signs = bool((np.abs(made.outputs) == 1).all())
    is_sum = is_sum_of_outer_products(made.outputs, wanted, made.labels, made.memory)
    return are_sums_of_signs and is_permutation and are_signs and is_sum and np.array_equal(values, made.inputs)


def _neurons(name: str, *, neurons: int, degree: int, activation: Activation, draws: int, all_stored: bool) -> Evidence:
    stated_count = stated(CLAIM, name)
    count = stated_count.whole()
    margins, built, sizes = [], [], set()
    for seed in range(draws):
        network, g = neuron_memory(
            d_model=_WIDTH, neurons=neurons, count=count, degree=degree, activation=activation, seed=seed
        )
        margins.append(stored_associations(network.outputs, network.inputs, network.labels, network.memory).stored)
        sizes.add(len(network.labels))
        built.append(is_layer(network, g, neurons=neurons, degree=degree, activation=activation))
    return Evidence(
        "part" if all_stored else "boundary",
        f"d = {_WIDTH}, m = {neurons} neurons, {activation}, the sum of outer products of degree {degree}, {count} "
        f"associations, {draws} draws",
        "all stored" if all_stored else "some missed",
        f"stored: {', '.join(map(str, margins))}",
        Method("exact integer products", Means.EXACT),
        decided(all((stored == count) is all_stored for stored in margins) and all(built) and draws > 0),
        {"seeds": draws},
        quantifier=Quantifier.SAMPLED,
        compared=(
            Comparison(max(sizes), "=", stated_count),
            Comparison(degree, "=", stated(CLAIM, ("first", "second", "third")[degree - 1])),
            *met(CLAIM, "width", "few" if neurons < 1000 else "many", d=_WIDTH, m=neurons),
            Comparison(min(margins) if all_stored else max(margins), "=" if all_stored else "<", max(sizes)),
        ),
    )


def _matrix(draws: int) -> Evidence:
    stated_count = stated(CLAIM, "matrix")
    count = stated_count.whole()
    judgements, sizes, entries = [], set(), 0
    for seed in range(draws):
        associations = random_associations(_WIDTH, count, seed=seed)
        judgements.append(
            stored_associations(
                associations.outputs, associations.inputs, associations.labels, associations.memory
            ).stored
        )
        sizes.add(len(associations.labels))
        entries = associations.memory.size
    return Evidence(
        "boundary",
        f"d = {_WIDTH}, the matrix of the sum of outer products, {count} associations, {draws} draws",
        "some missed",
        f"stored: {', '.join(map(str, judgements))}",
        Method("exact integer products", Means.EXACT),
        decided(all(stored < count for stored in judgements) and draws > 0),
        {"seeds": draws},
        quantifier=Quantifier.SAMPLED,
        compared=(
            Comparison(max(sizes), "=", stated_count),
            Comparison(max(judgements), "<", stated_count),
            Comparison(entries, "=", stated(CLAIM, "numbers", d=_WIDTH)),
        ),
    )
