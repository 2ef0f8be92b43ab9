"""Mutants of what is read from a table and said on the screen: a fact dropped as a header, a measurement as a proof."""

from tests.mutants import of

table = of("constructions/tasks/table.py", "tests/constructions/tasks/test_table.py")
made = of("byheart/terminal/made.py", "tests/byheart/terminal/test_made.py")
job = of("byheart/job.py", "tests/byheart/test_job.py")
ask = of("byheart/command/ask.py", "tests/byheart/command/test_ask.py")
choice = of("constructions/memories/choice.py", "tests/constructions/memories/test_choice.py")
headline = of("verify/certificates/headline.py", "tests/verify/certificates/test_headline.py")

MUTANTS = [
    choice(
        "            break  # what was found until then\n",
        "            raise\n",
        "an interrupt loses what the search has found",
    ),
    table(
        " or set(first) & {cell for row in others for cell in row}:",
        ":",
        "a first row whose words are in other rows is dropped as a header",
    ),
    table(
        "    if len(others) < 2:\n        return len(first) > 2 and all(words) and all(map(_is_number, others[0]))\n",
        "",
        "one row decides that the one above it is a header",
    ),
    table(
        " and not any(name.lower() in _MISSING for name in first)",
        "",
        "a fact whose number is unknown is dropped as a header",
    ),
    table("all(name[:1].islower() for name in first) and any(", "any(", "a fact in capital letters is a header"),
    table("weight_of.get(following, 0) + weight", "weight", "equal rows are counted once"),
    table("cell.strip() or cell for cell", "cell.strip() for cell", "a cell of spaces is empty"),
    table("return task, len(found) - len(line_of)", "return task, 0", "merged rows are not counted"),
    made(
        "if any(each.every_run for each in",
        "if any(True for each in",
        "every run is said to be right where one run was measured",
    ),
    job("    keep(work.listed(made, chosen, tried))\n", "", "the first memory is not saved before the search"),
    ask("    if answer.ignored:", "    if False:", "what was not read is called memorized"),
    ask("REFUTED if answer.refuted else", "PROVED if answer.refuted else", "a fact that is lost ends with 0"),
    headline('measured=by == "MEASURED"', "measured=False", "what one run measured is printed as a bound"),
]
