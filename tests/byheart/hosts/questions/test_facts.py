"""Facts that a trained model is asked: which are wrong, and how near the nearest is."""

import numpy as np

from byheart.hosts.facts.numbered_facts import Reading
from byheart.hosts.questions.facts import facts_of
from byheart.hosts.questions.given import read_given
from constructions.model.model import Model

ECHO = Model(blocks=(), W_U=np.diag([1.0, 2.0, 4.0]), W_E=np.eye(3), W_pos=np.zeros((1, 3)))


def test_the_wrong_ones_are_listed_and_the_nearest_tie_is_known():
    given = read_given(ECHO, None, None, None, (), True)
    rows = [("0", "0"), ("1", "2"), ("2", "2")]
    asked = facts_of(given, ECHO, rows, Reading(), told=None)
    proved = asked.prove(None, None, lambda *_: None)
    assert asked.wrong(proved) == asked.figures(proved)["wrong_facts"] == [["1", "2"]]
    assert 1.0 - 1e-12 < asked.least_margin(proved) <= 1.0
