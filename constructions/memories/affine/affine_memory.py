"""Memorize tables whose answers are modular sums of one number per token, with exceptions.

Page: docs/claims/affine.md
"""

import math
from typing import NamedTuple

import numpy as np

from constructions.counted import counted
from constructions.errors import CapacityError
from constructions.memories.affine.affine_rule import AffineRule, affine_rule, solved
from constructions.memories.one_hot_distributions import centred_digits, digits_of, head_for_each_position
from constructions.model.blocks import Attention, Block, FeedForward
from constructions.model.construction import Construction
from constructions.model.exact_steps import halvings
from constructions.model.model import Model
from constructions.model.precision import SIGNIFICAND, Precision, require_precision
from constructions.numeric.arrays import BoolArray, Float64Array, Int64Array
from constructions.tasks.task import Task

_CLAIM = "The affine memory"
_SHARP = 1024.0
_MOST_EXCEPTIONS = 1000


class Term(NamedTuple):
    """The contribution of one number per token to one coordinate of the answer.

    Args:
        coordinate: Which.
        numbers: Numbers of the tokens, integers of at least 0, `[N]`.
        factors: Integers, one for each position, `[S]`.
    """

    coordinate: int
    numbers: Int64Array
    factors: Int64Array


def affine_memory(task: Task, *, dtype: Precision = "float32") -> Construction[Task]:
    r"""Memorize a table whose answers are $\sum_s F_s(x_s)$ in a product of cyclic groups, and some exceptions.

    Where the $F_s$ are multiples of one function, its values are the embedding: one layer gives each position its
    factor, one head adds the positions, and a few steps take M away. Otherwise a head for each position reads what its
    token adds. A fact that is no such sum has a neuron of its own, which adds what is missing.

    Args:
        task: Contexts of 2 to 8 tokens, with labels of which a rule gives three quarters or more.
        dtype: The precision in which all runs are to be exact; the weights are integers.

    Returns:
        The model. The summary says which rule it is.

    Raises:
        HypothesisError: Distributions, longer contexts, or no rule was found.
        CapacityError: More than 1000 exceptions, or sums that the precision does not hold.

    Example:
        >>> from constructions.tasks.arrays import array_task
        >>> contexts = np.array([[a, b] for a in range(97) for b in range(97)])
        >>> affine_memory(array_task(contexts, next_tokens=contexts.sum(axis=1) % 97, target="labels")).summary
        '9,409 facts as sums modulo 97, 2 blocks, 303 parameters'
    """
    require_precision(dtype)
    rule = affine_rule(task)
    exceptions = int((~rule.follows).sum())
    if exceptions > _MOST_EXCEPTIONS:
        raise CapacityError(_CLAIM, f"at most {_MOST_EXCEPTIONS} exceptions of the rule", f"{exceptions}")
    present = np.stack([np.bincount(column, minlength=task.d_vocab) > 0 for column in task.contexts.T])
    modulo = " x ".join(map(str, rule.moduli))
    shared, factor = _shared_terms(rule, present & ~rule.absorbs)
    for terms, times in ((shared, factor), (_own_terms(rule), (1,) * len(rule.moduli))):
        network = _model(task, rule, terms, np.array(times), 1 << SIGNIFICAND[dtype])
        if network is not None:
            but = f", but {counted(exceptions, 'exception')}" if exceptions else ""
            return Construction(
                task,
                network,
                f"{counted(task.n_contexts, 'fact')} as sums modulo {modulo}{but}, {len(network.blocks)} blocks, "
                f"{network.parameters} parameters",
            )
    raise CapacityError(_CLAIM, f"sums that {SIGNIFICAND[dtype]} bits hold", f"those modulo {modulo} are longer")


def _own_terms(rule: AffineRule) -> list[Term]:
    """Return terms in which every position has its own numbers."""
    n_ctx = len(rule.tokens)
    return [
        Term(j, rule.tokens[s, :, j], np.eye(n_ctx, dtype=np.int64)[s])
        for j in range(len(rule.moduli))
        for s in range(n_ctx)
    ]


