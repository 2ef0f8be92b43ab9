"""An edit beside MEMIT's closed form and beside fine-tuning: new facts that hold, and old ones that are lost.

python benchmarks/bench_editing.py [EDITS]     needs torch and transformers
"""

import copy
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from measure import print_head
from transformers import GPT2Config, GPT2LMHeadModel

from byheart.editing import edit
from constructions.edits.half_space import TRIGGER
from constructions.model.appended_neurons import appended
from constructions.tasks.arrays import array_task

TOKENS, LENGTH, TRAINED, MOST_STEPS = 40, 3, 300, 400
STRENGTHS = (1.0, 100.0, 1e4)


def toy(contexts: torch.Tensor, answers: torch.Tensor) -> GPT2LMHeadModel:
    """GPT-2 of two layers that was trained until it gives the answers."""
    torch.manual_seed(0)
    rates = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "bos_token_id": 0, "eos_token_id": 0}
    config = GPT2Config(
        vocab_size=TOKENS, n_embd=64, n_layer=2, n_head=4, n_positions=8, tie_word_embeddings=False, **rates
    )
    module = GPT2LMHeadModel(config)
    tuned(module, contexts, answers, rate=3e-3, loss_below=0.05)
    return module.eval()


def tuned(
    module: GPT2LMHeadModel, contexts: torch.Tensor, answers: torch.Tensor, *, rate: float, loss_below: float = np.inf
) -> int:
    """Train until all answers are given and the loss is small; how many steps it took."""
    optimizer = torch.optim.AdamW(module.parameters(), lr=rate)
    for step in range(MOST_STEPS):
        logits = module(contexts).logits[:, -1]
        loss = torch.nn.functional.cross_entropy(logits, answers)
        if bool((logits.argmax(-1) == answers).all()) and loss.item() < loss_below:
            return step
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return MOST_STEPS


def answered(module: GPT2LMHeadModel, contexts: torch.Tensor) -> torch.Tensor:
    """Return the place of the largest logit, in float32."""
    with torch.no_grad():
        return torch.cat([module(part).logits[:, -1].argmax(-1) for part in contexts.split(8192)])


def keys(module: GPT2LMHeadModel, contexts: torch.Tensor) -> torch.Tensor:
    """Return what the last output map of neurons reads at the last position, in float64."""
    found: list[torch.Tensor] = []
    hook = module.transformer.h[-1].mlp.c_proj.register_forward_pre_hook(lambda _, given: found.append(given[0][:, -1]))
    answered(module, contexts)
    hook.remove()
    return torch.cat(found).double()


def main(edits: int) -> None:
    rng = np.random.default_rng(1)
    everything = np.stack(np.unravel_index(rng.permutation(TOKENS**LENGTH), (TOKENS,) * LENGTH), axis=1)
    domain, facts = torch.tensor(everything), torch.tensor(rng.integers(TOKENS, size=TRAINED))
    module = toy(domain[:TRAINED], facts)
    new, wanted = domain[TRAINED : TRAINED + edits], torch.tensor(rng.integers(TOKENS, size=edits))
    before = answered(module, domain)
    print_head("method", "new facts", "trained facts kept", "other contexts, same answer", "more parameters", "s")

    def row(name: str, changed: GPT2LMHeadModel, more: int, seconds: float) -> None:
        after = answered(changed, domain)
        memorized = int((after[TRAINED : TRAINED + edits] == wanted).sum())
        same = after == before
        rest, others = int(same[TRAINED + edits :].sum()), len(domain) - TRAINED - edits
        counts = f"{memorized} of {edits} | {int(same[:TRAINED].sum())} of {TRAINED} | {rest} of {others}"
        print(f"| {name} | {counts} | {more} | {seconds:.1f} |", flush=True)

    with tempfile.TemporaryDirectory() as place:
        source, out = Path(place) / "before", Path(place) / "after"
        module.save_pretrained(source)
        task = array_task(new.numpy(), next_tokens=wanted.numpy(), target="labels", vocabulary=TOKENS)
        start = time.process_time()
        done = edit(source, task, keep_domain=LENGTH, out=out)
        seconds = time.process_time() - start
        print(f"<!-- {done.certificate.headline()} -->")
        loaded = GPT2LMHeadModel.from_pretrained(out).eval()
        row("one neuron a fact, proved", loaded, done.model.parameters - done.original.parameters, seconds)
    targets = torch.tensor(TRIGGER * appended(done.model, edits).writes)  # the same as the neurons write
    edited_keys = keys(module, torch.tensor(done.edit.contexts))  # a task has its contexts in an order of its own
    for name, known in (("the domain", keys(module, domain)), ("the trained facts", keys(module, domain[:TRAINED]))):
        moment = known.T @ known / len(known)
        for strength in STRENGTHS:
            changed, start = copy.deepcopy(module), time.process_time()
            gram = strength * moment + edited_keys.T @ edited_keys
            gram += 1e-9 * gram.trace() * torch.eye(len(gram), dtype=torch.float64)
            step = torch.linalg.solve(gram, edited_keys.T @ targets)
            weight = changed.transformer.h[-1].mlp.c_proj.weight
            weight.data = (weight.double() + step).float()
            row(f"closed form, {strength:g} times the moment of {name}", changed, 0, time.process_time() - start)
    for rate in (1e-3, 1e-4):
        changed, start = copy.deepcopy(module), time.process_time()
        steps = tuned(changed, new, wanted, rate=rate)
        row(f"fine-tuned for {steps} steps of rate {rate:g}", changed, 0, time.process_time() - start)
    changed, start = copy.deepcopy(module), time.process_time()
    both = torch.cat([domain[:TRAINED], new]), torch.cat([facts, wanted])
    steps = tuned(changed, *both, rate=1e-3)
    row(f"fine-tuned for {steps} steps on new and trained facts", changed, 0, time.process_time() - start)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
