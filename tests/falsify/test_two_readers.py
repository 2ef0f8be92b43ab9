"""The reader by numpy and the one by the standard library: a file means the same to both, or nothing to either."""

import io
import json
import math
import os
import struct
import zipfile

import numpy as np
import pytest

from constructions.errors import FileFormatError
from constructions.models.model import Model
from constructions.models.shapes import dana_tensors
from constructions.tasks.task import Task
from tests.memories import changed, memory, random_task
from verify.independent.plain_files import PlainNetwork, PlainTask


def hash_or_none(read):
    try:
        return read()
    except FileFormatError:
        return None


def task_hashes(path):
    return hash_or_none(lambda: Task.load(path).sha256()), hash_or_none(lambda: PlainTask.read(path).sha256)


def network_hashes(path):
    return hash_or_none(lambda: Model.load(path).sha256()), hash_or_none(lambda: PlainNetwork.read(path).sha256)


def npy(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def npy_of(header, body=b"", *, version=1):
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + body


def write_members(path, members, **options):
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members:
            file.writestr(zipfile.ZipInfo(name), content, **options)


def members_of(task):
    return {f"{name}.npy": npy(array) for name, array in task.arrays().items()}


def header(kind, shape, *, extra="", width=118):
    text = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, {extra}}}"
    return text.encode("latin-1").ljust(width - 1) + b"\n"


LAWS, LABELS = random_task(), random_task(target="labels")


@pytest.mark.parametrize("task", [LAWS, LABELS, random_task(tail=0), random_task(facts=1, tail=0)])
def test_what_task_saves_both_read_alike(tmp_path, task):
    path = tmp_path / "task.npz"
    task.save(path)
    assert task_hashes(path) == (task.sha256(), task.sha256())
    write_members(path, members_of(task).items())
    assert task_hashes(path) == (task.sha256(), task.sha256())


# Arrays of other values, types and shapes, as numpy writes them.


def put(name, change):
    def mutate(arrays):
        return {**arrays, name: change(arrays[name])}

    return mutate


def at(index, value):
    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


def swapped_first_row(arrays):
    """The entries of the first row of several in another order: the same counts, written another way."""
    indptr, indices, data = (arrays[f"counts_{part}"].copy() for part in ("indptr", "indices", "data"))
    i = int(np.flatnonzero(np.diff(indptr) > 1)[0])
    row = slice(indptr[i], indptr[i + 1])
    indices[row], data[row] = indices[row][::-1].copy(), data[row][::-1].copy()
    return {**arrays, "counts_indices": indices, "counts_data": data}


def scaled_counts(factor):
    def mutate(arrays):
        return {**arrays, "counts_data": arrays["counts_data"] * factor}

    return mutate


def a_law_with_a_zero(laws):
    """The least mass of the first law joins the largest: the sum and the mode stay."""
    laws = laws.copy()
    least = laws[0].argmin()
    laws[0, laws[0].argmax()] += laws[0, least]
    laws[0, least] = 0.0
    return laws


def a_count_of_zero(arrays):
    """Written out although it is 0, with the frequencies that go with it."""
    data, tail = arrays["counts_data"].copy(), arrays["tail_counts_data"]
    row = int(np.diff(arrays["counts_indptr"]).argmax())  # one of several counts: its sum stays positive
    data[arrays["counts_indptr"][row]] = 0
    totals = np.add.reduceat(data, arrays["counts_indptr"][:-1])
    return {**arrays, "counts_data": data, "prior": totals / (totals.sum() + tail.sum())}


ONE_TAIL = (2**53 - int(LAWS.counts.totals().sum())) // len(LAWS.tail_counts.indices)

