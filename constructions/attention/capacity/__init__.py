"""Bounds on how much the weights of a given shape can memorize: generic rank, upper bounds, closed forms."""
