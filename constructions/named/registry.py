"""Register the constructions by name: what each builds, from which data, with which parameters.

Page: docs/constructions.md
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from constructions.counted import counted
from constructions.errors import InputError, require_at_least
from constructions.model.construction import Construction
from constructions.named import names as of
from constructions.named.context_arrays import read_contexts
from constructions.named.context_rows import ContextRows, read_context_rows
from constructions.named.distributions import Distributions, read_distributions
from constructions.named.full_rank_attention import full_rank_memory
from constructions.named.labelled_contexts import random_contexts
from constructions.named.low_coherence_unembedding import (
    gaussian_memory,
    johnson_lindenstrauss_memory,
    random_distributions,
)
from constructions.named.names import Name
from constructions.named.saturated_heads import KeysAndQueries, random_vectors, saturated_memory
from constructions.named.skip_connection_head import skip_connection_memory
from constructions.named.theorem_1 import theorem_1_on_contexts

Parameter = int | Fraction

_SHOWN = 3  # rows of the data


class Made(NamedTuple):
    """A built construction and its data.

    Args:
        built: The weights and what they hold.
        reading: How the data were read, in a sentence, or how they were drawn.
        parameters: All parameters that count, with their values.
    """

    built: Construction[Any]
    reading: str
    parameters: dict[str, Parameter]


@dataclass(frozen=True, eq=False)
class Data:
    """The input of a construction: read from a file, or drawn at random.

    Args:
        name: The option of the command line, and what is in the file.
        read: Reads a file.
        draw: Draws some; called with its parameters and the seed.
        parameters: Of `draw`, with their default values: what a file says itself.
        shown: What was read, in a few words.
    """

    name: str
    read: Callable[[Path], Any]
    draw: Callable[..., Any]
    parameters: Mapping[str, Parameter]
    shown: Callable[[Any], str]


@dataclass(frozen=True, eq=False)
class NamedConstruction:
    """A construction of a theorem, under the name by which it is built.

    Args:
        about: Its name and description.
        data: The kind of data that it is built for.
        build: The function that builds it, called with the data and the parameters by name.
        parameters: The parameters of `build` with their default values, except `seed`.
    """

    about: Name
    data: Data
    build: Callable[..., Construction[Any]]
    parameters: Mapping[str, Parameter]

    @property
    def name(self) -> str:
        """For the command line."""
        return self.about.name

    @property
    def line(self) -> str:
        """One-line description."""
        return self.about.line

    @property
    def statements(self) -> tuple[str, ...]:
        """The claims whose statement it is, which lead to it."""
        return self.about.statements

    @property
    def beside(self) -> str:
        """A related claim that builds its own weights, without the user's data."""
        return self.about.beside

    @property
    def all_parameters(self) -> dict[str, Parameter]:
        """All parameters with their defaults: those of the data, of the construction, and the seed."""
        return {**self.data.parameters, **self.parameters, "seed": 0}

    def construct(self, file: Path | None = None, **given: Parameter) -> Made:
        """Build the weights for the data of a file, or for drawn ones.

        Args:
            file: What `data` reads; none to draw.
            given: Parameters by name; the others keep their default values.

        Returns:
            The weights and what they hold, and what they were built from.

        Raises:
            InputError: A parameter that there is not, or that the file says.
            HypothesisError: Data about which the theorem says nothing.

        Example:
            >>> named("full-rank-attention").construct(d_vocab=2, n_ctx=3, n_heads=4).reading
            '8 contexts of 3 tokens, drawn: 0 0 0; 0 0 1; 0 1 0 and 5 more'
        """
        known = self.all_parameters
        for name, value in given.items():
            if name not in known:
                raise InputError(self.name, f"has no parameter {name!r}", ", ".join(known))
            if file is not None and name in self.data.parameters:
                raise InputError(name, f"= {value} is given beside --{self.data.name} {file}, which says it")
            if isinstance(value, Fraction) and value.denominator == 1:
                given[name] = int(value)
            elif isinstance(value, Fraction) and not isinstance(known[name], Fraction):
                raise InputError(name, f"= {value}", "an integer")
        chosen = {**known, **given}
        require_at_least(0, seed=int(chosen["seed"]))  # whole, see above
        drawn = {name: chosen.pop(name) for name in self.data.parameters}
        if file is not None:
            data = self.data.read(file)
            return Made(self.build(data, **chosen), f"{self.data.shown(data)}", chosen)
        data = self.data.draw(**drawn, seed=chosen["seed"])
        return Made(
            self.build(data, **chosen), self.data.shown(data).replace(": ", ", drawn: ", 1), {**drawn, **chosen}
        )


