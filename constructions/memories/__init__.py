"""Weights that hold a task, one file for each construction."""
