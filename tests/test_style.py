"""The warnings of the style check, and the order of its densest functions."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import style

SCRIPT = Path(style.__file__)


@pytest.mark.parametrize(
    "sentence, expected",
    [
        ("What the tables leave open.", ["headless What"]),
        ("What is a head?", []),
        ("What does PROVED mean?", []),
        ("The rank is 3, as two rows are equal.", ["a reason after ', as'"]),
        ("The rank is 3, as in Theorem G1.", []),
        ("Attention alone does it.", ["'alone' for 'only'"]),
        ("Of these heads one is idle.", ["fronted 'Of'"]),
        ("It is said of both.", ["'is said'"]),
        (" ".join(["word"] * 25) + ".", []),
        (" ".join(["word"] * 26) + ".", ["26 words"]),
        ("A $" + "x + " * 40 + "x$ is one word.", []),
    ],
)
def test_a_sentence_is_warned_of_by_its_rule(sentence: str, expected: list[str]) -> None:
    assert style.warnings(sentence) == expected


def test_sentences_end_where_the_next_begins() -> None:
    text = "One sentence. Another\none, with $a. B$ in it! A third, e.g. This is no fourth."
    assert style.sentences(text) == [
        "One sentence.",
        "Another one, with $a. B$ in it!",
        "A third, e.g. This is no fourth.",
    ]


def test_headings_code_tables_and_formulas_are_no_prose() -> None:
    text = "# Of a title\n\nProse.\n\n```python\nWhat = 1\n```\n\n| Of | a table |\n\n$$ x $$\n\n- An item.\n"
    assert list(style.paragraphs(text)) == [(3, "Prose."), (13, "An item.")]


def test_the_densest_function_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(style, "ROOT", tmp_path)
    path = tmp_path / "module.py"
    thin = "def thin():\n    '''Say nothing.'''\n    a = 1\n    # a comment\n    b = 2\n\n    c = 3\n    return a\n"
    dense = "def dense():\n" + "    x = [a + b * c - d for a, b, c, d in rows]\n" * 4
    path.write_text(thin + dense)
    found = sorted(style.densities(path), reverse=True)
    assert [density.name for density in found] == ["dense", "thin"]
    assert found[1].nodes_per_line == 11 / 4 and found[1].place == "module.py:1"


def test_it_warns_and_ends_with_0() -> None:
    for words in (["docs/index.md", "tests/style.py"], ["--densest", "verify/arithmetic"]):
        run = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, check=True)
        assert run.stderr == "" and run.stdout
