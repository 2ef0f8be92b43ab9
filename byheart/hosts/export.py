"""Write weights for another library, load them there, and compare its results with the proved ones.

Page: docs/hosts.md
"""

import importlib.util
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from byheart.hosts.conversion import rounded_model, scales_exactly
from byheart.hosts.exported_folder import Exported, Measured
from byheart.hosts.fold_export import export_fold
from byheart.hosts.host import host_named
from byheart.hosts.number_types import NARROWEST, require_dtype
from byheart.hosts.parity import drawn, parity
from byheart.hosts.tokenizer import TOKENIZER_FILE
from constructions.counted import counted
from constructions.errors import InputError, LossError
from constructions.formats.files import new_folder, refuse_existing
from constructions.model.blocks import Attention
from constructions.model.construction import require_fit
from constructions.model.exact_network import rounded
from constructions.model.model import Model
from constructions.progress import Progress, silent
from constructions.tasks.any_task import AnyTask, ListedTask
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Task
from constructions.tasks.vocabulary import typed
from verify.certificates.certificate import KERNEL, RUNS, Certificate
from verify.certificates.headline import Outcome
from verify.provers.domain import load_fold
from verify.provers.memorization import certify_memorization, load_subject
from verify.provers.runs import prove_runs
from verify.provers.text import state_text
from verify.verdict import Verdict


