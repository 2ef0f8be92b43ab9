"""A replica that torch compiles, for the device that it lies on.

Page: docs/run.md
"""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from verify.torch.module import Replica

_RECOMPILATIONS = 64  # shapes for which one function is compiled again, before torch gives up


@contextmanager
def compiled(replica: Replica, *, backend: str = "inductor") -> Iterator[nn.Module]:
    """Compile a replica within the block, and discard the compiled code afterwards.

    Its operations are fused, reordered and rounded less often, which the rounding bound allows: every one is still of
    the type or finer. Where a part cannot be compiled torch runs it as it is; where it would silently go back to
    running everything as it is, because too many shapes came by, it raises an error.

    Args:
        replica: The module.
        backend: Of `torch.compile`.

    Yields:
        A module of the same outputs up to rounding; it is compiled when it first runs on a shape.

    Example:
        >>> from constructions.model.model import Model
        >>> import numpy as np
        >>> echo = Model(blocks=(), W_U=np.eye(3), W_E=np.eye(3), W_pos=np.zeros((2, 3)))
        >>> with compiled(Replica.from_model(echo), backend="eager") as module:
        ...     module(torch.tensor([[0, 2]])).tolist()
        [[0.0, 0.0, 1.0]]
    """
    torch.compiler.reset()  # or the shapes of other modules count
    limits = {"recompile_limit": _RECOMPILATIONS, "fail_on_recompile_limit_hit": True}
    with torch._dynamo.config.patch(**limits), _errors_only():  # pyright: ignore[reportAttributeAccessIssue]
        try:
            yield torch.compile(replica, dynamic=True, backend=backend)  # pyright: ignore[reportReturnType]
        finally:
            torch.compiler.reset()


@contextmanager
def _errors_only() -> Iterator[None]:
    """Limit the compiler's output to errors, because uncompiled parts produce many log lines."""
    loggers = [logging.getLogger(f"torch._{part}") for part in ("dynamo", "inductor", "functorch")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what the compiler itself uses of torch
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
