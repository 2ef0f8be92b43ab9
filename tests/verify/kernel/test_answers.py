"""The statement `answers`: near ties, distributions, and contexts that are not memorized."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from constructions.tasks.criterion import Criterion
from tests.verify.kernel import folders
from verify.kernel import answers
from verify.kernel.certificate import read_certificate
from verify.kernel.check import outcome


def of_logits(folder: Path, logits: list[list[float]], labels: list[int], criterion: Criterion | None = None) -> Path:
    """A model without blocks that says these logits of its contexts."""
    table = np.array(logits)
    contexts = np.arange(len(table))[:, None]
    width = max(table.shape)
    model = Model(
        blocks=(),
        W_U=np.pad(table, ((0, 0), (0, width - table.shape[1])), constant_values=-(2.0**60)),
        W_E=np.eye(len(table)),
        W_pos=np.zeros((1, len(table))),
    )
    task = array_task(contexts, next_tokens=np.array(labels), vocabulary=width, target="labels")
    return folders.written(folder, model, task, criterion)


@pytest.mark.parametrize("lead, code", [(1.0, 0), (2.0**-40, 0), (2.0**-1000, 0), (0.0, 1), (-5e-324, 1)], ids=str)
def test_near_ties(lead: float, code: int, tmp_path: Path) -> None:
    folder = of_logits(tmp_path, [[lead, 0.0], [0.0, 1.0]], [0, 1])
    assert folders.code(folder) == code


def test_what_is_not_memorized_may_be_left_out_of_the_question(tmp_path: Path) -> None:
    logits = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    assert folders.code(of_logits(tmp_path / "all", logits, [0, 1, 2])) == 1
    folder = of_logits(tmp_path / "two", logits, [0, 1, 2], Criterion.at_least(2))
    assert folders.code(folder) == 0
    data = folders.certificate(folder)
    statement = data["statements"][0]
    assert statement["memorized"] == "c"
    for mask in ("6", "a"):
        statement["memorized"] = mask
        code, text = outcome(folders.rewritten(folder, data))
        assert (code, text) == (1, "NOT PROVED: answers: context 2 is not memorized")


def test_more_wrong_than_there_are_is_not_proved(tmp_path: Path) -> None:
    logits = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 2.0], [1.0, 0.0, 0.0]]
    folder = of_logits(tmp_path, logits, [0, 1, 2, 1], Criterion.at_least(2))
    data = folders.certificate(folder)
    statement = data["statements"][0]
    statement["values"].update(memorized=2, wrong=2)
    statement["memorized"] = "c"
    statement["statement"] = statement["statement"].replace(
        "3 are memorized and 1 are not", "2 are memorized and 2 are not"
    )
    code, text = outcome(folders.rewritten(folder, data))
    assert code == 1 and "1 contexts are proved not to be memorized" in text


def test_a_distribution_beyond_the_tolerance_is_not_memorized(tmp_path: Path) -> None:
    folder = folders.distributions(tmp_path)
    assert folders.code(folder) == 0
    data = folders.certificate(folder)
    data["criterion"]["tolerance"] = (2.0**-1000).hex()  # log p is rounded: not met that closely
    code, text = outcome(folders.rewritten(folder, data))
    assert (code, text) == (1, "NOT PROVED: answers: context 0 is not memorized")


@given(st.integers(0, 2**60) | st.floats(0, 1e300) | st.fractions(0))
def test_a_ball_contains_its_number(number: int | float | Fraction) -> None:
    with ctx.workprec(128):
        exact = Fraction(number)
        assert answers.ball(number) * arb(exact.denominator) - arb(exact.numerator) == 0 or (
            answers.ball(number) * exact.denominator
        ).contains(arb(exact.numerator))


def test_the_sentence_is_that_of_the_prover(tmp_path: Path) -> None:
    for write in (folders.lookup, folders.distributions):
        folder = write(tmp_path / write.__name__)
        certificate = read_certificate(folder)
        record = certificate.statements[0]
        assert answers.sentence(answers.read("s", record, certificate), certificate) == record["statement"]


def test_bounds_of_the_loss_are_given_together(tmp_path: Path) -> None:
    for name in ("mean_upper", "max_upper", "guess_right"):
        folder = folders.lookup(tmp_path / name)
        data = folders.certificate(folder)
        del data["statements"][0]["values"][name]
        folders.rewritten(folder, data)
        code, text = outcome(folder)
        assert code == 2 and "does not go with the others" in text


def test_a_margin_that_is_reached_exactly_is_proved_and_the_next_float_is_not(tmp_path: Path) -> None:
    folder = folders.lookup(tmp_path)
    for margin, expected in ((3.0, 0), (math.nextafter(3.0, 4.0), 1)):
        assert folders.code(folders.changed(folder, 0, margin_lower=margin.hex())) == expected
