"""The seconds of each stage, and the names under which its parts are told."""

import pytest

from byheart.jobs.clock import Clock, within


def test_a_stage_is_told_where_it_begins_and_where_it_ends():
    told = []
    clock = Clock(lambda *stage: told.append(stage))
    with clock.stage("weights"):
        told.append("work")
    assert told == [("weights", None, ""), "work", ("weights", 1.0, "")] and clock.seconds["weights"] >= 0.0


def test_a_stage_that_fails_has_taken_no_time():
    clock = Clock(lambda *_: None)
    with pytest.raises(ValueError, match="no"), clock.stage("weights"):
        raise ValueError("no")
    assert clock.seconds == {}


def test_parts_are_told_under_the_name_of_their_stage():
    told = []
    within(lambda *stage: told.append(stage), "search", "17 are proved; ")("knots", 0.5, "")
    assert told == [("search", 0.5, "17 are proved; knots")]
