"""What the host of an edited model computes: its answers in float32 and in bfloat16, measured, and what bounds say.

Page: docs/claims/editing.md
"""

from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from byheart.editing import Edited
from constructions.errors import InputError
from constructions.numeric.arrays import Int64Array
from constructions.progress import Progress, silent
from verify.edits.certificate import FLAT
from verify.edits.contexts import by_length

HOW = (("float32", "eager"), ("float32", "sdpa"), ("bfloat16", "eager"), ("bfloat16", "sdpa"))
_TOGETHER = 4096  # contexts of a batch


@dataclass(frozen=True)
class HostRun:
    """What one run of the host answered; a largest logit that another equals is not an answer.

    Args:
        dtype: The type of its numbers.
        attention: Its implementation of the attention.
        edited: Edited contexts that are answered as asked.
        asked: How many there are, without those that shall have the uniform distribution.
        kept: Kept contexts with the answer that is proved to be the exact one.
        as_before: Kept contexts answered as the original answers them in the same run.
        all_kept: How many there are.
    """

    dtype: str
    attention: str
    edited: int
    asked: int
    kept: int
    as_before: int
    all_kept: int

    def json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def run_in_host(source: Path, folder: Path, edited: Edited, *, progress: Progress = silent) -> list[HostRun]:
    """Load both folders in their host, run them on all edited and kept contexts, and count answers: a measurement.

    Args:
        source: The folder before the edit.
        folder: The folder after it.
        edited: What `byheart.editing.edit` returned.
        progress: Called with the stage and the finished share of it.

    Returns:
        What each run of `HOW` answered.

    Raises:
        InputError: The host is not installed here.
    """
    asked = edited.edit.answers != FLAT
    contexts, answers, kept = edited.edit.contexts[asked], edited.edit.answers[asked], edited.edit.kept
    exact, found = edited.proof.kept.answer, []
    for dtype, attention in HOW:
        progress("host", None, f"{dtype}, {attention}")
        new = _answers(folder, contexts, dtype, attention)
        after = _answers(folder, kept, dtype, attention)
        before = _answers(source, kept, dtype, attention)
        found.append(
            HostRun(
                dtype,
                attention,
                int((new == answers).sum()),
                len(answers),
                int(((after == exact) & (exact >= 0)).sum()),
                int((after == before).sum()),
                len(kept),
            )
        )
    return found


def _answers(folder: Path, contexts: Int64Array, dtype: str, attention: str) -> Int64Array:
    """Return the place of the largest logit, -1 where two are equal or none is a number."""
    try:
        torch, transformers = import_module("torch"), import_module("transformers")
    except ImportError as error:
        raise InputError("run", f"needs {error.name}", "`pip install 'byheart[huggingface]'`") from None
    loaded = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=getattr(torch, dtype), attn_implementation=attention, local_files_only=True
    ).eval()
    found = np.zeros(len(contexts), dtype=np.int64)
    with torch.no_grad():
        for places, rows in by_length(contexts):
            for start in range(0, len(rows), _TOGETHER):
                some = torch.as_tensor(rows[start : start + _TOGETHER])
                two = loaded(some, use_cache=False).logits[:, -1].float().topk(2, dim=1)
                place = torch.where(two.values[:, 0] > two.values[:, 1], two.indices[:, 0], -1)
                found[places[start : start + _TOGETHER]] = place.numpy()
    return found
