"""Define a host: how a model is adapted to it, written, and run there.

Page: docs/hosts.md
"""

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from byheart.hosts.number_types import write_tensors
from constructions.errors import InputError, require_one_of
from constructions.formats.files import canonical_json, write_atomically
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.any_task import ListedTask
from constructions.tasks.task import Task

WEIGHTS_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
"""Which part holds each tensor, where the weights are cut into several files."""

CONFIG_FILE = "config.json"

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

_WRITTEN = Path(__file__).with_name("written")
_BATCH_ENTRIES = 2**24


@dataclass(frozen=True)
class Host:
    """A library that weights can be exported to.

    Args:
        name: Its name after ``--to``.
        packages: Its distributions, the first one that of the host itself.
        extra: The extra that installs it: ``pip install byheart[extra]``.
        dtypes: The types that it computes in.
        convert: The same model, in exact arithmetic, in the shape that the host has.
        write: Write a converted and rounded model into a folder, in a type.
        run: What the host computes from that folder, in that type, for the contexts of a task: logits
            `[T, d_vocab_out]`, by what ran them.
        below: The first major version that is another host; none if there is none.
        at_least: The first major version that is this host; none if all are.
        number_tokens: Say in the written folder which token of the tokenizer each output is, and what is a pad; none
            where a logit keeps the number of its answer.
        in_one_vocabulary: The model and the task over the tokens of the tokenizer; none where the host reads one
            vocabulary and writes another.
        facts_in_one_vocabulary: That task alone.
        other: The host that the model is written for instead, where the library has a model that can hold it.
        instead: The name of that host.
        written_by_package: Whether its own package writes the weights, so that it has to be installed for that.
        usage: Lines of Python that load the folder ``FOLDER`` and ask the model ``TEXT``, for the model card; in the
            place of ``ANSWERS`` stands the list of the text of each output.
        usage_of_vectors: Lines that load it and compute the outputs of the first example of ``task.safetensors``.
    """

    name: str
    packages: tuple[str, ...]
    extra: str
    dtypes: tuple[str, ...]
    convert: Callable[[Model], Model]
    write: Callable[[Model, Path, str], None]
    run: Callable[[Path, ListedTask, str], dict[str, Float64Array]]
    below: int | None = None
    at_least: int | None = None
    number_tokens: Callable[[Path, Task], None] | None = None
    in_one_vocabulary: Callable[[Model, ListedTask], tuple[Model, Task]] | None = None
    facts_in_one_vocabulary: Callable[[ListedTask], Task] | None = None
    other: Callable[[Model, ListedTask, str], "Host | None"] | None = None
    instead: str = ""
    written_by_package: bool = False
    usage: str = ""
    usage_of_vectors: str = ""

    def versions(self) -> dict[str, str]:
        """Return the version of each of its packages.

        Raises:
            InputError: One is not installed, or is of a version that is another host; says what to install.
        """
        versions = {}
        for package in self.packages:
            try:
                versions[package] = version(package)
            except PackageNotFoundError:
                raise InputError(package, f"is not installed; {self._install()}") from None
        name, major = self.packages[0], int(versions[self.packages[0]].split(".")[0])
        if self.below is not None and major >= self.below:
            raise InputError(
                f"{name} {versions[name]}", f"is installed, {self.name} is below {self.below}; {self._install()}"
            )
        if self.at_least is not None and major < self.at_least:
            raise InputError(
                f"{name} {versions[name]}", f"is installed, {self.name} needs {self.at_least}; {self._install()}"
            )
        return versions

    def _install(self) -> str:
        return f"`pip install 'byheart[{self.extra}]'` brings it"


def host_named(name: str) -> Host:
    """Return the host of this name.

    Raises:
        InputError: There is none.
    """
    require_one_of(_ROOM, to=name)
    return importlib.import_module(f"byheart.hosts.exported.{_ROOM[name]}").HOST


def write_folder(
    folder: Path, tensors: dict[str, Float64Array], *, dtype: str, config: dict[str, Any], loader: str
) -> None:
    """Write the weights, the files that the host needs, and the Python file that loads them.

    Args:
        folder: The folder to write to.
        tensors: By the names of the host; numbers that the type holds exactly.
        dtype: The type.
        config: Plain data for JSON.
        loader: Name of a file of `byheart/hosts/written/`.
    """
    write_tensors(folder / WEIGHTS_FILE, tensors, dtype=dtype, metadata={"format": "pt"})
    write_atomically(folder / CONFIG_FILE, (canonical_json(config) + "\n").encode())
    write_atomically(folder / loader, (_WRITTEN / loader).read_bytes())


@contextmanager
def quiet_loading() -> Iterator[None]:
    """Hide the progress bars of `transformers` while a model is loaded."""
    from transformers import logging  # pyright: ignore[reportMissingImports]

    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if bars:
            logging.enable_progress_bar()


def said_by(error: BaseException) -> str:
    """Return the message of another library's error on one line, without escape codes, at most 200 characters.

    Example:
        >>> said_by(ValueError("no field\\n  'size': \\x1b[1mexpected\\x1b[0m int"))
        "ValueError: no field 'size': expected int"
    """
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", str(error))
    kind = "" if type(error) is Exception else f"{type(error).__name__}: "
    text = (kind + " ".join(plain.split())).rstrip(": ")
    return text if len(text) <= 200 else f"{text[:196]} ..."


def loaded_module(path: Path) -> ModuleType:
    """Load the Python file written next to the weights as a separate module, without leaving bytecode."""
    spec = importlib.util.spec_from_file_location(f"byheart_export_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


def last_logits(forward: Callable[[Int64Array], Float64Array], task: Task, *, entries: int) -> Float64Array:
    """Return the logits after each memorized context, a few contexts at a time.

    Args:
        forward: From tokens `[B, S]` to logits `[B, d_vocab_out]`.
        task: The contexts.
        entries: Largest number of entries that the host makes of one context.
    """
    rows = max(1, _BATCH_ENTRIES // max(1, entries))
    return np.concatenate([forward(task.contexts[start : start + rows]) for start in range(0, task.n_contexts, rows)])


def torch_logits(model: Any, task: Task, *, entries: int) -> Float64Array:
    """Return the logits of a torch module at the last position of each memorized context.

    Args:
        model: From tokens `[B, S]` to logits `[B, S, d_vocab_out]`, or to an object that has them as `logits`.
        task: The contexts.
        entries: Largest number of entries that the host makes of one context.
    """
    import torch

    from verify.torch.module import full_precision

    def forward(tokens: Int64Array) -> Float64Array:
        with torch.inference_mode(), full_precision():
            output = model(torch.tensor(tokens))
            return getattr(output, "logits", output)[:, -1].double().numpy()

    return last_logits(forward, task, entries=entries)


def tokens_of(task: ListedTask) -> Task:
    """Return the task if its contexts are tokens, the only kind that such a host accepts."""
    if task.facts is None:
        raise InputError("task", "brings vectors", "contexts of tokens")
    return task.facts
