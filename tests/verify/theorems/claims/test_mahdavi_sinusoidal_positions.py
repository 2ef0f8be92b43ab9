"""The audit certifies what it says, and nothing that is not so."""

from verify.theorems.claims import mahdavi_sinusoidal_positions as audit
from verify.verdict import Verdict


def test_other_positions_are_noticed(changed):
    assert audit._exchanged(2, 4).verdict is Verdict.PROVED
    changed(audit, "sinusoidal_positions", lambda found: 1.5 * found)
    assert audit._exchanged(2, 4).verdict is not Verdict.PROVED


def test_one_position_has_no_equal_rows_and_more_than_d_have_no_room():
    assert audit._short_tokens(4, 4).verdict is Verdict.PROVED
    assert audit._short_tokens(5, 4).verdict is not Verdict.PROVED
    assert audit._all_short(5, 4).verdict is not Verdict.PROVED
