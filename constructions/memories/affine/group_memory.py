r"""Composition tables of groups, held by what tells their elements apart.

Page: docs/claims/affine.md
"""

import math
from typing import NamedTuple

import numpy as np

from constructions.arrays import Float64Array, Int64Array
from constructions.counted import counted
from constructions.errors import CapacityError
from constructions.memories.affine.affine_memory import step
from constructions.memories.affine.finite_group import Coordinate, Group, coordinates_of, group_of
from constructions.models.blocks import Attention, Block, FeedForward
from constructions.models.construction import Construction
from constructions.models.exact_steps import halvings
from constructions.models.model import Model
from constructions.models.precision import SIGNIFICAND, Precision, require_precision
from constructions.tasks.task import Task

_CLAIM = "The memory of groups"
_SHARP = 1024.0
_MOST = 2**28  # products times numbers of a product that are looked at


def group_memory(task: Task, *, dtype: Precision = "float32") -> Construction[Task]:
    r"""Hold the table of a finite group, that need not commute, whatever its elements are called.

    A number $g_{c(z)}(x) + f(z)$ of a product x z is $g_0 (x) + f(z)$ and, for each $j \le c$, the difference
    $g_j - g_{j - 1}$ at x: one neuron keeps it, and is pushed down where c is less than j. Two heads bring what the
    two tokens have; neurons add; steps take the modulus away.

    Args:
        task: All bigrams of some tokens, with labels.
        dtype: The precision in which all runs are to be exact; the weights are integers.

    Returns:
        The model of the fewest entries of all ways to say its elements that were looked at.

    Raises:
        HypothesisError: Other tasks or tables, or a group that commutes.
        CapacityError: Sums that the precision does not hold.

    Example:
        >>> from itertools import permutations
        >>> from constructions.tasks.arrays import all_contexts, array_task
        >>> orders = list(permutations(range(4)))
        >>> contexts = all_contexts(24, 2)
        >>> labels = [orders.index(tuple(orders[x][i] for i in orders[z])) for x, z in contexts.tolist()]
        >>> group_memory(array_task(contexts, next_tokens=np.array(labels), target="labels")).summary
        '576 products in a group of 24 elements by where 3 of 4 points go, 2 blocks, 518 parameters'
    """
    require_precision(dtype)
    group, bits = group_of(task), SIGNIFICAND[dtype]
    best, least = None, math.inf
    for coordinates in coordinates_of(group.products):
        rows = max(len(each.rows) for each in coordinates)
        if task.d_vocab * rows >= least or group.products.size * rows > _MOST:  # the embedding alone is as large
            continue
        for coded in (True, False):
            model, need = _model(group, coordinates, coded=coded)
            if need <= 1 << bits and model.parameters < least:
                best, least = (model, coordinates), model.parameters
    if best is None:
        raise CapacityError(_CLAIM, f"sums that {bits} bits hold", "those of this group are longer")
    model, coordinates = best
    points = f"where {len(coordinates)} of {len(coordinates[0].rows)} points go"
    numbers = "numbers modulo " + " x ".join(str(each.modulus) for each in coordinates)
    return Construction(
        task,
        model,
        f"{counted(task.n_contexts, 'product')} in a group of {len(group.products)} elements by "
        f"{points if coordinates[0].modulus is None else numbers}, {len(model.blocks)} blocks, "
        f"{model.parameters} parameters",
    )


class _Neuron(NamedTuple):
    """A neuron that reads numbers of the elements x and z, by the places of these."""

    reads: dict[int, int]
    beside: dict[int, int]
    shift: int
    output: int
    weight: int


