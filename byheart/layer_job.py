"""A layer that a claim promises, certified, run and written as a folder that can be checked and run again.

Page: docs/layer.md
"""

import importlib.util
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from constructions.errors import InputError
from constructions.files import canonical_json, new_folder, write_atomically
from constructions.models.construction import Construction
from constructions.models.model import Model
from constructions.tasks.vectors import VectorTask
from verify.arithmetic.enclosure import Enclosure
from verify.certificates.certificate import CERTIFICATE_FILE, WITNESS_FILE
from verify.certificates.layer_certificate import (
    LABEL_ERROR,
    LARGEST_OUTPUT,
    LAYER_FILE,
    LAYER_TASK_FILE,
    MIXED_RANK,
    SATURATION,
    LayerCertificate,
    plain_number,
)
from verify.certificates.layer_memorization import CertifiedLayer, certify_layer, load_layer
from verify.progress import Progress

SUMMARY_FILE = "summary.json"

_LARGEST_WITNESS = 4096  # examples; the witness of the rank takes 4 T^2 bytes or more

Stage = Callable[[str], AbstractContextManager[None]]


def is_layer_folder(folder: Path) -> bool:
    """Whether the weights in `folder` are those of a layer rather than of a transformer.

    Args:
        folder: Any folder.

    Page: docs/layer.md
    """
    return (Path(folder) / LAYER_FILE).exists()


def write_layer_folder(
    out: Path,
    built: Construction[VectorTask],
    *,
    figures: Mapping[str, Any],
    stage: Stage,
    seconds: Mapping[str, float],
    overwrite: bool = False,
    device: str = "cpu",
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Certify a layer, run it, and write the folder `out`.

    Args:
        out: The folder to write.
        built: The layer and what it holds.
        figures: What else the summary shall say.
        stage: Opens a stage of the work, by its name.
        seconds: How long the stages took, filled in by `stage`.
        overwrite: Replace a folder that byheart wrote.
        device: Where to run the replica beside the CPU, if torch is installed.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The figures, as plain JSON data: those of the certificate are proved, those of torch are measured.

    Raises:
        InputError: An existing folder.
        ResourceError: The work would not fit into memory.

    Page: docs/layer.md
    """
    layer, task = built.model, built.task
    with stage("certificate"):
        proved = certify_layer(layer, task, witness=task.n_examples <= _LARGEST_WITNESS, progress=progress)
    with stage("torch"):
        runs = _runs(layer, task, device=device, outputs=proved.outputs)
    names = [LAYER_FILE, LAYER_TASK_FILE, CERTIFICATE_FILE]
    if proved.witness is not None:
        names.append(WITNESS_FILE)
    summary = {
        **figures,
        "kind": task.kind,
        "examples": task.n_examples,
        "tokens": task.n_tokens,
        "shared_context": task.shared,
        "dim": layer.d_model,
        "heads": layer.n_heads,
        "head_dim": layer.d_qk,
        "value_dim": layer.d_head,
        "outputs": layer.d_vocab_out,
        "parameters": layer.parameters,
        **_certified_figures(proved),
        "torch": runs,
        "files": {name.split(".")[0]: str(out / name) for name in [*names, SUMMARY_FILE]},
    }
    with stage("files"), new_folder(out, overwrite=overwrite) as folder:
        summary["seconds"] = {**seconds}
        layer.save(folder / LAYER_FILE)
        task.save(folder / LAYER_TASK_FILE)
        proved.save(folder)
        write_atomically(folder / SUMMARY_FILE, (canonical_json(summary) + "\n").encode())
    summary["seconds"]["files"] = seconds["files"]
    return summary


def run_layer_summary(folder: Path, *, device: str, dtype: str) -> dict[str, Any]:
    """Run the layer in `folder` in torch, and judge every output against its enclosure and a rounding bound.

    Args:
        folder: A folder that `write_layer_folder` wrote.
        device: ``"cpu"`` or ``"cuda"``.
        dtype: ``"float64"``, ``"float32"`` or ``"bfloat16"``.

    Returns:
        The figures of `verify.replica.layer_run.LayerRunResult`, with the type.

    Raises:
        FileFormatError: A file is missing or is not what it should be.
        TamperedError: The files are not those that the certificate names.
        InputError: torch is not installed.
        DeviceError: There is no such device.

    Page: docs/layer.md
    """
    if importlib.util.find_spec("torch") is None:
        raise InputError("torch is not installed; `pip install byheart[torch]` to run the weights")
    from verify.replica.layer_run import run_layer

    layer, task = load_layer(folder, LayerCertificate.load(folder))
    result = run_layer(layer, task, device=device, dtype=dtype)
    return {"dtype": result.dtype, **result.summary()}


def _runs(layer: Model, task: VectorTask, *, device: str, outputs: Enclosure) -> dict[str, Any] | None:
    if importlib.util.find_spec("torch") is None:
        return None
    from verify.replica.layer_run import run_layer_in_all

    runs = run_layer_in_all(layer, task, outputs=outputs)
    if device != "cpu":
        there = run_layer_in_all(layer, task, device=device, outputs=outputs)
        runs |= {f"{dtype} on {device}": figures for dtype, figures in there.items()}
    return runs


def _certified_figures(proved: CertifiedLayer) -> dict[str, Any]:
    certificate = proved.certificate
    found = {claim.id: claim for claim in certificate.claims}

    def value(id: str, name: str) -> int | float | None:
        return plain_number(found[id].values[name]) if id in found and name in found[id].values else None

    return {
        "verdict": certificate.verdict.value,
        "rank_verdict": found[MIXED_RANK].verdict.value,
        "condition": value(MIXED_RANK, "condition_upper"),
        "label_error_upper": value(LABEL_ERROR, "error_upper"),
        "margin_lower": value(LARGEST_OUTPUT, "margin_lower"),
        "classes_proved": value(LARGEST_OUTPUT, "proved"),
        "saturation_delta": value(SATURATION, "delta"),
        "saturated_pairs": value(SATURATION, "saturated_lower"),
        "pairs": value(SATURATION, "pairs"),
    }
