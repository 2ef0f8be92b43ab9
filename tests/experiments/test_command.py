import json
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from shutil import copytree

import pytest

from byheart.cli.main import main
from experiments import figures, sweep
from experiments.layers import AnyPoint


@pytest.fixture
def short(monkeypatch) -> None:
    monkeypatch.setattr(figures, "FIGURES", SHORT)


def quick() -> list[AnyPoint]:
    """The points of the figure of ten tokens, shortened."""
    return [replace(point, steps=30, tokens=4) for point in FIGURE.quick() if point.seed == 0]


FIGURE = figures.FIGURES["dana.4"]
SHORT = {"dana.4": replace(FIGURE, quick=quick)}


def _two() -> dict[str, figures.Figure]:
    """That figure, and another one of three points."""
    return {**SHORT, "other": replace(SHORT["dana.4"], name="other", quick=lambda: quick()[:3])}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory) -> tuple[Path, str]:
    """A folder with the figure, and what was said."""
    out, said = tmp_path_factory.mktemp("experiment") / "out", StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said):
        patch.setattr(figures, "FIGURES", SHORT)
        assert main(["experiment", "--out", str(out)]) == 0
    return out, said.getvalue()


def test_a_figure_from_training_to_its_check(short, drawn, capsys) -> None:
    out, said = drawn
    assert said.startswith("ALL PROVED: 19 of 19 trained models; one float32 run counts what is proved in 19 of them\n")
    assert "seems to be around 1.7 H d_h" in said
    written = sorted(file.name for file in out.iterdir())
    assert written == ["dana.4.csv", "dana.4.svg", "findings.csv", "index.html", "points", "weights"]
    page = (out / "index.html").read_text()
    assert page.count("<path") >= 4 and "no upper limit" in page
    assert main(["experiment", "--out", str(out), "--check"]) == 0
    assert capsys.readouterr().out == "PROVED AGAIN: every cell of 19 of 19 models\n"


def test_each_figure_is_there_before_the_next_one_is_trained(drawn, tmp_path, monkeypatch) -> None:
    out = copytree(drawn[0], tmp_path / "out", ignore=lambda *_: ["points", "dana.4.csv", "index.html"])
    monkeypatch.setattr(figures, "FIGURES", _two())
    kept, swept = sweep.sweep, []

    def interrupted(points, *given, **named):
        swept.append(len(points))
        if len(swept) == 2:
            raise KeyboardInterrupt
        return kept(points, *given, **named)

    monkeypatch.setattr(sweep, "sweep", interrupted)
    assert main(["experiment", "--out", str(out)]) == 130
    assert swept == [19, 0]  # the points of the other one are proved already
    assert (out / "dana.4.csv").is_file() and "dana.4.csv" in (out / "index.html").read_text()


def test_a_later_run_keeps_what_an_earlier_one_drew(drawn, tmp_path, monkeypatch, capsys) -> None:
    out = copytree(drawn[0], tmp_path / "out", ignore=lambda *_: ["points"])
    monkeypatch.setattr(figures, "FIGURES", _two())
    assert main(["experiment", "other", "--out", str(out), "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("ALL PROVED: 3 of 3 trained models")
    page, findings = (out / "index.html").read_text(), (out / "findings.csv").read_text()
    assert all(f"{name}.csv" in page and f"\n{name}," in findings for name in ("dana.4", "other"))
    assert main(["experiment", "--out", str(out), "--check"]) == 0


def test_json_is_one_object(short, drawn, tmp_path, capsys) -> None:
    out = copytree(drawn[0], tmp_path / "out")
    assert main(["experiment", "dana.4", "--out", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["figures"]["dana.4"]["models"] == 19
    verdicts = {each["verdict"] for each in found["figures"]["dana.4"]["findings"]}
    assert verdicts and verdicts <= {"confirmed", "not so here", "not reproduced"}
    table = out / "dana.4.csv"
    table.write_text(table.read_text().replace("all contexts", "fixed sample", 1))
    assert main(["experiment", "--out", str(out), "--check", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["points"] == 19 and "another point" in found["differences"][0]


def test_a_float32_run_that_often_counts_otherwise_is_said_and_exits_with_1(short, drawn, tmp_path, capsys) -> None:
    out = copytree(drawn[0], tmp_path / "out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "AGREEING", 1.01)
        assert main(["experiment", "dana.4", "--out", str(out), "--quiet"]) == 1
    said = capsys.readouterr().out
    assert said.endswith("counts what is proved in 19 of them, fewer than 101%\n")
    assert said.startswith("RUNS COUNT OTHERWISE: 19 of 19 trained models proved; ")


def test_the_figures_are_listed_and_unknown_ones_refused(capsys) -> None:
    assert main(["experiment", "--list"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in figures.FIGURES)
    assert main(["experiment", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert said.startswith(f"{listed['headline']}\n") and list(listed["figures"]) == list(figures.FIGURES)
    assert main(["experiment", "dana.9"]) == 2
    assert "dana.9" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--out", "--keep"])
def test_a_file_is_no_folder_to_write_to(option, tmp_path, capsys) -> None:
    (tmp_path / "file").write_text("mine")
    assert main(["experiment", "dana.4", "--out", str(tmp_path), option, str(tmp_path / "file")]) == 2
    assert f"{option} '" in capsys.readouterr().err and (tmp_path / "file").read_text() == "mine"


def test_models_whose_weights_are_not_here_are_counted_and_exit_with_3(short, drawn, tmp_path, capsys) -> None:
    out = copytree(drawn[0], tmp_path / "out", ignore=lambda *_: ["points"])
    next((out / "weights").iterdir()).unlink()
    assert main(["experiment", "--out", str(out), "--check"]) == 3
    assert capsys.readouterr().out == (
        "PROVED AGAIN: every cell of 18 of 19 models; the weights of 1 are not here, and nothing is proved of these\n"
    )
    assert main(["experiment", "--out", str(out), "--check", "--keep", str(drawn[0] / "weights")]) == 0
    capsys.readouterr()
    assert main(["experiment", "other", "--out", str(out), "--check"]) == 2
    assert main(["experiment", "dana.4", "--out", str(tmp_path), "--check"]) == 2
    assert "holds no table of dana.4" in capsys.readouterr().err


def test_a_check_of_nothing_is_refused(tmp_path, capsys) -> None:
    assert main(["experiment", "--check", "--out", str(tmp_path)]) == 2
    assert "no table of points" in capsys.readouterr().err


@pytest.mark.parametrize("figure", figures.FIGURES.values(), ids=figures.FIGURES)
def test_grids_have_distinct_points_and_abscissae(figure) -> None:
    for points in (figure.quick(), figure.full()):
        assert len({point.key for point in points}) == len(points)
        assert all(isinstance(figure.curve(point), str) and figure.abscissa[1](point) >= 0 for point in points)
    assert figure.full()
