"""A line per stage of the work on standard error."""

from byheart.terminal.progress import progress_lines


def test_stages_are_named_on_standard_error_with_the_last_that_was_said(capsys):
    with progress_lines(True) as progress:
        progress("reading", None, "")
        progress("proving", 0.5, "half of it")
        progress("proving", 1.0, "all of it")
    printed = capsys.readouterr()
    assert printed.out == "" and "reading" in printed.err and "all of it" in printed.err


def test_a_program_that_reads_json_sees_none(capsys):
    with progress_lines(False) as progress:
        progress("reading", None, "")
    assert capsys.readouterr() == ("", "")
