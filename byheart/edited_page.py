"""An edit as a page for a person: what was asked, what changed, what provably did not, and a map of the caps.

Page: docs/claims/editing.md
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from byheart.report.document import badge, document, escaped, section
from byheart.report.drawing import Axes, box, dot, figure, line, part_of_page, ticks, words
from constructions.counted import counted
from constructions.edits.half_space import TRIGGER, HalfSpaces
from constructions.errors import FileFormatError, TamperedError
from constructions.formats.files import (
    canonical_json,
    difference,
    parse_json,
    read_text,
    require_canonical,
    require_regular_file,
    write_atomically,
)
from constructions.model.appended_neurons import appended, editable, without_neurons
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array, Int64Array
from verify.arithmetic.decimals import decimal_above
from verify.arithmetic.exact_json import expect_fields
from verify.certificates.certificate import MEASURED_FILE
from verify.edits.before import Before
from verify.edits.certificate import (
    CAP,
    CONTEXTS_FILE,
    EDITED_FILE,
    LARGEST_FILE,
    ORIGINAL_FILE,
    EditCertificate,
    EditRequest,
)
from verify.edits.contexts import token_lists
from verify.edits.judge import preactivations
from verify.provers.edit import Edit

PAGE_FILE = "edit.html"
_FORMAT, _VERSION = "byheart-edit-measured", 1
_SHOWN = 24  # edits in the table
_DRAWN = 24  # caps on the map, those with the smallest gaps
_OTHERS = 1000  # kept contexts whose distances are drawn
_TICKS = 60  # of a lane
HIDES = (
    "Deletion hides and does not unlearn: the weights that gave an old answer are still there, and contexts outside of "
    "the caps may still give it."
)


@dataclass(frozen=True)
class Noted:
    """What the page shows beside what is proved: how tokens are called, and a map in floats. Nobody proves it.

    Args:
        tokens: The names of the tokens that the page shows, by their numbers.
        answers: Those of the answers.
        caps: Of each cap on the map the place of its context in the edit, and the distances from its middle
            (`cap_distances`): ``context``, ``own``, ``rim``, ``nearest`` or null, and ``others``.
        farthest: The largest distance on the map.
        decoding: What else the host does when it generates, as its folder said; empty where it takes the argmax.
    """

    tokens: Mapping[str, str]
    answers: Mapping[str, str]
    caps: Sequence[Mapping[str, Any]]
    farthest: float
    decoding: str

    @classmethod
    def of(cls, done: "Proved", spaces: HalfSpaces, *, tokens: Sequence[str], answers: Sequence[str]) -> "Noted":
        """Return what is noted of an edit, with what all its tokens and answers are called."""
        edit = done.edit
        chosen = np.argsort(spaces.gaps, kind="stable")[:_DRAWN]
        known = done.known if done.rounded_to is None else None
        own, rim, nearest, others = cap_distances(done.edited, edit, done.certificate.layer, chosen, known)
        caps = [
            {
                "context": number,
                "own": float(own[place]),
                "rim": float(rim[place]),
                "nearest": float(nearest[place]) if spaces.nearest[number] >= 0 else None,
                "others": np.sort(others[place])[:: max(1, len(others[place]) // _TICKS)].tolist(),
            }
            for place, number in enumerate(chosen.tolist())
        ]
        shown = edit.contexts[:_SHOWN], edit.contexts[chosen], done.changed[:_SHOWN]
        rows = [row for part in shown for row in token_lists(part)]
        said: list[int] = [*done.before.tolist(), *edit.answers[:_SHOWN].tolist()]
        return cls(
            tokens={str(token): tokens[token] for token in sorted({token for row in rows for token in row})},
            answers={str(place): answers[place] for place in sorted(set(said)) if place >= 0},
            caps=caps,
            farthest=float(max(1e-9, nearest.max(), others.max(initial=0.0))),
            decoding=done.certificate.provenance.get("decoding", ""),
        )

    def to_json(self) -> str:
        """Return the one text of it."""
        return canonical_json({"format": _FORMAT, "version": _VERSION, **vars(self)}) + "\n"

    @classmethod
    def load(cls, path: Path) -> "Noted":
        """Read what `to_json` gave.

        Raises:
            FileFormatError: Another text.
        """
        text = read_text(path, LARGEST_FILE)
        data = parse_json(path, text)
        expect_fields(path.name, data, {"format", "version", *(each.name for each in fields(cls))})
        if (data.pop("format"), data.pop("version")) != (_FORMAT, _VERSION):
            raise FileFormatError(f"{path} is of another format than {_FORMAT!r} {_VERSION}")
        noted = cls(**data)
        require_canonical(path, text, noted.to_json)
        return noted


@dataclass(frozen=True)
class Proved:
    """An edit with its certificate, and what the page says of single contexts.

    Args:
        original: The model before.
        edited: The model after.
        edit: What was asked.
        certificate: What is proved.
        rounded_to: The type to which the weights of the original were rounded; none where they are as before.
        known: What is known of the original.
    """

    original: Model
    edited: Model
    edit: Edit
    certificate: EditCertificate
    rounded_to: str | None
    known: Before

    @classmethod
    def load(cls, proof: Path, dtype: str) -> "Proved":
        """Return what lies in the folder ``proof``, which a checker has looked at, for weights that are stored in a
        type.
        """
        certificate, edited = EditCertificate.load(proof), Model.load(proof / EDITED_FILE)
        asked = EditRequest.read(proof / CONTEXTS_FILE, d_vocab=edited.d_vocab, d_vocab_out=edited.d_vocab_out)
        edit, is_rounded = Edit.of(asked, edited.d_vocab), (proof / ORIGINAL_FILE).exists()
        original = without_neurons(
            edited, len(edit.answers), layer=certificate.layer, everywhere=certificate.everywhere
        )
        if is_rounded:
            original = Model.load(proof / ORIGINAL_FILE)
        known = Before(original, editable(edited, certificate.layer).place)
        return cls(original, edited, edit, certificate, dtype if is_rounded else None, known)

    @cached_property
    def before(self) -> Int64Array:
        """What the original answers to the contexts of the table; -1 where that is not decided."""
        return self.known.leads(self.edit.contexts[:_SHOWN])[0]

    @cached_property
    def changed(self) -> Int64Array:
        """The kept contexts that are proved to have another answer, `[C, S]`."""
        kept = self.edit.kept
        if not self.certificate.values["changed"]:
            return kept[:0]
        old, new = self.known.leads(kept)[0], self.known.decided(self.edited, kept, self.rounded_to is not None)
        return kept[(old >= 0) & (new >= 0) & (old != new)]


def write_edit_page(folder: Path, done: Proved, noted: Noted) -> None:
    """Write the page into `folder`, and what is noted there, each atomically."""
    write_atomically(folder / MEASURED_FILE, noted.to_json().encode("ascii"))
    write_atomically(folder / PAGE_FILE, edit_page(done, noted).encode("utf-8"))


def require_edit_page_made_again(folder: Path, proof: Path, dtype: str) -> None:
    """Make the page of an edit again, and compare every byte.

    Args:
        folder: What `byheart.editing.edit` wrote; nothing is compared where neither the page nor what is noted for it
            is there.
        proof: Its folder with the certificate, which a checker has looked at.
        dtype: The type in which the host loads its weights.

    Raises:
        FileFormatError: A file is missing or damaged.
        TamperedError: The page is another one.
    """
    page, path = folder / PAGE_FILE, folder / MEASURED_FILE
    if not page.exists():
        return
    if not path.exists():
        raise FileFormatError(
            f"{page} lies there without {MEASURED_FILE}, from which it is made: remove it to check the rest"
        )
    require_regular_file(page)
    noted = Noted.load(path)
    try:
        made = edit_page(Proved.load(proof, dtype), noted)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        raise FileFormatError(f"{path} makes no page: {error}") from error
    stored = page.read_bytes()
    if stored != made.encode("utf-8"):
        raise TamperedError(
            f"{page} is not the page that certificate, weights, contexts and {MEASURED_FILE} make: "
            f"{difference(stored, made.encode('utf-8'))}; do not believe it; remove it to check the rest"
        )


def edit_page(done: Proved, noted: Noted) -> str:
    """Return the text of ``edit.html``.

    Args:
        done: What is proved.
        noted: What is shown beside it.
    """
    certificate, edit = done.certificate, done.edit
    values = certificate.values
    headline = replace(certificate, provenance={}).headline()  # of which nothing is proved
    place = "the last layer" if certificate.layer is None else f"layer {certificate.layer}"
    decoding = f"<p>Noted when this was written: {escaped(noted.decoding)}.</p>" if noted.decoding else ""
    head = (
        f"<header><p class='brand'>byheart edit</p><h1>{escaped(headline)} {badge(certificate.verdict.value)}</h1>"
        f"<p>{HIDES}</p>{decoding}</header>\n"
    )
    others = "the original's" if done.rounded_to is None else f"the original's, rounded to {done.rounded_to}"
    neurons = (
        f"<p>{counted(certificate.edits, 'neuron')} more in {place}, one for each edited context, which fires there: "
        f"{done.original.parameters} numbers before, {done.edited.parameters} after. The others are {others}.</p>"
    )
    same = "<p>No context was asked to keep its answer.</p>"
    if values["kept"]:
        same = (
            f"<p>{values['same']} of {counted(int(values['kept']), 'kept context')} keep the answer of the original, "
            f"and no logit of theirs moves by more than {decimal_above(float(values['moved']))} nats, in real "
            "arithmetic, with the weights as they were given before and as they are stored after.</p>"
        )
    if len(changed := done.changed):
        some = "; ".join(_name(row, noted) for row in token_lists(changed[:_SHOWN]))
        same += f"<p>Kept contexts with another answer, {len(changed)} in all: {escaped(some)}"
        same += f" and {len(changed) - _SHOWN} more.</p>" if len(changed) > _SHOWN else ".</p>"
    if "outside" in values:
        same += (
            "<p>Any other context, of any length, that lies outside of all caps moves by at most "
            f"{decimal_above(float(values['outside']))} nats. Inside of a cap nothing is claimed.</p>"
        )
    else:
        same += "<p>Of contexts that are neither edited nor kept nothing is claimed.</p>"
    if certificate.layer is not None:
        same += "<p>What follows an edited context may change: the neuron fires in it as well.</p>"
    body = head + section("What was asked", _asked(done, noted))
    body += section("What changed", neurons) + section("What provably did not", same)
    body += section("The caps", _map(edit, noted))
    body += section(
        "Prove it again",
        "<p><code>byheart check</code> of this folder proves all of it again from the weights, in balls, by a small "
        "checker that is there to be read; with <code>--fast</code> the prover does, which alone proves what every run "
        "answers. It makes this page again, too; names and the map are noted, and nobody proves them.</p>",
    )
    return document(headline, body)


def _asked(done: Proved, noted: Noted) -> str:
    edit = done.edit
    rows = [
        f"<tr><td>{escaped(_name(row, noted))}</td><td>{_called(old, noted, 'not decided')}</td>"
        f"<td>{_called(new, noted, 'the uniform distribution')}</td></tr>"
        for row, old, new in zip(
            token_lists(edit.contexts[:_SHOWN]), done.before.tolist(), edit.answers[:_SHOWN].tolist(), strict=True
        )
    ]
    rest = len(edit.contexts) - len(rows)
    more = f"<p>and {rest} more, in <code>proof/contexts.json</code></p>" if rest else ""
    kept = f"all other contexts of {edit.domain} tokens" if edit.domain else counted(len(edit.kept), "listed context")
    return (
        "<div class='scroll'><table class='figures'><thead><tr><th>context</th><th>before</th><th>after</th></tr>"
        f"</thead><tbody>{''.join(rows)}</tbody></table></div>{more}<p>To be kept: {kept}.</p>"
    )


def _called(answer: int, noted: Noted, otherwise: str) -> str:
    """Return what an answer is called; what stands there where it is none."""
    return escaped(noted.answers[str(answer)]) if answer >= 0 else otherwise


def _name(row: Sequence[int], noted: Noted) -> str:
    return " ".join(noted.tokens[str(token)] for token in row)


def cap_distances(
    edited: Model, edit: Edit, layer: int | None, drawn: Int64Array, before: Before | None = None
) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
    """Distances from the middle of some caps: of the edited row, the rim, the nearest other row, and kept rows.

    They are floats, for drawing.

    A row n of length sqrt(d) that a neuron of normal a and shift b reads as u lies at the distance r from
    sqrt(d) a / |a|, with r^2 = 2 d - 2 sqrt(d) (u - b) / |a|.
    """
    site, own = editable(edited, layer), appended(edited, len(edit.answers), layer)
    lengths = np.linalg.norm(own.weights * site.norm.w[:, None], axis=0)[drawn]
    shifts = (own.shifts + (0.0 if site.norm.b is None else site.norm.b @ own.weights))[drawn]
    root = np.sqrt(float(len(site.norm.w)))

    def distance(reads: Float64Array | float) -> Float64Array:
        return np.sqrt(np.clip(2.0 * root**2 - 2.0 * root * (reads - shifts) / lengths, 0.0, None))

    kept = edit.kept[:: max(1, len(edit.kept) // _OTHERS)]
    reads = np.zeros((len(kept), len(drawn)))
    for places, part in preactivations(edited, len(edit.answers), kept, layer=layer, before=before):
        reads[places] = part.midpoint[:, drawn]
    others = distance(reads).T
    return distance(TRIGGER), distance(-CAP), distance(-TRIGGER), others


def _map(edit: Edit, noted: Noted) -> str:
    top, lane, left, width = 30.0, 22.0, 190.0, 560.0
    height = lane * len(noted.caps)
    axes = Axes(left, top, width, height, (0.0, noted.farthest), (0.0, 1.0))
    places = ticks(*_round_places(noted.farthest))
    names = token_lists(edit.contexts)
    parts = axes.scales(places, {}, "distance of a row from the middle of the cap", "", 13)
    for place, cap in enumerate(noted.caps):
        y = top + lane * (place + 0.5)
        name = _name(names[cap["context"]], noted)
        parts.append(words(left - 10, y + 5, name[:24], anchor="end", size=13))
        across = [axes.at(x, 0.0)[0] for x in cap["others"]]
        parts += [line((x, y - 5), (x, y + 5), "line") for x in across]
        end = axes.at(cap["rim"], 0.0)[0]
        parts.append(box(left, y - 6, end - left, 12, "first", 3, f"the cap, up to {cap['rim']:.3g}"))
        parts.append(dot(axes.at(cap["own"], 0.0)[0], y, "on-first", 4))
        if cap["nearest"] is not None:
            parts.append(dot(axes.at(cap["nearest"], 0.0)[0], y, "second", 4))
    svg = part_of_page(figure("The caps of the new neurons", 780, top + height + 60, parts))
    drawn = len(noted.caps)
    shown = "" if drawn == len(edit.answers) else f" The {drawn} with the smallest gaps are drawn."
    return (
        "<p>A new neuron may fire in its cap alone: the bar. The dot in it is the edited context, the ring the nearest "
        f"other one that counts, the strokes other kept contexts.{shown} The drawing is in floats.</p>"
        f"<figure>{svg}</figure>"
    )


def _round_places(farthest: float) -> list[float]:
    step = 10.0 ** np.floor(np.log10(farthest))
    step = step if farthest / step >= 4 else step / 4 if farthest / step < 2 else step / 2
    return [float(step * k) for k in range(int(farthest / step) + 1)]
