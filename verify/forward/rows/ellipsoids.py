r"""Ellipsoids about 0, as sizes and Gram matrices: what is beyond the generators of a row, in the directions it has.

One is $\{u : \langle u, v\rangle^2 \le t^2 \langle v, Cv\rangle \text{ for all } v\}$ with a size $t$ and a matrix $C$
of trace about 1. Of a ball or of segments that a map has changed it knows the directions, where a ball about them would
be as wide in all.

Page: docs/rigour/runs.md (Lemma R15 (e) and (g))
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from constructions.numeric.arrays import Int64Array
from verify.arithmetic.rounding import UNIT, Floats
from verify.forward.arithmetic import growth
from verify.forward.map_norms import raised, row_norms

_LEAST = 2.0**-200  # added to a size that is divided by; its square to a trace
_WIDEST = 2**11  # of a Gram matrix whose fourth power is formed


@dataclass(frozen=True)
class Ellipsoids:
    """One ellipsoid about 0 for each row.

    Args:
        size: `[P]`; infinite where nothing is known.
        gram: `[P, d, d]`, or `[d, d]` for all rows; symmetric, of trace about 1.
    """

    size: Floats
    gram: Floats

    @classmethod
    def of_balls(cls, radius: Floats, width: int) -> "Ellipsoids":
        """Return balls of these radii `[P]` as ellipsoids."""
        return cls(raised(radius * np.sqrt(float(width))), np.eye(width) / width * (1.0 + 2.0**-40))

    @classmethod
    def of_generators(cls, linear: Floats, width: int) -> "Ellipsoids":
        """Return one ellipsoid about the sums of all blocks of generators `[P, symbols, d]` (Lemma R15 (e))."""
        count, symbols, d = linear.shape
        blocks = linear.reshape(count, symbols // width, width, d)
        sizes = np.sqrt(np.einsum("pbsi,pbsi->pb", blocks, blocks)) + _LEAST
        total = sizes.sum(axis=1) + _LEAST
        shares = 1.0 / np.sqrt(sizes) / np.sqrt(total)[:, None]  # the products of both may overflow
        scaled = (blocks * shares[:, :, None, None]).reshape(linear.shape)
        return cls(raised(total), _raised_gram(np.matmul(scaled.transpose(0, 2, 1), scaled), symbols))

    @classmethod
    def of_images(cls, radius: Floats, W: Floats) -> "Ellipsoids":
        """Return ellipsoids about the images under a map `[n, d]` of balls of these radii `[P]`."""
        gram = W.T @ W
        # The size is that much larger than the Frobenius norm, so that its square is above what is divided by.
        size = raised(radius * (row_norms(W.reshape(-1)) + _LEAST))
        return cls(size, _raised_gram(gram / (np.trace(gram) + _LEAST * _LEAST), len(W)))

    @classmethod
    def of_segments(cls, halves: Floats, directions: Floats) -> "Ellipsoids":
        r"""Return ellipsoids about all sums $\sum_i s_i h_i v_i$ with $|s_i| \le 1$ (Lemma R15 (g)).

        Args:
            halves: $h_i \ge 0$, `[..., n]`.
            directions: $v_i$, `[n, d]`, or `[..., n, d]`.
        """
        lengths = row_norms(directions)
        sizes = halves * lengths
        total = sizes.sum(axis=-1) + _LEAST
        weights, unit = np.sqrt(sizes / total[..., None]), directions / lengths[..., None]
        if unit.ndim > 2:
            scaled = unit * weights[..., None]
            gram = np.matmul(np.swapaxes(scaled, -1, -2), scaled)
        else:
            gram = np.empty((len(halves), unit.shape[1], unit.shape[1]))
            for row, of_row in enumerate(weights):  # the directions of all would not fit the memory
                scaled = unit * of_row[:, None]
                gram[row] = scaled.T @ scaled
        return cls(raised(total), _raised_gram(gram, directions.shape[-2]))

    @classmethod
    def sums(cls, parts: "Sequence[Ellipsoids]") -> "Ellipsoids":
        """Return one ellipsoid about the sums of all parts (Lemma R15 (e))."""
        total = np.sum([part.size for part in parts], axis=0) + _LEAST
        weighted = [(part.size / total)[:, None, None] * part.gram for part in parts]
        return cls(raised(total), _raised_gram(np.asarray(sum(weighted)), len(parts)))

    def taken(self, chosen: Int64Array | slice) -> "Ellipsoids":
        """Return those of some of the rows."""
        return Ellipsoids(self.size[chosen], self.gram[chosen] if self.gram.ndim > 2 else self.gram)

    def generators(self) -> tuple[Floats, Floats]:
        """Return generators `[..., d, d]`, and what is beyond them: 0, or infinity where nothing is known."""
        known = np.isfinite(self.gram).all(axis=(-2, -1)) & np.isfinite(self.size)
        gram = np.where(known[..., None, None], self.gram, np.eye(self.gram.shape[-1]))
        factor = np.linalg.cholesky(_raised_gram(gram, self.gram.shape[-1]))
        linear = np.swapaxes(factor, -1, -2) * np.where(known, self.size, 0.0)[..., None, None]
        return np.asarray(linear, dtype=np.float64), np.where(known, 0.0, np.inf)

    def of_each_head(self, width: int) -> tuple[Floats, Floats]:
        """Return generators of the ellipsoids of all heads, side by side: a block of `width` symbols for each.

        Returns:
            The generators `[P, H * width, H, n]`, and what is beyond them, `[P, H]`, as `generators` does.
        """
        linear, lost = self.generators()
        count, heads, _, n = linear.shape
        blocks = np.zeros((count, heads, width, heads, n))  # all but n symbols of a block move nothing
        for head in range(heads):
            blocks[:, head, :n, head] = linear[:, head]
        return blocks.reshape(count, heads * width, heads, n), lost


def _raised_gram(gram: Floats, terms: int) -> Floats:
    """Add to a Gram matrix, of trace 1 and of sums of so many products, more than float64 rounds in it."""
    return gram + max(2.0**-36, (terms + gram.shape[-1] + 32) * 2.0**-50) * np.eye(gram.shape[-1])


def in_blocks_of(width: int, linear: Floats, narrower: int) -> Floats:
    """Return generators `[P, symbols, d]` in blocks of `width` symbols, of which those not used yet move nothing."""
    count, symbols, d = linear.shape
    if narrower == width:
        return linear
    blocks = np.zeros((count, symbols // narrower, width, d))
    blocks[:, :, :narrower] = linear.reshape(count, symbols // narrower, narrower, d)
    return blocks.reshape(count, symbols // narrower * width, d)


def frobenius_norms(linear: Floats, width: int) -> Floats:
    """Return the sums over blocks of symbols, the second axis, of the norms along symbols and the last axis."""
    blocks = linear.reshape(len(linear), linear.shape[1] // width, width, *linear.shape[2:])
    sizes = np.sqrt(np.einsum("pbs...i,pbs...i->pb...", blocks, blocks)).sum(axis=1)
    return sizes * (1.0 + 2.0 * growth(UNIT, width * linear.shape[-1] + 8.0))


def spectral_norms(linear: Floats, width: int) -> Floats:
    """Return the sums over blocks of symbols, the second axis, of bounds of their spectral norms (Lemma R15 (h))."""
    most = frobenius_norms(linear, width)
    if min(width, linear.shape[-1]) == 1 or max(width, linear.shape[-1]) > _WIDEST:
        return most
    blocks = linear.reshape(len(linear), linear.shape[1] // width, width, *linear.shape[2:])
    if linear.ndim > 3:
        blocks = blocks.transpose(0, 1, 3, 2, 4)
    if width > linear.shape[-1]:
        blocks = np.swapaxes(blocks, -1, -2)
    trace = np.einsum("...si,...si->...", blocks, blocks)
    gram = np.matmul(blocks, np.swapaxes(blocks, -1, -2)) / np.where(trace > 0.0, trace, 1.0)[..., None, None]
    square = np.matmul(gram, gram)
    fourth = np.matmul(square, square)
    largest = (np.sqrt(np.einsum("...ij,...ij->...", fourth, fourth)) + 2.0**-36) ** 0.25
    share = np.where(trace > 2.0**-900, np.fmin(largest, 1.0), 1.0)  # of the trace; below, the products underflow
    return np.fmin(most, raised(np.sqrt(trace * share) * (1.0 + 2.0**-30)).sum(axis=1) * (1.0 + 2.0**-30))
