"""`byheart check`: prove stored certificates again."""

import argparse
import os
import sys
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byheart.result import Field, Result, Section, data_fields
from byheart.terminal.answer_fields import answer_fields
from byheart.terminal.argument_types import path
from byheart.terminal.exit_codes import PROVED, REFUTED, UNDECIDED, worst
from byheart.terminal.failures import error_fields, interrupted_after, meant
from byheart.terminal.options import (
    add_criterion_options,
    add_folder,
    add_keep_option,
    add_output_options,
    add_worker_options,
    criterion_of,
    journal_of,
    say_what_was_kept,
    workers,
)
from byheart.terminal.places import require_folder
from byheart.terminal.progress import progress_lines
from byheart.terminal.tables import exit_code, show, show_several
from constructions.counted import counted
from constructions.plug_ins import plug_in, required_plug_in
from verify.verdict import Verdict

if TYPE_CHECKING:
    from byheart.coq.compiled import CoqReport
    from byheart.terminal.kernel_report import KernelReport
    from constructions.tasks.criterion import Criterion
    from verify.certificates.certificate import CheckReport
    from verify.edits.certificate import EditCheck

_FAST = "checked by the fast prover"

HELP = "verify a stored certificate again, from weights and task alone"
EXAMPLE = "byheart check capitals --fast"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    add_folder(parser, "one or more byheart folders", nargs="+")
    parser.add_argument(
        "--fast",
        action="store_true",
        help="let the fast prover check, not the kernel: quicker, and it proves more; nothing of it is small enough to "
        "be read",
    )
    parser.add_argument(
        "--coq",
        action="store_true",
        help="let Coq prove that every run knows the texts or facts (docs/rigour/kernel.md)",
    )
    parser.add_argument(
        "--native",
        action="store_true",
        help="with --coq: evaluate the answers in native code, some 5 times as fast; trusts OCaml's compiler too",
    )
    parser.add_argument(
        "--sample-seed",
        metavar="TEXT",
        help="with --fast, for a sample: draw as many inputs again, with a seed of your own",
    )
    parser.add_argument(
        "--kinds",
        type=path,
        metavar="FOLDER",
        help="also know the kinds of statement of a folder, whose code is run and believed (docs/rigour/kernel.md)",
    )
    add_criterion_options(parser, "as certified")
    add_worker_options(parser)
    add_keep_option(parser, "the answer for every folder that is finished")
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from constructions.errors import InputError

    _require_one_checker(options)
    _require_coq_alone(options)
    for folder in options.folder:
        require_folder(folder, beside=True)
        if options.keep is not None and Path(os.path.realpath(options.keep)).is_relative_to(os.path.realpath(folder)):
            raise InputError(f"--keep {options.keep}", f"lies in {folder}, which it would change; choose another place")
    if len(options.folder) > 1 or any(each is not None for each in (options.workers, options.scheduler, options.keep)):
        return _check_each(options)
    [folder] = options.folder
    with progress_lines(options) as progress:
        report = _report(options, folder, progress=progress)
    return show(options, _result(report.summary()))


def _require_coq_alone(options: argparse.Namespace) -> None:
    """Refuse options that ask Coq for anything but its one theorem: all facts, in every run of one format."""
    from constructions.errors import InputError

    if not options.coq:
        if options.native:
            raise InputError("--native", "is given without --coq, whose answers it evaluates faster")
        return
    names = ("at_least", "at_most", "tolerance", "sample_seed")
    given = [name for name in names if getattr(options, name) not in (None, False)]
    if given:
        name = given[0].replace("_", "-")
        raise InputError(f"--{name}", "is given with --coq, which proves that every run knows every fact")


def _require_one_checker(options: argparse.Namespace) -> None:
    """Refuse other questions than the certificate's where the kernel answers; they are for the fast prover."""
    from constructions.errors import InputError

    if options.fast and options.coq:
        raise InputError("--fast and --coq", "are given", "one checker")
    if options.fast or options.coq:
        return
    for name in ("at_least", "at_most", "tolerance", "sample_seed"):
        if getattr(options, name) is not None:
            said = f"--{name.replace('_', '-')} {getattr(options, name)}"
            raise InputError(said, "is given, but the kernel asks what the certificate asks", "--fast beside it")


