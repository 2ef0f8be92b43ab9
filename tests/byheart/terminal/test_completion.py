"""What a shell completes behind `byheart`."""

import shutil
import subprocess

import pytest

from byheart.cli.main import COMMANDS, main


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as ended:
        main(["--completion"])
    assert ended.value.code in (0, None)
    return out.getvalue()


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        (["byheart", "mem"], {"memorize", "memories"}),
        (["byheart", "explain", "out", "--en"], {"--entries"}),
        (["byheart", "ask", "--ov"], set()),
        (["byheart", "explain", "--fa"], set()),  # what is not shown is not completed
    ],
)
def test_bash_completes_commands_and_their_options(script, typed, found):
    bash = shutil.which("bash") or pytest.skip("no bash")
    words = " ".join(typed)
    program = f'{script}\nCOMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; _byheart; echo "${{COMPREPLY[@]}}"'
    told = subprocess.run([bash, "--norc", "-c", program], capture_output=True, text=True, check=True)
    assert set(told.stdout.split()) == found and told.stderr == ""


def test_every_command_is_completed(script):
    assert all(f"    {name}) words=" in script for name in COMMANDS)
