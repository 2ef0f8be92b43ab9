"""Mutants of certificates and of their two checkers: a hash not compared, a bound turned around, an error dropped."""

from tests.mutants import Mutant

CERTIFICATE = "tests/verify/certificates/test_certificate.py"
BOUNDS = "tests/verify/certificates/test_answers.py"
FEATURE_RANK = "tests/verify/certificates/test_feature_rank.py"
NUMBERS = "tests/verify/arithmetic/test_exact_json.py"
MEMORIZATION = "tests/verify/certificates/test_memorization.py"
CHECKER = "tests/verify/independent/test_checker.py"
TAMPERING = "tests/falsify/test_tampering.py"
DIVERGENCE = "tests/verify/independent/test_ball_divergence.py"
BALLS = "tests/verify/independent/test_ball_forward.py"
EVALUATION = "tests/verify/independent/test_evaluation.py"
INTEGERS = "tests/verify/independent/test_integer_forward.py"
RANKS = "tests/verify/independent/test_integer_rank.py"
LINES = "tests/verify/independent/test_piecewise_linear.py"
TWO_READERS = "tests/falsify/test_two_readers.py"


def of_certificate(original: str, mutated: str, why: str, tests: str = CERTIFICATE) -> Mutant:
    return Mutant("verify/certificates/certificate.py", original, mutated, tests, why)


def of_prover(original: str, mutated: str, why: str, tests: str = MEMORIZATION) -> Mutant:
    return Mutant("verify/certificates/memorization.py", original, mutated, tests, why)


def of_loading(original: str, mutated: str, why: str, tests: str = MEMORIZATION) -> Mutant:
    return Mutant("verify/certificates/loading.py", original, mutated, tests, why)


def of_bounds(original: str, mutated: str, why: str, tests: str = BOUNDS) -> Mutant:
    return Mutant("verify/certificates/answers.py", original, mutated, tests, why)


def of_feature_rank(original: str, mutated: str, why: str, tests: str = FEATURE_RANK) -> Mutant:
    return Mutant("verify/certificates/feature_rank.py", original, mutated, tests, why)


def of_numbers(original: str, mutated: str, why: str, tests: str = NUMBERS) -> Mutant:
    return Mutant("verify/arithmetic/exact_json.py", original, mutated, tests, why)


def of_checker(original: str, mutated: str, why: str, tests: str = CHECKER) -> Mutant:
    return Mutant("verify/independent/checker.py", original, mutated, tests, why)


def of_arrays(original: str, mutated: str, why: str, tests: str = CHECKER) -> Mutant:
    return Mutant("verify/independent/plain/plain_arrays.py", original, mutated, tests, why)


def of_task(original: str, mutated: str, why: str, tests: str = CHECKER) -> Mutant:
    return Mutant("verify/independent/plain/plain_task.py", original, mutated, tests, why)


def of_model(original: str, mutated: str, why: str, tests: str = TWO_READERS) -> Mutant:
    return Mutant("verify/independent/plain/plain_model.py", original, mutated, tests, why)


def of_balls(original: str, mutated: str, why: str, tests: str = BALLS) -> Mutant:
    return Mutant("verify/independent/ball_forward.py", original, mutated, tests, why)


