"""Mutants of what is proved on whole domains: each slack, each direction and each count, dropped or turned around."""

from tests.mutants import Mutant

SEPARABLE = "verify/domains/separable.py"
SUMS = "tests/verify/domains/test_separable.py"
COUNTS = "verify/certificates/counts.py"
READER = "verify/independent/rule_counts.py"
SAMPLE = "verify/domains/sample.py"
DRAWS = "tests/verify/independent/plain/test_plain_rule.py"
KEPT = "verify/journal.py"
KEPT_TESTS = "tests/verify/test_journal.py"
READ = "tests/verify/independent/test_rule_counts.py tests/verify/certificates/test_domain.py"


def kept(original: str, mutated: str, why: str) -> Mutant:
    return Mutant(KEPT, original, mutated, KEPT_TESTS, why)


def text(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("verify/program_text.py", original, mutated, "tests/verify/test_program_text.py", why)


def sums(original: str, mutated: str, why: str) -> Mutant:
    return Mutant(SEPARABLE, original, mutated, SUMS, why)


MUTANTS = [
    sums("down(bound - 2.0 * gamma(length + 2) * np.abs(bound))", "bound", "sums of leads round for nothing"),
    sums("np.where(np.abs(lower) <= _LARGEST, lower, -np.inf)", "lower", "leads so large that a sum overflows count"),
    sums("-lead.upper() if of_rivals", "-lead.lower() if of_rivals", "the leads of rivals are bounded from above"),
    sums("else lead.lower()", "else lead.midpoint", "leads have no radius"),
    sums("np.minimum.reduceat(sums", "np.maximum.reduceat(sums", "the largest lead of an end stands for the least"),
    sums("if (cell.least_right[0] > 0.0).all():", "if (cell.least_right[0] > 0.0).any():", "one rival is enough"),
    sums(
        "self.least_right[layer][state] > 0.0).all(axis=1)",
        "self.least_right[layer][state] > 0.0).any(axis=1)",
        "a beginning is right where one rival is behind",
    ),
    sums(
        "(beginnings.wrong + self.least_wrong[layer][state] > 0.0)",
        "(beginnings.wrong > 0.0)",
        "a beginning is wrong whatever follows",
    ),
    sums(
        "steps = [*task.steps[:-1], task.steps[-1][:, [place]]]", "steps = [*task.steps]", "every last token is judged"
    ),
    sums("* (values + tables.direct(last))", "* values", "the last position brings nothing by itself"),
    Mutant(
        "verify/domains/attention_tables.py",
        "[score / root for score in",
        "[score * 1 for score in",
        "tests/verify/domains/test_attention_tables.py",
        "scores are not scaled",
    ),
    Mutant(
        "verify/domains/tally.py",
        "least > upper.max(axis=1)",
        "least >= upper.max(axis=1)",
        "tests/verify/domains/test_tally.py",
        "a tie is right",
    ),
    Mutant(
        "verify/domains/tally.py",
        "most <= lower.max(axis=1)",
        "most <= upper.max(axis=1)",
        "tests/verify/domains/test_tally.py",
        "an input is wrong that may be right",
    ),
    Mutant(
        "verify/domains/sweep.py",
        "numerator + part[0][s][token], denominator + part[1][s][token]",
        "numerator + part[0][s][token], denominator",
        "tests/verify/domains/test_sweep.py",
        "the mass of later positions is forgotten",
    ),
    Mutant(
        "verify/domains/rule_answers.py",
        "is_open[np.delete(rows, left)] = False",
        "pass",
        "tests/verify/domains/test_rule_answers.py",
        "an input is counted on every precision",
    ),
    Mutant(
        "verify/domains/rule_answers.py",
        "if whole and self.journal is not None",
        "if self.journal is not None",
        KEPT_TESTS,
        "a piece that a budget cut off is kept as finished",
    ),
    Mutant(
        "verify/domains/rule_answers.py",
        "sent.visited < self.visits.left and sent.one_by_one <= self.one_by_one.left",
        "True",
        "tests/verify/domains/test_rule_answers.py",
        "workers spend more than the budgets",
    ),
    Mutant(
        "verify/domains/rule_answers.py",
        "sorted(self.tallies.items())",
        "self.tallies.items()",
        "tests/verify/domains/test_rule_answers.py",
        "inputs are named in the order of the workers",
    ),
    kept("if not hmac.compare_digest(code, self._code(record)):", "if not code:", "any code is believed"),
    kept("[self.about, record]", "[record]", "kept results are those of anything"),
    kept("and same and about ==", "and about ==", "a file that is edited meanwhile is what was judged"),
    kept("and about == canonical_json(journal.about) and", "and", "a program that is edited meanwhile has judged"),
    kept("if workers is not None and not same:", "if False:", "a worker judges what lies where it is"),
    kept("self.lost, self._is_ours = error, False", "self.lost = error", "half a line takes the next one with it"),
    kept(
        "        except OSError as error:  # there",
        "        except KeyError as error:  # there",
        "a full disk ends all",
    ),
    kept(
        "                self._read()  # what another run of now has added\n",
        "",
        "two runs drop what the other has kept",
    ),
    Mutant(
        "verify/certificates/domain.py",
        "    if found.interrupted:\n        raise",
        "    if False:\n        raise",
        "tests/verify/certificates/test_domain.py",
        "a check that was interrupted is an answer, which is kept",
    ),
    kept(" and lasts(found):", ":", "what does not last is kept"),
    kept("(found := journal.get(name)) is not None:", "False:", "a re-run does everything again"),
    text(
        '("byheart", "constructions", "verify")',
        '("constructions", "verify")',
        "the interface is no part of the program",
    ),
    text("(str(path.relative_to(place)), _sha", "(str(path.name[:0]), _sha", "a file is known by its text alone"),
    text(" or secrets.token_hex()", "", "what cannot be read is always the same"),
    text("now if now == _BEGUN_WITH else secrets.token_hex()", "now", "a process runs what was written after it began"),
    text(
        '"__pycache__" not in path.parts]', '"__pycache__" not in path.parts and path.is_file()]', "pipes do not count"
    ),
    text(
        "if any(path.is_dir() and path.is_symlink() for path in every):",
        "if False:",
        "what a link leads to is the same",
    ),
    kept("file.read(len(_BEGINNING)) in", "file.read(0) in", "the notes of a user are written over"),
    kept(
        "whatever it is, it is not ours\n        return False",
        "whatever it is\n        return True",
        "what cannot be read is written over",
    ),
    *(
        Mutant("verify/certificates/domain.py", original, mutated, KEPT_TESTS, why)
        for original, mutated, why in (
            ("[model.sha256(), task.sha256(), all", "[task.sha256(), all", "kept counts are those of any model"),
            ("[model.sha256(), task.sha256(), all", "[model.sha256(), all", "kept counts are those of any rule"),
            ("task.sha256(), all_that_judges()]", "task.sha256()]", "kept counts are those of any program"),
        )
    ),
    *(
        Mutant("verify/certificates/provenance.py", original, "", "tests/verify/certificates/test_provenance.py", why)
        for original, why in (
            ('"program": program_sha256(), ', "what another program found is taken over"),
            ('"provenance": made_by, ', "what another arithmetic found is taken over"),
            (', "installed": _installed()', "what another library found is taken over"),
        )
    ),
    Mutant(
        "verify/audit.py",
        '    return ["audit", id, full, files_sha256(*map(Path, places or ["nowhere"]))]',
        '    return ["audit", id, full]',
        "tests/falsify/test_claims_from_outside.py",
        "what was found of a claim of another package is taken over after that was changed",
    ),
    Mutant(
        "verify/audit.py",
        '        return ["audit", id, full]\n    spec',
        '        return ["audit", id]\n    spec',
        "tests/byheart/command/test_audit.py",
        "a quick audit stands for a full one",
    ),
    Mutant(
        "byheart/command/check.py",
        '["check", files_sha256(here / folder), *asked]',
        '["check", str(folder), *asked]',
        "tests/byheart/command/test_check.py",
        "a folder that was changed is taken over",
    ),
    Mutant(
        "byheart/command/check.py",
        "files_sha256(here / folder), *asked]",
        "files_sha256(here / folder)]",
        "tests/byheart/command/test_check.py",
        "what was asked before is asked now",
    ),
    Mutant(
        "byheart/command/check.py",
        "_report(options, here / folder)",
        "_report(options, folder)",
        "tests/byheart/command/test_check.py",
        "a worker that is elsewhere checks the folder that is there",
    ),
    *(
        Mutant(SAMPLE, original, mutated, "tests/verify/domains/test_sample.py", why)
        for original, mutated, why in (
            ("        if number < size:", "        if True:", "numbers beyond the domain are drawn"),
            (
                'json(["sample", model, rule, count, seed])',
                'json(["sample", rule, count, seed])',
                "the weights do not decide",
            ),
            ("size - count + missed  # no", "size - count  # no", "what was missed is not wrong"),
            ("total << ALPHA_BITS <=", "total << ALPHA_BITS - 1 <=", "twice the probability is granted"),
            ("total += term", "pass", "of those missed only the least number counts"),
            ("not rejected(size, count, missed, low + 1)", "False", "floats alone say how many are wrong"),
        )
    ),
    *(
        Mutant("verify/independent/plain/plain_rule.py", original, mutated, DRAWS, why)
        for original, mutated, why in (
            ("next_one = wrong + 1", "next_one = wrong + 2", "one more may be wrong than is said"),
            ("ways << 128", "ways << 127", "twice the probability is granted"),
            ("if place < size:", "if True:", "numbers beyond the domain are drawn"),
        )
    ),
    Mutant(
        COUNTS,
        'right >= stored["right"] and most_wrong <= stored["wrong_upper"]',
        'right >= stored["right"]',
        "tests/verify/domains/test_sample.py",
        "a smaller share than the draw says is proved",
    ),
    Mutant(
        "constructions/tasks/rule.py",
        "np.array([rule(*row) for row in inputs.tolist()])",
        "np.array([rule(*row) for row in inputs])",
        "tests/constructions/tasks/test_rule.py",
        "powers of tokens overflow",
    ),
    kept("stat.S_IRWXG | stat.S_IRWXO", "stat.S_IRWXO", "others of the group can read the key"),
    kept("or len(key) != _KEY_BYTES", "", "an empty key signs"),
    Mutant(
        COUNTS,
        "right >= held and wrong >= others",
        "right >= held",
        "tests/verify/certificates/test_counts.py",
        "wrong ones are not counted",
    ),
    Mutant(
        COUNTS,
        "contexts - wrong < held",
        "contexts - wrong <= held",
        "tests/verify/certificates/test_counts.py",
        "what is true is refuted",
    ),
    Mutant(
        "constructions/tasks/rule.py",
        "        if not same:",
        "        if False:",
        "tests/constructions/tasks/test_rule.py",
        "a rule has another automaton than its name",
    ),
    Mutant(
        "verify/independent/plain/plain_rule.py",
        "_named(rule, tokens, reads) != (steps, answers):",
        "_named(rule, tokens, reads) is None:",
        "tests/verify/independent/plain/test_plain_rule.py",
        "the reader believes the name of a rule",
    ),
    Mutant(
        READER, "if all(x > slack for x in least):", "if any(x > slack for x in least):", READ, "one rival is enough"
    ),
    Mutant(READER, "list(map(min, *sums))", "list(map(max, *sums))", READ, "the largest lead stands for the least"),
    Mutant(READER, "elif any(x < -slack for x in so_far):", "elif True:", READ, "what is not right is wrong"),
    Mutant(
        "verify/domains/attention_tables.py",
        "values.append(rounded_outwards(moved))",
        "values.append(Enclosure((exact := rounded_outwards(moved)).midpoint, 0.0 * exact.radius))",
        "tests/verify/domains/test_attention_tables.py",
        "the values are taken for floats",
    ),
    Mutant(SEPARABLE, "budget.left -= len(longer.state)", "budget.left -= 1", SUMS, "a block of beginnings costs one"),
    Mutant(SEPARABLE, "if budget.left <= 0:", "if budget.left < 0:", SUMS, "an empty budget pays for one block more"),
]
