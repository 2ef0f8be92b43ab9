"""What was made, in a few lines or in all that is known of it."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

from byheart.figures import Figures, Tried
from byheart.terminal.made import print_made
from tests.byheart.report.test_page import a_run
from verify.runs.formats import every_run_is

MADE = Figures(
    headline="MEMORIZED, PROVED: 3 of 3 facts",
    verdict="PROVED",
    reading="2 rows",
    target="labels",
    contexts=3,
    memorized=3,
    memory="knots",
    dtype="float32",
    parameters=12345,
    information_limit=2,
    blocks=["attention"],
    memories=(Tried(memory="knots", parameters=12345, nonzero=9, facts_per_parameter=0.1, every_run=True),),
    torch={"float32": a_run("float32", held_proved=2)},
)


def shown(figures, capsys, **options):
    print_made(Namespace(**{"json": False, "quiet": False, "verbose": False, **options}), figures, Path("out/x"))
    return capsys.readouterr().out


def test_every_run_is_said_only_if_it_is_proved(capsys):
    assert "12,345 parameters" in shown(MADE, capsys)
    assert "3 of 3 right in every float32 run, proved" in shown(MADE, capsys)
    one = replace(MADE, memories=(Tried(memory="knots", every_run=False), Tried(memory="other", every_run=True)))
    assert "3 of 3 right in one float32 run, measured, 2 guaranteed in every run" in shown(one, capsys)
    assert "every" not in shown(replace(one, torch=None), capsys).replace("everything", "")
    words = " ".join(shown(MADE, capsys, verbose=True).split())
    assert f"every run {every_run_is('float32')}" in words


@pytest.mark.parametrize(("target", "words"), [("labels", "labels"), ("laws", "exact next-token distributions")])
def test_the_lower_bound_says_of_what(target, words, capsys):
    assert f"lower bound for arbitrary {words}: 2" in shown(replace(MADE, target=target), capsys)


def test_all_figures_are_printed_when_they_are_asked_for(capsys):
    few, all_of_them = (shown(MADE, capsys, verbose=verbose) for verbose in (False, True))
    for title in ("Memories built", "Certified", "Runs in torch", "Seconds"):
        assert title in all_of_them and title not in few
    assert shown(MADE, capsys, quiet=True) == MADE.headline + "\n"
