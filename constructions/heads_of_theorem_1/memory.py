"""Build weights that memorize a task: targets, attention, output, and the remaining contexts.

Pages: docs/claims/full_rank_attention.md, docs/claims/theorem_1.md, docs/commands.md
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from constructions.attention.capacity.head_counts import Capacity, capacity
from constructions.attention.families import (
    Recipe,
    fitting_attention,
    query_dimension,
    rank_one_attention,
    require_recipe,
)
from constructions.attention.skip_connection import SkipConnection, memorize_with_skip_connection
from constructions.counted import counted
from constructions.encoders import association_memory, distribution_memory
from constructions.errors import CapacityError, HypothesisError, InputError, require_at_least, require_one_of
from constructions.heads_of_theorem_1.tail import TailFit, fit_tail, tail_bytes
from constructions.memory_budget import require_memory
from constructions.model.attention import features, last
from constructions.model.construction import Construction
from constructions.model.front_end import FrontEnd
from constructions.model.model import Model
from constructions.model.precision import Precision, rounded_model
from constructions.numeric.arrays import Float64Array
from constructions.numeric.minimum_norm import RightInverse, right_inverse
from constructions.progress import Progress, silent
from constructions.tasks.task import Task

TAILS = ("none", "fit")

_GOOD_CONDITION = 1e5
_ATTEMPTS = ((512, 8), (2048, 3))  # up to so many contexts, so many front ends are tried
LARGEST_ELIMINATION = 4096  # contexts; beyond it the number of heads is bounded from below only
QUICK_ELIMINATION = 512  # contexts; beyond it that heads suffice is left to the certificate of those that are built
_LOOSE = 1e-3  # nats: an output that misses its targets by more is none
_FEATURE_ENTRIES = 2**27  # default_heads asks for no more features than make T x P entries: 1 GiB


@dataclass(frozen=True, eq=False)
class BuiltMemory:
    """A network that memorizes a task, and how it was built. Nothing here is certified.

    Args:
        model: The weights.
        route: ``"heads"`` (the heads write all that the skip connection does not carry), ``"skip connection"`` (it
            carries a part, for fewer heads) or ``"embedding"`` (the last tokens are pairwise distinct, and their
            embeddings are the memory).
        front_end: The name of the recipe of the attention weights, as in `FrontEnd.kind`.
        attempt: Which draw of it was taken, from 0.
        solver: How the output was found: ``"cholesky"``, ``"qr"``, ``"svd"``, or ``"none"`` where nothing was solved.
        condition: Estimated condition number of the matrix that was solved with: the features, or with the skip
            connection $[X_S, Y]$.
        residual: Largest deviation of the residual stream from its targets, in the coordinates that are read.
        tail: The fit of the tail, if there was one.
        seconds: Time of each stage.
    """

    model: Model
    route: str
    front_end: str
    attempt: int
    solver: str
    condition: float
    residual: float
    tail: TailFit | None
    seconds: dict[str, float]


def build_memory(
    task: Task,
    *,
    d_model: int,
    d_head: int,
    n_heads: int,
    front_end: Recipe = fitting_attention,
    tail: str = "none",
    seed: int = 0,
    fewest_heads: int | None = None,
    progress: Progress | None = None,
) -> BuiltMemory:
    r"""Build the weights of an attention-only transformer that holds every memorized context of a task.

    The target fixes the unembedding W_U and, for every context, the residual stream $E_t$ on the r coordinates that
    W_U reads; for distributions and $d < N - 1$ they are the best encoder of rank d that is found. A front end of
    generic rank gives the features Y. Then, in this order:

    1. heads alone: if Y has rank T, $W_O = Y^+ (E - X_S)$ on those coordinates, 0 on the others;
    2. embedding: if the last tokens are pairwise distinct, $W_E[t_S] = E_t$, and the heads write nothing;
    3. skip connection: if $[X_S, Y]$ has rank T, an exact change of basis, see
    `constructions.attention.skip_connection`; for
       labels whose targets stand in its way, with targets in general position.

    Badly conditioned draws of small front ends are drawn again. With ``tail="fit"`` the output of route 1 is moved
    inside $\{W_O : Y W_O = E - X_S\}$ to fit the tail, see `constructions.heads_of_theorem_1.tail`, and refined once
    more; the embedding route leaves the tail as it is.

    Args:
        task: The contexts and the targets to memorize.
        d_model: Embedding dimension d.
        d_head: Dimension of the values, at most `d_model`.
        n_heads: Number of heads, at least 1.
        front_end: The recipe of the attention, one of `constructions.attention.families`.
        tail: ``"none"`` or ``"fit"``.
        seed: Seed of every random choice; on one machine equal arguments give equal bits.
        fewest_heads: The number of heads that is known to suffice; only named in errors.
        progress: Called with the stage, the finished share of it or `None`, and a detail.

    Returns:
        The network and how it was built.

    Raises:
        InputError: An argument out of range; names it.
        CapacityError: The heads are too few for the contexts, or too few to leave room for the tail.
        HypothesisError: d = 1 with three or more labels, or a front end that does not fit the dimensions.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 1, repaired as Theorem 1'.

    Example:
        >>> from constructions.model.attention import logits
        >>> from constructions.tasks.task import Counts, make_task
        >>> contexts = np.array([[i, j] for i in range(3) for j in range(3)])
        >>> counts = Counts.from_rows([{(i + j) % 3: 2, i: 3} for i, j in contexts])
        >>> task = make_task(contexts, counts, vocabulary=("a", "b", "c"))
        >>> built = build_memory(task, d_model=5, d_head=2, n_heads=7)
        >>> built.route, built.front_end, built.model.parameters
        ('heads', 'table', 530)
        >>> found = logits(built.model, task.contexts)
        >>> wanted = np.log(task.distributions)
        >>> bool(np.ptp(found - wanted, axis=1).max() < 1e-12)
        True
    """
    _check(d_model=d_model, d_head=d_head, n_heads=n_heads, tail=tail, seed=seed)
    require_recipe(front_end)
    clock = _Clock(progress or silent)
    with clock.stage("targets", f"{task.target} of {counted(task.n_contexts, 'context')}"):
        W_U, targets = _targets(task, d_model, seed, clock.progress)
    builder = _Builder(task, W_U, targets, d_head, n_heads, front_end, seed, clock)
    n_features, n_contexts = n_heads * d_head, task.n_contexts
    if n_features >= n_contexts:
        drawn = builder.by_heads()
        if drawn is not None:
            return builder.with_tail(drawn) if tail == "fit" and len(task.tail_contexts) else builder.finished(drawn)
    if _distinct_last_tokens(task):
        return builder.by_embedding()
    if tail == "fit" and len(task.tail_contexts):
        raise CapacityError(
            "Fitting the tail",
            f"heads that hold the {counted(n_contexts, 'context')} alone, with room left for the tail",
            f"n_heads = {n_heads} with d_head = {d_head} do not; take more heads, or tail 'none'",
            fewest_heads=fewest_heads,
        )
    if d_model + n_features >= n_contexts:
        memory = builder.by_skip_connection()
        if memory is not None:
            return memory
    known = "" if fewest_heads is None else f"; {fewest_heads} heads suffice"
    raise CapacityError(
        "Theorem 1'",
        f"features [x_S, Y] of rank T = {n_contexts}",
        f"n_heads = {n_heads} with d_head = {d_head} and d_model = {d_model} did not reach it{known}",
        fewest_heads=fewest_heads,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class HeadsOfTheorem1(Construction[Task]):
    """The heads of Theorem 1' as a memory, with the results of the construction.

    Args:
        built: How the weights were found.
        needed: How many heads the contexts need.
        tail: ``"fit"`` or ``"none"``.
    """

    built: BuiltMemory
    needed: Capacity
    tail: str

    @property
    def promised(self) -> int:
        """Number of contexts that heads of these sizes memorize by the printed theorem: $d + H d_h$."""
        return self.model.d_model + self.model.n_heads * self.model.d_head

    @property
    def hypotheses(self) -> dict[str, bool | None]:
        r"""The conditions of Theorem 1' at these sizes and whether each is met; `None` where this was not decided.

        The count $T \le d + H d_h$ is what is printed; that some features $[x_S, Y]$ of these sizes have rank T is what
        the repaired theorem asks, decided in modular arithmetic for almost all weights. Distributions are met exactly,
        up to rounding, where d is at least the number of answers less 1; below that the best encoder found is.
        Contexts of different last tokens need no such features: their embeddings can be the memory, the route
            ``"embedding"`` of
        `BuiltMemory`. What the weights do is proved by their certificate, not here.
        """
        facts, heads, enough = self.task.n_contexts, self.model.n_heads, self.needed.fewest_heads
        least = self.needed.necessary_heads
        reached = True if enough is not None and heads >= enough else None
        if least is None or heads < least:
            reached = False
        checked: dict[str, bool | None] = {
            "T <= d + H d_h": facts <= self.promised,
            "features [x_S, Y] of rank T": reached,
        }
        if self.task.target == "distributions":
            answers = "K" if self.task.apart else "N"
            checked[f"d >= {answers} - 1"] = self.model.d_model >= self.task.n_answers - 1
        return checked


def theorem_1(
    task: Task,
    *,
    d_model: int | None = None,
    d_head: int | None = None,
    n_heads: int | None = None,
    front_end: Recipe = fitting_attention,
    tail: str | None = None,
    dtype: Precision = "float64",
    seed: int = 0,
    progress: Progress | None = None,
) -> HeadsOfTheorem1:
    r"""Memorize distributions or labels with one layer of attention: Theorem 1 of Dana et al., where it holds.

    As printed, $T \le d + H d_h$ contexts are memorized, whichever they are. That is true where some features $[x_S,
    Y]$ of these sizes have rank T (Theorem 1'), and false for XOR. By default there are some more heads than needed,
    for a good condition.

    The query and key maps have one column each where the features are then well conditioned
    (`rank_one_attention`), and are those of `fitting_attention` where they are not.

    Args:
        task: What is to be memorized: contexts with a label each, or with distributions.
        d_model: $d$, see `dimensions`.
        d_head: $d_h$, see `dimensions`.
        n_heads: $H$; by default those that are certified to suffice (of more than 512 contexts those that are
            necessary) and a quarter more (`default_heads`).
        front_end: Another recipe of `constructions.attention.families` for the attention.
        tail: ``"fit"`` or ``"none"``, the default.
        dtype: The precision that every weight is rounded to.
        seed: Seed of every random choice.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The weights, with what is printed of these sizes (`promised`) and the conditions that were checked
        (`hypotheses`); the summary says what the heads beyond the necessary ones are for.

    Raises:
        InputError: A size that makes no model.
        CapacityError: Too few heads: names the rank that no weights exceed, and how many heads suffice.
        HypothesisError: d = 1 with three or more labels, or a front end that does not fit the dimensions.
        ResourceError: The work would not fit into memory.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 1, repaired.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> found = theorem_1(enumerated_task(4, 2))
        >>> found.model.parameters, found.summary[:68]
        (564, '16 contexts by 21 heads of dimension 1, d = 6, d_qk = 1, 564 paramet')
        >>> found.promised, found.hypotheses
        (27, {'T <= d + H d_h': True, 'features [x_S, Y] of rank T': True})
    """
    require_recipe(front_end)
    require_one_of((*TAILS, None), tail=tail)
    require_at_least(1, n_heads=n_heads)
    require_at_least(0, seed=seed)
    d_model, d_head = dimensions(task, d_model=d_model, d_head=d_head)
    tail, show = tail or "none", progress or silent

    def attempt(eliminate: bool) -> HeadsOfTheorem1:
        needed = capacity(
            task.contexts,
            d_model=d_model,
            d_head=d_head,
            n_heads=n_heads,
            eliminate=eliminate,
            seed=seed,
            progress=lambda detail: show("capacity", None, detail),
        )
        alone = needed.heads_alone
        enough = alone.necessary if alone.sufficient is None else alone.sufficient
        heads = default_heads(enough, task.n_contexts, d_head, tail) if n_heads is None else n_heads
        if n_heads is not None:
            _require_heads(needed, task, heads)
        sizes: dict[str, Any] = dict(d_model=d_model, d_head=d_head, n_heads=heads, tail=tail)
        # The certificate holds the Gram matrix of the features with its factor and error bounds.
        need = max(estimate_bytes(task, front_end=front_end, **sizes), 32 * task.n_contexts**2)
        facts = counted(task.n_contexts, "fact")
        require_memory(need, purpose=f"{facts} with {counted(heads, 'head')} of dimension {d_head}")
        built = None
        if front_end is fitting_attention:
            with suppress(CapacityError):
                built = build_memory(task, front_end=rank_one_attention, seed=seed, progress=progress, **sizes)
        if built is None or not built.condition <= _GOOD_CONDITION:
            built = build_memory(
                task, front_end=front_end, seed=seed, fewest_heads=needed.fewest_heads, progress=progress, **sizes
            )
        model = rounded_model(built.model, dtype)
        summary = f"{_sizes(model, task)}{_what_the_rest_is_for(needed, heads, enough, built, tail)}"
        if built.tail is not None and not built.tail.complete:
            summary += f"; interrupted at step {built.tail.iterations} of the tail"
        return HeadsOfTheorem1(task=task, model=model, summary=summary, built=built, needed=needed, tail=tail)

    quick = task.n_contexts <= QUICK_ELIMINATION
    try:
        return attempt(quick)
    except CapacityError:
        if quick or task.n_contexts > LARGEST_ELIMINATION:
            raise
        return attempt(True)  # more heads, or the error says how many suffice


def dimensions(task: Task, *, d_model: int | None, d_head: int | None) -> tuple[int, int]:
    """Return the dimensions d and d_h of the model: the given ones, or those that suit the task.

    Raises:
        InputError: A dimension below 1, or a head wider than the model.

    Example:
        >>> from constructions.tasks.text import text_task
        >>> dimensions(text_task("to be or not to be", context=2), d_model=None, d_head=None)
        (9, 2)
    """
    if d_model is None:
        natural = task.d_vocab + task.n_ctx
        if task.target == "distributions":
            d_model = max(natural, task.n_answers - 1)  # Proposition 2
        else:
            few = len(task.names()) + task.n_ctx <= 128
            d_model = natural if few else min(natural, 64)
    require_at_least(1, d_model=d_model)
    if d_head is None:
        d_head = max(1, d_model // 4)
    require_at_least(1, d_head=d_head)
    if d_head > d_model:
        raise InputError("d_head", f"= {d_head}", f"1 .. d_model = {d_model}")
    return d_model, d_head


def fewest_parameters(task: Task) -> int:
    """Return a lower bound of the entries that the heads of Theorem 1' need for a task, in the dimensions that suit it.

    No $H$ heads with $d + H d_h < T$ give features of rank T.

    Args:
        task: The contexts and the targets to memorize.

    Returns:
        $(N + K + S) d + 2 d (1 + d_h) H$ with the least such H; without heads where embeddings may suffice.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> fewest_parameters(enumerated_task(4, 2))
        300
    """
    d_model, d_head = dimensions(task, d_model=None, d_head=None)
    n_heads = 1 if _distinct_last_tokens(task) else max(1, -(-(task.n_contexts - d_model) // d_head))
    return (task.d_vocab + task.n_answers + task.n_ctx) * d_model + 2 * d_model * (1 + d_head) * n_heads


def _require_heads(needed: Capacity, task: Task, n_heads: int) -> None:
    """Refuse a number of heads for which no weights can memorize the task."""
    least, fewest = needed.necessary_heads, needed.fewest_heads
    if least is not None and n_heads < least and not _distinct_last_tokens(task):
        known = f"{fewest} heads suffice" if fewest is not None else f"at least {least} heads are needed"
        raise CapacityError(
            "Theorem 1'",
            f"features [x_S, Y] of rank T = {task.n_contexts}",
            f"with {counted(n_heads, 'head')} no weights exceed rank {needed.rank_upper}; {known}",
            fewest_heads=fewest,
        )


def _distinct_last_tokens(task: Task) -> bool:
    """Tell whether the embeddings are enough to memorize the task, one per context."""
    return len(np.unique(task.contexts[:, -1])) == task.n_contexts


def _sizes(model: Model, task: Task) -> str:
    return (
        f"{counted(task.n_contexts, 'context')} by {counted(model.n_heads, 'head')} of dimension {model.d_head}, "
        f"d = {model.d_model}, d_qk = {model.d_qk}, {model.parameters} parameters"
    )


def _what_the_rest_is_for(needed: Capacity, n_heads: int, enough: int | None, built: BuiltMemory, tail: str) -> str:
    if enough is None or built.route != "heads" or n_heads <= enough:
        return ""
    rest = "fit the tail" if tail == "fit" else "keep the features well conditioned"
    status = "certified to suffice" if needed.fewest_heads_alone is not None else "necessary"
    be = "is" if enough == 1 else "are"
    return f"; {counted(enough, 'head')} {be} {status}, the others {rest} (condition {built.condition:.2g})"


def default_heads(heads_alone: int | None, n_contexts: int, d_head: int, tail: str) -> int:
    """Return the default number of heads: a few more than needed, for conditioning; four features per context for a
    tail.

    A quarter more heads than rank T needs lower the condition number from some 10^5 to some 10^3; a tail is fitted in
    what the memorized contexts leave free.

    Args:
        heads_alone: Heads that suffice without the skip connection; `None` if no number does.
        n_contexts: Number of memorized contexts T.
        d_head: Dimension of the values.
        tail: ``"none"`` or ``"fit"``.

    Returns:
        The number of heads, at least 1.

    Example:
        >>> default_heads(64, 1024, 16, "none"), default_heads(64, 1024, 16, "fit"), default_heads(None, 9, 2, "none")
        (81, 256, 1)
    """
    if heads_alone is None:
        return 1
    enough = heads_alone + math.ceil(heads_alone / 4) + (1 if heads_alone > 0 else 0)
    if tail != "fit":
        return max(1, enough)
    features_wanted = min(4 * n_contexts, _FEATURE_ENTRIES // n_contexts)
    return max(1, enough, math.ceil(features_wanted / d_head))


def estimate_bytes(
    task: Task, *, d_model: int, d_head: int, n_heads: int, front_end: Recipe = fitting_attention, tail: str = "none"
) -> int:
    """Estimate the peak memory of `build_memory` in bytes, not counting the task.

    Args:
        task: The contexts and the targets to memorize.
        d_model: Embedding dimension d.
        d_head: Dimension of the values.
        n_heads: Number of heads.
        front_end: The recipe of the attention.
        tail: ``"none"`` or ``"fit"``.

    Returns:
        Bytes.

    Example:
        >>> from constructions.tasks.task import Counts, make_task
        >>> contexts = np.stack(np.unravel_index(np.arange(4096), (16,) * 4), axis=1)
        >>> task = make_task(contexts, Counts.from_rows([{0: 1}] * 4096), vocabulary=tuple("abcdefghijklmnop"))
        >>> round(estimate_bytes(task, d_model=20, d_head=5, n_heads=1024) / 2**20)
        309
    """
    answers, width, n_contexts, d_vocab = task.n_answers, n_heads * d_head, task.n_contexts, task.d_vocab
    sizes = {"d_vocab": d_vocab, "n_ctx": task.n_ctx, "d_model": d_model, "n_heads": n_heads, "d_head": d_head}
    per_head = 2 * d_model * (query_dimension(front_end, **sizes) + d_head)
    weights = n_heads * per_head + (d_vocab + answers + task.n_ctx) * d_model
    coordinates = min(d_model, answers)
    columns = width if width >= n_contexts else 2 * (width + d_model)  # with the skip connection they are joined
    solving = n_contexts * columns + n_contexts**2 + (4 * n_contexts + 3 * columns) * coordinates
    distributions = 0 if task.distributions is None else 2 * n_contexts * answers
    total = 8 * (2 * weights + solving + distributions)
    n_tail = len(task.tail_contexts)
    if tail == "fit" and n_tail:
        total += tail_bytes(n_tail, n_features=width, coordinates=coordinates)
    return total


@dataclass
class _Clock:
    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str, detail: str) -> Iterator[None]:
        self.progress(name, None, detail)
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


class _Drawn(NamedTuple):
    """Attention parameters whose heads memorize the task without the skip connection."""

    attempt: int
    front_end: FrontEnd
    inverse: RightInverse
    right: Float64Array
    output: Float64Array
    residual: float


@dataclass(frozen=True, eq=False)
class _Builder:
    task: Task
    W_U: Float64Array
    targets: Float64Array
    d_head: int
    n_heads: int
    recipe: Recipe
    seed: int
    clock: _Clock

    def draw(self, attempt: int) -> FrontEnd:
        return self.recipe(
            d_vocab=self.task.d_vocab,
            n_ctx=self.task.n_ctx,
            d_model=len(self.W_U),
            n_heads=self.n_heads,
            d_head=self.d_head,
            seed=self.seed if attempt == 0 else (self.seed, attempt),
        )

    @property
    def attempts(self) -> int:
        return next((tries for most, tries in _ATTEMPTS if self.task.n_contexts <= most), 1)

    def by_heads(self) -> _Drawn | None:
        best: tuple[int, FrontEnd, RightInverse] | None = None
        for attempt in range(self.attempts):
            with self.clock.stage("features", f"{self.task.n_contexts} x {self.n_heads * self.d_head}, draw {attempt}"):
                front_end = self.draw(attempt)
                read = features(front_end, self.task.contexts)
            try:
                with self.clock.stage("solve", "factoring the features"):
                    inverse = right_inverse(read)
            except HypothesisError:
                continue  # dependent features
            if best is None or inverse.condition < best[2].condition:
                best = (attempt, front_end, inverse)
            if inverse.condition <= _GOOD_CONDITION:
                break
        if best is None:
            return None
        attempt, front_end, inverse = best
        with self.clock.stage("solve", f"{self.targets.shape[1]} coordinates"):
            right = self.targets - last(front_end, self.task.contexts)[:, : self.targets.shape[1]]
            output = inverse.solve(right)
            residual = float(np.abs(inverse.matrix @ output - right).max(initial=0.0))
        if not residual <= _LOOSE:
            return None
        return _Drawn(attempt, front_end, inverse, right, output, residual)

    def with_tail(self, drawn: _Drawn) -> BuiltMemory:
        def report(step: int, most: int, cross_entropy: float) -> None:
            detail = f"step {step} of at most {most}: {cross_entropy:.4f} nats per token"
            self.clock.progress("tail", step / most, detail)

        with self.clock.stage("tail", f"{counted(len(self.task.tail_contexts), 'context')}"):
            readout = {"W_U": self.W_U, "output": drawn.output, "inverse": drawn.inverse}
            fit = fit_tail(drawn.front_end, self.task, **readout, progress=report)
            output = drawn.inverse.solve(drawn.right, start=fit.output)
            residual = float(np.abs(drawn.inverse.matrix @ output - drawn.right).max(initial=0.0))
        return self.finished(drawn._replace(output=output, residual=residual), fit)

    def finished(self, drawn: _Drawn, fit: TailFit | None = None) -> BuiltMemory:
        W_O = np.zeros((self.n_heads * self.d_head, len(self.W_U)))
        W_O[:, : drawn.output.shape[1]] = drawn.output
        how = drawn.front_end.kind, drawn.attempt, drawn.inverse.method, drawn.inverse.condition, drawn.residual
        return BuiltMemory(drawn.front_end.network(W_O, self.W_U), "heads", *how, fit, self.clock.seconds)

    def by_embedding(self) -> BuiltMemory:
        front_end = self.draw(0)
        W_E = front_end.W_E.copy()
        W_E[self.task.contexts[:, -1], : self.targets.shape[1]] = self.targets
        # Positions add nothing, so that x_S is the target itself, without a rounding error.
        front_end = replace(front_end, W_E=W_E, W_pos=np.zeros_like(front_end.W_pos))
        network = front_end.network(np.zeros((self.n_heads * self.d_head, len(self.W_U))), self.W_U)
        return BuiltMemory(network, "embedding", front_end.kind, 0, "none", 1.0, 0.0, None, self.clock.seconds)

    def by_skip_connection(self) -> BuiltMemory | None:
        def attempt(targets: Float64Array) -> SkipConnection | None:
            solution = memorize_with_skip_connection(
                self.draw, self.task.contexts, targets=targets, W_U=self.W_U, attempts=self.attempts
            )
            return solution if solution is not None and solution.residual <= _LOOSE else None

        with self.clock.stage("solve", "with the skip connection"):
            solution = attempt(self.targets)
            if solution is None and self.task.target == "labels":
                solution = attempt(association_memory.in_general_position(self.W_U, self.targets, seed=self.seed))
        if solution is None:
            return None
        network = solution.front_end.network(solution.output, solution.W_U)
        how = solution.front_end.kind, solution.attempt, solution.solver, solution.condition, solution.residual
        return BuiltMemory(network, "skip connection", *how, None, self.clock.seconds)


def _targets(task: Task, d_model: int, seed: int, progress: Progress) -> tuple[Float64Array, Float64Array]:
    def report(done: int, starts: int, divergence: float) -> None:
        progress("targets", done / starts, f"best encoder of rank {d_model}: {divergence:.6g} nats")

    if task.target == "distributions":
        return distribution_memory.targets(task, d_model, seed=seed, progress=report)
    return association_memory.targets(task, d_model, seed=seed)


def _check(*, d_model: int, d_head: int, n_heads: int, tail: str, seed: int) -> None:
    require_at_least(1, d_model=d_model, d_head=d_head, n_heads=n_heads)
    require_at_least(0, seed=seed)
    if d_head > d_model:
        raise InputError("d_head", f"= {d_head}", f"at most d_model = {d_model}")
    require_one_of(TAILS, tail=tail)
