"""A rule on a domain: as large as the model has room for, and no larger."""

import numpy as np
import pytest

from byheart.hosts.questions.given import read_given
from byheart.hosts.questions.rule import RuleOptions
from constructions.errors import InputError
from constructions.model.model import Model

ECHO = Model(blocks=(), W_U=np.eye(3), W_E=np.eye(3), W_pos=np.zeros((2, 3)))
GIVEN = read_given(ECHO, None, None, None, (), True)


def test_the_domain_is_all_that_the_model_reads_unless_it_is_asked_for_less():
    assert RuleOptions(rule="max").read(GIVEN).task.n_contexts == 9
    assert RuleOptions(rule="max", length=1, tokens=2).read(GIVEN).task.n_contexts == 2


def test_wrong_inputs_stand_with_what_the_rule_says():
    asked = RuleOptions(rule="max").read(GIVEN)
    proved = asked.prove(None, None, lambda *_: None)
    assert sorted(asked.wrong(proved)) == [[1, 0, 1], [2, 0, 2], [2, 1, 2]]
    assert asked.rows(np.array([0, 8])) == [[0, 0], [2, 2]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 3}, "length = 3, expected at most 2: the model has no more room"),
        ({"tokens": 4}, "tokens = 4, expected at most 3: the model has no more tokens"),
        ({"before": (0, 0)}, "before and after are 2 tokens, expected fewer than n_ctx = 2"),
        ({"length": 0}, "length = 0"),
    ],
)
def test_a_domain_that_the_model_cannot_read_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        RuleOptions(rule="max", **options).read(GIVEN)
