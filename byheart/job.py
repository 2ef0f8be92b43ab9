"""The main job: a task in, certified weights out, as a folder that can be checked, run and looked at."""

import importlib.util
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byheart.memory import Memory
from constructions.capacity.head_counts import Capacity, capacity
from constructions.claims.claim import Claim
from constructions.errors import CapacityError, InputError
from constructions.features.full_rank_attention import FRONT_ENDS
from constructions.files import refuse_existing
from constructions.memories.choice import SMALLEST, Offer, offers, smallest_of
from constructions.memories.memory import TAILS, build_memory, default_heads, estimate_bytes
from constructions.models.model import Model
from constructions.models.precision import Precision
from constructions.models.shapes import is_dana_network
from constructions.tasks.criterion import TOLERANCE, Criterion
from constructions.tasks.task import Task
from constructions.tasks.vectors import VectorTask
from verify.certificates.certificate import (
    ANSWERS,
    FEATURE_RANK,
    SATURATION,
    TEXT_DIVERGENCE,
    Certificate,
    plain_number,
)
from verify.certificates.memorization import MemorizationCertificate, certify_memorization, load_subject
from verify.certificates.memory_budget import require_memory
from verify.certificates.saturation import DELTA
from verify.encoders.encoder_ceiling import network_divergence
from verify.encoders.encoder_floor import encoder_floor
from verify.progress import Progress

if TYPE_CHECKING:
    from verify.arithmetic.enclosure import Enclosure


_LARGEST_ELIMINATION = 4096  # contexts; beyond it the number of heads is bounded from below only
_LARGEST_WITNESS = 4096  # contexts; the witness of the rank takes 4 T^2 bytes
_KEPT_LOGITS = 2**24  # entries of enclosed logits that are kept for torch instead of being enclosed again


def silent(stage: str, share: float | None, detail: str) -> None:
    """A progress callback that shows nothing."""


def hold(
    task: Task,
    *,
    d_model: int | None = None,
    d_head: int | None = None,
    n_heads: int | None = None,
    front_end: str = "auto",
    tail: str | None = None,
    tolerance: float = TOLERANCE,
    seed: int = 0,
    device: str = "cpu",
    source: str = "",
    progress: Progress = silent,
) -> Memory:
    r"""Build weights that hold the task exactly, certify them, and run them.

    For laws and $d < N - 1$, where no weights hold all laws, they hold the best encoder of rank d that is found.

    The stages are capacity, weights, certificate, encoder and torch. The certificate is about the float64 weights that
    are returned, rounding included: of the figures, those of the capacity, of the certificate and of the encoder are
    proved, those of torch are measured.

    Args:
        task: What is to be memorized.
        d_model: $d$; by default N + S, or 64 for labels over more than 128 tokens and positions.
        d_head: $d_h$; by default a quarter of `d_model`.
        n_heads: $H$; by default what the task needs and a margin.
        front_end: The family of attention patterns, see `constructions.features.full_rank_attention.front_end`.
        tail: ``"fit"`` or ``"none"``; by default ``"fit"`` for laws if there is a tail and `n_heads` is not given.
        tolerance: What the divergence of a held law may be, nats.
        seed: Seed of every random choice.
        device: Where to run the replica beside the CPU, if torch is installed.
        source: What the task was made from, for the report.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The weights with their certificate and all figures; nothing is written.

    Raises:
        InputError: A size that makes no model.
        CapacityError: Too few heads; says how many suffice.
        ResourceError: The work would not fit into memory.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 1, repaired. Page: docs/commands.md

    Example:
        >>> from constructions.tasks.table import table_task
        >>> task = table_task("paris,is,in,france\nrome,is,in,italy\nbonn,is,in,germany\n", target="labels")
        >>> hold(task).ask("rome, is, in").token
        'italy'
    """
    if device != "cpu":
        _require_device(device)
    _require_seed(seed)
    _require_one_of("front_end", front_end, FRONT_ENDS)
    _require_one_of("tail", tail, (*TAILS, None))
    d_model, d_head = dimensions(task, d_model=d_model, d_head=d_head)
    if tail is None:
        tail = "fit" if task.target == "laws" and len(task.tail_contexts) and n_heads is None else "none"
    clock = _Clock(progress)
    with clock.stage("capacity"):
        needed = _capacity(task, d_model=d_model, d_head=d_head, n_heads=n_heads, seed=seed, progress=progress)
        n_heads = _heads(needed, task, d_head=d_head, n_heads=n_heads, tail=tail)
    require_memory(
        _bytes_needed(task, d_model=d_model, d_head=d_head, n_heads=n_heads, front_end=front_end, tail=tail),
        purpose=f"{task.n_contexts} facts with {n_heads} heads of {d_head} dimensions",
    )
    with clock.stage("weights"):
        built = build_memory(
            task,
            d_model=d_model,
            d_head=d_head,
            n_heads=n_heads,
            front_end=front_end,
            tail=tail,
            seed=seed,
            fewest_heads=needed.fewest_heads,
            progress=_within(progress, "weights"),
        )
    return _certified(
        task,
        built.model,
        needed,
        criterion=Criterion(tolerance=tolerance),
        figures={"front_end": built.front_end, "route": built.route, "tail": tail, "seed": seed},
        source=source,
        device=device,
        clock=clock,
    )


