"""Audit the theory: claims, the evidence for them, and the bounds that judge it."""
