r"""One head: most of a domain is decided by sums of independent minima over the positions, without enumeration.

The denominator of the one softmax is common to all logits and drops out of their order, so that the lead of a label
over a rival is a sum over the positions; its least value over all inputs with that label is a shortest path in the
automaton of the rule. Where that is not above 0, inputs are told apart token by token, and only as far as it takes.

Page: docs/rigour/domains.md
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from constructions.numeric.arrays import BoolArray, Int64Array
from constructions.tasks.rule import RuleTask
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import Floats, down, gamma, quiet
from verify.domains.attention_tables import AttentionTables
from verify.domains.tally import MOST_NAMED, Tally

_ENTRIES = 2**21  # numbers of an array that is worked on
_LARGEST = 2.0**900  # sums of fewer than 2^100 smaller numbers do not overflow


def summands(tables: AttentionTables, last: int) -> Enclosure:
    r"""Return $F_s(t) = e_s(t) (v_s(t) + D)$ of all positions, stacked, for a given last token and one head.

    The logits are $\sum_s F_s(t_s)$ divided by a positive number (Lemma W2). At the last position the one row is that
    of the given token.

    Args:
        tables: Tables of a model of one head.
        last: The token at the last position.

    Returns:
        Enclosure `[tokens of all positions, d_vocab_out]`.
    """
    [values], [powers] = tables.values, tables.powers(last)
    products = powers.reshape(-1, 1) * (values + tables.direct(last))
    before = len(products) - len(tables.tokens[-1])
    place = before + int(np.searchsorted(tables.tokens[-1], last))
    return products[np.append(np.arange(before), place)]


@quiet
def leads(summands: Enclosure, label: int, length: int, *, of_rivals: bool = False) -> Floats:
    """Return lower bounds of $F(t)_m - F(t)_b$, or of $F(t)_b - F(t)_m$, for the label $m$ and every rival $b$.

    They are so much too small that a sum of `length` of them, added in any order in float64, is below the sum of the
    true differences; where that cannot be said, they are minus infinity (Lemma W3).

    Args:
        summands: $F$, `[tokens, d_vocab_out]`.
        label: m.
        length: How many are added.
        of_rivals: Whether it is the rivals that lead.

    Returns:
        `[tokens, d_vocab_out - 1]`.
    """
    rivals = np.delete(np.arange(summands.shape[1]), label)
    lead = summands[:, [label]] - summands[:, rivals]
    bound = -lead.upper() if of_rivals else lead.lower()
    lower = down(bound - 2.0 * gamma(length + 2) * np.abs(bound))
    return np.where(np.abs(lower) <= _LARGEST, lower, -np.inf)


@dataclass
class Budget:
    """Number of input prefixes that may still be examined one by one."""

    left: int


def judge_last_token(
    tables: AttentionTables, task: RuleTask, place: int, tally: Tally, budget: Budget
) -> Iterator[Int64Array]:
    """Decide the inputs that end with one token, for a model of one head.

    Args:
        tables: Tables of the model and the tokens of the task.
        task: The rule and its domain.
        place: Its index among the tokens of the last position.
        tally: Counts the inputs that are decided.
        budget: What may be spent; where it is used up, inputs are omitted.

    Returns:
        Iterator of arrays of inputs `[T, S]` that float64 leaves open.
    """
    contributions = summands(tables, int(task.tokens[-1][place]))
    steps = [*task.steps[:-1], task.steps[-1][:, [place]]]
    tokens = [*task.tokens[:-1], task.tokens[-1][[place]]]
    for label in np.unique(task.answers[steps[-1]]):
        cell = _Cell(contributions, int(label), steps, tokens, task.answers == label)
        if (cell.least_right[0] > 0.0).all():
            tally.right += int(cell.ends[0][0])
        else:
            yield from cell.judged(tally, budget)


class _Cell:
    """The inputs with one last token and one label, as the paths of a trellis.

    Only states from which the label is still reached have a place. `V` of a state is the least sum that any end of an
    input adds from there on.

    Args:
        summands: $F$ of all positions, one below the other.
        label: m.
        steps: For each position, the next states, `[states, tokens]`.
        tokens: The tokens of each position.
        ends: Whether each of the last states has the label.
    """

    def __init__(
        self,
        summands: Enclosure,
        label: int,
        steps: list[Int64Array],
        tokens: list[Int64Array],
        ends: BoolArray,
    ) -> None:
        counts = [ends.astype(np.int64)]
        for step in reversed(steps):
            counts.insert(0, counts[0][step].sum(axis=1))
        kept = [np.flatnonzero(count) for count in counts]
        self.summands, self.label, self.tokens = summands, label, tokens
        self.after: list[Int64Array] = []  # of each position the place of the next state, or -1, `[places, tokens]`
        for step, here, there, count in zip(steps, kept, kept[1:], counts[1:], strict=False):
            places = np.full(len(count), -1)
            places[there] = np.arange(len(there))
            self.after.append(places[step[here]])
        # Of each layer how many ends of inputs lead from each state to the label, `[places]`.
        self.ends = [count[here] for count, here in zip(counts, kept, strict=True)]
        self.right = self._leads(of_rivals=False)
        self.least_right = self._least(self.right)  # V of each layer, `[places, rivals]`

    @cached_property
    def wrong(self) -> list[Floats]:
        """Margins of the rivals, per position."""
        return self._leads(of_rivals=True)

    @cached_property
    def least_wrong(self) -> list[Floats]:
        """V of the leads of the rivals."""
        return self._least(self.wrong)

    def _leads(self, *, of_rivals: bool) -> list[Floats]:
        margins = leads(self.summands, self.label, len(self.tokens), of_rivals=of_rivals)
        return np.split(margins, np.cumsum([len(tokens) for tokens in self.tokens])[:-1])

    @quiet
    def _least(self, bounds: list[Floats]) -> list[Floats]:
        """Return the least sums of the ends of inputs, layer by layer from the last (Lemma W4)."""
        rivals = bounds[0].shape[1]
        least = [np.zeros((len(self.ends[-1]), rivals))]
        for after, bound in zip(reversed(self.after), reversed(bounds), strict=True):
            here = np.empty((len(after), rivals))
            for rows in _blocks(len(after), after.shape[1] * rivals):
                states, tokens = np.nonzero(after[rows] >= 0)
                sums = bound[tokens] + least[0][after[rows][states, tokens]]
                firsts = np.flatnonzero(np.diff(states, prepend=-1))
                here[rows] = np.minimum.reduceat(sums, firsts, axis=0)
            least.insert(0, here)
        return least

    @quiet
    def judged(self, tally: Tally, budget: Budget) -> Iterator[Int64Array]:
        """Decide the inputs from their prefixes; return those that stay open at their ends."""
        nothing = np.zeros((1, self.right[0].shape[1]))
        start = _Beginnings(np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64), nothing, nothing)
        stack = [self._undecided(start, 0, tally)]
        while stack:
            beginnings = stack.pop()
            layer = beginnings.tokens.shape[1]
            if not len(beginnings.state):
                continue
            if layer == len(self.after):
                yield self._contexts(beginnings.tokens)
                continue
            rows = max(1, _ENTRIES // (max(1, nothing.size) * self.after[layer].shape[1]))
            if len(beginnings.state) > rows:
                stack.append(beginnings[rows:])
            if budget.left <= 0:
                return
            longer = self._longer(beginnings[:rows], layer)
            budget.left -= len(longer.state)
            stack.append(self._undecided(longer, layer + 1, tally))

    def _longer(self, beginnings: "_Beginnings", layer: int) -> "_Beginnings":
        """Return all prefixes extended by one token."""
        parent, token = np.nonzero(self.after[layer][beginnings.state] >= 0)
        return _Beginnings(
            np.concatenate([beginnings.tokens[parent], token[:, None]], axis=1),
            self.after[layer][beginnings.state[parent], token],
            beginnings.right[parent] + self.right[layer][token],
            beginnings.wrong[parent] + self.wrong[layer][token],
        )

    def _undecided(self, beginnings: "_Beginnings", layer: int, tally: Tally) -> "_Beginnings":
        """Count the prefixes that are decided for every continuation, and return the others (Lemma W5)."""
        state = beginnings.state
        right = (beginnings.right + self.least_right[layer][state] > 0.0).all(axis=1)
        wrong = (beginnings.wrong + self.least_wrong[layer][state] > 0.0).any(axis=1)
        tally.right += int(self.ends[layer][state[right]].sum())
        tally.wrong += int(self.ends[layer][state[wrong]].sum())
        if (room := MOST_NAMED - len(tally.examples)) > 0 and wrong.any():
            tally.name(self._first_ends(beginnings[np.flatnonzero(wrong)], room))
        return beginnings[np.flatnonzero(~right & ~wrong)]

    def _first_ends(self, beginnings: "_Beginnings", most: int) -> Int64Array:
        """Return a limited number of the inputs that begin with one of these prefixes."""
        beginnings = beginnings[:most]
        for layer in range(beginnings.tokens.shape[1], len(self.after)):
            beginnings = self._longer(beginnings, layer)[:most]
        return self._contexts(beginnings.tokens)

    def _contexts(self, places: Int64Array) -> Int64Array:
        return np.stack([tokens[places[:, s]] for s, tokens in enumerate(self.tokens)], axis=1)


@dataclass(frozen=True)
class _Beginnings:
    """Prefixes of inputs: the indices of their tokens, their states, and the sums of their bounds."""

    tokens: Int64Array
    state: Int64Array
    right: Floats
    wrong: Floats

    def __getitem__(self, rows: slice | Int64Array) -> "_Beginnings":
        return _Beginnings(self.tokens[rows], self.state[rows], self.right[rows], self.wrong[rows])


def _blocks(rows: int, width: int) -> Iterator[slice]:
    step = max(1, _ENTRIES // max(1, width))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))