ARRAYS = {
    "contexts as int32": put("contexts", lambda a: a.astype(np.int32)),
    "contexts as uint64": put("contexts", lambda a: a.astype(np.uint64)),
    "contexts of big endian": put("contexts", lambda a: a.astype(">i8")),
    "contexts of Fortran": put("contexts", np.asfortranarray),
    "contexts as floats": put("contexts", lambda a: a.astype(float)),
    "contexts in three dimensions": put("contexts", lambda a: a[None]),
    "contexts twice": put("contexts", lambda a: a[[0, 0, *range(2, len(a))]]),
    "contexts of another order": put("contexts", lambda a: a[::-1].copy()),
    "a context of the tail": put("tail_contexts", lambda a: LAWS.contexts[: len(a)]),
    "contexts without tokens": put("contexts", lambda a: a[:, :0]),
    "a tail of another length": put("tail_contexts", lambda a: a[:, :2]),
    "a tail of no rows": put("tail_contexts", lambda a: a[:0]),
    "a token too large": put("contexts", at((0, 0), 5)),
    "a token below 0": put("contexts", at((0, 0), -1)),
    "a token of the tail too large": put("tail_contexts", at((0, 0), 5)),
    "labels as bool": put("labels", lambda a: a.astype(bool)),
    "labels out of range": put("labels", at(0, 5)),
    "labels below 0": put("labels", at(0, -1)),
    "other labels": put("labels", lambda a: (a + 1) % 5),
    "labels of two dimensions": put("labels", lambda a: a[:, None]),
    "prior one unit off": put("prior", lambda a: np.nextafter(a, 1)),
    "prior as float32": put("prior", lambda a: a.astype(np.float32)),
    "prior in another order": put("prior", lambda a: a[::-1].copy()),
    "prior with NaN": put("prior", at(0, np.nan)),
    "laws with a zero": put("laws", at((0, 0), 0.0)),
    "a law with a zero and its old sum": put("laws", a_law_with_a_zero),
    "laws with a negative": put("laws", at((0, 0), -1.0)),
    "laws with NaN": put("laws", at((0, 0), np.nan)),
    "laws that are infinite": put("laws", at((0, 0), np.inf)),
    "laws that overflow": put("laws", lambda a: np.full_like(a, 1e308)),
    "laws that sum to 2": put("laws", lambda a: 2 * a),
    "laws that sum to 1 + 1e-8": put("laws", lambda a: a * (1 + 1e-8)),
    "laws that sum to 1 + 1e-10": put("laws", lambda a: a * (1 + 1e-10)),
    "uniform laws": put("laws", lambda a: np.full_like(a, 0.2)),
    "uniform laws with first labels": lambda a: {
        **a,
        "laws": np.full_like(a["laws"], 0.2),
        "labels": np.zeros_like(a["labels"]),
    },
    "uniform laws with last labels": lambda a: {
        **a,
        "laws": np.full_like(a["laws"], 0.2),
        "labels": np.full_like(a["labels"], 4),
    },
    "laws of one token less": put("laws", lambda a: a[:, :-1]),
    "laws for labels": put("target", lambda a: np.array("labels")),
    "counts with a zero": put("counts_data", at(0, 0)),
    "a count of 0 and its frequencies": a_count_of_zero,
    "counts twice as large": scaled_counts(2),
    "counts beyond 2**53": scaled_counts(2**50),
    "counts that wrap around": put("counts_data", lambda a: np.full_like(a, 2**62)),
    "one tail count of 2**53": put("tail_counts_data", at(0, 2**53)),
    "counts all scaled in the tail": put("tail_counts_data", lambda a: np.full_like(a, ONE_TAIL)),
    "counts in decreasing order": swapped_first_row,
    "a counted token too large": put("counts_indices", at(-1, 5)),
    "a counted token below 0": put("counts_indices", at(0, -1)),
    "an empty row of counts": put("counts_indptr", lambda a: np.array([0, 0, *a[2:]])),
    "rows of counts that do not begin at 0": put("counts_indptr", at(0, 1)),
    "no rows of counts": put("counts_indptr", lambda a: a[:0]),
    "target as an array": put("target", lambda a: a[None]),
    "target of bytes": put("target", lambda a: np.array(b"laws")),
    "target padded": put("target", lambda a: a.astype("<U40")),
    "target of another case": put("target", lambda a: np.array("Laws")),
    "target empty": put("target", lambda a: np.array("")),
    "origin smoothed counts": put("origin", lambda a: np.array("smoothed counts")),
    "origin smoothed counts of uniform laws": lambda a: {
        **a,
        "origin": np.array("smoothed counts"),
        "laws": np.full_like(a["laws"], 0.2),
        "labels": np.zeros_like(a["labels"]),
    },
    "origin smoothed counts of laws one unit off": lambda a: {
        **a,
        "origin": np.array("smoothed counts"),
        "laws": np.nextafter(a["laws"], a["laws"] * (np.indices(a["laws"].shape).sum(0) == 1)),
    },
    "origin table": put("origin", lambda a: np.array("table")),
    "origin most frequent": put("origin", lambda a: np.array("most frequent")),
    "origin empty": put("origin", lambda a: np.array("")),
    "origin unknown": put("origin", lambda a: np.array("counts")),
    "origin as an array": put("origin", lambda a: a[None]),
    "origin as a number": put("origin", lambda a: np.array(1)),
    "vocabulary wider": put("vocabulary", lambda a: a.astype("<U40")),
    "vocabulary twice the same": put("vocabulary", at(1, "token 0")),
    "vocabulary of an empty token": put("vocabulary", at(1, "")),
    "vocabulary of a NUL inside": put("vocabulary", at(1, "a\0b")),
    "vocabulary equal but for a NUL": put("vocabulary", at(1, "token 0\0")),
    "vocabulary of a surrogate": put("vocabulary", at(1, "\ud800")),
    "vocabulary of the last character": put("vocabulary", at(1, "\U0010ffff")),
    "vocabulary of a byte order mark": put("vocabulary", at(1, "\ufeffa")),
    "vocabulary of bytes": put("vocabulary", lambda a: a.astype("S")),
    "vocabulary of two dimensions": put("vocabulary", lambda a: a[:, None]),
    "vocabulary empty": put("vocabulary", lambda a: a[:0]),
    "vocabulary one longer": put("vocabulary", lambda a: np.array([*a, "more"])),
    "one more array": lambda a: {**a, "more": np.arange(3)},
    "nothing": lambda a: {},
}
HARMLESS = {
    "origin smoothed counts",
    "contexts of another order",
    "laws that sum to 1 + 1e-10",
    "uniform laws with first labels",
    "target padded",
    "vocabulary wider",
    "vocabulary of a NUL inside",
    "vocabulary of the last character",
    "vocabulary of a byte order mark",
}


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_other_values_mean_the_same_to_both(tmp_path, name):
    arrays = ARRAYS[name]({**LAWS.arrays(), "origin": np.array("own")})  # which leaves the targets free
    np.savez(tmp_path / "task.npz", **arrays)
    numpy_hash, plain_hash = task_hashes(tmp_path / "task.npz")
    assert numpy_hash == plain_hash and (numpy_hash is not None) == (name in HARMLESS)


