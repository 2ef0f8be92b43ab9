"""What `memorize` and `build` made, for a person: a few lines, and with --verbose all that is known of it."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byheart.result import Field
from byheart.terminal.next_steps import next_steps
from byheart.terminal.tables import Rows, above, below, number, print_list, print_tables
from constructions.counted import counted, inflected

if TYPE_CHECKING:
    from byheart.figures import Figures, TaskFigures, Tried
    from constructions.tasks.task import Task


ANY_TARGETS = "Heads, for any targets of these contexts"
"""The title of `capacity_fields`: all of them are about independent features, which some labels do without."""


def print_made(
    options: argparse.Namespace,
    figures: "Figures",
    out: Path,
    task: "Task | None" = None,
    *,
    first: "Figures | None" = None,
) -> None:
    """Print the figures as JSON, the answer alone, or the answer with what a person may type next.

    Args:
        options: Of them `json`, `quiet` and `verbose` say which.
        figures: What was made.
        out: Where it lies.
        task: What it holds, for a context that can be typed.
        first: What was saved before smaller memories were searched for.
    """
    if options.json:
        sys.stdout.write(json.dumps(figures.json()) + "\n")
        return
    lines = [figures.headline]
    if not options.quiet:
        lines += [f"Read as {figures.reading}."] if figures.reading else []
        lines += [
            _built(figures) + _gained(figures, first),
            f"Saved in {out}{_page(figures)}" + ("." if options.verbose else "; --verbose prints all figures."),
        ]
    sys.stdout.write("\n".join(lines) + "\n")
    if options.quiet:
        return
    if figures.findings:
        sys.stdout.write("\n")
        print_list("Proved of it", [(each.what, each.text) for each in figures.findings])
    if options.verbose:
        sys.stdout.write("" if figures.findings else "\n")
        print_tables(made_tables(figures))
    sys.stdout.write(next_steps(out, figures.headline, task=task))


def _built(figures: "Figures") -> str:
    """Return the model in a line: its size, and what runs of it do."""
    size = f"{figures.parameters:,} {inflected('parameter', figures.parameters)}"
    if figures.named or figures.claim:
        return f"Built: {figures.named or figures.claim}, {size}; {_runs(figures)}."
    limit = f" (lower bound for arbitrary {_targets(figures)}: {figures.information_limit:,})"
    return f"Built: {figures.memory}, {size}{limit}; {_runs(figures)}."


def _gained(figures: "Figures", first: "Figures | None") -> str:
    """Return what the search has gained, where it has."""
    if first is None or first.memory == figures.memory:
        return ""
    return f" The first, {first.memory} with {first.parameters:,}, was saved after {sum(first.seconds.values()):.1f} s."


def _targets(figures: "Figures") -> str:
    return "exact next-token distributions" if figures.target == "laws" else "labels"


def _runs(figures: "Figures") -> str:
    dtype, size = figures.dtype or "float32", figures.memorized
    run = None if figures.torch is None else figures.torch[dtype]
    if _right_in_every_run(figures):
        return f"{size} of {size} right in every {dtype} run, proved"
    if run is None:
        return "not run here; `pip install 'byheart[torch]'` to run it"
    proved = "" if run.held_proved is None else f", {run.held_proved} guaranteed in every run"
    if figures.asks_a_mean:
        loss = run.mean_kl if run.mean_kl is not None else run.mean_label_error
        return f"mean {'distance' if figures.target == 'values' else 'KL'} {number(loss)} in one {dtype} run, measured"
    return f"{run.held} of {size} right in one {dtype} run, measured{proved}"


def _right_in_every_run(figures: "Figures") -> bool:
    """Whether every run in the type that was asked for is proved to hold all."""
    return any(each.every_run for each in figures.memories or () if each.memory == figures.memory)


def _page(figures: "Figures") -> str:
    return " (open report.html to look at it)" if "report" in figures.files else ""


def made_tables(figures: "Figures") -> Rows:
    """Return what was built, what is certified of it, how it ran, and where it lies."""
    of_values = figures.target == "values"
    unit, loss = ("", "distance from the values") if of_values else (" nats", "KL")
    (lower, upper), condition, guess = figures.text_kl or (None, None), figures.condition, figures.guess_kl_lower
    certified = [
        ("criterion", figures.asked),
        ("targets", figures.origin),
        ("memorized", not figures.asks_a_mean and f"{figures.held} of {figures.memorized}, refuted {figures.wrong}"),
        ("least margin", figures.margin_lower is not None and f">= {below(figures.margin_lower)} nats"),
        (f"{loss}, mean", f"<= {above(figures.mean_loss_upper)}{unit}"),
        (f"{loss}, worst", f"<= {above(figures.max_loss_upper)}{unit}"),
        ("KL of the best guess that ignores the context", guess is not None and f">= {below(guess)} nats"),
        *_encoder_rows(figures),
        (
            "KL of the raw counts, all contexts, mean",
            lower is not None and f"in [{below(lower)}, {above(upper)}] nats; memorized are smoothed counts",
        ),
        ("condition number of the features", condition and f"<= {above(condition)}"),
        *_saturation_rows(figures),
        ("model", f"{_shape(figures)}, {counted(figures.parameters, 'parameter')}, {figures.front_end}"),
    ]
    return [
        *([("Built", [(built, figures.built)])] if (built := figures.named or figures.claim) else []),
        *_memories_tables(figures),
        *([(ANY_TARGETS, _rows(capacity_fields(figures)))] if _has_capacity(figures) else []),
        ("Certified, of the weights as written", [(name, text) for name, text in certified if text]),
        (
            "Runs in torch",
            [(name, torch_row(run.summary())) for name, run in (figures.torch or {}).items()]
            + _every_run_rows([run.dtype for run in (figures.torch or {}).values() if run.held_proved])
            or [("torch", _why_not_run(figures))],
        ),
        ("Files", list(figures.files.items())),
        ("Seconds", [(stage, f"{seconds:.1f}") for stage, seconds in figures.seconds.items()]),
    ]


def _rows(fields: Sequence[Field]) -> list[tuple[str, str]]:
    return [(field.words, field.text()) for field in fields if field.shown and field.value is not None]


def _why_not_run(figures: "Figures") -> str:
    """Why there is no run to tell of, and what makes one."""
    if _right_in_every_run(figures):
        return "not run here, as every run is proved to be right; `byheart run` does"
    return "not run here; where torch is installed, `byheart run` does"


def _every_run_rows(dtypes: Sequence[str]) -> list[tuple[str, str]]:
    """Return what is meant by every run in the first of these types."""
    from verify.runs.formats import every_run_is

    return [("every run", every_run_is(dtype)) for dtype in dtypes[:1]]


def _has_capacity(figures: "TaskFigures") -> bool:
    return figures.rank_lower is not None


def _shape(figures: "Figures") -> str:
    if figures.blocks is not None:
        return f"d_model {figures.dim}, {', '.join(figures.blocks) or 'no blocks'}"
    return f"{counted(figures.heads or 0, 'head')}, d_qk {figures.query_dim}, d_head {figures.head_dim}"


_COLUMNS = ("", "entries", "nonzero", "facts each", "lowest dtype", "time")


def _memories_tables(figures: "Figures") -> Rows:
    if not figures.memories:
        return []
    tried = [each for each in figures.memories if each.refused is None]
    refused = [(each.memory, each.refused) for each in figures.memories if each.refused is not None]
    last = ("lower bound", f"{figures.information_limit:,}", "", "", f"any {figures.target}", "")
    tried.sort(key=lambda each: (not each.every_run, each.parameters))
    return [
        ("Memories built; first those right in every run, proved", [_COLUMNS, *map(_tried_row, tried), last]),
        *([("Memories not built, and why", refused)] if refused else []),
        ("Built", [(figures.memory, figures.built)]),
    ]


def _tried_row(tried: "Tried") -> tuple[str, ...]:
    return (
        tried.memory,
        f"{tried.parameters:,}",
        f"{tried.nonzero:,}",
        number(tried.facts_per_parameter),
        "every run" if tried.every_run else tried.smallest_dtype or "not run",
        f"{tried.seconds or 0:.1f} s",
    )


def _saturation_rows(figures: "Figures") -> list[tuple[str, str]]:
    if figures.pairs is None:
        return []
    held = f"at least {figures.saturated_pairs} of {figures.pairs} pairs of a head and a context"
    return [(f"attention above 1 - {above(figures.saturation_delta)}", held)]


def _encoder_rows(figures: "Figures") -> list[tuple[str, str]]:
    """Return what a stream of d dimensions cannot avoid; nothing for labels."""
    if figures.unavoidable_kl is None or figures.encoder_kl is None:
        return []
    (lower, upper), (_, reached) = figures.unavoidable_kl, figures.encoder_kl
    return [
        ("KL, weighted by frequency", f"<= {above(reached)} nats"),
        (f"of it unavoidable with d = {figures.dim}", f"in [{below(lower)}, {above(upper)}] nats"),
    ]


def capacity_fields(figures: "TaskFigures") -> tuple[Field, ...]:
    """Return the count of the paper next to what is certified."""
    heads = counted(figures.rank_heads or 0, "head")
    ranks = [figures.rank_lower, figures.rank_upper]
    proofs = (("rank_lower_by", "from below"), ("rank_upper_by", "from above"))
    return (
        Field("contexts", figures.contexts, "contexts of the text or table"),
        Field("memorized", figures.memorized, "contexts to memorize"),
        Field("n_ctx", figures.n_ctx, "tokens in a context"),
        Field("vocabulary", figures.vocabulary, "different tokens that are read"),
        Field("dim", figures.dim, "d_model"),
        Field("head_dim", figures.head_dim, "d_head"),
        Field("heads", figures.heads, "heads that were asked about"),
        Field(
            "paper_rank", figures.paper_rank, f"contexts that {heads} can hold, by the paper", note="min(T, H d_h + d)"
        ),
        Field("", ranks, f"contexts that {heads} can hold, certified", "context", "between"),
        Field("rank_lower", figures.rank_lower, "the lower of these", note="docs/claims/capacity.md", shown=False),
        Field("rank_upper", figures.rank_upper, "the upper of these", note="docs/claims/capacity.md", shown=False),
        *(Field(name, getattr(figures, name, ""), f"certified {side} by") for name, side in proofs),
        Field("paper_heads", figures.paper_heads, "heads needed, by the paper", note="the ceiling of (T - d) / d_h"),
        Field(
            "fewest_heads",
            figures.fewest_heads,
            "heads that suffice, certified",
            note="with them the features are independent, the last token's vector among them, so that any labels can "
            "be held; `memorize` looks for the fewest for up to 512 contexts, beyond it takes those whose rank its "
            "certificate proves",
        ),
        Field(
            "necessary_heads",
            figures.necessary_heads,
            "heads that are necessary, certified",
            note="with fewer the features of no weights are independent, and some targets are out of reach",
        ),
        Field(
            "heads_alone",
            figures.heads_alone,
            "heads that suffice without the skip connection",
            note="where the last token's vector is left as it is, and is no feature",
        ),
        Field(
            "necessary_heads_alone",
            figures.necessary_heads_alone,
            "heads that are necessary without the skip connection",
        ),
    )


def torch_row(run: Mapping[str, Any]) -> str:
    """How a run in torch compares with what is certified, from `RunResult.summary`."""
    judged = {True: "within the bound", False: "OUTSIDE THE BOUND", None: "not judged"}[run["within_bound"]]
    every = "" if run["held_proved"] is None else f", {run['held_proved']} guaranteed in every run"
    parts = [f"{run['held']} right in this run{every}"]
    for name, what in _MEASURED.items():
        parts += [f"{what} {number(run[name])}"] if run.get(name) is not None else []
    what = "logit" if "mean_kl" in run else "output"
    return f"{'; '.join(parts)}; largest {what} error {number(run['max_output_error'])}, {judged}"


_MEASURED = {
    "accuracy": "accuracy",
    "mean_kl": "mean KL",
    "mean_label_error": "mean label error",
    "max_label_error": "largest label error",
}