def _check_each(options: argparse.Namespace) -> int:
    """Check several folders; what one of them is does not keep the others from being checked."""
    from verify.journal import cached_map

    journal = journal_of(options)
    found: dict[Path, Result] = {}
    codes: dict[Path, int] = {}
    interrupted = False
    try:
        with progress_lines(options) as progress:
            for folder, summary, earlier in cached_map(
                partial(_checked, options, Path.cwd()),
                options.folder,
                workers(options),
                journal=journal,
                named=partial(_named, options, Path.cwd()),
            ):
                if isinstance(summary, Exception):
                    error, codes[folder] = meant(options, summary)
                    found[folder] = _not_checked(folder, error_fields(options, error))
                else:
                    found[folder] = _of_folder(folder, _result(summary), earlier=earlier)
                    codes[folder] = exit_code(found[folder])
                progress(str(folder), 1.0, summary["verdict"] if isinstance(summary, dict) else "not checked")
    except KeyboardInterrupt:
        interrupted = True
    done = [folder for folder in options.folder if folder in found]
    show_several(options, _overview(options, found, codes), [found[folder] for folder in done])
    before = [found[folder]["earlier"] for folder in done if found[folder].verdict is not None]
    say_what_was_kept(journal, sum(before), len(before) - sum(before))
    return interrupted_after(len(found), len(options.folder), "folder") if interrupted else worst({*codes.values()})


def _overview(options: argparse.Namespace, found: dict[Path, Result], codes: dict[Path, int]) -> Result:
    """Return what became of all folders, and a line of each."""
    words = {PROVED: "proved", REFUTED: "refuted", UNDECIDED: "undecided"}
    counts = Counter(words.get(code, "not checked") for code in codes.values())
    first = worst({*codes.values()}) if codes else UNDECIDED
    total = counted(len({*options.folder}), "folder")
    others = "".join(f", {counts[word]} {word}" for word in ("refuted", "undecided", "not checked") if counts[word])
    headline = f"{words.get(first, 'not checked').upper()}: {counts['proved']} of {total} proved{others}"
    lines = tuple(Field("", each.headline, str(folder)) for folder, each in found.items())
    return Result(headline, None, (Section("Folders", lines),))


_WHICH = "of several folders, or with `--keep`: which one"
_ERROR = "one that was not checked has an `error` and its `kind` instead of a verdict"


def _of_folder(folder: Path, result: Result, *, earlier: bool) -> Result:
    """Return what was found of one of several folders, perhaps by an earlier run."""
    fields = (
        Field("folder", str(folder), _WHICH, note=_ERROR, shown=False),
        Field("earlier", earlier, "whether an earlier run found this, and this one did not check it", shown=False),
    )
    headline = result.headline + " (found by an earlier run, not checked again)" * earlier
    return replace(result, headline=headline, sections=(*result.sections, Section("", fields)))


def _not_checked(folder: Path, error: dict[str, Any]) -> Result:
    """Return why a folder could not be checked."""
    fields = (
        Field("folder", str(folder), _WHICH, note=_ERROR, shown=False),
        *data_fields(error, {"error": "why a folder was not checked", "kind": "the class of the error"}),
    )
    return Result(error["error"], None, (Section("", fields),))


def _checked(options: argparse.Namespace, here: Path, folder: Path) -> dict[str, Any]:
    return _report(options, here / folder).summary()  # a worker may be elsewhere


@dataclass(frozen=True)
class _ExportCheck:
    """What checking an export found: of its proof, and beside it that all other files are made of it."""

    proof: "KernelReport | CheckReport | CoqReport"
    beside: str

    @property
    def verdict(self) -> "Verdict":
        return self.proof.verdict

    def summary(self) -> dict[str, Any]:
        found = self.proof.summary()
        return {**found, "headline": f"{found['headline']}; {self.beside}"}


def _report(
    options: argparse.Namespace, folder: Path, **progress: Any
) -> "KernelReport | CheckReport | CoqReport | EditCheck | _ExportCheck":
    """Return what checking a folder found: of an edit, of an export, or of a memory."""
    if (edit := proof_of_an_edit(folder)) is not None and not options.coq:
        return _report_of_an_edit(options, folder, edit, **progress)
    exported = plug_in("byheart.hosts.exported_folder")
    if exported is not None and (proof := exported.proof_of_an_export(folder)) is not None:
        report = _report_of_a_memory(options, proof, **progress)
        return _ExportCheck(report, exported.require_export_made_again(folder))
    return _report_of_a_memory(options, folder, **progress)


def _report_of_a_memory(
    options: argparse.Namespace, folder: Path, **progress: Any
) -> "KernelReport | CheckReport | CoqReport":
    """Return what checking a folder of weights, task and certificate found."""
    from byheart.measured import require_made_again
    from verify.provers.kinds import read_kinds

    if options.coq:
        return _report_of_coq(options, folder, **progress)
    kinds = read_kinds(options.kinds)
    beside = [] if options.kinds is None else [f"believing the kinds of statement of {options.kinds}"]
    if options.fast:
        report = _check_fast(options, folder, beside, **progress)
    else:
        from byheart.terminal.kernel_report import check_by_kernel

        report = check_by_kernel(folder, kinds=kinds, tell=_say_how_long).adding(*beside)
    require_made_again(folder, kinds)
    return report


