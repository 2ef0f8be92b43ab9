"""A forest knows which nodes are joined, and by how much a cycle rises, however its edges come."""

from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.capacity.gain_forest import GainForest

EDGES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(-3, 3)), max_size=20)


@given(EDGES)
def test_edges_join_or_close_a_cycle_by_what_it_rises(edges):
    forest, kept = GainForest(7), []
    for left, right, gain in edges:
        above = heights(kept, left)
        found = forest.join(left, right, gain)
        if right in above:
            assert found == gain - above[right]
        else:
            assert isinstance(found, tuple)
            kept.append((left, right, gain))


def heights(edges, start):
    """How far each node that is joined with the start lies above it, by walking."""
    above, waiting = {start: 0}, [start]
    while waiting:
        here = waiting.pop()
        for left, right, gain in edges:
            for one, other, rise in ((left, right, gain), (right, left, -gain)):
                if one == here and other not in above:
                    above[other] = above[here] + rise
                    waiting.append(other)
    return above
