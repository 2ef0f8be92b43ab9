"""Models with neurons behind a normalization, and edits of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from byheart.editing import Edited, edit_model
from constructions.model.appended_neurons import without_neurons
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from verify.edits.certificate import EditCertificate
from verify.edits.judge import reading_model
from verify.forward.logits import enclose_logits
from verify.provers.edit import prove_edit, save_edit, whole_domain

TOKENS, LENGTH = 6, 3


def small_model(
    seed: int = 0,
    *,
    activation: Any = "gelu-tanh",
    kind: Any = "layer",
    zero_gain: bool = False,
    gated: bool = False,
    parallel: bool = False,
) -> Model:
    """Two layers of 12 dimensions, in float32, with gains of both signs and shifts."""
    rng, d, n_heads = np.random.default_rng(seed), 12, 2

    def drawn(*shape: int) -> np.ndarray:
        return (rng.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32).astype(np.float64)

    def norm() -> Normalization:
        gain = drawn(d) * 3.0 + np.where(rng.random(d) < 0.2, -1.0, 1.0)
        gain[: 2 * zero_gain] = 0.0
        return Normalization(kind, w=gain.astype(np.float32).astype(float), b=drawn(d) if kind == "layer" else None)

    blocks: list[Any] = []
    for _ in range(2):
        W_Q, W_K, W_V = (drawn(n_heads, d, 6) for _ in range(3))
        blocks.append(Attention(W_Q, W_K, W_V, drawn(n_heads, 6, d), norm=norm(), attends="causal", score_root=6))
        W_in, W_out, b_in, b_out = drawn(d, 16), drawn(16, d), drawn(16), drawn(d)
        more: Any = {"W_gate": drawn(d, 16), "b_gate": drawn(16)} if gated else {}
        more |= {"activation": activation, "norm": norm(), "parallel": parallel}
        blocks.append(FeedForward(W_in, W_out, b_in, b_out, **more))
    final, W_U, W_E, W_pos = norm(), drawn(d, TOKENS), 3.0 * drawn(TOKENS, d), drawn(LENGTH + 1, d)
    return Model(blocks=(*blocks, final), W_U=W_U, W_E=W_E.astype(np.float32).astype(np.float64), W_pos=W_pos)


def edited(
    seed: int = 0,
    *,
    edits: int = 5,
    flat: int = 0,
    layer: int | None = None,
    everywhere: bool = False,
    **options: Any,
) -> Edited:
    """The model with some contexts edited, and all others of its length kept."""
    model, rng = small_model(seed, **options), np.random.default_rng(seed + 1)
    numbers = rng.choice(TOKENS**LENGTH, edits, replace=False)
    contexts = np.stack(np.unravel_index(numbers, (TOKENS,) * LENGTH), axis=1)
    answers = rng.integers(TOKENS, size=edits)
    answers[:flat] = -1
    kept = whole_domain(TOKENS, LENGTH, contexts)
    return edit_model(model, contexts, answers, kept, domain=LENGTH, layer=layer, everywhere=everywhere)


def forged(folder: Path, target: Path, **changes: Any) -> Path:
    """The folder with other numbers in its certificate, and a digest that fits."""
    for file in folder.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    certificate = EditCertificate.load(folder)
    values = {**certificate.values, **{name: changes.pop(name) for name in list(changes) if name in certificate.values}}
    replace(certificate, values=values, **changes).save(target)
    return target


def changing_some(folder: Path, contexts: int, fires: int, note: str = "") -> EditCertificate:
    """An edit whose neuron fires in some contexts that are to be kept, with a certificate that denies it."""
    rng, d = np.random.default_rng(0), 8
    norm = Normalization("layer", w=np.ones(d))
    base = FeedForward(rng.normal(size=(d, 4)), rng.normal(size=(4, d)), b_in=np.zeros(4), norm=norm)
    maps = {"W_E": rng.normal(size=(contexts, d)), "W_U": rng.normal(size=(d, 9)), "W_pos": np.zeros((1, d))}
    kept = np.arange(1, contexts)[:, None]
    done = edit_model(Model(blocks=(base, norm), **maps), np.array([[0]]), np.array([3]), kept)
    block, reads = done.model.blocks[0], enclose_logits(reading_model(done.model, 1), np.arange(contexts)[:, None])
    assert isinstance(block, FeedForward) and block.b_in is not None
    shifts, level = block.b_in.copy(), np.sort(reads.midpoint[:, 0])[::-1]
    shifts[-1] -= (level[fires] + level[fires + 1]) / 2.0
    bad = replace(done.model, blocks=(replace(block, b_in=shifts), norm))
    said = {"before": 0, "same": contexts - 1, "changed": 0, "moved": 0.0}
    original = without_neurons(bad, 1)
    values = {**prove_edit(original, bad, done.edit).values, **said}
    hashes = original.sha256(), bad.sha256(), done.edit.asked().sha256()
    certificate = EditCertificate(*hashes, 1, None, False, values, {"note": note})
    save_edit(folder, bad, done.edit, certificate)
    return certificate
