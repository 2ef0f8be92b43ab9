"""The figures of a memory: one record, which the screen, the page and `--json` share.

A figure that does not apply, or is not known, is `None`; bounds are rounded outwards, so that every digit may be relied
on.

Page: docs/commands.md
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from constructions.counted import counted

Ends = list[float | None]
"""Lower and upper bound of a number."""


@dataclass(frozen=True, kw_only=True)
class TaskFigures:
    """What is to be memorized, and by a stream of how many dimensions.

    Args:
        target: ``"distributions"``, ``"labels"`` or ``"values"``.
        origin: Where the targets come from.
        contexts: All contexts of the text or table.
        facts: Those of them that are to be memorized.
        n_ctx: Tokens in a context; vectors of an example.
        vocabulary: Tokens that are read.
        answers: Tokens that may follow.
        dim: d_model.
        heads: Of one layer of attention.
        head_dim: d_head of them.
        seed: Of every random choice.
        seconds: Of each stage.
    """

    target: str = ""
    origin: str = ""
    contexts: int = 0
    facts: int = 0
    n_ctx: int = 0
    vocabulary: int | None = None
    answers: int | None = None
    dim: int = 0
    heads: int | None = None
    head_dim: int | None = None
    seed: int | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        """All fields as plain JSON data."""
        return {name: _plain(value) for name, value in vars(self).items()}


@dataclass(frozen=True, kw_only=True)
class HeadFigures(TaskFigures):
    """How many heads the contexts of a task need, by the paper's count and proved.

    Args:
        rank_heads: The heads that the next three speak about.
        paper_rank: Contexts that they hold by the paper's count.
        rank_lower: Contexts that they are proved to hold, whatever the targets.
        rank_upper: Contexts that they are proved not to exceed.
        paper_heads: Heads that are needed by the paper's count.
        fewest_heads: Heads that are proved to suffice, with the last token's vector among the features.
        necessary_heads: Heads below which the features of no weights are independent, with that vector among them.
        heads_alone: Heads that suffice when the last token's vector is left as it is.
        necessary_heads_alone: Heads below which the features of no weights are independent without that vector.
    """

    rank_heads: int | None = None
    paper_rank: int | None = None
    rank_lower: int | None = None
    rank_upper: int | None = None
    paper_heads: int | None = None
    fewest_heads: int | None = None
    necessary_heads: int | None = None
    heads_alone: int | None = None
    necessary_heads_alone: int | None = None


@dataclass(frozen=True, kw_only=True)
class CapacityFigures(HeadFigures):
    """How many numbers of any architecture the contexts of a task need, beside the heads; all proved.

    Args:
        explanation: The heads in a sentence.
        rank_lower_by: What proves `rank_lower`, in words.
        rank_upper_by: What proves `rank_upper`, in words.
        profile: Where it is asked for: the rank for each width and number of heads, with the skip connection and alone.
        any_width_heads: Of labels: heads of whatever widths without which no weights hold them.
        any_width_contexts: The contexts that prove it.
        any_labels: Float64 entries of any architecture for all labellings.
        any_distributions: Numbers of any architecture for all distributions.
    """

    explanation: str = ""
    rank_lower_by: str = ""
    rank_upper_by: str = ""
    profile: list[dict[str, Any]] | None = None
    any_width_heads: int | None = None
    any_width_contexts: list[list[str]] | None = None
    any_labels: list[int] = field(default_factory=list)
    any_distributions: list[int] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What one memory made of the task.

    Args:
        memory: Its name.
        refused: Why it was not taken into account; nothing else is known of it then.
        parameters: Entries of all tensors.
        nonzero: Those that are not 0.
        facts_per_parameter: Facts for each parameter.
        least_margin: Nats, of one run in the type of the weights.
        smallest_dtype: The smallest type one run in which memorized every fact.
        every_run: Whether every run in the type of the weights is proved to hold every fact.
        seconds: Time to build it.
    """

    memory: str
    refused: str | None = None
    parameters: int | None = None
    nonzero: int | None = None
    facts_per_parameter: float | None = None
    least_margin: float | None = None
    smallest_dtype: str | None = None
    every_run: bool | None = None
    seconds: float | None = None

    def json(self) -> dict[str, Any]:
        """Return the fields that apply as plain JSON data."""
        if self.refused is not None:
            return {"memory": self.memory, "refused": self.refused}
        return {name: value for name, value in vars(self).items() if name != "refused"}


@dataclass(frozen=True)
class Finding:
    """A line of what is proved, for a person, with its numbers.

    Args:
        what: What is bounded.
        text: The bounds, and what is promised beside them.
        values: The numbers, by name.
    """

    what: str
    text: str
    values: Mapping[str, float | int | str | None] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        """Return the fields as plain JSON data."""
        return {"what": self.what, "text": self.text, "values": dict(self.values)}