def hold_smallest(
    task: Task,
    *,
    memory: str = SMALLEST,
    dtype: Precision = "float32",
    attention_only: bool = False,
    tolerance: float = TOLERANCE,
    seed: int = 0,
    device: str = "cpu",
    source: str = "",
    progress: Progress = silent,
) -> Memory:
    r"""Build the kind of memory that holds the task in the fewest parameters, or the one that is named; certify it.

    Where the model is no network of one attention there is no replica in torch and no page to look at.

    Args:
        task: What is to be memorized.
        memory: The name of a kind of memory, or ``"smallest"``.
        dtype: The precision that every weight is rounded to.
        attention_only: Refuse models with neurons.
        tolerance: What the divergence of a held law may be, nats.
        seed: Seed of every random choice.
        device: Where to run the replica beside the CPU, if torch is installed.
        source: What the task was made from, for the report.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The weights with their certificate and all figures; `memories` among these says what each kind that was tried
        makes of the task.

    Raises:
        InputError: No such memory.
        CapacityError: No memory holds the task; says why.
        ResourceError: The work would not fit into memory.

    Page: docs/memories.md

    Example:
        >>> from constructions.tasks.table import table_task
        >>> task = table_task("paris,france\nrome,italy\nbonn,germany\n", target="labels")
        >>> memory = hold_smallest(task)
        >>> memory.summary["memory"], str(memory)[:32]
        ('newton', 'HELD, PROVED: 3 of 3 contexts; l')
    """
    if device != "cpu":
        _require_device(device)
    _require_seed(seed)
    clock = _Clock(progress)
    with clock.stage("weights"):
        tried = offers(
            task,
            names=None if memory == SMALLEST else (memory,),
            dtype=dtype,
            attention_only=attention_only,
            seed=seed,
            progress=_within(progress, "weights"),
        )
        chosen = smallest_of(tried)
    built = chosen.built
    assert built is not None
    model, needed = built.model, None
    if is_dana_network(model) and model.n_heads and task.n_contexts <= _LARGEST_ELIMINATION:
        with clock.stage("capacity"):
            needed = _capacity(
                task, d_model=model.d_model, d_head=model.d_head, n_heads=model.n_heads, seed=seed, progress=progress
            )
    return _certified(
        task,
        model,
        needed,
        criterion=Criterion(tolerance=tolerance),
        figures={
            "memory": chosen.kind.name,
            "built": built.summary,
            "memories": [_offer_figures(offer, task) for offer in tried],
            "front_end": chosen.kind.name,
            "route": chosen.kind.name,
            "tail": "none",
            "seed": seed,
        },
        source=source,
        device=device,
        clock=clock,
    )


def _offer_figures(offer: Offer, task: Task) -> dict[str, Any]:
    if offer.built is None:
        return {"memory": offer.kind.name, "refused": offer.refused}
    return {
        "memory": offer.kind.name,
        "parameters": offer.parameters,
        "nonzero": offer.nonzero,
        "facts_per_parameter": task.n_contexts / offer.parameters,
    }


