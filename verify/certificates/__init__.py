"""Statements about a model and a task: proved, written down, and proved again."""
