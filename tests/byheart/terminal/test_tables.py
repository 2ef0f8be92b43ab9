"""What a command prints: one JSON object, or tables whose bounds are rounded outwards."""

from byheart.command.main import main


def test_long_paths_are_folded_not_cut(facts_table, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    out = tmp_path / ("a" * 70)
    assert main(["memorize", str(facts_table), "--memory", "knots", "--out", str(out)]) == 0
    shown = "".join(capsys.readouterr().out.split())
    assert str(out / "model.safetensors") in shown
