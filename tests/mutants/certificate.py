"""Mutants of certificates and of the prover that checks them: a hash not compared, a bound turned around, ..."""

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
divergence = of("verify/provers/divergence.py", "tests/verify/provers/test_divergence.py")
brackets = of("verify/provers/brackets.py", "tests/verify/provers/test_brackets.py")
rank = of("verify/provers/rank_heads.py", "tests/verify/provers/test_rank_heads.py")
rank_of_weights = of("verify/ranks/rank_of_weights.py", "tests/verify/ranks/test_rank_of_weights.py")
rank_of_weights_by_another = of("verify/ranks/rank_of_weights.py", "tests/verify/kernel/test_rank_bounds.py")
stated_answers = of("verify/provers/answers.py", "tests/verify/provers/test_memorization.py")
text_divergence = of("verify/provers/text_divergence.py", "tests/verify/provers/test_memorization.py")

MUTANTS = [
    # Ranks and divergences from both sides.
    divergence("float(lower.max()), float(upper.max())", "float(lower.max()), float(lower.max())", "largest too small"),
    divergence("counts = task.counts.totals()", "counts = 1 + task.counts.totals()", "contexts have other weights"),
    brackets(" and upper <= stored[f", " and 0 <= stored[f", "a divergence is not compared from above"),
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
        "float(answers.margin_lower[memorized].min())",
        "float(answers.margin_lower[memorized].max())",
        "the margin of some contexts is the largest of theirs",
    ),
    stated_answers(
        'if float(answers.margin_upper[places].min()) < stored["margin_lower"]:',
        "if False:",
        "any margin refutes nothing",
    ),
    certificate(
        "*(check.verdict for check in self.checks)]",
        "*(check.verdict for check in self.checks[:1])]",
        "one of the checks decides",
    ),
    certificate("if self.file != WITNESS_FILE:", "if False:", "the witness may be any file of the system"),
    # The prover, and its check.
    loading("if actual.model != named.model:", "if False:", "the hash of the model is not compared"),
    loading("if actual.task != named.task:", "if False:", "the hash of the task is not compared"),
    loading_by_memorization("    if actual != named:", "    if False:", "the sizes are not compared"),
    loading_by_memorization(
        "    except MemoryError as error:", "    except ZeroDivisionError as error:", "a huge array is a crash"
    ),
    exact_json(
        "_few_bits(bound * (1.0 + slack), math.ceil)", "_few_bits(bound, math.floor)", "upper bounds are rounded down"
    ),
    exact_json(
        "_few_bits(bound * (1.0 - slack), math.floor)", "_few_bits(bound, math.ceil)", "lower bounds are rounded up"
    ),
    divergence("math.floor((lower - width) / grid)", "math.ceil(lower / grid)", "the interval is cut off below"),
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
    answers(
        "np.where(modes, outputs.upper(), np.inf)", "np.where(modes, outputs.midpoint, np.inf)", "half of the radius"
    ),
    answers(
        "np.where(modes, -np.inf, outputs.lower())", "np.where(modes, -np.inf, outputs.midpoint)", "the other half"
    ),
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
    text_divergence("max(0.0, float(mean.lower()))", "float(mean.lower())", "a mean below zero"),
    text_divergence("float(mean.upper())", "float(mean.lower())", "the lower end for the upper one"),
    feature_rank_by_memorization(
        "if columns == features.shape[1] or not model.reads_tokens:",
        "if True:",
        "the skip connection is left out",
    ),
    stated_answers("false = [i for i in named if wrong[i]]", "false = []", "a wrong argmax is not found"),
    # The bounds of each context.
    answers("right = margins[0] > 0.0", "right = margins[1] > 0.0", "what may be memorized is"),
    answers("right = margins[0] > 0.0", "right = margins[0] >= 0.0", "a tie is memorized"),
    answers("right & (losses[1] <= tolerance)", "right & (losses[0] <= tolerance)", "a loss that may be small is"),
    answers(
        'return right if target == "labels" else right & (losses[1] <= tolerance)',
        "return right",
        "a distribution is memorized by its mode",
    ),
    answers("wrong = margins[1] <= 0.0", "wrong = margins[0] <= 0.0", "what may be wrong is"),
    answers("wrong = margins[1] <= 0.0", "wrong = margins[1] < 0.0", "a proved tie is not wrong"),
    answers("wrong | (losses[0] > tolerance)", "wrong | (losses[1] > tolerance)", "a loss that may be large is"),
    answers(
        'return wrong if target == "labels" else wrong | (losses[0] > tolerance)',
        "return wrong",
        "no loss is too large",
    ),
    answers("return _memorized((self", "return _wrong((self", "memorized is wrong"),
    answers("return _wrong((self", "return _memorized((self", "wrong is memorized"),
    answers("is_open[contexts[decided]] = False", "is_open[contexts] = False", "what is open is not looked at again"),
    answers("is_open[contexts[decided]] = False", "pass", "what is decided is looked at again"),
    answers("surely_right | surely_wrong", "surely_right", "what is wrong is looked at again"),
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
