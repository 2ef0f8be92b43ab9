"""`byheart edit`: facts inserted into a trained model, replaced and deleted, with a proof of what else changes."""

import argparse
import sys
from shlex import quote
from typing import Any

from byheart.terminal.argument_types import count, path
from byheart.terminal.exit_codes import EXIT_CODES
from byheart.terminal.options import add_out_options, add_output_options
from byheart.terminal.progress import progress_lines
from byheart.terminal.tables import Rows, above, print_summary
from constructions.counted import counted

HELP = "edit facts of a trained model, and prove what else changes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words and options of the command."""
    parser.add_argument("model", type=path, help="the folder of a model of Hugging Face")
    parser.add_argument("--facts", type=path, metavar="FILE", help="contexts and their new answers: a table or an .npz")
    parser.add_argument("--delete", type=path, metavar="FILE", help="contexts, and the answers that shall go")
    parser.add_argument(
        "--to",
        default="runner-up",
        metavar="ANSWER",
        help="what deleted contexts are answered by: runner-up, uniform, or an answer (default: runner-up)",
    )
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument("--keep", type=path, metavar="FILE", help="contexts whose answers shall stay")
    kept.add_argument(
        "--keep-domain", type=count, metavar="S", help="keep the answers of all other contexts of S tokens"
    )
    kept.add_argument(
        "--keep-rule", metavar="FILE.py:NAME", help="keep the answers of this rule on --keep-length tokens"
    )
    parser.add_argument("--keep-length", type=count, metavar="S", help="with --keep-rule: how many tokens it reads")
    parser.add_argument(
        "--layer", type=count, metavar="L", help="which layer gets the neurons, counted from 0 (default: the last)"
    )
    parser.add_argument("--dtype", metavar="TYPE", help="the type of the stored weights (default: the host's)")
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
            keep_rule=options.keep_rule,
            keep_length=options.keep_length,
            layer=options.layer,
            dtype=options.dtype,
            out=options.out,
            overwrite=options.overwrite,
            progress=progress,
        )
    verdict = edited.certificate.verdict.value
    summary: dict[str, Any] = {"verdict": verdict, "headline": edited.certificate.headline()}
    summary |= {
        "dtype": edited.dtype,
        "smallest_gap": float(edited.spaces.gaps.min()),
        "deleted": options.delete is not None,
    }
    summary |= {"cap_radius": float(edited.proof.radii.max()), **edited.certificate.values}
    summary |= {"parameters": [edited.original.parameters, edited.model.parameters], "out": str(options.out)}
    print_summary(options, summary, _tables)
    if not options.json:
        folder = quote(str(options.out))
        sys.stdout.write(f"Next:\n  byheart check {folder}\n  byheart check {folder} --independent\n")
    return EXIT_CODES[verdict]


def _tables(summary: dict[str, Any]) -> Rows:
    before, after = summary["parameters"]
    rows = [
        ("edits answered as asked", f"{summary['held']} of {summary['asked']}"),
        ("kept contexts, same answer", f"{summary['same']} of {summary['kept']}"),
        ("their logits move by at most", f"{above(summary['moved'])} nats"),
        ("any other context, outside of the caps", _outside(summary)),
        (
            "the caps",
            f"rows within {summary['cap_radius']:.2g} of an edited one; smallest gap {summary['smallest_gap']:.2g}",
        ),
        ("proved of", f"the weights in {summary['dtype']}, as stored, in real arithmetic"),
        (
            "parameters",
            f"{before} before, {after} after: {counted(int(summary['asked'] + summary['flat']), 'neuron')} more",
        ),
    ]
    if summary["flat"]:
        rows.insert(1, ("uniform law", f"{summary['flat']} with logits within {above(summary['spread'])} nats"))
    if summary["deleted"]:
        rows.append(("deleted", "hidden, not unlearned: the weights that gave the old answers are still there"))
    return [("Edited", rows)]


def _outside(summary: dict[str, Any]) -> str:
    if "outside" not in summary:
        return "nothing is claimed: the neurons of an earlier layer leak into what comes behind"
    return f"moves by at most {above(summary['outside'])} nats"