def memorize_into(out: Path, task: Task, *, overwrite: bool = False, **options: Any) -> dict[str, Any]:
    r"""Build weights that hold the task exactly (`hold`), and write the folder `out`, whole or not at all.

    Args:
        out: The folder to write.
        task: What is to be memorized.
        overwrite: Replace a folder that byheart wrote.
        options: Those of `hold`.

    Returns:
        The figures, as plain JSON data: the fields of docs/commands.md.

    Raises:
        InputError: An existing folder, and as `hold`.
        CapacityError: Too few heads; says how many suffice.
        ResourceError: The work would not fit into memory.

    Page: docs/commands.md

    Example:
        >>> import tempfile
        >>> from constructions.tasks.table import table_task
        >>> task = table_task("paris,is,in,france\nrome,is,in,italy\nbonn,is,in,germany\n", target="labels")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     summary = memorize_into(Path(folder) / "facts", task)
        >>> summary["headline"][:32]
        'HELD, PROVED: 3 of 3 contexts; l'
    """
    refuse_existing(Path(out), overwrite=overwrite)
    return hold(task, **options).save(out, overwrite=overwrite)


def build_claim(
    claim: Claim,
    *,
    out: Path,
    parameters: Mapping[str, int] | None = None,
    overwrite: bool = False,
    device: str = "cpu",
    progress: Progress = silent,
) -> dict[str, Any]:
    r"""Build the weights that a claim of the literature promises, certify them, run them, and write the folder `out`.

    The folder is of the same kind as those of `memorize`. The certificate asks what the claim promises, and is about
    the float64 weights that are written, whatever the construction was exact about.

    Args:
        claim: A claim of the register.
        out: The folder to write.
        parameters: Parameters of the construction by name; the others keep their default values.
        overwrite: Replace a folder that byheart wrote.
        device: Where to run the replica beside the CPU, if torch is installed.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The figures, as plain JSON data: the fields of docs/commands.md and docs/audit.md.

    Raises:
        InputError: The claim builds no weights or has no such parameter, or an existing folder.
        HypothesisError: Parameters for which a hypothesis of the claim does not hold.
        ResourceError: The work would not fit into memory.

    Page: docs/audit.md

    Example:
        >>> import tempfile
        >>> from constructions.claims import claim
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     summary = build_claim(claim("dana.lemma-3"), out=Path(folder) / "lemma-3")
        >>> summary["claim"], summary["verdict"]
        ('dana.lemma-3', 'PROVED')
    """
    out = Path(out)
    refuse_existing(out, overwrite=overwrite)
    if device != "cpu":
        _require_device(device)
    given = dict(parameters or {})
    clock = _Clock(progress)
    with clock.stage("weights"):
        built = claim.construct(**given)
        progress("weights", None, built.summary)
    model, task = built.model, built.task
    needed = None
    if isinstance(task, Task):
        with clock.stage("capacity"):
            needed = _capacity(
                task,
                d_model=model.d_model,
                d_head=min(model.d_head, model.d_model),
                n_heads=model.n_heads,
                seed=0,
                progress=progress,
            )
    made = _certified(
        task,
        model,
        needed,
        criterion=built.criterion,
        figures={
            "claim": claim.id,
            "built": built.summary,
            "construction": {**claim.parameters, **given},
            "front_end": claim.id,
            "route": claim.id,
            "tail": "none",
            "seed": given.get("seed", claim.parameters.get("seed", 0)),
        },
        source=f"{claim.source} ({claim.id})",
        device=device,
        clock=clock,
    )
    return made.save(out, overwrite=overwrite)


