"""Models of every kind that a host may be given, with tasks that they hold, and what loads them without byheart."""

import json
import subprocess
import sys
import textwrap
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from byheart.hosts.export import export
from byheart.hosts.host import host_named
from constructions.errors import InputError
from constructions.memories.memory import Limits
from constructions.menu import BY_NAME
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.tasks.arrays import all_contexts, array_task, enumerated_task
from constructions.tasks.task import Counts, make_task
from tests.layers import memory_layer, random_layer_task
from verify.forward.ladder import decide_argmax

VOCABULARY, POSITIONS = 7, 4
RNG = np.random.default_rng(20261122)


def draw(*shape):
    return RNG.standard_normal(shape) / 2


def attention(d_model=6, n_heads=5, d_qk=2, d_head=3, d_out=None, *, shifts=False, norm=None, **options):
    d_out = d_out or d_model
    shift = {"b_Q": draw(n_heads, d_qk), "b_K": draw(n_heads, d_qk), "b_V": draw(n_heads, d_head), "b_O": draw(d_out)}
    return Attention(
        W_Q=3 * draw(n_heads, d_model, d_qk),
        W_K=draw(n_heads, d_model, d_qk),
        W_V=draw(n_heads, d_model, d_head),
        W_O=draw(n_heads, d_head, d_out),
        norm=norm,
        **(shift if shifts else {}),
        **options,
    )


def neurons(d_model=6, d_mlp=8, d_out=None, *, shifts=True, **options):
    d_out = d_out or d_model
    shift = {"b_in": draw(d_mlp), "b_out": draw(d_out)} if shifts else {}
    return FeedForward(W_in=draw(d_model, d_mlp), W_out=draw(d_mlp, d_out), **shift, **options)


def norm(kind="layer", d_model=6):
    return Normalization(kind, w=1 + draw(d_model), b=draw(d_model) if kind == "layer" else None, epsilon=1e-5)


def of_tokens(*blocks, d_model=6, d_out=6, shift=False):
    return Model(
        blocks=blocks,
        W_U=draw(d_out, VOCABULARY),
        b_U=draw(VOCABULARY) if shift else None,
        W_E=draw(VOCABULARY, d_model),
        W_pos=draw(POSITIONS, d_model),
    )


MODELS = {
    "network of one attention": dana_network(
        W_E=draw(VOCABULARY, 6),
        W_pos=draw(POSITIONS, 6),
        W_Q=3 * draw(5, 6, 2),
        W_K=draw(5, 6, 2),
        W_V=draw(5, 6, 3),
        W_O=draw(5, 3, 6),
        W_U=draw(6, VOCABULARY),
    ),
    "wide queries": of_tokens(attention(d_qk=5, d_head=2)),
    "no residual stream": of_tokens(attention(d_out=4, skip=False), d_out=4),
    "causal attention with shifts": of_tokens(attention(shifts=True, attends="causal", score_root=3), shift=True),
    "stack of attention": of_tokens(
        attention(attends="causal", n_heads=2, shifts=True),
        attention(attends="causal", n_heads=3, d_qk=4),
        attention(n_heads=1),
    ),
    "stack that sees everything": of_tokens(attention(attends="all"), attention(attends="all")),
    "stack without residual streams": of_tokens(
        attention(attends="causal", skip=False, d_out=3), attention(d_model=3, d_out=2, skip=False), d_out=2
    ),
    "gelu neurons": of_tokens(attention(attends="causal"), neurons(activation="gelu-tanh"), attention(), shift=True),
    "exact gelu neurons": of_tokens(attention(), neurons(activation="gelu")),
    "silu neurons alone": of_tokens(neurons(activation="silu"), neurons(activation="silu", d_mlp=3)),
    "neurons without residual streams": of_tokens(attention(), neurons(skip=False, d_out=4, shifts=False), d_out=4),
    "layer normalization as in GPT-2": of_tokens(
        *(
            block
            for _ in range(2)
            for block in (
                attention(attends="causal", n_heads=2, d_qk=3, shifts=True, norm=norm(), score_root=3),
                neurons(activation="gelu-tanh", norm=norm()),
            )
        ),
        norm(),
    ),
    "root mean square normalization": of_tokens(attention(attends="causal", norm=norm("rms")), norm("rms")),
    "two activations": of_tokens(attention(), neurons(activation="relu"), neurons(activation="silu")),
    "a normalization here and there": of_tokens(attention(attends="causal", norm=norm()), attention()),
    "embeddings alone": of_tokens(),
    "layer of values": None,
    "layer of classes": None,
    "stack over vectors": Model(
        blocks=(attention(d_model=3, attends="all", shifts=True), neurons(3), attention(3)), W_U=draw(3, 4), b_U=draw(4)
    ),
}
TASKS: dict[str, object] = {}
for NAME, KIND in (("layer of values", "regression"), ("layer of classes", "classification")):
    TASKS[NAME] = random_layer_task(kind=KIND)
    MODELS[NAME] = memory_layer(TASKS[NAME], n_heads=3)
