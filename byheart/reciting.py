"""A whole text learned by heart, and said again: every window of it is a fact, and decoding is an induction over them.

Page: docs/recitation.md
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from constructions.counted import counted
from constructions.errors import InputError
from constructions.models.model import Model
from constructions.tasks.recitation import is_one_text, least_context, text_path
from constructions.tasks.task import Task
from constructions.tasks.text import Unit, text_task, units
from verify.certificates.certificate import Certificate
from verify.certificates.memorization import load_subject
from verify.forward.ladder import decide_argmax
from verify.progress import Progress, silent
from verify.runs.exact_runs import exact_runs
from verify.runs.formats import FLOAT32, FLOAT64

_FORMATS = {"float32": FLOAT32, "float64": FLOAT64}
_MOST_ENTRIES = 2**26  # of the windows, as numbers of tokens
UNIT_NAMES = {"char": "character", "byte": "byte"}


def whole_text(text: str | bytes, unit: Unit = "char") -> Task:
    """The task of a whole text: all of its windows of the least length that determines what follows.

    Args:
        text: The text.
        unit: ``"char"`` or ``"byte"``.

    Returns:
        The task, of labels.

    Raises:
        InputError: Fewer than two tokens, a unit whose tokens do not make up the text, or windows that are too long:
            says how long they have to be.

    Example:
        >>> task = whole_text("so much depends upon a red wheel barrow")
        >>> task.n_ctx, task.n_contexts
        (2, 37)
    """
    if unit not in UNIT_NAMES:
        raise InputError("unit", f"= {unit!r}", "'char' or 'byte': the tokens of a whole text make up the text")
    tokens = units(text, unit)
    numbers = np.unique(np.array(tokens), return_inverse=True)[1].reshape(-1)
    length = least_context(numbers)
    if length * len(tokens) > _MOST_ENTRIES:
        raise InputError(
            "the text",
            f"repeats {counted(length - 1, UNIT_NAMES[unit])}, so a context of {length} is needed to know what "
            f"follows; with {len(tokens)} of them that is too much: ask for frequent contexts (--facts, --context)",
        )
    return text_task(text, unit=unit, vocabulary=len(set(tokens)), context=length, target="labels")


@dataclass(frozen=True)
class Recitation:
    """What a folder says by heart.

    Args:
        begins: The first S tokens, which are given.
        said: The tokens that follow, each the answer to the S before it.
        proved: How many of them, from the first on, are proved right in every run of the type.
        exact: How many of them, from the first on, are proved right in real arithmetic.
        dtype: The type.
        whole: Whether it is the whole text, and not what stands behind a place of it.
    """

    begins: tuple[str, ...]
    said: tuple[str, ...]
    proved: int
    exact: int
    dtype: str
    whole: bool

    @property
    def text(self) -> str:
        """The text as far as it is proved."""
        return "".join((*self.begins, *self.said[: max(self.proved, self.exact)]))

    def headline(self) -> str:
        """The answer in one line."""
        total = len(self.said)
        first = f"after the first {len(self.begins)}" if self.whole else f"behind {''.join(self.begins)!r}"
        if self.proved == total:
            return f"BY HEART, PROVED: {total} of {total} tokens {first}, in every {self.dtype} run"
        if self.exact == total:
            runs = f"in every {self.dtype} run {self.proved}"
            return f"BY HEART, PROVED: {total} of {total} tokens {first}, in real arithmetic; {runs}"
        return f"NOT BY HEART: {self.exact} of {total} tokens {first} are proved; the next one is not"


def recite(
    folder: Path | str, *, start: str | None = None, dtype: str = "float32", progress: Progress = silent
) -> Recitation:
    r"""Say what a folder knows by heart, from its beginning or from a place of one's own, and prove it.

    Let the model be right about every window of S tokens of a text. Then greedy decoding from $x_1 \dots x_S$ says
    $x_{S+1}, \dots, x_L$: if the last S tokens are $x_{i-S+1} \dots x_i$, they are a fact, and the largest logit is
    that of $x_{i+1}$. Each window on the way is judged here, in every run of the type and, where that says nothing, in
    real arithmetic.

    Args:
        folder: A folder that `byheart memorize --whole` wrote.
        start: Text that ends in a context of the folder; by default its beginning.
        dtype: ``"float32"`` or ``"float64"``: the runs that are judged.
        progress: Called with the stage and the finished share of it.

    Returns:
        What is said, and how much of it is proved.

    Raises:
        InputError: `start` is no place of the text, or the folder holds no text.
        FileFormatError: A file is missing or is not what it should be.
        TamperedError: The files are not those that the certificate names.
    """
    certificate = Certificate.load(Path(folder))
    model, task = load_subject(Path(folder), certificate)
    if not isinstance(task, Task) or task.target != "labels" or task.apart or not is_one_text(task):
        raise InputError(folder, "holds no text by heart", "a folder that `byheart memorize --whole` wrote")
    return recitation(model, task, start=start, dtype=dtype, progress=progress)


def recitation(
    model: Model, task: Task, *, start: str | None = None, dtype: str = "float32", progress: Progress = silent
) -> Recitation:
    """What a model says of the text whose windows are the facts of a task; see `recite`."""
    path = text_path(task, start)
    progress("windows", None, f"{len(path)} windows of {task.n_ctx} tokens")
    facts, at = np.unique(path, return_inverse=True)
    contexts, labels = task.contexts[facts], task.labels[facts]
    held = exact_runs(model, contexts, labels, _FORMATS[dtype]).held
    right = held if held.all() else decide_argmax(model, contexts).place == labels
    names = task.vocabulary
    begins, said = (names[t] for t in task.contexts[path[0]]), (names[label] for label in task.labels[path])
    return Recitation(tuple(begins), tuple(said), _first_wrong(held[at]), _first_wrong(right[at]), dtype, start is None)


def _first_wrong(right: np.ndarray) -> int:
    return len(right) if right.all() else int((~right).argmax())


def decoded(folder: Path | str, recitation: Recitation, *, dtype: str = "float32") -> Iterator[str]:
    """What one greedy run in torch says after the beginning of a recitation, token by token.

    Args:
        folder: The folder.
        recitation: What was proved of it; it gives the beginning and how far to go.
        dtype: The type of the run.

    Returns:
        Iterator of tokens.

    Raises:
        FileFormatError: As `recite`.
    """
    import torch

    from verify.replica.module import Replica, full_precision

    model, task = load_subject(Path(folder), Certificate.load(Path(folder)))
    assert isinstance(task, Task)
    numbers = {name: i for i, name in enumerate(task.vocabulary)}
    last = [numbers[token] for token in recitation.begins]
    replica = Replica.from_model(model, dtype=getattr(torch, dtype))
    with torch.inference_mode(), full_precision():
        for _ in recitation.said:
            token = int(replica(torch.tensor([last]))[0].argmax())
            yield task.vocabulary[token]
            last = [*last[1:], token]
