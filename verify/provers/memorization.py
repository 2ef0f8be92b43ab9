"""Certify the answers of a model on a task, and prove them again.

Page: docs/rigour/certificate.md
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from constructions.errors import InputError
from constructions.memory_budget import require_memory
from constructions.model.blocks import Attention
from constructions.model.construction import require_fit
from constructions.model.model import Model
from constructions.progress import Progress, silent
from constructions.tasks.any_task import AnyTask
from constructions.tasks.criterion import Criterion
from constructions.tasks.vectors import load_task
from verify.arithmetic import blas
from verify.arithmetic.exact_json import Number
from verify.certificates.certificate import (
    DIVERGENCE,
    FEATURE_RANK,
    RANK_HEADS,
    RANK_WITH_SKIP,
    SATURATION,
    TEXT_DIVERGENCE,
    Certificate,
    CheckReport,
    StatementCheck,
    Subject,
)
from verify.certificates.headline import Outcome, outcome
from verify.certificates.loading import load_certified
from verify.certificates.provenance import provenance
from verify.provers.answer_bounds import Answers, ArgmaxProof, Decided, judge_answers
from verify.provers.answers import figures
from verify.provers.answers import prove as prove_answers
from verify.provers.evaluation import Evaluation, JudgedModel, OnContexts
from verify.provers.kinds import find_prover, prover_of, read_kinds
from verify.provers.proved import Proved
from verify.verdict import Verdict


@dataclass(frozen=True, eq=False)
class Judged:
    """The proved answers of a model to a task, with the certificate.

    Args:
        outcome: The answer to the question, with its first line.
        values: The numbers that it follows from, by the names of an ``answers`` statement.
        answers: The bounds of each context.
    """

    outcome: Outcome
    values: dict[str, Number]
    answers: Answers


def judge(
    model: Model,
    task: AnyTask,
    criterion: Criterion | None = None,
    *,
    keep_outputs: bool = False,
    progress: Progress | None = None,
) -> Judged:
    r"""Answer a question about a model and a task, without a certificate.

    Args:
        model: The weights.
        task: The contexts and their targets.
        criterion: The criterion to decide; by default that every context is memorized.
        keep_outputs: Return the enclosed outputs; 16 T N bytes.
        progress: Called with the stage and the finished share of it.

    Example:
        >>> import numpy as np
        >>> from constructions.tasks.table import table_task
        >>> swap = Model(blocks=(), W_U=np.eye(2)[::-1], W_E=np.eye(2), W_pos=np.zeros((1, 2)))
        >>> judge(swap, table_task("a,b\nb,a\n")).outcome.word
        'MEMORIZED, PROVED'
    """
    require_fit(model, task)
    question = criterion or Criterion()
    answers = judge_answers(model, task, question, keep_outputs=keep_outputs, progress=progress or silent)
    values = figures(task, question, answers)
    return Judged(outcome(values, question, target=task.target, origin=task.origin), values, answers)


def certify_memorization(
    model: Model,
    task: AnyTask,
    criterion: Criterion | None = None,
    *,
    rank: bool = False,
    rank_of_heads: bool = False,
    rank_with_skip: bool = False,
    divergence: bool = False,
    text_divergence: bool = False,
    saturation: Fraction | float | None = None,
    keep_outputs: bool = False,
    beyond: ArgmaxProof | None = None,
    decided: Decided | None = None,
    progress: Progress | None = None,
) -> Proved[Answers]:
    r"""Prove the answers of the model with these exact float64 weights on the contexts of the task, in real arithmetic.

    The certificate answers the question of the criterion: how many contexts are memorized and how many are not, with
    bounds of the margins and losses. Only what is asked for is stated beside that: the rank of the features, the
    divergence from both sides, the saturation of the heads; and only what is proved is stated.

    Every number comes from an enclosure. For distributions the divergence is bounded by
    $\frac18 \mathrm{range}(z_t - \log \pi_t)^2$ where that is small, and enclosed elsewhere; for labels it is
    $\log(1 + \sum_{j \ne l} e^{z_j - z_l})$. A bound is stored with a slack that nobody sees ($2^{-14}$ of itself; a
    quarter where it is a loss below $10^{-9}$, which is the square of a radius; for a margin also the distance of its
    bounds), so that a proof on another machine, whose roundings differ, proves it too; with less where the answer to
    the question would be lost by it.

    Args:
        model: The weights: any model of blocks.
        task: The contexts and their targets.
        criterion: The criterion to decide; by default that every context is memorized.
        rank: State that the features of the contexts are linearly independent, if they are proved to be; for a model of
            one attention.
        rank_of_heads: State between which bounds the rank of what the heads alone read from the contexts lies, for
            these weights and for all of these sizes; for a model of one attention.
        rank_with_skip: The same of the matrix that has the embedded last token beside it; for contexts of tokens.
        divergence: State between which ends the largest and the mean divergence of the prediction from the distribution
            lie; for distributions.
        text_divergence: State between which ends the mean divergence over all contexts of a text lies, memorized or
            not; nothing is stated where none was left out.
        saturation: State how many pairs of a head and a context have an attention weight above 1 minus this.
        keep_outputs: Return the enclosed outputs; 16 T N bytes.
        beyond: As for `verify.provers.answer_bounds.judge_answers`.
        decided: As for `verify.provers.answer_bounds.judge_answers`.
        progress: Called with the stage and the finished share of it.

    Returns:
        The certificate, with the bounds of each context.

    Raises:
        InputError: The model cannot read the contexts of the task, or has other outputs.
        ResourceError: There is too little memory.
        BlasError: The arithmetic of this machine does not keep what the proofs need.

    Example:
        >>> import numpy as np
        >>> from constructions.model.shapes import dana_network
        >>> from constructions.tasks.table import table_task
        >>> task = table_task("a,x\nb,y\n", target="labels")  # the tokens are a and b, the answers x and y
        >>> nothing = np.zeros((0, 2, 1))
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((1, 2)), W_Q=nothing, W_K=nothing, W_V=nothing,
        ...                        W_O=np.zeros((0, 1, 2)), W_U=np.eye(2))
        >>> certify_memorization(network, task).certificate.headline()[:17]
        'MEMORIZED, PROVED'
    """
    require_fit(model, task)
    question, show = criterion or Criterion(), progress or silent
    wanted = {
        TEXT_DIVERGENCE: text_divergence,
        FEATURE_RANK: rank,
        SATURATION: saturation is not None,
        RANK_HEADS: rank_of_heads,
        RANK_WITH_SKIP: rank_with_skip,
        DIVERGENCE: divergence,
    }
    provers = {id: prover_of(id) for id, is_wanted in wanted.items() if is_wanted}
    _require_memory(model, task, provers.values(), purpose=f"a certificate for {task.n_contexts} contexts")
    blas.probe()
    judged = JudgedModel(
        model=model, task=task, criterion=question, progress=show, lower_losses=divergence, keep_outputs=keep_outputs,
        beyond=beyond, decided=decided,
    )  # fmt: skip
    given = {SATURATION: {"delta": saturation}}
    more = [prover.state(judged, **given.get(id, {})) for id, prover in provers.items()]
    statements = [
        prove_answers(task, question, judged.answers),
        *(statement for statement in more if statement is not None),
    ]
    certificate = Certificate(
        subject=subject_of(model, task),
        criterion=question,
        statements=tuple(statements),
        provenance=provenance() | {"decided by": judged.answers.decided_by()},
    )
    return Proved(certificate, judged.answers)


def check_memorization(
    folder: Path,
    criterion: Criterion | None = None,
    *,
    sample_seed: str | None = None,
    kinds: Path | None = None,
    beyond: ArgmaxProof | None = None,
    progress: Progress | None = None,
) -> CheckReport:
    """Answer the question of the certificate in `folder`, or another one, using only the weights and the task.

    The hashes are compared first; then every statement is proved anew by the same methods that `certify_memorization`
    uses, and its stored bounds must follow. Nothing that is stored is used in a proof. Somebody who changes the files
    and all hashes with them is left with a true certificate about other files, or with one that fails here.

    Args:
        folder: A folder with ``certificate.json``, ``model.safetensors`` and ``task.safetensors``.
        criterion: The criterion to decide; by default the certificate's.
        sample_seed: Of a sample, a text of whoever checks, with which as many inputs are drawn anew; by default the
            certificate's own draw is repeated.
        kinds: A folder with more kinds of statement: in ``kernel/`` what each says, in ``provers/`` its prover.
        beyond: As for `verify.provers.answer_bounds.judge_answers`.
        progress: Called with the stage and the finished share of it.

    Returns:
        The answer, and the verdict on each statement: PROVED with the bounds as stored, REFUTED if the opposite was
        proved, or UNDECIDED.

    Raises:
        FileFormatError: A file is missing or is not what it should be, or is named by no certificate.
        TamperedError: A hash or a digest differs.
        ResourceError: There is too little memory.
        BlasError: The arithmetic of this machine does not keep what the proofs need.
    """
    folder = Path(folder)
    certificate = Certificate.load(folder, read_kinds(kinds))
    provers = [find_prover(statement.id, kinds) for statement in certificate.statements]
    question, show = criterion or certificate.criterion, progress or silent
    own = getattr(provers[0], "evaluation", None)  # of the prover of the statement that answers the question
    if own is not None:
        evaluation: Evaluation = own(folder, certificate, question, sample_seed=sample_seed, progress=show)
    else:
        if sample_seed is not None:
            raise InputError("sample_seed", f"is {sample_seed!r}, but the certificate is about no sample")
        model, task = load_subject(folder, certificate)
        _require_memory(model, task, provers, purpose=f"checking {task.n_contexts} contexts")
        evaluation = OnContexts(
            certificate=certificate,
            model=model,
            task=task,
            asked=question,
            criterion=question if question.asked == "at-most" else certificate.criterion,
            lower_losses=any(getattr(prover, "NEEDS_LOWER_LOSSES", False) for prover in provers),
            beyond=beyond,
            progress=show,
        )
    blas.probe()
    for statement, prover in zip(certificate.statements, provers, strict=True):
        if prover is None:
            unknown = f"there is no prover of statements {statement.id!r}"
            evaluation.checks[statement.label] = StatementCheck(statement.label, Verdict.UNDECIDED, unknown, {})
        else:
            evaluation.checks[statement.label] = prover.check(statement, evaluation)
    return CheckReport(certificate, question, tuple(evaluation.checks.values()), evaluation.path, evaluation.asides)


def subject_of(model: Model, task: AnyTask) -> Subject:
    """Return the subject of a certificate about this model and this task."""
    sizes = {
        "contexts": task.n_contexts,
        "context_length": task.n_ctx,
        "outputs": model.d_vocab_out,
        "all_contexts": task.n_all,
        "parameters": model.parameters,
    }
    return Subject(model.sha256(), task.sha256(), task.target, task.origin, sizes)


def load_subject(folder: Path, certificate: Certificate) -> tuple[Model, AnyTask]:
    """Load the model and the task in `folder`; refuse files other than those of the certificate.

    Raises:
        FileFormatError: A file is missing, is not what it should be, or asks for more memory than there is; or the two
            do not fit each other.
        TamperedError: A hash or a size differs.
        InputError: The certificate is about a rule on a whole domain, which has no list of contexts.
    """
    folder = Path(folder)
    if certificate.subject.is_of_a_rule:
        raise InputError(folder, "holds a rule on a whole domain", "a list of contexts; `check` proves it again")
    return load_certified(folder, certificate, read=load_task, subject_of=subject_of, kind="task")


def _require_memory(model: Model, task: AnyTask, provers: Iterable[Any], *, purpose: str) -> None:
    """Refuse what needs more memory than there is: the answers, or what one of the provers computes beside them."""
    needs = [prover.estimated_bytes(model, task) for prover in provers if hasattr(prover, "estimated_bytes")]
    require_memory(max([_bytes_of_answers(model, task), *needs]), purpose=purpose)


def _bytes_of_answers(model: Model, task: AnyTask) -> int:
    """Estimated peak: copies of the weights and what is done in chunks; of one attention on vectors its features,
    and five square matrices.
    """
    is_one_attention = len(model.blocks) == 1 and isinstance(model.blocks[0], Attention)
    if model.reads_tokens or not is_one_attention:
        return 8 * (6 * model.parameters + 2**25) + 2**28
    size, columns = task.n_contexts, model.n_heads * model.d_model
    return 8 * (6 * size * columns + 5 * size**2 + 8 * model.d_vocab_out * (columns + size)) + 2**28
