"""Mutants of the judge: what a yes needs beside being answered, and the words that say it."""

from tests.mutants import of

headline = of("verify/certificates/headline.py", "tests/verify/certificates/test_headline.py")
headline_by_domain = of("verify/certificates/headline.py", "tests/verify/provers/test_domain.py")
facts = of("constructions/tasks/task.py", "tests/verify/kernel/test_evaluation.py")
answers = of("verify/provers/answer_bounds.py", "tests/verify/kernel/test_evaluation.py")
memorization = of("verify/provers/memorization.py", "tests/falsify/test_tampering.py")
counts = of("verify/provers/counts.py", "tests/verify/provers/test_counts.py")
certificate = of("verify/certificates/certificate.py", "tests/verify/certificates/test_certificate.py")
rule = of("constructions/tasks/rule.py", "tests/constructions/tasks/test_rule.py")
handshake = of("byheart/hosts/handshake.py", "tests/byheart/hosts/test_handshake.py")
given = of("byheart/hosts/questions/given.py", "tests/byheart/hosts/test_handshake.py")
reading = of("byheart/hosts/reading.py", "tests/byheart/hosts/test_handshake.py")
export = of("byheart/hosts/export.py", "tests/byheart/hosts/test_export.py")
computed = of("verify/divergence/computed.py", "tests/byheart/hosts/test_parity.py")
running = of("byheart/jobs/run.py", "tests/falsify/test_words.py")
stated_answers = of("verify/provers/answers.py", "tests/falsify/test_tampering.py")

MUTANTS = [
    headline("and not beats_a_guess(criterion, values, target):", "and False:", "vacuous models are memorized"),
    headline(
        "is not Verdict.REFUTED and loses_to_a_guess(criterion, values, target):",
        "is Verdict.PROVED:",
        "not proved to beat a guess is proved not to",
    ),
    headline('contexts - values.get("wrong", 0)', 'values["memorized"]', "what nobody looked at is wrong"),
    headline("verdict, words = Verdict.REFUTED, VACUOUS", "words = VACUOUS", "the exit code of a guess is 0"),
    headline("elif verdict is Verdict.PROVED and origin == OWN:", "elif False:", "a model's own outputs are memorized"),
    headline(
        'if values["memorized"] >= asked:',
        'if values["memorized"]:',
        "one context stands for all that are asked for",
    ),
    headline(
        'values["mean_upper"] < values.get("guess_lower", 0)', 'values["mean_upper"] <= 1e9', "no guess is compared"
    ),
    headline(
        'return "mean_upper" in values and values["mean_upper"] <',
        "return values.get('mean_upper', 0) <",
        "a mean that nobody knows is 0",
    ),
    headline(
        "(memorized > guess or memorized", "(memorized >= guess or memorized", "a guess that holds as many is beaten"
    ),
    headline(
        'memorized == guess == values["contexts"])', "memorized == guess)", "one answer is said to be the only one"
    ),
    headline("guess is not None and (", "guess is None or (", "a guess that nobody counted is beaten"),
    headline('target != "labels" or criterion.asked == "at-most"', 'target != "labels"', "a mean is beaten by a count"),
    headline('criterion.asked != "at-most" and criterion.tolerance != TOLERANCE', "False", "no tolerance is said"),
    headline_by_domain(
        "and whole and words != VACUOUS:", "and words != VACUOUS:", "what was asked of a part is said of the whole"
    ),
    headline(
        "    if origin == OWN:\n        parts", "    if False:\n        parts", "targets of one's own are not named"
    ),
    facts("bincount(self.labels).max()", "bincount(self.labels).min()", "the rarest label is the guess"),
    answers("half = len(ordered) // 2", "half = len(ordered)", "distances count twice"),
    stated_answers("if stored.get(GUESS) != own.get(GUESS):", "if False:", "the guess of a certificate is believed"),
    counts("if guess != stored[guessed]:", "if False:", "the guess of a rule is believed"),
    certificate(
        "if found.verdict is Verdict.PROVED and left[Verdict.UNDECIDED]:",
        "if False:",
        "what was not proved again is memorized",
    ),
    rule(
        "np.add.at(counts, self.answers, inputs)",
        "counts[self.answers] = inputs",
        "states of one answer are not added up",
    ),
    handshake(
        "outside = np.flatnonzero(~(off <= limit).all(axis=1))", "outside = []", "whatever a module computes agrees"
    ),
    handshake("tensor.data = data.double().cpu()", "tensor.data = tensor.data", "the module is not run in float64"),
    handshake("part.training = flag", "part.training = True", "flags are overwritten"),
    handshake('hasattr(part, "parametrizations")', "False", "computed maps are read"),
    given("if not handshake and (left :=", "if False and (left :=", "a buffer that nobody asks about is left out"),
    reading("if np.ma.isMaskedArray(tensor):", "if False:", "hidden entries count"),
    export("if refuse and found.verdict is not Verdict.PROVED:", "if False:", "what loses is written"),
    computed('right if task.target == "labels" else right & near', "right", "an argmax is a distribution"),
    running(
        "if outcome.verdict is Verdict.PROVED and judged.outcome.verdict is not Verdict.PROVED:",
        "if False:",
        "what is measured is memorized though the weights do not hold it",
    ),
]
