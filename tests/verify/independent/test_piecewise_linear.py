"""The outputs behind ReLU neurons of one number: they hold the exact ones, or nothing is said."""

from fractions import Fraction

import pytest
from flint import arb, ctx
from hypothesis import example, given
from hypothesis import strategies as st

from verify.arithmetic.integers import power_of_two
from verify.independent.piecewise_linear import PiecewiseLinear
from verify.independent.plain.plain_arrays import PlainArray
from verify.independent.plain.plain_model import PlainBlock

# Few values, so that zeros coincide and lie at the numbers that are read; and values of very different sizes.
FEW = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0])
ANY = st.one_of(FEW, st.sampled_from([1e-300, -1e300, 2.0**-1074, 0.1, -1 / 3]), st.floats(-1e3, 1e3))


def block_of(slopes, shifts, written, constant, **options):
    stated = {"kind": "feed-forward", "skip": False, "activation": "relu", "norm": None} | options
    tensors = {"W_in": PlainArray((1, len(slopes)), slopes)}
    tensors["W_out"] = PlainArray((len(slopes), len(written[0]) if written else 1), [w for row in written for w in row])
    tensors |= {"b_in": PlainArray((len(slopes),), shifts)} if shifts is not None else {}
    tensors |= {"b_out": PlainArray((len(constant),), constant)} if constant is not None else {}
    return PlainBlock("feed-forward", stated, tensors, None, {})


@st.composite
def readers(draw, values=ANY):
    """Slopes, shifts, W_out, b_out, W_U and b_U; shifts may be missing."""
    neurons, width, columns = draw(st.integers(1, 5)), draw(st.integers(1, 3)), draw(st.integers(1, 3))

    def row(size):
        return draw(st.lists(values, min_size=size, max_size=size))

    def perhaps(size):
        return row(size) if draw(st.booleans()) else None

    written = [row(width) for _ in range(neurons)]
    return (
        row(neurons),
        perhaps(neurons),
        written,
        perhaps(width),
        [row(columns) for _ in range(width)],
        perhaps(columns),
    )


def lines_of(slopes, shifts, written, constant, readout, shift):
    W_U = PlainArray((len(readout), len(readout[0])), [w for row in readout for w in row])
    b_U = None if shift is None else PlainArray((len(shift),), shift)
    return PiecewiseLinear(block_of(slopes, shifts, written, constant), W_U, b_U)


def truth(x, slopes, shifts, written, constant, readout, shift):
    """The definition, in rationals."""
    shifts = shifts or [0.0] * len(slopes)
    active = [max(Fraction(0), Fraction(w) * x + Fraction(b)) for w, b in zip(slopes, shifts, strict=True)]
    stream = [Fraction(c) for c in constant or [0.0] * len(readout)]
    for a, row in zip(active, written, strict=True):
        stream = [s + a * Fraction(w) for s, w in zip(stream, row, strict=True)]
    result = [Fraction(c) for c in shift or [0.0] * len(readout[0])]
    for s, row in zip(stream, readout, strict=True):
        result = [c + s * Fraction(w) for c, w in zip(result, row, strict=True)]
    return result


def rational(number):
    mantissa, exponent = map(int, number.man_exp())
    return mantissa * power_of_two(exponent)


def ends(ball):
    """A few numbers of a ball: its ends and its middle."""
    middle, radius = rational(ball.mid()), rational(ball.rad())
    return middle - radius, middle, middle + radius


@given(readers(), st.lists(st.tuples(ANY, st.sampled_from([0.0, 1e-30, 1e-3, 10.0])), min_size=1, max_size=6))
@example(([1.0, 0.0, 0.0], [0.0, -2.0, 2.0], [[1.0], [5.0], [7.0]], [3.0], [[1.0]], [0.1]), [(-1.0, 0.0), (1.0, 0.0)])
@example(([1.0], [0.0], [[1.0]], None, [[1.0]], None), [(0.0, 0.0), (0.0, 1e-30), (-1.0, 0.0), (1.0, 0.0)])
@example(([1.0, -1.0], [-1.0, 1.0], [[1.0], [1.0]], [2.0**-1074], [[1.0]], [0.1]), [(1.0, 0.0), (0.5, 0.0)])
def test_outputs_hold_what_the_definition_says_at_every_point_of_a_ball(reader, numbers):
    with ctx.workprec(128):
        balls = [arb(x) + arb(0, r) for x, r in numbers]
        for ball, row in zip(balls, lines_of(*reader)(balls), strict=True):
            if row is not None:
                for x in ends(ball):
                    for exact, found in zip(truth(x, *reader), row, strict=True):
                        assert ends(found)[0] <= exact <= ends(found)[2]


@given(readers(), st.lists(ANY, min_size=1, max_size=6))
def test_exact_numbers_are_left_out_only_where_floats_look_in_the_wrong_place(reader, numbers):
    lines = lines_of(*reader)
    zeros = [-Fraction(b) / Fraction(w) for w, b in zip(reader[0], reader[1] or [0.0] * 9, strict=False) if w != 0.0]
    with ctx.workprec(128):
        for x, row in zip(numbers, lines([arb(x) for x in numbers]), strict=True):
            if all(abs(Fraction(x) - zero) > abs(zero) / 2**50 + Fraction(1, 2**1000) for zero in zeros):
                assert row is not None


def test_a_ball_on_both_sides_of_a_zero_says_nothing_and_neither_does_no_number():
    with ctx.workprec(128):
        lines = lines_of([2.0, -1.0], [-2.0, 3.0], [[1.0], [1.0]], None, [[1.0]], None)  # zeros at 1 and 3
        straddling = [arb(1, 1e-20), arb(3, 1e-20), arb(2, 2.0), arb("nan"), arb(0, float("inf"))]
        assert lines(straddling) == [None] * 5
        found = lines([arb(0), arb(1), arb(2), arb(3), arb(5)])
        assert [row and row[0] == value for row, value in zip(found, (3, 2, 3, 4, 8), strict=True)] == [True] * 5


def test_a_shift_finer_than_all_products_is_kept():
    with ctx.workprec(4000):
        [[value]] = lines_of([1.0], None, [[1.0]], None, [[1.0]], [2.0**-1074])([arb(1)])
        assert value - 1 == arb(2) ** -1074


@pytest.mark.parametrize(
    "options", [{"activation": "gelu"}, {"skip": True}, {"kind": "attention"}, {"norm": "rms"}, {"reads": 2}]
)
def test_only_neurons_of_one_number_without_a_skip_fit(options):
    block = block_of([1.0], None, [[1.0]], None)
    assert PiecewiseLinear.fits(block)
    tensors = {"W_in": PlainArray((2, 1), [1.0, 1.0])} if options.pop("reads", 1) == 2 else {}
    norm = PlainBlock("rms", {"kind": "rms"}, {"w": PlainArray((1,), [1.0])}, None, {}) if "norm" in options else None
    kind = options.get("kind", "feed-forward")
    assert not PiecewiseLinear.fits(PlainBlock(kind, block.options | options, block.tensors | tensors, norm, {}))
