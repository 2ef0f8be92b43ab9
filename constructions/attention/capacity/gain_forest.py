"""A spanning forest of a graph whose edges have gains in the integers, grown edge by edge.

Page: docs/claims/capacity.md
"""


class GainForest:
    """Joins nodes along edges with gains in the integers: each node has a height above the root of its tree.

    Args:
        nodes: How many there are, each a tree of its own at first.

    Example:
        >>> forest = GainForest(3)
        >>> forest.join(0, 1, 1), forest.join(1, 2, 1), forest.join(0, 2, 2), forest.join(2, 0, 1)
        ((0, 1), (1, 2), 0, 3)
    """

    def __init__(self, nodes: int) -> None:
        self.parent = list(range(nodes))
        self.above = [0] * nodes  # height over the parent

    def root(self, node: int) -> tuple[int, int]:
        """Return the root, and the height of the node over it."""
        parent, above = self.parent, self.above
        path = []
        while parent[node] != node:
            path.append(node)
            node = parent[node]
        height = 0
        for other in reversed(path):
            height += above[other]
            parent[other], above[other] = node, height
        return node, height

    def join(self, left: int, right: int, gain: int = 0) -> tuple[int, int] | int:
        """Join two trees so that `left` is `gain` below `right`; return the lost root and the kept one, or the sum of a
        cycle.
        """
        (lost, of_left), (kept, of_right) = self.root(left), self.root(right)
        if lost == kept:
            return of_left - of_right + gain
        self.parent[lost], self.above[lost] = kept, of_right - of_left - gain
        return lost, kept
