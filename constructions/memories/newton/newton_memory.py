"""Search for the smallest attention-only models that memorize a table of facts, by damped Newton steps on all weights.

Page: docs/claims/newton_memory.md
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from constructions.errors import CapacityError, InputError, ResourceError
from constructions.memories.codes.scalar_label_code import LabelCode, scalar_label_code
from constructions.memories.newton.levenberg_marquardt import Descent, levenberg_marquardt
from constructions.memories.newton.single_value_heads import Run, SingleValueHeads, add_products
from constructions.model.attention import logits
from constructions.model.model import Model
from constructions.model.shapes import dana_network, dana_tensors
from constructions.numeric.arrays import BoolArray, Float64Array, Int64Array
from constructions.progress import Progress, silent
from constructions.tasks.task import Task

Report = Callable[[str, int, float], None]

LEAST_MARGIN = 0.03
"""By how much each label has to be ahead, in float64 arithmetic on the rounded weights, for a model to count; nats."""

_CLAIM = "The Newton memory"
_TOLERANCE = 0.35  # of the number that names a label: leaves the margin 1/2 - 0.35
_STRETCH = 10.0  # K: how far the heads are from the coincidence that they start near
_JITTER = 0.05  # how far the two heads of a pair start from each other
_SAFE = (1.02, 1.0)  # degrees of freedom per fact of the shape to begin with: for one stage, and for two
_SAFE_WIDTH = (6, 4)
_NARROWEST = (6, 3)  # in narrower ones the steps seldom arrive
_AMPLER = 1.1  # by which factor they are raised where it takes turns with another
_WIDER = 1.25  # by which factor they are raised where no start succeeds
_WIDENINGS = 5  # how often
_WANTED = 0.5  # margin that the second stage asks for
_ENOUGH = 0.08  # margin at which either stage ends
_STEP = 0.08  # by which share of its entries a shape is made smaller
_PATIENCE = (20, 100)  # steps in which the sums of squares of the two stages have to fall
_ALONE = 40  # in which that of the first has to where there is no second
_FALL = 0.8  # to this share
_REPORTED = 10  # steps between two reports
_ROWS = 2048  # of a derivative that are formed at a time
_LARGEST_GRAM = 2**13  # facts: 512 MiB for T x T numbers; LAPACK with several threads may crash on twice as many
_MOST_FREE = 1000  # facts up to which there is a second stage, whose derivative is stored
_WIDTHS = range(2, 65)
_MOST_QUERIES = 4  # the largest d_qk that is tried


class Shape(NamedTuple):
    """The widths of the network: `d_model`, `d_qk` and the number of heads; `d_head` is 1."""

    d_model: int
    d_qk: int
    n_heads: int


@dataclass(frozen=True)
class Attempt:
    """One shape of the search, and how many of its starts led to a model that memorizes the table.

    Args:
        shape: The shape.
        parameters: Entries of all its tensors.
        solved: Number of seeds that succeeded.
        seeds: Number of seeds that were tried; the search leaves a shape at its first success, or at that of a shape
            with which it takes turns.
        iterations: Steps of each of them, both stages together.
    """

    shape: Shape
    parameters: int
    solved: int
    seeds: int
    iterations: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class NewtonMemory:
    """A network, found by search, that memorizes a table of facts in floating point. Nothing here is certified.

    Args:
        network: The weights, each of them a float32 number.
        shape: Its shape.
        parameters: Entries of all tensors as stored.
        used_parameters: Entries without the rows of `W_E` of tokens that are never read, and the columns of `W_U` of
            tokens that are never the answer.
        margin: By how much the label is ahead of every other token in the worst fact, in float64 arithmetic, nats.
        attempts: The shapes that were tried, in order.
        seed: The seed that led to the network.
        complete: Whether the search came to its end; otherwise it was interrupted or had no work left, and this is
            the best so far.
    """

    network: Model
    shape: Shape
    parameters: int
    used_parameters: int
    margin: float
    attempts: tuple[Attempt, ...]
    seed: int
    complete: bool


def newton_memory(
    task: Task,
    *,
    at_most: int | None = None,
    seeds: int = 4,
    iterations: int = 1000,
    work: float | None = None,
    seed: int = 0,
    resume: NewtonMemory | None = None,
    progress: Progress | None = None,
) -> NewtonMemory:
    r"""Search for a small attention-only transformer that memorizes a table of facts, for any context length.

    First a shape that is large enough to be nearly safe: one with a degree of freedom per fact or somewhat more, see
    `freedom`; beyond 1000 facts it takes turns with one of a tenth more. Then one of a quarter more, where no start
    succeeds. From there on, smaller by some percent at a time while a start succeeds, taken in turn from the best
    shapes of two widths; and once more by half the step. Each start runs in two stages, `solve`. A model counts if,
    with its entries rounded to float32, every label is ahead by at least `LEAST_MARGIN` in float64 arithmetic; a proof
    is the caller's.

    A keyboard interrupt ends the search and keeps the best model so far, if there is one.

    Args:
        task: Contexts of any length $S \ge 1$, and labels.
        at_most: Entries of all tensors that the model may have; by default as many as the safe shape has.
        seeds: Starts for each shape, at most; the first that succeeds ends the trial.
        iterations: Steps of each start, at most, in each of its stages.
        work: Nanoseconds of all starts together, at most, as `levenberg_marquardt` counts them; by default as many as
            it takes.
        seed: The first seed; on one machine equal arguments give equal bits.
        resume: A model that an earlier search found for this task: the search goes on below its size.
        progress: Called during the search.

    Returns:
        The smallest model found, and the record of the search.

    Raises:
        InputError: A task of distributions, a number out of range, or a model to resume that does not hold the task.
        CapacityError: No network was found, or not with so much work, or there is none of so few entries among those
            that are tried.
        ResourceError: More facts than a matrix of their products has room for.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> task = enumerated_task(4, 2, seed=1)
        >>> found = newton_memory(task)
        >>> found.parameters < 100, found.margin > 0.05
        (True, True)
        >>> bool((logits(found.network, task.contexts).argmax(axis=1) == task.labels).all())
        True
    """
    for name, value in (("seeds", seeds), ("iterations", iterations), ("work", work)):
        if value is not None and value < 1:
            raise InputError(name, f"= {value}", "at least 1")
    table = Table.of(task)
    search = _Search(table, seeds, iterations, math.inf if work is None else work, seed, progress or silent)
    if resume is not None:
        search.take_up(resume)
    complete = True
    try:
        search.start(at_most)
        search.shrink()
    except KeyboardInterrupt:
        if search.best is None:
            raise
        complete = False
    except _WorkSpentError:
        if search.best is None:
            raise search.spent() from None
        complete = False
    assert search.best is not None
    network, shape, margin, by = search.best
    return NewtonMemory(
        network=network,
        shape=shape,
        parameters=network.parameters,
        used_parameters=table.used(shape),
        margin=margin,
        attempts=tuple(search.attempts),
        seed=by,
        complete=complete,
    )


@dataclass(frozen=True, eq=False)
class Table:
    """The facts of a task over its input tokens and the tokens that occur only as answers.

    Args:
        task: The task.
        read: The tokens that occur in contexts, increasing.
        answers: The tokens that are labels, increasing.
        contexts: The contexts in numbers of `read`, `[T, S]`.
        labels: The labels in numbers of `answers`, `[T]`.
    """

    task: Task
    read: Int64Array
    answers: Int64Array
    contexts: Int64Array
    labels: Int64Array

    @classmethod
    def of(cls, task: Task) -> "Table":
        """Return the table of a task.

        Raises:
            InputError: The target of the task is not ``labels``.
            ResourceError: Too many facts.
        """
        if task.target != "labels":
            raise InputError("target", f"is {task.target!r}", "'labels' for a table of facts")
        if task.n_contexts > _LARGEST_GRAM:
            raise ResourceError(f"{task.n_contexts} facts, expected at most {_LARGEST_GRAM}: their products are stored")
        read, contexts = np.unique(task.contexts, return_inverse=True)
        answers, labels = np.unique(task.labels, return_inverse=True)
        return cls(task, read, answers, contexts.reshape(task.contexts.shape), labels)

    def heads(self, shape: Shape) -> SingleValueHeads:
        """Return the network of this shape on the tokens that are used."""
        d_model, d_qk, heads = shape
        return SingleValueHeads(self.contexts, len(self.read), len(self.answers), d_model, d_qk, heads)

    def used(self, shape: Shape) -> int:
        """Count the entries of a network of this shape that some fact reads."""
        return self._entries(shape, len(self.read) + len(self.answers))

    def stored(self, shape: Shape) -> int:
        """Count the entries of all tensors of a network of this shape."""
        return self._entries(shape, self.task.d_vocab + self.task.n_answers)

    def _entries(self, shape: Shape, vectors: int) -> int:
        d_model, d_qk, n_heads = shape
        return d_model * (vectors + self.contexts.shape[1]) + 2 * n_heads * d_model * (d_qk + 1)

    @property
    def has_two_stages(self) -> bool:
        """Whether the facts are few enough for the second stage of `solve`."""
        return len(self.labels) <= _MOST_FREE

    def network(self, shape: Shape, weights: Float64Array) -> Model:
        r"""Return the network over all tokens and answers of the task, every entry rounded to float32.

        A token that is never read has the embedding 0. One that is never the answer has the mean of the columns of
        those that are: its logit is the mean of theirs, and the label is ahead of that by the mean of its leads.
        """
        small = self.heads(shape).network(weights.astype(np.float32).astype(np.float64))
        W_E = np.zeros((self.task.d_vocab, shape.d_model))
        W_U = np.empty((shape.d_model, self.task.n_answers))
        W_E[self.read] = small.W_E
        W_U[:] = small.W_U.mean(axis=1, keepdims=True)
        if len(self.answers) == 1:
            W_U[0] -= 1.0  # its mean is itself
        W_U[:, self.answers] = small.W_U
        W_U = W_U.astype(np.float32).astype(np.float64)
        return dana_network(**dana_tensors(small) | {"W_E": W_E, "W_U": W_U})

    def margin(self, network: Model) -> float:
        """Return the margin of the label in the worst fact, in float64 arithmetic."""
        outputs = logits(network, self.task.contexts)
        return float(_leads(outputs, self.task.labels).min())


def freedom(shape: Shape, *, d_vocab: int, n_ctx: int) -> int:
    r"""Count the degrees of freedom of the number y that names the labels: the rank of its derivative is at most that.

    It is for $S \ge 2$ wherever the symmetries of the weights are independent at one point.

    With $\tau = d + 2 d r - r^2$ directions per head, and d replaced by $2 + H (2 r + 1)$ where that is less,

    $$ D = N (d - 1) + (S - 2) d - d (d - 2) + H \tau . $$

    Args:
        shape: $d$, $r$ = `d_qk` and $H$.
        d_vocab: N, of the tokens that are read.
        n_ctx: S. For $S = 1$ there is no attention, and y is one number for each token.

    Returns:
        D, at least 0.

    Example:
        >>> freedom(Shape(9, 2, 54), d_vocab=50, n_ctx=2), freedom(Shape(12, 1, 1), d_vocab=5, n_ctx=2)
        (2551, 19)
    """
    if n_ctx == 1:
        return d_vocab
    d_model, d_qk, n_heads = shape
    d = min(d_model, 2 + n_heads * (2 * d_qk + 1))
    r = min(d_qk, d)
    return max(0, d_vocab * (d - 1) + (n_ctx - 2) * d - d * (d - 2) + n_heads * (d + 2 * d * r - r * r))


def best_shape(table: Table, entries: int, *, narrowest: int | None = None, besides: int | None = None) -> Shape | None:
    """Return the shape within a number of used entries that has the most degrees of freedom in the two stages together.

    Args:
        table: The facts.
        entries: How many used entries it may have.
        narrowest: The width below which it is only where no other fits; by default 3, and 6 beyond 1000 facts.
        besides: A width that it shall not have.

    Returns:
        The shape; `None` where not even two coordinates without a head fit.
    """
    d_vocab, n_ctx = len(table.read), table.contexts.shape[1]
    narrowest = _NARROWEST[table.has_two_stages] if narrowest is None else narrowest
    candidates: list[tuple[tuple[bool, int], Shape]] = []
    for d_model in _WIDTHS if n_ctx > 1 else (2,):
        for d_qk in range(1, min(d_model, _MOST_QUERIES) + 1) if d_model != besides else ():
            room = entries - table.used(Shape(d_model, d_qk, 0))
            if room < 0:
                continue
            n_heads = room // (2 * d_model * (d_qk + 1)) if n_ctx > 1 else 0
            shape = Shape(d_model, d_qk, n_heads)
            score = freedom(shape, d_vocab=d_vocab, n_ctx=n_ctx)
            if table.has_two_stages:
                # What the second stage frees, less the changes of basis that leave the logits as they are.
                score += table.used(shape) - n_heads * (d_qk**2 + 1) - d_model * (d_model + 2)
            candidates.append(((d_model >= narrowest, score), shape))
    return max(candidates, key=lambda each: each[0])[1] if candidates else None


def safe_shape(table: Table, per_fact: float) -> Shape:
    """Return the smallest `best_shape` with enough degrees of freedom per fact and at least four coordinates, or six
    beyond 1000 facts.

    Args:
        table: The facts.
        per_fact: Degrees of freedom of y for each fact, by `freedom`.

    Returns:
        The shape.
    """
    needed = math.ceil(per_fact * len(table.labels))
    if table.contexts.shape[1] == 1:
        needed = min(needed, len(table.read))
    low, high, narrowest = 0, 64, _SAFE_WIDTH[table.has_two_stages]

    def enough(entries: int) -> bool:
        shape = best_shape(table, entries, narrowest=narrowest)
        return shape is not None and (freedom(shape, d_vocab=len(table.read), n_ctx=table.contexts.shape[1]) >= needed)

    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    shape = best_shape(table, high, narrowest=narrowest)
    assert shape is not None
    return shape


def _leads(found: Float64Array, labels: Int64Array) -> Float64Array:
    """Return the margin of each label over the best other token, `[T]`; infinite where there is no other token."""
    others = found.copy()
    others[np.arange(len(labels)), labels] = -np.inf
    return found[np.arange(len(labels)), labels] - others.max(axis=1)


class _Found(NamedTuple):
    network: Model
    shape: Shape
    margin: float
    seed: int


class _WorkSpentError(Exception):
    """The work allowance is used up."""


class _Search:
    """The shapes tried so far, and the smallest model found."""

    def __init__(self, table: Table, seeds: int, iterations: int, left: float, seed: int, progress: Progress) -> None:
        self.table, self.seeds, self.iterations, self.seed, self.progress = table, seeds, iterations, seed, progress
        self.left = left
        self.attempts: list[Attempt] = []
        self.failed: set[Shape] = set()  # in this search: one that is taken up may have had fewer starts
        self.best: _Found | None = None

    def take_up(self, found: NewtonMemory) -> None:
        """Continue from a model of an earlier search."""
        network, task = found.network, self.table.task
        sizes = (network.d_vocab, network.n_ctx, network.d_vocab_out)
        wanted = (task.d_vocab, task.n_ctx, task.n_answers)
        if sizes != wanted:
            raise InputError("resume", f"has tokens, positions and labels {sizes}", wanted)
        margin = self.table.margin(network)
        if not margin >= LEAST_MARGIN:
            raise InputError("resume", f"has the margin {margin:g} on the worst fact", f"at least {LEAST_MARGIN}")
        shape = Shape(network.d_model, network.d_qk, network.n_heads)
        self.best = _Found(network, shape, margin, found.seed)
        self.attempts = list(found.attempts)

    def start(self, at_most: int | None) -> None:
        """Find a first model, of the safe shape or of the largest allowed one."""
        if self.best is not None and (at_most is None or self.best.network.parameters <= at_most):
            return
        per_fact = _SAFE[self.table.has_two_stages]
        for _ in range(1 + _WIDENINGS):
            shapes = [safe_shape(self.table, per_fact)]
            if at_most is not None and self.table.stored(shapes[0]) > at_most:
                if not self.tried([self._allowed(at_most)]):
                    raise self._none_found(at_most)
                return
            if not self.table.has_two_stages:
                ampler = safe_shape(self.table, _AMPLER * per_fact)
                shapes += [ampler] if at_most is None or self.table.stored(ampler) <= at_most else []
            if self.tried(shapes):
                return
            per_fact *= _WIDER
        raise self._none_found(at_most)

    def shrink(self) -> None:
        """Try smaller shapes while a start succeeds; halve the step after the first failure."""
        step = _STEP
        while step >= _STEP / 2:
            assert self.best is not None
            entries = self.table.used(self.best.shape)
            room = min(entries - 1, math.floor(entries * (1.0 - step)))
            shape = best_shape(self.table, room)
            shapes = [] if shape is None else [shape, best_shape(self.table, room, besides=shape.d_model)]
            # Two coordinates are a last resort, for where no other width fits.
            if not self.tried([s for s in shapes if s is not None and (s.d_model > 2 or s is shape)]):
                step /= 2

    def tried(self, shapes: list[Shape]) -> bool:
        """Return whether a start leads to a model of one of these shapes: one start per shape, then another one per
        shape.
        """
        steps: dict[Shape, list[int]] = {shape: [] for shape in shapes if shape not in self.failed}
        solved: Shape | None = None
        try:
            for k, shape in itertools.product(range(self.seed, self.seed + self.seeds), steps):
                solution = solve(
                    self.table,
                    shape,
                    iterations=self.iterations,
                    work=self.left,
                    seed=k,
                    report=self._reported(shape, k),
                )
                self.left -= solution.work
                steps[shape].append(solution.iterations)
                if solution.done:
                    network = self.table.network(shape, solution.variables)
                    margin = self.table.margin(network)
                    if margin >= LEAST_MARGIN:
                        self.best = _Found(network, shape, margin, k)
                        solved = shape
                        break
                if solution.spent:
                    raise _WorkSpentError
        finally:
            for shape, taken in steps.items():
                if taken:
                    stored = self.table.stored(shape)
                    self.attempts.append(Attempt(shape, stored, int(shape == solved), len(taken), tuple(taken)))
        if solved is None:
            self.failed.update(steps)
            return False
        self.progress("search", None, f"{len(self.table.labels)} facts, {self.table.stored(solved)} entries: found")
        return True

    def _reported(self, shape: Shape, seed: int) -> Report:
        facts, entries, before = len(self.table.labels), self.table.stored(shape), self.left
        name = f"{facts} facts, {entries} entries, start {seed - self.seed + 1} of {self.seeds}"
        limit = "" if math.isinf(before) else f", at most {before / 1e9:.1f} s more"
        return lambda stage, done, right: self.progress(
            "search", None, f"{name}{limit}: {stage}, step {done}, {right:.1%} right"
        )

    def _allowed(self, at_most: int) -> Shape:
        """Return the best shape that is stored in a number of entries."""
        table = self.table
        unused = table.task.d_vocab + table.task.n_answers - len(table.read) - len(table.answers)
        shapes = (best_shape(table, at_most - unused * d_model) for d_model in _WIDTHS)
        fitting = [shape for shape in shapes if shape is not None and table.stored(shape) <= at_most]
        if not fitting:
            least = table.stored(Shape(2, 1, 0))
            raise CapacityError(_CLAIM, f"at least {least} entries, two for each token", f"at_most = {at_most}")
        return max(fitting, key=table.used)

    def spent(self) -> CapacityError:
        """Return the error to raise if the work ends before a model is found."""
        facts = len(self.table.labels)
        starts = sum(attempt.seeds for attempt in self.attempts)
        value = f"none of {starts} starts reached them with so much"
        return CapacityError(_CLAIM, f"more work for {facts} facts", value)

    def _none_found(self, at_most: int | None) -> CapacityError:
        tried = self.attempts[-1]
        allowed = "" if at_most is None else f"at_most = {at_most}, and "
        return CapacityError(
            _CLAIM,
            f"a start that reaches all {len(self.table.labels)} facts",
            f"{allowed}none of {tried.seeds} starts did with {tried.parameters} entries; "
            "allow more entries, seeds or iterations",
        )


def solve(
    table: Table,
    shape: Shape,
    *,
    iterations: int,
    seed: int,
    work: float = math.inf,
    report: Report | None = None,
) -> Descent:
    r"""Find weights that memorize the table from one random start, in two stages.

    *The first stage* keeps `W_U` and `W_O` as the scalar label code and a constant coordinate need them, so that one
    number y of the stream names the label, and lowers the sum of the squares of $\max(|m_t| - 0.35, 0)$, $m_t$ the
    miss of y. It starts near a coincidence: heads in pairs that cancel except for a small difference.

    *The second stage* frees every entry. Of each fact t with label l and each other label j it lowers the square of
    $\max(0, \frac12 - (z_l - z_j))$.

    Args:
        table: The facts.
        shape: The shape.
        iterations: Steps at most, in each stage.
        seed: Seed of the start.
        work: Nanoseconds at most, in both, as `levenberg_marquardt` counts them.
        report: Called now and then with the stage, the steps done, and the share of facts that are right.

    Returns:
        Where the steps led: the weights of `Table.heads`, with the iterations and the work of both stages.
    """
    heads = table.heads(shape)
    code = scalar_label_code(len(table.answers))
    whole = _start(heads, code, seed)
    free = _free_at_first(heads)

    def at_first(part: Float64Array) -> _Numbers:
        weights = whole.copy()
        weights[free] = part
        return _Numbers(heads.run(weights), table.labels, code, free)

    first = levenberg_marquardt(
        at_first,
        whole[free],
        iterations=iterations,
        patience=_PATIENCE[0] if table.has_two_stages else _ALONE,
        fall=_FALL,
        work=work,
        report=_heard(report, "first stage"),
    )
    whole[free] = first.variables
    if first.done or first.spent or not table.has_two_stages:
        return replace(first, variables=whole)
    second = levenberg_marquardt(
        lambda weights: _Pairs(heads.run(weights), table.labels),
        whole,
        iterations=iterations,
        patience=_PATIENCE[1],
        fall=_FALL,
        work=work - first.work,
        report=_heard(report, "second stage"),
    )
    return replace(second, iterations=first.iterations + second.iterations, work=first.work + second.work)


def _heard(report: Report | None, stage: str) -> "Callable[[int, _Point], None] | None":
    if report is None:
        return None

    def told(done: int, point: "_Point") -> None:
        if done % _REPORTED == 0:
            report(stage, done, float((point.leads > 0).mean()))

    return told


def _start(heads: SingleValueHeads, code: LabelCode, seed: int) -> Float64Array:
    """Draw weights whose heads nearly cancel in pairs; coordinate 0 of the stream is 1, coordinate 1 is y."""
    rng = np.random.default_rng(seed)
    d_model, d_qk, count = heads.d_model, heads.d_qk, heads.n_heads
    pairs = (count + 1) // 2
    weights = np.zeros(heads.size)
    part = heads.split(weights)
    part["W_E"][:] = rng.standard_normal(part["W_E"].shape)
    part["W_pos"][:] = rng.standard_normal(part["W_pos"].shape)
    part["W_E"][:, 0], part["W_pos"][-1, 0] = 0.0, 1.0
    for name in ("W_Q", "W_K"):
        drawn = rng.standard_normal((pairs, d_model, d_qk)) * math.sqrt(2.0 / (d_model * math.sqrt(d_qk)))
        noise = rng.standard_normal((count, d_model, d_qk)) * (_JITTER / math.sqrt(d_model))
        part[name][:] = np.repeat(drawn, 2, axis=0)[:count] + noise
    values = rng.standard_normal((pairs, d_model)) / math.sqrt(d_model)
    part["W_V"][:] = np.stack([values, -values], axis=1).reshape(-1, d_model)[:count]
    part["W_O"][:, 1] = _STRETCH
    part["W_U"][:2] = code.columns
    return weights


def _free_at_first(heads: SingleValueHeads) -> BoolArray:
    free = np.ones(heads.size, dtype=bool)
    part = heads.split(free)
    part["W_E"][:, 0], part["W_pos"][-1, 0] = False, False
    part["W_O"][:], part["W_U"][:] = False, False
    return free


@dataclass(frozen=True, eq=False)
class _Point:
    """The weights at one point of either stage, and the margins of the facts there."""

    run: Run
    labels: Int64Array

    @cached_property
    def leads(self) -> Float64Array:
        return _leads(self.run.logits, self.labels)

    @property
    def done(self) -> bool:
        return bool(self.leads.min() >= _ENOUGH)


@dataclass(frozen=True, eq=False)
class _Numbers(_Point):
    """The first stage at one point: the numbers y, and their distances from the targets."""

    code: LabelCode
    free: BoolArray

    @cached_property
    def excess(self) -> Float64Array:
        miss = self.code.miss(self.labels, self.run.stream[:, 1])
        return miss - np.clip(miss, -_TOLERANCE, _TOLERANCE)

    @property
    def cost(self) -> float:
        return float(self.excess @ self.excess)

    def violations(self) -> Float64Array:
        return self.excess[np.flatnonzero(self.excess)]

    def at_other(self, other: "_Numbers") -> Float64Array:
        facts = np.flatnonzero(self.excess)
        return self.excess[facts] + (other.run.stream[facts, 1] - self.run.stream[facts, 1])

    def rows(self) -> "_NumberRows":
        facts = np.flatnonzero(self.excess)
        along = np.zeros((len(facts), self.run.shape.d_model))
        along[:, 1] = 1.0
        return _NumberRows(self.run, facts, along, self.free)


@dataclass(frozen=True, eq=False)
class _NumberRows:
    """The derivative of y, never stored as a whole."""

    run: Run
    facts: Int64Array
    along: Float64Array
    free: BoolArray

    def gram(self) -> Float64Array:
        return self.run.gram(self.facts, self.along, memorized=0)

    def normal(self) -> Float64Array:
        size = int(self.free.sum())
        result = np.zeros((size, size), order="F")
        for start in range(0, len(self.facts), _ROWS):
            part = slice(start, start + _ROWS)
            block = self.run.stream_rows(self.facts[part], self.along[part])[:, self.free]
            result = add_products(result, block.T)
        return result

    def pulled_back(self, weights: Float64Array) -> Float64Array:
        return self.run.pulled_back(self.facts, weights[:, None] * self.along)[self.free]


@dataclass(frozen=True, eq=False)
class _Pairs(_Point):
    """The second stage at one point: each fact against every other label."""

    @cached_property
    def lacking(self) -> Float64Array:
        """Shortfall of each margin, `[T, K]`; 0 for the label itself."""
        outputs = self.run.logits
        at_label = np.arange(len(self.labels)), self.labels
        result = np.maximum(_WANTED - (outputs[at_label][:, None] - outputs), 0.0)
        result[at_label] = 0.0
        return result

    @property
    def cost(self) -> float:
        return float(np.vdot(self.lacking, self.lacking))

    def violations(self) -> Float64Array:
        return self.lacking[np.nonzero(self.lacking)]

    def at_other(self, other: "_Pairs") -> Float64Array:
        facts, rivals = np.nonzero(self.lacking)
        outputs = other.run.logits
        return _WANTED - (outputs[facts, self.labels[facts]] - outputs[facts, rivals])

    def rows(self) -> "_PairRows":
        facts, rivals = np.nonzero(self.lacking)
        labels, shape, W_U = self.labels[facts], self.run.shape, self.run.part["W_U"]
        rows = np.arange(len(facts))
        derivative = self.run.stream_rows(facts, (W_U[:, rivals] - W_U[:, labels]).T)
        columns = derivative[:, shape.places["W_U"]].reshape(len(facts), shape.d_model, shape.labels)
        columns[rows, :, rivals] += self.run.stream[facts]
        columns[rows, :, labels] -= self.run.stream[facts]
        derivative[:, shape.places["W_U"]] = columns.reshape(len(facts), -1)
        return _PairRows(derivative)


@dataclass(frozen=True, eq=False)
class _PairRows:
    """The derivative of the violated leads, `[R, P]`, stored."""

    derivative: Float64Array

    def gram(self) -> Float64Array:
        return add_products(np.zeros((len(self.derivative),) * 2, order="F"), self.derivative)

    def normal(self) -> Float64Array:
        return add_products(np.zeros((self.derivative.shape[1],) * 2, order="F"), self.derivative.T)

    def pulled_back(self, weights: Float64Array) -> Float64Array:
        return weights @ self.derivative
