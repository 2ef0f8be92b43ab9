"""Mutants of what is proved on whole domains: each slack, each direction and each count, dropped or turned around."""

from tests.mutants import of

separable = of("verify/domains/separable.py", "tests/verify/domains/test_separable.py")
attention_tables = of("verify/domains/attention_tables.py", "tests/verify/domains/test_attention_tables.py")
tally = of("verify/domains/tally.py", "tests/verify/domains/test_tally.py")
sweep = of("verify/domains/sweep.py", "tests/verify/domains/test_sweep.py")
rule_answers = of("verify/domains/rule_answers.py", "tests/verify/domains/test_rule_answers.py")
rule_answers_by_journal = of("verify/domains/rule_answers.py", "tests/verify/test_journal.py")
journal = of("verify/journal.py", "tests/verify/test_journal.py")
domain = of("verify/provers/domain.py", "tests/verify/provers/test_domain.py")
evaluation = of("verify/provers/domain.py", "tests/verify/provers/test_domain.py")
program_text = of("verify/program_text.py", "tests/verify/test_program_text.py")
domain_by_journal = of("verify/provers/domain.py", "tests/verify/test_journal.py")
provenance = of("verify/certificates/provenance.py", "tests/verify/certificates/test_provenance.py")
audit_by_claims_from_outside = of("verify/theorems/audit.py", "tests/falsify/test_claims_from_outside.py")
audit = of("verify/theorems/audit.py", "tests/byheart/cli/test_audit.py")
check = of("byheart/cli/check.py", "tests/byheart/cli/test_check.py")
sample = of("verify/domains/sample.py", "tests/verify/domains/test_sample.py")
certificate_by_sample = of("verify/certificates/certificate.py", "tests/verify/domains/test_sample.py")
counts_by_sample = of("verify/provers/counts.py", "tests/verify/domains/test_sample.py")
rule = of("constructions/tasks/rule.py", "tests/constructions/tasks/test_rule.py")
counts = of("verify/provers/counts.py", "tests/verify/provers/test_counts.py")

