"""Of how many contexts every float32 run has one answer, proved by balls (R10) and to first order (R15): trained toys.

python benchmarks/bench_every_run.py     needs torch, and transformers for its two toys
"""

import sys
import tempfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from measure import timed

from byheart.hosts.reading import read_model
from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray, Int64Array
from verify.forward.ladder import leads
from verify.forward.logits import logit_chunks
from verify.runs.every_run import every_run
from verify.runs.formats import FLOAT32
from verify.runs.rounding import rounding_bound

TOKENS, LENGTH, TRAINED, ASKED, MODULUS = 40, 3, 300, 4000, 113


def toy(kind: str) -> Model:
    """Return a model of two layers, trained until it knows its random facts."""
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    rng, common = np.random.default_rng(1), {"tie_word_embeddings": False, "bos_token_id": 0, "eos_token_id": 0}
    if kind == "GPT-2":
        rates = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
        module = GPT2LMHeadModel(
            GPT2Config(vocab_size=TOKENS, n_embd=64, n_layer=2, n_head=4, n_positions=8, **rates, **common)
        )
    else:
        sizes = {"hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 2, "num_key_value_heads": 2}
        more = {"num_attention_heads": 8, "max_position_embeddings": 64, "pad_token_id": None}
        module = LlamaForCausalLM(LlamaConfig(vocab_size=TOKENS, **sizes, **more, **common))
    places = rng.permutation(TOKENS**LENGTH)[:TRAINED]
    contexts = torch.tensor(np.stack(np.unravel_index(places, [TOKENS] * LENGTH), 1))
    answers = torch.tensor(rng.integers(TOKENS, size=TRAINED))
    optimizer, loss = torch.optim.AdamW(module.parameters(), lr=3e-3), torch.tensor(np.inf)
    while loss > 0.05:
        logits = module(contexts).logits[:, -1]
        loss = torch.nn.functional.cross_entropy(logits, answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with tempfile.TemporaryDirectory() as folder:
        module.save_pretrained(folder)
        return read_model(Path(folder))


def addition(p: int = MODULUS, steps: int = 1000) -> Model:
    """One layer, without norms, trained by weight decay on .6 of the sums modulo p until it knows all."""
    torch.manual_seed(0)
    d, heads, width, neurons = 128, 4, 32, 512

    def weight(*shape: int) -> torch.nn.Parameter:
        return torch.nn.Parameter(torch.randn(*shape) * d**-0.5)

    maps = {name: weight(heads, d, width) for name in ("W_Q", "W_K", "W_V")} | {"W_O": weight(heads, width, d)}
    rest = {"W_E": weight(p + 1, d), "W_pos": weight(3, d), "W_U": weight(d, p)}
    mlp = {"W_in": weight(d, neurons), "W_out": weight(neurons, d)}
    contexts = torch.cat([torch.cartesian_prod(*[torch.arange(p)] * 2), torch.full((p * p, 1), p)], 1)
    answers = contexts[:, :2].sum(1) % p
    shown = torch.randperm(p * p)[: int(0.6 * p * p)]

    def logits(x: torch.Tensor) -> torch.Tensor:
        rows = rest["W_E"][x] + rest["W_pos"]
        query = torch.einsum("bd,hde->bhe", rows[:, -1], maps["W_Q"])
        key, value = (torch.einsum("bsd,hde->bhse", rows, maps[name]) for name in ("W_K", "W_V"))
        shares = (torch.einsum("bhe,bhse->bhs", query, key) / width**0.5).softmax(-1)
        y = rows[:, -1] + torch.einsum("bhs,bhse,hed->bd", shares, value, maps["W_O"])
        return (y + torch.relu(y @ mlp["W_in"]) @ mlp["W_out"]) @ rest["W_U"]

    optimizer = torch.optim.AdamW([*maps.values(), *rest.values(), *mlp.values()], 1e-3, (0.9, 0.98), weight_decay=1.0)
    for _ in range(steps):
        batch = shown[torch.randint(len(shown), (1024,))]
        loss = torch.nn.functional.cross_entropy(logits(contexts[batch]), answers[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    trained = ({name: x.detach().double().numpy() for name, x in part.items()} for part in (maps, mlp, rest))
    of_attention, of_neurons, of_model = trained
    attention = Attention(
        *(of_attention[name] for name in ("W_Q", "W_K", "W_V", "W_O")), attends="causal", score_root=width
    )
    neurons = FeedForward(of_neurons["W_in"], of_neurons["W_out"], activation="relu")
    return Model((attention, neurons), of_model["W_U"], W_E=of_model["W_E"], W_pos=of_model["W_pos"])


def by_balls(model: Model, contexts: Int64Array) -> BoolArray:
    """Where the lead is above twice the bound of Lemma R10."""
    bound, memorized = rounding_bound(model, contexts, number_format=FLOAT32), np.zeros(len(contexts), dtype=bool)
    for start, logits in logit_chunks(model, contexts):
        part = slice(start, start + len(logits))
        memorized[part] = leads(logits)[1] > 2.0 * bound[part]
    return memorized


def main() -> None:
    """Print a row for each model."""
    asked = np.stack(
        np.unravel_index(np.random.default_rng(0).permutation(TOKENS**LENGTH)[:ASKED], [TOKENS] * LENGTH), 1
    )
    sums = np.stack(np.unravel_index(np.arange(MODULUS**2), [MODULUS, MODULUS]), 1)
    models = [(f"addition mod {MODULUS}, all inputs", addition(), np.column_stack([sums, np.full(len(sums), MODULUS)]))]
    if find_spec("transformers"):
        models += [(f"{kind}, 2 layers, d = 64, random contexts", toy(kind), asked) for kind in ("GPT-2", "Llama")]
    sys.stdout.write("model,contexts,balls,first order,s\n")
    for name, model, contexts in models:
        balls = by_balls(model, contexts)
        found, seconds = timed(partial(every_run, model, contexts, number_format=FLOAT32))
        proved = int((found.place >= 0).sum())
        sys.stdout.write(f'"{name}",{len(contexts)},{balls.sum()},{proved},{seconds:.1f}\n')
        sys.stdout.flush()


if __name__ == "__main__":
    main()
