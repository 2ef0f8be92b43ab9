"""The `byheart` command: the words that it is called with become one of the commands, and errors one sentence.

Page: docs/install.md
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from difflib import get_close_matches

from byheart.terminal.exit_codes import BAD_USAGE, INTERRUPTED
from byheart.terminal.failures import fail, meant

COMMANDS = (
    "memorize", "recite", "ask", "explain", "memories", "capacity", "check", "run", "export", "certify", "edit",
    "claims", "audit", "build", "assumptions", "experiment",
)  # fmt: skip
"""The commands in the order of the help, a file of this folder for each."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0 yes, proved, or done; 1 no, tampered or corrupt; 2 bad usage or bad input; 3 undecided; 130 interrupted. An error
    is one sentence on standard error, never a traceback.

    Args:
        arguments: The words after ``byheart``; those of the process by default.

    Example:
        >>> main(["check", "no-such-folder"])
        2
    """
    words = sys.argv[1:] if arguments is None else arguments
    if not words:
        _parser(COMMANDS).print_help()
        return BAD_USAGE
    if not words[0].startswith("-") and words[0] not in COMMANDS:
        near = get_close_matches(words[0], COMMANDS, n=1)
        meant_one = f"; did you mean {near[0]}?" if near else f", expected one of {', '.join(COMMANDS)}"
        sys.stderr.write(f"byheart: {words[0]!r} is no command{meant_one}\n")
        return BAD_USAGE
    # The others need not be loaded to read what is said to one of them.
    options = _parser([name for name in COMMANDS if name in words[:1]] or COMMANDS).parse_args(words)
    try:
        return _judged(options)
    except KeyboardInterrupt:
        return fail(options, KeyboardInterrupt("interrupted; nothing was written"), INTERRUPTED)


def _judged(options: argparse.Namespace) -> int:
    try:
        return options.command(options)
    except BrokenPipeError:
        sys.stderr.close()
        return INTERRUPTED
    except Exception as error:
        return fail(options, *meant(error))


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
        description="Build transformers that memorize a text or a table, and prove what a trained one holds.",
        formatter_class=_CommandHelp,
    )
    parser.add_argument("-V", "--version", action=_Version, nargs=0, help="show the version and exit")
    parser.add_argument("--completion", action=_Completion, nargs=0, help="print shell completion for bash and exit")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in names:
        command = importlib.import_module(f"byheart.command.{name}")
        words = commands.add_parser(name, help=command.HELP)
        command.add_arguments(words)
        typed = {each.dest: each.option_strings[0] for each in words._actions if each.option_strings}
        words.set_defaults(command=command.run, typed=typed)
    return parser
