"""Attacks on the files of a certified memory: whatever is done to them, nothing false is ever PROVED.

Each attack meets both checkers. It must end in an error that names the file (`FileFormatError`, `TamperedError`), in a
verdict that is not PROVED, or, where the attacker has merely made a true certificate about other data, in PROVED.
"""

import hashlib
import io
import json
import pickle
import shutil
import struct
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from constructions.errors import FileFormatError, TamperedError
from constructions.models.model import Model
from constructions.tasks.task import Task
from tests.memories import changed, memory, random_task, write_memory
from verify.certificates.certificate import ALL_CONTEXTS_DIVERGENCE, ARGMAX, DIVERGENCE, FEATURE_RANK
from verify.certificates.memorization import check_memorization
from verify.independent.checker import check_independently
from verify.verdict import Verdict

PROVED, REFUTED, UNDECIDED = Verdict.PROVED, Verdict.REFUTED, Verdict.UNDECIDED
FILES = ("model.safetensors", "task.npz", "certificate.json", "witness.npz")
CHECKERS = [check_memorization, check_independently]
REFUSED = (FileFormatError, TamperedError)

both = pytest.mark.parametrize("check", CHECKERS)


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Two honest memories, by target."""
    top = tmp_path_factory.mktemp("honest")
    for seed, target in enumerate(("laws", "labels")):
        task = random_task(target=target)
        write_memory(top / target, memory(task, seed=seed), task)
    return top


@pytest.fixture
def folder(originals, tmp_path):
    return Path(shutil.copytree(originals / "laws", tmp_path / "laws"))


@pytest.fixture
def labels(originals, tmp_path):
    return Path(shutil.copytree(originals / "labels", tmp_path / "labels"))


def certificate(folder):
    return json.loads((folder / "certificate.json").read_text())


def rewrite(folder, data):
    """Write a certificate whose digest is right."""
    data.pop("digest", None)
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    data["digest"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "certificate.json").write_text(json.dumps(data, sort_keys=True, separators=(",", ":")) + "\n")


def rehash(folder, *, network=None, task=None):
    """Put another network or task into the folder, and everything that names its hash right."""
    data = certificate(folder)
    if network is not None:
        network.save(folder / "model.safetensors")
        data["subject"]["network"] = network.sha256()
    if task is not None:
        task.save(folder / "task.npz")
        data["subject"]["task"] = task.sha256()
        data["subject"]["sizes"] |= {"n_contexts": task.n_contexts, "n_all": task.n_all}
    rewrite(folder, data)


def task_of(arrays):
    """The task made of these arrays, with the prior that belongs to its counts."""
    buffer = io.BytesIO()
    totals = np.add.reduceat(arrays["counts_data"], arrays["counts_indptr"][:-1])
    grand_total = totals.sum() + arrays["tail_counts_data"].sum()
    np.savez(buffer, **{**arrays, "prior": totals / grand_total})
    with TemporaryDirectory() as name:
        (Path(name) / "task.npz").write_bytes(buffer.getvalue())
        return Task.load(Path(name) / "task.npz")


def verdicts(report):
    return {check.id: check.verdict for check in report.checks}


@both
def test_the_honest_folders_are_proved(originals, check):
    for target in ("laws", "labels"):
        assert check(originals / target).verdict is PROVED


# The bytes of the files.


@both
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kept", [0, 1, 7, 8, 100, 0.5, 0.99, -1])
def test_a_truncated_file_is_refused(folder, check, name, kept):
    content = (folder / name).read_bytes()
    length = int(kept * len(content)) if isinstance(kept, float) else kept
    (folder / name).write_bytes(content[:length])
    with pytest.raises(REFUSED):
        check(folder)


@both
@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_and_a_folder_in_its_place_are_refused(folder, check, name):
    (folder / name).unlink()
    with pytest.raises(REFUSED, match=name.split(".")[0]):
        check(folder)
    (folder / name).mkdir()
    with pytest.raises(REFUSED, match=name.split(".")[0]):
        check(folder)


@both
@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_memory_is_refused(folder, labels, check, name):
    shutil.copy(labels / name, folder / name)
    blamed = "hash" if name in ("model.safetensors", "task.npz") else "json|witness|model"
    with pytest.raises(REFUSED, match=blamed):
        check(folder)


@both
def test_a_certificate_with_its_witness_replayed_for_another_network_is_tampering(folder, tmp_path, check):
    task = Task.load(folder / "task.npz")
    write_memory(tmp_path / "other", memory(task, seed=2), task)
    for name in ("certificate.json", "witness.npz"):
        shutil.copy(folder / name, tmp_path / "other" / name)
    with pytest.raises(TamperedError, match=r"model\.safetensors"):
        check(tmp_path / "other")


@settings(max_examples=60)
@given(st.sampled_from(FILES), st.floats(0, 1, exclude_max=True), st.integers(0, 7))
@example("model.safetensors", 0.9, 0)
@example("task.npz", 0.3, 3)
def test_a_flipped_bit_is_refused_or_changes_nothing_that_is_certified(originals, name, place, bit):
    with TemporaryDirectory() as top:
        folder = Path(shutil.copytree(originals / "laws", Path(top) / "laws"))
        content = bytearray((folder / name).read_bytes())
        content[int(place * len(content))] ^= 1 << bit
        (folder / name).write_bytes(bytes(content))
        for check in CHECKERS:
            try:
                report = check(folder)
            except REFUSED:
                continue
            # Bytes that hold nothing: time stamps and attributes in the archive, the description of the model.
            assert name in ("model.safetensors", "task.npz")
            assert report.verdict is PROVED
            if check is check_memorization:
                honest = originals / "laws"
                assert Model.load(folder / FILES[0]).sha256() == Model.load(honest / FILES[0]).sha256()
                assert Task.load(folder / FILES[1]).sha256() == Task.load(honest / FILES[1]).sha256()


@both
def test_every_weight_and_every_array_is_under_the_hash(folder, check):
    content = (folder / "model.safetensors").read_bytes()
    size = int.from_bytes(content[:8], "little")
    for position in range(8 + size, len(content), 97):
        spoiled = bytearray(content)
        spoiled[position] ^= 1
        (folder / "model.safetensors").write_bytes(bytes(spoiled))
        with pytest.raises(TamperedError, match="hash"):
            check(folder)
    (folder / "model.safetensors").write_bytes(content)
    arrays = dict(np.load(folder / "task.npz"))
    for name, array in arrays.items():
        if name not in ("target", "prior"):
            spoiled = array.copy()
            spoiled.flat[-1] = "changed" if array.dtype.kind == "U" else np.nextafter(1.0, 2.0) * spoiled.flat[-1] + 0
            if array.dtype.kind == "i":
                spoiled.flat[-1] = (array.flat[-1] + 1) % 5 if "indptr" not in name else array.flat[-1] - 1
            np.savez(folder / "task.npz", **{**arrays, name: spoiled})
            with pytest.raises(REFUSED):
                check(folder)


# The certificate alone.


@both
@pytest.mark.parametrize(
    "edit",
    [
        lambda d: d["claims"][2]["values"].update(max_upper="0x1.0000000000000p+1"),
        lambda d: d["claims"][2]["values"].update(max_upper="0x1.0000000000000p-900"),
        lambda d: d["claims"][0].update(verdict="UNDECIDED"),
        lambda d: d["claims"].pop(),
        lambda d: d["subject"].update(network="0" * 64),
        lambda d: d["provenance"].update(byheart="9.9"),
        lambda d: d.update(witness=None),
    ],
)
def test_an_edit_without_a_new_digest_is_tampering(folder, check, edit):
    data = certificate(folder)
    edit(data)
    (folder / "certificate.json").write_text(json.dumps(data, sort_keys=True, separators=(",", ":")) + "\n")
    with pytest.raises(TamperedError, match="digest"):
        check(folder)


@both
@pytest.mark.parametrize("index", range(4))
def test_a_deleted_claim_is_tampering_even_with_a_new_digest(folder, check, index):
    data = certificate(folder)
    deleted = data["claims"].pop(index)
    rewrite(folder, data)
    with pytest.raises(TamperedError, match=deleted["id"]):
        check(folder)


@both
@pytest.mark.parametrize("order", [[1, 0, 2, 3], [0, 1, 2, 2], [0, 0, 1, 2, 3]])
def test_claims_in_another_order_or_twice_are_refused(folder, check, order):
    data = certificate(folder)
    data["claims"] = [data["claims"][i] for i in order]
    rewrite(folder, data)
    with pytest.raises(FileFormatError, match="claims"):
        check(folder)


@both
@pytest.mark.parametrize("change", [{"d_qk": 3}, {"n_ctx": 4}, {"d_vocab": 6}])
def test_other_sizes_than_those_of_the_files_are_tampering(folder, check, change):
    data = certificate(folder)
    data["subject"]["sizes"] |= change
    rewrite(folder, data)
    with pytest.raises(TamperedError, match="sizes"):
        check(folder)


@both
def test_a_stronger_statement_over_true_numbers_is_refused(folder, check):
    data = certificate(folder)
    data["claims"][2]["statement"] = data["claims"][2]["statement"].replace("e-", "e-9")
    rewrite(folder, data)
    with pytest.raises(FileFormatError, match="statement"):
        check(folder)


@both
def test_a_certificate_that_was_weakened_stays_true_and_one_that_was_strengthened_is_not_proved(folder, check):
    honest = certificate(folder)
    stored = float.fromhex(honest["claims"][3]["values"]["upper"])
    for factor, expected in ((1.5, PROVED), (0.999, REFUTED)):
        data = json.loads(json.dumps(honest))
        data["claims"][3]["values"]["upper"] = (stored * factor).hex()
        data["claims"][3]["values"]["lower"] = (0.0).hex()
        data["claims"][3]["statement"] = restated(data, 3)
        rewrite(folder, data)
        assert check(folder).verdict is expected


def restated(data, index):
    from fractions import Fraction

    from verify.certificates.certificate import statement

    claim = data["claims"][index]
    numbers = {}
    for name, value in claim["values"].items():
        numbers[name] = value if isinstance(value, int) else float.fromhex(value) if "x" in value else Fraction(value)
    return statement(claim["id"], data["subject"]["target"], numbers)


@both
def test_forged_verdicts_decide_nothing(folder, check):
    task = Task.load(folder / "task.npz")
    network = Model.load(folder / "model.safetensors")
    spoiled = changed(network, W_U=np.roll(network.W_U, 1, axis=1))
    rehash(folder, network=spoiled)  # the verdicts and bounds of the honest network
    found = verdicts(check(folder))
    assert found[FEATURE_RANK] is PROVED  # the features are the same
    assert (found[ARGMAX], found[DIVERGENCE], found[ALL_CONTEXTS_DIVERGENCE]) == (REFUTED,) * 3
    data = certificate(folder)
    for claim in data["claims"][1:]:
        for bound in [name for name in claim["values"] if name.endswith(("lower", "upper"))]:
            del claim["values"][bound]
        claim["verdict"] = "UNDECIDED"
        claim["statement"] = restated(data, data["claims"].index(claim))
    data["claims"][1]["values"]["proved"] = task.n_contexts
    rewrite(folder, data)
    found = verdicts(check(folder))
    assert list(found.values()) == [PROVED, REFUTED, UNDECIDED, UNDECIDED]


# Re-hashed with other data: the certificate must then be about that data.


@both
def test_re_hashed_with_slightly_changed_weights_the_bounds_no_longer_hold(folder, check):
    network = Model.load(folder / "model.safetensors")
    rng = np.random.default_rng(0)
    noise = 1e-6 * rng.standard_normal(network.W_O.shape)
    rehash(folder, network=changed(network, W_O=network.W_O + noise))
    found = verdicts(check(folder))
    assert found[DIVERGENCE] is REFUTED or (check is check_memorization and found[DIVERGENCE] is UNDECIDED)
    assert check(folder).verdict is not PROVED


@both
@pytest.mark.parametrize("swap", [("W_Q", "W_K"), ("W_E", "W_E"), ("W_V", "W_V"), ("W_pos", "W_pos")])
def test_re_hashed_with_swapped_or_reversed_tensors_nothing_is_proved(folder, check, swap):
    network = Model.load(folder / "model.safetensors")
    a, b = (getattr(network, name) for name in swap)
    other = changed(network, **{swap[0]: b[::-1].copy(), swap[1]: a[::-1].copy()})
    rehash(folder, network=other)
    report = check(folder)
    assert report.verdict is REFUTED
    assert verdicts(report)[DIVERGENCE] is REFUTED


@both
def test_re_hashed_with_changed_labels_the_argmax_is_refuted(labels, check):
    arrays = dict(np.load(labels / "task.npz"))
    arrays["labels"][3] = (arrays["labels"][3] + 1) % 5
    rehash(labels, task=task_of(arrays))
    found = verdicts(check(labels))
    assert found == {FEATURE_RANK: PROVED, ARGMAX: REFUTED, DIVERGENCE: REFUTED, ALL_CONTEXTS_DIVERGENCE: PROVED}


@both
def test_re_hashed_with_changed_laws_the_divergence_is_not_proved(folder, check):
    arrays = dict(np.load(folder / "task.npz"))
    arrays["laws"] = 0.999 * arrays["laws"] + 0.001 / 5
    rehash(folder, task=task_of(arrays))
    found = verdicts(check(folder))
    assert found[DIVERGENCE] is REFUTED
    assert found[ALL_CONTEXTS_DIVERGENCE] is PROVED  # that one is about the counts


@both
def test_re_hashed_with_changed_counts_the_mean_over_all_contexts_is_refuted(folder, check):
    arrays = dict(np.load(folder / "task.npz"))
    data = certificate(folder)
    arrays["tail_counts_data"] = arrays["tail_counts_data"][::-1].copy()
    rehash(folder, task=task_of(arrays))
    assert verdicts(check(folder))[ALL_CONTEXTS_DIVERGENCE] is REFUTED
    arrays["tail_counts_data"] = arrays["tail_counts_data"] * 3
    rehash(folder, task=task_of(arrays))
    report = check(folder)
    assert verdicts(report)[ALL_CONTEXTS_DIVERGENCE] is REFUTED
    assert str(data["claims"][3]["values"]["occurrences"]) in report.checks[3].reason


@both
def test_re_hashed_with_permuted_contexts_nothing_is_proved(folder, check):
    arrays = dict(np.load(folder / "task.npz"))
    arrays["contexts"] = np.roll(arrays["contexts"], 1, axis=0)
    rehash(folder, task=task_of(arrays))
    found = verdicts(check(folder))
    assert (found[ARGMAX], found[DIVERGENCE], found[ALL_CONTEXTS_DIVERGENCE]) == (REFUTED,) * 3


@both
@pytest.mark.parametrize("honest_counts", [False, True])
def test_dropped_contexts_make_another_certificate_or_none(folder, check, honest_counts):
    arrays = dict(np.load(folder / "task.npz"))
    cut = int(arrays["counts_indptr"][-2])
    for name in ("contexts", "laws", "labels", "counts_indptr"):
        arrays[name] = arrays[name][:-1]
    for name in ("counts_indices", "counts_data"):
        arrays[name] = arrays[name][:cut]
    task = task_of(arrays)
    rehash(folder, task=task)
    if not honest_counts:
        with pytest.raises(FileFormatError, match="fit"):
            check(folder)
        return
    # With every count put right, it is a certificate about fewer contexts, and says so; the witness and the mean over
    # all contexts belong to the others.
    data = certificate(folder)
    data["claims"][0]["values"]["rows"] -= 1
    data["claims"][1]["values"].update(contexts=11, proved=11)
    data["claims"][2]["values"]["contexts"] -= 1
    data["claims"][3]["values"].update(
        contexts=task.n_all, occurrences=int(task.counts.data.sum() + task.tail_counts.data.sum())
    )
    for i in range(4):
        data["claims"][i]["statement"] = restated(data, i)
    rewrite(folder, data)
    found = verdicts(check(folder))
    assert found[ARGMAX] is PROVED
    assert found[DIVERGENCE] is not REFUTED  # the mean of fewer numbers
    assert found[FEATURE_RANK] is (PROVED if check is check_memorization else UNDECIDED)
    assert found[ALL_CONTEXTS_DIVERGENCE] is REFUTED


@both
@pytest.mark.parametrize("part", ["contexts", "tail_contexts"])
def test_a_context_that_occurs_twice_is_refused(folder, check, part):
    arrays = dict(np.load(folder / "task.npz"))
    arrays[part][1] = arrays["contexts"][0]
    spoil_task(folder, arrays)
    with pytest.raises(FileFormatError, match="more than once"):
        check(folder)


def spoil_task(folder, arrays, *, save=np.savez):
    """Arrays that no Task accepts, under the hash that they would have."""
    save(folder / "task.npz", **arrays)
    order = [
        *("contexts", "counts_indptr", "counts_indices", "counts_data", "labels", "prior", "tail_contexts"),
        *("tail_counts_indptr", "tail_counts_indices", "tail_counts_data", "laws"),
    ]
    text = json.dumps([str(arrays["target"]), arrays["vocabulary"].tolist()], separators=(",", ":"))
    digest = hashlib.sha256(text.encode())
    for name in order:
        if name in arrays:
            digest.update(f"{name}:{','.join(map(str, arrays[name].shape))};".encode() + arrays[name].tobytes())
    data = certificate(folder)
    data["subject"]["task"] = digest.hexdigest()
    rewrite(folder, data)


@both
@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("laws", lambda a: np.where(a == a.max(), np.nan, a)),
        ("laws", lambda a: np.where(a == a.max(), np.inf, a)),
        ("laws", lambda a: np.where(a == a.min(), 0.0, a)),
        ("laws", lambda a: -a),
        ("laws", lambda a: a[:, :-1]),
        ("laws", lambda a: a.astype(np.float32)),
        ("contexts", lambda a: a + 1),
        ("contexts", lambda a: a - 1),
        ("contexts", lambda a: a[:, :-1]),
        ("contexts", lambda a: a.astype(np.float64)),
        ("counts_data", lambda a: a * 0),
        ("counts_data", lambda a: -a),
        ("counts_data", lambda a: a.astype(np.float64)),
        ("counts_indptr", lambda a: a * 2),
        ("counts_indices", lambda a: a + 3),
        ("labels", lambda a: a + 5),
        ("labels", lambda a: a[:-1]),
        ("prior", lambda a: a[:-1]),
        ("tail_counts_indptr", lambda a: a[:-1]),
    ],
)
def test_a_task_of_wrong_types_shapes_or_values_is_refused_under_any_hash(folder, check, name, spoil):
    arrays = dict(np.load(folder / "task.npz"))
    spoil_task(folder, {**arrays, name: spoil(arrays[name])})
    with pytest.raises(REFUSED):
        check(folder)


@both
def test_a_compressed_pickled_or_repeated_array_is_refused(folder, check):
    arrays = dict(np.load(folder / "task.npz"))
    spoil_task(folder, arrays, save=np.savez_compressed)
    with pytest.raises(FileFormatError, match="compressed"):
        check(folder)
    spoil_task(folder, arrays)
    assert check(folder).verdict is PROVED
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(folder / "task.npz", "a") as file:
        file.writestr("labels.npy", file.read("labels.npy"))
    if check is check_independently:
        with pytest.raises(FileFormatError, match="repeated"):
            check(folder)
    arrays["contexts"] = arrays["contexts"].astype(object)
    np.savez(folder / "task.npz", **arrays)
    with pytest.raises(FileFormatError):
        check(folder)
    (folder / "task.npz").write_bytes(pickle.dumps(arrays))
    with pytest.raises(FileFormatError):
        check(folder)


class Bomb:
    """What a pickle would run."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was run",)


