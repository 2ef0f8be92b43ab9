"""Tables of one attention: put together they are the logits of every input."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from constructions.errors import InputError
from constructions.model.blocks import Attention, Normalization
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from tests.domains import max_of_four, one_attention
from verify.domains.attention_tables import AttentionTables, is_one_attention
from verify.forward.in_balls import logits_in_balls, rounded_outwards


@pytest.mark.parametrize("seed", range(12))
def test_the_tables_put_together_enclose_the_logits_of_every_input(seed):
    model, task = one_attention(np.random.default_rng(seed), n_heads=1 + seed % 3, largest_length=3)
    tables = AttentionTables.of(model, task.tokens)
    contexts = task.contexts_at(np.arange(task.n_contexts))
    exact = rounded_outwards(logits_in_balls(model, contexts, 256))
    starts = np.cumsum([0, *(len(tokens) for tokens in task.tokens[:-1])])
    for row, context in enumerate(contexts):
        rows = starts + context
        logits = tables.direct(int(context[-1]))
        for power, value in zip(tables.powers(int(context[-1])), tables.values, strict=True):
            chosen = power[rows].reshape(-1, 1)
            numerator, denominator = chosen[0] * value[rows[0]], chosen[0]
            for s in range(1, len(rows)):
                numerator, denominator = numerator + chosen[s] * value[rows[s]], denominator + chosen[s]
            if float(denominator.lower()[0]) > 0.0:
                logits = logits + numerator / denominator
            else:
                return  # scores so far below the largest that float64 knows nothing of them
        assert (logits.lower() <= exact.upper()[row]).all() and (exact.lower()[row] <= logits.upper()).all()
        assert (logits.radius <= 1e-9 * (1.0 + np.abs(exact.midpoint).max() + np.abs(model.W_U).max() * 1e4)).all()


def test_the_table_of_values_encloses_their_exact_fractions():
    model = max_of_four(np.random.default_rng(3))
    block, tokens = model.attention, [np.arange(model.d_vocab)] * model.n_ctx
    rows = [[Fraction(x) + Fraction(y) for x, y in zip(e, p, strict=True)] for p in model.W_pos for e in model.W_E]
    exact = rows
    for tensor in (block.W_V[0], block.W_O[0], model.W_U):
        columns = [[Fraction(x) for x in column] for column in tensor.T.tolist()]
        exact = [[sum(x * y for x, y in zip(row, column, strict=True)) for column in columns] for row in exact]
    [found] = AttentionTables.of(model, tokens).values
    entries = [value for row in exact for value in row]
    bounds = zip(found.lower().ravel(), entries, found.upper().ravel(), strict=True)
    assert all(Fraction(low) <= value <= Fraction(high) for low, value, high in bounds)
    assert any(Fraction(middle) != value for middle, value in zip(found.midpoint.ravel(), entries, strict=True))


def test_the_powers_enclose_the_exponentials_of_their_scores():
    """Integer weights have integer scores, whose powers are exponentials of integers: no floats but 1."""
    ones = np.ones((1, 1, 1))
    model = dana_network(
        W_E=np.arange(4.0)[:, None], W_pos=np.zeros((2, 1)), W_Q=ones, W_K=ones, W_V=ones, W_O=ones, W_U=np.ones((1, 4))
    )
    [found] = AttentionTables.of(model, [np.arange(4)] * 2).powers(3)
    with ctx.workprec(256):
        exact = [arb(3 * (token - 3)).exp() for token in (*range(4), *range(4))]
        for power, low, high in zip(exact, found.lower().tolist(), found.upper().tolist(), strict=True):
            assert (arb(low) < power and power < arb(high)) or power == 1


def test_other_models_have_no_tables():
    one = np.ones((1, 1, 1))
    norm = Normalization("layer", w=np.ones(1))
    read = {"W_U": np.ones((1, 1)), "W_E": np.ones((1, 1)), "W_pos": np.ones((1, 1))}
    plain = Attention(one, one, one, one)
    assert is_one_attention(Model(blocks=(plain,), **read))
    nothing = np.ones((0, 1, 1))
    for blocks in (
        (),
        (plain, plain),
        (Attention(one, one, one, one, norm=norm),),
        (norm,),
        (Attention(*[nothing] * 4),),
    ):
        model = Model(blocks=blocks, **read)
        assert not is_one_attention(model)
        with pytest.raises(InputError, match="one attention"):
            AttentionTables.of(model, [np.arange(1)])
