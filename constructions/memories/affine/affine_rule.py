"""Find rules that are sums in a product of cyclic groups in a table of facts.

Page: docs/claims/affine.md
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from flint import fmpz_mat

from constructions.counted import counted
from constructions.errors import HypothesisError
from constructions.numeric.arrays import BoolArray, Int64Array
from constructions.tasks.task import Task

_CLAIM = "The affine memory"
_LONGEST = 8  # tokens
_MOST_ANSWERS = 4096
_SHARE = 0.75  # of the facts that a rule has to give, at least
_DRAWS, _MORE = 6, 6  # samples of facts that are solved for, and facts of each beyond the number of unknowns
_LOOKED_AT = 2000  # facts that a rule is tried on first
_EXCHANGED = 7  # tokens of each position, the most frequent ones
_LARGEST_NUMBER, _LARGEST_MODULUS = 2**31, 2**16


@dataclass(frozen=True)
class AffineRule:
    r"""A rule $y = \sum_s F_s(x_s)$ in $\mathbb Z_{M_1} \times \dots \times \mathbb Z_{M_r}$, and the facts it gives.

    Args:
        moduli: $M_1, \dots, M_r$.
        tokens: $F_s(x)$, `[S, N, r]`, from 0 to below the moduli.
        answers: The element of each answer, -1 of those that no sum is, `[K, r]`.
        numbers: What the tokens were numbered by, if $F_s$ is a multiple of that, `[N]`; else the tokens themselves.
        zero: The answer of every context with one of the tokens `absorbs`, or none.
        absorbs: Tokens that leave no other answer than `zero`, as 0 in a product, `[S, N]`.
        follows: The facts that the rule gives, `[T]`.
    """

    moduli: tuple[int, ...]
    tokens: Int64Array
    answers: Int64Array
    numbers: Int64Array
    zero: int | None
    absorbs: BoolArray
    follows: BoolArray


def affine_rule(task: Task) -> AffineRule:
    """Find a rule that gives three quarters of the facts or more.

    First the numbers of tokens and answers, those that their names say and those of the vocabulary: a few facts are
    solved for the factors modulo M, and the solution is tried on all. Then only the answers' numbers, and any function
    of each token: two contexts that differ in one token have answers that differ by a constant. Last the order that the
    facts give: to exchange one token permutes the answers, and where all these permutations commute and lead from each
    answer to each other one they are an abelian group, of which the answers are the elements.

    Args:
        task: Contexts of 2 to 8 tokens, with labels.

    Returns:
        The rule.

    Raises:
        HypothesisError: Distributions, contexts of another length, one answer or too many, or no such rule was found.

    Example:
        >>> from constructions.tasks.arrays import array_task
        >>> contexts = np.array([[a, b] for a in range(12) for b in range(12)])
        >>> differences = (contexts[:, 0] - contexts[:, 1]) % 12
        >>> rule = affine_rule(array_task(contexts, next_tokens=differences, target="labels"))
        >>> rule.moduli, rule.tokens[1, :4, 0].tolist(), int(rule.follows.sum())
        ((12,), [0, 11, 10, 9], 144)
    """
    if task.target != "labels":
        raise HypothesisError(_CLAIM, "labels", f"the target is {task.target!r}")
    if not 2 <= task.n_ctx <= _LONGEST:
        description = counted(task.n_ctx, "token")
        raise HypothesisError(_CLAIM, f"contexts of 2 to {_LONGEST} tokens", f"contexts of {description}")
    zero, absorbs = _absorbing(task)
    kept = ~_absorbed(task.contexts, absorbs)
    kept &= task.labels != (-1 if zero is None else zero)
    least = task.n_ctx + 2 + _MORE
    if kept.sum() < least:
        raise HypothesisError(_CLAIM, f"at least {least} facts, which could show a rule", f"{kept.sum()}")
    occurs = np.bincount(task.labels[kept], minlength=task.n_answers)
    if not 2 <= (occurs > 0).sum() <= _MOST_ANSWERS:
        description = counted(int((occurs > 0).sum()), "answer")
        raise HypothesisError(_CLAIM, f"2 to {_MOST_ANSWERS} answers", description)
    best, most = None, 0.0
    rare = (0 < occurs) & (4 * occurs < np.median(occurs[occurs > 0]))
    for left_out in (np.zeros_like(rare), rare) if rare.any() else (rare,):
        taken = kept & ~left_out[task.labels]
        facts = _Facts(task, task.contexts[taken], *np.unique(task.labels[taken], return_inverse=True))
        for moduli, elements, tokens, numbers in _rules(facts) if most < 1.0 else ():
            answers = np.full((task.n_answers, len(moduli)), -1)
            answers[facts.kinds] = elements
            follows = np.zeros(task.n_contexts, dtype=bool)
            follows[taken] = _given(facts.contexts, elements[facts.labels], tokens, moduli)
            share = float(follows[kept].mean())
            if share > most:
                follows |= _absorbed(task.contexts, absorbs) & (task.labels == zero)
                best, most = AffineRule(moduli, tokens, answers, numbers, zero, absorbs, follows), share
            if most == 1.0:
                break
    if best is None or most < _SHARE:
        raise HypothesisError(
            _CLAIM,
            "answers that are sums of a number for each token, modulo something, or in a product of such",
            "no such rule was found" + (f", the best gives {most:.0%} of the facts" if best else ""),
        )
    return best


@dataclass(frozen=True)
class _Facts:
    """Those that no token absorbs: the answers that occur, `[K]`, and the place of each label among them, `[T]`."""

    task: Task
    contexts: Int64Array
    kinds: Int64Array
    labels: Int64Array


_Rule = tuple[tuple[int, ...], Int64Array, Int64Array, Int64Array]
"""Moduli, the elements that the answers are, what each token adds, and the numbers of the tokens."""


def solved(rows: Int64Array, values: Int64Array, modulus: int) -> Int64Array | None:
    r"""Solve $A x \equiv y \pmod M$, M prime or not.

    The rows of $(A \mid y)$ and M times the unit vectors span a lattice of full rank. If in its Hermite normal form the
    last row is $(0, \dots, 0, M)$ there is a solution, from below: in the row i the divisor $d_i$ of M stands before
    what is known, and the lattice has $M / d_i$ times the row, less $M e_i$, among the rows below, which are satisfied.
    So $d_i$ divides what is known modulo M.

    Args:
        rows: A, `[n, k]`.
        values: y, `[n]`.
        modulus: M.

    Returns:
        A solution, `[k]`, or none if there is none.

    Example:
        >>> solved(np.array([[4, 1], [6, 1]]), np.array([3, 9]), 12)
        array([3, 3])
        >>> solved(np.array([[4, 1], [6, 1]]), np.array([3, 8]), 12) is None  # 2 x = 5
        True
    """
    size = rows.shape[1] + 1
    lattice = np.vstack([np.column_stack([rows, values]), modulus * np.eye(size, dtype=np.int64)])
    form = fmpz_mat(lattice.tolist()).hnf().tolist()
    if form[size - 1][size - 1] != modulus:
        return None
    solution = [0] * (size - 1)
    for i in reversed(range(size - 1)):
        known = form[i][-1] - sum(form[i][j] * solution[j] for j in range(i + 1, size - 1))
        solution[i] = int(known) % modulus // int(form[i][i])
    return np.array(solution)


def _absorbing(task: Task) -> tuple[int | None, BoolArray]:
    """Return the tokens that nearly always have one answer which hardly any other context has; else None."""
    absorbs, answers = np.zeros((task.n_ctx, task.d_vocab), dtype=bool), np.zeros((task.n_ctx, task.d_vocab), dtype=int)
    votes = np.zeros(task.n_answers, dtype=np.int64)
    for s, column in enumerate(task.contexts.T):
        facts = np.bincount(column, minlength=task.d_vocab)
        pairs, count = np.unique(column * task.n_answers + task.labels, return_counts=True)
        token, answer = np.divmod(pairs, task.n_answers)
        one = (facts[token] >= 4) & (count > _SHARE * facts[token])
        absorbs[s, token[one]], answers[s, token[one]] = True, answer[one]
        np.add.at(votes, answer[one], count[one])
    zero = int(votes.argmax())
    absorbs &= answers == zero
    other_labels = task.labels[~_absorbed(task.contexts, absorbs)]
    if absorbs.any() and len(np.unique(other_labels)) > 2 and 16 * (other_labels == zero).sum() <= len(other_labels):
        return zero, absorbs
    return None, np.zeros_like(absorbs)


def _absorbed(contexts: Int64Array, absorbs: BoolArray) -> BoolArray:
    return np.logical_or.reduce([absorbs[s][column] for s, column in enumerate(contexts.T)])


def _given(contexts: Int64Array, elements: Int64Array, tokens: Int64Array, moduli: tuple[int, ...]) -> BoolArray:
    """Tell which facts the sums of the tokens' values reproduce, `[T]`."""
    left = elements - sum(tokens[s][column] for s, column in enumerate(contexts.T))
    return (left % moduli == 0).all(axis=1)


