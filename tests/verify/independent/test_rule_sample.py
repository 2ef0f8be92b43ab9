"""The second reader draws what the prover draws, and compares the same integers."""

from hypothesis import given
from hypothesis import strategies as st

from verify.domains.sample import drawn, most_wrong
from verify.independent.rule_sample import drawn_numbers, leaves_at_most


@given(st.integers(1, 2**63), st.integers(1, 50), st.text("ab é", max_size=3))
def test_both_readers_draw_the_same_distinct_inputs(size, count, seed):
    found = drawn("a" * 64, "b" * 64, size, count, seed)
    assert found == drawn_numbers(["a" * 64, "b" * 64, count, seed], size)
    assert len(set(found)) == len(found) == min(size, count) and 0 <= found[0] and found[-1] < size


@given(st.integers(1, 600), st.data())
def test_the_least_bound_is_true_and_no_smaller_one(size, data):
    count = data.draw(st.integers(1, size))
    missed = data.draw(st.one_of(st.just(0), st.integers(0, count)))
    most = most_wrong(size, count, missed)
    assert leaves_at_most(size, count, missed, most)
    assert most == missed or not leaves_at_most(size, count, missed, most - 1)
