"""What facts, a rule and a rule with a state have in common: the way that `certify` goes with each."""

import numpy as np
import pytest

from byheart.hosts.facts.numbered_facts import Reading
from byheart.hosts.questions.facts import facts_of
from byheart.hosts.questions.given import read_given
from byheart.hosts.questions.rule import RuleOptions
from byheart.hosts.questions.state import state_of
from constructions.folds.fold import addition
from constructions.memories.heads.adder import adder
from constructions.model.model import Model
from verify.verdict import Verdict

ECHO = Model(blocks=(), W_U=np.eye(3), W_E=np.eye(3), W_pos=np.zeros((1, 3)))


def question(kind):
    given = read_given(adder(2, base=2) if kind == "state" else ECHO, None, None, None, (), True)
    if kind == "facts":
        return facts_of(given, ECHO, [("0", "0"), ("1", "1")], Reading(), told=None)
    return (
        state_of(given, addition(2, base=2), every_run=None) if kind == "state" else RuleOptions(rule="max").read(given)
    )


@pytest.mark.parametrize(("kind", "size"), [("facts", 0), ("rule", 3), ("state", 0)])
def test_a_question_is_proved_and_has_figures_and_rows(kind, size):
    asked = question(kind)
    proved = asked.prove(None, None, lambda *_: None)
    assert proved.certificate.verdict is Verdict.PROVED and asked.target == "labels"
    assert asked.domain_size == size and asked.wrong(proved) == []
    figures = asked.figures(proved)
    assert figures["wrong"] == figures["undecided"] == 0 and {"memorized", "right"} & set(figures)
    answers, read = asked.decoding()
    assert answers and read and len(asked.inputs[0])


@pytest.mark.parametrize("kind", ["facts", "rule", "state"])
def test_only_facts_and_rules_with_a_state_have_a_page(kind):
    asked = question(kind)
    page, drawn = asked.page(asked.prove(None, None, lambda *_: None), lambda *_: None)
    assert (page is None) == (drawn is None) == (kind == "rule")
