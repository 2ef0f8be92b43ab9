r"""The names of tokens that a text is cut into: a character, a byte, a word, and what is not told apart.

Page: docs/task.md
"""

import re

OTHER = "<other>"
"""The token of whatever the vocabulary lacks."""

WORDS = re.compile(r"\w+|[^\w\s]")
"""What the unit ``word`` cuts a text into."""


def byte_name(value: int) -> str:
    r"""The name of the token of a byte: its ASCII character, or like ``\x0a``."""
    return chr(value) if 32 <= value < 127 and value != ord("\\") else f"\\x{value:02x}"
