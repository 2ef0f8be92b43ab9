"""The rivals of an edit, on a model of a moment: MEMIT's closed form, and fine-tuning."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from benchmarks.real_edit.rivals import (  # noqa: E402
    Batch,
    Prompt,
    closed_form,
    fine_tune,
    last_logits,
    memit,
    moments,
    wanted_rows,
)

LAYERS = (0, 1)
FACTS = [Prompt([1, 2, 3], 4, 1), Prompt([5, 6], 7, 1), Prompt([8, 2, 9, 1], 3, 2)]
PREFIXES = ([], [11, 12])


@pytest.fixture
def module() -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=20, hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=2,
        num_key_value_heads=1, bos_token_id=0, eos_token_id=0, max_position_embeddings=32,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval().requires_grad_(False)


def answered(module: Any) -> list[int]:
    with torch.no_grad():
        return last_logits(module, Batch.of([fact.tokens for fact in FACTS])).argmax(-1).tolist()


def test_prompts_that_are_filled_up_have_the_logits_of_each_by_itself(module: Any) -> None:
    rows = [fact.tokens for fact in FACTS]
    together = last_logits(module, Batch.of(rows))
    alone = torch.stack([module(torch.tensor([row])).logits[0, -1] for row in rows])
    assert torch.allclose(together, alone, atol=1e-5)


def test_the_closed_form_is_where_the_gradient_of_its_loss_is_zero() -> None:
    torch.manual_seed(0)
    keys, residuals, half = (torch.randn(*shape, dtype=torch.float64) for shape in ((3, 6), (3, 4), (6, 6)))
    moment = half @ half.T
    change = closed_form(keys, residuals, moment).requires_grad_(True)
    loss = (change @ moment @ change.T).trace() + (keys @ change.T - residuals).square().sum()
    loss.backward()
    assert change.grad.abs().max() < 1e-9 * loss.item()
    free = closed_form(keys, residuals, 1e-12 * torch.eye(6))
    assert torch.allclose(keys @ free.T, residuals, atol=1e-6)


def test_moments_are_those_of_what_the_map_reads(module: Any) -> None:
    text = torch.randint(20, (700,)).tolist()
    found = moments(module, text, LAYERS)
    seen: list[Any] = []
    hook = module.model.layers[1].mlp.down_proj.register_forward_pre_hook(lambda _, given: seen.append(given[0][0]))
    for start in (0, 512):
        module(torch.tensor([text[start : start + 512]]))
    hook.remove()
    keys = torch.cat(seen).double()
    assert torch.allclose(found[1], keys.T @ keys / 700, rtol=1e-4)


def test_what_is_wanted_gives_the_answers_and_the_closed_form_gives_what_is_wanted(module: Any) -> None:
    before = answered(module)
    assert before != [fact.answer for fact in FACTS]
    moment = moments(module, torch.randint(20, (512,)).tolist(), LAYERS)
    wanted = wanted_rows(module, FACTS, PREFIXES, max(LAYERS))
    assert answered(module) == before
    changed = memit(module, FACTS, wanted, [[]], moment, 1e-9)
    assert changed == 2 * 32 * 64
    rows: list[Any] = []
    hook = module.model.layers[1].register_forward_hook(
        lambda _, __, output: rows.append(output[0] if isinstance(output, tuple) else output)
    )
    answered(module)
    hook.remove()
    own = rows[0][torch.arange(3), torch.tensor([fact.subject for fact in FACTS])]
    assert torch.allclose(own, wanted, atol=1e-2 * float(wanted.abs().max()))


def test_fine_tuning_gives_the_answers_and_trains_what_it_is_told_to(module: Any) -> None:
    kept = Batch.of([[2, 2], [3, 1, 4]])
    before = torch.log_softmax(last_logits(module, kept), -1)
    other = {name: each.clone() for name, each in module.named_parameters()}
    steps, trained = fine_tune(
        module, FACTS, rate=1e-2, steps=200, kept=(kept, before), only=lambda name: "layers.1.mlp" in name
    )
    assert 0 < steps < 200 and trained == 3 * 32 * 64
    assert answered(module) == [fact.answer for fact in FACTS]
    changed = {name for name, each in module.named_parameters() if not torch.equal(each, other[name])}
    assert changed == {f"model.layers.1.mlp.{each}_proj.weight" for each in ("gate", "up", "down")}
