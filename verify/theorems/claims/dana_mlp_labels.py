r"""Section 1 of Dana et al.: how many real labels a ReLU network with one hidden layer memorizes.

Page: docs/claims/four_neurons.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.saturated_layers.relu_barrier import moment_curve
from constructions.saturated_layers.slabs import slab_network
from verify.theorems.claim import Claim
from verify.theorems.claims.bubeck_2020_four import neurons_give
from verify.theorems.evidence import Comparison, Evidence, Means, Method, stated
from verify.theorems.saturated_layers.activation_patterns import relu_barrier
from verify.verdict import decided

CLAIM = Claim(
    id="dana.mlp-labels",
    title="As many real labels as neurons",
    source="Dana, Pydi, Chevaleyre (2024), section 1, of Bubeck et al. (2020)",
    kind="summary",
    quotation="a ReLU MLP can memorize exactly as many real-valued label as it has neurons n [3]",
    printed=(
        "A ReLU network with one hidden layer can memorize, exactly, as many real labels as it has neurons, "
        "[[printed: m]]."
    ),
    reading=(
        "'exactly' is exact memorization, as 'can' and the \"n discrete labels with only $\\tilde{O}(\\sqrt{n})$ "
        "neurons\" that follow say: a lower bound. It is not read as 'so many and no more', as more are memorized. "
        r"What the cited paper shows is not judged."
    ),
    judgement="holds",
    truth=(
        "It holds, and more: m neurons, m odd, give any real labels to [[within: (d + 1) (m + 1) / 2]] points in "
        "general position in R^d, and to no more than [[most: m (d + 1) + 1]], about as many as it has parameters."
    ),
    page="docs/claims/four_neurons.md",
)

_WITHIN, _WITHIN_FULL = ((1, 3), (3, 1), (2, 3), (5, 7)), ((5, 23),)  # d, m
_BEYOND, _BEYOND_FULL = ((1, 1), (2, 1), (1, 2)), ((3, 1),)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_model, neurons in _WITHIN + (_WITHIN_FULL if full else ()):
        yield _more(d_model, neurons)
    for d_model, neurons in _BEYOND + (_BEYOND_FULL if full else ()):
        yield _no_more(d_model, neurons)


def _more(d_model: int, neurons: int) -> Evidence:
    points = moment_curve((neurons + 1) // 2 * (d_model + 1), d_model)
    labels = np.random.default_rng([d_model, neurons]).integers(0, 100, len(points))
    network = slab_network(points, labels)
    memorized = neurons_give(network, points, labels)
    return Evidence(
        "claim",
        f"{len(points)} points of R^{d_model} with integer labels, and {network.d_mlp} ReLU neurons",
        f"{stated(CLAIM, 'printed', m=network.d_mlp)} labels",
        f"{memorized} outputs are the labels, exactly",
        Method("exact rationals", Means.EXACT),
        compared=(
            Comparison(memorized, "=", stated(CLAIM, "within", d=d_model, m=network.d_mlp)),
            Comparison(memorized, ">=", stated(CLAIM, "printed", m=network.d_mlp)),
            Comparison(network.d_mlp, "=", stated(CLAIM, "printed", m=neurons)),
        ),
    )


def _no_more(d_model: int, neurons: int) -> Evidence:
    count = neurons * (d_model + 1) + 2
    points = moment_curve(count, d_model)
    labels = np.random.default_rng([d_model, neurons]).integers(0, 100, count)
    barrier = relu_barrier(points, labels, neurons=neurons)
    return Evidence(
        "boundary",
        f"m = {neurons} ReLU neurons on {count} points of R^{d_model} and integer labels: {barrier.combinations} "
        "combinations of activation patterns",
        f"labels out of reach, of {count} points",
        "labels outside of all subspaces" if barrier.outside else "labels inside one of the subspaces",
        Method("all activation patterns, exact ranks", Means.EXACT),
        decided(barrier.outside),
        {"points": points.tolist(), "labels": labels.tolist()},
        compared=(Comparison(count - 1, "=", stated(CLAIM, "most", m=neurons, d=d_model)),),
    )
