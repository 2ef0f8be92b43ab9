r"""Train the points that are missing, prove what each holds, and keep both.

The weights of a point lie in a file under its key: they are data that nothing believes. What a point holds is proved
from them, in a folder of its own that `byheart check` takes; so an edit of the program costs new proofs, seconds, and
no training.

Page: docs/experiments.md
"""

import csv
import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from constructions.errors import FileFormatError, InputError
from constructions.formats.files import new_folder, write_atomically
from constructions.model.model import Model
from constructions.progress import Progress, silent
from constructions.tasks.criterion import Criterion
from constructions.tasks.vectors import Vectors
from experiments.kept import Kept
from experiments.layers import TOLERANCE, AnyPoint, LayerPoint
from experiments.limits import ceiling, floor
from experiments.points import Point
from verify.arithmetic.rounding import down, up
from verify.forward.heads import enclose_layer
from verify.provers.memorization import certify_memorization, judge
from verify.theorems.saturated_layers.saturation import certify_saturation
from verify.workers import Workers, completed

_CACHED, _ON_DEVICE = 2**26, 2**31  # bytes of a stack, forward and backward

AGREEING = 0.99
"""Of the points, on which one float32 run and the proof have to count the same."""
FINDINGS = "findings.csv"
"""The table beside those of the points: what each sentence of a source comes to."""

_SATURATED = 0.99  # the attention weight, in Appendix H of Mahdavi et al.
_KINDS = (Point(tokens=2, d_model=1, d_head=1, heads=0), LayerPoint(examples=1, n_ctx=1, d_model=2, d_head=1, heads=1))


