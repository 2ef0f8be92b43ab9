"""The number that folds leave names the object, by the margin that is said, in as many entries as are counted."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.memories.object_words.digits import Digits, digit_bits
from constructions.memories.object_words.readouts import OneColumn, Readout, TwoColumns
from constructions.model.blocks import FeedForward
from constructions.model.model import Model
from verify.runs.exact_runs import exact_runs
from verify.runs.formats import FORMATS


@st.composite
def readouts(draw: st.DrawFn) -> Readout:
    objects, places = draw(st.integers(1, 70)), draw(st.integers(1, 2))
    digits = Digits(objects, digit_bits(objects, places) + draw(st.integers(0, 1)), places)
    if places == 1 and digits.bits > 1 and draw(st.booleans()):
        return TwoColumns(digits, draw(st.integers(1, digits.bits - 1)))
    return OneColumn(digits, draw(st.booleans()))


def left_by_folds(digits: Digits) -> Iterator[tuple[int, Fraction]]:
    """Yield each object with the least and the largest number that means it."""
    room = Fraction(digits.spare, digits.base)
    ends = (Fraction(0), room, 1 - room) if digits.places > 1 else (Fraction(0),)
    for number, fraction in product(range(digits.objects), ends):
        yield number, number + digits.spare + fraction


def followed(blocks: list, row: list[Fraction]) -> list[Fraction]:
    """Return what blocks of neurons make of a row, in exact arithmetic."""

    def mapped(x: list[Fraction], W: np.ndarray, b: np.ndarray | None) -> list[Fraction]:
        shift = np.zeros(W.shape[1]) if b is None else b
        return [
            sum((u * Fraction(w) for u, w in zip(x, W[:, j], strict=True)), Fraction(shift[j]))
            for j in range(len(shift))
        ]

    for block in blocks:
        assert isinstance(block, FeedForward)
        fired = [max(Fraction(0), u) for u in mapped(row, block.W_in, block.b_in)]
        out = mapped(fired, block.W_out, block.b_out)
        row = [x + y for x, y in zip(row, out, strict=True)] if block.skip else out
    return row


@given(readouts())
def test_parabolas_name_the_object_by_the_margin_that_is_said(readout: Readout) -> None:
    digits, K = readout.digits, readout.digits.objects
    one = np.ones((1, 1))
    blocks = [FeedForward(one, one, b_out=readout.shift, skip=False), *readout.blocks()]
    W_U, b_U = readout.unembedding(np.arange(K), K + 1)
    assert sum(block.parameters for block in blocks) == 2 + readout.entries
    assert W_U.shape == (readout.columns, K + 1)
    for number, v in left_by_folds(digits):
        z = [float(x) for x in followed(blocks, [v])]
        logits = np.array(z) @ W_U + b_U
        ahead = logits[number] - np.delete(logits, number).max()
        assert ahead >= (digits.spare / digits.base if digits.places > 1 else 1.0)


@given(readouts(), st.sampled_from(sorted(FORMATS)))
def test_every_run_of_a_readout_that_fits_says_all_objects(readout: Readout, dtype: str) -> None:
    digits = readout.digits
    precision = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}[dtype]
    if not (digits.fit(precision) and readout.fit(precision)):
        return
    numbers = [*left_by_folds(digits)]
    W_U, b_U = readout.unembedding(np.arange(digits.objects), digits.objects)
    W_E = np.array([[float(v)] for _, v in numbers])
    one = np.ones((1, 1))
    blocks = (FeedForward(one, one, b_out=readout.shift, skip=False), *readout.blocks())
    model = Model(blocks=blocks, W_U=W_U, b_U=b_U, W_E=W_E, W_pos=np.zeros((1, 1)))
    labels = np.array([number for number, _ in numbers])
    assert exact_runs(model, np.arange(len(numbers))[:, None], labels, FORMATS[dtype]).memorized.all()


@pytest.mark.parametrize(
    "readout, precision, fit",
    [
        (OneColumn(Digits(420, 9, 2), True), 24, True),
        (OneColumn(Digits(420, 9, 2), False), 24, False),  # the logits round too much
        (OneColumn(Digits(900, 10, 2), True), 24, False),
        (OneColumn(Digits(5791, 13, 1), True), 24, True),
        (OneColumn(Digits(5792, 13, 1), True), 24, False),
        (OneColumn(Digits(63, 6, 1), True), 11, True),
        (OneColumn(Digits(64, 6, 1), True), 11, False),
        (OneColumn(Digits(31, 5, 1), False), 11, True),
        (TwoColumns(Digits(64, 6, 1), 2), 8, True),
        (TwoColumns(Digits(64, 6, 1), 1), 8, False),  # 2^9 for the bits below
        (TwoColumns(Digits(128, 7, 1), 3), 8, True),
        (TwoColumns(Digits(60, 6, 2), 3), 24, False),  # a fraction is beside the digit
    ],
)
def test_what_fits_a_format(readout: Readout, precision: int, fit: bool) -> None:
    assert readout.fit(precision) == fit
