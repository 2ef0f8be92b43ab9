"""`byheart build`: a construction of a theorem for one's own data, or the weights that a claim promises, certified."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from byheart.result import Field, Result, Section
from byheart.terminal.argument_types import parameter, path
from byheart.terminal.made import made_result
from byheart.terminal.options import add_device_option, add_out_options, add_output_options
from byheart.terminal.progress import progress_lines
from byheart.terminal.tables import show
from constructions.errors import InputError

if TYPE_CHECKING:
    from byheart.figures import Figures
    from byheart.theorems.building import HandcraftedFold, NamedConstruction, Parameter

HELP = "build the construction of a theorem for your own data, and certify it"
EXAMPLE = "byheart build parity --param bits=64"

_DATA = {
    "contexts": "contexts, one a line, such as '0 1 1' (also .json, .jsonl, .npy)",
    "vectors": "contexts and queries of vectors, .npz or .json",
    "distributions": "distributions, one a line, of decimals or fractions (also .json, .npy)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="a construction, see --list, or the id of a claim that builds weights",
    )
    parser.add_argument("--list", action="store_true", help="list the constructions with their parameters, and end")
    for name, what in _DATA.items():
        parser.add_argument(f"--{name}", type=path, metavar="FILE", help=f"build for these {what}")
    parser.add_argument(
        "--param",
        nargs="+",
        action="extend",
        type=parameter,
        default=[],
        metavar="NAME=VALUE",
        help="parameters of the construction",
    )
    add_out_options(parser, "NAME")
    add_device_option(parser)
    add_output_options(parser, verbose=True)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from byheart.theorems.building import FOLDS, names

    if options.list:
        return show(options, _listed())
    if options.name is None:
        raise InputError(
            "NAME", "is missing", "a construction, which `byheart build --list` names, or the id of a claim"
        )
    parameters = dict(options.param)
    if len(parameters) < len(options.param):
        raise InputError(f"--param {' '.join((name for name, _ in options.param))}: a name", "is given twice")
    given = {name: getattr(options, name) for name in _DATA if getattr(options, name) is not None}
    out = options.out or Path(options.name)
    if options.name in FOLDS:
        return _built_fold(options, FOLDS[options.name], given, parameters, out)
    if options.name in names():
        figures = _built_by_name(options, names()[options.name], given, out)
    else:
        figures = _built_for_claim(options, given, out)
    code = show(options, made_result(figures, out, verbose=options.verbose))
    if (beside := _beside(options.name)) is not None and not (options.json or options.quiet):
        sys.stdout.write(f"For {beside.data.name} of your own: byheart build {beside.name} --{beside.data.name} FILE\n")
    return code


def _listed() -> Result:
    """Return all constructions that have a name."""
    from byheart.theorems.building import FOLDS, NAMED

    lines = {each.name: _line(each) for each in NAMED} | {name: _fold_line(each) for name, each in FOLDS.items()}
    fields = tuple(Field("", line, name) for name, line in lines.items())
    data = Field("constructions", lines, "without a name: what each construction builds, by its name", shown=False)
    headline = f"{len(lines)} constructions can be built: byheart build NAME"
    return Result(headline, None, (Section("Constructions", (*fields, data)),))


def _line(construction: "NamedConstruction") -> str:
    """Return what a construction builds, from which file, with which parameters."""
    parameters = " ".join(f"{name}={value}" for name, value in construction.all_parameters.items())
    return f"{construction.line} (--{construction.data.name} FILE); {parameters}"


def _fold_line(fold: "HandcraftedFold") -> str:
    """Return what the weights of a rule with a state do, with which parameters."""
    parameters = " ".join(f"{name}={value}" for name, value in fold.parameters.items())
    return f"{fold.line}, proved on all inputs; {parameters}"


def _built_fold(
    options: argparse.Namespace,
    fold: "HandcraftedFold",
    given: dict[str, Path],
    parameters: dict[str, "Parameter"],
    out: Path,
) -> int:
    """Build weights that follow a rule with a state, and prove it of all inputs, in reals and every float32 run."""
    from byheart.cli.certify import print_fold
    from byheart.hosts.certify import certify_fold

    if options.device != "cpu":
        raise InputError(f"--device {options.device}", "is given", f"none for {options.name}, which is not run")
    if given:
        name, file = next(iter(given.items()))
        raise InputError(f"--{name}", f"is {str(file)!r}, but {options.name} follows a rule")
    model, rule = fold.construct(**parameters)
    with progress_lines(options) as progress:
        figures = certify_fold(
            model, rule, every_run="float32", out=out, overwrite=options.overwrite, progress=progress
        )
    return print_fold(options, figures, rule, out)


def _beside(name: str) -> "NamedConstruction | None":
    """Return the construction that takes data of one's own where a claim builds weights without."""
    from byheart.theorems.building import NAMED

    return next((each for each in NAMED if each.beside == name), None)


def _built_by_name(
    options: argparse.Namespace, construction: "NamedConstruction", given: dict[str, Path], out: Path
) -> "Figures":
    from byheart.theorems.building import build_named
    from byheart.theorems.register import claim

    file = given.pop(construction.data.name, None)
    for name, other in given.items():
        raise InputError(f"--{name}", f"is {str(other)!r}", f"--{construction.data.name}, which {options.name} takes")
    with progress_lines(options) as progress:
        return build_named(
            construction,
            out=out,
            file=file,
            statement=claim(options.name) if options.name in construction.statements else None,
            parameters=dict(options.param),
            overwrite=options.overwrite,
            device=options.device,
            progress=progress,
        )


def _built_for_claim(options: argparse.Namespace, given: dict[str, Path], out: Path) -> "Figures":
    from byheart.theorems.building import build_claim, named
    from byheart.theorems.register import claim

    if "." not in options.name:
        named(options.name)  # names the nearest construction, or all of them
    beside = _beside(options.name)
    for name, file in given.items():
        takes = f"; `byheart build {beside.name}` takes --{beside.data.name} FILE" if beside else ""
        raise InputError(f"--{name}", f"is {str(file)!r}, but {options.name} draws its own data{takes}")
    wrong = next((f"{name}={value}" for name, value in options.param if not isinstance(value, int)), None)
    if wrong is not None:
        raise InputError(f"--param {wrong}", "is not an integer", "NAME=INTEGER for a claim")
    with progress_lines(options) as progress:
        return build_claim(
            claim(options.name),
            out=out,
            parameters=dict(options.param),
            overwrite=options.overwrite,
            device=options.device,
            progress=progress,
        )
