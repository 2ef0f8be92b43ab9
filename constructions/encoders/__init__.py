"""Encode distributions and labels in d dimensions: the residual stream that each context needs."""
