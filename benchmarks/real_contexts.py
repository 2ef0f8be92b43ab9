"""Contexts and queries from real images and texts that come with packages, so that no network is needed.

Page: docs/claims/assumptions.md
"""

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.text import default_text


def image_crops(count: int, side: int, *, seed: int = 0) -> NDArray[np.uint8]:
    """Square crops at random places of the two photographs that scikit-learn carries.

    Args:
        count: How many, at least 1.
        side: Their height and width in pixels, 1 .. 427.
        seed: Of the places.

    Returns:
        Pixels, `[count, side, side, 3]`.

    Raises:
        InputError: scikit-learn is not installed, or a number out of range.

    Page: docs/claims/assumptions.md
    """
    if count < 1 or not 1 <= side <= 427:
        raise InputError("count", f"= {count}, side = {side}", "at least one crop of 1 .. 427 pixels")
    images = [np.asarray(image) for image in _datasets().load_sample_images().images]
    rng = np.random.default_rng([seed, 8])
    crops = []
    for _ in range(count):
        image = images[rng.integers(len(images))]
        y, x = rng.integers(0, [image.shape[0] - side + 1, image.shape[1] - side + 1])
        crops.append(image[y : y + side, x : x + side])
    return np.stack(crops).astype(np.uint8)


def patch_examples(crops: NDArray[np.uint8], patch: int) -> tuple[Float64Array, Float64Array]:
    """Return the middle patch of each crop as the query, all others as its context; integers, nothing is rounded.

    Args:
        crops: `[T, side, side, 3]`, with an odd number of patches in a row.
        patch: Side of a patch, p; divides the side of the crops.

    Returns:
        Contexts `[T, n, 3 p^2]` with $n = (side / p)^2 - 1$, and queries `[T, 3 p^2]`.

    Raises:
        InputError: Crops that cannot be cut that way.

    Page: docs/claims/assumptions.md

    Example:
        >>> contexts, queries = patch_examples(np.arange(243, dtype=np.uint8).reshape(1, 9, 9, 3), 3)
        >>> contexts.shape, queries.shape, queries[0, :3].tolist()
        ((1, 8, 27), (1, 27), [90.0, 91.0, 92.0])
    """
    side = crops.shape[1]
    if patch < 1 or side % patch or side // patch % 2 == 0 or side == patch:
        raise InputError("patch", f"= {patch}", f"an odd number of patches, more than one, in {side} pixels")
    number = side // patch
    tiles = crops.reshape(len(crops), number, patch, number, patch, -1).swapaxes(2, 3)
    rows = tiles.reshape(len(crops), number**2, -1).astype(np.float64)
    middle = number**2 // 2
    return np.delete(rows, middle, axis=1), rows[:, middle]


def digit_examples(count: int = 1797) -> tuple[Float64Array, Float64Array]:
    """Handwritten digits of 8 x 8 pixels: the quarters as the context, the middle as the query; integers 0 .. 16.

    Args:
        count: How many of the 1797 that scikit-learn carries.

    Returns:
        Contexts `[T, 4, 16]` and queries `[T, 16]`.

    Raises:
        InputError: scikit-learn is not installed, or a number out of range.

    Page: docs/claims/assumptions.md
    """
    images = np.asarray(_datasets().load_digits().images, dtype=np.float64)
    if not 1 <= count <= len(images):
        raise InputError("count", f"= {count}", f"1 .. {len(images)}")
    images = images[:count]
    quarters = images.reshape(count, 2, 4, 2, 4).swapaxes(2, 3).reshape(count, 4, 16)
    return quarters, images[:, 2:6, 2:6].reshape(count, 16)


def text_bytes(count: int, length: int, *, seed: int = 0) -> Int64Array:
    """Pairwise distinct windows of the bytes of CPython's reference text, `pydoc_data.topics`, at random places.

    Args:
        count: How many, at least 1.
        length: Bytes in each, at least 1.
        seed: Of the places.

    Returns:
        Numbers 0 .. 255, `[count, length]`.

    Raises:
        InputError: A number out of range, or more windows than there are.

    Page: docs/claims/assumptions.md

    Example:
        >>> text_bytes(3, 16).shape
        (3, 16)
    """
    text = np.frombuffer(default_text().encode(), dtype=np.uint8)
    if count < 1 or not 1 <= length <= len(text):
        raise InputError("count", f"= {count}, length = {length}", f"at least 1 and at most {len(text)} bytes")
    starts = np.random.default_rng([seed, 9]).permutation(len(text) - length + 1)
    windows: dict[bytes, None] = {}
    for start in starts.tolist():
        windows.setdefault(text[start : start + length].tobytes())
        if len(windows) == count:
            return np.frombuffer(b"".join(windows), dtype=np.uint8).reshape(count, length).astype(np.int64)
    raise InputError("count", f"= {count}, but the text has only {len(windows)} distinct windows of {length} bytes")


def _datasets() -> Any:
    try:
        return importlib.import_module("sklearn.datasets")
    except ImportError as error:
        raise InputError("the images", f"come with scikit-learn, which cannot be imported: {error}") from error
