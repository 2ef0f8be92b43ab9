r"""Bubeck et al.: four ReLU neurons for d points in general position; slabs take half as many.

Page: docs/claims/four_neurons.md
"""

from collections.abc import Iterator

import numpy as np
from flint import fmpq, fmpz_mat

from constructions.model.blocks import FeedForward
from constructions.model.model import Model
from constructions.saturated_layers.relu_barrier import moment_curve
from constructions.saturated_layers.slabs import slab_network
from constructions.tasks.vectors import VectorTask
from verify.forward.in_rationals import exact_network_logits
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.saturated_layers.activation_patterns import relu_barrier
from verify.theorems.saturated_layers.kruskal_rank import kruskal_rank
from verify.verdict import decided, proved

CLAIM = Claim(
    id="bubeck-2020.four",
    title="Four ReLU neurons for d points",
    source="Bubeck, Eldan, Lee, Mikulincer (2020), abstract",
    kind="statement",
    printed=(
        "Baum (1988): ceil(n / d) threshold neurons memorize binary labels of n points in general position in R^d. "
        "ReLU networks fit real labels with more, [[printed: 4 ceil(n / d)]]."
    ),
    judgement="not-judged",
    truth=(
        "Not judged: the paper was not read. Proved here: an affine function on each slab between parallel "
        "hyperplanes takes [[slabs: 2 ceil(n / (d + 1)) - 1]] neurons at most and fits any real labels exactly. No "
        "network fits all labels of n points with [[few: m (d + 1) + 1 < n]], so [[least: (n - 1) / (d + 1)]] "
        "neurons are necessary. Sums of embeddings of tokens and places are not in general position: the points of "
        "XOR lie in a plane. The approximate networks of the source, and the size of their weights, are not judged."
    ),
    reconstructed="the construction: the paper was at hand in its abstract only",
    page="docs/claims/four_neurons.md",
)

_CURVES = ((1, 1), (2, 1), (7, 1), (3, 2), (8, 2), (9, 4), (12, 3))  # n, d


_CURVES_FULL = ((40, 4), (30, 5))


_DRAWS = ((3, 5), (24, 4), (32, 8))


_DRAWS_FULL = ((96, 8), (128, 16))


def evidence(*, full: bool) -> Iterator[Evidence]:
    for count, width in _CURVES + (_CURVES_FULL if full else ()):
        points = moment_curve(count, width)
        yield _fits(
            points, labels_of(points), slab_network(points, labels_of(points)), "the moment curve", Quantifier.THESE
        )
    for count, width in _DRAWS + (_DRAWS_FULL if full else ()):
        points = np.random.default_rng([count, width]).integers(-1000, 1001, (count, width))
        yield _fits(
            points, labels_of(points), slab_network(points, labels_of(points)), "random integers", Quantifier.SAMPLED
        )
    for width, neurons in ((1, 1), (2, 1), (1, 2)):
        yield _necessary(width=width, neurons=neurons)
    yield _dependent()


def labels_of(points: np.ndarray) -> np.ndarray:
    """Random integer labels."""
    return np.random.default_rng(points.shape).integers(-50, 51, len(points))


def neurons_give(network: FeedForward, points: np.ndarray, labels: np.ndarray) -> int:
    """Return how many outputs of ReLU neurons equal the labels exactly; None if they read other points.

    Args:
        network: One layer without a skip connection, of one output.
        points: Integers, `[n, d]`.
        labels: Integers, `[n]`.
    """
    task = VectorTask(points[:, None].astype(np.float64), np.zeros(points.shape), labels[:, None].astype(np.float64))
    same_points = bool((task.contexts[:, 0].astype(object) == points.astype(object)).all())
    if not same_points or network.d_out != 1 or network.skip:
        return 0
    outputs = exact_network_logits(Model(blocks=(network,), W_U=np.array([[fmpq(1)]])), task).entries()
    return sum(output == label for output, label in zip(outputs, labels.tolist(), strict=True))


def _fits(points: np.ndarray, labels: np.ndarray, network: FeedForward, kind: str, quantifier: Quantifier) -> Evidence:
    count, width = points.shape
    neurons, memorized = network.d_mlp, neurons_give(network, points, labels)
    return Evidence(
        "part",
        f"{count} points of R^{width}, {kind}, integer labels: one layer of {neurons} ReLU neurons",
        f"the labels, {stated(CLAIM, 'printed', n=count, d=width)} neurons at most",
        "exactly the labels" if memorized == count else "other values",
        Method("exact rationals", Means.EXACT),
        decided(memorized == count),
        quantifier=quantifier,
        compared=(
            Comparison(neurons, "<=", stated(CLAIM, "printed", n=count, d=width)),
            Comparison(4 * len(range(0, count, width)), "=", stated(CLAIM, "printed", n=count, d=width)),
            # A last group of a single point saves a neuron.
            Comparison(neurons, "=" if count % (width + 1) != 1 else "<=", stated(CLAIM, "slabs", n=count, d=width)),
            Comparison(neurons, ">=", stated(CLAIM, "least", n=count, d=width)),
        ),
    )


def _necessary(*, width: int, neurons: int) -> Evidence:
    count = neurons * (width + 1) + 2
    points = moment_curve(count, width)
    labels = np.random.default_rng([width, neurons]).integers(0, 100, count)
    barrier = relu_barrier(points, labels, neurons=neurons)
    return Evidence(
        "reached",
        f"m = {neurons} ReLU neurons on {count} points of R^{width} and integer labels: "
        f"{barrier.combinations} combinations of activation patterns",
        f"{stated(CLAIM, 'least', n=count, d=width)} neurons, more than {neurons}, are necessary",
        "labels outside of all subspaces" if barrier.outside else "labels inside one of the subspaces",
        Method("all activation patterns, exact ranks", Means.EXACT),
        decided(barrier.outside),
        {"points": points.tolist(), "labels": labels.tolist()},
        compared=(
            Comparison(neurons, "<", stated(CLAIM, "least", n=count, d=width)),
            *met(CLAIM, "few", m=neurons, d=width, n=count),
        ),
    )


def _dependent() -> Evidence:
    """The sums of two embeddings: four points of R^2 in one parallelogram, of which no three need be on a line."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(-9, 10, (2, 3)), rng.integers(-9, 10, (2, 3))
    points = np.array([first[a] + second[b] for a in range(2) for b in range(2)])
    lifted = np.hstack([points, np.ones((4, 1), dtype=np.int64)])
    relation = (lifted[0] - lifted[1] - lifted[2] + lifted[3]).tolist()
    rank = fmpz_mat(lifted.tolist()).rank()
    return Evidence(
        "boundary",
        "the four sums of two of two embeddings in R^3, with a coordinate 1: general position would be rank 4",
        "rank 3, by the relation (1, -1, -1, 1)",
        f"rank {rank}, relation {'holds' if not any(relation) else 'fails'}",
        Method("exact integers", Means.EXACT),
        proved(not any(relation) and kruskal_rank(lifted).upper < 4),
        {"points": points.tolist()},
        compared=(Comparison(rank, "=", 3),),
    )
