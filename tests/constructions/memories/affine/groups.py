"""Groups for tests, by generators, and their tables under other names."""

import numpy as np

from constructions.tasks.arrays import all_contexts, array_task
from constructions.tasks.task import Task

GENERATORS = {
    "three things": [(1, 0, 2), (1, 2, 0)],
    "four corners": [(1, 2, 3, 0), (3, 2, 1, 0)],
    "five corners": [(1, 2, 3, 4, 0), (4, 3, 2, 1, 0)],
    "six corners": [(1, 2, 3, 4, 5, 0), (5, 4, 3, 2, 1, 0)],
    "quaternions": [(1, 2, 3, 0, 5, 6, 7, 4), (4, 7, 6, 5, 2, 1, 0, 3)],
    "even exchanges of four": [(1, 2, 0, 3), (1, 0, 3, 2)],
    "lines of five points": [(1, 2, 3, 4, 0), (0, 2, 4, 1, 3)],
    "four things": [(1, 0, 2, 3), (1, 2, 3, 0)],
}


def elements(name: str) -> list[tuple[int, ...]]:
    """All products of the generators, sorted."""
    generators = GENERATORS[name]
    found = {tuple(range(len(generators[0])))}
    waiting = list(found)
    while waiting:
        x = waiting.pop()
        new = {tuple(x[i] for i in z) for z in generators} - found
        found |= new
        waiting += new
    return sorted(found)


def products(name: str) -> np.ndarray:
    """The table of a group, 0 the neutral element."""
    own = elements(name)
    place = {x: i for i, x in enumerate(own)}
    return np.array([[place[tuple(x[i] for i in z)] for z in own] for x in own])


def renamed(table: np.ndarray, seed: int) -> Task:
    """The facts of a table, under other names for factors at each position and for products."""
    rng, size = np.random.default_rng(seed), len(table)
    first, second, names = (rng.permutation(size) for _ in range(3))
    contexts = all_contexts(size, 2)
    labels = names[table[first[contexts[:, 0]], second[contexts[:, 1]]]]
    return array_task(contexts, next_tokens=labels, target="labels", vocabulary=size)
