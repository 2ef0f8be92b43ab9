"""Limits of all weights of a shape, and the numbers that counting arguments promise for it."""
