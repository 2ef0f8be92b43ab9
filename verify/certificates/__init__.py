"""Statements about a model and a task, as data: what is written down, read back and proved again."""
