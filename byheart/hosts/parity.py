"""How far what a host computes is from the exact logits, and what it still holds; and the file that says so.

In ``parity.json`` stands what exported weights are written for, what was measured of them, and the hash of each file.

Pages: docs/hosts.md, docs/specification.md
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from byheart.hosts.host import HOSTS, Host, host_named
from constructions.errors import ByheartError, FileFormatError
from constructions.formats.files import canonical_json, parse_json, read_text, write_atomically
from constructions.model.model import Model
from constructions.model.shapes import is_dana_network, is_mahdavi_layer
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.any_task import ListedTask
from constructions.tasks.criterion import TOLERANCE
from constructions.tasks.task import Task
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.exact_json import expect
from verify.arithmetic.rounding import down, up
from verify.certificates.certificate import file_sha256
from verify.divergence.computed import computed_losses, computed_memorized
from verify.edits.certificate import LARGEST_FILE
from verify.forward.logits import enclose_logits, logit_chunks
from verify.forward.walk import contexts_of, part_of
from verify.runs.formats import FLOAT32, FLOAT64
from verify.runs.in_reals import InReals
from verify.runs.integer_rows import known_logits
from verify.runs.rounding import rounding_bound

PARITY_FILE, PROOF_FOLDER = "parity.json", "proof"
MEASURED = "measured"
"""Its block of what was measured, which nobody proves again."""

_NAMES = ("host", "written_as", "dtype")  # by which the other files are made
_PYTHON_MAKES = "__pycache__"

EXP_ULPS = 20.0
"""Assumed accuracy of the exponential in the softmax of a host, in units in the last place (`docs/rigour/runs.md`)."""

LARGEST_FLOAT64_DIFFERENCE = 1e-12
"""Of the largest logit: what a host may be off by in float64 where no rounding bound is known."""

MOST_PRODUCTS = 2**29
"""Of a host, parameters times tokens, up to which all contexts are run; beyond, so many as that allows."""

_LEAST_DRAWN = 256
_SEED = 0  # of the contexts that are drawn

_AFFORDABLE, _BITS = 2**25, 128  # products of balls, about as many seconds as there are millions; and their precision
_FORMATS = {"float64": FLOAT64, "float32": FLOAT32}

Read = TypeVar("Read")


@dataclass(frozen=True)
class Parity:
    """One run in a host beside the exact logits of the original float64 weights.

    Args:
        largest_logit: Largest absolute value of an exact logit, as a figure.
        largest_difference: Upper bound of |logit of the host - exact logit|.
        relative_difference: Their quotient.
        contexts: How many contexts were run: all, or so many that were drawn.
        memorized: How many of these are memorized (`constructions.tasks.criterion.Criterion`) by what the host
            computes.
        mean_loss: Mean over these of KL(target || softmax(logits of the host)), nats, or of the largest distance
            from a value; infinite if a logit is not finite.
        largest_bound: Largest difference that rounding explains by the a-priori bound; none where no bound is known.
        agrees: Whether every difference is within that bound; without one, in float64, whether the relative difference
            is at most 1e-12; none where neither says anything.
    """

    largest_logit: float
    largest_difference: float
    relative_difference: float
    contexts: int
    memorized: int
    mean_loss: float
    largest_bound: float | None
    agrees: bool | None

    def summary(self) -> dict[str, object]:
        """Return the fields for JSON, which has no infinity: figures that are not finite become `None`."""
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in vars(self).items()
        }


def drawn(model: Model, task: Task) -> Task:
    """Return the contexts that a host is run on: all, or of very much some that are drawn, always the same ones.

    Args:
        model: The weights.
        task: The contexts.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> task, one = enumerated_task(10, 2), np.ones((1, 1))
        >>> model = Model(blocks=(), W_U=one, W_E=one, W_pos=np.ones((2, 1)))
        >>> drawn(model, task) is task
        True
    """
    number = max(_LEAST_DRAWN, MOST_PRODUCTS // (task.n_ctx * model.parameters))
    if number >= task.n_contexts:
        return task
    return task.taken(np.sort(np.random.default_rng(_SEED).choice(task.n_contexts, number, replace=False)))


def parity(
    model: Model,
    task: ListedTask,
    runs: dict[str, Float64Array],
    *,
    dtype: str,
    exact: bool,
    tolerance: float = TOLERANCE,
) -> dict[str, Parity]:
    r"""Compare what a host has computed with the exact logits, which are enclosed once for all of its runs.

    Args:
        model: The original weights, in float64.
        task: The contexts that were run, and their targets.
        runs: Logits of the host, `[T, d_vocab_out]`, by what ran them.
        dtype: The type that the host computes in.
        exact: Whether the scores of the host are the original ones but for powers of two: otherwise no a-priori bound
            is known.
        tolerance: What the divergence of a memorized distribution, or a memorized value, may be.

    Returns:
        The comparisons, by what ran them.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> task = table_task("a,b\nb,a\n", target="labels")
        >>> swap = Model(blocks=(), W_U=np.eye(2)[::-1], W_E=np.eye(2), W_pos=np.zeros((1, 2)))
        >>> found = parity(swap, task, {"here": np.eye(2)[::-1]}, dtype="float64", exact=True)["here"]
        >>> found.memorized, found.largest_difference < 1e-300, found.agrees
        (2, True, True)
    """
    size = task.n_contexts
    bounds = _rounding(model, task, dtype) if exact else None
    largest = 2.0**-900  # where all logits are 0; what bounds are rounded by is far smaller
    differences = {name: 0.0 for name in runs}
    within = {name: True for name in runs}
    limit = 0.0
    for rows, enclosed in sharpest_logits(model, task):
        radius = np.broadcast_to(enclosed.radius, enclosed.shape)
        largest = max(largest, float(np.abs(enclosed.midpoint).max(initial=0.0)))
        if bounds is not None:
            limits = down(radius + bounds[rows, None])
            limit = max(limit, float(up(radius + bounds[rows, None]).max(initial=0.0)))
        for name, logits in runs.items():
            part = logits[rows]
            off = np.where(np.isfinite(part), up(np.abs(part - enclosed.midpoint)), math.inf)
            differences[name] = max(differences[name], float(up(off + radius).max(initial=0.0)))
            if bounds is not None:
                within[name] &= bool(np.all(off <= limits))  # pyright: ignore[reportPossiblyUnboundVariable]
    judged = bounds is not None and math.isfinite(limit)
    found = {}
    for name, logits in runs.items():
        relative = differences[name] / largest
        agrees = within[name] if judged else relative <= LARGEST_FLOAT64_DIFFERENCE if dtype == "float64" else None
        found[name] = Parity(
            largest_logit=largest,
            largest_difference=differences[name],
            relative_difference=relative,
            contexts=size,
            memorized=int(np.count_nonzero(computed_memorized(logits, task, slice(size), tolerance))),
            mean_loss=float(np.mean(computed_losses(logits, task, slice(size)))),
            largest_bound=limit if judged else None,
            agrees=agrees,
        )
    return found


def sharpest_logits(model: Model, task: ListedTask) -> Iterator[tuple[Int64Array, Enclosure]]:
    """Enclose the exact logits as sharply as is affordable: the radius adds to a difference.

    Where nothing is rounded they are known best, and soonest; balls grow through dozens of blocks.

    Args:
        model: The weights, in float64.
        task: The contexts.

    Yields:
        Places of some contexts `[n]` and their logits `[n, d_vocab_out]`; each context once, in any order.
    """
    size = task.n_contexts
    left = np.ones(size, dtype=bool)
    if model.reads_tokens:
        for part in known_logits(model, contexts_of(model, task.inputs), InReals()):
            known = np.isfinite(part.logits.radius[part.which]).all(axis=1)
            left[part.contexts[known]] = False
            yield part.contexts[known], part.logits[part.which[known]]
    rest = np.flatnonzero(left)
    if not len(rest):
        return
    inputs = part_of(task.inputs, rest)
    if len(rest) * model.parameters <= _AFFORDABLE:
        yield rest, enclose_logits(model, inputs, precision=_BITS)
        return
    for start, enclosed in logit_chunks(model, inputs):
        yield rest[start : start + len(enclosed)], enclosed


def _rounding(model: Model, task: ListedTask, dtype: str) -> Float64Array | None:
    """Return what rounding explains, for each context, where a bound for such a model in such a type is known."""
    if dtype not in _FORMATS:
        return None
    if not (is_dana_network(model) or is_mahdavi_layer(model)):  # hosts evaluate other blocks in ways of their own
        return None
    return rounding_bound(model, task.inputs, number_format=_FORMATS[dtype], exp_ulps=EXP_ULPS)


# ---------------------------------------------------------------------------------------------------------------------
# The file.


def write_parity(folder: Path, report: dict[str, Any]) -> dict[str, Any]:
    """Write the file, with the hashes of all others in the folder, and return its content."""
    hashes = {name: file_sha256(folder / name) for name in files_of(folder) if name != PARITY_FILE}
    content = {**report, "files": hashes}
    write_atomically(folder / PARITY_FILE, (canonical_json(content) + "\n").encode())
    return content


def read_parity(folder: Path, read_measured: Callable[[Any], Read]) -> tuple[str, Host, str, Read]:
    """Return the host that was asked for, the one that the weights are written for, their type, and what was measured.

    Args:
        folder: Where the file lies.
        read_measured: Reads the block `MEASURED`.

    Raises:
        FileFormatError: The file is missing or is not what it should be.
    """
    path = folder / PARITY_FILE
    data = parse_json(path, read_text(path, LARGEST_FILE))
    try:
        names = {name: expect(name, expect(path.name, data, dict).get(name), str) for name in _NAMES}
        to, written_as, dtype = (names[name] for name in _NAMES)
        if to not in HOSTS or written_as not in (to, host_named(to).instead):
            raise FileFormatError(f"host {to!r} and written_as {written_as!r} are no hosts, or another one's")
        host = host_named(written_as)
        if dtype not in host.dtypes:
            raise FileFormatError(f"dtype {dtype!r} is not one of {', '.join(host.dtypes)}")
        return to, host, dtype, read_measured(data.get(MEASURED))
    except ByheartError as error:
        raise FileFormatError(f"{path}: {error}") from error


def files_of(folder: Path) -> list[str]:
    """Return the files of an export and of its folders, without what version control and Python put there."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
    passed = (path for path in found if not any(part == _PYTHON_MAKES or part[0] == "." for part in path.parts))
    return sorted(path.as_posix() for path in passed)