@pytest.mark.parametrize("name", LAWS.arrays())
def test_a_missing_array_is_refused_by_both(tmp_path, name):
    arrays = LAWS.arrays()
    arrays.pop(name)
    np.savez(tmp_path / "task.npz", **arrays)  # type: ignore[arg-type]
    assert task_hashes(tmp_path / "task.npz") == (None, None)


def test_surrogates_and_numbers_beyond_unicode_are_refused_by_both(tmp_path):
    for number in (0xD800, 0xDFFF, 0x110000, 0xFFFFFFFF):
        members = members_of(LAWS)
        kept = members["vocabulary.npy"]
        members["vocabulary.npy"] = kept[:-28] + struct.pack("<I", number) + kept[-24:]
        write_members(tmp_path / "task.npz", members.items())
        assert task_hashes(tmp_path / "task.npz") == (None, None), hex(number)


# Members that numpy does not write, in an archive that it can read.

LABEL_BYTES = np.ascontiguousarray(LAWS.labels).tobytes()

MEMBERS = {
    "empty": b"",
    "no magic": b"x" * 300,
    "cut in the header": npy(LAWS.labels)[:40],
    "cut in the body": npy(LAWS.labels)[:-1],
    "one byte more": npy(LAWS.labels) + b"\0",
    "version 2": npy_of(header("'<i8'", "(12,)", width=116), LABEL_BYTES, version=2),
    "version 3": npy_of(header("'<i8'", "(12,)", width=116), LABEL_BYTES, version=3),
    "one more key": npy_of(header("'<i8'", "(12,)", extra="'more': 1, "), LABEL_BYTES),
    "a key twice": npy_of(header("'<i8'", "(12,)", extra="'shape': (12,), "), LABEL_BYTES),
    "double quotes": npy_of(header('"<i8"', "(12,)"), LABEL_BYTES),
    "a shape in brackets": npy_of(header("'<i8'", "[12]"), LABEL_BYTES),
    "a shape with a sum": npy_of(header("'<i8'", "(6+6,)"), LABEL_BYTES),
    "a shape in hexadecimal": npy_of(header("'<i8'", "(0xc,)"), LABEL_BYTES),
    "a shape with True": npy_of(header("'<i8'", "(12, True)"), LABEL_BYTES),
    "a long shape": npy_of(header("'<i8'", "(12, 1)"), LABEL_BYTES),
    "an L after the number": npy_of(header("'<i8'", "(12L,)"), LABEL_BYTES),
    "native order": npy_of(header("'=i8'", "(12,)"), LABEL_BYTES),
    "no order": npy_of(header("'i8'", "(12,)"), LABEL_BYTES),
    "another name of the type": npy_of(header("'int64'", "(12,)"), LABEL_BYTES),
    "a date": npy_of(header("'<M8[s]'", "(12,)"), LABEL_BYTES),
    "an object": npy_of(header("'|O'", "(12,)"), LABEL_BYTES),
    "a structure": npy_of(header("[('a', '<i8')]", "(12,)"), LABEL_BYTES),
    "text of no length": npy_of(header("'<U0'", "(12,)")),
    "bytes of no length": npy_of(header("'|V0'", "(12,)")),
    "a shape below 0": npy_of(header("'<i8'", "(-12,)"), LABEL_BYTES),
    "a huge shape": npy_of(header("'<i8'", "(1152921504606846976,)"), LABEL_BYTES),
    "a shape that wraps around": npy_of(header("'<i8'", "(4294967296, 4294967296)"), LABEL_BYTES),
    "a huge shape of nothing": npy_of(header("'<i8'", f"({2**40}, 0)")),
    "text of a huge shape of nothing": npy_of(header("'<U4'", f"({2**40}, 0)")),
    "a long header": npy_of(header("'<i8'", "(12,)", width=20022), LABEL_BYTES),
    "less room in the header": npy_of(header("'<i8'", "(12,)", width=117), LABEL_BYTES),
    "no end of the line": npy_of(header("'<i8'", "(12,)")[:-1] + b" ", LABEL_BYTES),
    "deeply nested": npy_of(b"(" * 9000),
    "a comment": npy_of(header("'<i8'", "(12,)")[:-9] + b"# more \n\n", LABEL_BYTES),
}


