"""A table whose answers are never read: parameters of each memory with one vocabulary, and with two."""

import argparse

import numpy as np
from measure import timed

from constructions.memories.memory import Limits
from constructions.menu import BY_NAME
from constructions.model.model import Model
from constructions.tasks.table import facts_task
from constructions.tasks.task import Task
from verify.provers.memorization import certify_memorization


def countries(subjects: int, seed: int = 0) -> Task:
    """Three facts of each of so many subjects: a capital of its own, one of 40 languages, one of 6 continents."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(subjects):
        answers = {"capital": f"city {i}", "language": f"language {rng.integers(40)}"}
        answers["continent"] = f"continent {rng.integers(6)}"
        rows += [(f"country {i}", relation, answer) for relation, answer in answers.items()]
    return facts_task(rows)


def built(name: str, task: Task) -> tuple[Model, float, str]:
    """Return the model, the seconds to build it, and the first words of its certificate."""
    found, seconds = timed(lambda: BY_NAME[name].build(task, Limits()))
    model = found.model
    return model, seconds, certify_memorization(model, task).certificate.headline().split(":")[0]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subjects", type=int, default=100)
    parser.add_argument("--memories", nargs="+", choices=tuple(BY_NAME), default=["knots", "rank-one-heads", "newton"])
    options = parser.parse_args()
    apart = countries(options.subjects)
    together = apart.in_one_vocabulary()
    print(
        f"{apart.n_contexts} facts; {apart.d_vocab} tokens are read, {apart.n_answers} answered, "
        f"{together.d_vocab} in one vocabulary"
    )
    print(f"{'memory':>16} {'vocabularies':>12} {'parameters':>10} {'facts each':>10} {'seconds':>8}  verdict")
    for name in options.memories:
        for count, task in ((1, together), (2, apart)):
            model, seconds, verdict = built(name, task)
            each = task.n_contexts / model.parameters
            print(f"{name:>16} {count:>12} {model.parameters:>10} {each:>10.3f} {seconds:>8.1f}  {verdict}", flush=True)


if __name__ == "__main__":
    main()