MUTANTS = [
    separable("down(bound - 2.0 * gamma(length + 2) * np.abs(bound))", "bound", "sums of leads round for nothing"),
    separable(
        "np.where(np.abs(lower) <= _LARGEST, lower, -np.inf)", "lower", "leads so large that a sum overflows count"
    ),
    separable("-lead.upper() if of_rivals", "-lead.lower() if of_rivals", "the leads of rivals are bounded from above"),
    separable("else lead.lower()", "else lead.midpoint", "leads have no radius"),
    separable(
        "np.minimum.reduceat(sums", "np.maximum.reduceat(sums", "the largest lead of an end stands for the least"
    ),
    separable("if (cell.least_right[0] > 0.0).all():", "if (cell.least_right[0] > 0.0).any():", "one rival is enough"),
    separable(
        "self.least_right[layer][state] > 0.0).all(axis=1)",
        "self.least_right[layer][state] > 0.0).any(axis=1)",
        "a beginning is right where one rival is behind",
    ),
    separable(
        "(beginnings.wrong + self.least_wrong[layer][state] > 0.0)",
        "(beginnings.wrong > 0.0)",
        "a beginning is wrong whatever follows",
    ),
    separable(
        "steps = [*task.steps[:-1], task.steps[-1][:, [place]]]", "steps = [*task.steps]", "every last token is judged"
    ),
    separable("* (values + tables.direct(last))", "* values", "the last position brings nothing by itself"),
    attention_tables("[score / root for score in", "[score * 1 for score in", "scores are not scaled"),
    tally("least > upper.max(axis=1)", "least >= upper.max(axis=1)", "a tie is right"),
    tally("most <= lower.max(axis=1)", "most <= upper.max(axis=1)", "an input is wrong that may be right"),
    sweep(
        "numerator + part[0][s][token], denominator + part[1][s][token]",
        "numerator + part[0][s][token], denominator",
        "the mass of later positions is forgotten",
    ),
    rule_answers("is_open[np.delete(rows, left)] = False", "pass", "an input is counted on every precision"),
    rule_answers_by_journal(
        "if whole and self.journal is not None",
        "if self.journal is not None",
        "a piece that a budget cut off is kept as finished",
    ),
    rule_answers(
        "sent.visited < self.visits.left and sent.one_by_one <= self.one_by_one.left",
        "True",
        "workers spend more than the budgets",
    ),
    rule_answers(
        "sorted(self.tallies.items())", "self.tallies.items()", "inputs are named in the order of the workers"
    ),
    journal("if not hmac.compare_digest(code, self._code(record)):", "if not code:", "any code is believed"),
    journal("[self.about, record]", "[record]", "kept results are those of anything"),
    journal("and same and about ==", "and about ==", "a file that is edited meanwhile is what was judged"),
    journal("and about == canonical_json(journal.about) and", "and", "a program that is edited meanwhile has judged"),
    journal("if workers is not None and not same:", "if False:", "a worker judges what lies where it is"),
    journal("self.lost, self._is_ours = error, False", "self.lost = error", "half a line takes the next one with it"),
    journal(
        "        except OSError as error:  # there",
        "        except KeyError as error:  # there",
        "a full disk ends all",
    ),
    journal(
        "                self._read()  # what another run of now has added\n",
        "",
        "two runs drop what the other has kept",
    ),
    evaluation(
        "        if found.interrupted:\n            raise",
        "        if False:\n            raise",
        "a check that was interrupted is an answer, which is kept",
    ),
    journal(" and keep_if(outcome):", ":", "what does not last is kept"),
    journal("(outcome := journal.get(name)) is not None:", "False:", "a re-run does everything again"),
    program_text(
        '("byheart", "constructions", "verify")',
        '("constructions", "verify")',
        "the interface is no part of the program",
    ),
    program_text(
        "(str(path.relative_to(place)), _sha", "(str(path.name[:0]), _sha", "a file is known by its text alone"
    ),
    program_text(" or secrets.token_hex()", "", "what cannot be read is always the same"),
    program_text(
        "now if now == _BEGUN_WITH else secrets.token_hex()", "now", "a process runs what was written after it began"
    ),
    program_text(
        '"__pycache__" not in path.parts]', '"__pycache__" not in path.parts and path.is_file()]', "pipes do not count"
    ),
    program_text(
        "if any(path.is_dir() and path.is_symlink() for path in every):",
        "if False:",
        "what a link leads to is the same",
    ),
    journal("file.read(len(_BEGINNING)) in", "file.read(0) in", "the notes of a user are written over"),
    journal(
        "whatever it is, it is not ours\n        return False",
        "whatever it is\n        return True",
        "what cannot be read is written over",
    ),
    domain_by_journal(
        "[model.sha256(), task.sha256(), all", "[task.sha256(), all", "kept counts are those of any model"
    ),
    domain_by_journal(
        "[model.sha256(), task.sha256(), all", "[model.sha256(), all", "kept counts are those of any rule"
    ),
    domain_by_journal("task.sha256(), all_that_judges()]", "task.sha256()]", "kept counts are those of any program"),
    provenance('"program": program_sha256(), ', "", "what another program found is taken over"),
    provenance('"provenance": made_by, ', "", "what another arithmetic found is taken over"),
    provenance(', "installed": _installed()', "", "what another library found is taken over"),
    audit_by_claims_from_outside(
        '    return ["audit", id, full, files_sha256(*map(Path, places or ["nowhere"]))]',
        '    return ["audit", id, full]',
        "what was found of a claim of another package is taken over after that was changed",
    ),
    audit(
        '        return ["audit", id, full]\n    spec',
        '        return ["audit", id]\n    spec',
        "a quick audit stands for a full one",
    ),
    check(
        '["check", files_sha256(here / folder), kinds, *asked]',
        '["check", str(folder), kinds, *asked]',
        "a folder that was changed is taken over",
    ),
    check(
        "files_sha256(here / folder), kinds, *asked]",
        "files_sha256(here / folder), kinds]",
        "what was asked is asked",
    ),
    check(
        "_report(options, here / folder)",
        "_report(options, folder)",
        "a worker that is elsewhere checks the folder that is there",
    ),
    sample("        if number < size:", "        if True:", "numbers beyond the domain are drawn"),
    sample(
        'json(["sample", model, rule, count, seed])', 'json(["sample", rule, count, seed])', "the weights do not decide"
    ),
    sample("size - count + missed  # no", "size - count  # no", "what was missed is not wrong"),
    sample("total << ALPHA_BITS <=", "total << ALPHA_BITS - 1 <=", "twice the probability is granted"),
    sample("total += term", "pass", "of those missed only the least number counts"),
    sample("not rejected(size, count, missed, low + 1)", "False", "floats alone say how many are wrong"),
    counts_by_sample(
        'right >= stored["right"] and most_wrong <= stored["wrong_upper"]',
        'right >= stored["right"]',
        "a smaller share than the draw says is proved",
    ),
    rule(
        "[rule(*row) for row in inputs.tolist()] if",
        "[rule(*row) for row in inputs] if",
        "powers of tokens overflow",
    ),
    journal("stat.S_IRWXG | stat.S_IRWXO", "stat.S_IRWXO", "others of the group can read the key"),
    journal("or len(key) != _KEY_BYTES", "", "an empty key signs"),
    counts("right >= memorized and wrong >= others", "right >= memorized", "wrong ones are not counted"),
    counts("contexts - wrong < memorized", "contexts - wrong <= memorized", "what is true is refuted"),
    rule("        if not same:", "        if False:", "a rule has another automaton than its name"),
    attention_tables(
        "values.append(rounded_outwards(moved))",
        "values.append(Enclosure((exact := rounded_outwards(moved)).midpoint, 0.0 * exact.radius))",
        "the values are taken for floats",
    ),
    separable("budget.left -= len(longer.state)", "budget.left -= 1", "a block of beginnings costs one"),
    separable("if budget.left <= 0:", "if budget.left < 0:", "an empty budget pays for one block more"),
]
