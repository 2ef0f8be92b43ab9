"""Real contexts: images where scikit-learn is installed, and texts."""

import sys

import numpy as np
import pytest

from constructions.errors import InputError
from constructions.saturated.real_contexts import digit_examples, image_crops, patch_examples, text_bytes


def test_patches_are_cut_without_loss():
    crops = np.arange(2 * 6 * 6 * 3).reshape(2, 6, 6, 3).astype(np.uint8)
    contexts, queries = patch_examples(crops, 2)
    assert contexts.shape == (2, 8, 12) and queries.shape == (2, 12)
    assert queries[1].tolist() == crops[1, 2:4, 2:4].ravel().tolist()
    assert contexts[0, 5].tolist() == crops[0, 4:6, 0:2].ravel().tolist()


@pytest.mark.parametrize("patch", [0, 3, 4, 6])
def test_patches_without_a_middle_are_refused(patch):
    with pytest.raises(InputError, match=f"patch = {patch}"):
        patch_examples(np.zeros((1, 6, 6, 3), dtype=np.uint8), patch)


def test_texts_are_distinct_bytes_and_the_same_for_the_same_seed():
    texts = text_bytes(50, 12, seed=3)
    assert texts.shape == (50, 12) and 0 <= texts.min() <= texts.max() < 256
    assert len(np.unique(texts, axis=0)) == 50
    assert (texts == text_bytes(50, 12, seed=3)).all() and (texts != text_bytes(50, 12, seed=4)).any()
    with pytest.raises(InputError, match="distinct windows of 1 bytes"):
        text_bytes(300, 1)


def test_images_without_scikit_learn_are_told_to_need_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(InputError, match="scikit-learn"):
        digit_examples(3)


def test_digits_are_the_images_that_scikit_learn_carries():
    pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed: no images to cut")
    contexts, queries = digit_examples(20)
    assert contexts.shape == (20, 4, 16) and queries.shape == (20, 16)
    assert contexts[:, 0, -1].tolist() == queries[:, 5].tolist()  # the pixel at row 3, column 3
    with pytest.raises(InputError, match="count = 2000"):
        digit_examples(2000)


def test_crops_come_from_both_photographs():
    pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed: no images to cut")
    crops = image_crops(12, 9)
    assert crops.shape == (12, 9, 9, 3) and crops.dtype == np.uint8 and len(np.unique(crops, axis=0)) == 12
    with pytest.raises(InputError, match="side = 428"):
        image_crops(1, 428)
