"""Which parts hold a fact: as the certificate of the model without them says."""

from types import SimpleNamespace

import numpy as np
import pytest

from byheart import memorize
from byheart.cli.main import main
from byheart.explanation import Ablation, Explanation, explain
from byheart.facts import read_facts
from byheart.jobs.memorize import hold
from constructions.errors import InputError
from constructions.model.ablation import parts, without
from constructions.model.blocks import FeedForward
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from constructions.tasks.vectors import VectorTask
from tests.command_line import CAPITALS_AND_RIVERS as FACTS
from verify.certificates.certificate import memorized_mask
from verify.forward.ladder import decide_argmax
from verify.provers.memorization import certify_memorization


def named_by_certificates(memory, context, *, entries):
    """The parts without which the certificate of the whole task does not name the fact."""
    row = list(FACTS).index(context)
    lost = []
    for part in parts(memory.model, entries=entries):
        answers = certify_memorization(without(memory.model, part), memory.task).certificate.answers
        memorized = (
            memorized_mask(answers.memorized, len(FACTS))
            if answers.memorized
            else set(range(answers.values["memorized"]))
        )
        assert answers.values["memorized"] + answers.values["wrong"] == len(FACTS)
        lost += [] if row in memorized else [str(part)]
    return lost


@pytest.mark.parametrize("smallest", [False, True])
def test_the_parts_are_those_that_certificates_name(smallest):
    memory = hold(read_facts(FACTS).task) if smallest else memorize(FACTS, memory="theorem-1", dtype="float64")
    named = set()
    for context in FACTS:
        found = memory.explain(", ".join(context))
        assert found.fate == "memorized" and not found.undecided and found.token == FACTS[context]
        assert found.holding == named_by_certificates(memory, context, entries=False)
        assert {each.fate for each in found.ablations if each.token is not None} <= {"lost"}
        assert all(each.token != found.token for each in found.ablations)
        named |= set(found.holding)
    assert named


def test_what_is_said_instead_is_what_leads():
    memory = hold(read_facts(FACTS).task, memory="probes", quick=True)
    fact, lost = list(FACTS).index(("Peru", "river")), 0
    for part, each in [*zip(parts(memory.model), memory.explain("Peru, river").ablations, strict=True)][::9]:
        if each.fate == "lost":
            place = int(decide_argmax(without(memory.model, part), memory.task.contexts[[fact]]).place[0])
            assert each.token == memory.task.answers[place]
            lost += 1
    assert lost


def test_of_equal_logits_none_is_said_instead():
    one = np.ones((1, 1))
    model = Model(blocks=(FeedForward(W_in=one, W_out=one, skip=False),), W_U=np.eye(1, 2), W_E=one, W_pos=0 * one)
    task = array_task(np.array([[0]]), next_tokens=np.array([0]), vocabulary=1, answers=2, target="labels")
    [found] = explain(model, task, [task.vocabulary[0]]).ablations
    assert found.fate == "lost" and found.token is None


def test_the_entries_are_those_that_certificates_name():
    memory = hold(read_facts(FACTS).task)
    found = memory.explain(["Peru", "river"], entries=True)
    assert found.holding == named_by_certificates(memory, ("Peru", "river"), entries=True) != []
    assert all(each.kind == "entry" for each in found.ablations) and "nonzero entries" in found.headline()


def test_a_fact_that_is_not_memorized_is_said_not_to_be():
    memory = memorize(FACTS, memory="theorem-1")
    model = memory.model
    spoiled = Model(blocks=model.blocks, W_U=model.W_U[:, ::-1].copy(), W_E=model.W_E, W_pos=model.W_pos)
    assert explain(spoiled, memory.task, "Peru, river").headline().startswith("NOT MEMORIZED: Peru, river -> Amazon")


def test_what_is_undecided_is_neither_memorized_nor_lost():
    ablations = (
        Ablation("a", "head", "undecided"),
        Ablation("b", "head", "lost", "x"),
        Ablation("c", "head", "memorized"),
    )
    found = Explanation(("u", "v"), "w", "undecided", ablations)
    assert (found.holding, found.undecided) == (["b"], ["a"])
    assert found.headline() == (
        "NOT DECIDED: u, v -> w; 1 of 3 heads and neurons is needed: the fact is lost if one is set to 0, 1 undecided"
    )


def test_a_part_of_which_nothing_is_proved_leaves_the_question_open_with_its_exit_code(monkeypatch, capsys):
    """A line that says PROVED ends with 0, and no other code has such a line."""
    for fate in ("memorized", "lost", "undecided"):
        for part in ("memorized", "lost", "undecided"):
            found = Explanation(("u",), "w", fate, (Ablation("a", "head", part),))
            monkeypatch.setattr(
                "byheart.memory.load", lambda _, found=found: SimpleNamespace(explain=lambda *_, **__: found)
            )
            monkeypatch.setattr("byheart.cli.explain.require_folder", lambda _: None)
            code = main(["explain", "folder", "u", "--quiet"])
            line = capsys.readouterr().out
            word = {0: "FACT PROVED: ", 1: "NOT MEMORIZED: ", 3: "NOT DECIDED: "}[code]
            assert line.startswith(word) and (code == 1) == (fate == "lost")
            assert (code == 0) == (fate == "memorized" and part != "undecided")


def test_a_distribution_with_several_modes_is_said_to_have_all_of_them():
    rows = [("a", "b", "c"), ("a", "b", "d"), ("a", "e", "f"), ("b", "a", " ")]
    memory = memorize(rows, target="distributions", memory="one-hot-distributions")
    assert memory.ask(("a", "b")).token is None  # neither of the two is above the other
    assert memory.explain(("a", "b")).headline().startswith("FACT PROVED: a, b -> c or d; ")
    assert memory.explain(("a", "e")).token == "f" and memory.explain(("b", "a")).token == " "


def test_what_is_no_fact_is_refused():
    memory = memorize(FACTS, memory="theorem-1")
    for context in ("France, Peru", "France"):
        with pytest.raises(InputError):
            memory.explain(context)
    vectors = VectorTask(np.ones((1, 2, 3)), np.ones((1, 3)), np.ones((1, 1)))
    with pytest.raises(InputError, match="vectors"):
        explain(memory.model, vectors, "France, capital")
