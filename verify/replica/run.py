"""A replica on a device and in a floating-point type, judged against the certified enclosure of its outputs."""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.models.blocks import Attention, FeedForward
from constructions.models.construction import require_fit
from constructions.models.model import Model
from constructions.tasks.task import Task
from constructions.tasks.vectors import VectorTask
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import down, up
from verify.forward.logits import logit_chunks
from verify.replica.device import device_name, require_arithmetic, select_device
from verify.replica.formats import EXP_ULPS, FLOAT32, FLOAT64
from verify.replica.module import Replica
from verify.replica.rounding import rounding_bound

Float64Array = NDArray[np.float64]
Chunks = Iterable[tuple[int, Enclosure]]

DTYPES = ("float64", "float32", "bfloat16")
"""The floating-point types a replica runs in, finest first."""

_JUDGED = {"float64": FLOAT64, "float32": FLOAT32}
_BATCH_BYTES = {"cpu": 2**27, "cuda": 2**30}


@dataclass(frozen=True)
class RunResult:
    """What a replica did on the memorized contexts, or on the examples of a task that brings vectors.

    Args:
        dtype: The floating-point type.
        device: The device, as its maker calls it.
        accuracy: Share of the contexts in which the output of the label, or of every mode of the law, is larger than
            every other; `None` for a regression.
        mean_kl: Mean over the contexts of KL(target || softmax(logits)), nats; infinite if a logit is not finite;
            `None` for vectors.
        max_kl: Largest of them, nats.
        max_label_error: Largest |output - label|, in the unit of the labels; `None` but for a regression.
        max_output_error: Largest |output - midpoint of its certified enclosure|; nats, if it is a logit.
        largest_bound: Largest certified radius plus a-priori rounding bound; `None` where nothing is judged.
        within_bound: Whether every output is as close to its midpoint as radius and rounding bound allow; `None` where
            nothing is judged.
        note: Why nothing is judged; empty otherwise.
        seconds: Time of the forward passes.
    """

    dtype: str
    device: str
    accuracy: float | None
    mean_kl: float | None
    max_kl: float | None
    max_label_error: float | None
    max_output_error: float
    largest_bound: float | None
    within_bound: bool | None
    note: str
    seconds: float

    def summary(self) -> dict[str, object]:
        """The fields for JSON, without those of other tasks: figures that are not finite become `None`."""
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in vars(self).items()
            if name != "dtype" and (value is not None or name not in ("mean_kl", "max_kl", "max_label_error"))
        }


def run(
    model: Model,
    task: Task | VectorTask,
    *,
    device: str = "cpu",
    dtype: str = "float32",
    logits: Chunks | None = None,
    exp_ulps: float = EXP_ULPS,
) -> RunResult:
    r"""Run a replica on the memorized contexts, or on the examples of a task that brings vectors; judge every output.

    An output is *within bound* if it is no further from the midpoint of its certified enclosure than the radius of the
    enclosure plus the a-priori rounding bound of the type. A replica that computes something else than the certified
    model - scores scaled by $1/\sqrt{d}$, positions reversed, a weight changed - leaves it; nothing is
    tuned. In bfloat16 the bound would be larger than the outputs: figures are reported, and nothing is judged.
    Divergences are computed in float64 from the logits, and are figures, not proofs.

    Args:
        model: The certified weights.
        task: What they memorize.
        device: ``"cpu"``, ``"cuda"`` or ``"cuda:i"``.
        dtype: ``"float64"``, ``"float32"`` or ``"bfloat16"``.
        logits: Enclosures of the outputs for the task, as from `verify.forward.logits.logit_chunks`, which is called if
            they are not given.
        exp_ulps: Assumed accuracy of the exponential, as in `verify.replica.rounding.rounding_bound`.

    Returns:
        The figures and the judgement.

    Raises:
        InputError: An unknown device or type, a task that the model cannot read, or enclosures of other contexts.
        DeviceError: No such device, or one whose arithmetic no rounding bound holds for.

    Page: docs/run.md

    Example:
        >>> from constructions.models.shapes import dana_network
        >>> from constructions.tasks.task import Counts, make_task
        >>> task = make_task(np.array([[0], [1]]), Counts.from_rows([{0: 1}, {1: 3}]), vocabulary=("a", "b"),
        ...                  target="labels")
        >>> one = np.ones((1, 2, 1))
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((1, 2)), W_Q=one, W_K=one, W_V=one,
        ...                   W_O=np.zeros((1, 1, 2)), W_U=np.eye(2))
        >>> result = run(network, task, dtype="float32")
        >>> result.accuracy, result.within_bound, result.max_output_error
        (1.0, True, 0.0)
    """
    return _run(model, task, device=device, dtypes=(dtype,), logits=logits, exp_ulps=exp_ulps)[0]


