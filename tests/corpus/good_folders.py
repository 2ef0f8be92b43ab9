"""The good folders: models, tasks and what is proved of them, each as small as its kind allows.

Weights are small fractions over powers of two, so that every machine makes the same ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from byheart.editing import edit_model
from byheart.facts import memorize
from byheart.reciting import whole_text
from constructions.memories.probes.probe_memory import probe_memory
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from constructions.model.shapes import dana_network, mahdavi_layer
from constructions.numeric.arrays import Int64Array
from constructions.tasks.arrays import all_contexts
from constructions.tasks.criterion import Criterion
from constructions.tasks.prompts import PromptTask
from constructions.tasks.rule import RuleTask, rule_task
from constructions.tasks.task import Counts, Origin, Task, make_task, windows_task
from constructions.tasks.vectors import VectorTask
from constructions.tasks.windows import END, Windows
from tests.corpus import detectors
from verify.certificates.certificate import ANSWERS, REALS, Certificate, Statement
from verify.forward.ladder import decide_argmax
from verify.provers.domain import certify_domain
from verify.provers.edit import save_edit, whole_domain
from verify.provers.memorization import certify_memorization
from verify.provers.runs import prove_runs
from verify.provers.text import state_text

TOKENS, LENGTH = 4, 3
PROVENANCE = {"made by": "tests/corpus"}


@dataclass(frozen=True)
class Good:
    """A folder whose statements are all true.

    Args:
        kind: The kind of statement that it is there for.
        about: What it holds, in one line.
        write: Writes its files into an empty folder.
        expected: The answer to its question: ``"proved"``, or ``"refuted"`` or ``"undecided"``.
    """

    kind: str
    about: str
    write: Callable[[Path], None]
    expected: str = "proved"


GOOD: dict[str, Good] = {}


def good(name: str, kind: str, about: str, expected: str = "proved") -> Callable[[Callable[[], Any]], Callable]:
    """Register a function that returns the arguments of `write_memory`."""

    def enter(make: Callable[[], dict[str, Any]]) -> Callable:
        def write(folder: Path) -> None:
            write_memory(folder, **make())

        GOOD[name] = Good(kind, about, write, expected)
        return make

    return enter


def write_memory(
    folder: Path,
    model: Model,
    task: Any,
    criterion: Criterion | None = None,
    *,
    runs: Sequence[str] = (),
    said: Sequence[str] = (),
    **options: Any,
) -> None:
    """Write model, task and what is proved of them, as `byheart memorize` and `byheart certify` do.

    Args:
        folder: Where to.
        model: The weights.
        task: The task or the rule.
        criterion: The question.
        runs: The number formats of every run of which something is stated, the finest first.
        said: Those in which it is stated that the texts are said, or `REALS`.
        options: What else is to be proved.
    """
    if isinstance(task, RuleTask):
        certified: Any = certify_domain(model, task, criterion, **options)
    else:
        certified = certify_memorization(model, task, criterion, text_divergence=True, **options)
    model.save(folder / "model.safetensors")
    task.save(folder / "task.safetensors")
    certified.save(folder)
    found = Certificate.load(folder)
    answers, *others = found.statements
    of_runs = [proved_runs(model, task, dtype, found.criterion.tolerance) for dtype in runs]
    by_format = {REALS: answers, **{each.named["format"]: each for each in of_runs}}
    of_texts = [state_text(task, [by_format[each]]) for each in said]
    statements = (answers, *of_runs, *filter(None, of_texts), *others)
    assert len(statements) == 1 + len(runs) + len(said) + len(others)
    replace(found, statements=statements, provenance=PROVENANCE).save(folder)


def proved_runs(model: Model, task: Any, dtype: str, tolerance: float) -> Statement:
    """Return the statement about every run in a format."""
    listed = task
    if isinstance(task, RuleTask):
        inputs = task.contexts_at(np.arange(task.n_contexts))
        listed = task.facts(inputs, vocabulary=model.d_vocab, answers=model.d_vocab_out)
    found = prove_runs(model, listed, dtype, tolerance=tolerance)
    assert found is not None, dtype
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Small numbers and tasks.


def fractions(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Return eighths between -1 and 1, times a power of two."""
    return np.random.default_rng(seed).integers(-8, 9, shape) / 8.0 * scale


