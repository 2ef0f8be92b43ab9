"""Weights found by least squares and proved afterwards."""
