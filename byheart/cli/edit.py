"""`byheart edit`: facts inserted into a trained model, replaced and deleted, with a proof of what else changes."""

import argparse
from shlex import quote
from typing import TYPE_CHECKING, Any

from byheart.result import Field, Result, Section
from byheart.terminal.argument_types import count, path
from byheart.terminal.fact_options import add_model_options, add_table_options, add_text_options, table_options
from byheart.terminal.options import add_out_options, add_output_options
from byheart.terminal.progress import progress_lines
from byheart.terminal.rule_file import named_rule
from byheart.terminal.tables import show

if TYPE_CHECKING:
    from byheart.editing import Edited

_RUNS = ("runs", "in_every_float32_run")
HELP = "edit facts of a trained model, and prove what else changes"
EXAMPLE = "byheart edit model --facts new.csv --keep-domain 2 --out edited"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    parser.add_argument("model", type=path, help="the folder of a model of Hugging Face")
    parser.add_argument("--facts", type=path, metavar="FILE", help="contexts and their new answers: a table or an .npz")
    parser.add_argument("--delete", type=path, metavar="FILE", help="contexts, and the answers that shall go")
    parser.add_argument(
        "--to",
        metavar="ANSWER",
        help="what deleted contexts are answered by: runner-up, uniform, or an answer (default: runner-up)",
    )
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument("--keep", type=path, metavar="FILE", help="contexts whose answers shall stay")
    kept.add_argument(
        "--keep-domain", type=count, metavar="S", help="keep the answers of all other contexts of S tokens"
    )
    kept.add_argument(
        "--keep-rule",
        metavar="RULE",
        help="keep the answers of this rule (as of `certify --rule`) on --keep-length tokens",
    )
    parser.add_argument("--keep-length", type=count, metavar="S", help="with --keep-rule: how many tokens it reads")
    add_table_options(parser)
    add_text_options(parser)
    add_model_options(parser)
    parser.add_argument(
        "--layer", type=count, metavar="L", help="which layer gets the neurons, counted from 0 (default: the last)"
    )
    parser.add_argument("--dtype", metavar="TYPE", help="the type of the stored weights (default: the host's)")
    parser.add_argument(
        "--run", action="store_true", help="run the host before and after, in float32 and bfloat16, and count answers"
    )
    add_out_options(parser)
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from byheart.editing import edit

    with progress_lines(options) as progress:
        edited = edit(
            options.model,
            options.facts,
            delete=options.delete,
            to=options.to,
            keep=options.keep,
            keep_domain=options.keep_domain,
            keep_rule=None if options.keep_rule is None else named_rule(options.keep_rule, "--keep-rule"),
            keep_length=options.keep_length,
            **table_options(options),
            tokenizer=options.tokenizer,
            between=" " if options.between is None else options.between,
            cells=options.cells,
            key=options.key,
            layer=options.layer,
            dtype=options.dtype,
            plain_argmax=options.plain_argmax,
            every_run="float32" if options.run else None,
            out=options.out,
            overwrite=options.overwrite,
            progress=progress,
        )
        runs: dict[str, Any] = _runs(options, edited, progress) if options.run else dict.fromkeys(_RUNS)
    return show(options, _result(options, edited, runs))


def _result(options: argparse.Namespace, edited: "Edited", runs: dict[str, Any]) -> Result:
    """Return what was edited, what is proved of it, and what runs of the host showed."""
    values, dtype = edited.certificate.values, edited.dtype
    before, after = edited.original.parameters, edited.model.parameters
    proved_of = f"the given weights before, and those stored in {dtype} after, in real arithmetic"
    if edited.is_rounded:
        proved_of += f"; all given weights are rounded to {dtype}"
    deleted = "hidden, not unlearned: the weights that gave the old answers are still there"
    edits = (
        Field("asked", values["asked"], "contexts with a new answer", "edit"),
        Field("memorized", values["memorized"], "edits answered as asked, proved"),
        Field("before", values["before"], "edits that were answered so before"),
        Field("flat", values["flat"], "contexts that get the uniform distribution", shown=bool(values["flat"])),
        Field("spread", values["spread"], "range of their logits", "nats", "at most", shown=bool(values["flat"])),
        Field("kept", values["kept"], "kept contexts"),
        Field("same", values["same"], "kept contexts with the same answer, proved"),
        Field("changed", values["changed"], "kept contexts with another answer, proved"),
        Field("changed_contexts", edited.changed(), "the kept contexts with another answer"),
        Field("moved", values["moved"], "change of a logit of a kept context", "nats", "at most"),
        Field(
            "outside",
            values.get("outside"),
            "change of a logit of any other context, outside of the caps",
            "nats",
            "at most",
            note="`null` where nothing is claimed: with `--layer`, or where weights were rounded",
        ),
        Field("", _nothing_claimed(edited), "change of a logit of any other context"),
        Field("cap_radius", float(edited.proof.radii.max()), "radius of the caps, around the edited rows"),
        Field("smallest_gap", float(edited.spaces.gaps.min()), "smallest gap of the new neurons"),
        Field("layer", edited.certificate.layer, "layer of the new neurons", note="with `--layer`, else `null`"),
        Field("dtype", dtype, "type of the stored weights"),
        Field("rounded", edited.is_rounded, "given weights were rounded to it"),
        Field("", proved_of, "proved of"),
        Field("parameters", [before, after], "parameters before and after", shown=False),
        Field("", f"{before:,} before, {after:,} after", "parameters"),
        Field("deleted", options.delete is not None, "facts were deleted", shown=False),
        Field("", deleted if options.delete is not None else None, "deleted facts are"),
        Field("out", str(options.out), "the folder", shown=False),
    )
    hosts = (
        Field(
            "runs",
            runs["runs"],
            "what the host answered before and after, with `--run`",
            note="`edited` of `asked`; `kept` of `all_kept`, and `as_before`; else `null`",
            columns={
                "dtype": "type",
                "attention": "attention",
                "edited": "edits as asked",
                "kept": "kept answers",
                "as_before": "answers as before",
            },
        ),
        Field(
            "in_every_float32_run",
            runs["in_every_float32_run"],
            "edits and kept contexts in every float32 run, proved",
            note="as the certificate states, with `--run`; else `null`",
        ),
    )
    folder = quote(str(options.out))
    fast = " --fast" if edited.certificate.runs else ""
    return Result(
        edited.certificate.headline(),
        edited.certificate.verdict,
        (Section("Edited", edits), Section("The host, measured", hosts)),
        (f"The page is {options.out}/edit.html.",),
        (f"byheart check {folder}{fast}",),
    )


def _nothing_claimed(edited: "Edited") -> str | None:
    """Return why nothing is claimed of contexts outside of the caps, where that is so."""
    if edited.certificate.values.get("outside") is not None:
        return None
    if edited.is_rounded:
        return "nothing is claimed: all weights are rounded"
    return "nothing is claimed: the neurons of an earlier layer leak into what comes behind"


def _runs(options: argparse.Namespace, edited: Any, progress: Any) -> dict[str, Any]:
    """Return what the host computes before and after, and what is proved of every run."""
    from byheart.edited_runs import run_in_host

    runs = [run.json() for run in run_in_host(options.model, options.out, edited, progress=progress)]
    stated = edited.certificate.runs
    return dict(zip(_RUNS, (runs, [0, 0] if stated is None else [stated.edits, stated.kept]), strict=True))
