"""`byheart exercise`: judge the answer to an exercise of the book."""

import json

import pytest

from byheart.cli.main import main
from byheart.theorems.exercises import EXERCISES


@pytest.mark.parametrize("answer", [["3"], ["3", "heads"]])
def test_a_right_answer_ends_with_0(capsys, answer):
    assert main(["exercise", "3.2", *answer]) == 0
    assert capsys.readouterr().out == f"RIGHT: {' '.join(answer)!r} answers exercise 3.2\n"


def test_a_wrong_answer_ends_with_1_and_says_what_is_wrong(capsys):
    assert main(["exercise", "3.2", "2"]) == 1
    assert capsys.readouterr().out == "WRONG: 2 heads give rank 7 at most\n"
    assert main(["exercise", "3.2", "2", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    wrong = "2 heads give rank 7 at most"
    assert said.pop("headline") == f"WRONG: {wrong}" and said.pop("verdict") == "REFUTED"
    assert said == {"exercise": "3.2", "answer": "2", "right": False, "wrong": wrong}


def test_an_answer_that_cannot_be_read_ends_with_2(capsys):
    assert main(["exercise", "3.2", "many"]) == 2
    assert "'many', expected a number such as" in capsys.readouterr().err
    assert main(["exercise", "0.1", "3"]) == 2
    assert "'0.1', expected one that is judged" in capsys.readouterr().err


def test_a_negative_answer_may_follow_two_dashes(capsys):
    assert main(["exercise", "9.1", "--", "-log(3), log(7/5), log(2), -log(2)"]) == 0


def test_without_an_answer_the_exercise_says_what_it_asks(capsys):
    assert main(["exercise", "3.2"]) == 0
    assert capsys.readouterr().out == "Exercise 3.2 asks for the number of heads; for example '9'\n"


def test_without_an_exercise_all_are_listed_and_the_line_is_incomplete_as_for_build(capsys):
    assert main(["build"]) == 2
    capsys.readouterr()
    assert main(["exercise"]) == 2
    first, *others = capsys.readouterr().out.splitlines()
    assert first == f"{len(EXERCISES)} exercises of the book are judged by `byheart exercise NUMBER ANSWER`"
    assert {line.split()[0] for line in others if line.startswith("  ") and line[2] != " "} == {*EXERCISES}
    assert main(["exercise", "--quiet"]) == 2
    assert capsys.readouterr().out == f"{first}\n"
    assert main(["exercise", "--json"]) == 2
    assert [row["exercise"] for row in json.loads(capsys.readouterr().out)] == list(EXERCISES)