# Its attentions ask from the stream, not with the queries that the task brings.
NAME, KIND = "stack over vectors", "classification"
TASKS[NAME] = random_layer_task(kind=KIND, d_out=4)
ANSWERS = decide_argmax(MODELS[NAME], TASKS[NAME]).place
assert (ANSWERS >= 0).all()
TASKS[NAME] = replace(TASKS[NAME], labels=np.eye(4)[ANSWERS])


def task_of(name):
    """Contexts of all lengths' longest, each with the token that the exact logits say."""
    if name in TASKS:
        return TASKS[name]
    contexts = np.random.default_rng(1).permutation(VOCABULARY**POSITIONS)[:20]
    contexts = np.stack(np.unravel_index(contexts, (VOCABULARY,) * POSITIONS), axis=1)
    labels = decide_argmax(MODELS[name], contexts).place
    assert (labels >= 0).all()
    counts = Counts.from_rows([{int(label): 1} for label in labels])
    return make_task(contexts, counts, vocabulary=tuple("abcdefg"), target="labels")


@cache
def memory_of_bigrams(name):
    """All bigrams of a few tokens, and weights that hold them."""
    task = enumerated_task(3, 2)
    if name == "one-hot-distributions":
        task = enumerated_task(3, 2, target="distributions")
    cells = all_contexts(6, 2)
    a, b = cells.T
    if name == "low-rank-distributions":  # a distribution for each sum
        powers = np.exp(np.outer(a + b, np.arange(6)) / 6)
        task = array_task(cells, distributions=powers / powers.sum(axis=1, keepdims=True), vocabulary=6)
    if name == "affine":  # sums modulo 6
        task = array_task(cells, next_tokens=(a + b) % 6, vocabulary=6, target="labels")
    return task, BY_NAME[name].build(task, Limits()).model


def installed(name):
    host = host_named(name)
    try:
        host.versions()
    except InputError as error:
        pytest.skip(str(error))
    return host


ISOLATED = """
import os, sys, warnings
warnings.simplefilter("ignore")
for name, given in {given}:
    os.chdir(name)
    sys.path.insert(0, os.getcwd())
    before = set(sys.modules)
{loader}
    import torch
    logits = read(torch.tensor(given))
    assert not any(name.split(".")[0] in ("byheart", "constructions", "verify") for name in sys.modules)
    print("ARGMAX", logits[:, -1].argmax(dim=1).tolist())
    for own in set(sys.modules) - before:
        if (getattr(sys.modules[own], "__file__", None) or "").startswith(os.getcwd()):
            del sys.modules[own]
    del sys.path[0]
    os.chdir("..")
"""


def answers_without_byheart(to, names, folder, loader):
    """Models answer all contexts in the host, in one process that knows the written folders alone."""
    installed(to)
    tasks = [task_of(name) for name in names]
    for number, (name, task) in enumerate(zip(names, tasks, strict=True)):
        with warnings.catch_warnings(action="ignore"):
            export(MODELS[name], task=task, to=to, out=folder / f"model_{number}")
    given = [(f"model_{number}", task.contexts.tolist()) for number, task in enumerate(tasks)]
    code = ISOLATED.format(given=given, loader=textwrap.indent(loader, "    "))
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = [json.loads(line[7:]) for line in run.stdout.splitlines() if line.startswith("ARGMAX ")]
    assert found == [task.labels.tolist() for task in tasks]


def spoiled(task, count):
    """The same contexts, where the first few labels are others."""
    labels = (task.labels + (np.arange(task.n_contexts) < count)) % task.d_vocab
    rows = [{int(label): 1} for label in labels]
    return make_task(task.contexts, Counts.from_rows(rows), vocabulary=task.vocabulary, target="labels")


def written_for(host_name, folder, name):
    """The folder, with a model of the list as a host writes it."""
    folder.mkdir()
    host = host_named(host_name)
    host.write(host.convert(MODELS[name]), folder, "float64")
    return folder
