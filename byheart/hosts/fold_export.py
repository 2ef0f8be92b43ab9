"""Export weights that follow a rule with a state to `transformers`, and run `generate` there.

Page: docs/folds.md
"""

import importlib
import math
from pathlib import Path
from typing import Any

import numpy as np

from byheart.hosts.conversion import rounded_model
from byheart.hosts.exported_fold import HOST, ExportedFold, MeasuredDecoding, WrongSaid, choices_of
from byheart.hosts.host import Host, quiet_loading
from constructions.errors import InputError, LossError
from constructions.folds.fold import Fold
from constructions.formats.files import new_folder
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.progress import Progress
from constructions.tasks.criterion import Criterion
from verify.arithmetic.rounding import up
from verify.certificates.certificate import Certificate
from verify.certificates.headline import Outcome
from verify.forward.rows.row_balls import logit_balls
from verify.provers.domain import certify_fold, load_fold
from verify.runs.formats import JUDGED
from verify.verdict import Verdict

_GENERATED = 64  # inputs, drawn


def export_fold(
    folder: Path,
    certificate: Certificate,
    host: Host,
    *,
    out: Path,
    dtype: str,
    criterion: Criterion | None,
    allow_loss: bool,
    overwrite: bool,
    progress: Progress,
) -> dict[str, Any]:
    """Write the weights of a rule with a state, load them in the host, and compare the results of `generate` with the
    rule.

    What is written is proved again, of all inputs, as by `certify`; in float32 and float64 also in every run.

    Args:
        folder: The folder of the weights and the rule.
        certificate: Its certificate.
        host: The host that they are written for.
        out: The folder to write.
        dtype: The type that the weights are rounded to, in which the host runs them.
        criterion: The criterion that the written model has to meet; by default the certificate's.
        allow_loss: Write it also where it is not so.
        overwrite: Replace a folder that byheart wrote.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The content of ``parity.json``: ``headline`` and ``verdict``, ``criterion`` (what was asked), ``rule`` and
        ``layout``, ``proved`` (of how many inputs the written weights are proved to be ``memorized``, and ``wrong``),
        ``every_run`` (the type in every run of which all inputs are proved to be right, if they are), and ``measured``
        (`MeasuredDecoding`).

    Raises:
        InputError: Another host than `HOST`, or a model that it cannot hold.
        LossError: What is written, or what the host says, does not hold what was asked.
    """
    if host.name != HOST:
        raise InputError(
            f"to = {host.name!r}", f"is given, but {folder} holds a rule whose answers are said token by token",
            f"{HOST!r}, whose `generate` says them; the weights alone are {folder / 'model.safetensors'}",
        )  # fmt: skip
    model, fold = load_fold(folder, certificate)
    if not model.plain:
        raise InputError(
            host.name,
            "cannot be written with rotary positions, gates, caps or other extensions of other hosts",
            "the host's own files, which need no export",
        )
    versions = host.versions()
    progress("weights", None, "")
    written = rounded_model(host.convert(rounded_model(model, dtype)), dtype)
    every_run = dtype if dtype in JUDGED else None
    proved = certify_fold(written, fold, criterion or certificate.criterion, every_run=every_run, progress=progress)
    exported = ExportedFold(host, dtype, proved.certificate, written, fold)
    _require_no_loss(exported.proved, allow_loss=allow_loss)
    with new_folder(out, overwrite=overwrite) as new:
        exported.write_for_host(new)
        progress("host", None, f"{host.name} {versions[host.packages[0]]}")
        drawn, wrong = fold.drawn(_GENERATED), proved.answers.wrong
        inputs_run = drawn if wrong is None else np.concatenate([drawn, choices_of(fold, wrong.prompt)])
        answers, off = _generated(new, model, fold, inputs_run, dtype)
        measured = MeasuredDecoding(
            versions=versions,
            original=model.sha256(),
            inputs=len(drawn),
            right=int((answers == fold.answers(inputs_run))[: len(drawn)].all(axis=1).sum()),
            largest_difference=off,
            wrong=None if wrong is None else WrongSaid(wrong.prompt, tuple(answers[-1].tolist())),
        )
        _require_no_loss(exported.outcome(measured), allow_loss=allow_loss)
        return exported.write_report(new, measured)


def _generated(folder: Path, model: Model, fold: Fold, asked: Int64Array, dtype: str) -> tuple[Int64Array, float]:
    """Return the tokens from `generate`, `[n, tokens of an answer]`, and the largest error of a logit."""
    import torch

    from verify.torch.module import full_precision

    library = importlib.import_module("transformers")
    with quiet_loading():
        host = library.AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True, local_files_only=True)
    host = host.eval().to(getattr(torch, dtype))
    prompts, answers = fold.prompts(asked), fold.answers(asked)
    contexts = np.concatenate([prompts, answers[:, :-1]], axis=1)
    with torch.inference_mode(), full_precision():
        tokens = host.generate(torch.tensor(prompts))[:, fold.length :].numpy()
        logits = host(torch.tensor(contexts)).logits[:, -1, : model.d_vocab_out].double().numpy()
    return tokens, _largest_difference(model, contexts, logits)


def _largest_difference(model: Model, contexts: Int64Array, logits: Float64Array) -> float:
    """Return an upper bound of how far logits are from the exact ones of the original weights."""
    largest = 0.0
    for start, middle, radius in logit_balls(model, contexts):
        off = up(np.abs(logits[start : start + len(middle)] - middle) + radius)
        largest = max(largest, float(off.max())) if np.isfinite(off).all() else math.inf
    return largest


def _require_no_loss(found: Outcome, *, allow_loss: bool) -> None:
    if not allow_loss and found.verdict is not Verdict.PROVED:
        message = f"{found}; nothing was written, allow_loss=True (--allow-loss) writes it all the same"
        raise LossError(message, proved=found.verdict is Verdict.REFUTED)