def some_contexts(count: int = 8, tokens: int = TOKENS, length: int = LENGTH) -> Int64Array:
    """Return so many contexts, spread over all of this length."""
    everything = all_contexts(tokens, length)
    return everything[np.arange(count) * (len(everything) // count + 1) % len(everything)]


def answers_of(model: Model, contexts: Int64Array) -> Int64Array:
    """Return the answers of the model, which are decided and not all the same."""
    labels = decide_argmax(model, contexts).place
    assert labels.min() >= 0 and len(set(labels.tolist())) > 1, labels
    return labels


def counted_task(contexts: Int64Array, labels: Int64Array, *, tokens: int = TOKENS, **options: Any) -> Task:
    """Return a task of counts in which the label follows three times, and another token once."""
    answers = len(options.get("answers", ())) or tokens
    rows = [{int(label): 3, int((label + 1) % answers): 1} for label in labels]
    return make_task(contexts, Counts.from_rows(rows), vocabulary=names(tokens), target="labels", **options)


def table_task(contexts: Int64Array, labels: Int64Array, origin: Origin = "table", tokens: int = TOKENS) -> Task:
    """Return a task with one next token of each context."""
    rows = Counts.from_rows([{int(label): 1} for label in labels])
    return make_task(contexts, rows, vocabulary=names(tokens), target="labels", origin=origin)


def names(count: int) -> tuple[str, ...]:
    """Return names of tokens: a, b, c, ..."""
    return tuple("abcdefghijklmnop"[:count])


def says(model: Model, count: int = 8) -> dict[str, Any]:
    """Return the model, and the table of what it answers to some contexts."""
    contexts = some_contexts(count, model.d_vocab)
    labels = answers_of(model, contexts)
    return {"model": model, "task": table_task(contexts, labels, tokens=max(model.d_vocab, model.d_vocab_out))}


def one_attention(seed: int = 0, *, n_heads: int = 2, d: int = 4, d_head: int = 2, scale: float = 1.0) -> Model:
    """Return the network of one attention that asks from the last position."""
    return dana_network(
        W_E=fractions(seed, TOKENS, d, scale=2.0),
        W_pos=fractions(seed + 1, LENGTH, d),
        W_Q=fractions(seed + 2, n_heads, d, d_head, scale=scale),
        W_K=fractions(seed + 3, n_heads, d, d_head),
        W_V=fractions(seed + 4, n_heads, d, d_head, scale=2.0),
        W_O=fractions(seed + 5, n_heads, d_head, d, scale=2.0),
        W_U=fractions(seed + 6, d, TOKENS, scale=2.0),
    )


def lookup(logits: np.ndarray) -> Model:
    """Return a model without a block: the logits are a table of the last token."""
    tokens = len(logits)
    return Model(blocks=(), W_U=logits, W_E=np.eye(tokens), W_pos=np.zeros((1, tokens)))


# ---------------------------------------------------------------------------------------------------------------------
# Answers: labels, distributions, values.

PERMUTATION = np.array([2, 0, 3, 1])
SINGLE = np.arange(TOKENS)[:, None]


@good("labels-lookup", "answers", "a table of four labels in a model without blocks; all numbers are integers")
def _labels_lookup() -> dict[str, Any]:
    return {"model": lookup(np.eye(TOKENS)[PERMUTATION] * 3.0), "task": table_task(SINGLE, PERMUTATION)}


@good(
    "labels-most-frequent",
    "text-divergence",
    "most frequent next tokens of eight contexts, four in the tail",
)
def _labels_most_frequent() -> dict[str, Any]:
    model, contexts = one_attention(), some_contexts(12)
    return {"model": model, "task": counted_task(contexts, answers_of(model, contexts), facts=8)}


@good("labels-own", "answers", "labels of one's own, which no counts have")
def _labels_own() -> dict[str, Any]:
    model, contexts = one_attention(1), some_contexts()
    task = table_task(contexts, answers_of(model, contexts))
    return {"model": model, "task": replace(task, origin="own")}


@good("labels-answers-apart", "answers", "answers that are none of the tokens")
def _labels_apart() -> dict[str, Any]:
    model, contexts = replace(one_attention(2), W_U=fractions(9, 4, 3, scale=2.0)), some_contexts()
    task = counted_task(contexts, answers_of(model, contexts), answers=("yes", "no", "perhaps"))
    return {"model": model, "task": task}


def partly_right() -> dict[str, Any]:
    """Return eight contexts of which two are answered otherwise than the table says."""
    model, contexts = one_attention(3), some_contexts()
    labels = answers_of(model, contexts)
    labels[[2, 5]] = (labels[[2, 5]] + 1) % TOKENS
    return {"model": model, "task": table_task(contexts, labels)}


@good("labels-at-least", "answers", "two contexts of eight are wrong, six are asked for")
def _labels_at_least() -> dict[str, Any]:
    return {**partly_right(), "criterion": Criterion.at_least(6)}


@good("labels-at-most", "answers", "a mean divergence is asked for")
def _labels_at_most() -> dict[str, Any]:
    task = table_task(SINGLE, PERMUTATION)
    return {"model": lookup(np.eye(TOKENS)[PERMUTATION] * 8.0), "task": task, "criterion": Criterion.at_most(0.125)}


@good(
    "labels-not-memorized", "answers", "every statement is true and the answer is no: two contexts are wrong", "refuted"
)
def _labels_not_memorized() -> dict[str, Any]:
    return partly_right()


@good(
    "labels-of-one-kind",
    "answers",
    "three of four labels are equal: a guess holds what is asked",
    "refuted",
)
def _labels_of_one_kind() -> dict[str, Any]:
    logits = np.eye(TOKENS)[[1, 1, 1, 3]] * 3.0
    task = table_task(SINGLE, np.array([1, 1, 1, 0]))
    return {"model": lookup(logits), "task": task, "criterion": Criterion.at_least(3)}


@good("labels-tie", "answers", "two logits are equal, so the label is not the strictly largest", "refuted")
def _labels_tie() -> dict[str, Any]:
    logits = np.eye(TOKENS)[PERMUTATION] * 3.0
    logits[0, 0] = 3.0
    return {"model": lookup(logits), "task": table_task(SINGLE, PERMUTATION)}


@good("labels-near-tie", "answers", "a label leads by 2^-40 between logits of about 3")
def _labels_near_tie() -> dict[str, Any]:
    logits = np.eye(TOKENS)[PERMUTATION] * 3.0
    logits[0, 0] = 3.0 - 2.0**-40
    return {"model": lookup(logits), "task": table_task(SINGLE, PERMUTATION)}


@good("labels-subnormal", "answers", "embeddings of 2^-1074, which a readout of 2^1023 makes 2^-51")
def _labels_subnormal() -> dict[str, Any]:
    model = replace(lookup(np.eye(TOKENS)[PERMUTATION] * 2.0**1023), W_E=np.eye(TOKENS) * 2.0**-1074)
    return {"model": model, "task": table_task(SINGLE, PERMUTATION)}


def write_subnormal_lead(folder: Path) -> None:
    """Write a folder of labels that lead by 2^-1074, in a certificate that says so without bounds."""
    task = table_task(SINGLE, PERMUTATION)
    write_memory(folder, lookup(np.eye(TOKENS)[PERMUTATION] * 2.0**-1074), task)
    memorized = Statement(ANSWERS, "", {"contexts": TOKENS, "memorized": TOKENS, "wrong": 0, "guess_right": 1})
    replace(Certificate.load(folder), statements=(memorized,)).save(folder)


GOOD["labels-subnormal-lead"] = Good("answers", "each label leads by 2^-1074", write_subnormal_lead)


@good("labels-huge", "answers", "numbers of 2^100, whose products cancel in the readout and leave 3")
def _labels_huge() -> dict[str, Any]:
    large = np.full((2, TOKENS), 2.0**100)
    large[1] *= -1.0
    readout = np.vstack([np.eye(TOKENS)[PERMUTATION] * 3.0, large])
    rows = np.hstack([np.eye(TOKENS), np.full((TOKENS, 2), 2.0**100)])
    model = Model(blocks=(), W_U=readout, W_E=rows, W_pos=np.zeros((1, TOKENS + 2)))
    return {"model": model, "task": table_task(SINGLE, PERMUTATION)}


COUNTS = Counts.from_rows([{0: 5, 1: 1}, {1: 3, 2: 2, 3: 1}, {2: 7}, {0: 1, 3: 6}])


def distribution_logits() -> np.ndarray:
    """Return the logarithms of the smoothed distributions of `COUNTS`, to 40 bits."""
    counts = COUNTS.dense(0, TOKENS, TOKENS)
    distributions = (2 * TOKENS * counts + 1) / (TOKENS * (2 * counts.sum(1, keepdims=True) + 1))
    return np.round(np.log(distributions) * 2.0**40) / 2.0**40


@good(
    "distributions-smoothed",
    "text-divergence",
    "smoothed counts of three tokens, within .001 nats, and of one in the tail",
)
def _distributions_smoothed() -> dict[str, Any]:
    task = make_task(SINGLE, COUNTS, vocabulary=names(TOKENS), facts=3)
    return {"model": lookup(distribution_logits()), "task": task}


OWN_DISTRIBUTIONS = np.array([[8, 4, 2, 2], [1, 1, 13, 1], [3, 5, 3, 5], [2, 2, 2, 10]]) / 16.0


@good("distributions-own", "answers", "distributions of one's own, two modes in one of them, within 1/64 nats")
def _distributions_own() -> dict[str, Any]:
    task = make_task(SINGLE, COUNTS, vocabulary=names(TOKENS), distributions=OWN_DISTRIBUTIONS)
    logits = np.round(np.log(OWN_DISTRIBUTIONS) * 2.0**20) / 2.0**20
    return {"model": lookup(logits), "task": task, "criterion": Criterion(tolerance=2.0**-6)}


@good(
    "distributions-at-most",
    "answers",
    "the mean divergence of distributions that are far off is asked to be at most 1/2",
)
def _distributions_at_most() -> dict[str, Any]:
    task = make_task(SINGLE, COUNTS, vocabulary=names(TOKENS), distributions=OWN_DISTRIBUTIONS)
    return {"model": lookup(OWN_DISTRIBUTIONS * 2.0), "task": task, "criterion": Criterion.at_most(0.25)}


@good(
    "distributions-beyond-tolerance",
    "answers",
    "the modes are right, the distributions are off by more than is allowed",
    "refuted",
)
def _distributions_beyond() -> dict[str, Any]:
    task = make_task(SINGLE, COUNTS, vocabulary=names(TOKENS), distributions=OWN_DISTRIBUTIONS)
    return {"model": lookup(OWN_DISTRIBUTIONS * 2.0), "task": task}


def layer(seed: int, *, n_heads: int, d_out: int) -> Model:
    """Return a layer that reads vectors of dimension 3."""
    return mahdavi_layer(
        W_Q=fractions(seed, n_heads, 3, 2, scale=2.0),
        W_K=fractions(seed + 1, n_heads, 3, 2, scale=2.0),
        W_V=fractions(seed + 2, n_heads, 3, 2),
        W_O=fractions(seed + 3, 2 * n_heads, 3),
        W_D=fractions(seed + 4, 3, d_out),
    )


def outputs_of(model: Model, contexts: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Return what a layer makes of its examples, rounded to 16 bits."""
    block = model.attention
    outputs = np.zeros((len(queries), block.d_out))
    for h in range(block.n_heads):
        scores = np.einsum("tnd,dq,tq->tn", contexts, block.W_K[h], queries @ block.W_Q[h])
        weights = np.exp(scores - scores.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        outputs += np.einsum("tn,tnd->td", weights, contexts) @ block.W_V[h] @ block.W_O[h]
    return np.round(outputs @ model.W_U * 2.0**16) / 2.0**16


def regression() -> dict[str, Any]:
    """Return five examples with contexts of their own, whose values the layer puts out but for 2^-16."""
    contexts, queries, model = fractions(20, 5, 3, 3), fractions(21, 5, 3), layer(22, n_heads=3, d_out=2)
    return {"model": model, "task": VectorTask(contexts, queries, outputs_of(model, contexts, queries))}


@good("values-regression", "answers", "five vectors, values within 1/1000")
def _values_regression() -> dict[str, Any]:
    return regression()


@good("values-at-most", "answers", "the mean of the largest distances is asked to be at most 2^-12")
def _values_at_most() -> dict[str, Any]:
    return {**regression(), "criterion": Criterion.at_most(2.0**-12)}


@good("values-rank", "feature-rank", "five vectors whose features have full row rank, with a witness")
def _values_rank() -> dict[str, Any]:
    return {**regression(), "rank": True}


@good(
    "vectors-classification",
    "saturation",
    "classes of vectors that share one context; some heads are saturated",
)
def _classification() -> dict[str, Any]:
    contexts, queries = fractions(30, 1, 3, 3, scale=4.0), fractions(31, 6, 3, scale=4.0)
    model = layer(32, n_heads=2, d_out=3)
    outputs = outputs_of(model, np.repeat(contexts, 6, axis=0), queries)
    labels = (outputs == outputs.max(1, keepdims=True)).astype(float)
    task = VectorTask(contexts, queries, labels, "classification")
    return {"model": model, "task": task, "saturation": Fraction(1, 100)}


@good("rank-of-one-attention", "feature-rank", "the features of six contexts have full row rank, with a witness")
def _rank() -> dict[str, Any]:
    model, contexts = one_attention(5, n_heads=3), some_contexts(6)
    return {"model": model, "task": table_task(contexts, answers_of(model, contexts)), "rank": True}


@good("rank-exact", "feature-rank", "features of four tokens that are twice the unit matrix")
def _rank_exact() -> dict[str, Any]:
    wide, value = np.eye(TOKENS), 2.0 * np.eye(TOKENS)[None]
    maps = {"W_Q": np.zeros((1, TOKENS, 1)), "W_K": np.zeros((1, TOKENS, 1)), "W_V": value, "W_O": wide[None]}
    model = dana_network(W_E=wide, W_pos=np.zeros((1, TOKENS)), W_U=wide[PERMUTATION], **maps)
    return {"model": model, "task": table_task(SINGLE, np.argsort(PERMUTATION).argsort()), "rank": True}


@good(
    "ranks-of-one-attention",
    "rank-heads",
    "the ranks of what the heads read from six contexts, and with the last token",
)
def _ranks() -> dict[str, Any]:
    return {**_rank(), "rank": False, "rank_of_heads": True, "rank_with_skip": True}


@good("ranks-deficient", "rank-with-skip", "a rank of 2 without the skip connection, of 4 with it")
def _ranks_deficient() -> dict[str, Any]:
    made = _rank_exact()
    block = made["model"].attention
    model = replace(made["model"], blocks=(replace(block, W_V=block.W_V * np.array([1.0, 1.0, 0.0, 0.0])),))
    return {**made, "model": model, "rank": False, "rank_of_heads": True, "rank_with_skip": True}


@good("ranks-of-vectors", "rank-heads", "the rank of the mixed inputs of five vectors")
def _ranks_of_vectors() -> dict[str, Any]:
    return {**regression(), "rank_of_heads": True}


@good(
    "divergence-of-distributions", "divergence", "the largest and the mean divergence of distributions, from both sides"
)
def _divergence_of_distributions() -> dict[str, Any]:
    return {**_distributions_at_most(), "divergence": True}


@good("divergence-smoothed", "divergence", "the same from smoothed counts")
def _divergence_smoothed() -> dict[str, Any]:
    made = _distributions_smoothed()
    return {
        **made,
        "model": lookup(np.round(distribution_logits() * 16.0) / 16.0),
        "criterion": Criterion(tolerance=0.0625),
        "divergence": True,
    }


# ---------------------------------------------------------------------------------------------------------------------
# Blocks.


def maps(seed: int, *, d: int = 4, n_heads: int = 2, keys: int = 2, d_qk: int = 2) -> dict[str, Any]:
    """Return the four maps of an attention."""
    return {
        "W_Q": fractions(seed, n_heads, d, d_qk, scale=2.0),
        "W_K": fractions(seed + 1, keys, d, d_qk, scale=2.0),
        "W_V": fractions(seed + 2, keys, d, 2),
        "W_O": fractions(seed + 3, n_heads, 2, d),
    }


def shifts(seed: int, *, d: int = 4, n_heads: int = 2, d_qk: int = 2) -> dict[str, Any]:
    """Return the four shifts of an attention."""
    pairs = {"b_Q": d_qk, "b_K": d_qk, "b_V": 2}
    return {name: fractions(seed + i, n_heads, width) for i, (name, width) in enumerate(pairs.items())} | {
        "b_O": fractions(seed + 3, d)
    }


def neurons(seed: int, *, d: int = 4, width: int = 5, gate: bool = False, **options: Any) -> FeedForward:
    """Return a feed-forward block with shifts."""
    gates = {"W_gate": fractions(seed + 4, d, width), "b_gate": fractions(seed + 5, width)} if gate else {}
    return FeedForward(
        fractions(seed, d, width),
        fractions(seed + 1, width, d),
        fractions(seed + 2, width),
        fractions(seed + 3, d),
        **gates,
        **options,
    )


def norm(seed: int, kind: Any = "layer", d: int = 4, *, shift: bool = True, epsilon: float = 2.0**-10) -> Normalization:
    """Return a normalization with gains near 1."""
    gain = 1.0 + fractions(seed, d, scale=0.25)
    return Normalization(kind, w=gain, b=fractions(seed + 1, d) if shift else None, epsilon=epsilon)


def reading(*blocks: Any, seed: int = 40, **options: Any) -> Model:
    """Return a model of these blocks with embeddings and a readout."""
    positions = {} if "positions" in options else {"W_pos": fractions(seed + 1, LENGTH, 4)}
    ends = {"W_U": fractions(seed + 2, 4, TOKENS, scale=2.0), "W_E": fractions(seed, TOKENS, 4, scale=2.0)}
    return Model(blocks=blocks, **ends, **positions, **options)


@good("blocks-two-layers", "answers", "two causal attentions and ReLU neurons between them, no norms")
def _two_layers() -> dict[str, Any]:
    between = neurons(51, activation="relu")
    return says(reading(Attention(**maps(50), attends="causal"), between, Attention(**maps(55), attends="last")))


@good(
    "blocks-all-positions",
    "answers",
    "every row reads all rows, a root of 3, no skip connections",
)
def _all_positions() -> dict[str, Any]:
    first = Attention(**maps(60), attends="all", score_root=3, skip=False)
    second = Attention(**maps(68), attends="causal", skip=False)
    return says(reading(first, neurons(64, skip=False), second, seed=308))


@good("blocks-shifts", "answers", "shifts everywhere, and GELU by the hyperbolic tangent")
def _shifts() -> dict[str, Any]:
    attention = Attention(**maps(70), **shifts(74), attends="causal", score_root=2)
    return says(reading(attention, neurons(80, activation="gelu-tanh"), b_U=fractions(86, TOKENS)))


@good("blocks-layer-norms", "answers", "layer normalization before each block and before the readout, exact GELU")
def _layer_norms() -> dict[str, Any]:
    attention = Attention(**maps(90), attends="causal", score_root=2, norm=norm(94))
    return says(reading(attention, neurons(96, activation="gelu", norm=norm(102)), norm(104), seed=328))


@good("blocks-norm-in-the-middle", "answers", "a normalization that is a block of its own between two others")
def _norm_in_the_middle() -> dict[str, Any]:
    return says(reading(Attention(**maps(110), attends="all"), norm(114, "rms", shift=False), neurons(116)))


@good("blocks-rotary-halves", "answers", "turned halves, one key head for two, SiLU gates, root-mean-square norms")
def _rotary_halves() -> dict[str, Any]:
    turned = {"frequencies": np.array([1.0, 0.125]), "turned": "halves"}
    attention = Attention(
        **maps(120, keys=1, d_qk=4), **turned, attends="causal", score_root=4, norm=norm(124, "rms", shift=False)
    )
    gated = neurons(126, gate=True, activation="silu", norm=norm(132, "rms", shift=False))
    return says(reading(attention, gated, norm(134, "rms", shift=False), positions=LENGTH))


@good("blocks-rotary-neighbours", "answers", "turned neighbours, and neurons parallel to the attention")
def _rotary_neighbours() -> dict[str, Any]:
    turned = {"frequencies": np.array([0.5]), "turned": "neighbours"}
    attention = Attention(**maps(140), **turned, attends="causal", norm=norm(144))
    return says(reading(attention, neurons(146, activation="gelu-tanh", norm=norm(152), parallel=True), positions=5))


@good("blocks-slopes", "answers", "scores with a slope for each head, and BLOOM's GELU")
def _slopes() -> dict[str, Any]:
    attention = Attention(**maps(160), slopes=np.array([0.5, 0.125]), attends="causal", norm=norm(164))
    return says(reading(attention, neurons(166, activation="gelu-bloom", norm=norm(172)), positions=LENGTH))


@good(
    "blocks-norms-of-keys",
    "answers",
    "queries and keys are normalized, each head alone; scores and logits are capped",
)
def _norms_of_keys() -> dict[str, Any]:
    norms = {"q_norm": norm(184, "rms", 2, shift=False), "k_norm": norm(186, "rms", 2, shift=False)}
    attention = Attention(**maps(180), **norms, score_cap=4.0, post_norm=norm(188), attends="causal")
    return says(reading(attention, neurons(190, post_norm=norm(196, "rms", shift=False)), logit_cap=8.0))


@good(
    "blocks-norms-of-all-heads",
    "answers",
    "queries and keys of all heads are normalized as one; clipped; logits divided",
)
def _norms_of_all_heads() -> dict[str, Any]:
    norms = {"q_norm": norm(204, "rms", 4, shift=False), "k_norm": norm(206, "rms", 4, shift=False)}
    attention = Attention(**maps(200), **norms, norms_all=True, clip=1.5, attends="causal")
    return says(reading(attention, neurons(210), logit_divisor=3.0))


@good("blocks-hard-head", "answers", "a head whose scores are 512 apart copies the first token, in integers")
def _hard_head() -> dict[str, Any]:
    return says(copying_head(512.0))


def copying_head(gap: float) -> Model:
    """Return a model that answers with the first of three tokens, because the score of its position leads by `gap`."""
    d = TOKENS + 1
    W_pos, W_V, W_O = np.zeros((LENGTH, d)), np.zeros((1, d, TOKENS)), np.zeros((1, TOKENS, d))
    W_pos[0, TOKENS] = 1.0
    W_V[0, :TOKENS], W_O[0, :, :TOKENS] = np.eye(TOKENS), np.eye(TOKENS)
    W_K = np.zeros((1, d, 1))
    W_K[0, TOKENS, 0] = 1.0
    head = Attention(np.zeros((1, d, 1)), W_K, W_V, W_O, b_Q=np.array([[gap]]), skip=False)
    embedding, readout = np.eye(TOKENS, d) * 3.0, np.eye(d, TOKENS)
    return Model(blocks=(head,), W_U=readout, W_E=embedding, W_pos=W_pos)


# ---------------------------------------------------------------------------------------------------------------------
# Prompts, rules, texts, edits.


def prompted(wrong: int) -> dict[str, Any]:
    """Return four prompts of several lengths, and what a small decoder says to them; some last tokens are others."""
    attention = Attention(**maps(220), attends="causal", norm=norm(224))
    model = replace(reading(attention, neurons(226), norm(232)), W_pos=fractions(41, 6, 4))
    prompts, counts, said = ((0, 1), (2,), (3, 1, 0), (1, 1)), (2, 3, 1, 2), []
    for prompt, count in zip(prompts, counts, strict=True):
        tokens = list(prompt)
        for _ in range(count):
            tokens.append(int(decide_argmax(model, np.array([tokens])).place[0]))
        said.append(tuple(tokens[len(prompt) :]))
    for fact in range(wrong):
        said[fact] = (*said[fact][:-1], (said[fact][-1] + 1) % TOKENS)
    texts = tuple((str(prompt), str(answer)) for prompt, answer in zip(prompts, said, strict=True))
    return {"model": model, "task": PromptTask(names(TOKENS), prompts, tuple(said), texts)}


@good("prompts-memorized", "answers", "four prompts, each answered by one to three tokens")
def _prompts_memorized() -> dict[str, Any]:
    return prompted(0)


@good("prompts-at-least", "answers", "one prompt of four ends otherwise, three are asked for")
def _prompts_at_least() -> dict[str, Any]:
    return {**prompted(1), "criterion": Criterion.at_least(3)}


def attending_to_the_largest(sharpness: float) -> Model:
    """Return a model that attends to the largest token, more or less, and copies it."""
    d = TOKENS + 2
    W_E, query, key, value, output = np.zeros((TOKENS, d)), *np.zeros((2, 1, d, 1)), *np.zeros((2, 1, d, d))
    W_E[:, :TOKENS], W_E[:, TOKENS], W_E[:, TOKENS + 1] = np.eye(TOKENS), np.arange(TOKENS), 1.0
    query[0, TOKENS + 1], key[0, TOKENS] = sharpness, 1.0
    value[0, :TOKENS, :TOKENS], output[0, :TOKENS, :TOKENS] = 3.0 * np.eye(TOKENS), np.eye(TOKENS)
    maps = {"W_Q": query, "W_K": key, "W_V": value[:, :, :TOKENS], "W_O": output[:, :TOKENS]}
    return dana_network(W_E=W_E, W_pos=np.zeros((LENGTH, d)), W_U=np.eye(d, TOKENS), **maps)


@good("rule-max", "domain", "the maximum of three tokens, right on all 64 inputs")
def _rule_max() -> dict[str, Any]:
    return {"model": attending_to_the_largest(3.0), "task": rule_task("max", d_vocab=TOKENS, n_ctx=LENGTH)}


@good("rule-partly", "domain", "the maximum of three tokens, wrong on some of the 64 inputs, 44 are asked for")
def _rule_partly() -> dict[str, Any]:
    task = rule_task("max", d_vocab=TOKENS, n_ctx=LENGTH)
    return {"model": attending_to_the_largest(0.5), "task": task, "criterion": Criterion.at_least(44)}


@good("rule-wrong", "domain", "the maximum of three tokens, wrong on some of the 64 inputs", "refuted")
def _rule_wrong() -> dict[str, Any]:
    return {"model": attending_to_the_largest(0.25), "task": rule_task("max", d_vocab=TOKENS, n_ctx=LENGTH)}


@good("rule-own", "domain", "a rule of one's own: the first token, or 0 if it is the last one too")
def _rule_own() -> dict[str, Any]:
    model = copying_head(64.0)
    return {"model": model, "task": rule_task(lambda inputs: inputs[:, 0], d_vocab=TOKENS, n_ctx=LENGTH)}


@good("rule-sampled", "sample", "30 of 64 inputs are drawn: nothing is proved of the others", "undecided")
def _rule_sampled() -> dict[str, Any]:
    task = rule_task("max", d_vocab=TOKENS, n_ctx=LENGTH)
    return {"model": attending_to_the_largest(3.0), "task": task, "sample": 30, "seed": "corpus"}


def recited(texts: Any, unit: Any = "char", **stated: Any) -> dict[str, Any]:
    """Return the memory of whole texts."""
    task = whole_text(texts, unit)
    return {"model": probe_memory(task).model, "task": task, **stated}


@good("text-in-reals", "text", "a text of eleven characters is said in real arithmetic")
def _text_in_reals() -> dict[str, Any]:
    return recited("abracadabra", said=[REALS])


@good("text-whole", "text", "a text of five characters is said in every float32 run")
def _text_whole() -> dict[str, Any]:
    return recited("abbac", runs=["float32"], said=["float32"])


@good("text-titles", "text", "two texts with titles are said in every float32 run")
def _text_titles() -> dict[str, Any]:
    return recited({"one": "abba", "two": "abab"}, runs=["float32"], said=["float32"])


@good("text-bytes", "text", "four bytes that are no characters are said in every float32 run")
def _text_bytes() -> dict[str, Any]:
    return recited(bytes([0, 255, 10, 255]), "byte", runs=["float32"], said=["float32"])


def write_edit(folder: Path) -> None:
    """Write an edit: one context of nine gets another answer; the other eight keep theirs."""
    attention = Attention(**maps(240), attends="causal", norm=norm(244))
    model = replace(reading(attention, neurons(246, norm=norm(252)), norm(254)), W_E=fractions(40, 3, 4, scale=2.0))
    model = replace(model, W_U=fractions(42, 4, 3, scale=2.0))
    contexts = np.array([[1, 2]])
    answers = (decide_argmax(model, contexts).place + 1) % 3
    done = edit_model(model, contexts, answers, whole_domain(3, 2, contexts), domain=2)
    save_edit(folder, done.model, done.edit, replace(done.certificate, provenance=PROVENANCE))


GOOD["edit"] = Good("edit", "one context of nine is answered anew, the other eight keep their answers", write_edit)


def write_pages(folder: Path) -> None:
    """Write a table of two facts as `byheart memorize` does, with the summary and the page."""
    made = memorize({("Peru", "capital"): "Lima", ("Peru", "river"): "Amazon"}, memory="packed-words")
    certificate = replace(made.certificate, provenance=PROVENANCE)
    made = replace(made, certificate=certificate, proved=replace(made.proved, certificate=certificate))
    made.save(folder, overwrite=True)


GOOD["pages-of-facts"] = Good("pages", "two facts, with a summary and a page", write_pages)


# ---------------------------------------------------------------------------------------------------------------------
# Runs.


@good("runs-of-all-formats", "runs", "four labels are memorized in every run of all four formats")
def _runs_of_all_formats() -> dict[str, Any]:
    model, task = lookup(np.eye(TOKENS)[PERMUTATION] * 3.0), table_task(SINGLE, PERMUTATION)
    return {"model": model, "task": task, "runs": ["float64", "float32", "bfloat16", "float16"]}


@good("runs-near-tie", "runs", "a lead of 2^-40 is memorized in every float64 run")
def _runs_near_tie() -> dict[str, Any]:
    logits = np.eye(TOKENS)[PERMUTATION] * 3.0
    logits[0, 0] = 3.0 - 2.0**-40
    return {"model": lookup(logits), "task": table_task(SINGLE, PERMUTATION), "runs": ["float64"]}


@good("runs-of-distributions", "runs", "distributions are memorized in every float32 run, within 1/64 nats")
def _runs_of_distributions() -> dict[str, Any]:
    return {**_distributions_own(), "runs": ["float32"]}


@good("runs-in-part", "runs", "six of eight contexts are memorized in every float32 run, the others in none")
def _runs_in_part() -> dict[str, Any]:
    return {**partly_right(), "criterion": Criterion.at_least(6), "runs": ["float32"]}


@good("runs-of-soft-heads", "runs", "two causal attentions and neurons, by bounds of what float32 and float64 round")
def _runs_of_soft_heads() -> dict[str, Any]:
    return {**_two_layers(), "runs": ["float64", "float32"]}


@good("runs-of-norms", "runs", "layer normalizations and GELU, by bounds of what float32 rounds")
def _runs_of_norms() -> dict[str, Any]:
    return {**_layer_norms(), "runs": ["float32"]}


@good("runs-of-prompts", "runs", "four prompts are answered so in every float32 run")
def _runs_of_prompts() -> dict[str, Any]:
    return {**prompted(0), "runs": ["float32"]}


@good("runs-of-a-rule", "runs", "the maximum of three tokens, right on all 64 inputs in every float32 run")
def _runs_of_a_rule() -> dict[str, Any]:
    return {**_rule_max(), "runs": ["float32"]}


@good("runs-at-the-limit", "runs", "a sum (2^23 + 1) - 2^23, of which no float32 run rounds anything")
def _runs_at_the_limit() -> dict[str, Any]:
    return {**detected("readout", 2.0**23), "runs": ["float32"]}


@good("rule-detector", "domain", "a rule on two inputs by a sum (2^24 + 1) - 2^24 in real arithmetic")
def _rule_detector() -> dict[str, Any]:
    return {"model": detectors.DETECTORS["readout"](detectors.LARGE), "task": rule_task("first", d_vocab=2, n_ctx=1)}


@good("text-detector", "text", "a text of one character, said in real arithmetic by a sum (2^24 + 1) - 2^24")
def _text_detector() -> dict[str, Any]:
    model = detectors.DETECTORS["readout"](detectors.LARGE)
    task = windows_task(Windows(np.array([0, 1]), np.array([1]), 1, 1), vocabulary=("a", END))
    return {"model": replace(model, W_E=model.W_E[::-1].copy()), "task": task, "said": [REALS]}


@good(
    "text-forking",
    "answers",
    "a text of which one window goes on in two ways, memorized by its most frequent next token",
)
def _text_forking() -> dict[str, Any]:
    task = windows_task(Windows(np.array([0, 0, 1, 2]), np.array([2]), 1, 2), vocabulary=("a", "b", END))
    return {"model": lookup(3.0 * np.eye(3)[task.labels[np.argsort(task.contexts[:, 0])]]), "task": task}


@good("prompts-detector", "answers", "two prompts answered by a sum (2^24 + 1) - 2^24 in real arithmetic")
def _prompts_detector() -> dict[str, Any]:
    task = PromptTask(names(2), ((0,), (1,)), ((0,), (1,)), (("0", "0"), ("1", "1")))
    return {"model": detectors.DETECTORS["heads"](detectors.LARGE), "task": task}


def detected(place: str, large: float) -> dict[str, Any]:
    """Write a model that detects the order of summation, and its two contexts."""
    task = table_task(detectors.contexts_of(place), np.array([0, 1]), tokens=2)
    return {"model": detectors.DETECTORS[place](large), "task": task}


def enter_detectors() -> None:
    """Register two folders per place of a sum: one that float32 rounds, one that it does not."""
    for place in detectors.DETECTORS:
        what = f"(2^24 + 1) - 2^24 in the {place.replace('-', ' ')}, memorized in real arithmetic"
        good(f"detector-{place}", "answers", what)(partial(detected, place, detectors.LARGE))
        if place not in detectors.ROUNDED:
            what = f"(2^20 + 1) - 2^20 in the {place.replace('-', ' ')}, which no float32 run rounds"
            good(f"sums-{place}", "runs", what)(
                lambda place=place: {**detected(place, detectors.EXACT), "runs": ["float32"]}
            )
    for name, make in detectors.RANGES.items():
        task = table_task(detectors.contexts_of_range(name), np.array([0, 1]), tokens=2)
        what = f"an {name.replace('-', ' ')} in float32; the answers hold in real arithmetic"
        good(f"detector-{name}", "answers", what)(partial(dict, model=make(), task=task))


enter_detectors()
