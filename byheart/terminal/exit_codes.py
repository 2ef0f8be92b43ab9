"""What a command ends with, for a shell."""

# The exit codes of `check`, and of every other command where they apply. An error that nobody foresaw answers nothing,
# so it has a code of its own: EX_SOFTWARE of sysexits.h. Python's would be 1, which says that something was refuted.
PROVED, REFUTED, BAD_USAGE, UNDECIDED, UNFORESEEN, INTERRUPTED = 0, 1, 2, 3, 70, 130
EXIT_CODES = {"PROVED": PROVED, "REFUTED": REFUTED, "UNDECIDED": UNDECIDED}


def worst(codes: set[int]) -> int:
    """Return the exit code of several: the one that tells most of what went wrong."""
    return next(code for code in (REFUTED, UNFORESEEN, BAD_USAGE, UNDECIDED, PROVED) if code in codes)
