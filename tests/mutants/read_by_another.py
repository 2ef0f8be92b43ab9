"""Mutants of domains, memories, bigrams, heads and the claims of others, by somebody who had not written that code."""

from tests.mutants import Mutant, confirmed


def domain(name: str, original: str, mutated: str, why: str) -> Mutant:
    return Mutant(f"verify/domains/{name}.py", original, mutated, f"tests/verify/domains/test_{name}.py", why)


def memory(name: str, original: str, mutated: str, why: str) -> Mutant:
    return Mutant(
        f"verify/theorems/memories/{name}.py", original, mutated, f"tests/verify/theorems/memories/test_{name}.py", why
    )


def built(name: str, original: str, mutated: str, why: str) -> Mutant:
    room, _, stem = name.rpartition("/")
    return Mutant(f"constructions/{name}.py", original, mutated, f"tests/constructions/{room}/test_{stem}.py", why)


def claimed(name: str, original: str, mutated: str, why: str) -> Mutant:
    tests = f"tests/verify/theorems/claims/test_{name}.py {confirmed(name)}"
    return Mutant(f"verify/theorems/claims/{name}.py", original, mutated, tests, why)


MUTANTS = [
    domain("attention_tables", "row += _matrix(block.b_O[None])", "pass", "the shift of the heads brings nothing"),
    domain(
        "attention_tables",
        "logits if model.b_U is None else logits + _matrix(model.b_U[None])",
        "logits",
        "the shift of the readout brings nothing",
    ),
    domain(
        "attention_tables",
        "powers.append(rounded_outwards(arb_mat([[(score - top).exp() for score in scores]]))[0])",
        "powers.append(Enclosure(rounded_outwards(arb_mat([[(score - top).exp() for score in scores]]))[0].midpoint))",
        "the powers are taken for floats",
    ),
    domain(
        "sweep", "places[-1] = places[-1][[place]]", "places[-1] = places[-1][[0]]", "every last token is the first"
    ),
    domain("sweep", "            state = steps[s][state, token]\n", "            pass\n", "labels ignore later tokens"),
    domain("rule_answers", "self.one_by_one.left -= len(contexts)\n", "pass\n", "climbing costs nothing"),
    domain("rule_answers", "elif before >= several:", "elif True:", "several heads look at inputs beyond the budget"),
    domain(
        "separable",
        "tally.wrong += int(self.ends[layer][state[wrong]].sum())",
        "tally.wrong += int(wrong.sum())",
        "a beginning counts as one input",
    ),
    domain(
        "separable",
        "products[np.append(np.arange(before), place)]",
        "products[np.append(np.arange(before), before)]",
        "every last token is the first",
    ),
    memory(
        "knots",
        "(_integer(x.lower().floor()), _integer(x.upper().ceil()))",
        "(_integer(x.mid().floor()), _integer(x.mid().floor()))",
        "attention weights are taken for numbers",
    ),
    memory("integer_neurons", "strict=True)] if block.skip else written", "strict=True)]", "every block has a skip"),
    memory("outer_product_capacity", "logits[at] = logits.min() - 1", "logits[at] = 0", "negative leads are cut off"),
    memory("outer_product_capacity", "sum(margin > 0 for", "sum(margin >= 0 for", "a tie is stored"),
    memory(
        "outer_product_capacity",
        "if max(largest_sum, *columns, *rows) < _EXACT:",
        "if max(*columns, *rows) < _EXACT:",
        "sums of large integers round",
    ),
    memory("outer_product_capacity", "sure = (gap > 0) & (noise == 0)", "sure = noise == 0", "equal outputs are sure"),
    memory("sharp_attention", "least = min(row)", "least = max(row)", "the limit is where the score is least"),
    built(
        "memories/bigrams/one_head", "(last == 0) * min(size - 1, 1) / 4.0", "0.0", "the skip connection is forgotten"
    ),
    built(
        "memories/bigrams/suggested_answers", "2.0 * np.eye(answers)", "1.5 * np.eye(answers)", "means stand for sums"
    ),
    built("memories/heads/steps", "    shares[-1] -= 1\n", "", "the last position counts twice"),
    built("memories/heads/counting_heads", "fmpq(2 * m + 1, 2)", "fmpq(2 * m + 2, 2)", "a count is a root"),
    built(
        "memories/heads/label_system", "    W_U[0] = -1.0  #", "    W_U[0] = 0.0  #", "what is no answer is in front"
    ),
    claimed("zhang_2017_theorem", " and embedding == points.tolist())", ")", "any points may be read"),
    claimed(
        "vardi_2022_sqrt",
        "decided(judged.memorized == judged.count == count)",
        "decided(judged.count == count)",
        "labels may be lost",
    ),
    claimed(
        "madden_2024_upper", "decided(barrier.outside)", "decided(True)", "distributions within reach are out of reach"
    ),
    claimed(
        "kajitsuka_sato_2024_separation",
        "decided(complete and unrepeated and",
        "decided(complete and",
        "sequences may repeat tokens",
    ),
    claimed(
        "cabannes_2024_scaling",
        "if not (fits and labelled and is_sum_of_outer_products(*kept)):",
        "if not (fits and labelled):",
        "any matrix is a sum of outer products",
    ),
    claimed(
        "nichani_2024_mlp_memory",
        " and np.array_equal(values, made.inputs)",
        "",
        "inputs are no values of the neurons",
    ),
    claimed("bubeck_2020_four", "if not same_points or network.d_out", "if network.d_out", "any points may be read"),
]
