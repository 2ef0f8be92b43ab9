"""A line per stage of the work on standard error."""

from argparse import Namespace

from byheart.terminal.progress import progress_lines


def test_stages_are_named_on_standard_error_with_the_last_that_was_said(capsys):
    with progress_lines(Namespace(json=False)) as progress:
        progress("reading", None, "")
        progress("proving", 0.5, "half of it")
        progress("proving", 1.0, "all of it")
    printed = capsys.readouterr()
    assert printed.out == "" and "reading" in printed.err and "all of it" in printed.err


def test_a_stage_that_tells_how_far_it_is_shows_the_time_that_is_left(monkeypatch):
    from rich.console import Console
    from rich.progress import Progress

    monkeypatch.setattr(Console, "is_terminal", True)
    bars = []
    original = Progress.__enter__
    monkeypatch.setattr(Progress, "__enter__", lambda self: bars.append(self) or original(self))
    now = iter(range(0, 10**6, 30)).__next__
    with progress_lines(Namespace(json=False)) as progress:
        bars[0].get_time = now
        for quarter in (0.0, 0.25, 0.5):
            progress("proving", quarter, "")
        bars[0].tasks[0].get_time = now
        shown = bars[0].columns[4].render(bars[0].tasks[0]).plain
        progress("reading", None, "")
        assert bars[0].columns[4].render(bars[0].tasks[1]).plain == ""
    share, left = shown.removesuffix(" left").split(" %, ")
    minutes, seconds = map(int, left.split(":"))
    assert share == "50" and 30 <= 60 * minutes + seconds <= 240


def test_a_program_that_reads_json_sees_none_and_who_wants_it_quiet_neither(capsys):
    for options in (Namespace(json=True), Namespace(json=False, quiet=True)):
        with progress_lines(options) as progress:
            progress("reading", None, "")
    assert capsys.readouterr() == ("", "")
