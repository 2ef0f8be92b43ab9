"""A replica on a device and in a floating-point type, judged against the certified enclosure of its logits."""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.models.model import Model
from constructions.tasks.task import Task
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import down, up
from verify.forward.float64 import logit_chunks
from verify.replica.device import device_name, require_arithmetic, select_device
from verify.replica.module import Replica
from verify.replica.rounding import EXP_ULPS, FLOAT32, FLOAT64, rounding_bound

Float64Array = NDArray[np.float64]
Chunks = Iterable[tuple[int, Enclosure]]

DTYPES = ("float64", "float32", "bfloat16")
"""The floating-point types a replica runs in, finest first."""

_JUDGED = {"float64": FLOAT64, "float32": FLOAT32}
_BATCH_BYTES = {"cpu": 2**27, "cuda": 2**30}


@dataclass(frozen=True)
class RunResult:
    """What a replica did on the memorized contexts.

    Args:
        dtype: The floating-point type.
        device: The device, as its maker calls it.
        accuracy: Share of the memorized contexts in which the logit of the label, or of every mode of the law, is
            larger than every other.
        mean_kl: Mean over the contexts of KL(target || softmax(logits)), nats; infinite if a logit is not finite.
        max_kl: Largest of them, nats.
        max_logit_error: Largest |logit - midpoint of its certified enclosure|, nats.
        largest_bound: Largest certified radius plus a-priori rounding bound, nats; `None` where nothing is judged.
        within_bound: Whether every logit is as close to its midpoint as radius and rounding bound allow; `None` where
            nothing is judged.
        note: Why nothing is judged; empty otherwise.
        seconds: Time of the forward passes.
    """

    dtype: str
    device: str
    accuracy: float
    mean_kl: float
    max_kl: float
    max_logit_error: float
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


def run(
    network: Model,
    task: Task,
    *,
    device: str = "cpu",
    dtype: str = "float32",
    logits: Chunks | None = None,
    exp_ulps: float = EXP_ULPS,
) -> RunResult:
    r"""Run a replica on the memorized contexts, and judge every logit.

    A computed logit is *within bound* if it is no further from the midpoint of its certified enclosure than the radius
    of the enclosure plus the a-priori rounding bound of the type. A replica that computes something else than the
    certified network - scores scaled by $1/\sqrt{d}$, positions reversed, a weight changed - leaves it; nothing is
    tuned. In bfloat16 the bound would be larger than the logits: accuracy and divergence are reported, and nothing is
    judged. Divergences are computed in float64 from the logits, and are figures, not proofs.

    Args:
        network: The certified weights.
        task: What they memorize.
        device: ``"cpu"``, ``"cuda"`` or ``"cuda:i"``.
        dtype: ``"float64"``, ``"float32"`` or ``"bfloat16"``.
        logits: Enclosures of the logits of `task.contexts`, as from `verify.forward.float64.logit_chunks`, which is
            called if they are not given.
        exp_ulps: Assumed accuracy of the exponential, as in `verify.replica.rounding.rounding_bound`.

    Returns:
        The figures and the judgement.

    Raises:
        InputError: An unknown device or type, a task that the network cannot read, or enclosures of other contexts.
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
        >>> result.accuracy, result.within_bound, result.max_logit_error
        (1.0, True, 0.0)
    """
    return _run(network, task, device=device, dtypes=(dtype,), logits=logits, exp_ulps=exp_ulps)[0]


def run_all(
    network: Model,
    task: Task,
    *,
    device: str = "cpu",
    dtypes: Sequence[str] = DTYPES,
    logits: Chunks | None = None,
    exp_ulps: float = EXP_ULPS,
) -> dict[str, dict[str, object]]:
    """Summaries of `run` in several types, by type; the enclosures of the logits are made once for all of them.

    Args, errors: those of `run`.

    Returns:
        `RunResult.summary()` for each type.

    Example:
        >>> sorted(run_all.__kwdefaults__["dtypes"])
        ['bfloat16', 'float32', 'float64']
    """
    results = _run(network, task, device=device, dtypes=dtypes, logits=logits, exp_ulps=exp_ulps)
    return {result.dtype: result.summary() for result in results}


