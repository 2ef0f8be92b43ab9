"""Describe a request for a memory: which one, in which precision, within which limits.

Page: docs/commands.md
"""

from dataclasses import dataclass

from byheart.choice.chooser import SMALLEST
from byheart.device import require_device
from constructions.errors import InputError, require_at_least
from constructions.memories.memory import Memory
from constructions.menu import MEMORIES
from constructions.model.precision import Precision
from constructions.tasks.criterion import TOLERANCE

THEOREM_1 = "theorem-1"
"""The memory whose sizes can be given."""


@dataclass(frozen=True)
class Request:
    """A request for a memory.

    Args:
        memory: The name of a memory, a memory of one's own (`constructions.memories.memory.Memory`), or ``"smallest"``,
            the default; with a size ``"theorem-1"`` is the default.
        dtype: The precision that weights are rounded to, and in which the smallest memory has to hold the task when it
            is run; by default ``"float32"``, or where sizes make it the heads of Theorem 1' ``"float64"``.
        attention_only: Refuse models with neurons.
        layers: Refuse models with more layers of attention or neurons.
        d_model: $d$ of the heads of Theorem 1'; the stream of other memories is at most so wide.
        d_head: $d_h$ of them; the heads of other memories are at most so wide.
        n_heads: $H$ of them, see `constructions.heads_of_theorem_1.memory.theorem_1`.
        front_end: Their family of attention patterns.
        tolerance: The largest divergence of a memorized distribution, nats.
        quick: Take the first memory that every run in `dtype` holds; search for no smaller one.
        seed: Seed of every random choice.
        device: The device for large float64 products, and for the replica besides the CPU.
        source: The source of the task, for the report.
        reading: How it was read, for the figures.
        left_out: The part of it that was omitted, for the first line.

    Raises:
        InputError: A size of a memory that has none, or an impossible seed or device.
    """

    memory: str | Memory | None = None
    dtype: Precision | None = None
    attention_only: bool = False
    layers: int | None = None
    d_model: int | None = None
    d_head: int | None = None
    n_heads: int | None = None
    front_end: str = "auto"
    tolerance: float = TOLERANCE
    quick: bool = False
    seed: int = 0
    device: str = "cpu"
    source: str = ""
    reading: str | None = None
    left_out: str = ""

    def __post_init__(self) -> None:
        require_device(self.device)
        require_at_least(0, seed=self.seed)
        if self.name != THEOREM_1:
            for name, value in self._own.items():
                if value is not None:
                    raise InputError(
                        name, f"= {value!r} is given, but only the memory {THEOREM_1!r} has such, not {self.name!r}"
                    )

    @property
    def _own(self) -> dict[str, int | str | None]:
        """Options that only the heads of Theorem 1' have."""
        front_end = None if self.front_end == "auto" else self.front_end
        return {"n_heads": self.n_heads, "front_end": front_end}

    @property
    def _is_sized(self) -> bool:
        return any(size is not None for size in (self.d_model, self.d_head, *self._own.values()))

    @property
    def name(self) -> str:
        """Name of the requested memory."""
        if self.memory is None:
            return THEOREM_1 if self._is_sized else SMALLEST
        return self.memory.name if isinstance(self.memory, Memory) else self.memory

    @property
    def memories(self) -> tuple[Memory, ...]:
        """Available memories; the heads of Theorem 1' have the given sizes."""
        if isinstance(self.memory, Memory):
            return (self.memory,)
        return tuple(memory.sized(self.d_model, self.d_head, **self._own) for memory in MEMORIES)

    @property
    def precision(self) -> Precision:
        """Requested number type."""
        return self.dtype or ("float64" if self.memory is None and self._is_sized else "float32")
