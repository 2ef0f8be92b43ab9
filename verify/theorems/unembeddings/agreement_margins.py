"""Certify margins of words written as indicators, by counting the places where two words agree.

Page: docs/claims/unembeddings.md
"""

from fractions import Fraction
from itertools import combinations
from math import comb, prod

import numpy as np

from constructions.numeric.arrays import Int64Array, IntegerArray
from verify.theorems.unembeddings.margins import Margins, require_exact

_ROWS = 4096  # that are read at a time
_WORK = 2**34  # words times sets of places that are looked at
_TABLE = 2**24  # entries of a table of words


def agreement_margins(vectors: IntegerArray) -> Margins | None:
    """Return the margins of 0-1 rows with a single 1 in each of n disjoint ranges of coordinates.

    The inner product of two rows is the number of ranges in which their ones are at the same place. It is below k + 1
    for every two rows if and only if for every k + 1 ranges no two rows have all their ones there at the same places.
    This is counted, set by set, for k = 0, 1, ... until it holds. Nothing is believed of how the words were made.

    Args:
        vectors: The rows, `[N, d]`, integers.

    Returns:
        The margins; `least` is attained, `largest` is n (no agreement), attained if the first row shows it. `None` if
        the rows are not of this shape, or there are too many sets of ranges.

    Raises:
        InputError: Not an integer matrix with N >= 2, or entries too large.

    Example:
        >>> found = agreement_margins(np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0]]))
        >>> found.least, found.largest, found.largest_product
        (1, 2, 1)
    """
    require_exact(vectors, vectors)
    words = _words(vectors)
    if words is None:
        return None
    count, places = words.shape
    agreed = _largest_agreement(words)
    if agreed is None:
        return None
    fewest = int((words[1:] == words[0]).sum(axis=1).min())
    return Margins(
        rows=count,
        least=places - agreed,
        largest=places,
        least_product=0,
        largest_product=agreed,
        coherence_squared=Fraction(agreed, places) ** 2,
        attained=fewest == 0,
        method=f"agreements of words of {places} letters, counted",
    )


def _words(vectors: IntegerArray) -> Int64Array | None:
    """Return the index of the 1 of each row within each range, `[N, n]`."""
    places = np.count_nonzero(vectors[0])
    letters = []
    for start in range(0, len(vectors), _ROWS):
        part = vectors[start : start + _ROWS]
        if not places or not ((part == 0) | (part == 1)).all() or not (np.count_nonzero(part, axis=1) == places).all():
            return None
        letters.append(np.nonzero(part)[1].reshape(len(part), places))
    words = np.concatenate(letters)
    first, last = words.min(axis=0), words.max(axis=0)
    return words - first if (last[:-1] < first[1:]).all() else None


def _largest_agreement(words: Int64Array) -> int | None:
    count, places = words.shape
    letters = [int(n) for n in words.max(axis=0) + 1]
    for size in range(1, places + 1):
        if comb(places, size) * count > _WORK:
            return None
        for chosen in combinations(range(places), size):
            different = _all_different(words, letters, chosen)
            if different is None:
                return None
            if not different:
                break
        else:
            return size - 1
    return places


def _all_different(words: Int64Array, letters: list[int], chosen: tuple[int, ...]) -> bool | None:
    """Tell whether no two words agree at all chosen places; `None` if int64 cannot number them."""
    different = prod(letters[place] for place in chosen)
    if different < len(words):
        return False
    if different >= 2**62:
        return None
    numbers = words[:, chosen[0]].copy()
    for place in chosen[1:]:
        numbers *= letters[place]
        numbers += words[:, place]
    if different <= _TABLE:
        return int(np.bincount(numbers).max()) == 1
    return len(np.unique(numbers)) == len(numbers)
