"""Evidence: what counts as proved."""

import pytest

from verify.claims.evidence import Evidence
from verify.verdict import Verdict, decided, proved


@pytest.mark.parametrize(("condition", "verdict"), [(True, Verdict.PROVED), (False, Verdict.UNDECIDED)])
def test_what_was_not_established_is_undecided(condition, verdict):
    assert proved(condition) is verdict


@pytest.mark.parametrize(("condition", "verdict"), [(True, Verdict.PROVED), (False, Verdict.REFUTED)])
def test_what_was_decided_is_proved_or_refuted(condition, verdict):
    assert decided(condition) is verdict


def test_the_data_of_evidence_cannot_be_changed():
    data = {"rank": 3}
    piece = Evidence("claim", "", "", "", Verdict.PROVED, "", data)
    data["rank"] = 4
    assert piece.data["rank"] == 3
    with pytest.raises(TypeError):
        piece.data["rank"] = 4  # pyright: ignore[reportIndexIssue]
