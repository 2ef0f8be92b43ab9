import json
from dataclasses import replace
from pathlib import Path

import pytest

from byheart import memorize
from byheart.cli.main import main
from verify.certificates.certificate import Certificate


def test_a_poem_is_learned_and_said(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "poem.txt").write_text("tiger tiger burning bright in the forests of the night")
    out = str(tmp_path / "out")
    words = ["memorize", str(tmp_path / "poem.txt"), "--memory", "probes", "--out", out]
    assert main(words) == 0
    assert capsys.readouterr().out.startswith("BY HEART, PROVED: ")
    assert main(["recite", out]) == 0
    said = capsys.readouterr()
    assert said.out == "tiger tiger burning bright in the forests of the night"
    assert said.err.endswith("BY HEART, PROVED: 54 of 54 characters, in every float32 run\n")
    assert main(["recite", out, "--json", "--run"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["text"].endswith(found["run"]) and found["proved"] == found["tokens"]
    capsys.readouterr()
    assert main(["recite", out, "--from", "lion"]) == 2
    assert "--from is 'lion', expected a part of the text" in capsys.readouterr().err


def test_a_run_that_says_something_else_ends_with_1_and_the_output_is_what_is_proved(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "poem.txt").write_text("tiger tiger")
    out = str(tmp_path / "out")
    assert main(["memorize", str(tmp_path / "poem.txt"), "--quick", "--out", out]) == 0
    capsys.readouterr()
    for said, code in (("tiger tiger", 0), ("tiger lion", 1), ("tiger", 1)):
        monkeypatch.setattr("byheart.reciting.decoded", lambda *_, said=said, **__: iter(said))
        assert main(["recite", out, "--run"]) == code
        printed = capsys.readouterr()
        assert printed.out == "tiger tiger"
        line = printed.err.strip().splitlines()[-1]
        assert line.startswith("ONE RUN SAID SOMETHING ELSE, in float32" if code else "BY HEART, PROVED")
        assert ("PROVED" in line) == (not code)


def test_a_type_that_is_asked_for_is_the_one_that_is_proved(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """The integers of these weights fit float32, not a sum of them float16."""
    (tmp_path / "poem.txt").write_text("so much depends upon a red wheel barrow glazed with rain water")
    out = str(tmp_path / "out")
    assert main(["memorize", str(tmp_path / "poem.txt"), "--memory", "probes", "--out", out]) == 0
    capsys.readouterr()
    for words, code in (([], 0), (["--dtype", "float32"], 0), (["--dtype", "float64"], 0), (["--dtype", "float16"], 3)):
        assert main(["recite", out, *words]) == code
        line = capsys.readouterr().err.strip().splitlines()[-1]
        assert line.startswith("NOT DECIDED: " if code else "BY HEART, PROVED: ")
        assert (words or ["", "float32"])[1] in line


def test_a_folder_without_a_text_is_refused(folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["recite", str(folder)]) == 2
    assert "holds no memorized text" in capsys.readouterr().err


def test_what_no_certificate_states_is_said_to_be_proved_now(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    memorize("to be or not to be", quick=True).save(tmp_path / "out")
    now = "; proved now, and stated in no certificate"

    def line(*more: str) -> str:
        capsys.readouterr()
        assert main(["recite", str(tmp_path / "out"), *more]) in (0, 3)
        return capsys.readouterr().err.splitlines()[-1]

    assert line().endswith("18 of 18 characters, in every float32 run")
    assert line("--dtype", "float64").endswith(f"18 of 18 characters, in every float64 run{now}")
    stated = Certificate.load(tmp_path / "out")
    replace(stated, statements=stated.statements[:1]).save(tmp_path / "out")
    assert line().endswith(f"18 of 18 characters, in every float32 run{now}")
