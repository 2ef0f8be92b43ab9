r"""Proposition 3 of Mahdavi et al.: a two-layer ReLU network memorizes about as many labels as it has parameters.

Page: docs/claims/relu_barrier.md
"""

from collections.abc import Iterator

import numpy as np
from flint import fmpq_mat

from constructions.model.blocks import FeedForward
from constructions.model.construction import Construction
from constructions.model.exact_network import as_rationals
from constructions.saturated_layers.relu_barrier import barrier_memory, barrier_task, fewest_examples, moment_curve
from constructions.saturated_layers.slabs import slab_network
from constructions.tasks.vectors import VectorTask
from verify.theorems.claim import Claim
from verify.theorems.claims.bubeck_2020_four import neurons_give
from verify.theorems.evidence import Comparison, Evidence, Means, Method, met, stated
from verify.theorems.evidence.conditions import conditions
from verify.theorems.evidence.memorized_labels import memorized_labels
from verify.theorems.saturated_layers.activation_patterns import relu_barrier
from verify.theorems.saturated_layers.kruskal_rank import kruskal_rank
from verify.verdict import decided, proved

CLAIM = Claim(
    id="mahdavi.proposition-3",
    title="Two-layer ReLU networks memorize no more",
    source="Mahdavi, Liao, Thrampoulidis (2024), Proposition 3",
    kind="statement",
    quotation=(
        "Proposition 3. [lost] We defer the proof to Appendix F. A ReLU FCN with [lost] parameters can memorize at "
        "most [lost] examples under Assumptions 1 and 2."
    ),
    printed=(
        "For T above [[printed: (m (d + 1 + d_out) + d_out) / d_out]] there are T examples with Assumptions 1 and 2, "
        "and labels that no ReLU network with one hidden layer of m neurons memorizes."
    ),
    reading="The copy at hand lacks the formulas: what is printed is reconstructed, and not judged.",
    judgement="not-legible",
    truth=(
        "Proved here: what is reconstructed is true, and with [[numerator: m (d + d_out) + d_out]] in the numerator: "
        "for [[scalar: d_out = 1]] from [[one_output: m (d + 1) + 2]] examples with one context, almost all labels "
        "are out of reach, and which is decided exactly. If [[few: m < d_out]], [[enough: m + 2]] examples are "
        "enough. From the other side, for odd m any labels of [[within: (d + 1) (m + 1) / 2]] points in general "
        "position are outputs of m neurons."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/relu_barrier.md",
    hypotheses=conditions("m >= 1", "2 <= n < d", "seed >= 0"),
    parameters={"d_model": 3, "neurons": 1, "n_ctx": 2, "seed": 0},
    build=barrier_memory,
)

_SIZES = ((3, 1, 2), (3, 1, 3), (2, 1, 2), (2, 2, 2))  # d, m, n


_SIZES_LARGE = ((4, 1, 3), (5, 1, 4), (3, 2, 2))


_WITHIN, _WITHIN_LARGE = ((3, 1), (2, 3), (5, 7)), ((8, 15),)  # d, m


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_model, neurons, n_ctx in _SIZES + (_SIZES_LARGE if full else ()):
        task = barrier_task(d_model=d_model, neurons=neurons, n_ctx=n_ctx)
        yield _out_of_reach(task, neurons=neurons)
        if n_ctx < d_model:
            construction = CLAIM.construct(d_model=d_model, neurons=neurons, n_ctx=n_ctx)
            if isinstance(construction, Construction):
                yield _memorized(construction, task)
    for d_model, neurons in _WITHIN + (_WITHIN_LARGE if full else ()):
        points = moment_curve((neurons + 1) // 2 * (d_model + 1), d_model)
        labels = np.random.default_rng([d_model, neurons]).integers(0, 100, len(points))
        yield _within_reach(points, labels, slab_network(points, labels))
    yield _few_neurons(np.vstack([np.zeros((1, 2), dtype=np.int64), np.eye(2, dtype=np.int64)]), neurons=1)
    yield _few_neurons(np.vstack([np.zeros((1, 4), dtype=np.int64), np.eye(4, dtype=np.int64)]), neurons=3)


def _out_of_reach(task: VectorTask, *, neurons: int) -> Evidence:
    queries, labels = task.queries.astype(np.int64), task.labels[:, 0].astype(np.int64)
    exact = bool((queries == task.queries).all() and (labels == task.labels[:, 0]).all())
    d_model, examples = task.d_model, task.n_examples
    kruskal, rank = kruskal_rank(queries).lower, as_rationals(task.contexts[0]).rank()
    assumptions = kruskal >= task.n_ctx == rank and task.shared
    barrier = relu_barrier(queries, labels, neurons=neurons)
    printed = neurons * (d_model + 2) + 2  # the least T > m (d + 1 + d_out) + d_out
    return Evidence(
        "ours",
        f"{examples} examples with one context of rank {rank} and queries of Kruskal rank >= {kruskal} in R^{d_model}, "
        f"n = {task.n_ctx}, and integer labels: {barrier.patterns} activation patterns of a neuron, "
        f"{barrier.combinations} of {neurons}",
        f"m = {neurons}: labels that no network has, printed from T = {printed} on, here with T = {examples}",
        f"labels outside of all {barrier.combinations} subspaces, of dimension {barrier.largest_dimension} at most"
        if barrier.outside
        else "labels inside one of the subspaces",
        Method("all activation patterns, exact ranks", Means.EXACT),
        proved(exact and assumptions and barrier.outside and examples <= printed),
        {"queries": queries.tolist(), "labels": labels.tolist()},
        compared=(
            Comparison(printed - 1, "=", stated(CLAIM, "printed", m=neurons, d=d_model, d_out=1)),
            Comparison(examples - 1, "=", stated(CLAIM, "numerator", m=neurons, d=d_model, d_out=1)),
            Comparison(examples, "=", stated(CLAIM, "one_output", m=neurons, d=d_model)),
            *met(CLAIM, "scalar", d_out=task.labels.shape[1]),
        ),
    )


def _memorized(made: Construction[VectorTask], barrier: VectorTask) -> Evidence:
    """The very examples and labels that were out of reach, by heads of width one."""
    layer, task = made.model, made.task
    certified = memorized_labels(layer, task)
    same = task.sha256() == barrier.sha256() and layer.d_qk == 1
    memorized = same and certified.memorized
    return Evidence(
        "ours",
        f"Float64 weights for {made.summary}",
        f"{task.n_examples} labels memorized",
        f"{certified.certified}; rank Z = {task.n_examples}" if memorized else "not all labels certified",
        Method(certified.method, Means.ENCLOSURES),
        proved(memorized),
        {"sha256": layer.sha256()},
    )


def _within_reach(points: np.ndarray, labels: np.ndarray, network: FeedForward) -> Evidence:
    """Count in rationals for how many points the neurons output the label."""
    count, d_model = points.shape
    memorized = neurons_give(network, points, labels)
    neurons = network.d_mlp
    return Evidence(
        "ours",
        f"{count} points in R^{d_model} with integer labels, and {neurons} ReLU neurons",
        f"m = {neurons}: outputs are the labels of T = {count} points",
        f"{memorized} of {count} outputs are the labels, exactly",
        Method("rational arithmetic", Means.EXACT),
        decided(memorized == count),
        {"points": points.tolist(), "labels": labels.tolist()},
        compared=(Comparison(count, "=", stated(CLAIM, "within", m=neurons, d=d_model)),),
    )


def _few_neurons(labels: np.ndarray, *, neurons: int) -> Evidence:
    r"""With m < d_out neurons, outputs less the bias have rank m at most; these labels have more, whatever it is."""
    examples, outputs = labels.shape
    rows = as_rationals(labels).tolist()
    differences = fmpq_mat(
        examples - 1, outputs, [a - b for row in rows[1:] for a, b in zip(row, rows[0], strict=True)]
    )
    counted = fewest_examples(d_model=3, neurons=neurons, outputs=outputs)
    return Evidence(
        "ours",
        f"{examples} labels in R^{outputs}, at any points: outputs of m = {neurons} ReLU neurons lie in an affine "
        f"subspace of dimension {neurons}",
        f"m = {neurons}: labels that no network has, for T = m + 2 = {neurons + 2}; counted: T = {counted}",
        f"labels span an affine subspace of dimension {differences.rank()}",
        Method("exact rank", Means.EXACT),
        decided(differences.rank() > neurons and examples == neurons + 2 <= counted),
        {"labels": labels.tolist()},
        compared=(
            Comparison(examples, "=", stated(CLAIM, "enough", m=neurons)),
            *met(CLAIM, "few", m=neurons, d_out=outputs),
        ),
    )
