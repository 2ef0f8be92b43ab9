"""What no weights of a shape can hold, and what the counts of a shape promise."""
