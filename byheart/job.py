"""The main job: a task in, certified weights out, as a folder that can be checked, run and looked at.

Pages: docs/memories.md, docs/audit.md, docs/claims/capacity.md, docs/run.md
"""

import importlib.util
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from byheart.choice.chooser import SMALLEST, Offer, offers, smallest_of
from byheart.choice.trial import runs_in_torch
from byheart.device import require_device
from byheart.figures import CapacityFigures, Ends, Figures, RunFigures, Tried
from byheart.measured import proved_figures
from byheart.memory import NewMemory
from byheart.theorems.findings import findings
from byheart.theorems.rank_profile import profile_records
from constructions.attention.capacity.forbidden_labelling import most_forbidden_heads
from constructions.attention.capacity.head_counts import Capacity, capacity
from constructions.attention.capacity.rank_profile import RankProfile, rank_profile
from constructions.attention.families import named_recipe
from constructions.errors import InputError, require_at_least
from constructions.formats.files import refuse_existing
from constructions.memories.information_limit import information_limit
from constructions.memories.knots import most_parameters
from constructions.memories.memory import Memory
from constructions.menu import MEMORIES
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.model.precision import STORED, Precision
from constructions.model.shapes import is_dana_network, is_heads_alone
from constructions.named.context_rows import ContextRows
from constructions.named.registry import NamedConstruction
from constructions.numeric.arrays import Int64Array
from constructions.progress import Progress, silent
from constructions.tasks.any_task import AnyTask
from constructions.tasks.criterion import TOLERANCE, Criterion
from constructions.tasks.task import Task
from constructions.theorem_1.memory import (
    LARGEST_ELIMINATION,
    QUICK_ELIMINATION,
    HeadsOfTheorem1,
    dimensions,
)
from constructions.theorem_1.menu.theorem_1 import Theorem1
from verify.certificates.certificate import (
    FEATURE_RANK,
    Certificate,
    Subject,
)
from verify.certificates.headline import Outcome, sampled_bound
from verify.domains.sample import drawn, most_wrong
from verify.provers.answer_bounds import Answers
from verify.provers.domain import load_rule
from verify.provers.memorization import Judged, certify_memorization, judge, load_subject
from verify.provers.proved import Proved
from verify.provers.runs import prove_runs
from verify.provers.saturation import DELTA
from verify.provers.text import state_text
from verify.theorems.capacity.sign_relation import forbids_heads
from verify.theorems.claim import Claim
from verify.theorems.encoders.encoder_ceiling import network_divergence
from verify.theorems.encoders.encoder_floor import encoder_floor
from verify.verdict import Verdict

if TYPE_CHECKING:
    from verify.arithmetic.enclosure import Enclosure
    from verify.torch.run import RunResult


THEOREM_1 = "theorem-1"
"""The memory whose sizes can be given."""

_INPUTS_RUN = 2**14  # of the domain of a rule, of which so many are drawn
_COVERED, _COVERED_ENTRIES = 4000, 1024  # cones of directions, of laws with so many entries: some seconds
_COVERED_WORK = 2**25  # entries of laws times squared moves of a context, for all cones: some seconds too
_LARGEST_WITNESS = 4096  # contexts; the witness of the rank takes 4 T^2 bytes
_PROFILED_HEADS = 6
_FEW_DIMENSIONS, _NARROW = 128, 64  # as in `constructions.theorem_1.memory.dimensions`
_SEARCHED = 512  # windows of a whole text up to which all memories are tried
_SCORES_RUN, _WINDOWS_RUN = 2**17, 64  # scores of a head of all windows, beyond which so many windows are drawn
_KEPT_LOGITS = 2**24  # entries of enclosed logits that are kept for torch instead of being enclosed again


