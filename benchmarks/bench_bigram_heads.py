"""Closed forms for all bigrams: parameters, what is proved chunk by chunk, and what float32 arithmetic makes of it."""

import argparse
import resource
import time

import numpy as np
from measure import print_head, print_row

from constructions.bigrams.block_heads import block_heads_memory
from constructions.bigrams.cross_heads import cross_heads_memory
from constructions.models.model import Model
from constructions.tasks.arrays import enumerated_task
from constructions.tasks.task import Task
from verify.divergence.kullback_leibler import argmax_margin
from verify.forward.logits import logit_chunks

MEMORIES = {"block heads": block_heads_memory, "cross heads": cross_heads_memory}


def proved(model: Model, task: Task) -> tuple[int, float]:
    """How many labels are proved to have the largest logit, and by how much at least; bounded memory."""
    right, least = 0, np.inf
    for start, part in logit_chunks(model, task.contexts):
        margins = argmax_margin(part, task.modes(slice(start, start + len(part))))
        right += int((margins > 0).sum())
        least = min(least, float(margins.min()))
    return right, least


def right_in_float32(model: Model, task: Task) -> tuple[int, float]:
    """For how many bigrams the argmax is right if every operation is one of NumPy in float32, and the least margin."""
    single = np.float32
    head = model.attention
    W_E, W_U = model.W_E.astype(single), model.W_U.astype(single)
    first, second = W_E + model.W_pos[0].astype(single), W_E + model.W_pos[1].astype(single)
    W_Q, W_K = head.W_Q.astype(single), head.W_K.astype(single)
    W_V, W_O = head.W_V.astype(single), head.W_O.astype(single)
    keys_first, keys_second = first @ W_K, second @ W_K
    labels = np.empty((len(W_E),) * 2, dtype=np.int64)
    labels[task.contexts[:, 1], task.contexts[:, 0]] = task.labels
    right, least = 0, np.inf
    for c in range(len(W_E)):
        query = second[c] @ W_Q  # [H, d_qk]
        scores = np.stack([np.einsum("hq,hnq->nh", query, keys_first), np.broadcast_to(
            np.einsum("hq,hq->h", query, keys_second[:, c]), (len(W_E), len(query)))])  # fmt: skip
        powers = np.exp(scores - scores.max(axis=0))
        shares = powers / powers.sum(axis=0)
        values = shares[0] * (first @ W_V)[:, :, 0].T + shares[1] * (second[c] @ W_V)[:, 0]
        logits = (second[c] + values @ W_O[:, 0]) @ W_U
        at = np.arange(len(W_E)), labels[c]
        top = logits[at].copy()
        logits[at] = -np.inf
        margins = top - logits.max(axis=1)
        right += int((margins > 0).sum())
        least = min(least, float(margins.min()))
    return right, least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, nargs="+", default=[10, 50, 64, 128, 256])
    parser.add_argument("--memories", nargs="+", default=list(MEMORIES), choices=MEMORIES)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    columns = (
        "N", "memory", "facts", "heads", "d, d_qk", "parameters", "nonzero", "facts per parameter", "seconds to build",
        "seconds to prove", "PROVED", "least margin", "right in float32", "margin there", "peak memory, GB",
    )  # fmt: skip
    print_head(*columns)
    for tokens in options.tokens:
        task = enumerated_task(tokens, 2, seed=options.seed)
        for name in options.memories:
            start = time.process_time()
            model = MEMORIES[name](task, dtype="float32").model
            middle = time.process_time()
            right, margin = proved(model, task)
            end = time.process_time()
            run, run_margin = right_in_float32(model, task)
            row = (
                tokens,
                name,
                task.n_contexts,
                model.n_heads,
                f"{model.d_model}, {model.d_qk}",
                model.parameters,
                sum(int(np.count_nonzero(tensor)) for tensor in model.tensors().values()),
                f"{task.n_contexts / model.parameters:.3f}",
                f"{middle - start:.2f}",
                f"{end - middle:.1f}",
                f"{right} of {task.n_contexts}",
                f"{margin:.3f}",
                f"{run} of {task.n_contexts}",
                f"{run_margin:.3f}",
                f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f}",
            )
            print_row(*row)


if __name__ == "__main__":
    main()
