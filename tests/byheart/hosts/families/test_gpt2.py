"""The shape of GPT-2, as Hugging Face stores it."""

import json

import numpy as np
import pytest

from byheart.cli.main import main
from byheart.hosts.families.gpt2 import is_mask, model_of
from byheart.hosts.reading import read_model
from constructions.errors import InputError
from verify.forward.logits import enclose_logits

CONFIG = {"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 4}


def tensors(prefix="", *, readout=False):
    rng = np.random.default_rng(0)
    shapes = {"wte.weight": (7, 4), "wpe.weight": (5, 4), "ln_f.weight": (4,), "ln_f.bias": (4,)}
    for layer in range(2):
        shapes |= {
            f"h.{layer}.{name}": shape
            for name, shape in {
                "ln_1.weight": (4,),
                "ln_1.bias": (4,),
                "attn.c_attn.weight": (4, 12),
                "attn.c_attn.bias": (12,),
                "attn.c_proj.weight": (4, 4),
                "attn.c_proj.bias": (4,),
                "ln_2.weight": (4,),
                "ln_2.bias": (4,),
                "mlp.c_fc.weight": (4, 16),
                "mlp.c_fc.bias": (16,),
                "mlp.c_proj.weight": (16, 4),
                "mlp.c_proj.bias": (4,),
            }.items()
        }
    found = {prefix + name: rng.standard_normal(shape) for name, shape in shapes.items()}
    return found | ({"lm_head.weight": rng.standard_normal((9, 4))} if readout else {})


def written_out(given, tokens, *, inverse_layer=False, scaled=True):
    """GPT-2 by its definition, in plain float64."""

    def normalized(x, name):
        x = x - x.mean(axis=1, keepdims=True)
        return x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-5) * given[f"{name}.weight"] + given[f"{name}.bias"]

    x = given["wte.weight"][tokens] + given["wpe.weight"][: len(tokens)]
    for layer in range(2):
        place = f"h.{layer}"
        qkv = normalized(x, f"{place}.ln_1") @ given[f"{place}.attn.c_attn.weight"] + given[f"{place}.attn.c_attn.bias"]
        mixed = []
        for head in range(2):
            q, k, v = (qkv[:, 4 * part + 2 * head :][:, :2] for part in range(3))
            scores = q @ k.T / (np.sqrt(2) if scaled else 1) / (layer + 1 if inverse_layer else 1)
            scores[np.triu_indices(len(tokens), 1)] = -np.inf
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            mixed.append(weights / weights.sum(axis=1, keepdims=True) @ v)
        joined = np.concatenate(mixed, axis=1)
        x = x + joined @ given[f"{place}.attn.c_proj.weight"] + given[f"{place}.attn.c_proj.bias"]
        u = normalized(x, f"{place}.ln_2") @ given[f"{place}.mlp.c_fc.weight"] + given[f"{place}.mlp.c_fc.bias"]
        u = 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
        x = x + u @ given[f"{place}.mlp.c_proj.weight"] + given[f"{place}.mlp.c_proj.bias"]
    return normalized(x, "ln_f")[-1] @ given.get("lm_head.weight", given["wte.weight"]).T


@pytest.mark.parametrize("readout", [False, True])
@pytest.mark.parametrize(("inverse_layer", "scaled"), [(False, True), (True, True), (False, False)])
def test_the_model_is_the_one_of_the_definition(readout, inverse_layer, scaled):
    given = tensors(readout=readout)
    options = {
        "scale_attn_by_inverse_layer_idx": inverse_layer,
        "scale_attn_weights": scaled,
        "tie_word_embeddings": not readout,
    }
    model = model_of(given, {**CONFIG, **options})
    contexts = np.array([[0, 1, 2, 3, 4], [6, 6, 5, 0, 1], [3, 3, 3, 3, 3]])
    expected = [written_out(given, tokens, inverse_layer=inverse_layer, scaled=scaled) for tokens in contexts]
    assert np.abs(enclose_logits(model, contexts, precision=200).midpoint - expected).max() < 1e-12


