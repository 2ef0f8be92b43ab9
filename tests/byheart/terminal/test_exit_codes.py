"""What a command ends with, for a shell."""

from byheart.terminal.exit_codes import BAD_USAGE, EXIT_CODES, PROVED, REFUTED, UNDECIDED, worst
from verify.verdict import Verdict


def test_every_verdict_has_its_code():
    assert {Verdict.PROVED.value: 0, Verdict.REFUTED.value: 1, Verdict.UNDECIDED.value: 3} == EXIT_CODES


def test_what_is_refuted_outweighs_bad_usage_and_that_what_is_undecided():
    assert worst({PROVED, UNDECIDED, BAD_USAGE, REFUTED}) == REFUTED
    assert worst({PROVED, UNDECIDED, BAD_USAGE}) == BAD_USAGE
    assert worst({PROVED, UNDECIDED}) == UNDECIDED
    assert worst({PROVED}) == PROVED
