r"""Prove an edit: the answers that new neurons change, those that stay, and bounds for all logits.

Both models are evaluated in balls at every context that is named. Where the new neurons stand in the last block, a
bound of what they put out says more than a difference of balls:

*Theorem N3.* Let the stream behind the last block differ by $\delta$, $|\delta| \le D$. Then logit k moves by at most
$|\Pi \mathrm{diag}(w) W_U[:, k]| D / \sqrt\varepsilon$, with the gain w and the $\varepsilon$ of the last
normalization, and $\Pi$ the projection along the ones where it takes the mean off.

*Proof.* The normalization makes of x, less its mean for $\Pi$, the first d entries of $\sqrt d v / |v|$ with
$v = (x, \sqrt{d \varepsilon})$, and of the other row those of $\sqrt d w / |w|$. As
$|v / |v| - w / |w||^2 = (|v - w|^2 - (|v| - |w|)^2) / (|v| |w|)$, and neither norm is below $\sqrt{d \varepsilon}$,
these rows differ by at most $\sqrt d |\delta| / \sqrt{d \varepsilon}$, along $\Pi$; Cauchy and Schwarz. []

*Lemma N2.* Below $u \le -1.28$ each activation is the smaller the lower u is, so $|\varphi(u)| \le |\varphi(-t)|$ for
$u \le -t \le -1.28$; ReLU is 0 there, and at most t for $u \le t$.

Page: docs/claims/editing.md
"""

import hashlib
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import islice, product
from pathlib import Path
from typing import Any

from flint import arb, ctx

from verify.kernel import balls
from verify.kernel.answers import ball
from verify.kernel.certificate import require_hash, require_texts
from verify.kernel.evaluation import FORMATS, tell_if_long
from verify.kernel.files import Tensor, canonical, parse_json, read_bytes, read_tensors, require_fields
from verify.kernel.model import FILE as EDITED_FILE
from verify.kernel.model import Block, Model, block_prefixes, make_model
from verify.kernel.numerals import Number, counted, decimal_above, read_count, read_number
from verify.kernel.runs import run_is
from verify.kernel.task import Context
from verify.kernel.verdicts import BadInputError, NotProvedError, UndecidedError

FILE = "edit.json"
CONTEXTS_FILE = "contexts.json"
ORIGINAL_FILE = "original.safetensors"
_COUNTS = ("asked", "memorized", "before", "flat", "kept", "same", "changed")
_BOUNDS = ("spread", "moved", "outside")
_HASHES = ("original", "edited", "edit")
_HYPOTHESES = "H1 H2 H3 H4"  # what a statement of runs rests on: bounds of what they round
_LARGEST_FILE = 2**28  # bytes
_LONGEST_DOMAIN = 22
_FEW = 16  # contexts that are evaluated first, to know how long the others take
_TURN = -1.28  # Lemma N2
_KNOWN, _UNKNOWN = 2.0**-32, 1.0  # radii: of a ball of which more bits tell little more, and of one that says nothing
_CAP = -20.0  # a context is outside of the caps where all new neurons read no more

Row = list[arb]


@dataclass(frozen=True)
class Edit:
    """The contents of an edit's certificate, and the requested edit.

    Args:
        hashes: Hashes of the original model, the edited model and the contexts.
        edits: Number of new neurons.
        layer: Index of the block of neurons that has them, from 0; none for the last one.
        everywhere: Whether every other such block has as many neurons of zeros.
        counts: Counts by the names of `_COUNTS`.
        bounds: Bounds by the names of `_BOUNDS`; `outside` may be absent.
        contexts: The edited contexts.
        answers: The answer that each edited context must have; -1 for the uniform distribution.
        kept: The contexts whose answers must stay the same; empty if `domain` is given.
        domain: The length of the contexts that are all kept, except the edited ones.
        runs: The format of the runs that are stated too; the kernel does not prove these.
    """

    hashes: dict[str, str]
    edits: int
    layer: int | None
    everywhere: bool
    counts: dict[str, int]
    bounds: dict[str, Number]
    contexts: list[Context]
    answers: list[int]
    kept: list[Context]
    domain: int | None
    runs: str | None

    def kept_contexts(self, vocabulary: int) -> Iterator[Context]:
        """Return every context whose answer stays."""
        if self.domain is None:
            return iter(self.kept)
        edited = set(self.contexts)
        return (context for context in product(range(vocabulary), repeat=self.domain) if context not in edited)

    def kept_count(self, vocabulary: int) -> int:
        """Number of kept contexts."""
        if self.domain is None:
            return len(self.kept)
        return vocabulary**self.domain - sum(len(context) == self.domain for context in self.contexts)


