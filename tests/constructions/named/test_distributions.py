"""Distributions of one's own: read exactly, and refused where they are none."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import FileFormatError, HypothesisError
from constructions.named.distributions import as_distributions, distributions, read_distributions


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=7))
def test_fractions_are_read_as_they_are_written(weights):
    shares = [Fraction(weight, sum(weights)) for weight in weights]
    assert distributions([[str(share) for share in shares]]) == [shares]
    assert np.abs(as_distributions([shares]) - np.array(weights) / sum(weights)).max() < 1e-15


def test_decimals_in_text_and_json_are_the_numbers_that_are_written(tmp_path):
    (tmp_path / "a.csv").write_text("0.1, 0.2, 0.7\n1/3, 1/3, 1/3\n")
    (tmp_path / "b.csv").write_text("1e-1 2e-1 7e-1\n")
    (tmp_path / "a.json").write_text('[[0.1, 0.2, 0.7], ["1/3", "1/3", "1/3"]]')
    first = [Fraction(1, 10), Fraction(1, 5), Fraction(7, 10)]
    assert (
        read_distributions(tmp_path / "a.csv")
        == read_distributions(tmp_path / "a.json")
        == [first, [Fraction(1, 3)] * 3]
    )
    assert read_distributions(tmp_path / "b.csv") == [first]
    np.save(tmp_path / "a.npy", np.array([[0.25, 0.75]]))
    assert read_distributions(tmp_path / "a.npy") == [[Fraction(1, 4), Fraction(3, 4)]]


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([["0.5", "0.4"]], HypothesisError, "a sum of 1, but row 1 of distributions adds up to 0.9"),
        ([["1"], ["0.999999"]], HypothesisError, "row 2 of distributions adds up to 0.999999"),
        ([["1.5", "-0.5"]], HypothesisError, "entries of at least 0, but row 1 of distributions has the entry -0.5"),
        ([["1"], ["0.5", "0.5"]], FileFormatError, "row 2 has 2 numbers, expected 1"),
        ([["nan", "1"]], FileFormatError, "the entry 'nan'"),
        ([[float("nan"), 1]], FileFormatError, "the entry nan"),
        ([[float("inf"), 1]], FileFormatError, "the entry inf"),
        ([["1/0"]], FileFormatError, "the entry '1/0'"),
        ([["1e9999"]], FileFormatError, "the entry '1e9999'"),
        ([[True]], FileFormatError, "the entry True"),
        ([], FileFormatError, "holds no distributions"),
        ([[]], FileFormatError, "row 1 is"),
    ],
)
def test_what_is_no_distribution_is_refused_by_its_hypothesis(rows, error, message):
    with pytest.raises(error) as refused:
        distributions(rows, where="distributions")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("name", "content"), [("a.json", "["), ("a.json", "[[NaN, 1]]"), ("a.npy", "x"), ("a.csv", "a b")]
)
def test_files_of_anything_else_are_refused(name, content, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(FileFormatError):
        read_distributions(tmp_path / name)
