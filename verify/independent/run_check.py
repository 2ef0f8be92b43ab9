"""Statements about every run and about texts, proved again with integers and balls alone.

Page: docs/rigour/certificate.md
"""

import hashlib
from collections.abc import Mapping, Sequence

from flint import arb, ctx

from constructions.counted import counted
from verify.arithmetic.exact_json import Number
from verify.certificates.certificate import REALS, Certificate, Statement, StatementCheck, held_mask
from verify.independent.ball_answers import Targets
from verify.independent.ball_ends import ball
from verify.independent.ball_forward import NoInformationError
from verify.independent.plain.plain_model import PlainModel
from verify.independent.plain.plain_rule import PlainRule
from verify.independent.plain.plain_task import PlainTask, PlainVectorTask
from verify.independent.plain_prompts import PlainPromptTask
from verify.independent.run_forward import UNIT, RunForward, RunRows
from verify.progress import Progress
from verify.runs.formats import EXP_ULPS, FORMATS
from verify.runs.hypotheses import OF_BOUNDS, OF_EXACT_SUMS
from verify.verdict import Verdict

_BITS = 512  # of the balls that losses are computed in
_TOGETHER = 4096  # contexts
_AFFORDABLE = 2.0**30  # products, about: some minutes, beyond which nothing is attempted unless asked for
_MOST_INPUTS = 2**14  # of the domain of a rule


def check_runs(
    statement: Statement,
    model: PlainModel,
    task: PlainTask | PlainVectorTask | PlainPromptTask | PlainRule,
    *,
    tolerance: float,
    full: bool,
    progress: Progress,
) -> StatementCheck:
    """Prove again what every run holds of the contexts that the statement names.

    Args:
        statement: What is to be proved, by no other means than its hypotheses allow.
        model: The weights.
        task: The contexts, or facts, or inputs, and their targets.
        tolerance: What the divergence of a held law may be, nats.
        full: Whether to attempt what takes long.
        progress: Called with the stage and the finished share of it.
    """
    size = int(statement.values["contexts"])
    named = sorted(held_mask(statement.held, size)) if statement.held else range(size)
    values: dict[str, Number] = {"contexts": size}

    def checked(verdict: Verdict, reason: str) -> StatementCheck:
        return StatementCheck(statement.label, verdict, reason, values)

    if isinstance(task, PlainVectorTask):
        return checked(Verdict.REFUTED, "no runs are judged of a model of vectors")
    if isinstance(task, PlainRule):
        if size > _MOST_INPUTS and not full:
            return checked(Verdict.UNDECIDED, f"not attempted: {size} inputs take long; --full (full=True) tries it")
        task = _inputs(task, model)
    work = len(named) * len(task.contexts[0]) * sum(len(tensor.values) for tensor in model.tensors.values())
    if work > _AFFORDABLE and not full:
        return checked(Verdict.UNDECIDED, "not attempted: it takes long; --full (full=True) tries it")
    hypotheses = statement.named["hypotheses"]
    try:
        forward = RunForward(
            model,
            FORMATS[statement.named["format"]],
            exact=hypotheses != OF_BOUNDS,
            soft=hypotheses != OF_EXACT_SUMS,
            exp_ulps=float(statement.values.get("exp_ulps", EXP_ULPS)),
        )
        with ctx.workprec(_BITS):
            judged = _of_prompts if isinstance(task, PlainPromptTask) else _of_contexts
            found = judged(forward, task, named, ball(tolerance), progress)  # pyright: ignore[reportArgumentType]
    except NoInformationError as error:
        return checked(Verdict.UNDECIDED, f"this checker has no proof of it: {error}")
    lost = [i for i in named if found[i] is Verdict.REFUTED]
    left = [i for i in named if found[i] is Verdict.UNDECIDED]
    values["held"] = len(named) - len(lost) - len(left)
    if lost:
        return checked(Verdict.REFUTED, f"it names {counted(len(lost), 'context')} that no run holds, first {lost[0]}")
    if left:
        return checked(Verdict.UNDECIDED, f"context {left[0]}, which it names, was not proved to be held")
    return checked(Verdict.PROVED, f"{len(named)} of {counted(size, 'context')}, integers with radii")


