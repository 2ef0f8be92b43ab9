"""The audit certifies what it says, and nothing that is not so."""

import pytest

from constructions.claims.mahdavi_sinusoidal_positions import CLAIM
from verify.claims import mahdavi_sinusoidal_positions as audit
from verify.claims.audit import Audit
from verify.verdict import Verdict


def test_the_verdict_is_confirmed():
    assert Audit(CLAIM, tuple(audit.evidence(full=False)), 0.0).confirmed


def test_other_positions_are_noticed(monkeypatch):
    honest = audit.sinusoidal_positions
    assert audit._exchanged(2, 4).verdict is Verdict.PROVED
    monkeypatch.setattr(audit, "sinusoidal_positions", lambda count, width: 1.5 * honest(count, width))
    assert audit._exchanged(2, 4).verdict is not Verdict.PROVED


def test_one_position_has_no_equal_rows_and_more_than_d_have_no_room():
    assert audit._short_tokens(4, 4).verdict is Verdict.PROVED
    assert audit._short_tokens(5, 4).verdict is not Verdict.PROVED
    assert audit._all_short(5, 4).verdict is not Verdict.PROVED


@pytest.mark.slow
def test_more_positions_are_certified():
    assert all(piece.verdict is Verdict.PROVED for piece in audit.evidence(full=True))