class _Judge:
    """The figures of one type, gathered over the chunks of contexts."""

    def __init__(self, network: Model, task: Task, device: torch.device, dtype: str, exp_ulps: float) -> None:
        if dtype not in DTYPES:
            raise InputError(f"dtype = {dtype!r}, expected one of {', '.join(DTYPES)}")
        self.task, self.device, self.dtype = task, device, dtype
        self.rounding: Float64Array | None = None
        if dtype in _JUDGED:
            require_arithmetic(device, _JUDGED[dtype])
            self.rounding = rounding_bound(network, task.contexts, number_format=_JUDGED[dtype], exp_ulps=exp_ulps)
        self.replica = Replica.from_network(network, dtype=getattr(torch, dtype), device=device)
        self.rows = _batch_rows(network, task.context_length, device)
        self.hits = 0
        self.divergences: list[Float64Array] = []
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
        logits = self._forward(start, stop)
        finite = np.isfinite(logits).all(axis=1)
        modes = self.task.modes(slice(start, stop))
        others = np.where(modes, -np.inf, logits).max(axis=1)
        hits = np.where(modes, logits, np.inf).min(axis=1) > others
        self.hits += int(np.count_nonzero(hits & finite))
        divergences = np.full(stop - start, math.inf)
        divergences[finite] = _divergences(logits, self.task, start, stop)[finite]
        self.divergences.append(divergences)
        errors = np.where(np.isfinite(logits), np.abs(logits - midpoint), math.inf)
        self.errors.append(float(errors.max()))
        if self.rounding is not None:
            limits = radius + self.rounding[start:stop, np.newaxis]
            # A limit that is not finite says nothing; a finite one is kept only if the error is proved to be below it.
            self.limits.append(float(limits.max()))
            judged = np.isfinite(limits)
            self.violated |= not bool(np.all(up(errors[judged]) <= down(limits[judged])))

    def _forward(self, start: int, stop: int) -> Float64Array:
        tokens = torch.tensor(self.task.contexts[start:stop]).to(self.device)
        begin = time.perf_counter()
        with torch.inference_mode():
            logits = self.replica(tokens)
            if self.device.type == "cuda":
                torch.cuda.synchronize(self.device)
        self.seconds += time.perf_counter() - begin
        return logits.double().cpu().numpy()

    def result(self) -> RunResult:
        divergences = np.concatenate(self.divergences)
        largest = float(np.max(self.limits)) if self.limits else None
        within: bool | None = None
        note = ""
        if largest is None:
            note = f"{self.dtype} is reported, not judged: its rounding bound would exceed the logits"
        elif self.violated:
            within = False
        elif math.isfinite(largest):
            within = True
        else:
            note = "not judged: no finite bound holds, as when an intermediate result may overflow"
        return RunResult(
            dtype=self.dtype,
            device=device_name(self.device),
            accuracy=self.hits / len(divergences),
            mean_kl=float(np.mean(divergences)),
            max_kl=float(np.max(divergences)),
            max_logit_error=max(self.errors),
            largest_bound=largest,
            within_bound=within,
            note=note,
            seconds=round(self.seconds, 4),
        )


def _run(
    network: Model, task: Task, *, device: str, dtypes: Sequence[str], logits: Chunks | None, exp_ulps: float
) -> list[RunResult]:
    if network.d_vocab_out != task.vocabulary_size:
        raise InputError(f"network has {network.d_vocab_out} logits, but the task has {task.vocabulary_size} tokens")
    where = select_device(device)
    judges = [_Judge(network, task, where, dtype, exp_ulps) for dtype in dtypes]
    chunks = logit_chunks(network, task.contexts) if logits is None else logits
    for start, enclosure in _covering(chunks, task):
        for judge in judges:
            judge.add(start, enclosure)
    return [judge.result() for judge in judges]


def _covering(chunks: Chunks, task: Task) -> Iterator[tuple[int, Enclosure]]:
    """The chunks, which must follow one another and cover all memorized contexts."""
    expected = 0
    for start, enclosure in chunks:
        if start != expected or enclosure.shape[1:] != (task.vocabulary_size,):
            raise InputError(
                f"logits: a chunk of shape {enclosure.shape} starts at row {start}, "
                f"expected row {expected} and {task.vocabulary_size} columns"
            )
        expected += len(enclosure)
        if expected <= task.n_contexts:
            yield start, enclosure
    if expected != task.n_contexts:
        raise InputError(f"logits cover {expected} contexts, expected {task.n_contexts}")


def _batch_rows(network: Model, length: int, device: torch.device) -> int:
    """As many contexts as fit the batch's share of memory, counting keys and values twice for the copies of einsum."""
    per_head = 2 * length * (network.d_qk + network.d_head) + 3 * length + network.d_qk + 2 * network.d_head
    entries = network.n_heads * per_head + (length + 3) * network.d_model + 8 * network.d_vocab_out
    return max(1, _BATCH_BYTES[device.type] // (8 * entries))


def _divergences(logits: Float64Array, task: Task, start: int, stop: int) -> Float64Array:
    """KL(target || softmax(logits)) per context, nats, keeping the relative accuracy of tiny values."""
    with np.errstate(all="ignore"):
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
