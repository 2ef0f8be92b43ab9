"""Tasks of vectors: shapes, hashes, and files that hold nothing else."""

import dataclasses
import hashlib

import numpy as np
import pytest

from constructions.errors import FileFormatError, InputError
from constructions.tasks.vectors import VectorTask
from tests import task_files
from tests.layers import random_layer_task


def test_the_kind_and_every_array_count_for_the_hash_of_a_task():
    task = random_layer_task()
    hashes = {task.sha256(), dataclasses.replace(task, kind="classification").sha256()}
    for name in ("contexts", "queries", "labels"):
        array = getattr(task, name).copy()
        array.flat[0] += 1.0
        hashes.add(dataclasses.replace(task, **{name: array}).sha256())
    assert len(hashes) == 5


def test_tasks_that_make_no_sense_are_refused():
    task = random_layer_task(examples=4)
    bad = {
        "contexts": [task.contexts[0], np.ones((2, 3, 3)), np.ones((1, 3, 2)), np.ones((1, 0, 3))],
        "queries": [task.queries[:0], np.ones((4, 2)), np.full((4, 3), np.inf), np.ones((4, 3), dtype=int)],
        "labels": [task.labels[:3], task.labels[:, :0], task.labels[:, 0]],
        "kind": ["ranking", 1],
    }
    for name, values in bad.items():
        for value in values:
            with pytest.raises(InputError):
                dataclasses.replace(task, **{name: value})


def test_a_class_must_be_unique_and_one_of_several():
    task = random_layer_task()
    tied = np.zeros_like(task.labels)
    with pytest.raises(InputError, match="row 0 is not unique"):
        dataclasses.replace(task, kind="classification", labels=tied)
    with pytest.raises(InputError, match="2 classes"):
        dataclasses.replace(task, kind="classification", labels=task.labels[:, :1])


def test_contexts_are_shared_or_each_examples_own():
    shared, own = random_layer_task(), random_layer_task(shared=False)
    assert shared.shared and not own.shared
    assert (shared.context(3) == shared.contexts[0]).all() and (own.context(3) == own.contexts[3]).all()
    for task in (shared, own):
        assert (task.contexts_of_each == np.stack([task.context(t) for t in range(task.n_examples)])).all()
    for t in (-1, 4):
        with pytest.raises(InputError, match="t = "):
            own.context(t)


def saved(path, arrays):
    task_files.write(path, arrays, task="vectors")
    return path


def test_tasks_in_other_files_are_refused(tmp_path):
    task, path = random_layer_task(), tmp_path / "layer_task.safetensors"
    arrays = task_files.parts(task)
    variants = [
        {name: array for name, array in arrays.items() if name != "labels"},
        {**arrays, "more": np.ones(1)},
        {**arrays, "kind": ["regression"]},
        {**arrays, "kind": "ranking"},
        {**arrays, "labels": arrays["labels"].astype(np.float32)},
        {**arrays, "queries": np.full_like(arrays["queries"], np.nan)},
    ]
    for variant in variants:
        with pytest.raises(FileFormatError):
            VectorTask.load(saved(path, variant))


def test_masked_arrays_are_refused():
    masked = np.ma.array(np.ones((1, 2, 3)), mask=np.arange(6).reshape(1, 2, 3) == 1)
    with pytest.raises(InputError, match="masked"):
        VectorTask(contexts=masked, queries=np.ones((1, 3)), labels=np.ones((1, 1)))


def test_the_hash_of_a_task_is_the_one_that_is_documented():
    task = random_layer_task()
    text = b'{"kind":"regression","task":"vectors"}' + b"".join(
        f"{name}:{','.join(map(str, getattr(task, name).shape))};".encode() + getattr(task, name).tobytes()
        for name in ("contexts", "queries", "labels")
    )
    assert task.sha256() == hashlib.sha256(text).hexdigest()
