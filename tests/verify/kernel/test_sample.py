"""Samples: the draw is that of the other readers, and what it says of all inputs is compared in integers."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.tasks.criterion import Criterion
from tests.verify.kernel import folders
from tests.verify.kernel.test_domain import changed, echo
from verify.domains.sample import drawn, most_wrong
from verify.kernel import sample
from verify.kernel.check import outcome


@given(st.integers(1, 2**40), st.integers(1, 50), st.text(st.characters(categories=["L", "N"]), max_size=9))
def test_the_draw_is_that_of_the_prover(size: int, count: int, seed: str) -> None:
    model, rule = SimpleNamespace(sha256="a" * 64), SimpleNamespace(sha256="b" * 64, size=size)
    stated = sample.Statement(size, count, 0, size, seed)
    assert sample.drawn_numbers(model, rule, stated) == drawn("a" * 64, "b" * 64, size, count, seed)  # pyright: ignore


@given(st.integers(1, 10**6).flatmap(lambda size: st.tuples(st.just(size), st.integers(1, min(size, 500)))), st.data())
def test_what_a_sample_leaves_open_is_what_the_prover_says(sizes: tuple[int, int], data: st.DataObject) -> None:
    size, count = sizes
    missed = data.draw(st.integers(0, min(count, 5)))
    bound = most_wrong(size, count, missed)
    assert sample.leaves_at_most(size, count, missed, bound)
    assert bound == missed or not sample.leaves_at_most(size, count, missed, bound - 1)


def test_a_sample_is_checked_and_is_no_proof(tmp_path: Path) -> None:
    folder = echo(tmp_path, sample=30, seed="now")
    code, text = outcome(folder)
    assert code == 3 and text.startswith("UNDECIDED: the question")
    drawn_more = echo(tmp_path / "max", "max", sample=30, seed="now", criterion=Criterion.at_least(1))
    values = folders.certificate(drawn_more)["statements"][1]["values"]
    wrong = values["drawn"] - values["right"]
    said(changed(drawn_more, 1, right=values["right"] + 1, wrong_upper=values["wrong_upper"] - 1))
    assert outcome(drawn_more)[1] == f"NOT PROVED: sample: {wrong} of 30 inputs are wrong"
    said(changed(drawn_more, 1, right=values["right"], wrong_upper=values["wrong_upper"] - 1))
    code, text = outcome(drawn_more)
    assert code == 3 and "which says less of all" in text


def test_what_was_not_drawn_is_not_counted(tmp_path: Path) -> None:
    folder = echo(tmp_path, sample=30, seed="now", criterion=Criterion.at_least(1))
    assert folders.code(folder) == 0  # 30 inputs are right, the best guess holds 16
    assert folders.code(changed(folder, memorized=31)) == 3
    assert folders.code(changed(folder, memorized=30, wrong=1)) == 3


def said(folder: Path) -> None:
    """Put the sentence of a sample in its place."""
    data = folders.certificate(folder)
    values = data["statements"][1]["values"]
    numbers = {name: values[name] for name in ("contexts", "drawn", "right", "wrong_upper")}
    statement = sample.Statement(**numbers, seed="now")
    data["statements"][1]["statement"] = sample.sentence(statement, SimpleNamespace())  # pyright: ignore
    folders.rewritten(folder, data)


@pytest.mark.parametrize(
    "values",
    [
        {"drawn": 0},
        {"drawn": 65},
        {"right": 31},
        {"wrong_upper": 65},
        {"contexts": 63},
        {"seed": 255},
        {"seed": 10},
        {"seed": -1},
    ],
)
def test_another_form_is_refused(values: dict[str, int], tmp_path: Path) -> None:
    assert folders.code(changed(echo(tmp_path, sample=30, seed="now"), 1, **values)) == 2
