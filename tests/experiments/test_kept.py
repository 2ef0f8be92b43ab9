"""Trained weights are read alike from a file of their own and from one of a figure."""

import numpy as np
import pytest

from constructions.errors import FileFormatError, InputError
from constructions.formats.tensor_file import save_tensors
from experiments.kept import Kept, save_figure

KEYS = ["0" * 24, "1" * 24, "f" * 24]


def tensors(place: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(place)
    return {name: rng.standard_normal((2, 3)).astype(np.float32) for name in ("W_E", "0.W_Q")}


@pytest.fixture
def own(tmp_path) -> Kept:
    kept = Kept(tmp_path / "own")
    kept.folder.mkdir()
    for place, key in enumerate(KEYS):
        kept.save(key, tensors(place), {"point": {"seed": place}})
    return kept


def same(found: tuple, place: int) -> bool:
    about, arrays = found
    expected = tensors(place)
    return (
        about == {"point": {"seed": place}}
        and arrays.keys() == expected.keys()
        and all((arrays[name] == array).all() for name, array in expected.items())
    )


def test_a_file_of_a_figure_has_what_the_files_of_its_points_have(own, tmp_path) -> None:
    save_figure(tmp_path, "dana.9", KEYS[:2], own)
    packed = Kept(tmp_path)
    for place, key in enumerate(KEYS[:2]):
        assert key in own and key in packed and same(own.load(key), place) and same(packed.load(key), place)
        assert packed.file(key) == tmp_path / "dana.9.safetensors"
    assert KEYS[2] in own and KEYS[2] not in packed
    assert packed.file(KEYS[2]) == tmp_path / f"{KEYS[2]}.safetensors"
    with pytest.raises(FileFormatError):
        packed.load(KEYS[2])


def test_a_file_of_its_own_goes_before_that_of_a_figure(own, tmp_path) -> None:
    save_figure(own.folder, "dana.9", KEYS[:1], own)
    own.save(KEYS[0], tensors(7), {"point": {"seed": 7}})
    assert same(Kept(own.folder).load(KEYS[0]), 7)


def test_a_file_of_a_figure_that_is_none_is_refused(tmp_path) -> None:
    for about, name, said in (
        ([], f"{KEYS[0]}/W_E", "holds no points"),
        ({KEYS[0]: {}}, "W_E", "holds the tensor 'W_E', expected KEY/TENSOR"),
        ({KEYS[0]: {}}, f"{KEYS[1]}/W_E", "expected KEY/TENSOR, with the key of a point"),
    ):
        save_tensors(tmp_path / "dana.9.safetensors", {name: np.zeros(1, np.float32)}, metadata=about)
        with pytest.raises(InputError, match=said):
            _ = KEYS[0] in Kept(tmp_path)
    (tmp_path / "dana.9.safetensors").write_bytes(b"none")
    with pytest.raises(FileFormatError):
        _ = KEYS[0] in Kept(tmp_path)


def test_a_folder_that_is_not_there_has_nothing(tmp_path) -> None:
    assert KEYS[0] not in Kept(tmp_path / "none")
