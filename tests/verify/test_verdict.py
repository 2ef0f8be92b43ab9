"""The three answers."""

from hypothesis import given
from hypothesis import strategies as st

from verify.verdict import Verdict


@given(st.lists(st.sampled_from(Verdict), max_size=5))
def test_a_conjunction_is_proved_only_if_there_is_a_part_and_all_are(parts):
    verdict = Verdict.all_of(parts)
    assert (verdict is Verdict.PROVED) == (len(parts) > 0 and set(parts) == {Verdict.PROVED})
    assert (verdict is Verdict.REFUTED) == (Verdict.REFUTED in parts)
