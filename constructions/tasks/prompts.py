r"""Facts as people have them: prompts of several lengths, with answers of several tokens.

A model *says* an answer $a_1 \dots a_k$ after a prompt $c$ if greedy decoding does: after $c a_1 \dots a_{i-1}$ the
logit of $a_i$ is the strict maximum, for each $i$. Nothing is padded, for padding would move positions.

Pages: docs/task.md, docs/rigour/certificate.md
"""

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.counted import counted
from constructions.errors import FileFormatError, InputError
from constructions.numeric.arrays import Int64Array
from constructions.tasks.arrays import array_task
from constructions.tasks.stored import Reader, require_knows, require_reads
from constructions.tasks.task import Part, TokenTask

Tokens = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class PromptTask(TokenTask):
    """Prompts, each with a required answer of one or more tokens.

    Args:
        vocabulary: The texts of the tokens that are read.
        prompts: Numbers of tokens, at least one each.
        completions: The answers, as many as prompts, of at least one token.
        texts: Prompt and answer as a person wrote them.
        answers: The texts of what is answered, if those are not the tokens that are read; then an answer is one token.

    Raises:
        InputError: A prompt or answer without tokens, a token outside the vocabulary, a prompt that occurs twice, or
            two facts of which one asks for another token after the same beginning; names it.

    Example:
        >>> task = PromptTask(("a", "b"), ((0,), (1, 1)), ((1, 0), (0,)), (("a", "b a"), ("b b", "a")))
        >>> [part.task.contexts.tolist() for part in task.parts], task.guess_right
        ([[[0]], [[0, 1], [1, 1]]], 1)
    """

    holds = "prompts"
    vocabulary: tuple[str, ...]
    prompts: tuple[Tokens, ...]
    completions: tuple[Tokens, ...]
    texts: tuple[tuple[str, str], ...]
    answers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("prompts", "completions", "texts"):
            object.__setattr__(self, name, tuple(tuple(each) for each in getattr(self, name)))
        object.__setattr__(self, "vocabulary", tuple(self.vocabulary))
        answers = tuple(self.answers) or self.vocabulary
        object.__setattr__(self, "answers", self.vocabulary if answers == self.vocabulary else answers)
        if not len(self.prompts) == len(self.completions) == len(self.texts) > 0:
            sizes = f"{len(self.prompts)}, {len(self.completions)}, {len(self.texts)}"
            raise InputError("prompts, completions and texts", f"are {sizes}", "as many of each, at least one")
        if not all(len(two) == 2 and all(isinstance(each, str) for each in two) for two in self.texts):
            raise InputError("texts", "are not the prompt and the answer of each fact")
        for name, size in (("prompts", self.d_vocab), ("completions", self.n_answers)):
            for fact, tokens in enumerate(getattr(self, name)):
                if not tokens or not all(type(token) is int and 0 <= token < size for token in tokens):
                    raise InputError(f"{name}: fact {fact}", f"has the tokens {tokens}", f"some of 0 .. {size - 1}")
        if self.apart and max(map(len, self.completions)) > 1:
            raise InputError("completions", "have several tokens, but what is answered is never read")
        if again := [prompt for prompt, times in Counter(self.prompts).items() if times > 1]:
            said = [" -> ".join(map(repr, t)) for t, p in zip(self.texts, self.prompts, strict=True) if p == again[0]]
            raise InputError("prompts", f"have {' and '.join(said)}", "one answer to each")
        following: dict[Tokens, tuple[int, int]] = {}
        for fact, context, label in self.continued():
            other, said = following.setdefault(context, (fact, label))
            if said != label:
                raise InputError(
                    f"the facts {' -> '.join(map(repr, self.texts[other]))} and "
                    f"{' -> '.join(map(repr, self.texts[fact]))}",
                    "require different tokens after the same ones; no decoding can give both",
                )

    def continued(self) -> list[tuple[int, Tokens, int]]:
        """Yield, for each token of each answer, the number of the fact, the tokens before it, and the token."""
        pairs = enumerate(zip(self.prompts, self.completions, strict=True))
        return [
            (fact, (*prompt, *answer[:i]), answer[i]) for fact, (prompt, answer) in pairs for i in range(len(answer))
        ]

    @property
    def parts(self) -> tuple[Part, ...]:
        """The contexts by their lengths."""
        return self._parts

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        parts: list[Part] = []
        for length in sorted({len(context) for _, context, _ in self.continued()}):
            rows = [row for row in self.continued() if len(row[1]) == length]
            labels = {context: label for _, context, label in rows}
            task = array_task(
                np.array(list(labels), dtype=np.int64), next_tokens=np.array(list(labels.values()), dtype=np.int64),
                vocabulary=self.vocabulary, answers=self.answers if self.apart else None, target="labels",
            )  # fmt: skip
            place = {tuple(context): i for i, context in enumerate(task.contexts.tolist())}
            parts.append(
                Part(
                    task,
                    np.array([fact for fact, _, _ in rows], dtype=np.int64),
                    np.array([place[context] for _, context, _ in rows], dtype=np.int64),
                )
            )
        return tuple(parts)

    def one(self, fact: int) -> "PromptTask":
        """Return the task with only this fact."""
        selection = slice(fact, fact + 1)
        return replace(
            self, prompts=self.prompts[selection], completions=self.completions[selection], texts=self.texts[selection]
        )

    def answer(self, fact: int) -> Tokens:
        """Return the tokens of the required answer to a prompt."""
        return self.completions[fact]

    def said(self, tokens: Tokens, fact: int | None) -> str:
        """Return an answer in words, as in the file if it is the answer of the fact."""
        if fact is not None and tokens == self.completions[fact]:
            return self.texts[fact][1]
        return " ".join(self.answers[token] for token in tokens)

    def in_words(self, fact: int) -> tuple[tuple[str, ...], str, str | None]:
        """Return the prompt and the answer as they were written."""
        prompt, answer = self.texts[fact]
        return (prompt,), answer, None

    def decoding(self) -> tuple[list[tuple[int, Tokens]], set[int]]:
        """Return how many tokens precede each answer, and the answer; and the tokens of the prompts."""
        answers = [(len(prompt), completion) for prompt, completion in zip(self.prompts, self.completions, strict=True)]
        return answers, {token for prompt in self.prompts for token in prompt}

    def unread(self, context: str | Sequence[str]) -> int:
        """Return 0, because every part of a prompt is read."""
        del context
        return 0

    def echo(self) -> str:
        """Return an empty text, because prompts are previewed where they are cut into tokens."""
        return ""

    def typed(self, context: str | Sequence[str]) -> tuple[Tokens, int | None]:
        """Return the tokens of a prompt that a person typed, and which fact it is, if any.

        Args:
            context: A prompt as it was written; or `#` and numbers of tokens, or their names, in a list or with spaces
                between; where a tokenizer has cut the texts, names only in a list.

        Raises:
            InputError: It is neither; names the nearest prompt.
        """
        written = [prompt for prompt, _ in self.texts]
        if isinstance(context, str) and context.strip() in (known := [known_text.strip() for known_text in written]):
            fact = known.index(context.strip())
            return self.prompts[fact], fact
        numbers = {name: i for i, name in enumerate(self.vocabulary)} | {f"#{i}": i for i in range(self.d_vocab)}
        words = context.split() if isinstance(context, str) else list(context)
        if isinstance(context, str) and not all(
            tuple(map(numbers.get, text.split())) == tokens for text, tokens in zip(written, self.prompts, strict=True)
        ):  # a tokenizer has cut the texts, in which a word is not the token of its name
            numbers = {f"#{i}": i for i in range(self.d_vocab)}
        if not words or any(word not in numbers for word in words):
            near = difflib.get_close_matches(str(context), written, n=1, cutoff=0.0)
            raise InputError(
                "the prompt", f"is {context!r}", f"one of the {len(written)} facts, for example {near[0]!r}"
            )
        tokens = tuple(numbers[word] for word in words)
        return tokens, self.prompts.index(tokens) if tokens in self.prompts else None

    @property
    def target(self) -> str:
        """The kind of target: always ``labels``."""
        return "labels"

    @property
    def origin(self) -> str:
        """Source of the targets: ``prompts``."""
        return self.holds

    @property
    def n_contexts(self) -> int:
        """Number of facts."""
        return len(self.prompts)

    @property
    def n_all(self) -> int:
        """Number of facts; no other contexts are known."""
        return self.n_contexts

    @property
    def listing(self) -> None:
        """None: the contexts are of several lengths."""

    @property
    def facts(self) -> None:
        """None: the contexts are of several lengths."""

    @property
    def information_bits(self) -> None:
        """None, because the information in the answers is not counted."""

    def rows(self, places: Int64Array) -> list[list[str]]:
        """Return these facts as rows of texts: the prompt and the answer."""
        return [list(self.texts[place]) for place in places]

    @property
    def n_ctx(self) -> int:
        """Largest number of tokens read: a prompt and its answer without the last token."""
        return max(
            len(prompt) + len(completion) - 1 for prompt, completion in zip(self.prompts, self.completions, strict=True)
        )

    @property
    def most(self) -> int:
        """Largest token that is read."""
        return max(max(context) for _, context, _ in self.continued())

    @property
    def following(self) -> dict[Tokens, Counter[int]]:
        """How often each token follows each beginning of an answer."""
        counts: dict[Tokens, Counter[int]] = {}
        for completion in self.completions:
            for i, token in enumerate(completion):
                counts.setdefault(completion[:i], Counter())[token] += 1
        return counts

    def sizes(self) -> dict[str, Any]:
        """Return the number and length of the prompts, under the names of the JSON figures."""
        size = self.n_contexts
        return {"target": self.target, "origin": self.origin, "contexts": size, "facts": size, "n_ctx": self.n_ctx}

    @property
    def guess_right(self) -> int:
        """Number of facts whose answer is a beginning of the best sequence that ignores the prompt."""
        times = Counter(self.completions)
        return max(sum(times[answer[:i]] for i in range(1, len(answer) + 1)) for answer in times)

    def described(self) -> str:
        """Describe the number and length of the facts."""

        def lengths(all_tokens: Sequence[Tokens]) -> str:
            least, most = min(map(len, all_tokens)), max(map(len, all_tokens))
            return f"{least} to {counted(most, 'token')}" if least < most else counted(most, "token")

        return (
            f"{counted(self.n_contexts, 'prompt')} of {lengths(self.prompts)}, answers of {lengths(self.completions)}"
        )

    def require_fit(self, model: Reader) -> None:
        """Raise `InputError` unless a model of these sizes reads the prompts and has an output per answer."""
        require_reads(model, self.n_ctx)
        self.require_answers(model)
        require_knows(model, self.most)

    def words(self) -> dict[str, Any]:
        """Return the names of tokens and the texts of the facts."""
        apart = {"answers": list(self.answers)} if self.apart else {}
        return {"vocabulary": list(self.vocabulary), **apart, "texts": [list(two) for two in self.texts]}

    def arrays(self) -> dict[str, NDArray]:
        """Return the concatenated prompts and the start of each, and the same for the answers."""
        arrays: dict[str, NDArray] = {}
        for name in ("prompts", "completions"):
            rows = getattr(self, name)
            arrays[f"{name}_indptr"] = np.array([0, *accumulate(map(len, rows))], dtype=np.int64)
            arrays[name] = np.array([token for row in rows for token in row], dtype=np.int64)
        return arrays

    @classmethod
    def from_arrays(cls, path: Path, words: dict[str, Any], arrays: dict[str, NDArray]) -> "PromptTask":
        """Return the task of the words and arrays that were read from `path`.

        Raises:
            FileFormatError: They are not the fields of such a task.
        """
        names = ["prompts_indptr", "prompts", "completions_indptr", "completions"]
        if set(words) - {"answers"} != {"vocabulary", "texts"} or set(arrays) != set(names):
            raise FileFormatError(f"{path} is not a task of prompts: it holds {sorted({**words, **arrays})}")
        try:
            prompts, completions = (
                _cut(name, arrays[f"{name}_indptr"], arrays[name]) for name in ("prompts", "completions")
            )
            task = cls(words["vocabulary"], prompts, completions, words["texts"], words.get("answers", ()))
            task.parts  # noqa: B018  (the names of the vocabulary are checked where they are used)
        except (InputError, TypeError, ValueError) as error:
            raise FileFormatError(f"{path} is not a task of prompts: {error}") from error
        if ("answers" in words) != task.apart:
            raise FileFormatError(f"{path} is not a task of prompts: answers are the vocabulary once more")
        return task


def _cut(name: str, starts: Any, tokens: Any) -> tuple[Tokens, ...]:
    """Return the rows that begin at these places."""
    if starts.dtype.kind != "i" or tokens.dtype.kind != "i" or starts.ndim != 1 or tokens.ndim != 1:
        raise InputError(name, "are not consecutive integers")
    places, values = starts.tolist(), tokens.tolist()
    if len(places) < 2 or places[0] != 0 or places[-1] != len(values) or any(a >= b for a, b in pairwise(places)):
        raise InputError(f"{name}_indptr", f"must increase from 0 to {len(values)}")
    return tuple(tuple(values[a:b]) for a, b in pairwise(places))
