"""What is to be memorized: texts, tables, arrays, and vectors with labels."""