def test_a_prefix_and_masks_change_nothing():
    plain = model_of(tensors(), CONFIG)
    masks = {"transformer.h.0.attn.bias": np.ones((1, 1, 5, 5)), "transformer.h.1.attn.masked_bias": np.array(-1e4)}
    assert model_of(tensors("transformer.") | masks, CONFIG).sha256() == plain.sha256()
    assert all(map(is_mask, masks))


@pytest.mark.parametrize(
    ("config", "extra", "message"),
    [
        ({"activation_function": "tanh"}, {}, "activation_function is 'tanh', expected one of gelu_new"),
        ({"add_cross_attention": True}, {}, "add_cross_attention is True, expected False: no block computes that"),
        ({"n_head": 3}, {}, r"h\.0\.attn\.c_attn\.weight has shape \(4, 12\), expected \[d, 3 d\], 3 heads"),
        ({"n_layer": 1}, {}, r"the tensors h\.1\.attn\.c_attn\.bias, .* \(12 in all\) belong to no block"),
        ({}, {"score.weight": np.ones((2, 4))}, r"the tensors score\.weight \(1 in all\) belong to no block"),
        (
            {"rope_theta": 1e4},
            {},
            r"rope_theta = 10000\.0: an option that is not known here and may change the logits",
        ),
        ({"is_causal": False}, {}, "is_causal is False, expected True: no block computes that"),
        ({"pruned_heads": {"0": [1]}}, {}, "pruned_heads is .* expected {}"),
        ({"quantization_config": {"bits": 4}}, {}, "quantization_config is .*, expected None: no block computes that"),
        ({"architectures": ["MyGPT2"]}, {}, "architectures has 'MyGPT2', expected one of GPT2LMHeadModel, GPT2Model"),
        ({"auto_map": {"AutoModel": "mine.py"}}, {}, "auto_map = .*: an option that is not known"),
        ({"n_head": 0}, {}, "n_head is 0, expected an integer of at least 1"),
        ({"n_head": True}, {}, "n_head is True, expected an integer of at least 1"),
        ({"n_layer": -1}, {}, "n_layer is -1, expected an integer of at least 0"),
        ({"n_layer": 2.0}, {}, r"n_layer is 2\.0, expected an integer"),
        ({"num_attention_heads": 4}, {}, "num_attention_heads is 4 and n_head is 2, expected one number"),
        ({"num_hidden_layers": 1}, {}, "num_hidden_layers is 1 and n_layer is 2, expected one number"),
        ({"hidden_size": 8}, {}, "hidden_size is 8 and n_embd is 4, expected one number"),
        ({"max_position_embeddings": 4}, {}, "n_positions is 4, but the tensors have 5"),
        ({"n_embd": 8}, {}, "n_embd is 8, but the tensors have 4"),
        ({"vocab_size": 8}, {}, "vocab_size is 8, but the tensors have 7"),
        ({"n_positions": 4}, {}, "n_positions is 4, but the tensors have 5"),
        ({"n_ctx": 4}, {}, "n_ctx is 4, but the tensors have 5"),
        ({"n_inner": 8}, {}, "n_inner is 8, but the tensors have 16"),
        ({"scale_attn_weights": 0}, {}, "scale_attn_weights is 0, expected true or false"),
        ({"scale_attn_by_inverse_layer_idx": None}, {}, "scale_attn_by_inverse_layer_idx is None, expected true or"),
        ({"tie_word_embeddings": "no"}, {}, "tie_word_embeddings is 'no', expected true or false"),
        ({"tie_word_embeddings": False}, {}, r"tie_word_embeddings is false, but there is no lm_head\.weight"),
        ({"layer_norm_epsilon": "1e-5"}, {}, "layer_norm_epsilon is '1e-5', expected a finite number above 0"),
        ({"layer_norm_epsilon": 0.0}, {}, r"layer_norm_epsilon is 0\.0, expected a finite number"),
        (
            {},
            {"transformer.wte.weight": np.zeros((7, 4))},
            r"some tensors are given twice, with 'transformer\.' in front of the name and without",
        ),
        (
            {},
            {"lm_head.weight": np.ones((7, 4))},
            r"tie_word_embeddings is true, .* is not the embeddings",
        ),
    ],
)
def test_what_is_no_gpt2_is_refused(config, extra, message):
    with pytest.raises(InputError, match=message):
        model_of(tensors() | extra, {**CONFIG, **config})


