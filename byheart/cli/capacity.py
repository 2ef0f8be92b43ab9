"""`byheart capacity`: how many heads a text, a table or contexts alone really need."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from byheart.result import Field, Result, Section
from byheart.terminal.argument_types import path
from byheart.terminal.fact_options import add_size_options, add_task_options, read_the_facts, table_options
from byheart.terminal.made import ANY_TARGETS, capacity_fields
from byheart.terminal.options import add_output_options
from byheart.terminal.progress import progress_lines
from byheart.terminal.tables import show
from constructions.counted import counted

if TYPE_CHECKING:
    from byheart.figures import CapacityFigures
    from byheart.theorems.capacity import ContextRows
    from byheart.theorems.rank_profile import RankCell, RankProfile
    from constructions.progress import Progress
    from constructions.tasks.task import Task

_SHOWN = 4  # of the contexts that prove how many heads of any width labels take

_SUFFIXES = (".svg", ".csv", ".json")  # of files of a profile
_OF_ANSWERS = ("unit", "vocabulary", "context", "facts", "mass", "weights", "skip_empty")
"""Options of facts that have answers, of a text or of a table."""

HELP = "how many heads a text, a table or contexts alone need, from both sides"
EXAMPLE = "byheart capacity capitals.csv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the words and options of the command."""
    add_task_options(parser)
    parser.add_argument(
        "--contexts",
        action="store_true",
        help="FILE holds contexts alone: every cell is a token, and no column is an answer",
    )
    add_size_options(parser)
    parser.add_argument(
        "--profile",
        action="store_true",
        help="the rank for each width (or --head-dim) and 0 to 6 heads (or --heads), with and without skip connection",
    )
    parser.add_argument(
        "--profile-to",
        type=path,
        action="append",
        default=[],
        metavar="FILE",
        help="write the profile: a picture (.svg), a table (.csv) or .json; may be given several times",
    )
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command on what the line says, and return its exit code."""
    from byheart.theorems.capacity import capacity_profile, capacity_summary

    _require_suffixes(options.profile_to)
    with progress_lines(options) as progress:
        given, said, left_out = _read(options, progress)
        sizes = {"d_model": options.dim, "d_head": options.head_dim, "n_heads": options.heads, "seed": options.seed}
        wanted = options.profile or bool(options.profile_to)
        profile = capacity_profile(given, **sizes, progress=progress) if wanted else None
        figures = capacity_summary(given, **sizes, profile=profile, progress=progress)
    sections = [
        Section(ANY_TARGETS, capacity_fields(figures)),
        Section("Bounds of other models", _any_architecture(figures)),
        Section("", _hidden(figures)),
    ]
    if profile is not None:
        sections += _profile_sections(profile)
        for place in options.profile_to:
            _write(profile, place)
    headline = "; ".join(filter(None, [_headline(figures), left_out]))
    sections.append(Section("", (Field("reading", said, "how the file was read", shown=False),)))
    return show(options, Result(headline, None, tuple(sections), (f"Read as {said}.",) if said else ()))


def _read(options: argparse.Namespace, progress: "Progress") -> "tuple[Task | ContextRows, str, str]":
    """Return the task or the contexts, how they were read, and what was left out."""
    from byheart.theorems.capacity import contexts_alone
    from constructions.errors import InputError

    if not options.contexts:
        try:
            given = read_the_facts(options, "labels", progress)
        except InputError as error:
            if not error.argument.startswith("lines "):  # of a table, which contradict each other
                raise
            hint = f"{error.value}; --contexts reads a table whose last column is not an answer"
            raise InputError(error.argument, hint, error.expected) from None
        return given.facts, given.said, given.left_out
    for name in _OF_ANSWERS:
        if getattr(options, name) not in (None, False):
            raise InputError(
                f"--{name.replace('_', '-')}", "is given beside --contexts", "facts with answers, or not it"
            )
    source = options.source if options.table is None else options.table
    if source is None or (options.source is not None and options.table is not None):
        raise InputError("--contexts", "is given without a file of contexts, or with two", "FILE or --table CSV")
    form = table_options(options)
    found = contexts_alone(source, delimiter=form["delimiter"], header=bool(form["header"]))
    return found, f"contexts alone, without answers: {counted(len(found.tokens), 'row')}", ""


def _require_suffixes(places: list[Path]) -> None:
    from constructions.errors import InputError

    for place in places:
        if place.suffix.lower() not in _SUFFIXES:
            raise InputError("--profile-to", f"is {place}", f"a file that ends in {', '.join(_SUFFIXES)}")


def _write(profile: "RankProfile", place: Path) -> None:
    """Write the profile to a file of the kind that its ending says."""
    import json

    from byheart.theorems.rank_profile import profile_csv, profile_picture, profile_records
    from constructions.formats.files import write_atomically

    kinds = {
        ".svg": lambda: profile_picture(profile),
        ".csv": lambda: profile_csv(profile),
        ".json": lambda: json.dumps(profile_records(profile), indent=1) + "\n",
    }
    write_atomically(place, kinds[place.suffix.lower()]().encode())


def _profile_sections(profile: "RankProfile") -> list[Section]:
    """Return the ranks with and without the skip connection; the printed count in brackets, a star where it is too
    large.
    """
    sections = []
    for with_skip, name, count in (
        (False, "of heads alone", "min(T, H d_h)"),
        (True, "with skip connection", "min(T, H d_h + d)"),
    ):
        cells = profile.table(with_skip=with_skip)
        corner = "d_h \\ H"
        records = [{corner: row[0].d_head, **{str(cell.n_heads): _cell(cell) for cell in row}} for row in cells]
        title = (
            f"Largest rank, {name}, d = {profile.d_model}, proved; printed {count} in brackets, * if that is too large"
        )
        sections.append(Section(title, (Field("", records, title, columns={each: each for each in records[0]}),)))
    return sections


def _cell(cell: "RankCell") -> str:
    return f"{cell.words} ({cell.printed}){'*' * cell.printed_fails}"


def _headline(figures: "CapacityFigures") -> str:
    size, counts = figures.facts, f"the paper's formula gives {figures.paper_heads}"
    contexts = "this context" if size == 1 else f"these {size:,} contexts"
    if figures.answers is None:
        heads = _heads(figures.fewest_heads, figures.necessary_heads)
        alone = _heads(figures.heads_alone, figures.necessary_heads_alone)
        return (
            f"Independent features of {contexts}, proved: {heads} with the skip connection, {alone} without; {counts}"
        )
    if figures.dim == 1 and (figures.answers or 0) > 2:  # of logits z w_j only the largest and the least w_j ever lead
        return f"No number of heads holds any labels of {contexts}: one dimension tells two apart; {counts}"
    if figures.fewest_heads is None:
        return f"No number of heads is proved to hold any labels of {contexts}; {counts}"
    hold = f"{counted(figures.fewest_heads, 'head')} hold{'s' * (figures.fewest_heads == 1)}"
    return f"{hold} any labels of {contexts}, proved; {counts}"


def _heads(fewest: int | None, necessary: int | None) -> str:
    """How many heads make features independent, as far as it is known."""
    if fewest is None:
        return "no number of heads" if necessary is None else f"at least {counted(necessary, 'head')}"
    least = "" if necessary is None or necessary >= fewest else f" ({necessary} at least)"
    return f"{counted(fewest, 'head')}{least}"


def _any_architecture(figures: "CapacityFigures") -> tuple[Field, ...]:
    contexts = [" ".join(map(repr, context)) for context in (figures.any_width_contexts or [])[:_SHOWN]]
    has_heads = bool(figures.any_width_heads and contexts)
    return (
        Field(
            "any_width_heads",
            figures.any_width_heads,
            "heads of any width that these labels need",
            "head",
            "at least",
            "of labels; classes of one last token that are too large to search are left out "
            "(docs/claims/heads_of_any_width.md)",
            shown=has_heads,
        ),
        Field("any_width_contexts", figures.any_width_contexts, "contexts that prove it", shown=False),
        Field("", contexts, "contexts that prove it, the first"),
        Field(
            "any_labels",
            figures.any_labels,
            "float64 numbers of any architecture for all labels",
            "number",
            "between",
            "at least so many are needed, and so many suffice; `[]` where they are not known",
            shown=bool(figures.any_distributions),
        ),
        Field(
            "any_distributions",
            figures.any_distributions,
            "numbers of any architecture for all distributions",
            "number",
            "between",
            "likewise, of numbers that depend on the distributions",
        ),
    )


def _hidden(figures: "CapacityFigures") -> tuple[Field, ...]:
    """Return what only a program reads, or what the first line says."""
    words = {
        "target": "what is memorized; `null` of contexts alone",
        "origin": "where the answers come from; `null` of contexts alone",
        "answers": "tokens that may follow; `null` of contexts alone",
        "seed": "seed of every random choice",
        "explanation": "`fewest_heads` and `necessary_heads` in a sentence",
        "seconds": "seconds of each stage",
    }
    data = figures.json()
    profile = Field(
        "profile",
        data["profile"],
        "the ranks for each width and number of heads, with `--profile`",
        note="each with `d_head`, `n_heads`, `with_skip`; no weights exceed the rank `upper`, almost all reach "
        "`lower`; `printed` is the paper's count, `printed_fails` says whether that is proved to be too large; "
        "`proof` of `upper`",
        shown=False,
    )
    return (*(Field(name, data[name], what, shown=False) for name, what in words.items()), profile)