def _shared_terms(rule: AffineRule, present: BoolArray) -> tuple[list[Term], tuple[int, ...]]:
    """Return as few functions of tokens as possible, and the unit that multiplies each coordinate."""
    terms: list[Term] = []
    times = []
    for j, modulus in enumerate(rule.moduli):
        of_positions = rule.tokens[:, :, j]
        left = [s for s in range(len(present)) if len(np.unique(of_positions[s][present[s]])) > 1]
        group_terms: list[Term] = []
        while left:
            bases = [(of_positions[s], present[s]) for s in left] + [(rule.numbers % modulus, present.any(axis=0))]
            tried = [_multiples(base, left, of_positions, present, modulus) for base in bases]
            numbers, functions = max(tried, key=lambda each: len(each[1]))
            group_terms.append(Term(j, numbers, np.array([functions.get(s, 0) for s in range(len(present))])))
            left = [s for s in left if s not in functions]
        times.append(
            _best_unit(np.concatenate([term.factors[term.factors > 0] for term in group_terms]), modulus)
            if group_terms
            else 1
        )
        terms += [term._replace(factors=_centred(times[-1] * term.factors, modulus)) for term in group_terms]
    return terms, tuple(times)


def _multiples(
    base: tuple[Int64Array, BoolArray], left: list[int], of_positions: Int64Array, present: BoolArray, modulus: int
) -> tuple[Int64Array, dict[int, int]]:
    """Return the positions whose function is a multiple of a common one, up to a constant; and that function on all
    their tokens.
    """
    numbers, known = base[0].copy(), base[1].copy()
    factors: dict[int, int] = {}
    for s in left:
        both, new = known & present[s], ~known & present[s]
        wanted, have = of_positions[s][both], numbers[both]
        if not len(have) or len(np.unique((wanted - have) % modulus)) == 1:
            factor, constant = 1, int(wanted[0] - have[0]) if len(have) else 0
        else:
            place = np.unique(have, return_index=True)[1][:40]
            rows = np.column_stack([have[place], np.ones_like(place)])
            multiplier = solved(rows, wanted[place], modulus)
            if multiplier is None:
                continue
            factor, constant = map(int, multiplier)
        if ((factor * have + constant - wanted) % modulus).any() or (new.any() and math.gcd(factor, modulus) > 1):
            continue
        if new.any():
            numbers[new] = pow(factor, -1, modulus) * (of_positions[s][new] - constant) % modulus
        known |= new
        factors[s] = factor
    return numbers, factors


