import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byheart.cli.main import main
from byheart.editing import edit
from byheart.hosts.facts.numbered_facts import Reading, facts_of_rows
from byheart.hosts.number_types import rounded_to
from byheart.hosts.reading import read_model
from constructions.errors import HypothesisError, InputError
from constructions.tasks.arrays import array_task
from tests.edited_hosts import LENGTH, TOKENS, answer, facts, gpt2
from verify import decide_argmax, enclose_logits
from verify.provers.edit import whole_domain


def test_a_deleted_context_is_answered_as_asked(tmp_path: Path) -> None:
    source = gpt2(tmp_path / "m")
    before = read_model(source)
    first = answer(before, [1, 2])
    other = (first + 3) % TOKENS
    done = edit(source, delete=facts([[1, 2]], [first]), to=str(other), keep_domain=LENGTH)
    assert answer(done.model, [1, 2]) == other
    flat = edit(source, delete=facts([[1, 2]], [first]), to="uniform", keep_domain=LENGTH)
    assert flat.certificate.values["flat"] == 1 and flat.certificate.values["spread"] < 1.0
    with pytest.raises(InputError, match="which the model answers by"):
        edit(source, delete=facts([[1, 2]], [other]))
    with pytest.raises(InputError, match="to is 'nobody'"):
        edit(source, delete=facts([[1, 2]], [first]), to="nobody")


def test_a_kept_fact_that_contradicts_an_edit_or_that_the_model_does_not_give_is_refused(tmp_path: Path) -> None:
    source = gpt2(tmp_path / "m")
    first = answer(read_model(source), [1, 2])
    with pytest.raises(InputError, match="which an edit is to change"):
        edit(source, facts([[1, 2]], [(first + 1) % TOKENS]), keep=facts([[1, 2]], [first]))
    with pytest.raises(InputError, match="not proved to give"):
        edit(source, facts([[0, 0]], [1]), keep=facts([[1, 2]], [(first + 1) % TOKENS]))


def test_what_cannot_be_edited_is_refused(tmp_path: Path) -> None:
    source = gpt2(tmp_path / "m")
    with pytest.raises(InputError, match="facts and delete are missing"):
        edit(source)
    with pytest.raises(InputError, match="at most one"):
        edit(source, facts([[0, 0]], [1]), keep=facts([[1, 1]], [0]), keep_domain=2)
    for given, said in (({"to": "uniform"}, "nothing is deleted"), ({"keep_length": 2}, "no rule is kept")):
        with pytest.raises(InputError, match=said):
            edit(source, facts([[0, 0]], [1]), **given)
    with pytest.raises(InputError, match="not a folder of a host"):
        edit(read_model(source), facts([[0, 0]], [1]), out=tmp_path / "out")
    with pytest.raises(InputError, match="delete has contexts of 99 tokens"):
        edit(source, facts([[0, 0]], [1]), delete=facts([[0] * 99], [1]))
    other = gpt2(tmp_path / "o", seed=1, model_type="bert")
    with pytest.raises(InputError, match="model_type 'bert'"):
        edit(other, facts([[0, 0]], [1]))


def test_contexts_that_the_model_does_not_tell_apart_are_refused(tmp_path: Path) -> None:
    source = gpt2(tmp_path / "m")
    weights = dict(read_model(source).tensors())
    weights["embed.W_E"] = weights["embed.W_E"].copy()
    weights["embed.W_E"][6] = weights["embed.W_E"][5]
    twin = read_model(source).with_each(lambda name, tensor: weights[name])
    with pytest.raises(
        HypothesisError, match=r"cuts context \[1, 5\] off from context \[1, 6\]; along the row itself the gap is 0"
    ):
        edit(twin, facts([[1, 5]], [0]), keep_domain=LENGTH)


