"""The command finds the experiments beside the package, and says so where they are not there."""

from byheart.cli.main import main


def test_the_figures_are_listed_from_a_checkout(capsys):
    assert main(["experiment", "--list", "--quiet"]) == 0
    assert " figures, " in capsys.readouterr().out


def test_where_there_is_no_checkout_one_sentence_says_so(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("byheart.cli.experiment._CHECKOUT", tmp_path)
    assert main(["experiment", "--list"]) == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    expected = "a checkout of byheart, in which they lie beside the package"
    assert sentence == f"byheart: experiments are not there, expected {expected}"