def run_all(
    model: Model,
    task: Task | VectorTask,
    *,
    device: str = "cpu",
    dtypes: Sequence[str] = DTYPES,
    logits: Chunks | None = None,
    exp_ulps: float = EXP_ULPS,
) -> dict[str, dict[str, object]]:
    """Summaries of `run` in several types, by type; the outputs are enclosed once for all of them.

    Args, errors: those of `run`.

    Returns:
        `RunResult.summary()` for each type.

    Example:
        >>> sorted(run_all.__kwdefaults__["dtypes"])
        ['bfloat16', 'float32', 'float64']
    """
    results = _run(model, task, device=device, dtypes=dtypes, logits=logits, exp_ulps=exp_ulps)
    return {result.dtype: result.summary() for result in results}


class _Judge:
    """The figures of one type, gathered over the chunks of contexts."""

    def __init__(self, model: Model, task: Task | VectorTask, device: torch.device, dtype: str, exp_ulps: float):
        if dtype not in DTYPES:
            raise InputError(f"dtype = {dtype!r}, expected one of {', '.join(DTYPES)}")
        self.task, self.device, self.dtype = task, device, dtype
        self.rounding: Float64Array | None = None
        if dtype in _JUDGED:
            require_arithmetic(device, _JUDGED[dtype])
            inputs = task if isinstance(task, VectorTask) else task.contexts
            self.rounding = rounding_bound(model, inputs, number_format=_JUDGED[dtype], exp_ulps=exp_ulps)
        self.replica = Replica.from_model(model, dtype=getattr(torch, dtype), device=device)
        self.rows = _batch_rows(model, task.n_tokens if isinstance(task, VectorTask) else task.context_length, device)
        self.of_values = isinstance(task, VectorTask) and task.kind == "regression"
        self.hits = self.count = 0
        self.distances: list[Float64Array] = []
        self.errors: list[float] = []
        self.limits: list[float] = []
        self.violated = False
        self.seconds = 0.0

    def add(self, start: int, enclosure: Enclosure) -> None:
        for offset in range(0, len(enclosure), self.rows):
            part = enclosure[offset : offset + self.rows]
            self._add_batch(start + offset, part.midpoint, np.broadcast_to(part.radius, part.midpoint.shape))

    def _add_batch(self, start: int, midpoint: Float64Array, radius: Float64Array) -> None:
        stop = start + len(midpoint)
        outputs = self._forward(start, stop)
        finite = np.isfinite(outputs).all(axis=1)
        self.count += stop - start
        if not self.of_values:
            modes = self.task.modes(slice(start, stop))
            others = np.where(modes, -np.inf, outputs).max(axis=1)
            hits = np.where(modes, outputs, np.inf).min(axis=1) > others
            self.hits += int(np.count_nonzero(hits & finite))
        if self.of_values or isinstance(self.task, Task):
            distances = np.full(stop - start, math.inf)
            distances[finite] = _distances(outputs, self.task, start, stop)[finite]
            self.distances.append(distances)
        errors = np.where(np.isfinite(outputs), np.abs(outputs - midpoint), math.inf)
        self.errors.append(float(errors.max()))
        if self.rounding is not None:
            limits = radius + self.rounding[start:stop, np.newaxis]
            # A limit that is not finite says nothing; a finite one is kept only if the error is proved to be below it.
            self.limits.append(float(limits.max()))
            judged = np.isfinite(limits)
            self.violated |= not bool(np.all(up(errors[judged]) <= down(limits[judged])))

    def _forward(self, start: int, stop: int) -> Float64Array:
        if isinstance(self.task, VectorTask):
            contexts = self.task.contexts if self.task.shared else self.task.contexts[start:stop]
            arrays, dtype = (contexts, self.task.queries[start:stop]), getattr(torch, self.dtype)
        else:
            arrays, dtype = (self.task.contexts[start:stop],), torch.int64
        given = [torch.tensor(array).to(dtype).to(self.device) for array in arrays]
        begin = time.perf_counter()
        with torch.inference_mode():
            outputs = self.replica(*given)
            if self.device.type == "cuda":
                torch.cuda.synchronize(self.device)
        self.seconds += time.perf_counter() - begin
        return outputs.double().cpu().numpy()

    def result(self) -> RunResult:
        of_tokens = isinstance(self.task, Task)
        distances = np.concatenate(self.distances) if self.distances else np.zeros(0)
        largest = float(np.max(self.limits)) if self.limits else None
        within: bool | None = None
        note = ""
        if largest is None:
            note = f"{self.dtype} is reported, not judged: its rounding bound would exceed the outputs"
        elif self.violated:
            within = False
        elif math.isfinite(largest):
            within = True
        else:
            note = "not judged: no finite bound holds, as when an intermediate result may overflow"
        return RunResult(
            dtype=self.dtype,
            device=device_name(self.device),
            accuracy=None if self.of_values else self.hits / self.count,
            mean_kl=float(np.mean(distances)) if of_tokens else None,
            max_kl=float(np.max(distances)) if of_tokens else None,
            max_label_error=float(np.max(distances)) if self.of_values else None,
            max_output_error=max(self.errors),
            largest_bound=largest,
            within_bound=within,
            note=note,
            seconds=round(self.seconds, 4),
        )