def check_edit(folder: Path, tell: Callable[[str], None]) -> list[str]:
    """Prove the certificate of an edit; return the proved results as sentences.

    Raises:
        BadInputError: A file is not what it should be.
        NotProvedError: A number is false, or a kept context has another answer.
        UndecidedError: Balls of 4096 bits leave something open, not every answer is as asked, or runs are stated.
    """
    return _sentences(prove_edit(folder, tell))


def prove_edit(folder: Path, tell: Callable[[str], None]) -> Edit:
    """Prove every number of the certificate of an edit except those of runs, whether or not it meets the request.

    Raises:
        BadInputError: A file is not what it should be.
        NotProvedError: A number is false.
        UndecidedError: Balls of 4096 bits leave something open.
    """
    edit, data = _read_edit(folder)
    foreign = sorted({path.name for path in folder.iterdir()} - {FILE, CONTEXTS_FILE, EDITED_FILE, ORIGINAL_FILE})
    if foreign:
        raise BadInputError(foreign[0], "the file", "belongs to nothing that the certificate names")
    words, tensors = read_tensors(folder, EDITED_FILE)
    edited = make_model(words, tensors)
    edit = _with_contexts(edit, data, edited)
    site = _site(edit, edited)
    cut = _cut(edit, edited, site, words, tensors)
    original, is_rounded = make_model(words, cut), False
    if (folder / ORIGINAL_FILE).exists():
        original, is_rounded = _other_original(folder, words, cut), True
    for name, model in (("edited", edited), ("original", original)):
        if model.sha256 != edit.hashes[name]:
            raise NotProvedError(f"{FILE}: it is about another {name} model than the one of this folder")
    lengths = [*map(len, edit.contexts), *map(len, edit.kept), edit.domain or 0]
    if max(lengths) > edited.positions:
        raise BadInputError(CONTEXTS_FILE, "contexts", f"are of {max(lengths)} tokens, more than the model reads")
    _Proof(edit, original, edited, site, is_rounded, tell).check()
    return edit


def _read_edit(folder: Path) -> tuple[Edit, Any]:
    """Return the certificate without its contexts, and the data of these."""
    content = _canonical(folder, FILE)
    names = ["format", "version", *_HASHES, "edits", "layer", "everywhere", "values", "provenance", "digest"]
    require_fields(FILE, "the file", content, names, ["runs"])
    if (content["format"], content["version"]) != ("byheart-edit", 4) or type(content["version"]) is not int:
        raise BadInputError(FILE, "format", "is not byheart-edit, version 4")
    signed = {name: value for name, value in content.items() if name != "digest"}
    if hashlib.sha256(canonical(signed).encode("ascii")).hexdigest() != content["digest"]:
        raise NotProvedError(f"{FILE}: digest is not the hash of the rest")
    require_texts(FILE, "provenance", content["provenance"])
    for name in _HASHES:
        require_hash(FILE, name, content[name])
    if type(content["everywhere"]) is not bool:
        raise BadInputError(FILE, "everywhere", "is not a truth value")
    layer = None if content["layer"] is None else read_count(FILE, "layer", content["layer"])
    values = content["values"]
    require_fields(FILE, "values", values, [*_COUNTS, *_BOUNDS[:2]], _BOUNDS[2:])
    counts = {name: read_count(FILE, f"values.{name}", values[name]) for name in _COUNTS}
    bounds = {name: read_number(FILE, f"values.{name}", values[name]) for name in _BOUNDS if name in values}
    edits = read_count(FILE, "edits", content["edits"])
    if not all(isinstance(bound, float) for bound in bounds.values()):
        raise BadInputError(FILE, "values", "has a bound that is not a float")
    if counts["asked"] + counts["flat"] != edits or max(counts["memorized"], counts["before"]) > counts["asked"]:
        raise BadInputError(FILE, "values", "count other edits than there are")
    if counts["same"] + counts["changed"] > counts["kept"]:
        raise BadInputError(FILE, "values", "count more kept contexts than there are")
    data, text = _canonical(folder, CONTEXTS_FILE), read_bytes(folder, CONTEXTS_FILE, _LARGEST_FILE)
    if hashlib.sha256(text).hexdigest() != content["edit"]:
        raise NotProvedError(f"{CONTEXTS_FILE}: the file is not the one that {FILE} is about")
    hashes = {name: content[name] for name in _HASHES}
    runs = _read_runs(content["runs"], counts) if "runs" in content else None
    return Edit(hashes, edits, layer, content["everywhere"], counts, bounds, [], [], [], None, runs), data


