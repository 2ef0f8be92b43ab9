"""What `byheart experiment` does: train what the figures of the sources show, and prove what each model holds.

Page: docs/experiments.md
"""

import argparse
from functools import partial
from typing import TYPE_CHECKING

from byheart.result import Field, Result, Section
from byheart.terminal.options import workers
from byheart.terminal.progress import progress_lines
from byheart.terminal.tables import show
from constructions.counted import counted, inflected
from verify.verdict import Verdict

if TYPE_CHECKING:
    from constructions.progress import Progress
    from experiments.figure import Figure
    from experiments.page import Drawn


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from byheart.device import require_device
    from constructions.errors import InputError, require_one_of
    from experiments.figures import FIGURES

    for name in options.name:
        require_one_of(FIGURES, NAME=name)
    figures = [FIGURES[name] for name in options.name] or list(FIGURES.values())
    if options.list:
        return show(options, _listed(options, figures))
    for name, folder in (("out", options.out), ("keep", options.keep)):
        if folder is not None and folder.exists() and not folder.is_dir():
            raise InputError(name, f"= {str(folder)!r} is a file", "a folder")
    if options.check:
        return _checked(options)
    require_device(options.device)
    return _swept(options, figures)


def _checked(options: argparse.Namespace) -> int:
    from experiments.checking import differences
    from experiments.figures import FIGURES

    with progress_lines(options) as progress:
        found = differences(
            options.out, FIGURES, names=list(dict.fromkeys(options.name)), weights=options.keep, progress=progress
        )
    proved, wrong = found.points - len(found.missing), found.differences
    of = f"of {found.points:,} {inflected('model', found.points)}"
    first = f"PROVED AGAIN: every cell of {proved:,} {of}" if proved else f"NOTHING PROVED: no cell {of}"
    if found.missing:
        first += f"; the weights of {len(found.missing):,} are not here, and nothing is proved of these"
    if wrong:
        first = f"NOT AS WRITTEN: {wrong[0]}"
    fields = (
        Field("points", found.points, "models of the tables", note="with `--check`", shown=False),
        Field("missing", found.missing, "those whose weights are not there, by their keys", shown=False),
        Field("differences", found.differences, "what does not follow from the weights", shown=False),
        *(Field("", difference, "another") for difference in wrong[1:]),
    )
    verdict = Verdict.REFUTED if wrong else Verdict.UNDECIDED if found.missing else Verdict.PROVED
    return show(options, Result(first, verdict, (Section("Not as written", fields),)))


def _listed(options: argparse.Namespace, figures: "list[Figure]") -> Result:
    """Return the figures, with the number of models of each."""
    size = "full" if options.full else "quick"
    grids = {each.name: getattr(each, size)() for each in figures}
    listed = {each.name: {"title": each.title, "models": len(grids[each.name])} for each in figures}
    distinct = len({point.key for grid in grids.values() for point in grid})
    headline = f"{counted(len(listed), 'figure')}, {counted(distinct, 'model')} in the {size} grids"
    lines = (Field("", f"{each['title']}: {counted(each['models'], 'model')}", name) for name, each in listed.items())
    data = Field("figures", listed, _FIGURES, note=_FIGURES_NOTE, shown=False)
    return Result(headline, None, (Section("Figures", (*lines, data)),))


_FIGURES = "the figures, by name"
_FIGURES_NOTE = (
    "`models` of `of` that are proved; `findings`, each a `sentence`, a `verdict` for these runs, what was `found`, "
    "and the `curve` whose runs decide it, empty for all; with `--list` its `title` and how many `models`"
)


def _swept(options: argparse.Namespace, figures: "list[Figure]") -> int:
    """Figure by figure, each drawn as soon as it is proved; with workers all at once, so that none of them waits."""
    from experiments.figures import FIGURES
    from experiments.page import Drawn, read_figure, write_figure, write_page
    from experiments.sweep import AGREEING, agreeing, sweep
    from experiments.sweep import Result as Trained

    grids = {each.name: (each.full if options.full else each.quick)() for each in figures}
    options.out.mkdir(parents=True, exist_ok=True)
    others = [FIGURES[name] for name in FIGURES.keys() - grids.keys() if (options.out / f"{name}.csv").is_file()]
    pages = {each.name: read_figure(options.out, each) for each in others}
    found, failed = dict[str, Trained](), dict[str, str]()
    executor = workers(options)
    with progress_lines(options) as progress:
        for own in [figures] if executor else [[each] for each in figures]:
            results, lost = sweep(
                [point for each in own for point in grids[each.name] if point.key not in found],
                options.out,
                weights=options.keep,
                device=options.device,
                workers=executor,
                progress=progress if len(own) == len(figures) else partial(_shown, progress, own[0].name),
            )
            found |= {result.point.key: result for result in results}
            failed |= lost
            for each in own:
                points = grids[each.name]
                mine = [found[point.key] for point in points if point.key in found]
                pages[each.name] = Drawn(each, mine, len(points))
                write_figure(options.out, pages[each.name])
            write_page(options.out, [pages[name] for name in FIGURES if name in pages])
            if any(result.violation is not None for result in results):
                break
    results, drawn = list(found.values()), [pages[name] for name in grids if name in pages]
    beyond = [result for result in results if result.violation is not None]
    same = sum(result.right == result.memorized for result in results)
    few = "" if agreeing(results) else f", fewer than {AGREEING:.0%}"
    asked = len({point.key for points in grids.values() for point in points})
    if beyond:
        first = f"BEYOND A PROVED LIMIT: point {beyond[0].point.key}: {beyond[0].violation}"
    else:
        word = "RUNS COUNT OTHERWISE" if few else f"{'ALL' if len(results) == asked else 'NOT ALL'} PROVED"
        first = f"{word}: {len(results)} of {asked} trained models{' proved' * bool(few)}"
        first += f"; one float32 run counts what is proved in {same} of them{few}"
    refuted = beyond or not agreeing(results)
    verdict = Verdict.REFUTED if refuted else Verdict.PROVED if len(results) == asked else Verdict.UNDECIDED
    steps = (f"open {options.out / 'index.html'}",)
    return show(options, Result(first, verdict, _sections(drawn, failed), steps=steps))


def _shown(progress: "Progress", name: str, stage: str, share: float | None, detail: str) -> None:
    """One line for each figure, whose training takes most of the time."""
    done = share or 0.0
    progress(name, 0.9 * done if stage == "training" else 0.9 + 0.1 * done, f"{stage}, {detail}")


def _said(drawn: "Drawn") -> dict[str, object]:
    return {"models": len(drawn.results), "of": drawn.asked, "findings": [vars(each) for each in drawn.findings]}


def _sections(drawn: "list[Drawn]", failed: dict[str, str]) -> tuple[Section, ...]:
    """Return what was found of each figure, and why nothing is proved of some points."""
    found = {each.figure.name: _said(each) for each in drawn}
    sections = [
        Section(
            f"{each.figure.name}: {each.figure.title}",
            tuple(Field("", f"{finding.sentence}: {finding.found}", finding.verdict) for finding in each.findings),
        )
        for each in drawn
    ]
    data = (
        Field("figures", found, _FIGURES, note=_FIGURES_NOTE, shown=False),
        Field("failed", failed, "why nothing is proved of a point, by its key", columns={"point": "", "reason": ""}),
    )
    return (*sections, Section("Points of which nothing is proved", data))