@dataclass(frozen=True)
class Result:
    """What was proved of a trained point.

    Args:
        point: Its settings, a `Point` or a `LayerPoint`.
        contexts: T.
        right: How many of them one float32 run answers rightly.
        memorized: How many are proved to be answered rightly (labels: that, too; distributions: the mode).
        wrong: How many are proved to be answered wrongly.
        loss_lower: Of the mean divergence from the targets, nats; of the mean square of the distance from numbers.
        loss_upper: The same from above.
        parameters: Entries that were trained.
        saturation: Of a layer, how many examples have 0, 1, .. heads that are proved to be saturated at .99; none where
            a weight cannot be told from that.
        ceiling: The most that any weights of the shape can hold, where it is known.
        floor: The least loss of any weights of the shape, where it is known.
        draws_memorized: Of a sample, how many of its draws are of contexts that are held: what its steps see.
    """

    point: Any
    contexts: int
    right: int
    memorized: int
    wrong: int
    loss_lower: float
    loss_upper: float
    parameters: int
    ceiling: int | None
    floor: float | None
    saturation: tuple[int, ...] | None = None
    draws_memorized: int | None = None

    @property
    def share(self) -> float:
        """Of the contexts, proved."""
        return self.memorized / self.contexts

    @property
    def draws_share(self) -> float | None:
        """Of the draws of a sample, proved; none where all contexts are seen."""
        return None if self.draws_memorized is None else self.draws_memorized / self.point.sample().size

    @property
    def bits(self) -> float:
        r"""Bits a parameter: $T\, \mathrm{kl}(a \Vert 1/N) / (P \log 2)$ for the share a that is held of N answers."""
        a, q = self.share, 1 / self.point.answers
        if q == 1:
            return 0.0  # a number, of which no bits are asked
        part = [x * np.log(x / y) for x, y in ((a, q), (1 - a, 1 - q)) if x]
        return float(self.contexts * sum(part) / np.log(2) / self.parameters) if a > q else 0.0

    @property
    def violation(self) -> str | None:
        """What is proved on the wrong side of a proved limit, in words: then one of the proofs is wrong."""
        if self.ceiling is not None and self.memorized > self.ceiling:
            return (
                f"{self.memorized} contexts are proved to be held, and no weights of the shape hold {self.ceiling + 1}"
            )
        if self.floor is not None and self.loss_upper < self.floor:
            return f"the mean loss is proved to be at most {self.loss_upper}, and to be at least {self.floor}"
        return None

    def row(self) -> dict[str, str]:
        """Return the result as a line of a table; numbers as they are read back to the same."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "point"}
        cells = {"key": self.point.key, **vars(self.point), **own, "bits_a_parameter": self.bits}
        if isinstance(self.point, LayerPoint):
            cells["saturation"] = self.saturation and " ".join(map(str, self.saturation))
        else:
            del cells["saturation"]
        if self.draws_memorized is None:
            del cells["draws_memorized"]
        return {name: "" if value is None else str(value) for name, value in cells.items()}


def sweep(
    points: Sequence[AnyPoint],
    out: Path,
    *,
    weights: Path | None = None,
    device: str = "cpu",
    workers: Workers | None = None,
    progress: Progress = silent,
) -> tuple[list[Result], dict[str, str]]:
    """Train what is missing, and prove all.

    Args:
        points: The points; equal ones count once.
        out: Folder that gets ``points/KEY/`` for each.
        weights: Folder of the trained weights, which is taken over; by default ``weights`` in `out`.
        device: Where the training is done.
        workers: Makes the executor for the training; here, by default.
        progress: Called with the stage and the finished share of it.

    Returns:
        The results in the order of the points, up to the first one beyond a proved limit, whose folder stays as
        evidence; and what went wrong with those that have none, by key: with their training, or with weights that
        were there and are not theirs.
    """
    distinct = {point.key: point for point in points}
    kept = Kept(weights or out / "weights")
    kept.folder.mkdir(parents=True, exist_ok=True)
    failed = _train(list(distinct.values()), kept, device, workers, progress)
    found = []
    for place, (key, point) in enumerate(distinct.items()):
        progress("proving", place / len(distinct), f"{place} of {len(distinct)} points")
        if key in failed:
            continue
        try:
            result = certified(point, kept, out / "points" / key)
        except (InputError, FileFormatError) as error:
            failed[key] = str(error)  # a file that somebody put there costs its own point alone
            continue
        found.append(result)
        if result.violation is not None:
            break
    progress("proving", 1.0, f"{len(found)} points")
    return found, failed


def _train(
    points: list[AnyPoint], kept: Kept, device: str, workers: Workers | None, progress: Progress
) -> dict[str, str]:
    missing = [point for point in points if point.key not in kept]
    stacks = list(_stacks(missing, device))
    cost = [stack[0].cost() * len(stack) for stack in stacks]
    done, failed = 0.0, dict[str, str]()

    def show(share: float, size: float) -> None:
        detail = f"{len(missing)} of {len(points)} points, {len(points) - len(missing)} were there"
        progress("training", (done + share * size) / max(1.0, sum(cost)), detail)

    sizes = dict(zip(stacks, cost, strict=True))
    running = partial(show, size=cost[0]) if workers is None and cost else None
    work = partial(_trained, device=device, progress=running if workers is None else None)
    for stack, outcome in completed(work, stacks, workers):
        done += sizes[stack]
        if isinstance(outcome, Exception):
            failed |= {point.key: str(outcome) for point in stack}
        else:
            for point, (arrays, about) in zip(stack, outcome, strict=True):
                kept.save(point.key, arrays, {**about, "point": point.settings()})
        show(0.0, 0.0)
    return failed


def _trained(
    stack: tuple[AnyPoint, ...], *, device: str, progress: Callable[[float], None] | None
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    import torch

    from experiments.training import trained

    if device == "cpu":
        torch.set_num_threads(1)  # stacks are small, and workers are many
    start = time.perf_counter()
    weights = trained(stack, device=device, progress=progress)
    about = {
        "seconds": f"{(time.perf_counter() - start) / len(stack):.3f}",
        "device": device,
        "torch": torch.__version__,
    }
    return [(each, about) for each in weights]


def _stacks(points: list[AnyPoint], device: str) -> Iterator[tuple[AnyPoint, ...]]:
    shapes: dict[str, list[AnyPoint]] = {}
    for point in points:
        shapes.setdefault(point.shape, []).append(point)
    for same in sorted(shapes.values(), key=lambda same: same[0].cost()):
        size = max(1, (_CACHED if device == "cpu" else _ON_DEVICE) // same[0].bytes())
        yield from (tuple(same[i : i + size]) for i in range(0, len(same), size))


def model_of(point: AnyPoint, kept: Kept) -> Model:
    """Return the model of trained weights, which say themselves of which point they are.

    Args:
        point: The settings.
        kept: Has the trained weights.

    Raises:
        InputError: The weights are those of another point, of other shapes or not finite.
        FileFormatError: The file is none of weights.
    """
    from experiments.training import exact, shapes

    file, (about, arrays) = kept.file(point.key), kept.load(point.key)
    if not isinstance(about, dict) or about.get("point") != point.settings():
        raise InputError(file, "holds the weights of another point", f"those of {point}")
    found = {name: each.shape for name, each in arrays.items()}
    if found != shapes(point):
        raise InputError(file, f"holds tensors of the shapes {found}", shapes(point))
    if not all(np.isfinite(each).all() for each in arrays.values()):
        raise InputError(file, "holds weights that are not finite", "finite ones")
    return point.model(exact(point, arrays))


def certified(point: AnyPoint, kept: Kept, folder: Path) -> Result:
    """Prove what the weights of a point hold, and write the folder of the point.

    Args:
        point: The settings.
        kept: Has the trained weights.
        folder: Gets the model, the task and the certificate.

    Raises:
        InputError: The weights are not those of the point.
        FileFormatError: The file is none of weights.
    """
    model, task = model_of(point, kept), point.task()
    result = proved(point, model)
    asked = _at_least(max(1, result.memorized), point)
    if point.targets == "distributions" and result.loss_upper < np.inf:
        asked = Criterion.at_most(result.loss_upper * (1 + 2.0**-10))
    with new_folder(folder, overwrite=True) as new:
        model.save(new / "model.safetensors")
        task.save(new / "task.safetensors")
        certify_memorization(model, task, asked).save(new)
    return result


def proved(point: AnyPoint, model: Model) -> Result:
    """Return what a model holds of the task of a point, beside what one float32 run of it says."""
    import torch

    from verify.torch.module import Replica

    task = point.task()
    answers = judge(model, task, _at_least(1, point)).answers
    replica, given = Replica.from_model(model), task.inputs
    arrays = (
        (given.contexts.astype(np.float32), given.queries.astype(np.float32))
        if isinstance(given, Vectors)
        else (given,)
    )
    with torch.inference_mode():
        logits = replica(*map(torch.tensor, arrays)).numpy()
    if task.values is not None:
        right = abs(logits - task.values).max(axis=1) <= TOLERANCE
        memorized, wrong = answers.memorized("values", TOLERANCE), answers.wrong("values", TOLERANCE)
        lower, upper = down(answers.loss_lower**2), up(answers.loss_upper**2)  # a square rounds once
        answers = replace(answers, loss_lower=np.maximum(lower, 0.0), loss_upper=upper)
    else:
        right = task.modes()[np.arange(len(logits)), logits.argmax(axis=1)]
        memorized, wrong = answers.margin_lower > 0, answers.margin_upper <= 0
    least, most = answers.mean_loss()
    return Result(
        point=point,
        contexts=task.n_contexts,
        right=int(right.sum()),
        memorized=int(memorized.sum()),
        wrong=int(wrong.sum()),
        loss_lower=least,
        loss_upper=most,
        parameters=point.parameters(),
        ceiling=ceiling(point),
        floor=floor(point),
        saturation=None if model.reads_tokens else _saturation(model, given),
        draws_memorized=int(memorized[point.sample()].sum()) if _sampled(point) else None,
    )


def _sampled(point: AnyPoint) -> TypeGuard[Point]:
    return isinstance(point, Point) and point.protocol != "all contexts"


def _at_least(contexts: int, point: AnyPoint) -> Criterion:
    """Return the question whether so many are held; numbers are within the tolerance of the figures."""
    numbers = point.targets == "numbers"
    return Criterion.at_least(contexts, tolerance=TOLERANCE) if numbers else Criterion.at_least(contexts)


def _saturation(layer: Model, given: Any) -> tuple[int, ...] | None:
    found = certify_saturation(enclose_layer(layer, given).top, threshold=_SATURATED)
    if not (found.saturated | found.unsaturated).all():
        return None
    heads = found.saturated.shape[1]
    return tuple(np.bincount(found.saturated.sum(axis=1), minlength=heads + 1).tolist())


def agreeing(results: Sequence[Result]) -> bool:
    """Whether one float32 run and the proof count the same on nearly all points."""
    return sum(each.right == each.memorized for each in results) >= AGREEING * len(results)


def write_table(path: Path, results: Sequence[Result]) -> None:
    """One line a point."""
    write_rows(path, [result.row() for result in results])


def write_rows(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """Write a table with the names of all rows; a cell is empty where a row has no such name."""
    text, names = io.StringIO(), list(dict.fromkeys(name for row in rows for name in row))
    table = csv.DictWriter(text, names or ["key"], lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    write_atomically(path, text.getvalue().encode())


def read_table(path: Path) -> list[Result]:
    """Return the results of a table, as they were written.

    Raises:
        FileFormatError: The file is missing or no table of points.
    """
    try:
        rows = list(csv.DictReader(io.StringIO(Path(path).read_text(encoding="utf-8"))))
        return [read_result(row) for row in rows]
    except (OSError, TypeError, ValueError, KeyError, csv.Error) as error:
        raise FileFormatError(f"{path} is not a table of points: {error}") from None


def read_result(row: Mapping[str, str]) -> Result:
    """Return the result of a line of a table.

    Raises:
        KeyError: A column is missing.
        ValueError: A cell is none of a result.
    """
    result = Result(
        point=point_of(row),
        contexts=int(row["contexts"]),
        right=int(row["right"]),
        memorized=int(row["memorized"]),
        wrong=int(row["wrong"]),
        loss_lower=float(row["loss_lower"]),
        loss_upper=float(row["loss_upper"]),
        parameters=int(row["parameters"]),
        ceiling=int(row["ceiling"]) if row["ceiling"] else None,
        floor=float(row["floor"]) if row["floor"] else None,
        saturation=tuple(map(int, row["saturation"].split())) if row.get("saturation") else None,
        draws_memorized=int(row["draws_memorized"]) if row.get("draws_memorized") else None,
    )
    counts, draws = (result.right, result.memorized, result.wrong), result.draws_memorized or 0
    if min(*counts, draws, *(result.saturation or [0])) < 0 or max(counts[0], sum(counts[1:])) > result.contexts:
        raise ValueError(f"right, held, wrong = {counts} of {result.contexts} contexts")
    if not 0 <= result.loss_lower <= result.loss_upper or result.contexts < 1 or result.parameters < 1:
        raise ValueError(f"a loss from {result.loss_lower} to {result.loss_upper}, {result.parameters} parameters")
    if result.saturation is not None and sum(result.saturation) != result.contexts:
        raise ValueError(f"saturation of {sum(result.saturation)} of {result.contexts} examples")
    return result


def point_of(row: Mapping[str, str]) -> AnyPoint:
    """Return the point of a line of a table.

    Raises:
        ValueError: A column is missing, or a cell is no setting.
    """
    kind = next((each for each in _KINDS if vars(each).keys() <= row.keys()), None)
    if kind is None:
        raise InputError("columns", ", ".join(map(str, row)), "the settings of a point among them")
    return type(kind)(**{name: type(default)(row[name]) for name, default in vars(kind).items()})
