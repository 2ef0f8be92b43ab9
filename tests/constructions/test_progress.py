"""Progress is said to whoever asks for it, and to nobody else."""

import pytest

from constructions.progress import silent


def test_silent_progress_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    for share in (None, 0.0, 1.0):
        silent("features", share, "3 of 4 contexts")
    printed = capsys.readouterr()
    assert printed.out == printed.err == ""