@dataclass(frozen=True)
class Request:
    """What is asked of a memory.

    Args:
        memory: The name of a memory, a memory of one's own (`constructions.memories.memory.Memory`), or ``"smallest"``,
            the default; with a size ``"theorem-1"`` is the default.
        dtype: The precision that weights are rounded to, and in which the smallest memory has to hold the task when it
            is run; by default ``"float32"``, or where sizes make it the heads of Theorem 1' ``"float64"``.
        attention_only: Refuse models with neurons.
        layers: Refuse models with more layers of attention or neurons.
        d_model: $d$ of the heads of Theorem 1'; the stream of other memories is at most so wide.
        d_head: $d_h$ of them; the heads of other memories are at most so wide.
        n_heads: $H$ of them, see `constructions.theorem_1.memory.theorem_1`.
        front_end: Their family of attention patterns.
        tail: ``"fit"`` or ``"none"``, the default, for the contexts that they do not memorize.
        tolerance: What the divergence of a held law may be, nats.
        quick: Take the first memory that every run in `dtype` holds; search for no smaller one.
        seed: Seed of every random choice.
        device: Where to compute large float64 products, and to run the replica beside the CPU.
        source: What the task was made from, for the report.
        reading: How it was read, for the figures.
        left_out: What of it was left out, for the first line.

    Raises:
        InputError: A size of a memory that has none, or an impossible seed or device.
    """

    memory: str | Memory | None = None
    dtype: Precision | None = None
    attention_only: bool = False
    layers: int | None = None
    d_model: int | None = None
    d_head: int | None = None
    n_heads: int | None = None
    front_end: str = "auto"
    tail: str | None = None
    tolerance: float = TOLERANCE
    quick: bool = False
    seed: int = 0
    device: str = "cpu"
    source: str = ""
    reading: str | None = None
    left_out: str = ""

    def __post_init__(self) -> None:
        require_device(self.device)
        require_at_least(0, seed=self.seed)
        if self.name != THEOREM_1:
            for name, value in self._own.items():
                if value is not None:
                    raise InputError(
                        name, f"= {value!r} is given, but only the memory {THEOREM_1!r} has such, not {self.name!r}"
                    )

    @property
    def _own(self) -> dict[str, int | str | None]:
        """What only the heads of Theorem 1' have."""
        front_end = None if self.front_end == "auto" else self.front_end
        return {"n_heads": self.n_heads, "front_end": front_end, "tail": self.tail}

    @property
    def _sized(self) -> bool:
        return any(size is not None for size in (self.d_model, self.d_head, *self._own.values()))

    @property
    def name(self) -> str:
        """The memory that is meant."""
        if self.memory is None:
            return THEOREM_1 if self._sized else SMALLEST
        return self.memory.name if isinstance(self.memory, Memory) else self.memory

    @property
    def memories(self) -> tuple[Memory, ...]:
        """The memories that there are; the heads of Theorem 1' with the sizes that are given."""
        heads = Theorem1(self.d_model, self.d_head, self.n_heads, named_recipe(self.front_end), self.tail)
        menu = tuple(heads if memory.name == THEOREM_1 else memory for memory in MEMORIES)
        return (self.memory,) if isinstance(self.memory, Memory) else menu

    @property
    def precision(self) -> Precision:
        """The type that is meant."""
        return self.dtype or ("float64" if self.memory is None and self._sized else "float32")


