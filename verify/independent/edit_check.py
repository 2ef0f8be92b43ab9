r"""The certificate of an edit proved by the second reader, in balls: the edits, and kept contexts one by one.

Page: docs/claims/editing.md
"""

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path

from flint import arb, arb_mat, ctx

from constructions.errors import FileFormatError, TamperedError
from constructions.files import canonical_json
from verify.edits.certificate import CAP, CONTEXTS_FILE, EDITED_FILE, FLAT, Asked, EditCertificate, EditCheck
from verify.independent.ball_ends import ball
from verify.independent.ball_forward import BallForward, NoInformationError
from verify.independent.plain.plain_arrays import PlainArray
from verify.independent.plain.plain_model import PlainBlock, PlainModel
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
    towards 0), and the bound of the logits follows as in Theorem N3 of the page. Of the kept contexts 200 are looked
    at, drawn by the hash of the certificate and `sample_seed`, or all with `full`; for those the original's answer must
    lead by more.

    Args:
        folder: What ``byheart edit`` wrote into ``proof``.
        full: Look at all kept contexts.
        sample_seed: A text of the reader's own, without which whoever wrote the certificate knows what is drawn.
        progress: Called with the stage and the finished share of it.

    Returns:
        The verdict on the edits and on the kept contexts that were looked at; how many says its `looked_at`.

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
    original = _without(folder, edited, edits, site, everywhere=certificate.everywhere)
    if edits != certificate.edits or original.sha256 != certificate.original:
        raise TamperedError(f"{folder}: the edited model without its new neurons is not the original it names")
    lengths = len(asked.contexts[0]), *map(len, asked.kept[:1]), asked.domain or 0
    if max(lengths) > edited.n_ctx:
        raise FileFormatError(f"{folder}: contexts of {max(lengths)} tokens, expected at most {edited.n_ctx}")
    size = len(asked.kept) if asked.domain is None else edited.d_vocab**asked.domain - _same_length(asked)
    flat = [place for place, answer in enumerate(asked.answers) if answer == FLAT]
    if (edits - len(flat), len(flat), size) != (stored["asked"], stored["flat"], stored["kept"]):
        return EditCheck(certificate, Verdict.REFUTED, "the counts are not those of the contexts", "balls", 0)
    sample = list(_sampled(certificate.digest() + sample_seed, asked, edited.d_vocab, size, full))
    try:
        reason = _objection(certificate, asked, original, edited, site, sample, progress)
    except NoInformationError as error:
        reason = str(error) or "balls say nothing"
    if reason:
        return EditCheck(certificate, Verdict.UNDECIDED, reason, "balls", len(sample))
    return EditCheck.proved_again(certificate, "balls", len(sample))


def _objection(
    certificate: EditCertificate,
    asked: Asked,
    original: PlainModel,
    edited: PlainModel,
    site: int,
    sample: Sequence[Sequence[int]],
    progress: Progress,
) -> str:
    """Why a stored number does not follow, as far as the kept contexts of the sample tell; empty if all do.

    Raises:
        NoInformationError: A ball is too wide to say anything.
    """
    stored, edits = certificate.values, len(asked.contexts)
    spread = ball(stored["spread"])
    held = 0
    for place, row in _outputs(edited, asked.contexts, progress, "edited contexts", lambda i, row: (
        _known(_spread(row), spread) if asked.answers[i] == FLAT else _leads(row, asked.answers[i]) is not None
    )):  # fmt: skip
        if asked.answers[place] == FLAT:
            if not _spread(row) <= spread:
                return f"the logits of context {place} are farther apart than stated"
        else:
            held += _leads(row, asked.answers[place]) is True
    if held < stored["held"]:
        return f"only {held} of {stored['held']} edits were proved"
    moved = ball(stored["moved"])
    answers: dict[int, int] = {}
    twice = 2 * moved
    for place, row in _outputs(original, sample, progress, "kept contexts", lambda _, row: _leader(row, twice) >= 0):
        answers[place] = _leader(row, twice)
    undecided = sum(each < 0 for each in answers.values())
    if undecided > stored["kept"] - stored["same"]:
        return f"of {undecided} kept contexts the answer was not proved to stay"
    with ctx.workprec(_PRECISIONS[0]):
        reader, is_last = _reader(edited, edits, site), site == len(edited.blocks) - 2
        if is_last:
            for place, row in _outputs(reader, sample, progress, "new neurons", lambda _, row: True):
                if not _bound(edited, edits, site, row) <= moved:
                    return f"the bound of kept context {place} does not follow"
        elif place := _moved_more(original, edited, reader, site, sample, float(stored["moved"]), progress):
            return f"the bound of kept context {place - 1} does not follow"
        if "outside" in stored:
            outside = _bound(edited, edits, site, [arb(-CAP)] * edits)
            if not (outside == 0 if not is_last else outside <= ball(stored["outside"])):
                return "the bound outside of the caps does not follow"
    return ""


def _moved_more(
    original: PlainModel,
    edited: PlainModel,
    reader: PlainModel,
    site: int,
    sample: Sequence[Sequence[int]],
    bound: float,
    progress: Progress,
) -> int:
    """The first context, counted from 1, whose logits are not known to move by at most so much; 0 if there is none.

    Neurons of an earlier block may fire at every position, and what comes behind them is evaluated with them and
    without. Where nothing may move at all, all of them have to be off at every prefix.
    """
    most, small = ball(bound), bound / 8.0
    if bound == 0.0:
        if edited.blocks[site].options["activation"] != "relu":
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


def _sampled(seed: str, asked: Asked, d_vocab: int, size: int, full: bool) -> Iterator[tuple[int, ...]]:
    """All kept contexts, or some that nobody chose."""
    few = size if full else min(size, _SAMPLE)
    drawn = random.Random(seed) if few < size else None
    if asked.domain is None:
        places = range(size) if drawn is None else sorted(drawn.sample(range(size), few))
        yield from (tuple(asked.kept[place]) for place in places)
        return
    edited, found = {tuple(row) for row in asked.contexts}, 0
    everything = d_vocab**asked.domain
    numbers = (
        range(everything) if drawn is None else drawn.sample(range(everything), min(everything, few + len(edited)))
    )
    for number in numbers:
        context = tuple(number // d_vocab**i % d_vocab for i in reversed(range(asked.domain)))
        if context not in edited and found < few:
            found += 1
            yield context


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
    """The largest |P diag(w) U_k|."""
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
