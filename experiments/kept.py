"""Trained weights in a folder: a file for each point, named by its key, or one for all points of a figure.

Training writes the former, so that nothing is lost when it stops. The latter is what lies in ``docs/trained``: its
tensors are named ``KEY/TENSOR``, and its metadata has what each point says of itself.

Page: docs/experiments.md
"""

import os
import re
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.formats.tensor_file import load_tensors, save_tensors

Arrays = dict[str, NDArray[np.float32]]

_KEY = re.compile("[0-9a-f]{24}")


class Kept:
    """The weights in a folder, by the keys of their points. Nothing is believed of them.

    Args:
        folder: It need not be there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __contains__(self, key: str) -> bool:
        return os.path.lexists(self._own(key)) or key in self._of_figures

    def file(self, key: str) -> Path:
        """Where the weights of a point are, or would be written."""
        own = self._own(key)
        return own if os.path.lexists(own) or key not in self._of_figures else self._of_figures[key][0]

    def load(self, key: str) -> tuple[Any, Arrays]:
        """Return what the weights of a point say of themselves, and the tensors.

        Raises:
            FileFormatError: There is no file, or none of weights.
        """
        own = self._own(key)
        if os.path.lexists(own) or key not in self._of_figures:
            return load_tensors(own, dtypes=("F32",))
        _, about, arrays = self._of_figures[key]
        return about, arrays

    def save(self, key: str, arrays: Mapping[str, NDArray], about: Mapping[str, object]) -> None:
        """Write the weights of a point to a file of its own."""
        save_tensors(self._own(key), arrays, metadata=about)

    def _own(self, key: str) -> Path:
        return self.folder / f"{key}.safetensors"

    @cached_property
    def _of_figures(self) -> dict[str, tuple[Path, Any, Arrays]]:
        """The points in files of figures, as they were when one was first asked for."""
        found = {}
        for file in sorted(self.folder.glob("*.safetensors")):
            if _KEY.fullmatch(file.stem) or not file.is_file():
                continue
            points, arrays = load_tensors(file, dtypes=("F32",))
            if not isinstance(points, dict):
                raise InputError(file, "holds no points", "a file of weights by the keys of their points")
            of: dict[str, Arrays] = {key: {} for key in points}
            for name, array in arrays.items():
                key, _, tensor = name.partition("/")
                if key not in of:
                    raise InputError(file, f"holds the tensor {name!r}", "KEY/TENSOR, with the key of a point")
                of[key][tensor] = array
            found |= {key: (file, points[key], own) for key, own in of.items()}
        return found


def save_figure(folder: Path, figure: str, keys: Collection[str], kept: Kept) -> None:
    """Write the weights of some points of a figure to one file in a folder.

    Args:
        folder: Where.
        figure: Its name, that of the file.
        keys: Of the points.
        kept: Has their weights.
    """
    found = {key: kept.load(key) for key in sorted(keys)}
    arrays = {f"{key}/{name}": array for key, (_, own) in found.items() for name, array in own.items()}
    save_tensors(folder / f"{figure}.safetensors", arrays, metadata={key: about for key, (about, _) in found.items()})