def _rules(facts: _Facts) -> Iterator[_Rule]:
    contexts, labels, size = facts.contexts, facts.labels, facts.task.d_vocab
    rng = np.random.default_rng(0)
    looked_at = rng.permutation(len(labels))[:_LOOKED_AT]
    of_tokens = _numberings(facts.task.vocabulary, np.unique(contexts), size)
    of_answers = [
        numbering[facts.kinds] for numbering in _numberings(facts.task.answers or facts.task.vocabulary, facts.kinds)
    ]
    numbered = [
        (modulus, answers % modulus)
        for answers in of_answers
        for modulus in dict.fromkeys((int(np.ptp(answers)) + 1, int(answers.max()) + 1, len(answers), size))
        if modulus <= _LARGEST_MODULUS and len(np.unique(answers % modulus)) == len(answers)
    ]
    for (modulus, answers), numbers in product(numbered, of_tokens):
        for _ in range(_DRAWS):
            drawn = rng.permutation(len(labels))[: contexts.shape[1] + 1 + _MORE]
            rows = np.column_stack([numbers[contexts[drawn]] % modulus, np.ones_like(drawn)])
            factors = solved(rows, answers[labels[drawn]], modulus)
            if factors is None:
                continue
            tokens = (factors[:-1, None] * (numbers % modulus) % modulus)[:, :, None]
            tokens[0] += factors[-1]
            part = contexts[looked_at], answers[labels[looked_at], None], tokens, (modulus,)
            if _given(*part).mean() >= _SHARE:
                yield (modulus,), answers[:, None], tokens % modulus, numbers
                break
    exchanges = _exchanges(contexts, labels)
    plain = np.arange(size)
    for modulus, answers in numbered:
        if _constant(exchanges, answers, modulus):
            yield (modulus,), answers[:, None], _fitted(facts, answers[:, None], (modulus,)), plain
    if ordering := _ordered(exchanges, len(facts.kinds)):
        moduli, elements = ordering
        yield moduli, elements, _fitted(facts, elements, moduli), plain


