"""The result of `memorize` and `build`: a few lines, and with --verbose all that is known of what was made."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byheart.result import Field, Result, Section
from byheart.terminal.answer_fields import answer_fields
from byheart.terminal.next_steps import next_commands
from byheart.terminal.tables import above, below, number
from constructions.counted import inflected
from verify.verdict import Verdict

if TYPE_CHECKING:
    from byheart.figures import Figures, HeadFigures
    from constructions.tasks.task import Task


ANY_TARGETS = "Heads, for any targets of these contexts"
"""The title of `capacity_fields`: all of them are about independent features, which some labels do without."""


def made_result(
    figures: "Figures", out: Path, task: "Task | None" = None, *, first: "Figures | None" = None, verbose: bool = False
) -> Result:
    """Return what a command shows of what it made: a few sentences, and the figures where all are asked for.

    Args:
        figures: What was made.
        out: Where it lies.
        task: What it holds, for a context that can be typed.
        first: What was saved before smaller memories were searched for.
        verbose: Whether all figures are asked for, so that nobody has to be told how.
    """
    more = "." if verbose else "; --verbose prints all figures."
    sentences = [
        f"Read as {figures.reading}." if figures.reading else "",
        _built(figures) + _gained(figures, first),
        _least_margin(figures),
        f"Saved in {out}{_page(figures)}{more}",
    ]
    return Result(
        figures.headline,
        Verdict(figures.verdict),
        _sections(figures),
        tuple(filter(None, sentences)),
        tuple(next_commands(out, figures.headline, task=task)),
    )


def _least_margin(figures: "Figures") -> str:
    """Return by how much all right answers lead, where that is proved."""
    if figures.margin_lower is None or figures.memorized != figures.facts:
        return ""
    return f"The logit of each right answer exceeds every other by at least {below(figures.margin_lower)}."


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
    return "exact next-token distributions" if figures.target == "distributions" else "labels"


def _runs(figures: "Figures") -> str:
    dtype, size = figures.dtype or "float32", figures.facts
    run = None if figures.torch is None else figures.torch[dtype]
    if _right_in_every_run(figures):
        return f"{size:,} of {size:,} right in every {dtype} run, proved"
    if run is None:
        return "not run here; `pip install 'byheart[torch]'` to run it"
    proved = "" if run.memorized_proved is None else f", {run.memorized_proved} guaranteed in every {dtype} run"
    if figures.asks_a_mean:
        loss = run.mean_kl if run.mean_kl is not None else run.mean_label_error
        return f"mean {'distance' if figures.target == 'values' else 'KL'} {number(loss)} in one {dtype} run, measured"
    return f"{run.memorized} of {size} right in one {dtype} run, measured{proved}"


def _right_in_every_run(figures: "Figures") -> bool:
    """Whether every run in the type that was asked for is proved to hold all."""
    return any(each.every_run for each in figures.memories or () if each.memory == figures.memory)


def _page(figures: "Figures") -> str:
    return " (open report.html to look at it)" if "report" in figures.files else ""


def _sections(figures: "Figures") -> tuple[Section, ...]:
    data = figures.json()
    sections = [
        Section("Built", _model_fields(figures, data), verbose=True),
        Section("Memories", _memory_fields(figures, data), verbose=True),
        Section(ANY_TARGETS, _shown_if(figures.rank_lower is not None, capacity_fields(figures)), verbose=True),
        Section("Certified, of the weights as written", _certified_fields(figures, data), verbose=True),
        Section("Runs in torch", _run_fields(figures, data), verbose=True),
    ]
    findings = Field(
        "findings",
        data["findings"],
        "what is proved of a construction next to its answers",
        note="`what` is bounded, a `text` for a person, and the `values`",
        columns={"what": "", "text": ""},
    )
    files = Field("files", dict(figures.files), "where each file is", columns={"file": "", "path": ""})
    seconds = Field("seconds", dict(figures.seconds), "time of each stage", columns={"stage": "", "seconds": ""})
    return (
        Section("Proved of it", (findings,)),
        *sections,
        Section("Files", (files,), verbose=True),
        Section("Seconds", (seconds,), verbose=True),
    )


def _shown_if(is_shown: bool, fields: tuple[Field, ...]) -> tuple[Field, ...]:
    return tuple(replace(field, shown=field.shown and is_shown) for field in fields)


def _model_fields(figures: "Figures", data: dict[str, Any]) -> tuple[Field, ...]:
    return (
        Field("claim", data["claim"], "the claim that was built"),
        Field("named", data["named"], "the construction that was built, by its name"),
        Field("construction", data["construction"], "parameters of the construction"),
        Field("memory", data["memory"], "the memory that was taken"),
        Field("built", data["built"], "what was built"),
        Field("dtype", data["dtype"], "type that the weights are rounded to"),
        Field("parameters", figures.parameters, "entries of all tensors", "parameter"),
        Field("blocks", figures.blocks, "kinds of the blocks", note="where the model is no single attention"),
        Field("query_dim", figures.query_dim, "d_qk"),
        Field("outputs", figures.outputs, "entries of an output"),
        Field("front_end", data["front_end"], "attention patterns", note="of `theorem-1`, else `null`"),
        Field("route", data["route"], "how the values were found", note="of `theorem-1`, else `null`"),
        Field("seed", figures.seed, "seed of every random choice", shown=False),
        Field("reading", figures.reading, "how the file was read", shown=False),
        Field("answers", figures.answers, "tokens that may follow"),
        Field("shared_context", figures.shared_context, "all examples have one context"),
    )


def _memory_fields(figures: "Figures", data: dict[str, Any]) -> tuple[Field, ...]:
    memories = figures.memories or ()
    built = sorted((each for each in memories if each.refused is None), key=lambda each: each.parameters or 0)
    built.sort(key=lambda each: not each.every_run)
    columns = {
        "memory": "memory",
        "parameters": "entries",
        "nonzero": "nonzero",
        "facts_per_parameter": "facts each",
        "every_run": "every run",
        "smallest_dtype": "lowest dtype",
        "seconds": "seconds",
    }
    return (
        Field(
            "memories",
            data["memories"],
            "what each memory that was tried made of the task",
            note="proved, whether `every_run` in `dtype` holds all facts; measured where that is not proved and none "
            "of those is smaller, the `least_margin` in `dtype` and the `smallest_dtype` of a run that holds every "
            "fact; or why it is `refused`",
            columns=columns,
            shown=False,
        ),
        Field(
            "information_limit",
            figures.information_limit,
            "entries that every model needs, for arbitrary targets",
        ),
        Field("information_per_fact", figures.information_per_fact, "entropy of the labels that occur", "bits a fact"),
        Field(
            "",
            [vars(each) for each in built],
            "memories built; those right in every run first",
            columns=columns,
        ),
        Field(
            "",
            [vars(each) for each in memories if each.refused is not None],
            "memories not built, and why",
            columns={"memory": "", "refused": ""},
        ),
    )


def _certified_fields(figures: "Figures", data: dict[str, Any]) -> tuple[Field, ...]:
    pairs = f"at least {figures.saturated_pairs} of {figures.pairs}" if figures.pairs is not None else None
    counts = not figures.asks_a_mean
    return (
        Field("asked", figures.asked, "what was asked"),
        Field("target", figures.target or None, "kind of the targets"),
        Field("origin", figures.origin or None, "where the targets come from"),
        Field("memorized", figures.memorized, "contexts memorized, proved", shown=counts),
        Field("wrong", figures.wrong, "contexts lost, proved", shown=counts),
        *answer_fields(data, target=figures.target),
        Field("encoder_kl", figures.encoder_kl, "KL, weighted by frequency", "nats", "between"),
        Field("unavoidable_kl", figures.unavoidable_kl, "part that no weights of this d avoid", "nats", "between"),
        Field("text_kl", figures.text_kl, "KL of the raw counts, all contexts, mean", "nats", "between"),
        Field("condition", figures.condition, "condition number of the features", "", "at most"),
        Field("rank_proved", figures.rank_proved, "features are independent, proved"),
        Field("", pairs, f"pairs of a head and a context with attention above 1 - {above(figures.saturation_delta)}"),
        Field("pairs", figures.pairs, "pairs of a head and an example, of a layer of Mahdavi", shown=False),
        Field("saturated_pairs", figures.saturated_pairs, "those with a weight above 1 - delta", shown=False),
        Field("saturation_delta", figures.saturation_delta, "this delta", shown=False),
    )


def _run_fields(figures: "Figures", data: dict[str, Any]) -> tuple[Field, ...]:
    from verify.runs.formats import every_run_is

    runs = figures.torch or {}
    proved = [run.dtype for run in runs.values() if run.memorized_proved]
    columns = {
        "dtype": "type",
        "memorized": "right, measured",
        "memorized_proved": "right in every run, proved",
        "accuracy": "accuracy",
        "mean_kl": "mean KL",
        "mean_label_error": "mean error",
        "max_output_error": "largest error",
        "within_bound": "within its bound",
    }
    return (
        Field("", None if runs else _why_not_run(figures), "torch"),
        Field(
            "torch",
            data["torch"],
            "a run in each type",
            note="as for `run`: `device`, `least_margin`, `max_kl`, `max_label_error`, `largest_bound`, `note`, "
            "`seconds` too; `null` where torch is not installed",
            columns=columns,
        ),
        Field("", every_run_is(proved[0]) if proved else None, "every run"),
    )


def _why_not_run(figures: "Figures") -> str:
    """Why there is no run to tell of, and what makes one."""
    if _right_in_every_run(figures):
        return "not run here: every run is proved to be right; `byheart run` does"
    return "not run here; where torch is installed, `byheart run` does"


def capacity_fields(figures: "HeadFigures") -> tuple[Field, ...]:
    """Return the count of the paper next to what is certified."""
    ranks = [figures.rank_lower, figures.rank_upper]
    sides = {"rank_lower_by": "from below", "rank_upper_by": "from above"}  # of `capacity`
    known = {name: side for name, side in sides.items() if hasattr(figures, name)}
    proofs = [Field(name, getattr(figures, name), f"certified {side} by") for name, side in known.items()]
    return (
        Field("contexts", figures.contexts, "contexts of the text or table"),
        Field("facts", figures.facts, "contexts to memorize"),
        Field("n_ctx", figures.n_ctx, "tokens in a context"),
        Field("vocabulary", figures.vocabulary, "different tokens that are read"),
        Field("dim", figures.dim, "d_model"),
        Field("head_dim", figures.head_dim, "d_head"),
        Field("heads", figures.heads, "heads that were asked about"),
        Field("rank_heads", figures.rank_heads, "heads that the next rows speak about"),
        Field(
            "paper_rank",
            figures.paper_rank,
            "contexts that they can hold, by the paper",
            note="min(T, H d_h + d)",
        ),
        Field("", ranks, "contexts that they can hold, certified", "context", "between"),
        Field("rank_lower", figures.rank_lower, "the lower of these", note="docs/claims/capacity.md", shown=False),
        Field("rank_upper", figures.rank_upper, "the upper of these", note="docs/claims/capacity.md", shown=False),
        *proofs,
        Field("paper_heads", figures.paper_heads, "heads needed, by the paper", note="the ceiling of (T - d) / d_h"),
        Field(
            "fewest_heads",
            figures.fewest_heads,
            "heads that suffice, certified",
            note="with them the features are independent, the last token's vector among them, so that any labels can "
            "be memorized; `memorize` looks for the fewest for up to 512 contexts, beyond it takes those whose rank "
            "its "
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
