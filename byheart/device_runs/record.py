"""Run every memory and construction on one device, and compare the results with the proved bounds.

Page: docs/run.md
"""

import json
import math
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byheart.device_runs.cases import Built, Case, cases
from constructions.counted import counted
from constructions.errors import ByheartError, InputError
from constructions.formats.files import write_atomically
from constructions.model.precision import Precision
from constructions.progress import Progress, silent
from verify.certificates.provenance import provenance
from verify.verdict import Verdict

if TYPE_CHECKING:
    import torch
    from torch import nn

    from verify.torch.run import RunResult

DTYPES: tuple[Precision, ...] = ("float32", "float64", "bfloat16", "float16")
"""The types in which the cases run, in this order."""

BATCHES = (1, 7, 64, None)
"""Contexts in each forward pass; none for all of them at once."""

MODES = ("eager", "compiled")
"""As PyTorch runs a module, and as `torch.compile` does; the second starts when the first is done."""

MINUTES = 10.0
"""When the record ends, by default."""

_NO_TIME = "no time was left"


@dataclass
class Record:
    """The runs on a device, and the omitted ones.

    Args:
        device: As its maker calls it.
        driver: Version of its driver; none on a CPU, or where `nvidia-smi` does not say it.
        cuda: Version of CUDA that torch was built with.
        command: What was typed.
        tf32: What happens with TF32 switched on.
        rows: A run each: the case, how it ran, and what came out.
        left_out: What did not run, and why.
        finished: Whether all was tried; not while it goes on, nor after an interrupt.
        seconds: Wall-clock time.
    """

    device: str
    driver: str | None
    torch: str
    cuda: str | None
    command: str
    tf32: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[dict[str, Any]] = field(default_factory=list)
    finished: bool = False
    seconds: float = 0.0

    @property
    def judged(self) -> list[dict[str, Any]]:
        """Runs with a proved bound that they could violate."""
        return [row for row in self.rows if row["agrees"] is not None]

    @property
    def verdict(self) -> Verdict:
        """REFUTED if one run violates its bound; PROVED if no run is missing and all judged runs agree."""
        if not all(row["agrees"] for row in self.judged):
            return Verdict.REFUTED
        return Verdict.PROVED if self.judged and self.finished and not self.left_out else Verdict.UNDECIDED

    @property
    def headline(self) -> str:
        """The answer in a line."""
        agree = sum(row["agrees"] for row in self.judged)
        words = {Verdict.PROVED: "AGREES", Verdict.REFUTED: "DISAGREES", Verdict.UNDECIDED: "NOT FINISHED"}
        reported = len(self.rows) - len(self.judged)
        return (
            f"{words[self.verdict]}, MEASURED: {agree} of {counted(len(self.judged), 'judged run')} "
            f"on {self.device} {'is' if len(self.judged) == 1 else 'are'} within what is proved; "
            f"{reported} more are reported, not judged; {len(self.left_out)} left out"
            + ("" if self.finished else "; interrupted")
        )

    def json(self) -> dict[str, Any]:
        """Return all fields, in the form of the file."""
        return {"headline": self.headline, "verdict": self.verdict.value, **vars(self), "versions": provenance()}

    def save(self, path: Path) -> None:
        """Write the complete file, replacing an earlier state of this record."""
        write_atomically(path, (json.dumps(self.json(), indent=1) + "\n").encode())


def record_device(
    path: Path,
    *,
    device: str = "cpu",
    dtypes: Sequence[Precision] = DTYPES,
    modes: Sequence[str] = MODES,
    minutes: float = MINUTES,
    chosen: Iterable[Case] | None = None,
    backend: str = "inductor",
    command: str | None = None,
    progress: Progress = silent,
) -> Record:
    """Run every case on a device in every type, eager and compiled, with every batch size; write one JSON file.

    The file is written again after each case, so that an interrupt leaves what was run until then.

    Args:
        path: The file; its folder is made.
        device: ``"cpu"``, ``"cuda"`` or ``"cuda:i"``.
        dtypes: The types, in the order in which they run.
        modes: Whether eager, compiled, or both.
        minutes: After so many no further case begins; what has not run is recorded as left out.
        chosen: The cases; by default `byheart.device_runs.cases.cases`.
        backend: Of `torch.compile`.
        command: What the record calls the command; by default the words of the process.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The record that the file holds.

    Raises:
        InputError: No such kind of device, or a time that is not positive.
        DeviceError: No such device.
    """
    import torch

    from verify.torch.device import device_name, select_device, tf32_refusal

    if not minutes >= 0:
        raise InputError("minutes", f"= {minutes}", "at least 0")
    where, start = select_device(device), time.perf_counter()
    typed = shlex.join(["byheart", *sys.argv[1:]]) if command is None else command
    record = Record(device_name(where), _driver(where), torch.__version__, torch.version.cuda, typed)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        record.tf32 = tf32_refusal(where) or "switched on it changes no product of this device"
        work = list(product(modes, dtypes, list(cases() if chosen is None else chosen)))
        for done, (mode, dtype, case) in enumerate(work):
            progress("runs", done / len(work), f"{mode}, {dtype}: {case.name}")
            if time.perf_counter() - start > 60.0 * minutes:
                record.left_out += _left_out(case, dtype, mode, BATCHES, _NO_TIME)
                continue
            _run_case(record, case, dtype, mode, where, backend)
            record.seconds = round(time.perf_counter() - start, 1)
            record.save(path)
        record.finished = True
    except KeyboardInterrupt:
        pass  # the record says that it is not finished
    record.seconds = round(time.perf_counter() - start, 1)
    record.save(path)
    return record


