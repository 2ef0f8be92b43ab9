"""A model of blocks: widths, names, hash and file."""

import json

import numpy as np
import pytest
import safetensors.numpy
from flint import fmpq

from constructions.errors import FileFormatError, InputError
from constructions.formats.files import canonical_json
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model, block_names


def gpt(seed=0, layers=2, width=4):
    """A small model with every kind of tensor."""
    rng = np.random.default_rng(seed)
    draw = rng.standard_normal

    def norm(kind):
        return Normalization(kind, w=draw(width), b=draw(width), epsilon=1e-5)

    blocks = []
    for _ in range(layers):
        maps = (draw((2, width, 3)), draw((2, width, 3)), draw((2, width, 2)), draw((2, 2, width)))
        shifts = {"b_Q": draw((2, 3)), "b_K": draw((2, 3)), "b_V": draw((2, 2)), "b_O": draw(width)}
        blocks.append(Attention(*maps, **shifts, norm=norm("layer"), attends="causal", score_root=3))
        neurons = {"b_in": draw(5), "b_out": draw(width), "activation": "gelu-tanh", "norm": norm("rms")}
        blocks.append(FeedForward(draw((width, 5)), draw((5, width)), **neurons))
    return Model(
        blocks=(*blocks, norm("layer")), W_U=draw((width, 7)), b_U=draw(7), W_E=draw((7, width)), W_pos=draw((3, width))
    )


def test_the_names_are_those_of_transformer_lens():
    names = list(gpt().tensors())
    assert names[:2] == ["embed.W_E", "pos_embed.W_pos"] and names[-2:] == ["unembed.W_U", "unembed.b_U"]
    assert {"blocks.1.ln1.w", "blocks.1.attn.b_K", "blocks.0.ln2.b", "blocks.1.mlp.W_out", "ln_final.w"} <= set(names)


def test_every_layer_has_at_most_one_attention_and_one_feed_forward_block():
    attention, neurons, norm = ({"kind": kind} for kind in ("attention", "feed-forward", "rms"))
    order = [neurons, attention, attention, neurons, neurons, norm, attention, norm]
    names, _ = block_names(order)
    assert names == [
        "blocks.0.mlp", "blocks.1.attn", "blocks.2.attn", "blocks.2.mlp", "blocks.3.mlp", "norms.5", "blocks.4.attn",
        "ln_final",
    ]  # fmt: skip
    assert len(set(names)) == len(names)


def test_a_model_survives_the_disk_bit_for_bit(tmp_path):
    model = gpt()
    model.save(tmp_path / "a.safetensors")
    again = Model.load(tmp_path / "a.safetensors")
    again.save(tmp_path / "b.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    assert again.sha256() == model.sha256() and again.options() == model.options()
    assert all((again.tensors()[name] == tensor).all() for name, tensor in model.tensors().items())
    stored = safetensors.numpy.load_file(tmp_path / "a.safetensors")
    assert sum(tensor.size for tensor in stored.values()) == model.parameters


def test_every_tensor_and_every_option_enters_the_hash(tmp_path):
    model = gpt()
    hashes = {model.sha256()}
    model.save(tmp_path / "a.safetensors")
    for name, tensor in model.tensors().items():
        other = {**model.tensors(), name: tensor + np.eye(1, tensor.size).reshape(tensor.shape)}
        data = {"format": "byheart-model", "version": 2, **model.options()}
        path = tmp_path / "b.safetensors"
        path.write_bytes(safetensors.numpy.save(other, metadata={"byheart": canonical_json(data)}))
        hashes.add(Model.load(path).sha256())
    assert len(hashes) == 1 + len(model.tensors())


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(version=1),
        lambda d: d.update(format="other"),
        lambda d: d.pop("blocks"),
        lambda d: d.update(more=1),
        lambda d: d.update(input="vectors"),
        lambda d: d["blocks"].pop(),
        lambda d: d["blocks"][0].pop("norm"),
        lambda d: d["blocks"][0].update(norm=None),
        lambda d: d["blocks"][0].update(kind="recurrence"),
        lambda d: d["blocks"][0].update(skip=1),
        lambda d: d["blocks"][0].update(score_root=0),
        lambda d: d["blocks"][0].update(more=1),
        lambda d: d["blocks"][1]["norm"].update(epsilon="0x1.0p+0"),
        lambda d: d["blocks"][1]["norm"].update(epsilon="inf"),
        lambda d: d["blocks"][1].update(activation=["relu"]),
    ],
)
def test_a_file_whose_metadata_are_not_those_of_its_blocks_is_refused(tmp_path, change):
    path = tmp_path / "a.safetensors"
    model = gpt()
    data = json.loads(canonical_json({"format": "byheart-model", "version": 2, **model.options()}))
    path.write_bytes(safetensors.numpy.save(model.tensors(), metadata={"byheart": canonical_json(data)}))
    assert Model.load(path).sha256() == model.sha256()
    change(data)
    path.write_bytes(safetensors.numpy.save(model.tensors(), metadata={"byheart": canonical_json(data)}))
    with pytest.raises(FileFormatError, match="model"):
        Model.load(path)


