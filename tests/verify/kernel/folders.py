"""Folders to be checked: written by the prover, changed by whoever wants to be believed."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from byheart.reciting import whole_text
from constructions.memories.probes.probe_memory import probe_memory
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Task
from constructions.tasks.vectors import VectorTask
from verify.kernel.certificate import read_certificate
from verify.kernel.check import outcome
from verify.kernel.kinds import find_statement
from verify.kernel.verdicts import BadInputError
from verify.provers.memorization import certify_memorization, check_memorization
from verify.verdict import Verdict

TEXT = "to be, or not to be, that is the question"


def written(
    folder: Path, model: Model, task: Task | VectorTask, criterion: Criterion | None = None, **stated: Any
) -> Path:
    """The folder of a certificate of the prover, with what else it shall state."""
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / "model.safetensors")
    task.save(folder / "task.safetensors")
    certify_memorization(model, task, criterion or Criterion(), **stated).save(folder)
    return folder


def lookup(folder: Path) -> Path:
    """Four labels in a model without blocks."""
    task = array_task(np.array([[0], [1], [2], [3]]), next_tokens=np.array([1, 2, 3, 0]), vocabulary=4, target="labels")
    model = Model(blocks=(), W_U=np.roll(np.eye(4), 1, axis=1), W_E=3.0 * np.eye(4), W_pos=np.zeros((1, 4)))
    return written(folder, model, task)


def probes(folder: Path) -> Path:
    """Labels in a model of integers, with attention."""
    task = enumerated_task(3, 3)
    return stated(written(folder, probe_memory(task).model, task), runs_record("float32", task.n_contexts))


def distributions(folder: Path) -> Path:
    """Distributions in a model of one head that averages."""
    distribution, nothing = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]]), np.zeros((1, 2, 1))
    network = dana_network(
        W_E=np.eye(2),
        W_pos=np.zeros((1, 2)),
        W_Q=nothing,
        W_K=nothing,
        W_V=nothing,
        W_O=np.zeros((1, 1, 2)),
        W_U=np.log(distribution),
    )
    task = array_task(np.array([[0], [1]]), distributions=distribution, vocabulary=2, answers=3)
    return written(folder, network, task)


def text(folder: Path) -> Path:
    """A text that is said in every run."""
    task = whole_text(TEXT)
    count = task.n_contexts
    named = {
        "format": "float32",
        "texts": [{"bytes": len(TEXT), "sha256": hashlib.sha256(TEXT.encode()).hexdigest(), "title": ""}],
    }
    said = f"1 text of {len(TEXT)} bytes ({len(TEXT)} characters)"
    record = {
        "memorized": "",
        "id": "text",
        "method": "induction over the windows",
        "named": named,
        "statement": f"Greedy decoding, in every float32 run, says {said}, byte for byte, and then that it ends.",
        "values": {"bytes": len(TEXT), "characters": len(TEXT), "parts": 1, "texts": 1},
    }
    written(folder, probe_memory(task).model, task)
    return stated(folder, runs_record("float32", count), record)


def runs_record(name: str, contexts: int, memorized: int | None = None, mask: str = "") -> dict[str, Any]:
    """The statement that every run in a format holds contexts."""
    memorized = contexts if memorized is None else memorized
    finer = "" if name == "float16" else " or finer (up to 64 bits)"
    return {
        "memorized": mask,
        "id": "runs",
        "method": "sums that no run rounds",
        "named": {"format": name, "hypotheses": "H1 H2 H5"},
        "statement": (
            f"In every {name} run (each operation in {name}{finer} and rounded to nearest, also in products (no "
            "TF32); sums in any order; exp off by at most 4 units in the last place; softmax less its largest score, "
            "at once or by blocks of 16 or more; normalizations as accurate as in two passes, as is assumed of "
            "layer_norm in torch (H1 to H5 of docs/rigour/runs.md, which names what is no such run)) "
            f"{memorized} of {contexts} contexts are memorized; this rests on H1, H2 and H5."
        ),
        "values": {"contexts": contexts, "memorized": memorized},
    }


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def certificate(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "certificate.json").read_text(encoding="ascii"))


def rewritten(folder: Path, data: dict[str, Any]) -> Path:
    """The folder with another certificate, whose digest is right."""
    said = {name: value for name, value in data.items() if name != "digest"}
    said["digest"] = hashlib.sha256(canonical(said).encode()).hexdigest()
    (folder / "certificate.json").write_text(canonical(said) + "\n", encoding="ascii")
    return folder


def stated(folder: Path, *records: dict[str, Any]) -> Path:
    """The folder with more statements."""
    data = certificate(folder)
    return rewritten(folder, {**data, "statements": [*data["statements"], *records]})


def changed(folder: Path, place: int, **values: Any) -> Path:
    """The folder with other numbers in one of its statements, whose sentence says them if it can."""
    data = certificate(folder)
    record = data["statements"][place]
    record["values"].update(values)
    kind = find_statement(record["id"])
    assert kind is not None
    try:
        read = read_certificate(folder)
        record["statement"] = kind.sentence(kind.read("a statement", record, read), read)
    except BadInputError:
        pass
    return rewritten(folder, data)


def code(folder: Path) -> int:
    return outcome(folder)[0]


def expected(folder: Path) -> set[int]:
    """What the kernel may answer beside the prover.

    What the prover proves is proved. A no that it finds by numbers of its own, which the certificate does not state,
    may stay open. Where it knows too little, balls may know more.
    """
    of_prover = check_memorization(folder).verdict
    return {Verdict.PROVED: {0}, Verdict.REFUTED: {1, 3}, Verdict.UNDECIDED: {0, 1, 3}}[of_prover]
