"""The figures as pictures, tables and one page: three kinds of lines, and beside them what each sentence comes to.

Page: docs/experiments.md
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from byheart.experiments.figure import Curve, Figure, Finding, Kind, Verdict
from byheart.experiments.layers import AnyPoint
from byheart.experiments.sweep import FINDINGS, Result, write_rows, write_table
from byheart.report.chart import Line, line_chart
from byheart.report.document import badge, document, escaped, section
from byheart.report.drawing import COLOURS, part_of_page
from constructions.counted import counted
from constructions.files import write_atomically


@dataclass(frozen=True)
class Drawn:
    """A figure with its results.

    Args:
        figure: What is asked.
        results: Of its points.
        asked: How many points it has.
    """

    figure: Figure
    results: Sequence[Result]
    asked: int

    @cached_property
    def findings(self) -> list[Finding]:
        """What comes of each sentence; nothing while points are missing."""
        found = self.figure.judge(self.results) if self.asked and len(self.results) == self.asked else []
        if self.figure.of_printed_size(self.points):
            return found
        return [replace(each, verdict=_ELSEWHERE.get(each.verdict, each.verdict)) for each in found]

    @property
    def points(self) -> list[AnyPoint]:
        """Those with results."""
        return [result.point for result in self.results]

    @property
    def steps(self) -> str:
        """How long they were trained, shortest to longest."""
        steps = [point.steps for point in self.points]
        return " to ".join(f"{n:,}" for n in dict.fromkeys((min(steps), max(steps))))

    def rows(self) -> Iterator[dict[str, str]]:
        """What a register says of each sentence: of which runs, and what came out."""
        for each in self.findings:
            seeds = counted(len({point.seed for point in self.points}), "seed")
            runs = f"these {counted(len(self.points), 'run')}: {seeds}, {self.steps} steps of Adam"
            yield {"figure": self.figure.name, **vars(each), "speaks for": runs}

    def svg(self) -> str:
        """The picture."""
        figure, results = self.figure, self.results
        trained = [Curve(name, "trained", places) for name, places in figure.trained(results).items()]
        lines = _coloured([*trained, *figure.beside(results)])
        return line_chart(
            [replace(each, joined=False) for each in lines] if figure.scattered else lines,
            title=f"{figure.title}; {counted(len(results), 'model')}",
            x_label=figure.abscissa[0],
            y_label=figure.ordinate[0],
            log=figure.log,
        )


_ELSEWHERE: dict[str, Verdict] = {"refuted": "not reproduced"}
_DASHES: dict[Kind, str] = {"trained": "", "bound": "", "count": "7 5", "built": "12 3 2 3", "printed": "1 6"}


def _coloured(curves: Sequence[Curve]) -> list[Line]:
    """A line for each; one of the name of a trained curve has its colour, and beyond four colours lines are thin."""
    trained, lines = [each.name for each in curves if each.kind == "trained"], []
    for i, each in enumerate(curves):
        own = each.name.removeprefix(f"{each.kind}, ")
        place = trained.index(own) if own in trained else sum(other.kind == each.kind for other in curves[:i])
        x, y = np.array(each.places, dtype=np.float64).reshape(-1, 2).T
        name = each.name if each.name.startswith(each.kind) else f"{each.name} ({each.kind})"
        style = COLOURS[place % len(COLOURS)] + " thin" * (place >= len(COLOURS))
        lines.append(Line(name, x, y, style, _DASHES[each.kind], each.kind in ("trained", "printed")))
    return lines


def write_figures(out: Path, drawn: Sequence[Drawn]) -> None:
    """Write the table and the picture of each figure, and the page.

    Args:
        out: The folder.
        drawn: The figures with their results.
    """
    for each in drawn:
        if each.results:
            write_table(out / f"{each.figure.name}.csv", each.results)
            write_atomically(out / f"{each.figure.name}.svg", each.svg().encode())
    rows = [row for each in drawn for row in each.rows()]
    if rows:
        write_rows(out / FINDINGS, rows)
    write_atomically(out / "index.html", page(drawn).encode())


def page(drawn: Sequence[Drawn]) -> str:
    """The page, as a whole HTML document."""
    models = {result.point.key for each in drawn for result in each.results}
    title = f"{counted(len(models), 'trained model')}, and what each is proved to hold"
    legend = (
        "<p>Three kinds of lines. A <em>count</em> (dashed) is what frozen heads can hold of any targets, and no limit "
        "of trained ones. A <em>bound</em> (a plain line) is proved for all weights of a shape. A <em>trained</em> "
        "line (with dots) is what training found: it proves what these weights hold, and nothing of what others "
        "could. A <em>built</em> line is what the smallest memory of byheart holds in every float32 run, where it has "
        "no more parameters than what is trained. "
        "Dots on a dotted line are numbers of the source.</p>"
    )
    head = f"<header><p class='brand'>byheart experiment</p><h1>{title}</h1>{legend}</header>\n"
    return document(f"byheart: {title}", head + "".join(_figure(each) for each in drawn if each.results))


def _figure(drawn: Drawn) -> str:
    first = drawn.results[0].point
    protocol = (
        f"<p class='quiet'>{escaped(drawn.figure.source)}. {counted(len(drawn.results), 'model')}; Adam, "
        f"{drawn.steps} steps, learning rate {first.rate:g} to {first.last_rate:g}; every context is judged, so that "
        f"an accuracy has no sampling error. <a href='{drawn.figure.name}.csv'>Table</a>.</p>"
    )
    rows = "".join(
        f"<tr><td>{escaped(each.sentence)}</td><td>{_badge(each)}</td><td>{escaped(each.found)}</td></tr>"
        for each in drawn.findings
    )
    table = f"<table><tr><th>what is said</th><th>these runs</th><th>found</th></tr>{rows}</table>" if rows else ""
    return section(escaped(drawn.figure.title), part_of_page(drawn.svg()) + protocol + table)


def _badge(finding: Finding) -> str:
    kind = {"confirmed": "PROVED", "refuted": "REFUTED"}.get(finding.verdict, "UNDECIDED")
    return badge(kind, finding.verdict)