@both
def test_no_pickle_is_ever_run(folder, check):
    arrays = dict(np.load(folder / "task.npz"))
    np.savez(folder / "task.npz", **{**arrays, "labels": np.array([Bomb()], dtype=object)})
    with pytest.raises(FileFormatError):
        check(folder)


@both
@pytest.mark.parametrize("shape", ["(1000000000000,)", "(1000000, 1000000, 1000000)", "(4294967296, 4294967296)"])
def test_a_huge_declared_shape_is_refused_before_memory_is_taken(folder, check, shape):
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (118 - len(header))
    member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(64)
    with zipfile.ZipFile(folder / "task.npz") as file:
        members = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(folder / "task.npz", "w") as file:
        for name, content in {**members, "contexts.npy": member}.items():
            file.writestr(name, content)
    with pytest.raises(FileFormatError):
        check(folder)


@both
def test_a_zip_bomb_is_refused_before_it_is_unpacked(folder, check):
    with zipfile.ZipFile(folder / "task.npz") as file:
        members = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(folder / "task.npz", "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in {**members, "labels.npy": bytes(2**26)}.items():
            file.writestr(name, content)
    assert (folder / "task.npz").stat().st_size < 2**20
    with pytest.raises(FileFormatError, match="compressed"):
        check(folder)


@both
@pytest.mark.parametrize("name", ["W_E", "W_pos", "W_Q", "W_K", "W_V", "W_O", "W_U"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused(folder, check, name, value):
    content = bytearray((folder / "model.safetensors").read_bytes())
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    (place,) = (entry for full, entry in header.items() if full.rpartition(".")[2] == name)
    start = 8 + size + place["data_offsets"][0]
    content[start : start + 8] = struct.pack("<d", value)
    (folder / "model.safetensors").write_bytes(bytes(content))
    with pytest.raises(FileFormatError, match=r"model\.safetensors|infinity|finite"):
        check(folder)


@both
@pytest.mark.parametrize(
    "edit",
    [
        lambda h: h["unembed.W_U"].update(dtype="F32"),
        lambda h: h["unembed.W_U"].update(dtype="I64"),
        lambda h: h["unembed.W_U"].update(shape=h["unembed.W_U"]["shape"][::-1]),
        lambda h: h["unembed.W_U"].update(shape=[2**40, 2**40]),
        lambda h: h["unembed.W_U"].update(shape=[0, 5]),
        lambda h: h["unembed.W_U"].update(data_offsets=[0, 2**60]),
        lambda h: h["unembed.W_U"].update(data_offsets=h["embed.W_E"]["data_offsets"]),
        lambda h: h.update(W_X=h.pop("unembed.W_U")),
        lambda h: h.pop("unembed.W_U"),
    ],
)
def test_a_model_of_wrong_types_shapes_or_names_is_refused(folder, check, edit):
    content = (folder / "model.safetensors").read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    edit(header)
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + content[8 + size :])
    with pytest.raises(FileFormatError):
        check(folder)


@both
def test_a_model_with_a_huge_header_is_refused(folder, check):
    content = (folder / "model.safetensors").read_bytes()
    for size in (2**63, 2**40, len(content)):
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", size) + content[8:])
        with pytest.raises(FileFormatError):
            check(folder)


@both
def test_a_network_and_a_task_that_do_not_fit_are_refused_under_any_hash(folder, check):
    task = Task.load(folder / "task.npz")
    network = Model.load(folder / "model.safetensors")
    for name, other, size in (
        ("W_U", network.W_U[:, :-1], {"d_vocab_out": 4}),
        ("W_E", network.W_E[:-1], {"d_vocab": 4}),
        ("W_pos", network.W_pos[:-1], {"n_ctx": 2}),
    ):
        smaller = changed(network, **{name: other.copy()})
        rehash(folder, network=smaller, task=task)
        data = certificate(folder)
        data["subject"]["sizes"] |= {"d_vocab_out": 5, "d_vocab": 5, "n_ctx": 3} | size
        rewrite(folder, data)
        with pytest.raises(FileFormatError, match="fit"):
            check(folder)


# The witness.


@pytest.mark.parametrize(
    "spoil",
    [
        lambda w: {name: array * 0 for name, array in w.items()},
        lambda w: {**w, "mantissas": w["mantissas"] * 0},
        lambda w: {**w, "shift": np.array(-1.0)},
        lambda w: {**w, "mantissas": np.full_like(w["mantissas"], np.iinfo(w["mantissas"].dtype).max)},
        lambda w: {**w, "row_exponents": np.full_like(w["row_exponents"], 2**30)},
        lambda w: {**w, "mantissa_exponents": np.full_like(w["mantissa_exponents"], -(2**30))},
        lambda w: {**w, "mantissas": w["mantissas"].astype(np.float64)},
        lambda w: {**w, "mantissas": w["mantissas"][:-1]},
        lambda w: {name: w[name] for name in ("shift", "mantissas")},
        lambda w: {},
    ],
)
def test_a_hostile_witness_proves_nothing_and_harms_nothing_else(folder, spoil):
    witness = spoil(dict(np.load(folder / "witness.npz")))
    np.savez(folder / "witness.npz", **witness)
    with pytest.raises(TamperedError, match="witness"):
        check_independently(folder)
    data = certificate(folder)
    data["witness"]["sha256"] = hashlib.sha256((folder / "witness.npz").read_bytes()).hexdigest()
    rewrite(folder, data)
    assert list(verdicts(check_independently(folder)).values()) == [UNDECIDED, PROVED, PROVED, PROVED]
    assert check_memorization(folder).verdict is PROVED  # which needs no witness


@pytest.mark.parametrize("shift", [1e300, 1.0, 1e-300])
def test_another_shift_changes_nothing_where_the_factor_alone_proves_the_rank(folder, shift):
    r"""$c - \|K - cI - L L^T\|$ in the maximum norm is the bound of Gershgorin for $K - L L^T$, whatever c is."""
    honest = check_independently(folder).checks[0].values
    np.savez(folder / "witness.npz", **{**dict(np.load(folder / "witness.npz")), "shift": np.array(shift)})
    data = certificate(folder)
    data["witness"]["sha256"] = hashlib.sha256((folder / "witness.npz").read_bytes()).hexdigest()
    rewrite(folder, data)
    check = check_independently(folder).checks[0]
    bound = check.values.get("smallest_singular_value_lower", 0.0)
    assert bound <= 1.001 * honest["smallest_singular_value_lower"]
    assert check.verdict is (UNDECIDED if shift == 1e-300 else PROVED)


@pytest.mark.parametrize("content", [b"", b"PK", b"\x00" * 1000, pickle.dumps({})])
def test_a_witness_that_is_no_archive_is_refused(folder, content):
    (folder / "witness.npz").write_bytes(content)
    data = certificate(folder)
    data["witness"]["sha256"] = hashlib.sha256(content).hexdigest()
    rewrite(folder, data)
    with pytest.raises(FileFormatError, match="witness"):
        check_independently(folder)


@both
def test_a_witness_outside_of_the_folder_is_refused(folder, check):
    for name in ("../witness.npz", "/etc/passwd", "model.safetensors"):
        data = certificate(folder)
        data["witness"]["file"] = name
        rewrite(folder, data)
        with pytest.raises(FileFormatError, match=r"witness\.file"):
            check(folder)


# The whole attack: random damage, all hashes right.


@pytest.mark.slow
@settings(max_examples=1000)
@given(st.integers(0, 2**32 - 1))
def test_random_damage_under_right_hashes_proves_nothing_false(originals, seed):
    rng = np.random.default_rng(seed)
    with TemporaryDirectory() as top:
        folder = Path(shutil.copytree(originals / "labels", Path(top) / "labels"))
        network, task = Model.load(folder / FILES[0]), Task.load(folder / FILES[1])
        name = str(rng.choice(["W_E", "W_pos", "W_Q", "W_K", "W_V", "W_O", "W_U"]))
        tensor = getattr(network, name).copy()
        tensor[rng.random(tensor.shape) < 0.3] *= rng.choice([0.0, -1.0, 1e-3, 1e3, 1e20])
        damaged = changed(network, **{name: tensor})
        rehash(folder, network=damaged)
        honest = write_memory(Path(top) / "honest", damaged, task).certificate
        for check in CHECKERS:
            for claim, checked in zip(honest.claims, check(folder).checks, strict=True):
                if checked.verdict is PROVED and claim.id == ARGMAX:
                    assert claim.verdict is PROVED
                if checked.verdict is PROVED and claim.id == ALL_CONTEXTS_DIVERGENCE:
                    stored = {
                        k: float.fromhex(v)
                        for k, v in certificate(folder)["claims"][3]["values"].items()
                        if k in ("lower", "upper")
                    }
                    assert claim.values["lower"] <= stored["upper"] and stored["lower"] <= claim.values["upper"]
