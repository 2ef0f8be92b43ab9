"""Certify a trained model on a rule with a state, such as addition: every token of every answer, on all inputs.

Page: docs/folds.md
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from byheart.hosts.certify import asked_of_host, read_source, write_folder
from byheart.hosts.decoding import Asked as Decoded
from byheart.hosts.decoding import require_greedy
from constructions.models.construction import require_fit
from constructions.tasks.criterion import Criterion
from constructions.tasks.fold import Fold
from verify.certificates.fold import METHOD, certify_fold
from verify.folds.fold_answers import require_one_attention
from verify.progress import Progress, silent

_INPUTS_ASKED = 64  # of the host


def certify_answers(
    source: Any,
    fold: Fold,
    *,
    criterion: Criterion | None = None,
    config: Mapping[str, Any] | Path | str | None = None,
    ignore_field: Sequence[str] = (),
    plain_argmax: bool = False,
    handshake: bool = True,
    every_run: str | None = None,
    out: Path | str | None = None,
    overwrite: bool = False,
    progress: Progress = silent,
) -> dict[str, Any]:
    r"""Prove that greedy decoding of a trained model says the answer to every input of a rule with a state.

    Args:
        source: As for `byheart.hosts.certify.certify`.
        fold: The rule.
        criterion: What is asked; by default that every input is answered right.
        config: As for `certify`.
        ignore_field: As for `certify`.
        plain_argmax: As for `certify`.
        handshake: As for `certify`; the module is run on some of the inputs.
        every_run: A type of which every run is judged, too; stated if that is proved of all inputs.
        out: A folder to write: the weights, the rule, the certificate; nothing is written by default.
        overwrite: Replace a folder that byheart wrote.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The figures, as plain JSON data: ``verdict``, ``headline``, ``inputs``, ``right``, ``wrong``, ``undecided``, and
        of an input that is answered wrongly the ``prompt``, the ``answer`` by the rule, and ``said``: a token that
        the model prefers, or says as likely, in place of the right token ``place`` of the answer.

    Raises:
        HypothesisError: A model to which the theorem does not apply; names the hypothesis.
        InputError: A model of another kind, or one that cannot read the rule.
        FileFormatError: A file is missing or damaged.

    Example:
        >>> from constructions.folds.adder import adder
        >>> from constructions.tasks.fold import addition
        >>> certify_answers(adder(2, base=2), addition(2, base=2))["headline"][:31]
        'HELD, PROVED: 16 of 16 inputs; '
    """
    progress("model", None, "")
    model, given, options = read_source(source, out, overwrite, config, ignore_field, handshake)
    require_fit(model, fold)
    require_one_attention(model)
    prompts, answers = _some(fold)
    contexts = np.concatenate([prompts, answers[:, :-1]], axis=1)
    decoded = Decoded([(fold.length, tuple(answers[0].tolist()))], set(np.unique(contexts).tolist()))
    decoding = require_greedy(source, options, decoded, plain_argmax=plain_argmax)
    host = asked_of_host(given, config, model, contexts, handshake, ignore_field, progress)
    proved = certify_fold(model, fold, criterion, every_run=every_run, progress=progress)
    found, wrong = proved.answers, proved.answers.wrong
    asides = [decoding, host]
    if wrong is not None:
        words = " ".join(map(str, wrong.prompt))
        right = wrong.answer[wrong.place]
        asides.insert(0, f"as token {wrong.place + 1} of the answer to {words} it prefers {wrong.said} to {right}")
    if text := "; ".join(filter(None, asides)):
        proved = replace(proved, certificate=proved.certificate.shaken(text))
    runs = None if every_run is None else proved.certificate.in_every_run(every_run)
    figures: dict[str, Any] = {
        "verdict": proved.certificate.verdict.value,
        "headline": proved.certificate.headline(),
        "asked": proved.certificate.criterion.describe("labels"),
        "parameters": model.parameters,
        "model": model.sha256(),
        "rule": fold.name,
        "layout": fold.layout,
        "inputs": found.inputs,
        "right": found.inputs - found.left,
        "wrong": int(wrong is not None),
        "undecided": found.left - int(wrong is not None),
        "wrong_input": None if wrong is None else _shown(wrong),
        "every_run": None if every_run is None else {"dtype": every_run, "proved": runs is not None},
        "cells": found.cells,
        "boxes": found.boxes,
        "method": METHOD,
    }
    if out is not None:
        write_folder(Path(out), model, fold, proved, figures, overwrite=overwrite)
    return figures


def _shown(wrong: Any) -> dict[str, Any]:
    return {
        "prompt": list(wrong.prompt),
        "answer": list(wrong.answer),
        "place": wrong.place + 1,
        "said": wrong.said,
    }


def _some(fold: Fold) -> tuple[np.ndarray, np.ndarray]:
    """The prompts and answers of some inputs, drawn with a fixed seed."""
    rng = np.random.default_rng(0)
    chosen = np.stack([rng.integers(len(stage.choices), size=_INPUTS_ASKED) for stage in fold.stages], axis=1)
    return fold.prompts(chosen), fold.answers(chosen)
