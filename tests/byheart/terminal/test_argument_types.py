"""What a word of the command line may be: a count, a bound, a share, a path, a parameter."""

from argparse import ArgumentTypeError
from fractions import Fraction
from pathlib import Path

import pytest

from byheart.cli.main import main
from byheart.terminal.argument_types import bound, count, parameter, path, share


@pytest.mark.parametrize("parameter", ["seed", "=1", "seed=", "seed=x", "seed=1/0", f"seed={10**10}", "seed=1e-9"])
def test_a_parameter_that_is_no_name_and_number_is_refused(parameter, tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["build", "dana.lemma-3", "--param", parameter, "--out", str(tmp_path / "out")])
    assert stopped.value.code == 2
    error = " ".join(capsys.readouterr().err.split())
    assert parameter.partition("=")[2] in error
    assert "an integer of at most 1000000000, a decimal or a quotient, without an exponent" in error


@pytest.mark.parametrize("arguments", [["check", ""], ["run", ""], ["memorize", "--out", ""], ["capacity", ""]])
def test_an_empty_path_is_refused(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "the path is empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (count, "-7", -7),
        (count, str(10**9), 10**9),
        (bound, "0.5", 0.5),
        (share, "0.1", Fraction(1, 10)),
        (share, "1/3", Fraction(1, 3)),
        (parameter, "seed=3", ("seed", 3)),
        (parameter, "coherence=0.4", ("coherence", Fraction(2, 5))),
        (path, "a", Path("a")),
    ],
)
def test_what_is_typed_is_kept_exactly(kind, text, value):
    assert kind(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [(count, str(10**9 + 1)), (count, "1.5"), (bound, "0"), (bound, "-1"), (bound, "inf"), (bound, "nan"), (bound, "x"),
     (share, "1e9"), (share, "1/0"), (share, "1" * 41), (parameter, "seed"), (path, "")],
)  # fmt: skip
def test_what_is_none_of_its_kind_is_refused(kind, text):
    with pytest.raises(ArgumentTypeError):
        kind(text)
