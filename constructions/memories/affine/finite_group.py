r"""Finite groups that need not commute: found in a table of facts, and taken apart for a few neurons.

Page: docs/claims/affine.md
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from constructions.arrays import Int64Array
from constructions.errors import HypothesisError
from constructions.memories.affine.affine_rule import abelian_coordinates
from constructions.tasks.task import Task

_CLAIM = "The memory of groups"
_MOST = 1024  # elements
_DRAWN = 200  # pairs of elements whose subgroups are looked at


@dataclass(frozen=True)
class Group:
    """A table that is one of a group, by numbers of its elements, 0 the neutral one.

    Args:
        products: The element x z, `[n, n]`.
        first: The element of each token at the first position, -1 of others, `[N]`.
        second: The same at the second position.
        answers: The element of each answer, -1 of others, `[K]`.
    """

    products: Int64Array
    first: Int64Array
    second: Int64Array
    answers: Int64Array


@dataclass(frozen=True)
class Coordinate:
    r"""A number of a product: $g_{c(z)}(x) + f(z)$, modulo something or not.

    Args:
        modulus: What it is taken modulo, or none.
        rows: $g_c$, `[c, n]`.
        kinds: c, `[n]`.
        added: f, `[n]`.
        values: The number of each element, `[n]`.
    """

    modulus: int | None
    rows: Int64Array
    kinds: Int64Array
    added: Int64Array
    values: Int64Array


def group_of(task: Task) -> Group:
    """Find the group of which all products are the facts, whatever tokens and answers are called.

    To exchange the names of x and of z, each by a permutation, gives the same facts: that of a token is its answer
    beside one chosen token.

    Args:
        task: Bigrams with labels.

    Returns:
        The group.

    Raises:
        HypothesisError: Other tasks, or a table that is not one of a group, or not all of it.

    Example:
        >>> from constructions.tasks.arrays import all_contexts, array_task
        >>> x, z = (contexts := all_contexts(6, 2)).T
        >>> turned = (x % 3 + (1 - 2 * (x // 3)) * z) % 3 + 3 * (x // 3 ^ z // 3)  # of a triangle
        >>> group_of(array_task(contexts, next_tokens=turned, target="labels")).products[1].tolist()
        [1, 2, 0, 4, 5, 3]
    """
    if task.target != "labels" or task.n_ctx != 2:
        raise HypothesisError(_CLAIM, "bigrams with labels", f"they are {task.target} of {task.n_ctx} tokens")
    firsts, rows = np.unique(task.contexts[:, 0], return_inverse=True)
    seconds, columns = np.unique(task.contexts[:, 1], return_inverse=True)
    answers, labels = np.unique(task.labels, return_inverse=True)
    n = len(answers)
    wanted = f"a whole table of 2 to {_MOST} answers, each once in a row and in a column"
    if not (2 <= n <= _MOST and len(firsts) == len(seconds) == n and task.n_contexts == n * n):
        found = f"{task.n_contexts} facts of {n} answers, with {len(firsts)} and {len(seconds)} tokens"
        raise HypothesisError(_CLAIM, wanted, found)
    table = np.empty((n, n), dtype=np.int64)
    table[rows, columns] = labels
    if any((np.sort(table, axis=axis) != np.expand_dims(np.arange(n), 1 - axis)).any() for axis in (0, 1)):
        raise HypothesisError(_CLAIM, wanted, "one is there twice")
    central = np.flatnonzero((table == table.T).all(axis=0) & np.array_equal(firsts, seconds))
    unit = int(central[0]) if len(central) else 0
    place = np.arange(n)
    place[[0, table[unit, unit]]] = place[[table[unit, unit], 0]]  # the neutral element comes first
    table = place[table]
    products = np.empty((n, n), dtype=np.int64)
    products[np.ix_(table[:, unit], table[unit])] = table
    if not _associates(products):
        raise HypothesisError(_CLAIM, "the table of a group", "products do not associate")
    if (products == products.T).all():
        raise HypothesisError(_CLAIM, "a group that does not commute", "it does, and is the affine memory's")
    of_first, of_second = np.full(task.d_vocab, -1), np.full(task.d_vocab, -1)
    of_first[firsts], of_second[seconds] = table[:, unit], table[unit]
    of_answers = np.full(task.n_answers, -1)
    of_answers[answers] = place
    return Group(products, of_first, of_second, of_answers)


def coordinates_of(products: Int64Array) -> Iterator[tuple[Coordinate, ...]]:
    r"""Ways to say the elements of a group by a few numbers, of which those of a product are read off its factors.

    A subgroup H that holds no normal one but 1 makes the group permute the cosets of H, and an element is known by
    where it sends a few of them: x z sends the point p to where x sends $z p$. A cyclic normal subgroup A with an
    abelian quotient makes elements $r a^k$, and k of a product is $g_{c(z)}(x) + f(z)$ modulo the order of A.

    Args:
        products: The table, 0 the neutral element, `[n, n]`.

    Yields:
        The coordinates; together they tell elements apart.

    Example:
        >>> x, z = np.indices((6, 6))
        >>> turned = (x % 3 + (1 - 2 * (x // 3)) * z) % 3 + 3 * (x // 3 ^ z // 3)
        >>> [[each.modulus for each in found] for found in coordinates_of(turned)]
        [[3, 2], [None, None]]
    """
    n, rng = len(products), np.random.default_rng(0)
    seen: set[bytes] = set()
    fewest = n
    drawn = [(h,) for h in range(n)] + [tuple(pair) for pair in rng.integers(0, n, (_DRAWN, 2)).tolist()]
    for generators in drawn:
        part = _generated(products, generators)
        key = part.tobytes()
        if key in seen:
            continue
        seen.add(key)
        coset, place = np.unique(products[:, part].min(axis=1), return_inverse=True)
        if len(generators) == 1 and len(part) > 1 and (found := _over_cyclic(products, generators[0], place, coset)):
            yield found
        if len(coset) < fewest:
            images = place[products[:, coset]]  # where each element sends the coset of each representative
            if len(np.unique(images, axis=0)) == n:
                fewest = len(coset)
                yield _images(images)


def _associates(products: Int64Array) -> bool:
    """Light's test: (x c) z = x (c z) for the elements c that generate all."""
    inside, generators = np.arange(len(products)) == 0, []
    while not inside.all():
        generators.append(int(np.flatnonzero(~inside)[0]))
        inside[_generated(products, tuple(generators))] = True
    return all((products[products[:, c]] == products[:, products[c]]).all() for c in generators)


def _generated(products: Int64Array, generators: tuple[int, ...]) -> Int64Array:
    """What products with some elements, from the right, reach from the neutral one: of a group their subgroup."""
    inside = np.arange(len(products)) == 0
    new = np.array([0])
    while len(new):
        reached = np.unique(products[np.ix_(new, np.array(generators))])
        new = reached[~inside[reached]]
        inside[new] = True
    return np.flatnonzero(inside)


def _images(images: Int64Array) -> tuple[Coordinate, ...]:
    """Where elements send points, for as few points as tell elements apart."""
    known = np.zeros(len(images), dtype=np.int64)
    chosen: list[int] = []
    while known.max() + 1 < len(images):
        told = [np.unique(known * images.shape[1] + column, return_inverse=True)[1] for column in images.T]
        chosen.append(int(np.argmax([each.max() for each in told])))
        known = told[chosen[-1]]
    nothing = np.zeros(len(images), dtype=np.int64)
    return tuple(Coordinate(None, images.T, images[:, p], nothing, images[:, p]) for p in chosen)


def _over_cyclic(
    products: Int64Array, generator: int, place: Int64Array, coset: Int64Array
) -> tuple[Coordinate, ...] | None:
    """The exponent of an element in a cyclic normal subgroup, and what the quotient adds; none if it is not abelian."""
    powers = np.zeros(len(products) // len(coset), dtype=np.int64)
    for k in range(1, len(powers)):
        powers[k] = products[powers[k - 1], generator]
    quotient, order = place[products[np.ix_(coset, coset)]], len(powers)
    # Where a r is in the coset of r, conjugates of a are in A.
    if (quotient != quotient.T).any() or (place[products[np.ix_(powers, coset)]] != np.arange(len(coset))).any():
        return None
    exponent = np.empty(len(products), dtype=np.int64)
    exponent[products[np.ix_(coset, powers)]] = np.arange(order)
    more = (exponent[products] - exponent) % order
    rows, kinds = np.unique(more.T, axis=0, return_inverse=True)
    own = np.arange(len(rows))
    own[[0, kinds.ravel()[0]]] = own[[kinds.ravel()[0], 0]]  # that of 0 comes first: it is the exponent
    found = [Coordinate(order, rows[own], own[kinds.ravel()], exponent, exponent)]
    moduli, elements = abelian_coordinates(quotient)
    nothing = np.zeros(len(products), dtype=np.int64)
    for modulus, column in zip(moduli, elements[place].T, strict=True):
        found.append(Coordinate(modulus, column[None], nothing, column, column))
    return tuple(found)
