"""Mutants of the judge: what a yes needs beside being answered, and the words that say it."""

from tests.mutants import Mutant

LINE = "tests/verify/certificates/test_headline.py"
CERTIFICATE = "tests/verify/certificates/test_certificate.py"
MEMORIZATION = "tests/verify/certificates/test_memorization.py"
TAMPERING = "tests/falsify/test_tampering.py"
DOMAIN = "tests/verify/certificates/test_domain.py"
CHECKER = "tests/verify/independent/test_checker.py"
BALLS = "tests/verify/independent/test_ball_answers.py"
COUNTS = "tests/verify/certificates/test_counts.py"
BOUNDS = "tests/verify/certificates/test_answers.py"
SHAKEN = "tests/byheart/hosts/test_handshake.py"
EXPORT = "tests/byheart/hosts/test_export.py"
PARITY = "tests/byheart/hosts/test_parity.py"
WORDS = "tests/falsify/test_words.py"
RULE = "tests/constructions/tasks/test_rule.py"


def headline(original: str, mutated: str, why: str, tests: str = LINE) -> Mutant:
    return Mutant("verify/certificates/headline.py", original, mutated, tests, why)


def of(file: str, original: str, mutated: str, why: str, tests: str) -> Mutant:
    return Mutant(file, original, mutated, tests, why)


MUTANTS = [
    headline("and not beats_a_guess(criterion, values, target):", "and False:", "vacuous models are held"),
    headline("verdict, words = Verdict.REFUTED, VACUOUS", "words = VACUOUS", "the exit code of a guess is 0"),
    headline("elif verdict is Verdict.PROVED and origin == OWN:", "elif False:", "a model's own outputs are held"),
    headline('if values["held"] >= asked:', 'if values["held"]:', "one context stands for all that are asked for"),
    headline(
        'values["mean_upper"] < values.get("guess_lower", 0)', 'values["mean_upper"] <= 1e9', "no guess is compared"
    ),
    headline(
        'return "mean_upper" in values and values["mean_upper"] <',
        "return values.get('mean_upper', 0) <",
        "a mean that nobody knows is 0",
    ),
    headline("(held > guess or held", "(held >= guess or held", "a guess that holds as many is beaten"),
    headline('held == guess == values["contexts"])', "held == guess)", "one answer is said to be the only one"),
    headline("guess is not None and (", "guess is None or (", "a guess that nobody counted is beaten"),
    headline('target != "labels" or criterion.asked == "at-most"', 'target != "labels"', "a mean is beaten by a count"),
    headline('criterion.asked != "at-most" and criterion.tolerance != TOLERANCE', "False", "no tolerance is said"),
    headline(
        "and whole and words != VACUOUS:",
        "and words != VACUOUS:",
        "what was asked of a part is said of the whole",
        DOMAIN,
    ),
    headline("_TARGETS.get(origin) or", "'' or", "where the targets come from is not said"),
    of(
        "verify/certificates/answers.py",
        "bincount(task.labels if isinstance(task, Task) else task.classes).max()",
        "bincount(task.labels if isinstance(task, Task) else task.classes).min()",
        "the rarest label is the guess",
        BALLS,
    ),
    of(
        "verify/certificates/answers.py",
        "half = len(ordered) // 2",
        "half = len(ordered)",
        "distances count twice",
        BALLS,
    ),
    of(
        "verify/certificates/memorization.py",
        "if stored.get(GUESS) != own.get(GUESS):",
        "if False:",
        "the guess of a certificate is believed",
        TAMPERING,
    ),
    of(
        "verify/independent/checker.py",
        "if stored.get(GUESS) != guess[1]:",
        "if False:",
        "the guess of a certificate is believed",
        TAMPERING,
    ),
    of(
        "verify/certificates/counts.py",
        "if guess != stored[GUESS]:",
        "if False:",
        "the guess of a rule is believed",
        COUNTS,
    ),
    of(
        "verify/certificates/certificate.py",
        '(GUESS in values) != (subject.target == "labels")',
        "False",
        "labels need no guess",
        CERTIFICATE,
    ),
    of(
        "verify/certificates/certificate.py",
        'if GUESS in values and not 1 <= values[GUESS] <= values["contexts"]:',
        "if False:",
        "a guess may hold nothing",
        CERTIFICATE,
    ),
    of(
        "verify/certificates/certificate.py",
        "if found.verdict is Verdict.PROVED and left[Verdict.UNDECIDED]:",
        "if False:",
        "what was not proved again is held",
        CERTIFICATE,
    ),
    of(
        "verify/independent/plain/plain_rule.py",
        "reached[state] += count",
        "reached[state] = count",
        "paths are not added up",
        DOMAIN,
    ),
    of(
        "constructions/tasks/rule.py",
        "np.add.at(found, self.answers, inputs)",
        "found[self.answers] = inputs",
        "states of one answer are not added up",
        RULE,
    ),
    of(
        "byheart/hosts/handshake.py",
        "outside = np.flatnonzero(~(off <= limit).all(axis=1))",
        "outside = []",
        "whatever a module computes agrees",
        SHAKEN,
    ),
    of(
        "byheart/hosts/handshake.py",
        "each.data = data.double().cpu()",
        "each.data = each.data",
        "the module is not run in float64",
        SHAKEN,
    ),
    of("byheart/hosts/handshake.py", "part.training = flag", "part.training = True", "flags are overwritten", SHAKEN),
    of(
        "byheart/hosts/certify.py",
        "if not handshake and (left :=",
        "if False and (left :=",
        "a buffer that nobody asks about is left out",
        SHAKEN,
    ),
    of("byheart/hosts/reading.py", "if np.ma.isMaskedArray(tensor):", "if False:", "hidden entries count", SHAKEN),
    of(
        "byheart/hosts/export.py",
        "if refuse and found.verdict is not Verdict.PROVED:",
        "if False:",
        "what loses is written",
        EXPORT,
    ),
    of(
        "verify/divergence/computed.py",
        'right if task.target == "labels" else right & near',
        "right",
        "an argmax is a law",
        PARITY,
    ),
    of(
        "byheart/job.py",
        "if found.verdict is Verdict.PROVED and judged.outcome.verdict is not Verdict.PROVED:",
        "if False:",
        "what is measured is held though the weights do not hold it",
        WORDS,
    ),
]
