"""`byheart ask`: type a context, read the fact."""

import io
import json

from byheart.command.main import main
from tests.command_line import FACTS, written


def test_a_context_that_is_typed_is_answered(tmp_path, capsys, monkeypatch):
    table = written(tmp_path / "facts.csv", FACTS)
    assert main(["memorize", table, "--out", str(tmp_path / "out"), "--json"]) == 0
    capsys.readouterr()
    assert main(["ask", str(tmp_path / "out"), "France, river", "Peru,river"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "'Seine'" in first and first.endswith("(memorized)") and second.endswith("(not one of the facts)")
    monkeypatch.setattr("sys.stdin", io.StringIO("Peru, capital\n"))
    assert main(["ask", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["token"] == "Lima"
    assert main(["ask", str(tmp_path / "out"), "Frence, river", "France, river"]) == 2
    printed = capsys.readouterr()
    assert "did you mean 'France'" in printed.err and "'Seine'" in printed.out
    assert main(["ask", str(tmp_path / "out"), ""]) == 2
    assert "the context '' has 0, expected 2 tokens" in capsys.readouterr().err
    assert main(["ask", str(tmp_path / "out"), "Frence, river", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["kind"] == "InputError"
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert main(["ask", str(tmp_path / "out")]) == 2
    assert "no context is given" in capsys.readouterr().err


def test_what_a_text_has_no_token_for_is_said_to_be_read_as_other(tmp_path, capsys):
    text = written(tmp_path / "novel.txt", b"abcabcabcabd")
    options = ["--vocabulary", "3", "--context", "2", "--target", "labels", "--out", str(tmp_path / "out")]
    assert main(["memorize", text, *options]) == 0
    capsys.readouterr()
    main(["ask", str(tmp_path / "out"), "a?", "ab"])
    first, second = capsys.readouterr().out.splitlines()
    assert "(read as: a<other>)" in first and "read as" not in second


def test_what_was_not_read_is_said_and_nothing_is_called_memorized(tmp_path, capsys):
    table = written(tmp_path / "facts.csv", b"France,Paris\nPeru,Lima\n")
    assert main(["memorize", table, "--quick", "--no-header", "--out", str(tmp_path / "out"), "--json"]) == 0
    capsys.readouterr()
    assert main(["ask", str(tmp_path / "out"), "I hate France", "France"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "'Paris'" in first and first.endswith("(2 words ignored; read as: France)")
    assert second.endswith("(memorized)")
    table = written(tmp_path / "sums.csv", b"1,2,three\n2,3,five\n")
    assert main(["memorize", table, "--quick", "--no-header", "--out", str(tmp_path / "sums"), "--json"]) == 0
    capsys.readouterr()
    assert main(["ask", str(tmp_path / "sums"), "7 1 2", "7, 1, 2"]) == 2
    said = capsys.readouterr()
    assert said.out.endswith("(1 word ignored; read as: 1 2)\n") and "has 3, expected 2 tokens" in said.err


def test_the_end_of_a_text_that_is_learned_whole_is_read_and_the_rest_is_said_to_be_ignored(tmp_path, capsys):
    text = written(tmp_path / "poem.txt", b"to be or not to be, that is")
    assert main(["memorize", text, "--whole", "--quick", "--out", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    assert main(["ask", str(tmp_path / "out"), "to be or not", "to"]) == 0
    long, short = capsys.readouterr().out.splitlines()
    assert " characters ignored; read as: " in long and "or not)" in long
    assert "ignored" not in short and "<|end|>" not in short


def test_a_fact_that_is_lost_exits_1_and_says_so(tmp_path, capsys):
    text = written(tmp_path / "novel.txt", b"abcabdacbabdaaabcd")
    options = ["--context", "1", "--dim", "1", "--out", str(tmp_path / "out")]  # too narrow for laws of four tokens
    assert main(["memorize", text, *options]) == 1
    capsys.readouterr()
    codes = {main(["ask", str(tmp_path / "out"), token]): capsys.readouterr().out for token in "abcd"}
    assert codes[1].endswith("(a fact that is proved to be lost)\n")


def test_a_fact_that_is_not_proved_to_be_memorized_exits_3_and_says_so(tmp_path, capsys, monkeypatch):
    table = written(tmp_path / "facts.csv", b"France,Paris\nPeru,Lima\n")
    assert main(["memorize", table, "--no-header", "--quick", "--out", str(tmp_path / "out"), "--json"]) == 0
    capsys.readouterr()
    monkeypatch.setattr("byheart.memory.fate", lambda *_: "undecided")
    assert main(["ask", str(tmp_path / "out"), "Peru"]) == 3
    assert capsys.readouterr().out.endswith("(a fact that is not proved to be memorized)\n")
