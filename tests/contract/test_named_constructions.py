"""Every construction by its name: built, checked twice, run, exported, and its certified numbers computed otherwise.

The numbers are computed here with fractions and with balls of FLINT, without a line of what built or certified them.
"""

import importlib.util
import json
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from byheart.cli.main import main
from byheart.theorems.building import build_named
from byheart.theorems.findings import findings
from constructions.errors import InputError
from constructions.model.shapes import is_dana_network
from constructions.named.registry import NAMED, named
from constructions.tasks.task import Task
from tests.by_kernel import check_by_kernel
from verify.certificates.certificate import KERNEL, Certificate
from verify.provers.memorization import certify_memorization, load_subject

NAMES = [each.name for each in NAMED]
HOSTS = {"safetensors": "safetensors", "onnx": "onnxruntime", "huggingface": "transformers", "attention-layer": "torch"}
"""Hosts that take every construction, with the package that they need."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder of each construction, built once."""
    place, built = tmp_path_factory.mktemp("named"), {}

    def folder(name):
        if name not in built:
            built[name] = place / name
            assert main(["build", name, "--out", str(built[name]), "--quiet"]) == 0
        return built[name]

    return folder


@pytest.mark.parametrize("name", NAMES)
def test_each_is_proved_again_by_kernel_and_prover(name, folders):
    assert main(["check", str(folders(name)), "--fast"]) == 0
    certificate = Certificate.load(folders(name))
    assert main(["check", str(folders(name))]) == (3 if certificate.for_the_prover_alone() else 0)
    for stated, checked in zip(certificate.statements, check_by_kernel(folders(name)).checks, strict=True):
        assert checked.is_proved == (certificate.checker(stated) == KERNEL), stated.label


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", NAMES)
def test_each_runs_within_its_bounds(name, dtype, folders, capsys):
    pytest.importorskip("torch")
    code = main(["run", str(folders(name)), "--dtype", dtype, "--json"])
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert code == 0 and shown["within_bound"] is True


