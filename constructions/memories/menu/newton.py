"""Heads that a search finds.

Page: docs/claims/newton_memory.md
"""

from typing import TYPE_CHECKING

from constructions.counted import counted
from constructions.memories.memory import Limits, Memory, require_few

if TYPE_CHECKING:
    from constructions.model.construction import Construction
    from constructions.tasks.task import Task

_UNNAMED = 8e9
"""Work of a search that is not asked for, nanoseconds as `levenberg_marquardt` counts them."""
_ALONE = 3e10
"""The same where memories with neurons are refused: half a minute."""
_NAMED = 3e11
"""The same of one that is named, and a thousandth of it for each fact beyond a thousand."""
_MOST, _MOST_ALONE = 512, 4096
"""Facts up to which it is tried without being named, and where memories with neurons are refused."""


class Newton(Memory):
    """The memory `newton`."""

    name = "newton"
    needs = "labels; up to 2^14 contexts"
    cost = "0.7 to 1.7 a fact, found by a search of seconds to minutes"
    page = "docs/claims/newton_memory.md"
    attention_only = True
    turn = 11

    def build(self, task: "Task", limits: Limits) -> "Construction[Task]":
        from constructions.memories.newton.newton_memory import newton_memory
        from constructions.model.construction import Construction

        if limits.named:
            work = _NAMED * max(1.0, task.n_contexts / 1000)
        else:
            require_few(task, _MOST_ALONE if limits.attention_only else _MOST)
            work = _ALONE if limits.attention_only else _UNNAMED
        memory = newton_memory(task, work=work, seed=limits.seed, progress=limits.progress)
        width, d_qk, n_heads = memory.shape
        tried = ", ".join(f"{a.parameters}: {a.solved} of {a.seeds}" for a in memory.attempts)
        return Construction(
            task,
            memory.network,
            f"{counted(task.n_contexts, 'context')} by {counted(n_heads, 'head')} found by search, d = {width}, "
            f"d_qk = {d_qk}, {memory.parameters} parameters; starts that succeeded, by parameters: {tried}"
            + ("" if memory.complete else f"; the search was stopped after {work / 1e9:g} s, as its steps are counted"),
        )


MEMORY = Newton()
