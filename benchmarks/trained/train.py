"""Small transformers that learn a rule, each written as it is when right on all inputs, and as it was when nearly so.

python benchmarks/trained/train.py FOLDER [RULE ...]     needs torch
"""

import json
import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

sys.path.insert(0, os.fspath(Path(__file__).parent))

import rules

from byheart.hosts.number_types import write_tensors


@dataclass(frozen=True)
class Training:
    """A rule, the shape of what learns it, and how.

    Args:
        length: Tokens that the rule reads.
        tokens: They are below this number.
        answers: Its answers are below this number.
        layers: Of attention and neurons.
        width: Of the stream.
        heads: In a layer, each `width / heads` wide.
        neurons: In a layer; 0 for attention alone.
        norm: Normalize what a layer reads, as GPT-2 does.
        after: A token that stands behind every input.
        share: Of all inputs that are trained on.
        batch: Inputs in a step; 0 for all of these.
        rate: Of AdamW.
        decay: Of the weights.
        steps: At most.
    """

    length: int
    tokens: int
    answers: int
    layers: int
    width: int
    heads: int
    neurons: int
    norm: bool = False
    after: bool = False
    share: float = 1.0
    batch: int = 0
    rate: float = 1e-3
    decay: float = 0.0
    steps: int = 10_000

    @property
    def config(self) -> dict[str, object]:
        """The configuration of a `HookedTransformer`."""
        neurons = {"d_mlp": self.neurons, "act_fn": "relu"} if self.neurons else {}
        return {
            "n_layers": self.layers,
            "d_model": self.width,
            "n_ctx": self.length + self.after,
            "d_head": self.width // self.heads,
            "n_heads": self.heads,
            "d_vocab": self.tokens + self.after,
            "d_vocab_out": self.answers,
            "attn_only": not self.neurons,
            "normalization_type": "LN" if self.norm else None,
            **neurons,
        }


TRAININGS = {
    "addition_53": Training(2, 53, 53, 1, 64, 4, 128, after=True, share=0.6, rate=3e-3, decay=1.0, steps=8_000),
    "addition_113": Training(2, 113, 113, 1, 96, 4, 256, after=True, share=0.4, rate=3e-3, decay=1.0, steps=8_000),
    "dyck": Training(14, 2, 2, 2, 32, 4, 64, norm=True, after=True, batch=512, rate=3e-3),
    "maximum": Training(4, 24, 24, 1, 32, 1, 0, batch=2048, rate=1e-2),
    "induction": Training(6, 6, 6, 2, 48, 4, 0, batch=2048, rate=3e-3),
}


def first_weights(t: Training) -> dict[str, Tensor]:
    """By the names of TransformerLens."""
    d, e = t.width, t.width // t.heads
    shapes = {
        "embed.W_E": (t.tokens + t.after, d),
        "pos_embed.W_pos": (t.length + t.after, d),
        "unembed.W_U": (d, t.answers),
        "unembed.b_U": (t.answers,),
    }
    norms = ["ln_final"]
    for i in range(t.layers):
        shapes |= {f"blocks.{i}.attn.W_{name}": (t.heads, d, e) for name in "QKV"}
        shapes |= {f"blocks.{i}.attn.b_{name}": (t.heads, e) for name in "QKV"}
        shapes |= {f"blocks.{i}.attn.W_O": (t.heads, e, d), f"blocks.{i}.attn.b_O": (d,)}
        norms.append(f"blocks.{i}.ln1")
        if t.neurons:
            shapes |= {f"blocks.{i}.mlp.W_in": (d, t.neurons), f"blocks.{i}.mlp.b_in": (t.neurons,)}
            shapes |= {f"blocks.{i}.mlp.W_out": (t.neurons, d), f"blocks.{i}.mlp.b_out": (d,)}
            norms.append(f"blocks.{i}.ln2")
    weights = {
        name: torch.randn(shape) * d**-0.5 if "W_" in name else torch.zeros(shape) for name, shape in shapes.items()
    }
    if t.norm:
        weights |= {f"{name}.w": torch.ones(d) for name in norms} | {f"{name}.b": torch.zeros(d) for name in norms}
    return {name: each.requires_grad_() for name, each in weights.items()}


