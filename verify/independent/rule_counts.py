r"""How many inputs of a domain a model answers as a rule says, by integers and balls: as many as can be judged.

Of one attention with one head, the lead of a label over a rival is, but for a positive factor, a sum over the positions
of integers over $2^{512}$, each within 2 units; minima of such sums over the paths of an automaton are exact.

Page: docs/rigour/domains.md
"""

from dataclasses import dataclass
from itertools import islice, product
from operator import add

from flint import arb, arb_mat, ctx

from verify.independent.ball_divergence import gap
from verify.independent.ball_forward import PRECISIONS, BallForward, NoInformationError
from verify.independent.plain.plain_arrays import PlainArray
from verify.independent.plain.plain_model import PlainModel
from verify.independent.plain.plain_rule import PlainRule, drawn_numbers
from verify.independent.plain.plain_task import PlainTask
from verify.progress import Progress

_BITS = 1100  # of the balls that the integers are made of
_SCALE = 512
_MOST_BEGINNINGS = 2**20  # beginnings of inputs that are looked at one by one
_MOST_INPUTS = 2**14  # inputs of other models that are looked at one by one
_DRAWN = 2**12  # inputs of larger domains
_MOST_BITS = 512

Row = list[int]


@dataclass
class Counts:
    """How many inputs are proved right and wrong, and what was looked at, in words."""

    right: int = 0
    wrong: int = 0
    method: str = ""


def count_rule(model: PlainModel, rule: PlainRule, *, numbers: list[int] | None = None, progress: Progress) -> Counts:
    """Count the inputs that are answered by the rule and those that are not, of all or of as many as can be judged.

    Of a domain with more inputs than can be looked at one by one some are drawn by the hashes of model and rule.

    Args:
        model: The weights.
        rule: The rule and its domain.
        numbers: The only inputs that are judged; by default all, or as many as can be.
        progress: Called with the stage and the finished share of it.

    Returns:
        The counts, and how much of the domain was judged.
    """
    if _is_one_head(model) and numbers is None:
        return _OneHead(model, rule, progress).counts()
    if numbers is None:
        few = rule.size if rule.size <= _MOST_INPUTS else _DRAWN
        numbers = drawn_numbers([model.sha256, rule.sha256, few, ""], rule.size)
    inputs = [_input(rule, number) for number in numbers]
    others = "" if len(inputs) == rule.size else ", drawn by the hashes of model and rule, and no others"
    counts = Counts(method=f"{len(inputs)} of {rule.size} inputs in balls{others}")
    _one_by_one(model, rule, inputs, counts, progress)
    return counts


def _is_one_head(model: PlainModel) -> bool:
    if not model.reads_tokens or len(model.blocks) != 1:
        return False
    block = model.blocks[0]
    if not block.is_plain or model.ends:
        return False
    return block.kind == "attention" and block.norm is None and block.shape("W_Q")[0] == 1


def _one_by_one(
    model: PlainModel, rule: PlainRule, inputs: list[tuple[int, ...]], counts: Counts, show: Progress
) -> None:
    """Count what balls decide of these inputs, each by itself."""
    labels = [_label(rule, each) for each in inputs]
    task = PlainTask("labels", rule.origin, model.d_vocab_out, inputs, [], [], [], labels, None, rule.sha256)
    open_ones = list(range(len(inputs)))
    for bits in PRECISIONS:
        if not open_ones or bits > _MOST_BITS:
            break
        show("domain", None, f"{len(open_ones)} inputs in balls of {bits} bits")
        try:
            outputs = BallForward(model, task, bits=bits, examples=open_ones).run(open_ones).outputs
        except NoInformationError:
            continue
        left = []
        with ctx.workprec(bits):
            for example, row in zip(open_ones, outputs, strict=True):
                lead = gap(row, {labels[example]})
                if lead is None or lead > 0:
                    counts.right += 1
                elif lead <= 0:
                    counts.wrong += 1
                else:
                    left.append(example)
        open_ones = left


