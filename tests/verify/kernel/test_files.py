"""Files in another form than the one that is written are refused, whatever they say."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.verify.kernel import folders
from verify.kernel import files
from verify.kernel.check import outcome
from verify.kernel.files import canonical, parse_json, read_bytes, read_tensors
from verify.kernel.verdicts import BadInputError


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '{"a":{"b":1,"b":2}}',
        "1.5",
        '{"shape":[-0,3]}',
        "NaN",
        "1e3",
        "[" * 100_000,
        "[" * 40 + "]" * 40,
        "9" * 5000,
        "{",
        "",
    ],
)
def test_json_that_may_mean_two_things_or_takes_long_is_refused(text: str) -> None:
    with pytest.raises(BadInputError, match=r"a\.json: the file"):
        parse_json("a.json", "the file", text)


@given(st.recursive(st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x), max_leaves=9))
def test_canonical_text_is_read_as_what_was_written(value: object) -> None:
    assert parse_json("a", "b", canonical(value)) == value


def test_a_pipe_and_a_large_file_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"12345")
    for name, why in (
        ("pipe", "not a regular one"),
        ("large", "at most 4"),
        ("absent", "cannot be read"),
        (".", "regular"),
    ):
        with pytest.raises(BadInputError, match=why):
            read_bytes(tmp_path, name, 4)


def test_a_file_of_as_many_bytes_as_are_read_is_read_and_one_that_grows_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_bytes(tmp_path, "file", 5) == b"12345"
    real = os.stat(tmp_path / "file")
    for size in (4, 6):
        monkeypatch.setattr(
            files.os, "stat", lambda path, size=size: SimpleNamespace(st_mode=real.st_mode, st_size=size)
        )
        with pytest.raises(BadInputError, match="changes while it is read"):
            read_bytes(tmp_path, "file")


LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
from verify.kernel.files import read_bytes
resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
assert read_bytes(Path(sys.argv[1]), "small") == b"12345"
"""


def test_a_small_file_takes_little_memory(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"12345")
    subprocess.run([sys.executable, "-c", LITTLE_MEMORY, str(tmp_path)], check=True)


def header(folder: Path) -> tuple[dict, bytes]:
    data = (folder / "model.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def write(folder: Path, said: object, body: bytes, text: str = "") -> None:
    text = text or json.dumps(said)
    (folder / "model.safetensors").write_bytes(len(text.encode()).to_bytes(8, "little") + text.encode() + body)


def test_a_header_in_another_order_says_the_same(tmp_path: Path) -> None:
    said, body = header(folders.lookup(tmp_path))
    write(tmp_path, dict(reversed(said.items())), body)
    assert outcome(tmp_path)[0] == 0


def test_tensors_that_overlap_leave_gaps_or_lie_outside_are_refused(tmp_path: Path) -> None:
    said, body = header(folders.lookup(tmp_path))
    name = "embed.W_E"
    for change in (
        {"data_offsets": [0, 8]},
        {"data_offsets": [8 * len(body), 9 * len(body)]},
        {"data_offsets": [-8, 120]},
        {"data_offsets": [True, 128]},
        {"shape": [4, 5]},
        {"shape": [-4, -4]},
        {"shape": [2**40, 0]},
        {"shape": [2, 2, 2, 2]},
        {"dtype": "F32"},
        {"dtype": ["F64"]},
        {"more": 1},
    ):
        write(tmp_path, {**said, name: {**said[name], **change}}, body)
        code, text = outcome(tmp_path)
        assert code == 2 and text.startswith("BAD INPUT: model.safetensors: "), (change, text)
    for more in (b"\0" * 8, b"x"):
        write(tmp_path, said, body + more)
        assert outcome(tmp_path)[0] == 2
    write(tmp_path, said, body[:-8])
    assert outcome(tmp_path)[0] == 2


def test_names_twice_other_metadata_and_infinities_are_refused(tmp_path: Path) -> None:
    said, body = header(folders.lookup(tmp_path))
    text = json.dumps(said)
    write(tmp_path, None, body, text[:-1] + ',"unembed.W_U":' + json.dumps(said["unembed.W_U"]) + "}")
    assert "stands twice" in outcome(tmp_path)[1]
    words = said["__metadata__"]["byheart"]
    for metadata in (
        {},
        {"byheart": words, "more": ""},
        {"byheart": words + " "},
        {"byheart": 1},
        None,
        {"byheart": "[]"},
    ):
        write(tmp_path, {**said, "__metadata__": metadata}, body)
        assert outcome(tmp_path)[0] == 2
    write(tmp_path, said, b"\0\0\0\0\0\0\xf0\x7f" + body[8:])
    assert "a NaN or an infinity" in outcome(tmp_path)[1]
    for data in (b"", b"\xff" * 8, b"\xff" * 7 + b"\x7f", (3).to_bytes(8, "little") + b"\xff{}"):
        (tmp_path / "model.safetensors").write_bytes(data)
        assert outcome(tmp_path)[0] == 2


@given(st.data())
def test_any_changed_byte_is_noticed(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = folders.lookup(Path(name))
        path = folder / data.draw(st.sampled_from(["model.safetensors", "task.safetensors", "certificate.json"]))
        before = path.read_bytes()
        place, bit = data.draw(st.integers(0, len(before) - 1)), data.draw(st.integers(0, 7))
        after = bytearray(before)
        after[place] ^= 1 << bit
        path.write_bytes(after)
        code, text = outcome(folder)
        same = code == 0 and read_back(folder, path) == read_back(folders.lookup(Path(name) / "again"), path)
        assert code in (1, 2) or same, (place, bit, text)


def read_back(folder: Path, path: Path) -> object:
    """What a file of tensors says, in whatever order its header does."""
    words, tensors = read_tensors(folder, path.name)
    return words, {name: (tensor.shape, tensor.values.tobytes()) for name, tensor in tensors.items()}


def test_an_empty_tensor_has_no_axis_that_nothing_pays_for(tmp_path: Path) -> None:
    found, body = header(folders.lookup(tmp_path))
    numbers = len(body) // 8
    most = max(numbers, 2**10)
    for size, message in ((most, "belongs to no block"), (most + 1, "expected at most three sizes")):
        found["more"] = {"dtype": "F64", "shape": [0, size], "data_offsets": [0, 0]}
        text = json.dumps(found).encode()
        (tmp_path / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + body)
        assert message in outcome(tmp_path)[1]
