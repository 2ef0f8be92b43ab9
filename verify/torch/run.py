"""A replica on a device and in a floating-point type, judged against the certified enclosure of its outputs.

Page: docs/run.md
"""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import nn

from constructions.errors import InputError, require_at_least, require_one_of
from constructions.model.blocks import Attention, FeedForward
from constructions.model.construction import require_fit
from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray, Float64Array
from constructions.tasks.any_task import AnyTask, Listing
from constructions.tasks.criterion import TOLERANCE
from constructions.tasks.vectors import Vectors
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import down, up
from verify.divergence.computed import argmax_hits, computed_losses, computed_margins, computed_memorized
from verify.forward.logits import logit_chunks
from verify.forward.walk import contexts_of, part_of
from verify.runs.every_run import answered_in_every_run
from verify.runs.exact_runs import memorized_without_rounding, surely_memorized
from verify.runs.formats import EXP_ULPS, FORMATS, JUDGED
from verify.runs.rounding import rounding_bound
from verify.torch.device import device_name, require_arithmetic, require_exact_sums, select_device
from verify.torch.module import Replica

Chunks = Iterable[tuple[int, Enclosure]]

DTYPES = ("float64", "float32", "bfloat16")
"""The floating-point types a replica runs in where none is named, finest first."""

_OF_SOME_TASKS = ("mean_kl", "max_kl", "mean_label_error", "max_label_error")

_BATCH_BYTES = {"cpu": 2**27, "cuda": 2**30}


@dataclass(frozen=True)
class RunResult:
    """The measured answers of a replica on the memorized contexts, or on the examples of a task of vectors.

    Args:
        dtype: The floating-point type.
        device: The device, as its maker calls it.
        accuracy: Share of the contexts in which the output of the label, or of every mode of the distribution, is
            larger than every other; `None` for a regression.
        mean_kl: Mean over the contexts of KL(target || softmax(logits)), nats; infinite if a logit is not finite;
            `None` for vectors.
        max_kl: Largest of them, nats.
        mean_label_error: Mean over the examples of their largest |output - label|, in the unit of the labels; infinite
            if an output is not finite; `None` except for a regression.
        max_label_error: Largest of them.
        memorized: Contexts that are memorized (`constructions.tasks.criterion.Criterion`) by what was computed.
        memorized_proved: Contexts that every computation in this type holds: no sum is rounded (Theorem R12), or what
            is rounded keeps to the rounding bound; `None` where nothing is proved.
        least_margin: By how much the largest outputs of the target were above all others, at least, nats; `None` for a
            regression, and where every token is a mode.
        max_output_error: Largest |output - midpoint of its certified enclosure|; nats, if it is a logit.
        largest_bound: Largest certified radius plus a-priori rounding bound; `None` where nothing is judged.
        within_bound: Whether every output is as close to its midpoint as radius and rounding bound allow; `None` where
            nothing is judged.
        note: Why nothing is judged; empty otherwise.
        seconds: Time of the forward passes.
        right: Whether each context was memorized, `[T]`.
        proved: Whether every computation in this type holds each context, `[T]`; `None` where nothing is proved.
    """

    dtype: str
    device: str
    accuracy: float | None
    mean_kl: float | None
    max_kl: float | None
    mean_label_error: float | None
    max_label_error: float | None
    memorized: int
    memorized_proved: int | None
    least_margin: float | None
    max_output_error: float
    largest_bound: float | None
    within_bound: bool | None
    note: str
    seconds: float
    right: BoolArray = field(compare=False, repr=False)
    proved: BoolArray | None = field(compare=False, repr=False)

    def summary(self) -> dict[str, object]:
        """Return the fields for JSON that apply to this task; figures that are not finite become `None`."""
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in vars(self).items()
            if name not in ("dtype", "right", "proved") and (value is not None or name not in _OF_SOME_TASKS)
        }


