"""The `byheart` command: the words that it is called with become one of the commands, and errors one sentence."""

import argparse
import sys

from byheart.command import (
    ask,
    assumptions,
    audit,
    build,
    capacity,
    certify,
    check,
    claims,
    explain,
    export,
    memories,
    memorize,
    run,
)
from byheart.terminal.exit_codes import INTERRUPTED
from byheart.terminal.failures import fail, meant

COMMANDS = (memorize, ask, explain, memories, capacity, check, run, export, certify, claims, audit, build, assumptions)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0 yes, proved, or done; 1 no, tampered or corrupt; 2 bad usage or bad input; 3 undecided; 130 interrupted. An error
    is one sentence on standard error, never a traceback.

    Args:
        arguments: The words after ``byheart``; those of the process by default.

    Page: docs/install.md

    Example:
        >>> main(["check", "no-such-folder"])
        2
    """
    options = _parser().parse_args(arguments)
    try:
        return _judged(options)
    except KeyboardInterrupt:
        return fail(options, "interrupted; nothing was written", INTERRUPTED)


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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="byheart",
        description="Build, certify and check attention-only transformers that memorize a text or a table exactly.",
        formatter_class=_CommandHelp,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show program's version number and exit")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        words = commands.add_parser(command.__name__.rpartition(".")[2], help=command.HELP)
        command.add_arguments(words)
        words.set_defaults(command=command.run)
    return parser
