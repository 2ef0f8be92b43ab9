"""Write weights for another program, load them there, and compare what it computes with what is proved of them.

Page: docs/hosts.md
"""

import importlib
import importlib.util
import json
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from byheart.hosts.conversion import rounded_model, scales_exactly
from byheart.hosts.fold_export import export_fold
from byheart.hosts.host import Host
from byheart.hosts.number_types import NARROWEST, require_dtype
from byheart.hosts.parity import Parity, parity
from byheart.hosts.tokenizer import tokenizer_config, tokenizer_json
from byheart.report.model_card import CARD_FILE, model_card
from constructions.errors import InputError, LossError, require_one_of
from constructions.files import canonical_json, new_folder, refuse_existing, write_atomically
from constructions.models.blocks import Attention
from constructions.models.construction import require_fit
from constructions.models.exact_network import rounded
from constructions.models.model import Model
from constructions.models.precision import STORED, stored_bits
from constructions.tasks.any_task import AnyTask, ListedTask
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Task
from constructions.tasks.vocabulary import names_answers, typed
from verify.certificates.certificate import RUNS, TASK_FILE, Certificate, file_sha256
from verify.certificates.headline import Outcome, outcome
from verify.progress import Progress, silent
from verify.provers.domain import load_fold
from verify.provers.memorization import Judged, judge, load_subject
from verify.verdict import Verdict

PARITY_FILE = "parity.json"
TOKENIZER_FILE, TOKENIZER_CONFIG_FILE = "tokenizer.json", "tokenizer_config.json"
ANSWERS_FILE = "answers.json"
"""The text of each column of the readout, of the facts of a table."""

_ROOM = {
    "transformer-lens": "transformer_lens",
    "transformer-bridge": "transformer_bridge",
    "attention-layer": "attention_layer",
    "huggingface": "huggingface",
    "gpt2": "gpt2",
    "onnx": "onnx_graph",
    "safetensors": "safetensors_file",
}
HOSTS = tuple(_ROOM)
"""What weights are written for."""


def host_named(name: str) -> Host:
    """The host of this name.

    Raises:
        InputError: There is none.
    """
    require_one_of(_ROOM, to=name)
    return importlib.import_module(f"byheart.hosts.exported.{_ROOM[name]}").HOST


def export(
    source: Path | str | Model,
    *,
    to: str,
    out: Path | str,
    dtype: str | None = None,
    task: AnyTask | None = None,
    criterion: Criterion | None = None,
    allow_loss: bool = False,
    overwrite: bool = False,
    progress: Progress = silent,
) -> dict[str, Any]:
    r"""Write weights for another program, load them there, and compare what it computes with the exact logits.

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
        task: The contexts to compare on, beside a model; a folder has its own.
        criterion: What has to be so of what is written; by default what the certificate of the folder asks, and of a
            model nothing.
        allow_loss: Write it also where it is not so any more.
        overwrite: Replace a folder that byheart wrote.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The content of ``parity.json``: ``headline`` and ``verdict``, ``criterion`` (what was asked), ``facts``,
        ``proved`` (of how many the written weights are proved to hold them, and of how many not to),
        ``mean_loss_upper`` (what their mean loss is at most, if that is proved), and for each run in the host the
        fields of `byheart.hosts.parity.Parity`.

    Raises:
        InputError: An unknown host or type, a host that is not installed, or a model that it cannot hold.
        FileFormatError: A file of the folder is missing or is not what it should be.
        TamperedError: The files are not those that the certificate names.
        ResourceError: The padding that the host needs would be too large.
        LossError: What is written, or what the host computes of it, does not hold what was asked.

    Example:
        >>> import tempfile
        >>> from byheart.job import hold
        >>> from constructions.tasks.table import table_task
        >>> task = table_task("Paris,is,in,France\nRome,is,in,Italy\n", target="labels")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made = hold(task).save(Path(folder) / "facts")
        ...     report = export(Path(folder) / "facts", to="safetensors", dtype="float32", out=Path(folder) / "out")
        >>> report["headline"][:31]
        'HELD, PROVED: 2 of 2 contexts; '
    """
    host = host_named(to)
    of_a_fold = None if isinstance(source, Model) or task is not None else _of_a_fold(Path(source))
    if dtype is None:
        dtype = "float64" if isinstance(source, Model) or task is not None else own_dtype(Path(source))
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
            parity_file=PARITY_FILE, overwrite=overwrite, progress=progress,
        )  # fmt: skip
    versions = host.versions()
    model, listed, promised = _subject(source, task, criterion)
    asked = promised or Criterion()
    if not model.plain and to != "safetensors":
        raise InputError(to, "is not written with rotary positions, gates, caps and what else other hosts do beside")
    progress("weights", None, "")
    narrow = rounded_model(model, dtype)
    if host.other is not None:
        host = host.other(narrow, listed, dtype) or host
    whole, facts = (narrow, listed) if host.in_one_vocabulary is None else host.in_one_vocabulary(narrow, listed)
    converted = host.convert(whole)
    written = rounded_model(converted, dtype)
    exact = whole is narrow and _scales_exactly(narrow, converted) and written.sha256() == converted.sha256()
    # Where nothing is rounded both are one function, and one may be sharper.
    judged = judge(narrow if exact else written, listed if exact else facts, asked, progress=progress)
    refuse = promised is not None and not allow_loss
    _require_no_loss(judged.outcome.adding(f"as written for {to} in {dtype}"), refuse=refuse)
    with new_folder(out, overwrite=overwrite) as folder:
        host.write(written, folder, dtype)
        texts = None if listed.facts is None else _write_tokenizer(folder, listed.facts, host)
        facts.save(folder / TASK_FILE)
        names = sorted(path.name for path in folder.iterdir())
        progress("host", None, f"{to} {versions[host.packages[0]]}")
        runs = host.run(folder, listed, dtype)
        progress("parity", None, "")
        found = parity(
            model,
            listed,
            runs,
            dtype="float64" if dtype == NARROWEST else dtype,
            exact=exact,
            tolerance=asked.tolerance,
        )
        shown = _outcome(judged, listed, asked, f"{to} in {dtype}", found)
        _require_no_loss(shown, refuse=refuse)
        mean = judged.values.get("mean_upper")
        report = {
            "headline": str(shown),
            "verdict": shown.verdict.value,
            "host": to,
            "versions": versions,
            "dtype": dtype,
            "model": model.sha256(),
            "task": listed.sha256(),
            "parameters": written.parameters,
            "stored_bits": stored_bits(written) if dtype == NARROWEST else STORED[dtype] * written.parameters,
            "information_bits": listed.information_bits,
            "facts": listed.n_contexts,
            "exact_conversion": exact,
            "criterion": asked.data(),
            "proved": {name: judged.values[name] for name in ("held", "wrong")},
            "mean_loss_upper": None if mean is None else float(mean),
            "typed": texts,
            "agrees": None if None in (kinds := [each.agrees for each in found.values()]) else all(kinds),
            "runs": {name: each.summary() for name, each in found.items()},
        }
        usage = host.usage if model.reads_tokens else host.usage_of_vectors
        right = judged.answers.margin_lower > 0
        card = model_card(report, listed, usage, asked=asked, right=right)
        write_atomically(folder / CARD_FILE, card.encode())
        report["files"] = {name: file_sha256(folder / name) for name in sorted([*names, CARD_FILE])}
        write_atomically(folder / PARITY_FILE, (canonical_json(report) + "\n").encode())
    return report


