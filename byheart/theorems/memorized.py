"""Apply the theorems to weights that memorize a task: how many heads they need, and a lower bound for every encoder.

Pages: docs/claims/capacity.md, docs/claims/theorem_1.md
"""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from byheart.figures import Ends
from byheart.jobs.clock import Clock, within
from byheart.memory import Ranks
from constructions.attention.capacity.head_counts import Capacity, capacity
from constructions.heads_of_theorem_1.memory import QUICK_ELIMINATION, HeadsOfTheorem1
from constructions.heads_of_theorem_1.parameters import printed_count
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.model.shapes import is_dana_network, is_heads_alone
from constructions.progress import Progress
from constructions.tasks.any_task import AnyTask
from constructions.tasks.task import Task
from verify.certificates.certificate import FEATURE_RANK, Certificate
from verify.provers.answer_bounds import Answers
from verify.provers.proved import Proved
from verify.provers.saturation import DELTA
from verify.theorems.encoders.encoder_ceiling import network_divergence
from verify.theorems.encoders.encoder_floor import encoder_floor

if TYPE_CHECKING:
    from verify.arithmetic.enclosure import Enclosure

_COVERED, _COVERED_ENTRIES = 4000, 1024  # cones of directions, of distributions with so many entries: some seconds
_LARGEST_RANK = 4096  # contexts of which a rank is stated, though the memory does not rest on it
_COVERED_WORK = 2**25  # entries of distributions times squared moves of a context, for all cones: some seconds too


class Beside(NamedTuple):
    """The conclusions of the theorems about weights.

    Args:
        figures: Fields of `byheart.figures.Figures`.
        ranks: Certified bounds of the rank of the features with 0, 1, ... heads, from below and from above.
    """

    figures: dict[str, Any]
    ranks: Ranks | None


def statements(model: Model, task: AnyTask, *, rests_on_rank: bool, two_sided: bool) -> dict[str, Any]:
    """Return which statements a certificate makes beside the answers, as `certify_memorization` takes them.

    Args:
        model: The weights.
        task: The task that they hold.
        rests_on_rank: Whether they hold it because features are independent, of any number of contexts.
        two_sided: Whether ranks and divergences are bounded from both sides.
    """
    has_rank = not model.reads_tokens or is_dana_network(model)
    is_small = task.n_contexts <= _LARGEST_RANK
    return {
        # All features at once are T x H d_h numbers; a memory that does not rest on their rank can do without.
        "rank": has_rank and (rests_on_rank or is_small),
        "rank_of_heads": two_sided and (has_rank or is_heads_alone(model)) and is_small,
        "rank_with_skip": two_sided and is_dana_network(model) and is_small,
        "divergence": two_sided and task.target == "distributions",
        "saturation": None if model.reads_tokens else DELTA,
    }


def beside(built: Construction[Any], task: Task | None, proved: Proved[Answers], clock: Clock) -> Beside:
    """Return the conclusions of the theorems about weights, and how the heads of Theorem 1' were found.

    Args:
        built: What was built.
        task: The task that it holds, where that is tokens.
        proved: Its certificate.
        clock: Times both stages.
    """
    model, figures = built.model, dict[str, Any]()
    if not model.reads_tokens or is_dana_network(model):  # of others their blocks are shown
        figures = {"blocks": None, "heads": model.n_heads, "query_dim": model.d_qk, "head_dim": model.d_head}
    if task is None:
        return Beside(figures, None)
    if isinstance(built, HeadsOfTheorem1):
        needed = built.needed
        figures |= {"front_end": built.built.front_end, "route": built.built.route}
    elif is_dana_network(model) and model.n_heads:
        with clock.stage("capacity"):
            needed = _capacity(task, model, progress=clock.progress)
    else:
        needed = None
    if is_dana_network(model):  # the stream of others is no encoder of a rank
        with clock.stage("encoder"):
            figures |= _encoder_figures(model, task, proved.answers.outputs, within(clock.progress, "encoder"))
    if needed is None:
        return Beside(figures, None)
    counts = capacity_figures(needed, model.n_heads, proved.certificate)
    return Beside(figures | counts, (needed.heads.ranks, needed.ranks_upper))


def _capacity(task: Task, model: Model, *, progress: Progress) -> Capacity:
    return capacity(
        task.contexts,
        d_model=model.d_model,
        d_head=min(model.d_head, model.d_model),
        n_heads=model.n_heads,
        eliminate=task.n_contexts <= QUICK_ELIMINATION,
        progress=lambda detail: progress("capacity", None, detail),
    )


def counted_by_theorem_1(task: Task) -> str:
    """Return how many parameters the printed Theorem 1 counts for labels of these contexts."""
    count = printed_count(d_vocab=task.d_vocab, n_ctx=task.n_ctx, d_model=2, facts=task.n_contexts)
    return f"Theorem 1 of Dana et al. counts {count:,} parameters for labels of these contexts (d = 2)"


def capacity_figures(needed: Capacity, heads: int, certificate: Certificate | None) -> dict[str, Any]:
    """Return the paper's counts and the certified ones, for this number of heads; of weights that are there too."""
    lower, upper = needed.rank_lower, needed.rank_upper
    if heads != needed.n_heads:
        ranks, limits = needed.heads.ranks, needed.ranks_upper
        lower = int(ranks[min(heads, len(ranks) - 1)])
        upper = int(limits[heads]) if heads < len(limits) else needed.n_contexts
    fewest, alone = needed.fewest_heads, needed.fewest_heads_alone
    proved = None if certificate is None else certificate.statement(FEATURE_RANK)
    if proved is not None:  # the weights are there
        lower = needed.n_contexts
        fewest = heads if fewest is None else fewest
        if alone is None and proved.values["columns"] == heads * needed.d_head:
            alone = heads
    return {
        "rank_heads": heads,
        "paper_rank": min(needed.n_contexts, heads * needed.d_head + needed.d_model),
        "rank_lower": lower,
        "rank_upper": upper,
        "paper_heads": needed.paper_heads,
        "fewest_heads": fewest,
        "necessary_heads": needed.necessary_heads,
        "heads_alone": alone,
        "necessary_heads_alone": needed.heads_alone.necessary,
    }


def _encoder_figures(network: Model, task: Task, logits: "Enclosure | None", progress: Progress) -> dict[str, Ends]:
    """Return proved bounds of the least divergence of rank d, and that of these weights; in nats, weighted by the
    prior.
    """
    if task.distributions is None:
        return {}
    lower, upper = network_divergence(network, task, logits=logits, progress=progress)
    reached = upper if upper < math.inf else None
    if network.d_model >= task.n_answers - 1:
        return {"unavoidable_kl": [0.0, 0.0], "encoder_kl": [lower, reached]}  # Proposition 2
    spare = task.n_answers - 1 - network.d_model
    moves = spare * (spare * network.d_model + 1) if spare > 1 else 1
    cones = (
        min(_COVERED, _COVERED_WORK // (task.distributions.size * moves**2))
        if task.distributions.size <= _COVERED_ENTRIES
        else 0
    )
    at_most = f", {cones} cones of directions at most" if cones else ""
    progress("lower bound", None, f"all encoders of rank {network.d_model}{at_most}")
    floor = encoder_floor(task.distributions, network.d_model, prior=task.prior, cones=cones).lower
    return {"unavoidable_kl": [floor, reached], "encoder_kl": [max(lower, floor), reached]}
