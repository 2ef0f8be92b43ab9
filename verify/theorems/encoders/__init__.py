"""Limits of all encoders of a dimension, and the divergences that the built ones reach."""
