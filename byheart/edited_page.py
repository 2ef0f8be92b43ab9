"""An edit as a page for a person: what was asked, what changed, what provably did not, and a map of the caps.

Page: docs/claims/editing.md
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from byheart.report.document import badge, document, escaped, section
from byheart.report.drawing import Axes, box, dot, figure, line, part_of_page, ticks, words
from constructions.arrays import Float64Array, Int64Array
from constructions.counted import counted
from constructions.edits.half_space import TRIGGER, HalfSpaces
from constructions.files import write_atomically
from constructions.models.appended_neurons import appended, editable
from constructions.models.model import Model
from verify.arithmetic.decimals import decimal_above
from verify.edits.certificate import CAP, FLAT, EditCertificate
from verify.edits.judge import preactivations
from verify.forward.ladder import decide_argmax
from verify.provers.edit import Edit

_SHOWN = 24  # edits in the table
_DRAWN = 24  # caps on the map, those with the smallest gaps
_OTHERS = 1000  # kept contexts whose distances are drawn
_TICKS = 60  # of a lane
HIDES = (
    "Deletion hides and does not unlearn: the weights that gave an old answer are still there, and contexts outside of "
    "the caps may still give it."
)


def write_edit_page(
    path: Path,
    *,
    original: Model,
    edited: Model,
    edit: Edit,
    certificate: EditCertificate,
    rounded_to: str | None,
    changed: Sequence[str],
    spaces: HalfSpaces,
    tokens: Sequence[str],
    answers: Sequence[str],
) -> None:
    """Write the page to `path`, atomically.

    Args:
        path: Where the page shall be.
        original: The model before.
        edited: The model after.
        edit: What was asked.
        certificate: What was proved.
        rounded_to: The type to which the weights of the original were rounded; none where they are as before.
        changed: The kept contexts that are proved to have another answer, in words.
        spaces: The half-spaces of the new neurons.
        tokens: What the tokens are called.
        answers: What the answers are called.
    """
    values, headline = certificate.values, certificate.headline()
    before = decide_argmax(original, edit.contexts).place
    place = "the last layer" if certificate.layer is None else f"layer {certificate.layer}"
    head = (
        f"<header><p class='brand'>byheart edit</p><h1>{escaped(headline)} {badge(certificate.verdict.value)}</h1>"
        f"<p>{HIDES}</p></header>\n"
    )
    others = "the original's" if rounded_to is None else f"the original's, rounded to {rounded_to}"
    neurons = (
        f"<p>{counted(certificate.edits, 'neuron')} more in {place}, one for each edited context, which fires there: "
        f"{original.parameters} numbers before, {edited.parameters} after. The others are {others}.</p>"
    )
    same = "<p>No context was asked to keep its answer.</p>"
    if values["kept"]:
        same = (
            f"<p>{values['same']} of {counted(int(values['kept']), 'kept context')} keep the answer of the original, "
            f"and no logit of theirs moves by more than {decimal_above(float(values['moved']))} nats, in real "
            "arithmetic, with the weights as they were given before and as they are stored after.</p>"
        )
    if len(changed):
        some = "; ".join(changed[:_SHOWN])
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
    body = head + section("What was asked", _asked(edit, before, tokens, answers))
    body += section("What changed", neurons) + section("What provably did not", same)
    body += section("The caps", _map(edited, edit, certificate.layer, spaces, tokens))
    body += section(
        "Prove it again",
        "<p><code>byheart check</code> of this folder proves all of it again from the weights; with "
        "<code>--independent</code> in balls, by a reader that shares no numerical code with the first. This page is "
        "no part of the proof.</p>",
    )
    write_atomically(path, document(headline, body).encode("utf-8"))


def _asked(edit: Edit, before: Int64Array, tokens: Sequence[str], answers: Sequence[str]) -> str:
    called = {-1: "not decided"} | {place: escaped(name) for place, name in enumerate(answers)}
    rows = [
        f"<tr><td>{escaped(_name(row, tokens))}</td><td>{called[old]}</td>"
        f"<td>{'the uniform law' if new == FLAT else called[new]}</td></tr>"
        for row, old, new in zip(
            edit.contexts[:_SHOWN].tolist(), before.tolist(), edit.answers[:_SHOWN].tolist(), strict=False
        )
    ]
    rest = len(edit.contexts) - len(rows)
    more = f"<p>and {rest} more, in <code>proof/contexts.json</code></p>" if rest else ""
    kept = f"all other contexts of {edit.domain} tokens" if edit.domain else counted(len(edit.kept), "listed context")
    return (
        "<div class='scroll'><table class='figures'><thead><tr><th>context</th><th>before</th><th>after</th></tr>"
        f"</thead><tbody>{''.join(rows)}</tbody></table></div>{more}<p>To be kept: {kept}.</p>"
    )


def _name(row: Sequence[int], tokens: Sequence[str]) -> str:
    return " ".join(tokens[token] for token in row)


def cap_distances(
    edited: Model, edit: Edit, layer: int | None, drawn: Int64Array
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
    parts = [part.midpoint[:, drawn] for _, part in preactivations(edited, len(edit.answers), kept, layer=layer)]
    others = distance(np.concatenate(parts)).T if len(kept) else np.zeros((len(drawn), 0))
    return distance(TRIGGER), distance(-CAP), distance(-TRIGGER), others


def _map(edited: Model, edit: Edit, layer: int | None, spaces: HalfSpaces, tokens: Sequence[str]) -> str:
    drawn = np.argsort(spaces.gaps, kind="stable")[:_DRAWN]
    own, rim, nearest, others = cap_distances(edited, edit, layer, drawn)
    farthest = float(max(1e-9, nearest.max(), others.max(initial=0.0)))
    top, lane, left, width = 30.0, 22.0, 190.0, 560.0
    height = lane * len(drawn)
    axes = Axes(left, top, width, height, (0.0, farthest), (0.0, 1.0))
    parts = axes.scales(ticks(*_round_places(farthest)), {}, "distance of a row from the middle of the cap", "", 13)
    for place, number in enumerate(drawn.tolist()):
        y = top + lane * (place + 0.5)
        across = [axes.at(x, 0.0)[0] for x in np.sort(others[place])[:: max(1, len(others[place]) // _TICKS)]]
        parts.append(words(left - 10, y + 5, _name(edit.contexts[number].tolist(), tokens)[:24], anchor="end", size=13))
        parts += [line((x, y - 5), (x, y + 5), "line") for x in across]
        end = axes.at(float(rim[place]), 0.0)[0]
        parts.append(box(left, y - 6, end - left, 12, "first", 3, f"the cap, up to {rim[place]:.3g}"))
        parts.append(dot(axes.at(float(own[place]), 0.0)[0], y, "on-first", 4))
        if spaces.nearest[number] >= 0:
            parts.append(dot(axes.at(float(nearest[place]), 0.0)[0], y, "second", 4))
    svg = part_of_page(figure("The caps of the new neurons", 780, top + height + 60, parts))
    shown = "" if len(drawn) == len(spaces.gaps) else f" The {len(drawn)} with the smallest gaps are drawn."
    return (
        "<p>A new neuron may fire in its cap alone: the bar. The dot in it is the edited context, the ring the nearest "
        f"other one that counts, the strokes other kept contexts.{shown} The drawing is in floats.</p>"
        f"<figure>{svg}</figure>"
    )


def _round_places(farthest: float) -> list[float]:
    step = 10.0 ** np.floor(np.log10(farthest))
    step = step if farthest / step >= 4 else step / 4 if farthest / step < 2 else step / 2
    return [float(step * k) for k in range(int(farthest / step) + 1)]
