r"""Section 4.3 of Mahdavi et al.: whether attention is shown to memorize as much as a ReLU network of its size.

Page: docs/claims/relu_barrier.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.saturated_layers.slabs import slab_network
from constructions.saturated_layers.uniform_memory import uniform_memory
from verify.theorems.claim import Claim
from verify.theorems.claims.bubeck_2020_four import neurons_give
from verify.theorems.evidence import Comparison, Evidence, Means, Method, stated
from verify.theorems.evidence.memorized_labels import memorized_labels
from verify.verdict import proved

CLAIM = Claim(
    id="mahdavi.relu-comparison",
    title="Attention at least as powerful as ReLU networks",
    source="Mahdavi, Liao, Thrampoulidis (2024), section 4.3",
    kind="remark",
    quotation=(
        "This setting is particularly interesting with [lost] and [lost], where a two-layer ReLU network with [lost] "
        "can memorize at most [lost] examples. This upper bound on memorization of a ReLU network together with the "
        "lower bound of [lost] as established in Theorem 1 for MHA with the same order of parameters, shows that the "
        "latter is at least as powerful, in terms of memorization, as the former (when data satisfy Assumptions 1 "
        "and 2)."
    ),
    printed=(
        "Theorem 1 with Proposition 3 shows that attention is at least as powerful, in terms of memorization, as a "
        "ReLU network with one hidden layer of the same order of parameters."
    ),
    reading=(
        "The copy at hand lacks the formulas: what is printed is reconstructed, and not judged. The setting of the "
        "comparison is among them; for outputs of as many dimensions as tokens it would be right in order."
    ),
    judgement="not-legible",
    truth=(
        "For outputs of as many dimensions as tokens both bounds are of the same order (`mahdavi.optimality`). For "
        "scalar outputs they are not: Theorem 1 promises [[attention: H (n - 1) + 1]] labels, and a ReLU network of "
        "[[neurons: m (d + 2) + 1]] parameters, no more than the layer has, gives [[labels: (d + 1) (m + 1) / 2]] "
        "points in general position their labels, m odd, which is more. On examples that share a context the layer has "
        "labels that such a network has not (Proposition 3)."
    ),
    reconstructed="the orders, from a copy without their formulas",
    page="docs/claims/relu_barrier.md",
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for n_heads, d_model in ((2, 4), (4, 6), *(((8, 8),) if full else ())):
        yield _fewer(n_heads, d_model)
    yield _same_order(6, 6)


def _fewer(n_heads: int, d_model: int) -> Evidence:
    """What Theorem 1 promises a layer, beside what neurons with no more parameters give."""
    construction = uniform_memory(n_heads=n_heads, n_ctx=d_model, d_model=d_model, d_head=d_model, examples=0, shared=1)
    layer, task = construction.model, construction.task
    entries = layer.parameters
    neurons = (entries - 1) // (d_model + 2)
    neurons -= 1 - neurons % 2
    rng = np.random.default_rng([n_heads, d_model])
    points = rng.integers(-1000, 1001, ((neurons + 1) // 2 * (d_model + 1), d_model))
    labels = rng.integers(0, 100, len(points))
    network = slab_network(points, labels)
    memorized = neurons_give(network, points, labels)
    numbers = network.W_in.size + 2 * network.d_mlp + 1  # places, jumps and an offset
    promised = stated(CLAIM, "attention", H=layer.n_heads, n=task.n_ctx)
    return Evidence(
        "boundary",
        f"a layer with H = {n_heads}, n = d = d_h = {d_model}, scalar outputs and {entries} entries; {neurons} ReLU "
        f"neurons on {len(points)} points of R^{d_model}",
        f"at least as many labels by attention: {promised}",
        f"{memorized} labels by neurons with {numbers} parameters",
        Method("exact rationals; counting", Means.EXACT),
        compared=(
            Comparison(memorized, ">", promised),
            Comparison(task.n_examples, "=", promised),
            Comparison(numbers, "<=", entries),
            Comparison(numbers, "=", stated(CLAIM, "neurons", m=network.d_mlp, d=d_model)),
            Comparison(memorized, "=", stated(CLAIM, "labels", m=network.d_mlp, d=d_model)),
        ),
    )


def _same_order(n_heads: int, d_model: int) -> Evidence:
    construction = uniform_memory(
        n_heads=n_heads, n_ctx=d_model, d_model=d_model, d_head=1, examples=0, shared=0, outputs=d_model
    )
    layer, task = construction.model, construction.task
    certified = memorized_labels(layer, task)
    return Evidence(
        "ours",
        f"labels in R^{task.d_out}, n = d = {d_model}, H = {n_heads}: numbers that are memorized, of "
        f"{layer.parameters}",
        "a share of the parameters, which no network exceeds",
        f"{task.labels.size} numbers" if certified.memorized else "labels not certified",
        Method(certified.method, Means.ENCLOSURES),
        proved(certified.memorized),
        compared=(Comparison(4 * task.labels.size, ">", layer.parameters),),
    )
