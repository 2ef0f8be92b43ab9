r"""Upper bounds of the norms of a model's maps, each computed once: they turn errors of rows into those of images.

A map is met by the rows of the stream as they are, or after a normalization $y = n(x) \odot w + b$. There an error is
the sum of three: one that is the difference of two values of $n$, hence orthogonal to the ones vector for layer
normalization, one of the normalized rows before the gain, and one after it. They meet
$P\,\mathrm{diag}(w) W$ with $P = I - 11^\top/d$, $\mathrm{diag}(w) W$, and $W$.

Page: docs/rigour/forward.md
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from flint import arb

from constructions.errors import InputError
from constructions.model.blocks import Normalization
from constructions.model.model import Model
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import Floats, gamma
from verify.arithmetic.sums import total
from verify.linear_algebra.norms import float_above, frobenius
from verify.linear_algebra.singular_values import enclose_spectral_norm

FLOOR = 2.0**-400  # added to every norm and radius: none underflows, and each covers what underflows elsewhere
SLACK = 1.0 + 2.0**-40  # outweighs 4096 roundings of non-negative numbers (Lemma F1)
_SMALL = 512  # entries of a map whose norms are kept after the walk: in all at most 32 MiB
_COLUMNS = 4096  # of a wide map that are worked on together
_OF_MODELS: WeakKeyDictionary[Model, dict[tuple[Any, ...], Any]] = WeakKeyDictionary()  # what is known of each model


@dataclass(frozen=True)
class MapNorms:
    """Upper bounds of the norms of one map, or of an array of maps: of each head, or of each column.

    Args:
        moved: Of P diag(w) W after layer normalization, of diag(w) W after another, of W without one.
        slipped: Of diag(w) W; of W without a normalization.
        plain: Of W.
        frobenius: The Frobenius norm of W.
    """

    moved: Floats
    slipped: Floats
    plain: Floats
    frobenius: Floats


class Norms:
    """The norms of the maps of one model, computed when they are first asked for, and kept as long as the model is.

    Args:
        model: The model, in float64.

    Raises:
        InputError: The model is rational.

    Example:
        >>> from constructions.model.blocks import FeedForward
        >>> neurons = FeedForward(3.0 * np.eye(2), np.eye(2), activation="relu")
        >>> model = Model(blocks=(neurons,), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.eye(2))
        >>> norms = Norms(model).of(neurons.W_in[None])
        >>> bool(3 <= norms.plain[0] < 3.0001 and 18**0.5 <= norms.frobenius[0] < 4.2427)
        True
    """

    def __init__(self, model: Model) -> None:
        if model.is_rational:
            raise InputError("the model", "is rational", "float64: round it first")
        self.model = model
        self._known = _OF_MODELS.setdefault(model, {})

    def of(self, maps: Floats, norm: Normalization | None = None) -> MapNorms:
        """Spectral norms of a stack of maps `[maps, n, p]`, behind `norm` where one is given; each entry `[maps]`."""
        return self._once("spectral", maps, norm, _spectral)

    def of_columns(self, matrix: Floats, norm: Normalization | None = None) -> MapNorms:
        """Euclidean norms of the columns of `[n, p]`, behind `norm` where one is given; each entry `[p]`."""
        return self._once("columns", matrix, norm, _of_columns)

    def side_by_side(self, maps: Floats) -> Floats:
        """Return the maps `[maps, n, p]` as one, `[n, maps * p]`."""
        return self._once("side by side", maps, None, _side_by_side)

    def rows_of(self, maps: Floats) -> Floats:
        """Euclidean norms of the rows of a stack of maps `[maps, n, p]`, `[n, maps]`."""
        return self._once("rows", maps, None, lambda array, _: row_norms(array).T)

    def _once(self, kind: str, array: Floats, norm: Normalization | None, compute: Any) -> Any:
        # Slices of a tensor are made anew each time; the memory that they show is not.
        key = (kind, array.__array_interface__["data"][0], array.shape, id(norm))
        if key not in self._known:
            # What the key names must not be freed, or something else may come to stand there.
            self._known[key] = (compute(array, norm), array, norm)
        return self._known[key][0]


def share_norms(model: Model, other: Model) -> None:
    """Let two models share what is known of maps that are the same arrays in both, as where one is a part of the other.

    Example:
        >>> one = np.ones((1, 1))
        >>> first = Model(blocks=(), W_U=one, W_E=one, W_pos=one)
        >>> second = Model(blocks=(), W_U=2.0 * one, W_E=one, W_pos=one)
        >>> share_norms(second, first)
        >>> Norms(first).of_columns(one) is Norms(second).of_columns(one)
        True
    """
    _OF_MODELS[model] = _OF_MODELS.setdefault(other, {})


def row_norms(x: Floats) -> Floats:
    """Upper bounds of the Euclidean norms along the last axis; at least 2^-400 (Lemma T0)."""
    squares = np.einsum("...i,...i->...", x, x)
    return np.sqrt(squares) * (1.0 + 2.0 * gamma(x.shape[-1] + 8)) + FLOOR


def raised(radius: Floats) -> Floats:
    """Above every non-negative number that was computed as `radius` with at most 4000 roundings on any path."""
    return radius * SLACK + FLOOR


def _side_by_side(maps: Floats, _: Normalization | None) -> Floats:
    return np.ascontiguousarray(maps.transpose(1, 0, 2)).reshape(maps.shape[1], maps.shape[0] * maps.shape[2])


def _spectral(maps: Floats, norm: Normalization | None) -> MapNorms:
    kind, gain = (None, np.ones(0)) if norm is None else (norm.kind, norm.w)
    parts = [
        _norms_of(one, kind, gain) if one.size > _SMALL else _known(one.shape, one.tobytes(), kind, gain.tobytes())
        for one in np.asarray(maps, dtype=np.float64)
    ]
    moved, slipped, plain, frobenius_norm = np.array(parts, dtype=np.float64).reshape(len(parts), 4).T
    return MapNorms(moved, slipped, plain, frobenius_norm)


@lru_cache(maxsize=2**13)
def _known(shape: tuple[int, ...], entries: bytes, kind: str | None, gain: bytes) -> tuple[float, float, float, float]:
    """Return the norms of a small map, by its entries: every walk over a model shares them, and over the same
    weights.
    """
    return _norms_of(np.frombuffer(entries).reshape(shape), kind, np.frombuffer(gain))


def _norms_of(matrix: Floats, kind: str | None, gain: Floats) -> tuple[float, float, float, float]:
    plain, whole = _spectral_norm(Enclosure.exact(matrix)), float_above(frobenius(matrix))
    if kind is None:
        return plain, plain, plain, whole
    gained = Enclosure.exact(gain[:, None]) * matrix
    if kind == "rms":
        moved = _spectral_norm(gained)
        return moved, moved, plain, whole
    sums = total(gained, 0)
    moved = _spectral_norm(gained - sums / float(len(matrix)))
    # diag(w) W = P diag(w) W + 1 1^T diag(w) W / d, and the second has the norm |1^T diag(w) W| / sqrt(d).
    rest = float_above(frobenius(sums.magnitude()) / arb(len(matrix)).sqrt())
    return moved, float((moved + rest) * SLACK), plain, whole


def _spectral_norm(x: Enclosure) -> float:
    return float(enclose_spectral_norm(x).upper()) + FLOOR


def _of_columns(matrix: Floats, norm: Normalization | None) -> MapNorms:
    moved, slipped, plain = np.empty((3, matrix.shape[1]))
    for start in range(0, matrix.shape[1], _COLUMNS):
        part = slice(start, start + _COLUMNS)
        columns = np.ascontiguousarray(matrix[:, part].T)
        plain[part] = moved[part] = slipped[part] = row_norms(columns)
        if norm is not None:
            gained = Enclosure.exact(norm.w) * columns
            slipped[part] = moved[part] = row_norms(gained.magnitude())
            if norm.kind == "layer":
                mean = total(gained, 1) / float(len(matrix))
                moved[part] = row_norms((gained - mean.reshape(len(columns), 1)).magnitude())
    return MapNorms(moved, slipped, plain, plain)
