"""Codes of contexts and labels by numbers that a few neurons read."""
