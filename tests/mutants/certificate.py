"""Mutants of certificates and of their two checkers: a hash not compared, a bound turned around, an error dropped."""

from tests.mutants import of

certificate = of("verify/certificates/certificate.py", "tests/verify/certificates/test_certificate.py")
certificate_by_memorization = of("verify/certificates/certificate.py", "tests/verify/provers/test_memorization.py")
feature_rank_by_memorization = of("verify/provers/feature_rank.py", "tests/verify/provers/test_memorization.py")
memorization = of("verify/provers/memorization.py", "tests/verify/provers/test_memorization.py")
answers = of("verify/provers/answer_bounds.py", "tests/verify/provers/test_answer_bounds.py")
loading = of("verify/certificates/loading.py", "tests/falsify/test_tampering.py")
loading_by_memorization = of("verify/certificates/loading.py", "tests/verify/provers/test_memorization.py")
exact_json = of("verify/arithmetic/exact_json.py", "tests/verify/arithmetic/test_exact_json.py")
answers_by_memorization = of("verify/provers/answer_bounds.py", "tests/verify/provers/test_memorization.py")
feature_rank = of("verify/provers/feature_rank.py", "tests/verify/provers/test_feature_rank.py")
checker_by_tampering = of("verify/independent/checker.py", "tests/falsify/test_tampering.py")
checker = of("verify/independent/checker.py", "tests/verify/independent/test_checker.py")
ball_answers = of("verify/independent/ball_answers.py", "tests/verify/independent/test_checker.py")
evaluation_by_checker = of("verify/independent/evaluation.py", "tests/verify/independent/test_checker.py")
ball_divergence_by_checker = of("verify/independent/ball_divergence.py", "tests/verify/independent/test_checker.py")
ball_ends = of("verify/independent/ball_ends.py", "tests/verify/independent/test_checker.py")
plain_arrays = of("verify/independent/plain/plain_arrays.py", "tests/verify/independent/test_checker.py")
plain_task = of("verify/independent/plain/plain_task.py", "tests/verify/independent/test_checker.py")
plain_task_by_two_readers = of("verify/independent/plain/plain_task.py", "tests/falsify/test_two_readers.py")
integer_forward_by_checker = of("verify/independent/integer_forward.py", "tests/verify/independent/test_checker.py")
integer_forward = of("verify/independent/integer_forward.py", "tests/verify/independent/test_integer_forward.py")
plain_model = of("verify/independent/plain/plain_model.py", "tests/falsify/test_two_readers.py")
ball_forward = of("verify/independent/ball_forward.py", "tests/verify/independent/test_ball_forward.py")
piecewise_linear = of("verify/independent/piecewise_linear.py", "tests/verify/independent/test_piecewise_linear.py")
ball_divergence = of("verify/independent/ball_divergence.py", "tests/verify/independent/test_ball_divergence.py")
evaluation = of("verify/independent/evaluation.py", "tests/verify/independent/test_evaluation.py")
integer_rank = of("verify/independent/integer_rank.py", "tests/verify/independent/test_integer_rank.py")
integer_rank_by_checker = of("verify/independent/integer_rank.py", "tests/verify/independent/test_checker.py")
divergence = of("verify/provers/divergence.py", "tests/verify/provers/test_divergence.py")
brackets = of("verify/provers/brackets.py", "tests/verify/provers/test_brackets.py")
rank = of("verify/provers/rank_heads.py", "tests/verify/provers/test_rank_heads.py")
rank_of_weights = of("verify/capacity/rank_of_weights.py", "tests/verify/capacity/test_rank_of_weights.py")
rank_of_weights_by_another = of(
    "verify/capacity/rank_of_weights.py", "tests/verify/independent/test_ball_rank_bounds.py"
)
ball_rank_bounds = of("verify/independent/ball_rank_bounds.py", "tests/verify/independent/test_ball_rank_bounds.py")
checker_by_rank = of("verify/independent/checker.py", "tests/verify/provers/test_rank_heads.py")
checker_by_divergence = of("verify/independent/checker.py", "tests/verify/provers/test_divergence.py")
stated_answers = of("verify/provers/answers.py", "tests/verify/provers/test_memorization.py")
text_divergence = of("verify/provers/text_divergence.py", "tests/verify/provers/test_memorization.py")

