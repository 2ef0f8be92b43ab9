"""Folders whose files are not in order: damaged, ambiguous, foreign, of other hashes, or of numbers in another form."""

import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from constructions.formats.files import canonical_json
from constructions.formats.tensor_file import arrays_sha256
from constructions.tasks.stored import read_stored
from constructions.tasks.vectors import load_task
from tests import task_files
from tests.corpus.false_claims import Bad, Forge
from tests.corpus.forging import edited, rewrite, spoil_task
from tests.corpus.good_folders import LENGTH

MODEL, TASK, CERTIFICATE = "model.safetensors", "task.safetensors", "certificate.json"


def content(name: str, change: Callable[[bytes], bytes]) -> Forge:
    """Write other bytes of a file."""

    def forge(folder: Path) -> None:
        path = folder / name
        path.write_bytes(change(path.read_bytes()))

    return forge


def parts(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Split a file into its header and its tensors."""
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def joined(header: str, body: bytes) -> bytes:
    """Write a file with this header."""
    return struct.pack("<Q", len(header)) + header.encode() + body


def header(name: str, change: Callable[[dict[str, Any]], Any]) -> Forge:
    """Write another header of a file; the certificate is left as it was."""

    def changed(data: bytes) -> bytes:
        fields, body = parts(data)
        change(fields)
        return joined(json.dumps(fields), body)

    return content(name, changed)


def said(change: Callable[[dict[str, Any]], Any]) -> Forge:
    """Write other words in the metadata of the model."""

    def changed(fields: dict[str, Any]) -> None:
        words = json.loads(fields["__metadata__"]["byheart"])
        change(words)
        fields["__metadata__"]["byheart"] = canonical_json(words)

    return header(MODEL, changed)


def header_text(name: str, old: str, new: str) -> Forge:
    """Write a header in which a text is replaced once, whatever comes of it."""

    def changed(data: bytes) -> bytes:
        size = int.from_bytes(data[:8], "little")
        text = data[8 : 8 + size].decode()
        assert old in text
        return joined(text.replace(old, new, 1), data[8 + size :])

    return content(name, changed)


def number(tensor: str, value: float) -> Forge:
    """Replace the first number of a tensor of the model."""

    def changed(data: bytes) -> bytes:
        fields, _ = parts(data)
        start = 8 + int.from_bytes(data[:8], "little") + fields[tensor]["data_offsets"][0]
        return data[:start] + struct.pack("<d", value) + data[start + 8 :]

    return content(MODEL, changed)


def text(old: str, new: str, name: str = CERTIFICATE) -> Forge:
    """Replace a text in the certificate, without a new digest."""

    def changed(data: bytes) -> bytes:
        assert old.encode() in data, old
        return data.replace(old.encode(), new.encode(), 1)

    return content(name, changed)


def fields(change: Callable[[dict[str, Any]], Any]) -> Forge:
    """Write other fields of the certificate, with a right digest."""
    return lambda folder: edited(folder, change)


def first(change: Callable[[dict[str, Any]], Any]) -> Forge:
    """Write other fields of the first statement, with a right digest."""
    return fields(lambda data: change(data["statements"][0]))


def spaced(data: bytes) -> bytes:
    """Return the same certificate with spaces."""
    return json.dumps(json.loads(data), sort_keys=True).encode() + b"\n"


def task_arrays(change: Callable[[dict[str, Any]], Any]) -> Forge:
    """Write a task that no checker may accept, with the hash that it would have."""

    def forge(folder: Path) -> None:
        arrays = task_files.parts(load_task(folder / TASK))
        change(arrays)
        spoil_task(folder, arrays)

    return forge


ORDERS = {
    "tokens": ("text", "titles"),
    "vectors": ("contexts", "queries", "labels"),
    "prompts": ("prompts_indptr", "prompts", "completions_indptr", "completions"),
    "rule": ("reads", *(f"{name}_{s}" for name in ("tokens", "steps") for s in range(LENGTH)), "answers"),
}
"""In which the arrays of a task are hashed; of tokens those of whole texts."""


def stored(change: Callable[[dict[str, Any], dict[str, np.ndarray]], Any]) -> Forge:
    """Write other words and arrays of a task of any kind, with the hash that they would have."""

    def forge(folder: Path) -> None:
        kind, words, arrays = read_stored(folder / TASK)
        change(words, arrays)
        task_files.write(folder / TASK, {**words, **arrays}, task=kind)
        ordered = {name: np.asarray(arrays[name]) for name in ORDERS[kind] if name in arrays}
        sha256 = arrays_sha256({"task": kind, **words}, ordered)
        edited(folder, lambda data: data["subject"].update(task=sha256))

    return forge


def put(name: str, *places: Any) -> Forge:
    """Write other entries of an array of a task: a place and what stands there, one after the other."""

    def change(words: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        array = arrays[name].copy()
        for place, value in zip(places[::2], places[1::2], strict=True):
            array[place] = value
        arrays[name] = array

    return stored(change)


def array(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Forge:
    """Write another array of a task."""
    return stored(lambda words, arrays: arrays.update({name: change(arrays[name])}))


def word(**words: Any) -> Forge:
    """Write other words of a task."""
    return stored(lambda found, arrays: found.update(words))


def contexts_of_edit(**changes: Any) -> Forge:
    """Write other contexts of an edit, in canonical form and with their hash."""

    def forge(folder: Path) -> None:
        path = folder / "contexts.json"
        asked = canonical_json({**json.loads(path.read_text()), **changes}) + "\n"
        path.write_text(asked)
        data = json.loads((folder / "edit.json").read_text())
        rewrite(folder, {**data, "edit": hashlib.sha256(asked.encode()).hexdigest()}, "edit.json")

    return forge


def other_tasks() -> list[tuple[str, str, str, Forge]]:
    """Return folders with malformed rules, prompts, texts, vectors and edits, with the hash that they would have."""
    return [
        ("rule-max", "token-twice", "a token stands twice at one place, so that inputs are counted twice",
         stored(lambda w, a: a.update(
             tokens_0=np.array([0, 0, 1, 2, 3]), steps_0=np.array([[0, 0, 1, 2, 3]])))),
        ("rule-max", "tokens-of-another-order", "the tokens at one place do not increase", put("tokens_1", 0, 1, 1, 0)),
        ("rule-max", "no-tokens", "no token at one place", array("tokens_1", lambda a: a[:0])),
        ("rule-max", "token-negative", "a token below 0", put("tokens_2", 0, -1)),
        ("rule-max", "step-beyond", "a step to a state that there is not", put("steps_0", (0, 0), 9)),
        ("rule-max", "step-negative", "a step to a state below 0", put("steps_1", (0, 0), -1)),
        ("rule-max", "fewer-steps", "a state without steps", array("steps_2", lambda a: a[:-1])),
        ("rule-max", "fewer-answers", "a last state without an answer", array("answers", lambda a: a[:-1])),
        ("rule-max", "answer-negative", "an answer below 0", put("answers", 0, -1)),
        ("rule-max", "reads-beyond", "a place is read that there is not", put("reads", 2, 3)),
        ("rule-max", "reads-less", "a place is said not to be read, which is", array("reads", lambda a: a[:-1])),
        ("rule-max", "of-another-name", "the automaton of the maximum under the name of the minimum", word(rule="min")),
        ("rule-max", "sum-modulo-nothing", "a sum modulo 0", word(rule="sum mod 0")),
        ("rule-max", "unknown-name", "a rule of an unknown name", word(rule="median")),
        ("rule-own", "unread-place", "an automaton of one's own that is said to read less than it does",
         array("reads", lambda a: a[1:])),
        ("prompts-memorized", "prompt-twice", "a prompt stands twice, with two answers",
         stored(lambda w, a: a.update(
             prompts=np.array([0, 1, 2, 3, 1, 0, 0, 1]), completions=np.array([1, 1, 1, 2, 2, 2, 1, 0])))),
        ("prompts-memorized", "prompt-empty", "a prompt of no tokens", put("prompts_indptr", 1, 0)),
        ("prompts-memorized", "answer-empty", "an answer of no tokens", put("completions_indptr", 1, 0)),
        ("prompts-memorized", "token-beyond", "a token that the vocabulary has not", put("prompts", 0, 4)),
        ("prompts-memorized", "rows-decreasing", "rows that end before they begin", put("prompts_indptr", 1, 3, 2, 2)),
        ("prompts-memorized", "rows-beyond", "rows that go on behind their end", put("completions_indptr", -1, 9)),
        ("prompts-memorized", "fewer-texts", "a fact without its text",
         stored(lambda w, a: w.update(texts=w["texts"][:-1]))),
        ("text-whole", "no-end", "a text that does not end", put("text", -1, 0)),
        ("text-whole", "title-in-the-text", "the title stands in the text",
         stored(lambda w, a: a.update(titles=np.array([0])))),
        ("text-whole", "title-beyond", "a title that is no token", put("titles", 0, 9)),
        ("text-whole", "context-length", "windows of no tokens", word(context_length=0)),
        ("text-whole", "context-length-as-text", "the length of windows as a text", word(context_length="2")),
        ("text-whole", "context-length-huge", "windows of 2^62 tokens", word(context_length=2**62)),
        ("text-titles", "title-twice", "two texts of one title", array("titles", lambda a: a[[0, 0]])),
        ("text-titles", "fewer-titles", "a text without a title", array("titles", lambda a: a[:1])),
        ("vectors-classification", "tie", "two classes are equally large", put("labels", (0, slice(None)), 1.0)),
        ("vectors-classification", "query-nan", "a query with a number that is none", put("queries", (0, 0), np.nan)),
        ("vectors-classification", "fewer-labels", "an example without a label", array("labels", lambda a: a[:-1])),
        ("vectors-classification", "contexts-of-others", "contexts of as many examples as there are not",
         array("contexts", lambda a: np.repeat(a, 2, axis=0))),
        ("vectors-classification", "no-keys", "contexts without keys", array("contexts", lambda a: a[:, :0])),
        ("edit", "context-twice", "a context is edited twice",
         contexts_of_edit(contexts=[[1, 2], [1, 2]], answers=[0, 1])),
        ("edit", "edited-and-kept", "a context is edited and kept", contexts_of_edit(domain=None, kept=[[1, 2]])),
        ("edit", "answer-beyond", "an answer that the model has not", contexts_of_edit(answers=[3])),
        ("edit", "token-beyond", "a token that the model has not", contexts_of_edit(contexts=[[1, 3]])),
        ("edit", "domain-and-kept", "a domain beside kept contexts", contexts_of_edit(kept=[[0, 0]])),
        ("edit", "domain-huge", "a domain of 3^1000 contexts", contexts_of_edit(domain=1000)),
        ("edit", "domain-of-nothing", "a domain of contexts without tokens", contexts_of_edit(domain=0)),
    ]  # fmt: skip


def repeated_tensor(data: bytes) -> bytes:
    """Write the readout twice under one name: another one first, then the honest one."""
    fields, body = parts(data)
    entry = json.dumps({"unembed.W_U": {**fields["unembed.W_U"], "data_offsets": [len(body), len(body) + 128]}})
    text = json.dumps(fields)
    return joined(entry[:-1] + ", " + text[1:], body + bytes(128))


def in_the_place_of(name: str) -> Forge:
    """Put a folder where a file should be."""

    def forge(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return forge


def removed(name: str) -> Forge:
    """Remove a file."""
    return lambda folder: (folder / name).unlink()


def written(name: str, data: bytes = b"x") -> Forge:
    """Add a file that the certificate does not name."""
    return lambda folder: (folder / name).write_bytes(data)


def damaged() -> list[tuple[str, str, str, Forge]]:
    """Return folders with damaged, missing or foreign files."""
    huge = struct.pack("<Q", 2**40)
    return [
        ("labels-lookup", "model-truncated", "the model ends eight bytes early", content(MODEL, lambda d: d[:-8])),
        ("labels-lookup", "model-longer", "eight bytes stand behind the tensors",
         content(MODEL, lambda d: d + bytes(8))),
        ("labels-lookup", "model-empty", "the model is empty", content(MODEL, lambda d: b"")),
        ("labels-lookup", "model-huge-header", "a header of 2^40 bytes is announced",
         content(MODEL, lambda d: huge + d[8:])),
        ("labels-lookup", "model-nan", "a weight is no number", number("unembed.W_U", float("nan"))),
        ("labels-lookup", "model-infinite", "a weight is infinite", number("unembed.W_U", float("inf"))),
        ("labels-lookup", "model-archive", "the model is an archive", content(MODEL, lambda d: b"PK\x03\x04" + d)),
        ("labels-lookup", "model-float32", "the readout is said to be of float32",
         header(MODEL, lambda h: h["unembed.W_U"].update(dtype="F32"))),
        ("labels-lookup", "model-overlap", "two tensors share their bytes",
         header(MODEL, lambda h: h["embed.W_E"].update(data_offsets=h["unembed.W_U"]["data_offsets"]))),
        ("labels-lookup", "model-shape", "a tensor of more entries than it has bytes",
         header(MODEL, lambda h: h["unembed.W_U"].update(shape=[2**20, 2**20]))),
        ("labels-lookup", "model-no-rows", "a tensor of no rows",
         header(MODEL, lambda h: h["unembed.W_U"].update(shape=[0, 4]))),
        ("labels-lookup", "model-name", "a tensor of an unknown name",
         header(MODEL, lambda h: h.update({"unembed.W_X": h.pop("unembed.W_U")}))),
        ("labels-lookup", "model-missing-tensor", "the readout is missing",
         header(MODEL, lambda h: h.pop("unembed.W_U"))),
        ("labels-lookup", "model-twice", "the readout stands twice in the header, zeros first",
         content(MODEL, repeated_tensor)),
        ("labels-lookup", "model-more-metadata", "the metadata hold another key",
         header(MODEL, lambda h: h["__metadata__"].update(format="pt"))),
        ("labels-lookup", "model-version", "the model is of version 3", said(lambda w: w.update(version=3))),
        ("labels-lookup", "model-unknown-option", "the model has an option that there is not",
         said(lambda w: w.update(more=1))),
        ("blocks-shifts", "model-unknown-block", "a block is of an unknown kind",
         said(lambda w: w["blocks"][0].update(kind="convolution"))),
        ("blocks-shifts", "model-unknown-activation", "an activation that there is not",
         said(lambda w: w["blocks"][1].update(activation="swish"))),
        ("blocks-shifts", "model-shapes", "queries and keys of other widths",
         header(MODEL, lambda h: h["blocks.0.attn.W_K"].update(shape=[2, 2, 4]))),
        ("blocks-layer-norms", "model-epsilon", "an epsilon of 0",
         said(lambda w: w["blocks"][2].update(epsilon="0x0.0p+0"))),
        ("labels-lookup", "task-truncated", "the task ends eight bytes early", content(TASK, lambda d: d[:-8])),
        ("labels-lookup", "task-int32", "contexts of another type",
         header(TASK, lambda h: h["contexts"].update(dtype="I32"))),
        ("labels-lookup", "no-model", "the model is missing", removed(MODEL)),
        ("labels-lookup", "no-task", "the task is missing", removed(TASK)),
        ("labels-lookup", "no-certificate", "the certificate is missing", removed(CERTIFICATE)),
        ("labels-lookup", "folder-for-model", "a folder stands in the place of the model", in_the_place_of(MODEL)),
        ("labels-lookup", "foreign-file", "a file that the certificate does not name",
         written("model.safetensors.bak")),
        ("labels-lookup", "foreign-witness", "a witness that the certificate does not name",
         written("witness.safetensors")),
        ("rank-of-one-attention", "no-witness", "the witness is missing", removed("witness.safetensors")),
        ("edit", "contexts-spaced", "the contexts of an edit in another form of JSON",
         content("contexts.json", lambda d: json.dumps(json.loads(d)).encode() + b"\n")),
        ("edit", "no-contexts", "the contexts of an edit are missing", removed("contexts.json")),
    ]  # fmt: skip


def exchanged() -> list[tuple[str, str, str, Forge]]:
    """Return folders whose files are in order but not those that the certificate names, by hash, digest or sizes."""
    return [
        ("labels-lookup", "model-bit", "one bit of one weight is another",
         content(MODEL, lambda d: d[:-2] + bytes([d[-2] ^ 1]) + d[-1:])),
        ("labels-lookup", "model-negative-zero", "a weight of 0 is -0, which has another hash", number("unembed.W_U",
         -0.0)),
        ("labels-lookup", "task-of-another", "the task is that of another folder, under the old hash",
         header_text(TASK, '\\"a\\",\\"b\\"', '\\"b\\",\\"a\\"')),
        ("rank-of-one-attention", "witness-bit", "one bit of the witness is another",
         content("witness.safetensors", lambda d: d[:-1] + bytes([d[-1] ^ 1]))),
        ("edit", "model-bit", "one bit of one edited weight is another",
         content(MODEL, lambda d: d[:-2] + bytes([d[-2] ^ 1]) + d[-1:])),
        ("labels-lookup", "digest", "a margin is another, without a new digest",
            text('"memorized":4', '"memorized":3')),
        ("labels-lookup", "parameters", "another number of parameters",
         fields(lambda d: d["subject"]["sizes"].update(parameters=1))),
        ("labels-lookup", "other-model", "the hash of the model is another",
         fields(lambda d: d["subject"].update(model="0" * 64))),
        ("labels-lookup", "other-task", "the hash of the task is another",
         fields(lambda d: d["subject"].update(task="0" * 64))),
        ("labels-own", "origin", "labels of one's own are said to be the cells of a table",
         fields(lambda d: d["subject"].update(origin="table"))),
    ]  # fmt: skip


def forms() -> list[tuple[str, str, str, Forge]]:
    """Return certificates in other forms and with other fields."""
    return [
        ("labels-lookup", "spaces", "the certificate has spaces", content(CERTIFICATE, spaced)),
        ("labels-lookup", "no-newline", "the certificate ends without a newline", content(CERTIFICATE, bytes.strip)),
        ("labels-lookup", "two-objects", "something stands behind the certificate",
         content(CERTIFICATE, lambda d: d + b"{}\n")),
        ("labels-lookup", "byte-order-mark", "a byte order mark stands before it",
         content(CERTIFICATE, lambda d: b"\xef\xbb\xbf" + d)),
        ("labels-lookup", "nested", "100,000 brackets", content(CERTIFICATE, lambda d: b"[" * 100_000)),
        ("labels-lookup", "key-twice", "a key stands twice, the honest one last",
         text('"wrong":0', '"wrong":4,"wrong":0')),
        ("labels-lookup", "sentence", "the sentence says more than the numbers",
         first(lambda s: s.update(statement=s["statement"].replace("at least 2.999", "at least 9.999")))),
        ("labels-lookup", "decimal", "a margin as a decimal", text('"margin_lower":"', '"margin_lower":3.5,"more":"')),
        ("labels-lookup", "infinite", "a margin that is infinite",
         first(lambda s: s["values"].update(margin_lower="inf"))),
        ("labels-lookup", "negative-zero", "a margin of -0",
         first(lambda s: s["values"].update(margin_lower="-0x0.0p+0"))),
        ("labels-lookup", "unreduced", "a margin that is a fraction not in lowest terms",
         first(lambda s: s["values"].update(margin_lower="4/2"))),
        ("labels-lookup", "other-hexadecimal", "a margin in another form of hexadecimal",
         first(lambda s: s["values"].update(margin_lower="0x1.8p+1"))),
        ("labels-lookup", "huge-number", "a margin of 5,000 bits",
         first(lambda s: s["values"].update(margin_lower=f"1/{10**1290}".replace("1/", f"{10**1299 + 1}/")))),
        ("labels-lookup", "count-as-text", "a count as a text", first(lambda s: s["values"].update(memorized="4"))),
        ("labels-lookup", "count-as-truth", "a count that is true", first(lambda s: s["values"].update(wrong=False))),
        ("labels-lookup", "negative-count", "a count below 0", first(lambda s: s["values"].update(wrong=-1))),
        ("labels-lookup", "more-memorized", "more contexts are memorized than there are",
         first(lambda s: s["values"].update(memorized=5))),
        ("labels-lookup", "unknown-number", "a number that there is not", first(lambda s: s["values"].update(more=1))),
        ("labels-lookup", "unknown-statement", "a statement of an unknown kind", first(lambda s: s.update(id="truth"))),
        ("labels-lookup", "unknown-field", "a field that there is not", fields(lambda d: d.update(more=1))),
        ("labels-lookup", "missing-field", "a field is missing", fields(lambda d: d.pop("provenance"))),
        ("labels-lookup", "no-statements", "nothing is stated", fields(lambda d: d.update(statements=[]))),
        ("labels-lookup", "version", "a certificate of version 3", fields(lambda d: d.update(version=3))),
        ("labels-lookup", "version-as-truth", "a certificate of a version that is true",
         fields(lambda d: d.update(version=True))),
        ("labels-lookup", "null-criterion", "nothing is asked", fields(lambda d: d.update(criterion=None))),
        ("labels-lookup", "asks-for-none", "at least 0 contexts are asked for",
         fields(lambda d: d["criterion"].update(asked="at-least", contexts=0))),
        ("labels-lookup", "tolerance-infinite", "a tolerance that is infinite",
         fields(lambda d: d["criterion"].update(tolerance="inf"))),
        ("labels-at-most", "bound-negative", "a mean of at most less than 0",
         fields(lambda d: d["criterion"].update(bound="-0x1.0000000000000p+0"))),
        ("labels-at-least", "mask-beyond", "the mask names a context that there is not",
         first(lambda s: s.update(memorized=s["memorized"] + "8"))),
        ("labels-at-least", "mask-of-more", "the mask names more contexts than are memorized",
         first(lambda s: s.update(memorized="ff"))),
        ("labels-at-least", "mask-of-capitals", "the mask is in capitals",
         first(lambda s: s.update(memorized=s["memorized"].upper()))),
        ("labels-lookup", "fewer-contexts", "the sizes name fewer contexts",
         fields(lambda d: d["subject"]["sizes"].update(contexts=3))),
        ("labels-lookup", "target", "labels are said to be distributions",
            fields(lambda d: d["subject"].update(target="distributions"))),
        ("rule-partly", "criterion-mean", "a mean is asked of a domain",
         fields(lambda d: d["criterion"].update(asked="at-most", contexts=None, bound="0x1.0000000000000p+0"))),
        ("rank-of-one-attention", "witness-elsewhere", "the witness is a file outside of the folder",
         fields(lambda d: d["witness"].update(file="../witness.safetensors"))),
        ("rank-of-one-attention", "witness-of-nothing", "a witness, but no rank is stated",
         fields(lambda d: d["statements"].pop())),
    ]  # fmt: skip


def ambiguous() -> list[tuple[str, str, str, Forge]]:
    """Return folders with malformed tasks of tokens, with the hash that they would have."""

    def changed(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Forge:
        return task_arrays(lambda a: a.update({name: change(a[name])}))

    def row(array: np.ndarray, place: int, value: Any) -> np.ndarray:
        array = array.copy()
        array[place] = value
        return array

    return [
        ("labels-own", "context-twice", "a context occurs twice, with two labels",
         changed("contexts", lambda a: row(a, 1, a[0]))),
        ("labels-most-frequent", "context-in-the-tail", "a memorized context is in the tail too",
         task_arrays(lambda a: a.update(tail_contexts=row(a["tail_contexts"], 0, a["contexts"][0])))),
        ("labels-own", "token-beyond", "a token that the vocabulary has not", changed("contexts",
         lambda a: row(a, 0, 7))),
        ("labels-own", "token-negative", "a token below 0", changed("contexts", lambda a: row(a, 0, -1))),
        ("labels-own", "label-beyond", "a label that is none of the answers", changed("labels",
         lambda a: row(a, 0, 4))),
        ("labels-lookup", "counts-of-zero", "a count of 0", changed("counts_data", lambda a: a * 0)),
        ("labels-lookup", "counts-negative", "counts below 0", changed("counts_data", lambda a: -a)),
        ("labels-most-frequent", "counts-overflow", "counts whose sum is beyond 2^53",
         changed("counts_data", lambda a: np.full_like(a, 2**62))),
        ("labels-lookup", "counts-beyond", "rows of counts that go on behind their end",
         changed("counts_indptr", lambda a: a * 2)),
        ("distributions-own", "distributions-of-zero", "a distribution with a 0 in it",
            changed("distributions", lambda a: np.where(a == a.min(), 0.0, a))),
        ("distributions-own", "distributions-nan", "a distribution with a number that is none", changed("distributions",
         lambda a: np.where(a == a.max(), np.nan, a))),
        ("distributions-own", "distributions-sum", "distributions that sum to 2",
            changed("distributions", lambda a: 2.0 * a)),
        ("distributions-own", "distributions-claim-counts",
            "distributions of one's own that are said to be smoothed counts",
         task_arrays(lambda a: a.update(origin="smoothed counts"))),
        ("labels-lookup", "vocabulary-twice", "two tokens of one name",
         task_arrays(lambda a: a.update(vocabulary=["a", "a", "c", "d"]))),
        ("labels-answers-apart", "answers-are-tokens", "the answers are the tokens again",
         task_arrays(lambda a: a.update(answers=a["vocabulary"]))),
    ]  # fmt: skip


def broken_files() -> list[Bad]:
    """Return all of them."""
    rows = []
    for of, slug, changed, forge in (*damaged(), *forms(), *ambiguous(), *other_tasks()):
        rows.append(Bad(of, slug, "files", changed, forge, "refused", honest=False))
    for of, slug, changed, forge in exchanged():
        rows.append(Bad(of, slug, "files", changed, forge, "refuted", honest=False))
    return rows
