"""The options that say which facts are meant and how large the weights may be."""

import json

from byheart.cli.main import main
from tests.command_line import written


def test_a_table_that_may_have_a_weight_or_a_header_names_the_options(tmp_path, capsys):
    table = written(tmp_path / "t.csv", b"a,b,weight\nc,d,2\n")
    line = ["memorize", table, "--quick", "--json"]
    assert main([*line, "--out", str(tmp_path / "asked")]) == 2
    assert "expected --weights or --no-weights" in capsys.readouterr().err
    for number, (said, facts) in enumerate((("--weights", 1), ("--no-weights", 1), ("--no-header", 2))):
        assert main([*line, said, "--out", str(tmp_path / str(number))]) == 0
        assert json.loads(capsys.readouterr().out)["facts"] == facts
    table = written(tmp_path / "h.csv", b"Code,Meaning\nE1,disk gone\n")
    assert main(["capacity", table]) == main(["memorize", table, "--out", str(tmp_path / "h")]) == 2
    assert capsys.readouterr().err.count("expected --header or --no-header") == 2


def test_rows_with_an_empty_cell_that_are_left_out_are_counted_in_the_first_line(tmp_path, capsys):
    table = written(tmp_path / "land.csv", b"country,capital\nPeru,Lima\nBouvet Island,\n")
    out = str(tmp_path / "out")
    assert main(["memorize", table, "--out", out]) == 2
    assert "line 3" in (said := capsys.readouterr().err) and "--skip-empty" in said and "--delimiter" not in said
    assert main(["memorize", table, "--skip-empty", "--quick", "--out", out, "--quiet"]) == 0
    assert capsys.readouterr().out.endswith("; 1 row with an empty cell left out\n")
    assert main(["capacity", table, "--skip-empty", "--quiet"]) == 0
    assert capsys.readouterr().out.endswith("; 1 row with an empty cell left out\n")
    text = written(tmp_path / "a.txt", b"so much depends")
    assert main(["memorize", text, "--skip-empty", "--out", str(tmp_path / "text")]) == 2
    assert "--skip-empty is given, but only a table of facts has such" in capsys.readouterr().err
