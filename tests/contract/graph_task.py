"""A task that the package does not know: graphs on three vertices, and into how many parts each falls.

It is read by path, as a file of somebody's own.
"""

from itertools import combinations, product

import numpy as np

from constructions.errors import InputError
from constructions.tasks.any_task import Encoded
from constructions.tasks.arrays import array_task

VERTICES = range(3)
PAIRS = list(combinations(VERTICES, 2))
Graph = frozenset  # of pairs of vertices


def parts(graph: Graph) -> int:
    """How many parts a graph has that no edge joins."""
    part = list(VERTICES)
    for a, b in graph:
        part = [part[a] if each == part[b] else each for each in part]
    return len(set(part))


class Graphs(Encoded):
    """All graphs; each becomes a list that says of every pair of vertices whether it is an edge."""

    def __init__(self) -> None:
        rows = np.array(list(product((0, 1), repeat=len(PAIRS))))
        graphs = [frozenset(pair for pair, there in zip(PAIRS, row, strict=True) if there) for row in rows]
        labels = np.array([parts(graph) - 1 for graph in graphs])
        self._facts = array_task(
            rows, next_tokens=labels, target="labels", vocabulary=("no edge", "edge"), answers=("1", "2", "3")
        )

    @property
    def facts(self):
        return self._facts

    def encoded(self, context):
        edges = frozenset(map(tuple, map(sorted, context)))
        if not edges <= set(PAIRS):
            raise InputError("the graph", f"has the edges {sorted(edges - set(PAIRS))}", "pairs of the vertices 0 .. 2")
        return ["edge" if pair in edges else "no edge" for pair in PAIRS]

    def said(self, tokens, fact):
        del fact
        count = self.facts.answers[tokens[0]]
        return f"{count} part" if count == "1" else f"{count} parts"

    def in_words(self, fact):
        edges = [f"{a}-{b}" for (a, b), there in zip(PAIRS, self.facts.contexts[fact], strict=True) if there]
        return (" ".join(edges) or "no edges",), self.said(self.answer(fact), fact), None


GRAPHS = Graphs()