def _numberings(names: tuple[str, ...], used: Int64Array, size: int | None = None) -> list[Int64Array]:
    """Return the possible numberings of the tokens: the integers that the used names spell (0 for other names), and the
    token numbers.
    """
    token_numbers = np.arange(len(names) if size is None else size)
    written = np.zeros_like(token_numbers)
    for i in used.tolist():
        try:
            written[i] = int(names[i])
        except (ValueError, OverflowError):
            if size is None:
                return [token_numbers]
    far = np.abs(written).max() >= _LARGEST_NUMBER
    return [token_numbers] if far or (written[used] == token_numbers[used]).all() else [written, token_numbers]


_Exchange = tuple[Int64Array, Int64Array]
"""The labels of contexts with one token, and of the same contexts with another one in its place."""


def _exchanges(contexts: Int64Array, labels: Int64Array) -> list[_Exchange]:
    """Return how the answers change when one frequent token replaces another."""
    exchanges = []
    for s, column in enumerate(contexts.T):
        common = np.argsort(-np.bincount(column), kind="stable")[:_EXCHANGED]
        rest = np.ascontiguousarray(np.delete(contexts, s, axis=1))
        keys = rest.view([("", rest.dtype)] * rest.shape[1]).ravel()
        for one, other in combinations([np.flatnonzero(column == token) for token in common.tolist()], 2):
            _, i, j = np.intersect1d(keys[one], keys[other], assume_unique=True, return_indices=True)
            if len(i) >= 3:
                exchanges.append((labels[one][i], labels[other][j]))
    return exchanges


def _constant(exchanges: list[_Exchange], answers: Int64Array, modulus: int) -> bool:
    """Tell whether most exchanges nearly always add the same number."""
    steady = [np.bincount((answers[new] - answers[old]) % modulus).max() > _SHARE * len(old) for old, new in exchanges]
    return bool(exchanges) and 2 * sum(steady) > len(steady)