def test_an_older_file_says_what_to_do(tmp_path):
    path = tmp_path / "a.safetensors"
    path.write_bytes(safetensors.numpy.save({"W_E": np.eye(2)}, metadata={"byheart": '{"version":1}'}))
    with pytest.raises(FileFormatError, match="build it again"):
        Model.load(path)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"W_U": np.ones((3, 2))}, "W_U"),
        ({"b_U": np.ones(3)}, "b_U"),
        ({"W_E": None}, "together"),
        ({"W_E": None, "W_pos": None, "blocks": ()}, "empty"),
        ({"W_pos": np.ones((3, 5))}, "W_pos"),
        ({"W_E": np.ones((0, 4))}, "W_E"),
        ({"blocks": (FeedForward(np.ones((3, 1)), np.ones((1, 3))),)}, "block 0 reads rows of dimension 3"),
    ],
)
def test_parts_that_do_not_fit_each_other_are_refused(fields, message):
    model = gpt()
    parts = {name: getattr(model, name) for name in ("blocks", "W_U", "b_U", "W_E", "W_pos")}
    with pytest.raises(InputError, match=message):
        Model(**{**parts, **fields})


def test_queries_of_the_task_belong_to_the_first_block_of_a_model_of_vectors():
    one = np.ones((1, 2, 2))
    asked = Attention(one, one, one, one, skip=False, queries="task")
    assert Model(blocks=(asked,), W_U=np.ones((2, 1))).d_model == 2
    with pytest.raises(InputError, match="queries of the task"):
        Model(blocks=(asked,), W_U=np.ones((2, 1)), W_E=np.ones((3, 2)), W_pos=np.ones((1, 2)))
    with pytest.raises(InputError, match="queries of the task"):
        Model(blocks=(Attention(one, one, one, one), asked), W_U=np.ones((2, 1)))


def test_the_tensors_of_one_attention_are_offered_and_those_of_several_are_not():
    one = np.ones((1, 2, 2))
    model = Model(blocks=(Attention(one, one, one, one),), W_U=np.ones((2, 1)), W_E=np.eye(2), W_pos=np.eye(2))
    assert (model.n_heads, model.d_qk, model.d_head) == (1, 2, 2) and (model.W_O == one).all()
    with pytest.raises(InputError, match="expected one attention"):
        _ = gpt().W_Q


def test_a_rational_model_has_no_file_and_no_float_among_its_tensors(tmp_path):
    third = np.array([[fmpq(1, 3)]], dtype=object)
    model = Model(blocks=(), W_U=third, W_E=third, W_pos=third)
    assert model.is_rational
    for use in (model.sha256, lambda: model.save(tmp_path / "a")):
        with pytest.raises(InputError, match="rational"):
            use()
    with pytest.raises(InputError, match="all of one kind"):
        Model(blocks=(), W_U=np.eye(1), W_E=third, W_pos=third)
