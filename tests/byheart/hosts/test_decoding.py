"""What `generate` makes of logits: every field of the library is judged, against what the library itself says."""

import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from byheart.cli.main import main
from byheart.hosts.certify import certify, certify_rule
from byheart.hosts.decoding import DecodedFacts, require_greedy
from constructions.errors import FileFormatError, InputError

VOCABULARY, LENGTH, END = 11, 3, 7

# Values that make generate say something else, or may; of fields of the library and of its earlier versions.
CHANGING = {
    "repetition_penalty": [1.8, 0.5, True],
    "encoder_repetition_penalty": [3.0],
    "no_repeat_ngram_size": [1, True],
    "encoder_no_repeat_ngram_size": [1],
    "bad_words_ids": [[[3]]],
    "suppress_tokens": [[1, 2, 3]],
    "begin_suppress_tokens": [[3]],
    "sequence_bias": [[[[3], 10.0]]],
    "guidance_scale": [2.0],
    "watermarking_config": [{"bias": 9.0}],
    "forced_bos_token_id": [3],
    "forced_eos_token_id": [3],
    "exponential_decay_length_penalty": [[1, 3.0]],
    "min_length": [9],
    "min_new_tokens": [9],
    "num_beams": [4],
    "num_beam_groups": [2],
    "penalty_alpha": [0.6],
    "dola_layers": ["low"],
    "constraints": [[]],
    "force_words_ids": [[[3]]],
    "token_healing": [True],
    "num_return_sequences": [2],
    "max_time": [1e-9],
    "stop_strings": ["a"],
    "is_assistant": [True],
    "cache_implementation": ["quantized"],
    "prefix": ["say: "],
    "max_new_tokens": [1, "2"],
    "max_length": [4],
    "eos_token_id": ["</s>"],
    "do_sample": ["no"],
    "a_field_of_tomorrow": [False, 0, 1],
}
# Values of the other kind: generate says what the largest logits say.
HARMLESS = {
    "repetition_penalty": [1, 1.0, None],
    "encoder_repetition_penalty": [1.0],
    "no_repeat_ngram_size": [0],
    "suppress_tokens": [[], None],
    "begin_suppress_tokens": [[]],
    "guidance_scale": [1],
    "min_length": [0],
    "min_new_tokens": [0],
    "num_beams": [1],
    "cache_implementation": ["dynamic", "static"],
    "cache_config": [{}],
    "temperature": [0.3],
    "top_k": [3],
    "top_p": [0.2],
    "min_p": [0.2],
    "top_h": [0.2],
    "typical_p": [0.2],
    "epsilon_cutoff": [0.2],
    "eta_cutoff": [0.2],
    "early_stopping": [True],
    "length_penalty": [2.0],
    "renormalize_logits": [True],
    "remove_invalid_values": [True],
    "prompt_lookup_num_tokens": [2],
    "max_matching_ngram_size": [1],
    "num_assistant_tokens": [3],
    "assistant_confidence_threshold": [0.9],
    "use_cache": [False],
    "output_scores": [True],
    "output_hidden_states": [True],
    "bos_token_id": [3],
    "decoder_start_token_id": [3],
    "max_length": [20, 40],
    "max_new_tokens": [5],
    "prefill_chunk_size": [1],
    "low_memory": [True],
    "do_sample": [False],
}


def answers(count=2, said=(1, END, 2)):
    return DecodedFacts([(LENGTH, said)] * count, {0, 1})


