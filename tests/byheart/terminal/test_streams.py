"""Standard streams that are closed, full, or of an encoding without the characters that a command says."""

import io
import json
import os
import subprocess
import sys

import pytest

from byheart.cli.main import main
from tests.command_line import written

TABLE = "country,capital\n中国,北京\nPeru,Lima\n".encode()


@pytest.fixture(scope="module")
def capitals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    table = written(folder / "capitals.csv", TABLE)
    assert main(["memorize", table, "--quick", "--out", str(folder / "out"), "--quiet"]) == 0
    return folder / "out"


def typed(line, **environment):
    """What a shell does with `byheart` and these words and redirections."""
    started = f'"{sys.executable}" -m byheart {line}'
    return subprocess.run(
        ["bash", "-c", started], capture_output=True, env={**os.environ, **environment}, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "latin-1", "utf-8"])
def test_what_an_encoding_lacks_is_escaped(capitals, monkeypatch, encoding):
    streams = {
        name: io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict") for name in ("stdout", "stderr")
    }
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    assert main(["ask", str(capitals), "中国", "Perú"]) == 2  # of the second question
    out, err = (stream.buffer.getvalue() for stream in streams.values())
    assert "'北京'".encode(encoding, errors="backslashreplace") in out
    assert "Perú".encode(encoding, errors="backslashreplace") in err
    assert [stream.errors for stream in streams.values()] == ["strict"] * 2  # whoever calls has them as they were


@pytest.mark.parametrize("streams", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("line", "code"), [("check {}x", 2), ("memories", 0), ("chekc {}", 2)])
def test_a_closed_stream_changes_no_exit_code(capitals, line, code, streams):
    said = typed(f"{line.format(capitals)} {streams}")
    assert said.returncode == code and b"Traceback" not in said.stderr


def test_a_closed_output_gives_its_descriptor_to_no_file(capitals, tmp_path):
    table = written(tmp_path / "capitals.csv", TABLE)
    said = typed(f"certify {capitals} --task {table} --out {tmp_path / 'out'} <&- >&- 2>&-")
    assert said.returncode == 0
    assert main(["check", str(tmp_path / "out"), "--quiet"]) == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no device that is full")
@pytest.mark.parametrize(
    ("line", "more"),
    [
        ("memories", ""),
        ("--version", ""),
        ("ask {} Peru", "2>/dev/full"),
        ("memories --json", ""),  # more than is kept before it is written
        ("check {} --json", ""),
        ("claims --json", "2>/dev/full"),
    ],
)
def test_a_full_standard_output_is_no_answer(capitals, line, more):
    said = typed(f"{line.format(capitals)} >/dev/full {more}")
    assert said.returncode == 2 and b"Traceback" not in said.stderr
    assert more or b"standard output" in said.stderr


def test_a_question_that_is_no_text_is_bad_input(capitals, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Per\xfa\nPeru\n"), encoding="utf-8"))
    assert main(["ask", str(capitals), "--json"]) == 2
    refused, answered = map(json.loads, capsys.readouterr().out.splitlines())
    assert "no token" in refused["error"] and answered["token"] == "Lima"