def of_lines(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("verify/independent/piecewise_linear.py", original, mutated, LINES, why)


def of_answers(original: str, mutated: str, why: str, tests: str = CHECKER) -> Mutant:
    return Mutant("verify/independent/ball_answers.py", original, mutated, tests, why)


def of_evaluation(original: str, mutated: str, why: str, tests: str = CHECKER) -> Mutant:
    return Mutant("verify/independent/evaluation.py", original, mutated, tests, why)


def of_divergence(original: str, mutated: str, why: str, tests: str = CHECKER) -> Mutant:
    return Mutant("verify/independent/ball_divergence.py", original, mutated, tests, why)


def of_forward(original: str, mutated: str, why: str, tests: str = CHECKER) -> Mutant:
    return Mutant("verify/independent/integer_forward.py", original, mutated, tests, why)


def of_rank(original: str, mutated: str, why: str, tests: str = CHECKER) -> Mutant:
    return Mutant("verify/independent/integer_rank.py", original, mutated, tests, why)


MUTANTS = [
    # The record and its file.
    of_certificate('if data["digest"] != digest:', "if False:", "the digest is not compared"),
    of_certificate("if certificate.to_json() != text:", "if False:", "another text of the same data is accepted"),
    of_certificate(
        "if file_sha256(witness) != certificate.witness.sha256:", "if False:", "the witness may be any file"
    ),
    of_certificate(
        "for statement in self.statements if statement.id == id), None)",
        "for statement in self.statements), None)",
        "a missing statement is replaced by another",
        MEMORIZATION,
    ),
    of_certificate(
        'FEATURE_RANK: {"rows": sizes["contexts"]},', "FEATURE_RANK: {},", "the rank may be that of fewer contexts"
    ),
    of_feature_rank(
        "    if columns not in widths:", "    if False:", "the rank may be that of another matrix", MEMORIZATION
    ),
    of_certificate(
        'TEXT_DIVERGENCE: {"contexts": sizes["all_contexts"]},',
        "TEXT_DIVERGENCE: {},",
        "the mean may be that of fewer contexts",
    ),
    of_certificate(
        'ANSWERS: {"contexts": sizes["contexts"]},', "ANSWERS: {},", "the answers may be those of fewer contexts"
    ),
    of_certificate(
        "if not (value > 0 if name in _POSITIVE else value >= 0):", "if not value >= 0:", "a margin of 0 may be proved"
    ),
    of_certificate(
        "if not (value > 0 if name in _POSITIVE else value >= 0):", "if False:", "a negative margin may be proved"
    ),
    of_certificate(
        "if partial and len(held_mask(self.held, contexts)) != held:",
        "if False:",
        "contexts are counted that nothing names",
    ),
    of_certificate(
        'if id == ANSWERS and "margin_lower" in values and not values["held"]:',
        "if False:",
        "a margin may be that of no context",
    ),
    of_prover(
        "float(answers.margin_lower[held].min())",
        "float(answers.margin_lower[held].max())",
        "the margin of some contexts is the largest of theirs",
    ),
    of_prover(
        'if float(answers.margin_upper[places].min()) < stored["margin_lower"]:',
        "if False:",
        "any margin refutes nothing",
    ),
    of_bounds(
        "np.minimum(above, exact.upper())",
        "np.minimum(above, exact.lower())",
        "the lower end of a divergence is its bound",
    ),
    of_certificate(
        "whole = all(len(set(group) & set(values)) in (0, len(group)) for group in kind.bounds)",
        "whole = True",
        "a bound may be stated without the other of its group",
    ),
    of_certificate(" or kinds[0] not in ids:", ":", "a certificate answers nothing"),
    of_certificate(
        "*(check.verdict for check in self.checks)]",
        "*(check.verdict for check in self.checks[:1])]",
        "one of the checks decides",
    ),
    of_certificate("if self.file != WITNESS_FILE:", "if False:", "the witness may be any file of the system"),
    of_certificate(
        "other by at least {decimal_below(values['margin_lower'])}",
        "other by at least {decimal_above(values['margin_lower'])}",
        "the words claim a larger margin than the number",
    ),
    of_certificate(
        "is at most {decimal_above(values['max_upper'])}",
        "is at most {decimal_below(values['max_upper'])}",
        "the words claim a smaller divergence than the number",
    ),
    of_certificate("if ids != [name for name in kinds if name in ids] or", "if", "a statement may come twice"),
    of_certificate(" or (type(value) is float and not math.isfinite(value))", "", "infinity and NaN are bounds"),
    # The prover, and its check.
    of_loading("if found.model != named.model:", "if False:", "the hash of the model is not compared", TAMPERING),
    of_loading("if found.task != named.task:", "if False:", "the hash of the task is not compared", TAMPERING),
    of_loading("    if found != named:", "    if False:", "the sizes are not compared"),
    of_loading("    except MemoryError as error:", "    except ZeroDivisionError as error:", "a huge array is a crash"),
    of_numbers("_few_bits(bound * (1.0 + slack), math.ceil)", "_few_bits(bound, math.ceil)", "no slack above"),
    of_numbers("_few_bits(bound * (1.0 - slack), math.floor)", "_few_bits(bound, math.floor)", "no slack below"),
    of_numbers(
        "_few_bits(bound * (1.0 + slack), math.ceil)", "_few_bits(bound, math.floor)", "upper bounds are rounded down"
    ),
    of_numbers(
        "_few_bits(bound * (1.0 - slack), math.floor)", "_few_bits(bound, math.ceil)", "lower bounds are rounded up"
    ),
    of_prover("math.floor((lower - width) / grid)", "math.ceil(lower / grid)", "the interval is cut off below"),
    of_prover("math.ceil((upper + width) / grid)", "math.ceil(upper / grid)", "the interval has no slack above"),
    of_bounds(
        "wrong = margins[1] <= 0.0", "wrong = margins[1] < -np.inf", "a wrong argmax is only undecided", MEMORIZATION
    ),
    of_feature_rank("+ radius_norm(matrix))", ")", "the condition number leaves out the radius"),
    of_feature_rank("found.verdict is not Verdict.PROVED or ", "", "an undecided rank has a bound"),
    of_feature_rank(
        ' and condition <= stored["condition_upper"]', "", "the condition number is not compared", MEMORIZATION
    ),
    of_feature_rank(
        'if values and stored["smallest_singular_value_lower"] <= smallest and',
        "if values and",
        "the bound is not compared",
        MEMORIZATION,
    ),
    of_feature_rank(
        'if smallest_upper < stored["smallest_singular_value_lower"]:',
        "if False:",
        "no vector refutes a bound",
        MEMORIZATION,
    ),
    of_feature_rank(
        "gains.lower()[1]", "gains.upper()[0]", "a wrong vector refutes the condition number", MEMORIZATION
    ),
    of_prover(
        'if not stored["margin_lower"] <= float(answers.margin_lower[places].min()):',
        "if False:",
        "the margin is not compared",
    ),
    of_prover(
        "if float(answers.margin_upper[places].min()) < stored",
        "if float(answers.margin_lower[places].min()) < stored",
        "a margin is refuted by a lower bound",
    ),
    of_bounds(
        "gap = up(least_mode - largest_other)", "gap = least_mode - largest_other", "the margin is not rounded up"
    ),
    of_bounds(
        "np.where(modes, outputs.upper(), np.inf)", "np.where(modes, outputs.midpoint, np.inf)", "half of the radius"
    ),
    of_bounds(
        "np.where(modes, -np.inf, outputs.lower())", "np.where(modes, -np.inf, outputs.midpoint)", "the other half"
    ),
    of_bounds(".min(axis=1)\n    largest", ".max(axis=1)\n    largest", "one mode that wins is enough to escape"),
    of_prover(' and own["mean_upper"] <= stored["mean_upper"]', "", "the mean is not compared"),
    of_prover(' and own["max_upper"] <= stored["max_upper"]', "", "the largest divergence is not compared"),
    of_prover(
        "float(answers.loss_lower.max()) > stored",
        "float(answers.loss_upper.max()) > stored",
        "a divergence is refuted by an upper bound",
    ),
    of_bounds(
        "float(down(lower_sum(self.loss_lower) / len(self.loss_lower)))",
        "float(self.loss_lower.mean())",
        "the mean is rounded to nearest",
    ),
    of_prover('if stored["occurrences"] != _occurrences(task):', "if False:", "any number of occurrences"),
    of_prover('if stored["lower"] <= lower and upper', "if upper", "the lower end is not compared"),
    of_prover(' and upper <= stored["upper"]:', ":", "the upper end is not compared"),
    of_prover("total(empirical * weights, 0)", "total(empirical, 0)", "the mean is not weighted"),
    of_prover("max(0.0, float(mean.lower()))", "float(mean.lower())", "a mean below zero"),
    of_prover("float(mean.upper())", "float(mean.lower())", "the lower end for the upper one"),
    of_feature_rank(
        "if columns == features.shape[1] or isinstance(task, VectorTask):",
        "if True:",
        "the skip connection is left out",
        MEMORIZATION,
    ),
    of_prover("false = [i for i in named if wrong[i]]", "false = []", "a wrong argmax is not found"),
    # The independent checker.
    of_checker("if model.sha256 != subject.model:", "if False:", "the hash of the model is not compared", TAMPERING),
    of_checker("if task.sha256 != subject.task:", "if False:", "the hash of the task is not compared", TAMPERING),
    of_checker(
        "if sizes != dict(subject.sizes) or (task.target, task.origin) != (subject.target, subject.origin):",
        "if (task.target, task.origin) != (subject.target, subject.origin):",
        "sizes are free",
        TAMPERING,
    ),
    of_checker(" or (task.target, task.origin) != (subject.target, subject.origin)", "", "origins are free", TAMPERING),
    of_checker("    if not fits:", "    if False:", "any model fits any task", TAMPERING),
    of_checker(
        "answers |= zip(open_ones, judged(open_ones, bits), strict=True)",
        "answers |= zip(open_ones, judged(open_ones, BITS), strict=True)",
        "what is open gets no more bits",
    ),
    of_checker(
        "bits <= BITS else _divergences(self.evaluation, memorized",
        "True else _divergences(self.evaluation, memorized",
        "the memorized never do",
    ),
    of_checker("if most is None or rows > most:", "if most is None:", "more rows than the rank can be"),
    of_checker(
        "return columns if columns in (alone, alone + self.evaluation.model.d_model) else None",
        "return columns",
        "features of any columns",
    ),
    of_checker(" else columns  # Lemma Y6", " else 10**9", "a layer has features of any rank"),
    of_checker("*((bits, 2 * SMALL) for", "*((bits, SMALL) for", "features never get more digits"),
    of_checker(
        'if not self.evaluation.is_layer or stored["pairs"] != ', 'if stored["pairs"] != ', "any model is saturated"
    ),
    of_checker("    if named & wrong:", "    if False:", "a context that is not held may be named"),
    of_checker("    if named - held:", "    if False:", "a context that is not decided may be named"),
    of_checker('    if len(wrong) < stored["wrong"]:', "    if False:", "contexts that are not decided are wrong"),
    of_checker('if len(answers) - len(held) < stored["wrong"]:', "if False:", "contexts that are held are wrong"),
    of_checker("if any(gap < least for gap in gaps):", "if False:", "no margin is refuted"),
    of_checker("if not all(least <= gap for gap in gaps):", "if False:", "the margin is not compared"),
    of_checker("if not (mean <= most_mean and all(", "if not (all(", "the mean is not compared"),
    of_checker("if not (mean <= most_mean and all(each.loss <= most for each in answers)):", "if False:", "no loss is"),
    of_checker('if "guess_lower" in stored and not ball(', "if False and not (", "any guess"),
    of_checker(
        'follows = stored.get("smallest_singular_value_lower", Fraction(0)) <= smallest', "follows = True", "any"
    ),
    of_checker(' or condition <= stored["condition_upper"]):', " or True):", "the condition number is not compared"),
    of_checker("if share > limit)", "if not share <= limit)", "what may be saturated is"),
    of_checker("if share <= limit)", "if not share > limit)", "what may not be saturated is not"),
    of_checker('if stored["occurrences"] != occurrences:', "if False:", "any number of occurrences"),
    of_checker("total += sum(counts[i].values()) * divergence", "total += divergence", "the tail is not weighted"),
    of_checker("len(task.contexts) + order[place] for", "order[place] for", "workers judge what is memorized"),
    of_checker("arb(found[piece][1])) for", "arb(0)) for", "what workers say has no radius"),
    of_checker("if isinstance(result, WorkerError):", "if False:", "who dies twice leaves the check without an answer"),
    of_checker("if not total.is_finite():", "if False:", "what nobody knows is an error of the program"),
    of_checker(
        "return sum(counts.values()) * found.empirical", "return found.empirical", "the memorized are not weighted"
    ),
    of_answers("margin + arb(0, 2 * error)", "margin", "the margin leaves out the error"),
    of_answers("margin + arb(0, 2 * error)", "margin + arb(0, error)", "the margin has half of the error"),
    of_answers("right = self.margin is None or self.margin > 0", "right = not self.margin <= 0", "what may be, is"),
    of_answers("else right and self.loss <= tolerance", "else right", "a law is held by its mode"),
    of_answers(
        "else wrong or self.loss > tolerance", "else wrong or not self.loss <= tolerance", "what may be wrong is"
    ),
    of_answers("_largest(row)", "row[0]", "one output of several counts"),
    of_answers("return mean - sum((entropy", "return mean - 0 * sum((entropy", "the laws have no entropy"),
    of_evaluation(
        "radius = found.logit_error * unit", "radius = arb(0)", "integers are exact, although they were rounded"
    ),
    of_divergence("error + widest", "error", "wide balls are points"),
    of_divergence(
        "_least, [logits[place] for place in modes]", "_largest, [logits[p] for p in modes]", "one mode wins"
    ),
    of_divergence("return value + arb(0, 2 * self.error)", "return value", "the divergence leaves out the error"),
    of_divergence("return value + arb(0, 2 * self.error)", "return value + arb(0, self.error)", "half of the error"),
    of_divergence(" * arb(0, 2 * self.error).exp()", "", "the label's divergence leaves out the error"),
    of_divergence("* arb(0, 2 * self.error).exp()", "* arb(0, self.error).exp()", "half of the error"),
    of_divergence(
        "self.exponentials[label + 1 :], arb(0)",
        "self.exponentials[label:], arb(0)",
        "the label counts among the others",
    ),
    of_checker(
        "if lower <= at_least_zero(mean) and mean <= upper:", "if mean <= upper:", "the lower end is not compared"
    ),
    of_checker(
        "if lower <= at_least_zero(mean) and mean <= upper:",
        "if lower <= at_least_zero(mean):",
        "the upper end is not compared",
    ),
    Mutant(
        "verify/independent/ball_ends.py",
        "if (Fraction(nearest) - value) * direction >= 0 else",
        "if True else",
        CHECKER,
        "bounds are rounded to nearest",
    ),
    # Its reading.
    of_arrays('if typecode == "d" and not all(map(math.isfinite, values)):', "if False:", "NaN is a weight"),
    of_task("if len(set(contexts) | set(tail)) != len(contexts) + len(tail):", "if False:", "contexts may repeat"),
    of_arrays("if len(result) != len(pairs):", "if False:", "a tensor may come twice"),
    of_task("not all(x > 0 for x in laws.values)", "False", "a law may have a zero", TWO_READERS),
    of_arrays("if sorted(spans) != sorted(pairwise(ends)) or", "if", "tensors may overlap"),
    of_task("near = abs(math.fsum([*law, -1.0])) < 0.9e-9", "near = True", "laws of any sum", TWO_READERS),
    of_task('if origin != "most frequent" and (', 'if origin == "table" and (', "origins of any words", TWO_READERS),
    of_task("or any(len(row) != 1 for row in counts)", "", "a table has several next tokens", TWO_READERS),
    of_task(
        "law[token] = (2 * width * count + 1)", "law[token] = (2 * width * count)", "laws of other counts", TWO_READERS
    ),
    of_task("if set(arrays) != set(numeric):", "if False:", "more arrays than a task has", TWO_READERS),
    of_task('if stated != _FORMAT or type(stated["version"]) is not int:', "if False:", "any version", TWO_READERS),
    of_task('canonical_json({"task": kind, **words})', "canonical_json({**words})", "kinds share hashes", TWO_READERS),
    of_task("not all(count >= 1 for count in counts)", "False", "counts may be zero", TWO_READERS),
    of_arrays(
        "stop - start != array(typecode).itemsize * math.prod(shape) or ", "", "a tensor may be shorter than its shape"
    ),
    # Its forward pass.
    of_forward("return self.error * self.forward.unembedding_norm", "return 0", "the logits have no error"),
    of_forward("return self.error * self.forward.unembedding_norm", "return self.error", "the error is not carried"),
    of_forward("off = 2 * (length - 1) * delta", "off = 0", "attention has no error"),
    of_forward("features_error=2 + (off >> dropped)", "features_error=0", "the features have no error"),
    of_forward("self.pairs[i][0] >> top - self.pairs[i][1] for", "self.pairs[i][0] for", "exponents are ignored"),
    of_forward("shifted(m, exponent - top) for", "m for", "exponents are ignored where they are common"),
    of_forward("if total < least]", "if total < 1]", "a sum of few digits divides", INTEGERS),
    of_forward("row[head] = weight", "pass", "weights of their own are those of a sum of few digits", INTEGERS),
    of_forward("(columns[r] - columns[last])", "columns[r]", "the last row is read twice", INTEGERS),
    of_forward("n + ends[cells[i][-1]]", "n", "what the last row is read with is lost", INTEGERS),
    of_forward("repeat(1 << bits, n_heads)", "repeat(0, n_heads)", "features leave out the last row", INTEGERS),
    of_forward("[word - (1 << _WORD - 1) for", "[word for", "packed integers have no sign", INTEGERS),
    of_forward("self.words = bits // _WORD + 1", "self.words = -(-bits // _WORD)", "no room for the sign", INTEGERS),
    of_forward("n << _WORD | word", "n << _WORD", "only the first word counts", INTEGERS),
    of_forward("[n >> rest for n in result] if rest else result", "result", "part of the shift is lost", INTEGERS),
    of_forward("value_bits + dropped)", "dropped)", "features have another scale", INTEGERS),
    of_forward("- cut - below", "- cut", "the sum over the heads has another scale", INTEGERS),
    of_forward("ball.rel_accuracy_bits() >= bits", "True", "exponentials of any radius", INTEGERS),
    # Its models of any blocks, and their balls.
    of_model("number.hex() == value and 0 < number < math.inf", "0 < number < math.inf", "epsilon in any words"),
    of_model("type(value) is int and 1 <= value", "1 <= value", "True is a root"),
    of_model(
        'not known or set(options) - _BESIDE.get(options["kind"], set()) != _OPTIONS[options["kind"]]',
        "not known",
        "unknown options",
    ),
    of_balls("seen[: i + 1] if attends", "seen if attends", "a causal position reads what follows"),
    of_balls("query * (1 / root)", "query * root", "scores are multiplied by the root"),
    of_balls("u / 2 * (-u / arb(2).sqrt()).erfc()", "u / 2 * (u / arb(2).sqrt()).erfc()", "the other tail"),
    of_balls("shift = list(map(add, shift, moved)) if shift else moved", "shift = shift or moved", "shifts are lost"),
    of_balls("/ width + epsilon).rsqrt()", "/ width).rsqrt()", "no epsilon"),
    of_balls(
        "            rows = [list(map(add, row, self.shift)) for row in rows]\n", "            pass\n", "no shift"
    ),
    of_balls("[numbers[i] for i in left]", "[numbers[0] for i in left]", "another number is read near a zero"),
    of_lines("(k == 0 or self._right_of(k - 1, x))", "True", "a zero on the right is not seen"),
    of_lines("(k == len(self.neurons) or self._left_of(k, x))", "True", "a zero on the left is not seen"),
    of_lines("return value >= 0 if slope > 0 else value <= 0", "return value >= 0", "a falling neuron is on"),
    of_lines("return value <= 0 if slope > 0 else value >= 0", "return value <= 0", "a falling neuron is off"),
    of_lines("if w < 0 or (w == 0 and self.shifts[j] > 0)", "if w < 0", "constant neurons are off"),
    of_lines("(w == 0 and self.shifts[j] > 0)", "w == 0", "constant neurons are on below 0"),
    of_lines("key=lambda j: _zero(slopes[j], shifts[j])", "key=lambda j: slopes[j]", "zeros are not in their order"),
    of_lines("1 if self.slopes[j] > 0 else -1)", "1)", "neurons are never turned off"),
    of_lines("(n << read.scale + self.finer)", "(n << read.scale)", "a finer shift moves the constant"),
    of_lines("(b << self.scale - last.scale)", "b", "the shift has another scale"),
    of_lines("sign * self.slopes[j] << self.finer", "sign * self.slopes[j]", "a finer shift moves the slopes"),
    of_lines("            done = piece\n", "", "neurons are turned again and again"),
    of_lines(
        "return relu and block.reads == 1 and block.norm is None", "return relu and block.reads == 1", "a norm is lost"
    ),
    of_divergence("return lower if lower > 0 else arb(0)", "return lower", "a divergence may be below 0", DIVERGENCE),
    of_forward("list(map(add, rescaled(s, scale - sum_scale), skip[cell[-1]]))", "s", "no skip"),
    of_forward("d_model), scale - embedded.scale)", "d_model), 0)", "the skip connection has another scale"),
    of_forward("rescaled(s, scale - sum_scale)", "s", "the sum over the heads has another scale"),
    of_evaluation("ctx.workprec(_EXACT)", "ctx.workprec(64)", "logits are rounded", EVALUATION),
    of_evaluation("unit = arb((1, -found.logit_scale))", "unit = arb(1)", "logits have another scale", EVALUATION),
    # Its ranks.
    of_rank("(1 if start == first else 2) *", "1 *", "blocks above the diagonal have no norm", RANKS),
    of_rank("                row_sums[j] += sum(map(abs, column))\n", "                pass\n", "nor row sums", RANKS),
    of_rank("zip(squares[i], columns[j], strict=False)", "zip(squares[i][:1], columns[j])", "L has one column", RANKS),
    of_rank(
        "len(row) * max(max(row), -min(row))",
        "max(max(row), -min(row))",
        "the largest entry is the sum",
        RANKS,
    ),
    of_rank(
        "len(row) * max(max(row), -min(row))",
        "len(row) * max(row)",
        "negative entries do not count",
        RANKS,
    ),
    of_rank("int(shift - min(max(row_sums), math.isqrt(squares) + 1))", "int(shift)", "the factor may be any"),
    of_rank(" - math.isqrt(errors) - 1", "", "the features have no error"),
    of_rank(
        "if shift is None or factor is None or any(scaled.column_exponents):",
        "if shift is None or factor is None:",
        "columns may be stretched",
    ),
    of_rank(" + sum(map(mul, errors, images)), weight))", ", weight))", "the radius is left out"),
    of_rank(
        "dyadic(math.isqrt(squares) + math.isqrt(spread_squares) + 2, scale)",
        "dyadic(math.isqrt(squares) + 2, scale)",
        "the radius is left out of the Frobenius norm",
    ),
    of_rank("            row[i] -= 1 << scale\n", "", "the identity is not subtracted"),
    of_rank("spreads = [2 * sum(weights)] * size", "spreads = [0] * size", "midpoints are rounded for free"),
    of_rank(", weights)) + spread\n", ", weights))\n", "midpoints and radii are rounded for free"),
    of_rank("dyadic(max(map(add, defects, spreads)), scale)", "dyadic(max(defects), scale)", "the radius is ignored"),
    of_rank("if any(map(any, radii)):", "if False:", "the radius is ignored"),
    of_rank("if not residual < 1:", "if not residual < 2:", "any witness proves"),
    of_rank("norm * (math.isqrt(size - 1) + 1) * power", "norm * power", "the norm is not the spectral one"),
    of_rank("(1 - residual) / spectral", "1 / spectral", "the residual is ignored in the bound"),
    of_rank(
        "* power_of_two(max(exponents))\n    return NonsingularCheck",
        "\n    return NonsingularCheck",
        "rows are not scaled back",
    ),
    of_rank(
        "finite = all(all(map(math.isfinite, row)) for row in (*rows, *inverse, *radii))",
        "finite = True",
        "NaN is a number",
    ),
    of_rank("or not all(min(row) >= 0 for row in radii)", "", "radii may be negative"),
    of_rank(
        "dyadic(smallest, scale + max(scaled.row_exponents))", "dyadic(smallest, scale)", "rows are not scaled back"
    ),
    of_rank(" * power_of_two(max(scaled.row_exponents))\n", "\n", "rows are not scaled back"),
    of_rank("length << 2 * (r - least_row)", "length", "the rows of an inverse are not scaled back"),
    of_rank("frobenius * power_of_two(max(scaled.row_exponents) - least_row)", "frobenius", "the skew is left out"),
    of_rank(" * dyadic(math.isqrt(size << 2 * SMALL) + 1, SMALL)\n", "\n", "the maximum norm bounds the spectral one"),
    of_rank("Fraction(max(weights), min(weights)) * dyadic(", "dyadic(", "weights are not paid for"),
    of_rank("sum(map(mul, errors, images)), weight))", "sum(map(mul, errors, images)), 1))", "no weight divides"),
    of_rank(
        "Fraction(int(sum(map(mul, map(abs, row), weights))) + ",
        "Fraction(int(sum(map(abs, row))) + ",
        "no weight counts",
    ),
    of_rank(
        "images = [sum(map(mul, map(abs, entries), weights)) for",
        "images = [sum(map(abs, entries)) for",
        "errors unweighted",
    ),
    of_rank(" and min(weights) > 0 else None", " else None", "weights may be zero or negative"),
    of_rank("contraction = max(shares)", "contraction = min(shares)", "the best row speaks for all"),
    # The bounds of each context.
    of_bounds("right = margins[0] > 0.0", "right = margins[1] > 0.0", "what may be held is"),
    of_bounds("right = margins[0] > 0.0", "right = margins[0] >= 0.0", "a tie is held"),
    of_bounds("right & (losses[1] <= tolerance)", "right & (losses[0] <= tolerance)", "a loss that may be small is"),
    of_bounds(
        'return right if target == "labels" else right & (losses[1] <= tolerance)',
        "return right",
        "a law is held by its mode",
    ),
    of_bounds("wrong = margins[1] <= 0.0", "wrong = margins[0] <= 0.0", "what may be wrong is"),
    of_bounds("wrong = margins[1] <= 0.0", "wrong = margins[1] < 0.0", "a proved tie is not wrong"),
    of_bounds("wrong | (losses[0] > tolerance)", "wrong | (losses[1] > tolerance)", "a loss that may be large is"),
    of_bounds(
        'return wrong if target == "labels" else wrong | (losses[0] > tolerance)',
        "return wrong",
        "no loss is too large",
    ),
    of_bounds("return _held((self", "return _wrong((self", "held is wrong"),
    of_bounds("return _wrong((self", "return _held((self", "wrong is held"),
    of_bounds("is_open[contexts[decided]] = False", "is_open[contexts] = False", "what is open is not looked at again"),
    of_bounds("is_open[contexts[decided]] = False", "pass", "what is decided is looked at again"),
    of_bounds(" | _wrong(*parts, task.target, criterion.tolerance)", "", "what is wrong is looked at again"),
    of_bounds(
        "precisions[contexts] = precision",
        'precisions[contexts] = "float64"',
        "the last word is said to be that of float64",
    ),
    of_bounds(
        "if keep_outputs and precision in _SHORT:",
        "if keep_outputs:",
        "outputs less their largest are returned",
    ),
    of_bounds(
        "margins[0, rows], margins[1, rows] = argmax",
        "margins[1, rows], margins[0, rows] = argmax",
        "the ends of a margin change places",
    ),
    of_bounds("distance.upper().max(axis=1)", "distance.lower().max(axis=1)", "the distance is its lower end"),
    of_bounds(
        "np.maximum(0.0, distance.lower().max(axis=1))",
        "distance.upper().max(axis=1)",
        "the lower end of a distance is its upper one",
    ),
    of_bounds(
        "np.maximum(0.0, exact.lower()), exact.upper()])",
        "np.maximum(0.0, exact.lower()), exact.lower()])",
        "the lower end of the divergence of a label is its bound",
    ),
]
