"""Run the weights of a folder in torch, and judge every logit against its enclosure and a rounding bound.

Page: docs/run.md
"""

import importlib.util
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from byheart.jobs.certified import KEPT_LOGITS, is_long
from constructions.errors import InputError
from constructions.numeric.arrays import Int64Array
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Task
from verify.certificates.certificate import Certificate, Subject
from verify.certificates.headline import Outcome, sampled_bound
from verify.domains.sample import drawn, most_wrong
from verify.provers.domain import load_rule
from verify.provers.memorization import Judged, judge, load_subject
from verify.verdict import Verdict

if TYPE_CHECKING:
    from verify.torch.run import RunResult

_INPUTS_RUN = 2**14  # of the domain of a rule, of which so many are drawn
_WINDOWS_RUN = 64  # of a long text, of which so many are drawn


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
        if task.facts is not None and is_long(task.facts):
            numbers = drawn(certificate.subject.model, certificate.subject.task, task.n_contexts, _WINDOWS_RUN, "")
            whole, task = task.n_contexts, _some(task.facts, np.array(numbers))
    from verify.torch.device import on_threads
    from verify.torch.run import run

    criterion = certificate.criterion
    judged = judge(model, task, criterion, keep_outputs=task.n_contexts * model.d_vocab_out <= KEPT_LOGITS)
    outputs = judged.answers.outputs
    with on_threads(threads):
        result = run(
            model, task, device=device, dtype=dtype, tolerance=criterion.tolerance,
            logits=None if outputs is None else [(0, outputs)],
        )  # fmt: skip
    outcome = _run_outcome(result, judged, criterion, certificate.subject, whole)
    is_whole = whole is None or task.n_contexts == whole
    all_memorized = result.memorized == task.n_contexts if is_whole or result.memorized < task.n_contexts else None
    summary: dict[str, Any] = {"dtype": result.dtype, **result.summary(), "all_memorized": all_memorized}
    return {"headline": str(outcome), "verdict": outcome.verdict.value, **summary}


def _run_outcome(result: "RunResult", judged: Judged, asked: Criterion, subject: Subject, whole: int | None) -> Outcome:
    """Return the outcome of the run: the measured one, if it is proved for the exact weights too."""
    contexts = judged.values["contexts"]
    values = {name: value for name, value in judged.values.items() if "guess" in name}
    values |= {"contexts": contexts, "memorized": result.memorized, "wrong": contexts - result.memorized}
    of_values = result.mean_kl is None
    losses = (result.mean_label_error, result.max_label_error) if of_values else (result.mean_kl, result.max_kl)
    mean, most = (math.inf if loss is None else loss for loss in losses)
    if math.isfinite(most):
        values |= {"mean_lower": mean, "mean_upper": mean, "max_upper": most}
    outcome = subject.outcome(asked, values, by="MEASURED")
    if outcome.verdict is Verdict.PROVED and judged.outcome.verdict is not Verdict.PROVED:
        outcome = judged.outcome.adding(f"{result.memorized} of {contexts} measured")
    judged_so, every = result.within_bound, result.memorized_proved == contexts
    if judged_so is None and every:  # no sum is rounded, in types whose rounding bound says nothing
        judged_so = result.memorized == contexts
    word, verdict = {
        True: (outcome.word, outcome.verdict),
        False: ("OUTSIDE THE PROVED BOUNDS", Verdict.REFUTED),
        None: ("NOT JUDGED", Verdict.UNDECIDED),
    }[judged_so]
    if whole is not None and contexts < whole:
        most = most_wrong(whole, int(contexts), int(contexts) - result.memorized)
        outcome = outcome.adding(f"drawn at random; {sampled_bound(most, whole, 'are wrong in this run')}")
        if verdict is Verdict.PROVED:  # a sample is no proof, and not the whole run
            word, verdict = "SAMPLED, MEASURED", Verdict.UNDECIDED
    within = ["within the proved bounds"] if result.within_bound else []
    of_these = " of these" if whole is not None and contexts < whole else ""
    if asked.asked != "at-most" and judged_so is not False and result.memorized_proved:  # contexts alone are proved
        part = f"{result.memorized_proved} of {contexts}{of_these} memorized in every such run, proved"
        within.append(f"proved for every such run{of_these}" if every else part)
    return replace(outcome.adding(f"run in {result.dtype} on {result.device}", *within), word=word, verdict=verdict)


def _some(task: Task, rows: Int64Array) -> Task:
    """Return these windows of whole texts."""
    return replace(task.taken(rows), origin=task.origin)
