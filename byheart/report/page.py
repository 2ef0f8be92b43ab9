"""The page a person looks at: one HTML file that needs no network, no script and no other file.

Page: docs/commands.md
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from byheart.figures import Ends, Figures, RunFigures, Tried
from byheart.report.chart import Line, histogram, line_chart
from byheart.report.document import badge, document, escaped, grouped, section
from byheart.report.drawing import part_of_page
from byheart.result import Field, html_cards
from constructions.counted import counted, inflected
from constructions.formats.files import write_atomically
from constructions.model.attention import softmax
from constructions.model.model import Model
from constructions.model.shapes import is_dana_network
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.task import Task
from verify.arithmetic.decimals import number
from verify.arithmetic.enclosure import Enclosure
from verify.forward.heads import enclose_attention, enclose_features
from verify.forward.logits import enclose_logits
from verify.runs.formats import every_run_is

_HEADS = "Heads for every labelling of these contexts"
_SHOWN_CONTEXTS = 8
_SHOWN_HEADS = 6
_SHOWN_TOKENS = 6
_LARGEST_TOKEN = 24
_LONGEST_CONTEXT = 32
_LARGEST_DECOMPOSITION = 2048
_MEASURED = (
    "<p>Nobody proves again what stands below: it was measured, or computed when the weights were made, and lies in "
    "<code>measured.json</code>. <code>byheart check</code> only sees to it that this page says what that file says, "
    "and that every bound of margins and divergences is that of the certificate.</p>"
)
_WHITESPACE = {" ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥", "\u00a0": "⍽"}


class Predicted(NamedTuple):
    """What the weights predict for a context.

    Args:
        tokens: The answers that are shown.
        probabilities: Of each of them.
        others: Of all others together; none where there are none.
    """

    tokens: list[int]
    probabilities: list[float]
    others: float | None


@dataclass(frozen=True, eq=False)
class Details:
    """What the page shows beyond the figures; each part that is not given is left out.

    Args:
        source: What the task was made from, in a few words.
        statements: What the certificate states, each proved.
        divergence_upper: Certified upper bounds of the divergence of each memorized context, nats, `[T]`.
        margin_lower: Certified lower bounds of the margin of the argmax, nats, `[T]`.
        ranks_lower: Certified lower bounds of the rank with 0, 1, ... heads.
        ranks_upper: Certified upper bounds, as many.
        singular_values: Those of the memorized features in descending order; computed here where they are not given and
            the task is not too large.
        digests: SHA-256 of each file by its name.
        provenance: Names and versions of what made the files.
        attention: Of some heads by their numbers the weights of each shown context, `[contexts][S]`; computed here
            where they are not given.
        predictions: Of each shown context the answers that are shown, their probabilities, and that of all others,
            none where there are none; likewise.
    """

    source: str = ""
    statements: Sequence[str] = ()
    divergence_upper: Float64Array | None = None
    margin_lower: Float64Array | None = None
    ranks_lower: Int64Array | None = None
    ranks_upper: Int64Array | None = None
    singular_values: Float64Array | None = None
    digests: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, str] = field(default_factory=dict)
    attention: Mapping[int, list[list[float]]] | None = None
    predictions: list[Predicted] | None = None

    @classmethod
    def of_drawn(cls, drawn: Mapping[str, Any], **beside: Any) -> "Details":
        """Return the details of numbers that `drawn_numbers` gave, with what else there is."""
        ranks = [drawn[name] for name in ("ranks_lower", "ranks_upper")]
        lower, upper = (None if each is None else np.array(each, dtype=np.int64) for each in ranks)
        singular = drawn["singular_values"]
        return cls(
            **beside,
            divergence_upper=_spread(drawn["divergence_upper"]),
            margin_lower=_spread(drawn["margin_lower"]),
            ranks_lower=lower,
            ranks_upper=upper,
            singular_values=None if singular is None else np.array(singular, dtype=np.float64),
            attention={int(head): rows for head, rows in drawn["attention"].items()},
            predictions=[
                Predicted(each["tokens"], each["probabilities"], each["others"]) for each in drawn["predictions"]
            ],
        )


def drawn_numbers(network: Model, task: Task, details: Details, outputs: Enclosure | None = None) -> dict[str, Any]:
    """Return what the page draws, as data for JSON that makes the same page on every machine.

    Args:
        network: The weights.
        task: What they memorize.
        details: The numbers of each context.
        outputs: Its enclosed logits, where they are known, so that the model is not evaluated again.

    Returns:
        Numbers of three digits, each with how many contexts have it, and what is computed of a few contexts.
    """
    shown = _shown_contexts(task.n_contexts)
    of_heads = is_dana_network(network)
    singular = _singular_numbers(network, task) if of_heads else None
    return {
        "divergence_upper": _counted(details.divergence_upper),
        "margin_lower": _counted(details.margin_lower),
        "ranks_lower": None if details.ranks_lower is None else np.asarray(details.ranks_lower).tolist(),
        "ranks_upper": None if details.ranks_upper is None else np.asarray(details.ranks_upper).tolist(),
        "singular_values": None if singular is None else [_few_digits(x, 6) for x in singular.tolist()],
        "attention": {str(head): rows for head, rows in _attention_weights(network, task, shown).items()}
        if of_heads
        else {},
        "predictions": [each._asdict() for each in _predicted(network, task, shown, outputs)],
    }


def _counted(values: Float64Array | None) -> list[list[float | int | None]]:
    """How many values there are of each number of three digits; none stands for infinity."""
    found = Counter(_few_digits(x, 3) for x in np.asarray([] if values is None else values).tolist())
    return [[None if math.isinf(x) else x, count] for x, count in sorted(found.items())]


def _spread(pairs: Sequence[Sequence[Any]]) -> Float64Array:
    """Return the values that `_counted` counted."""
    values = np.array([math.inf if value is None else value for value, _ in pairs], dtype=np.float64)
    counts = [count for _, count in pairs]
    if any(type(count) is not int or not 0 < count < 2**31 for count in counts):
        raise ValueError("a number stands for no contexts")
    return np.repeat(values, counts)


def _few_digits(x: float, digits: int) -> float:
    return float(f"{x:.{digits}g}")


def write_report(path: Path, figures: Figures, network: Model, task: Task, details: Details | None = None) -> None:
    """Write `report_html` to `path`, atomically.

    Args:
        path: Where the page shall be.
        figures: The figures.
        network: The weights.
        task: What they memorize.
        details: What the page shows beyond that.
    """
    write_atomically(Path(path), report_html(figures, network, task, details).encode("utf-8"))


def report_html(figures: Figures, network: Model, task: Task, details: Details | None = None) -> str:
    """Return the page: figures, capacity, singular values, divergences, attention, predictions, torch, files.

    Every text of the task is escaped, and whitespace and control characters in it are made visible. Proved bounds are
    rounded in the direction that keeps them true. Attention and predictions are shown for a few contexts; their
    midpoints come from the enclosures that the certificate is made of. Equal input gives equal text.

    Args:
        figures: The figures; sections whose figures are missing are left out.
        network: The weights.
        task: What they memorize.
        details: What the page shows beyond that.

    Returns:
        A whole HTML document.

    Example:
        >>> from constructions.model.shapes import dana_network
        >>> from constructions.tasks.task import Counts, make_task
        >>> task = make_task(np.array([[0], [1]]), Counts.from_rows([{0: 1}, {1: 3}]), vocabulary=("<a>", "b"))
        >>> one = np.ones((1, 2, 1))
        >>> network = dana_network(W_E=np.eye(2), W_pos=np.zeros((1, 2)), W_Q=one, W_K=one, W_V=one,
        ...                   W_O=np.zeros((1, 1, 2)), W_U=np.log(task.distributions[::-1]))
        >>> page = report_html(Figures(verdict="PROVED"), network, task)
        >>> "&lt;a&gt;" in page, "<a>" in page
        (True, False)
    """
    details = details or Details()
    shown = _shown_contexts(task.n_contexts)
    of_heads = is_dana_network(network)
    sections = [
        section("What is proved", _claims(details)),
        section("Measured, or computed when this was made", _MEASURED if details.statements else ""),
        section("Memories tried", _memories(figures)),
        section(
            _HEADS,
            _capacity(figures, network, task, details) if of_heads else "",
        ),
        section(
            "Singular values of the memorized features",
            _singular_values(figures, network, task, details) if of_heads else "",
        ),
        section("Divergence and margins", _divergences(figures, task, details)),
        section("Where the heads look", _attention(network, task, shown, details.attention) if of_heads else ""),
        section("Predicted beside true", _predictions(network, task, shown, details.predictions)),
        section("In PyTorch", _torch(figures, task)),
        section("All contexts", _rest(figures, task)),
        section("Files, and how to check them again", _files(figures, details)),
    ]
    headline = (figures.headline or "a memory").split(":")[0]
    title = f"byheart: {headline}, {counted(task.n_contexts, 'context')}"
    return document(title, f"{_headline(figures, network, task, details)}\n{''.join(sections)}")


def _headline(figures: Figures, network: Model, task: Task, details: Details) -> str:
    verdict = figures.verdict
    kind = "next-token distributions" if task.target == "distributions" else "most frequent next tokens"
    source = f" from <strong>{escaped(details.source)}</strong>" if details.source else ""
    occurrences = f"of {grouped(task.n_all)}; {_share(task.prior.sum())} of all occurrences"
    right = None if figures.memorized is None else f"{grouped(figures.memorized)} of {grouped(task.n_contexts)}"
    mean, largest = figures.mean_loss_upper, figures.max_loss_upper
    fields = [
        Field("", task.n_contexts, "contexts to memorize", note=occurrences),
        Field("", right, "memorized", note="contexts that meet the criterion, proved"),
        Field("", mean, "mean divergence", "nats", "at most", note="over the memorized contexts"),
        Field("", largest, "largest divergence", "nats", "at most", note="in any memorized context"),
        *_size_fields(figures, network),
    ]
    title = figures.headline.split(";")[0]
    shown = badge(verdict) if verdict else ""
    return (
        f"<header><p class='brand'>byheart</p><h1>{escaped(title)} {shown}</h1>"
        f"<p>The {kind} after {_count(task.n_contexts)} {inflected('context', task.n_contexts)} of "
        f"{counted(task.n_ctx, 'token')}{source}, {_how(figures)}, and every "
        f"bound here and under “What is proved” is proved about the very float64 numbers in "
        f"<code>model.safetensors</code>.</p>{html_cards(fields)}</header>"
    )


def _how(figures: Figures) -> str:
    """How the weights came to be: in closed form, or by what a sceptic would call training."""
    if figures.memory == "newton":
        return "in weights found by numerical search, then certified"
    return "in handcrafted weights: nothing was trained"


def _size_fields(figures: Figures, network: Model) -> list[Field]:
    if not is_dana_network(network):
        kinds = ", ".join(str(block.options()["kind"]) for block in network.blocks)
        return [
            Field("", len(network.blocks), "layers", note=kinds),
            Field("", network.parameters, "parameters", note=f"memory: {figures.memory or figures.claim or ''}"),
        ]
    return [
        Field("", network.n_heads, inflected("head", network.n_heads), note=_heads_note(figures)),
        Field("", network.parameters, "parameters", note=f"d = {network.d_model}, d_h = {network.d_head}"),
    ]


def _memories(figures: Figures) -> str:
    """Every memory that was tried, and what no memory can do without."""
    tried = figures.memories
    if not tried:
        return ""
    rows = "".join(_memory_row(offer) for offer in tried)
    limit, distributions = figures.information_limit, figures.target == "distributions"
    if limit is not None:
        note = (
            "real numbers, for almost all next-token distributions"
            if distributions
            else "entries, for all labels of these contexts"
        )
        known = figures.information_per_fact
        information = "" if known is None else f"; these labels have {_plain(known)} bits of entropy a fact"
        rows += (
            f"<tr><th>lower bound, any model</th><td>{_count(limit)}</td><td colspan='5'>{note}{information}</td></tr>"
        )
    built = f"<p>{escaped(figures.built)}.</p>" if figures.built else ""
    return (
        f"{built}<div class='scroll'><table class='figures'><thead><tr><th>memory</th><th>parameters</th>"
        "<th>nonzero</th><th>facts per parameter</th><th>least margin, measured</th>"
        f"<th>lowest dtype</th><th>time, s</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _memory_row(tried: Tried) -> str:
    name = f"<th>{escaped(tried.memory)}</th>"
    if tried.refused is not None:
        return f"<tr>{name}<td colspan='6'>{escaped(tried.refused)}</td></tr>"
    cells = [
        _count(tried.parameters),
        _count(tried.nonzero),
        _plain(tried.facts_per_parameter),
        _plain(tried.least_margin),
        escaped("every run" if tried.every_run else tried.smallest_dtype or "–"),
        _plain(tried.seconds),
    ]
    return f"<tr>{name}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _claims(details: Details) -> str:
    rows = "".join(
        f"<tr><td>{badge('PROVED')}</td><td>{escaped(statement)}</td></tr>" for statement in details.statements
    )
    return f"<table class='claims'><tbody>{rows}</tbody></table>" if rows else ""


def _capacity(figures: Figures, network: Model, task: Task, details: Details) -> str:
    ranks = [
        ("the paper's count", figures.paper_rank, "paper"),
        ("certified: at most", figures.rank_upper, "second"),
        ("certified: at least", figures.rank_lower, "first"),
        ("needed: the number of contexts", task.n_contexts, "quiet"),
    ]
    heads = [
        ("the paper's count", figures.paper_heads, "paper"),
        ("certified: necessary", figures.necessary_heads, "second"),
        ("certified: sufficient", figures.fewest_heads, "first"),
        ("in these weights", network.n_heads, "quiet"),
    ]
    if all(value is None for _, value, _ in ranks[:3] + heads[:3]):
        return ""
    rank_heads = figures.rank_heads
    with_heads = f" with {_count(rank_heads)} {inflected('head', rank_heads)}" if rank_heads is not None else ""
    bars = (
        f"<div class='pair'><div><h3>Rank of the features{with_heads}</h3>{_bars(ranks)}</div>"
        f"<div><h3>Heads for rank {_count(task.n_contexts)}</h3>{_bars(heads)}</div></div>"
    )
    return (
        "<p>The paper counts min(T, H d<sub>h</sub> + d) independent features, as if every context brought new ones. "
        "Real contexts share few tokens, and share rank: how much is certified from both sides.</p>"
        f"{bars}{_rank_chart(network, task, details)}"
    )


def _rank_chart(network: Model, task: Task, details: Details) -> str:
    if details.ranks_lower is None or details.ranks_upper is None or len(details.ranks_lower) < 2:
        return ""
    heads = np.arange(len(details.ranks_lower), dtype=np.float64)
    paper = np.minimum(task.n_contexts, heads * network.d_head + network.d_model)
    lines = [
        Line("the paper's count", heads, paper, "second", dashes="6 4"),
        Line("certified upper bound", heads, np.asarray(details.ranks_upper, dtype=np.float64), "third"),
        Line("certified lower bound", heads, np.asarray(details.ranks_lower, dtype=np.float64), "first"),
    ]
    return _figure(line_chart(lines, title="Rank against the number of heads", x_label="heads", y_label="rank"))


def _singular_values(figures: Figures, network: Model, task: Task, details: Details) -> str:
    values = details.singular_values
    if values is None and details.attention is None:
        values = _singular_numbers(network, task)
    condition = figures.condition
    proved = ""
    if condition is not None:
        bounded = f"the condition number is {_at_most(condition, digits=4)}"
        proved = f"<p>Proved: {bounded}: the rows of features are linearly independent.</p>"
    if values is None:
        return proved
    line = Line("", np.arange(1.0, len(values) + 1.0), np.asarray(values, dtype=np.float64))
    title = "Singular values of the memorized features"
    chart = line_chart([line], title=title, x_label="index", y_label="singular value", log=True)
    return proved + _figure(chart, "Computed in float64 for the eye; the bound above is the proof.")


def _singular_numbers(network: Model, task: Task) -> Float64Array | None:
    """Return the singular values of the features; none where they take long, or are not known."""
    if task.n_contexts > _LARGEST_DECOMPOSITION:
        return None
    features = enclose_features(network, task.contexts).midpoint
    if not np.isfinite(features).all():
        return None
    return np.asarray(np.linalg.svd(features, compute_uv=False), dtype=np.float64)


def _divergences(figures: Figures, task: Task, details: Details) -> str:
    parts = []
    if details.divergence_upper is not None:
        upper = np.asarray(details.divergence_upper)
        zeros = int(np.count_nonzero(upper == 0.0))
        note = f"{_count(zeros)} of them are 0 and not drawn. " if zeros else ""
        title, label = "Certified upper bounds of the divergence", "certified upper bound of KL(target ‖ model), nats"
        chart = histogram([("", upper, "first")], title=title, x_label=label, y_label="contexts", log=True)
        parts.append(_figure(chart, f"{note}One value per memorized context."))
    if details.margin_lower is not None:
        margins = np.asarray(details.margin_lower)
        ties = int(np.count_nonzero(np.isposinf(margins)))
        note = f" In {_count(ties)} {inflected('context', ties)} every token is a mode, and there is no margin."
        label = "certified margin of the most likely tokens over all others, nats"
        title = "Certified margins of the argmax"
        chart = histogram([("", margins, "third")], title=title, x_label=label, y_label="contexts", log=True)
        parts.append(_figure(chart, f"One value per memorized context.{note * bool(ties)}"))
    mean, largest = figures.mean_loss_upper, figures.max_loss_upper
    if mean is not None and largest is not None and parts:
        parts.insert(0, f"<p>Proved: mean {_at_most(mean)}, maximum {_at_most(largest)} nats.</p>")
        parts.insert(1, _unavoidable(figures, task))
    return "".join(parts)


def _unavoidable(figures: Figures, task: Task) -> str:
    """Return what no weights with so few dimensions can avoid; nothing where there is nothing to avoid."""
    rank = figures.dim
    if (ends := _known(figures.unavoidable_kl)) is None or rank >= task.n_answers - 1:
        return ""
    low, high = ends
    return (
        f"<p>A stream of {_count(rank)} dimensions cannot hold every distribution over {_count(task.n_answers)} "
        "tokens. Computed when this was made: weighted by how often the contexts occur, the mean divergence is at "
        f"least {number(low, digits=4, bound='lower')} nats for all weights, and at most "
        f"{number(high, digits=4, bound='upper')} nats for these.</p>"
    )


def _attention_weights(network: Model, task: Task, shown: Int64Array) -> dict[int, list[list[float]]]:
    """Return the weights of some heads, in a few contexts."""
    if network.n_heads == 0:
        return {}
    heads = np.unique(np.linspace(0, network.n_heads - 1, min(_SHOWN_HEADS, network.n_heads)).round().astype(np.int64))
    few = task.contexts[shown[: _SHOWN_CONTEXTS - 2]]
    found = {}
    for head in heads.tolist():
        weights = enclose_attention(network, few, head).midpoint.tolist()
        found[head] = [[_few_digits(x, 4) if math.isfinite(x) else 0.0 for x in row] for row in weights]
    return found


def _attention(network: Model, task: Task, shown: Int64Array, given: Mapping[int, list[list[float]]] | None) -> str:
    if network.n_heads == 0:
        return ""
    weights = _attention_weights(network, task, shown) if given is None else given
    heads, few = sorted(weights), shown[: _SHOWN_CONTEXTS - 2]
    patterns = [weights[head] for head in heads]
    blocks = []
    for row, context in enumerate(task.contexts[few].tolist()):
        kept = list(range(max(0, len(context) - _LONGEST_CONTEXT), len(context)))
        top = "".join(f"<th>{_token(task.vocabulary[context[s]])}</th>" for s in kept)
        lines = "".join(
            f"<tr><th>head {head}</th>{''.join(_weight(pattern[row][s]) for s in kept)}</tr>"
            for head, pattern in zip(heads, patterns, strict=True)
        )
        blocks.append(
            f"<div class='scroll'><table class='attention'><thead><tr><th></th>{top}</tr></thead>"
            f"<tbody>{lines}</tbody></table></div>"
        )
    return (
        f"<p>What the last token of a context reads, in {len(heads)} of {_count(network.n_heads)} "
        f"{inflected('head', network.n_heads)}; each row sums to 100.</p><div class='blocks'>{''.join(blocks)}</div>"
    )


def _weight(weight: float) -> str:
    weight = min(max(float(weight), 0.0), 1.0) if math.isfinite(weight) else 0.0
    ink = " class='strong'" if weight > 0.55 else ""
    return f"<td{ink} style='--w:{weight:.3f}'>{100 * weight:.0f}</td>"


def _predicted(network: Model, task: Task, shown: Int64Array, outputs: Enclosure | None = None) -> list[Predicted]:
    """Return what the weights predict for a few contexts, from the logits of all where these are known."""
    logits = enclose_logits(network, task.contexts[shown]) if outputs is None else outputs[shown]
    found = []
    for row, predicted in zip(shown.tolist(), softmax(logits.midpoint), strict=True):
        label, indices = int(task.labels[row]), task.counts.row(row)[0]
        if task.distributions is None:
            tokens = np.lexsort((np.arange(len(predicted)), -predicted))[:_SHOWN_TOKENS]
            tokens = tokens if label in tokens else np.append(tokens[:-1], label)
        else:
            distribution = task.distributions[row]
            tokens = indices[np.lexsort((indices, -distribution[indices]))][:_SHOWN_TOKENS]
            tokens = tokens if label in tokens else np.append(label, tokens[:-1])
        others = np.ones(len(predicted), dtype=bool)
        others[tokens] = False
        rest = _few_digits(float(predicted[others].sum()), 6) if others.any() else None
        found.append(Predicted(tokens.tolist(), [_few_digits(x, 6) for x in predicted[tokens].tolist()], rest))
    return found


def _predictions(network: Model, task: Task, shown: Int64Array, given: list[Predicted] | None) -> str:
    predicted = _predicted(network, task, shown) if given is None else given
    blocks = "".join(_prediction(task, row, each) for row, each in zip(shown.tolist(), predicted, strict=True))
    note = (
        "The distribution of the next token to be memorized, above what the weights predict."
        if task.target == "distributions"
        else "What the weights predict; the most frequent next token, to be memorized, is marked."
    )
    return f"<p>{note}</p><div class='blocks'>{blocks}</div>"


def _prediction(task: Task, row: int, predicted: Predicted) -> str:
    context = "".join(_token(task.vocabulary[token]) for token in task.contexts[row].tolist()[-_LONGEST_CONTEXT:])
    distribution = None if task.distributions is None else task.distributions[row] / task.distributions[row].sum()
    indices, counts = task.counts.row(row)
    label = int(task.labels[row])
    lines = []
    for token, probability in zip(predicted.tokens, predicted.probabilities, strict=True):
        bars = "" if distribution is None else _bar(distribution[token], "true")
        mark = " <span class='mark'>←</span>" if distribution is None and token == label else ""
        lines.append(f"{_token(task.answers[token])}{mark}</div><div>{bars}{_bar(probability, 'first')}")
    if predicted.others is not None:
        others = np.ones(task.n_answers, dtype=bool)
        others[predicted.tokens] = False
        bars = "" if distribution is None else _bar(float(distribution[others].sum()), "true")
        lines.append(f"<i>all others</i></div><div>{bars}{_bar(predicted.others, 'first')}")
    seen = (
        f"seen {_count(int(counts.sum()))} {inflected('time', int(counts.sum()))}, "
        f"followed by {_count(len(indices))} {inflected('token', len(indices))}"
    )
    rows = "".join(f"<div class='token'>{line}</div>" for line in lines)
    return f"<div class='prediction'><h3>{context}</h3><p>{seen}</p><div class='distribution'>{rows}</div></div>"


def _bar(probability: float, style: str) -> str:
    return (
        f"<div class='row'><span class='fill {style}' style='width:{70 * float(probability):.2f}%'></span>"
        f"<span class='value'>{_percent(float(probability))}</span></div>"
    )


def _percent(probability: float) -> str:
    """Return a probability in percent, which is neither 0 nor 100 unless it is."""
    if 0.0 < probability < 5e-5:
        return "&lt; 0.01 %"
    if 1.0 - 5e-5 < probability < 1.0:
        return "&gt; 99.99 %"
    return f"{100 * probability:.2f} %"


def _torch(figures: Figures, task: Task) -> str:
    if not (runs := figures.torch):
        return (
            "<p>The weights were not run in PyTorch here: PyTorch was not installed, or every run is proved above, "
            "beside which one run shows no more. <code>byheart run</code> runs them and judges every logit.</p>"
        )
    rows = "".join(
        f"<tr><th>{escaped(dtype)}</th><td>{_judgement(run)}</td><td>{_share(run.accuracy)}</td>"
        f"<td>{_memorized(run, task)}</td><td>{_plain(run.mean_kl)}</td><td>{_plain(run.max_output_error)}</td>"
        f"<td>{_plain(run.largest_bound, bound='upper')}</td><td>{escaped(run.device)}</td></tr>"
        for dtype, run in runs.items()
    )
    notes = {run.note for run in runs.values() if run.note}
    every = [run.dtype for run in runs.values() if run.memorized_proved]
    return (
        "<p>A logit is within bound if it is no further from the certified one than the certified radius and the "
        "a-priori rounding bound of the type allow; nothing is tuned.</p>"
        "<div class='scroll'><table class='figures'><thead><tr>"
        "<th>type</th><th>within bound</th><th>accuracy</th><th>right in this run; guaranteed in every run</th>"
        "<th>mean KL, nats</th><th>largest logit error</th>"
        f"<th>allowed</th><th>device</th></tr></thead><tbody>{rows}</tbody></table></div>"
        + "".join(f"<p class='quiet'>Every run: {escaped(every_run_is(dtype))}.</p>" for dtype in every[:1])
        + "".join(f"<p class='quiet'>{escaped(note)}.</p>" for note in sorted(notes))
    )


def _memorized(run: RunFigures, task: Task) -> str:
    """Return what this run memorized, measured, and what every run within the bound holds."""
    proved = "" if run.memorized_proved is None else f"; {_count(run.memorized_proved)}"
    return f"{_of(run.memorized, task.n_contexts)}{proved}"


def _judgement(run: RunFigures) -> str:
    if run.within_bound is None:
        return "not judged"
    return "yes" if run.within_bound else badge("REFUTED", "NO")


def _rest(figures: Figures, task: Task) -> str:
    """Return what is proved of the contexts of a text that are not memorized, where that was asked for."""
    if (ends := _known(figures.text_kl)) is None:
        return ""
    low, high = ends
    return (
        f"<p>Proved: over all {_count(task.n_all)} contexts, each weighted by how often it occurs, the mean "
        f"divergence of the raw counts (not of the smoothed distributions that are memorized) from the model lies "
        f"between {number(low, digits=6, bound='lower')} and "
        f"{number(high, digits=6, bound='upper')} nats.</p>"
    )


def _files(figures: Figures, details: Details) -> str:
    parts = []
    if details.digests:
        rows = "".join(
            f"<tr><th>{escaped(name)}</th><td>{escaped(digest)}</td></tr>" for name, digest in details.digests.items()
        )
        parts.append(f"<div class='scroll'><table class='digests'><tbody>{rows}</tbody></table></div>")
    parts.append(
        "<p>Nobody has to believe this page. In the folder it lies in:</p>"
        "<pre>byheart check .                # proves every claim again, from weights and task alone\n"
        "byheart check . --fast         # likewise by the fast prover, which proves what is marked as its own too\n"
        "byheart run . --dtype float32  # runs the weights in PyTorch and judges them\n"
        "sha256sum *                     # compares the files with the hashes above</pre>"
    )
    seconds = figures.seconds
    if seconds:
        spent = ", ".join(f"{escaped(stage)} {number(float(value))} s" for stage, value in seconds.items())
        parts.append(f"<p class='quiet'>Time: {spent}.</p>")
    if details.provenance:
        made = ", ".join(f"{escaped(name)} {escaped(version)}" for name, version in details.provenance.items())
        parts.append(f"<p class='quiet'>Made by: {made}.</p>")
    return "".join(parts)


def _shown_contexts(size: int) -> Int64Array:
    """Return the most frequent contexts, and some from further down, in order."""
    if size <= _SHOWN_CONTEXTS:
        return np.arange(size)
    half = _SHOWN_CONTEXTS // 2
    return np.concatenate([np.arange(half), np.linspace(half, size - 1, _SHOWN_CONTEXTS - half).astype(np.int64)])


def _figure(chart: str, caption: str = "") -> str:
    return f"<figure>{part_of_page(chart)}{f'<figcaption>{caption}</figcaption>' if caption else ''}</figure>"


def _bars(bars: Sequence[tuple[str, Any, str]]) -> str:
    known = [(name, int(value), style) for name, value, style in bars if value is not None]
    largest = max((value for _, value, _ in known), default=1) or 1
    return "".join(
        f"<div class='count'><span>{name}</span><div class='row'><span class='fill {style}' "
        f"style='width:{76 * value / largest:.1f}%'></span><span class='value'>{_count(value)}</span></div></div>"
        for name, value, style in known
    )


def _heads_note(figures: Figures) -> str:
    fewest, paper = figures.fewest_heads, figures.paper_heads
    notes = [] if fewest is None else [f"{_count(fewest)} certified to suffice for every labelling of these contexts"]
    return ", ".join(notes + ([] if paper is None else [f"the paper counts {_count(paper)}"]))


def _token(text: str) -> str:
    """Return a token with its whitespace and control characters visible, escaped, and kept from disturbing its
    neighbours.
    """
    visible = "".join(_visible(character) for character in text)
    short = visible if len(visible) <= _LARGEST_TOKEN else visible[: _LARGEST_TOKEN - 1] + "…"
    return f"<bdi class='t' title='{escaped(visible)}'>{escaped(short)}</bdi>"


def _visible(character: str) -> str:
    if character in _WHITESPACE:
        return _WHITESPACE[character]
    if character.isprintable():
        return character
    return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"


def _count(value: Any) -> str:
    return "" if value is None else grouped(int(value))


def _known(ends: Ends | None) -> tuple[float, float] | None:
    """Return the ends of an interval, if it has both."""
    low, high = ends or (None, None)
    return None if low is None or high is None else (low, high)


def _of(value: Any, total: int) -> str:
    return "" if value is None else f"{_count(value)} <small>of {_count(total)}</small>"


def _at_most(value: Any, *, digits: int = 3) -> str:
    return "" if value is None else f"≤ {number(float(value), digits=digits, bound='upper')}"


def _plain(value: Any, *, bound: str = "") -> str:
    return "–" if value is None else number(float(value), bound=bound)


def _share(value: Any) -> str:
    """Return a share in percent, rounded down: what is not all is never shown as 100 %."""
    if value is None:
        return "–"
    return f"{math.floor(10000.0 * min(float(value), 1.0) + 1e-6) / 100.0:g} %"
