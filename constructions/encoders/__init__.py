"""Distributions and labels in d dimensions: what the stream of a context has to be."""
