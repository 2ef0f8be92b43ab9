"""What bounds that a checker proved say about a stored statement: never more than follows from them."""

from itertools import combinations_with_replacement, product

from hypothesis import given
from hypothesis import strategies as st

from verify.certificates.certificate import DIVERGENCE, RANK_HEADS, Statement
from verify.provers.brackets import compare_divergences, compare_ranks
from verify.verdict import Verdict

RANKS = list(combinations_with_replacement(range(4), 3))
ends = st.lists(st.integers(0, 6), min_size=2, max_size=2).map(sorted)


def test_a_rank_is_proved_if_the_bounds_imply_it_and_refuted_if_they_exclude_it() -> None:
    for stored, own in product(RANKS, RANKS):
        values = dict(zip(("rows", "columns", "lower", "upper", "all_weights_upper"), (6, 6, *stored), strict=True))
        verdict = compare_ranks(Statement(RANK_HEADS, "", values), *own, "").verdict
        # Every rank of these weights, and every largest one of all weights, that the own bounds leave.
        left = [(here, most) for here in range(own[0], own[1] + 1) for most in range(here, own[2] + 1)]
        holds = [stored[0] <= here <= stored[1] and most <= stored[2] for here, most in left]
        expected = Verdict.PROVED if all(holds) else Verdict.UNDECIDED if any(holds) else Verdict.REFUTED
        assert verdict is expected, (stored, own)


@given(ends, ends, ends, ends)
def test_divergences_are_proved_within_the_stored_ends_and_refuted_outside_of_them(stored_max, stored_mean, most, mean):
    names = ("max_lower", "max_upper", "mean_lower", "mean_upper")
    if stored_mean[0] > stored_max[1]:
        return
    stored = {"contexts": 2, "occurrences": 3, **dict(zip(names, (*stored_max, *stored_mean), strict=True))}
    found = compare_divergences(Statement(DIVERGENCE, "", stored), dict(zip(names, (*most, *mean), strict=True)))
    pairs = ((stored_max, most), (stored_mean, mean))
    inside = all(a[0] <= b[0] and b[1] <= a[1] for a, b in pairs)
    outside = any(b[1] < a[0] or a[1] < b[0] for a, b in pairs)
    expected = Verdict.REFUTED if outside else Verdict.PROVED if inside else Verdict.UNDECIDED
    assert found.verdict is expected


def test_without_a_bound_from_above_nothing_is_proved():
    values = {"contexts": 1, "occurrences": 1, "max_lower": 0, "max_upper": 1, "mean_lower": 0, "mean_upper": 1}
    found = compare_divergences(Statement(DIVERGENCE, "", values), {"max_lower": 0, "mean_lower": 0})
    assert found.verdict is Verdict.UNDECIDED