def hold(task: AnyTask, *, progress: Progress = silent, **asked: Any) -> NewMemory:
    r"""Build weights that hold the task exactly, certify them, and run them.

    By default it is the memory of fewest parameters of all in `constructions.menu.MEMORIES` that every run
    in `dtype` is proved to hold; where there is none, the one of fewest that one run holds. The first of them is
    certified before smaller ones are searched for, and an interrupt of that search ends it with the best it has found.
    A size asks for the heads of Theorem 1': for laws and $d < N - 1$, where no weights hold all laws, these hold the
    best encoder of rank d that is found.

    The certificate is about the float64 numbers that are returned, rounding included: of the figures, those of the
    capacity, of the certificate and of the encoder are proved. Of those of torch, `within_bound` and `held_proved` are,
    the others are measured.

    Args:
        task: What is to be memorized.
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


def ever_smaller(task: AnyTask, *, progress: Progress = silent, **asked: Any) -> Iterator[NewMemory]:
    """Yield what `hold` finds, as it finds it: the first memory that is certified, and where a search follows its best.

    Args, errors: those of `hold`.

    Yields:
        One memory or two, the last of which `hold` returns; with the same weights where the search found no smaller.
    """
    request = Request(**asked)
    facts = task.facts
    if facts is None:
        raise InputError("task", "brings vectors, or contexts of several lengths", "contexts of tokens of one length")
    work = _Work(task, facts, request, _Clock(progress))
    whole = facts.windows is not None and facts.n_contexts > _SEARCHED
    tried = work.offers("weights", quick=True)
    chosen = first = smallest_of(tried)
    made = work.certified(chosen)
    yield work.listed(made, chosen, tried)
    if request.quick or whole or request.name != SMALLEST:
        return
    try:
        tried = work.offers("search", earlier=tried, saved=f"{first.parameters} parameters are proved; now ")
        chosen = smallest_of(tried)
        if chosen is not first:
            progress("search", 1.0, f"{chosen.parameters} parameters in place of {first.parameters}")
            made = work.certified(chosen)
    except KeyboardInterrupt:
        chosen = first
    yield work.listed(made, chosen, tried)


@dataclass(frozen=True)
class _Work:
    """A task, its contexts as tokens, what is asked of the memory, and the time that each stage takes."""

    task: AnyTask
    facts: Task
    request: Request
    clock: "_Clock"

    def offers(
        self, stage: str, *, quick: bool = False, earlier: tuple[Offer, ...] = (), saved: str = ""
    ) -> tuple[Offer, ...]:
        """Return what the memories make of the task."""
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
                progress=_within(self.clock.progress, stage, saved),
            )

    def certified(self, chosen: Offer) -> NewMemory:
        """Return the certificate of what was built, and its figures."""
        task, request, built = self.facts, self.request, chosen.built
        assert built is not None
        model, name = built.model, chosen.memory.name
        of_theorem_1, needed = isinstance(built, HeadsOfTheorem1), None
        how = {"front_end": name, "route": name, "tail": "none"}
        if isinstance(built, HeadsOfTheorem1):
            needed = built.needed
            how = {"front_end": built.built.front_end, "route": built.built.route, "tail": built.tail}
        elif is_dana_network(model) and model.n_heads:
            with self.clock.stage("capacity"):
                needed = _capacity(task, model, progress=self.clock.progress)
        known = task.information_bits
        return _certified(
            self.task,
            model,
            needed,
            criterion=Criterion(tolerance=request.tolerance),
            figures={
                "reading": request.reading,
                "memory": name,
                "dtype": request.precision,
                "built": built.summary,
                "information_limit": _information_limit(task, request.precision),
                "information_per_fact": None if known is None else known / task.n_contexts,
                **how,
                "seed": request.seed,
            },
            source=request.source,
            device=request.device,
            clock=self.clock,
            rests_on_rank=of_theorem_1,
            left_out=request.left_out,
            runs={} if chosen.every_run and chosen.run is None else chosen.run,  # a run adds nothing to such a proof
        )

    def listed(self, made: NewMemory, chosen: Offer, tried: tuple[Offer, ...]) -> NewMemory:
        """Return the same with what all memories make of the task."""
        task, dtype = self.facts, self.request.precision
        figures = replace(
            made.figures,
            memories=tuple(
                _tried(each, task, dtype, made.figures.torch if each is chosen else each.run) for each in tried
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
        smallest_dtype=next((name for name in types if runs[name].held == task.n_contexts), None),
        every_run=offer.every_run,
        seconds=offer.seconds,
    )


def _information_limit(task: Task, dtype: Precision) -> int:
    """Entries that no model does without: for all labellings by counting, for all laws by dimension."""
    if task.laws is not None:
        return task.n_contexts * (task.n_answers - 1)
    return information_limit(task, STORED[dtype])


def build_claim(
    claim: Claim,
    *,
    out: Path,
    parameters: Mapping[str, int] | None = None,
    overwrite: bool = False,
    device: str = "cpu",
    progress: Progress = silent,
) -> Figures:
    r"""Build the weights that a claim of the literature promises, certify them, run them, and write the folder `out`.

    The folder is of the same kind as those of `memorize`. The certificate asks what the claim promises, and is about
    the float64 weights that are written, whatever the construction was exact about.

    Args:
        claim: A claim of the register.
        out: The folder to write.
        parameters: Parameters of the construction by name; the others keep their default values.
        overwrite: Replace a folder that byheart wrote.
        device: Where to compute large float64 products, and to run the replica beside the CPU.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The figures.

    Raises:
        InputError: The claim builds no weights or has no such parameter, or an existing folder.
        HypothesisError: Parameters for which a hypothesis of the claim does not hold.
        ResourceError: The work would not fit into memory.

    Example:
        >>> import tempfile
        >>> from verify.theorems.claims import claim
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     figures = build_claim(claim("dana.lemma-3"), out=Path(folder) / "lemma-3")
        >>> figures.claim, figures.verdict
        ('dana.lemma-3', 'PROVED')
    """
    given = dict(parameters or {})

    def construct() -> _Constructed:
        figures = {
            "claim": claim.id,
            "construction": {**claim.parameters, **given},
            "front_end": claim.id,
            "route": claim.id,
            "seed": given.get("seed", claim.parameters.get("seed", 0)),
        }
        return _Constructed(claim.construct(**given), figures, f"{claim.source} ({claim.id})")

    made = _constructed(construct, out=out, overwrite=overwrite, device=device, progress=progress)
    return _made_for(made, _of_claim(claim)).save(out, overwrite=overwrite)


def _of_claim(claim: Claim) -> str:
    return f"weights for {claim.id}, a claim whose verdict is {claim.judgement!r}"


def _made_for(made: NewMemory, what: str) -> NewMemory:
    """Return the same with what it was made for in the first line, hence in the certificate."""
    certificate = made.certificate.beside("made for", what)
    figures = replace(made.figures, headline=certificate.headline())
    return replace(made, certificate=certificate, proved=replace(made.proved, certificate=certificate), figures=figures)


def build_named(
    construction: NamedConstruction,
    *,
    out: Path,
    file: Path | None = None,
    statement: Claim | None = None,
    parameters: Mapping[str, int | Fraction] | None = None,
    overwrite: bool = False,
    device: str = "cpu",
    progress: Progress = silent,
) -> Figures:
    r"""Build a construction of `constructions.named.registry` for one's own data, certify it, and write a folder.

    Args:
        construction: Which one.
        out: The folder to write.
        file: One's own data; by default they are drawn.
        statement: The claim that led to it, whose verdict the first line says.
        parameters: Parameters of the construction by name; the others keep their default values.
        overwrite: Replace a folder that byheart wrote.
        device: Where to compute large float64 products, and to run the replica beside the CPU.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The figures; `findings` among them are what is proved of the construction beside its answers.

    Raises:
        InputError: A parameter that there is not, a file that cannot be read, or an existing folder.
        HypothesisError: Data or sizes about which the theorem says nothing.
        ResourceError: The work would not fit into memory.

    Example:
        >>> import tempfile
        >>> from constructions.named.registry import named
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     figures = build_named(named("full-rank-attention"), out=Path(folder) / "heads")
        >>> figures.named, figures.verdict, figures.findings[0].what
        ('full-rank-attention', 'PROVED', 'rank of Y, heads alone')
    """
    built: list[Construction[Any]] = []

    def construct() -> _Constructed:
        made = construction.construct(file, **(parameters or {}))
        built.append(made.built)
        figures = {
            "named": construction.name,
            "claim": "" if statement is None else statement.id,
            "reading": None if file is None else made.reading,
            "construction": {name: _number(value) for name, value in made.parameters.items()},
            "front_end": construction.name,
            "route": construction.name,
            "seed": made.parameters["seed"],
        }
        return _Constructed(made.built, figures, f"{construction.name}: {made.reading}")

    made = _constructed(construct, out=out, overwrite=overwrite, device=device, progress=progress, two_sided=True)
    found = findings(built[0], made.proved, device=device)
    drawn = "" if made.task.target == "laws" else ", labels drawn at random"
    what = f"{construction.name}{drawn}" + ("" if statement is None else f"; {_of_claim(statement)}")
    made = _made_for(made, what)
    return replace(made, figures=replace(made.figures, findings=found)).save(out, overwrite=overwrite)


def _number(value: int | Fraction) -> int | float:
    return value if isinstance(value, int) else float(value)


@dataclass(frozen=True)
class _Constructed:
    """Weights that were built, and what is said of where they come from."""

    built: Construction[Any]
    figures: dict[str, Any]
    source: str


def _constructed(
    construct: Callable[[], _Constructed],
    *,
    out: Path,
    overwrite: bool,
    device: str,
    progress: Progress,
    two_sided: bool = False,
) -> NewMemory:
    """Build weights and certify them, with ranks and divergences from both sides if asked for.

    Raises:
        InputError: The folder may not be written.
    """
    refuse_existing(Path(out), overwrite=overwrite)
    require_device(device)
    clock = _Clock(progress)
    with clock.stage("weights"):
        made = construct()
        progress("weights", None, made.built.summary)
    model, task = made.built.model, _as_rows(made.built.task)
    needed = None
    if task.facts is not None and is_dana_network(model):
        with clock.stage("capacity"):
            needed = _capacity(task.facts, model, progress=progress)
    return _certified(
        task,
        model,
        needed,
        criterion=made.built.criterion,
        figures={**made.figures, "built": made.built.summary, "tail": "none"},
        source=made.source,
        device=device,
        clock=clock,
        two_sided=two_sided,
    )


def _as_rows(task: AnyTask) -> AnyTask:
    """Return a task whose contexts are rows, as those of a table, where each has one label: other programs read them
    so.
    """
    facts = task.facts
    if facts is None or facts.windows is not None or facts.origin != "most frequent":
        return task
    one_each = len(facts.counts.indices) == len(facts.counts)
    return replace(facts, origin="table") if one_each and not len(facts.tail_contexts) else task


def capacity_summary(
    task: Task | ContextRows,
    *,
    d_model: int | None = None,
    d_head: int | None = None,
    n_heads: int | None = None,
    seed: int = 0,
    profile: RankProfile | None = None,
    progress: Progress = silent,
) -> CapacityFigures:
    """How many heads the contexts of a task need, beside what the paper counts; everything in it is proved.

    Args:
        task: What is to be memorized, or contexts alone; only the contexts matter, and labels for what heads of any
            width take, and their number for what other models take.
        d_model: $d$, as in `memorize`.
        d_head: $d_h$, as in `memorize`.
        n_heads: $H$ for the ranks; the paper's own number by default.
        seed: Seed of the random points.
        profile: What `capacity_profile` found of these contexts, to stand beside it.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The figures.

    Raises:
        InputError: A size that makes no model.
        ResourceError: The elimination would not fit into memory.

    Example:
        >>> from constructions.tasks.text import text_task
        >>> figures = capacity_summary(text_task("to be or not to be", context=2, target="labels"))
        >>> figures.memorized, figures.rank_lower == figures.rank_upper
        (13, True)
    """
    require_at_least(0, seed=seed)
    contexts, (d_model, d_head) = _contexts(task), _sizes(task, d_model, d_head)
    clock, of_task = _Clock(progress), dict[str, Any]()
    with clock.stage("capacity"):
        needed = capacity(
            contexts,
            d_model=d_model,
            d_head=d_head,
            n_heads=n_heads,
            eliminate=len(contexts) <= LARGEST_ELIMINATION,
            seed=seed,
            progress=lambda detail: progress("capacity", None, detail),
        )
        if not isinstance(task, ContextRows):
            most = most_parameters(task, seed=seed)
            progress("capacity", None, "heads of any width")
            answers, kept = task.n_answers, task.n_contexts
            of_task = {
                **_heads_of_any_width(task),
                "any_labels": [information_limit(task, STORED["float64"]), most],
                "any_laws": [kept * (answers - 1), kept * answers - 1 + task.d_vocab + task.n_ctx],
            }
    return CapacityFigures(
        **(_sizes_of_rows(task) if isinstance(task, ContextRows) else task.sizes()),
        dim=d_model,
        head_dim=d_head,
        heads=n_heads,
        seed=seed,
        **_capacity_figures(needed, needed.n_heads, None),
        explanation=needed.explanation,
        rank_lower_by=needed.lower_method,
        rank_upper_by=needed.upper_method,
        profile=None if profile is None else profile_records(profile),
        **of_task,
        seconds=clock.seconds,
    )


def capacity_profile(
    task: Task | ContextRows,
    *,
    d_model: int | None = None,
    d_head: int | None = None,
    n_heads: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> RankProfile:
    """Return the largest rank of the contexts for each width and number of heads; everything in it is proved.

    Args:
        task: What is to be memorized, or contexts alone; only the contexts matter.
        d_model: $d$, as in `memorize`.
        d_head: The only width; by default the powers of two below d, and d.
        n_heads: The largest number of heads; 6 by default.
        seed: Seed of the random points.
        progress: Called with the stage, its finished share, and a detail.

    Raises:
        InputError: A size that makes no model.
        ResourceError: The elimination would not fit into memory.
    """
    require_at_least(0, seed=seed)
    contexts = _contexts(task)
    return rank_profile(
        contexts,
        d_model=_sizes(task, d_model, d_head)[0],
        d_heads=None if d_head is None else [d_head],
        n_heads=_PROFILED_HEADS if n_heads is None else n_heads,
        eliminate=len(contexts) <= LARGEST_ELIMINATION,
        seed=seed,
        progress=lambda detail: progress("profile", None, detail),
    )


def _contexts(task: Task | ContextRows) -> Int64Array:
    return task.tokens if isinstance(task, ContextRows) else task.contexts


def _sizes(task: Task | ContextRows, d_model: int | None, d_head: int | None) -> tuple[int, int]:
    """Return the dimensions that are given, or that suit the task; of contexts alone as for labels that are tokens."""
    if not isinstance(task, ContextRows):
        return dimensions(task, d_model=d_model, d_head=d_head)
    natural = len(task.vocabulary) + task.tokens.shape[1]
    default = natural if natural <= _FEW_DIMENSIONS else _NARROW
    width = default if d_model is None else d_model
    require_at_least(1, d_model=width)
    return width, max(1, width // 4) if d_head is None else d_head


def _heads_of_any_width(task: Task) -> dict[str, Any]:
    """How many heads, of whatever widths, these labels take at least, and contexts that prove it; nothing for laws."""
    if task.target == "laws":
        return {}
    found = most_forbidden_heads(task.contexts, task.labels)
    shown = found.contexts
    part = task.contexts[shown], task.labels[shown], found.multipliers[shown]
    if not len(shown) or forbids_heads(*part, n_heads=found.n_heads) is not Verdict.PROVED:
        return {"any_width_heads": 0, "any_width_contexts": []}
    contexts = [[task.vocabulary[n] for n in context] for context in part[0].tolist()]
    return {"any_width_heads": found.n_heads + 1, "any_width_contexts": contexts}


def run_summary(folder: Path, *, device: str, dtype: str, threads: int | None = None) -> dict[str, Any]:
    """Run the weights in `folder` in torch, and judge every logit against its enclosure and a rounding bound.

    Args:
        folder: A folder that `memorize` or `build_claim` wrote.
        device: ``"cpu"`` or ``"cuda"``.
        dtype: ``"float64"``, ``"float32"``, ``"bfloat16"`` or ``"float16"``.
        threads: Threads of torch on the CPU; by default as torch is set.

    Returns:
        The figures of `verify.torch.run.RunResult`, with the type.

    Raises:
        FileFormatError: A file is missing or is not what it should be.
        TamperedError: The files are not those that the certificate names.
        InputError: torch is not installed, or no threads.
        DeviceError: There is no such device.
    """
    if importlib.util.find_spec("torch") is None:
        raise InputError("torch", "is not installed; `pip install 'byheart[torch]'` to run the weights")
    certificate = Certificate.load(folder)
    whole: int | None = None
    if certificate.subject.is_of_a_rule:
        model, rule = load_rule(folder, certificate)
        numbers = drawn(certificate.subject.model, certificate.subject.task, rule.n_contexts, _INPUTS_RUN, "")
        task = rule.facts(rule.contexts_at(np.array(numbers)), vocabulary=model.d_vocab, answers=model.d_vocab_out)
        whole = rule.n_contexts
    else:
        model, task = load_subject(folder, certificate)
        if task.facts is not None and _is_long(task.facts):
            numbers = drawn(certificate.subject.model, certificate.subject.task, task.n_contexts, _WINDOWS_RUN, "")
            whole, task = task.n_contexts, _some(task.facts, np.array(numbers))
    from verify.torch.device import on_threads
    from verify.torch.run import run

    asked = certificate.criterion
    judged = judge(model, task, asked, keep_outputs=task.n_contexts * model.d_vocab_out <= _KEPT_LOGITS)
    outputs = judged.answers.outputs
    with on_threads(threads):
        result = run(
            model, task, device=device, dtype=dtype, tolerance=asked.tolerance,
            logits=None if outputs is None else [(0, outputs)],
        )  # fmt: skip
    found = _run_outcome(result, judged, asked, certificate.subject, whole)
    is_whole = whole is None or task.n_contexts == whole
    all_held = result.held == task.n_contexts if is_whole or result.held < task.n_contexts else None
    summary: dict[str, Any] = {"dtype": result.dtype, **result.summary(), "all_held": all_held}
    return {"headline": str(found), "verdict": found.verdict.value, **summary}


def _run_outcome(result: "RunResult", judged: Judged, asked: Criterion, subject: Subject, whole: int | None) -> Outcome:
    """Return what the run showed: what was measured, if that is proved of the exact weights too."""
    contexts = judged.values["contexts"]
    values = {name: value for name, value in judged.values.items() if "guess" in name}
    values |= {"contexts": contexts, "held": result.held, "wrong": contexts - result.held}
    of_values = result.mean_kl is None
    losses = (result.mean_label_error, result.max_label_error) if of_values else (result.mean_kl, result.max_kl)
    mean, most = (math.inf if each is None else each for each in losses)
    if math.isfinite(most):
        values |= {"mean_lower": mean, "mean_upper": mean, "max_upper": most}
    found = subject.outcome(asked, values, by="MEASURED")
    if found.verdict is Verdict.PROVED and judged.outcome.verdict is not Verdict.PROVED:
        found = judged.outcome.adding(f"{result.held} of {contexts} measured")
    judged_so, every = result.within_bound, result.held_proved == contexts
    if judged_so is None and every:  # no sum is rounded, in types whose rounding bound says nothing
        judged_so = result.held == contexts
    word, verdict = {
        True: (found.word, found.verdict),
        False: ("OUTSIDE THE PROVED BOUNDS", Verdict.REFUTED),
        None: ("NOT JUDGED", Verdict.UNDECIDED),
    }[judged_so]
    if whole is not None and contexts < whole:
        most = most_wrong(whole, int(contexts), int(contexts) - result.held)
        found = found.adding(f"drawn at random; {sampled_bound(most, whole, 'are wrong in this run')}")
        if verdict is Verdict.PROVED:  # a sample is no proof, and not the whole run
            word, verdict = "SAMPLED, MEASURED", Verdict.UNDECIDED
    within = ["within the proved bounds"] if result.within_bound else []
    of_these = " of these" if whole is not None and contexts < whole else ""
    if asked.asked != "at-most" and judged_so is not False and result.held_proved:  # contexts alone are proved
        part = f"{result.held_proved} of {contexts}{of_these} held in every such run, proved"
        within.append(f"proved for every such run{of_these}" if every else part)
    return replace(found.adding(f"run in {result.dtype} on {result.device}", *within), word=word, verdict=verdict)


@dataclass(frozen=True)
class _Clock:
    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.progress(name, None, "")
        start = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - start, 3)
        self.progress(name, 1.0, "")


def _within(progress: Progress, stage: str, before: str = "") -> Progress:
    """Report the parts of a stage under its name."""
    return lambda part, share, detail: progress(stage, share, f"{before}{part} {detail}".strip())


def _capacity(task: Task, model: Model, *, progress: Progress) -> Capacity:
    return capacity(
        task.contexts,
        d_model=model.d_model,
        d_head=min(model.d_head, model.d_model),
        n_heads=model.n_heads,
        eliminate=task.n_contexts <= QUICK_ELIMINATION,
        progress=lambda detail: progress("capacity", None, detail),
    )


def _certified(
    task: AnyTask,
    model: Model,
    needed: Capacity | None,
    *,
    criterion: Criterion,
    figures: dict[str, Any],
    source: str,
    device: str,
    clock: _Clock,
    rests_on_rank: bool = True,
    two_sided: bool = False,
    left_out: str = "",
    runs: "Mapping[str, RunResult] | None" = None,
) -> NewMemory:
    """Certify the model and run it; the figures of all of it."""
    classic = not model.reads_tokens or is_dana_network(model)  # what has features
    facts = task.facts
    size = task.n_contexts
    with clock.stage("certificate"):
        proved = certify_memorization(
            model,
            task,
            criterion,
            # All features at once are T x H d_h numbers; a memory that does not rest on their rank can do without.
            rank=classic and (rests_on_rank or size <= _LARGEST_WITNESS),
            rank_of_heads=two_sided and (classic or is_heads_alone(model)) and size <= _LARGEST_WITNESS,
            rank_with_skip=two_sided and is_dana_network(model) and size <= _LARGEST_WITNESS,
            divergence=two_sided and task.target == "laws",
            saturation=None if model.reads_tokens else DELTA,
            witness=size <= _LARGEST_WITNESS,
            keep_outputs=size * model.d_vocab_out <= _KEPT_LOGITS,
            progress=_within(clock.progress, "certificate"),
        )
    dtype = figures.get("dtype", "float64")
    if facts is not None:
        with clock.stage("every run"):
            proved = _with_runs(proved, model, facts, dtype, criterion, clock.progress)
    if left_out:
        proved = replace(proved, certificate=proved.certificate.beside("left out", left_out))
    found = {**task.sizes(), **_model_figures(model), **figures}
    if facts is not None and classic:  # the stream of others is no encoder of a rank
        with clock.stage("encoder"):
            found |= _encoder_figures(model, facts, proved.answers.outputs, _within(clock.progress, "encoder"))
    if needed is not None:
        found |= _capacity_figures(needed, model.n_heads, proved.certificate)
    with clock.stage("torch"):
        if facts is not None and _is_long(facts):
            runs, device = {}, "cpu"  # every run is judged without one
        outputs, tolerance = proved.answers.outputs, criterion.tolerance
        ran = runs_in_torch(model, task, dtype, tolerance=tolerance, outputs=outputs) if runs is None else runs
        torch = dict(ran or {})
        if device != "cpu":
            elsewhere = runs_in_torch(model, task, dtype, tolerance=tolerance, device=device, outputs=outputs)
            torch |= {f"{name} on {device}": run for name, run in (elsewhere or {}).items()}
    runs_of = {name: RunFigures.of(name, run.summary()) for name, run in torch.items()}
    found |= {**proved_figures(proved.certificate), "torch": runs_of or None, "seconds": clock.seconds}
    return NewMemory(task, model, proved.certificate, proved, needed, Figures(**found), source)


def _with_runs(
    proved: Proved[Answers], model: Model, task: Task, dtype: str, criterion: Criterion, progress: Progress
) -> Proved[Answers]:
    """Return the certificate that also states what every run in this type holds, and the texts that it says."""
    runs = prove_runs(model, task, dtype, tolerance=criterion.tolerance, progress=progress)
    certificate = proved.certificate.stating(runs)
    return replace(proved, certificate=certificate.stating(state_text(task, certificate.statements)))


def _is_long(task: Task) -> bool:
    """Whether to run all windows of whole texts would take minutes."""
    return task.windows is not None and task.contexts.size * task.n_ctx > _SCORES_RUN


def _some(task: Task, rows: Int64Array) -> Task:
    """Return these windows of whole texts."""
    return replace(task.taken(rows), origin=task.origin)


def _sizes_of_rows(rows: ContextRows) -> dict[str, Any]:
    size, n_ctx = rows.tokens.shape
    return {"contexts": size, "memorized": size, "n_ctx": n_ctx, "vocabulary": len(rows.vocabulary)}


def _model_figures(model: Model) -> dict[str, Any]:
    if model.reads_tokens and not is_dana_network(model):
        kinds = [str(block.options()["kind"]) for block in model.blocks]
        return {"dim": model.d_model, "blocks": kinds, "outputs": model.d_vocab_out, "parameters": model.parameters}
    return {
        "dim": model.d_model,
        "heads": model.n_heads,
        "query_dim": model.d_qk,
        "head_dim": model.d_head,
        "outputs": model.d_vocab_out,
        "parameters": model.parameters,
    }


def _capacity_figures(needed: Capacity, heads: int, certificate: Certificate | None) -> dict[str, Any]:
    """Return the paper's counts and the certified ones, for this number of heads."""
    lower, upper = needed.rank_lower, needed.rank_upper
    if heads != needed.n_heads:
        ranks, limits = needed.heads.ranks, needed.ranks_upper
        lower = int(ranks[min(heads, len(ranks) - 1)])
        upper = int(limits[heads]) if heads < len(limits) else needed.n_contexts
    fewest, alone = needed.fewest_heads, needed.fewest_heads_alone
    proved = None if certificate is None else certificate.statement(FEATURE_RANK)
    if proved is not None:  # the weights are there
        lower = needed.n_contexts
        fewest = heads if fewest is None else fewest
        if alone is None and proved.values["columns"] == heads * needed.d_head:
            alone = heads
    return {
        "rank_heads": heads,
        "paper_rank": min(needed.n_contexts, heads * needed.d_head + needed.d_model),
        "rank_lower": lower,
        "rank_upper": upper,
        "paper_heads": needed.paper_heads,
        "fewest_heads": fewest,
        "necessary_heads": needed.necessary_heads,
        "heads_alone": alone,
        "necessary_heads_alone": needed.heads_alone.necessary,
    }


def _encoder_figures(network: Model, task: Task, logits: "Enclosure | None", progress: Progress) -> dict[str, Ends]:
    """Return what no encoder of rank d avoids, between proved bounds, and what these weights have; nats, by the
    prior.
    """
    if task.laws is None:
        return {}
    lower, upper = network_divergence(network, task, logits=logits, progress=progress)
    reached = upper if upper < math.inf else None
    if network.d_model >= task.n_answers - 1:
        return {"unavoidable_kl": [0.0, 0.0], "encoder_kl": [lower, reached]}  # Proposition 2
    spare = task.n_answers - 1 - network.d_model
    moves = spare * (spare * network.d_model + 1) if spare > 1 else 1
    cones = min(_COVERED, _COVERED_WORK // (task.laws.size * moves**2)) if task.laws.size <= _COVERED_ENTRIES else 0
    at_most = f", {cones} cones of directions at most" if cones else ""
    progress("lower bound", None, f"all encoders of rank {network.d_model}{at_most}")
    floor = encoder_floor(task.laws, network.d_model, prior=task.prior, cones=cones).lower
    return {"unavoidable_kl": [floor, reached], "encoder_kl": [max(lower, floor), reached]}
