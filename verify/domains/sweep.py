"""Judge models with several heads by evaluating every input as a sum of table rows and one quotient per head.

Page: docs/rigour/domains.md
"""

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np

from constructions.numeric.arrays import Int64Array
from constructions.tasks.rule import RuleTask
from verify.arithmetic.enclosure import Enclosure
from verify.domains.attention_tables import AttentionTables
from verify.domains.tally import Tally

_ENTRIES = 2**19  # numbers of an array that is worked on


def sweep_last_token(tables: AttentionTables, task: RuleTask, place: int, tally: Tally) -> Iterator[Int64Array]:
    """Decide the inputs that end with one token, for a model of any number of heads.

    Args:
        tables: Tables of the model and the tokens of the task.
        task: The rule and its domain.
        place: Its index among the tokens of the last position.
        tally: Counts the inputs that are decided.

    Returns:
        Iterator of arrays of inputs `[T, S]` that float64 leaves open.
    """
    last = int(task.tokens[-1][place])
    direct = tables.direct(last)
    tokens = [*task.tokens[:-1], task.tokens[-1][[place]]]
    steps = [*task.steps[:-1], task.steps[-1][:, [place]]]
    sizes = [len(table) for table in tokens]
    # The numerators and the denominator of each head, of each position.
    parts = [_parts(power, value, task, place) for power, value in zip(tables.powers(last), tables.values, strict=True)]
    inner = 1  # positions whose sums are made once, for all that they may hold
    while inner < len(sizes) and prod(sizes[: inner + 1]) * len(direct) <= _ENTRIES:
        inner += 1
    begun = np.stack(np.unravel_index(np.arange(prod(sizes[:inner])), sizes[:inner]), axis=1)
    sums = [[_sum([table[s][begun[:, s]] for s in range(inner)]) for table in part] for part in parts]
    states = np.zeros(len(begun), dtype=np.int64)
    for s in range(inner):
        states = steps[s][states, begun[:, s]]
    for ended in product(*map(range, sizes[inner:])):
        logits, state = direct, states
        for part, (numerator, denominator) in zip(parts, sums, strict=True):
            for s, token in enumerate(ended, start=inner):
                numerator, denominator = numerator + part[0][s][token], denominator + part[1][s][token]
            logits = logits + numerator / denominator
        for s, token in enumerate(ended, start=inner):
            state = steps[s][state, token]
        inputs = _contexts(tokens, begun, ended)
        left = tally.count(logits, task.answers[state], inputs)
        if len(left):
            yield inputs[left]


def _parts(power: Enclosure, value: Enclosure, task: RuleTask, place: int) -> tuple[list[Enclosure], list[Enclosure]]:
    """Return the summands of the numerators `[tokens, d_vocab_out]` and of the denominator `[tokens, 1]`, of each
    position.
    """
    ends = np.cumsum([len(tokens) for tokens in task.tokens])
    places = [np.arange(end - len(tokens), end) for end, tokens in zip(ends, task.tokens, strict=True)]
    places[-1] = places[-1][[place]]
    denominator = power.reshape(-1, 1)
    return [(denominator * value)[rows] for rows in places], [denominator[rows] for rows in places]


def _sum(parts: list[Enclosure]) -> Enclosure:
    result = parts[0]
    for part in parts[1:]:
        result = result + part
    return result


def _contexts(tokens: list[Int64Array], begun: Int64Array, ended: tuple[int, ...]) -> Int64Array:
    places = np.concatenate([begun, np.broadcast_to(ended, (len(begun), len(ended))).astype(np.int64)], axis=1)
    return np.stack([position_tokens[places[:, s]] for s, position_tokens in enumerate(tokens)], axis=1)