@pytest.mark.parametrize("member", ["labels.npy", "contexts.npy", "tail_contexts.npy", "target.npy", "vocabulary.npy"])
@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_that_numpy_does_not_write_is_refused_by_both(tmp_path, name, member):
    write_members(tmp_path / "task.npz", {**members_of(LAWS), member: MEMBERS[name]}.items())
    assert task_hashes(tmp_path / "task.npz") == (None, None)


# Archives.


def honest(**replaced):
    return list({**members_of(LAWS), **replaced}.items())


def renamed(old, new):
    return [(new if name == old else name, content) for name, content in honest()]


ARCHIVES = {
    "a member without .npy": renamed("labels.npy", "labels"),
    "a member twice": [*honest(), ("labels.npy", npy(LAWS.labels))],
    "a member twice, with other values": [*honest(), ("labels.npy", npy(LAWS.labels[::-1]))],
    "a member with and without .npy": [*honest(), ("labels", npy(LAWS.labels))],
    "a member that is text": [*honest(), ("more.txt", b"more")],
    "a member in a folder": renamed("labels.npy", "x/labels.npy"),
    "a member in this folder": renamed("labels.npy", "./labels.npy"),
    "a folder": [*honest(), ("x/", b"")],
    "a member with .npy twice": renamed("labels.npy", "labels.npy.npy"),
    "a member of no name": [*honest(), (".npy", npy(LAWS.labels))],
    "no member": [],
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_of_other_members_is_refused_by_both(tmp_path, name):
    write_members(tmp_path / "task.npz", ARCHIVES[name])
    assert task_hashes(tmp_path / "task.npz") == (None, None)


def test_members_in_another_order_are_the_same_task_to_both(tmp_path):
    write_members(tmp_path / "task.npz", reversed(honest()))
    assert task_hashes(tmp_path / "task.npz") == (LAWS.sha256(), LAWS.sha256())


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compressed_archive_is_refused_by_both(tmp_path, method):
    write_members(tmp_path / "task.npz", honest(), compress_type=method)
    assert task_hashes(tmp_path / "task.npz") == (None, None)


@pytest.mark.parametrize("junk", [b"x", b"#!/bin/sh\n", bytes(64)])
def test_bytes_before_the_archive_are_refused_by_both(tmp_path, junk):
    LAWS.save(tmp_path / "task.npz")
    (tmp_path / "task.npz").write_bytes(junk + (tmp_path / "task.npz").read_bytes())
    assert task_hashes(tmp_path / "task.npz") == (None, None)


@pytest.mark.parametrize("place", ["before", "after", "comment"])
def test_bytes_that_belong_to_no_member_are_refused_by_the_independent_reader(tmp_path, place):
    path = tmp_path / "task.npz"
    LAWS.save(path)
    data = path.read_bytes()
    if place == "before":
        path.write_bytes(b"PK\x03\x04" + data)
    elif place == "after":
        path.write_bytes(data + b"junk")
    else:
        with zipfile.ZipFile(path, "a") as file:
            file.comment = b"junk"
    with pytest.raises(FileFormatError):
        PlainTask.read(path)


@pytest.mark.parametrize("read", [Task.load, PlainTask.read, Model.load, PlainNetwork.read])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "empty").touch()
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2**34 + 1)
    for name in ("pipe", "loop", "empty", "large", ".", "missing"):
        with pytest.raises(FileFormatError):
            read(tmp_path / name)
    with pytest.raises(FileFormatError):
        read(type(tmp_path)("/dev/zero"))