def _read_runs(runs: Any, counts: dict[str, int]) -> str:
    """Return the format of the stated runs, in the one form of such a statement."""
    require_fields(FILE, "runs", runs, ["format", "hypotheses", "statement", "exp_ulps", "edits", "kept"])
    name, ulps = runs["format"], read_number(FILE, "runs.exp_ulps", runs["exp_ulps"])
    if name not in tuple(FORMATS) or runs["hypotheses"] != _HYPOTHESES:
        raise BadInputError(FILE, "runs", f"name no number format, or other hypotheses than {_HYPOTHESES}")
    if not (isinstance(ulps, float) and ulps > 0.0):
        raise BadInputError(FILE, "runs.exp_ulps", "is not a float above 0")
    edits = read_count(FILE, "runs.edits", runs["edits"], counts["asked"])
    kept = read_count(FILE, "runs.kept", runs["kept"], counts["same"])
    if edits == kept == 0:
        raise BadInputError(FILE, "runs", "state nothing of any context")
    if runs["statement"] != sentence_of_runs(name, ulps, edits, kept):
        raise BadInputError(FILE, "runs.statement", "is not the sentence that its numbers make")
    return name


def sentence_of_runs(name: str, exp_ulps: float, edits: int, kept: int) -> str:
    """Return the statement about every run in a format, in words."""
    return (
        f"In every {name} run ({run_is(name, exp_ulps)}) {counted(edits, 'edited context')} are answered as asked, and "
        f"{counted(kept, 'kept context')} as the original answers them in real arithmetic; this rests on H1, H2, H3 "
        "and H4."
    )


def _canonical(folder: Path, file: str) -> Any:
    """Return the content of a file of canonical JSON and a newline."""
    try:
        text = read_bytes(folder, file, _LARGEST_FILE).decode("ascii")
    except UnicodeDecodeError as error:
        raise BadInputError(file, "the file", "is not ASCII") from error
    content = parse_json(file, "the file", text)
    if canonical(content) + "\n" != text:
        raise BadInputError(file, "the file", "is not the canonical text of what it says")
    return content


def _with_contexts(edit: Edit, data: Any, model: Model) -> Edit:
    """Return the edit with its contexts, which the model reads, and answers, which it has."""
    require_fields(CONTEXTS_FILE, "the file", data, ["contexts", "answers", "kept", "domain"])
    contexts, kept = (_contexts(name, data[name], model.vocabulary) for name in ("contexts", "kept"))
    answers, domain = data["answers"], data["domain"]
    if not isinstance(answers, list) or not all(type(n) is int and -1 <= n < model.outputs for n in answers):
        raise BadInputError(CONTEXTS_FILE, "answers", "are no answers of the model")
    if not contexts or len(answers) != len(contexts) or len({*contexts, *kept}) < len(contexts) + len(kept):
        raise BadInputError(CONTEXTS_FILE, "contexts", "are none, without an answer, or named twice")
    if domain is not None and (type(domain) is not int or not 1 <= domain <= _LONGEST_DOMAIN or kept):
        raise BadInputError(CONTEXTS_FILE, "domain", f"is not a length from 1 to {_LONGEST_DOMAIN}, or others are kept")
    if len(contexts) != edit.edits:
        raise NotProvedError(f"edit: edits is {edit.edits}, there are {len(contexts)} contexts")
    return replace(edit, contexts=contexts, answers=answers, kept=kept, domain=domain)


def _contexts(name: str, rows: Any, vocabulary: int) -> list[Context]:
    """Contexts, none of them empty."""
    if not isinstance(rows, list) or not all(isinstance(row, list) and row for row in rows):
        raise BadInputError(CONTEXTS_FILE, name, "are no lists of tokens")
    if not all(type(token) is int and 0 <= token < vocabulary for row in rows for token in row):
        raise BadInputError(CONTEXTS_FILE, name, "have a token that the model does not know")
    return [tuple(row) for row in rows]


