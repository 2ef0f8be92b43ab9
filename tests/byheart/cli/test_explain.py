"""`byheart explain`: which heads, neurons or entries hold a fact."""

import json
from types import SimpleNamespace

from byheart import memorize
from byheart.cli.main import main
from byheart.explanation import Ablation, Explanation
from tests.command_line import CAPITALS_AND_RIVERS


def test_the_command_says_what_the_function_says(tmp_path, capsys):
    memory = memorize(CAPITALS_AND_RIVERS, out=tmp_path / "facts")
    expected = memory.explain("France, capital")
    assert main(["explain", str(tmp_path / "facts"), "--fact", "France, capital", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == expected.result().json()
    assert main(["explain", str(tmp_path / "facts"), "France, capital"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(expected.headline()) and "the fact is" in printed
    assert main(["explain", str(tmp_path / "facts"), "France, mountain"]) == 2
    assert main(["explain", str(tmp_path / "facts")]) == 2 and "no context is given" in capsys.readouterr().err


def test_of_many_parts_the_first_are_named(capsys, monkeypatch):
    parts = tuple(Ablation(f"part {number}", "head", "lost", "x") for number in range(22))
    found = Explanation(("b", "a"), " ", "memorized", parts, typed="ba")
    monkeypatch.setattr("byheart.memory.load", lambda _: SimpleNamespace(explain=lambda *_, **__: found))
    monkeypatch.setattr("byheart.cli.explain.require_folder", lambda _: None)
    for words, shown in ([], 20), (["--verbose"], 22):
        assert main(["explain", "folder", "ba", *words]) == 0
        first, *lines = capsys.readouterr().out.splitlines()
        assert (
            first
            == "FACT PROVED: ba -> ' '; 22 of 22 heads and neurons are needed: the fact is lost if one is set to 0"
        )
        assert sum(line.split()[-2:] == ["lost", "x"] for line in lines) == shown
        assert any(line.startswith("  and 2 more;") for line in lines) == (shown == 20)
