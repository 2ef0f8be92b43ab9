"""Mutants of builders, judges and records of the claims of the slides: the audit itself must notice."""

from tests.mutants import confirmed, of, of_claim

slides_theorem = of_claim("slides_theorem")
slides_least_squares = of_claim("slides_least_squares")
slides_weighted_least_squares = of_claim("slides_weighted_least_squares")
slides_associative_memory = of_claim("slides_associative_memory")
slides_low_entropy = of_claim("slides_low_entropy")
divergence_floor = of("verify/theorems/capacity/divergence_floor.py", confirmed("slides_theorem"))
encoder_floor = of("verify/theorems/encoders/encoder_floor.py", confirmed("slides_least_squares"))
left_out_bound = of("verify/theorems/memories/left_out_bound.py", confirmed("slides_theorem"))
left_out = of("constructions/heads_of_theorem_1/left_out.py", confirmed("slides_theorem"))
low_entropy_bound = of("verify/theorems/encoders/low_entropy_bound.py", confirmed("slides_low_entropy"))
outer_product_memory = of("constructions/encoders/outer_product_memory.py", confirmed("slides_associative_memory"))
truncated_distributions = of("constructions/encoders/truncated_distributions.py", confirmed("slides_least_squares"))

MUTANTS = [
    slides_theorem('judgement="not-judged"', 'judgement="open"', "what is not judged is called open"),
    slides_least_squares('judgement="holds"', 'judgement="slip"', "what holds is a slip"),
    slides_weighted_least_squares('judgement="open"', 'judgement="false"', "what is open is called false"),
    slides_associative_memory('judgement="hypothesis"', 'judgement="holds"', "a hypothesis is forgotten"),
    slides_theorem("sqrt(2) P Z n]]", "2 P Z n]]", "sqrt 2 becomes 2"),
    slides_theorem("sqrt(2) P Z n]]", "P Z n]]", "sqrt 2 becomes 1"),
    slides_least_squares("[[sharp: sigma^2 / 4]]", "[[sharp: sigma^2 / 3]]", "1/4 becomes 1/3"),
    slides_least_squares("[[sharp: sigma^2 / 4]]", "[[sharp: sigma^2 / 5]]", "1/4 becomes 1/5"),
    slides_least_squares("(N p)^(3/2)", "(N p)^(1/2)", "another printed bound"),
    slides_weighted_least_squares("[[sharp: s / 4]]", "[[sharp: s / 3]]", "1/4 becomes 1/3"),
    slides_low_entropy("[[printed: (1 + 4C)", "[[printed: (1 + 3C)", "another printed factor"),
    slides_associative_memory("[[needed: 8 N log N]]", "[[needed: 4 N log N]]", "8 becomes 4"),
    divergence_floor(
        "    if lower > 0:\n        return DivergenceFloor(lower, Verdict.PROVED",
        "    lower *= 1.01\n    if lower > 0:\n        return DivergenceFloor(lower, Verdict.PROVED",
        "a false floor of one head",
    ),
    encoder_floor(
        "    lower = max(0.0, float(lower_sum(np.array(bounds)))) if bounds else 0.0\n",
        "    lower = max(0.0, float(lower_sum(np.array(bounds)))) if bounds else 0.0\n    lower *= 1.3\n",
        "a false floor of encoders",
    ),
    encoder_floor(
        "    lower = max(0.0, float(lower_sum(np.array(bounds)))) if bounds else 0.0\n",
        "    lower = max(0.0, float(lower_sum(np.array(bounds)))) if bounds else 0.0\n    lower *= 0.1\n",
        "an empty floor of encoders",
    ),
    left_out_bound(
        "        return sqrt(2.0) * self.probability * self.row * self.norm",
        "        return 2.0 * self.probability * self.row * self.norm",
        "sqrt 2 becomes 2",
    ),
    left_out(
        "exact_network(front_end, heads, change * unembedding)",
        "exact_network(front_end, [0 * head for head in heads], change * unembedding)",
        "W_O = 0",
    ),
    low_entropy_bound("* 32.0 /", "* 8.0 /", "the constant is halved"),
    outer_product_memory(
        "    return Associations(outputs, inputs, labels, outputs[labels].T @ inputs)",
        "    return Associations(outputs, inputs, labels, outputs.T @ inputs)",
        "the sum forgets the labels",
    ),
    truncated_distributions(
        "    W = right[:rank].T\n    return",
        "    W = right[-rank:].T\n    return",
        "the truncation keeps the last directions",
    ),
]