def _run_case(record: Record, case: Case, dtype: Precision, mode: str, device: "torch.device", backend: str) -> None:
    """Add a row per batch size; a run that raises is recorded as omitted, with its message."""
    from verify.forward.logits import logit_chunks

    left = list(BATCHES)
    try:
        built = case.build(dtype)
        inputs = built.task.inputs
        enclosed = list(logit_chunks(built.model, inputs))
        with _module(built, dtype, mode, device, backend) as module:
            while left:
                result = _run(built, dtype, device, module, left[0], enclosed)
                record.rows.append(_row(case, mode, left.pop(0), result))
    except (ByheartError, RuntimeError) as error:  # torch's own are RuntimeErrors
        first_line = str(error).strip().partition("\n")[0]
        record.left_out += _left_out(case, dtype, mode, left, f"{type(error).__name__}: {first_line}")


@contextmanager
def _module(built: Built, dtype: Precision, mode: str, device: "torch.device", backend: str) -> "Iterator[nn.Module]":
    import torch

    from verify.torch.compiled import compiled
    from verify.torch.module import Replica

    replica = Replica.from_model(built.model, dtype=getattr(torch, dtype), device=device)
    with compiled(replica, backend=backend) if mode == "compiled" else nullcontext(replica) as module:
        yield module


def _run(
    built: Built, dtype: Precision, device: "torch.device", module: "nn.Module", batch: int | None, enclosed: Any
) -> "RunResult":
    from verify.torch.run import run

    task = built.task
    whole = task.n_contexts
    return run(
        built.model,
        task,
        device=str(device),
        dtype=dtype,
        tolerance=built.criterion.tolerance,
        logits=enclosed,
        replica=module,
        batch=whole if batch is None else batch,
    )


def _row(case: Case, mode: str, batch: int | None, result: "RunResult") -> dict[str, Any]:
    """Return the figures of a run, and whether it agrees with its proved bound, or None without a bound.

    Where no rounding bound is finite, it may be proved that every run holds some contexts: this one has to hold them.
    """
    agrees = result.within_bound
    if agrees is None and result.proved is not None and result.proved.any():
        agrees = bool(result.right[result.proved].all())
    return {
        "kind": case.kind,
        "name": case.name,
        "dtype": result.dtype,
        "mode": mode,
        "batch": _batch(batch),
        "contexts": len(result.right),
        "memorized": result.memorized,
        "memorized_proved": result.memorized_proved,
        "largest_error": _finite(result.max_output_error),
        "largest_bound": _finite(result.largest_bound),
        "agrees": agrees,
        "seconds": result.seconds,
    }


def _left_out(case: Case, dtype: str, mode: str, batches: Sequence[int | None], reason: str) -> list[dict[str, Any]]:
    run = {"kind": case.kind, "name": case.name, "dtype": dtype, "mode": mode}
    return [{**run, "batch": _batch(batch), "reason": reason} for batch in batches]


def _batch(batch: int | None) -> int | str:
    return "all" if batch is None else batch


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def _driver(device: "torch.device") -> str | None:
    """Return the driver version reported by `nvidia-smi`."""
    program = shutil.which("nvidia-smi")
    if device.type != "cuda" or program is None:
        return None
    words = [program, f"--id={device.index}", "--query-gpu=driver_version", "--format=csv,noheader"]
    said = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    return said.stdout.strip() or None


COLUMNS = {
    "name": "case",
    "dtype": "type",
    "mode": "mode",
    "largest_error": "largest error",
    "largest_bound": "proved bound",
    "memorized": "right",
    "agrees": "agrees",
}
"""What the columns of `table` are, by their keys."""


def table(record: Record) -> list[dict[str, str]]:
    """Return a row for each case, type and mode, with the largest figures of all batch sizes."""
    by_case: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in record.rows:
        by_case.setdefault((row["name"], row["dtype"], row["mode"]), []).append(row)
    found = []
    for (name, dtype, mode), rows in by_case.items():
        verdicts = [row["agrees"] for row in rows]
        fewest = min(row["memorized"] for row in rows)
        found.append(
            {
                "name": name,
                "dtype": dtype,
                "mode": mode,
                "largest_error": _largest([row["largest_error"] for row in rows]),
                "largest_bound": _largest([row["largest_bound"] for row in rows]),
                "memorized": f"{fewest:,}/{rows[0]['contexts']:,}",
                "agrees": "NO" if False in verdicts else "not judged" if None in verdicts else "yes",
            }
        )
    return found


def reasons(record: Record) -> list[tuple[str, str]]:
    """Count the omitted runs by reason."""
    found = Counter(each["reason"] for each in record.left_out)
    return [(reason, counted(number, "run")) for reason, number in found.most_common()]


def _largest(values: Sequence[float | None]) -> str:
    """Format the largest value with three digits; empty if one is missing or not finite."""
    return "-" if None in values else f"{max(value for value in values if value is not None):.3g}"
