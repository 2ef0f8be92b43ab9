"""Every command prints, for a person and as JSON, what its transcript says, so that no figure is lost unseen."""

import pytest

pytest.importorskip("torch")

from tests.contract.transcribe import COMMANDS, TRANSCRIPTS, transcripts


@pytest.fixture(scope="module")
def printed():
    return transcripts()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_what_its_transcript_says(name, printed):
    stored = (TRANSCRIPTS / f"{name}.txt").read_text(encoding="utf-8")
    assert printed[name] == stored, "python -m tests.contract.transcribe writes the transcripts again"


def test_every_transcript_is_of_a_command():
    assert {path.stem for path in TRANSCRIPTS.iterdir()} == set(COMMANDS)