# Networks.

NETWORK = memory(LAWS, heads=3)
METADATA = (
    '{"blocks":[{"attends":"last","kind":"attention","norm":null,"queries":"stream","score_root":1,"skip":true}],'
    '"format":"byheart-model","input":"tokens","version":2}'
)
NAMES = {
    "W_E": "embed.W_E",
    "W_pos": "pos_embed.W_pos",
    **{name: f"blocks.0.attn.{name}" for name in ("W_Q", "W_K", "W_V", "W_O")},
    "W_U": "unembed.W_U",
}


def entries_and_body(tensors, order=None):
    entries, body = {}, b""
    for name in order or tensors:
        data = np.asarray(tensors[name]).tobytes()
        entries[NAMES[name]] = {
            "dtype": "F64",
            "shape": list(np.shape(tensors[name])),
            "data_offsets": [len(body), len(body) + len(data)],
        }
        body += data
    return entries, body


def safetensors_of(entries, body, *, metadata: object = None, text=None):
    if text is None:
        text = json.dumps({"__metadata__": {"byheart": METADATA} if metadata is None else metadata, **entries})
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return struct.pack("<Q", len(data)) + data + body


ENTRIES, BODY = entries_and_body(dana_tensors(NETWORK))
TEXT = json.dumps({"__metadata__": {"byheart": METADATA}, **ENTRIES})
HONEST = safetensors_of(ENTRIES, BODY)


def with_entry(name, **fields):
    return safetensors_of({**ENTRIES, NAMES[name]: {**ENTRIES[NAMES[name]], **fields}}, BODY)


def with_text(text):
    return safetensors_of(ENTRIES, BODY, text=text)


def with_tensors(**tensors):
    return safetensors_of(*entries_and_body({**dana_tensors(NETWORK), **tensors}))


def without_heads(d_qk, d_head):
    d_model = NETWORK.d_model
    query, value = np.zeros((0, d_model, d_qk)), np.zeros((0, d_model, d_head))
    return with_tensors(W_Q=query, W_K=query, W_V=value, W_O=np.zeros((0, d_head, d_model)))


NAN = NETWORK.W_E.copy()
NAN[0, 0] = math.nan
WIDE = NETWORK.d_model + 1

