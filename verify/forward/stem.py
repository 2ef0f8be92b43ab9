r"""Rows behind the first blocks of a model, in balls, kept for every model that begins with these blocks.

An edit changes the last blocks of a deep model alone, so that what lies before them is walked once for the model
before, for the one after, and for what the new neurons read.

Why it is rigorous: a kept ball holds the row that the same blocks define at the end of the same tokens (Lemma B1, e),
and what reads on in balls encloses its own exact result over it (Lemmas B2 to B5), whatever the precision was.

Page: docs/rigour/forward.md
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from flint import arb, arb_mat, ctx

from constructions.model.model import Model
from verify.forward.in_balls import InBalls, bits_worth
from verify.forward.walk import Stream, only_last_is_read, passed, read_out, shares_prefixes

_MOST_ENTRIES = 2**20  # of the rows that are kept, about 100 MB
_ENTRIES = 2**20  # of the outputs that are balls at the same time

Tokens = tuple[int, ...]


class Stem:
    """The rows of the last positions before a block, of contexts of tokens, each as it was walked last.

    Args:
        model: A model of tokens that `shares_prefixes`.
        place: The block; behind the one before it the last rows alone are read.

    Example:
        >>> from constructions.model.blocks import Normalization
        >>> norm, one = Normalization("rms", w=np.ones(1)), np.ones((1, 1))
        >>> model = Model(blocks=(norm,), W_U=one, W_E=one, W_pos=one)
        >>> Stem(model, 0).belongs_to(model)
        True
    """

    def __init__(self, model: Model, place: int) -> None:
        self.place = place
        self._model = model
        self._rows: dict[Tokens, list[arb]] = {}
        self._bits: dict[Tokens, int] = {}

    @classmethod
    def before(cls, model: Model, place: int) -> "Stem | None":
        """Return the stem before a block; none where that block reads more than the last rows behind the others."""
        is_parallel = bool(model.blocks[place].options().get("parallel"))
        good = shares_prefixes(model) and not is_parallel and only_last_is_read(model.blocks, place - 1)
        return cls(model, place) if good else None

    def belongs_to(self, model: Model) -> bool:
        """Whether a model embeds as the one of the stem, and begins with the same blocks, as objects."""
        own = self._model
        same = model.W_E is own.W_E and model.W_pos is own.W_pos
        pairs = zip(model.blocks[: self.place], own.blocks[: self.place], strict=False)
        return same and len(model.blocks) >= self.place and all(one is other for one, other in pairs)

    def keep(self, stream: Stream[arb_mat], contexts: Sequence[Tokens]) -> None:
        """Note the last row of each context, in balls of the precision that the context of this call has."""
        rows = stream.rows.tolist()
        for context, cell in zip(contexts, stream.cells[:, -1].tolist(), strict=True):
            if context in self._rows or (len(self._rows) + 1) * stream.rows.ncols() <= _MOST_ENTRIES:
                self._rows[context], self._bits[context] = rows[cell], ctx.prec

    def keeper(self, contexts: Sequence[Tokens]) -> Callable[[int, Stream[arb_mat]], None]:
        """Return what `logit_chunks_in_balls` calls before each block of these contexts: it keeps the rows."""

        def seen(place: int, stream: Stream[arb_mat]) -> None:
            if place == self.place:
                self.keep(stream, contexts)

        return seen

    def known(self, contexts: Sequence[Tokens]) -> list[int]:
        """Return the places of the contexts whose rows are kept."""
        return [place for place, context in enumerate(contexts) if context in self._rows]

    def outputs(self, model: Model, contexts: Sequence[Tokens]) -> Iterator[tuple[int, int, arb_mat]]:
        """Yield the outputs of a model that the stem belongs to, of contexts whose rows are kept, some at a time.

        Returns:
            Iterator of the place of the first of them, the bits of the rows, and the balls, `[contexts, outputs]`.

        Raises:
            ValueError: The model begins with other blocks.
        """
        if not self.belongs_to(model):
            raise ValueError("the model does not begin with the blocks of the stem")
        step, arithmetic = max(1, _ENTRIES // model.d_vocab_out), InBalls(model)
        for start in range(0, len(contexts), step):
            some = contexts[start : start + step]
            bits = max(self._bits[context] for context in some)
            cells, ends = np.arange(len(some))[:, None], np.array([len(context) - 1 for context in some])
            with ctx.workprec(bits):
                stream = Stream(arb_mat([self._rows[context] for context in some]), cells, ends)
                for place in range(self.place, len(model.blocks)):
                    with ctx.workprec(bits_worth(stream)):
                        stream = passed(arithmetic, model, stream, [place])
                with ctx.workprec(bits_worth(stream)):
                    outputs, row_of = read_out(arithmetic, model, stream)
                    balls = arithmetic.gather(outputs, row_of)
            yield start, bits, balls
