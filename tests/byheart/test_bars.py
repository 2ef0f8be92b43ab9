"""Bars are shown where somebody asked for them, and in a notebook."""

import re
import sys

import pytest

from byheart.bars import bars, shown
from constructions.progress import silent


def test_bars_are_shown_on_standard_error_with_the_stage_and_what_is_done(capsys):
    with bars() as progress:
        progress("weights", None, "searching")
        progress("weights", 0.5, "half")
        progress("certificate", 1.0, "")
    found = capsys.readouterr()
    assert not found.out and "weights" in found.err and "certificate" in found.err


def test_a_pipe_gets_no_spinner_no_control_characters_and_nothing_before_an_error(capsys):
    with bars() as progress:
        progress("weights", 0.5, "half")
        assert not any(capsys.readouterr())
    assert re.fullmatch(r" weights +━+ 0:00:00 +half\s+", capsys.readouterr().err)
    with pytest.raises(KeyError), bars() as progress:
        progress("weights", 0.5, "half")
        raise KeyError
    assert not any(capsys.readouterr())


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
