"""Statements about a model and a task as data: written, read back and proved again."""