def export(
    source: Path | str | Model,
    *,
    to: str,
    out: Path | str,
    dtype: str | None = None,
    task: AnyTask | None = None,
    criterion: Criterion | None = None,
    allow_loss: bool = False,
    all_contexts: bool = False,
    overwrite: bool = False,
    progress: Progress = silent,
) -> dict[str, Any]:
    r"""Write weights for another library, load them there, and compare its results with the exact logits.

    The weights are rounded to the type once, then brought into the shape that the host has, by zeros, transposes and
    powers of two (`byheart/hosts/conversion.py`); so what is proved of the rounded weights holds for what is written.
    The largest difference is between what the host computes and the exact logits of the original float64 weights. What
    is written is judged by the criterion, exactly as by `certify`, and so is what the host computes of it.

    Args:
        source: A folder that byheart wrote, or a model.
        to: The host, one of `HOSTS`.
        out: The folder to write.
        dtype: ``"float64"``, ``"float32"``, ``"bfloat16"`` or ``"float16"``; for ``"safetensors"`` also
            ``"narrowest"``, each tensor in the type of fewest bits that holds it exactly, integers among them. By
            default that of a folder's weights and runs (`own_dtype`), and of a model ``"float64"``.
        task: The contexts to compare on, next to a model; a folder has its own.
        criterion: What has to be so of what is written; by default what the certificate of the folder asks, and of a
            model nothing.
        allow_loss: Write it also where it is not so any more.
        all_contexts: Run the host on every context, also where that takes long (`byheart.hosts.parity.drawn`).
        overwrite: Replace a folder that byheart wrote.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The content of ``parity.json``: ``headline`` and ``verdict``, ``criterion`` (what was asked), ``facts``,
        ``proved`` (of how many the written weights are proved to hold them, and of how many not to),
        ``mean_loss_upper`` (what their mean loss is at most, if that is proved), and ``measured``, with the fields of
        `byheart.hosts.parity.Parity` for each of the ``runs`` in the host.

    Raises:
        InputError: An unknown host or type, a host that is not installed, or a model that it cannot hold.
        FileFormatError: A file of the folder is missing or is not what it should be.
        TamperedError: The files are not those that the certificate names.
        ResourceError: The padding that the host needs would be too large.
        LossError: What is written, or what the host computes of it, does not hold what was asked.

    Example:
        >>> import tempfile
        >>> from byheart.jobs.memorize import hold
        >>> from constructions.tasks.table import table_task
        >>> task = table_task("Paris,is,in,France\nRome,is,in,Italy\n", target="labels")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made = hold(task).save(Path(folder) / "facts")
        ...     report = export(Path(folder) / "facts", to="safetensors", dtype="float32", out=Path(folder) / "out")
        >>> report["headline"][:33]
        'MEMORIZED, PROVED: 2 of 2 facts, '
    """
    host = host_named(to)
    of_a_fold = None if isinstance(source, Model) or task is not None else _of_a_fold(Path(source))
    if dtype is None:
        dtype = _own_dtype(source, task)
    if dtype != NARROWEST:
        require_dtype(dtype)
    if dtype not in host.dtypes:
        raise InputError("dtype", f"= {dtype!r}", f"one of {', '.join(host.dtypes)}, in which {to} computes")
    out = Path(out)
    if not isinstance(source, Model) and os.path.realpath(out) == os.path.realpath(source):
        raise InputError(f"out: {out}", "is the folder that is exported, whose certificate would be lost", "another")
    refuse_existing(out, overwrite=overwrite)
    if of_a_fold is not None and not isinstance(source, Model):
        return export_fold(
            Path(source), of_a_fold, host, out=out, dtype=dtype, criterion=criterion, allow_loss=allow_loss,
            overwrite=overwrite, progress=progress,
        )  # fmt: skip
    versions = host.versions()
    model, listed, promised = _subject(source, task, criterion)
    question = promised or Criterion()
    runs_in = _own_dtype(source, task) if dtype == NARROWEST else dtype
    if not model.plain and to != "safetensors":
        raise InputError(to, "cannot be written with rotary positions, gates, caps or other extensions of other hosts")
    progress("weights", None, "")
    narrow = rounded_model(model, dtype)
    if host.other is not None:
        host = host.other(narrow, listed, dtype) or host
    whole, facts = (narrow, listed) if host.in_one_vocabulary is None else host.in_one_vocabulary(narrow, listed)
    converted = host.convert(whole)
    written = rounded_model(converted, dtype)
    exact = whole is narrow and _scales_exactly(narrow, converted) and written.sha256() == converted.sha256()
    certificate = certify_memorization(written, facts, question, progress=progress).certificate
    certificate = _with_runs(certificate, written, facts, runs_in, progress)
    exported = Exported(to, host, dtype, certificate, written, facts, listed)
    refuse = promised is not None and not allow_loss
    _require_no_loss(exported.proved, refuse=refuse)
    with new_folder(out, overwrite=overwrite) as folder:
        exported.write_for_host(folder)
        sampled = _sampled(narrow, listed, question)
        progress("host", None, f"{to} {versions[host.packages[0]]}, {counted(sampled.n_contexts, 'context')}")
        begun = time.monotonic()
        runs = host.run(folder, sampled, dtype)
        if all_contexts and sampled is not listed:
            seconds = (time.monotonic() - begun) * (listed.n_contexts / sampled.n_contexts)
            progress("host", None, f"{listed.n_contexts} contexts, about {seconds / 60.0:.0f} minutes")
            sampled, runs = listed, host.run(folder, listed, dtype)
        progress("parity", None, "")
        parities = parity(
            model,
            sampled,
            runs,
            dtype="float64" if dtype == NARROWEST else dtype,
            exact=exact,
            tolerance=question.tolerance,
        )
        measured = Measured(
            versions=versions,
            original=model.sha256(),
            exact_conversion=exact,
            typed=None if listed.facts is None else _typed_and_read_back(folder, listed.facts),
            runs=dict(sorted(parities.items())),
        )
        _require_no_loss(exported.outcome(measured), refuse=refuse)
        return exported.write_report(folder, measured)


def _with_runs(
    certificate: Certificate, model: Model, facts: ListedTask, dtype: str, progress: Progress
) -> Certificate:
    """Return the certificate extended by the answers of every run, where the kernel can check them."""
    if facts.facts is None:
        return certificate
    runs = prove_runs(model, facts.facts, dtype, tolerance=certificate.criterion.tolerance, progress=progress)
    if runs is not None:
        stating = certificate.stating(runs)
        certificate = stating if stating.checker(runs) == KERNEL else certificate
    return certificate.stating(state_text(facts.facts, certificate.statements))


