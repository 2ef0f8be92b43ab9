"""What a shell completes behind `byheart`: commands, their options, and files.

Page: docs/install.md
"""

import argparse

_SCRIPT = """\
_byheart() {{
  local words
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  [ "$COMP_CWORD" -eq 1 ] && words="{commands}"
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _byheart byheart
"""


def bash_completion(parser: argparse.ArgumentParser) -> str:
    """Return a script for bash, and for zsh after `bashcompinit`, from the commands of a parser and their options."""
    [commands] = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    cases = [f'    {name}) words="{" ".join(_options(each))}" ;;' for name, each in commands.choices.items()]
    return _SCRIPT.format(cases="\n".join(cases), commands=" ".join([*commands.choices, *_options(parser)]))


def _options(parser: argparse.ArgumentParser) -> list[str]:
    shown = (action for action in parser._actions if action.help != argparse.SUPPRESS)
    return [option for action in shown for option in action.option_strings if option.startswith("--")]
