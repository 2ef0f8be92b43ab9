"""What a model and a task are, by the definitions, in many digits: no bound, no block structure, no speed.

With this the corpus finds numbers that are one unit too strong, and its tests show that what is called false is false.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from constructions.tasks.prompts import PromptTask
from constructions.tasks.task import Task
from constructions.tasks.vectors import VectorTask

DIGITS = 150
Row = list[Any]  # of mpf


def exact(values: Any) -> Row:
    """Return numbers of float64 exactly."""
    return [mpmath.mpf(float(x)) for x in values]


def times(row: Row, matrix: np.ndarray) -> Row:
    """Return a row times a matrix."""
    return [mpmath.fsum(x * w for x, w in zip(row, exact(column), strict=True)) for column in matrix.T]


def plus(row: Row, shift: Any) -> Row:
    """Return a row and a shift, if there is one."""
    return row if shift is None else [x + b for x, b in zip(row, exact(shift), strict=True)]


def added(one: Row, two: Row) -> Row:
    """Return the sum of two rows."""
    return [x + y for x, y in zip(one, two, strict=True)]


def normalized(norm: Normalization | None, row: Row) -> Row:
    """Return a row behind a normalization, or as it is."""
    if norm is None:
        return row
    centre = mpmath.fsum(row) / len(row) if norm.kind == "layer" else mpmath.mpf(0)
    centred = [x - centre for x in row]
    root = mpmath.sqrt(mpmath.fsum(x * x for x in centred) / len(row) + mpmath.mpf(norm.epsilon))
    return plus([x / root * w for x, w in zip(centred, exact(norm.w), strict=True)], norm.b)


def by_tanh(root: Any, u: Any) -> Any:
    """Return GELU with a hyperbolic tangent."""
    return u / 2 * (1 + mpmath.tanh(root * (u + mpmath.mpf(44715) / 10**6 * u**3)))


ACTIVATIONS = {
    "relu": lambda u: max(u, mpmath.mpf(0)),
    "gelu": lambda u: u * mpmath.ncdf(u),
    "gelu-tanh": lambda u: by_tanh(mpmath.sqrt(2 / mpmath.pi), u),
    "gelu-bloom": lambda u: by_tanh(mpmath.mpf(79788456) / 10**8, u),
    "silu": lambda u: u / (1 + mpmath.exp(-u)),
}


def written_by_neurons(block: FeedForward, row: Row) -> Row:
    """Return what a feed-forward block adds to a row."""
    read = normalized(block.norm, row)
    activation, inner = ACTIVATIONS[block.activation], plus(times(read, block.W_in), block.b_in)
    if block.W_gate is None:
        active = [activation(u) for u in inner]
    else:
        gates = plus(times(read, block.W_gate), block.b_gate)
        active = [activation(gate) * u for gate, u in zip(gates, inner, strict=True)]
    return normalized(block.post_norm, plus(times(active, block.W_out), block.b_out))


def turned(block: Attention, row: Row, place: int) -> Row:
    """Return a query or a key with its pairs turned by the angles of its position."""
    if block.frequencies is None:
        return row
    row, pairs = list(row), len(block.frequencies)
    for i, frequency in enumerate(exact(block.frequencies)):
        a, b = (i, i + pairs) if block.turned == "halves" else (2 * i, 2 * i + 1)
        cosine, sine = mpmath.cos(place * frequency), mpmath.sin(place * frequency)
        row[a], row[b] = row[a] * cosine - row[b] * sine, row[b] * cosine + row[a] * sine
    return row


def of_all_heads(
    block: Attention, row: Row, W: np.ndarray, b: Any, norm: Normalization | None, place: int | None
) -> list[Row]:
    """Return the queries, keys or values that the heads make of a row; turned where a position is given."""
    heads = [plus(times(row, W[h]), None if b is None else b[h]) for h in range(len(W))]
    if block.clip is not None:
        cut = mpmath.mpf(block.clip)
        heads = [[min(max(x, -cut), cut) for x in head] for head in heads]
    if norm is not None and block.norms_all:
        joined = normalized(norm, [x for head in heads for x in head])
        heads = [joined[h * len(heads[0]) : (h + 1) * len(heads[0])] for h in range(len(heads))]
    elif norm is not None:
        width = len(heads[0])
        gains = [slice(h * width, (h + 1) * width) if norm.width > width else slice(None) for h in range(len(heads))]
        shifts = [None if norm.b is None else norm.b[gain] for gain in gains]
        parts = [Normalization(norm.kind, norm.w[g], b, norm.epsilon) for g, b in zip(gains, shifts, strict=True)]
        heads = [normalized(part, head) for part, head in zip(parts, heads, strict=True)]
    return heads if place is None else [turned(block, head, place) for head in heads]


def written_by_heads(block: Attention, rows: list[Row], place: int, query: Row | None) -> Row:
    """Return what an attention adds to the row at a position."""
    read = [normalized(block.norm, row) for row in rows]
    asking = read[place] if query is None else query
    queries = of_all_heads(block, asking, block.W_Q, block.b_Q, block.q_norm, place)
    seen = range(place + 1 if block.attends == "causal" else len(rows))
    keys = [of_all_heads(block, read[j], block.W_K, block.b_K, block.k_norm, j) for j in seen]
    values = [of_all_heads(block, read[j], block.W_V, block.b_V, None, None) for j in seen]
    result, shared = [mpmath.mpf(0)] * block.d_out, block.n_heads // max(block.key_heads, 1)
    for h in range(block.n_heads):
        scores = [mpmath.fdot(queries[h], key[h // shared]) / mpmath.sqrt(block.score_root) for key in keys]
        if block.score_cap is not None:
            cap = mpmath.mpf(block.score_cap)
            scores = [cap * mpmath.tanh(score / cap) for score in scores]
        if block.slopes is not None:
            scores = [score + mpmath.mpf(float(block.slopes[h])) * j for j, score in enumerate(scores)]
        powers = [mpmath.exp(score - max(scores)) for score in scores]
        mixed = [
            mpmath.fsum(power * value[h // shared][i] for power, value in zip(powers, values, strict=True))
            / mpmath.fsum(powers)
            for i in range(block.d_head)
        ]
        result = added(result, times(mixed, block.W_O[h]))
    return normalized(block.post_norm, plus(result, block.b_O))


def attended(block: Attention, rows: list[Row], asking: Row) -> list[list[Any]]:
    """The attention weights of each head of a plain attention that asks with one row and reads all."""
    weights = []
    for h in range(block.n_heads):
        query = times(asking, block.W_Q[h])
        scores = [mpmath.fdot(query, times(row, block.W_K[h])) for row in rows]
        powers = [mpmath.exp(score - max(scores)) for score in scores]
        weights.append([power / mpmath.fsum(powers) for power in powers])
    return weights


def features(model: Model, task: Any, *, with_skip: bool) -> list[Row]:
    """What the heads of a plain attention read from each context: values of tokens, or mixed inputs of vectors."""
    result, block = [], model.attention
    for example in range(task.n_contexts):
        if isinstance(task, VectorTask):
            rows, asking = [exact(row) for row in task.context(example)], exact(task.queries[example])
        else:
            rows = [
                added(exact(model.W_E[token]), exact(model.W_pos[s])) for s, token in enumerate(task.contexts[example])
            ]
            asking = rows[-1]
        mixed = [
            [mpmath.fdot(weights, column) for column in zip(*rows, strict=True)]
            for weights in attended(block, rows, asking)
        ]
        read = mixed if isinstance(task, VectorTask) else [times(x, W) for x, W in zip(mixed, block.W_V, strict=True)]
        result.append([*(asking if with_skip else []), *(x for row in read for x in row)])
    return result


def outputs(model: Model, rows: list[Row], query: Row | None = None) -> Row:
    """Return the outputs at the last row, for rows of the stream and the query that a task brings."""
    before = rows
    for block in model.blocks:
        if isinstance(block, Normalization):
            rows = [normalized(block, row) for row in rows]
        elif isinstance(block, FeedForward):
            read = before if block.parallel else rows
            wrote = [written_by_neurons(block, row) for row in read]
            rows = [added(row, more) for row, more in zip(rows, wrote, strict=True)] if block.skip else wrote
        else:
            places = [len(rows) - 1] if block.attends == "last" else list(range(len(rows)))
            asked = query if block.queries == "task" else None
            wrote = [written_by_heads(block, rows, place, asked) for place in places]
            before = [rows[place] for place in places]
            rows = [added(row, more) for row, more in zip(before, wrote, strict=True)] if block.skip else wrote
    logits = plus(times(rows[-1], model.W_U), model.b_U)
    if model.logit_divisor is not None:
        logits = [x / mpmath.mpf(model.logit_divisor) for x in logits]
    if model.logit_cap is not None:
        cap = mpmath.mpf(model.logit_cap)
        logits = [cap * mpmath.tanh(x / cap) for x in logits]
    return logits


def logits_of(model: Model, context: Sequence[int]) -> Row:
    """Return the logits behind the tokens of a context."""
    rows = [exact(model.W_E[token]) for token in context]
    if model.W_pos is not None:
        rows = [added(row, exact(model.W_pos[place])) for place, row in enumerate(rows)]
    return outputs(model, rows)


@dataclass(frozen=True)
class Figures:
    """Return what is true of a model and a task.

    Args:
        memorized: Which contexts, or facts, have their label strictly on top, or all modes of their distribution.
        margins: By how much the least mode is above all others, of each.
        losses: The divergence of each; of values, the largest distance.
        guess_lower: The least mean loss of a guess that does not look at the context.
        guess_right: How many contexts the most frequent label has; 0 where there are no labels.
        over_text: The mean divergence over all occurrences of a text; none without counts.
        occurrences: How often each context occurs; empty without counts.
    """

    memorized: list[bool]
    margins: Row
    losses: Row
    guess_lower: Any
    guess_right: int
    over_text: Any
    occurrences: Sequence[int] = ()


def mean_over_occurrences(true: Figures) -> Any:
    """The mean loss of the contexts, each as often as it occurs."""
    total = mpmath.fsum(times * loss for times, loss in zip(true.occurrences, true.losses, strict=True))
    return total / sum(true.occurrences)


def divergence(distribution: Row, logits: Row) -> Any:
    """Return the divergence from a distribution of any total to the softmax of the logits, in nats."""
    top, total = max(logits), mpmath.fsum(distribution)
    log_sum = top + mpmath.log(mpmath.fsum(mpmath.exp(z - top) for z in logits))
    parts = [p / total * (mpmath.log(p / total) - z + log_sum) for p, z in zip(distribution, logits, strict=True) if p]
    return mpmath.fsum(parts)


def margin_of(modes: Sequence[bool], logits: Row) -> Any:
    """Return the least logit of a mode less the largest of the others."""
    others = [z for z, mode in zip(logits, modes, strict=True) if not mode]
    return min(z for z, mode in zip(logits, modes, strict=True) if mode) - max(others, default=-mpmath.inf)


def entropy(distribution: Row) -> Any:
    """Return the entropy of a distribution of any total, in nats."""
    total = mpmath.fsum(distribution)
    return -mpmath.fsum(p / total * mpmath.log(p / total) for p in distribution if p)


def point(label: int, width: int) -> Row:
    """Return the distribution that has a label alone."""
    return [mpmath.mpf(int(i == label)) for i in range(width)]


def figures(model: Model, task: Any, tolerance: float) -> Figures:
    """Return what is true of them, to `DIGITS` digits."""
    with mpmath.workdps(DIGITS):
        of_kind = {Task: of_contexts, PromptTask: of_prompts, VectorTask: of_vectors}[type(task)]
        return of_kind(model, task, mpmath.mpf(tolerance))


def of_contexts(model: Model, task: Task, tolerance: Any) -> Figures:
    """Return the figures of contexts of tokens, with labels or distributions."""
    width = task.n_answers
    logits = [logits_of(model, context) for context in task.contexts.tolist()]
    distributions = (
        [point(label, width) for label in task.labels.tolist()]
        if task.distributions is None
        else list(map(exact, task.distributions))
    )
    margins = [margin_of(modes, z) for modes, z in zip(task.modes().tolist(), logits, strict=True)]
    losses = [divergence(distribution, z) for distribution, z in zip(distributions, logits, strict=True)]
    shares = [[p / mpmath.fsum(distribution) for p in distribution] for distribution in distributions]
    mean = [mpmath.fsum(column) / len(distributions) for column in zip(*shares, strict=True)]
    guess = entropy(mean) - mpmath.fsum(map(entropy, distributions)) / len(distributions)
    within = [True] * len(distributions) if task.distributions is None else [loss <= tolerance for loss in losses]
    memorized = [bool(margin > 0) and near for margin, near in zip(margins, within, strict=True)]
    most = 0 if task.distributions is not None else int(np.bincount(task.labels).max())
    tail = [logits_of(model, context) for context in task.tail_contexts.tolist()]
    counts = [*task.counts.dense(0, len(task.counts), width), *task.tail_counts.dense(0, len(tail), width)]
    weighed = [int(row.sum()) * divergence(exact(row), z) for row, z in zip(counts, [*logits, *tail], strict=True)]
    text = mpmath.fsum(weighed) / int(sum(row.sum() for row in counts))
    return Figures(memorized, margins, losses, guess, most, text, task.counts.totals().tolist())


def of_prompts(model: Model, task: PromptTask, tolerance: Any) -> Figures:
    """Return the figures of facts whose answers are said token by token."""
    width = model.d_vocab_out
    margins, losses = [mpmath.inf] * task.n_contexts, [mpmath.mpf(0)] * task.n_contexts
    for fact, context, label in task.continued():
        logits = logits_of(model, context)
        margins[fact] = min(margins[fact], margin_of(point(label, width), logits))
        losses[fact] += divergence(point(label, width), logits)
    guess = mpmath.fsum(
        sum(row.values()) * entropy([mpmath.mpf(count) for count in row.values()]) for row in task.following.values()
    )
    return Figures([bool(m > 0) for m in margins], margins, losses, guess / task.n_contexts, task.guess_right, None)


def of_vectors(model: Model, task: VectorTask, tolerance: Any) -> Figures:
    """Return the figures of examples of vectors, with values or classes."""
    made = []
    for example in range(task.n_examples):
        rows = [exact(row) for row in task.context(example)]
        made.append(outputs(model, rows, exact(task.queries[example])))
    if task.target == "labels":
        modes = task.modes()
        margins = [margin_of(mode, z) for mode, z in zip(modes.tolist(), made, strict=True)]
        classes = modes.argmax(1)
        losses = [divergence(point(label, task.d_out), z) for label, z in zip(classes.tolist(), made, strict=True)]
        shares = exact(np.bincount(classes))
        return Figures(
            [bool(m > 0) for m in margins], margins, losses, entropy(shares), int(np.bincount(classes).max()), None
        )
    wanted = [exact(row) for row in task.labels]
    losses = [max(abs(x - y) for x, y in zip(z, row, strict=True)) for z, row in zip(made, wanted, strict=True)]
    # For one row c of values, the distance in one column is least, on average, at its median.
    guess = max(mean_distance(column, sorted(column)[len(column) // 2]) for column in zip(*wanted, strict=True))
    return Figures([bool(loss <= tolerance) for loss in losses], [], losses, guess, 0, None)


def mean_distance(column: Sequence[Any], centre: Any) -> Any:
    """Return how far the numbers of a column are from one number, on average."""
    return mpmath.fsum(abs(x - centre) for x in column) / len(column)


def float_below(value: Any) -> float:
    """Return the largest number of float64 that is below a number of many digits."""
    nearest = float(value)
    return nearest if mpmath.mpf(nearest) < value else float(np.nextafter(nearest, -np.inf))


def float_above(value: Any) -> float:
    """Return the smallest number of float64 that is above it."""
    return -float_below(-value)