def _own_dtype(source: Path | str | Model, task: AnyTask | None) -> str:
    return "float64" if isinstance(source, Model) or task is not None else own_dtype(Path(source))


def own_dtype(source: Path | Model) -> str:
    """Return the type that a memory was built for: that of the stated runs, or else the coarsest that represents its
    weights.

    Args:
        source: A folder that byheart wrote, or a model.

    Returns:
        One of `number_types.DTYPES`; of a model ``"float32"`` or ``"float64"``.

    Raises:
        FileFormatError: A file of the folder is missing or is not what it should be.

    Example:
        >>> one = np.ones((1, 1))
        >>> [own_dtype(Model(blocks=(), W_U=each, W_E=one, W_pos=one)) for each in (one, one / 3)]
        ['float32', 'float64']
    """
    if not isinstance(source, Model):
        certificate = Certificate.load(source)
        stated = [statement.named["format"] for statement in certificate.statements if statement.id == RUNS]
        if stated:
            return stated[-1]
        load = load_fold if certificate.subject.is_of_a_fold else load_subject
        source, *_ = load(Path(source), certificate)
    exact = rounded(source) if source.is_rational else source
    single = (bool((tensor == tensor.astype(np.float32)).all()) for tensor in exact.tensors().values())
    return "float32" if all(single) else "float64"


def _of_a_fold(folder: Path) -> Certificate | None:
    """Return the certificate of a folder with answers of several tokens; None for another folder."""
    certificate = Certificate.load(folder)
    return certificate if certificate.subject.is_of_a_fold else None


def _subject(
    source: Path | str | Model, task: AnyTask | None, criterion: Criterion | None
) -> tuple[Model, ListedTask, Criterion | None]:
    if isinstance(source, Model):
        if task is None:
            raise InputError("task", "is missing", "the contexts to compare on beside a model")
        require_fit(source, task)
        if task.listing is None:
            raise InputError("task", "has prompts of several lengths", "contexts of one length")
        return (rounded(source) if source.is_rational else source), task.listing, criterion
    if task is not None:
        raise InputError("task", f"is given, but the folder {source} has its own")
    folder = Path(source)
    certificate = Certificate.load(folder)
    model, listed = load_subject(folder, certificate)
    if listed.listing is None:
        raise InputError(folder, "holds prompts of several lengths", "the host's own files, which need no export")
    return model, listed.listing, criterion or certificate.criterion


def _scales_exactly(before: Model, after: Model) -> bool:
    roots = {block.score_root for block in after.blocks if isinstance(block, Attention)}
    old = {block.score_root for block in before.blocks if isinstance(block, Attention)}
    return all(scales_exactly(before, root) for root in roots) if roots != old or len(old) > 1 else True


def _sampled(model: Model, task: ListedTask, asked: Criterion) -> ListedTask:
    """Return the contexts to run on the host: all if the question is about all of them together."""
    return drawn(model, task.facts) if task.facts is not None and asked.asked == "memorized" else task


def _typed_and_read_back(folder: Path, task: Task) -> int | None:
    """Return how many memorized contexts can be typed and are read back, if `tokenizers` is installed."""
    if importlib.util.find_spec("tokenizers") is None:
        return None
    from tokenizers import Tokenizer  # pyright: ignore[reportMissingImports]

    reader = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    texts = [(typed(task, place), task.contexts[place].tolist()) for place in range(task.n_contexts)]
    return sum(text is not None and reader.encode(text).ids == tokens for text, tokens in texts)


def _require_no_loss(found: Outcome, *, refuse: bool) -> None:
    if refuse and found.verdict is not Verdict.PROVED:
        message = f"{found}; nothing was written, allow_loss=True (--allow-loss) writes it all the same"
        raise LossError(message, proved=found.verdict is Verdict.REFUTED)
