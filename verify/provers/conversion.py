"""Prove the statements of a folder written by an earlier version again, and write them in the current form.

Page: docs/commands.md
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from constructions.errors import FileFormatError, HypothesisError, InputError, TamperedError
from constructions.folds.fold import Fold
from constructions.formats.files import new_folder, read_regular_file
from constructions.formats.tensor_file import arrays_sha256
from constructions.model.model import Model
from constructions.progress import Progress, silent
from constructions.tasks.rule import RuleTask
from constructions.tasks.stored import read_stored
from constructions.tasks.vectors import task_of_arrays
from verify.arithmetic.exact_json import decode_number, parse_object
from verify.certificates.certificate import (
    ASIDES,
    CERTIFICATE_FILE,
    DIVERGENCE,
    FEATURE_RANK,
    FORMAT,
    MODEL_FILE,
    RANK_HEADS,
    RANK_WITH_SKIP,
    REALS,
    RUNS,
    SAMPLE,
    SATURATION,
    TASK_FILE,
    TEXT,
    VERSION,
    Certificate,
    Statement,
    parse_criterion,
    seed_text,
)
from verify.certificates.loading import save_certified
from verify.provers.domain import certify_domain, certify_fold
from verify.provers.memorization import certify_memorization
from verify.provers.runs import MOST_INPUTS, prove_runs
from verify.provers.text import state_text
from verify.runs.formats import FORMATS

EARLIER = 3
"""The version of certificates and tasks that said `laws` for distributions and `held` for memorized."""

_NAMES = {"laws": "distributions", "held": "memorized", "guess_held": "guess_right"}
"""The names of that version, and those of today."""


def convert(folder: Path, out: Path, *, overwrite: bool = False, progress: Progress = silent) -> Certificate:
    """Prove the statements of a folder again, and write it in the current form.

    Of the certificate only the question and the kinds of its statements are taken, and what else is asked by them:
    number formats, a limit of saturation, how many inputs were drawn by which seed. No number in it is believed.
    Pages, which are made of measurements, are left behind.

    Args:
        folder: A folder of version 3, or of today's with other sentences.
        out: The new folder, which appears only when it is complete.
        overwrite: Replace a byheart folder.
        progress: Called with the stage and the finished share of it.

    Returns:
        The new certificate.

    Raises:
        FileFormatError: A file is missing or malformed, or is of another version.
        TamperedError: Model or task is not the one that the certificate names.
        HypothesisError: A statement is not proved by this program, or not of as many contexts; names it, and nothing is
            written.
        InputError: The folder is an edit, or `out` exists.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from constructions.tasks.table import table_task
        >>> model = Model(blocks=(), W_U=np.eye(2)[::-1], W_E=np.eye(2), W_pos=np.zeros((1, 2)))
        >>> task = table_task("a,b\\nb,a\\n")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     old = Path(folder) / "old"
        ...     old.mkdir()
        ...     model.save(old / "model.safetensors")
        ...     task.save(old / "task.safetensors")
        ...     certify_memorization(model, task).save(old)
        ...     print(convert(old, Path(folder) / "new").headline()[:17])
        MEMORIZED, PROVED
    """
    folder = Path(folder)
    if (folder / "edit.json").exists():
        raise InputError(f"{folder}", "is an edit", "a folder with a certificate; make the edit again")
    stated = _read(folder / CERTIFICATE_FILE)
    kind, task, task_hash = _read_task(folder / TASK_FILE, stated["version"])
    model = Model.load(folder / MODEL_FILE)
    for file, actual, named in ((MODEL_FILE, model.sha256(), "model"), (TASK_FILE, task_hash, "task")):
        if actual != stated["subject"][named]:
            raise TamperedError(f"{folder / file} is not the one that the certificate is about: its hash differs")
    certified = _proved(kind, model, task, stated, progress)
    certificate = certified.certificate
    if kind != "fold":  # of which the runs are proved with the answers
        certificate = _with_runs(kind, certificate, model, task, stated["statements"], progress)
    asides = {name: text for name, text in stated["provenance"].items() if name in ASIDES}
    certificate = replace(certificate, provenance={**certificate.provenance, **asides})
    proved = {statement.label: statement for statement in certificate.statements}
    for statement in stated["statements"]:
        label, memorized = _label(statement), statement["values"].get("memorized", 0)
        if label not in proved or not memorized <= proved[label].values.get("memorized", 0):
            raise HypothesisError("to convert a folder", "each statement to be proved again", f"{label!r} is not")
    with new_folder(Path(out), overwrite=overwrite) as place:
        save_certified(place, model, task, certified)
        certificate.save(place)
    return certificate


def _read(path: Path) -> dict[str, Any]:
    """Return the fields of a certificate of this version, whose sentences may differ from the current ones."""
    data = parse_object(CERTIFICATE_FILE, read_regular_file(path).decode("ascii", "replace"))
    version = data.get("version")
    if data.get("format") != FORMAT or type(version) is not int or version not in (EARLIER, VERSION):
        version_text = f"{data.get('format')!r} version {version!r}"
        raise FileFormatError(f"{path} has format {version_text}, expected {FORMAT!r} version {EARLIER} or {VERSION}")
    kinds = {"subject": dict, "criterion": dict, "statements": list, "provenance": dict}
    for name, kind in kinds.items():
        if not isinstance(data.get(name), kind):
            raise FileFormatError(f"{path} has no {name}")
    for name in ("model", "task"):
        if not isinstance(data["subject"].get(name), str):
            raise FileFormatError(f"{path} has no hash of the {name}")
    for each in data["statements"]:
        if not (isinstance(each, dict) and isinstance(each.get("id"), str) and isinstance(each.get("values"), dict)):
            raise FileFormatError(f"{path} has a statement without an id or values")
    if version == EARLIER:
        _rename(path, data)
    for each in data["statements"]:
        if not isinstance(each.get("named", {}), dict) or type(each["values"].get("memorized", 0)) is not int:
            raise FileFormatError(f"{path} has a statement whose names are no object, or whose count is not an integer")
        if each["id"] == RUNS and _format(each) not in FORMATS:
            raise FileFormatError(f"{path} states runs in {_format(each)!r}, expected one of {sorted(FORMATS)}")
    return data


def _rename(path: Path, data: dict[str, Any]) -> None:
    """Put today's names into a certificate of the earlier version."""
    for fields, name in ((data["subject"], "target"), (data["criterion"], "asked")):
        fields[name] = _renamed(fields.get(name), _NAMES)
    for each in data["statements"]:
        each["values"] = _with_names_of_today(path, each["values"], _NAMES)


