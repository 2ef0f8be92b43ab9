"""A replica of a layer on a device and in a floating-point type, judged against the certified enclosure of its outputs.

Page: docs/layer.md
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.models.construction import require_fit
from constructions.models.model import Model
from constructions.tasks.vectors import VectorTask
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import down, up
from verify.forward.layer_forward import enclose_outputs
from verify.replica.device import device_name, require_arithmetic, select_device
from verify.replica.layer_replica import LayerReplica
from verify.replica.layer_rounding import layer_rounding_bound
from verify.replica.rounding import EXP_ULPS, FLOAT32, FLOAT64
from verify.replica.run import DTYPES

Float64Array = NDArray[np.float64]

_JUDGED = {"float64": FLOAT64, "float32": FLOAT32}
_BATCH_ENTRIES = 2**23


@dataclass(frozen=True)
class LayerRunResult:
    """What a replica of a layer did on the examples.

    Args:
        dtype: The floating-point type.
        device: The device, as its maker calls it.
        accuracy: Share of the examples whose largest output is that of the class; `None` for regression.
        max_label_error: Largest |output - label|, in the unit of the labels; `None` for classification.
        max_output_error: Largest |output - midpoint of its certified enclosure|.
        largest_bound: Largest certified radius plus a-priori rounding bound; `None` where nothing is judged.
        within_bound: Whether every output is as close to its midpoint as radius and rounding bound allow; `None` where
            nothing is judged.
        note: Why nothing is judged; empty otherwise.
        seconds: Time of the forward passes.
    """

    dtype: str
    device: str
    accuracy: float | None
    max_label_error: float | None
    max_output_error: float
    largest_bound: float | None
    within_bound: bool | None
    note: str
    seconds: float

    def summary(self) -> dict[str, object]:
        """The fields for JSON, which has no infinity: figures that are not finite become `None`."""
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in vars(self).items()
            if name != "dtype"
        }


def run_layer(
    layer: Model,
    task: VectorTask,
    *,
    device: str = "cpu",
    dtype: str = "float32",
    outputs: Enclosure | None = None,
    exp_ulps: float = EXP_ULPS,
) -> LayerRunResult:
    r"""Run a replica of the layer on the examples, and judge every output.

    An output is *within bound* if it is no further from the midpoint of its certified enclosure than the radius of the
    enclosure plus the a-priori rounding bound of the type. A replica that computes something else leaves it; nothing is
    tuned. In bfloat16 the bound would exceed the outputs: errors are reported, and nothing is judged.

    Args:
        layer: The certified weights.
        task: What they memorize.
        device: ``"cpu"``, ``"cuda"`` or ``"cuda:i"``.
        dtype: ``"float64"``, ``"float32"`` or ``"bfloat16"``.
        outputs: Enclosure of the outputs, as from `verify.forward.layer_forward.enclose_outputs`, which is called if it
            is not given.
        exp_ulps: Assumed accuracy of the exponential.

    Returns:
        The figures and the judgement.

    Raises:
        InputError: An unknown device or type, a task that the layer cannot read, or an enclosure of another shape.
        DeviceError: No such device, or one whose arithmetic no rounding bound holds for.

    Page: docs/layer.md

    Example:
        >>> from constructions.models.shapes import mahdavi_layer
        >>> layer = mahdavi_layer(W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)), W_V=np.ones((1, 2, 1)),
        ...               W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
        >>> task = VectorTask(contexts=np.eye(2)[None], queries=np.zeros((1, 2)), labels=np.ones((1, 1)))
        >>> result = run_layer(layer, task)
        >>> result.within_bound, result.max_label_error
        (True, 0.0)
    """
    if dtype not in DTYPES:
        raise InputError(f"dtype = {dtype!r}, expected one of {', '.join(DTYPES)}")
    require_fit(layer, task)
    where = select_device(device)
    limits = None
    enclosed = enclose_outputs(layer, task) if outputs is None else outputs
    if enclosed.shape != task.labels.shape:
        raise InputError(f"outputs has shape {enclosed.shape}, expected {task.labels.shape}")
    if dtype in _JUDGED:
        require_arithmetic(where, _JUDGED[dtype])
        rounding = layer_rounding_bound(layer, task, number_format=_JUDGED[dtype], exp_ulps=exp_ulps)
        limits = np.broadcast_to(enclosed.radius, enclosed.shape) + rounding[:, np.newaxis]
    computed, seconds = _forward(layer, task, where, getattr(torch, dtype))
    finite = np.isfinite(computed)
    errors = np.where(finite, np.abs(computed - enclosed.midpoint), math.inf)
    within, largest, note = _judged(errors, limits, dtype)
    accuracy = error = None
    if task.kind == "classification":
        right = (computed.argmax(axis=1) == task.classes) & finite.all(axis=1)
        accuracy = int(np.count_nonzero(right)) / task.n_examples
    else:
        error = float(np.where(finite, np.abs(computed - task.labels), math.inf).max())
    return LayerRunResult(
        dtype=dtype,
        device=device_name(where),
        accuracy=accuracy,
        max_label_error=error,
        max_output_error=float(errors.max()),
        largest_bound=largest,
        within_bound=within,
        note=note,
        seconds=round(seconds, 4),
    )


def run_layer_in_all(
    layer: Model,
    task: VectorTask,
    *,
    device: str = "cpu",
    dtypes: Sequence[str] = DTYPES,
    outputs: Enclosure | None = None,
) -> dict[str, dict[str, object]]:
    """Summaries of `run_layer` in several types, by type; the outputs are enclosed once for all of them.

    Args, errors: those of `run_layer`.

    Returns:
        `LayerRunResult.summary()` for each type.

    Example:
        >>> sorted(run_layer_in_all.__kwdefaults__["dtypes"])
        ['bfloat16', 'float32', 'float64']
    """
    enclosed = enclose_outputs(layer, task) if outputs is None else outputs
    return {dtype: run_layer(layer, task, device=device, dtype=dtype, outputs=enclosed).summary() for dtype in dtypes}


def _judged(errors: Float64Array, limits: Float64Array | None, dtype: str) -> tuple[bool | None, float | None, str]:
    """Whether all errors are within their limits, the largest limit, and why nothing is judged."""
    if limits is None:
        return None, None, f"{dtype} is reported, not judged: its rounding bound would exceed the outputs"
    # A limit that is not finite says nothing; a finite one is kept only if the error is proved to be below it.
    known = np.isfinite(limits)
    largest = float(limits.max())
    if not bool(np.all(up(errors[known]) <= down(limits[known]))):
        return False, largest, ""
    if known.all():
        return True, largest, ""
    return None, largest, "not judged: no finite bound holds, as when an intermediate result may overflow"


def _forward(layer: Model, task: VectorTask, device: torch.device, dtype: torch.dtype) -> tuple[Float64Array, float]:
    """The outputs that torch computes, as float64, and the seconds of its forward passes."""
    replica = LayerReplica.from_layer(layer, dtype=dtype, device=device)
    per_head = task.n_tokens * (2 if task.shared else layer.d_qk + 2) + layer.d_qk + layer.d_model + layer.d_head
    rows = max(1, _BATCH_ENTRIES // (layer.n_heads * per_head + task.n_tokens * layer.d_model))
    parts, seconds = [], 0.0
    for start in range(0, task.n_examples, rows):
        part = slice(start, start + rows)
        contexts = task.contexts if task.shared else task.contexts[part]
        given = [torch.tensor(array).to(dtype).to(device) for array in (contexts, task.queries[part])]
        begin = time.perf_counter()
        with torch.inference_mode():
            outputs = replica(*given)
            if device.type == "cuda":
                torch.cuda.synchronize(device)
        seconds += time.perf_counter() - begin
        parts.append(outputs.double().cpu().numpy())
    return np.concatenate(parts), seconds