@dataclass(frozen=True, kw_only=True)
class RunFigures:
    """What one run in torch showed: the figures of `verify.torch.run.RunResult`, without those of each context."""

    dtype: str
    device: str = ""
    accuracy: float | None = None
    mean_kl: float | None = None
    max_kl: float | None = None
    mean_label_error: float | None = None
    max_label_error: float | None = None
    memorized: int = 0
    memorized_proved: int | None = None
    least_margin: float | None = None
    max_output_error: float | None = None
    largest_bound: float | None = None
    within_bound: bool | None = None
    note: str = ""
    seconds: float = 0.0

    @classmethod
    def of(cls, name: str, summary: Mapping[str, Any]) -> "RunFigures":
        """Return the figures of a run by the name of its type, perhaps with a device behind it."""
        return cls(dtype=name.split(" ")[0], **summary)

    def summary(self) -> dict[str, Any]:
        """Return the fields for JSON, without those of other tasks."""
        of_some = ("mean_kl", "max_kl", "mean_label_error", "max_label_error")
        return {
            name: value
            for name, value in vars(self).items()
            if name != "dtype" and (value is not None or name not in of_some)
        }


@dataclass(frozen=True, kw_only=True)
class CertifiedFigures(HeadFigures):
    """What the certificate of a memory says, which `byheart check` proves again.

    Args:
        headline: The answer in a line.
        verdict: ``"PROVED"``, ``"REFUTED"`` or ``"UNDECIDED"``.
        asked: The question.
        outputs: Entries of an output.
        parameters: Entries of all tensors.
        memorized: Contexts that are proved to be memorized.
        wrong: Contexts that are proved not to be.
        margin_lower: Least margin of a memorized context, at least.
        mean_loss_upper: Mean divergence of the memorized contexts, nats, at most; of values the distance.
        max_loss_upper: Largest of them, at most.
        guess_kl_lower: Mean divergence of the best guess that ignores the context, nats, at least.
        guess_right: Right answers of the best guess that ignores the context, at most.
        text_kl: Mean divergence of the raw counts over all contexts, nats.
        condition: Condition number of the features, at most.
        rank_proved: Whether the features are proved to be independent.
        pairs: Of vectors: pairs of a head and an example.
        saturated_pairs: Those with an attention weight above 1 - `saturation_delta`, at least.
        saturation_delta: See above.
    """

    headline: str = ""
    verdict: str = ""
    asked: str = ""
    outputs: int = 0
    parameters: int = 0
    memorized: int | None = None
    wrong: int | None = None
    margin_lower: float | None = None
    mean_loss_upper: float | None = None
    max_loss_upper: float | None = None
    guess_kl_lower: float | None = None
    guess_right: int | None = None
    text_kl: Ends | None = None
    condition: float | None = None
    rank_proved: bool | None = None
    pairs: int | None = None
    saturated_pairs: int | None = None
    saturation_delta: float | None = None


@dataclass(frozen=True, kw_only=True)
class Figures(CertifiedFigures):
    """What `memorize` or `build` made: beside what its certificate says, how it was made and what a run of it showed.

    None of the figures below is proved again by `byheart check`: they are computed or measured when the memory is made.

    Args:
        reading: How the file was read, with the first facts.
        claim: The claim that was built.
        named: The construction that was built.
        construction: The parameters of its construction.
        memory: The memory that was taken.
        dtype: What its weights are rounded to.
        built: What was built, in a sentence.
        memories: What each memory that was tried made of the task.
        information_per_fact: Entropy of the labels that occur, bits; none for distributions.
        information_limit: Entries that no model does without, for all labellings or for almost all distributions.
        shared_context: Of vectors: whether all examples have one context.
        query_dim: d_qk of one layer of attention.
        blocks: The kinds of the blocks, where the model is not a single attention.
        front_end: Of the heads of Theorem 1': how the attention patterns were made.
        route: Of the heads of Theorem 1': how their values were found.
        unavoidable_kl: Least mean divergence that any weights of so many dimensions have, nats.
        encoder_kl: Mean divergence by frequency, nats.
        findings: What is proved of a construction beside its answers, when it was made.
        torch: Runs by type, `None` where torch is not installed, or every run is proved without one.
        files: Where each file was written.
    """

    reading: str | None = None
    claim: str = ""
    named: str = ""
    construction: Mapping[str, int | float] | None = None
    memory: str = ""
    dtype: str = ""
    built: str = ""
    memories: tuple[Tried, ...] | None = None
    information_per_fact: float | None = None
    information_limit: int | None = None
    shared_context: bool | None = None
    query_dim: int | None = None
    blocks: list[str] | None = None
    front_end: str = ""
    route: str = ""
    unavoidable_kl: Ends | None = None
    encoder_kl: Ends | None = None
    findings: tuple[Finding, ...] | None = None
    torch: Mapping[str, RunFigures] | None = None
    files: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        size = counted(self.parameters, "parameter")
        return f"{self.headline}; {size}; {self.memory or self.named or self.claim}"

    @property
    def asks_a_mean(self) -> bool:
        """Whether the question is about the mean loss, not about how many contexts are memorized."""
        return self.asked.startswith("the mean ")

    def json(self) -> dict[str, Any]:
        """All fields as plain JSON data."""
        runs = None if self.torch is None else {name: run.summary() for name, run in self.torch.items()}
        return {**super().json(), "torch": runs}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [each.json() for each in value]
    return dict(value) if isinstance(value, Mapping) else None if value == "" else value