def _input(rule: PlainRule, number: int) -> tuple[int, ...]:
    """The input of a number; the last position counts fastest."""
    found = []
    for here in reversed(rule.tokens):
        number, place = divmod(number, len(here))
        found.append(here[place])
    return tuple(reversed(found))


def _label(rule: PlainRule, context: tuple[int, ...]) -> int:
    state = 0
    for here, step, token in zip(rule.tokens, rule.steps, context, strict=True):
        state = step[state][here.index(token)]
    return rule.answers[state]


class _OneHead:
    """The domain of a model of one attention with one head, judged by sums of integers over the positions."""

    def __init__(self, model: PlainModel, rule: PlainRule, progress: Progress) -> None:
        self.model, self.rule, self.progress = model, rule, progress
        self.block = model.blocks[0]
        self.beginnings, self.open_ones = 0, list[tuple[int, ...]]()
        with ctx.workprec(_BITS):
            rows = [self._row(s, token) for s, here in enumerate(rule.tokens) for token in here]
            stream = arb_mat(rows)
            self.keys = self._moved(stream, "K")
            readout = _matrix(model.tensors["unembed.W_U"])
            self.values = (self._moved(stream, "V") * _matrix(self.block.tensors["W_O"]) * readout).tolist()

    def counts(self) -> Counts:
        """Judge the inputs of one last token after the other."""
        counts, lasts = Counts(), self.rule.tokens[-1]
        for place, last in enumerate(lasts):
            summands = self._summands(last)
            if summands is None:
                room = max(0, _MOST_INPUTS - len(self.open_ones))
                self.open_ones += islice(product(*self.rule.tokens[:-1], [last]), room)
                continue
            cut = [*summands[:-1], [summands[-1][place]]]
            steps = [*self.rule.steps[:-1], [[row[place]] for row in self.rule.steps[-1]]]
            ends = {state for row in steps[-1] for state in row}
            for label in sorted({self.rule.answers[state] for state in ends}):
                self._judge(cut, steps, last, label, counts)
            share = f"{counts.right} right, {counts.wrong} wrong of {self.rule.size} inputs"
            self.progress("domain", (place + 1) / len(lasts), share)
        _one_by_one(self.model, self.rule, self.open_ones, counts, self.progress)
        judged = f"{counts.right + counts.wrong} of {self.rule.size} inputs are judged"
        counts.method = f"sums of integers over the positions, {len(self.open_ones)} inputs in balls; {judged}"
        return counts

    def _summands(self, last: int) -> list[list[Row]] | None:
        """The integers next to 2^512 e_s(t) (v_s(t) + D), of each position and token; none where balls say too little.

        A number is at most 1/4 below and 5/4 above its integer, so that differences of two are off by less than 2.
        """
        model, block = self.model, self.block
        with ctx.workprec(_BITS):
            row = arb_mat([self._row(len(self.rule.tokens) - 1, last)])
            scores = (self._moved(row, "Q") * self.keys.transpose()).entries()
            root = arb(block.options["score_root"]).sqrt()
            top = max(score.mid() for score in scores)
            powers = [((score - top) / root).exp() for score in scores]
            width = block.shape("W_O")[2]
            direct = row if block.options["skip"] else arb_mat(1, width)
            if "b_O" in block.tensors:
                direct += arb_mat([list(map(arb, block.tensors["b_O"].values))])
            direct = (direct * _matrix(model.tensors["unembed.W_U"])).entries()
            if "unembed.b_U" in model.tensors:
                direct = list(map(add, direct, map(arb, model.tensors["unembed.b_U"].values)))
            found: list[Row] = []
            for power, value in zip(powers, self.values, strict=True):
                scaled = [(power * (v + d)) * arb((1, _SCALE)) for v, d in zip(value, direct, strict=True)]
                if not all(x.is_finite() and x.rad() < 0.25 for x in scaled):
                    return None
                numbers = [x.mid().floor().unique_fmpz() for x in scaled]
                known = [int(number) for number in numbers if number is not None]
                if len(known) < len(numbers):
                    return None
                found.append(known)
        ends = [sum(map(len, self.rule.tokens[: s + 1])) for s in range(len(self.rule.tokens))]
        return [found[end - len(here) : end] for end, here in zip(ends, self.rule.tokens, strict=True)]

    def _judge(self, summands: list[list[Row]], steps: list[list[Row]], last: int, label: int, counts: Counts) -> None:
        """The inputs with one last token and one label."""
        ends: list[dict[int, int]] = [{s: 1 for s, answer in enumerate(self.rule.answers) if answer == label}]
        for step in reversed(steps):
            leading = {r: sum(ends[0].get(state, 0) for state in row) for r, row in enumerate(step)}
            ends.insert(0, {state: count for state, count in leading.items() if count})
        leads = [[[row[label] - x for b, x in enumerate(row) if b != label] for row in here] for here in summands]
        least: list[dict[int, Row]] = [{state: [0] * len(leads[0][0]) for state in ends[-1]}]
        for step, lead, here in zip(reversed(steps), reversed(leads), reversed(ends[:-1]), strict=True):
            after, layer = least[0], dict[int, Row]()
            for state in here:
                sums = [map(add, lead[t], after[to]) for t, to in enumerate(step[state]) if to in after]
                layer[state] = list(map(min, *sums)) if len(sums) > 1 else list(sums[0])
            least.insert(0, layer)
        cell = _Cell([*self.rule.tokens[:-1], [last]], steps, ends, leads, least)
        self._look(cell, (), 0, least[0][0], [0] * len(leads[0][0]), counts)

    def _look(self, cell: "_Cell", begun: tuple[int, ...], state: int, least: Row, so_far: Row, counts: Counts) -> None:
        """Decide what begins in one way, by itself or token by token; every lead is within 2 units of the truth."""
        slack, layer = 2 * len(cell.steps), len(begun)
        if all(x > slack for x in least):
            counts.right += cell.ends[layer][state]
        elif layer < len(cell.steps):
            for place, after in enumerate(cell.steps[layer][state]):
                if after not in cell.ends[layer + 1] or self.beginnings >= _MOST_BEGINNINGS:
                    continue
                self.beginnings += 1
                longer = (*begun, cell.tokens[layer][place])
                leads = list(map(add, so_far, cell.leads[layer][place]))
                self._look(cell, longer, after, list(map(add, leads, cell.least[layer + 1][after])), leads, counts)
        elif any(x < -slack for x in so_far):
            counts.wrong += 1
        elif len(self.open_ones) < _MOST_INPUTS:
            self.open_ones.append(begun)

    def _row(self, position: int, token: int) -> list[arb]:
        """A row of the stream."""
        tensors = self.model.tensors
        pair = tensors["embed.W_E"].row(token), tensors["pos_embed.W_pos"].row(position)
        return list(map(add, map(arb, pair[0]), map(arb, pair[1])))

    def _moved(self, rows: arb_mat, name: str) -> arb_mat:
        """The rows times W_Q, W_K or W_V of the one head, plus its shift."""
        moved = rows * _matrix(self.block.tensors[f"W_{name}"])
        shift = self.block.tensors.get(f"b_{name}")
        return moved if shift is None else moved + arb_mat([list(map(arb, shift.values))] * moved.nrows())


@dataclass(frozen=True)
class _Cell:
    """The inputs with one last token and one label, as the paths of an automaton.

    Args:
        tokens: Of each position.
        steps: Of each position, state and token the next state.
        ends: Of each layer how many ends of inputs lead from a state to the label.
        leads: Of each position and token how far the label leads each rival, integers.
        least: Of each layer the least sums of what an end of an input adds to them, for each state.
    """

    tokens: list[list[int]]
    steps: list[list[Row]]
    ends: list[dict[int, int]]
    leads: list[list[Row]]
    least: list[dict[int, Row]]


def _matrix(tensor: PlainArray) -> arb_mat:
    """A matrix, or the one of the only head; float64 numbers are exact balls."""
    rows, columns = tensor.shape[-2:]
    return arb_mat(rows, columns, list(map(arb, tensor.values)))