def own_dtype(source: Path | Model) -> str:
    """The type that a memory was made for: that of the runs its folder states; else the coarser that holds its weights.

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
        stated = [each.named["format"] for each in certificate.statements if each.id == RUNS]
        if stated:
            return stated[-1]
        load = load_fold if certificate.subject.is_of_a_fold else load_subject
        source, *_ = load(Path(source), certificate)
    exact = rounded(source) if source.is_rational else source
    single = (bool((tensor == tensor.astype(np.float32)).all()) for tensor in exact.tensors().values())
    return "float32" if all(single) else "float64"


def _of_a_fold(folder: Path) -> Certificate | None:
    """The certificate of a folder whose answers are said token by token; none of another folder."""
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


def _write_tokenizer(folder: Path, task: Task, host: Host) -> int | None:
    """Write the tokenizer; how many memorized contexts can be typed and are read back, if `tokenizers` is installed."""
    for name, content in ((TOKENIZER_FILE, tokenizer_json(task)), (TOKENIZER_CONFIG_FILE, tokenizer_config(task))):
        write_atomically(folder / name, (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode())
    if names_answers(task):
        write_atomically(folder / ANSWERS_FILE, (json.dumps(task.answers, ensure_ascii=False) + "\n").encode())
    if host.number_tokens is not None:
        host.number_tokens(folder, task)
    if importlib.util.find_spec("tokenizers") is None:
        return None
    from tokenizers import Tokenizer  # pyright: ignore[reportMissingImports]

    reader = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    texts = [(typed(task, place), task.contexts[place].tolist()) for place in range(task.n_contexts)]
    return sum(text is not None and reader.encode(text).ids == tokens for text, tokens in texts)


def _outcome(judged: Judged, task: ListedTask, asked: Criterion, where: str, found: dict[str, Parity]) -> Outcome:
    """What came of it: what is proved of what is written, unless a host computes something that holds less."""
    shown = judged.outcome
    for each in found.values():
        values = {name: value for name, value in judged.values.items() if "guess" in name}
        values |= {"contexts": task.n_contexts, "held": each.held, "wrong": task.n_contexts - each.held}
        if math.isfinite(each.mean_loss):
            values |= {"mean_upper": each.mean_loss, "mean_lower": each.mean_loss}
        measured = outcome(values, asked, target=task.target, origin=task.origin, by="MEASURED")
        if shown.verdict is Verdict.PROVED and measured.verdict is not Verdict.PROVED:
            shown = measured
    runs = (
        f"{name}: {_measured(each, task, asked)} measured, largest difference {_shown(each.largest_difference)}"
        for name, each in found.items()
    )
    shown = shown.adding(f"as written for {where}", *runs)
    if any(each.agrees is False for each in found.values()):
        return replace(shown, verdict=Verdict.REFUTED, word="OUTSIDE OF WHAT ROUNDING EXPLAINS")
    return shown


def _measured(run: Parity, task: ListedTask, asked: Criterion) -> str:
    """What was measured of what is asked: where that is a mean, no single context has to be held."""
    if asked.asked != "at-most":
        return f"{run.held} of {task.n_contexts}"
    return (
        f"mean distance {_shown(run.mean_loss)}" if task.target == "values" else f"mean KL {_shown(run.mean_loss)} nats"
    )


def _require_no_loss(found: Outcome, *, refuse: bool) -> None:
    if refuse and found.verdict is not Verdict.PROVED:
        said = f"{found}; nothing was written, allow_loss=True (--allow-loss) writes it all the same"
        raise LossError(said, proved=found.verdict is Verdict.REFUTED)


def _shown(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "not finite"
