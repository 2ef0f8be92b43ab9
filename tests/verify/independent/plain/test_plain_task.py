"""The second reader of tasks of vectors agrees with the first, and refuses what the first refuses."""

import numpy as np
from hypothesis import given

from constructions.errors import FileFormatError
from constructions.tasks.vectors import VectorTask
from tests import task_files
from tests.layers import layers_and_tasks, random_layer_task
from verify.independent.plain.plain_task import PlainVectorTask


@given(layers_and_tasks())
def test_both_readers_see_the_same(tmp_path_factory, case):
    _, task = case
    path = tmp_path_factory.mktemp("plain") / "task"
    task.save(path)
    plain = PlainVectorTask.read(path)
    assert (plain.sha256, plain.kind) == (task.sha256(), task.kind)
    assert list(plain.contexts.values) == task.contexts.ravel().tolist()
    assert [plain.modes(t) for t in range(task.n_examples)] == [{int(k)} for k in task.classes]
    assert (plain.target, plain.origin, plain.d_model, plain.n_outputs) == (
        task.target,
        "own",
        task.d_model,
        task.d_out,
    )
    assert plain.sizes() == {
        "contexts": task.n_examples,
        "context_length": task.n_ctx,
        "all_contexts": task.n_examples,
    }


def refused(reader, path):
    try:
        reader(path)
    except FileFormatError:
        return True
    return False


def test_both_readers_refuse_the_same_tasks(tmp_path):
    path = tmp_path / "task.safetensors"
    task = random_layer_task()
    arrays = task_files.parts(task)
    variants = [
        {**arrays, "more": np.ones(1)},
        {name: array for name, array in arrays.items() if name != "kind"},
        {**arrays, "kind": "ranking"},
        {**arrays, "kind": ["regression"]},
        {**arrays, "kind": 1.0},
        {**arrays, "labels": np.ones((4, 2), dtype=np.int64)},
        {**arrays, "labels": np.ones((3, 2))},
        {**arrays, "labels": np.ones((4, 0))},
        {**arrays, "contexts": np.ones((2, 3, 3))},
        {**arrays, "contexts": np.ones((1, 3, 2))},
        {**arrays, "queries": np.full((4, 3), np.nan)},
        {**arrays, "kind": "classification", "labels": np.ones((4, 2))},
        {**arrays, "kind": "classification", "labels": np.ones((4, 1))},
    ]
    for variant in variants:
        task_files.write(path, variant, task="vectors")
        assert refused(VectorTask.load, path) and refused(PlainVectorTask.read, path), sorted(variant)