def _model(group: Group, coordinates: tuple[Coordinate, ...], *, coded: bool) -> tuple[Model, int]:
    """The model, where the coordinates become one number or stay apart, and how many units its longest sum has."""
    points, count = all(each.modulus is None for each in coordinates), len(coordinates)
    weights, outputs = np.ones(count, dtype=np.int64), np.arange(count)
    if points and coded:  # the points are digits of one number
        weights, outputs = len(coordinates[0].rows) ** np.arange(count), np.zeros(count, dtype=np.int64)
    firsts, seconds, neurons = _neurons(coordinates, weights.tolist(), outputs.tolist())
    width = len(set(outputs.tolist()))
    W_in, b_in = np.zeros((len(firsts) + len(seconds), len(neurons))), np.zeros(len(neurons))
    W_out = np.zeros((len(neurons), width))
    sums = np.zeros((width, *group.products.shape), dtype=np.int64)
    longest = 0
    for i, neuron in enumerate(neurons):
        W_in[list(neuron.reads), i] = list(neuron.reads.values())
        W_in[[len(firsts) + place for place in neuron.beside], i] = list(neuron.beside.values())
        b_in[i], W_out[i, neuron.output] = neuron.shift, neuron.weight
        x = sum(weight * firsts[place] for place, weight in neuron.reads.items())
        z = sum(weight * seconds[place] for place, weight in neuron.beside.items())
        sums[neuron.output] += neuron.weight * np.maximum(np.add.outer(x, z + neuron.shift), 0)
        longest = max(longest, int(np.max(x) + np.max(z)) + abs(neuron.shift))
    longest = max(longest, int(sums.max()))
    blocks: list[Block] = [FeedForward(W_in=W_in, b_in=b_in, W_out=W_out, skip=False)]
    wanted = np.zeros((width, len(group.products)), dtype=np.int64)
    for each, weight, output in zip(coordinates, weights.tolist(), outputs.tolist(), strict=True):
        wanted[output] += weight * each.values
        if each.modulus is not None:
            for take in (each.modulus * k for k in halvings(int(sums[output].max()) // each.modulus + 1)):
                blocks.append(step(width, output, 0, take))
                longest = max(longest, 2 * take * (take + 1))
    if points:
        wanted += sums[:, 0, :1] - wanted[:, :1]  # what keeps neurons above 0
    if coded and len(group.answers) * (width - 1) > width * (width + 1):
        scale = np.cumprod([1, *(wanted.max(axis=1)[:-1] + 1)])
        blocks.append(FeedForward(W_in=np.eye(width), W_out=scale[:, None].astype(np.float64), skip=False))
        wanted = (scale @ wanted)[None]
    attention, W_E, W_pos = _heads(
        *([np.where(own >= 0, each[own], 0) for each in columns]
          for own, columns in ((group.first, firsts), (group.second, seconds)))
    )  # fmt: skip
    W_U, b_U = _readout(wanted, group.answers)
    read = (np.abs(W_U).T @ wanted.max(axis=1) + np.abs(b_U)).max()
    return Model(blocks=(attention, *blocks), W_U=W_U, b_U=b_U, W_E=W_E, W_pos=W_pos), max(longest, int(read))


def _neurons(
    coordinates: tuple[Coordinate, ...], weights: list[int], outputs: list[int]
) -> tuple[list[Int64Array], list[Int64Array], list[_Neuron]]:
    """Numbers of the elements x and z, and the neurons that read them."""
    firsts: list[Int64Array] = []
    seconds: list[Int64Array] = []
    neurons: list[_Neuron] = []
    plain: dict[int, dict[int, int]] = {output: {} for output in outputs}
    added = {output: np.zeros_like(coordinates[0].values) for output in outputs}
    for each, weight, output in zip(coordinates, weights, outputs, strict=True):
        differences = np.diff(each.rows, axis=0)
        differences = differences if each.modulus is None else differences % each.modulus
        low = np.minimum(differences.min(axis=1, initial=0), 0)
        push = (differences - low[:, None]).max(axis=1, initial=0)
        beyond = each.kinds[:, None] - np.arange(1, len(each.rows))
        more = each.added + np.where(beyond >= 0, low - push * beyond, 0).sum(axis=1)
        added[output] += weight * (more if each.modulus is None else more % each.modulus)
        place = _place(firsts, each.rows[0])
        plain[output][place] = plain[output].get(place, 0) + weight
        for j in np.flatnonzero(push).tolist():
            reads = {_place(firsts, differences[j] - low[j]): 1}
            beside = {_place(seconds, each.kinds): int(push[j])}
            neurons.append(_Neuron(reads, beside, -int(push[j]) * (j + 1), output, weight))
    for output, reads in plain.items():
        shift = max(-int(added[output].min()), 0)
        neurons.append(_Neuron(reads, {_place(seconds, added[output]): 1}, shift, output, 1))
    return firsts, seconds, neurons


def _place(columns: list[Int64Array], column: Int64Array) -> int:
    """Where a column is, which is added if it is new."""
    for i, other in enumerate(columns):
        if (other == column).all():
            return i
    columns.append(column)
    return len(columns) - 1


def _heads(firsts: list[Int64Array], seconds: list[Int64Array]) -> tuple[Attention, Float64Array, Float64Array]:
    """Two heads, each of which reads its numbers of the token at one position; and the embeddings."""
    columns: list[Int64Array] = []
    places = [[_place(columns, column) for column in own] for own in (firsts, seconds)]
    wide, most = len(columns), max(map(len, places))
    W_E, W_pos = np.zeros((len(columns[0]), wide + 1)), np.zeros((2, wide + 1))
    W_E[:, :wide], W_pos[:, wide] = np.stack(columns, axis=1), (-1.0, 1.0)
    W_K, W_V = np.zeros((2, wide + 1, 1)), np.zeros((2, wide + 1, most))
    W_O = np.zeros((2, most, len(firsts) + len(seconds)))
    W_K[:, wide, 0] = (-1.0, 1.0)
    for head, own in enumerate(places):
        for k, place in enumerate(own):
            W_V[head, place, k] = W_O[head, k, head * len(firsts) + k] = 1.0
    W_Q, b_Q = np.zeros((2, wide + 1, 1)), np.full((2, 1), _SHARP)
    return Attention(W_Q=W_Q, b_Q=b_Q, W_K=W_K, W_V=W_V, W_O=W_O, skip=False), W_E, W_pos


def _readout(wanted: Int64Array, elements: Int64Array) -> tuple[Float64Array, Float64Array]:
    """Logits $(v - m)^2 - (v - c)^2$ of the answers with the numbers c."""
    occurs = np.flatnonzero(elements >= 0)
    own = wanted[:, elements[occurs]]
    middle = (own.min(axis=1) + own.max(axis=1)) // 2
    W_U, b_U = np.zeros((len(wanted), len(elements))), np.full(len(elements), -1.0)
    W_U[:, occurs] = 2.0 * (own - middle[:, None])
    b_U[occurs] = (middle[:, None] ** 2 - own**2).sum(axis=0)
    return W_U, b_U
