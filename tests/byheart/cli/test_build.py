"""`byheart build`: the weights that a claim promises, with their certificate."""

import json

import pytest

from byheart.cli.main import main
from constructions.model.construction import Construction
from tests.layers import memory_layer, random_layer_task
from verify.theorems.claim import Claim
from verify.theorems.claims import claim


def test_build_writes_a_folder_that_check_proves_again(tmp_path, capsys):
    out = str(tmp_path / "built")
    assert main(["build", "dana.lemma-3", "--out", out, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["claim"] == "dana.lemma-3" and summary["verdict"] == "PROVED"
    assert summary["construction"] == dict(claim("dana.lemma-3").parameters)
    assert main(["check", out, "--fast"]) == 0
    assert main(["build", "dana.lemma-3", "--out", out]) == 2
    assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dana.lemma-3", "--param", "wrong=1"], "dana.lemma-3 has no parameter 'wrong', expected"),
        (["dana.lemma-3", "--param", "seed=1", "--param", "seed=2"], "a name is given twice"),
        (["dana.lemma-0"], "no claim 'dana.lemma-0'"),
    ],
)
def test_build_refuses_what_the_claim_does_not_know(arguments, message, tmp_path, capsys):
    assert main(["build", *arguments, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("of_a_claim", ["dana.lemma-2", "dana.skip-head", "dana.lemma-3", "slides.least-squares"])
def test_the_first_line_is_about_weights_and_says_the_verdict_on_the_claim(of_a_claim, tmp_path, capsys):
    """PROVED is said of the weights: those of a false claim hold their task too."""
    assert main(["build", of_a_claim, "--quiet", "--out", str(tmp_path / "built")]) == 0
    verdict = claim(of_a_claim).judgement
    said = capsys.readouterr().out.removesuffix("; every float64 run (fast prover only)\n").removesuffix("\n")
    assert said.endswith(f"; weights for {of_a_claim}, a claim whose verdict is {verdict!r}")


def layer_claim(kind="regression"):
    def build():
        task = random_layer_task(examples=5, tokens=4, d_model=4, kind=kind)
        return Construction(task, memory_layer(task, n_heads=3), "random heads")

    return Claim("x.model", "A layer", "Source", "", "holds", "", "docs/layer.md", build=build)


@pytest.fixture
def layer_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("byheart.theorems.register.claim", lambda id: layer_claim())
    assert main(["build", "x.model", "--verbose", "--out", str(tmp_path / "layer")]) == 0
    shown = capsys.readouterr().out
    for phrase in (
        "random heads",
        "REPRODUCES ITS TARGETS, PROVED: 5 of 5",
        "distance",
        " of 15",
        "float32",
        "model.safetensors",
    ):
        assert phrase in shown
    return tmp_path / "layer"


def test_a_layer_is_built_checked_and_run_like_a_network(layer_folder, capsys):
    assert main(["check", str(layer_folder), "--fast", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert [check["id"] for check in summary["statements"]] == ["answers", "feature-rank", "saturation"]
    assert main(["check", str(layer_folder)]) == 0
    assert "method the kernel" in " ".join(capsys.readouterr().out.split())
    assert main(["run", str(layer_folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["within_bound"] is True
    assert main(["run", str(layer_folder), "--dtype", "bfloat16"]) == 3
    assert "not judged" in " ".join(capsys.readouterr().out.split())


def test_a_layer_of_classes_shows_its_margin_and_its_accuracy(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("byheart.theorems.register.claim", lambda id: layer_claim("classification"))
    assert main(["build", "x.model", "--verbose", "--out", str(tmp_path / "layer")]) == 0
    shown = capsys.readouterr().out
    assert "least margin" in shown and "accuracy 1;" in " ".join(shown.split())


@pytest.mark.parametrize("name", ["model.safetensors", "task.safetensors", "certificate.json"])
@pytest.mark.parametrize("damage", ["truncated", "missing"])
def test_check_exits_2_on_a_damaged_layer(layer_folder, capsys, name, damage):
    path = layer_folder / name
    data = path.read_bytes()
    path.unlink()
    if damage == "truncated":
        path.write_bytes(data[:-9])
    for options in ([], ["--fast"]):
        assert main(["check", str(layer_folder), *options]) == 2
    error = capsys.readouterr().err
    assert error.count("byheart: ") == 2 and "Traceback" not in error


def test_a_construction_prints_what_is_proved_beside_what_is_printed(tmp_path, capsys):
    (tmp_path / "contexts.txt").write_text("0 0 0\n1 1 0\n0 1 0\n1 0 0\n")
    words = ["build", "full-rank-attention", "--contexts", str(tmp_path / "contexts.txt")]
    assert main([*words, "--param", "n_heads=1", "d_head=4", "--out", str(tmp_path / "out")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Read as 4 contexts of 3 tokens: 0 0 0; 1 1 0; 0 1 0 and 1 more." in shown
    assert "rank of Y, heads alone exactly 3 (4 x 4); of any weights at most 3; Lemma 2: min(T, H d_h) = 4" in shown
    measured = json.loads((tmp_path / "out" / "measured.json").read_text())
    assert measured["figures"]["findings"][0]["values"]["all_weights_upper"] == 3


def test_weights_of_a_claim_name_the_construction_for_ones_own_data(tmp_path, capsys):
    assert main(["build", "dana.theorem-1", "--out", str(tmp_path / "out")]) == 0
    assert "For contexts of your own: byheart build theorem-1 --contexts FILE" in capsys.readouterr().out
    assert main(["build", "dana.theorem-1", "--param", "seed=1/2", "--out", str(tmp_path / "other")]) == 2
    assert "--param seed=1/2 is not an integer" in capsys.readouterr().err


def test_weights_that_follow_a_rule_with_a_state_are_built_and_proved(tmp_path, capsys):
    out = str(tmp_path / "parity")
    assert main(["build", "parity", "--param", "bits=70", "--out", out]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"MEMORIZED, PROVED: {2**70:,} of {2**70:,} inputs") and "every float32 run" in shown
    assert "byheart run" not in shown
    assert main(["check", out]) == 3 and "the kernel has no proof" in capsys.readouterr().out.splitlines()[0]
    assert main(["check", out, "--fast"]) == 0
    for refused in (["explain", out, "1 0"], ["run", out], ["export", out, "--to", "safetensors", "--out", f"{out}-e"]):
        capsys.readouterr()
        assert main(refused) == 2
        said = capsys.readouterr().err
        assert "said token by token" in said or "a rule on a whole domain" in said
    assert main(["build", "parity", "--param", "digits=2", "--out", str(tmp_path / "other")]) == 2
    assert main(["build", "parity", "--param", "bits=2.5", "--out", str(tmp_path / "other")]) == 2
    assert main(["build", "parity", "--contexts", out, "--out", str(tmp_path / "other")]) == 2
    assert not (tmp_path / "other").exists()


def test_the_constructions_are_listed_where_that_is_asked_for(capsys) -> None:
    assert main(["build", "--list"]) == 0
    listed = capsys.readouterr().out
    assert " constructions can be built: byheart build NAME\n" in listed
    assert "adder" in listed and "modular-sum" in listed


def test_without_a_construction_one_sentence_says_how_to_find_one(capsys) -> None:
    assert main(["build"]) == 2
    said, refused = capsys.readouterr()
    assert said == "" and refused.count("\n") == 1
    assert refused.startswith("byheart: NAME is missing, expected a construction, which `byheart build --list` names")
