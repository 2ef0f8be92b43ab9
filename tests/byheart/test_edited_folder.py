import json
from pathlib import Path

import pytest

from byheart import edited_folder
from byheart.cli.main import main
from byheart.edited_folder import require_proved_weights
from byheart.editing import edit
from byheart.hosts.host import WEIGHTS_FILE
from byheart.hosts.number_types import read_tensors, write_tensors
from byheart.hosts.reading import read_model
from constructions.errors import InputError, TamperedError
from tests.edited_hosts import LENGTH, TOKENS, answer, facts, gpt2, recorded
from verify import Verdict
from verify.provers.edit import check_edit


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_an_edited_folder_is_the_hosts_and_carries_its_proof(tmp_path: Path, dtype: str) -> None:
    source = gpt2(tmp_path / "m", dtype=dtype)
    before = read_model(source)
    new = facts([[0, 1], [3, 3]], [(answer(before, [0, 1]) + 1) % TOKENS, (answer(before, [3, 3]) + 2) % TOKENS])
    old = facts([[5, 6]], [answer(before, [5, 6])])
    done = edit(source, new, delete=old, keep_domain=LENGTH, out=tmp_path / "out")
    assert done.certificate.verdict is Verdict.PROVED and done.dtype == dtype
    after = read_model(tmp_path / "out")
    assert after.sha256() == done.model.sha256()
    assert [answer(after, row) for row in new.contexts.tolist()] == new.labels.tolist()
    assert answer(after, [5, 6]) != old.labels[0]
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["n_inner"] == 35 and config["dtype"] == dtype
    assert (tmp_path / "out" / "merges.txt").is_file()
    assert check_edit(tmp_path / "out" / "proof").verdict is Verdict.PROVED
    again = edit(tmp_path / "out", facts([[2, 2]], [0]), keep_domain=LENGTH, out=tmp_path / "twice")
    assert again.certificate.verdict is Verdict.PROVED


def test_weights_that_only_round_to_those_that_are_proved_are_refused(tmp_path: Path) -> None:
    """Whoever loads the folder in float32 has others."""
    source, out = gpt2(tmp_path / "m", dtype="bfloat16"), tmp_path / "out"
    right = answer(read_model(source), [0, 1])
    hash = edit(source, facts([[0, 1]], [(right + 1) % TOKENS]), keep_domain=1, out=out).certificate.edited
    require_proved_weights(out, hash)
    tensors, _ = read_tensors(out / WEIGHTS_FILE)
    near = {name: x * (1.0 + 2.0**-12) for name, x in tensors.items()}
    write_tensors(out / WEIGHTS_FILE, near, dtype="float32", metadata={"format": "pt"})
    with pytest.raises(TamperedError, match="another model than the one that is proved"):
        require_proved_weights(out, hash)


def test_an_adapter_beside_the_weights_is_refused_before_and_after_an_edit(tmp_path: Path) -> None:
    """Hosts that know adapters load the model that it names, and not these weights."""
    source, out = gpt2(tmp_path / "m"), tmp_path / "out"
    right = answer(read_model(source), [0, 1])
    new = facts([[0, 1]], [(right + 1) % TOKENS])
    edit(source, new, keep_domain=1, out=out)
    assert main(["check", str(out)]) == 0
    for folder in (source, out):
        (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "another"}')
    assert main(["check", str(out)]) != 0
    with pytest.raises(InputError, match="hosts load another model"):
        edit(source, new, keep_domain=1, out=tmp_path / "again")


