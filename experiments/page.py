"""The figures as pictures, tables and one page: three kinds of lines, and beside them what each sentence comes to.

Page: docs/experiments.md
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from byheart.report.chart import Line, line_chart
from byheart.report.document import badge, document, escaped, section
from byheart.report.drawing import COLOURS, part_of_page
from constructions.counted import counted, inflected
from constructions.errors import ByheartError, FileFormatError
from constructions.formats.files import write_atomically
from experiments.figure import Curve, Figure, Finding, Kind, Verdict, span
from experiments.layers import AnyPoint
from experiments.sweep import FINDINGS, Result, read_table, write_rows, write_table


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
    def title(self) -> str:
        """What the figure shows, and the sizes that all points share and that are not on the abscissa."""
        across = self.figure.abscissa[0].split()
        sizes = [f"{letter} = {value}" for letter, value in _shared(self.points).items() if letter not in across]
        return re.sub(r"d = (\d+), d_h = \1\b", r"d = d_h = \1", ", ".join([self.figure.title, *sizes]))

    def rows(self) -> Iterator[dict[str, str]]:
        """Yield what a register says of each sentence: of which runs, and what came out."""
        for each in self.findings:
            own = [point for point in self.points if self.figure.curve(point).endswith(each.curve)]
            said = {"sentence": each.sentence, "verdict": each.verdict, "found": each.found}
            yield {"figure": self.figure.name, **said, "speaks for": f"these {_runs(own)}"}

    def svg(self) -> str:
        """Return the picture."""
        figure, results = self.figure, self.results
        trained = [Curve(name, "trained", places) for name, places in figure.trained(results).items()]
        return line_chart(
            _coloured([*trained, *figure.beside(results)]),
            title=f"{self.title}; {counted(len(results), 'model')}",
            x_label=figure.abscissa[0],
            y_label=figure.ordinate[0],
            log=figure.log,
        )


_ELSEWHERE: dict[str, Verdict] = {"not so here": "not reproduced"}
_DASHES: dict[Kind, str] = {"trained": "", "bound": "", "count": "7 5", "built": "12 3 2 3", "printed": "1 6"}
_SIZES = {"N": "tokens", "n": "n_ctx", "d": "d_model", "d_h": "d_head", "T": "examples", "H": "heads"}
_SEEN = {
    "all contexts": "all contexts in every step",
    "fixed sample": "a fixed sample",
    "sample of the text": "a sample of 1,000 x 1,024",
    "all examples": "all examples in every step",
}


def _shared(points: Sequence[AnyPoint]) -> dict[str, int]:
    """Return the sizes that all points have in common, by their letters."""
    times = Counter(size for point in points for size in _sizes(point).items())
    return {letter: value for (letter, value), count in times.items() if count == len(points)}


def _sizes(point: AnyPoint) -> dict[str, int]:
    """Those of a point, by their letters; a model without heads has none of theirs."""
    sizes = {letter: getattr(point, name) for letter, name in _SIZES.items() if hasattr(point, name)}
    return {letter: value for letter, value in sizes.items() if point.heads or letter not in ("d_h", "H")}


def _runs(points: Sequence[AnyPoint]) -> str:
    """How many runs there are, how many seeds of a setting, and how they were trained."""
    seeds = Counter(point.shape for point in points).values()
    protocols = {getattr(point, "protocol", "all examples") for point in points}
    seen = " or ".join(said for protocol, said in _SEEN.items() if protocol in protocols)
    return (
        f"{counted(len(points), 'run')}: {span(seeds)} {inflected('seed', max(seeds))}, "
        f"{span(point.steps for point in points)} steps of Adam, learning rate "
        f"{span(point.rate for point in points)} at first and {span(point.last_rate for point in points)} at last, "
        f"{seen}"
    )


def _coloured(curves: Sequence[Curve]) -> list[Line]:
    """Return a line for each; one beside a trained curve has its colour, and beyond four colours lines are thin."""
    trained, lines = [each.name for each in curves if each.kind == "trained"], []
    for i, each in enumerate(curves):
        own = each.name if each.kind == "trained" else each.name.partition(", ")[2]
        place = trained.index(own) if own in trained else sum(other.kind == each.kind for other in curves[:i])
        x, y = np.array(each.places, dtype=np.float64).reshape(-1, 2).T
        name = each.name if each.name.startswith(each.kind) else f"{each.name} ({each.kind})"
        style = COLOURS[place % len(COLOURS)] + " thin" * (place >= len(COLOURS))
        lines.append(Line(name, x, y, style, _DASHES[each.kind], each.kind in ("trained", "printed")))
    return lines


def read_figure(out: Path, figure: Figure) -> Drawn:
    """Return a figure whose table lies in a folder; nothing is said of one that is no whole grid.

    Raises:
        FileFormatError: The table is none of the figure.
    """
    file = out / f"{figure.name}.csv"
    results = read_table(file)
    points = {result.point for result in results}
    drawn = Drawn(figure, results, len(points) * any(points == set(grid()) for grid in (figure.quick, figure.full)))
    try:
        _ = drawn.svg(), drawn.findings  # a table that cannot be drawn is refused before anything is trained
    except (ArithmeticError, AttributeError, ByheartError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise FileFormatError(f"{file} is not a table of {figure.name}: {error}") from None
    return drawn


def write_figure(out: Path, drawn: Drawn) -> None:
    """Write the table and the picture of a figure; where it has no results, none is left."""
    table, picture = (out / f"{drawn.figure.name}.{kind}" for kind in ("csv", "svg"))
    if drawn.results:
        write_table(table, drawn.results)
        write_atomically(picture, drawn.svg().encode())
    else:
        table.unlink(missing_ok=True)
        picture.unlink(missing_ok=True)


def write_page(out: Path, drawn: Sequence[Drawn]) -> None:
    """Write what each sentence comes to, and the page with all of it.

    Args:
        out: The folder.
        drawn: The figures with their results.
    """
    rows = [row for each in drawn for row in each.rows()]
    if rows:
        write_rows(out / FINDINGS, rows)
    else:
        (out / FINDINGS).unlink(missing_ok=True)
    write_atomically(out / "index.html", page(drawn).encode())


def page(drawn: Sequence[Drawn]) -> str:
    """Return the page, as a whole HTML document."""
    models = {result.point.key for each in drawn for result in each.results}
    title = f"{counted(len(models), 'trained model')}, and what each is proved to hold"
    legend = (
        "<p>There are three kinds of lines. A <em>trained</em> line (with dots, or dots alone) is what training found: "
        "it proves what these weights hold, and nothing of what others could. A <em>count</em> (dashed) is what frozen "
        "heads can hold of any targets. It is no upper limit: training also fits queries and keys to the labels. "
        "A <em>bound</em> (a plain line) is proved for all weights of a shape. Beside them, a <em>built</em> line "
        "(long and short dashes) is what the smallest memory of byheart holds of the first label table in every "
        "float32 run, where it has no more parameters than what is trained, and a <em>printed</em> line (dotted, with "
        "dots) has the numbers of the source. A ring marks a line with a single point.</p>"
    )
    head = f"<header><p class='brand'>byheart experiment</p><h1>{title}</h1>{legend}</header>\n"
    return document(f"byheart: {title}", head + "".join(_figure(each) for each in drawn if each.results))


def _figure(drawn: Drawn) -> str:
    protocol = (
        f"<p class='quiet'>{escaped(drawn.figure.source)}. {_runs(drawn.points)}; each is judged on "
        f"all of its task, so that an accuracy has no sampling error. <a href='{drawn.figure.name}.csv'>Table</a>.</p>"
    )
    rows = "".join(
        f"<tr><td>{escaped(each.sentence)}</td><td>{_badge(each)}</td><td>{escaped(each.found)}</td></tr>"
        for each in drawn.findings
    )
    table = f"<table><tr><th>what is said</th><th>these runs</th><th>found</th></tr>{rows}</table>" if rows else ""
    return section(escaped(drawn.title), part_of_page(drawn.svg()) + protocol + table)


def _badge(finding: Finding) -> str:
    kind = {"confirmed": "PROVED", "not so here": "REFUTED"}.get(finding.verdict, "UNDECIDED")
    return badge(kind, finding.verdict)