MODELS = {
    "empty": b"",
    "cut in the size": HONEST[:7],
    "cut in the header": HONEST[:50],
    "cut in the body": HONEST[:-1],
    "one byte more": HONEST + b"\0",
    "a huge header": struct.pack("<Q", 2**63) + HONEST[8:],
    "no header": struct.pack("<Q", 0) + HONEST[8:],
    "a byte order mark": with_text("\ufeff" + TEXT),
    "UTF-16": with_text(TEXT.encode("utf-16")),
    "not UTF-8": with_text(TEXT.encode().replace(b"F64", b"F\xff4", 1)),
    "a list": with_text("[" + TEXT + "]"),
    "text after": with_text(TEXT + "x"),
    "a NUL after": with_text(TEXT + "\0"),
    "deeply nested": with_text('{"embed.W_E":' + "[" * 100_000),
    "deeply nested and closed": with_text('{"embed.W_E":' + "[" * 100_000 + "]" * 100_000 + "}"),
    "a tensor more": safetensors_of({**ENTRIES, "W_X": {**ENTRIES["embed.W_E"]}}, BODY),
    "a tensor less": safetensors_of(*entries_and_body({k: v for k, v in dana_tensors(NETWORK).items() if k != "W_U"})),
    "no metadata": with_text(json.dumps(ENTRIES)),
    "metadata null": with_text(TEXT.replace(json.dumps({"byheart": METADATA}), "null")),
    "metadata of another version": safetensors_of(
        ENTRIES, BODY, metadata={"byheart": METADATA.replace('"version":2', '"version":1')}
    ),
    "metadata with True for 1": safetensors_of(ENTRIES, BODY, metadata={"byheart": METADATA.replace(":1", ":true")}),
    "metadata with spaces": safetensors_of(ENTRIES, BODY, metadata={"byheart": METADATA.replace(":", ": ")}),
    "metadata with one more key": safetensors_of(ENTRIES, BODY, metadata={"byheart": METADATA, "more": "1"}),
    "metadata that is no text": safetensors_of(ENTRIES, BODY, metadata={"byheart": json.loads(METADATA)}),
    "float32": with_entry("W_E", dtype="F32"),
    "int64": with_entry("W_E", dtype="I64"),
    "an unknown type": with_entry("W_E", dtype="f64"),
    "no type": with_entry("W_E", dtype=None),
    "a shape as text": with_entry("W_E", shape="5,6"),
    "a shape of floats": with_entry("W_E", shape=[5.0, 6.0]),
    "a shape with True": with_entry("W_E", shape=[30, True]),
    "a shape below 0": with_entry("W_E", shape=[-5, -6]),
    "a shape of other bytes": with_entry("W_E", shape=[5, 7]),
    "a shape of another order": with_entry("W_E", shape=[6, 5]),
    "a huge shape": with_entry("W_E", shape=[2**40, 2**40]),
    "a shape that wraps around": with_entry("W_E", shape=[2**62, 2**62]),
    "a shape beyond 64 bits": with_entry("W_E", shape=[2**64, 1]),
    "a shape of nothing": with_entry("W_E", shape=[2**40, 0]),
    "minus zero": with_text(TEXT.replace("[0, ", "[-0, ", 1)),
    "zero as a float": with_text(TEXT.replace("[0, ", "[0e0, ", 1)),
    "a zero before": with_text(TEXT.replace("[0, ", "[00, ", 1)),
    "three places": with_entry("W_E", data_offsets=[0, 240, 240]),
    "places in another order": with_entry("W_E", data_offsets=[240, 0]),
    "places that overlap": with_entry("W_pos", data_offsets=[0, 144]),
    "a gap at the start": safetensors_of(
        {k: {**v, "data_offsets": [x + 8 for x in v["data_offsets"]]} for k, v in ENTRIES.items()}, bytes(8) + BODY
    ),
    "NaN": with_tensors(W_E=NAN),
    "infinity": with_tensors(W_U=np.where(NETWORK.W_U == 0, math.inf, NETWORK.W_U)),
    "NaN in the header": with_entry("W_E", shape=[math.nan, 6]),
    "another width of W_U": with_tensors(W_U=np.ones((WIDE, 5))),
    "another width of W_K": with_tensors(W_K=np.ones((3, NETWORK.d_model, 3))),
    "other heads of W_O": with_tensors(W_O=np.ones((2, 2, NETWORK.d_model))),
    "d_qk of 0": with_tensors(W_Q=np.ones((3, WIDE - 1, 0)), W_K=np.ones((3, WIDE - 1, 0))),
    "d_head of 0": with_tensors(W_V=np.ones((3, WIDE - 1, 0)), W_O=np.ones((3, 0, WIDE - 1))),
    "no tokens": with_tensors(W_E=np.ones((0, WIDE - 1))),
    "no positions": with_tensors(W_pos=np.ones((0, WIDE - 1))),
    "no outputs": with_tensors(W_U=np.ones((WIDE - 1, 0))),
    "no width": safetensors_of(
        *entries_and_body(
            {name: np.ones([0 if n == WIDE - 1 else n for n in t.shape]) for name, t in dana_tensors(NETWORK).items()}
        )
    ),
    "W_E in three dimensions": with_tensors(W_E=NETWORK.W_E[None]),
    "a tensor twice": with_text(TEXT[:-1] + ', "embed.W_E": ' + json.dumps(ENTRIES["embed.W_E"]) + "}"),
    "metadata twice": with_text(TEXT[:-1] + ', "__metadata__": ' + json.dumps({"byheart": METADATA}) + "}"),
    "a type twice": with_text(TEXT.replace('"dtype": "F64"', '"dtype": "F64", "dtype": "F64"', 1)),
    "one more field": with_entry("W_E", more=1),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_another_form_is_refused_by_both(tmp_path, name):
    (tmp_path / "model").write_bytes(MODELS[name])
    assert network_hashes(tmp_path / "model") == (None, None)


GOOD = {
    "by hand": HONEST,
    "tensors in another order": safetensors_of(*entries_and_body(dana_tensors(NETWORK), sorted(dana_tensors(NETWORK)))),
    "spaces after": with_text(TEXT + " " * 7),
    "without spaces": with_text(TEXT.replace(", ", ",").replace('": ', '":')),
    "an escaped name": with_text(TEXT.replace('"embed.W_E"', '"embed.W_\\u0045"')),
    "fields in another order": safetensors_of({k: dict(reversed(v.items())) for k, v in ENTRIES.items()}, BODY),
}


@pytest.mark.parametrize("name", GOOD)
def test_the_same_tensors_in_another_layout_are_the_same_network_to_both(tmp_path, name):
    (tmp_path / "model").write_bytes(GOOD[name])
    assert network_hashes(tmp_path / "model") == (NETWORK.sha256(), NETWORK.sha256())


STRICTER = {
    "metadata of scores under a root": safetensors_of(
        ENTRIES, BODY, metadata={"byheart": METADATA.replace('"score_root":1', '"score_root":4')}
    ),
    "metadata without the skip connection": safetensors_of(
        ENTRIES, BODY, metadata={"byheart": METADATA.replace('"skip":true', '"skip":false')}
    ),
    "d_head beyond d_model": with_tensors(W_V=np.ones((3, WIDE - 1, WIDE)), W_O=np.ones((3, WIDE, WIDE - 1))),
    "no heads, d_head beyond d_model": without_heads(2, WIDE),
    "a space before": with_text(" " + TEXT),
    "a header of 2 MiB": with_text(TEXT + " " * 2**21),
    "no heads, a huge d_qk": safetensors_of(
        {
            name: {**entry, "shape": [n if n != 2**9 else 2**40 for n in entry["shape"]]}
            for name, entry in entries_and_body({
                **dana_tensors(NETWORK),
                **{name: np.zeros((0, WIDE - 1, 2**9)) for name in ("W_Q", "W_K")},
                "W_V": np.zeros((0, WIDE - 1, 2)),
                "W_O": np.zeros((0, 2, WIDE - 1)),
            })[0].items()
        },
        entries_and_body({name: dana_tensors(NETWORK)[name] for name in ("W_E", "W_pos", "W_U")})[1],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STRICTER)
def test_a_model_or_a_header_of_a_form_that_nobody_certifies_is_refused_by_the_independent_reader(tmp_path, name):
    (tmp_path / "model").write_bytes(STRICTER[name])
    with pytest.raises(FileFormatError):
        PlainNetwork.read(tmp_path / "model")


@pytest.mark.parametrize(("d_qk", "d_head"), [(1, 1), (2, 6), (0, 1), (1, 0)])
def test_a_network_without_heads_means_the_same_to_both(tmp_path, d_qk, d_head):
    (tmp_path / "model").write_bytes(without_heads(d_qk, d_head))
    numpy_hash, plain_hash = network_hashes(tmp_path / "model")
    assert numpy_hash == plain_hash and (numpy_hash is not None or 0 in (d_qk, d_head))


def test_negative_zeros_are_kept_by_both(tmp_path):
    network = changed(NETWORK, W_U=-NETWORK.W_U)
    network.save(tmp_path / "model")
    assert network_hashes(tmp_path / "model") == (network.sha256(), network.sha256())
