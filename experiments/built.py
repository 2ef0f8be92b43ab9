"""What the smallest memory of byheart holds of random labels of all bigrams, beside what is trained.

Page: docs/experiments.md
"""

from functools import cache

from experiments.points import Point


@cache
def built(tokens: int, data_seed: int = 0) -> tuple[int, float]:
    """Parameters of the smallest memory of random labels, and the share that every float32 run of it holds, proved.

    Args:
        tokens: N, of whose N^2 bigrams each has a label.
        data_seed: Of the labels.

    Example:
        >>> built(50)
        (1805, 1.0)
    """
    from byheart.jobs.memorize import hold
    from verify.torch.run import run

    task = Point(tokens=tokens, d_model=1, d_head=1, heads=0, data_seed=data_seed).task()
    model = hold(task).model
    memorized = run(model, task, dtype="float32").memorized_proved or 0
    return model.parameters, memorized / task.n_contexts
