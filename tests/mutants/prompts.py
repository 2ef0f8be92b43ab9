"""Mutants of prompts and answers of several tokens: of their judges, their files and how they are read."""

from tests.mutants import Mutant, of

FACTS = (
    "tests/byheart/hosts/facts/test_numbered_facts.py tests/constructions/tasks/test_prompts.py "
    "tests/verify/kernel/test_prompts.py"
)
CERTIFY = "tests/byheart/hosts/test_certify.py"
READING = "tests/byheart/hosts/test_reading.py"


judge = of("verify/provers/answer_bounds.py", FACTS)


task = of("constructions/tasks/prompts.py", FACTS)

MUTANTS = [
    judge(
        "margins[:, at] = np.minimum(margins[:, at],",
        "margins[:, at] = np.maximum(margins[:, at],",
        "one token of an answer is enough",
    ),
    judge(
        "losses[1, at] = up(losses[1, at] + part_answers.loss_upper[of])",
        "losses[1, at] = part_answers.loss_upper[of]",
        "the loss of an answer is its last token's",
    ),
    judge(
        "losses[0, at] = np.maximum(0.0, down(losses[0, at] + part_answers.loss_lower[of]))",
        "losses[0, at] = part_answers.loss_lower[of] * 2",
        "a loss from below is too large",
    ),
    judge(
        "entropy(counts[np.newaxis])[0] * float(counts.sum())",
        "entropy(counts[np.newaxis])[0]",
        "beginnings of answers count alike",
    ),
    task(
        "            if said != label:", "            if False:", "facts may contradict each other behind equal tokens"
    ),
    task("sum(times[answer[:i]] for i in range(1, len(answer) + 1))", "times[answer]", "a guess is one whole answer"),
    task(
        "(fact, (*prompt, *answer[:i]), answer[i])",
        "(fact, prompt, answer[i])",
        "every token of an answer is asked behind the prompt",
    ),
    task('if ("answers" in words) != task.apart:', "if False:", "answers may be the vocabulary once more"),
    Mutant(
        "verify/torch/run.py",
        "right[part.facts] &= part_result.right[part.places]",
        "right[part.facts] |= part_result.right[part.places]",
        FACTS,
        "a run holds what it holds a part of",
    ),
    Mutant(
        "verify/certificates/certificate.py",
        "{ANSWERS, RUNS} if subject.origin == PROMPTS else {*ids}",
        "{*ids}",
        FACTS,
        "a rank may be stated of prompts",
    ),
    Mutant(
        "byheart/hosts/facts/numbered_facts.py",
        "if answered[other := first.setdefault(prompt, i)] != one:",
        "if answered[other := first.setdefault(prompt, i)] is None:",
        FACTS,
        "the answer that stands there more often is the fact",
    ),
    Mutant(
        "byheart/hosts/facts/numbered_facts.py",
        "([task.labels[i]] if heaviest else answers_seen)",
        "[task.labels[i]]",
        FACTS,
        "a table forgets answers that another outweighs",
    ),
    Mutant(
        "byheart/rows.py",
        'str(cell) in ("None", "nan", "NaT", "<NA>")',
        "False",
        "tests/byheart/test_rows.py",
        "what is missing is the text None",
    ),
    Mutant(
        "byheart/rows.py",
        "row = [row[name] for name in names]",
        "row = list(row.values())",
        "tests/byheart/test_rows.py",
        "records are read by their order",
    ),
    Mutant(
        "byheart/hosts/facts/numbered_facts.py",
        "if len(answers) < len(vocabulary) == model.d_vocab == model.d_vocab_out and set(answers) <= set(vocabulary):",
        "if model.d_vocab == model.d_vocab_out:",
        CERTIFY,
        "answers beside any model of one vocabulary are passed over",
    ),
    Mutant(
        "byheart/hosts/reading.py",
        "if wrong := sorted(wanted ^ set(shard)):",
        "if wrong := sorted(wanted - set(shard)):",
        READING,
        "a part may hold tensors that the index gives to another",
    ),
    Mutant(
        "byheart/hosts/reading.py",
        "any(Path(file).name != file for file in files.values())",
        "False",
        READING,
        "an index may name files elsewhere",
    ),
]