def _run(
    model: Model, task: Task | VectorTask, *, device: str, dtypes: Sequence[str], logits: Chunks | None, exp_ulps: float
) -> list[RunResult]:
    require_fit(model, task)
    where = select_device(device)
    judges = [_Judge(model, task, where, dtype, exp_ulps) for dtype in dtypes]
    inputs, count = (task, task.n_examples) if isinstance(task, VectorTask) else (task.contexts, task.n_contexts)
    chunks = logit_chunks(model, inputs) if logits is None else logits
    for start, enclosure in _covering(chunks, count, model.d_vocab_out):
        for judge in judges:
            judge.add(start, enclosure)
    return [judge.result() for judge in judges]


def _covering(chunks: Chunks, count: int, width: int) -> Iterator[tuple[int, Enclosure]]:
    """The chunks, which must follow one another and cover all contexts."""
    expected = 0
    for start, enclosure in chunks:
        if start != expected or enclosure.shape[1:] != (width,):
            raise InputError(
                f"logits: a chunk of shape {enclosure.shape} starts at row {start}, "
                f"expected row {expected} and {width} columns"
            )
        expected += len(enclosure)
        if expected <= count:
            yield start, enclosure
    if expected != count:
        raise InputError(f"logits cover {expected} contexts, expected {count}")


def _batch_rows(model: Model, length: int, device: torch.device) -> int:
    """As many contexts as fit the batch's share of memory, counting keys and values twice for copies of them."""
    entries = (length + 3) * model.d_model + 8 * model.d_vocab_out
    last = max((i for i, block in enumerate(model.blocks) if isinstance(block, Attention)), default=-1)
    for i, block in enumerate(model.blocks):
        if isinstance(block, Attention):
            asking = 1 if i == last or block.attends == "last" else length
            per_head = (2 * length + asking) * (block.d_qk + 2 * block.d_head) + 3 * length * asking
            entries += block.n_heads * per_head + 2 * asking * block.d_out
        elif isinstance(block, FeedForward):
            entries += length * (3 * block.d_mlp + 2 * block.d_out)
    return max(1, _BATCH_BYTES[device.type] // (8 * entries))


def _distances(logits: Float64Array, task: Task | VectorTask, start: int, stop: int) -> Float64Array:
    """KL(target || softmax(logits)) per context, nats, keeping the relative accuracy of tiny values.

    For a regression the largest distance from a value.
    """
    with np.errstate(all="ignore"):
        if isinstance(task, VectorTask):
            return np.abs(logits - task.labels[start:stop]).max(axis=1)
        if task.laws is None:
            return _surprise(logits, task.labels[start:stop])
        laws = task.laws[start:stop]
        laws = laws / laws.sum(axis=1, keepdims=True)
        gap = logits - np.log(laws)
        gap -= (laws * gap).sum(axis=1, keepdims=True)
        # KL = log sum_i law_i e^{gap_i} for a gap of mean zero; e^g - 1 - g is what is left of it, all of one sign.
        small = np.log1p((laws * _exponential_remainder(gap)).sum(axis=1))
        top = gap.max(axis=1, keepdims=True)
        large = np.log((laws * np.exp(gap - top)).sum(axis=1)) + top[:, 0]
        return np.where(np.abs(gap).max(axis=1) < 1.0, small, large)


def _exponential_remainder(x: Float64Array) -> Float64Array:
    """e^x - 1 - x."""
    series = x * x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6 * (1 + x / 7)))))
    return np.where(np.abs(x) < 0.01, series, np.expm1(x) - x)


def _surprise(logits: Float64Array, labels: NDArray[np.int64]) -> Float64Array:
    """-log softmax(logits)[label] per context, nats."""
    rows = np.arange(len(labels))
    others = logits - logits[rows, labels][:, np.newaxis]
    others[rows, labels] = -np.inf
    top = np.maximum(others.max(axis=1), 0.0)
    rest = np.exp(others - top[:, np.newaxis]).sum(axis=1)
    return np.where(top > 0.0, top + np.log(np.exp(-top) + rest), np.log1p(rest))
