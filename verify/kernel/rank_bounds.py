r"""Upper bounds of the rank of features: ranks of integer matrices, from these weights or from the contexts only.

The features (`features.py`) are quotients of exponentials, and a ball around a matrix holds one of full rank, so what
bounds their rank from above does not look at the attention weights $a^h_{ts}$, only at $\sum_s a^h_{ts} = 1$.

**Lemma C2.** Let R be the matrix of all rows $x_{ts}$ that the heads read, L that of the last rows $x_{tS}$, D that of
the differences $x_{ts} - x_{tS}$, $V = [V_1, \dots, V_H]$ and $r_h = \mathrm{rank}(D V_h)$. Then

$$ \mathrm{rank}(Y) \le \sum_h \mathrm{rank}(R V_h), \qquad \mathrm{rank}(Y) \le \mathrm{rank}(L V) + \sum_h r_h, \qquad
   \mathrm{rank}(Y) \le \mathrm{rank}(R V) + \sum_h r_h - \max_h r_h, $$

the last for $H \ge 1$, and $\mathrm{rank}[X_S, Y]$ is at most $\mathrm{rank}(L) + \sum_h \mathrm{rank}(R V_h)$ and
$\mathrm{rank}(L) + \sum_h r_h$. For vectors all $V_h$ are the identity.

*Proof.* The columns of a head have their rows in the row space of $R V_h$; ranks of matrices side by side add up.
As the weights sum to 1, a row of head h is $x_{tS} V_h + \sum_s a^h_{ts} (x_{ts} - x_{tS}) V_h$. So Y is the matrix
with the rows $x_{tS} V$, and $[X_S, Y]$ that with the rows $x_{tS} [I, V]$, plus matrices side by side of ranks at
most $r_h$. And with the weights of one head g in all, Y is the matrix with the rows $\sum_s a^g_{ts} x_{ts} V$
plus, for each other head, rows $\sum_s (a^h_{ts} - a^g_{ts}) (x_{ts} - x_{tS}) V_h$. []

Page: docs/rigour/kernel.md
"""

from collections.abc import Hashable, Iterable, Sequence

from flint import fmpz_mat, nmod_mat

from verify.kernel.columns import Integers
from verify.kernel.model import Model
from verify.kernel.task import Context, Task

_LARGEST = 2**24  # rows * columns * rank of an integer matrix that is eliminated
_LARGEST_FORMAL = 2**25  # rows * columns of one that has few numbers other than 0
PRIME = 2**62 - 57  # a prime

Rows = set[tuple[int, ...]]


def upper_for_these_weights(model: Model, task: Task, *, with_skip: bool) -> int:
    """Return the least of the bounds of Lemma C2."""
    read, last, apart = _rows(model, task)
    block = model.blocks[0]
    heads, width, _ = block.shape("W_Q")
    identity = [[int(i == j) for j in range(width)] for i in range(width)]
    maps = [identity] * heads
    if task.vectors is None:
        maps = [Integers.of(block.tensors["W_V"].row(h), block.shape("W_V")[2]).rows for h in range(heads)]
    of_heads, differences = ([_rank(rows, weight_map) for weight_map in maps] for rows in (read, apart))
    if with_skip:
        return _rank(last, identity) + min(sum(of_heads), sum(differences))
    if not heads:
        return 0
    beside = [[entry for weight_map in maps for entry in weight_map[i]] for i in range(width)]
    from_last = _rank(last, beside) + sum(differences)
    from_one_head = _rank(read, beside) + sum(differences) - max(differences)
    return min(sum(of_heads), from_last, from_one_head)