def judged(name, value, facts=None):
    """What is said of one field, where it stands alone."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "generation_config.json").write_text(json.dumps({name: value}))
        return require_greedy(folder, {}, facts or answers())


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in CHANGING.items() for value in values])
def test_what_changes_the_answers_is_refused_by_name_wherever_it_stands(name, value, tmp_path):
    with pytest.raises(InputError, match=f"what generate says .*{name} = .* in generation_config.json"):
        judged(name, value)
    (tmp_path / "generation_config.json").write_text(json.dumps({name: value, "transformers_version": "5"}))
    for source in (tmp_path, tmp_path / "model.safetensors"):
        said = require_greedy(source, {}, answers(), plain_argmax=True)
        assert said.startswith(f"by plain argmax, without generation_config.json's {name} = ")
    if name != "a_field_of_tomorrow":  # in a configuration that belongs to the reader of the family
        with pytest.raises(InputError, match=f"{name} = .* in config.json"):
            require_greedy(None, {name: value}, answers())
        with pytest.raises(InputError, match=f"{name} = .* in task_specific_params of config.json"):
            require_greedy(None, {"task_specific_params": {"text-generation": {name: value}}}, answers())


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in HARMLESS.items() for value in values])
def test_what_changes_nothing_is_passed_over(name, value):
    assert judged(name, value) == ""


def test_all_fields_that_change_something_stand_in_one_message(tmp_path):
    fields = {"repetition_penalty": 1.8, "suppress_tokens": list(range(90)), "num_beams": 2}
    (tmp_path / "generation_config.json").write_text(json.dumps(fields))
    with pytest.raises(InputError) as error:
        require_greedy(tmp_path, {"no_repeat_ngram_size": 2}, answers())
    assert all(name in str(error.value) for name in (*fields, "no_repeat_ngram_size")) and len(str(error.value)) < 700


def test_an_end_inside_of_an_answer_is_refused_and_one_at_its_end_is_not():
    for ends in (END, [3, END]):
        with pytest.raises(InputError, match=r"eos_token_id = .* ends 2 answers early"):
            judged("eos_token_id", ends)
        assert judged("eos_token_id", ends, DecodedFacts([(2, (1, END)), (2, (2,))], {0})) == ""
    assert judged("eos_token_id", [], answers()) == judged("eos_token_id", None, answers()) == ""


def test_a_limit_that_cuts_an_answer_is_refused():
    assert judged("max_length", 6) == "" and judged("max_new_tokens", 3) == ""
    for name, value in (("max_length", 5), ("max_new_tokens", 2)):
        with pytest.raises(InputError, match=f"{name} = {value} in .* ends 2 answers early"):
            judged(name, value)


def test_sampling_and_a_pad_in_prompts_are_named():
    assert judged("do_sample", True).startswith("generation_config.json samples unless told otherwise")
    assert "the pad_token_id 1 of generation_config.json is in prompts" in judged("pad_token_id", 1)
    assert judged("pad_token_id", 9) == ""
    assert require_greedy(None, {"pad_token_id": 1, "eos_token_id": [1]}, answers(said=(2,))) == ""


def test_a_file_that_cannot_be_read_is_refused_and_other_hosts_do_not_read_it(tmp_path):
    for text in ("{", "[1]"):
        (tmp_path / "generation_config.json").write_text(text)
        with pytest.raises(FileFormatError, match=r"generation_config\.json"):
            require_greedy(tmp_path, {}, answers())
        assert require_greedy(tmp_path, {"d_head": 4}, answers()) == ""


def test_every_field_of_the_library_is_known():
    """A later version may have another, which is refused until somebody has read what it does."""
    transformers = pytest.importorskip("transformers")
    for name in transformers.GenerationConfig().to_dict():
        try:
            said = judged(name, "a value that no field has")
        except InputError as error:
            said = str(error)
        assert "not known here" not in said, name


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """A tiny Llama, which repeats itself and ends its answers."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=64, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    torch.manual_seed(0)
    module = transformers.LlamaForCausalLM(config)
    with torch.no_grad():
        for each in module.parameters():
            each.copy_(torch.randn_like(each) * 0.7)
    folder = tmp_path_factory.mktemp("llama")
    module.save_pretrained(folder)
    return folder


PROMPTS = np.random.default_rng(0).integers(0, VOCABULARY, (5, LENGTH)).tolist()


def with_fields(llama, folder, **fields):
    shutil.copytree(llama, folder)
    (folder / "generation_config.json").write_text(json.dumps(fields))
    return folder


def generated(folder, tokens=3):
    """What the library says in float64."""
    import torch
    from transformers import AutoModelForCausalLM

    module, found = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64), []
    for given in torch.tensor(PROMPTS)[:, None]:  # one by one, as some ways of decoding want it
        row = module.generate(given, attention_mask=given * 0 + 1, max_new_tokens=tokens, do_sample=False)
        found.append((row if hasattr(row, "shape") else row.sequences)[0, LENGTH:].tolist())
    return found


