"""Weights that were built, with their certificate, their runs and all figures."""

import pytest

from byheart.jobs import certified as module
from byheart.jobs.certified import certified
from byheart.jobs.clock import Clock
from constructions.memories.knots import knots_memory
from constructions.tasks.arrays import enumerated_task
from constructions.tasks.criterion import Criterion
from verify.verdict import Verdict


def made(task, **options):
    given = {
        "criterion": Criterion(),
        "figures": {"memory": "knots", "dtype": "float32"},
        "source": "",
        "device": "cpu",
    }
    return certified(task, knots_memory(task, dtype="float32"), clock=Clock(lambda *_: None), **(given | options))


def test_the_certificate_states_the_answers_and_every_run_and_the_figures_say_so():
    new = made(enumerated_task(4, 2))
    assert new.certificate.verdict is Verdict.PROVED and new.certificate.in_every_run("float32") is not None
    assert new.figures.headline == new.certificate.headline() and new.figures.memorized == new.figures.facts == 16
    assert new.figures.front_end == new.figures.route == "" and new.figures.rank_heads is None


def test_what_was_left_out_stands_in_the_first_line():
    assert "two facts are left out" in made(enumerated_task(3, 2), left_out="two facts are left out").figures.headline


@pytest.mark.parametrize("there", [True, False])
def test_the_theorems_are_asked_only_where_they_are_there(monkeypatch, there):
    asked = []

    class Memorized:
        @staticmethod
        def statements(model, task, *, rests_on_rank, two_sided):
            return {}

        @staticmethod
        def beside(built, facts, proved, clock):
            from byheart.theorems.memorized import Beside

            asked.append(facts)
            return Beside({"paper_heads": 7}, None)

    monkeypatch.setattr(module, "theorems", lambda name: Memorized if there else None)
    figures = made(enumerated_task(3, 2)).figures
    assert figures.paper_heads == (7 if there else None) and len(asked) == there
