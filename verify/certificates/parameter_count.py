"""Count the numbers stored in a network's file, and those that define it, proved on its weights.

Page: docs/claims/parameters.md
"""

import json
import math
from pathlib import Path

from flint import fmpq, fmpq_mat

from constructions.errors import FileFormatError, HypothesisError
from constructions.model.model import Model
from constructions.model.shapes import dana_tensors
from constructions.numeric.arrays import Float64Array

_PREFIX = 8  # bytes that hold the length of the header


def stored_parameters(path: Path) -> int:
    """Count the entries of all tensors of a safetensors file.

    The header says the shape of every tensor, and the bytes that follow must be as many float64 numbers.

    Args:
        path: The file.

    Returns:
        The number of entries.

    Raises:
        FileFormatError: The file is no such file, or its data are not as many numbers.

    Example:
        >>> import tempfile
        >>> from constructions.heads_of_theorem_1.left_out import sharp_instance, violating_front_end
        >>> network = sharp_instance(violating_front_end(), norm=200.0, occurrences=33).model
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     network.save(Path(folder) / "model.safetensors")
        ...     stored_parameters(Path(folder) / "model.safetensors")
        14
    """
    data = Path(path).read_bytes()
    length = int.from_bytes(data[:_PREFIX], "little")
    try:
        header = json.loads(data[_PREFIX : _PREFIX + length])
        tensors = [tensor for name, tensor in header.items() if name != "__metadata__"]
        entries = sum(math.prod(map(_size, tensor["shape"])) for tensor in tensors)
        formats = {tensor["dtype"] for tensor in tensors}
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise FileFormatError(f"{path} is not a safetensors file: {error}") from error
    if len(data) != _PREFIX + length + 8 * entries or not formats <= {"F64"}:
        raise FileFormatError(f"{path} has {len(data)} bytes, expected {entries} float64 numbers after its header")
    return entries


def shared_attention_parameters(network: Model) -> int:
    r"""Count the defining numbers of a network after proving that its attention is $\lambda_h u^\top v$ in every head.

    The products $W_Q^h W_K^{h\top}$ are exact rational matrices. They have this form if and only if the $d^2$ entries
    of each, as the rows of a matrix, have rank at most 1, and one that is not 0 has rank 1 itself: decided in rational
    arithmetic. Then $u, v, \lambda$, that is $2 d + H$ numbers, replace all of `W_Q` and `W_K`.

    Args:
        network: The weights.

    Returns:
        The number of entries of the other tensors, plus $2 d + H$.

    Raises:
        HypothesisError: The attention is not of this form.

    Example:
        >>> from constructions.heads_of_theorem_1.parameters import matched_memories
        >>> _, generic, shared = matched_memories(d_vocab=3, n_ctx=2, d_model=3, d_head=2, seed=0)
        >>> shared_attention_parameters(shared)
        69
        >>> shared_attention_parameters(generic)
        Traceback (most recent call last):
        ...
        constructions.errors.HypothesisError: Shared attention needs W_Q^h W_K^h = lambda_h u v in every head, but ...
    """
    products = [_exact(query) * _exact(key).transpose() for query, key in zip(network.W_Q, network.W_K, strict=True)]
    rows = fmpq_mat([product.entries() for product in products])
    largest = max((product.rank() for product in products), default=0)
    if rows.rank() > 1 or largest > 1:
        raise HypothesisError(
            "Shared attention",
            "W_Q^h W_K^h = lambda_h u v in every head",
            f"they span {rows.rank()} dimensions, and have ranks up to {largest}",
        )
    others = sum(tensor.size for name, tensor in dana_tensors(network).items() if name not in ("W_Q", "W_K"))
    return others + 2 * network.d_model + network.n_heads


def _size(side: object) -> int:
    if not isinstance(side, int) or side < 0:
        raise ValueError(f"a tensor has the side {side!r}")
    return side


def _exact(matrix: Float64Array) -> fmpq_mat:
    rows = matrix.tolist()
    return fmpq_mat([[fmpq(*entry.as_integer_ratio()) for entry in row] for row in rows])
