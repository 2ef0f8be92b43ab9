r"""Theorem 1 of Zhang et al.: a ReLU network of two layers through n points of R^d, with 2 n + d weights.

Page: docs/claims/knots.md
"""

from collections.abc import Iterator

import numpy as np
from flint import fmpq, fmpq_mat

from constructions.memories.knots import random_label_knots
from constructions.model.blocks import Attention, Block, FeedForward, tensor_fields
from constructions.model.model import Model
from constructions.rational.interpolating_network import interpolating_network
from verify.forward.in_rationals import exact_network_logits
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.evidence.conditions import conditions
from verify.theorems.memories.knots import prove_knots
from verify.verdict import decided, proved

CLAIM = Claim(
    id="zhang-2017.theorem",
    title="A ReLU network of 2 n + d weights through n points",
    source="Zhang, Bengio, Hardt, Recht, Vinyals (2017), Theorem 1",
    kind="statement",
    printed=(
        "There is a network of [[layers: two]] layers with ReLU and [[printed: 2 n + d]] weights that represents any "
        "function on n distinct points of R^d."
    ),
    judgement="not-judged",
    truth=(
        "Not judged: the paper was not read. Proved here: there is such a network, for vectors as values too, with "
        "[[fewer: 2 n + d - 1]] weights: [[jumps: n - 1]] jumps, as many places, an offset and a direction. For T "
        "distinct contexts of S tokens out of N [[heads: one]] head that looks at positions alone takes the place of "
        "the direction: [[contexts: N + S + 2 m + 1]] numbers that depend on the task, [[neurons: m <= T - 1]]."
    ),
    reconstructed="the proof; the statement as others quote it",
    page="docs/claims/knots.md",
    hypotheses=conditions("N >= 2, S >= 1", "1 <= T <= N^S <= 2^20", "seed >= 0"),
    parameters={"d_vocab": 16, "n_ctx": 3, "facts": 96, "seed": 0},
    build=random_label_knots,
)

_SIZES = ((1, 1, 1), (2, 1, 1), (9, 1, 1), (16, 3, 1), (40, 5, 2))  # n, d, D


_SIZES_FULL = ((200, 4, 1), (100, 16, 3))


def evidence(*, full: bool) -> Iterator[Evidence]:
    for count, width, outputs in _SIZES + (_SIZES_FULL if full else ()):
        points, values = drawn(count=count, width=width, outputs=outputs)
        for offset in (False, True):
            yield _represents(interpolating_network(points, values, offset=offset), points, values, offset=offset)
    yield _contexts()


def drawn(*, count: int, width: int, outputs: int) -> tuple[np.ndarray, list[list[fmpq]]]:
    """Distinct integer points, and fractions as their values."""
    rng = np.random.default_rng([count, width])
    points = rng.permutation(np.unique(rng.integers(-2 * count, 2 * count + 1, (8 * count, width)), axis=0))[:count]
    values = [
        [fmpq(int(p), int(q)) for p, q in zip(rng.integers(-50, 51, outputs), rng.integers(1, 8, outputs), strict=True)]
        for _ in range(count)
    ]
    return points, values


def chosen_numbers(block: FeedForward) -> int | None:
    """Count the numbers of neurons that read one number: direction, knots, jumps and offset; None if their input maps
    differ.
    """
    columns = {tuple(str(x) for x in column) for column in block.W_in.T}
    biases = 0 if block.b_in is None else block.b_in.size
    offsets = 0 if block.b_out is None or not any(block.b_out) else block.b_out.size
    return block.d_model + biases + block.W_out.size + offsets if len(columns) == 1 else None


def _represents(model: Model, points: np.ndarray, values: list[list[fmpq]], *, offset: bool) -> Evidence:
    count, width = points.shape
    outputs = len(values[0])
    wanted = fmpq_mat(count, outputs, [y for row in values for y in row])
    embedding = [[int(x.p) if x.q == 1 else None for x in row] for row in model.W_E.tolist()]
    computed = exact_network_logits(model, np.arange(count)[:, None])
    block = model.blocks[0]
    one = len(model.blocks) == 1 and isinstance(block, FeedForward) and not block.skip
    numbers = chosen_numbers(block) if isinstance(block, FeedForward) else None
    plain = outputs == 1 and (count > 1 or not offset)
    name = "fewer" if offset else "printed"
    return Evidence(
        "sharper" if offset or outputs > 1 else "part",
        f"{count} distinct points of R^{width} and fractions in R^{outputs} as values: one layer of ReLU neurons "
        f"{'and an offset' if offset else 'without an offset'}, {numbers} numbers",
        f"the values, {stated(CLAIM, name, n=count, d=width)} numbers" if plain else "the values",
        "exactly the values" if computed == wanted else "other values",
        Method("exact rationals", Means.EXACT),
        decided(computed == wanted and one and numbers is not None and embedding == points.tolist()),
        quantifier=Quantifier.SAMPLED,
        compared=(
            (Comparison(numbers, "=", stated(CLAIM, name, n=count, d=width)), *_parts(block, count, offset=offset))
            if plain and numbers
            else ()
        ),
    )


def _parts(block: Block, count: int, *, offset: bool) -> tuple[Comparison, ...]:
    """Two layers of weights; a neuron for each point, or for each but one where there is an offset."""
    layers = [name for name, _ in tensor_fields(block) if name in ("W_in", "W_out")]
    comparisons = (Comparison(len(layers), "=", stated(CLAIM, "layers")),)
    if offset and isinstance(block, FeedForward):
        comparisons += (Comparison(block.d_mlp, "=", stated(CLAIM, "jumps", n=count)),)
    return comparisons


def _contexts() -> Evidence:
    construction = CLAIM.construct()
    task, model = construction.task, construction.model
    proof = prove_knots(model, task)
    distinct = len(np.unique(task.contexts, axis=0)) == task.n_contexts
    shape = [type(block) for block in model.blocks] == [Attention, FeedForward]
    memorized = proof.right == task.n_contexts and distinct and shape and len(np.unique(task.labels)) > 2
    block = model.blocks[-1]
    numbers, neurons = 0, 0
    if isinstance(block, FeedForward) and block.b_in is not None and block.b_out is not None:
        # Of the embeddings one column each, of the neurons all but their signs.
        numbers = model.d_vocab + model.n_ctx + block.b_in.size + block.W_out.size + block.b_out.size
        neurons = block.d_mlp
    return Evidence(
        "sharper",
        f"{task.n_contexts} distinct contexts of {task.n_ctx} tokens out of {task.d_vocab}, random "
        f"labels: one head by position and {neurons} ReLU neurons, rounded to float64",
        "all labels in front",
        f"{proof.right} of {task.n_contexts} in front, by {float(proof.margin_lower.min()):.3f} at least",
        Method("integers, and balls for the attention", Means.EXACT, Means.BALLS),
        proved(memorized),
        {"sha256": model.sha256()},
        quantifier=Quantifier.SAMPLED,
        compared=(
            *met(CLAIM, "neurons", m=neurons, T=task.n_contexts),
            Comparison(sum(x.n_heads for x in model.blocks if isinstance(x, Attention)), "=", stated(CLAIM, "heads")),
            Comparison(numbers, "=", stated(CLAIM, "contexts", N=task.d_vocab, S=task.n_ctx, m=neurons)),
        ),
    )
