"""Mutants of whole texts: windows that are not those of the text, recitations that say more than is proved."""

from tests.mutants import of

windows = of("constructions/tasks/windows.py", "tests/constructions/tasks/test_windows.py")
reciting = of("byheart/reciting.py", "tests/byheart/test_reciting.py")
memorized = of("verify/runs/memorized_runs.py", "tests/byheart/test_reciting.py")
bounded = of("verify/runs/bounded_runs.py", "tests/byheart/test_reciting.py tests/verify/runs/test_bounded_runs.py")
recitation = of("constructions/tasks/recitation.py", "tests/constructions/tasks/test_recitation.py")

MUTANTS = [
    windows(
        "windows[place, 0], windows[place, 1:] = title,",
        "windows[place, 0], windows[place, 1:] = self.end,",
        "no title",
    ),
    windows("[np.full(n_ctx, before), text[:-1]]", "[np.full(n_ctx, 0), text[:-1]]", "the beginning is a text"),
    windows("self.text[-1] != self.end or", "", "a text need not end"),
    windows("order = np.argsort(first)", "order = np.arange(len(first))", "windows in another order"),
    reciting("n_ctx = max(lengths) + titled", "n_ctx = 2 + titled", "too short"),
    bounded("(within_bounds, to_first_order) if", "(within_bounds,) if", "fewer runs than a run counts"),
    memorized(
        "memorized[left], lost[left] = proof(",
        "memorized[left], lost[left] = True, proof(",
        "what is not proved counts",
    ),
    reciting("np.where(lead > 0.0, best, -1)", "best", "a tie of integers is decided"),
    reciting("n_ctx > LONGEST or", "", "what no memory in reach learns is tried for minutes"),
    recitation(" & (following[before] != following[after])", "", "places at which the text goes on alike are named"),
    recitation("bytes.fromhex(name[2:]) if is_byte(name) else name", "name", "a byte is said as its name"),
    reciting(
        "if part.stop > place], start", "if part.start <= place < part.stop], start", "what follows a part is not said"
    ),
    recitation("start = place - 1 + n_ctx", "start = place + n_ctx", "a part ends behind a window that stands twice"),
    reciting("memorized[at] & same", "memorized[at] | same", "what is a fact is memorized"),
    reciting("spoken[: int((~good).argmax())].sum()", "spoken.sum()", "all is said where one token is not"),
    reciting("last = [*last[:1], *last[2:], token] if windows.titled else", "last =", "decoding forgets the title"),
]