def _read_task(path: Path, version: int) -> tuple[str, Any, str]:
    """Return the kind of a stored task, the task, and the hash that its version gave it."""
    kind, words, arrays = read_stored(path, version=version)
    loaders: dict[str, Any] = {"rule": RuleTask.from_arrays, "fold": Fold.from_arrays}
    names = _NAMES if version == EARLIER else {}
    words = {name: _renamed(said, names) if name == "target" else said for name, said in words.items()}
    arrays = _with_names_of_today(path, arrays, names)
    task = loaders[kind](path, words, arrays) if kind in loaders else task_of_arrays(path, kind, words, arrays)

    before = {today: earlier for earlier, today in names.items()}
    words = {name: _renamed(value, before) if name == "target" else value for name, value in task.words().items()}
    arrays = {_renamed(name, before): array for name, array in task.arrays().items()}
    return kind, task, arrays_sha256({"task": kind, **words}, arrays)


def _with_names_of_today(path: Path, fields: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Return fields by today's names; of a field that has both names nobody knows which one is meant."""
    for earlier, today in names.items():
        if earlier in fields and today in fields:
            raise FileFormatError(f"{path} has both {earlier!r} and {today!r}, which are one field")
    return {_renamed(name, names): field for name, field in fields.items()}


def _renamed(name: Any, names: dict[str, str]) -> Any:
    return names.get(name, name) if isinstance(name, str) else name


def _proved(kind: str, model: Model, task: Any, stated: dict[str, Any], progress: Progress) -> Any:
    """Return proofs of the stated kinds, except runs and texts."""
    criterion, by_id = (
        parse_criterion(stated["criterion"]),
        {statement["id"]: statement for statement in stated["statements"]},
    )
    if kind == "fold":
        runs = by_id.get(RUNS)
        return certify_fold(model, task, criterion, every_run=runs and _format(runs), progress=progress)
    if kind == "rule":
        if SAMPLE not in by_id:
            return certify_domain(model, task, criterion, progress=progress)
        drawn, seed = (_number(by_id[SAMPLE], name) for name in ("drawn", "seed"))
        return certify_domain(model, task, criterion, sample=int(drawn), seed=seed_text(seed), progress=progress)
    return certify_memorization(
        model,
        task,
        criterion,
        rank=FEATURE_RANK in by_id,
        rank_of_heads=RANK_HEADS in by_id,
        rank_with_skip=RANK_WITH_SKIP in by_id,
        divergence=DIVERGENCE in by_id,
        saturation=_number(by_id[SATURATION], "delta") if SATURATION in by_id else None,
        progress=progress,
    )


def _with_runs(
    kind: str, found: Certificate, model: Model, task: Any, stated: list[Any], progress: Progress
) -> Certificate:
    """Return the certificate with proofs of runs and texts, in the stated formats."""
    listed = task
    formats = [_format(statement) for statement in stated if statement["id"] == RUNS]
    if kind == "rule" and formats:
        if task.n_contexts > MOST_INPUTS:
            raise HypothesisError("to convert a folder", f"runs of at most {MOST_INPUTS} inputs", f"{task.n_contexts}")
        inputs = task.contexts_at(np.arange(task.n_contexts))
        listed = task.facts(inputs, vocabulary=model.d_vocab, answers=model.d_vocab_out)
    tolerance = found.criterion.tolerance
    proved = [prove_runs(model, listed, dtype, tolerance=tolerance, progress=progress) for dtype in formats]
    of_runs = [statement for statement in proved if statement is not None]
    by_format: dict[str, Statement] = {
        REALS: found.answers,
        **{statement.named["format"]: statement for statement in of_runs},
    }
    of_texts = [by_format.get(_format(statement)) for statement in stated if statement["id"] == TEXT]
    texts = [
        state_text(task, [statement]) for statement in of_texts if statement is not None
    ]  # which whole texts alone state
    return found.stating(*of_runs, *texts)


def _format(statement: dict[str, Any]) -> str:
    return str(statement.get("named", {}).get("format"))


def _label(statement: dict[str, Any]) -> str:
    """Return the label that `Statement.label` gives."""
    return f"{statement['id']} ({_format(statement)})" if statement.get("named") else statement["id"]


def _number(statement: dict[str, Any], name: str) -> Any:
    return decode_number(f"{statement['id']}.{name}", statement["values"].get(name))