def run(
    model: Model,
    task: AnyTask,
    *,
    device: str = "cpu",
    dtype: str = "float32",
    tolerance: float = TOLERANCE,
    logits: Chunks | None = None,
    exp_ulps: float = EXP_ULPS,
    replica: nn.Module | None = None,
    batch: int | None = None,
) -> RunResult:
    r"""Run a replica on the memorized contexts, or on the examples of a task with vectors, and judge every output.

    An output is *within bound* if it is no further from the midpoint of its certified enclosure than the radius of the
    enclosure plus the a-priori rounding bound of the type. A replica that computes something else than the certified
    model - scores scaled by $1/\sqrt{d}$, positions reversed, a weight changed - leaves it; nothing is
    tuned. In bfloat16 the bound would be larger than the outputs: figures are reported, and nothing is judged.
    Divergences are computed in float64 from the logits, and are figures, not proofs. Proved are `within_bound` of this
    run, and of every run `memorized_proved`: no sum is rounded, or what is computed lies within radius and rounding
    bound of the midpoint, and all outputs that do hold the context, or the largest output is proved to first order.

    Args:
        model: The certified weights.
        task: The task that they memorize.
        device: ``"cpu"``, ``"cuda"`` or ``"cuda:i"``.
        dtype: ``"float64"``, ``"float32"``, ``"bfloat16"`` or ``"float16"``.
        tolerance: The largest divergence of a memorized distribution, or error of a memorized value.
        logits: Enclosures of the outputs for the task, as from `verify.forward.logits.logit_chunks`, which is called if
            they are not given.
        exp_ulps: Assumed accuracy of the exponential, as in `verify.runs.rounding.rounding_bound`.
        replica: The module that is run, on the device and in the type, in place of `Replica.from_model`: such as this
            one compiled.
        batch: Contexts in each forward pass; by default as many as fit.

    Returns:
        The figures and the judgement.

    Raises:
        InputError: An unknown device or type, a task that the model cannot read, or enclosures of other contexts.
        DeviceError: No such device, or one whose arithmetic no rounding bound holds for.

    Example:
        >>> from constructions.model.shapes import dana_network
        >>> from constructions.tasks.task import Counts, make_task
        >>> task = make_task(np.array([[0], [1]]), Counts.from_rows([{0: 1}, {1: 3}]), vocabulary=("a", "b"),
        ...                  target="labels")
        >>> one = np.ones((1, 2, 1))
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((1, 2)), W_Q=one, W_K=one, W_V=one,
        ...                   W_O=np.zeros((1, 1, 2)), W_U=np.eye(2))
        >>> result = run(network, task, dtype="float32")
        >>> result.accuracy, result.within_bound, result.max_output_error, result.memorized_proved
        (1.0, True, 0.0, 2)
    """
    require_at_least(1, batch=batch)
    options = {"tolerance": tolerance, "logits": logits, "exp_ulps": exp_ulps, "replica": replica, "batch": batch}
    return _run(model, task, device=device, dtypes=(dtype,), **options)[0]


def run_all(
    model: Model,
    task: AnyTask,
    *,
    device: str = "cpu",
    dtypes: Sequence[str] = DTYPES,
    tolerance: float = TOLERANCE,
    logits: Chunks | None = None,
    exp_ulps: float = EXP_ULPS,
) -> dict[str, RunResult]:
    """Return the results of `run` by type; the outputs are enclosed once for all types.

    Args, errors: those of `run`.

    Returns:
        The result for each type.

    Example:
        >>> sorted(run_all.__kwdefaults__["dtypes"])
        ['bfloat16', 'float32', 'float64']
    """
    results = _run(model, task, device=device, dtypes=dtypes, tolerance=tolerance, logits=logits, exp_ulps=exp_ulps)
    return {result.dtype: result for result in results}


