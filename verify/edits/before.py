"""What is known of the model before an edit: each context is decided once, and walked once in balls.

Page: docs/claims/editing.md
"""

from dataclasses import replace
from functools import cached_property
from typing import get_args

import numpy as np

from constructions.model.appended_neurons import Appended, Site
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.progress import Progress, silent
from verify.arithmetic.rounding import Floats
from verify.edits.contexts import by_length, decide_answers, in_one_array, rising, token_lists
from verify.forward.ladder import Precision, bits_of_balls, leads
from verify.forward.map_norms import share_norms
from verify.forward.stem import Stem

_MOST = 2**16  # contexts that are remembered
_DEEP = 24  # blocks: fewer are tried in float64 and double-double before anybody asks what balls would need
_HOPELESS = 300  # bits of balls for logits known to 2^-2 nats: above, neither float64 nor double-double says anything


class Before:
    """A model before an edit.

    Args:
        model: The model.
        place: Which block gets the new neurons.
    """

    def __init__(self, model: Model, place: int) -> None:
        self.model = model
        self.place = place
        self._known: dict[tuple[int, ...], tuple[int, float]] = {}
        self._precisions: tuple[Precision, ...] | None = None

    @classmethod
    def of(cls, model: Model, place: int, known: "Before | None") -> "Before":
        """Return what is known, if it is of this model and place, and otherwise what begins with nothing."""
        fits = known is not None and known.model is model and known.place == place
        return known if known is not None and fits else cls(model, place)

    @cached_property
    def stem(self) -> Stem | None:
        """The rows before the block, in balls; none where other positions count behind it."""
        return Stem.before(self.model, self.place)

    def leads(self, contexts: Int64Array, *, progress: Progress = silent) -> tuple[Int64Array, Floats]:
        """Return the place of the largest logit of each context, and a lower bound of its lead over all others, nats.

        Args:
            contexts: Tokens, `[T, S]`, of several lengths as `verify.edits.contexts` has them.
            progress: Called with the stage and the finished share of it.

        Returns:
            The place, -1 where it is not decided, `[T]`, and the bound, above 0 where it is, `[T]`.
        """
        rows = list(map(tuple, token_lists(contexts))) if len(contexts) <= _MOST else []
        place, lead = np.full(len(contexts), -1), np.full(len(contexts), -1.0)
        for i in [i for i, row in enumerate(rows) if row in self._known]:
            place[i], lead[i] = self._known[rows[i]]
        is_open = place < 0
        asked, done = int(is_open.sum()), 0
        precisions = self.precisions(contexts)
        for precision, chosen, logits in rising(self.model, contexts, is_open, precisions=precisions, stem=self.stem):
            best, by = leads(logits)
            known = by > 0.0
            place[chosen[known]], lead[chosen[known]], is_open[chosen[known]] = best[known], by[known], False
            done += int(known.sum())
            progress(f"answers before, {precision}", done / asked, f"{done} of {asked} contexts")
        if len(self._known) + len(rows) <= _MOST:
            self._known |= {row: (int(place[i]), float(lead[i])) for i, row in enumerate(rows) if place[i] >= 0}
        return place, lead

    def ask(self, *tables: Int64Array, progress: Progress = silent) -> None:
        """Decide the contexts of several tables together, so that they share what they begin with; few enough to be
        remembered.
        """
        if sum(map(len, tables)) <= _MOST:
            self.leads(in_one_array([row for table in tables for row in token_lists(table)]), progress=progress)

    def precisions(self, contexts: Int64Array) -> tuple[Precision, ...]:
        """Return the precisions that may decide a context of the model: of a deep one only balls.

        It is a prediction, from one context, and nothing is proved by it; the norms of the maps of a deep model, which
        float64 and double-double need, cost as much as several walks.
        """
        if self._precisions is None and len(contexts):
            self._precisions = get_args(Precision)
            if self.stem is not None and len(self.model.blocks) > _DEEP:
                [_, first] = by_length(contexts)[-1]
                if bits_of_balls(self.model, first[:1], 0.25) > _HOPELESS:
                    self._precisions = ("balls",)
        return self._precisions or get_args(Precision)

    def decided(self, edited: Model, contexts: Int64Array, is_rounded: bool) -> Int64Array:
        """Return the answers of an edited model, -1 where one is not decided, `[T]`.

        Args:
            edited: The edited model.
            contexts: As for `leads`.
            is_rounded: Whether other weights differ too, so that it does not begin as this model.
        """
        if is_rounded:
            return decide_answers(edited, contexts)
        precisions = self.precisions(contexts)
        return decide_answers(self.after(edited), contexts, precisions=precisions, stem=self.stem)

    def after(self, edited: Model) -> Model:
        """Return the edited model in terms of the same blocks; `edited` without its new neurons has to be the model.

        The neurons of zeros that other blocks may have add 0 to every row, so they are left out.
        """
        same = replace(self.model, blocks=(*self.model.blocks[: self.place], *edited.blocks[self.place :]))
        share_norms(same, self.model)
        return same

    def reader(self, site: Site, own: Appended) -> Model:
        """Return the model whose outputs are what new neurons read at this place of the same blocks."""
        blocks = (*self.model.blocks[: len(site.reads)], site.norm)
        reader = replace(self.model, blocks=blocks, W_U=own.weights, b_U=own.shifts)
        share_norms(reader, self.model)
        return reader
