"""One record of figures, which the screen, the page and JSON share."""

import json

import byheart
from byheart.figures import Figures, Tried


def test_json_has_every_field_and_null_where_one_does_not_apply():
    figures = Figures(verdict="PROVED", memories=(Tried(memory="a", refused="no"), Tried(memory="b", parameters=3)))
    fields = json.loads(json.dumps(figures.json()))
    assert set(fields) == set(vars(figures)) and fields["verdict"] == "PROVED" and fields["claim"] is None
    refused, built = fields["memories"]
    assert refused == {"memory": "a", "refused": "no"} and built["parameters"] == 3 and "refused" not in built


def test_the_folder_and_python_say_the_same(tmp_path):
    memory = byheart.memorize({("Peru", "capital"): "Lima", ("Peru", "river"): "Amazon"}, quick=True)
    saved = memory.save(tmp_path / "out")
    written = json.loads((tmp_path / "out" / "summary.json").read_text())
    names = {"model", "task", "certificate", "report", "summary", "measured"}
    assert set(saved.files) == names and memory.figures.files == {}
    measured, statements = written.pop("measured"), written.pop("statements")
    said = {**written, **measured}
    assert said.pop("source") == memory.source
    figures = {**json.loads(json.dumps(saved.json())), "seconds": dict(memory.figures.seconds)}
    assert said == {name: value for name, value in figures.items() if name != "files"}
    assert [each["id"] for each in statements] == ["answers", "runs (float32)"]
    assert written["verdict"] == "PROVED" and "seconds" in measured and "torch" in measured
    assert memory.figures.memorized == memory.figures.facts == 2


def test_each_result_is_shown_by_its_headline_and_a_few_figures(tmp_path):
    made = byheart.memorize({("Peru", str(year)): f"president {year}" for year in range(40)}, quick=True)
    saved = made.save(tmp_path / "out")
    for result in (made, saved, made.figures, made.certificate, made.proved, byheart.load(tmp_path / "out")):
        assert repr(result).startswith(made.figures.headline) and len(repr(result)) < 400
    assert repr(saved).endswith(f"; {saved.parameters} parameters; {saved.memory}")