FAMILIES = [
    ("llama", 0, "llama"), ("llama", 1, "llama"), ("smollm3", 0, "smollm3"), ("mistral", 1, "llama"),
    ("qwen2", 0, "llama"), ("phi", 0, "phi"), ("gptj", 0, "gptj"), ("gpt_neox", 0, "gpt_neox"), ("opt", 1, "opt"),
    ("codegen", 0, "codegen"), ("gpt_neo", 0, "gpt_neo"),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(("kind", "case"), sorted({(kind, case) for kind, case, _ in FAMILIES}))
def test_each_family_is_written_back_in_short_types_whose_host_computes_rotary_angles_in_float32(
    tmp_path: Path, kind: str, case: int, dtype: str
) -> None:
    source, out = recorded(tmp_path / "m", kind, case), tmp_path / "out"
    before = read_model(source)
    new = facts([[1]], [(answer(before, [1]) + 1) % TOKENS], tokens=11)
    done = edit(source, new, out=out, dtype=dtype)
    assert done.is_rounded and answer(read_model(out), [1]) == new.labels[0]
    assert done.original.sha256() == edited_folder.read_editable(source).sha256()
    require_proved_weights(out, done.certificate.edited)
    again = edit(out, facts([[2]], [(answer(read_model(out), [2]) + 1) % TOKENS], tokens=11))
    assert again.dtype == dtype and not again.is_rounded  # what is stored in a type is not rounded again


@pytest.mark.parametrize(("kind", "case", "stored"), FAMILIES)
def test_each_family_is_edited_and_written_back(tmp_path: Path, kind: str, case: int, stored: str) -> None:
    source = recorded(tmp_path / "m", kind, case)
    before = read_model(source)
    new = facts([[1, 2], [3, 4]], [(answer(before, row) + 1) % TOKENS for row in ([1, 2], [3, 4])], tokens=11)
    layer = 0 if kind in ("llama", "qwen2") and case == 0 else None
    done = edit(source, new, keep_domain=LENGTH, layer=layer, out=tmp_path / "out")
    assert done.certificate.verdict is Verdict.PROVED and done.certificate.layer == layer
    assert json.loads((tmp_path / "out" / "config.json").read_text())["model_type"] == stored
    after = read_model(tmp_path / "out")
    assert after.sha256() == done.model.sha256()
    assert [answer(after, row) for row in new.contexts.tolist()] == new.labels.tolist()
    assert answer(after, [5, 6]) == answer(before, [5, 6])
    assert check_edit(tmp_path / "out" / "proof").verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("kind", "case", "said"),
    [
        ("mistral", 0, "sliding window"),
        ("starcoder2", 0, "no shifts"),
        ("opt", 0, "have a norm after them"),
        ("phi3", 0, "phi3"),
    ],
)
def test_a_model_that_cannot_be_written_back_with_shifts_is_refused(
    tmp_path: Path, kind: str, case: int, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        edit(recorded(tmp_path / "m", kind, case), facts([[1, 2]], [3], tokens=11))


@pytest.mark.parametrize("kind", ["gpt2", "llama", "mistral", "qwen2"])
def test_the_host_loads_what_was_edited(tmp_path: Path, kind: str) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers", reason="needs `pip install 'byheart[huggingface]'`")
    folder = gpt2(tmp_path / "m") if kind == "gpt2" else recorded(tmp_path / "m", kind, {"mistral": 1}.get(kind, 0))
    before, tokens = read_model(folder), TOKENS if kind == "gpt2" else 11
    new = facts([[1, 2], [3, 4]], [(answer(before, row) + 1) % TOKENS for row in ([1, 2], [3, 4])], tokens=tokens)
    edit(folder, new, keep_domain=LENGTH, out=tmp_path / "out")
    contexts = torch.cartesian_prod(torch.arange(tokens), torch.arange(tokens))
    old, own = (
        transformers.AutoModelForCausalLM.from_pretrained(place).double().eval()(contexts).logits[:, -1].detach()
        for place in (folder, tmp_path / "out")
    )
    edited = [int(row[0]) * tokens + int(row[1]) for row in new.contexts]
    assert own.argmax(1)[edited].tolist() == new.labels.tolist()
    others = [place for place in range(len(contexts)) if place not in edited]
    assert (own[others] - old[others]).abs().max() < 1e-5
    assert (own.argmax(1) == old.argmax(1))[others].all()


@pytest.mark.parametrize("changed", ["a tensor", "an option", "a shift"])
def test_a_form_with_shifts_that_is_another_model_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    source = recorded(tmp_path / "m", "mistral", 1)
    stored = edited_folder._stored(source)
    assert stored is not None
    tensors, config = stored
    if changed == "an option":
        config["rms_norm_eps"] = 0.5
    else:
        name = "model.norm.weight" if changed == "a tensor" else "model.layers.0.mlp.up_proj.bias"
        tensors[name] = tensors[name] + 0.5
    monkeypatch.setattr(edited_folder, "_stored", lambda *_: (tensors, config))
    with pytest.raises(InputError, match="not the same model"):
        edited_folder.read_editable(source)