def test_what_is_said_of_an_edit_that_rounds_is_about_the_model_that_was_given(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Types that keep few bits change answers; no line may speak of the rounded copy."""
    seen = set()
    source = gpt2(tmp_path / "m", seed=8)
    given = read_model(source)
    contexts = whole_domain(TOKENS, LENGTH, np.array([[1, 2]]))
    (tmp_path / "facts.csv").write_text(f"1,2,{(answer(given, [1, 2]) + 1) % TOKENS}\n")
    for dtype in ("float32", "float16", "bfloat16"):
        out = tmp_path / dtype
        words = ["edit", str(source), "--facts", str(tmp_path / "facts.csv"), "--keep-domain", "2", "--json"]
        code = main([*words, "--dtype", dtype, "--out", str(out)])
        said = json.loads(capsys.readouterr().out)
        before, after = (decide_argmax(model, contexts).place for model in (given, read_model(out)))
        changed = int((before != after).sum())
        one, two = (enclose_logits(model, contexts, precision=200).midpoint for model in (given, read_model(out)))
        assert (said["same"], said["changed"]) == (48 - changed, changed)
        assert said["moved"] >= np.abs(one - two).max()
        assert said["rounded"] == ("float16" in dtype) and len(said["changed_contexts"]) == changed
        assert code == (1 if changed else 0) and said["verdict"] == ("REFUTED" if changed else "PROVED")
        assert f"{48 - changed} of 48 kept contexts keep their answer" in said["headline"]
        assert (said["outside"] is None) == said["rounded"]
        seen.add(changed > 0)
        page = (out / "edit.html").read_text()
        assert said["headline"] in page and all(each in page for each in said["changed_contexts"])
        for more in (["--fast"], []):
            assert main(["check", str(out), "--json", *more]) == code
            line = json.loads(capsys.readouterr().out)["headline"]
            assert line == said["headline"] + ("; checked by the fast prover" if more == ["--fast"] else "")
        if said["rounded"]:
            (out / "proof" / "original.safetensors").unlink()  # the rounded copy is not taken for the original
            for more in (["--fast"], []):
                assert main(["check", str(out), *more, "--quiet"]) == 1
                shown = capsys.readouterr()
                named = "the original is not the one that its certificate names" if more else "another original model"
                assert named in shown.out + shown.err
    assert seen == {True, False}


def test_a_copy_that_rounds_is_given_by_its_own_configuration_too(tmp_path: Path) -> None:
    """A configuration names a type that is coarser than that of the file, and nobody said --dtype."""
    source = gpt2(tmp_path / "m")
    config = json.loads((source / "config.json").read_text())
    (source / "config.json").write_text(json.dumps({**config, "dtype": "bfloat16"}))
    given = read_model(source)
    done = edit(source, facts([[1, 2]], [(answer(given, [1, 2]) + 1) % TOKENS]), keep_domain=LENGTH)
    assert done.is_rounded and done.dtype == "bfloat16" and done.original.sha256() == given.sha256()
    assert done.certificate.original == given.sha256() and done.certificate.values["moved"] > 1e-3


def test_answers_that_are_deleted_are_those_of_the_model_that_was_given(tmp_path: Path) -> None:
    source = gpt2(tmp_path / "m", seed=8)
    given = read_model(source)
    contexts = whole_domain(TOKENS, LENGTH, np.zeros((0, LENGTH), dtype=np.int64))
    rounded = given.with_each(lambda name, tensor: rounded_to(name, tensor, "bfloat16"))
    labels, others = (decide_argmax(model, contexts).place for model in (given, rounded))
    [row] = contexts[labels != others][:1].tolist()
    order = np.argsort(-enclose_logits(given, np.array([row])).midpoint[0])
    done = edit(source, delete=facts([row], [int(order[0])]), keep_domain=LENGTH, dtype="bfloat16")
    assert answer(done.model, row) == order[1] == answer(rounded, row)
    with pytest.raises(InputError, match="which the model answers by"):
        edit(source, delete=facts([row], [answer(rounded, row)]), keep_domain=LENGTH, dtype="bfloat16")


def test_requests_that_contradict_themselves_or_ask_for_nothing_are_refused(tmp_path: Path) -> None:
    source = gpt2(tmp_path / "m")
    given = read_model(source)
    memorized = {row: answer(given, list(row)) for row in ((1, 2), (3, 4), (0, 5))}
    one, two, three = ([list(row), label] for row, label in memorized.items())
    with pytest.raises(InputError, match=rf"to is '{two[1]}', but delete has \['3', '4'\] with the answer '{two[1]}'"):
        edit(source, delete=facts([two[0]], [two[1]]), to=str(two[1]))
    with pytest.raises(InputError, match="facts ask for nothing: the model gives the answer"):
        edit(source, facts([one[0]], [one[1]]), keep_domain=LENGTH)
    with pytest.raises(InputError, match="facts ask for nothing: the model gives all 2 answers"):
        edit(source, facts([one[0], two[0]], [one[1], two[1]]))
    with pytest.raises(InputError, match=r"facts and delete both have the context \['1', '2'\]"):
        edit(source, facts([one[0]], [(one[1] + 1) % TOKENS]), delete=facts([three[0], one[0]], [three[1], one[1]]))
    new = (one[1] + 1) % TOKENS
    with pytest.raises(InputError, match=r"keep has \['1', '2'\] with the answer '\d', which is edited to that answer"):
        edit(source, facts([one[0]], [new]), keep=facts([two[0], one[0]], [two[1], new]))
    everything = whole_domain(TOKENS, 1, np.zeros((0, 1), dtype=np.int64)).tolist()
    with pytest.raises(InputError, match="what is to be kept is empty"):
        edit(source, facts(everything, [(answer(given, row) + 1) % TOKENS for row in everything]), keep_domain=1)


def test_facts_that_the_model_had_before_are_counted_in_the_first_line(tmp_path: Path) -> None:
    source = gpt2(tmp_path / "m")
    given = read_model(source)
    rows = [[1, 2], [3, 4], [0, 5]]
    answers = [answer(given, row) for row in rows]
    answers[1] = (answers[1] + 1) % TOKENS
    done = edit(source, facts(rows, answers), keep_domain=LENGTH, out=tmp_path / "out")
    assert "3 of 3 edits answered as asked, 2 of them before the edit too;" in done.certificate.headline()
    for said in (0, 1, 3):
        values = {**done.certificate.values, "before": said}
        replace(done.certificate, values=values).save(tmp_path / "out" / "proof")
        for more in ([], ["--fast"]):
            assert main(["check", str(tmp_path / "out"), *more]) != 0
    nothing = edit(source, facts([rows[0]], [(answers[0] + 1) % TOKENS]))
    assert nothing.certificate.headline().endswith("; no context was asked to keep its answer")


def test_a_fact_that_is_given_twice_is_refused_in_each_table(tmp_path: Path) -> None:
    source = gpt2(tmp_path / "m")
    first = answer(read_model(source), [1, 2])
    new, other = (first + 1) % TOKENS, facts([[3, 4]], [(answer(read_model(source), [3, 4]) + 1) % TOKENS])
    for name, label in (("facts", new), ("delete", first), ("keep", first)):
        more = {"facts": other} if name == "keep" else {}
        table, rows = tmp_path / "table.csv", tmp_path / "table.json"
        table.write_text(f"1,2,{label}\n\n1,2,{label}\n")
        with pytest.raises(InputError, match=rf"{name} has the line '1,2,{label}' 2 times"):
            edit(source, **{name: table}, **more)
        rows.write_text(json.dumps([[1, 2, label], [1, 2, label]]))
        twice = array_task(np.array([[1, 2], [1, 2]]), next_tokens=np.array([label] * 2), vocabulary=TOKENS)
        for given in (rows, twice):
            with pytest.raises(InputError, match=rf"{name} has the context \['1', '2'\] more than once"):
                edit(source, **{name: given}, **more)
    weighted = tmp_path / "weighted.csv"
    weighted.write_text(f"a,b,answer,weight\n1,2,{new},2\n1,2,{first},1\n")
    with pytest.raises(InputError, match=r"facts is read so: .*; 1 answer left out"):
        edit(source, weighted, weights=True)


def test_no_folder_that_is_read_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    source = gpt2(tmp_path / "m")
    new = facts([[1, 2]], [(answer(read_model(source), [1, 2]) + 1) % TOKENS])
    out = tmp_path / "out"
    edit(source, new, keep_domain=LENGTH, out=out)
    table = out / "facts.csv"
    table.write_text(f"3,4,{(answer(read_model(source), [3, 4]) + 1) % TOKENS}\n")
    for words in (
        ["edit", str(out), "--facts", str(table), "--out", str(out)],
        ["edit", str(source), "--facts", str(table), "--out", str(out)],
        ["edit", str(out), "--facts", str(table), "--out", str(tmp_path / "m" / ".." / "out")],
        ["certify", str(out), "--task", str(table), "--out", str(out)],
        ["certify", str(out), "--rule", "max", "--length", "2", "--out", str(out)],
    ):
        assert main([*words, "--overwrite"]) == 2
        assert "which is read and would be lost" in capsys.readouterr().err
        assert table.is_file() and (out / "edit.html").is_file()


@pytest.mark.parametrize("layer", [None, 0])
def test_contexts_of_several_lengths_are_edited_and_kept(
    layer: int | None, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    source = gpt2(tmp_path / "m")
    given = read_model(source)
    rows = [[1, 2], [3], [4, 5, 6], [2, 2, 2]] if layer is None else [[1, 2], [3], [4, 5, 6]]
    wanted = [(answer(given, row) + 1) % TOKENS for row in rows]
    kept = [[4, 5], [6], [2, 2], [0, 1, 2], [6, 6, 6]] + ([[1, 2, 3], [3, 3]] if layer is None else [])
    new, keep, gone = tmp_path / "new.json", tmp_path / "keep.json", tmp_path / "gone.json"
    new.write_text(json.dumps([[row, [said]] for row, said in zip(rows, wanted, strict=True)]))
    keep.write_text(json.dumps([[row, [answer(given, row)]] for row in kept]))
    gone.write_text(json.dumps([[[0, 0, 0], [answer(given, [0, 0, 0])]], [[5], [answer(given, [5])]]]))
    words = ["edit", str(source), "--facts", str(new), "--delete", str(gone), "--keep", str(keep)]
    more = [] if layer is None else ["--layer", str(layer)]
    assert main([*words, *more, "--out", str(tmp_path / "out"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["memorized"], said["same"], said["changed"]) == (len(rows) + 2, len(kept), 0)
    after = read_model(tmp_path / "out")
    assert [answer(after, row) for row in rows] == wanted
    assert all(answer(after, row) == answer(given, row) for row in kept)
    moves = [
        np.abs(np.subtract(*(enclose_logits(m, np.array([row]), precision=300).midpoint for m in (given, after)))).max()
        for row in kept
    ]
    assert max(moves) <= said["moved"]
    for checker in ([], ["--fast"]):
        assert main(["check", str(tmp_path / "out"), *checker, "--quiet"]) == 0
    capsys.readouterr()


def test_a_context_that_goes_on_where_an_edited_one_ends_is_refused_in_an_earlier_layer(tmp_path: Path) -> None:
    source = gpt2(tmp_path / "m")
    given = read_model(source)

    def told(rows: list[list[int]], more: int) -> list[tuple[list[int], list[int]]]:
        return [(row, [(answer(given, row) + more) % TOKENS]) for row in rows]

    def read(rows: list[tuple[list[int], list[int]]]) -> Any:
        return facts_of_rows(rows, given, None, Reading())[0]

    with pytest.raises(HypothesisError, match=r"the kept context \[1, 2\] does"):
        edit(source, read(told([[1]], 1)), keep=read(told([[1, 2]], 0)), layer=0)
    with pytest.raises(HypothesisError, match=r"the edited context \[1, 2\] does"):
        edit(source, read(told([[1], [1, 2]], 1)), layer=0)


def test_answers_of_several_tokens_are_named(tmp_path: Path) -> None:
    source = gpt2(tmp_path / "m")
    given = read_model(source)
    with pytest.raises(InputError, match="expected answers of one token"):
        edit(source, facts_of_rows([([1], [2, 3])], given, None, Reading())[0])
