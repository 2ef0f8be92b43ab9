r"""ReLU neurons that read one number: between two of their zeros their outputs are lines, which are known exactly.

Page: docs/rigour/certificate.md
"""

from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from flint import arb, arb_mat, fmpz_mat

from verify.arithmetic.integers import Integers, split_matrix
from verify.independent.plain.plain_arrays import PlainArray
from verify.independent.plain.plain_model import PlainBlock

Row = list[arb]


class PiecewiseLinear:
    r"""The outputs of a model that ends with ReLU neurons of one number, $f(x) = c + \sum_j \max(0, w_j x + b_j) o_j$.

    Here $o_j$ is what a neuron adds to all outputs, its row of $W_{out} W_U$, and $c = b_{out} W_U + b_U$. Sort the
    zeros $t_j = -b_j / w_j$ of the neurons with $w_j \ne 0$. Where $x$ has $k$ of them on its left, those neurons
    with $w_j > 0$ and of the others with $w_j < 0$ are on, so that $f(x) = \alpha_k + \beta_k x$ with

    $$ \alpha_k = c + \sum_{w_j = 0} \max(0, b_j) o_j + \sum_{j \text{ on}} b_j o_j, \qquad
       \beta_k = \sum_{j \text{ on}} w_j o_j. $$

    Why it is rigorous: all these are integers over a power of two, and the zeros are sorted as rationals. A ball counts
    as lying between two zeros only if balls prove of their two neurons that they are on or off in all of it.

    Args:
        block: A feed-forward block that `fits`.
        readout: $W_U$, what follows it.
        shift: $b_U$, if there is one.
    """

    def __init__(self, block: PlainBlock, readout: PlainArray, shift: PlainArray | None) -> None:
        slopes, shifts = (block.tensors[name].values if name in block.tensors else None for name in ("W_in", "b_in"))
        assert slopes is not None
        shifts = [0.0] * len(slopes) if shifts is None else shifts
        self.bent = sorted((j for j, w in enumerate(slopes) if w != 0.0), key=lambda j: _zero(slopes[j], shifts[j]))
        self.guesses = [-shifts[j] / slopes[j] for j in self.bent]
        self.neurons = [(arb(slopes[j]), arb(shifts[j])) for j in self.bent]
        read, (rows, width) = Integers.exact([*slopes, *shifts]), block.shape("W_out")
        self.slopes, self.shifts = read.values[: len(slopes)], read.values[len(slopes) :]
        columns = readout.shape[1]
        constant = block.tensors["b_out"].values if "b_out" in block.tensors else [0.0] * width
        written, out = Integers.exact([*block.tensors["W_out"].values, *constant]), Integers.exact(readout.values)
        product = fmpz_mat(rows + 1, width, written.values) * fmpz_mat(width, columns, out.values)
        *self.outputs, constant = split_matrix(product, columns)
        # All at one scale, which the shift may have to be brought to, or all the others to that of the shift.
        last = Integers.exact([0.0] * columns if shift is None else shift.values)
        products = read.scale + written.scale + out.scale
        self.scale = max(products, last.scale)
        self.finer = self.scale - products
        self.constant = [
            (n << read.scale + self.finer) + (b << self.scale - last.scale)
            for n, b in zip(constant, last.values, strict=True)
        ]

    @staticmethod
    def fits(block: PlainBlock) -> bool:
        """Whether a block writes a piecewise linear function of the one number that it reads."""
        relu = block.kind == "feed-forward" and block.options["activation"] == "relu"
        return relu and block.reads == 1 and block.norm is None and not block.options["skip"] and block.is_plain

    def __call__(self, numbers: Sequence[arb]) -> list[Row | None]:
        """The outputs at each number, balls; nothing where it may lie on both sides of a zero."""
        result: list[Row | None] = [None] * len(numbers)
        members: dict[int, list[int]] = {}
        for i, x in enumerate(numbers):
            piece = self._piece(x)
            if piece is not None:
                members.setdefault(piece, []).append(i)
        one = arb(1)
        for piece, line in self._lines(members):
            chosen = members[piece]
            entries = (arb_mat(len(chosen), 2, [n for i in chosen for n in (one, numbers[i])]) * line).entries()
            for place, i in enumerate(chosen):
                result[i] = entries[place * line.ncols() : (place + 1) * line.ncols()]
        return result

    def _piece(self, x: arb) -> int | None:
        """How many zeros lie on the left of all of x, if the others lie on its right; a float says where to look."""
        k = bisect(self.guesses, float(x.mid()))
        surely = (k == 0 or self._right_of(k - 1, x)) and (k == len(self.neurons) or self._left_of(k, x))
        return k if surely else None

    def _right_of(self, place: int, x: arb) -> bool:
        slope, shift = self.neurons[place]
        value = slope * x + shift
        return value >= 0 if slope > 0 else value <= 0

    def _left_of(self, place: int, x: arb) -> bool:
        slope, shift = self.neurons[place]
        value = slope * x + shift
        return value <= 0 if slope > 0 else value >= 0

    def _lines(self, pieces: Iterable[int]) -> Iterator[tuple[int, arb_mat]]:
        """The rows alpha and beta of each of these pieces, exact."""
        on = {j for j, w in enumerate(self.slopes) if w < 0 or (w == 0 and self.shifts[j] > 0)}
        alpha, beta = list(self.constant), [0] * len(self.constant)
        for j in on:
            self._turn(alpha, beta, j, 1)
        done = 0
        for piece in sorted(pieces):
            for j in self.bent[done:piece]:
                self._turn(alpha, beta, j, 1 if self.slopes[j] > 0 else -1)
            done = piece
            yield piece, arb_mat(2, len(alpha), [arb((n, -self.scale)) for n in (*alpha, *beta)])

    def _turn(self, alpha: list[int], beta: list[int], j: int, sign: int) -> None:
        """Turn a neuron on (1) or off (-1)."""
        shift, slope = sign * self.shifts[j] << self.finer, sign * self.slopes[j] << self.finer
        for place, weight in enumerate(self.outputs[j]):
            alpha[place] += shift * weight
            beta[place] += slope * weight


def _zero(slope: float, shift: float) -> Fraction:
    return -Fraction(shift) / Fraction(slope)
