"""Certify weights that were built, run them, and gather the figures of all of it.

Pages: docs/commands.md, docs/rigour/certificate.md
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from byheart.choice.trial import runs_in_torch
from byheart.figures import Figures, RunFigures
from byheart.jobs.clock import Clock, within
from byheart.measured import proved_figures
from byheart.memory import CertifiedMemory
from byheart.theory import theorems
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.progress import Progress
from constructions.tasks.any_task import AnyTask
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Task
from verify.provers.answer_bounds import Answers
from verify.provers.memorization import certify_memorization
from verify.provers.proved import Proved
from verify.provers.runs import prove_runs
from verify.provers.text import state_text

if TYPE_CHECKING:
    from verify.torch.run import RunResult

KEPT_LOGITS = 2**24
"""Entries of enclosed logits that are kept for torch instead of being enclosed again."""

_SCORES_RUN = 2**17  # scores of a head of all windows, beyond which running them all would take minutes


def certified(
    task: AnyTask,
    built: Construction[Any],
    *,
    criterion: Criterion,
    figures: dict[str, Any],
    source: str,
    device: str,
    clock: Clock,
    rests_on_rank: bool = True,
    two_sided: bool = False,
    text_divergence: bool = False,
    left_out: str = "",
    runs: "Mapping[str, RunResult] | None" = None,
) -> CertifiedMemory:
    """Return the weights with their certificate, their runs, and the figures of all of it.

    Args:
        task: What the weights hold, as the certificate shall name it.
        built: The weights.
        criterion: What is asked of them.
        figures: What is known of them already.
        source: What the task was made from.
        device: Where they are run, beside the CPU.
        clock: Times every stage.
        rests_on_rank: Whether they hold the task because features are independent, of any number of contexts.
        two_sided: Whether ranks and divergences are bounded from both sides.
        text_divergence: Whether the mean divergence over all contexts of a text is stated.
        left_out: What of the source was left out, for the first line.
        runs: Runs that were made already; none where they are still to be made.
    """
    model, facts, memorized = built.model, task.facts, theorems("memorized")
    size = task.n_contexts
    stated: dict[str, Any] = {}
    if memorized is not None:
        stated = memorized.statements(model, task, rests_on_rank=rests_on_rank, two_sided=two_sided)
    with clock.stage("certificate"):
        proved = certify_memorization(
            model,
            task,
            criterion,
            **stated,
            text_divergence=text_divergence,
            keep_outputs=size * model.d_vocab_out <= KEPT_LOGITS,
            progress=within(clock.progress, "certificate"),
        )
    dtype = figures.get("dtype", "float64")
    if facts is not None:
        with clock.stage("every run"):
            proved = _with_runs(proved, model, facts, dtype, criterion, clock.progress)
    if left_out:
        proved = replace(proved, certificate=proved.certificate.beside("left out", left_out))
    found: dict[str, Any] = {**task.sizes(), **_model_figures(model)}
    ranks = None
    if memorized is not None:
        beside = memorized.beside(built, facts, proved, clock)
        found, ranks = found | beside.figures, beside.ranks
    found |= figures
    with clock.stage("torch"):
        if facts is not None and is_long(facts):
            runs, device = {}, "cpu"  # every run is judged without one
        outputs, tolerance = proved.answers.outputs, criterion.tolerance
        ran = runs_in_torch(model, task, dtype, tolerance=tolerance, outputs=outputs) if runs is None else runs
        torch = dict(ran or {})
        if device != "cpu":
            elsewhere = runs_in_torch(model, task, dtype, tolerance=tolerance, device=device, outputs=outputs)
            torch |= {f"{name} on {device}": run for name, run in (elsewhere or {}).items()}
    runs_of = {name: RunFigures.of(name, run.summary()) for name, run in torch.items()}
    found |= {**proved_figures(proved.certificate), "torch": runs_of or None, "seconds": clock.seconds}
    return CertifiedMemory(task, model, proved.certificate, proved, ranks, Figures(**found), source)


def _with_runs(
    proved: Proved[Answers], model: Model, task: Task, dtype: str, criterion: Criterion, progress: Progress
) -> Proved[Answers]:
    """Return the certificate that also states what every run in this type holds, and the texts that it says."""
    runs = prove_runs(model, task, dtype, tolerance=criterion.tolerance, progress=progress)
    certificate = proved.certificate.stating(runs)
    return replace(proved, certificate=certificate.stating(state_text(task, certificate.statements)))


def is_long(task: Task) -> bool:
    """Tell whether running all windows of whole texts would take minutes."""
    return task.windows is not None and task.contexts.size * task.n_ctx > _SCORES_RUN


def _model_figures(model: Model) -> dict[str, Any]:
    kinds = [str(block.options()["kind"]) for block in model.blocks]
    return {"dim": model.d_model, "blocks": kinds, "outputs": model.d_vocab_out, "parameters": model.parameters}