MUTANTS = [
    # Ranks and divergences from both sides.
    divergence("float(lower.max()), float(upper.max())", "float(lower.max()), float(lower.max())", "largest too small"),
    divergence("counts = task.counts.totals()", "counts = 1 + task.counts.totals()", "contexts have other weights"),
    divergence('if statement.values["occurrences"] != occurrences:', "if False:", "the occurrences are not compared"),
    brackets('if stored["lower"] > upper:', "if False:", "a rank that is too large is only undecided"),
    brackets(
        'min(stored["upper"], stored["all_weights_upper"]) < lower',
        "False",
        "a rank that is exceeded is only undecided",
    ),
    brackets(' and all_weights <= stored["all_weights_upper"]', "", "the bound for all weights is not compared"),
    brackets('if stored["lower"] <= lower and upper', "if upper", "the rank is not compared from below"),
    brackets(" and upper <= stored[f", " and 0 <= stored[f", "a divergence is not compared from above"),
    rank('if statement.values["columns"] != columns:', "if False:", "the rank may be that of another matrix"),
    rank_of_weights("- max(differences)", "- 2 * max(differences)", "the bound from above leaves out a head"),
    rank_of_weights(
        "if with_skip:\n        bounds.append(skipped + sum(differences))",
        "if with_skip:\n        bounds.append(sum(differences))",
        "the last tokens are left out",
    ),
    rank_of_weights_by_another(
        "return (rows * through).rank()",
        "return rows.rank()",
        "the values are taken for the rows that they are made of",
    ),
    ball_rank_bounds("determinant != 0", "True", "a determinant may be 0"),
    ball_rank_bounds("if rank > min(rows, columns, LARGEST", "if rank > min(LARGEST", "more than the smaller side"),
    ball_rank_bounds("- max(apart_of)", "- 2 * max(apart_of)", "the second bound from above leaves out a head"),
    ball_rank_bounds("_formal_rank(vectors) - 1", "_formal_rank(vectors) - 2", "the relations are counted twice"),
    checker_by_rank(
        'if stored["columns"] != columns:\n            return StatementCheck(id',
        "if False:\n            return StatementCheck(id",
        "the rank may be that of another matrix",
    ),
    checker_by_rank("*([least + 1] if least < upper else [])", "*[]", "a rank that is exceeded is only undecided"),
    checker_by_rank(
        'if full.values["columns"] <= columns:',
        "if True:",
        "the heads alone are said to have the rank with skip connection",
    ),
    checker_by_divergence("sum(map(mul, losses, weights), arb(0))", "sum(losses, arb(0))", "contexts have no weights"),
    checker_by_divergence(
        'if statement.values["occurrences"] != sum(occurrences):', "if False:", "the occurrences are not compared"
    ),
    # The record and its file.
    certificate("group_of(id, certificate.kinds) == 0] != [first]:", "False] != []:", "a certificate answers nothing"),
    certificate("        require_order(stated, certificate.kinds)\n", "", "a statement may come twice"),
    certificate("    except BadInputError as error:\n", "    except KeyError as error:\n", "what is impossible"),
    certificate('if data["digest"] != digest:', "if False:", "the digest is not compared"),
    certificate("if certificate.to_json() != text:", "if False:", "another text of the same data is accepted"),
    certificate("if file_sha256(witness) != certificate.witness.sha256:", "if False:", "the witness may be any file"),
    certificate_by_memorization(
        "for statement in self.statements if statement.id == id), None)",
        "for statement in self.statements), None)",
        "a missing statement is replaced by another",
    ),
    feature_rank_by_memorization(
        "    if columns not in widths:", "    if False:", "the rank may be that of another matrix"
    ),
    stated_answers(
        "float(answers.margin_lower[held].min())",
        "float(answers.margin_lower[held].max())",
        "the margin of some contexts is the largest of theirs",
    ),
    stated_answers(
        'if float(answers.margin_upper[places].min()) < stored["margin_lower"]:',
        "if False:",
        "any margin refutes nothing",
    ),
    answers(
        "np.minimum(above, exact.upper())",
        "np.minimum(above, exact.lower())",
        "the lower end of a divergence is its bound",
    ),
    certificate(
        "*(check.verdict for check in self.checks)]",
        "*(check.verdict for check in self.checks[:1])]",
        "one of the checks decides",
    ),
    certificate("if self.file != WITNESS_FILE:", "if False:", "the witness may be any file of the system"),
    # The prover, and its check.
    loading("if found.model != named.model:", "if False:", "the hash of the model is not compared"),
    loading("if found.task != named.task:", "if False:", "the hash of the task is not compared"),
    loading_by_memorization("    if found != named:", "    if False:", "the sizes are not compared"),
    loading_by_memorization(
        "    except MemoryError as error:", "    except ZeroDivisionError as error:", "a huge array is a crash"
    ),
    exact_json("_few_bits(bound * (1.0 + slack), math.ceil)", "_few_bits(bound, math.ceil)", "no slack above"),
    exact_json("_few_bits(bound * (1.0 - slack), math.floor)", "_few_bits(bound, math.floor)", "no slack below"),
    exact_json(
        "_few_bits(bound * (1.0 + slack), math.ceil)", "_few_bits(bound, math.floor)", "upper bounds are rounded down"
    ),
    exact_json(
        "_few_bits(bound * (1.0 - slack), math.floor)", "_few_bits(bound, math.ceil)", "lower bounds are rounded up"
    ),
    divergence("math.floor((lower - width) / grid)", "math.ceil(lower / grid)", "the interval is cut off below"),
    divergence("math.ceil((upper + width) / grid)", "math.ceil(upper / grid)", "the interval has no slack above"),
    answers_by_memorization(
        "wrong = margins[1] <= 0.0", "wrong = margins[1] < -np.inf", "a wrong argmax is only undecided"
    ),
    feature_rank("+ radius_norm(matrix))", ")", "the condition number leaves out the radius"),
    feature_rank("found.verdict is not Verdict.PROVED or ", "", "an undecided rank has a bound"),
    feature_rank_by_memorization(
        ' and condition <= stored["condition_upper"]', "", "the condition number is not compared"
    ),
    feature_rank_by_memorization(
        'if values and stored["smallest_singular_value_lower"] <= smallest and',
        "if values and",
        "the bound is not compared",
    ),
    feature_rank_by_memorization(
        'if smallest_upper < stored["smallest_singular_value_lower"]:', "if False:", "no vector refutes a bound"
    ),
    feature_rank_by_memorization("gains.lower()[1]", "gains.upper()[0]", "a wrong vector refutes the condition number"),
    stated_answers(
        'if not stored["margin_lower"] <= float(answers.margin_lower[places].min()):',
        "if False:",
        "the margin is not compared",
    ),
    stated_answers(
        "if float(answers.margin_upper[places].min()) < stored",
        "if float(answers.margin_lower[places].min()) < stored",
        "a margin is refuted by a lower bound",
    ),
    answers("gap = up(least_mode - largest_other)", "gap = least_mode - largest_other", "the margin is not rounded up"),
    answers(
        "np.where(modes, outputs.upper(), np.inf)", "np.where(modes, outputs.midpoint, np.inf)", "half of the radius"
    ),
    answers(
        "np.where(modes, -np.inf, outputs.lower())", "np.where(modes, -np.inf, outputs.midpoint)", "the other half"
    ),
    answers(".min(axis=1)\n    largest", ".max(axis=1)\n    largest", "one mode that wins is enough to escape"),
    stated_answers(' and own["mean_upper"] <= stored["mean_upper"]', "", "the mean is not compared"),
    stated_answers(' and own["max_upper"] <= stored["max_upper"]', "", "the largest divergence is not compared"),
    stated_answers(
        "float(answers.loss_lower.max()) > stored",
        "float(answers.loss_upper.max()) > stored",
        "a divergence is refuted by an upper bound",
    ),
    answers(
        "float(down(lower_sum(self.loss_lower) / len(self.loss_lower)))",
        "float(self.loss_lower.mean())",
        "the mean is rounded to nearest",
    ),
    text_divergence('if stored["occurrences"] != _occurrences(facts):', "if False:", "any number of occurrences"),
    text_divergence('if stored["lower"] <= lower and upper', "if upper", "the lower end is not compared"),
    text_divergence(' and upper <= stored["upper"]:', ":", "the upper end is not compared"),
    text_divergence("total(empirical * weights, 0)", "total(empirical, 0)", "the mean is not weighted"),
    text_divergence("max(0.0, float(mean.lower()))", "float(mean.lower())", "a mean below zero"),
    text_divergence("float(mean.upper())", "float(mean.lower())", "the lower end for the upper one"),
    feature_rank_by_memorization(
        "if columns == features.shape[1] or not model.reads_tokens:",
        "if True:",
        "the skip connection is left out",
    ),
    stated_answers("false = [i for i in named if wrong[i]]", "false = []", "a wrong argmax is not found"),
    # The independent checker.
    checker_by_tampering("if model.sha256 != subject.model:", "if False:", "the hash of the model is not compared"),
    checker_by_tampering("if task.sha256 != subject.task:", "if False:", "the hash of the task is not compared"),
    checker_by_tampering(
        "if sizes != dict(subject.sizes) or (task.target, task.origin) != (subject.target, subject.origin):",
        "if (task.target, task.origin) != (subject.target, subject.origin):",
        "sizes are free",
    ),
    checker_by_tampering(" or (task.target, task.origin) != (subject.target, subject.origin)", "", "origins are free"),
    checker_by_tampering("    if not fits:", "    if False:", "any model fits any task"),
    checker(
        "answers |= zip(open_ones, judged(open_ones, bits), strict=True)",
        "answers |= zip(open_ones, judged(open_ones, BITS), strict=True)",
        "what is open gets no more bits",
    ),
    checker(
        "bits <= BITS else _divergences(self.evaluation, memorized",
        "True else _divergences(self.evaluation, memorized",
        "the memorized never do",
    ),
    checker("if most is None or rows > most:", "if most is None:", "more rows than the rank can be"),
    checker(
        "return columns if columns in (alone, alone + self.evaluation.model.d_model) else None",
        "return columns",
        "features of any columns",
    ),
    checker(" else columns  # Lemma Y1", " else 10**9", "a layer has features of any rank"),
    checker("*((bits, 2 * SMALL) for", "*((bits, SMALL) for", "features never get more digits"),
    checker(
        'if not self.evaluation.is_layer or stored["pairs"] != ', 'if stored["pairs"] != ', "any model is saturated"
    ),
    checker("    if named & wrong:", "    if False:", "a context that is not held may be named"),
    checker("    if named - held:", "    if False:", "a context that is not decided may be named"),
    checker('    if len(wrong) < stored["wrong"]:', "    if False:", "contexts that are not decided are wrong"),
    checker('if len(answers) - len(held) < stored["wrong"]:', "if False:", "contexts that are held are wrong"),
    checker("if any(gap < least for gap in gaps):", "if False:", "no margin is refuted"),
    checker("if not all(least <= gap for gap in gaps):", "if False:", "the margin is not compared"),
    checker("if not (mean <= most_mean and all(", "if not (all(", "the mean is not compared"),
    checker("if not (mean <= most_mean and all(each.loss <= most for each in answers)):", "if False:", "no loss is"),
    checker('if "guess_lower" in stored and not ball(', "if False and not (", "any guess"),
    checker('follows = stored.get("smallest_singular_value_lower", Fraction(0)) <= smallest', "follows = True", "any"),
    checker(' or condition <= stored["condition_upper"]):', " or True):", "the condition number is not compared"),
    checker("if share > limit)", "if not share <= limit)", "what may be saturated is"),
    checker("if share <= limit)", "if not share > limit)", "what may not be saturated is not"),
    checker('if stored["occurrences"] != occurrences:', "if False:", "any number of occurrences"),
    checker("total += sum(counts[i].values()) * divergence", "total += divergence", "the tail is not weighted"),
    checker("len(task.contexts) + order[place] for", "order[place] for", "workers judge what is memorized"),
    checker("arb(found[piece][1])) for", "arb(0)) for", "what workers say has no radius"),
    checker("if isinstance(result, WorkerError):", "if False:", "who dies twice leaves the check without an answer"),
    checker("if not total.is_finite():", "if False:", "what nobody knows is an error of the program"),
    checker(
        "return sum(counts.values()) * found.empirical", "return found.empirical", "the memorized are not weighted"
    ),
    ball_answers("margin + arb(0, 2 * error)", "margin", "the margin leaves out the error"),
    ball_answers("margin + arb(0, 2 * error)", "margin + arb(0, error)", "the margin has half of the error"),
    ball_answers("right = self.margin is None or self.margin > 0", "right = not self.margin <= 0", "what may be, is"),
    ball_answers("else right and self.loss <= tolerance", "else right", "a law is held by its mode"),
    ball_answers(
        "else wrong or self.loss > tolerance", "else wrong or not self.loss <= tolerance", "what may be wrong is"
    ),
    ball_answers("_largest(row)", "row[0]", "one output of several counts"),
    ball_answers("return mean - sum((entropy", "return mean - 0 * sum((entropy", "the laws have no entropy"),
    evaluation_by_checker(
        "radius = found.logit_error * unit", "radius = arb(0)", "integers are exact, although they were rounded"
    ),
    ball_divergence_by_checker("error + widest", "error", "wide balls are points"),
    ball_divergence_by_checker(
        "_least, [logits[place] for place in modes]", "_largest, [logits[p] for p in modes]", "one mode wins"
    ),
    ball_divergence_by_checker(
        "return value + arb(0, 2 * self.error)", "return value", "the divergence leaves out the error"
    ),
    ball_divergence_by_checker(
        "return value + arb(0, 2 * self.error)", "return value + arb(0, self.error)", "half of the error"
    ),
    ball_divergence_by_checker(" * arb(0, 2 * self.error).exp()", "", "the label's divergence leaves out the error"),
    ball_divergence_by_checker("* arb(0, 2 * self.error).exp()", "* arb(0, self.error).exp()", "half of the error"),
    ball_divergence_by_checker(
        "self.exponentials[label + 1 :], arb(0)",
        "self.exponentials[label:], arb(0)",
        "the label counts among the others",
    ),
    checker("if lower <= at_least_zero(mean) and mean <= upper:", "if mean <= upper:", "the lower end is not compared"),
    checker(
        "if lower <= at_least_zero(mean) and mean <= upper:",
        "if lower <= at_least_zero(mean):",
        "the upper end is not compared",
    ),
    ball_ends("if (Fraction(nearest) - value) * direction >= 0 else", "if True else", "bounds are rounded to nearest"),
    # Its reading.
    plain_arrays('if typecode == "d" and not all(map(math.isfinite, values)):', "if False:", "NaN is a weight"),
    plain_task("if len(set(contexts) | set(tail)) != len(contexts) + len(tail):", "if False:", "contexts may repeat"),
    plain_arrays("if len(result) != len(pairs):", "if False:", "a tensor may come twice"),
    plain_task_by_two_readers("not all(x > 0 for x in laws.values)", "False", "a law may have a zero"),
    plain_arrays("if sorted(spans) != sorted(pairwise(ends)) or", "if", "tensors may overlap"),
    plain_task_by_two_readers("near = abs(math.fsum([*law, -1.0])) < 0.9e-9", "near = True", "laws of any sum"),
    plain_task_by_two_readers(
        'if origin != "most frequent" and (', 'if origin == "table" and (', "origins of any words"
    ),
    plain_task_by_two_readers("or any(len(row) != 1 for row in counts)", "", "a table has several next tokens"),
    plain_task_by_two_readers(
        "law[token] = (2 * width * count + 1)", "law[token] = (2 * width * count)", "laws of other counts"
    ),
    plain_task_by_two_readers("if set(arrays) != set(numeric):", "if False:", "more arrays than a task has"),
    plain_task_by_two_readers(
        'if stated != _FORMAT or type(stated["version"]) is not int:', "if False:", "any version"
    ),
    plain_task_by_two_readers(
        'canonical_json({"task": kind, **words})', "canonical_json({**words})", "kinds share hashes"
    ),
    plain_task_by_two_readers("not all(count >= 1 for count in counts)", "False", "counts may be zero"),
    plain_arrays(
        "stop - start != array(typecode).itemsize * math.prod(shape) or ", "", "a tensor may be shorter than its shape"
    ),
    # Its forward pass.
    integer_forward_by_checker(
        "return self.error * self.forward.unembedding_norm", "return 0", "the logits have no error"
    ),
    integer_forward_by_checker(
        "return self.error * self.forward.unembedding_norm", "return self.error", "the error is not carried"
    ),
    integer_forward_by_checker("off = 2 * (length - 1) * delta", "off = 0", "attention has no error"),
    integer_forward_by_checker("features_error=2 + (off >> dropped)", "features_error=0", "the features have no error"),
    integer_forward_by_checker(
        "self.pairs[i][0] >> top - self.pairs[i][1] for", "self.pairs[i][0] for", "exponents are ignored"
    ),
    integer_forward_by_checker(
        "shifted(m, exponent - top) for", "m for", "exponents are ignored where they are common"
    ),
    integer_forward("if total < least]", "if total < 1]", "a sum of few digits divides"),
    integer_forward("row[head] = weight", "pass", "weights of their own are those of a sum of few digits"),
    integer_forward("(columns[r] - columns[last])", "columns[r]", "the last row is read twice"),
    integer_forward("n + ends[cells[i][-1]]", "n", "what the last row is read with is lost"),
    integer_forward("repeat(1 << bits, n_heads)", "repeat(0, n_heads)", "features leave out the last row"),
    integer_forward("[word - (1 << _WORD - 1) for", "[word for", "packed integers have no sign"),
    integer_forward("self.words = bits // _WORD + 1", "self.words = -(-bits // _WORD)", "no room for the sign"),
    integer_forward("n << _WORD | word", "n << _WORD", "only the first word counts"),
    integer_forward("[n >> rest for n in result] if rest else result", "result", "part of the shift is lost"),
    integer_forward("value_bits + dropped)", "dropped)", "features have another scale"),
    integer_forward("- cut - below", "- cut", "the sum over the heads has another scale"),
    integer_forward("ball.rel_accuracy_bits() >= bits", "True", "exponentials of any radius"),
    # Its models of any blocks, and their balls.
    plain_model("number.hex() == value and 0 < number < math.inf", "0 < number < math.inf", "epsilon in any words"),
    plain_model("type(value) is int and 1 <= value", "1 <= value", "True is a root"),
    plain_model(
        'not known or set(options) - _BESIDE.get(options["kind"], set()) != _OPTIONS[options["kind"]]',
        "not known",
        "unknown options",
    ),
    ball_forward("seen[: i + 1] if attends", "seen if attends", "a causal position reads what follows"),
    ball_forward("query * (1 / root)", "query * root", "scores are multiplied by the root"),
    ball_forward("u / 2 * (-u / arb(2).sqrt()).erfc()", "u / 2 * (u / arb(2).sqrt()).erfc()", "the other tail"),
    ball_forward(
        "shift = list(map(add, shift, moved)) if shift else moved", "shift = shift or moved", "shifts are lost"
    ),
    ball_forward("/ width + epsilon).rsqrt()", "/ width).rsqrt()", "no epsilon"),
    ball_forward(
        "            rows = [list(map(add, row, self.shift)) for row in rows]\n", "            pass\n", "no shift"
    ),
    ball_forward("[numbers[i] for i in left]", "[numbers[0] for i in left]", "another number is read near a zero"),
    piecewise_linear("(k == 0 or self._right_of(k - 1, x))", "True", "a zero on the right is not seen"),
    piecewise_linear("(k == len(self.neurons) or self._left_of(k, x))", "True", "a zero on the left is not seen"),
    piecewise_linear("return value >= 0 if slope > 0 else value <= 0", "return value >= 0", "a falling neuron is on"),
    piecewise_linear("return value <= 0 if slope > 0 else value >= 0", "return value <= 0", "a falling neuron is off"),
    piecewise_linear("if w < 0 or (w == 0 and self.shifts[j] > 0)", "if w < 0", "constant neurons are off"),
    piecewise_linear("(w == 0 and self.shifts[j] > 0)", "w == 0", "constant neurons are on below 0"),
    piecewise_linear(
        "key=lambda j: _zero(slopes[j], shifts[j])", "key=lambda j: slopes[j]", "zeros are not in their order"
    ),
    piecewise_linear("1 if self.slopes[j] > 0 else -1)", "1)", "neurons are never turned off"),
    piecewise_linear("(n << read.scale + self.finer)", "(n << read.scale)", "a finer shift moves the constant"),
    piecewise_linear("(b << self.scale - last.scale)", "b", "the shift has another scale"),
    piecewise_linear("sign * self.slopes[j] << self.finer", "sign * self.slopes[j]", "a finer shift moves the slopes"),
    piecewise_linear("            done = piece\n", "", "neurons are turned again and again"),
    piecewise_linear(
        "return relu and block.reads == 1 and block.norm is None", "return relu and block.reads == 1", "a norm is lost"
    ),
    ball_divergence("return lower if lower > 0 else arb(0)", "return lower", "a divergence may be below 0"),
    integer_forward_by_checker("list(map(add, rescaled(s, scale - sum_scale), skip[cell[-1]]))", "s", "no skip"),
    integer_forward_by_checker(
        "d_model), scale - embedded.scale)", "d_model), 0)", "the skip connection has another scale"
    ),
    integer_forward_by_checker("rescaled(s, scale - sum_scale)", "s", "the sum over the heads has another scale"),
    evaluation("ctx.workprec(_EXACT)", "ctx.workprec(64)", "logits are rounded"),
    evaluation("unit = arb((1, -found.logit_scale))", "unit = arb(1)", "logits have another scale"),
    # Its ranks.
    integer_rank("(1 if start == first else 2) *", "1 *", "blocks above the diagonal have no norm"),
    integer_rank("                row_sums[j] += sum(map(abs, column))\n", "                pass\n", "nor row sums"),
    integer_rank("zip(squares[i], columns[j], strict=False)", "zip(squares[i][:1], columns[j])", "L has one column"),
    integer_rank("len(row) * max(max(row), -min(row))", "max(max(row), -min(row))", "the largest entry is the sum"),
    integer_rank("len(row) * max(max(row), -min(row))", "len(row) * max(row)", "negative entries do not count"),
    integer_rank_by_checker(
        "int(shift - min(max(row_sums), math.isqrt(squares) + 1))", "int(shift)", "the factor may be any"
    ),
    integer_rank_by_checker(" - math.isqrt(errors) - 1", "", "the features have no error"),
    integer_rank_by_checker(
        "if shift is None or factor is None or any(scaled.column_exponents):",
        "if shift is None or factor is None:",
        "columns may be stretched",
    ),
    integer_rank_by_checker(" + sum(map(mul, errors, images)), weight))", ", weight))", "the radius is left out"),
    integer_rank_by_checker(
        "dyadic(math.isqrt(squares) + math.isqrt(spread_squares) + 2, scale)",
        "dyadic(math.isqrt(squares) + 2, scale)",
        "the radius is left out of the Frobenius norm",
    ),
    integer_rank_by_checker("            row[i] -= 1 << scale\n", "", "the identity is not subtracted"),
    integer_rank_by_checker(
        "spreads = [2 * sum(weights)] * size", "spreads = [0] * size", "midpoints are rounded for free"
    ),
    integer_rank_by_checker(", weights)) + spread\n", ", weights))\n", "midpoints and radii are rounded for free"),
    integer_rank_by_checker(
        "dyadic(max(map(add, defects, spreads)), scale)", "dyadic(max(defects), scale)", "the radius is ignored"
    ),
    integer_rank_by_checker("if any(map(any, radii)):", "if False:", "the radius is ignored"),
    integer_rank_by_checker("if not residual < 1:", "if not residual < 2:", "any witness proves"),
    integer_rank_by_checker(
        "norm * (math.isqrt(size - 1) + 1) * power", "norm * power", "the norm is not the spectral one"
    ),
    integer_rank_by_checker("(1 - residual) / spectral", "1 / spectral", "the residual is ignored in the bound"),
    integer_rank_by_checker(
        "* power_of_two(max(exponents))\n    return NonsingularCheck",
        "\n    return NonsingularCheck",
        "rows are not scaled back",
    ),
    integer_rank_by_checker(
        "finite = all(all(map(math.isfinite, row)) for row in (*rows, *inverse, *radii))",
        "finite = True",
        "NaN is a number",
    ),
    integer_rank_by_checker("or not all(min(row) >= 0 for row in radii)", "", "radii may be negative"),
    integer_rank_by_checker(
        "dyadic(smallest, scale + max(scaled.row_exponents))", "dyadic(smallest, scale)", "rows are not scaled back"
    ),
    integer_rank_by_checker(" * power_of_two(max(scaled.row_exponents))\n", "\n", "rows are not scaled back"),
    integer_rank_by_checker("length << 2 * (r - least_row)", "length", "the rows of an inverse are not scaled back"),
    integer_rank_by_checker(
        "frobenius * power_of_two(max(scaled.row_exponents) - least_row)", "frobenius", "the skew is left out"
    ),
    integer_rank_by_checker(
        " * dyadic(math.isqrt(size << 2 * SMALL) + 1, SMALL)\n", "\n", "the maximum norm bounds the spectral one"
    ),
    integer_rank_by_checker("Fraction(max(weights), min(weights)) * dyadic(", "dyadic(", "weights are not paid for"),
    integer_rank_by_checker(
        "sum(map(mul, errors, images)), weight))", "sum(map(mul, errors, images)), 1))", "no weight divides"
    ),
    integer_rank_by_checker(
        "Fraction(int(sum(map(mul, map(abs, row), weights))) + ",
        "Fraction(int(sum(map(abs, row))) + ",
        "no weight counts",
    ),
    integer_rank_by_checker(
        "images = [sum(map(mul, map(abs, entries), weights)) for",
        "images = [sum(map(abs, entries)) for",
        "errors unweighted",
    ),
    integer_rank_by_checker(" and min(weights) > 0 else None", " else None", "weights may be zero or negative"),
    integer_rank_by_checker("contraction = max(shares)", "contraction = min(shares)", "the best row speaks for all"),
    # The bounds of each context.
    answers("right = margins[0] > 0.0", "right = margins[1] > 0.0", "what may be held is"),
    answers("right = margins[0] > 0.0", "right = margins[0] >= 0.0", "a tie is held"),
    answers("right & (losses[1] <= tolerance)", "right & (losses[0] <= tolerance)", "a loss that may be small is"),
    answers(
        'return right if target == "labels" else right & (losses[1] <= tolerance)',
        "return right",
        "a law is held by its mode",
    ),
    answers("wrong = margins[1] <= 0.0", "wrong = margins[0] <= 0.0", "what may be wrong is"),
    answers("wrong = margins[1] <= 0.0", "wrong = margins[1] < 0.0", "a proved tie is not wrong"),
    answers("wrong | (losses[0] > tolerance)", "wrong | (losses[1] > tolerance)", "a loss that may be large is"),
    answers(
        'return wrong if target == "labels" else wrong | (losses[0] > tolerance)',
        "return wrong",
        "no loss is too large",
    ),
    answers("return _held((self", "return _wrong((self", "held is wrong"),
    answers("return _wrong((self", "return _held((self", "wrong is held"),
    answers("is_open[contexts[decided]] = False", "is_open[contexts] = False", "what is open is not looked at again"),
    answers("is_open[contexts[decided]] = False", "pass", "what is decided is looked at again"),
    answers(" | _wrong(*parts, task.target, criterion.tolerance)", "", "what is wrong is looked at again"),
    answers(
        "precisions[contexts] = precision",
        'precisions[contexts] = "float64"',
        "the last word is said to be that of float64",
    ),
    answers(
        "if self.keep_outputs and precision in _SHORT:",
        "if self.keep_outputs:",
        "outputs less their largest are returned",
    ),
    answers(
        "self.margins[0, rows], self.margins[1, rows] = argmax",
        "self.margins[1, rows], self.margins[0, rows] = argmax",
        "the ends of a margin change places",
    ),
    answers("distance.upper().max(axis=1)", "distance.lower().max(axis=1)", "the distance is its lower end"),
    answers(
        "np.maximum(0.0, distance.lower().max(axis=1))",
        "distance.upper().max(axis=1)",
        "the lower end of a distance is its upper one",
    ),
    answers(
        "np.maximum(0.0, exact.lower()), exact.upper()])",
        "np.maximum(0.0, exact.lower()), exact.lower()])",
        "the lower end of the divergence of a label is its bound",
    ),
]
