"""The options that say which facts are meant and how large the weights may be."""

import argparse
from typing import TYPE_CHECKING, Any

from byheart.terminal.argument_types import count, path, share
from constructions.counted import counted

if TYPE_CHECKING:
    from byheart.facts import Given
    from constructions.progress import Progress
    from constructions.tasks.task import Target
    from constructions.tasks.text import Unit

_UNITS: "dict[str, Unit]" = {
    "characters": "char", "words": "word", "bytes": "byte", "char": "char", "word": "word", "byte": "byte",
}  # fmt: skip
_DELIMITERS = {"tab": "\t", "\\t": "\t"}


def add_task_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the file of the facts and say how it is read."""
    parser.add_argument(
        "source",
        nargs="?",
        type=path,
        metavar="FILE",
        help="a UTF-8 text, a table (.csv, .tsv, .json, .jsonl), arrays (.npz), or FILE.py:name, a task of your own "
        "(default: Python's reference text)",
    )
    parser.add_argument(
        "--table",
        type=path,
        metavar="CSV",
        help="a table, whatever its name; columns: context tokens ..., next token[, weight]",
    )
    add_table_options(parser)
    parser.add_argument(
        "--skip-empty", action="store_true", help="leave rows of the table out that have an empty cell, and count them"
    )
    parser.add_argument(
        "--tokens",
        "--unit",
        dest="unit",
        choices=tuple(_UNITS),
        metavar="{characters,words,bytes}",
        help="tokens of a text (default: characters; words of the reference text)",
    )
    parser.add_argument(
        "--vocabulary",
        type=count,
        metavar="N",
        help="tokens kept; the others become <other> (default: 256)",
    )
    parser.add_argument(
        "--context",
        type=count,
        metavar="S",
        help="tokens in a context of a text (default: 4)",
    )
    parser.add_argument(
        "--facts",
        type=count,
        metavar="T",
        help="contexts to memorize, the most frequent first (default: up to 1024 of a text, all of a table)",
    )
    parser.add_argument(
        "--mass",
        type=share,
        metavar="P",
        help="instead of --facts: as many as make up this share of the text",
    )


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """How a table is written, where that is not found out."""
    parser.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first row of the table names the columns (default: found out, or asked for)",
    )
    parser.add_argument(
        "--delimiter",
        metavar="CHAR",
        help="delimiter of the table: a character, or tab (default: found out, or asked for)",
    )
    parser.add_argument(
        "--weights",
        action=argparse.BooleanOptionalAction,
        help="whether the last column of the table counts how often a fact occurs (default: no, or asked for)",
    )


def add_text_options(parser: argparse.ArgumentParser) -> None:
    """What the cells of a table are for a trained model, and what cuts them where they are texts."""
    parser.add_argument("--cells", choices=("tokens", "texts"), help="what the cells of the table are (default: auto)")
    parser.add_argument(
        "--tokenizer", type=path, metavar="FILE", help="what cuts texts (default: tokenizer.json beside the model)"
    )
    parser.add_argument(
        "--between", metavar="TEXT", help="between prompt and answer, if neither has white space there (default: ' ')"
    )


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """How a trained model is read, and what is asked of it where its library would say something else."""
    parser.add_argument(
        "--key", metavar="NAME", help="where the tensors are in a file of torch that holds a dictionary"
    )
    parser.add_argument(
        "--plain-argmax",
        action="store_true",
        help="ask about the largest logits, whatever generation_config.json makes generate say",
    )


def table_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the line says about the form of a table."""
    separator = None if options.delimiter is None else _DELIMITERS.get(options.delimiter, options.delimiter)
    return {"delimiter": separator, "header": options.header, "weights": options.weights}


def add_size_options(parser: argparse.ArgumentParser) -> None:
    """How large the weights may be, and the seed."""
    parser.add_argument("--dim", type=count, metavar="D", help="d_model of theorem-1; of other memories an upper limit")
    parser.add_argument("--head-dim", type=count, metavar="DH", help="d_head (default: --dim / 4)")
    parser.add_argument("--heads", type=count, metavar="H", help="number of heads (default: as many as are needed)")
    parser.add_argument("--seed", type=count, default=0, help="random seed (default: 0)")


def read_the_facts(
    options: argparse.Namespace, target: "Target | None", progress: "Progress", *, whole: bool = False
) -> "Given":
    """Return what the options name, as a task; of a text that is learned whole all windows."""
    from byheart.facts import read_facts
    from byheart.terminal.rule_file import named_task
    from constructions.errors import InputError

    progress("task", None, "")
    if options.source is not None and options.table is not None:
        raise InputError(f"both FILE {options.source} and --table {options.table}", "are given", "one of them")
    source = options.source if options.table is None else options.table
    own = None if source is None else named_task(source)
    given = read_facts(
        source if own is None else own,
        table=None if options.table is None else True,
        **table_options(options),
        skip_empty=options.skip_empty,
        unit=None if options.unit is None else _UNITS[options.unit],
        vocabulary=options.vocabulary,
        context=options.context,
        target=target,
        facts_at_most=options.facts,
        mass=options.mass,
        whole=whole,
    )
    task = given.task
    progress(
        "task",
        1.0,
        f"{counted(task.n_all, 'context')} of {counted(task.n_ctx, 'token')}, {task.n_contexts} to memorize",
    )
    return given
