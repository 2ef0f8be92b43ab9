"""`byheart ask`: type a context, read the fact."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest

from byheart.cli.main import main
from byheart.hosts.certify import certify_fold
from constructions.folds.fold import addition
from constructions.memories.heads.adder import adder
from constructions.named.folds import FOLDS
from tests.command_line import FACTS, written


def test_a_context_that_is_typed_is_answered(tmp_path, capsys, monkeypatch):
    table = written(tmp_path / "facts.csv", FACTS)
    assert main(["memorize", table, "--out", str(tmp_path / "out"), "--json"]) == 0
    capsys.readouterr()
    assert main(["ask", str(tmp_path / "out"), "France, river", "Peru,river"]) == 0
    first, lead, second, _ = capsys.readouterr().out.splitlines()
    assert first == "'France, river' -> 'Seine': FACT PROVED" and second.endswith("this is not one of the facts")
    assert lead.startswith("The logit of 'Seine' exceeds that of ") and lead.endswith(", measured.")
    monkeypatch.setattr("sys.stdin", io.StringIO("Peru, capital\n"))
    assert main(["ask", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["token"] == "Lima"
    assert main(["ask", str(tmp_path / "out"), "Frence, river", "France, river"]) == 2
    printed = capsys.readouterr()
    assert "'Frence, river' is not one of the facts: the vocabulary has no token 'Frence'; did you" in printed.err
    assert "did you mean 'France'" in printed.err and "'Seine'" in printed.out
    assert main(["ask", str(tmp_path / "out"), ""]) == 2
    assert (
        "'' is not one of the facts: the context '' has 0 tokens, expected 2 tokens with ',' between them, as in '"
        in capsys.readouterr().err
    )
    assert main(["ask", str(tmp_path / "out"), "Frence, river", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["kind"] == "InputError"
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert main(["ask", str(tmp_path / "out")]) == 2
    assert "no context is given" in capsys.readouterr().err


def test_a_probability_below_1_is_never_shown_as_1(tmp_path, capsys):
    out = str(tmp_path / "out")
    assert main(["build", "full-rank-attention", "--out", out, "--quiet"]) == 0
    capsys.readouterr()
    assert main(["ask", out, "0 1", "--json"]) == 0 and json.loads(capsys.readouterr().out)["probability"] > 0.9999
    assert main(["ask", out, "0 1"]) == 0
    assert "Its probability is above 0.999, measured.\n" in capsys.readouterr().out


def test_what_a_text_has_no_token_for_is_said_to_be_read_as_other(tmp_path, capsys):
    text = written(tmp_path / "novel.txt", b"abcabcabcabd")
    options = ["--vocabulary", "3", "--context", "2", "--target", "labels", "--out", str(tmp_path / "out")]
    assert main(["memorize", text, *options]) == 0
    capsys.readouterr()
    main(["ask", str(tmp_path / "out"), "a?", "ab", "--quiet"])
    first, second = capsys.readouterr().out.splitlines()
    assert "'a?' (read as: a<other>) -> " in first and "read as" not in second


def test_what_was_not_read_is_said_and_only_what_was_is_called_memorized(tmp_path, capsys):
    table = written(tmp_path / "facts.csv", b"France,Paris\nPeru,Lima\n")
    assert main(["memorize", table, "--quick", "--no-header", "--out", str(tmp_path / "out"), "--json"]) == 0
    capsys.readouterr()
    assert main(["ask", str(tmp_path / "out"), "I hate France", "France", "--quiet"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "'I hate France' (2 words ignored; read as: France) -> 'Paris': FACT PROVED"
    assert second == "'France' -> 'Paris': FACT PROVED"
    table = written(tmp_path / "sums.csv", b"1,2,three\n2,3,five\n")
    assert main(["memorize", table, "--quick", "--no-header", "--out", str(tmp_path / "sums"), "--json"]) == 0
    capsys.readouterr()
    assert main(["ask", str(tmp_path / "sums"), "7 1 2", "7, 1, 2", "--quiet"]) == 2
    said = capsys.readouterr()
    assert said.out.startswith("'7 1 2' (1 word ignored; read as: 1 2) -> 'three': FACT PROVED")
    assert "has 3 tokens, expected 2 tokens" in said.err


def test_the_end_of_a_text_that_is_learned_whole_is_read_and_the_rest_is_said_to_be_ignored(tmp_path, capsys):
    text = written(tmp_path / "poem.txt", b"to be or not to be, that is")
    assert main(["memorize", text, "--whole", "--quick", "--out", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    assert main(["ask", str(tmp_path / "out"), "to be or not", "to", "--quiet"]) == 0
    long, short = capsys.readouterr().out.splitlines()
    assert " characters ignored; read as: " in long and "or not) -> " in long
    assert "ignored" not in short and "<|end|>" not in short


def test_a_fact_that_is_lost_exits_1_and_says_so(tmp_path, capsys):
    text = written(tmp_path / "novel.txt", b"abcabdacbabdaaabcd")
    options = ["--context", "1", "--dim", "1", "--out", str(tmp_path / "out")]  # too narrow for these targets
    assert main(["memorize", text, *options]) == 1
    capsys.readouterr()
    codes = {main(["ask", str(tmp_path / "out"), token, "--quiet"]): capsys.readouterr().out for token in "abcd"}
    assert codes[1].endswith(": NOT MEMORIZED, this fact is proved to be lost\n")


def test_a_fact_that_is_not_proved_to_be_memorized_exits_3_and_says_so(tmp_path, capsys, monkeypatch):
    table = written(tmp_path / "facts.csv", b"France,Paris\nPeru,Lima\n")
    assert main(["memorize", table, "--no-header", "--quick", "--out", str(tmp_path / "out"), "--json"]) == 0
    capsys.readouterr()
    monkeypatch.setattr("byheart.memory.fate", lambda *_: "undecided")
    assert main(["ask", str(tmp_path / "out"), "Peru", "--quiet"]) == 3
    assert capsys.readouterr().out.endswith(": UNDECIDED, this fact is not proved to be memorized\n")


@pytest.fixture(scope="module")
def folds(tmp_path_factory):
    """Weights that add numbers of two digits in base 3; with another order of digits; that say nothing; a maximum."""
    place, weights = tmp_path_factory.mktemp("folds"), adder(2, base=3)
    mute = replace(weights, W_U=np.zeros_like(weights.W_U), b_U=None)
    most_first = addition(2, base=3, first_digit="most")
    for name, model, fold in (
        ("adder", weights, addition(2, base=3)),
        ("other", weights, most_first),
        ("mute", mute, addition(2, base=3)),
        ("maximum", *FOLDS["maximum"].construct(tokens=3, below=5)),
    ):
        certify_fold(model, fold, handshake=False, out=place / name)
    return place


@pytest.mark.parametrize("typed", [["3 + 5"], ["3,5"], ["3 5"], ["3", "5"], ["3", "+", "5"], ["0 1 0 2 1 0"]])
def test_a_model_that_adds_is_asked_for_a_sum(folds, capsys, typed):
    assert main(["ask", str(folds / "adder"), *typed]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "3 + 5 -> 8: RIGHT, PROVED"
    assert second == "It says 2 2 0, each token proved to have the largest logit."


def test_a_wrong_sum_and_one_that_is_not_decided_are_told_from_a_right_one(folds, capsys):
    """1 + 3 is read as 01 + 10, and in the other order as 10 + 01, which is 4 as well; 1 + 1 is then 3 + 3."""
    assert main(["ask", str(folds / "other"), "1 + 3", "1 + 1"]) == 1
    right, _, wrong, why = capsys.readouterr().out.splitlines()
    assert (right, wrong) == ("1 + 3 -> 4: RIGHT, PROVED", "1 + 1 -> 6: WRONG, PROVED; the rule says 2")
    assert why.startswith("It says 0 2 0, each token proved")
    assert main(["ask", str(folds / "mute"), "3 5"]) == 3
    first, second = capsys.readouterr().out.splitlines()
    assert first == "3 + 5 -> UNDECIDED; the rule says 8" and second.startswith("It says nothing: two logits are")
    assert main(["ask", str(folds / "other"), "1 1", "--json"]) == 1
    asked = json.loads(capsys.readouterr().out)
    assert (asked["number"], asked["right"], asked["decoded"], asked["answer"]) == (6, False, [0, 2, 0], [2, 0, 0])


def test_inputs_that_are_no_numbers_are_read_token_by_token(folds, capsys, monkeypatch):
    assert main(["ask", str(folds / "maximum"), "1 4 2", "0,0,0"]) == 0
    largest, why, other, _ = capsys.readouterr().out.splitlines()
    assert (largest, other) == ("1 4 2 -> 4: RIGHT, PROVED", "0 0 0 -> 0: RIGHT, PROVED")
    assert why.startswith("It says 4, each")
    monkeypatch.setattr("sys.stdin", io.StringIO("1 4 2\n\n3 3 1\n"))
    assert main(["ask", str(folds / "maximum")]) == 0
    assert [line.split(" -> ")[1][0] for line in capsys.readouterr().out.splitlines()[::2]] == ["4", "3"]
    assert main(["ask", str(folds / "maximum"), "1 4 2", "--quiet"]) == 0
    assert capsys.readouterr().out == "1 4 2 -> 4: RIGHT, PROVED\n"


@pytest.mark.parametrize(
    ("name", "typed", "what"),
    [
        ("adder", ["-3 + 5"], "'-3'"),
        ("adder", ["-3", "5"], "'-3'"),
        ("adder", ["9 + 1"], "has 9, expected numbers of at most 2 digits in base 3"),
        ("adder", ["3"], "has 1 number, expected two numbers"),
        ("adder", ["1", "2", "3"], "has 3 numbers"),
        ("adder", ["one two"], "'one'"),
        ("maximum", ["1 5 2"], "has 5 as token 2"),
        ("maximum", ["1 + 2"], "'+'"),
        ("maximum", ["1 2"], "has 2 numbers, expected the 3 tokens of a prompt"),
    ],
)
def test_what_is_no_input_of_the_rule_is_refused_by_name(folds, capsys, name, typed, what):
    assert main(["ask", str(folds / name), *typed]) == 2
    said = capsys.readouterr()
    assert what in said.err and "the context" in said.err and said.err.count("\n") == 1 and said.out == ""
