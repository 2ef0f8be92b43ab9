"""What a command ends with, for a shell."""

# The exit codes of `check`, and of every other command where they apply.
PROVED, REFUTED, BAD_USAGE, UNDECIDED, INTERRUPTED = 0, 1, 2, 3, 130
EXIT_CODES = {"PROVED": PROVED, "REFUTED": REFUTED, "UNDECIDED": UNDECIDED}


def worst(codes: set[int]) -> int:
    """The exit code of several: the one that tells most of what went wrong."""
    return next(code for code in (REFUTED, BAD_USAGE, UNDECIDED, PROVED) if code in codes)