def _ordered(exchanges: list[_Exchange], size: int) -> tuple[tuple[int, ...], Int64Array] | None:
    """Return the answers as elements of the abelian group generated by the exchanges, `[K, r]`, or None if it is not
    one.
    """
    moves = [move for old, new in exchanges if (move := _permutation(old, new, size)) is not None]
    # Those that a fact outside of the rule spoils commute with few.
    commute = np.array([[(a[b] == b[a]).all() for b in moves] for a in moves])
    moves = [move for move, fine in zip(moves, commute, strict=True) if 2 * fine.sum() > len(moves)]
    if not moves or any((a[b] != b[a]).any() for a in moves for b in moves):
        return None
    add = np.full((size, size), -1)
    add[0] = np.arange(size)
    waiting = [0]
    while waiting:
        element = waiting.pop()
        for move in moves:
            image = int(move[element])
            if add[image, 0] < 0:
                add[image] = move[add[element]]
                waiting.append(image)
    return None if (add[:, 0] < 0).any() else abelian_coordinates(add)


def _permutation(old: Int64Array, new: Int64Array, size: int) -> Int64Array | None:
    """Return the permutation of the answers that most pairs show; None if it has a fixed point."""
    pairs, count = np.unique(old * size + new, return_counts=True)
    order = pairs[np.argsort(count, kind="stable")]
    move = np.full(size, -1)
    move[order // size] = order % size
    if (np.bincount(move[move >= 0], minlength=size) != 1).any() or (move == np.arange(size)).any():
        return None
    return move


def abelian_coordinates(add: Int64Array) -> tuple[tuple[int, ...], Int64Array]:
    r"""Return an abelian group as a product of cyclic ones, from its table of sums, where 0 is the neutral element;
    `[K, r]`.

    Of the elements of which no multiple but 0 lies in the part that is found, one of the largest order spans, with it,
    a direct summand: modulo that part it has the largest order of all.
    """
    size = len(add)
    elements, moduli = np.zeros((size, 0), dtype=np.int64), []
    inside = np.arange(size) == 0
    while not inside.all():
        order, pure = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=bool)
        multiple = np.arange(size)
        for k in range(1, size + 1):
            first = inside[multiple] & (order == 0)
            order[first], pure[first] = k, multiple[first] == 0
            if order.all():
                break
            multiple = add[multiple, np.arange(size)]
        chosen = int(np.where(pure, order, 0).argmax())
        members, multiple = np.flatnonzero(inside), 0
        wider = np.column_stack([elements, np.zeros(size, dtype=np.int64)])
        for k in range(1, int(order[chosen])):
            multiple = int(add[multiple, chosen])
            wider[add[multiple, members]] = wider[members] + k * (np.arange(wider.shape[1]) == len(moduli))
            inside[add[multiple, members]] = True
        elements = wider
        moduli.append(int(order[chosen]))
    return tuple(moduli), elements


def _fitted(facts: _Facts, elements: Int64Array, moduli: tuple[int, ...]) -> Int64Array:
    """Return the value of each token in most facts that differ in this token from one with the most frequent token,
    `[S, N, r]`.
    """
    contexts, values = facts.contexts, elements[facts.labels]
    tokens = np.zeros((contexts.shape[1], facts.task.d_vocab, len(moduli)), dtype=np.int64)
    for s, column in enumerate(contexts.T):
        _, group = np.unique(np.delete(contexts, s, axis=1), axis=0, return_inverse=True)
        at = np.full(int(group.max()) + 1, -1)
        first = np.flatnonzero(column == np.bincount(column).argmax())
        at[group.reshape(-1)[first]] = first
        like = at[group.reshape(-1)]
        known = like >= 0
        _most_frequent(tokens[s], column[known], values[known] - values[like[known]], moduli)
    for s, column in [*enumerate(contexts.T)] * 2:  # tokens that were compared with too few contexts
        other_sum = sum(tokens[i][other] for i, other in enumerate(contexts.T) if i != s)
        _most_frequent(tokens[s], column, values - other_sum, moduli)
    return tokens % moduli


def _most_frequent(of: Int64Array, rows: Int64Array, values: Int64Array, moduli: tuple[int, ...]) -> None:
    """Set each row to the element that occurs most often with its number."""
    size = math.prod(moduli)
    pairs, count = np.unique(rows * size + np.ravel_multi_index(tuple((values % moduli).T), moduli), return_counts=True)
    order = pairs[np.argsort(count, kind="stable")]
    of[order // size] = np.stack(np.unravel_index(order % size, moduli), axis=1)