def _shown_contexts(contexts: ContextRows) -> str:
    size, length = contexts.tokens.shape
    rows = [" ".join(contexts.vocabulary[token] for token in row) for row in contexts.tokens[:_SHOWN].tolist()]
    return f"{counted(size, 'context')} of {counted(length, 'token')}: {_first(rows, size)}"


def _shown_distributions(distributions: Distributions) -> str:
    rows = [f"{max(row)} of token {row.index(max(row))}" for row in distributions[:_SHOWN]]
    over = f"{counted(len(distributions), 'distribution')} over {counted(len(distributions[0]), 'token')}"
    return f"{over}: {_first(rows, len(distributions))}"


def _shown_vectors(vectors: KeysAndQueries) -> str:
    contexts, queries = vectors
    where = "one context" if len(contexts) == 1 else "a context each"
    size = counted(len(queries), "example")
    return f"{size}: a query of dimension {queries.shape[1]} on {where} of {counted(contexts.shape[1], 'vector')}"


def _first(rows: list[str], size: int) -> str:
    return "; ".join(rows) + (f" and {size - len(rows)} more" if size > len(rows) else "")


_CONTEXTS = Data(
    "contexts", read_context_rows, random_contexts, {"d_vocab": 3, "n_ctx": 2, "n_contexts": 0}, _shown_contexts
)
_DISTRIBUTIONS = Data(
    name="distributions",
    read=read_distributions,
    draw=random_distributions,
    parameters={"d_vocab": 200, "n_distributions": 20, "noise": 100},
    shown=_shown_distributions,
)
_VECTORS = Data(
    name="vectors",
    read=read_contexts,
    draw=random_vectors,
    parameters={"n_examples": 29, "n_ctx": 8, "d_model": 16, "shared": 1},
    shown=_shown_vectors,
)

NAMED = (
    NamedConstruction(
        about=of.FULL_RANK_ATTENTION,
        data=_CONTEXTS,
        build=full_rank_memory,
        parameters={"d_model": 4, "d_head": 3, "n_heads": 3, "with_skip": 0},
    ),
    NamedConstruction(
        about=of.SKIP_CONNECTION_HEAD,
        data=_CONTEXTS,
        build=skip_connection_memory,
        parameters={"d_model": 4, "d_head": 3, "n_heads": 0, "sharpness": Fraction(40)},
    ),
    NamedConstruction(
        about=of.JOHNSON_LINDENSTRAUSS_UNEMBEDDING,
        data=_DISTRIBUTIONS,
        build=johnson_lindenstrauss_memory,
        parameters={"d_model": 128, "coherence": Fraction(0)},
    ),
    NamedConstruction(
        about=of.GAUSSIAN_UNEMBEDDING,
        data=_DISTRIBUTIONS,
        build=gaussian_memory,
        parameters={"d_model": 128, "coherence": Fraction(0)},
    ),
    NamedConstruction(
        about=of.SATURATED_HEADS,
        data=_VECTORS,
        build=saturated_memory,
        parameters={"n_heads": 4, "d_head": 8, "outputs": 1, "classes": 0},
    ),
    NamedConstruction(
        about=of.THEOREM_1,
        data=_CONTEXTS,
        build=theorem_1_on_contexts,
        parameters={"d_model": 4, "d_head": 3, "n_heads": 0},
    ),
)
"""All of them, in the order of the papers' statements."""


def names() -> dict[str, NamedConstruction]:
    """Return all constructions by name, and by the ids of the claims that refer to them.

    Example:
        >>> names()["dana.lemma-2"].name
        'full-rank-attention'
    """
    of_statements = {id: construction for construction in NAMED for id in construction.statements}
    return {construction.name: construction for construction in NAMED} | of_statements


def named(name: str) -> NamedConstruction:
    """Return the construction of this name, or of the statement with this id.

    Raises:
        InputError: There is none; names the nearest, or all with what they build.

    Example:
        >>> named("theorem-1").data.name
        'contexts'
    """
    if name in names():
        return names()[name]
    near = get_close_matches(name, names(), n=1)
    raise InputError("name", f"is {name!r}", repr(near[0]) if near else _listed())


def _listed() -> str:
    return "one of " + "; ".join(f"{construction.name} ({construction.line})" for construction in NAMED)
