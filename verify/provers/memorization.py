"""Certify what a model does with a task, and prove it again.

Page: docs/rigour/certificate.md
"""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from constructions.errors import InputError
from constructions.formats.tensor_file import tensor_bytes
from constructions.memory_budget import require_memory
from constructions.model.construction import require_fit
from constructions.model.model import Model
from constructions.progress import Progress, silent
from constructions.tasks.any_task import AnyTask
from constructions.tasks.criterion import Criterion
from constructions.tasks.vectors import load_task
from verify.arithmetic import blas
from verify.arithmetic.exact_json import Number
from verify.certificates.certificate import (
    VERSION,
    WITNESS_FORMAT,
    Certificate,
    CheckReport,
    Statement,
    StatementCheck,
    Subject,
    Witness,
)
from verify.certificates.headline import Outcome, outcome
from verify.certificates.loading import load_certified
from verify.certificates.provenance import provenance
from verify.provers.answer_bounds import Answers, ArgmaxProof, Decided, judge_answers
from verify.provers.answers import figures
from verify.provers.answers import prove as prove_answers
from verify.provers.divergence import prove_divergence
from verify.provers.domain import load_fold, load_rule, require_counted, sampled_seed
from verify.provers.evaluation import OnContexts, OnDomain, OnFold, attended, features, has_features, is_one_attention
from verify.provers.feature_rank import prove_feature_rank
from verify.provers.kinds import find_prover, read_kinds
from verify.provers.proved import Proved
from verify.provers.rank_heads import prove_rank
from verify.provers.saturation import prove_saturation
from verify.provers.text_divergence import of_all_contexts
from verify.provers.text_divergence import prove as prove_text_divergence
from verify.verdict import Verdict

_SLACK = 2.0**-14  # relative; what a stored bound gives away so that another BLAS proves it too: nobody sees it
_TINY = 2.0**-30  # losses below it come from radii of enclosures, which depend on the machine
_TINY_SLACK = 2.0**-2
_LARGEST = 2.0**1000  # what is larger is no bound worth storing


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
        criterion: What is asked; by default that every context is memorized.
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
    asked = criterion or Criterion()
    answers = judge_answers(model, task, asked, keep_outputs=keep_outputs, progress=progress or silent)
    values = figures(task, asked, answers)
    return Judged(outcome(values, asked, target=task.target, origin=task.origin), values, answers)


