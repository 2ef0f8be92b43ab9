"""Make a task of arrays: contexts of token numbers, with next tokens or distributions.

Page: docs/task.md
"""

import io
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.errors import FileFormatError, HypothesisError, InputError, ResourceError
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.task import Counts, Target, Task, make_task, require_sums_of_one

_PLAIN = ("contexts", "next_tokens", "weights", "distributions")
_COUNTS = ("counts_indptr", "counts_indices", "counts_data")
_NAMES = ("vocabulary", "answers")
_MOST_CONTEXTS = 2**22
_LARGEST_VOCABULARY = 2**22


def read_arrays(path: str | Path) -> dict[str, Any]:
    """Read the arguments of `array_task` from an ``.npz`` file.

    Args:
        path: A file with the array `contexts` and some of `next_tokens`, `weights`, `distributions`, `vocabulary`,
            `answers` and the three arrays `counts_indptr`, `counts_indices`, `counts_data`.

    Returns:
        The arguments by name.

    Raises:
        FileFormatError: The file is missing, truncated, no such archive, or holds arrays of other names.
        InputError: The counts are no sparse matrix.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "facts.npz"
        ...     np.savez(path, contexts=[[0, 1], [1, 1]], next_tokens=[1, 0])
        ...     task = array_task(**read_arrays(path), target="labels")
        >>> task.contexts.tolist(), task.labels.tolist()
        ([[0, 1], [1, 1]], [1, 0])
    """
    arrays = named_arrays(path)
    unknown = sorted(set(arrays) - {*_PLAIN, *_COUNTS, *_NAMES})
    if unknown or "contexts" not in arrays:
        raise FileFormatError(
            f"{path} holds the arrays {sorted(arrays)}, expected contexts and some of "
            f"{', '.join((*_PLAIN[1:], *_NAMES, *_COUNTS))}"
        )
    result: dict[str, Any] = {name: arrays[name] for name in _PLAIN if name in arrays}
    given_counts = [name for name in _COUNTS if name in arrays]
    if given_counts:
        if len(given_counts) < len(_COUNTS):
            raise FileFormatError(
                f"{path} holds {', '.join(given_counts)}, expected all of {', '.join(_COUNTS)} or none"
            )
        result["counts"] = Counts(*(arrays[name] for name in _COUNTS))
    for kind in [kind for kind in _NAMES if kind in arrays]:
        names = arrays[kind]
        if names.ndim != 1 or names.dtype.kind != "U":
            raise FileFormatError(f"{path}: {kind} is {names.dtype} of shape {names.shape}, expected a list of texts")
        result[kind] = tuple(names.tolist())
    return result


