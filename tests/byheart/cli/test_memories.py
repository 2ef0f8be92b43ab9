"""`byheart memories`: what there is to build, what it needs and what it costs."""

import json

from byheart.cli.main import main
from tests.command_line import words


def test_a_memory_is_asked_for_by_name_and_all_are_listed(facts_table, tmp_path, capsys):
    out = tmp_path / "out"
    code = main(["memorize", "--table", str(facts_table), *words("--memory knots --json --out"), str(out)])
    summary = json.loads(capsys.readouterr().out)
    assert code == 0 and summary["memory"] == "knots" and summary["memorized"] == 16
    assert main(["check", str(out), "--fast"]) == 0
    capsys.readouterr()
    assert main(["memories", "--json"]) == 0
    listed = [memory["memory"] for memory in json.loads(capsys.readouterr().out)]
    assert summary["memory"] in listed and len(set(listed)) == len(listed) >= 7
    assert main(["memories"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in listed)
