"""`byheart explain`: which heads, neurons or entries hold a fact."""

import json

from byheart import memorize
from byheart.command.main import main
from tests.command_line import CAPITALS_AND_RIVERS


def test_the_command_says_what_the_function_says(tmp_path, capsys):
    memory = memorize(CAPITALS_AND_RIVERS, out=tmp_path / "facts")
    expected = memory.explain("France, capital")
    assert main(["explain", str(tmp_path / "facts"), "--fact", "France, capital", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == expected.summary()
    assert main(["explain", str(tmp_path / "facts"), "France, capital"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(expected.headline()) and "others" in printed
    assert main(["explain", str(tmp_path / "facts"), "France, mountain"]) == 2
    assert main(["explain", str(tmp_path / "facts")]) == 2 and "no context is given" in capsys.readouterr().err
