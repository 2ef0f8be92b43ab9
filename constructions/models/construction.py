"""Weights that are built to hold a task.

Page: docs/audit.md
"""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from constructions.errors import InputError
from constructions.folds.fold import Fold
from constructions.models.model import Model
from constructions.tasks.criterion import Criterion
from constructions.tasks.prompts import PromptTask
from constructions.tasks.rule import RuleTask
from constructions.tasks.task import Task
from constructions.tasks.vectors import VectorTask

TaskT = TypeVar("TaskT", Task, VectorTask)


@dataclass(frozen=True, eq=False)
class Construction(Generic[TaskT]):
    """Weights that a claim promises, and what they hold.

    Args:
        task: What the weights are to hold.
        model: The weights, as they are shipped: rounded to float64.
        summary: What was built and how large it is, in one sentence.
        criterion: What is promised of them; by default that every context is held.

    Raises:
        InputError: The model does not read or does not answer the contexts of the task.
    """

    task: TaskT
    model: Model
    summary: str
    criterion: Criterion = field(default_factory=Criterion)

    def __post_init__(self) -> None:
        require_fit(self.model, self.task)


def require_fit(model: Model, task: Task | VectorTask | PromptTask | RuleTask | Fold) -> None:
    """Raise `InputError` unless the model reads the contexts of the task and has an output for each of its answers."""
    if isinstance(task, VectorTask):
        if model.reads_tokens:
            raise InputError("task", "brings vectors, the model reads tokens")
        if model.d_model != task.d_model:
            raise InputError(
                "task", f"has vectors of dimension {task.d_model}, the model reads dimension {model.d_model}"
            )
        if model.d_vocab_out != task.d_out:
            raise InputError("task", f"has {task.d_out} labels per example, the model {model.d_vocab_out} outputs")
        return
    if not model.reads_tokens:
        raise InputError("task", "has contexts of tokens, the model reads vectors")
    if isinstance(task, Fold):
        if task.longest > model.n_ctx:
            raise InputError("task", f"takes {task.longest} positions", f"at most n_ctx = {model.n_ctx}")
        for name, size in (("d_vocab", model.d_vocab), ("d_vocab_out", model.d_vocab_out)):
            if task.largest_token >= size:
                raise InputError("task", f"has the token {task.largest_token}", f"tokens below {name} = {size}")
        return
    if task.n_ctx > model.n_ctx:
        raise InputError("task", f"has contexts of {task.n_ctx} tokens, the model reads {model.n_ctx}")
    if isinstance(task, RuleTask):
        if not int(task.answers.max()) < model.d_vocab_out:
            raise InputError("task", f"has the answer {task.answers.max()}, the model {model.d_vocab_out} logits")
        if not task.most < model.d_vocab:
            raise InputError("task", f"has the token {task.most}, the model knows 0 .. {model.d_vocab - 1}")
        return
    if task.n_answers != model.d_vocab_out:
        kind = "answers" if task.apart else "tokens"
        hint = "; task.in_one_vocabulary() numbers them as tokens" if isinstance(task, Task) and task.apart else ""
        raise InputError("task", f"has {task.n_answers} {kind}, the model {model.d_vocab_out} logits{hint}")
    if isinstance(task, PromptTask):
        most = task.most
    else:
        most = max(int(tokens.max(initial=0)) for tokens in (task.contexts, task.tail_contexts))
    if not most < model.d_vocab:
        raise InputError("task", f"has the token {most}, the model knows 0 .. {model.d_vocab - 1}")
