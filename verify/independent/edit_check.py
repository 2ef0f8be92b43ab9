r"""The certificate of an edit proved by the second reader, in balls: the edits, and kept contexts one by one.

Page: docs/claims/editing.md
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

from flint import arb, arb_mat, ctx

from constructions.errors import FileFormatError, TamperedError
from constructions.files import canonical_json
from verify.edits.certificate import (
    CAP,
    CONTEXTS_FILE,
    EDITED_FILE,
    FLAT,
    ORIGINAL_FILE,
    Asked,
    EditCertificate,
    EditCheck,
)
from verify.independent.ball_ends import ball
from verify.independent.ball_forward import BallForward, NoInformationError
from verify.independent.plain.plain_arrays import PlainArray
from verify.independent.plain.plain_model import PlainBlock, PlainModel
from verify.independent.plain.plain_rule import drawn_numbers, most_wrong
from verify.independent.plain.plain_task import PlainTask
from verify.progress import Progress, silent
from verify.verdict import Verdict

_PRECISIONS = (128, 256, 512, 1024)
_SAMPLE = 200  # kept contexts that are looked at where there are more
_TURN = 2  # beyond it each activation is smaller the lower its argument
_MAPS, _SHIFTS = {"W_in", "W_gate"}, {"b_in", "b_gate"}

Row = list[arb]


def check_edit_independently(
    folder: Path, *, full: bool = False, sample_seed: str = "", progress: Progress = silent
) -> EditCheck:
    r"""Prove what an edit does once more, sharing no numerical code with the prover.

    Every edited context is evaluated in balls. The bound of what is kept is derived anew: what each new neuron reads is
    a ball, its activation at the upper end of the ball bounds what it puts out (below -2 every activation shrinks
    towards 0), and the bound of the logits follows as in Theorem N3 of the page; an answer stays where the original's
    leads by more than twice that, or where both models are evaluated. Where the original has other weights than the
    edited model without its new neurons, both are evaluated at every context.

    With `full` all kept contexts are looked at. Else 200 of them are, which a hash draws, and the verdict is UNDECIDED
    however they come out: a sample is no proof.

    Why the bound on the others holds whoever wrote the certificate: of more than `wrong_upper` contexts that are not as
    stated, 200 that are drawn uniformly miss all with probability at most 2^-128 (`leaves_at_most`). Each certificate
    and each seed has one draw, so who tries n of them finds such a draw with probability at most n / 2^128.

    Args:
        folder: What ``byheart edit`` wrote into ``proof``.
        full: Look at all kept contexts.
        sample_seed: A text that another draw follows from.
        progress: Called with the stage and the finished share of it.

    Returns:
        The verdict.

    Raises:
        FileFormatError: A file is missing or is not what it should be.
        TamperedError: A hash differs.
    """
    folder = Path(folder)
    certificate, edited = EditCertificate.load(folder), PlainModel.read(folder / EDITED_FILE)
    asked = Asked.read(folder / CONTEXTS_FILE, d_vocab=edited.d_vocab, d_vocab_out=edited.d_vocab_out)
    if edited.sha256 != certificate.edited or asked.sha256() != certificate.edit:
        raise TamperedError(f"{folder} holds another model or other contexts than its certificate names")
    edits, stored = len(asked.contexts), certificate.values
    site = _site(folder, edited, edits, certificate.layer)
    original, is_rounded = _without(folder, edited, edits, site, everywhere=certificate.everywhere), False
    if (folder / ORIGINAL_FILE).exists():
        original, is_rounded = _loaded_original(folder, like=original), True
    if edits != certificate.edits or original.sha256 != certificate.original:
        raise TamperedError(f"{folder}: the original is not the one that its certificate names")
    lengths = len(asked.contexts[0]), *map(len, asked.kept[:1]), asked.domain or 0
    if max(lengths) > edited.n_ctx:
        raise FileFormatError(
            f"{folder / CONTEXTS_FILE}: contexts of {max(lengths)} tokens, expected at most {edited.n_ctx}"
        )
    size = len(asked.kept) if asked.domain is None else edited.d_vocab**asked.domain - _same_length(asked)
    flat = [place for place, answer in enumerate(asked.answers) if answer == FLAT]
    if (edits - len(flat), len(flat), size) != (stored["asked"], stored["flat"], stored["kept"]):
        return EditCheck(certificate, Verdict.REFUTED, "the counts are not those of the contexts", "balls", 0)
    few = size if full else min(size, _SAMPLE)
    numbers = drawn_numbers(["edit", certificate.digest(), few, sample_seed], size) if few else []
    sample = list(_kept(asked, edited.d_vocab, numbers))
    look = _Look(certificate, asked, original, edited, site, sample, is_whole=few == size, is_rounded=is_rounded)
    try:
        reason = look.objection(progress)
    except NoInformationError as error:
        reason = str(error) or "balls say nothing"
    if reason:
        return EditCheck(certificate, look.verdict, reason, "balls", few)
    if certificate.runs is not None:
        reason = f"the independent checker has no proof of runs in {certificate.runs.format} of an edit"
        return EditCheck(certificate, Verdict.UNDECIDED, reason, "balls", few)
    if few < size:
        return EditCheck.sampled(certificate, "balls", few, most_wrong(size, few, look.missed))
    return EditCheck.proved_again(certificate, "balls", few)


@dataclass
class _Look:
    """What is looked at of an edit, and what is found.

    Args:
        certificate: What is stated.
        asked: What was asked.
        original: The model before.
        edited: The model after.
        site: The place of its block with the new neurons.
        sample: The kept contexts that are looked at.
        is_whole: Whether they are all.
        is_rounded: Whether the original has other weights than the edited model without its new neurons.
        missed: How many of the sample are not proved to keep their answer.
        verdict: Of an objection: REFUTED where the opposite of what is stated was proved.
    """

    certificate: EditCertificate
    asked: Asked
    original: PlainModel
    edited: PlainModel
    site: int
    sample: Sequence[Sequence[int]]
    is_whole: bool
    is_rounded: bool
    missed: int = 0
    verdict: Verdict = Verdict.UNDECIDED

    def objection(self, progress: Progress) -> str:
        """Why a stored number does not follow, as far as the sample tells; empty if all do.

        Raises:
            NoInformationError: A ball is too wide to say anything.
        """
        return self._edited_contexts(progress) or self._moves(progress) or self._answers(progress) or self._outside()

    def _edited_contexts(self, progress: Progress) -> str:
        stored, answers = self.certificate.values, self.asked.answers
        spread, held, wrong = ball(stored["spread"]), 0, 0

        def decided(place: int, row: Row) -> bool:
            flat = answers[place] == FLAT
            return _known(_spread(row), spread) if flat else _leads(row, answers[place]) is not None

        for place, row in _outputs(self.edited, self.asked.contexts, progress, "edited contexts", decided):
            if answers[place] != FLAT:
                held += _leads(row, answers[place]) is True
                wrong += _leads(row, answers[place]) is False
            elif not _spread(row) <= spread:
                return f"the logits of context {place} are farther apart than stated"
        if held < stored["held"]:
            self.verdict = Verdict.REFUTED if wrong > stored["asked"] - stored["held"] else self.verdict
            return f"only {held} of {stored['held']} edits were proved"
        facts = [(row, answer) for row, answer in zip(self.asked.contexts, answers, strict=True) if answer != FLAT]
        given = _outputs(
            self.original,
            [row for row, _ in facts],
            progress,
            "edited contexts, before",
            lambda place, row: _leads(row, facts[place][1]) is not None,
        )
        before = sum(_leads(row, facts[place][1]) is True for place, row in given)
        if before != stored["before"]:
            return f"before the edit {before} were answered as asked, not {stored['before']}"
        return ""

    def _moves(self, progress: Progress) -> str:
        """Why the bound of a kept context does not follow."""
        stored, edits, is_last = self.certificate.values, len(self.asked.contexts), _is_last(self.edited, self.site)
        moved = ball(stored["moved"])
        with ctx.workprec(_PRECISIONS[0]):
            reader = _reader(self.edited, edits, self.site)
            if is_last and not self.is_rounded:
                for place, row in _outputs(reader, self.sample, progress, "new neurons", lambda _, row: True):
                    if not _bound(self.edited, edits, self.site, row) <= moved:
                        return f"the bound of kept context {place} does not follow"
                return ""
            place = _moved_more(
                self.original,
                self.edited,
                None if self.is_rounded else reader,
                self.site,
                self.sample,
                float(stored["moved"]),
                progress,
            )
            return f"the bound of kept context {place - 1} does not follow" if place else ""

    def _answers(self, progress: Progress) -> str:
        """Why the counts of kept and changed answers do not follow; the moves are at most those that are stated."""
        stored, twice = self.certificate.values, 2 * ball(self.certificate.values["moved"])
        before, left = dict[int, int](), list[int]()
        for place, row in _outputs(
            self.original, self.sample, progress, "kept contexts", lambda _, row: _leader(row, arb(0)) >= 0
        ):
            before[place] = _leader(row, arb(0))
            if before[place] >= 0 and not (stored["moved"] == 0 or _leader(row, twice) >= 0):
                left.append(place)
        some = [self.sample[place] for place in left]
        after, changed = dict(before), 0
        for place, row in _outputs(
            self.edited, some, progress, "kept contexts, after", lambda _, row: _leader(row, arb(0)) >= 0
        ):
            after[left[place]] = _leader(row, arb(0))
        for place, answer in before.items():
            changed += answer >= 0 and after[place] >= 0 and after[place] != answer
            self.missed += answer < 0 or after[place] != answer
        if changed > stored["kept"] - stored["same"]:
            self.verdict = Verdict.REFUTED
            return f"{changed} kept contexts were proved to change their answer"
        if self.missed > stored["kept"] - stored["same"]:
            return f"of {self.missed} kept contexts the answer was not proved to stay"
        if self.is_whole and changed < stored["changed"]:
            return f"only {changed} of {stored['changed']} kept contexts were proved to change their answer"
        return ""

    def _outside(self) -> str:
        stored, edits = self.certificate.values, len(self.asked.contexts)
        if "outside" not in stored:
            return ""
        if self.is_rounded:
            return "outside of the caps nothing follows for an original of other weights"
        with ctx.workprec(_PRECISIONS[0]):
            outside = _bound(self.edited, edits, self.site, [arb(-CAP)] * edits)
            follows = outside <= ball(stored["outside"]) if _is_last(self.edited, self.site) else outside == 0
        return "" if follows else "the bound outside of the caps does not follow"


def _is_last(model: PlainModel, site: int) -> bool:
    return site == len(model.blocks) - 2


def _moved_more(
    original: PlainModel,
    edited: PlainModel,
    reader: PlainModel | None,
    site: int,
    sample: Sequence[Sequence[int]],
    bound: float,
    progress: Progress,
) -> int:
    """The first context, counted from 1, whose logits are not known to move by at most so much; 0 if there is none.

    Neurons of an earlier block may fire at every position, and what comes behind them is evaluated with them and
    without. Where nothing may move at all, all of them have to be off at every prefix, which `reader` tells; without
    one other weights differ too.
    """
    most, small = ball(bound), bound / 8.0
    if bound == 0.0:
        if reader is None or edited.blocks[site].options["activation"] != "relu":
            return 1 if sample else 0
        fires = set[tuple[int, ...]]()
        for length in range(1, len(sample[0]) + 1 if sample else 1):
            prefixes = sorted({tuple(row[:length]) for row in sample})
            for place, row in _outputs(reader, prefixes, progress, "new neurons", lambda _, row: True):
                if not all(x.upper() <= 0 for x in row):
                    fires.add(prefixes[place])
        moves = [any(tuple(row[: i + 1]) in fires for i in range(len(row))) for row in sample]
        return 1 + moves.index(True) if True in moves else 0
    before, after = (
        dict(_outputs(each, sample, progress, "logits", lambda _, row: all(x.rad() <= small for x in row)))
        for each in (original, edited)
    )
    for place in range(len(sample)):
        if not all(abs(x - y) <= most for x, y in zip(before[place], after[place], strict=True)):
            return place + 1
    return 0


def _same_length(asked: Asked) -> int:
    return len(asked.contexts) if len(asked.contexts[0]) == asked.domain else 0


def _kept(asked: Asked, d_vocab: int, numbers: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The kept contexts of these numbers, which increase: of a list its places, of a domain those left by the edits."""
    if asked.domain is None:
        yield from (tuple(asked.kept[place]) for place in numbers)
        return
    edited = sorted(_number(row, d_vocab) for row in asked.contexts) if _same_length(asked) else []
    passed = 0
    for number in numbers:
        while passed < len(edited) and edited[passed] <= number + passed:
            passed += 1
        yield tuple((number + passed) // d_vocab**i % d_vocab for i in reversed(range(asked.domain)))


def _number(context: Sequence[int], d_vocab: int) -> int:
    """The number of a context among all of its length; the last token counts fastest."""
    number = 0
    for token in context:
        number = number * d_vocab + token
    return number


def _outputs(
    model: PlainModel,
    contexts: Sequence[Sequence[int]],
    progress: Progress,
    stage: str,
    decided: Callable[[int, Row], bool],
) -> Iterator[tuple[int, Row]]:
    """The outputs at each context, with more bits until they are decided or there are no more."""
    inputs = [tuple(context) for context in contexts]
    task = PlainTask("labels", "", model.d_vocab_out, inputs, [], [], [], [0] * len(inputs), None, "")
    left = list(range(len(inputs)))
    for bits in _PRECISIONS:
        if not left:
            return
        progress(stage, None, f"{len(left)} contexts in balls of {bits} bits")
        try:
            rows = BallForward(model, task, bits=bits, examples=left).run(left).outputs
        except NoInformationError:
            if bits == _PRECISIONS[-1]:
                raise
            continue
        with ctx.workprec(bits):
            unknown = [place for place, row in zip(left, rows, strict=True) if not decided(place, row)]
            last = bits == _PRECISIONS[-1]
            for place, row in zip(left, rows, strict=True):
                if last or place not in set(unknown):
                    yield place, row
        left = unknown


def _known(value: arb, bound: arb) -> bool:
    return bool(value <= bound) or bool(value > bound)


def _spread(row: Row) -> arb:
    least, largest = row[0], row[0]
    for x in row[1:]:
        least, largest = least.min(x), largest.max(x)
    return largest - least


def _leads(row: Row, answer: int) -> bool | None:
    """Whether an answer is the strictly largest; none where balls do not tell."""
    others = [x for place, x in enumerate(row) if place != answer]
    if all(row[answer] > x for x in others):
        return True
    return False if any(row[answer] <= x for x in others) else None


def _leader(row: Row, by: arb) -> int:
    """The place that leads all others by more, or -1."""
    best = max(range(len(row)), key=lambda place: float(row[place].mid()))
    return best if all(row[best] - x > by for place, x in enumerate(row) if place != best) else -1


def _bound(model: PlainModel, edits: int, site: int, reads: Row) -> arb:
    """How far the logits move where the new neurons of the last block read at most the upper ends of these balls."""
    block, final = model.blocks[site], model.blocks[-1]
    moved, width = arb(0), block.writes
    for neuron, read in enumerate(reads):
        above = arb(read.upper())
        if block.options["activation"] == "relu":
            off = above.max(arb(0))
        elif above <= -_TURN:
            off = _small(block.options["activation"], -above)
        else:
            return arb("inf")
        row = block.tensors["W_out"].row(block.tensors["W_out"].shape[0] - edits + neuron)
        moved += off * sum((arb(x) ** 2 for x in row), arb(0)).sqrt()
    if moved == 0:
        return arb(0)
    rest = arb(final.epsilon).sqrt() - moved / (2 * arb(width).sqrt())
    return _steepest(model) * moved / rest if rest > 0 else arb("inf")


def _small(activation: str, t: arb) -> arb:
    """Above the size of an activation below -t, t at least 2: -u times a tail that falls faster than 1/u."""
    if activation == "silu":
        return t * (-t).exp()
    if activation == "gelu":
        return t * (t / arb(2).sqrt()).erfc() / 2
    root = arb(79788456) / 10**8 if activation == "gelu-bloom" else (2 / arb.pi()).sqrt()
    return t * (-2 * root * (t + arb(44715) / 10**6 * t**3)).exp()


def _steepest(model: PlainModel) -> arb:
    """The largest norm of a column of the readout behind the last gain and, of layer normalization, centred (N3)."""
    final, readout = model.blocks[-1], model.tensors["unembed.W_U"]
    gain = [arb(x) for x in final.tensors["w"].values]
    width, outputs = readout.shape
    columns = arb_mat(width, outputs, [arb(x) * gain[i // outputs] for i, x in enumerate(readout.values)])
    largest = arb(0)
    for k in range(outputs):
        column = [columns[i, k] for i in range(width)]
        squares = sum((x * x for x in column), arb(0))
        if final.kind == "layer":
            squares -= sum(column, arb(0)) ** 2 / width
        largest = largest.max(squares.max(arb(0)))
    return largest.sqrt()


def _reader(model: PlainModel, edits: int, site: int) -> PlainModel:
    """The model whose outputs are what the last neurons of a block read."""
    block = model.blocks[site]
    assert block.norm is not None
    W_in, b_in = (block.tensors[name] for name in _read_with(block))
    kept = W_in.shape[1] - edits
    tensors = {name: tensor for name, tensor in model.tensors.items() if not name.startswith("unembed.")}
    tensors["unembed.W_U"] = _columns(W_in, kept, W_in.shape[1])
    tensors["unembed.b_U"] = PlainArray((edits,), b_in.values[kept:])
    before = model.blocks[: site - 1 if "parallel" in block.options else site]
    return replace(model, blocks=(*before, block.norm), tensors=tensors)


def _read_with(block: PlainBlock) -> tuple[str, str]:
    """The map and the shift whose image the activation takes: those of the gates, where there are any."""
    return ("W_gate", "b_gate") if "W_gate" in block.tensors else ("W_in", "b_in")


def _site(folder: Path, model: PlainModel, edits: int, layer: int | None) -> int:
    """The place of the block whose last neurons are those of the edit."""
    places = [place for place, block in enumerate(model.blocks) if block.kind == "feed-forward"]
    if not model.reads_tokens or not places or model.blocks[-1].kind not in ("layer", "rms"):
        raise FileFormatError(f"{folder} holds a model that does not end with neurons behind a normalization")
    if layer is not None and layer >= len(places):
        raise FileFormatError(f"{folder} names the layer {layer} of {len(places)}")
    site = places[-1 if layer is None else layer]
    block = model.blocks[site]
    last, shifts = site == len(model.blocks) - 2, {"b_in", _read_with(block)[1]}
    causal = all(b.options["attends"] == "causal" for b in model.blocks[:site] if b.kind == "attention")
    if (
        not (last or (causal and layer is not None))
        or block.norm is None
        or not shifts <= set(block.tensors)
        or not block.options["skip"]
        or "post_norm" in block.options
        or set(model.ends) & {"logit_divisor", "logit_cap"}
    ):
        raise FileFormatError(f"{folder} holds a model whose neurons, or what is behind them, cannot be edited")
    kept = block.shape("W_in")[1] - edits
    if kept < 0:
        raise FileFormatError(f"{folder}: a block has fewer neurons than edits")
    if "W_gate" in block.tensors:
        zeros = _columns(block.tensors["W_in"], kept, kept + edits).values
        if any(x != 0.0 for x in zeros) or any(x != 1.0 for x in block.tensors["b_in"].values[kept:]):
            raise FileFormatError(f"{folder}: the last neurons are not gates beside a factor of 1")
    return site


def _without(folder: Path, model: PlainModel, edits: int, site: int, *, everywhere: bool) -> PlainModel:
    """The model without its last neurons, with the hash that it has."""
    tensors, blocks = dict(model.tensors), list(model.blocks)
    for place, block in enumerate(model.blocks):
        if block.kind == "feed-forward" and (place == site or everywhere):
            kept = block.shape("W_in")[1] - edits
            if kept < 0 or (place != site and not _is_zero(block, kept)):
                raise FileFormatError(f"{folder}: a block has fewer neurons, or others than zeros")
            cut = {"W_out": PlainArray((kept, block.writes), block.tensors["W_out"].values[: kept * block.writes])}
            cut |= {name: _columns(block.tensors[name], 0, kept) for name in _MAPS if name in block.tensors}
            for name in _SHIFTS & set(block.tensors):
                cut[name] = PlainArray((kept,), block.tensors[name].values[:kept])
            for field, tensor in cut.items():
                [name] = [name for name, each in model.tensors.items() if each is block.tensors[field]]
                tensors[name] = tensor
            blocks[place] = replace(block, tensors={**block.tensors, **cut})
    digest = hashlib.sha256(canonical_json(_options(model)).encode("ascii"))
    for name, tensor in tensors.items():
        digest.update(tensor.hashed(name))
    return replace(model, blocks=tuple(blocks), tensors=tensors, sha256=digest.hexdigest())


def _loaded_original(folder: Path, *, like: PlainModel) -> PlainModel:
    """The original of an edit that rounded weights, which differs from `like` in its numbers only."""
    original = PlainModel.read(folder / ORIGINAL_FILE)
    shapes, expected = ({name: x.shape for name, x in each.tensors.items()} for each in (original, like))
    if _options(original) != _options(like) or shapes != expected:
        raise FileFormatError(
            f"{folder / ORIGINAL_FILE} is not the edited model without its new neurons, but for roundings"
        )
    return original


def _options(model: PlainModel) -> dict[str, object]:
    return {"input": "tokens", "blocks": [block.options for block in model.blocks], **model.ends}


def _is_zero(block: PlainBlock, kept: int) -> bool:
    parts = [_columns(block.tensors[name], kept, block.shape("W_in")[1]).values for name in _MAPS & set(block.tensors)]
    parts.append(block.tensors["W_out"].values[kept * block.writes :])
    parts += [block.tensors[name].values[kept:] for name in _SHIFTS & set(block.tensors)]
    return not any(x != 0.0 for part in parts for x in part)


def _columns(tensor: PlainArray, start: int, stop: int) -> PlainArray:
    rows, width = tensor.shape
    values = tensor.values[:0]
    for i in range(rows):
        values += tensor.values[i * width + start : i * width + stop]  # pyright: ignore[reportOperatorIssue]
    assert len(values) == prod((rows, stop - start))
    return PlainArray((rows, stop - start), values)