FIELDS = [
    (name, value) for name, values in HARMLESS.items() for value in values
    if name not in ("max_length", "max_new_tokens", "prefill_chunk_size")  # how long, and a field of one kind of call
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_the_library_says_the_same_with_what_is_harmless(llama, tmp_path):
    plain = generated(with_fields(llama, tmp_path / "plain"))
    facts = [(prompt, answer) for prompt, answer in zip(PROMPTS, plain, strict=True)]
    assert certify(tmp_path / "plain", facts, handshake=False)["memorized"] == len(facts)
    for i, (name, value) in enumerate(FIELDS):
        assert generated(with_fields(llama, tmp_path / str(i), **{name: value})) == plain, (name, value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "fields",
    [
        {"repetition_penalty": 9.0},
        {"no_repeat_ngram_size": 1},
        {"suppress_tokens": [0, 1, 2, 3, 4, 5]},
        {"begin_suppress_tokens": [0, 1, 2, 3, 4, 5]},
        {"bad_words_ids": [[0], [1], [2], [3], [4], [5]]},
        {"encoder_repetition_penalty": 9.0},
        {"encoder_no_repeat_ngram_size": 1},
        {"forced_eos_token_id": 3},
        {"sequence_bias": [[[3], 50.0]]},
    ],
)
def test_what_the_library_says_otherwise_is_refused_or_named(fields, llama, tmp_path):
    """The kind of the fault: a first line about greedy decoding, of a folder whose generate says something else."""
    plain = generated(llama)
    folder = with_fields(llama, tmp_path / "other", **fields)
    assert generated(folder) != plain
    facts = [(prompt, answer) for prompt, answer in zip(PROMPTS, plain, strict=True)]
    [name] = fields
    with pytest.raises(InputError, match=f"{name} = .* --plain-argmax"):
        certify(folder, facts)
    figures = certify(folder, facts, plain_argmax=True)
    assert figures["memorized"] == len(facts) and f"without generation_config.json's {name} = " in figures["headline"]
    labels = np.array([answer[0] for answer in plain])

    def rule(inputs):
        return labels[[PROMPTS.index(row) if row in PROMPTS else 0 for row in inputs.tolist()]]

    with pytest.raises(InputError, match=f"{name} = .* --plain-argmax"):
        certify_rule(folder, rule, length=LENGTH)
    assert f"{name} = " in certify_rule(folder, rule, length=LENGTH, plain_argmax=True)["headline"]


def test_the_command_says_what_to_do(llama, tmp_path, capsys):
    folder = with_fields(llama, tmp_path / "other", repetition_penalty=1.8)
    (tmp_path / "facts.csv").write_text("1 2 3,4\n1 2 4,5\n")
    line = ["certify", str(folder), "--task", str(tmp_path / "facts.csv"), "--quiet"]
    assert main(line) == 2
    assert "repetition_penalty = 1.8 in generation_config.json lowers" in capsys.readouterr().err
    assert main([*line, "--plain-argmax", "--out", str(tmp_path / "out")]) in (0, 1)
    assert "by plain argmax, without generation_config.json's repetition_penalty = 1.8" in capsys.readouterr().out
    stored = json.loads((tmp_path / "out" / "certificate.json").read_text())["provenance"]
    assert "by plain argmax, without generation_config.json's repetition_penalty = 1.8" in stored["handshake"]


@pytest.mark.parametrize("value", [0, 1, 0.0, "", [], {}, "no"])
@pytest.mark.parametrize("place", ["generation_config.json", "config.json"])
def test_a_cache_that_is_neither_true_nor_false_and_padding_that_is_no_token_are_refused(value, place, tmp_path):
    facts = DecodedFacts([(2, (5, 7))], {0, 1})
    fields = {"use_cache": value, "pad_token_id": [True, 0.0, "0"]}
    for name, values in fields.items():
        for each in values if name == "pad_token_id" else [value]:
            (tmp_path / "generation_config.json").write_text(json.dumps({name: each} if place[0] == "g" else {}))
            with pytest.raises(InputError, match=f"{name} = .* in {place} is "):
                require_greedy(tmp_path, {} if place[0] == "g" else {name: each}, facts)
    assert require_greedy(None, {"use_cache": False, "pad_token_id": 9}, facts) == ""