def capacity_summary(
    task: Task,
    *,
    d_model: int | None = None,
    d_head: int | None = None,
    n_heads: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> dict[str, Any]:
    """How many heads the contexts of a task need, beside what the paper counts; everything in it is proved.

    Args:
        task: What is to be memorized; only its contexts matter.
        d_model: $d$, as in `memorize`.
        d_head: $d_h$, as in `memorize`.
        n_heads: $H$ for the ranks; the paper's own number by default.
        seed: Seed of the random points.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The figures, as plain JSON data: the fields of docs/commands.md.

    Raises:
        InputError: A size that makes no model.
        ResourceError: The elimination would not fit into memory.

    Page: docs/claims/capacity.md

    Example:
        >>> from constructions.tasks.text import text_task
        >>> summary = capacity_summary(text_task("to be or not to be", context=2, target="labels"))
        >>> summary["memorized"], summary["rank_lower"] == summary["rank_upper"]
        (13, True)
    """
    _require_seed(seed)
    d_model, d_head = dimensions(task, d_model=d_model, d_head=d_head)
    clock = _Clock(progress)
    with clock.stage("capacity"):
        needed = _capacity(task, d_model=d_model, d_head=d_head, n_heads=n_heads, seed=seed, progress=progress)
    return {
        **_task_figures(task),
        "dim": d_model,
        "head_dim": d_head,
        "heads": n_heads,
        "seed": seed,
        **_capacity_figures(needed, needed.n_heads, None),
        "explanation": needed.explanation,
        "seconds": clock.seconds,
    }


def run_summary(folder: Path, *, device: str, dtype: str) -> dict[str, Any]:
    """Run the weights in `folder` in torch, and judge every logit against its enclosure and a rounding bound.

    Args:
        folder: A folder that `memorize` or `build_claim` wrote.
        device: ``"cpu"`` or ``"cuda"``.
        dtype: ``"float64"``, ``"float32"`` or ``"bfloat16"``.

    Returns:
        The figures of `verify.replica.run.RunResult`, with the type.

    Raises:
        FileFormatError: A file is missing or is not what it should be.
        TamperedError: The files are not those that the certificate names.
        InputError: torch is not installed.
        DeviceError: There is no such device.

    Page: docs/run.md
    """
    if importlib.util.find_spec("torch") is None:
        raise InputError("torch is not installed; `pip install byheart[torch]` to run the weights")
    certificate = Certificate.load(folder)
    model, task = load_subject(folder, certificate)
    from verify.replica.run import run

    result = run(model, task, device=device, dtype=dtype)
    summary: dict[str, Any] = {"dtype": result.dtype, **result.summary()}
    near = summary.get("max_label_error", summary.get("max_kl"))
    right = summary["accuracy"] is None or summary["accuracy"] == 1.0
    close = task.target == "labels" or (near is not None and near <= certificate.criterion.tolerance)
    summary["all_held"] = right and close
    return {"headline": _run_headline(summary, task), **summary}


def _run_headline(summary: Mapping[str, Any], task: Task | VectorTask) -> str:
    """What the run showed, in one line."""
    word = "HELD" if summary["all_held"] else "NOT HELD"
    size = task.n_examples if isinstance(task, VectorTask) else task.n_contexts
    parts = [f"{summary['dtype']} on {summary['device']}, measured"]
    if summary["accuracy"] is not None:
        parts.append(f"{round(summary['accuracy'] * size)} of {size} contexts right")
    elif isinstance(task, VectorTask):
        parts.append(f"{size} contexts, largest distance from a value {summary['max_label_error']}")
    if not isinstance(task, VectorTask):
        parts.append(f"worst KL {summary['max_kl']} nats")
    judged = {True: "within the proved bounds", False: "OUTSIDE THE PROVED BOUNDS", None: "not judged"}
    return f"{word}: {'; '.join(parts)}; {judged[summary['within_bound']]}"


def dimensions(task: Task, *, d_model: int | None, d_head: int | None) -> tuple[int, int]:
    """The dimensions d and d_h of the model: those given, else those that suit the task.

    Raises:
        InputError: A dimension below 1, or a head wider than the model.

    Page: docs/commands.md

    Example:
        >>> from constructions.tasks.text import text_task
        >>> dimensions(text_task("to be or not to be", context=2), d_model=None, d_head=None)
        (9, 2)
    """
    if d_model is None:
        natural = task.vocabulary_size + task.context_length
        if task.target == "laws":
            d_model = max(natural, task.n_answers - 1)  # Proposition 2
        else:
            d_model = natural if natural <= 128 else 64
    if d_model < 1:
        raise InputError(f"dim = {d_model}, expected at least 1")
    if d_head is None:
        d_head = max(1, d_model // 4)
    if not 1 <= d_head <= d_model:
        raise InputError(f"head-dim = {d_head}, expected 1 .. dim = {d_model}")
    return d_model, d_head


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


def _within(progress: Progress, stage: str) -> Progress:
    """Report the parts of a stage under its name."""
    return lambda part, share, detail: progress(stage, share, f"{part} {detail}".strip())


def _require_seed(seed: int) -> None:
    if seed < 0:
        raise InputError(f"seed = {seed}, expected at least 0")


def _require_one_of(name: str, value: str | None, choices: tuple[str | None, ...]) -> None:
    if value not in choices:
        raise InputError(f"{name} is {value!r}, expected one of {', '.join(map(repr, choices))}")


def _require_device(device: str) -> None:
    if importlib.util.find_spec("torch") is None:
        raise InputError(f"device = {device}, but torch is not installed; `pip install byheart[torch]`")
    from verify.replica.device import select_device

    select_device(device)


def _capacity(task: Task, *, d_model: int, d_head: int, n_heads: int | None, seed: int, progress: Progress) -> Capacity:
    if n_heads is not None and n_heads < 1:
        raise InputError(f"heads = {n_heads}, expected at least 1")
    return capacity(
        task.contexts,
        d_model=d_model,
        d_head=d_head,
        n_heads=n_heads,
        eliminate=task.n_contexts <= _LARGEST_ELIMINATION,
        seed=seed,
        progress=lambda detail: progress("capacity", None, detail),
    )


def _heads(needed: Capacity, task: Task, *, d_head: int, n_heads: int | None, tail: str) -> int:
    """The number of heads to build: the given one if it can be enough, else what the task needs and a margin."""
    if n_heads is None:
        alone = needed.heads_alone
        enough = alone.necessary if alone.sufficient is None else alone.sufficient
        return default_heads(enough, task.n_contexts, d_head, tail)
    least = needed.necessary_heads
    if least is not None and n_heads < least and not _distinct_last_tokens(task):
        fewest = needed.fewest_heads
        raise CapacityError(
            "Theorem 1'",
            f"features [x_S, Y] of rank T = {task.n_contexts}",
            f"with {n_heads} heads no weights exceed rank {needed.rank_upper}; "
            + (f"{fewest} heads suffice" if fewest is not None else f"at least {least} heads are needed"),
            fewest_heads=fewest,
        )
    return n_heads


def _distinct_last_tokens(task: Task) -> bool:
    """Whether the embeddings alone can hold the task, one for each context."""
    return len(set(task.contexts[:, -1].tolist())) == task.n_contexts


def _certified(
    task: Task | VectorTask,
    model: Model,
    needed: Capacity | None,
    *,
    criterion: Criterion,
    figures: dict[str, Any],
    source: str,
    device: str,
    clock: _Clock,
) -> Memory:
    """Certify the model and run it; the figures of all of it."""
    classic = isinstance(task, VectorTask) or is_dana_network(model)  # what has features, a replica and a report
    size = task.n_examples if isinstance(task, VectorTask) else task.n_contexts
    with clock.stage("certificate"):
        proved = certify_memorization(
            model,
            task,
            criterion,
            rank=classic,
            saturation=DELTA if isinstance(task, VectorTask) else None,
            witness=size <= _LARGEST_WITNESS,
            keep_outputs=size * model.d_vocab_out <= _KEPT_LOGITS,
            progress=_within(clock.progress, "certificate"),
        )
    summary = {**_task_figures(task), **_model_figures(model), **figures}
    if isinstance(task, Task) and classic:
        with clock.stage("encoder"):
            summary |= _encoder_figures(model, task, proved.answers.outputs, _within(clock.progress, "encoder"))
    if needed is not None:
        summary |= _capacity_figures(needed, model.n_heads, proved.certificate)
    with clock.stage("torch"):
        runs = _runs(model, task, device=device, outputs=proved.answers.outputs) if classic else None
    summary |= {**_certified_figures(proved, criterion), "torch": runs, "seconds": {**clock.seconds}}
    return Memory(task, model, proved, needed, summary, source)


def _bytes_needed(task: Task, *, d_model: int, d_head: int, n_heads: int, front_end: str, tail: str) -> int:
    building = estimate_bytes(task, d_model=d_model, d_head=d_head, n_heads=n_heads, front_end=front_end, tail=tail)
    # The certificate holds the features with their radii, and the Gram matrix with its factor and error bounds.
    certifying = 8 * (2 * task.n_contexts * n_heads * d_head + 4 * task.n_contexts**2)
    return max(building, certifying)


def _runs(model: Model, task: Task | VectorTask, *, device: str, outputs: "Enclosure | None") -> dict[str, Any] | None:
    if importlib.util.find_spec("torch") is None:
        return None

    from verify.replica.run import run_all

    logits = None if outputs is None else [(0, outputs)]
    runs = run_all(model, task, logits=logits)
    if device != "cpu":
        elsewhere = run_all(model, task, device=device, logits=logits)
        runs |= {f"{dtype} on {device}": figures for dtype, figures in elsewhere.items()}
    return runs


def _task_figures(task: Task | VectorTask) -> dict[str, Any]:
    if isinstance(task, VectorTask):
        return {
            "target": task.target,
            "origin": "own",
            "contexts": task.n_examples,
            "memorized": task.n_examples,
            "context_length": task.n_tokens,
            "shared_context": task.shared,
        }
    return {
        "target": task.target,
        "origin": task.origin,
        "vocabulary": task.vocabulary_size,
        "answers": task.n_answers,
        "contexts": task.n_all,
        "memorized": task.n_contexts,
        "context_length": task.context_length,
    }


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
    """The paper's counts and the certified ones, for this number of heads."""
    lower, upper = needed.rank_lower, needed.rank_upper
    if heads != needed.n_heads:
        ranks, limits = needed.heads.ranks, needed.ranks_upper
        lower = int(ranks[min(heads, len(ranks) - 1)])
        upper = int(limits[heads]) if heads < len(limits) else needed.n_contexts
    if certificate is not None and certificate.statement(FEATURE_RANK) is not None:
        lower = needed.n_contexts  # the weights are there
    return {
        "rank_heads": heads,
        "paper_rank": min(needed.n_contexts, heads * needed.d_head + needed.d_model),
        "rank_lower": lower,
        "rank_upper": upper,
        "paper_heads": needed.paper_heads,
        "fewest_heads": needed.fewest_heads,
        "necessary_heads": needed.necessary_heads,
        "heads_alone": needed.fewest_heads_alone,
    }


def _certified_figures(proved: MemorizationCertificate, criterion: Criterion) -> dict[str, Any]:
    certificate = proved.certificate

    def figure(id: str, name: str) -> int | float | None:
        found = certificate.statement(id)
        return None if found is None or name not in found.values else plain_number(found.values[name])

    return {
        "verdict": certificate.verdict.value,
        "headline": certificate.headline(),
        "asked": criterion.describe(certificate.subject.target),
        "held": figure(ANSWERS, "held"),
        "wrong": figure(ANSWERS, "wrong"),
        "margin_lower": figure(ANSWERS, "margin_lower"),
        "mean_loss_upper": figure(ANSWERS, "mean_upper"),
        "max_loss_upper": figure(ANSWERS, "max_upper"),
        "guess_kl_lower": figure(ANSWERS, "guess_lower"),
        "text_kl": [figure(TEXT_DIVERGENCE, "lower"), figure(TEXT_DIVERGENCE, "upper")],
        "condition": figure(FEATURE_RANK, "condition_upper"),
        "rank_proved": certificate.statement(FEATURE_RANK) is not None,
        "pairs": figure(SATURATION, "pairs"),
        "saturated_pairs": figure(SATURATION, "saturated_lower"),
        "saturation_delta": figure(SATURATION, "delta"),
    }


def _encoder_figures(
    network: Model, task: Task, logits: "Enclosure | None", progress: Progress
) -> dict[str, list[float | None] | None]:
    """What no encoder of rank d avoids, between proved bounds, and what these weights have; nats, by the prior."""
    if task.laws is None:
        return {"unavoidable_kl": None, "encoder_kl": None}
    lower, upper = network_divergence(network, task, logits=logits, progress=progress)
    reached = upper if upper < math.inf else None
    if network.d_model >= task.n_answers - 1:
        return {"unavoidable_kl": [0.0, 0.0], "encoder_kl": [lower, reached]}  # Proposition 2
    progress("lower bound", None, f"all encoders of rank {network.d_model}")
    floor = encoder_floor(task.laws, network.d_model, prior=task.prior).lower
    return {"unavoidable_kl": [floor, reached], "encoder_kl": [max(lower, floor), reached]}
