"""Write the weights as safetensors, under TransformerLens's names.

Page: docs/hosts.md
"""

import json
from pathlib import Path

import numpy as np

from byheart.hosts.host import WEIGHTS_FILE, Host
from byheart.hosts.number_types import DTYPES, METADATA, NARROWEST, read_tensors, write_tensors
from byheart.hosts.parity import sharpest_logits
from constructions.formats.files import canonical_json
from constructions.model.model import Model, assembled
from constructions.numeric.arrays import Float64Array
from constructions.tasks.any_task import ListedTask


def _write(model: Model, folder: Path, dtype: str) -> None:
    described = {METADATA: canonical_json(model.options()), "format": "pt"}
    write_tensors(folder / WEIGHTS_FILE, model.tensors(), dtype=dtype, metadata=described)


def _run(folder: Path, task: ListedTask, dtype: str) -> dict[str, Float64Array]:
    """Return the midpoints of byheart's enclosures of the loaded weights, because a file cannot compute."""
    tensors, texts = read_tensors(folder / WEIGHTS_FILE)
    model = assembled(json.loads(texts[METADATA]), tensors)
    logits = np.empty((task.n_contexts, model.d_vocab_out))
    for rows, enclosed in sharpest_logits(model, task):
        logits[rows] = enclosed.midpoint
    return {"byheart's enclosures": logits}


_USAGE = """\
from safetensors.torch import load_file

for name, tensor in load_file(FOLDER + "/model.safetensors").items():
    print(name, tuple(tensor.shape), tensor.dtype)"""

HOST = Host(
    name="safetensors",
    packages=("safetensors",),
    extra="safetensors",
    dtypes=(*DTYPES, NARROWEST),
    convert=lambda model: model,
    write=_write,
    run=_run,
    usage=_USAGE,
    usage_of_vectors=_USAGE,
)