def certify_memorization(
    model: Model,
    task: AnyTask,
    criterion: Criterion | None = None,
    *,
    rank: bool = False,
    rank_of_heads: bool = False,
    rank_with_skip: bool = False,
    divergence: bool = False,
    saturation: Fraction | float | None = None,
    witness: bool = True,
    keep_outputs: bool = False,
    beyond: ArgmaxProof | None = None,
    decided: Decided | None = None,
    progress: Progress | None = None,
) -> Proved[Answers]:
    r"""Prove what the model with these very float64 weights does, in real arithmetic, with the contexts of the task.

    The certificate answers the question of the criterion: how many contexts are memorized and how many are not, with
    bounds of the margins and losses. For a text with contexts beside the memorized ones it also bounds the mean
    divergence over all of them. Only what is asked for is stated beside that: the rank of the features, the divergence
    from both sides, the saturation of the heads; and only what is proved is stated.

    Every number comes from an enclosure. For distributions the divergence is bounded by
    $\frac18 \mathrm{range}(z_t - \log \pi_t)^2$ where that is small, and enclosed elsewhere; for labels it is
    $\log(1 + \sum_{j \ne l} e^{z_j - z_l})$. A bound is stored with a slack that nobody sees ($2^{-14}$ of itself; a
    quarter where it is a loss below $10^{-9}$, which is the square of a radius; for a margin also the distance of its
    bounds), so that a proof on another machine, whose roundings differ, proves it too.

    Args:
        model: The weights: any model of blocks.
        task: The contexts and their targets.
        criterion: What is asked; by default that every context is memorized.
        rank: State that the features of the contexts are linearly independent, if they are proved to be; for a model of
            one attention.
        rank_of_heads: State between which bounds the rank of what the heads alone read from the contexts lies, for
            these weights and for all of these sizes; for a model of one attention.
        rank_with_skip: The same of the matrix that has the embedded last token beside it; for contexts of tokens.
        divergence: State between which ends the largest and the mean divergence of the prediction from the distribution
            lie; for distributions.
        saturation: State how many pairs of a head and a context have an attention weight above 1 minus this.
        witness: Keep what lets the independent reader prove the rank with integers; 4 to 8 T^2 bytes.
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
    asked = criterion or Criterion()
    limit = None if saturation is None else Fraction(saturation)
    if limit is not None and (model.reads_tokens or not 0 < limit < 1):
        raise InputError("saturation", f"= {saturation}", "a number in (0, 1), for a task of vectors")
    ranked = rank or rank_of_heads or rank_with_skip
    listing, facts = task.listing, task.facts
    if ranked and listing is None:
        raise InputError("rank", "is that of contexts of one length")
    if rank_with_skip and not model.reads_tokens:
        raise InputError(
            "rank_with_skip", "is asked of a task of vectors, whose model has no skip connection", "tokens"
        )
    if divergence and task.target != "distributions":
        raise InputError("divergence", f"is asked of a task of {task.target}", "a task of distributions")
    if (rank or limit is not None) and not is_one_attention(model):
        raise InputError("rank and saturation", "are those of a model of one attention, this one has other blocks")
    if ranked and not has_features(model):
        raise InputError("rank", "is that of a model of one attention, this one has other blocks")
    require_memory(
        _estimated_bytes(model, task, ranked=ranked), purpose=f"a certificate for {task.n_contexts} contexts"
    )
    blas.probe()
    show = progress or silent
    heads = attended(model, task, show) if ranked or limit is not None else None
    read = heads.mixed if heads is not None else features(model, task, show) if ranked else None
    answers = judge_answers(
        model, task, asked, keep_outputs=keep_outputs, two_sided=divergence, beyond=beyond, decided=decided,
        progress=show,
    )  # fmt: skip
    statements: list[Statement | None] = [prove_answers(task, asked, answers)]
    empirical = None
    if facts is not None and answers.empirical is not None:
        empirical = of_all_contexts(model, facts, answers.empirical, progress=show)
        statements.append(prove_text_divergence(facts, empirical))
    arrays = None
    if rank and read is not None and listing is not None:
        found, arrays = prove_feature_rank(model, listing, read, witness=witness, progress=show)
        statements.append(found)
    if limit is not None and heads is not None:
        statements.append(prove_saturation(heads, limit))
    if read is not None and listing is not None:
        for with_skip, wanted in ((False, rank_of_heads), (True, rank_with_skip)):
            if wanted:
                statements.append(prove_rank(model, listing, read, with_skip=with_skip, progress=show))
    if divergence and facts is not None:
        statements.append(prove_divergence(facts, answers))
    data = None if arrays is None else tensor_bytes(arrays, metadata={"format": WITNESS_FORMAT, "version": VERSION})
    certificate = Certificate(
        subject=subject_of(model, task),
        criterion=asked,
        statements=tuple(each for each in statements if each is not None),
        provenance=provenance() | {"decided by": answers.decided_by()},
        witness=None if data is None else Witness.of(data),
    )
    return Proved(certificate, answers, data, empirical)


def check_memorization(
    folder: Path,
    criterion: Criterion | None = None,
    *,
    sample_seed: str | None = None,
    kinds: Path | None = None,
    beyond: ArgmaxProof | None = None,
    progress: Progress | None = None,
) -> CheckReport:
    """Answer the question of the certificate in `folder` again, or another, from the weights and the task alone.

    The hashes are compared first; then every statement is proved anew by the same methods that `certify_memorization`
    uses, and its stored bounds must follow. Nothing that is stored is used in a proof. Somebody who changes the files
    and all hashes with them is left with a true certificate about other files, or with one that fails here.

    Args:
        folder: A folder with ``certificate.json``, ``model.safetensors`` and ``task.safetensors``.
        criterion: What is asked; by default what the certificate asks.
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
    seed, asked = sampled_seed(certificate, sample_seed), criterion or certificate.criterion
    about = {"certificate": certificate, "asked": asked, "progress": progress or silent}
    if certificate.subject.is_of_a_rule:
        require_counted(asked)
    evaluation: OnContexts | OnDomain | OnFold
    if certificate.subject.is_of_a_fold:
        model, fold = load_fold(folder, certificate)
        evaluation = OnFold(model=model, task=fold, **about)
    elif certificate.subject.is_of_a_rule:
        model, rule = load_rule(folder, certificate)
        evaluation = OnDomain(model=model, task=rule, seed=seed, **about)
    else:
        model, task = load_subject(folder, certificate)
        ranked, both_sides = (
            any(getattr(prover, name, False) for prover in provers) for name in ("NEEDS_FEATURES", "NEEDS_LOWER_LOSSES")
        )
        require_memory(_estimated_bytes(model, task, ranked=ranked), purpose=f"checking {task.n_contexts} contexts")
        evaluation = OnContexts(model=model, task=task, lower_losses=both_sides, beyond=beyond, **about)
    blas.probe()
    for statement, prover in zip(certificate.statements, provers, strict=True):
        if prover is None:
            unknown = f"there is no prover of statements {statement.id!r}"
            evaluation.checks[statement.label] = StatementCheck(statement.label, Verdict.UNDECIDED, unknown, {})
        else:
            evaluation.checks[statement.label] = prover.check(statement, evaluation)
    return CheckReport(certificate, asked, tuple(evaluation.checks.values()), evaluation.path, evaluation.asides)


def subject_of(model: Model, task: AnyTask) -> Subject:
    """Return what a certificate about this model and this task is about."""
    sizes = {
        "contexts": task.n_contexts,
        "context_length": task.n_ctx,
        "outputs": model.d_vocab_out,
        "all_contexts": task.n_all,
        "parameters": model.parameters,
    }
    return Subject(model.sha256(), task.sha256(), task.target, task.origin, sizes)


def load_subject(folder: Path, certificate: Certificate) -> tuple[Model, AnyTask]:
    """Return the model and the task in `folder`, if they are those that the certificate is about.

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


def _estimated_bytes(model: Model, task: AnyTask, *, ranked: bool) -> int:
    """Estimated peak: copies of the features, five square matrices, and what is done in chunks."""
    size = task.n_contexts
    if not has_features(model) or (model.reads_tokens and not ranked):
        return 8 * (6 * model.parameters + 2**25) + 2**28
    if not model.reads_tokens:
        columns = model.n_heads * model.d_model
        return 8 * (6 * size * columns + 5 * size**2 + 8 * model.d_vocab_out * (columns + size)) + 2**28
    return 8 * (3 * size * model.n_heads * model.d_head + 5 * size**2) + 2**28