class _Judge:
    """The figures of one type, accumulated over the chunks of contexts."""

    def __init__(
        self,
        model: Model,
        task: Listing,
        device: torch.device,
        dtype: str,
        tolerance: float,
        exp_ulps: float,
        replica: nn.Module | None,
        batch: int | None,
    ):
        require_one_of(FORMATS, dtype=dtype)
        self.task, self.device, self.dtype, self.tolerance = task, device, dtype, tolerance
        self.model, self.exp_ulps = model, exp_ulps
        self.without_rounding = np.zeros(task.n_contexts, dtype=bool)
        if model.reads_tokens:
            self.without_rounding = memorized_without_rounding(model, task, FORMATS[dtype], tolerance)
        if self.without_rounding.any():
            require_exact_sums(device, FORMATS[dtype])
        self.rounding: Float64Array | None = None
        if dtype in JUDGED:
            require_arithmetic(device, JUDGED[dtype])
            self.rounding = rounding_bound(model, task.inputs, number_format=JUDGED[dtype], exp_ulps=exp_ulps)
        if replica is None:
            replica = Replica.from_model(model, dtype=getattr(torch, dtype), device=device)
        self.replica = replica
        self.rows = batch or _batch_rows(model, task.n_ctx, device)
        self.of_values = task.values is not None
        self.hits = self.count = 0
        self.right: list[BoolArray] = []
        self.proved: list[BoolArray] = []
        self.margin = math.inf
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
        outputs, rows = self._forward(start, stop), slice(start, stop)
        self.count += stop - start
        right = computed_memorized(outputs, self.task, rows, self.tolerance)
        if not self.of_values:
            self.hits += int(np.count_nonzero(argmax_hits(outputs, self.task, rows)))
            self.margin = min(self.margin, float(computed_margins(outputs, self.task, rows).min()))
        if self.of_values or self.model.reads_tokens:
            self.distances.append(computed_losses(outputs, self.task, rows))
        self.right.append(right)
        errors = np.where(np.isfinite(outputs), np.abs(outputs - midpoint), math.inf)
        self.errors.append(float(errors.max()))
        proved = self.without_rounding[rows].copy()
        if self.rounding is not None:
            limits = radius + self.rounding[start:stop, np.newaxis]
            # A limit that is not finite says nothing; a finite one is kept only if the error is proved to be below it.
            self.limits.append(float(limits.max()))
            judged = np.isfinite(limits)
            self.violated |= not bool(np.all(up(errors[judged]) <= down(limits[judged])))
            proved |= surely_memorized(Enclosure(midpoint, up(limits)), self.task, rows, self.tolerance)
        self.proved.append(proved)

    def _prove_to_first_order(self, proved: BoolArray) -> None:
        """Add the labels that every run answers by Lemma R15."""
        left = np.flatnonzero(~proved)
        of_labels = self.model.reads_tokens and self.task.target == "labels"
        if self.rounding is not None and of_labels and len(left):
            open_contexts = contexts_of(self.model, self.task.inputs)[left], self.task.classes[left]
            options = {"number_format": JUDGED[self.dtype], "exp_ulps": self.exp_ulps}
            proved[left] = answered_in_every_run(self.model, *open_contexts, **options)

    def _forward(self, start: int, stop: int) -> Float64Array:
        part = part_of(self.task.inputs, np.arange(start, stop))
        if isinstance(part, Vectors):
            arrays, dtype = (part.contexts, part.queries), getattr(torch, self.dtype)
        else:
            arrays, dtype = (part,), torch.int64
        inputs = [torch.tensor(array).to(dtype).to(self.device) for array in arrays]
        begin = time.perf_counter()
        with torch.inference_mode():
            outputs = self.replica(*inputs)
            if self.device.type == "cuda":
                torch.cuda.synchronize(self.device)
        self.seconds += time.perf_counter() - begin
        return outputs.double().cpu().numpy()

    def result(self) -> RunResult:
        of_tokens = self.model.reads_tokens
        distances = np.concatenate(self.distances) if self.distances else np.zeros(0)
        largest = float(np.max(self.limits)) if self.limits else None
        right = np.concatenate(self.right)
        judged = self.rounding is not None or self.without_rounding.any()
        proved = np.concatenate(self.proved) if judged else None
        if proved is not None:
            self._prove_to_first_order(proved)
        # What every run holds this one holds too, or the device keeps none of the hypotheses.
        self.violated |= proved is not None and self.task.target == "labels" and bool((proved & ~right).any())
        within: bool | None = None
        note = ""
        if self.violated:
            within = False
        elif largest is None:
            if proved is None or not proved.all():
                note = f"{self.dtype} is reported, not judged: its rounding bound would exceed the outputs"
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
            mean_label_error=float(np.mean(distances)) if self.of_values else None,
            max_label_error=float(np.max(distances)) if self.of_values else None,
            memorized=int(np.count_nonzero(right)),
            memorized_proved=None if proved is None else int(np.count_nonzero(proved)),
            least_margin=self.margin if math.isfinite(self.margin) else None,
            max_output_error=max(self.errors),
            largest_bound=largest,
            within_bound=within,
            note=note,
            seconds=round(self.seconds, 4),
            right=right,
            proved=proved,
        )