def test_other_names_of_sizes_are_read():
    given = {"model_type": "gpt2", "num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 4}
    model = model_of(tensors(), {**given, "max_position_embeddings": 5})
    assert model.sha256() == model_of(tensors(), CONFIG).sha256() and model.blocks[0].n_heads == 2


def test_a_readout_that_is_the_embeddings_may_be_given_beside_them():
    given = tensors()
    assert (
        model_of(given | {"lm_head.weight": given["wte.weight"]}, CONFIG).sha256() == model_of(given, CONFIG).sha256()
    )


def test_every_option_of_a_configuration_as_it_is_published_is_known():
    published = {
        "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "_num_labels": 1,
        "bos_token_id": 6, "embd_pdrop": 0.1, "eos_token_id": 6, "initializer_range": 0.02, "n_special": 0,
        "layer_norm_epsilon": 1e-05, "n_ctx": 5, "n_positions": 5, "resid_pdrop": 0.1, "predict_special_tokens": True,
        "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}, "output_past": True, "summary_activation": None,
        "summary_first_dropout": 0.1, "summary_proj_to_labels": True, "summary_type": "cls_index",
        "summary_use_proj": True, "task_specific_params": {"text-generation": {"do_sample": True}}, "vocab_size": 7,
        "gradient_checkpointing": False, "use_cache": True, "torch_dtype": "float32", "transformers_version": "4.40.0",
    }  # fmt: skip
    assert model_of(tensors(), {**CONFIG, **published}).sha256() == model_of(tensors(), CONFIG).sha256()


@pytest.mark.filterwarnings("ignore")
def test_the_library_computes_the_same(tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers", reason="needs `pip install 'byheart[huggingface]'`")
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_layer=2, n_head=2, n_embd=8, vocab_size=11, n_positions=6)
    with torch.random.fork_rng():
        theirs = transformers.GPT2LMHeadModel(config).double().eval()
    state = {name: tensor.numpy() for name, tensor in theirs.state_dict().items()}
    model = model_of(state, config.to_dict())
    contexts = np.array([[0, 1, 2, 3, 4, 5], [10, 9, 8, 7, 6, 5]])
    with torch.inference_mode():
        expected = theirs(torch.tensor(contexts)).logits[:, -1].numpy()
    assert np.abs(enclose_logits(model, contexts, precision=200).midpoint - expected).max() < 1e-13
    theirs.save_pretrained(tmp_path)
    assert read_model(tmp_path).sha256() == model.sha256()


@pytest.mark.parametrize(("layers", "width"), [(1, 16), (2, 24), (3, 32)])
def test_from_a_folder_of_the_library_to_the_verdict(layers, width, tmp_path, capsys):
    """A model is trained on some facts and saved as the library saves it; one fact more is asked than it was taught."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers", reason="needs `pip install 'byheart[huggingface]'`")
    rng = np.random.default_rng(layers)
    contexts = rng.permutation(9**3)[:6, None] // 9 ** np.arange(3) % 9
    labels = rng.integers(9, size=6)
    rates = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    config = transformers.GPT2Config(
        n_layer=layers, n_head=2, n_embd=width, vocab_size=9, n_positions=4, bos_token_id=0, eos_token_id=0, **rates
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = transformers.GPT2LMHeadModel(config)
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-2)
        for _ in range(60):
            logits = module(torch.tensor(contexts)).logits[:, -1]
            torch.nn.functional.cross_entropy(logits, torch.tensor(labels)).backward()
            optimizer.step()
            optimizer.zero_grad()
    module.save_pretrained(tmp_path / "theirs")
    rows = np.column_stack([contexts, labels]).tolist()
    (tmp_path / "facts.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    line = ["certify", str(tmp_path / "theirs"), "--task", str(tmp_path / "facts.csv"), "--json"]
    assert main(line) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["memorized"]) == ("PROVED", 6)
    wrong = [*contexts[0].tolist(), int(labels[0] + 1) % 9]
    (tmp_path / "facts.csv").write_text(",".join(map(str, wrong)) + "\n")
    assert main(line) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "REFUTED" and found["memorized"] == 0