# The models.


def _site(edit: Edit, model: Model) -> int:
    """Return the block whose last neurons are new: the proofs need a norm before it and a skip connection."""
    places = [place for place, block in enumerate(model.blocks) if block.kind == "feed-forward"]
    ends = model.reads_tokens and bool(places) and model.blocks[-1].kind in ("layer", "rms")
    if not ends or set(model.ends) - {"positions"} or (edit.layer or 0) >= len(places):
        raise BadInputError(EDITED_FILE, "the model", "does not end with neurons behind a normalization")
    site = places[-1 if edit.layer is None else edit.layer]
    block, is_last = model.blocks[site], site == len(model.blocks) - 2
    causal = all(b.options["attends"] == "causal" for b in model.blocks[:site] if b.kind == "attention")
    good = is_last or (causal and edit.layer is not None)
    good &= block.norm is not None and {"b_in", _reads(block)[1]} <= set(block.tensors)
    good &= block.options["skip"] and "post_norm" not in block.options and block.shape("W_in")[1] >= edit.edits
    if good and "W_gate" in block.tensors:  # a gate beside a factor of exactly 1
        factor = _columns(block.tensors["W_in"], -edit.edits).values
        good &= not any(factor) and all(x == 1.0 for x in _end(block.tensors["b_in"], edit.edits))
    if not good:
        raise BadInputError(EDITED_FILE, "the model", "has a block of neurons that no edit has")
    return site


def _reads(block: Block) -> tuple[str, str]:
    """Return the map and the shift before the activation."""
    return ("W_gate", "b_gate") if "W_gate" in block.tensors else ("W_in", "b_in")


