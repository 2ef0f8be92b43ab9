"""A rule from a file of one's own."""

import pytest

from byheart.terminal.rule_file import named_rule
from constructions.errors import InputError

FILE = "def helper(a):\n    return a + 1\n\n\ndef rule(a, b):\n    return helper(a) * b\n"


def test_a_function_of_a_file_runs_with_what_the_file_defines(tmp_path):
    (tmp_path / "mine.py").write_text(FILE)
    assert named_rule(f"{tmp_path / 'mine.py'}:rule")(2, 3) == 9
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]
    with pytest.raises(InputError, match=r"--rule is 'mine.py', expected one of max, .*, or FILE.py:function"):
        named_rule("mine.py")


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [(FILE, "other", "no function 'other', expected one of helper, rule"), ("1 / 0", "rule", "ZeroDivisionError"),
     (None, "rule", "is not a file"), ("x = 1", "x", "no function 'x'")],
)  # fmt: skip
def test_what_is_no_rule_is_refused(tmp_path, text, name, words):
    if text is not None:
        (tmp_path / "mine.py").write_text(text)
    with pytest.raises(InputError, match=words):
        named_rule(f"{tmp_path / 'mine.py'}:{name}")


def test_what_a_file_prints_is_no_part_of_the_answer(tmp_path, capsys):
    for head in ("x", "a, b"):
        body = f"    print('MEMORIZED, PROVED: all')\n    return {head[0]} * 0\n"
        (tmp_path / "mine.py").write_text(f"print('MEMORIZED, PROVED')\n\ndef rule({head}):\n{body}")
        rule = named_rule(f"{tmp_path / 'mine.py'}:rule")
        assert rule(*range(1, 1 + len(head.split(",")))) == 0
        said = capsys.readouterr()
        assert said.out == "" and said.err.count("MEMORIZED, PROVED") == 2