def named_arrays(path: str | Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an ``.npz`` file by name, without unpickling.

    Raises:
        FileFormatError: The file is missing, truncated, or no such archive.
    """
    path = Path(path)
    try:
        file = np.load(io.BytesIO(path.read_bytes()), allow_pickle=False)
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise FileFormatError(f"{path} holds a single array, expected an .npz file of named arrays")
        with file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, NotImplementedError) as error:
        why = getattr(error, "strerror", None) or ("it is none" if "pickle" in str(error) else error)
        raise FileFormatError(f"{path} is not a readable .npz file of arrays: {why}") from None


def array_task(
    contexts: Int64Array,
    *,
    next_tokens: Int64Array | None = None,
    weights: Int64Array | None = None,
    counts: Counts | None = None,
    distributions: Float64Array | None = None,
    vocabulary: tuple[str, ...] | int | None = None,
    answers: tuple[str, ...] | int | None = None,
    target: Target = "distributions",
    facts: int | None = None,
    mass: Fraction | float | None = None,
) -> Task:
    r"""Build a task from arrays.

    What follows the contexts is given in one of three ways: `next_tokens`, one for each row of `contexts`, where equal
    rows add up; `counts` of all next tokens, one row for each of pairwise distinct contexts; or `distributions` of
    one's own over pairwise distinct contexts, with or without `counts` (without, each context counts as one occurrence
    of the first mode of its distribution, times its weight).

    Args:
        contexts: Token numbers, `[M, S]`.
        next_tokens: The token after each context, `[M]`.
        weights: How often each row occurs, positive integers, `[M]`; once by default. Not beside `counts`.
        counts: Counts of the next tokens, M rows.
        distributions: Distributions to be memorized instead of smoothed counts, `[M, N]`, or `[M, K]` beside `answers`:
            of full support for the target ``distributions``; for ``labels`` only their modes matter.
        vocabulary: The texts of the tokens or their number, $N$; by default the numbers up to the largest that occurs.
        answers: The texts of the answers or their number, $K$: then `next_tokens`, `counts` and `distributions` are
            numbered by them; by default the tokens are the answers too.
        target: ``"distributions"`` or ``"labels"``.
        facts: How many contexts to memorize, the most frequent ones; all by default.
        mass: Instead of `facts`, the share of all occurrences that the memorized contexts must hold.

    Returns:
        The task.

    Raises:
        InputError: Arrays of wrong types, shapes or ranges, distributions that are not probabilities, contexts that
            occur twice.
        HypothesisError: A distribution without full support for the target ``distributions``; names the row.

    Source: Dana, Pydi, Chevaleyre (2024), Section 2.

    Example:
        >>> task = array_task(np.array([[0], [1]]), distributions=np.array([[0.25, 0.75], [0.5, 0.5]]))
        >>> task.vocabulary, task.labels.tolist(), task.distributions.tolist()
        (('0', '1'), [1, 0], [[0.25, 0.75], [0.5, 0.5]])
    """
    contexts = _integers("contexts", contexts, 2)
    rows = len(contexts)
    if 0 in contexts.shape:
        raise InputError("contexts", f"has shape {contexts.shape}", "at least one context of one token")
    if (next_tokens is None) == (counts is None and distributions is None):
        raise InputError(
            "what follows the contexts", "must be given either by next_tokens or by counts or distributions"
        )
    if counts is not None and weights is not None:
        raise InputError("weights", "are given in addition to counts, which already say how often each context occurs")
    weight = np.ones(rows, dtype=np.int64) if weights is None else _integers("weights", weights, 1)
    if weight.shape != (rows,) or weight.min() < 1:
        raise InputError("weights", f"has shape {weight.shape} and the minimum {weight.min()}", f"[{rows}], >= 1")

    if next_tokens is not None:
        following = _integers("next_tokens", next_tokens, 1)
        if following.shape != (rows,):
            raise InputError("next_tokens", f"has shape {following.shape}", f"[{rows}]")
        contexts, counts = _added_up(contexts, following, weight)
    if distributions is not None:
        distributions = _checked_distributions(distributions, rows, full_support=target == "distributions")
        if counts is None or target == "labels":
            counts = Counts(
                np.arange(rows + 1), distributions.argmax(axis=1), weight if counts is None else counts.totals()
            )
    if counts is None or len(counts) != len(contexts):
        raise InputError(
            "contexts", f"has {len(contexts)} rows, but counts has {(0 if counts is None else len(counts))}"
        )

    read, answered = (
        contexts.max(),
        max(counts.indices.max(), -1 if distributions is None else distributions.shape[1] - 1),
    )
    names = _named("vocabulary", "token", vocabulary, int(read if answers is not None else max(read, answered)))
    following = names if answers is None else _named("answers", "answer", answers, int(answered))
    if distributions is not None and distributions.shape[1] != len(following):
        kind = "tokens" if answers is None else "answers"
        raise InputError(
            "distributions", f"has shape {distributions.shape}", f"one column for each of the {len(following)} {kind}"
        )
    if next_tokens is not None and target == "labels":
        _refuse_ties(contexts, counts, names, following)
    own_labels = distributions is not None and target == "labels"  # of distributions that nobody has counted
    return make_task(
        contexts,
        counts,
        vocabulary=names,
        answers=following,
        target=target,
        facts=facts,
        mass=mass,
        distributions=None if own_labels else distributions,
        origin="own" if own_labels else None,
    )


def all_contexts(d_vocab: int, n_ctx: int) -> Int64Array:
    """Return all contexts of `n_ctx` tokens over a vocabulary, in lexicographic order, `[d_vocab ** n_ctx, n_ctx]`.

    Raises:
        InputError: `d_vocab` or `n_ctx` below 1.
        ResourceError: More than 2**22 contexts.

    Example:
        >>> all_contexts(2, 2).tolist()
        [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    if d_vocab < 1 or n_ctx < 1:
        raise InputError("d_vocab", f"= {d_vocab} and n_ctx = {n_ctx}", "at least 1")
    if d_vocab**n_ctx > _MOST_CONTEXTS:
        raise ResourceError(f"there are {d_vocab}**{n_ctx} contexts, more than 2**22; lower d_vocab or n_ctx")
    return np.indices((d_vocab,) * n_ctx).reshape(n_ctx, -1).T.astype(np.int64)


def enumerated_task(
    d_vocab: int,
    n_ctx: int,
    *,
    target: Target = "labels",
    distributions: Float64Array | None = None,
    labels: Int64Array | None = None,
    seed: int = 0,
) -> Task:
    r"""Return the task of theory: all $N^S$ contexts, equally likely, with given or random labels or distributions.

    Args:
        d_vocab: Size of the vocabulary, $N$.
        n_ctx: Tokens in a context, $S$.
        target: ``"labels"`` or ``"distributions"``.
        distributions: For ``distributions``, the distributions in the lexicographic order of the contexts, `[N ** S,
            N]`; by default drawn uniformly from the simplex.
        labels: For ``labels``, the labels in that order, `[N ** S]`; by default drawn uniformly.
        seed: Seed of what is drawn.

    Returns:
        The task.

    Raises:
        InputError: Sizes below 1, or labels or distributions that do not fit.
        HypothesisError: A distribution without full support.
        ResourceError: More than 2**22 contexts.

    Source: Dana, Pydi, Chevaleyre (2024), Section 4.

    Example:
        >>> task = enumerated_task(2, 2, labels=np.array([0, 1, 1, 0]))
        >>> task.contexts.tolist(), task.labels.tolist()
        ([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    """
    contexts = all_contexts(d_vocab, n_ctx)
    rng = np.random.default_rng(seed)
    if target == "labels":
        if distributions is not None:
            raise InputError("distributions", "are given, but the target is 'labels'")
        chosen = rng.integers(0, d_vocab, len(contexts)) if labels is None else labels
        return array_task(contexts, next_tokens=chosen, vocabulary=d_vocab, target=target)
    if labels is not None:
        raise InputError("labels", "are given, but the target is 'distributions'")
    if distributions is None:
        positive = rng.standard_exponential((len(contexts), d_vocab)) + 2.0**-60
        distributions = positive / positive.sum(axis=1, keepdims=True)
    return array_task(contexts, distributions=distributions, vocabulary=d_vocab, target=target)


def _named(name: str, kind: str, given: tuple[str, ...] | int | None, largest: int) -> tuple[str, ...]:
    """Return the token texts up to the largest token, by default their numbers."""
    if isinstance(given, tuple):
        names = given
    else:
        size = largest + 1 if given is None else given
        if not 1 <= size <= _LARGEST_VOCABULARY:
            raise InputError(name, f"has {size} {kind}s", "1 .. 2**22: number them from 0 without gaps")
        names = tuple(map(str, range(size)))
    if largest >= len(names):
        raise InputError(f"the {kind} {largest}", "occurs", f"{kind}s 0 .. {len(names) - 1} of {name}")
    return names


def _added_up(contexts: Int64Array, following: Int64Array, weight: Int64Array) -> tuple[Int64Array, Counts]:
    """Return the distinct contexts, and the weights of equal rows added up."""
    rows, where = np.unique(np.column_stack([contexts, following]), axis=0, return_inverse=True)
    data = np.zeros(len(rows), dtype=object)  # Python integers: a sum beyond 64 bits must not wrap around
    np.add.at(data, where.reshape(-1), weight.astype(object))
    if data.max() >= 2**63:
        raise InputError("weights of equal rows", f"add up to {data.max()}", "at most 2**53")
    distinct_contexts, tokens = rows[:, :-1], rows[:, -1]
    is_new = (np.diff(distinct_contexts, axis=0) != 0).any(axis=1)  # `np.unique` sorts the rows
    starts = np.flatnonzero(np.append(True, is_new))
    return distinct_contexts[starts], Counts(np.append(starts, len(rows)), tokens, data.astype(np.int64))


def _refuse_ties(contexts: Int64Array, counts: Counts, names: tuple[str, ...], answers: tuple[str, ...]) -> None:
    """Reject contexts with several most frequent answers unless one of them is the label, as for a table."""
    for i in range(len(counts)):
        tokens, weights = counts.row(i)
        first, *rivals = tokens[weights == weights.max()].tolist()
        if rivals:
            context = " ".join(repr(names[token]) for token in contexts[i])
            raise InputError(
                f"contexts: {context} -> {answers[first]!r} and {answers[rivals[0]]!r}",
                "contradict each other equally often; keep one of them, or learn how often each follows, with the "
                "target 'distributions'",
            )


def _checked_distributions(distributions: Float64Array, rows: int, *, full_support: bool) -> Float64Array:
    array = np.asarray(distributions)
    if array.ndim != 2 or array.dtype != np.float64 or len(array) != rows or array.shape[1] == 0:
        raise InputError("distributions", f"is {array.dtype} of shape {array.shape}", f"float64 [{rows}, N]")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)).all(axis=1))
    if len(bad):
        raise InputError(
            f"distributions: row {bad[0]}", f"has an entry that is negative or not finite: {array[bad[0]].tolist()}"
        )
    require_sums_of_one(array)
    bad = np.flatnonzero((array == 0).any(axis=1))
    if full_support and len(bad):
        raise HypothesisError(
            "Dana et al. (2024), Theorem 1",
            "distributions of full support (Assumption 2)",
            f"row {bad[0]} of distributions gives the token {int(array[bad[0]].argmin())} the probability 0",
        )
    return array


def _integers(name: str, value: object, dimensions: int) -> Int64Array:
    array = np.asarray(value)
    if array.ndim != dimensions or array.dtype.kind not in "iu":
        raise InputError(name, f"is {array.dtype} of shape {array.shape}", f"integers, {dimensions}-dimensional")
    if array.size and (array.min() < 0 or array.max() >= 2**62):
        raise InputError(name, f"has entries in [{array.min()}, {array.max()}]", "0 .. 2**62")
    return array.astype(np.int64)
