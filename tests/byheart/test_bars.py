"""Bars are shown where somebody asked for them, and in a notebook."""

import sys

from byheart.bars import bars, shown
from verify.progress import silent


def test_bars_are_shown_on_standard_error_with_the_stage_and_what_is_done(capsys):
    with bars() as progress:
        progress("weights", None, "searching")
        progress("weights", 0.5, "half")
        progress("certificate", 1.0, "")
    found = capsys.readouterr()
    assert not found.out and "weights" in found.err and "certificate" in found.err


def test_a_function_is_called_itself_and_bars_are_for_notebooks_unless_somebody_says_so(monkeypatch):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    calls = []
    with shown(lambda *stage: calls.append(stage)) as progress:
        progress("a", 1.0, "")
    assert calls == [("a", 1.0, "")]
    for quiet in (None, False):
        with shown(quiet) as progress:
            assert progress is silent
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    with shown(None) as progress:
        assert progress is not silent
    with shown(False) as progress:
        assert progress is silent
