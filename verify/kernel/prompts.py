"""Read a task file whose facts are prompts with answers of several tokens, each asked after the ones before it.

Page: docs/rigour/kernel.md
"""

from itertools import pairwise
from typing import Any

from verify.kernel.files import Tensor, require_fields, sha256_of
from verify.kernel.task import FILE, LARGEST_CONTEXTS, Context, Task, require_arrays, require_names
from verify.kernel.verdicts import BadInputError

TASK = "prompts"
_ARRAYS = {"prompts_indptr": 1, "prompts": 1, "completions_indptr": 1, "completions": 1}  # in the order of the hash


def read(words: dict[str, Any], arrays: dict[str, Tensor]) -> Task:
    """Return the task of these words and arrays: the contexts are the prompts, each followed by a prefix of its answer.

    Raises:
        BadInputError: They are anything but a task of prompts in its one form.
    """
    require_fields(FILE, "metadata", words, ["task", "vocabulary", "texts"], ["answers"])
    names, answers = words["vocabulary"], words.get("answers", words["vocabulary"])
    require_names("vocabulary", names)
    require_names("answers", answers)
    require_arrays(arrays, _ARRAYS)
    prompts, completions = _rows("prompts", arrays, len(names)), _rows("completions", arrays, len(answers))
    if len(set(prompts)) < len(prompts) or len(completions) != len(prompts):
        raise BadInputError(FILE, "prompts", "hold one prompt twice, or are not as many as the completions")
    if "answers" in words and (answers == names or max(map(len, completions)) > 1):
        raise BadInputError(FILE, "answers", "are the vocabulary once more, or are said several at a time")
    _require_texts(words["texts"], len(prompts))
    if (
        sum(len(a) * len(p) + len(a) * (len(a) - 1) // 2 for p, a in zip(prompts, completions, strict=True))
        > LARGEST_CONTEXTS
    ):
        raise BadInputError(FILE, "completions", f"make contexts of more than {LARGEST_CONTEXTS} tokens")
    numbered: dict[Context, tuple[int, int]] = {}  # of each context its number and what shall follow it
    facts = []
    for prompt, answer in zip(prompts, completions, strict=True):
        places = []
        for i, token in enumerate(answer):
            place, label = numbered.setdefault(prompt + answer[:i], (len(numbered), token))
            if label != token:
                raise BadInputError(FILE, "completions", "ask for two tokens behind the same ones")
            places.append(place)
        facts.append(tuple(places))
    labels, digest = (
        [label for _, label in numbered.values()],
        sha256_of(words, {name: arrays[name] for name in _ARRAYS}),
    )
    return Task("labels", "prompts", len(answers), list(numbered), labels, None, [], [], digest, None, None, facts)


def _rows(name: str, arrays: dict[str, Tensor], size: int) -> list[Context]:
    """Return the nonempty rows of tokens delimited by the array `name_indptr`."""
    starts, tokens = arrays[f"{name}_indptr"].values, arrays[name].values
    cover_all = len(starts) > 1 and starts[0] == 0 and starts[-1] == len(tokens)
    increase = all(start < stop for start, stop in pairwise(starts))
    if not (cover_all and increase and all(0 <= token < size for token in tokens)):
        raise BadInputError(FILE, name, f"with its indices are no rows of tokens below {size}")
    return [tuple(tokens[start:stop]) for start, stop in pairwise(starts)]


def _require_texts(texts: Any, count: int) -> None:
    """Require the written prompt and answer of each fact; these are names, about which nothing is proved."""
    if not isinstance(texts, list) or len(texts) != count:
        raise BadInputError(FILE, "texts", "are not as many as the prompts")
    if not all(isinstance(two, list) and [type(text) for text in two] == [str, str] for two in texts):
        raise BadInputError(FILE, "texts", "are not a prompt and an answer for each fact")
