"""Define tasks of memorization: texts, tables, arrays, and vectors with labels."""