@pytest.mark.parametrize("name", NAMES)
def test_a_type_that_the_bounds_do_not_cover_is_not_judged(name, folders, capsys):
    pytest.importorskip("torch")
    assert main(["run", str(folders(name)), "--dtype", "bfloat16", "--json"]) in (0, 3)
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert shown["verdict"] == "PROVED" or shown["headline"].startswith("NOT JUDGED")


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("name", NAMES)
def test_each_is_written_for_other_programs(name, host, folders, tmp_path, capsys):
    if importlib.util.find_spec(HOSTS[host]) is None:
        pytest.skip(f"{HOSTS[host]} is not installed")
    assert main(["export", str(folders(name)), "--to", host, "--out", str(tmp_path / "out"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert shown["agrees"] is True and all(
        run["memorized"] == shown["proved"]["memorized"] for run in shown["measured"]["runs"].values()
    )
    assert ("answers.json" in shown["files"]) == (name != "saturated-heads")


@pytest.mark.parametrize("name", NAMES)
def test_gpt_2_takes_labels_of_tokens_and_refuses_the_others_by_name(name, folders, tmp_path, capsys):
    pytest.importorskip("transformers")
    code = main(["export", str(folders(name)), "--to", "gpt2", "--out", str(tmp_path / "out")])
    error = capsys.readouterr().err
    if named(name).data.name == "contexts":
        assert code == 0
    else:
        reason = "the target is 'distributions'" if named(name).data.name == "distributions" else "reads vectors"
        assert code == 2 and reason in error


@pytest.mark.parametrize("words", [["0 1 1", "0, 1, 1", "0,1,1"], ["10 2 0", "10, 2, 0"], ["a cat sat", "a, cat, sat"]])
def test_a_context_is_read_as_it_is_shown_and_decoding_ends_after_the_answer(words, tmp_path, capsys):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("tokenizers")
    first = words[0].split()
    rows = [first, [first[1], first[0], first[2]], [first[2]] * 3]
    (tmp_path / "contexts.csv").write_text("\n".join(map(" ".join, rows)) + "\n")
    folder, out = tmp_path / "heads", tmp_path / "out"
    assert main(["build", "theorem-1", "--contexts", str(tmp_path / "contexts.csv"), "--out", str(folder)]) == 0
    assert main(["export", str(folder), "--to", "huggingface", "--out", str(out)]) == 0
    assert json.loads((out / "config.json").read_text())["model_type"] == "gpt2"
    _, task = load_subject(folder, Certificate.load(folder))
    assert isinstance(task, Task)
    answers = dict(zip(map(tuple, task.contexts.tolist()), task.labels.tolist(), strict=True))
    wanted = task.answers[answers[tuple(task.vocabulary.index(token) for token in first)]]
    assert json.loads((out / "answers.json").read_text()) == list(task.answers)
    tokenizer = transformers.AutoTokenizer.from_pretrained(out)
    model = transformers.AutoModelForCausalLM.from_pretrained(out)
    capsys.readouterr()
    for text in words:
        read = tokenizer(text, return_tensors="pt")
        assert [tokenizer.decode([token]) for token in read["input_ids"][0]] == first
        said = model.generate(**read, max_new_tokens=20)[0, 3:].tolist()
        assert [tokenizer.decode([token]) for token in said][:1] == [wanted] and len(said) == 1
        assert main(["ask", str(folder), text, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["token"] == wanted
    with pytest.raises(Exception, match="UNK"):
        tokenizer("zz zz zz")


# ---------------------------------------------------------------------------------------------------------------------
# The certified numbers, computed otherwise.


def judged(name, file, parameters):
    """A construction for the data of a file, and what is proved of it."""
    built = named(name).construct(file, **parameters).built
    asked = {"rank_of_heads": is_dana_network(built.model), "rank_with_skip": is_dana_network(built.model)}
    proved = certify_memorization(built.model, built.task, built.criterion, **asked)
    return built, findings(built, proved)


def largest_rank(contexts, *, d_model, d_head, n_heads, with_skip, draws=3):
    """The largest rank over rational weights of attention that are drawn at random, exactly: equal to that over all."""
    best = 0
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        tokens, length = int(contexts.max()) + 1, contexts.shape[1]

        def drawn(*shape, rng=rng):
            return rng.integers(-9, 10, shape).astype(object)

        embeddings, positions = drawn(tokens, d_model), drawn(length, d_model)
        values = drawn(n_heads, d_model, d_head)
        # exp of a score depends on the last token, and on the token and its place
        powers = rng.integers(1, 50, (n_heads, tokens, length, tokens)).tolist()
        rows = []
        for context in contexts.tolist():
            inputs = [embeddings[token] + positions[s] for s, token in enumerate(context)]
            row = list(inputs[-1]) if with_skip else []
            for head in range(n_heads):
                weights = [powers[head][context[-1]][s][token] for s, token in enumerate(context)]
                mixed = sum(weight * x for weight, x in zip(weights, inputs, strict=True))
                row += [fmpq(int(entry), sum(weights)) for entry in mixed @ values[head]]
            rows.append([fmpq(int(entry)) if isinstance(entry, int) else entry for entry in row])
        best = max(best, fmpq_mat(rows).rank())
    return best


@given(
    st.sets(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=9),
    st.integers(2, 4),
    st.integers(1, 2),
    st.integers(1, 3),
)
def test_the_certified_ranks_are_those_of_rational_attention(drawn, d_model, d_head, n_heads):
    sizes = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}
    rows = sorted(drawn)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "contexts.json"
        file.write_text(json.dumps(rows))
        _, found = judged("full-rank-attention", file, sizes)
    seen = sorted({token for row in rows for token in row})
    contexts = np.array([[seen.index(token) for token in row] for row in rows])
    for finding, with_skip in zip(found, (False, True), strict=True):
        own = largest_rank(contexts, **sizes, with_skip=with_skip)
        assert finding.values["lower"] <= own <= finding.values["all_weights_upper"]
        assert finding.values["lower"] == own  # small and well conditioned


@given(st.lists(st.lists(st.integers(1, 200), min_size=5, max_size=5), min_size=1, max_size=4), st.integers(0, 3))
def test_the_certified_coherence_and_divergences_are_those_of_rational_arithmetic(weights, seed):
    distributions = [[Fraction(weight, sum(row)) for weight in row] for row in weights]
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "distributions.csv"
        file.write_text("\n".join(", ".join(map(str, distribution)) for distribution in distributions))
        built, shown = judged("johnson-lindenstrauss-unembedding", file, {"d_model": 24, "seed": seed})
    model = built.model
    vectors = model.W_U.T.astype(int).tolist()
    found = {each.what: each.values for each in shown}
    products = [sum(a * b for a, b in zip(u, w, strict=True)) for i, u in enumerate(vectors) for w in vectors[:i]]
    own = max(abs(Fraction(product, 24)) for product in products)
    assert own <= Fraction(found["coherence"]["coherence_upper"]) <= own * (1 + Fraction(1, 10**12))
    with ctx.workprec(200):
        for row, distribution in enumerate(distributions):
            stream = [Fraction(x) for x in (model.W_E[row] + model.W_pos[0]).tolist()]
            logits = [sum(a * b for a, b in zip(stream, w, strict=True)) for w in vectors]
            scores = [arb(fmpq(z.numerator, z.denominator)) for z in logits]
            normalizer = sum((z.exp() for z in scores), arb(0)).log()
            shares = [arb(fmpq(p.numerator, p.denominator)) for p in distribution]
            divergence = sum((p * (p.log() - z + normalizer) for p, z in zip(shares, scores, strict=True)), arb(0))
            bounds = found[f"KL of row {row + 1}"]
            # The distribution that is memorized has float64 entries: each is off by a part in 2^53.
            assert arb(bounds["lower"]) - 1e-12 < divergence < arb(bounds["upper"]) + 1e-12
            assert divergence < arb(bounds["bound"]) + 1e-12


@pytest.mark.parametrize("sharpness", [4, 12])
def test_the_error_of_the_copy_is_what_balls_compute_on_every_context(sharpness):
    sizes = {"sharpness": sharpness, "d_vocab": 2, "n_ctx": 3, "d_model": 3, "d_head": 2}
    built, shown = judged("skip-connection-head", None, sizes)
    network, model = built.heads.network, built.heads.model
    [bound] = [each.values["error_upper"] for each in shown if "built" in each.what]
    with ctx.workprec(200):
        largest = arb(0)
        for context in ([a, b, c] for a in range(2) for b in range(2) for c in range(2)):
            gap = logits_in_balls(model, context) - logits_in_balls(network, context)
            for entry in gap.entries():
                largest = largest.max(abs(entry))
        assert largest < arb(bound) * (1 + 1e-9) and arb(bound) < largest * (1 + 1e-6)


def logits_in_balls(model, context):
    """The logits of one attention at the last position, from its formula."""
    block = model.attention
    inputs = [arb_mat([model.W_E[token].tolist()]) + arb_mat([model.W_pos[s].tolist()])
              for s, token in enumerate(context)]  # fmt: skip
    last = inputs[-1]
    stream = last if block.skip else arb_mat(1, block.W_O.shape[2])
    for W_Q, W_K, W_V, W_O in zip(block.W_Q, block.W_K, block.W_V, block.W_O, strict=True):
        query = last * arb_mat(W_Q.tolist())
        powers = [(query * (x * arb_mat(W_K.tolist())).transpose())[0, 0].exp() for x in inputs]
        total = sum(powers, arb(0))
        mixed = arb_mat(1, last.ncols())
        for power, x in zip(powers, inputs, strict=True):
            mixed += x * (power / total)
        stream += mixed * arb_mat(W_V.tolist()) * arb_mat(W_O.tolist())
    return stream * arb_mat(model.W_U.tolist())


def test_the_rank_and_the_saturation_of_given_vectors_are_what_balls_compute(tmp_path):
    rng = np.random.default_rng(3)
    contexts, queries = rng.normal(size=(1, 3, 4)), rng.normal(size=(7, 4))
    np.savez(tmp_path / "vectors.npz", contexts=contexts[0], queries=queries)
    figures = build_named(
        named("saturated-heads"),
        out=tmp_path / "out", file=tmp_path / "vectors.npz", parameters={"n_heads": 3, "d_head": 3},
    )  # fmt: skip
    certificate = Certificate.load(tmp_path / "out")
    model, _ = load_subject(tmp_path / "out", certificate)
    saturated, rows = 0, []
    with ctx.workprec(200):
        keys = arb_mat(contexts[0].tolist())
        for query in queries.tolist():
            row = []
            for W_Q, W_K in zip(model.attention.W_Q, model.attention.W_K, strict=True):
                scores = keys * arb_mat(W_K.tolist()) * (arb_mat([query]) * arb_mat(W_Q.tolist())).transpose()
                powers = [score.exp() for score in scores.entries()]
                attention = [power / sum(powers, arb(0)) for power in powers]
                saturated += any(weight > 1 - arb(certificate.figure("saturation", "delta")) for weight in attention)
                row += (arb_mat([attention]) * keys).entries()
            rows.append(row)
        gram = arb_mat(rows) * arb_mat(rows).transpose()
        assert not gram.det().contains(0)
    rank, pairs = figures.findings
    assert rank.values["lower"] == 7
    assert 0 < certificate.figure("saturation", "saturated_lower") <= saturated
    assert pairs.text.startswith(f"at least {certificate.figure('saturation', 'saturated_lower')} of 21 pairs")
    assert pairs.text.endswith("above 1 - 0.01")


# ---------------------------------------------------------------------------------------------------------------------
# Bad input, refused by the hypothesis that it violates.


@pytest.mark.parametrize(
    ("name", "option", "file", "content", "parameters", "message"),
    [
        (
            "full-rank-attention",
            "contexts",
            "a.csv",
            "0 1\n0 1\n",
            [],
            "Lemma 2 needs pairwise distinct contexts, but rows 1 and 2",
        ),
        ("theorem-1", "contexts", "a.csv", "0 1\n0 1\n", [], "Theorem 1 needs pairwise distinct contexts"),
        ("skip-connection-head", "contexts", "a.csv", "0 1\n0 1\n", [], "Section 4.1 needs pairwise distinct contexts"),
        ("full-rank-attention", "contexts", "a.csv", "0 1\n1\n", [], "line 2 of the table has 1 cell, but"),
        ("full-rank-attention", "contexts", "a.csv", "0 1\n", ["d_head=5"], "d_head = 5, expected at most d_model = 4"),
        ("full-rank-attention", "contexts", "a.csv", "0 1\n", ["d_vocab=5"], "d_vocab = 5 is given beside --contexts"),
        ("full-rank-attention", "contexts", "a.csv", "0 1\n", ["seed=-1"], "seed = -1, expected at least 0"),
        ("full-rank-attention", "vectors", "a.npz", "", [], "--vectors is"),
        ("johnson-lindenstrauss-unembedding", "distributions", "a.csv", "0.5 0.4\n", [], "needs a sum of 1, but row 1"),
        ("johnson-lindenstrauss-unembedding", "distributions", "a.csv", "nan 1\n", [], "the entry 'nan'"),
        ("johnson-lindenstrauss-unembedding", "distributions", "a.csv", "1 0\n", [], "full support"),
        (
            "johnson-lindenstrauss-unembedding",
            "distributions",
            "a.csv",
            ".5 .5\n",
            ["coherence=0.01", "d_model=9"],
            "a coherence of at most 0.01",
        ),
        ("gaussian-unembedding", "distributions", "a.csv", ".5 .5\n", ["coherence=2"], "coherence = 2"),
        (
            "saturated-heads",
            "vectors",
            "a.json",
            '{"contexts": [[0.5]], "queries": [[NaN]]}',
            [],
            "queries has the entry nan",
        ),
        ("saturated-heads", "vectors", "a.json", '{"queries": [[1]]}', [], "expected contexts and queries"),
        ("saturated-heads", "vectors", "a.json", '{"contexts": [[1, 0]], "queries": [[1]]}', [], "contexts has shape"),
        (
            "saturated-heads",
            "vectors",
            "a.json",
            '{"contexts": [[1, 2]], "queries": [[1, 2], [3, 1]]}',
            ["n_heads=1"],
            "needs T <= H (b - 1) + 1",
        ),
        (
            "saturated-heads",
            "vectors",
            "a.json",
            '{"contexts": [[1e300, 2]], "queries": [[1, 2]]}',
            [],
            "contexts has the largest entry 1e+300",
        ),
    ],
)
def test_bad_input_is_refused_by_its_hypothesis(name, option, file, content, parameters, message, tmp_path, capsys):
    (tmp_path / file).write_text(content)
    given = ["--param", *parameters] if parameters else []
    out = tmp_path / "out"
    assert main(["build", name, f"--{option}", str(tmp_path / file), *given, "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert message in error and "unforeseen" not in error and not out.exists()


SIZES = [(each.name, size) for each in NAMED for size in (*each.parameters, "seed")]


@pytest.mark.parametrize("value", [4.0, 20.5, "x", (2,), 1j, -2])
@pytest.mark.parametrize(("name", "size"), SIZES)
def test_a_library_call_with_a_number_of_another_kind_is_refused_by_name(name, size, value):
    construction = named(name)
    if size == "sharpness" and value in (4.0, 20.5):
        return  # a real number
    drawn = construction.data.draw(**construction.data.parameters, seed=0)
    with pytest.raises(InputError, match=size):
        construction.build(drawn, **{**construction.parameters, "seed": 0, size: value})


@pytest.mark.parametrize(
    ("file", "content", "is_read"),
    [
        ("a.csv", "the,red\nred,the\n", True),
        ("a.txt", "the red\nred the\n", True),
        ("a.txt", "token question\nx y\n", True),
        ("a.csv", '"a,b",c\nc,c\n', True),
        ("a.jsonl", "[0, 1]\n[1, 1]\n", True),
        ("a.csv", "0 1\n0 1\n", False),
        ("a.csv", "0 1\n1\n", False),
        ("a.csv", "0,,1\n", False),
        ("a.json", "[[0, 1.5]]", False),
    ],
)
def test_build_and_capacity_read_the_same_contexts(file, content, is_read, tmp_path, capsys):
    path = tmp_path / file
    path.write_text(content)
    assert main(["capacity", str(path), "--contexts", "--json"]) == (0 if is_read else 2)
    printed = capsys.readouterr()
    out = ["--out", str(tmp_path / "out"), "--param", "d_model=4", "d_head=2", "n_heads=2"]
    assert main(["build", "full-rank-attention", "--contexts", str(path), *out, "--json"]) == (0 if is_read else 2)
    again = capsys.readouterr()
    if is_read:
        made, counted = json.loads(again.out), json.loads(printed.out)
        assert made["contexts"] == counted["contexts"] and made["vocabulary"] == counted["vocabulary"]
    else:
        said, before = (text.partition(" needs ")[2] or text.partition(": ")[2] for text in (again.err, printed.err))
        assert said == before != ""


@pytest.mark.parametrize("name", NAMES)
def test_the_first_line_says_where_the_targets_come_from(name, folders):
    line = Certificate.load(folders(name)).headline()
    assert ("labels drawn at random" in line) == ("unembedding" not in name) and "table" not in line


def test_heads_that_may_be_none_are_refused_below_none(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("0 1\n")
    for name in ("theorem-1", "skip-connection-head"):
        words = ["build", name, "--contexts", str(tmp_path / "a.csv"), "--param", "n_heads=-2"]
        assert main([*words, "--out", str(tmp_path / "out")]) == 2
        assert "n_heads = -2, expected at least 0" in capsys.readouterr().err


def test_all_are_listed_and_a_wrong_name_names_the_nearest(capsys):
    assert main(["build", "--list"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in NAMES)
    assert main(["build", "skip-conection-head"]) == 2
    assert "'skip-connection-head'" in capsys.readouterr().err
    assert main(["build", "nothing"]) == 2
    assert all(name in capsys.readouterr().err for name in NAMES[:1])


@pytest.mark.parametrize("id", [id for each in NAMED for id in each.statements])
def test_the_id_of_a_statement_leads_to_its_construction(id, tmp_path, capsys):
    assert main(["build", id, "--out", str(tmp_path / "out"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert shown["named"] == named(id).name and shown["claim"] == id
    assert f"weights for {id}, a claim whose verdict is" in shown["headline"]


def test_a_claim_with_weights_of_its_own_says_which_construction_takes_a_file(tmp_path, capsys):
    for each in NAMED:
        if each.beside:
            words = ["build", each.beside, f"--{each.data.name}", "x.csv", "--out", str(tmp_path / "out")]
            assert main(words) == 2
            assert f"`byheart build {each.name}` takes --{each.data.name} FILE" in capsys.readouterr().err
