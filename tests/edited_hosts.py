"""A random model in the folder of its host, and facts for it."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from byheart.hosts.number_types import rounded_to, write_tensors
from constructions.tasks.arrays import array_task
from constructions.tasks.task import Task
from tests.families import RECORDED, weights
from verify import decide_argmax

TOKENS, LENGTH, WIDTH = 7, 2, 16


def gpt2(folder: Path, *, seed: int = 0, dtype: str = "float32", **config: Any) -> Path:
    """A random model in a folder of the host."""
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> np.ndarray:
        return rounded_to("", rng.normal(size=shape) / np.sqrt(shape[0]), dtype)

    tensors = {
        "wte.weight": drawn(TOKENS, WIDTH) * 4,
        "wpe.weight": drawn(4, WIDTH),
        "lm_head.weight": drawn(TOKENS, WIDTH),
    }
    for layer in range(2):
        place = f"h.{layer}"
        tensors |= {
            f"{place}.attn.c_attn.weight": drawn(WIDTH, 3 * WIDTH),
            f"{place}.attn.c_attn.bias": drawn(3 * WIDTH),
        }
        tensors |= {f"{place}.attn.c_proj.weight": drawn(WIDTH, WIDTH), f"{place}.attn.c_proj.bias": drawn(WIDTH)}
        tensors |= {f"{place}.mlp.c_fc.weight": drawn(WIDTH, 32), f"{place}.mlp.c_fc.bias": drawn(32)}
        tensors |= {f"{place}.mlp.c_proj.weight": drawn(32, WIDTH), f"{place}.mlp.c_proj.bias": drawn(WIDTH)}
        tensors |= {f"{place}.ln_{i}.{name}": 1.0 + drawn(WIDTH) for i in (1, 2) for name in ("weight", "bias")}
    tensors |= {"ln_f.weight": 1.0 + drawn(WIDTH), "ln_f.bias": 0.0625 * drawn(WIDTH)}
    folder.mkdir()
    named = {f"transformer.{name}" if not name.startswith("lm_head") else name: t for name, t in tensors.items()}
    write_tensors(folder / "model.safetensors", named, dtype=dtype, metadata={"format": "pt"})
    own = {
        "model_type": "gpt2",
        "n_layer": 2,
        "n_head": 2,
        "n_embd": WIDTH,
        "n_inner": 2 * WIDTH,
        "n_positions": 4,
        "vocab_size": TOKENS,
        "tie_word_embeddings": False,
        "dtype": dtype,
    }
    (folder / "config.json").write_text(json.dumps({**own, **config}))
    (folder / "merges.txt").write_text("")
    return folder


def recorded(folder: Path, kind: str, case: int) -> Path:
    """The tiny random decoder of another family, of 11 tokens, whose answers are recorded."""
    chosen = [each for each in json.loads(RECORDED.read_text()) if each["config"]["model_type"] == kind][case]
    tensors = weights(chosen["shapes"], chosen["seed"])
    if chosen["tied"]:
        tensors["lm_head.weight"] = tensors[chosen["tied"]]
    folder.mkdir()
    write_tensors(folder / "model.safetensors", tensors, dtype="float32", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps({**chosen["config"], "dtype": "float32"}))
    return folder


def facts(contexts: list[list[int]], answers: list[int], tokens: int = TOKENS) -> Task:
    return array_task(np.array(contexts), next_tokens=np.array(answers), target="labels", vocabulary=tokens)


def answer(model: Any, context: list[int]) -> int:
    return int(decide_argmax(model, np.array([context])).place[0])
