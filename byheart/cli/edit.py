"""`byheart edit`: facts inserted into a trained model, replaced and deleted, with a proof of what else changes."""

import argparse
import sys
from shlex import quote
from typing import Any

from byheart.terminal.argument_types import count, path
from byheart.terminal.exit_codes import EXIT_CODES
from byheart.terminal.fact_options import add_table_options, table_options
from byheart.terminal.options import add_out_options, add_output_options
from byheart.terminal.progress import progress_lines
from byheart.terminal.rule_file import named_rule
from byheart.terminal.tables import Rows, above, print_summary
from constructions.counted import counted

_RUNS = ("runs", "in_every_float32_run")
_SHOWN = 8  # contexts that changed
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
    parser.add_argument("--cells", choices=("tokens", "texts"), help="what the cells of the tables are (default: auto)")
    parser.add_argument(
        "--tokenizer", type=path, metavar="FILE", help="what cuts texts (default: tokenizer.json beside the model)"
    )
    parser.add_argument(
        "--between", metavar="TEXT", help="between prompt and answer, if neither has white space there (default: ' ')"
    )
    parser.add_argument(
        "--key", metavar="NAME", help="where the tensors are in a file of torch that holds a dictionary"
    )
    parser.add_argument(
        "--layer", type=count, metavar="L", help="which layer gets the neurons, counted from 0 (default: the last)"
    )
    parser.add_argument("--dtype", metavar="TYPE", help="the type of the stored weights (default: the host's)")
    parser.add_argument(
        "--plain-argmax",
        action="store_true",
        help="ask about the largest logits, whatever generation_config.json makes generate say",
    )
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
    verdict = edited.certificate.verdict.value
    summary: dict[str, Any] = {"verdict": verdict, "headline": edited.certificate.headline()}
    summary |= {
        "dtype": edited.dtype,
        "rounded": edited.is_rounded,
        "changed_contexts": edited.changed(),
        "smallest_gap": float(edited.spaces.gaps.min()),
        "deleted": options.delete is not None,
    }
    summary |= {"cap_radius": float(edited.proof.radii.max()), **edited.certificate.values}
    summary |= {"parameters": [edited.original.parameters, edited.model.parameters], "out": str(options.out)}
    summary |= {"layer": edited.certificate.layer, "outside": edited.certificate.values.get("outside"), **runs}
    print_summary(options, summary, _tables)
    if not options.json and not options.quiet:
        folder = quote(str(options.out))
        fast = " --fast" if edited.certificate.runs else ""
        check = f"byheart check {folder}"
        sys.stdout.write(f"Page: {folder}/edit.html\nNext: {check}{fast}\n")
    return EXIT_CODES[verdict]


def _tables(summary: dict[str, Any]) -> Rows:
    before, after = summary["parameters"]
    proved_of = f"the given weights before, and those stored in {summary['dtype']} after, in real arithmetic"
    if summary["rounded"]:
        proved_of += f"; all given weights are rounded to {summary['dtype']}"
    rows = [
        ("edits answered as asked", f"{summary['held']} of {summary['asked']}"),
        ("answered so before", f"{summary['before']} of {summary['asked']}"),
        ("kept contexts, same answer", f"{summary['same']} of {summary['kept']}"),
        ("their logits move by at most", f"{above(summary['moved'])} nats"),
        ("any other context, outside of the caps", _outside(summary)),
        (
            "the caps",
            f"rows within {summary['cap_radius']:.2g} of an edited one; smallest gap {summary['smallest_gap']:.2g}",
        ),
        ("proved of", proved_of),
        (
            "parameters",
            f"{before} before, {after} after: {counted(int(summary['asked'] + summary['flat']), 'neuron')} more",
        ),
    ]
    if changed := summary["changed_contexts"]:
        more = f"; and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
        rows.insert(3, ("kept contexts, another answer", f"{len(changed)}: {'; '.join(changed[:_SHOWN])}{more}"))
    if summary["flat"]:
        flat = f"{summary['flat']} with logits within {above(summary['spread'])} nats"
        rows.insert(1, ("uniform distribution", flat))
    if summary["deleted"]:
        rows.append(("deleted", "hidden, not unlearned: the weights that gave the old answers are still there"))
    if summary["runs"] is None:
        return [("Edited", rows)]
    return [("Edited", rows), ("The host, measured", _run_rows(summary))]


def _run_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    counts = [
        (
            f"{run['dtype']}, {run['attention']}",
            f"{run['edited']} of {run['asked']} edits; {run['kept']} of {run['all_kept']} kept answers, "
            f"{run['as_before']} as before",
        )
        for run in summary["runs"]
    ]
    edits, kept = summary["in_every_float32_run"]
    counts.append(("every float32 run, proved", f"{edits} edits, {kept} kept answers; the bound reaches no farther"))
    return counts


def _runs(options: argparse.Namespace, edited: Any, progress: Any) -> dict[str, Any]:
    """Return what the host computes before and after, and what is proved of every run."""
    from byheart.edited_runs import run_in_host

    runs = [run.json() for run in run_in_host(options.model, options.out, edited, progress=progress)]
    stated = edited.certificate.runs
    return dict(zip(_RUNS, (runs, [0, 0] if stated is None else [stated.edits, stated.kept]), strict=True))


def _outside(summary: dict[str, Any]) -> str:
    if summary["outside"] is None:
        if summary["rounded"]:
            return "nothing is claimed: all weights are rounded"
        return "nothing is claimed: the neurons of an earlier layer leak into what comes behind"
    return f"moves by at most {above(summary['outside'])} nats"
