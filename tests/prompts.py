"""A small model, facts of several lengths that it says but for the last one, and folders that somebody forged."""

import hashlib
from dataclasses import replace
from functools import cache

import numpy as np

from byheart import certify
from constructions.formats.files import canonical_json
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from constructions.tasks.criterion import Criterion
from constructions.tasks.prompts import PromptTask
from tests import task_files
from verify.certificates.certificate import Certificate
from verify.forward.ladder import decide_argmax

NAMES = tuple("the cat sat on a mat and dog".split())
PROMPTS = ((0, 1), (2, 3, 4), (5,), (6, 7, 0, 1), (7, 7))
COUNTS = (3, 1, 2, 2, 3)
ORDER = ("prompts_indptr", "prompts", "completions_indptr", "completions")


def small_model(seed=0, tokens=8, n_ctx=7):
    """One causal layer of attention and neurons, with normalizations."""
    draw = np.random.default_rng(seed).normal

    def norm():
        return Normalization("layer", w=draw(1, 0.1, 6), b=draw(0, 0.1, 6))

    maps = (draw(size=shape) for shape in ((2, 6, 3), (2, 6, 3), (2, 6, 3), (2, 3, 6)))
    blocks = (
        Attention(*maps, attends="causal", score_root=3, norm=norm()),
        FeedForward(draw(size=(6, 9)), draw(size=(9, 6)), draw(size=9), draw(size=6), activation="gelu", norm=norm()),
        norm(),
    )
    return Model(blocks, W_U=draw(size=(6, tokens)), W_E=draw(size=(tokens, 6)), W_pos=draw(size=(n_ctx, 6)))


def said_by(model, prompt, count):
    """Greedy decoding in float64, without our walk's help but for the logits of one context at a time."""
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(int(decide_argmax(model, np.array([tokens])).place[0]))
    return tuple(tokens[len(prompt) :])


@cache
def model():
    """The model that the facts are asked of."""
    return small_model()


@cache
def facts():
    """What the model says, but that the last fact's last token is another."""
    said = [said_by(model(), prompt, count) for prompt, count in zip(PROMPTS, COUNTS, strict=True)]
    said[-1] = (*said[-1][:-1], (said[-1][-1] + 1) % 8)
    return [(list(prompt), list(answer)) for prompt, answer in zip(PROMPTS, said, strict=True)]


def certified(out):
    """The folder of a certificate that at least four of the five are memorized."""
    certify(model(), facts(), criterion=Criterion.at_least(4), out=out)
    return out


def task_of(pairs):
    """The task of prompts and answers."""
    prompts, said = (tuple(map(tuple, each)) for each in zip(*pairs, strict=True))
    return PromptTask(NAMES, prompts, said, tuple((str(prompt), str(answer)) for prompt, answer in pairs))


def forged(folder, out, parts):
    """The folder with another task, which the certificate names by its hash."""
    for name in ("model.safetensors", "certificate.json"):
        (out / name).write_bytes((folder / name).read_bytes())
    task_files.write(out / "task.safetensors", parts, task="prompts")
    words = {name: value for name, value in parts.items() if name not in ORDER}
    digest = hashlib.sha256(canonical_json({"task": "prompts", **words}).encode())
    for name in [name for name in ORDER if name in parts]:
        digest.update(f"{name}:{','.join(map(str, parts[name].shape))};".encode() + parts[name].tobytes())
    found = Certificate.load(out)
    replace(found, subject=replace(found.subject, task=digest.hexdigest())).save(out)
