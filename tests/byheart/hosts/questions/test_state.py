"""A rule with a state that a trained model is asked: a wrong input is named first."""

import numpy as np
import pytest

from byheart.hosts.questions.given import read_given
from byheart.hosts.questions.state import state_of
from constructions.errors import ByheartError
from constructions.folds.fold import addition
from constructions.memories.heads.adder import adder
from constructions.model.model import Model
from tests.exports import MODELS


def test_every_input_is_right_or_one_is_named():
    fold = addition(2, base=2)
    asked = state_of(read_given(adder(2, base=2), None, None, None, (), True), fold, every_run="float32")
    proved = asked.prove(None, "float32", lambda *_: None)
    figures = asked.figures(proved)
    assert (figures["right"], figures["wrong_input"], figures["every_run"]["proved"]) == (16, None, True)
    assert asked.asides(proved, (None, None)) == [""]


def test_a_model_that_cannot_read_the_rule_is_refused():
    echo = Model(blocks=(), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.zeros((1, 2)))
    for model in (echo, MODELS["layer of classes"]):
        with pytest.raises(ByheartError):
            state_of(read_given(model, None, None, None, (), True), addition(2, base=2), every_run=None)