def _run(
    model: Model,
    task: AnyTask,
    *,
    device: str,
    dtypes: Sequence[str],
    tolerance: float,
    logits: Chunks | None,
    exp_ulps: float,
    replica: nn.Module | None = None,
    batch: int | None = None,
) -> list[RunResult]:
    require_fit(model, task)
    listing = task.listing
    if listing is None:
        options = {"device": device, "dtypes": dtypes, "tolerance": tolerance, "logits": None, "exp_ulps": exp_ulps}
        options |= {"replica": replica, "batch": batch}
        parts = [_run(model, part.task, **options) for part in task.parts]
        return [_of_whole_answers(task, list(of_type)) for of_type in zip(*parts, strict=True)]
    where = select_device(device)
    judges = [_Judge(model, listing, where, dtype, tolerance, exp_ulps, replica, batch) for dtype in dtypes]
    chunks = logit_chunks(model, listing.inputs) if logits is None else logits
    for start, enclosure in _covering(chunks, listing.n_contexts, model.d_vocab_out):
        for judge in judges:
            judge.add(start, enclosure)
    return [judge.result() for judge in judges]


def _of_whole_answers(task: AnyTask, found: Sequence[RunResult]) -> RunResult:
    """Merge the results of all lengths: a fact is right if all tokens of its answer are."""
    right, proved = np.ones((2, task.n_contexts), dtype=bool)
    for part, part_result in zip(task.parts, found, strict=True):
        right[part.facts] &= part_result.right[part.places]
        proved[part.facts] &= False if part_result.proved is None else part_result.proved[part.places]
    margins = [part_result.least_margin for part_result in found if part_result.least_margin is not None]
    bounds = [part_result.largest_bound for part_result in found]
    verdicts = [part_result.within_bound for part_result in found]
    known = all(part_result.proved is not None for part_result in found)
    return replace(
        found[0],
        accuracy=float(right.mean()),
        mean_kl=None,
        max_kl=None,
        memorized=int(right.sum()),
        memorized_proved=int(proved.sum()) if known else None,
        least_margin=min(margins, default=None),
        max_output_error=max(part_result.max_output_error for part_result in found),
        largest_bound=None if None in bounds else max(part_result for part_result in bounds if part_result is not None),
        within_bound=False if False in verdicts else None if None in verdicts else True,
        note=next((part_result.note for part_result in found if part_result.note), ""),
        seconds=round(sum(part_result.seconds for part_result in found), 4),
        right=right,
        proved=proved if known else None,
    )


def _covering(chunks: Chunks, count: int, width: int) -> Iterator[tuple[int, Enclosure]]:
    """Yield the chunks; raise unless they cover all contexts in order."""
    expected = 0
    for start, enclosure in chunks:
        if start != expected or enclosure.shape[1:] != (width,):
            raise InputError(
                "logits",
                f"has a chunk of shape {enclosure.shape} starts at row {start}",
                f"row {expected} and {width} columns",
            )
        expected += len(enclosure)
        if expected <= count:
            yield start, enclosure
    if expected != count:
        raise InputError("logits", f"cover {expected} contexts", count)


def _batch_rows(model: Model, length: int, device: torch.device) -> int:
    """Return how many contexts fit the batch's share of memory; keys and values count twice because they are copied.

    What the last position alone asks is worked on head by head, if need be.
    """
    entries = (length + 3) * model.d_model + 8 * model.d_vocab_out
    last = max((i for i, block in enumerate(model.blocks) if isinstance(block, Attention)), default=-1)
    for i, block in enumerate(model.blocks):
        if isinstance(block, Attention):
            alone = i == last or block.attends == "last"
            asking, heads = (1, 1) if alone else (length, block.n_heads)
            per_head = (2 * length + asking) * (block.d_qk + 2 * block.d_head) + 3 * length * asking
            entries += heads * per_head + 2 * asking * block.d_out
        elif isinstance(block, FeedForward):
            entries += length * (3 * block.d_mlp + 2 * block.d_out)
    return max(1, _BATCH_BYTES[device.type] // (8 * entries))