def logits(t: Training, w: dict[str, Tensor], tokens: Tensor) -> Tensor:
    """Return what the model answers at the last position, `[T, answers]`."""

    def normed(x: Tensor, name: str) -> Tensor:
        return functional.layer_norm(x, (t.width,), w[f"{name}.w"], w[f"{name}.b"], 1e-5) if t.norm else x

    x = w["embed.W_E"][tokens] + w["pos_embed.W_pos"]
    for i in range(t.layers):
        first = x.shape[1] - 1 if i == t.layers - 1 else 0  # of the last layer one row is read
        a, n = f"blocks.{i}.attn", normed(x, f"blocks.{i}.ln1")
        q, k, v = (
            torch.einsum("tsd,hde->thse", y, w[f"{a}.W_{name}"]) + w[f"{a}.b_{name}"][:, None]
            for name, y in (("Q", n[:, first:]), ("K", n), ("V", n))
        )
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1 + first)
        mixed = scores.masked_fill(later, -math.inf).softmax(-1) @ v
        x = x[:, first:] + torch.einsum("thse,hed->tsd", mixed, w[f"{a}.W_O"]) + w[f"{a}.b_O"]
        if t.neurons:
            m, n = f"blocks.{i}.mlp", normed(x, f"blocks.{i}.ln2")
            x = x + (n @ w[f"{m}.W_in"] + w[f"{m}.b_in"]).relu() @ w[f"{m}.W_out"] + w[f"{m}.b_out"]
    return normed(x[:, -1], "ln_final") @ w["unembed.W_U"] + w["unembed.b_U"]


def domain(t: Training, name: str) -> tuple[Tensor, Tensor]:
    """All inputs as the model reads them, and what the rule says."""
    inputs = torch.cartesian_prod(*[torch.arange(t.tokens)] * t.length)
    goal = torch.as_tensor(getattr(rules, name)(inputs.numpy()))
    return (functional.pad(inputs, (0, 1), value=t.tokens) if t.after else inputs), goal


def wrong(t: Training, w: dict[str, Tensor], inputs: Tensor, goal: Tensor) -> int:
    """How many inputs are answered wrong, in the number type of the weights."""
    with torch.no_grad():
        parts = zip(inputs.split(8192), goal.split(8192), strict=True)
        return sum(int((logits(t, w, x).argmax(-1) != y).sum()) for x, y in parts)


def train(name: str, seed: int = 0) -> dict[str, dict[str, Tensor]]:
    """Return the weights when right on all inputs, and those with the fewest errors before, by the names of their
    folders.
    """
    t = TRAININGS[name]
    torch.manual_seed(seed)
    w = first_weights(t)
    inputs, goal = domain(t, name)
    seen = torch.randperm(len(goal))[: int(t.share * len(goal))]
    rare = goal == 1 if name == "dyck" else None
    adam = torch.optim.AdamW(w.values(), lr=t.rate, weight_decay=t.decay, betas=(0.9, 0.98))
    kept: dict[str, dict[str, Tensor]] = {}
    fewest, began, every = len(goal) // 1000 + 2, time.process_time(), 20 if t.batch == 0 else 50
    step = 0
    for step in range(t.steps):
        for group in adam.param_groups:
            group["lr"] = t.rate * min(1.0, (step + 1) / 20) * (1.0 if t.decay else 1.0 - step / t.steps)
        rows = seen if t.batch == 0 else torch.randint(len(goal), (t.batch,))
        if rare is not None:  # half of a batch matches
            matching = rare.nonzero()[:, 0]
            rows = torch.cat([rows, matching[torch.randint(len(matching), (t.batch,))]])
        loss = functional.cross_entropy(logits(t, w, inputs[rows]), goal[rows])
        adam.zero_grad()
        loss.backward()
        adam.step()
        if step % every == every - 1:
            stored = {each: tensor.detach().bfloat16().float() for each, tensor in w.items()}  # as it is written
            errors = wrong(t, stored, inputs, goal)
            if step % (50 * every) == 50 * every - 1:
                print(f"{name}: step {step + 1}, loss {loss.item():.2g}, {errors} wrong", file=sys.stderr, flush=True)
            if errors <= fewest:
                fewest = errors
                kept[name if errors == 0 else f"{name}_nearly"] = stored
            if errors == 0 and f"{name}_nearly" in kept:
                break
    print(f"{name}: {len(goal)} inputs, {step + 1} steps, {time.process_time() - began:.0f} s of processor time")
    return kept


def main() -> None:
    """Train what the line names, by default everything."""
    torch.set_num_threads(1)
    folder, *names = sys.argv[1:]
    for name in names or TRAININGS:
        for place, weights in train(name).items():
            path = Path(folder) / place
            path.mkdir(parents=True, exist_ok=True)
            arrays = {each: tensor.double().numpy() for each, tensor in weights.items()}
            write_tensors(path / "model.safetensors", arrays, dtype="bfloat16", metadata={})
            (path / "config.json").write_text(json.dumps(TRAININGS[name].config, indent=1) + "\n")


if __name__ == "__main__":
    main()