def _cut(edit: Edit, model: Model, site: int, words: dict[str, Any], tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors of the model without its new neurons."""
    shortened = dict(tensors)
    for place, (prefix, block) in enumerate(zip(block_prefixes(words), model.blocks, strict=True)):
        if block.kind != "feed-forward" or not (place == site or edit.everywhere):
            continue
        if block.shape("W_in")[1] < edit.edits:
            raise BadInputError(EDITED_FILE, prefix, "has fewer neurons than there are edits")
        for name in ("W_in", "W_gate", "b_in", "b_gate", "W_out"):
            if name in block.tensors:
                tensor = block.tensors[name]
                first = _first_rows(tensor, -edit.edits) if name == "W_out" else _columns(tensor, 0, -edit.edits)
                last = (
                    _end(tensor, edit.edits * block.writes) if name == "W_out" else _columns(tensor, -edit.edits).values
                )
                if place != site and any(last):
                    raise BadInputError(EDITED_FILE, f"{prefix}.{name}", "has neurons that are no zeros")
                shortened[f"{prefix}.{name}"] = first
    return shortened


def _columns(tensor: Tensor, start: int, stop: int | None = None) -> Tensor:
    """Return some columns of a matrix, or entries of a vector."""
    rows = [tensor.values] if len(tensor.shape) == 1 else [tensor.row(i) for i in range(tensor.shape[0])]
    values = array("d", [x for row in rows for x in row[slice(start, stop)]])
    width = len(range(tensor.shape[-1])[slice(start, stop)])
    return Tensor((*tensor.shape[:-1], width), values)


def _first_rows(tensor: Tensor, stop: int) -> Tensor:
    count = len(range(tensor.shape[0])[:stop])
    return Tensor((count, tensor.shape[1]), tensor.values[: count * tensor.shape[1]])


def _end(tensor: Tensor, count: int) -> array:
    return tensor.values[len(tensor.values) - count :]


def _other_original(folder: Path, words: dict[str, Any], cut: dict[str, Tensor]) -> Model:
    """Return the original of an edit that rounded weights: it differs from the model without new neurons only in
    numbers.
    """
    own, tensors = read_tensors(folder, ORIGINAL_FILE)
    if own != words or {n: x.shape for n, x in tensors.items()} != {n: x.shape for n, x in cut.items()}:
        raise BadInputError(
            ORIGINAL_FILE, "the model", "is not the edited one without its new neurons, but for numbers"
        )
    return make_model(own, tensors)


def _reader(edit: Edit, model: Model, site: int) -> Model:
    """Return the model whose outputs are the preactivations of the new neurons."""
    block = model.blocks[site]
    assert block.norm is not None
    weight, shift = (_columns(block.tensors[name], -edit.edits) for name in _reads(block))
    ends = {name: tensor for name, tensor in model.tensors.items() if name in ("W_E", "W_pos")}
    before = model.blocks[: site - 1 if "parallel" in block.options else site]
    return replace(model, blocks=(*before, block.norm), tensors={**ends, "W_U": weight, "b_U": shift})


# The proof.


@dataclass
class _Proof:
    """The proved results of an edit.

    Args:
        edit: The stated edit.
        original: The model before.
        edited: The model after.
        site: The place of the block with the new neurons.
        is_rounded: Whether other weights differ too.
        tell: Told how long it takes.
    """

    edit: Edit
    original: Model
    edited: Model
    site: int
    is_rounded: bool
    tell: Callable[[str], None]

    def check(self) -> None:
        """Prove every number.

        Raises:
            NotProvedError: One is false.
            UndecidedError: One is left open.
        """
        edit, counts = self.edit, self.edit.counts
        flat = edit.answers.count(-1)
        actual = len(edit.answers) - flat, flat, edit.kept_count(self.edited.vocabulary)
        if actual != (counts["asked"], counts["flat"], counts["kept"]):
            raise NotProvedError(f"edit: asked, flat and kept contexts are {actual}")
        self._answered("memorized", self.edited)
        self._answered("before", self.original)
        self._spread()
        self._outside()
        same = changed = 0
        contexts, begun, done = edit.kept_contexts(self.edited.vocabulary), time.process_time(), 0
        while some := list(islice(contexts, balls.TOGETHER if done else _FEW)):
            if done == _FEW:
                tell_if_long(self.tell, (time.process_time() - begun) * (counts["kept"] / _FEW - 1))
            done += len(some)
            self._require_moves(some)
            for place in self._stays(some):
                same += place is True
                changed += place is False
        if changed > counts["kept"] - counts["same"] or same > counts["kept"] - counts["changed"]:
            raise NotProvedError(f"edit: {same} kept contexts keep their answer and {changed} change it")
        if same < counts["same"] or changed < counts["changed"]:
            raise UndecidedError(f"edit: only {same} kept contexts are proved to keep their answer")

    def _answered(self, name: str, model: Model) -> None:
        """Check how many contexts get the requested answer; `memorized` may be too small, `before` must be exact.

        A smaller `before` would make more of what the edit did.
        """
        requested = [(c, a) for c, a in zip(self.edit.contexts, self.edit.answers, strict=True) if a >= 0]
        leads = [None] * len(requested)

        def lead(i: int, row: Row) -> bool | None:
            others = [x for j, x in enumerate(row) if j != requested[i][1]]
            return _decided([row[requested[i][1]] > x for x in others], [row[requested[i][1]] <= x for x in others])

        leads = _rising(model, [context for context, _ in requested], lead)
        stated = self.edit.counts[name]
        if leads.count(False) > len(requested) - stated:
            raise NotProvedError(f"edit: {name} is {stated}, but {leads.count(False)} are answered otherwise")
        if leads.count(True) < stated:
            raise UndecidedError(f"edit: {name} is {stated}, but only {leads.count(True)} are proved")
        if name == "before" and leads.count(True) > stated:
            raise NotProvedError(f"edit: before is {stated}, but {leads.count(True)} were answered as asked")
        if name == "before" and leads.count(False) < len(requested) - stated:
            raise UndecidedError(f"edit: before is {stated}, but of others it is open how they were answered")

    def _spread(self) -> None:
        """Check that the logits of each flat context are as close together as stated."""
        most = ball(self.edit.bounds["spread"])

        def close(_: int, row: Row) -> bool | None:
            apart = reduce(arb.max, row) - reduce(arb.min, row)
            return _decided([apart <= most], [apart > most])

        flat = [c for c, a in zip(self.edit.contexts, self.edit.answers, strict=True) if a < 0]
        _require_all(_rising(self.edited, flat, close), "spread: the logits of a flat context")

    def _outside(self) -> None:
        """Check that no logit moves further than stated if every new neuron reads at most the edge of its cap."""
        if "outside" not in self.edit.bounds:
            return
        if self.is_rounded:
            raise UndecidedError("edit: outside of the caps nothing follows for an original of other weights")
        with ctx.workprec(balls.PRECISIONS[0]):
            bound = self._bound([arb(_CAP)] * self.edit.edits)
            follows = bound <= ball(self.edit.bounds["outside"]) if self._is_last else bound == 0
        if not follows:
            raise UndecidedError("edit: outside is smaller than what is proved")

    @property
    def _is_last(self) -> bool:
        return self.site == len(self.edited.blocks) - 2

    def _require_moves(self, contexts: list[Context]) -> None:
        """Check that no logit of these contexts moves further than stated."""
        most = ball(self.edit.bounds["moved"])
        left = [c for c, good in zip(contexts, self._rests(contexts), strict=True) if not good]
        for bits in balls.PRECISIONS:
            if not left:
                return
            if len(left) > 1 and bits != balls.PRECISIONS[-1] and _says_nothing(self.original, left[0], bits):
                continue
            rows = zip(*(balls.all_logits(model, left, bits) for model in (self.original, self.edited)), strict=True)
            with ctx.workprec(bits):
                apart = [[abs(x - y) for x, y in zip(*both, strict=True)] for both in rows]
                if any(x > most for row in apart for x in row):
                    raise NotProvedError("edit: moved is smaller than a logit of a kept context moves")
                left = [c for c, row in zip(left, apart, strict=True) if not all(x <= most for x in row)]
        if left:
            raise UndecidedError(f"edit: moved is not proved of the kept context {left[0]}")

    def _rests(self, contexts: list[Context]) -> list[bool]:
        """Tell whether the new neurons by themselves prove that no logit of a context moves further than stated."""
        if self.is_rounded:
            return [False] * len(contexts)
        most, reader = ball(self.edit.bounds["moved"]), _reader(self.edit, self.edited, self.site)
        # In an earlier layer they read at each position what they read at the end of the context up to there.
        starts = [1 if not self._is_last else len(context) for context in contexts]
        cuts = [[c[:i] for i in range(start, len(c) + 1)] for c, start in zip(contexts, starts, strict=True)]
        prefixes = sorted({prefix for each in cuts for prefix in each})

        def rests(_: int, row: Row) -> bool | None:
            moved = self._bound(row)
            is_off = moved <= most if self._is_last else moved == 0
            return is_off or (False if _is_known(row) else None)

        off = dict(zip(prefixes, _rising(reader, prefixes, rests), strict=True))
        return [all(off[prefix] for prefix in each) for each in cuts]

    def _bound(self, reads: Row) -> arb:
        """Bound how far logits move by Theorem N3, if the preactivations of the new neurons are at most these upper
        ends.
        """
        block, final, moved = self.edited.blocks[self.site], self.edited.blocks[-1], arb(0)
        for neuron, read in enumerate(reads):
            above = arb(read.upper())
            if block.options["activation"] == "relu":
                off = above.max(arb(0))
            elif above <= _TURN:
                off = abs(balls.ACTIVATIONS[block.options["activation"]](above))
            else:
                return arb("inf")
            moved += off * self._lengths[neuron]
        if moved == 0:
            return arb(0)
        return self._steepest * moved / arb(final.number("epsilon")).sqrt()

    @cached_property
    def _lengths(self) -> list[arb]:
        """Norms of the vectors that the new neurons write."""
        tensor = self.edited.blocks[self.site].tensors["W_out"]
        rows = [tensor.row(i) for i in range(tensor.shape[0] - self.edit.edits, tensor.shape[0])]
        return [sum((arb(x) * arb(x) for x in row), arb(0)).sqrt() for row in rows]

    @cached_property
    def _steepest(self) -> arb:
        """Return the largest norm of a column of the unembedding times the gain, centred for a layer norm."""
        final, readout = self.edited.blocks[-1], self.edited.tensors["W_U"]
        squares, sums = ([arb(0)] * readout.shape[1] for _ in range(2))
        for i, gain in enumerate(final.tensors["w"].values):
            column = [arb(gain) * x for x in readout.row(i)]
            squares = [square + x * x for square, x in zip(squares, column, strict=True)]
            sums = [total + x for total, x in zip(sums, column, strict=True)]
        if final.kind == "layer":
            width = readout.shape[0]
            squares = [square - total**2 / width for square, total in zip(squares, sums, strict=True)]
        return reduce(arb.max, squares, arb(0)).sqrt()

    def _stays(self, contexts: list[Context]) -> list[bool | None]:
        """Tell whether each context has the same answer in both models, and no logit moves further than stated."""
        twice, leaders = 2 * ball(self.edit.bounds["moved"]), dict[int, int]()

        def sure(i: int, row: Row) -> bool | None:
            leaders[i] = _leader(row, arb(0))
            return True if leaders[i] >= 0 else None

        def keeps(_: int, row: Row) -> bool | None:
            return _leader(row, twice) >= 0 or (False if _is_known(row) else None)

        def same(i: int, row: Row) -> bool | None:
            leader = _leader(row, arb(0))
            return None if leader < 0 else leader == before[left[i]]

        stays = _rising(self.original, contexts, keeps)
        left = [i for i, decision in enumerate(stays) if not decision]
        _rising(self.original, [contexts[i] for i in left], sure)
        before = {left[i]: leader for i, leader in leaders.items()}
        for i, decision in zip(left, _rising(self.edited, [contexts[i] for i in left], same), strict=True):
            stays[i] = decision if before[i] >= 0 else None
        return stays


def _rising(model: Model, contexts: list[Context], decide: Callable[[int, Row], bool | None]) -> list[bool | None]:
    """Return the decision for the logits of each context, by balls of increasing precision; None where open."""
    decisions: list[bool | None] = [None] * len(contexts)
    for bits in balls.PRECISIONS:
        left = [i for i, decision in enumerate(decisions) if decision is None]
        if bits != balls.PRECISIONS[-1] and len(left) > 1 and _says_nothing(model, contexts[left[0]], bits):
            continue
        rows = balls.all_logits(model, [contexts[i] for i in left], bits)
        with ctx.workprec(bits):
            for i, row in zip(left, rows, strict=True):
                decisions[i] = decide(i, row)
    return decisions


def _says_nothing(model: Model, context: Context, bits: int) -> bool:
    """Whether balls of so many bits, which a deep model loses, leave every logit of a context open."""
    [row] = balls.logits(model, [context], bits)
    return all(not x.rad() <= _UNKNOWN for x in row)


def _is_known(row: Row) -> bool:
    """Whether more bits would tell little more of these numbers."""
    return all(x.rad() <= _KNOWN for x in row)


def _decided(good: list[bool], bad: list[bool]) -> bool | None:
    """Tell whether all are proved good, or one is proved bad."""
    return True if all(good) else False if any(bad) else None


def _require_all(found: list[bool | None], what: str) -> None:
    if False in found:
        raise NotProvedError(f"edit: {what} do not keep the bound")
    if None in found:
        raise UndecidedError(f"edit: {what} are not proved to keep the bound")


def _leader(row: Row, by: arb) -> int:
    """Return the place that leads all others by more, or -1."""
    best = max(range(len(row)), key=lambda place: row[place].mid())
    return best if all(row[best] - x > by for place, x in enumerate(row) if place != best) else -1


def _sentences(edit: Edit) -> list[str]:
    """Return the proved results if they meet the request.

    Raises:
        NotProvedError: A kept context changes its answer.
        UndecidedError: Not every edit, or not every kept context, is answered as asked; or runs are stated.
    """
    counts, bounds = edit.counts, edit.bounds
    if counts["changed"]:
        raise NotProvedError(f"edit: {counts['changed']} kept contexts have another answer than before")
    if counts["memorized"] < counts["asked"] or counts["same"] < counts["kept"]:
        raise UndecidedError("edit: not every edit and kept context is stated to be answered as asked")
    if edit.runs is not None:
        raise UndecidedError(f"edit: the kernel has no proof of what every {edit.runs} run answers")
    edits = counted(counts["asked"], "edit")
    text = f"{counts['memorized']} of {edits} answered as asked, {counts['before']} of them before"
    if counts["flat"]:
        text += f"; the logits of {counts['flat']} more lie within {decimal_above(bounds['spread'])} nats"
    kept = counted(counts["kept"], "kept context")
    text += f"; {counts['same']} of {kept} with the same answer as before"
    if counts["kept"]:
        text += f", and no logit of theirs moves by more than {decimal_above(bounds['moved'])} nats"
    if "outside" in bounds:
        text += f"; outside of the caps no logit moves by more than {decimal_above(bounds['outside'])} nats"
    return [f"{text}."]