def _report_of_an_edit(options: argparse.Namespace, folder: Path, edit: Path, **progress: Any) -> "EditCheck":
    """Return what checking an edit found, whose proof lies in a folder of its own."""
    from constructions.errors import InputError

    names = ("at_least", "at_most", "tolerance", "sample_seed")
    if given := [name for name in names if getattr(options, name) is not None]:
        raise InputError(
            f"--{given[0].replace('_', '-')}", f"is given, but {folder} is an edit, which is judged as it was asked"
        )
    checked_edit = required_plug_in("byheart.terminal.edit_report")
    said = _FAST if options.fast else None
    return checked_edit.check_edited_folder(folder, edit, fast=said, tell=_say_how_long, **progress)


def _say_how_long(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _report_of_coq(options: argparse.Namespace, folder: Path, **progress: Any) -> "CoqReport":
    """Return what Coq says to the claim of a folder; where there is one folder, its answers share the workers."""
    from constructions.errors import InputError

    if proof_of_an_edit(folder) is not None:
        raise InputError("--coq", f"is given, but {folder} is an edit", "a memory")
    workers = None if len(options.folder) == 1 else 1
    return required_plug_in("byheart.coq.compiled").check_by_coq(
        folder, native=options.native, workers=workers, **progress
    )


def proof_of_an_edit(folder: Path) -> Path | None:
    """Where the proof of an edit lies: in the folder that `byheart edit` wrote, or in its folder `proof`."""
    return next((each for each in (folder, folder / "proof") if (each / "edit.json").is_file()), None)


def _named(options: argparse.Namespace, here: Path, folder: Path) -> list[Any]:
    """Return what an answer depends on beside the program: all files of the folder, and what is asked of them."""
    from verify.program_text import files_sha256

    names = ("fast", "coq", "native", "sample_seed", "at_least", "at_most", "tolerance")
    asked = (getattr(options, name) for name in names)
    kinds = None if options.kinds is None else files_sha256(here / options.kinds)
    return ["check", files_sha256(here / folder), kinds, *asked]


def _asked(options: argparse.Namespace, folder: Path) -> "Criterion | None":
    """Return what is asked on the command line; nothing: what the certificate asks."""
    from verify.certificates.certificate import Certificate
    from verify.provers.kinds import read_kinds

    if options.at_least is None and options.at_most is None and options.tolerance is None:
        return None
    return criterion_of(options, Certificate.load(folder, read_kinds(options.kinds)).criterion.tolerance)


def _check_fast(options: argparse.Namespace, folder: Path, beside: list[str], **progress: Any) -> "CheckReport":
    """Return what the fast prover found, which the first line says."""
    from verify.provers.memorization import check_memorization

    runs = plug_in("verify.runs.every_run")
    beyond = None if runs is None else runs.argmax_of_every_run
    given = {"sample_seed": options.sample_seed, "kinds": options.kinds, "beyond": beyond}
    report = check_memorization(folder, _asked(options, folder), **given, **progress)
    return replace(report, asides=(*report.asides, _FAST, *beside))


def _result(summary: dict[str, Any]) -> Result:
    """Return what a checker found, of whatever it has checked."""
    undecided = summary["verdict"] == "UNDECIDED" and summary["path"] == "the kernel"
    statements = Field(
        "statements",
        summary["statements"],
        "statements",
        note="each by its `id` (of `runs` and `text` with the number format), the `statement` in words, who can check "
        "it (`checker`: `kernel`, or `prover` where the fast prover alone has a proof), its `verdict` with a `reason`, "
        "and the `values` that were found now",
        columns={"id": "statement", "verdict": "verdict", "reason": "because"},
    )
    fields = [
        Field("asked", summary["asked"], "what was asked"),
        Field("path", summary["path"], "method"),
        Field("reason", summary.get("reason"), "what the kernel says of it", note="where it has no proof of a part"),
        Field("", "--fast lets the fast prover check it" if undecided else None, "what is left"),
        *answer_fields(summary),
        statements,
    ]
    hashes = {"model_sha256": "hash of the weights", "task_sha256": "hash of the task"}
    fields += [Field(name, summary[name], words, shown=False) for name, words in hashes.items() if name in summary]
    if "kept" in summary:
        fields.append(Field("kept", summary["kept"], "contexts that keep their answer", note="of an edit"))
    if "axioms" in summary:
        fields += _of_coq(summary)
    is_proved = bool(summary["axioms"] if "axioms" in summary else summary["statements"])
    title = ("Proved by Coq" if "axioms" in summary else "Proved again") if is_proved else "Not proved"
    return Result(summary["headline"], Verdict(summary["verdict"]), (Section(title, tuple(fields)),))


def _of_coq(summary: dict[str, Any]) -> list[Field]:
    words = {
        "axioms": ("what the theorem rests on", "nothing"),
        "compared": ("what the theorem proves, by the fields of the certificate that state it", "nothing"),
        "beside": ("statements of the certificate of which the theorem says nothing", "no statement of it"),
        "trusted": ("what has to be believed", "nothing"),
    }
    fields = []
    for name, (what, none) in words.items():
        fields.append(Field(name, summary[name], what))
        if not summary[name]:
            fields.append(Field("", none, what))
    return fields
