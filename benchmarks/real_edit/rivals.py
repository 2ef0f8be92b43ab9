"""Other ways to insert facts into a language model of Hugging Face: MEMIT's closed form, and fine-tuning.

Source: Meng, Sen Sharma, Andonian, Belinkov, Bau (2023), Mass-editing memory in a transformer, sections 4.2 and 4.3 and
appendix B; the numbers of steps, rates and weights are those of its authors for GPT-J, which has 28 layers.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch.nn import functional

Tensor = torch.Tensor

LAYERS = range(3, 9)  # whose output maps are changed
STEPS, RATE = 25, 0.5  # of the values that are looked for
DECAY, CLAMP, KL = 0.5, 0.75, 0.0625  # how far they go from what is there
SAMPLES = 512  # tokens of a text that are run together


class Prompt(NamedTuple):
    """A fact.

    Args:
        tokens: The prompt.
        answer: The token that shall follow.
        subject: The place of the last token of what it is about.
    """

    tokens: list[int]
    answer: int
    subject: int


class Batch(NamedTuple):
    """Prompts of several lengths, filled up at their ends.

    Args:
        tokens: `[T, S]`.
        mask: Which of them are there, `[T, S]`.
        last: The place of the last one, `[T]`.
    """

    tokens: Tensor
    mask: Tensor
    last: Tensor

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> "Batch":
        """Fill up prompts."""
        longest = max(map(len, rows))
        tokens = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        return cls(tokens, mask, mask.sum(1) - 1)


def last_logits(module: Any, batch: Batch) -> Tensor:
    """Return the logits behind the last token of each prompt, `[T, vocabulary]`."""
    rows = module.model(batch.tokens, attention_mask=batch.mask, use_cache=False).last_hidden_state
    return module.lm_head(rows[torch.arange(len(rows)), batch.last])


def closed_form(keys: Tensor, residuals: Tensor, moment: Tensor) -> Tensor:
    r"""Return the change of a map that takes keys nearer to their residuals and moves other keys little.

    It is the least point of $\mathrm{tr}(\Delta C \Delta^\top) + \sum_i \vert \Delta k_i - r_i \vert^2$ (equation 14).

    Args:
        keys: The $k_i$ as rows, `[facts, m]`.
        residuals: The $r_i$ as rows, `[facts, d]`.
        moment: C, `[m, m]`.

    Returns:
        The change, `[d, m]`.
    """
    keys, residuals, moment = keys.double(), residuals.double(), moment.double()
    return torch.linalg.solve(moment + keys.T @ keys, keys.T @ residuals).T


@contextmanager
def tapped(module: Any, layers: Sequence[int]) -> Iterator[tuple[dict[int, Tensor], dict[int, Tensor]]]:
    """Note what the output maps of neurons read, and what layers put out, while the block runs."""
    reads, outputs, hooks = dict[int, Tensor](), dict[int, Tensor](), []
    for layer in layers:
        own = module.model.layers[layer]

        def read(_: Any, given: Any, layer: int = layer) -> None:
            reads[layer] = given[0].detach()

        def put(_: Any, __: Any, output: Any, layer: int = layer) -> None:
            outputs[layer] = (output[0] if isinstance(output, tuple) else output).detach()

        hooks += [own.mlp.down_proj.register_forward_pre_hook(read), own.register_forward_hook(put)]
    try:
        yield reads, outputs
    finally:
        for hook in hooks:
            hook.remove()


def moments(module: Any, text: Sequence[int], layers: Sequence[int] = LAYERS) -> dict[int, Tensor]:
    """Second moments of what the output maps of neurons read over a text, by layer."""
    sums, count = dict[int, Tensor](), 0
    with torch.no_grad(), tapped(module, layers) as (reads, _):
        for start in range(0, len(text), SAMPLES):
            part = torch.tensor([list(text[start : start + SAMPLES])])
            module.model(part, use_cache=False)
            count += part.numel()
            for layer in layers:
                keys = reads[layer].flatten(0, 1)
                sums[layer] = sums.get(layer, 0.0) + (keys.T @ keys).double()
    return {layer: each / count for layer, each in sums.items()}


def wanted_rows(module: Any, facts: Sequence[Prompt], prefixes: Sequence[Sequence[int]], layer: int) -> Tensor:
    """Return what a layer has to put out at each subject so that the answers follow, behind any prefix, `[facts, d]`.

    By gradient steps from what it puts out, which the distribution behind the bare subject holds back (equation 16).
    """
    every = [(prefix, fact) for fact in facts for prefix in prefixes]
    batch = Batch.of([[*prefix, *fact.tokens] for prefix, fact in every])
    places = torch.tensor([len(prefix) + fact.subject for prefix, fact in every])
    bare = Batch.of([fact.tokens[: fact.subject + 1] for fact in facts])
    owner = torch.arange(len(facts)).repeat_interleave(len(prefixes))
    answers = torch.tensor([fact.answer for fact in facts])[owner]
    with torch.no_grad(), tapped(module, [layer]) as (_, outputs):
        before = functional.log_softmax(last_logits(module, bare), -1)
        last_logits(module, Batch.of([fact.tokens for fact in facts]))
        start = outputs[layer][torch.arange(len(facts)), torch.tensor([fact.subject for fact in facts])].clone()
    size = start.norm(dim=1, keepdim=True)
    added = torch.zeros_like(start, requires_grad=True)
    optimizer, at = torch.optim.Adam([added], lr=RATE), [(places, owner)]

    def put(_: Any, __: Any, output: Any) -> Any:
        rows = output[0] if isinstance(output, tuple) else output
        place, whose = at[0]
        more = torch.zeros_like(rows).index_put((torch.arange(len(rows)), place), added[whose])
        return (rows + more, *output[1:]) if isinstance(output, tuple) else rows + more

    hook = module.model.layers[layer].register_forward_hook(put)
    try:
        for _ in range(STEPS):
            optimizer.zero_grad()
            at[0] = places, owner
            likely = functional.cross_entropy(last_logits(module, batch), answers, reduction="none")
            at[0] = bare.last, torch.arange(len(facts))
            after = functional.log_softmax(last_logits(module, bare), -1)
            drift = functional.kl_div(after, before, log_target=True, reduction="none").sum(-1)
            far = DECAY * (added.norm(dim=1) / size[:, 0] ** 2)
            (likely.sum() / len(prefixes) + KL * drift.sum() + far.sum()).backward()
            optimizer.step()
            with torch.no_grad():
                added *= (CLAMP * size / added.norm(dim=1, keepdim=True)).clamp(max=1.0)
    finally:
        hook.remove()
    return start + added.detach()


def memit(
    module: Any,
    facts: Sequence[Prompt],
    wanted: Tensor,
    prefixes: Sequence[Sequence[int]],
    moment: dict[int, Tensor],
    weight: float,
) -> int:
    """Spread the wanted rows over the layers, each by the closed form, and change the module.

    Args:
        module: The model.
        facts: What is inserted.
        wanted: What `wanted_rows` found for the last of the layers.
        prefixes: As there.
        moment: By layer (`moments`); its keys are the layers.
        weight: How much other keys count, lambda.

    Returns:
        How many numbers were changed.
    """
    layers, changed = sorted(moment), 0
    every = [(prefix, fact) for fact in facts for prefix in prefixes]
    batch = Batch.of([[*prefix, *fact.tokens] for prefix, fact in every])
    places = torch.tensor([len(prefix) + fact.subject for prefix, fact in every])
    plain = Batch.of([fact.tokens for fact in facts])
    subjects = torch.tensor([fact.subject for fact in facts])
    for number, layer in enumerate(layers):
        with torch.no_grad(), tapped(module, [layer, layers[-1]]) as (reads, outputs):
            module.model(plain.tokens, attention_mask=plain.mask, use_cache=False)
            missing = wanted - outputs[layers[-1]][torch.arange(len(facts)), subjects]
            module.model(batch.tokens, attention_mask=batch.mask, use_cache=False)
            keys = reads[layer][torch.arange(len(every)), places].view(len(facts), len(prefixes), -1).mean(1)
            map_ = module.model.layers[layer].mlp.down_proj.weight
            map_ += closed_form(keys, missing / (len(layers) - number), weight * moment[layer]).to(map_.dtype)
            changed += map_.numel()
    return changed


def fine_tune(
    module: Any,
    facts: Sequence[Prompt],
    *,
    rate: float,
    steps: int,
    kept: tuple[Batch, Tensor] | None = None,
    only: Callable[[str], bool] = lambda name: True,
) -> tuple[int, int]:
    """Train the module by Adam until every fact is answered.

    Args:
        module: The model.
        facts: What it shall answer.
        rate: Of Adam.
        steps: At most so many.
        kept: Prompts and the logarithms of their distributions, whose divergence is added to the loss.
        only: Which parameters are trained, by their names.

    Returns:
        How many steps it took, and how many numbers were trained.
    """
    trained = [each for name, each in module.named_parameters() if only(name)]
    for parameter in module.parameters():
        parameter.requires_grad_(any(parameter is each for each in trained))
    optimizer = torch.optim.Adam(trained, lr=rate)
    batch, answers = Batch.of([fact.tokens for fact in facts]), torch.tensor([fact.answer for fact in facts])
    taken = steps
    for step in range(steps):
        logits = last_logits(module, batch)
        if bool((logits.argmax(-1) == answers).all()):
            taken = step
            break
        optimizer.zero_grad()
        loss = functional.cross_entropy(logits, answers)
        if kept is not None:
            after = functional.log_softmax(last_logits(module, kept[0]), -1)
            loss = loss + functional.kl_div(after, kept[1], log_target=True, reduction="batchmean")
        loss.backward()
        optimizer.step()
    module.requires_grad_(False)
    return taken, sum(each.numel() for each in trained)
