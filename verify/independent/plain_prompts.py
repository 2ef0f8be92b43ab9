"""A file of prompts and answers, read and hashed by the standard library alone.

Page: docs/rigour/certificate.md
"""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from flint import arb

from constructions.errors import FileFormatError
from verify.independent.ball_answers import Answer
from verify.independent.ball_divergence import entropy
from verify.independent.plain.plain_arrays import PlainArray, reading
from verify.independent.plain.plain_task import (
    PlainTask,
    PlainVectorTask,
    read_words,
    require_arrays,
    require_names,
    task_sha256,
)

_ARRAYS = {
    "prompts_indptr": ("q", 1),
    "prompts": ("q", 1),
    "completions_indptr": ("q", 1),
    "completions": ("q", 1),
}


@dataclass(frozen=True)
class PlainPromptTask:
    """Prompts and answers as tokens, and what each answer is asked as: contexts with the token behind each.

    Args:
        n_outputs: Tokens that can be answered.
        prompts: One for each fact.
        said: Their answers.
        sha256: The hash of the file's content.
    """

    n_outputs: int
    prompts: list[tuple[int, ...]]
    said: list[tuple[int, ...]]
    sha256: str

    target = "labels"
    origin = "prompts"

    @classmethod
    def of(cls, path: Path, words: dict[str, Any], arrays: dict[str, PlainArray]) -> "PlainPromptTask":
        """The task of the words and arrays that were read from `path`.

        Raises:
            FileFormatError: They are not such a task.
        """
        with reading(path, "task of prompts"):
            if {"vocabulary", "texts"} != set(words) - {"answers"}:
                raise FileFormatError(f"{path} is not a task of this kind: its header says {sorted(words)}")
            names = [words["vocabulary"], words.get("answers", words["vocabulary"])]
            for kind, tokens in zip(("vocabulary", "answers"), names, strict=True):
                require_names(path, kind, tokens)
            require_arrays(path, arrays, _ARRAYS)
            prompts = _rows(path, "prompts", arrays, len(names[0]))
            said = _rows(path, "completions", arrays, len(names[1]))
            if not len(prompts) == len(said) == len(words["texts"]) or len(set(prompts)) < len(prompts):
                raise FileFormatError(f"{path}: prompts are not distinct, or not as many as answers and texts")
            if not all(isinstance(two, list) and list(map(type, two)) == [str, str] for two in words["texts"]):
                raise FileFormatError(f"{path}: texts are not the prompt and the answer of each fact")
            if "answers" in words and (names[0] == names[1] or max(map(len, said)) > 1):
                raise FileFormatError(f"{path}: answers are the vocabulary once more, or several tokens of none")
            task = cls(len(names[1]), prompts, said, task_sha256("prompts", words, arrays, _ARRAYS))
            if any(len(labels) > 1 for labels in task._following().values()):
                raise FileFormatError(f"{path}: two facts ask for different tokens after the same ones")
            return task

    def _following(self) -> dict[tuple[int, ...], set[int]]:
        """What is asked behind each context."""
        found: dict[tuple[int, ...], set[int]] = {}
        for prompt, said in zip(self.prompts, self.said, strict=True):
            for i, token in enumerate(said):
                found.setdefault(prompt + said[:i], set()).add(token)
        return found

    def sizes(self) -> dict[str, int]:
        """The sizes of the task by the names of a certificate."""
        longest = max(len(prompt) + len(said) - 1 for prompt, said in zip(self.prompts, self.said, strict=True))
        return {"contexts": len(self.prompts), "context_length": longest, "all_contexts": len(self.prompts)}

    @property
    def contexts(self) -> list[tuple[int, ...]]:
        """All that is read before some token of an answer."""
        return list(self._following())

    def asked(self, facts: list[int]) -> list[tuple[PlainTask, list[int]]]:
        """For each length the contexts of some facts, as a task of their own, and the fact of each."""
        found: dict[int, tuple[list[tuple[int, ...]], list[int], list[int]]] = {}
        for fact in facts:
            prompt, said = self.prompts[fact], self.said[fact]
            for i, token in enumerate(said):
                contexts, labels, of = found.setdefault(len(prompt) + i, ([], [], []))
                contexts.append(prompt + said[:i])
                labels.append(token)
                of.append(fact)
        return [
            (
                PlainTask(
                    "labels", "own", self.n_outputs, contexts, [], [{t: 1} for t in labels], [], labels, None, ""
                ),
                of,
            )
            for contexts, labels, of in found.values()
        ]

    def most_frequent(self) -> int:
        """How many facts one answer begins with, or is, at most."""
        times = Counter(self.said)
        return max(sum(times[said[:i]] for i in range(1, len(said) + 1)) for said in times)

    def guess(self) -> arb:
        """The mean loss of the best guess that looks at the beginning of an answer and not at the prompt."""
        after: dict[tuple[int, ...], Counter[int]] = {}
        for said in self.said:
            for i, token in enumerate(said):
                after.setdefault(said[:i], Counter())[token] += 1
        parts = (sum(times.values()) * entropy(map(arb, times.values())) for times in after.values())
        return sum(parts, arb(0)) / len(self.said)


def whole(answers: list[Answer]) -> Answer:
    """What the tokens of an answer say of it: the least of their gaps, the sum of their losses."""
    margin, loss = answers[0].margin, answers[0].loss
    for each in answers[1:]:
        if margin is None or each.margin is None:
            margin = each.margin if margin is None else margin
        else:
            margin = margin.min(each.margin)
        loss = loss + each.loss
    return Answer(margin, loss)


def _rows(path: Path, name: str, arrays: dict[str, PlainArray], size: int) -> list[tuple[int, ...]]:
    starts, tokens = arrays[f"{name}_indptr"].values, arrays[name].values
    good = len(starts) > 1 and starts[0] == 0 and starts[-1] == len(tokens) and all(a < b for a, b in pairwise(starts))
    if not good or not all(0 <= token < size for token in tokens):
        raise FileFormatError(f"{path}: {name} are not rows of tokens from 0 to {size - 1}")
    return [tuple(tokens[a:b]) for a, b in pairwise(starts)]


def read_task(path: Path) -> PlainTask | PlainVectorTask | PlainPromptTask:
    """Read the task in a file, whichever kind it is.

    Raises:
        FileFormatError: The file is missing or is no task.
    """
    words, arrays = read_words(path)
    kind = PlainVectorTask if "kind" in words else PlainPromptTask if "texts" in words else PlainTask
    return kind.of(path, words, arrays)
