"""`byheart convert`: a folder of an earlier program, proved again and stated in the words of this one."""

import json

from byheart.cli.main import main
from tests.verify.provers.test_conversion import EARLIER


def test_an_earlier_folder_is_checked_once_it_is_converted(tmp_path, capsys):
    out = tmp_path / "new"
    assert main(["check", str(EARLIER)]) == 2
    assert "prove one of version 3 again" in capsys.readouterr().err
    assert main(["convert", str(EARLIER), "--out", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["out"]) == ("PROVED", str(out))
    assert found["statements"] == ["answers", "runs (float32)", "text (float32)"]
    assert main(["check", str(out)]) == 0
    assert capsys.readouterr().out.startswith(found["headline"])
    assert main(["convert", str(EARLIER), "--out", str(out)]) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["convert", str(EARLIER), "--out", str(out), "--overwrite"]) == 0
    assert "answers; runs (float32); text (float32)" in capsys.readouterr().out
