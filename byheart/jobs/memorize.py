"""Memorize a task: build and certify weights, and write a folder that can be checked, run and viewed.

Pages: docs/memories.md, docs/audit.md, docs/claims/capacity.md, docs/run.md
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from byheart.choice.chooser import SMALLEST, Offer, offers, smallest_of
from byheart.figures import Tried
from byheart.jobs.certified import certified
from byheart.jobs.clock import Clock, within
from byheart.jobs.request import THEOREM_1, Request
from byheart.memory import CertifiedMemory
from constructions.errors import InputError
from constructions.memories.information_limit import information_limit
from constructions.model.precision import STORED, Precision
from constructions.progress import Progress, silent
from constructions.tasks.any_task import AnyTask
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Task

_SEARCHED = 512  # windows of a whole text up to which all memories are tried


def hold(task: AnyTask, *, progress: Progress = silent, **asked: Any) -> CertifiedMemory:
    r"""Build weights that memorize the task exactly, certify them, and run them.

    By default it is the memory of fewest parameters of all in `constructions.menu.MEMORIES` that every run
    in `dtype` is proved to hold; where there is none, the one of fewest that one run holds. The first of them is
    certified before smaller ones are searched for, and an interrupt of that search ends it with the best it has found.
    A size asks for the heads of Theorem 1': for distributions and $d < N - 1$, where no weights hold all distributions,
    these hold the best encoder of rank d that is found.

    The certificate is about the float64 numbers that are returned, rounding included: of the figures, those of the
    capacity, of the certificate and of the encoder are proved. Of those of torch, `within_bound` and `memorized_proved`
    are, the others are measured.

    Args:
        task: The contexts and the targets to memorize.
        progress: Called with the stage, its finished share, and a detail.
        asked: What `Request` says.

    Returns:
        The weights with their certificate and all figures; `memories` among these says what each memory that was tried
        makes of the task. Nothing is written.

    Raises:
        InputError: No such memory, or a size that makes no model.
        CapacityError: No memory holds the task, or too few heads; says why, or how many suffice.
        ResourceError: The work would not fit into memory.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> task = table_task("paris,is,in,france\nrome,is,in,italy\nbonn,is,in,germany\n", target="labels")
        >>> found = hold(task)
        >>> found.figures.memory, found.ask("rome, is, in").token
        ('newton', 'italy')
        >>> hold(task, n_heads=2).figures.memory
        'theorem-1'
    """
    *_, best = ever_smaller(task, progress=progress, **asked)
    return best


def ever_smaller(task: AnyTask, *, progress: Progress = silent, **asked: Any) -> Iterator[CertifiedMemory]:
    """Yield the results of `hold` as they are found: the first certified memory and, after a search, the best one.

    Args, errors: those of `hold`.

    Yields:
        One memory or two, the last of which `hold` returns; with the same weights where the search found no smaller.
    """
    request = Request(**asked)
    facts = task.facts
    if facts is None:
        raise InputError("task", "brings vectors, or contexts of several lengths", "contexts of tokens of one length")
    work = _Work(task, facts, request, Clock(progress))
    whole = facts.windows is not None and facts.n_contexts > _SEARCHED
    tried = work.offers("weights", quick=True)
    chosen = first = smallest_of(tried)
    memory = work.certified(chosen)
    yield work.listed(memory, chosen, tried)
    if request.quick or whole or request.name != SMALLEST:
        return
    try:
        tried = work.offers("search", earlier=tried, saved=f"{first.parameters} parameters are proved; now ")
        chosen = smallest_of(tried)
        if chosen is not first:
            progress("search", 1.0, f"{chosen.parameters} parameters in place of {first.parameters}")
            memory = work.certified(chosen)
    except KeyboardInterrupt:
        chosen = first
    yield work.listed(memory, chosen, tried)


@dataclass(frozen=True)
class _Work:
    """A task, its contexts as tokens, the requirements on the memory, and the time of each stage."""

    task: AnyTask
    facts: Task
    request: Request
    clock: Clock

    def offers(
        self, stage: str, *, quick: bool = False, earlier: tuple[Offer, ...] = (), saved: str = ""
    ) -> tuple[Offer, ...]:
        """Return the candidates of the memories for the task."""
        request = self.request
        widths: dict[str, Any] = {}
        if request.name != THEOREM_1:
            widths = {"d_model": request.d_model, "d_head": request.d_head}
        with self.clock.stage(stage):
            return offers(
                self.facts,
                names=None if request.name == SMALLEST else (request.name,),
                dtype=request.precision,
                attention_only=request.attention_only,
                layers=request.layers,
                **widths,
                tolerance=request.tolerance,
                seed=request.seed,
                memories=request.memories,
                judged=request.name == SMALLEST,
                quick=quick,
                earlier=earlier,
                progress=within(self.clock.progress, stage, saved),
            )

    def certified(self, chosen: Offer) -> CertifiedMemory:
        """Return the certificate of a built memory, and its figures."""
        task, request, built, name = self.facts, self.request, chosen.built, chosen.memory.name
        assert built is not None
        known = task.information_bits
        return certified(
            self.task,
            built,
            criterion=Criterion(tolerance=request.tolerance),
            figures={
                "reading": request.reading,
                "memory": name,
                "dtype": request.precision,
                "built": built.summary,
                "information_limit": _information_limit(task, request.precision),
                "information_per_fact": None if known is None else known / task.n_contexts,
                "seed": request.seed,
            },
            source=request.source,
            device=request.device,
            clock=self.clock,
            rests_on_rank=chosen.memory.rests_on_rank,
            left_out=request.left_out,
            runs={} if chosen.every_run and chosen.runs is None else chosen.runs,  # a run adds nothing to such a proof
        )

    def listed(self, made: CertifiedMemory, chosen: Offer, tried: tuple[Offer, ...]) -> CertifiedMemory:
        """Return the result with the candidates of all memories."""
        task, dtype = self.facts, self.request.precision
        figures = replace(
            made.figures,
            memories=tuple(
                _tried(each, task, dtype, made.figures.torch if each is chosen else each.runs) for each in tried
            ),
        )
        return replace(made, figures=replace(figures, seconds={**self.clock.seconds}))


def _tried(offer: Offer, task: Task, dtype: Precision, ran: Mapping[str, Any] | None) -> Tried:
    if offer.built is None:
        return Tried(memory=offer.memory.name, refused=offer.refused)
    runs, parameters = ran or {}, offer.built.model.parameters
    types = (name for name in ("float16", "bfloat16", "float32", "float64") if name in runs)
    return Tried(
        memory=offer.memory.name,
        parameters=parameters,
        nonzero=offer.nonzero,
        facts_per_parameter=task.n_contexts / parameters,
        least_margin=runs[dtype].least_margin if runs else None,
        smallest_dtype=next((name for name in types if runs[name].memorized == task.n_contexts), None),
        every_run=offer.every_run,
        seconds=offer.seconds,
    )


def _information_limit(task: Task, dtype: Precision) -> int:
    """Return how many entries every model needs: for all labellings by counting, for all distributions by dimension."""
    if task.distributions is not None:
        return task.n_contexts * (task.n_answers - 1)
    return information_limit(task, STORED[dtype])
