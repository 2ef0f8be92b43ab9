"""Mutants of what is read from a table and said on the screen: a fact dropped as a header, a measurement as a proof."""

from tests.mutants import of

cells = of("constructions/tasks/cells.py", "tests/constructions/tasks/test_table.py")
table = of("constructions/tasks/table.py", "tests/constructions/tasks/test_table.py")
vocabulary = of("constructions/tasks/vocabulary.py", "tests/falsify/test_tables.py")
recite = of("byheart/cli/recite.py", "tests/falsify/test_tables.py tests/byheart/cli/test_recite.py")
made = of("byheart/terminal/made.py", "tests/byheart/terminal/test_made.py")
job = of("byheart/jobs/memorize.py", "tests/byheart/jobs/test_memorize.py")
ask = of("byheart/cli/ask.py", "tests/byheart/cli/test_ask.py")
chooser = of("byheart/choice/chooser.py", "tests/byheart/choice/test_chooser.py")
headline = of("verify/certificates/headline.py", "tests/verify/certificates/test_headline.py")

MUTANTS = [
    chooser(
        "            break  # what was found until then\n",
        "            raise\n",
        "an interrupt loses what the search has found",
    ),
    table(
        "others and len(names) == len(first) and not others_have", "others", "a fact of words is dropped as a header"
    ),
    table(
        "for row in others if row != first for pair",
        "for row in others for pair",
        "a header that stands there twice is a fact",
    ),
    table(
        "return False if no_letter and not (others and _count_up(first)) else None",
        "return False if no_letter else None",
        "numbers of columns are a fact",
    ),
    table("if weights is None and counts and header:", "if False:", "a column called weight is learned unasked"),
    table("if len(fitting) > 1:", "if False:", "the separator is guessed where two stand in every row"),
    table(
        'if [reading.delimiter for reading in fitting] == [","]:',
        "if False:",
        "a comma beats a separator that one row lacks",
    ),
    table("if any(reading.clean for reading in fitting):", "if False:", "quotes do not tell the separator"),
    cells("mixed = mixed or (line if", "mixed = mixed or (0 if", "a line end in a cell without quotes ends the row"),
    vocabulary(
        "        if len(facts) != 1:", "        if not readings:", "of two readings of a question the first is asked"
    ),
    vocabulary("if len(words) == task.n_ctx and names.issuperset(words)", "if words", "unknown cells are a reading"),
    recite("binary.write(found.data)", 'binary.write(found.data + b"\\n")', "what is recited has one line end more"),
    recite("code if tokens == found.said else REFUTED", "code", "a run that says something else ends with 0"),
    cells("row.append(bare if strip else plain)", "row.append(bare)", "spaces are removed unasked"),
    table("weight_of.get(following, 0) + weight", "weight", "equal rows are counted once"),
    cells("plain.strip(blanks) or plain", "plain.strip(blanks)", "a cell of spaces is empty"),
    table("return task, len(found) - len(line_of)", "return task, 0", "merged rows are not counted"),
    made(
        "return any(each.every_run for each in",
        "return any(True for each in",
        "every run is said to be right where one run was measured",
    ),
    job(
        "    yield work.listed(memory, chosen, tried)\n    if request.quick or whole or request.name != SMALLEST:\n",
        "    if request.quick or whole or request.name != SMALLEST:\n"
        "        yield work.listed(memory, chosen, tried)\n",
        "the first memory is not saved before the search",
    ),
    ask("    if answer.ignored:", "    if False:", "what was not read is called memorized"),
    ask("REFUTED if answer.refuted else", "PROVED if answer.refuted else", "a fact that is lost ends with 0"),
    headline('if by == "MEASURED" and', "if False and", "what one run measured is printed as a bound"),
]