def check_text(
    statement: Statement,
    certificate: Certificate,
    task: PlainTask | PlainVectorTask | PlainPromptTask,
    checks: Mapping[str, StatementCheck],
) -> StatementCheck:
    """Make the texts again from the tokens of the task, and rest on what was proved again of their windows.

    Args:
        statement: What is to be proved.
        certificate: Where it stands.
        task: Its contexts are the windows.
        checks: What came of the statements that it may rest on, by their labels.
    """

    def checked(verdict: Verdict, reason: str) -> StatementCheck:
        return StatementCheck(statement.label, verdict, reason, {})

    texts = task.texts if isinstance(task, PlainTask) else None
    if texts is None or not isinstance(task, PlainTask):
        return checked(Verdict.REFUTED, "the task is of no whole texts")
    if any(len(row) > 1 for row in task.counts):
        return checked(Verdict.REFUTED, "a window of the texts goes on in two ways")
    own = [
        {"title": title, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for title, data in zip(texts.titles, texts.data, strict=True)
    ]
    if own != list(statement.named["texts"]):
        return checked(Verdict.REFUTED, f"the texts are others: {', '.join(each['sha256'] for each in own[:4])}")
    values = {"texts": len(own), "parts": texts.parts, "bytes": sum(map(len, texts.data))}
    if texts.characters is not None:
        values["characters"] = texts.characters
    if values != dict(statement.values):
        return checked(Verdict.REFUTED, f"the texts have {values}, not {dict(statement.values)}")
    dtype = statement.named["format"]
    rests_on = certificate.answers if dtype == REALS else certificate.in_every_run(dtype)
    assert rests_on is not None  # no certificate is without it
    if checks[rests_on.label].verdict is not Verdict.PROVED:
        return checked(Verdict.UNDECIDED, f"it rests on {rests_on.label}, which was not proved again")
    return checked(Verdict.PROVED, f"{counted(values['bytes'], 'byte')}, every window of them held")


_Found = dict[int, Verdict]
"""Of each context whether every run holds it, none does, or neither is proved."""


def _of_contexts(
    forward: RunForward, task: PlainTask, named: Sequence[int], tolerance: arb, progress: Progress
) -> _Found:
    """What the outputs of every run say about contexts."""
    found: _Found = {}
    targets = Targets(task)
    for start in range(0, len(named), _TOGETHER):
        progress("every run", start / len(named), f"context {start} of {len(named)}")
        some = named[start : start + _TOGETHER]
        outputs = forward.run([task.contexts[i] for i in some])
        members: dict[int, list[int]] = {}
        for i, place in zip(some, outputs.places, strict=True):
            members.setdefault(place, []).append(i)
        for place, examples in members.items():
            answers = targets.answers(examples, _balls(outputs.rows, place), arb(0), {})
            for i, answer in zip(examples, answers, strict=True):
                held = answer.held(task.target, tolerance)
                held = held or (task.target == "labels" and outputs.leads(place, task.labels[i]))
                lost = answer.margin is not None and answer.margin <= 0
                found[i] = Verdict.PROVED if held else Verdict.REFUTED if lost else Verdict.UNDECIDED
    return found


def _of_prompts(
    forward: RunForward, task: PlainPromptTask, named: Sequence[int], tolerance: arb, progress: Progress
) -> _Found:
    """What they say about answers of several tokens, each of which has to be said."""
    found: dict[int, list[Verdict]] = {fact: [] for fact in named}
    for part, of in task.asked(list(named)):
        verdicts = _of_contexts(forward, part, range(len(of)), tolerance, progress)
        for place, fact in enumerate(of):
            found[fact].append(verdicts[place])
    return {fact: Verdict.all_of(verdicts) for fact, verdicts in found.items()}


def _balls(rows: RunRows, row: int) -> list[arb]:
    """Balls that hold the outputs of every run."""
    return [
        arb((n, -rows.scale)) + arb(0, arb((radius, -UNIT)))
        for n, radius in zip(rows.values[row], rows.radii[row], strict=True)
    ]


def _inputs(rule: PlainRule, model: PlainModel) -> PlainTask:
    """All inputs of a domain, the last position fastest, with what the rule says."""
    found: list[tuple[tuple[int, ...], int]] = [((), 0)]
    for tokens, steps in zip(rule.tokens, rule.steps, strict=True):
        found = [
            ((*context, token), steps[state][place]) for context, state in found for place, token in enumerate(tokens)
        ]
    contexts, labels = [context for context, _ in found], [rule.answers[state] for _, state in found]
    counts = [{label: 1} for label in labels]
    return PlainTask("labels", "own", model.d_vocab_out, contexts, [], counts, [], labels, None, "")
