"""Features are proved to be independent, by bounds that hold and by none beyond them."""

import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.model.shapes import dana_network
from constructions.tasks.arrays import array_task
from constructions.tasks.criterion import Criterion
from tests.corpus import definitions
from tests.layers import layers_and_tasks
from tests.verify.kernel import folders
from tests.verify.kernel.test_features import changed, network
from verify.kernel.check import outcome
from verify.provers.memorization import check_memorization
from verify.verdict import Verdict

CODES = {Verdict.PROVED: 0, Verdict.REFUTED: 1, Verdict.UNDECIDED: 3}


def stated(folder: Path) -> Path:
    """Three features that are twice, twice and three times a unit vector; one head reads one token."""
    tokens, value = np.eye(3), np.diag([2.0, 2.0, 3.0])[None]
    maps = {"W_Q": np.zeros((1, 3, 1)), "W_K": np.zeros((1, 3, 1)), "W_V": value, "W_O": np.eye(3)[None]}
    model = dana_network(W_E=tokens, W_pos=np.zeros((1, 3)), W_U=tokens, **maps)
    task = array_task(np.array([[0], [1], [2]]), next_tokens=np.array([0, 1, 2]), vocabulary=3, target="labels")
    return folders.written(folder, model, task, rank=True)


TINY = Fraction(1, 2**1000)


@pytest.mark.parametrize(
    "smallest, condition, expected",
    [
        (2 - TINY, 10, 0),
        (2 + TINY, 10, 1),
        (Fraction(2.0).as_integer_ratio(), 10, 3),  # what is reached is not told from what is just missed
        (1, Fraction(206155281280884, 10**14), 0),  # sqrt(17) / 2 = 2.06155281280883...
        (1, Fraction(206155281280882, 10**14), 3),  # more than 3 / 2, and less than what is proved
        (1, Fraction(119, 100), 1),  # less than sqrt(17 / 3) / 2 = 1.1902...
        (1, TINY, 1),
        (None, None, 0),
    ],
)
def test_bounds_are_proved_up_to_where_they_hold(smallest: Any, condition: Any, expected: int, tmp_path: Path) -> None:
    folder = stated(tmp_path)
    values = {"smallest_singular_value_lower": smallest, "condition_upper": condition}
    found = {name: form(value) for name, value in values.items() if value is not None}
    data = folders.certificate(folder)
    data["statements"][1]["values"] = {"rows": 3, "columns": 3, **found}
    folders.rewritten(folder, data)
    assert folders.code(folders.changed(folder, 1)) == expected, outcome(folder)


def form(value: Any) -> Any:
    """A number as a certificate writes it."""
    exact = Fraction(*value) if isinstance(value, tuple) else Fraction(value)
    return exact.numerator if exact.denominator == 1 else str(exact)


@pytest.mark.parametrize(
    "change, expected",
    [
        ({"columns": 4}, 1),
        ({"columns": 6}, 0),  # with the embedded tokens beside them, which are a unit matrix
        ({"rows": 2}, 2),
        ({"smallest_singular_value_lower": 0}, 2),
        ({"condition_upper": 0}, 2),
        ({"more": 1}, 2),
    ],
)
def test_other_sizes(change: dict[str, Any], expected: int, tmp_path: Path) -> None:
    folder = folders.changed(stated(tmp_path), 1, **change)
    assert folders.code(folder) == expected, outcome(folder)


def test_one_bound_alone_is_refused(tmp_path: Path) -> None:
    folder = stated(tmp_path)
    data = folders.certificate(folder)
    del data["statements"][1]["values"]["condition_upper"]
    assert folders.code(folders.rewritten(folder, data)) == 2


@given(st.integers(0, 2**32), st.integers(1, 3), st.booleans())
def test_networks_have_the_rank_that_is_stated(seed: int, n_heads: int, coarse: bool) -> None:
    model, task = network(seed, n_heads)
    if coarse:
        model = changed(model, W_V=np.rint(0.4 * model.attention.W_V))
    with tempfile.TemporaryDirectory() as name:
        folder = folders.written(Path(name), model, task, Criterion.at_most(1e300), rank=True)
        agree(folder)
        records = folders.certificate(folder)["statements"]
        if len(records) == 2 and "condition_upper" in records[1]["values"]:
            with mpmath.workdps(definitions.DIGITS):
                rows = definitions.features(model, task, with_skip=records[1]["values"]["columns"] > n_heads * 3)
                exact = min(mpmath.svd_r(mpmath.matrix(rows), compute_uv=False))
                ends = definitions.float_below(exact), definitions.float_above(exact)
            for value, is_true in zip(ends, (True, False), strict=True):
                values = {"smallest_singular_value_lower": value.hex(), "condition_upper": 2**62}
                found = statement_code(folders.changed(folder, 1, **values))
                assert (found != 1) == is_true


def statement_code(folder: Path) -> int:
    """1 if the rank is refuted, otherwise another code."""
    code, text = outcome(folder)
    return 1 if text.startswith("NOT PROVED: feature-rank") else code + 10


@given(layers_and_tasks())
def test_layers_have_the_rank_that_is_stated(drawn) -> None:
    layer, task = drawn
    with tempfile.TemporaryDirectory() as name:
        agree(folders.written(Path(name), layer, task, Criterion.at_most(1e300), rank=True))


def agree(folder: Path) -> None:
    """The kernel says what the prover says; a question may stay open by what is stated."""
    prover, (found, text) = CODES[check_memorization(folder).verdict], outcome(folder)
    assert found == prover or text.startswith("UNDECIDED: the question"), (prover, text)
