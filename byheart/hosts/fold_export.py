"""Write weights that follow a rule with a state for `transformers`, and let `generate` say answers there.

Page: docs/folds.md
"""

import importlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from byheart.hosts.conversion import rounded_model
from byheart.hosts.host import CONFIG_FILE, Host, quiet_loading
from byheart.report.fold_card import fold_card
from byheart.report.model_card import CARD_FILE
from constructions.arrays import Float64Array, Int64Array
from constructions.counted import counted
from constructions.errors import InputError, LossError
from constructions.files import canonical_json, new_folder, write_atomically
from constructions.folds.fold import Fold
from constructions.folds.typed import typed_choices
from constructions.models.entries import Entries
from constructions.models.model import Model
from constructions.models.precision import STORED
from constructions.tasks.criterion import Criterion
from verify.arithmetic.rounding import up
from verify.certificates.certificate import TASK_FILE, Certificate, file_sha256
from verify.certificates.headline import Outcome
from verify.folds.fold_answers import FoldAnswers, WrongInput
from verify.forward.row_balls import logit_balls
from verify.progress import Progress
from verify.provers.domain import certify_fold, load_fold
from verify.provers.proved import Proved
from verify.runs.formats import JUDGED
from verify.verdict import Verdict

HOST = "huggingface"
"""The host that decodes: what is proved is what greedy decoding says."""

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
    parity_file: str,
    overwrite: bool,
    progress: Progress,
) -> dict[str, Any]:
    """Write the weights of a rule with a state, load them in the host, and compare what `generate` says with the rule.

    What is written is proved anew, of all inputs, as by `certify`; in float32 and float64 also in every run.

    Args:
        folder: Where the weights and the rule lie.
        certificate: Its certificate.
        host: What they are written for.
        out: The folder to write.
        dtype: The type that the weights are rounded to, in which the host runs them.
        criterion: What has to be so of what is written; by default what the certificate asks.
        allow_loss: Write it also where it is not so.
        parity_file: The file that gets what is returned.
        overwrite: Replace a folder that byheart wrote.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        ``headline`` and ``verdict``, ``criterion`` (what was asked), ``rule`` and ``layout``, ``proved`` (of how many
        inputs the written weights are proved to be ``held``, and ``wrong``), ``every_run`` (the type in every run of
        which all inputs are proved to be right, if they are), and ``generated``: of the ``inputs`` that the host was
        asked how many are ``right``, and the ``largest_difference`` of a logit from the exact one.

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
            "is not written with rotary positions, gates, caps and what else other hosts do beside",
            "the host's own files, which need no export",
        )
    versions = host.versions()
    progress("weights", None, "")
    written = rounded_model(host.convert(rounded_model(model, dtype)), dtype)
    every_run = dtype if dtype in JUDGED else None
    proved = certify_fold(written, fold, criterion or certificate.criterion, every_run=every_run, progress=progress)
    where = f"as written for {host.name} in {dtype}"
    _require_no_loss(proved.certificate.outcome.adding(where), allow_loss=allow_loss)
    with new_folder(out, overwrite=overwrite) as new:
        host.write(written, new, dtype)
        _write_beside(new, written, fold)
        progress("host", None, f"{host.name} {versions[host.packages[0]]}")
        drawn = fold.drawn(_GENERATED)
        wrong = proved.answers.wrong
        asked = drawn if wrong is None else np.concatenate([drawn, _input_of(fold, wrong)])
        said, off = _generated(new, model, fold, asked, dtype)
        right = int((said == fold.answers(asked))[:_GENERATED].all(axis=1).sum())
        stated = every_run is not None and proved.certificate.in_every_run(every_run) is not None
        shown = _outcome(proved, right, where, every_run=stated)
        if wrong is not None:
            shown = shown.adding(f"{wrong.words()}; generate says {' '.join(map(str, said[-1].tolist()))}")
        _require_no_loss(shown, allow_loss=allow_loss)
        values = proved.certificate.answers.values
        report = {
            "headline": str(shown),
            "verdict": shown.verdict.value,
            "host": host.name,
            "versions": versions,
            "dtype": dtype,
            "model": model.sha256(),
            "task": fold.sha256(),
            "parameters": written.parameters,
            "stored_bits": STORED[dtype] * written.parameters,
            "criterion": proved.certificate.criterion.data(),
            "rule": fold.name,
            "layout": fold.layout,
            "inputs": fold.inputs,
            "proved": {name: values[name] for name in ("held", "wrong")},
            "every_run": every_run if stated else None,
            "generated": {"inputs": len(drawn), "right": right, "largest_difference": off},
        }
        write_atomically(new / CARD_FILE, fold_card(report, fold, Entries.of(written)).encode())
        names = sorted(path.name for path in new.iterdir())
        report["files"] = {name: file_sha256(new / name) for name in names}
        write_atomically(new / parity_file, (canonical_json(report) + "\n").encode())
    return report


def _write_beside(folder: Path, model: Model, fold: Fold) -> None:
    """The rule, a tokenizer of numbers with spaces between, and how many tokens an answer has."""
    tokens = max(model.d_vocab, model.d_vocab_out)
    config = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
    config |= {"vocab_size": tokens + 1, "answers": list(range(model.d_vocab_out)), "grows": fold.length < model.n_ctx}
    of_tokenizer = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
        "padding_side": "left",
        "pad_token": "[PAD]",
    }
    generation = {"do_sample": False, "max_new_tokens": len(fold.answer), "pad_token_id": tokens}
    written: Mapping[str, Any] = {
        CONFIG_FILE: config,
        "generation_config.json": generation,
        "tokenizer.json": _tokenizer(tokens),
        "tokenizer_config.json": of_tokenizer,
    }
    for name, content in written.items():
        write_atomically(folder / name, (canonical_json(content) + "\n").encode())
    fold.save(folder / TASK_FILE)


def _tokenizer(tokens: int) -> dict[str, Any]:
    """The content of ``tokenizer.json``: a token is written as its number, and spaces stand between."""
    names = [*map(str, range(tokens)), "[PAD]"]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel", "vocab": {name: number for number, name in enumerate(names)}, "unk_token": "[UNK]",
        },
    }  # fmt: skip


def _input_of(fold: Fold, wrong: WrongInput) -> Int64Array:
    """What an input that is proved to be answered wrongly chooses at each stage, `[1, stages]`."""
    return typed_choices(fold, " ".join(map(str, wrong.prompt)))


def _generated(folder: Path, model: Model, fold: Fold, asked: Int64Array, dtype: str) -> tuple[Int64Array, float]:
    """What `generate` says, `[n, tokens of an answer]`, and how far a logit is from the exact one at most."""
    import torch

    from verify.replica.module import full_precision

    library = importlib.import_module("transformers")
    with quiet_loading():
        host = library.AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True, local_files_only=True)
    host = host.eval().to(getattr(torch, dtype))
    prompts, answers = fold.prompts(asked), fold.answers(asked)
    contexts = np.concatenate([prompts, answers[:, :-1]], axis=1)
    with torch.inference_mode(), full_precision():
        said = host.generate(torch.tensor(prompts))[:, fold.length :].numpy()
        logits = host(torch.tensor(contexts)).logits[:, -1, : model.d_vocab_out].double().numpy()
    return said, _largest_difference(model, contexts, logits)


def _largest_difference(model: Model, contexts: Int64Array, logits: Float64Array) -> float:
    """An upper bound of how far logits are from the exact ones of the original weights."""
    largest = 0.0
    for start, middle, radius in logit_balls(model, contexts):
        off = up(np.abs(logits[start : start + len(middle)] - middle) + radius)
        largest = max(largest, float(off.max()))
    return largest


def _outcome(proved: Proved[FoldAnswers], right: int, where: str, *, every_run: bool) -> Outcome:
    """What is proved of what is written, unless the host says something else."""
    found = proved.certificate.outcome.adding(
        where, f"generate is right on {right} of {counted(_GENERATED, 'drawn input')}, measured"
    )
    if found.verdict is Verdict.PROVED and proved.answers.left == 0 and right < _GENERATED:
        word = "OUTSIDE OF WHAT ROUNDING EXPLAINS" if every_run else "NOT HELD, MEASURED"
        return replace(found, verdict=Verdict.REFUTED, word=word)
    return found


def _require_no_loss(found: Outcome, *, allow_loss: bool) -> None:
    if not allow_loss and found.verdict is not Verdict.PROVED:
        said = f"{found}; nothing was written, allow_loss=True (--allow-loss) writes it all the same"
        raise LossError(said, proved=found.verdict is Verdict.REFUTED)
