"""Divergences and distances between predictions and targets."""
