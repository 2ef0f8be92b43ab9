"""The options that say which facts are meant and how large the weights may be."""

from byheart.command.main import main
from tests.command_line import written


def test_a_table_that_may_have_a_weight_names_the_options(tmp_path, capsys):
    table = written(tmp_path / "t.csv", b"a,b,weight\nc,d,2\n")
    assert main(["memorize", table, "--no-header", "--out", str(tmp_path / "out"), "--json"]) == 2
    error = capsys.readouterr().err
    assert "(--header) if it holds names, or weights=False (--no-weights) if" in error
    assert main(["memorize", table, "--no-header", "--no-weights", "--out", str(tmp_path / "out"), "--json"]) == 0
