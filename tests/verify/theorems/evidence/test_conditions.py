"""Hypotheses hold where what they state holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from verify.theorems.claims import claim
from verify.theorems.evidence.conditions import conditions

NAMES = ("d_vocab", "n_ctx", "d_model", "d_head", "n_heads")


@given(st.tuples(*[st.integers(-1, 4)] * len(NAMES)))
def test_a_condition_is_what_it_states(sizes: tuple[int, ...]) -> None:
    N, S, d, d_h, H = sizes
    at = dict(zip(NAMES, sizes, strict=True))
    for statement, holds in (
        ("N >= 1 and N != 2", N >= 1 and N != 2),
        ("H, n, d_h >= 1", min(H, S, d_h) >= 1),
        ("1 <= d_h <= min(d, N)", 1 <= d_h <= min(d, N)),
        ("S >= 2 or H = 0: attention sees, or not", S >= 2 or H == 0),
        ("d + H d_h <= N^2, S >= 1", d + H * d_h <= N**2 and S >= 1),
        ("N >= 1 and S >= 1 or d < 0", (N >= 1 and S >= 1) or d < 0),
    ):
        [condition] = conditions(statement)
        assert condition.statement == statement and condition.holds(**at) is holds, statement


@pytest.mark.parametrize("statement", ["N", "large N", "N >= 1 and d", "M >= 1"])
def test_what_is_no_condition_on_the_sizes_is_refused(statement: str) -> None:
    [condition] = conditions(statement)
    with pytest.raises(InputError):
        condition.holds(d_vocab=3)


def test_sizes_beyond_all_powers_are_refused_by_the_hypothesis() -> None:
    with pytest.raises(HypothesisError, match=r"needs 1 <= T <= N\^S <= 2\^20"):
        claim("zhang-2017.theorem").construct(n_ctx=10**8)
