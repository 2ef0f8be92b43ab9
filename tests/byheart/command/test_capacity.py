"""`byheart capacity`: how many heads a text or a table really needs."""

import json

from byheart.command.main import main
from tests.command_line import words, written


def test_capacity_shows_the_papers_count_beside_the_truth(novel, capsys):
    assert main(["capacity", str(novel), *words("--context 4 --facts 200 --dim 64 --head-dim 64 --json")]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["rank_lower"] == summary["rank_upper"] < summary["paper_rank"] == 200
    assert summary["paper_heads"] < summary["fewest_heads"]
    assert main(["capacity", str(novel), *words("--context 4 --facts 200 --dim 64 --head-dim 64")]) == 0
    assert "by the paper" in capsys.readouterr().out


def test_one_head_is_one_head(tmp_path, capsys):
    table = written(tmp_path / "facts.csv", b"a,b,x\nb,a,y\nb,b,x\na,a,x\n")
    assert main(["memorize", table, *words("--dim 9 --head-dim 9 --heads 1 --out"), str(tmp_path / "out")]) in (0, 2)
    assert main(["capacity", table, *words("--dim 2 --head-dim 2")]) == 0
    shown = capsys.readouterr().out
    assert "1 head holds, by the paper" in shown and "1 heads" not in shown


def test_capacity_bounds_what_any_architecture_takes(novel, capsys):
    assert main(["capacity", str(novel), *words("--facts 40 --vocabulary 10")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "any architecture, all laws at least 360 numbers set by the laws; 413 suffice" in shown
    assert "any architecture, all labels at least 2 numbers in float64" in shown
