"""What was made, in a few lines or in all that is known of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from byheart.figures import Figures, Tried
from byheart.result import screen
from byheart.terminal.made import made_result
from tests.byheart.report.test_page import a_run
from verify.runs.formats import every_run_is

MADE = Figures(
    headline="MEMORIZED, PROVED: 3 of 3 facts",
    verdict="PROVED",
    reading="2 rows",
    target="labels",
    contexts=3,
    facts=3,
    memory="knots",
    dtype="float32",
    parameters=12345,
    information_limit=2,
    blocks=["attention"],
    memories=(Tried(memory="knots", parameters=12345, nonzero=9, facts_per_parameter=0.1, every_run=True),),
    torch={"float32": a_run("float32", memorized_proved=2)},
)


def shown(figures, *, quiet=False, verbose=False):
    return screen(made_result(figures, Path("out/x"), verbose=verbose), quiet=quiet, verbose=verbose)


def test_every_run_is_said_only_if_it_is_proved():
    assert "12,345 parameters" in shown(MADE)
    assert "3 of 3 right in every float32 run, proved" in shown(MADE)
    one = replace(MADE, memories=(Tried(memory="knots", every_run=False), Tried(memory="other", every_run=True)))
    assert "3 of 3 right in one float32 run, measured, 2 guaranteed in every float32 run" in shown(one)
    assert "every" not in shown(replace(one, torch=None)).replace("everything", "")
    words = " ".join(shown(MADE, verbose=True).split())
    assert f"every run {every_run_is('float32')}" in words


@pytest.mark.parametrize(
    ("target", "words"), [("labels", "labels"), ("distributions", "exact next-token distributions")]
)
def test_the_lower_bound_says_of_what(target, words):
    assert f"lower bound for arbitrary {words}: 2" in shown(replace(MADE, target=target))


def test_all_figures_are_printed_when_they_are_asked_for():
    few, all_of_them = (shown(MADE, verbose=verbose) for verbose in (False, True))
    for title in ("Memories", "Certified", "Runs in torch"):
        assert title in all_of_them and title not in few
    assert shown(MADE, quiet=True) == MADE.headline + "\n"


def test_json_has_every_figure():
    assert made_result(MADE, Path("out/x")).json().keys() == MADE.json().keys()
