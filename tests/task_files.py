"""Task and witness files of any words and arrays, as whoever forges them would write them."""

import hashlib

import numpy as np
import safetensors.numpy

from constructions.formats.files import canonical_json
from constructions.formats.tensor_file import load_tensors

ORDER = (
    *("contexts", "counts_indptr", "counts_indices", "counts_data"),
    *("tail_contexts", "tail_counts_indptr", "tail_counts_indices", "tail_counts_data", "labels", "distributions"),
)  # in which the arrays of a task of tokens are hashed


def parts(task):
    """Words and arrays of a task by name."""
    return {**task.words(), **{name: array.copy() for name, array in task.arrays().items()}}


def own(task):
    """The same where labels or distributions are stored, and anything may be put in their place."""
    distributions = (
        {"labels": task.labels.copy()} if task.distributions is None else {"distributions": task.distributions.copy()}
    )
    return {**parts(task), "origin": "own", **distributions}


def read(path):
    """Words and arrays in a file by name."""
    said, arrays = load_tensors(path, dtypes=("I32", "I64", "F64"))
    return {name: value for name, value in said.items() if name not in ("format", "version", "task")} | arrays


def write(path, parts, *, task="tokens", **header):
    """Write words and arrays; `header` is said beside them, or instead of the format."""
    said = {name: value for name, value in parts.items() if not isinstance(value, np.ndarray | np.generic)}
    arrays = {name: np.asarray(parts[name], order="C") for name in parts if name not in said}
    said = {"format": "byheart-task", "version": 4, "task": task, **said, **header}
    path.write_bytes(safetensors.numpy.save(arrays, metadata={"byheart": canonical_json(said)}))


def sha256(parts):
    """The hash that a task of tokens with these words and arrays has."""
    words = {name: value for name, value in parts.items() if not isinstance(value, np.ndarray)}
    digest = hashlib.sha256(canonical_json({"task": "tokens", **words}).encode())
    for name in ORDER:
        if name in parts:
            digest.update(f"{name}:{','.join(map(str, parts[name].shape))};".encode() + parts[name].tobytes())
    return digest.hexdigest()