def upper_for_all_weights(model: Model, task: Task, *, with_skip: bool) -> int:
    r"""Return a bound for all weights of these sizes; for vectors that of Lemma C2, in which no weights occur.

    **Lemma S7.** Of tokens let j be the number of different last ones, $\ell$ the rank of the formal vectors
    $e_{t_s} - e_{t_S} + f_s - f_S$ over all contexts and positions, q that of $e_{t_s} + f_s$, and $\sigma_c$ that
    of the indicators of the pairs $(s, t_s)$ over the contexts that end with c. For all weights $\mathrm{rank}[X_S,
    Y]$ is at most

    $$ \min(d, j) + H \min(d, d_h, \ell) \qquad \text{and} \qquad j + H \sum_c (\sigma_c - 1), $$

    and so is $\mathrm{rank}(Y)$, which for $H \ge 1$ is also at most $(H - 1) \min(d, d_h, \ell) + \min(d, q)$.

    *Proof.* A linear map sends $e_n$ to its embedding and $f_s$ to that of the position, so $\mathrm{rank}(D) \le
    \ell$, $\mathrm{rank}(R) \le q$, $\mathrm{rank}(L) \le j$, and all are at most d: the first and the last bound
    follow from Lemma C2. For the second fix c and a head. As all contexts that end with c ask alike, what a pair
    $(s, n)$ weighs before it is divided by the sum $N_t$ depends on the pair alone. So $N_t$, and every column of
    the head times $N_t$, is a sum of functions of pairs: on these contexts the columns lie in a space of dimension
    $\sigma_c$ of functions divided by $N_t$, which holds the constants. The columns of $X_S$ lie in the space of
    functions constant for each c, of dimension j, and a head adds at most $\sum_c (\sigma_c - 1)$. []
    """
    if task.vectors is not None:
        return upper_for_these_weights(model, task, with_skip=False)
    heads, width, _ = model.blocks[0].shape("W_Q")
    ends = {(s, token, context[-1]) for context in task.contexts for s, token in enumerate(context[:-1])}
    last = len(task.contexts[0]) - 1
    differences = _formal_rank([[(("token", t), 1), (("token", end), -1), (s, 1), (last, -1)] for s, t, end in ends])
    head = min(width, model.blocks[0].shape("W_V")[2], differences)
    alike: dict[int, list[Context]] = {}
    for context in task.contexts:
        alike.setdefault(context[-1], []).append(context)
    free = sum(
        _formal_rank([[(pair, 1) for pair in enumerate(context_pairs)] for context_pairs in of]) - 1
        for of in alike.values()
    )
    bounds = [min(width, len(alike)) + heads * head, len(alike) + heads * free]
    if heads and not with_skip:
        pairs = {pair for context in task.contexts for pair in enumerate(context)}
        inputs = _formal_rank([[(("token", token), 1), (s, 1)] for s, token in pairs])
        bounds.append((heads - 1) * head + min(width, inputs))
    return min(bounds)


def _rows(model: Model, task: Task) -> tuple[Rows, Rows, Rows]:
    """Return R, L and D of Lemma C2 as integers over a common unit, without repeated rows."""
    if task.vectors is not None:
        width = len(task.vectors.rows[0])
        exact = Integers.of([x for row in task.vectors.rows for x in row], width).rows
        contexts = [[tuple(exact[n]) for n in context[:-1]] for context in task.contexts]
    else:
        tokens, positions = model.tensors["W_E"], model.tensors["W_pos"]
        exact = Integers.of([*tokens.values, *positions.values], tokens.shape[1]).rows
        known = {
            (s, t): tuple(a + b for a, b in zip(exact[t], exact[tokens.shape[0] + s], strict=True))
            for s, t in {pair for context in task.contexts for pair in enumerate(context)}
        }
        contexts = [[known[pair] for pair in enumerate(context)] for context in task.contexts]
    pairs = {(row, rows[-1]) for rows in contexts for row in rows[:-1]}
    apart = {tuple(a - b for a, b in zip(row, last, strict=True)) for row, last in pairs}
    return {row for rows in contexts for row in rows}, {rows[-1] for rows in contexts}, apart


def _rank(rows: Iterable[Sequence[int]], through: list[list[int]]) -> int:
    """Return the rank of the rows times a matrix, or its smaller side, an upper bound, if elimination takes long."""
    listed, width = list(map(list, rows)), len(through[0])
    smaller = min(len(listed), len(through), width)
    if smaller == 0 or len(listed) * width * smaller > _LARGEST:
        return smaller
    return _exact_rank(fmpz_mat(listed) * fmpz_mat(through), smaller)


def _exact_rank(matrix: fmpz_mat, most: int) -> int:
    """Return the rank, known to be at most a limit; a rank of that size modulo a prime proves it, because a minor that
    is 0 stays 0.
    """
    return most if nmod_mat(matrix, PRIME).rank() == most else matrix.rank()


def _formal_rank(vectors: Sequence[Sequence[tuple[Hashable, int]]]) -> int:
    """Return the rank of formal sums of named basis vectors; an upper bound if there are very many."""
    places: dict[Hashable, int] = {}
    for vector in vectors:
        for name, _ in vector:
            places.setdefault(name, len(places))
    if len(vectors) * len(places) > _LARGEST_FORMAL:
        return min(len(vectors), len(places))
    matrix = fmpz_mat(len(vectors), len(places))
    for row, vector in enumerate(vectors):
        for name, coefficient in vector:
            matrix[row, places[name]] += coefficient
    return matrix.rank()  # such matrices are eliminated sooner exactly than modulo a prime
