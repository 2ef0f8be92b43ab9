"""What a command prints: one JSON object, or tables whose bounds are rounded outwards."""

from byheart.cli.main import main
from byheart.result import table_lines


def test_long_paths_are_neither_cut_nor_broken(facts_table, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    out = tmp_path / ("a" * 70)
    assert main(["memorize", str(facts_table), "--memory", "knots", "--verbose", "--out", str(out)]) == 0
    assert f" {out / 'model.safetensors'}\n" in capsys.readouterr().out


def test_a_list_folds_what_is_long_beside_its_names_and_loses_nothing():
    rows = [("a", "one two three four five six"), ("bcd", ""), ("e", "f\ng")]
    title, empty, *lines = table_lines("Title", rows, width=30)
    assert (title, empty) == ("Title", "") and max(map(len, lines)) < 30
    assert [line[:7].strip() for line in lines if line[:7].strip()] == ["a", "bcd", "e"]
    assert "".join(lines).replace(" ", "") == "aonetwothreefourfivesixbcdefg"
    assert all(line[7:8].strip() for line in lines if line and not line.startswith("  bcd"))
