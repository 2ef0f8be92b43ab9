"""The `byheart` command: the words that it is called with become one of the commands, and errors one sentence.

Page: docs/install.md
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import NoReturn

from byheart.terminal.exit_codes import BAD_USAGE, INTERRUPTED
from byheart.terminal.failures import fail, meant
from byheart.terminal.streams import abandon, complain, standard_streams
from byheart.theory import lost

COMMANDS = (
    "memorize", "recite", "ask", "explain", "memories", "capacity", "check", "convert", "run", "export", "certify",
    "edit", "claims", "audit", "build", "assumptions", "experiment", "exercise",
)  # fmt: skip
"""The commands in the order of the help, a file of this folder for each."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0 yes, proved, or done; 1 no, or other files than were certified; 2 bad usage or bad input; 3 undecided; 70 an error
    that nobody foresaw; 130 interrupted. An error is one sentence on standard error, never a traceback, unless the
    environment variable ``BYHEART_TRACEBACK`` is set.

    Args:
        arguments: The words after ``byheart``; those of the process by default.

    Example:
        >>> main(["check", "no-such-folder"])
        2
    """
    with standard_streams():
        code = _answered(sys.argv[1:] if arguments is None else arguments)
        try:
            sys.stdout.flush()
        except OSError as error:
            abandon(sys.stdout)
            if isinstance(error, BrokenPipeError):
                return INTERRUPTED
            complain(f"standard output cannot be written: {error.strerror}")
            return BAD_USAGE
        return code


def _answered(words: Sequence[str]) -> int:
    if not words:
        _parser(COMMANDS).print_help()
        return BAD_USAGE
    if not words[0].startswith("-") and words[0] not in COMMANDS:
        near = get_close_matches(words[0], COMMANDS, n=1)
        meant_one = f"; did you mean {near[0]}?" if near else f", expected one of {', '.join(COMMANDS)}"
        complain(f"{words[0]!r} is not a command{meant_one}")
        return BAD_USAGE
    options = argparse.Namespace()
    try:
        options = _read(words)
    except KeyboardInterrupt:
        return fail(options, KeyboardInterrupt("interrupted; nothing was written"), INTERRUPTED)
    except Exception as error:  # of an import, say; what argparse says of the words themselves it ends with 2 itself
        return fail(options, *meant(options, error))
    try:
        return _judged(options)
    except KeyboardInterrupt:
        return fail(options, KeyboardInterrupt("interrupted; nothing was written"), INTERRUPTED)


def _read(words: Sequence[str]) -> argparse.Namespace:
    """Return what the words say; options may stand between the words of a command, as in `ask FOLDER --quiet
    CONTEXT`.
    """
    if words[0].startswith("-"):
        return _parser(COMMANDS).parse_args(words)
    parser = _Command(words[0])
    _describe(parser, words[0])
    return parser.parse_intermixed_args(words[1:])


def _judged(options: argparse.Namespace) -> int:
    try:
        return options.command(options)
    except KeyboardInterrupt:
        raise
    except BrokenPipeError:
        abandon(sys.stdout)
        return INTERRUPTED
    except BaseException as error:  # also a SystemExit, of somebody's own rule, say: its code is no answer
        return fail(options, *meant(options, error))


class _Command(argparse.ArgumentParser):
    """The parser of one command, whose help is a sentence, the words and an example.

    It says where words belong that look like options.

    Args:
        name: Of the command.
    """

    def __init__(self, name: str) -> None:
        super().__init__(prog=f"byheart {name}")
        command = importlib.import_module(f"byheart.cli.{name}")
        self._sentence = f"{command.HELP[0].upper()}{command.HELP[1:]}."
        self._example = command.EXAMPLE

    def format_help(self) -> str:
        """Return the text of the help."""
        return f"{self._sentence}\n\n{super().format_help()}\nexample:\n  {self._example}\n"

    def error(self, message: str) -> NoReturn:
        """End with 2 and a sentence."""
        free = any(not action.option_strings and action.nargs in ("*", "?") for action in self._actions)
        if free and message.startswith("unrecognized arguments: -"):
            message += f" (put -- before an argument that begins with a dash, as in `{self.prog} ... -- -x`)"
        super().error(message)


def _describe(parser: argparse.ArgumentParser, name: str) -> None:
    """Give a parser the words and options of a command."""
    command = importlib.import_module(f"byheart.cli.{name}")
    command.add_arguments(parser)
    typed = {each.dest: each.option_strings[0] for each in parser._actions if each.option_strings}
    parser.set_defaults(command=command.run, typed=typed)


class _CommandHelp(argparse.HelpFormatter):
    """Every command on one line with what it does; argparse forgets the indentation of the longest name."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            self._action_max_length += self._indent_increment


class _Version(argparse.Action):
    """The version of what is installed, looked up when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("byheart")
        except PackageNotFoundError:
            found = "(not installed)"
        sys.stdout.write(f"byheart {found}\n")
        parser.exit()


class _Completion(argparse.Action):
    """The script that completes commands and options in a shell."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from byheart.terminal.completion import bash_completion

        sys.stdout.write(bash_completion(parser))
        parser.exit()


def _parser(names: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="byheart",
        description="Build transformers that memorize a text or a table, and prove what a trained one has memorized.",
        epilog="The words of these pages, such as fact, margin and memorized, are explained in docs/glossary.md.",
        formatter_class=_CommandHelp,
    )
    parser.add_argument("-V", "--version", action=_Version, nargs=0, help="show the version and exit")
    parser.add_argument("--completion", action=_Completion, nargs=0, help="print shell completion for bash and exit")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in names:
        words = commands.add_parser(name, help=importlib.import_module(f"byheart.cli.{name}").HELP)
        try:
            _describe(words, name)
        except ModuleNotFoundError as error:
            if lost(error.name) is None:  # without the theorems, their commands say so where they are called
                raise
    return parser