def _centred(factors: Int64Array, modulus: int) -> Int64Array:
    return (factors + (modulus - 1) // 2) % modulus - (modulus - 1) // 2


def _best_unit(factors: Int64Array, modulus: int) -> int:
    """Return the unit that makes the factors few and small."""
    units = np.array([u for u in range(1, modulus) if math.gcd(u, modulus) == 1])
    scaled = _centred(units[:, None] * factors % modulus, modulus)
    distinct = (np.diff(np.sort(scaled, axis=1), axis=1) > 0).sum(axis=1)
    size = np.abs(scaled).sum(axis=1)
    has_negative = scaled.min(axis=1) < 0
    # Sorted by the last key first: few distinct factors, then small ones, then none below 0.
    order = np.lexsort((has_negative, size, distinct))
    return int(units[order[0]])


class _Built(NamedTuple):
    """The parts that add up the terms: embedding, blocks, a shift of all sums, and the largest sum of terms."""

    W_E: Float64Array
    W_pos: Float64Array
    blocks: list[Block]
    added: Int64Array
    largest: int


def _model(task: Task, rule: AffineRule, terms: list[Term], times: Int64Array, exact: int) -> Model | None:
    """Return the model of given terms; None if its sums are too long, or if an absorbing token has other uses in a
    term.
    """
    moduli = np.array(rule.moduli)
    absorbed = np.logical_or.reduce([rule.absorbs[s][column] for s, column in enumerate(task.contexts.T)])
    sums = _sums(task.contexts, terms, len(moduli))
    lowest, highest = sums[~absorbed].min(axis=0), sums[~absorbed].max(axis=0)
    steps = [halvings(-(-int(high + 1 - low) // m)) for low, high, m in zip(lowest, highest, rule.moduli, strict=True)]
    # What is so much above the lowest sum or more is left M above it or more by the steps: no residue.
    cap = rule.moduli[0] * (2 * steps[0][0] if steps[0] else 1)
    if rule.zero is not None:
        with_absorbing = _with_zero(task, rule, terms, absorbed, int(lowest[0]) + cap)
        if with_absorbing is None or len(moduli) > 1:
            return None
        terms, sums = with_absorbing, _sums(task.contexts, with_absorbing, 1)
    one = np.flatnonzero(rule.follows & ~absorbed)[0]  # the terms are those of the rule up to a constant
    constant = rule.answers[task.labels[one]] * times - sums[one]
    wanted = lowest + (rule.answers * times - constant - lowest) % moduli
    occurs = np.unique(task.labels)
    exceptions = [answer for answer in occurs.tolist() if rule.answers[answer, 0] < 0 and answer != rule.zero]
    wanted[exceptions] = lowest
    wanted[exceptions, 0] -= 1 + np.arange(len(exceptions))  # steps leave alone what is below all sums
    aimed = wanted.copy()
    if rule.zero is not None:
        wanted[rule.zero], aimed[rule.zero] = lowest + moduli, lowest + cap
    terms_by_coordinate = [[term for term in terms if term.coordinate == j] for j in range(len(moduli))]
    if rule.follows.all() and all(len(coordinate_terms) == 1 for coordinate_terms in terms_by_coordinate):
        built = _at_once(task, terms, rule.moduli)
    else:
        outside = np.flatnonzero(~rule.follows)
        built = _by_positions(task, terms, outside, aimed[task.labels[outside]] - sums[outside], lowest, exact)
    lowest, wanted, blocks = lowest + built.added, wanted + built.added, built.blocks
    if rule.zero is not None:
        b_in = np.array([-float(lowest[0] + cap)])
        blocks.append(FeedForward(W_in=np.ones((1, 1)), b_in=b_in, W_out=-np.ones((1, 1))))
    for j, (modulus, halves) in enumerate(zip(rule.moduli, steps, strict=True)):
        blocks += [step(len(moduli), j, int(lowest[j]), modulus * k) for k in halves]
    middle = (wanted[occurs].min(axis=0) + wanted[occurs].max(axis=0)) // 2
    W_U, b_U = np.zeros((len(moduli), task.n_answers)), np.full(task.n_answers, -1.0)  # what is no answer is behind
    W_U[:, occurs] = 2.0 * (wanted[occurs] - middle).T
    b_U[occurs] = (middle**2 - wanted[occurs] ** 2).sum(axis=1)
    most = np.abs(wanted[occurs]).max(axis=0)
    read = (np.abs(W_U[:, occurs]).T * most).sum(axis=1) + np.abs(b_U[occurs])
    takes = [modulus * k[0] if k else 0 for modulus, k in zip(rule.moduli, steps, strict=True)]
    first = [2 * take * (take + 1) + abs(int(low)) for take, low in zip(takes, lowest, strict=True)]
    if max([built.largest, int(read.max()), *first]) > exact:
        return None
    return Model(blocks=tuple(blocks), W_U=W_U, b_U=b_U, W_E=built.W_E, W_pos=built.W_pos)


def _sums(contexts: Int64Array, terms: list[Term], coordinates: int) -> Int64Array:
    """Return the sums of the terms, `[T, r]`."""
    sums = np.zeros((len(contexts), coordinates), dtype=np.int64)
    for term in terms:
        for s in np.flatnonzero(term.factors).tolist():
            sums[:, term.coordinate] += term.factors[s] * term.numbers[contexts[:, s]]
    return sums


def _with_zero(task: Task, rule: AffineRule, terms: list[Term], absorbed: BoolArray, cap: int) -> list[Term] | None:
    """Return the terms with numbers of absorbing tokens so large that every sum with one of them reaches the cap."""
    occurs = np.stack([np.bincount(column, minlength=task.d_vocab) > 0 for column in task.contexts.T])
    large = [rule.absorbs[term.factors != 0].any(axis=0) for term in terms]
    for term, is_absorbing in zip(terms, large, strict=True):
        reads = term.factors != 0
        if (term.factors < 0).any() or (occurs[reads] & is_absorbing & ~rule.absorbs[reads]).any():
            return None
    without = [
        term._replace(numbers=np.where(is_absorbing, 0, term.numbers))
        for term, is_absorbing in zip(terms, large, strict=True)
    ]
    number = cap - int(_sums(task.contexts[absorbed], without, 1).min())
    return [
        term._replace(numbers=np.where(is_absorbing, max(number, 0), term.numbers))
        for term, is_absorbing in zip(terms, large, strict=True)
    ]


def step(width: int, column: int, lowest: int, take: int) -> FeedForward:
    """Subtract $t$ from every value of at least $l + t$: $v - t (v - l - t + 1)_+ + t (v - l - t)_+$ for integers v."""
    W_in = np.zeros((width, 2))
    W_in[column] = 1.0
    b_in = np.array([1.0, 0.0]) - (lowest + take)
    return FeedForward(W_in=W_in, b_in=b_in, W_out=take * np.array([[-1.0], [1.0]]) * np.eye(width)[column])


def _at_once(task: Task, terms: list[Term], moduli: tuple[int, ...]) -> _Built:
    r"""Build one number per token with an offset per factor: neurons with these slopes multiply, and one head adds.

    With offsets $q i$, M a divisor of q, the function $\sum_i (a_i - a_{i - 1}) (z - q i)_+$ is $a_i v$ at
    $z = q i + v$, up to a multiple of M. Where the positions that count are not $2^k$ in all, heads add sets of such
    sizes, and a column for each set is 0 there and at least 1 elsewhere.
    """
    n_ctx, width = task.n_ctx, len(terms)
    factors = np.stack([term.factors for term in terms])
    counts = sorted(np.flatnonzero(factors.any(axis=0)).tolist(), key=lambda s: tuple(factors[:, s]))
    sets: list[list[int]] = []
    while left := len(counts) - sum(map(len, sets)):
        start = len(counts) - left
        sets.append(counts[start : start + (1 << (left.bit_length() - 1))])
    alone = len(sets) == 1 and len(counts) == n_ctx
    set_of = [next((g for g, positions in enumerate(sets) if s in positions), len(sets)) for s in range(n_ctx)]
    W_pos, added = np.zeros((n_ctx, width)), np.zeros(width, dtype=np.int64)
    neurons: list[tuple[int, float, float, int, float]] = []  # column, sign, shift, output, weight
    for j, (term, modulus) in enumerate(zip(terms, moduli, strict=True)):
        apart = -(-(int(term.numbers.max()) + 1) // modulus) * modulus
        keys = [(set_of[s] if j == 0 and not alone else 0, int(factors[j, s])) for s in range(n_ctx)]
        ranks = sorted(set(keys))
        before, height, heights = 0, 0, []
        for i, (_, slope) in enumerate(ranks):
            heights.append(height)
            height += apart * slope
            if slope != before:
                neurons.append((j, 1.0, -float(apart * i), j, float(slope - before)))
            before = slope
        place = [ranks.index(key) for key in keys]
        W_pos[:, j] = apart * np.array(place)
        added[j] = sum(heights[place[s]] for s in counts)
        for g in range(len(sets) if j == 0 and not alone else 0):
            low, high = ([key[0] for key in ranks].index(g), sum(key[0] <= g for key in ranks))
            if low:
                neurons.append((0, -1.0, float(apart * low), width + g, 1.0))
            if high < len(ranks):
                neurons.append((0, 1.0, 1.0 - apart * high, width + g, 1.0))
    W_E = np.stack([term.numbers for term in terms], axis=1).astype(np.float64)
    wide = width if alone else width + len(sets)
    blocks: list[Block] = []
    largest = 0.0
    if not alone or (factors != 1).any():
        W_in, W_out = np.zeros((width, len(neurons))), np.zeros((len(neurons), wide))
        for n, (column, sign, _, output, weight) in enumerate(neurons):
            W_in[column, n], W_out[n, output] = sign, weight
        b_in = np.array([shift for _, _, shift, _, _ in neurons])
        blocks.append(FeedForward(W_in=W_in, b_in=b_in, W_out=W_out, skip=False))
        reach = (W_E.max(axis=0) + W_pos.max(axis=0)) @ np.abs(W_in) + np.abs(b_in)
        largest = float((reach @ np.abs(W_out)).max())
    W_K, W_V = np.zeros((len(sets), wide, 1)), np.tile(np.eye(wide, width), (len(sets), 1, 1))
    for g in range(0 if alone else len(sets)):
        W_K[g, width + g] = -1.0
    heads = Attention(
        W_Q=np.zeros((len(sets), wide, 1)),
        b_Q=None if alone else np.full((len(sets), 1), _SHARP),
        W_K=W_K,
        W_V=W_V,
        W_O=np.stack([len(positions) * np.eye(width) for positions in sets]),
        skip=False,
    )
    return _Built(W_E, W_pos, [*blocks, heads], added, n_ctx * int(largest))


def _by_positions(
    task: Task, terms: list[Term], outside: Int64Array, lacking: Int64Array, lowest: Int64Array, exact: int
) -> _Built:
    """Return a head per position, and a neuron per exception that adds the missing amount."""
    n_ctx, width, columns = task.n_ctx, len(lowest), len(terms)
    base, count = digits_of(task.d_vocab, n_ctx, exact.bit_length() - 1) if len(outside) else (2, 0)
    code = centred_digits(task.d_vocab, base, count)
    coded = count + bool(count)
    W_E, W_pos = np.zeros((task.d_vocab, columns + coded + 2)), np.zeros((n_ctx, columns + coded + 2))
    for c, term in enumerate(terms):
        W_E[:, c] = term.numbers
    if count:
        W_E[:, columns : columns + count], W_E[:, columns + count] = code, (code**2).sum(axis=1)
    W_pos[:, -2], W_pos[:, -1] = np.arange(n_ctx), np.arange(n_ctx) ** 2
    W_V, W_O = (
        np.zeros((n_ctx, W_E.shape[1], width + coded)),
        np.zeros((n_ctx, width + coded, width + n_ctx * count)),
    )
    if count:
        W_O = np.pad(W_O, ((0, 0), (0, 0), (0, 1)))
    for s in range(n_ctx):
        for c, term in enumerate(terms):
            W_V[s, c, term.coordinate] = term.factors[s]
        W_V[s, columns : columns + coded, width:] = np.eye(coded)
        W_O[s, :width, :width] = np.eye(width)
        W_O[s, width : width + count, width + s * count : width + (s + 1) * count] = np.eye(count)
        W_O[s, width + count :, width + n_ctx * count :] = 1.0
    reads = np.arange(n_ctx) if count else np.flatnonzero(W_V.any(axis=(1, 2)))
    blocks: list[Block] = [head_for_each_position(reads, W_V[reads], W_O[reads])]
    if not count:
        return _Built(W_E, W_pos, blocks, np.zeros(width, dtype=np.int64), 0)
    x = code[task.contexts[outside]].reshape(len(outside), -1)
    W_in = np.zeros((W_O.shape[2], width + len(outside)))
    W_in[:width, :width] = np.eye(width)
    W_in[width:-1, width:], W_in[-1, width:] = 4.0 * x.T, -2.0
    b_in = np.concatenate([-lowest, 1.0 - 2.0 * (x**2).sum(axis=1)])
    W_out = np.vstack([np.eye(width), lacking])
    blocks.append(FeedForward(W_in=W_in, b_in=b_in, W_out=W_out, skip=False))
    return _Built(W_E, W_pos, blocks, -lowest, 2 * int(np.abs(lacking).max()))
